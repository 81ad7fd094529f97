"""Numerical ground: counter-based randomness, distances and compiled loops."""
