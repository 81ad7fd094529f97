"""Text, Parquet and .npy files of any bytes: rows, or our own error, in bounded memory."""

import faulthandler
import gzip
import io
import os
import resource
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from kitchensinks.tables import lines
from kitchensinks.tables.table import open_table

# Seconds after which a file counts as one that hangs: the process ends with a traceback.
LONGEST = 60
# Bytes that the process may grow by.
MOST_MEMORY = 2**29
OPTIONS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}
MANY = pytest.param(3000, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def bounded():
    """A file that takes long ends the process; one that takes much memory fails."""
    faulthandler.dump_traceback_later(LONGEST, exit=True, file=sys.__stderr__)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    faulthandler.cancel_dump_traceback_later()
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < MOST_MEMORY, f"small files took {grown:.1e} bytes"


def outcome(path, skip_bad_rows):
    """The rows of a file, or None where it is refused in our own words."""
    faulthandler.dump_traceback_later(LONGEST, exit=True, file=sys.__stderr__)
    try:
        table = open_table(path, skip_bad_rows)
        n_rows = table.n_rows
        rows = [
            sum(batch.num_rows for batch in table.batches(start=start))
            for start in (0, n_rows // 2)
        ]
    except ValueError as error:
        # Not one of its subclasses, which other libraries raise.
        assert type(error) is ValueError, repr(error)  # noqa: PT017
        assert path.name in str(error), repr(error)  # noqa: PT017
        return None
    assert rows == [n_rows, n_rows - n_rows // 2]
    assert n_rows > 0
    return n_rows


def read(data, ending, skip=False):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows{ending}"
        path.write_bytes(data)
        return outcome(path, skip)


WORDS = [b"a", b"b", b",", b",", b";", b"\t", b"\n", b"\n", b"\r", b"\r\n", b'"', b'"', b'""', b" "]
WORDS += [b"1", b"2.5", b"-7", b"1e999", b"nan", b"", b"true", b"2024-01-01", b"12:30", b"\x00"]
WORDS += [b"\xff", b"\xef\xbb\xbf", "é".encode(), b"9" * 400, b"0x1p3", b"1,5", b"\n" * 50, b'"\n']
text = st.lists(st.sampled_from(WORDS), max_size=40).map(b"".join)
beginning = st.sampled_from([b"a,b\n", b"a\n", b"x;y;z\n", b"a\tb\r\n", b""])


def tried(examples, number, check, *strategies):
    """Run a check on so many examples; the same ones each time, unless a number is given."""
    options = settings(max_examples=examples, derandomize=number is None, **OPTIONS)

    def each(values):
        check(*values)

    run = options(given(st.tuples(*strategies))(each))
    (run if number is None else seed(number)(run))()


@contextmanager
def chunks_of(size):
    """Chunks of a few rows, so that rows are cut everywhere."""
    before, lines.CHUNK_BYTES = lines.CHUNK_BYTES, size
    try:
        yield
    finally:
        lines.CHUNK_BYTES = before


def delimited(examples, number=None):
    def check(names, rest, skip):
        read(names + rest, ".csv", skip)

    with chunks_of(16):
        tried(examples, number, check, beginning, text, st.booleans())


def compressed(examples, number=None):
    def check(names, rest, skip):
        read(gzip.compress(names + rest), ".tsv.gz", skip)

    with chunks_of(16):
        tried(examples, number, check, beginning, text, st.booleans())


PAIRS = [b"1", b"-1", b"0", b" ", b" ", b"\n", b"\n", b"1:2", b"2:0.5", b"0:1", b"3:nan"]
PAIRS += [b"3:1e999", b"qid:3", b"#", b":", b"7:", b"\r\n", b"x", b",", b"300:1", b"99999999:1"]
PAIRS += [b"9" * 30 + b":1", b"\x00"]
PAIRS += [b"\xff", b"2:1 1:1", b"1:1 1:1", b"9" * 5000 + b":1", b"qid:" + b"9" * 5000, b"1e999"]
pairs = st.lists(st.sampled_from(PAIRS), max_size=25).map(b"".join)


def svmlight(examples, number=None):
    def check(data, skip):
        read(b"1 1:1\n" + data, ".svm", skip)

    with chunks_of(64):
        tried(examples, number, check, pairs, st.booleans())


def with_other_bytes(examples, number=None):
    """Good files with a few other bytes somewhere."""

    def check(ending, share, other, longer):
        whole = FILES[ending]
        place = int(share * len(whole))
        read(whole[:place] + other + whole[place + (0 if longer else len(other)) :], ending)

    few = st.binary(min_size=1, max_size=6)
    share = st.floats(0.0, 1.0, exclude_max=True)
    tried(examples, number, check, st.sampled_from(sorted(FILES)), share, few, st.booleans())


READERS = {one.__name__: one for one in (delimited, compressed, svmlight, with_other_bytes)}


@pytest.mark.parametrize("examples", [60, MANY])
@pytest.mark.parametrize("name", READERS)
def test_files_of_any_bytes(name, examples):
    READERS[name](examples)


def files():
    """Small good files by ending."""
    frame = pd.DataFrame({"a": [1.5, 2.0, 3.0], "b": ['x "y"', "é\nz", None]})
    stored, array = io.BytesIO(), io.BytesIO()
    frame.to_parquet(stored)
    np.save(array, np.arange(6.0).reshape(3, 2))
    plain = frame.to_csv(index=False).encode()
    return {
        ".csv": plain,
        ".csv.gz": gzip.compress(plain),
        ".svm": b"1 1:2 3:4\n-1 2:1 # note\n0.5\n",
        ".parquet": stored.getvalue(),
        ".npy": array.getvalue(),
    }


FILES = files()


@pytest.mark.parametrize("ending", FILES)
def test_a_file_that_is_cut_off_at_any_byte(ending):
    whole = FILES[ending]
    step = 7 if ending == ".parquet" else 1
    found = [read(whole[:length], ending) for length in range(0, len(whole), step)]
    assert read(whole, ending) == 3
    if ending not in (".csv", ".svm"):
        # Text may end anywhere; other files know how long they are.
        assert set(found) == {None}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("first", range(34, 100, 4))
def test_rows_after_a_long_one_are_not_lost(first, skip):
    """A chunk that was doubled for a long row may leave more than a chunk to the next one."""
    rows = [b"x" * first, b"y" * (130 - first), *(b"z" * (3 + 11 * k % 50) for k in range(40))]
    with chunks_of(32):
        assert read(b"a\n" + b"\n".join(rows) + b"\n", ".csv", skip) == len(rows)


def test_a_quote_over_very_many_lines_takes_no_longer_than_one_line():
    """Each line was looked through from the quote on: some megabytes took hours."""
    data = b'a,b\n1,"' + b"\n" * 300_000 + b'",3\n4,5\n'
    with pytest.raises(ValueError, match=r"line 2: its values cannot be told apart"):
        _ = opened(data, ".csv").n_rows
    assert read(data, ".csv", skip=True) == 1


def test_very_many_bad_rows_are_left_out():
    assert read(b"a,b\n" + b"1\n" * 20_000 + b"1,2\n", ".csv", skip=True) == 1


def opened(data, ending):
    folder = tempfile.mkdtemp()
    path = Path(folder) / f"rows{ending}"
    path.write_bytes(data)
    return open_table(path)


def test_a_line_without_end_is_refused_before_it_is_read():
    """A gzipped file of a few kilobytes is one line of many megabytes."""
    packed = gzip.compress(b"a" * 2**25, 1)
    assert len(packed) < 200_000
    with pytest.raises(ValueError, match="line 1 does not end within"):
        opened(packed, ".csv.gz")
    with pytest.raises(ValueError, match="line 2: a quote is opened and not closed, or the line"):
        _ = opened(gzip.compress(b"a\n" + b"a" * (2**26 + 9), 1), ".csv.gz").n_rows


@pytest.mark.slow
def test_sparse_rows_that_are_filled_in_take_no_gigabyte():
    """16 kB of labels alone, one of them with the last column that is allowed, took 1.3 GB."""
    assert read(b"1 20000:1\n" + b"1\n" * 8000, ".svm") == 8001


def test_very_many_columns():
    """Half a megabyte of commas would be columns of several gigabytes."""
    with pytest.raises(ValueError, match=r"line 1: 500001 columns are more than the 100000"):
        opened(b"a" + b"," * 500_000 + b"\n1\n", ".csv")
    data = b",".join(b"%d a" % k for k in range(2000)) + b"\n" + b"1," * 1999 + b"1\n"
    assert read(data, ".csv") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs links and named pipes")
def test_links_pipes_and_devices(tmp_path):
    good = tmp_path / "good.csv"
    good.write_bytes(FILES[".csv"])
    (tmp_path / "link.csv").symlink_to(good)
    assert open_table(tmp_path / "link.csv").n_rows == 3
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("loop.csv", "pipe.csv"):
        with pytest.raises(FileNotFoundError, match="does not exist: need a file"):
            open_table(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_table("/dev/zero")
    # In a folder they are passed over, and a link to the folder itself is not followed.
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "link.csv").unlink()
    assert open_table(tmp_path).n_rows == 3
