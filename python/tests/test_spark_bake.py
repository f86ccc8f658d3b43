"""What the driver of `inrush.spark.bake` refuses, and how it divides rows; without Spark, against the fake cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import inrush
from inrush import _spark_bake, _spark_shards
from inrush._options import Options

from page import free_port, snapshot


class Frame:
    """A data frame of which no row is read."""

    columns = ("id",)


def bake(cluster: Any, **options: Any) -> Any:
    return _spark_bake.bake(Frame(), "trips", [cluster.url], Options.of(options))


def indices(cluster: Any) -> list[str]:
    return sorted(row["index"] for row in cluster.ask("GET", "_cat/indices?format=json"))


def test_numbers_lead_to_one_partition_each():
    # SELECT hash(0), hash(1) on Spark.
    assert [_spark_shards._hash(n) for n in (0, 1)] == [933211791, -559580957]
    for partitions in (1, 2, 7, 200):
        numbers = _spark_shards._numbers(partitions)
        assert [_spark_shards._hash(number) % partitions for number in numbers] == list(range(partitions))


def test_what_only_a_server_can_build_is_refused_with_the_reason(cluster, tmp_path: Path):
    repository = tmp_path / "repository"
    repository.mkdir()
    place = {"repository_path": str(repository)}
    percolator = {"mapping": {"properties": {"q": {"type": "percolator"}}}}
    for options, why in [
        (percolator, 'field "q" of the mapping has the type "percolator", which only a server builds'),
        (percolator | {"engine": "native"}, 'field "q" of the mapping has the type "percolator", which only a server builds'),
        ({"force_merge": 1}, "force_merge needs a server that merges"),
        ({"pipeline": "p"}, "ingest pipeline"),
    ]:
        if "pipeline" in options:
            cluster.ask("PUT", "_ingest/pipeline/p", {"processors": []})
        with pytest.raises(inrush.InrushError) as caught:
            bake(cluster, **place, **options)
        assert caught.value.code == "bake_not_native" and why in str(caught.value), caught.value
        assert str(caught.value).endswith("load it with inrush.spark.load, or bake files with `inrush bake`")
    assert indices(cluster) == [] and list(repository.iterdir()) == []


def test_options_of_a_server_that_builds_are_refused(cluster, tmp_path: Path):
    for name, value in [("builder_heap", "1g"), ("builder", "http://localhost:1"), ("java_home", "/java"), ("engine", "server")]:
        with pytest.raises(inrush.UsageError, match=f"{name}.* is about a server that builds"):
            bake(cluster, repository_path=str(tmp_path), **{name: value})
    assert indices(cluster) == []


def test_shards_of_a_target_that_cannot_take_them_are_not_ordered(cluster, tmp_path: Path):
    for options, kind, message in [
        ({}, inrush.UsageError, "no repository given"),
        ({"repository_path": str(tmp_path), "nonsense": 3}, inrush.UsageError, "nonsense"),
        ({"repository_path": str(tmp_path), "alias": "a"}, inrush.UsageError, "alias"),
        ({"repository_path": str(tmp_path / "none")}, inrush.ClusterError, "is not a folder"),
    ]:
        with pytest.raises(kind, match=message):
            bake(cluster, engine="native", **options)
    assert indices(cluster) == []


def test_the_page_of_a_bake_ends_with_it(cluster, tmp_path: Path):
    port = free_port()
    with pytest.raises(inrush.InrushError, match="is not a folder"):
        bake(cluster, repository_path=str(tmp_path / "none"), page=port)
    with pytest.raises(OSError):
        snapshot(port)
    with pytest.raises(inrush.UsageError, match="needs a token"):
        bake(cluster, repository_path=str(tmp_path), page="0.0.0.0:0")
