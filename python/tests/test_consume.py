"""`inrush.consume`: topics of a real broker, into the fake cluster."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
from datetime import timedelta

import pytest

import inrush

NUMBERS = itertools.count()


@pytest.fixture
def topic(broker):
    """A topic with ten documents, one of which is deleted again."""
    name = f"topic-{next(NUMBERS)}"
    broker.create(name)
    broker.produce(name, {str(n): f'{{"n":{n}}}' for n in range(10)})
    broker.produce(name, {"3": None})
    return name


@pytest.fixture
def options(broker, cluster, topic):
    """Members without a name leave the group at their end, so that the next one need not wait for them."""
    return {"source": f"kafka://{broker.address}/{topic}", "index": topic, "to": cluster.url, "member": ""}


def test_to_the_end_of_a_topic(cluster, topic, options):
    seen = list(inrush.consume(**options, until="latest", every=0.05))
    assert all(now.report is None for now in seen[:-1])
    last = seen[-1]
    assert last.report.ok and last.report.docs_read == last.docs_settled == 11, last.report
    assert last.phase == "done" and cluster.count(topic) == 9


def test_the_loop_is_left(broker, cluster, topic, options):
    following = inrush.consume(**options, every=timedelta(milliseconds=20))
    for now in following:
        if now.docs_settled == 11:
            break
    assert following.report.status == "interrupted" and cluster.count(topic) == 9
    assert broker.committed(topic, f"inrush-{topic}") == 11
    broker.produce(topic, {"10": '{"n":10}'})
    for now in inrush.consume(**options, every=0.02):
        if now.docs_settled:
            break
    assert now.docs_read == 1 and cluster.count(topic) == 10, "the same group goes on after its offsets"


def test_an_error_in_the_body_ends_the_load(broker, cluster, topic, options):
    following = inrush.consume(**options, every=0.02)
    with pytest.raises(RuntimeError, match="mine"):
        for now in following:
            if now.docs_settled == 11:
                raise RuntimeError("mine")
    assert following.report.status == "interrupted"


def test_a_with_statement_ends_the_load(topic, options):
    with inrush.consume(**options, every=0.02) as following:
        progress = iter(following)
        next(progress)
        assert following.report is None
    assert following.report.status == "interrupted"
    assert list(progress) == []


def test_asynchronously(broker, cluster, topic, options):
    async def run():
        async with inrush.consume(**options, every=0.02) as following:
            async for now in following:
                if now.docs_settled == 11:
                    break
        return following.report

    assert asyncio.run(run()).status == "interrupted"
    assert broker.committed(topic, f"inrush-{topic}") == 11


def test_an_asynchronous_loop_is_left(broker, topic, options):
    following = inrush.consume(**options, every=0.02)

    async def run():
        async for now in following:
            if now.docs_settled == 11:
                break

    asyncio.run(run())
    gc.collect()
    assert following.report.status == "interrupted" and broker.committed(topic, f"inrush-{topic}") == 11


def test_a_cancelled_task_ends_its_load(broker, topic, options):
    following = inrush.consume(**options, every=0.02)

    async def run():
        seen = asyncio.Event()

        async def follow():
            async for now in following:
                if now.docs_settled == 11:
                    seen.set()

        task = asyncio.create_task(follow())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        return raised.value

    asyncio.run(run())
    assert following.report.status == "interrupted" and broker.committed(topic, f"inrush-{topic}") == 11


def test_a_task_that_is_cancelled_at_once_leaves_no_load(topic, options):
    following = inrush.consume(**options)

    async def run():
        task = asyncio.create_task(following.__aiter__().__anext__())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    # Without a report the load has not begun.
    assert following.report is None or following.report.status == "interrupted"


def test_a_load_that_fails(broker, topic, options):
    broker.produce(topic, {"11": '{"n":"many"}'})
    with pytest.raises(inrush.LoadFailed, match="max_errors") as raised:
        for now in inrush.consume(**options, every=0.02, mapping={"properties": {"n": {"type": "long"}}}, strict=True):
            assert now.report is None
    assert raised.value.report.docs_dead_lettered


def test_a_load_that_cannot_begin(broker, cluster):
    with pytest.raises(inrush.UsageError, match="no-such-topic does not exist"):
        next(iter(inrush.consume(f"kafka://{broker.address}/no-such-topic", "t", cluster.url)))
    with pytest.raises(inrush.UsageError, match="no option is called"):
        next(iter(inrush.consume("kafka://localhost:1/t", "t", cluster.url, groupp="g")))


def test_misuse_is_told(topic, options):
    with pytest.raises(TypeError, match="address of topics"):
        inrush.consume([{"n": 1}], "t")
    with pytest.raises(inrush.UsageError, match="every=0"):
        inrush.consume("kafka://localhost:9092/t", "t", every=0)
    following = inrush.consume(**options, until="latest")
    list(following)
    with pytest.raises(RuntimeError, match="call consume\\(\\) again"):
        list(following)
    assert "ended" in repr(following)


def test_the_progress_is_that_of_other_loads(cluster):
    with inrush.Loader("l", cluster.url) as loader:
        names = set(loader.progress())
    assert names == {field.name for field in dataclasses.fields(inrush.Progress)} - {"report"}
