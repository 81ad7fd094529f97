"""The constants of learning a law: each with its reason.

`python -m benchmarks.constants` runs the development half of the pool with one constant changed at
a time, and prints what happens to errors and times; benchmarks/results/constants.json keeps it.
"""

# -- the rows that a law is learned from -------------------------------------------------------

# With fewer rows there are too few to hold out.
FEWEST_ROWS = 30
# Below this many rows, a single hold-out is too small: laws are compared by cross-validation.
FEW_ROWS = 600
# From this share of the rows on, copies count as weights, and the user is told of them.
MANY_COPIES = 0.02
# Every step of the descent multiplies batch × columns numbers: of more columns, those are screened
# that go with the targets best, and laws of all columns are compared as those of few rows are.
MOST_COLUMNS = 5000
# Rows of the pool that all trials look at: the law hardly changes with more.
POOL = 45_000
# Bytes of a fit on bins for each row and grid: measured as 21 to 24 from 60,000 to 120,000 rows.
BIN_BYTES = 24.0
# Bytes of an ONNX file, and of one bin in it without its weights, of at most eight bytes each.
EXPORTED_BYTES, EXPORTED_BIN_BYTES = 2.0**31 - 2**20, 16.0
# Entries of the pool, so that wide tables fit into memory (128 MB in float64).
POOL_ENTRIES = 2**24
# Rows of the pool however wide the table is.
FEWEST_POOLED = 2000
# Share of the pool that is held out.
HELD_SHARE = 0.2
# Most rows held out: a difference of 1 % in error is then outside of chance.
MOST_HELD = 5000
# Runs of neighbours that are held out together: neighbours are often alike.
RUNS = 20
# Rows that quantiles and distances are estimated from.
SAMPLED = 10_000
# Columns, indicators apart, from which batches are halved and directions are learned.
WIDE = 100

# -- scales by descent on held-out error -------------------------------------------------------

# A batch is this share of the rows: columns that matter from value to value need several rows of
# each value in a batch.
BATCH_SHARE = 0.35
# The share of a batch that is fitted, and predicts the others.
FITTED_SHARE = 0.65
# The least batch: fewer rows leave an error that is mostly noise.
SMALLEST_BATCH = 420
# The ridge that the descent begins with, in units of k(x, x) = 1.
FIRST_RIDGE = 0.05
# Bounds of that ridge: below, kernel matrices are singular in float32; above, nothing is fitted.
RIDGES = (1e-3, 3.0)
# Adam's memory of gradients.
MEMORY = 0.8
# Adam's memory of squared gradients.
SQUARE_MEMORY = 0.95
# Adam's first rate, in the logarithm of the scales; it falls to zero over the second half.
RATE = 0.5
# The scales are the mean over this last share of the steps.
AVERAGED = 0.25
# No column's scale falls below this share of an even one, so that it can come back.
LEAST_SCALE = 1e-6

# -- few rows, or very many columns -------------------------------------------------------------

# Folds of the cross-validation.
FOLDS = 5
# With as many rows or more there are so many: two thirds of the rows are then enough to tell laws
# apart, and the factorisations of five folds would take three times as long.
FEWER_FOLDS_FROM, FEWER_FOLDS = 400, 3
# With fewer rows there are twice as many, dealt in two ways.
TWICE = 100
# Most factors that are tried.
FEW_TRIES = 4
# A law takes the place of the plain one, or of the linear model, where its error is lower by so
# many standard errors, times √(100/n) below 100 rows: the least error of many is chance there.
CLEARLY = 1.5
# Columns that scales are learned for.
SCREENED = 512
# Most rows that laws of very many columns are compared on.
FEW_SAMPLED = 2000
# Entries of those rows when they are dense (256 MB in float64).
FEW_ENTRIES = 2**25
# Features of the last fit: their kernel is exact to a fiftieth.
FEW_FEATURES = 2000
# A basis with a bandwidth of its own, or law="agop", has no such comparison: it needs more rows.
FEWEST_FOR_SCALES = 400

# -- maps of the columns -----------------------------------------------------------------------

# Steps of the short runs that compare maps.
SHORT_STEPS = 16
# Rows of their batches.
SHORT_BATCH = 360
# Steps at the end of a short run whose mean error counts.
SHORT_COUNTED = 6
# A kernel whose best short run has an error larger by this factor is not tried.
HOPELESS = 1.15

# -- directions of wide tables -----------------------------------------------------------------

# Directions are learned and made orthogonal in at most so many dimensions: that takes d³.
MOST_TURNED = 1000
# Rows that gradients are averaged over.
SLOPE_ROWS = 3000
# Rows of the fits whose gradients are taken.
SLOPE_FITTED = 10_000
# Features of those fits.
SLOPE_FEATURES = 1000
# Most rounds of fit and gradient that turn the rows.
TURNS = 5
# A round goes on while it lowers the error to less than this share.
FALLING = 0.97
# Columns keep this share of the largest scale, so that a round can bring them back.
LEAST_SLOPE = 1e-4
# Directions that together have less than this share of the trace are left out.
LEFT_OUT = 1e-4

# -- a line that goes on outside of the range ---------------------------------------------------

# Rows that columns are looked at with.
TREND_SAMPLE = 2000
# Columns that are tried, those that matter most in a linear fit.
TREND_TRIED = 3
# Columns of a wide table whose slopes are looked at, those that go with the targets best.
TREND_SCREENED = 100
# Added to the diagonal of their correlations: columns may be copies of others.
TREND_SOLVED = 1e-3
# Fewest values of a column that may have a line.
TREND_VALUES = 5
# The least slope of a column that is tried: deviations of the targets for one of its own.
TREND_LEAST = 0.05
# The share of the rows at each end of a column that is held out.
TREND_ENDS = 1.0 / 6.0
# Most rows that are fitted within the range, and as many are predicted outside of it.
TREND_FITTED = 300
# With fewer rows within the range no line is tried.
TREND_FEWEST = 100
# Rows that the slopes of the lines are fitted to.
TREND_LAST = 600
# Ridges of these fits, in units of k(x, x) = 1.
TREND_RIDGES = (0.01, 0.1, 1.0)
# A line has to lower the squared error outside to less than this share,
TREND_BETTER = 0.9
# by so many standard errors,
TREND_CHANCE = 3.0
# and may raise the leave-one-out error within the range by no more than this factor.
TREND_WITHIN = 1.002
# The same where later rows are held out: rows to come are like them.
TREND_LATER = 1.02

# -- trials of bases, bandwidths and ridges ----------------------------------------------------

# Bins of a trial: rows × grids × outputs.
TRIAL_BINS = 6e5
# Entries of a trial with dense features: rows × features.
TRIAL_ENTRIES = 2.5e6
# Most grids and features of a trial: more cost time and order the candidates alike.
TRIAL_GRIDS, TRIAL_FEATURES = 100, 400
# Most features of a trial on wide tables, whose directions differ only where there are many.
WIDE_FEATURES = 1000
# The factor of learned scales that dense features are tried with first.
FIRST_DENSE = 1.2
# For bins it is the rows over those of a batch to this power: bins of more rows are finer.
FIRST_GROWTH = 0.38
# The ridge that bins are tried with first.
FIRST_BINS_RIDGE = 0.1
# A basis whose first trial has an error larger by this factor is not tried further.
HOPELESS_FIRST = 1.3
# Steps of the search over factors, of bins and of dense features.
SPARSE_STEP, DENSE_STEP = 2.0, 1.6
# Most factors that are tried (krkopt: with four for bins, 24 % were wrong on one split of four, and
# 15 % with six).
SPARSE_TRIES, DENSE_TRIES = 6, 6
# Ridges of dense features, strong to weak.
DENSE_RIDGES = (1.0, 0.1, 0.01, 0.001)
# The ratio of neighbouring ridges.
RIDGE_STEP = 3.0
# The weakest ridge of dense features where targets are numbers: with a weaker one, rows where
# there were few are far off.
WEAKEST = 1e-4
# The weakest where they are classes: scores far off do no harm.
WEAKEST_OF_CLASSES = 1e-5
# The strongest, for each fitted row: it leaves next to nothing of the features.
STRONGEST = 1e3
# Fits on bins that are only compared stop at this relative gap,
ROUGH = 1e-2
# or after so many steps.
ROUGH_STEPS = 50
# Errors of trials that differ by less than this share do so by what rounding in float32 grows to
# while scales are learned (measured: up to 5e-5): the first of them counts, or the largest ridge.
SAME_TRIAL = 1e-4
# Between squared errors within this factor the log loss of the classes decides,
EVEN = 1.1
# where it is lower by so many standard errors.
CHANCE = 1.645
# More components are expected to remove at most this share of an error.
MOST_GAIN = 0.5

# -- the second look at what came close --------------------------------------------------------

# Candidates within this factor of the least error are tried again with more rows and components.
CLOSE = 1.15
# Bins of learned and of equal scales are both tried again only where they are as close as this.
CLOSE_BINS = 1.05
# Bins of it: rows × grids × outputs.
AGAIN_BINS = 1.5e6
# Grids that are enough for it.
AGAIN_GRIDS = 250
# Products of dense features: rows × features².
AGAIN_PRODUCTS = 2e9
# The same on wide tables.
WIDE_PRODUCTS = 6e10
# The same where the best law is tried beside that of equal scales with many more features.
LAST_PRODUCTS = 4e11
# Equal scales are tried again on wide tables where their error is below so many times the least.
PLAIN = 1.5
# The factor of bins grows with this power of the number of rows.
FACTOR_GROWTH = 0.2
# The ridge of bins grows with this power of it.
RIDGE_GROWTH = 0.28
# With this many times more rows, or features, what came close is tried again, or its ridge.
MORE = 1.5
# With this many times more rows the factor of bins is searched again: forest cover has 1.99 % wrong
# with the search and 2.06 % without; with three times more rows (kin40k, krkopt) nothing changes.
MANY_MORE = 4.0
# Two stages are kept where their error is below this share of that of either.
BETTER = 0.985

# -- the number of components ------------------------------------------------------------------

# Nominal entries of features a second, of a dense fit.
SPEED = 1e8
# A bin of the last fit costs as much as so many entries.
BIN_COST = 8.0
# A product of two features costs this share of an entry.
GRAM_COST = 1.0 / 300.0
# Nominal seconds of the last fit.
SECONDS = 1.5
# More of them for each entry of the table.
SECONDS_AN_ENTRY = 3e-7
# The same on wide tables, which dense features of many inputs are for.
WIDE_SECONDS_AN_ENTRY = 3e-6
# Those of bins grow with this power of the number of outputs, and the number of grids falls
# (krkopt, 18 classes: 14.9 % wrong with 404 grids, 17.1 with 95).
OUTPUTS_POWER = 0.25
# Fewest and most grids of the last fit.
FEWEST_GRIDS, MOST_GRIDS = 16, 1000
# Fewest and most dense features of it.
FEWEST_FEATURES, MOST_FEATURES = 256, 8000
# Most features that the ridge of wide tables is searched again with: with more it is as much weaker
# (MNIST: 1e-4 with 3000 features, 4e-5 with 8000).
WIDE_RIDGE_FEATURES = 3000
# The same of other tables: with 1000 in place of 1500 (and fewer ridges for classes) errors were
# 0.999 ± 0.002 times as large, on 16 tables and two seeds.
RIDGE_FEATURES = 1000
# Components are enough where more would lower the held-out error by less than this share: of bins
# (adult has 12.56 % wrong, and 12.64 with 0.005), and of dense features (with 0.002 errors are
# 1.0000 ± 0.0003 times as large, and Grams of noisy targets six times).
ENOUGH, ENOUGH_DENSE = 0.002, 0.005

# -- trees -------------------------------------------------------------------------------------

# The share of the bins that are leaves of trees (kin40k: trials of 60 bins have 0.128 with none,
# 0.106 with a third and 0.114 with half of them).
TREES_SHARE = 0.4
# Trees that are grown; where more leaves are wanted, the same ones come again.
TREES = 48
# Bins that a fit with trees may have: 1000 in place of 300 had 0.97 of the error in 1.3 times the
# time, on eight tables and two seeds.
TREES_BINS = 400
# Leaves of a tree (128 and 512 have the same errors: 1.34 % on sick, 0.24 % on ann_thyroid).
TREE_LEAVES = 256
# The share of the rows that a tree is grown on, and how many they may be: sorting them is the cost.
TREE_SHARE, TREE_ROWS = 0.63, 4000
# The share of the columns that a node chooses from (ann_thyroid, a forest alone: 0.22 % wrong, 0.39
# with all of them).
TREE_COLUMNS = 0.3
# Trees are tried where bins have at most this many times the least error, and kept where they lower
# the error of as many bins to this share of it.
TREES_NEAR, TREES_BETTER = 1.01, 0.98
# No smooth kernel may have less than this many times the error of the bins (digits: the trial falls
# from 0.114 to 0.093 with trees, and 2.2 % are then wrong in place of 1.1).
TREES_SMOOTH = 1.1

# About how many percent of learning are done at a trial of each stage, to tell the time left: as on
# adult with nothing chosen.
DONE = {
    "mean": 5,
    "split": 5,
    "map": 10,
    "slopes": 25,
    "trend": 30,
    "basis": 40,
    "again": 60,
    "last": 75,
    "trees": 75,
    "stages": 90,
    "ridge": 90,
}

# -- a time limit: shares of it -----------------------------------------------------------------

# No short run of another map is begun from here on,
LATE_MAPS = 0.2
# descents end here, in the order in which they are run,
LATE_SCALES = 0.35
# no round of directions is begun,
LATE_TURNS = 0.4
# no further candidates and factors are tried from here on,
LATE_FACTORS = 0.45
# no second look is begun,
LATE_AGAIN = 0.5
# and neither two stages nor another ridge are tried.
LATE_LAST = 0.6
# Rows that tell how long the map of the columns takes,
MAPPED = 1000
# and the last fit may take this share of the time that is then left.
LAST_SHARE = 0.6

# -- categories --------------------------------------------------------------------------------

# Indicators are not tried where the table would have more columns than this.
MOST_INDICATORS = 500
# With fewer rows categories become means without a trial.
FEWEST_ENCODED = 500
# Another encoding is taken only if the error of means exceeds its error by this factor.
EQUAL_ENCODINGS = 1.03
