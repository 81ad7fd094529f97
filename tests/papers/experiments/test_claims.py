"""The one rule that says whether a claim holds."""

import pytest

from kitchensinks.papers.experiments.claims import (
    FAILS,
    HOLDS,
    IN_PART,
    Claim,
    below,
    near,
    ratio,
    spread,
)


@pytest.mark.parametrize(
    ("ours", "side", "score", "better"),
    [
        ([10.0], None, 1.0, False),
        ([11.0], None, 1.0, False),
        ([12.0], None, 0.5, False),
        ([14.0], None, 0.0, False),
        ([6.0], None, 0.0, False),
        ([6.0], "lower", 1.0, True),
        ([9.5], "lower", 1.0, False),
        ([14.0], "lower", 0.0, False),
        ([14.0], "higher", 1.0, True),
        ([6.0], "higher", 0.0, False),
        ([10.0, 16.0], None, 1.0, False),  # 3 away, with a deviation of 4.2
    ],
)
def test_a_number_may_be_near_or_better(ours, side, score, better):
    check = near(ours, paper=10.0, tolerance=1.0, side=side)
    assert check.score == score
    assert check.better == better


def test_the_deviation_of_the_paper_counts():
    assert near([13.0], 10.0, 1.0).score == 0.5
    assert near([13.0], 10.0, 1.0, paper_spread=2.0).score == 1.0


@pytest.mark.parametrize(
    ("low", "high", "score"),
    [([1.0], [2.0], 1.0), ([2.0], [1.0], 0.0), ([1.0, 3.0], [1.5, 2.4], 0.5), ([1.0], [1.0], 0.5)],
)
def test_an_order_is_of_means(low, high, score):
    assert below(low, high).score == score


@pytest.mark.parametrize(
    ("high", "low", "most", "score"),
    [(30, 2, 100, 1.0), (30, 10, 100, 0.5), (30, 30, 100, 0.0), (300, 2, 100, 0.5)],
)
def test_a_ratio_is_of_means(high, low, most, score):
    assert ratio([high - 1, high + 1], [low], least=10, most=most).score == score


YES, HALF, NO = below([0], [1]), below([1], [1]), below([1], [0])


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([YES], HOLDS),
        ([YES, YES], HOLDS),
        ([YES, HALF], IN_PART),
        ([HALF], IN_PART),
        ([YES, NO], IN_PART),
        ([YES, NO, NO], FAILS),
        ([HALF, NO], FAILS),
        ([NO], FAILS),
    ],
)
def test_all_checks_hold_half_of_them_in_part(checks, verdict):
    claim = Claim("it is so", checks, why="because")
    facts = claim.facts()
    assert claim.verdict() == facts["verdict"] == verdict
    assert facts["why"] == ("" if verdict == HOLDS else "because")


def test_nothing_to_go_by_is_an_error():
    with pytest.raises(ValueError, match="no checks"):
        Claim("it is so", []).verdict()
    with pytest.raises(ValueError, match="no values"):
        spread([])
