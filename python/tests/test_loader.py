"""`inrush.Loader` and its asynchronous twin."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading

import pyarrow as pa
import pytest

import inrush


def test_documents_one_by_one(cluster):
    with inrush.Loader("l", cluster.url) as loader:
        loader.add({"n": 1}, id="a", routing="r")
        loader.add(b'{"n":2}', id=2)
        loader.add({"n": 3}, id="c", index="other")
        loader.flush()
        assert loader.progress()["docs_settled"] == 3
        assert cluster.source("l", "2") == {"n": 2}
        loader.add(None, id="2", action="delete")
        loader.add_many({"n": n} for n in range(10, 15))
        loader.add_batch(pa.table({"n": [20, 21]}))
    report = loader.report
    assert report.ok and report.docs_read == 11 and report.docs_deleted == 1
    assert cluster.count("l") == 8 and cluster.count("other") == 1
    assert loader.close() is report


def test_what_is_no_document_raises_at_once(cluster):
    with inrush.Loader("l", cluster.url) as loader:
        with pytest.raises(TypeError, match="field a is of type object"):
            loader.add({"a": object()})
        with pytest.raises(ValueError, match="explode"):
            loader.add({}, action="explode")
        loader.add({"n": 1})
    assert loader.report.ok and loader.report.docs_read == 1


def test_several_threads(cluster):
    with inrush.Loader("l", cluster.url) as loader:
        def add(thread):
            for n in range(500):
                loader.add({"thread": thread, "n": n}, id=f"{thread}-{n}")

        threads = [threading.Thread(target=add, args=[n]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert loader.report.docs_created == 2000 == cluster.count("l")


def test_an_error_in_the_block_leaves_what_was_added(cluster):
    with pytest.raises(RuntimeError, match="mine"):
        with inrush.Loader("l", cluster.url) as loader:
            loader.add({"n": 1})
            raise RuntimeError("mine")
    assert loader.report.ok and cluster.count("l") == 1


def test_a_load_that_ends_early_says_why(cluster):
    mapping = {"properties": {"n": {"type": "long"}}}
    with pytest.raises(inrush.LoadFailed, match="max_errors") as raised:
        with inrush.Loader("l", cluster.url, strict=True, mapping=mapping) as loader:
            loader.add({"n": "many"})
            loader.flush()
            while True:
                loader.add({"n": 1})
    assert raised.value.report.docs_dead_lettered == 1


def test_a_loader_can_be_pickled_until_it_is_started(cluster):
    loader = inrush.Loader("l", cluster.url, user="u", password="hunter2")
    assert "hunter2" not in repr(loader)
    copy = pickle.loads(pickle.dumps(loader))
    assert copy._options.secrets == {"password": "hunter2"}
    with pickle.loads(pickle.dumps(inrush.Loader("l", cluster.url))) as running:
        running.add({"n": 1})
        with pytest.raises(TypeError, match="pickle it before"):
            pickle.dumps(running)
    assert running.report.ok


def test_misuse_is_told(cluster):
    loader = inrush.Loader("l", cluster.url)
    with pytest.raises(RuntimeError, match="with statement"):
        loader.add({})
    with loader:
        pass
    with pytest.raises(RuntimeError, match="started before"):
        loader.start()
    with pytest.raises(inrush.UsageError):
        inrush.Loader().start()


def test_a_program_that_forgets_to_close_loses_nothing(cluster):
    program = f"""
import inrush
loader = inrush.Loader("l", {cluster.url!r}).start()
loader.add({{"n": 1}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "was not closed" in done.stderr, done.stderr
    assert cluster.count("l") == 1


def test_asynchronously(cluster):
    async def run():
        async with inrush.AsyncLoader("l", cluster.url, memory="64KiB", batch_bytes="8KiB", in_flight=1) as loader:
            for n in range(300):
                await loader.add({"n": n, "text": "x" * 500}, id=n)
            await loader.flush()
            assert loader.progress()["docs_settled"] == 300
            await loader.add_batch(pa.table({"n": [1]}))
        return loader.report

    assert asyncio.run(run()).docs_read == 301
    assert cluster.count("l") == 301


def test_a_cancelled_task_stops_its_load(cluster):
    async def run():
        loader = inrush.AsyncLoader("l", cluster.url)

        async def add():
            async with loader:
                await loader.add({"n": 1})
                await asyncio.sleep(3600)

        task = asyncio.create_task(add())
        while loader._running is None or not loader.progress()["docs_read"]:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loader.report

    assert asyncio.run(run()).status == "interrupted"
