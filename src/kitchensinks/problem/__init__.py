"""The convex problem: losses, constraints, sums over the rows, products with features."""
