"""Numerical ground: counter-based randomness, quadrature, distances and compiled loops."""
