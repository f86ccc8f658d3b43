"""`inrush.load`: what it takes, what it answers."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import json
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import inrush


def test_files_globs_and_paths(cluster, tmp_path: Path):
    for n in range(3):
        (tmp_path / f"part-{n}.ndjson").write_text(f'{{"n":{n}}}\n')
    (tmp_path / "more.csv").write_text("n,name\n7,Ada\n")
    report = inrush.load("part-*.ndjson", index="a", to=cluster.url)
    assert report.ok and report.docs_read == report.docs_indexed == 3 and report.exit_code == 0
    assert report.verified["state"] == "yes"
    assert inrush.load(tmp_path / "more.csv", "a", cluster.url, id="n").docs_created == 1
    assert cluster.source("a", "7") == {"n": 7, "name": "Ada"}
    assert inrush.load(["part-0.ndjson", "more.csv"], "b", cluster.url).docs_read == 2


def test_options_are_those_of_the_command_line(cluster, tmp_path: Path):
    (tmp_path / "a.csv").write_text("id;name\n007;Bond\n")
    report = inrush.load(
        "a.csv",
        index="agents",
        to=[cluster.url],
        id="id",
        separator=";",
        all_strings=True,
        batch_bytes="1MiB",
        in_flight=2,
        request_timeout=dt.timedelta(seconds=30),
        mapping={"properties": {"id": {"type": "keyword"}}},
        settings={"number_of_replicas": 0},
        action="create",
    )
    assert report.ok and report.plan["in_flight"] == 2
    assert cluster.source("agents", "007")["name"] == "Bond"
    assert cluster.ask("GET", "agents/_mapping")["agents"]["mappings"]["properties"]["id"] == {"type": "keyword"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no index given"),
        ({"index": "t", "indx": "t"}, "did you mean `index`"),
        ({"index": "t", "batch_bytes": "many"}, "batch_bytes: "),
        ({"index": "t", "batch_bytes": "32MiB", "in_flight": 4}, "batch_bytes='32MiB' x in_flight=4 needs 128MiB of memory"),
        ({"index": "t", "recreate": True}, "add yes to confirm"),
        ({"index": "t", "format": "csv"}, "format is for files"),
        ({"index": "t", "format": "json"}, "format is for files"),
        ({"index": "t", "records": "a.b"}, "records is for files"),
        ({"index": "t", "escape": "\\"}, "escape is for files"),
        ({"index": "t", "workbook_bytes": "1GiB"}, "workbook_bytes is for files"),
        ({"index": "t", "mixed": "keep"}, "mixed needs map='auto'"),
        ({"index": "t", "map": "auto", "mixed": "keep"}, "reads the sources twice"),
        ({"index": "t", "allow_shrink": "any"}, "allow_shrink needs alias"),
        ({"index": "t", "tolerate": "some"}, "tolerate: "),
        ({"index": "t", "once": True, "resume": True}, "once"),
        ({"index": "t", "quiet": True}, "only to the command line"),
        ({"index": "t", "dry_run": True}, "only to the command line"),
        ({"index": "t", "shards": "auto"}, "give a number of shards"),
        ({"index": "t", "to": "http://u:hunter2@h"}, "password_file"),
        ({"index": "t", "to": "http://h", "user": "u"}, "no password"),
    ],
)
def test_usage_errors_name_the_keyword(options, message):
    options = {"to": "http://localhost:1", **options}
    with pytest.raises(inrush.UsageError) as raised:
        inrush.load([{"a": 1}], **options)
    assert message in str(raised.value) and "hunter2" not in str(raised.value)
    assert isinstance(raised.value, (inrush.InrushError, ValueError))


def test_files_may_be_odd(cluster, tmp_path: Path):
    (tmp_path / "a.json").write_text('{"data":{"rows":[{"n":1},\n {"n":2}]}}\n{"data":{"rows":[{"n":"x"}]}}')
    report = inrush.load("a.json", "a", cluster.url, format="json", records="data.rows", map="auto", mixed="ignore")
    assert report.ok and report.docs_indexed == 3
    (tmp_path / "a.csv").write_text('n,t\n1,"x\\"y"\n2,\\N\n')
    assert inrush.load("a.csv", "b", cluster.url, id="n", escape="\\").ok
    assert cluster.source("b", "1")["t"] == 'x"y' and "t" not in cluster.source("b", "2")


def test_so_many_documents_may_be_missing(cluster):
    documents = [{"id": n} for n in range(9)] + [{"name": "without an id"}]
    report = inrush.load(documents, "t", cluster.url, id="id", tolerate="10%")
    assert report.ok and report.exit_code == 0
    assert report.tolerance == {"limit": "10%", "docs": 1, "docs_unknown": 0, "holds": True}
    assert "1 of 10, which tolerate='10%' allows" in str(report)
    report = inrush.load(documents, "t", cluster.url, id="id", tolerate=0)
    assert report.status == "incomplete" and "more than the 0 that tolerate allows" in report.problem
    with pytest.raises(inrush.Incomplete):
        report.raise_for_status()
    assert inrush.load(documents[:9], "t", cluster.url, id="id").tolerance is None


def test_an_alias_is_not_moved_to_an_empty_index_unless_that_is_meant(cluster, tmp_path: Path):
    (tmp_path / "some.ndjson").write_text('{"n":1}\n' * 3)
    (tmp_path / "none.ndjson").write_text("")
    assert inrush.load("some.ndjson", "shop-1", cluster.url, alias="shop").swap["swapped"]
    report = inrush.load("none.ndjson", "shop-2", cluster.url, alias="shop", allow_shrink="any")
    assert report.status == "check_failed" and not report.swap["swapped"]
    report = inrush.load("none.ndjson", "shop-3", cluster.url, alias="shop", allow_shrink="any", allow_empty=True)
    assert report.ok and report.swap["swapped"]


def test_files_are_loaded_once(cluster, tmp_path: Path):
    (tmp_path / "a.ndjson").write_text('{"n":1}\n{"n":2}\n')
    first = inrush.load("a.ndjson", "t", cluster.url, once=True)
    assert first.ok and first.ended_before is None
    again = inrush.load("a.ndjson", "t", cluster.url, once=True)
    assert (again.run_id, again.docs_read) == (first.run_id, 2) and again.ended_before
    assert cluster.count("t") == 2
    with pytest.raises(inrush.InrushError, match="once needs sources that can be read again"):
        inrush.load([{"n": 1}], "t", cluster.url, once=True)


def test_a_cluster_that_is_not_there_and_a_file_that_is_not_there():
    with pytest.raises(inrush.ClusterError, match="localhost:1") as raised:
        inrush.load([{"a": 1}], "t", "http://localhost:1")
    assert raised.value.code == "unreachable"
    with pytest.raises(inrush.InrushError, match="none.csv") as raised:
        inrush.load("none.csv", "t", "http://localhost:1")
    assert raised.value.code == "no_such_file"


class Colour(str, enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


def test_values_of_python_become_json(cluster):
    document = {
        "text": 'tab\t"quoted" \\ é 𝄞',
        "int": -5,
        "big": 2**70,
        "float": 1.5,
        "small": 1e-300,
        "yes": True,
        "none": None,
        "list": [1, [2, {}], ()],
        "object": {"a": {"b": [None]}},
        1: "int key",
        True: "collides with 1",
        2.5: "float key",
        None: "none key",
        "nan": float("nan"),
        "nans": [1.0, float("inf")],
        "date": dt.date(2024, 2, 29),
        "datetime": dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone.utc),
        "time": dt.time(12, 30),
        "decimal": decimal.Decimal("1234567890.1234567890123"),
        "uuid": uuid.UUID(int=5),
        "bytes": b"\xff\x00",
        "enum": Colour.RED,
        "level": Level.HIGH,
        "np_int": np.int32(7),
        "np_float": np.float32(0.5),
        "np_bool": np.bool_(True),
        "np_array": np.array([[1, 2], [3, 4]]),
        "np_time": np.datetime64("2024-02-29T12:30:00", "ns"),
        "timestamp": pd.Timestamp("2024-02-29 12:30"),
        "nat": pd.NaT,
        "na": pd.NA,
        "series": pd.Series([1, 2]),
    }
    report = inrush.load([document], index="v", to=cluster.url, mapping={"dynamic": False})
    assert report.ok, report
    (found,) = cluster.documents("v")
    assert found == {
        "text": 'tab\t"quoted" \\ é 𝄞',
        "int": -5,
        "big": 2**70,
        "float": 1.5,
        "small": 1e-300,
        "yes": True,
        "none": None,
        "list": [1, [2, {}], []],
        "object": {"a": {"b": [None]}},
        "1": "collides with 1",
        "2.5": "float key",
        "null": "none key",
        "nans": [1.0, None],
        "date": "2024-02-29",
        "datetime": "2024-02-29T12:30:00+00:00",
        "time": "12:30:00",
        "decimal": 1234567890.1234567890123,
        "uuid": "00000000-0000-0000-0000-000000000005",
        "bytes": "/wA=",
        "enum": "red",
        "level": 3,
        "np_int": 7,
        "np_float": 0.5,
        "np_bool": True,
        "np_array": [[1, 2], [3, 4]],
        "np_time": "2024-02-29T12:30:00.000000000",
        "timestamp": "2024-02-29T12:30:00",
        "nat": None,
        "na": None,
        "series": [1, 2],
    }
    assert any("NaN or infinity" in warning and "2 times" in warning for warning in report.warnings)


def test_what_is_no_document_is_a_dead_letter_and_the_others_are_in(cluster):
    loop: dict = {}
    loop["self"] = loop
    bad = [{"a": {"b": [1, object()]}}, 5, loop, {"text": "\ud800"}, {(1, 2): 3}]
    report = inrush.load([{"ok": 1}, *bad, {"ok": 2}], index="m", to=cluster.url, name="my documents")
    assert (report.status, report.docs_indexed, report.docs_dead_lettered) == ("incomplete", 2, 5)
    letters = list(report.failed)
    assert [letter.doc for letter in letters] == [1, 2, 3, 4, 5]
    assert {letter.type for letter in letters} == {"not_serializable"}
    assert "field a.b[1] is of type object" in letters[0].reason
    assert letters[0].source == "my documents" and letters[1].text == "5"
    with pytest.raises(inrush.Incomplete) as raised:
        report.raise_for_status()
    assert raised.value.code == report.code == "documents_not_in"
    assert raised.value.report == report and "5 documents were not indexed; most frequent error: not_serializable" in str(raised.value)


def test_lines_of_json(cluster):
    report = inrush.load([b'{"id":"a"}\n', '{"id":\n"b"}', b"", bytearray(b'{"id":"c"}')], "l", cluster.url, id="id")
    assert (report.docs_read, report.docs_indexed) == (3, 3)
    assert cluster.source("l", "b") == {"id": "b"}


def test_dead_letters_of_the_cluster_can_be_read_and_loaded_again(cluster):
    mapping = {"properties": {"n": {"type": "long"}}}
    report = inrush.load([{"n": 1}, {"n": "many"}], "d", cluster.url, mapping=mapping, id="n")
    assert report.status == "incomplete" and not report.ok
    (letter,) = report.failed
    assert (letter.status, letter.document, letter.action) == (400, {"n": "many"}, {"index": {"_id": "many"}})
    again = inrush.load(from_dead_letters=report.dead_letters, index="other", to=cluster.url)
    assert again.ok and cluster.source("other", "many") == {"n": "many"}


def test_a_generator_runs_in_the_calling_thread_and_is_not_read_ahead_without_end(cluster):
    threads = set()
    made = 0

    def documents():
        nonlocal made
        for n in range(2000):
            threads.add(threading.get_ident())
            made += 1
            yield {"n": n, "text": "x" * 1000}

    seen = []
    report = inrush.load(
        documents(), "g", cluster.url, memory="256KiB", batch_bytes="16KiB", in_flight=2,
        progress=lambda now: seen.append((made, now["docs_settled"])),
    )
    assert report.ok and report.docs_indexed == 2000 == cluster.count("g")
    assert threads == {threading.get_ident()}
    # 256 KiB under way, 64 KiB that wait, and what settled since.
    assert all(made - settled < 1500 for made, settled in seen)


def test_what_a_generator_raises_comes_out_after_what_came_before_is_in(cluster):
    def documents():
        yield {"n": 1}
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as raised:
        inrush.load(documents(), "g", cluster.url)
    assert cluster.count("g") == 1
    assert raised.value.report.docs_indexed == 1 and "KeyError: 'lost'" in raised.value.report.failure


def test_rejected_documents_are_sent_again(faulty):
    cluster = faulty({"seed": 7, "rules": [{"fault": "item_rejected", "probability": 0.3}]})
    report = inrush.load(({"n": n} for n in range(500)), "r", cluster.url, id="n")
    assert report.ok and report.retried_items > 0 and cluster.count("r") == 500


def _keyword(flag: re.Match[str]) -> str:
    name, value = flag[1].replace("-", "_"), flag[2].rstrip(",")
    end = flag[2][len(value) :]
    return f"{name}={value if value.isdigit() else repr(value)}{end}"


def test_a_report_reads_as_on_the_command_line(cluster, tmp_path: Path):
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n{"name": "without an id"}\n')
    # The report of a load that has ended is repeated, and nothing is loaded again.
    command = ["a.ndjson", "--index", "t", "--to", cluster.url, "--id", "id", "--once", "--state", str(tmp_path), "--tolerate", "1"]
    command = [sys.executable, "-m", "inrush", "load", *command, "--log-level", "error"]
    runs = [subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True) for more in ([], ["--json"], [])]
    assert [run.returncode for run in runs] == [0, 0, 0], runs
    data = json.loads(runs[1].stdout)
    for changes in ({}, {"status": "incomplete"}, {"status": "check_failed"}, {"docs_given_back": 7}):
        report = inrush.Report({**data, **changes}, once=True)
        lines = str(report).splitlines()
        assert any(line.startswith("read, not settled") for line in lines) == ("docs_given_back" in changes)
        if not changes:
            with_value = r"--(tolerate|batch-bytes|in-flight|encoding|compression) ([^ ]+)"
            expected = re.sub(with_value, _keyword, runs[2].stdout).replace("with --id ", "with id ")
            assert lines == expected.splitlines()
    assert "--" not in str(inrush.Report({**data, "status": "failed"}))


def test_reports_are_shown_and_pickled(cluster):
    report = inrush.load([{"a": 1}], "r", cluster.url)
    assert pickle.loads(pickle.dumps(report)) == report
    assert "documents read" in str(report) and "<table" in report._repr_html_() and "1 read" in repr(report)
    assert report.to_dict()["docs_read"] == 1 and "docs_read" in dir(report)
    assert pickle.loads(pickle.dumps(report)).exit_code == 0
    assert report.failure is None
    with pytest.raises(AttributeError, match="docs_reed"):
        report.docs_reed
    error = inrush.Incomplete(report)
    assert pickle.loads(pickle.dumps(error)).report == report


def test_messages_of_the_engine_go_through_logging(cluster, caplog):
    cluster.ask("PUT", "there", {})
    with caplog.at_level(logging.INFO, "inrush"):
        inrush.load([{"a": 1}], "there", cluster.url, shards=2)
    assert any("exists" in record.message and record.levelname == "WARNING" for record in caplog.records)
    assert all(record.name.split(".")[0] == "inrush" for record in caplog.records)


def test_ctrl_c_stops_a_load_in_order(cluster, tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import inrush, sys
def documents():
    n = 0
    while True:
        n += 1
        yield {{"n": n}}
try:
    inrush.load(documents(), "c", {cluster.url!r}, max_rate="5000docs")
except KeyboardInterrupt as error:
    print(error.report.status, error.report.docs_indexed > 0, error.report.docs_unknown, flush=True)
"""
    )
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)

    def some_are_in() -> bool:
        try:
            return cluster.count("c") > 0
        except OSError:
            return False

    while not some_are_in():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert rest == "interrupted True 0\n" and process.returncode == 0


def test_asynchronously(cluster):
    async def documents():
        for n in range(10):
            await asyncio.sleep(0)
            yield {"n": n}

    async def both():
        first, second = await asyncio.gather(
            inrush.aload(documents(), "a1", cluster.url), inrush.aload([{"n": 1}], "a2", cluster.url)
        )
        assert (first.docs_indexed, second.docs_indexed) == (10, 1)

    asyncio.run(both())


def test_a_cancelled_task_stops_its_load(cluster):
    def forever():
        n = 0
        while True:
            n += 1
            yield {"n": n}

    async def run():
        seen = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(
            inrush.aload(forever(), "c", cluster.url, max_rate="5000docs", progress=lambda now: now["docs_settled"] and loop.call_soon_threadsafe(seen.set))
        )
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return cancelled.value.report

    report = asyncio.run(run())
    assert report.status == "interrupted" and report.docs_indexed == cluster.count("c") > 0


def test_after_a_fork_loads_work_in_the_child(cluster):
    assert inrush.load([{"n": 0}], "f", cluster.url).ok
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if inrush.load([{"n": 1}], "f", cluster.url).ok else 2
        finally:
            os._exit(status)
    end = time.monotonic() + 60
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < end, "the child hangs"
        time.sleep(0.05)
    assert found == (child, 0) and cluster.count("f") == 2


def test_the_command_comes_along(cluster, tmp_path: Path):
    (tmp_path / "a.ndjson").write_text('{"a":1}\n')
    command = [str(Path(sys.executable).parent / "inrush"), "load", "a.ndjson", "--index", "a", "--to", cluster.url, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and inrush.Report(__import__("json").loads(done.stdout)).docs_indexed == 1
    done = subprocess.run([sys.executable, "-m", "inrush", "load", "a.ndjson"], capture_output=True, text=True)
    assert done.returncode == 2 and "no index given" in done.stderr
    assert "inrush" in subprocess.run([sys.executable, "-m", "inrush", "--version"], capture_output=True, text=True).stdout
