"""From frames of speech to error rates of phones (maxout paper, 5.2.2).

A classifier of spliced frames gives the posterior of every state; divided by the prior of the state
that is a likelihood up to a factor, and the Viterbi algorithm finds the best sequence of units
(phones, or digits) under a bigram. Every unit has as many states, which are passed from left to
right: those of unit u are u·s, …, u·s + s − 1.
"""

import itertools
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.papers.datasets.builders import DIGIT_STATES
from kitchensinks.papers.datasets.real import FOLDER_VARIABLE
from kitchensinks.papers.experiments.data import (
    certified,
    evidence,
    fit_quietly,
    load,
    percent_wrong,
)
from kitchensinks.papers.experiments.study import Cell

# Frames of context on either side, and states of a phone.
CONTEXT = 5
_PHONE_STATES = 3
# The 48 phones of Lee and Hon (1989), and those among them that are scored as another one of 39.
_PHONES = (
    "iy ih eh ae ix ax ah uw uh ao aa ey ay oy aw ow l el r y w er m n en ng ch jh dh b d dx g p t "
    "k z zh v f th s sh hh cl vcl epi sil"
)
PHONES = _PHONES.split()
SCORED_AS = {"el": "l", "en": "n", "zh": "sh", "ao": "aa", "ix": "ih", "ax": "ah"}
SCORED_AS |= dict.fromkeys(("cl", "vcl", "epi"), "sil")


class Spoken(NamedTuple):
    """Utterances joined: frames (t, columns), their states (t,), and the frames of each one."""

    frames: np.ndarray
    states: np.ndarray
    lengths: np.ndarray

    def utterances(self, array: np.ndarray) -> list[np.ndarray]:
        """A joined array, cut into utterances."""
        return np.split(array, np.cumsum(self.lengths)[:-1])

    def first(self, count: int) -> "Spoken":
        lengths = self.lengths[:count]
        stop = int(lengths.sum())
        return Spoken(self.frames[:stop], self.states[:stop], lengths)


class Corpus(NamedTuple):
    """Training and test utterances, the names of the units, and how many states each has."""

    train: Spoken
    test: Spoken
    units: Sequence[str]
    n_states: int


def splice(spoken: Spoken, context: int = CONTEXT) -> np.ndarray:
    """Every frame with its neighbours on both sides, (t, (2·context + 1)·columns).

    The first and the last frame of an utterance stand for those beyond.

    >>> frames = np.array([[1.0], [2.0], [3.0]])
    >>> splice(Spoken(frames, np.zeros(3), np.array([2, 1])), 1).tolist()
    [[1.0, 1.0, 2.0], [1.0, 2.0, 2.0], [3.0, 3.0, 3.0]]
    """
    stops = np.cumsum(spoken.lengths)
    first, last = (np.repeat(ends, spoken.lengths) for ends in (stops - spoken.lengths, stops - 1))
    places = np.arange(len(spoken.frames))[:, None] + np.arange(-context, context + 1)
    places = np.clip(places, first[:, None], last[:, None])
    return np.asarray(spoken.frames[places].reshape(len(places), -1))


def units_of(states: np.ndarray, n_states: int) -> list[int]:
    """The units that a path of states passes; one that begins anew counts again.

    >>> units_of(np.array([0, 1, 1, 0, 1, 2, 3]), 2)
    [0, 0, 1]
    """
    unit, place = np.divmod(states, n_states)
    begins = np.concatenate([[True], (unit[1:] != unit[:-1]) | (place[1:] < place[:-1])])
    return [int(each) for each in unit[begins]]


class Decoder(NamedTuple):
    """Logarithms of priors (states,), of staying in and of leaving a state, and of the bigram.

    bigram (units + 1, units + 1): from unit to unit; the last row is the begin of an utterance and
    the last column its end.
    """

    prior: np.ndarray
    stay: np.ndarray
    leave: np.ndarray
    bigram: np.ndarray
    n_states: int

    @classmethod
    def of(cls, spoken: Spoken, n_units: int, n_states: int) -> "Decoder":
        """Counts over utterances with known states, each begun with one."""
        frames = np.ones(n_units * n_states)
        visits = np.ones(n_units * n_states)
        pairs = np.ones((n_units + 1, n_units + 1))
        for states in spoken.utterances(spoken.states):
            np.add.at(frames, states, 1)
            np.add.at(visits, states[np.flatnonzero(np.diff(states, prepend=-1))], 1)
            path = [n_units, *units_of(states, n_states), n_units]
            np.add.at(pairs, tuple(np.array(list(itertools.pairwise(path))).T), 1)
        leaving = visits / (frames + 1)
        return cls(
            np.log(frames / frames.sum()),
            np.log1p(-leaving),
            np.log(leaving),
            np.log(pairs / pairs.sum(axis=1, keepdims=True)),
            n_states,
        )

    def units(self, posteriors: np.ndarray, weight: float = 1.0) -> list[int]:
        """The best sequence of units for log posteriors (t, states) of one utterance.

        Viterbi: the largest sum of log posterior − log prior over frames, of the transitions, and
        of `weight` times the bigram.
        """
        scores, n_all = posteriors - self.prior, posteriors.shape[1]
        first = np.arange(0, n_all, self.n_states)
        last = first + self.n_states - 1
        begin, end = weight * self.bigram[-1, :-1], weight * self.bigram[:-1, -1]
        between = weight * self.bigram[:-1, :-1]
        best = np.full(n_all, -np.inf)
        best[first] = begin + scores[0, first]
        # Where each state was come to from; n_all is added where a unit begins.
        back = np.empty((len(scores), n_all), dtype=np.int64)
        for t in range(1, len(scores)):
            ahead = np.concatenate([[-np.inf], (best + self.leave)[:-1]])
            ahead[first] = -np.inf
            enter = (best + self.leave)[last][:, None] + between
            stay = best + self.stay
            back[t] = np.where(ahead > stay, np.arange(n_all) - 1, np.arange(n_all))
            best = np.maximum(stay, ahead)
            come = enter.argmax(axis=0)
            entered = enter[come, np.arange(len(first))]
            begun = entered > best[first]
            back[t, first[begun]] = last[come[begun]] + n_all
            best[first] = np.maximum(best[first], entered)
            best += scores[t]
        state = int(last[(best[last] + self.leave[last] + end).argmax()])
        found = []
        for t in range(len(scores) - 1, 0, -1):
            before = int(back[t, state])
            if before >= n_all:
                found.append(state // self.n_states)
            state = before % n_all
        return [state // self.n_states, *reversed(found)]


def distance(found: Sequence[Any], truth: Sequence[Any]) -> int:
    """Least number of insertions, deletions and substitutions from one sequence to the other.

    >>> distance("kitten", "sitting")
    3
    """
    row = list(range(len(truth) + 1))
    for i, one in enumerate(found, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(truth, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (one != other))
    return row[-1]


def error_rate(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> float:
    """Per cent: 100·Σ distance/Σ units, over (found, true) utterances."""
    errors = total = 0
    for found, truth in pairs:
        scored = [[SCORED_AS.get(name, name) for name in names] for names in (found, truth)]
        errors += distance(*scored)
        total += len(truth)
    return 100.0 * errors / total


def decoded_error(model: Any, corpus: Corpus, rows: np.ndarray) -> float:
    """The error rate of units on the test utterances, whose spliced frames are `rows`.

    States that were never fitted have the posterior of a frame that none was seen of.
    """
    decoder = Decoder.of(corpus.train, len(corpus.units), corpus.n_states)
    posteriors = np.full((len(rows), len(decoder.prior)), np.log(1e-8))
    posteriors[:, model.classes_] = np.maximum(model.predict_log_proba(rows), np.log(1e-8))
    test = corpus.test
    found = [decoder.units(own) for own in test.utterances(posteriors)]
    truth = [units_of(states, corpus.n_states) for states in test.utterances(test.states)]
    names = ([[corpus.units[u] for u in units] for units in part] for part in (found, truth))
    return error_rate(zip(*names, strict=True))


# Epochs of averaged stochastic gradients; width of the hidden layers of a net, and its epochs. The
# paper's nets have 4000 nodes a layer.
_SIZES = {"timit": (10, 4000, 20), "fsdd": (5, 256, 15)}
LAYERS = 4
# Utterances of quick runs.
_FEW = 12


@lru_cache(maxsize=1)
def corpus(name: str, quick: bool) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """A corpus with the spliced frames of its two parts; few utterances for quick runs."""
    digits = name == "fsdd"
    data = load(name, **({"frames": True} if digits else {}))
    train = Spoken(data.X_train, np.asarray(data.y_train), np.asarray(data.lengths_train))
    test = Spoken(data.X_test, np.asarray(data.y_test), np.asarray(data.lengths_test))
    if quick:
        train, test = train.first(_FEW), test.first(_FEW)
    units = [str(digit) for digit in range(10)] if digits else _phones(train, test)
    found = Corpus(train, test, units, DIGIT_STATES if digits else _PHONE_STATES)
    return found, splice(train), splice(test)


def _phones(*parts: Spoken) -> list[str]:
    """The phones in the order of their states: the lines of timit/phones.txt, or `PHONES`.

    The paper has 147 states, which are three of each of 49 phones, and does not list them.
    """
    file = Path(os.environ.get(FOLDER_VARIABLE, "")).expanduser() / "timit" / "phones.txt"
    names = file.read_text("utf-8").split() if file.is_file() else PHONES
    most = max(int(part.states.max()) for part in parts)
    if most >= _PHONE_STATES * len(names):
        raise ValueError(
            f"timit/y_*.npy hold the state {most}, and {len(names)} phones have the states 0 to "
            f"{_PHONE_STATES * len(names) - 1}: list your phones in {file}, one a line in the "
            "order of their states. A second silence may be called sil too."
        )
    return list(names)


def measure(name: str, cell: Cell, quick: bool) -> dict[str, Any]:
    """Error rates of frames and of decoded units, in per cent.

    Multinomial logistic regression on m maxout features by averaged stochastic gradients, as in the
    paper; on the inputs themselves in a cell without m; or a net in a cell with layers.
    """
    spoken, rows, others = corpus(name, quick)
    passes, width, epochs = _SIZES[name]
    if cell.get("layers"):
        layers = (16 if quick else width,) * cell["layers"]
        epochs = 3 if quick else epochs
        net = MLPClassifier(layers, max_iter=epochs, n_iter_no_change=epochs, random_state=0)
        model = make_pipeline(StandardScaler(), net)
    else:
        basis: Any = ks.Linear()
        if cell["m"] is not None:
            basis = ks.Maxout(cell["q"], projections=cell.get("projections"))
        model = ks.KitchenSinkClassifier(
            basis,
            cell["m"],
            loss="logistic",
            alpha=1e-6,
            solver=ks.Solver("stochastic", epochs=passes, dtype="float32"),
            random_state=cell["seed"],
        )
    states = spoken.train.states
    fit_quietly(model, rows, states)
    return {
        "frame_error": percent_wrong(model.predict(others), spoken.test.states),
        "error": decoded_error(model, spoken, others),
        **evidence(model),
        # Nets have no gap.
        **({} if cell.get("layers") else certified(model, rows, states)),
    }
