"""From blocks of features to outer weights: a plan, the run of it, and its evidence."""
