"""Numerical ground: counter-based randomness, quadrature, distances and compiled kernels.

Imports nothing from the other rooms.
"""
