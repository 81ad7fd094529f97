"""`sinks explore`: who is answered, with what, and that nothing of a table becomes a page."""

import json
import os
import signal
import subprocess
import threading
from functools import partial
from http.client import HTTPConnection

import numpy as np
import pytest

from kitchensinks.cli.bases import NAMES
from kitchensinks.cli.explore import SETS, Explorer, OwnTable, page, server
from tests.cli.conftest import COMMAND, environment

NASTY = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def address():
    rng = np.random.default_rng(0)
    columns = {NASTY: rng.normal(size=200), "b": rng.normal(size=200)}
    labels = np.where(columns[NASTY] + columns["b"] > 0, "<b>yes", "no")
    columns["b"][:3] = np.nan
    explorer = Explorer(OwnTable(columns, labels, classes=True))
    with server(explorer) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found.server_address
        found.shutdown()
        thread.join()


def get(address, path, method="GET", **headers):
    """Status, headers and body of an answer; `Host` is that of the server unless it is given."""
    connection = HTTPConnection(*address, timeout=600)
    connection.putrequest(method, path, skip_host=True)
    own = {"Host": f"127.0.0.1:{address[1]}", **headers}
    for name, value in own.items():
        if value is not None:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_only_this_machine_is_served(address):
    assert address[0] == "127.0.0.1"
    port = address[1]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert get(address, "/choices", Host=host)[0] == 200
    others = ["evil.example", f"evil.example:{port}", "127.0.0.1", "localhost", f"127.0.0.2:{port}"]
    for host in (*others, f"localhost:{port + 1}", "", None):
        for path in ("/", "/choices", "/fit"):
            assert get(address, path, Host=host)[0] == 403, (host, path)


def test_pages_of_other_sites_may_not_ask(address):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        assert get(address, "/choices", Sec_Fetch_Site=site)[0] == status


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../../etc/passwd", "/explore.py", "/fit/", "/%2e%2e/x", "*"]
)
def test_there_are_no_other_paths(address, path):
    status, _, body = get(address, path)
    assert status == 404
    assert b"root:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent(address, method):
    assert get(address, "/fit", method)[0] == 501


def test_the_page_is_a_constant_that_asks_nobody_else():
    text = page().decode("utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert "//" not in text.replace("// From", "")
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert word not in text


def test_values_of_the_table_are_data_and_never_markup(address):
    status, headers, body = get(address, "/")
    assert status == 200
    assert body == page()
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    from urllib.parse import urlencode

    query = urlencode({"set": "table", "first": NASTY, "second": "b", "components": 50})
    for path in ("/choices", f"/fit?{query}", f"/fit?basis={NASTY.replace(' ', '')}"):
        status, headers, body = get(address, path)
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        json.loads(body)
    assert json.loads(get(address, "/choices")[2])["columns"] == [NASTY, "b"]
    found = json.loads(get(address, f"/fit?{query}")[2])
    assert found["names"] == [NASTY, "b"]
    assert found["labels"] == ["<b>yes", "no"]
    assert found["tested"] > 0.8


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("name", NAMES)
def test_every_basis_is_drawn(name):
    found = Explorer().fit({"basis": name, "components": "40", "set": "sine"})
    assert found["tested"] > 0.85
    assert len(found["functions"]) == 4
    assert len(found["scores"]) == 64**2
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_drawn(name):
    found = Explorer().fit({"set": name, "components": "20", "alpha": "1e-3", "gamma": "2"})
    assert len(found["labels"]) == 2
    assert "gamma=2.0" in found["basis"]
    assert found["alpha"] == 1e-3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"basis": "nothing"}, "basis='nothing': need one of learned, fourier"),
        ({"components": "0"}, "components='0': need a number from 1 to 5000"),
        ({"components": "1e9"}, "components='1e9'"),
        ({"gamma": "nan"}, "gamma='nan'"),
        ({"alpha": "-1"}, "alpha='-1'"),
        ({"x": "1"}, "y=''"),
        ({"set": "table"}, "set='table': need one of sine"),
    ],
)
def test_what_cannot_be_is_refused(asked, said):
    with pytest.raises(ValueError, match="^" + said.replace("(", r"\(")):
        Explorer().fit(asked)


def test_errors_are_answers(address):
    status, _, body = get(address, "/fit?components=none")
    assert status == 400
    assert "components='none'" in json.loads(body)["error"]
    assert get(address, "/fit?set=table&first=b&second=c")[0] == 400


def test_only_closed_connections_are_passed_over(capfd):
    with server(None) as found:
        for error in (BrokenPipeError("gone"), ConnectionResetError("gone"), KeyError("fault")):
            try:
                raise error
            except (OSError, KeyError):
                found.handle_error(None, ("127.0.0.1", 1))
    said = capfd.readouterr().err
    assert "KeyError: 'fault'" in said
    assert "gone" not in said


def test_a_table_needs_a_target_and_two_columns_of_numbers(sinks, workshop, tmp_path):
    code, _, said = sinks("explore", workshop / "train.csv")
    assert code == 2
    assert "--target is missing" in said
    (tmp_path / "narrow.csv").write_text("a,b,c\n1,x,0\n2,y,1\n", "utf-8")
    code, _, said = sinks("explore", tmp_path / "narrow.csv", "--target", "c")
    assert code == 2
    assert "has 1 columns of numbers" in said


def test_a_port_is_one_that_there_is(sinks):
    code, _, said = sinks("explore", "--port", "70000")
    assert code == 2
    assert "--port 70000: need a number from 0 (any free port) to 65535" in said


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_the_command_serves_until_it_is_stopped(workshop):
    process = subprocess.Popen(
        [*COMMAND, "explore", str(workshop / "train.csv"), "--target", "kind", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A test that runs in the background would hand down that interrupts are ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        line = process.stderr.readline()
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        choices = json.loads(get(("127.0.0.1", port), "/choices")[2])
        assert choices["columns"] == ["size", "weight", "price", "id"]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0
    assert json.loads(out) == {"address": f"http://127.0.0.1:{port}/"}
