"""Tables: every source gives the same rows, from any place, as often as asked; bad files say so."""

import gzip
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from kitchensinks.numerics.threads import threads
from kitchensinks.tables import delimited, lines
from kitchensinks.tables import table as tables
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.lines import row_end
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows

N_ROWS = 1000


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": random.normal(size=N_ROWS),
            "b": random.integers(-5, 5, N_ROWS),
            "c": random.choice(["red", "green, or blue", 'a "quoted" word', "two\nlines"], N_ROWS),
        }
    )


@pytest.fixture(scope="module")
def sources(frame, tmp_path_factory):
    """The same table in every form that holds text."""
    folder = tmp_path_factory.mktemp("sources")
    frame.to_parquet(folder / "one.parquet", row_group_size=130)
    (folder / "many" / "deep").mkdir(parents=True)
    frame[:300].to_parquet(folder / "many" / "a.parquet", row_group_size=70)
    # Columns of a later file may stand in another order.
    frame.loc[300:, ["c", "a", "b"]].to_parquet(folder / "many" / "deep" / "b.parquet")
    (folder / "many" / "_SUCCESS").write_text("")
    frame.to_csv(folder / "one.csv", index=False)
    frame.to_csv(folder / "one.csv.gz", index=False)
    frame.to_csv(folder / "one.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";")
    frame.to_csv(folder / "bar.csv", index=False, sep="|")
    frame[:500].to_csv(folder / "part1.csv", index=False)
    frame[500:].to_csv(folder / "part2.csv", index=False)
    return {
        "parquet": folder / "one.parquet",
        "folder": folder / "many",
        "csv": folder / "one.csv",
        "gzip": str(folder / "one.csv.gz"),
        "tsv": folder / "one.tsv",
        "semicolon": folder / "semicolon.csv",
        "bar": folder / "bar.csv",
        "pattern": str(folder / "part*.csv"),
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
    }


KINDS = (
    "parquet folder csv gzip tsv semicolon bar pattern pandas polars arrow".split()  # noqa: SIM905
)


def whole(table, columns=None, start=0):
    parts = [batch.to_pandas() for batch in table.batches(columns, start)]
    return pd.concat(parts, ignore_index=True) if parts else None


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_rows(kind, sources, frame, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(tables, "BATCH_ROWS", 64)
    table = open_table(sources[kind])
    assert table.names == ["a", "b", "c"]
    assert table.n_rows == N_ROWS
    for _ in range(2):
        pd.testing.assert_frame_equal(whole(table), frame, check_dtype=False)
    assert max(batch.num_rows for batch in table.batches()) <= 64
    assert table.bad_rows.count == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [0, 1, 299, 300, 517, 999, 1000])
def test_a_walk_starts_at_any_row_with_any_columns(kind, start, sources, frame, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 4096)
    table = open_table(sources[kind])
    found = whole(table, ["c", "a"], start)
    if start == N_ROWS:
        assert found is None
    else:
        rest = frame.loc[start:, ["c", "a"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, rest, check_dtype=False)


@pytest.mark.parametrize("kind", KINDS)
def test_fingerprints_tell_tables_apart(kind, sources, frame, tmp_path):
    first, again = open_table(sources[kind]), open_table(sources[kind])
    assert first.fingerprint() == again.fingerprint()
    frame.assign(a=frame.a + 1.0).to_csv(tmp_path / "one.csv", index=False)
    assert first.fingerprint() != open_table(tmp_path / "one.csv").fingerprint()


@pytest.mark.parametrize("kind", ["csv", "gzip", "pandas", "polars", "arrow"])
def test_a_fingerprint_sees_every_entry(kind, sources, frame, tmp_path):
    other = frame.copy()
    other.loc[500, "c"] = "rad"
    if kind == "polars":
        changed = pl.from_pandas(other)
    elif kind in ("csv", "gzip"):
        changed = tmp_path / ("one.csv" if kind == "csv" else "one.csv.gz")
        other.to_csv(changed, index=False)
    else:
        changed = other if kind == "pandas" else pa.Table.from_pandas(other)
    first, second = open_table(sources[kind]), open_table(changed)
    assert first.fingerprint()["content"] != second.fingerprint()["content"]


def test_a_fingerprint_sees_the_words_of_categories():
    """Their codes are the same."""
    first, second = (pd.Series(words, dtype="category") for words in (["a", "b"], ["a", "c"]))
    found = [open_table(pd.DataFrame({"x": one})).fingerprint() for one in (first, second)]
    assert found[0]["columns"] == found[1]["columns"]
    assert found[0]["content"] != found[1]["content"]


def test_arrays_and_svmlight(tmp_path):
    rows = np.random.default_rng(0).normal(size=(50, 4)).round(3)
    rows[rows < 0] = 0.0
    (tmp_path / "notes.svm").write_text('# a 5" pipe\n1 1:2 3:4 # more\n\n-1\n0 qid:3 2:5\n')
    table = open_table(tmp_path / "notes.svm")
    assert whole(table).to_numpy().tolist() == [[1, 2, 0, 4], [-1, 0, 0, 0], [0, 0, 5, 0]]
    (tmp_path / "notes.svm").write_text("1 1:2 # taken 12:30\n2 2:3 # id 2000000: no more\n")
    assert open_table(tmp_path / "notes.svm").names == ["target", "1", "2"]
    np.save(tmp_path / "rows.npy", rows)
    table = open_table(tmp_path / "rows.npy")
    assert table.names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(whole(table, None, 7).to_numpy(), rows[7:])
    for zero_based, first in ((True, "0"), (False, "1")):
        rows[0, 0] = 1.0
        dump_svmlight_file(rows, np.arange(50), str(tmp_path / "a.svm"), zero_based=zero_based)
        table = open_table(tmp_path / "a.svm")
        assert table.names[:2] == ["target", first]
        np.testing.assert_allclose(whole(table).to_numpy()[:, 1:], rows)
        np.testing.assert_array_equal(whole(table, ["target"], 9).target, np.arange(9, 50))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f8", ">f8", ">f4", "<f2", ">i4", "u1", "?"])
def test_arrays_of_any_order_are_read_from_files(order, dtype, tmp_path):
    rows = (3.0 * np.random.default_rng(0).normal(size=(70, 3))).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(rows, order=order))
    table = open_table(tmp_path / "a.npy")
    np.testing.assert_array_equal(whole(table, None, 11).to_numpy(), rows[11:])
    np.testing.assert_array_equal(whole(table, ["x2"]).to_numpy()[:, 0], rows[:, 2])
    # The same rows are known again, however they are stored.
    native = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    np.save(tmp_path / "b.npy", native)
    assert open_table(tmp_path / "b.npy").fingerprint() == table.fingerprint()


def test_batches_of_wide_arrays_are_bounded_by_whole_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BATCH_ENTRIES", 20)
    np.save(tmp_path / "wide.npy", np.zeros((5, 10)))
    found = open_table(tmp_path / "wide.npy").batches(["x0"])
    assert [batch.num_rows for batch in found] == [2, 2, 1]


def test_arrays_that_are_no_rows_of_numbers_are_refused(tmp_path):
    bad = {"long": np.zeros((3, 2), np.longdouble), "objects": np.zeros((3, 2), object)}
    bad |= {"text": np.zeros((3, 2), "U3"), "number": np.zeros(()), "none": np.zeros((0, 2))}
    for name, array in bad.items():
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(ValueError, match=name):
            open_table(tmp_path / f"{name}.npy")


@settings(max_examples=60)
@given(st.lists(st.text(alphabet='ab",\n', max_size=6), min_size=1, max_size=30))
def test_chunks_end_where_rows_end(words):
    """Any prefix of a CSV is cut at the end of one of its rows."""
    rows = [('"' + word.replace('"', '""') + '"\n').encode() for word in words]
    text = b"".join(rows)
    ends = {0, *np.cumsum([len(row) for row in rows]).tolist()}
    for stop in range(len(text) + 1):
        end = row_end(text[:stop])
        assert end in ends
        assert end == max(value for value in ends if value <= stop)


# -- types of text files -----------------------------------------------------------------


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_types_come_from_all_over_a_file_and_whole_numbers_may_widen(tmp_path):
    """A decimal in the last row, far from the look at the first rows, is no mistake."""
    body = "".join(f"{k},{k % 7}\n" for k in range(400_000))
    path = write(tmp_path / "a.csv", f"a,b\n{body}1,2.5\n")
    table = open_table(path)
    assert table.n_rows == 400_001
    assert [str(kind) for kind in table.schema.types] == ["int64", "double"]
    last = list(table.batches(["b"], 400_000))
    assert last[0].column(0).to_pylist() == [2.5]


def test_the_last_ending_of_a_name_says_what_is_between_values(tmp_path):
    write(tmp_path / "a.tsv.d.csv", "a,b\n1,2\n")
    assert open_table(tmp_path / "a.tsv.d.csv").names == ["a", "b"]


def test_words_for_nothing_are_missing(tmp_path):
    path = write(tmp_path / "a.csv", "a,b\n1,x\n,\nNA,y\n")
    found = open_table(path)
    assert [str(kind) for kind in found.schema.types] == ["int64", "string"]
    batch = next(found.batches())
    assert batch.to_pydict() == {"a": [1, None, None], "b": ["x", None, "y"]}


def test_a_column_without_values_has_no_type_until_one_comes(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv", "a,b\n1,\n2,\n")
    table = open_table(path)
    assert table.n_rows == 2
    assert table.schema.field("b").type == pa.null()
    assert next(table.batches()).column("b").null_count == 2
    monkeypatch.setattr(delimited, "_LOOK_BYTES", 10)
    path = write(tmp_path / "b.csv", "a,b\n" + "1,\n" * 100 + "1,late\n" + "1,\n" * 1000)
    table = open_table(path)
    assert table.n_rows == 1101
    assert table.schema.field("b").type == pa.string()
    assert whole(table, ["b"], 99).b.dropna().to_dict() == {1: "late"}


def test_files_of_one_table_share_the_wider_type(tmp_path):
    write(tmp_path / "1.csv", "a\n1\n2\n")
    write(tmp_path / "2.csv", "a\n1.5\n")
    table = open_table(str(tmp_path / "*.csv"))
    assert table.schema.field("a").type == pa.float64()
    assert [batch.column(0).to_pylist() for batch in table.batches()] == [[1.0, 2.0], [1.5]]


def test_types_that_widen_late_widen_in_every_file(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_LOOK_BYTES", 16)
    for name in "135":
        write(tmp_path / f"{name}.csv", "a\n" + "1\n" * 50)
    write(tmp_path / "4.csv", "a\n" + "1\n" * 50 + "2.5\n" + "1\n" * 500)
    table = open_table(str(tmp_path / "*.csv"))
    assert table.n_rows == 701
    assert {str(batch.schema.field("a").type) for batch in table.batches()} == {"double"}
    assert whole(table).a.sum() == 702.5


def test_a_column_without_a_name_gets_one(tmp_path):
    pd.DataFrame({"a": [1.5, 2.5]}).to_csv(tmp_path / "a.csv")
    assert open_table(tmp_path / "a.csv").names == ["column 1", "a"]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=8),
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        ),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 39),
)
def test_whatever_pandas_writes_is_read_back(tmp_path_factory, rows, start):
    frame = pd.DataFrame(rows, columns=["words", "number"]).assign(place=np.arange(len(rows)))
    path = tmp_path_factory.mktemp("any") / "a.csv"
    frame.to_csv(path, index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK_BYTES", 64)
        table = open_table(path)
        assert table.n_rows == len(rows)
        found = [batch.to_pydict() for batch in table.batches(["place", "words"], start)]
    assert [k for part in found for k in part["place"]] == list(range(start, len(rows)))
    read = [word for part in found for word in part["words"]]
    for word, (given_word, _) in zip(read, rows[start:], strict=True):
        # Words for nothing are missing, and columns of numbers come back as numbers.
        assert word is None or not isinstance(word, str) or word == given_word


def test_dos_lines_a_mark_and_no_last_line_break(tmp_path):
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y")
    table = open_table(path)
    assert table.names == ["a", "b"]
    assert whole(table).to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


# -- bad input ---------------------------------------------------------------------------

BAD_LINES = {
    "ragged": (b"a,b\n1,x\n\n2,y,z\n3,w\n", 4, "3 values for 2 columns"),
    "short": (b"a,b\n1,x\n2\n3,w\n", 3, "1 values for 2 columns"),
    "byte": (b"a,b\n1,x\n2,\xff\n3,w\n", 3, "byte 3, 0xff, is not UTF-8"),
    "number": (
        b"a,b\n" + b"1,x\n" * 4999 + b"oops,y\n" + b"2,y\n" * 50_000,
        5001,
        "column 'a' has 'oops' where other rows have numbers",
    ),
    "after quotes": (b'a,b\n1,"x\nx"\n2,y,z\n', 4, "3 values for 2 columns"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_row_is_named_by_its_line_or_skipped(kind, packed, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_LOOK_BYTES", 4000)
    text, line, complaint = BAD_LINES[kind]
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(ValueError, match=f"line {line}: {complaint}.*skip"):
        _ = open_table(path).n_rows
    table = open_table(path, skip_bad_rows=True)
    assert (table.bad_rows.count, table.bad_rows.lines) == (1, [line])
    assert f"1 bad row skipped (line {line})" in str(table.bad_rows)
    # The row is left out whichever columns are read.
    assert sum(batch.num_rows for batch in table.batches(["b"])) == table.n_rows
    assert sum(batch.num_rows for batch in table.batches(["a"], 1)) == table.n_rows - 1


def test_many_bad_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 2000)
    rows = [f"{k},{k}" + (",extra" if k % 5 == 0 else "") for k in range(2000)]
    path = write(tmp_path / "a.csv", "a,b\n" + "\n".join(rows) + "\n")
    table = open_table(path, skip_bad_rows=True)
    assert table.bad_rows.count == 400
    assert table.n_rows == 1600
    assert table.bad_rows.lines == list(range(2, 52, 5))
    kept = np.concatenate([batch.column(0).to_numpy() for batch in table.batches(["a"], 3)])
    np.testing.assert_array_equal(kept, [k for k in range(2000) if k % 5][3:])


BAD_FILES = {
    "empty.csv": (b"", "empty"),
    "names.csv": (b"a,b\n", "no rows"),
    "data.csv": (b"1.0,2.0\n3.0,4.0\n", "looks like data"),
    "blank.csv": (b"\n1,2\n", "line 1: need the names"),
    "mac.csv": (b"a,b\r1,2\r", "line 1: need the names"),
    "twice.csv": (b"a,a\n1,2\n", "two columns named 'a'"),
    "headless.csv": (b"0,0,x\n1,2,y\n", "line 1: 0 is there twice.*add a line of names"),
    "latin2.csv": (b"a,b\n1,caf\xe9\n", "line 2: byte 6, 0xe9, is not UTF-8.*iconv -f latin1"),
    "latin.csv": (b"caf\xe9,b\n1,2\n", "line 1: byte 4 is not UTF-8"),
    "open.csv": (b'a,b\n1,"x\n2,y\n3,z\n', "line 2"),
    "cut.parquet": (b"PAR1 and no more", "not a complete Parquet file"),
    "other.xyz": (b"hello", "no known kind"),
    "cut.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-20], "compressed file is damaged"),
    "words.svm": (b"1 2:3\nno pairs here\n", "line 2"),
    "cut.npy": (b"\x93NUMPY\x01\x00", "cannot be read as .npy"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_say_what_is_wrong(name, tmp_path):
    data, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        _ = open_table(tmp_path / name).n_rows


def test_a_line_without_end_is_no_end_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 64)
    write(tmp_path / "a.csv", "a\n1\n" + "2" * 5000 + "\n3\n")
    with pytest.raises(ValueError, match="line 3: a quote is opened and not closed, or the line"):
        _ = open_table(tmp_path / "a.csv").n_rows


def test_missing_files_and_wrong_kinds(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_table(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_table(str(tmp_path / "*.parquet"))
    with pytest.raises(ValueError, match="no data files"):
        open_table(tmp_path)
    frame = pl.DataFrame({"a": [1, 2]})
    for odd in (3, frame.lazy(), frame["a"], frame.to_pandas()["a"]):
        with pytest.raises(TypeError, match="not a table"):
            open_table(odd)
    with pytest.raises(ValueError, match="no rows"):
        open_table(pa.table({"a": pa.array([], pa.int64())}))
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="rows and columns"):
        open_table(tmp_path / "cube.npy")


def test_a_folder_with_mixed_schemas_names_the_difference(tmp_path):
    pd.DataFrame({"a": [1], "b": [2.0]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": [1], "b": ["x"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"'b' is double in .*1\.parquet and (large_)?string in"):
        open_table(tmp_path)
    pd.DataFrame({"a": [1], "c": [2.0]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet has no column 'b'"):
        open_table(tmp_path)


def test_a_folder_with_two_kinds_of_files_is_refused(tmp_path):
    """The same rows in two formats would count twice."""
    frame = pd.DataFrame({"a": [1, 2], "b": [2.0, 3.0]})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.to_parquet(tmp_path / "train.parquet")
    with pytest.raises(ValueError, match="different kinds: name the files of one kind with a"):
        open_table(tmp_path)
    assert open_table(str(tmp_path / "*.csv")).n_rows == 2


def test_files_in_a_folder_may_have_names_in_capitals(tmp_path):
    write(tmp_path / "a.csv", "a\n1\n")
    write(tmp_path / "B.CSV", "a\n2\n")
    assert sorted(whole(open_table(tmp_path))["a"]) == [1, 2]


def test_parts_of_a_folder_without_rows_are_left_out(tmp_path):
    """As Spark and Dask write them."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    frame.to_parquet(tmp_path / "1.parquet")
    frame[:0].to_parquet(tmp_path / "0.parquet")
    assert whole(open_table(tmp_path))["a"].tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"0\.parquet has no rows"):
        open_table(tmp_path / "0.parquet")
    (tmp_path / "text").mkdir()
    write(tmp_path / "text" / "0.csv", "")
    write(tmp_path / "text" / "1.csv", "a\n1\n")
    assert whole(open_table(tmp_path / "text"))["a"].tolist() == [1]


def test_folders_named_by_a_value_are_a_column(tmp_path):
    """As writers of partitioned tables leave them."""
    frame = pd.DataFrame({"a": np.arange(6), "year": [2023, 2023, 2024, 2024, 2024, 2025]})
    frame["city"] = ["Rio", "Rio", "New York", "Rio", "New York", "Rio"]
    frame.to_parquet(tmp_path / "parts", partition_cols=["year", "city"])
    table = open_table(tmp_path / "parts")
    assert sorted(table.names) == ["a", "city", "year"]
    found = whole(table).sort_values("a")
    assert found.year.tolist() == frame.year.astype(str).tolist()
    assert found.city.tolist() == frame.city.tolist()
    # A walk over such a column alone reads no other.
    assert sorted(whole(table, ["city"]).city) == sorted(frame.city)


def test_a_column_that_is_not_there_suggests_the_nearest():
    table = open_table(pa.table({"income": [1], "age": [2]}))
    with pytest.raises(ValueError, match="no column 'incone': did you mean 'income'"):
        table.batches(["incone"])
    with pytest.raises(ValueError, match="did you mean 'age'"):
        table.batches(["AGE"])
    with pytest.raises(ValueError, match="its columns are 'income', 'age'"):
        table.batches(["zzz"])
    with pytest.raises(ValueError, match=r"no column 'z0' \(nor 'z1', .*'z12', …, 'z99'\)"):
        table.batches([f"z{k}" for k in range(100)])


def test_a_file_that_changes_under_a_walk_is_noticed(tmp_path):
    path = write(tmp_path / "a.csv", "a\n1\n2\n")
    table = open_table(path)
    assert table.n_rows == 2
    write(path, "a\nx\ny\n")
    with pytest.raises(ValueError, match="has changed"):
        list(table.batches())


def test_one_thread_is_one_thread(tmp_path, monkeypatch):
    size = 3000
    words = np.array(["a 1", "b 2", "c 3"])[np.arange(size) % 3]
    frame = pd.DataFrame({"n": np.arange(size), "m": np.arange(size) / 7, "w": words, "v": words})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv")
    started = []
    start = threading.Thread.start

    def noted(thread):
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    with threads(1):
        for source in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
            table = open_table(source)
            assert Rows(table, Columns.learn(table, identifiers=True))[:].shape[0] == size
    assert not started


def test_a_line_of_separators_is_a_row_of_missing_values(tmp_path):
    """Tabs are no empty line: a last row was lost, and a bad one could not be found."""
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n1\tx\n\t\n\n2\ty\n\t")
    rows = pa.Table.from_batches(open_table(path).batches()).to_pydict()
    assert rows == {"a": [1, None, 2, None], "b": ["x", None, "y", None]}
    path.write_text('a\na"\n\t\n')
    with pytest.raises(ValueError, match="line 3: 2 values for 1 columns"):
        _ = open_table(path).n_rows


def test_a_part_with_a_header_alone_is_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\n")
    found = open_table(tmp_path)
    assert (found.n_rows, found.label) == (2, str(tmp_path))
    with pytest.raises(ValueError, match=r"b\.csv has no rows"):
        open_table(tmp_path / "b.csv")
