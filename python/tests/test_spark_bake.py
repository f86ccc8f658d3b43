"""What the driver of `inrush.spark.bake` does with what its executors built; without Spark, against the fake cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import inrush
from inrush import _cluster, _part, _spark_bake, _spark_shards
from inrush._job import PAGE, Part
from inrush._options import Options

from page import free_port, snapshot

COUNTS = (
    "docs_read docs_indexed docs_created docs_updated docs_dead_lettered docs_redirected docs_unknown uncertain_creates uncertain_updates"
    " possible_duplicates"
).split()


class Frame:
    """A data frame whose executors have built `built`: documents by index, of which `lost` are dead letters in each."""

    columns = ("id",)

    def __init__(self, cluster: Any, built: dict[str, int], lost: int = 0, updated: int = 0) -> None:
        self._cluster, self._built, self._lost, self._updated = cluster, built, lost, updated

    def repartition(self, *_: Any) -> Frame:
        return self

    def mapInArrow(self, part: Any, _: str) -> Frame:  # noqa: N802
        self._part = part
        return self

    def collect(self) -> list[dict[str, str]]:
        rows = []
        for name, docs in self._built.items():
            index = f"{self._part._prefix}-{name}"
            for n in range(docs):
                self._cluster.ask("PUT", f"{index}/_doc/{n}", {"n": n})
            report: dict[str, Any] = dict.fromkeys(COUNTS, 0)
            report |= {"docs_per_second": 1.0, "indices": {}, "sizes": {}, "pauses": [], "sources": []}
            report["plan"] = {"batch_bytes": 1, "in_flight": 1, "why": "", "encoding": "json", "compression": "none", "wire_why": ""}
            created = docs - self._updated
            report |= {"docs_read": docs + self._lost, "docs_indexed": docs, "docs_created": created, "docs_updated": self._updated}
            report |= {"docs_dead_lettered": self._lost, "status": "complete", "verified": {"state": "yes", "detail": ""}, "warnings": []}
            report |= {"run_id": "r", "dead_letters": None, "seconds": 1.0, "errors": [], "finish": {"steps": []}, "settings": {"restored": "unchanged", "changed": {}, "detail": ""}}
            rows.append({"index": index, "part": Part(report, ["{}\n"] * self._lost, 0, False).to_json()})
        return rows


def bake(cluster: Any, frame: Frame, **options: Any) -> Any:
    return _spark_bake.bake(frame, "trips", [cluster.url], 2, Options.of({"engine": "server"} | options))


def built(cluster: Any) -> list[str]:
    return sorted(row["index"] for row in cluster.ask("GET", "_cat/indices?format=json") if row["index"].startswith("trips-"))


class Paged(Frame):
    """Its executors report to the page of the bake, as `inrush._part` does."""

    def collect(self) -> list[dict[str, str]]:
        url, token = json.loads(self._part._options.secrets[PAGE])
        assert "page" not in self._part._options.table
        report = {"name": "part 1", "run_id": "a", "phase": "loading", "counts": {"docs_read": 7}}
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/parts", json.dumps(report).encode(), headers), timeout=10).close()
        self.seen = snapshot(int(url.rpartition(":")[2]))
        return super().collect()


def test_the_page_shows_what_executors_do(cluster, tmp_path: Path):
    port = free_port()
    frame = Paged(cluster, {"a": 2})
    assert bake(cluster, frame, page=port, textfile=str(tmp_path)).status == "complete"
    assert frame.seen["start"]["name"] == "trips" and frame.seen["state"]["counts"]["docs_read"] == 7
    assert [(part["name"], part["docs"]) for part in frame.seen["state"]["parts"]] == [("part 1", 7)]
    written = (tmp_path / "inrush-trips.prom").read_text()
    assert 'inrush_documents_total{load="trips",outcome="created"} 2\n' in written, "the report of all parts"
    with pytest.raises(OSError):
        snapshot(port)
    with pytest.raises(inrush.UsageError, match="needs a token"):
        bake(cluster, Frame(cluster, {"a": 2}), page="0.0.0.0:0")


def test_what_was_built_is_published_together(cluster):
    report = bake(cluster, Frame(cluster, {"a": 2, "b": 3}))
    assert report.status == "complete" and report.docs_created == 5 and report.verified["state"] == "yes"
    assert sorted(cluster.ask("GET", "_alias/trips")) == built(cluster) and len(built(cluster)) == 2
    first = built(cluster)
    bake(cluster, Frame(cluster, {"a": 1}))
    (second,) = cluster.ask("GET", "_alias/trips")
    assert second not in first and built(cluster) == sorted([*first, second]), "the old ones are kept"


def lose_answers(monkeypatch: pytest.MonkeyPatch, times: int, path: str) -> list[int]:
    """The answers to the first requests of that path are lost after they were carried out."""
    once, lost = _cluster.Cluster._once, [0]

    def losing(self: Any, url: str, method: str, asked: str, body: Any) -> Any:
        answer = once(self, url, method, asked, body)
        if path in asked and lost[0] < times:
            lost[0] += 1
            raise _cluster._NoAnswer("reset")
        return answer

    monkeypatch.setattr(_cluster.Cluster, "_once", losing)
    monkeypatch.setattr(_cluster, "_PAUSE_S", 0.0)
    return lost


def test_a_lost_answer_is_asked_for_again(cluster, monkeypatch):
    lost = lose_answers(monkeypatch, 1, "_aliases")
    assert bake(cluster, Frame(cluster, {"a": 2})).status == "complete"
    assert lost == [1] and sorted(cluster.ask("GET", "_alias/trips")) == built(cluster)


def test_a_count_without_an_answer_is_asked_again(cluster, monkeypatch):
    lost = lose_answers(monkeypatch, 3, "_count")
    assert bake(cluster, Frame(cluster, {"a": 2})).status == "complete" and lost == [3]


def test_what_may_be_published_is_not_deleted(cluster, monkeypatch):
    lose_answers(monkeypatch, 99, "_aliases")
    answers = [[]]

    def behind(self: Any, name: str, patience: float = 0.0) -> list[str]:
        if not answers:
            raise _cluster._NoAnswer("gone")
        return answers.pop()

    monkeypatch.setattr(_cluster.Cluster, "behind", behind)
    with pytest.raises(inrush.ClusterError, match="unknown whether the alias .* points to trips-.*kept"):
        bake(cluster, Frame(cluster, {"a": 2}))
    assert len(built(cluster)) == 1, "it was published after all"


def test_documents_that_are_not_in_leave_the_alias_alone(cluster, tmp_path: Path):
    bake(cluster, Frame(cluster, {"a": 2}))
    before = cluster.ask("GET", "_alias/trips")
    report = bake(cluster, Frame(cluster, {"b": 2}, lost=3), dead_letters=str(tmp_path / "dead.ndjson"))
    assert report.status == "incomplete" and cluster.ask("GET", "_alias/trips") == before
    (warning,) = report.warnings
    assert "the alias trips was not moved" in warning and set(built(cluster)) - set(before) != set()
    assert (tmp_path / "dead.ndjson").read_text() == "{}\n" * 3 and report.dead_letters == str(tmp_path / "dead.ndjson")


def test_documents_that_were_sent_again_count_once(cluster):
    assert bake(cluster, Frame(cluster, {"a": 4}, updated=1)).verified["state"] == "yes"


def test_a_count_that_differs_takes_everything_away(cluster):
    frame = Frame(cluster, {"a": 4})
    collect = frame.collect

    def more() -> Any:
        rows = collect()
        cluster.ask("PUT", f"{rows[0]['index']}/_doc/9", {})
        return rows

    frame.collect = more  # type: ignore[method-assign]
    with pytest.raises(inrush.CheckFailed, match="5 documents in 1 indices for trips, 4 were created"):
        bake(cluster, frame)
    assert built(cluster) == []


def test_numbers_lead_to_one_partition_each():
    # SELECT hash(0), hash(1) on Spark.
    assert [_spark_shards._hash(n) for n in (0, 1)] == [933211791, -559580957]
    for partitions in (1, 2, 7, 200):
        numbers = _spark_shards._numbers(partitions)
        assert [_spark_shards._hash(number) % partitions for number in numbers] == list(range(partitions))


def test_what_only_servers_can_build_is_built_by_servers(cluster, monkeypatch):
    def refuse(*_: Any) -> Any:
        raise _spark_shards.NotNative("the mapping has a field of the type percolator")

    monkeypatch.setattr(_spark_shards, "bake", refuse)
    with pytest.raises(inrush.InrushError, match="percolator") as caught:
        bake(cluster, Frame(cluster, {"a": 2}), engine="native")
    assert caught.value.code == "bake_not_native" and built(cluster) == []
    frame = Frame(cluster, {"a": 2})
    report = bake(cluster, frame, engine="auto", build_memory="64MiB", allow_shrink="any")
    assert report.status == "complete" and "built with servers, because the mapping has a field" in report.warnings[0]
    # Each task takes a server, and options of the other engine would be refused there.
    assert frame._part._options.table["engine"] == "server" and not {"build_memory", "allow_shrink"} & set(frame._part._options.table)
    assert "built with servers" in bake(cluster, Frame(cluster, {"a": 2}), engine=None).warnings[0], "auto is the default"
    frame = Frame(cluster, {"a": 2})
    report = bake(cluster, frame, engine=None, builder_heap="1g")
    assert frame._part._options.table["engine"] == "server" and not any("built with servers" in warning for warning in report.warnings)


def test_the_warning_has_the_reason_and_no_remedy_that_was_taken(cluster, tmp_path: Path):
    options = {"repository_path": str(tmp_path), "mapping": {"properties": {"q": {"type": "percolator"}}}}
    why = 'field "q" of the mapping has the type "percolator", which only a server builds'
    with pytest.raises(inrush.InrushError) as caught:
        bake(cluster, Frame(cluster, {"a": 2}), engine="native", **options)
    assert str(caught.value) == f"this index cannot be built without a server: {why}; give engine='server', or leave engine out"
    assert caught.value.code == "bake_not_native"
    report = bake(cluster, Frame(cluster, {"a": 2}), engine=None, **options)
    assert report.warnings == [f"the indices are built with servers, because {why}"]


def test_jobs_that_were_made_for_servers_go_on(cluster, monkeypatch):
    def shards(*_: Any) -> Any:
        raise AssertionError("no shard is tried")

    bake(cluster, Frame(cluster, {"a": 2, "b": 3}))
    monkeypatch.setattr(_spark_shards, "bake", shards)
    report = bake(cluster, Frame(cluster, {"a": 1}), engine=None)
    assert report.status == "complete" and "because the alias trips stands for 2 indices" in report.warnings[0]
    assert len(cluster.ask("GET", "_alias/trips")) == 1
    frame = Frame(cluster, {"a": 1})
    report = bake(cluster, frame, engine=None, shards=3)
    assert "because shards is 3" in report.warnings[0] and frame._part._options.table["shards"] == 3
    for option, value in [("delete_old", True), ("cert", "c")]:
        with pytest.raises(inrush.UsageError, match=f"{option} is not possible where servers build .*because shards is 3"):
            bake(cluster, Frame(cluster, {"a": 1}), engine=None, shards=3, **{option: value})
    # An alias that cannot be looked up leaves the rest to the bake, and so does an option that no servers allow.
    with pytest.raises(AssertionError, match="no shard is tried"):
        bake(cluster, Frame(cluster, {"a": 1}), engine=None, shards=2, delete_old=True)

    def unknown(*_: Any, **__: Any) -> Any:
        raise inrush.ClusterError("no address")

    monkeypatch.setattr(_cluster.Cluster, "with_alias", unknown)
    with pytest.raises(AssertionError, match="no shard is tried"):
        bake(cluster, Frame(cluster, {"a": 1}), engine=None)


def test_shards_of_a_target_that_cannot_take_them_are_not_ordered(cluster, tmp_path: Path):
    frame = Frame(cluster, {"a": 2})
    for options, kind, message in [
        ({}, inrush.UsageError, "no repository given"),
        ({"repository_path": str(tmp_path), "shards": 3}, inrush.UsageError, "leave shards out"),
        ({"repository_path": str(tmp_path), "nonsense": 3}, inrush.UsageError, "nonsense"),
        ({"repository_path": str(tmp_path), "builder_heap": "1g"}, inrush.UsageError, "builder_heap"),
        ({"repository_path": str(tmp_path / "none")}, inrush.ClusterError, "is not a folder"),
    ]:
        with pytest.raises(kind, match=message):
            bake(cluster, frame, engine="native", **options)
    assert built(cluster) == [] and not hasattr(frame, "_part")


def test_an_id_is_a_column_or_a_part_of_one():
    frame = SimpleNamespace(columns=["a.b", "c"])
    assert _spark_bake._columns(frame, "a.b") == ["`a.b`"] and _spark_bake._columns(frame, "c.d") == ["c.d"]
    assert _spark_bake._columns(frame, None) == []


WORKER = """
from inrush._options import Options
from inrush import _spark_bake
import time
with _spark_bake._process(Options.of({})) as process:
    (process.folder / "part.arrow").write_bytes(b"half")
    print(process.folder, flush=True)
    time.sleep(600)
"""


def test_the_folder_of_a_part_goes_with_a_worker_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        folder = Path(worker.stdout.readline().rstrip())
        assert (folder / "part.arrow").exists()
        worker.kill()
    end = time.monotonic() + 60
    while folder.exists():
        assert time.monotonic() < end, list(folder.iterdir())
        time.sleep(0.05)


def test_the_process_of_a_part_bakes_and_says_how_it_ended():
    refused = [({"nonsense": 1}, "nonsense"), ({"sources": ["none"]}, "cannot be opened")]
    for options, expected in refused:
        with _spark_bake._process(Options.of({})) as process:
            assert process.run({"index": "a"} | options) == 2
            assert expected in (process.folder / _part.ERRORS).read_text()
            assert (process.folder / _part.OUTPUT).read_text() == ""
    assert not process.folder.exists()
