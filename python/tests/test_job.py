"""A load that is spread over several processes, without a framework: what its parts learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inrush._job import Job, Part, load_part, part_options
from inrush._options import Options

LEARNED = {
    "plan": {"batch_bytes": 1 << 20, "batch_docs": (1 << 32) - 1, "in_flight": 3},
    "bytes_per_second": 1e7,
    "wall_seconds": 0.3,
    "doc_bytes": 50.0,
    "rejected": 0.0,
    "unloaded": None,
    "seconds": 30.0,
}


def job(cluster: Any, **options: Any) -> tuple[Job, Options]:
    given = Options.of({"index": "job", "to": cluster.url, "id": "id", **options})
    begun = Job(given, expected_bytes=None, progress=False, name="job")
    begun.start()
    return begun, begun.of_part(part_options(given, None, with_job=True))


def load(part: Options) -> Part:
    return load_part(part, lambda load: load.push({"id": n} for n in range(100)), False, "part")


def test_parts_begin_with_what_those_of_the_last_job_learned(cluster, tmp_path: Path):
    first, part = job(cluster)
    assert part.table["learned"] == "none"
    loaded = load(part)
    assert loaded.report["plan"]["start"]["from"] == "defaults"
    # A load of a hundred documents is too short to learn anything.
    loaded.report["plan"]["learned"] = LEARNED
    first.absorb(loaded)
    assert first.finish().ok

    second, part = job(cluster)
    assert json.loads(part.table["learned"]) == LEARNED
    loaded = load(part)
    start = loaded.report["plan"]["start"]
    assert (start["from"], start["in_flight"], start["batch_bytes"]) == ("given", 3, 1 << 20)
    second.absorb(loaded)
    assert second.finish().ok

    third, part = job(cluster, forget=True)
    assert part.table["learned"] == "none" and "forget" not in part.table
    third.absorb(load(part))
    assert third.finish().ok


def test_parts_keep_what_the_program_gives_them(cluster):
    begun, part = job(cluster, learned=LEARNED)
    assert part.table["learned"] == LEARNED
    begun.absorb(load(part))
    assert begun.finish().ok


def test_parts_load_into_the_cluster_of_the_drivers_variable(monkeypatch):
    def to(**options: Any) -> Any:
        return part_options(Options.of({"index": "job", **options}), None, with_job=True).table.get("to")

    monkeypatch.setenv("INRUSH_TO", " http://a:9200, ,http://b:9200")
    assert to() == to(to=None) == ["http://a:9200", "http://b:9200"]
    assert to(to="http://c:9200") == "http://c:9200"
    monkeypatch.delenv("INRUSH_TO")
    assert to() is None
