"""The one rule that says whether a claim holds."""

import math

import numpy as np
import pytest
from scipy import stats

from kitchensinks.papers.experiments.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    below,
    near,
    ratio,
    spread,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("pair", [(0.3, 1.0), (1.0, 0.3), (0.0, 0.1), (0.05, 0.0)])
def test_an_order_is_the_paired_t_test(pair):
    """SciPy's paired test at 5 %, both ways."""
    for _ in range(20):
        common = 5 * RNG.normal(size=6)
        low, high = (mean + common + 0.3 * RNG.normal(size=6) for mean in pair)
        found = stats.ttest_rel(high, low)
        expected = UNDECIDED
        if found.pvalue < 0.05:
            expected = HOLDS if found.statistic > 0 else FAILS
        assert below(low, high).verdict() == expected


def test_other_numbers_of_seeds_are_welchs_test():
    low, high = RNG.normal(size=5), 0.8 + RNG.normal(size=9)
    (edge,) = below(low, high).edges
    expected = stats.ttest_ind(high, low, equal_var=False)
    assert edge.chance == pytest.approx(expected.pvalue)


def test_pairs_decide_what_means_do_not():
    """A small difference on every seed, far below the spread over seeds."""
    common = 10 * RNG.normal(size=5)
    low, high = common, common + 0.1 + 0.01 * RNG.normal(size=5)
    assert below(low, high).verdict() == HOLDS
    assert below(low, [*high, 0.0]).verdict() == UNDECIDED


@pytest.mark.parametrize(
    ("ours", "side", "verdict", "better"),
    [
        ([10.1, 9.9, 10.0], None, HOLDS, False),
        ([14.1, 13.9, 14.0], None, FAILS, False),
        ([6.1, 5.9, 6.0], None, FAILS, False),
        ([6.1, 5.9, 6.0], "lower", HOLDS, True),
        ([14.1, 13.9, 14.0], "lower", FAILS, False),
        ([14.1, 13.9, 14.0], "higher", HOLDS, True),
        ([11.1, 10.9, 11.0], None, UNDECIDED, False),
        ([7.0, 13.0, 10.0], None, UNDECIDED, False),
    ],
)
def test_a_number_may_be_near_or_better(ours, side, verdict, better):
    """A wide spread decides nothing; it does not widen the tolerance."""
    check = near(ours, paper=10.0, tolerance=1.0, side=side)
    assert (check.verdict(), check.better) == (verdict, better)


def test_the_interval_decides():
    """Inside the tolerance with its whole 95 % interval, outside, or neither."""
    for _ in range(50):
        ours = RNG.normal(0.6, 0.5, size=6)
        low, high = stats.t.interval(0.95, 5, np.mean(ours), stats.sem(ours))
        expected = UNDECIDED
        if low > -1 and high < 1:
            expected = HOLDS
        elif low > 1 or high < -1:
            expected = FAILS
        assert near(ours, 0.0, 1.0).verdict() == expected


def test_the_deviation_of_the_paper_counts():
    ours = [10.8, 10.82, 10.78]
    assert near(ours, 10.0, 1.0).verdict() == HOLDS
    assert near(ours, 10.0, 1.0, paper_spread=2.0).verdict() == UNDECIDED


def test_near_another_quantity_of_ours_is_paired():
    other = 10 * RNG.normal(size=5)
    assert near(other + 0.1, other, 0.5).verdict() == HOLDS
    assert near(other + 0.9, other, 0.5).verdict() == FAILS


@pytest.mark.parametrize(
    ("low", "most", "verdict"),
    [(2, 100, HOLDS), (10, 100, FAILS), (2, 12, FAILS), (3, math.inf, UNDECIDED)],
)
def test_a_ratio_is_of_pairs(low, most, verdict):
    high = np.array([29.0, 30.0, 31.0])
    assert ratio(high, [low] * 3, least=10, most=most).verdict() == verdict
    assert ratio(7 * high, [7 * low] * 3, least=10, most=most).verdict() == verdict


def test_what_was_never_reached_is_undecided():
    assert ratio([10.0], [math.inf], 2).verdict() == UNDECIDED


def test_one_seed_decides_nothing():
    for check in (below([1.0], [2.0]), near([1.0], 1.0, 5.0), ratio([9.0], [1.0], 2)):
        assert check.verdict() == UNDECIDED
        assert check.seeds is None
    assert below([1.0, 1.1, 0.9], [2.0]).verdict() == UNDECIDED
    assert below([1.0, 1.1, 0.9], 2.0).verdict() == HOLDS


def test_the_seeds_that_would_decide():
    """As many of the same differences are just significant, and fewer are not."""
    low, high = np.zeros(3), np.array([0.5, 2.0, 0.2])
    check = below(low, high)
    assert check.verdict() == UNDECIDED
    mean, deviation = spread(high)

    def chance(count):
        return 2 * stats.t.sf(mean / (deviation / math.sqrt(count)), count - 1)

    assert chance(check.seeds) < 0.05 <= chance(check.seeds - 1)
    assert below(low, [1.0, -1.0, 0.0]).seeds is None


def test_seeds_do_not_lower_the_error_of_a_printed_number():
    """Five runs of the paper with deviation 0.1: its own error is 0.1/√5 = 0.045."""
    ours = [10.2, 10.0, 9.8]
    decided = near(ours, 10.0, 0.2, paper_spread=0.1)
    assert decided.verdict() == UNDECIDED

    def chance(count):
        error = math.hypot(0.2 / math.sqrt(count), 0.1 / math.sqrt(5))
        return 2 * stats.t.sf(0.2 / error, count - 1)

    assert chance(decided.seeds) < 0.05 <= chance(decided.seeds - 1)
    assert decided.why_open == f"{decided.seeds} seeds would decide"
    never = near(ours, 10.0, 0.08, paper_spread=0.1)
    assert never.seeds is None
    assert "paper's own error" in never.why_open
    assert below([0.0] * 4, [0.0] * 4).why_open == "equal in every run"


YES, OPEN, NO = below([0, 0], [1, 1.1]), below([1, 2], [1.1, 1.8]), below([1, 1.1], [0, 0])


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([YES], HOLDS),
        ([YES, YES], HOLDS),
        ([YES, OPEN], UNDECIDED),
        ([OPEN], UNDECIDED),
        ([below([9, 9, 9], [1, 1.1, 1.2]), YES], FAILS),
        ([NO], FAILS),
    ],
)
def test_all_checks_hold_or_one_refutes(checks, verdict):
    claim = Claim("it is so", checks, why="because")
    facts = claim.facts()
    assert claim.verdict() == facts["verdict"] == verdict
    assert facts["why"] == ("" if verdict == HOLDS else "because")


def test_many_checks_need_a_clearer_counterexample():
    """5 %/c: of twenty checks of true orders, one fails at 5 % by chance alone."""
    barely = below([1.0, 1.3, 0.8, 1.2], [0.9, 1.1, 0.71, 0.95])
    assert 0.05 / 20 < barely.edges[0].chance < 0.05
    assert barely.verdict() == FAILS
    assert Claim("one", [barely]).verdict() == FAILS
    twenty = Claim("twenty", [barely, *[YES] * 19])
    assert twenty.verdict() == UNDECIDED
    first, second, *_ = twenty.facts()["checks"]
    assert first["verdict"] == FAILS
    assert "open" not in second
    differences = np.array([0.9, 1.1, 0.71, 0.95]) - np.array([1.0, 1.3, 0.8, 1.2])
    mean, deviation = differences.mean(), differences.std(ddof=1)

    def chance(count):
        return 2 * stats.t.sf(abs(mean) / (deviation / math.sqrt(count)), count - 1)

    assert chance(first["seeds"]) < 0.05 / 20 <= chance(first["seeds"] - 1)
    assert first["open"].endswith(f"5 %/20: {first['seeds']} seeds would refute the claim")


def test_claims_by_construction_need_no_seeds():
    one = [below([1.0], [2.0])]
    assert Claim("it is so", one, kind="construction").verdict() == HOLDS
    assert Claim("it is so", one, kind="construction").facts()["checks"][0]["verdict"] == HOLDS
    other = Claim("it is so", [below([2.0], [1.0])], kind="construction").facts()
    assert other["verdict"] == other["checks"][0]["verdict"] == FAILS
    assert Claim("it is so", one).verdict() == UNDECIDED
    assert "two or more are needed" in Claim("it is so", one).facts()["checks"][0]["open"]


def test_very_many_seeds_are_told_as_such():
    wide = below([0.0, 0.0, 0.0], [1.0, -1.0, 0.003])
    assert wide.why_open == "more than 10,000 seeds would be needed"


def test_nothing_to_go_by_is_an_error():
    with pytest.raises(ValueError, match="no checks"):
        Claim("it is so", []).verdict()
    with pytest.raises(ValueError, match="no values"):
        spread([])


def test_seeds_do_not_decide_what_was_never_reached():
    check = ratio(np.inf, [1.0, 2.0], 10)
    assert check.verdict() == UNDECIDED
    assert check.seeds is None
    assert check.why_open == "seeds do not decide what is not reached"
