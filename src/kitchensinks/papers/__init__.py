"""What the four papers state and measured: bounds, experiments, data sets, depth."""
