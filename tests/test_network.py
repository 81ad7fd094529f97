"""Nobody is called: imports, fits, files, reports and the command open no connection."""

import re
import socket
from pathlib import Path

import pytest

import kitchensinks as ks
from tests.jobs import python

SOURCE = Path(ks.__file__).parent

CODE = """
import importlib, pkgutil, sys, tempfile, warnings
from pathlib import Path

WATCHED = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request", "http.client.connect",
           "ftplib.connect", "smtplib.connect", "webbrowser.open", "os.system", "os.exec",
           "os.posix_spawn", "os.spawn")
seen = []
# Imports of other libraries may look at the machine; what they do is not ours.
for name in ("numba", "scipy", "sklearn", "pandas", "pyarrow", "skrub", "dask.array", "distributed",
             "typer", "matplotlib", "onnxruntime", "skl2onnx"):
    importlib.import_module(name)
sys.addaudithook(lambda event, facts: event in WATCHED and seen.append((event, str(facts)[:200])))

import numpy as np, pandas as pd
import kitchensinks as ks
for module in pkgutil.walk_packages(ks.__path__, "kitchensinks."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
frame["city"] = rng.choice(["Oslo", "Rome"], 300)
targets = frame["a"] * frame["b"] + (frame["city"] == "Oslo")
model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0).fit(frame, targets)
folder = Path(tempfile.mkdtemp())
ks.save(model, folder / "model.sinks")
ks.load(folder / "model.sinks").predict(frame)
ks.to_onnx(model, folder / "model.onnx")
model.report(frame, targets).save(folder / "report.html")
frame.assign(y=targets).to_csv(folder / "rows.csv", index=False)
from kitchensinks.cli.app import app
for words in (["fit", "rows.csv", "--target", "y", "--out", "m.sinks", "--basis", "fourier",
               "--components", "20"],
              ["predict", "m.sinks", "rows.csv", "--out", "scores.csv"],
              ["score", "m.sinks", "rows.csv"], ["info", "m.sinks"], ["datasets"]):
    try:
        app([str(folder / word) if "." in word else word for word in words])
    except SystemExit as stop:
        assert not stop.code, words
print("seen:", seen)
"""


@pytest.mark.slow
def test_nothing_connects_unless_it_is_asked_to():
    assert python("-c", CODE).splitlines()[-1] == "seen: []"


# What could connect, and the modules that use it: the page of `sinks explore`, clusters whose
# address is given, and data sets that are asked for by name.
COULD = {
    "http": r"^\s*(?:from|import)\s+(?:socket|http|urllib\.request|ftplib|requests|asyncio)\b",
    "distributed": r"^\s*(?:from|import)\s+distributed\b",
    "downloads": r"\bfetch_\w+\(|\burlopen\(|\burlretrieve\(",
}


def test_only_downloads_the_explorer_and_clusters_know_of_networks():
    users = {
        (kind, path.relative_to(SOURCE).as_posix())
        for path in SOURCE.rglob("*.py")
        for kind, pattern in COULD.items()
        if re.search(pattern, path.read_text("utf-8"), re.M)
    }
    assert users == {
        ("http", "cli/explore.py"),
        ("distributed", "execution/cluster.py"),
        ("downloads", "papers/datasets/real.py"),
    }


def test_a_test_that_calls_another_machine_fails():
    """So every test of the suite shows that what it uses calls nobody (tests/conftest.py)."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as found,
        pytest.raises(ConnectionRefusedError, match="no test may connect to"),
    ):
        found.connect(("192.0.2.1", 80))
