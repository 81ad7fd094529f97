"""Side by side with peers: one process a contestant, the same data and K, medians of repeats."""
