"""Convex solvers for the outer weights; each returns a certificate of optimality."""
