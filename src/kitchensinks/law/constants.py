"""The constants of learning a law: each with its reason, each section with what shows it.

`python -m benchmarks.constants` changes one constant at a time and prints what happens to errors
and times (docs/constants.md). Where a section, or a part of it, names a test in its place, that
test fails where one of the constants below is halved or doubled.
"""

# -- when a law is learned, and how -------------------------------------------------------------
# Shown by `tests/law/test_constants.py`.

# With fewer rows, too few could be held out.
FEWEST_ROWS = 30
# With weights that count as fewer rows, (Σw)²/Σw², every batch would be copies of one row.
LEAST_ROWS = 1.5
# Fewest rows for a basis with its own bandwidth and for law="agop", which are not cross-validated.
FEWEST_FOR_SCALES = 400
# Each step of the descent costs batch × columns. Above this many columns, scales are learned for
# the columns most correlated with the targets, and laws are compared as for few rows.
MOST_COLUMNS = 5000
# Squared errors of targets about their mean that are those of fewer rows in effect, (Σd²)²/Σd⁴, are
# told: the held-out error is then noise (fits were worse than the mean with 2 of 1500).
DECIDING = 10.0
# The same where this share of the rows is less: normal targets have a third of the rows.
DECIDING_SHARE = 0.02

# -- copies of rows -----------------------------------------------------------------------------
# Shown by `tests/law/test_constants.py`.

# If this share of the rows are copies, copies count as weights, and a warning says so.
MANY_COPIES = 0.02
# If independent columns would have at least this share of the equal pairs of rows, there is no
# warning: values repeat, and rows need not have been copied.
BY_CHANCE = 0.1
# Rows that those held out count as at least, or half of them, where copies are very unequal (one
# split of keggundirected: 2,960 rows counted as 30, which chose the linear model, 16.8 % of the
# deviation in place of 13.5).
LEAST_IN_EFFECT = 1000

# -- memory --------------------------------------------------------------------------------------
# Shown by `tests/law/test_constants.py`.

# Bytes of a fit on bins for each row and grid, and those for each output besides. With one output
# 20 to 40 were measured, by 10,000 to 200,000 rows, 20 to 120 grids and up to 0.3 bins for a row
# and grid, as laws have them: 20 are tables of the bins, and each bin takes 60. Where nearly every
# row has bins of its own, a fit takes twice as much.
BIN_BYTES = 30.0
# Measured as 1 to 11: a bin has 40 bytes for each output, and rows share bins.
BIN_OUTPUT_BYTES = 8.0
# Entries of the pool, so that wide tables fit into memory (128 MB in float64).
POOL_ENTRIES = 2**24
# Most rows that laws of very many columns are compared on.
FEW_SAMPLED = 2000
# Entries of those rows when they are dense (256 MB in float64).
FEW_ENTRIES = 2**25
# Most dense features of the last fit: their Gram takes 512 MB in float64.
MOST_FEATURES = 8000

# -- files ---------------------------------------------------------------------------------------
# Shown by `tests/files/test_onnx_tables.py`.

# Largest ONNX file, in bytes: the limit of its format, less a megabyte for the other nodes.
EXPORTED_BYTES = 2.0**31 - 2**20
# Bytes of one bin in an ONNX file, without its weights of at most eight bytes each.
EXPORTED_BIN_BYTES = 16.0

# -- the pool of rows, and those held out -------------------------------------------------------
# Shown by `benchmarks.constants`.

# Rows of the pool that all trials use: the law hardly changes with more.
POOL = 45_000
# Share of the pool that is held out.
HELD_SHARE = 0.2
# Most rows held out: enough to detect a difference of 1 % in error.
MOST_HELD = 5000
# Runs of consecutive rows that are held out together, because neighbours are often alike.
RUNS = 20

# Shown by `tests/law/test_constants.py`.

# Rows that quantiles and distances are estimated from.
SAMPLED = 10_000

# -- scales by descent on held-out error --------------------------------------------------------
# Shown by `benchmarks.constants`.

# A batch is this share of the rows: a column whose effect changes from value to value needs several
# rows of each value in a batch.
BATCH_SHARE = 0.35
# The share of a batch that is fitted; it predicts the rest.
FITTED_SHARE = 0.65
# The smallest batch: with fewer rows the error is mostly noise.
SMALLEST_BATCH = 420
# The ridge that the descent begins with, in units of k(x, x) = 1.
FIRST_RIDGE = 0.05
# Adam's memory of gradients.
MEMORY = 0.8
# Adam's memory of squared gradients.
SQUARE_MEMORY = 0.95
# Adam's first learning rate, in the logarithm of the scales; it falls to zero in the second half.
RATE = 0.5
# The scales are the mean over this last share of the steps.
AVERAGED = 0.25

# Shown by `tests/law/test_decisions.py`.

# Bounds of the ridge of a descent: below, kernel matrices are singular in float32; above, nothing
# is fitted.
RIDGES = (1e-3, 3.0)
# A column without a slope, or that a fold has left out, has this share of the largest scale: all
# rounds and members have the same columns.
LEAST_SCALE = 1e-6

# -- few rows, or very many columns -------------------------------------------------------------
# Shown by `benchmarks.constants`.

# Below this many rows, a single hold-out is too small: laws are compared by cross-validation.
FEW_ROWS = 600
# Folds of the cross-validation.
FOLDS = 5
# Folds from FEWER_FOLDS_FROM rows on: two thirds of the rows are then enough to compare laws, and
# the factorisations of five folds would take three times as long.
FEWER_FOLDS = 3
# The number of rows from which there are fewer folds.
FEWER_FOLDS_FROM = 400
# Below this many rows the cross-validation is repeated with another shuffle.
TWICE = 100
# A law replaces the plain law or the linear model if its error is lower by this many standard
# errors, times √(100/n) below 100 rows, where the least error of many laws is chance. Of classes,
# a law of nearly the least squared error is preferred if its log loss is as clearly lower. Trees
# among the bins are left out if their error is as clearly higher.
CLEARLY = 1.5
# Columns that scales are learned for, and that a linear fit has where lines are looked for: those
# most correlated with the targets.
SCREENED = 512
# Features of the last fit: their kernel is exact to about 1/√2000 = 2 %.
FEW_FEATURES = 2000

# -- maps of the columns ------------------------------------------------------------------------
# Shown by `benchmarks.constants`.

# Steps of the short runs that compare maps.
SHORT_STEPS = 16
# Rows of their batches.
SHORT_BATCH = 360

# Shown by `tests/law/test_decisions.py`.

# Steps at the end of a short run whose mean error counts.
SHORT_COUNTED = 6

# -- directions of wide tables ------------------------------------------------------------------
# Shown by `benchmarks.constants`.

# Columns, indicators apart, from which batches are halved and directions are learned.
WIDE = 100
# Most columns whose directions are learned and made orthogonal, which costs d³.
MOST_TURNED = 1000
# Rows that gradients are averaged over.
SLOPE_ROWS = 3000
# Rows of the fits that are differentiated.
SLOPE_FITTED = 10_000
# Features of those fits.
SLOPE_FEATURES = 1000
# Directions that together have less than this share of the trace are left out: those of constant
# columns have none, and would be divided by zero.
LEFT_OUT = 1e-4

# Shown by `tests/law/test_decisions.py`.

# Most rounds of fit and gradient that turn the rows.
TURNS = 5
# Rounds go on while each lowers the error to less than this share.
FALLING = 0.97

# -- trials and last fits of wide tables --------------------------------------------------------
# Shown by `tests/law/test_sizes.py`.

# Most features of a trial: only many features tell directions apart.
WIDE_FEATURES = 1000
# Cost of the second look at dense features of wide tables: rows × features².
WIDE_PRODUCTS = 6e10
# The same where the best law is compared with equal scales at nearly the final number of features.
LAST_PRODUCTS = 4e11
# Additional nominal seconds of the last fit for each entry of a wide table, where dense features
# gain more than on other tables.
WIDE_SECONDS_AN_ENTRY = 3e-6
# Most features of the final ridge search; that of more features is extrapolated (with 1000, 1.15
# times as many rows of uci_har were wrong on one split).
WIDE_RIDGE_FEATURES = 3000

# Shown by `tests/law/test_decisions.py`.

# Equal scales are tried again if their error is within this factor of the least.
PLAIN = 1.5

# -- slopes by differences, for bases without slopes ----------------------------------------------
# Shown by `tests/law/test_constants.py`.

# Step of central differences: rounding and curvature both stay below it.
SLOPE_STEP = 1e-3
# Rows times columns that are shifted for differences: each shift is one more row of features.
SHIFTED = 50_000
# Fewest rows that are shifted, however wide the table is.
FEWEST_SHIFTED = 50

# -- a line that goes on outside of the range ---------------------------------------------------
# Shown by `benchmarks.constants`.

# Rows that columns are screened with.
TREND_SAMPLE = 2000
# The share of the rows at each end of a column that is held out.
TREND_ENDS = 1.0 / 6.0
# Most rows that are fitted within the range; as many are predicted outside of it, and the slopes
# of the lines that are kept are fitted to twice as many.
TREND_FITTED = 300
# Ridges of these fits, in units of k(x, x) = 1.
TREND_RIDGES = (0.01, 0.1, 1.0)
# A line is kept if it lowers the squared error outside of the range to less than this share.
TREND_BETTER = 0.9

# Shown by `tests/law/test_decisions.py`.

# Columns that are tried, which take a fit each: those with the largest effects in a linear fit.
TREND_TRIED = 3
# Added to the diagonal of their correlation matrix, because columns may be copies.
TREND_SOLVED = 1e-3
# Fewest distinct values of a column that may have a line: with fewer its ends are no ends.
TREND_VALUES = 5
# Smallest slope of a column that is tried, in standard deviations of target and column: it saves
# the fits of columns without effect.
TREND_LEAST = 0.05
# With fewer rows within the range no line is tried: it would be chance.
TREND_FEWEST = 100
# The number of standard errors by which a line must lower the error outside of the range.
TREND_CHANCE = 3.0
# The largest factor by which it may raise the leave-one-out error within the range.
TREND_WITHIN = 1.002
# The same factor where the latest rows are held out, which resemble the rows to come.
TREND_LATER = 1.02

# -- trials of bases, bandwidths and ridges -----------------------------------------------------
# Shown by `benchmarks.constants`.

# Bins of a trial: rows × grids × outputs.
TRIAL_BINS = 6e5
# Most grids of a trial: more cost time and rank the candidates alike.
TRIAL_GRIDS = 100
# Most dense features of a trial, for the same reason.
TRIAL_FEATURES = 400
# The ridge that bins are tried with first.
FIRST_BINS_RIDGE = 0.1
# Ratio of neighbouring bandwidth factors in the search for bins.
SPARSE_STEP = 2.0
# The same ratio for dense features.
DENSE_STEP = 1.6
# Most factors that are tried (bins of krkopt: with four, 24 % were wrong on one split of four, and
# 15 % with six).
TRIES = 6
# Ridges of dense features, strong to weak.
DENSE_RIDGES = (1.0, 0.1, 0.01, 0.001)
# The ratio of neighbouring ridges.
RIDGE_STEP = 3.0
# Most steps of a trial fit on bins.
ROUGH_STEPS = 50
# More components are expected to remove at most this share of an error.
MOST_GAIN = 0.5

# Shown by `tests/law/test_sizes.py`.

# Entries of a trial with dense features: rows × features (with 312 features for any number of rows,
# `effort="quick"` took 1.16 times as long on 38 tables, with 1.01 times the error).
TRIAL_ENTRIES = 2.5e6

# Shown by `tests/law/test_decisions.py`.

# The weakest ridge of dense features in regression: with a weaker one, predictions in sparse
# regions are far off.
WEAKEST = 1e-4
# The weakest ridge in classification, where extreme scores do no harm.
WEAKEST_OF_CLASSES = 1e-5
# The strongest ridge per fitted row: it leaves almost nothing of the features.
STRONGEST = 1e3
# Among laws within this factor of the least squared error, the log loss of the classes decides.
EVEN = 1.1
# Errors of trials that differ by less than this share are ties: float32 rounding while scales are
# learned causes differences up to 1.1e-4 (measured). The first trial, or the largest ridge, wins.
SAME_TRIAL = 2e-4
# A basis whose first trial has an error larger by this factor is not tried further.
HOPELESS_FIRST = 1.3

# -- the second look at what came close ---------------------------------------------------------
# Shown by `benchmarks.constants`.

# Cost of the second look at dense features: rows × features².
AGAIN_PRODUCTS = 2e9
# The factor of bins and their ridge λ = α·n grow with this power of the number of rows. Forest
# cover with 60,000 rows has the same error with 0.14 to 0.56 for the ridge; 250,000 rows have
# 2.87 % wrong, 2.90 with 0.28 for the ridge, and 3.04 with 0.56.
GROWTH = 0.2
# With this many times more rows the factor of bins is searched again: forest cover has 1.99 % wrong
# with the search and 2.06 % without; with three times more rows (kin40k, krkopt) nothing changes.
MANY_MORE = 4.0

# Shown by `tests/law/test_sizes.py`.

# Bins and grids of the second look, as multiples of those of a trial.
AGAIN = 2.5

# Shown by `tests/law/test_decisions.py`.

# Kernels within this factor of the least error of the short runs have candidates, and candidates
# within it of the least error are tried again with more rows and components.
CLOSE = 1.15
# With this many times more rows, close candidates are tried again; with this many times more
# features, the ridge is.
MORE = 1.5

# -- the number of components -------------------------------------------------------------------
# Shown by `benchmarks.constants`.

# The seconds of bins grow with this power of the number of outputs, so that many classes still have
# enough grids (krkopt, 18 classes: 14.9 % wrong with 404 grids, 17.1 with 95).
OUTPUTS_POWER = 0.25
# Most features of the final ridge search: with 1000 in place of 1500 (and fewer ridges for classes)
# errors were 0.999 ± 0.002 times as large, on 16 tables and two seeds.
RIDGE_FEATURES = 1000

# Shown by `tests/law/test_sizes.py`.

# Nominal feature entries per second of a dense fit.
SPEED = 1e8
# Cost of one bin of the last fit, in feature entries.
BIN_COST = 8.0
# Cost of one product of two features, in feature entries.
GRAM_COST = 1.0 / 300.0
# Nominal seconds of the last fit.
SECONDS = 1.5
# Additional nominal seconds for each entry of the table.
SECONDS_AN_ENTRY = 3e-7
# Fewest grids of the last fit.
FEWEST_GRIDS = 16
# Most grids of the last fit, so that its time and memory are bounded.
MOST_GRIDS = 1000
# Fewest dense features of the last fit: their kernel is exact to about 1/√256 = 6 %.
FEWEST_FEATURES = 256
# Grids are enough if more would lower the held-out error by less than this share (adult: 12.56 %
# wrong, and 12.64 with 0.005).
ENOUGH = 0.002
# Dense features are enough if more would lower that error by less than this share (with 0.002,
# errors are 1.0000 ± 0.0003 times as large, and the Gram matrices for noisy targets six times).
ENOUGH_DENSE = 0.005

# -- trees --------------------------------------------------------------------------------------
# Shown by `benchmarks.constants`.

# Shares of the bins that are leaves of trees, of which the held-out error takes one (kin40k prefers
# few trees; of krkopt 13.2 % are wrong with 0.4 of the bins alone, 12.6 with the better of both).
TREES_SHARES = (0.4, 0.75)
# Trees that are grown; if the law asks for more, the same trees are used again.
TREES = 96
# Entries of the rows of all trees together; there are half of the trees above at least (with all of
# them, fits to house_16H take 1.4 times the time, with the same error).
GROWN_ENTRIES = 8_000_000
# Most grids and trees of a fit: 1000 in place of 300 had 0.97 of the error in 1.3 times the
# time, on eight tables and two seeds.
TREES_BINS = 400
# Most leaves of a tree: of 15,000 rows or more trees gain by so many, and of fewer rows 128 to 1024
# have the same errors (krkopt, three splits: 15.2 % wrong with 256 leaves of 4000 rows, 13.5 so).
TREE_LEAVES = 1024
# The share of the rows that a tree is grown on.
TREE_SHARE = 0.63
# Most rows that a tree is grown on: sorting them dominates the cost (with 20,000 krkopt has 13.2 %
# wrong, and fits to kin40k take 1.2 times as long).
TREE_ROWS = 10_000
# The share of the columns that a node chooses from (ann_thyroid, a forest alone: 0.22 % wrong, 0.39
# with all of them).
TREE_COLUMNS = 0.3

# Shown by `tests/law/test_decisions.py`.

# Trees are tried if the error of bins is within this factor of the least with another kernel (one
# split of ann_thyroid, where dense features of theirs win: 1.0 % wrong without trees, 0.28 with).
TREES_NEAR = 1.01
# Trees are not tried if a smooth kernel is within this factor of the error of bins (digits: trees
# lower the trial error from 0.114 to 0.093, but 2.2 % of the test rows are wrong in place of 1.1).
TREES_SMOOTH = 1.1

# -- the plain law ------------------------------------------------------------------------------
# Shown by `tests/law/test_find_law.py`.

# Components of a given basis where no number was given: errors of kernels fall as 1/√K, to 3 %.
PLAIN_COMPONENTS = 1000
# Up to this many entries of features, float64 takes no noticeable time.
SMALL_FIT = 2**23

# -- a time limit: shares of it -----------------------------------------------------------------
# Shown by `tests/law/test_time_limit.py`.

# No short run of another map begins after this share.
LATE_MAPS = 0.2
# Descents end at this share.
LATE_SCALES = 0.35
# No trees are grown after this share: with the fits before and after, they take as long as several
# candidates (with 0.6, a limit of 2 s became 2.3 s).
LATE_TREES = 0.3
# No round of directions begins after this share.
LATE_TURNS = 0.4
# No further candidate or factor is tried after this share.
LATE_FACTORS = 0.45
# No second look begins after this share.
LATE_AGAIN = 0.5
# Neither two stages nor another ridge are tried after this share.
LATE_LAST = 0.6
# Rows that measure how long the map of the columns takes.
MAPPED = 1000
# The last fit may take this share of the remaining time.
LAST_SHARE = 0.6

# -- categories ---------------------------------------------------------------------------------
# Shown by `tests/law/test_constants.py`.

# Indicators are not tried where the table would have more columns than this.
MOST_INDICATORS = 500
# Another encoding replaces mean targets only if their error exceeds its error by this factor.
EQUAL_ENCODINGS = 1.03

# -- progress ------------------------------------------------------------------------------------
# Shown by `tests/estimators/test_progress.py`.

# Percentage of the learning that is done at a trial of each stage, for the progress bar; measured
# on adult with default parameters.
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
