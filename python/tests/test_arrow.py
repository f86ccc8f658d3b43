"""What speaks Arrow, without copies through Python objects."""

from __future__ import annotations

import datetime as dt

import datafusion
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inrush

ROWS = {"n": [1, 2, 3], "name": ["a", None, "c"], "at": [dt.datetime(2024, 1, 2, 3, 4, 5)] * 3}
EXPECTED = [
    {"n": 1, "name": "a", "at": "2024-01-02T03:04:05"},
    {"n": 2, "at": "2024-01-02T03:04:05"},
    {"n": 3, "name": "c", "at": "2024-01-02T03:04:05"},
]


def as_table():
    return pa.table(ROWS)


def as_reader():
    return as_table().to_reader()


def as_batch():
    return as_table().to_batches()[0]


def as_batches():
    return as_table().to_batches(max_chunksize=2)


def as_generator():
    return iter(as_table().to_batches(max_chunksize=1))


def as_polars():
    return pl.DataFrame(ROWS)


def as_pandas():
    return pd.DataFrame(ROWS)


def as_datafusion():
    return datafusion.SessionContext().from_arrow(as_table())


def as_duckdb():
    rows = as_table()  # noqa: F841, DuckDB finds it by its name
    return duckdb.sql("SELECT * FROM rows ORDER BY n")


@pytest.mark.parametrize(
    "make",
    [as_table, as_reader, as_batch, as_batches, as_generator, as_polars, as_pandas, as_datafusion, as_duckdb],
)
def test_tables_of_all_kinds(cluster, make):
    report = inrush.load(make(), index="t", to=cluster.url, id="n")
    assert report.ok and report.docs_indexed == 3, report
    found = sorted(cluster.documents("t"), key=lambda document: document["n"])
    for document in found:
        document["at"] = document["at"].split(".")[0].removesuffix("Z")
    assert found == EXPECTED


def test_what_is_no_table_is_refused(cluster):
    with pytest.raises((TypeError, ValueError, inrush.InrushError)):
        inrush.load(pa.chunked_array([[1, 2]]), "t", cluster.url)


def test_an_error_in_a_stream_comes_out_after_what_came_before_is_in(cluster):
    batch = pa.record_batch({"n": [1, 2]})

    def batches():
        yield batch
        raise ValueError("the database has gone")

    reader = pa.RecordBatchReader.from_batches(batch.schema, batches())
    with pytest.raises(inrush.SourceError, match="the database has gone") as raised:
        inrush.load(reader, "t", cluster.url)
    assert raised.value.report.docs_indexed == 2 == cluster.count("t")


def test_values_that_json_has_no_number_for_are_counted(cluster):
    report = inrush.load(pa.table({"x": [1.5, float("nan")]}), "t", cluster.url)
    assert any("NaN" in warning for warning in report.warnings), report.warnings


def test_a_large_table_is_whole(cluster):
    table = pa.table({"n": range(300_000)})
    report = inrush.load(table, "t", cluster.url, memory="8MiB")
    assert report.docs_indexed == 300_000 == cluster.count("t")


def test_timestamps_are_numbers_where_that_is_wanted(cluster):
    table = pa.table({"at": pa.array([1_700_000_000_123_000, 1], pa.timestamp("us"))})
    mapping = {"properties": {"at": {"type": "date"}}}
    inrush.load(table, "t", cluster.url, mapping=mapping, timestamps="epoch-millis").raise_for_status()
    assert sorted(str(document["at"]) for document in cluster.documents("t")) == ["1700000000123", "1970-01-01T00:00:00.000001"]
