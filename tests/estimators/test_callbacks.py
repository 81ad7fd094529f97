"""Callbacks of scikit-learn hear of the tasks of a fit."""

import io
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")

X = np.random.default_rng(0).normal(size=(700, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]


class Heard:
    """A callback that writes down what it hears."""

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.told.append(("end", context))
        if context.parent is None:
            self.rows, self.targets, self.fitted = X, y, fitted_estimator

    def contexts(self, event):
        return [context for one, context in self.told if one == event]


def regressor(basis, heard, **given):
    return ks.KitchenSinkRegressor(basis, random_state=0, **given).set_callbacks(heard)


def test_a_fit_is_a_tree_of_tasks():
    heard, lines = Heard(), []
    learned = ks.Learned(ks.Fourier(), "quick")
    model = regressor(learned, heard).fit(X, Y, verbose=lambda *told: lines.append(told))
    assert [event for event, _ in heard.told[:2] + heard.told[-2:]] == [
        "setup",
        "begin",
        "end",
        "teardown",
    ]
    begun, ended = heard.contexts("begin"), heard.contexts("end")
    root = begun[0]
    assert (root.task_name, root.estimator_name) == ("fit", "KitchenSinkRegressor")
    assert {id(one) for one in begun} == {id(one) for one in ended}
    law = next(one for one in begun if one.task_name == "learn the law")
    assert law.parent is root
    parts = [one for one in begun if one.parent is law]
    last = max(done for _, done, total in lines if total == 100)
    assert len(parts) == last <= law.max_subtasks == 100
    assert {one.task_name for one in parts} <= {text for text, _, total in lines if total == 100}
    # The end of the fit has the fitted model and its rows.
    assert heard.rows is X
    assert heard.targets is Y
    np.testing.assert_array_equal(heard.fitted.predict(X), model.predict(X))


def test_passes_over_rows_are_tasks_and_results_are_the_same():
    heard = Heard()
    model = regressor(ks.Fourier(), heard, n_components=50).fit(X, Y)
    names = {one.task_name for one in heard.contexts("begin")}
    assert "sums over the rows" in names
    silent = clone(model).set_callbacks().fit(X, Y)
    np.testing.assert_array_equal(silent.predict(X), model.predict(X))
    assert not [name for name in vars(model) if name.startswith("_callback")]


def test_a_failed_fit_is_torn_down(monkeypatch):
    heard = Heard()
    with pytest.raises(ValueError, match="poisson"):
        regressor(ks.Fourier(), heard, loss="poisson").fit(X, Y)
    assert not heard.told  # before the fit has begun
    monkeypatch.setattr("kitchensinks.estimators.base.find_law", None)
    with pytest.raises(TypeError):
        regressor(ks.Fourier(), heard).fit(X, Y)
    assert [event for event, _ in heard.told] == ["setup", "begin", "teardown"]


def test_searches_and_pipelines_hand_callbacks_on(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    model = make_pipeline(StandardScaler(), ks.KitchenSinkRegressor(ks.Fourier(), 20))
    grid = {"kitchensinkregressor__basis__gamma": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).set_callbacks(callback.ProgressBar(None))
    assert search.fit(X, Y).best_score_ > 0.5


def test_a_score_is_written_down_at_the_end():
    monitor = callback.ScoringMonitor(scoring="r2")
    model = regressor(ks.Fourier(), monitor, n_components=100).fit(X, Y)
    (log,) = monitor.get_logs() if isinstance(monitor.get_logs(), list) else [monitor.get_logs()]
    assert log.data[-1]["r2"] == pytest.approx(model.score(X, Y))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
