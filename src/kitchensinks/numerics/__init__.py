"""Numerical ground: counter-based randomness, quadrature, distances and compiled kernels.

Imports nothing from the other rooms.
"""

import os

# Threads of compiled loops that have nothing to do are to sleep: spinning, they would take the
# cores from the matrix products that come next. Read when the first loop
# starts its threads; whoever has set it has the last word.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
