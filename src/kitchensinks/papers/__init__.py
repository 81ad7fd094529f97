"""What the four papers state and what they measured.

- `theory`: every bound as a function, with the constants that hold (``ks.theory``, docs/theory.md).
- `datasets`: the sets of the papers, by formula or by name (``ks.datasets``).
- `experiments`: every table and figure, run again, with a verdict on each claim
  (``sinks reproduce``, docs/holds.md).
- `planning`: what the spectrum of a sample of rows suggests for a fit (``sinks plan``).
- `depth`: stacked layers of random features, and the bounded ReLU networks of the thesis
  (docs/depth.md).

The papers are 'Weighted Sums of Random Kitchen Sinks' and 'Uniform Approximation of Functions with
Random Bases' (Rahimi and Recht, 2008), 'Random Maxout Features' (Mroueh, Rennie and Goel, 2015) and
Y. Sun's thesis (2019). docs/errata.md lists where their formulas do not hold. Only the demo and the
command import this room.
"""
