"""Ray: two workers, a real OpenSearch, and a worker that is killed in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

import docs
import inrush
import inrush.ray
from killing import kill_one
from page import Viewer, free_port


@pytest.fixture(scope="module", autouse=True)
def cluster_of_two() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=300 << 20, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def documents(rows: int, blocks: int) -> Any:
    def more(batch: dict[str, Any]) -> dict[str, Any]:
        batch["n"] = batch["id"] * 7 % 1000
        batch["text"] = [f"{n:064}" * 4 for n in batch["id"]]
        return batch

    return ray.data.range(rows, override_num_blocks=blocks).map_batches(more)


def test_the_sink_writes_and_looks_after_the_index(opensearch):
    sink = inrush.ray.InrushSink(
        "written", opensearch.url, id="id", mapping={"properties": {"text": {"type": "keyword"}}}, in_flight=4, expected_bytes=2 << 30
    )
    documents(10_000, 5).write_datasink(sink)
    report = sink.report
    assert report.ok and report.docs_created == 10_000 == opensearch.count("written"), report
    assert report.settings["restored"] == "yes" and report.settings["changed"]
    assert "refresh_interval" not in opensearch.settings("written")


def test_the_page_of_a_job_shows_the_sums_of_its_tasks(opensearch, tmp_path: Path):
    port = free_port()
    sink = inrush.ray.InrushSink("paged", opensearch.url, id="id", page=port, textfile=tmp_path)
    with Viewer(port) as viewer:
        documents(10_000, 5).write_datasink(sink)
    assert sink.report.ok and sink.report.docs_created == 10_000
    parts = viewer.last["state"]["parts"]
    assert parts and {part["name"].split()[0] for part in parts} == {"task"}
    assert 0 < viewer.last["state"]["counts"]["docs_created"] <= 10_000
    metrics = (tmp_path / "inrush-paged.prom").read_text()
    assert 'inrush_documents_total{load="paged",outcome="created"} 10000\n' in metrics


def test_the_example_of_the_page(opensearch):
    assert docs.run("ray.md", opensearch.url, {}) == 1


def test_a_task_that_fails_fails_the_write_and_settings_are_put_back(opensearch):
    def explode(batch: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no such batch")

    sink = inrush.ray.InrushSink("failed", opensearch.url, expected_bytes=2 << 30)
    with pytest.raises(Exception, match="no such batch"):
        ray.data.range(100, override_num_blocks=2).map_batches(explode).write_datasink(sink)
    try:
        settings = opensearch.settings("failed")
    except OSError:
        # Ray begins to write with the first block, which never came.
        assert sink.report is None
    else:
        assert "refresh_interval" not in settings and sink.report.status == "failed"


def test_a_killed_worker_leaves_exactly_the_right_documents(opensearch, tmp_path: Path):
    rows = 300_000
    sink = inrush.ray.InrushSink("killed", opensearch.url, id="id", expected_bytes=2 << 30)
    result: dict[str, Any] = {}

    def run() -> None:
        try:
            documents(rows, 12).write_datasink(sink)
        except BaseException as error:
            result["error"] = error

    def indexed() -> bool:
        try:
            stats = opensearch.ask("GET", "killed/_stats/indexing")
            return stats["_all"]["primaries"]["indexing"]["index_total"] > 30_000
        except OSError:
            return False

    thread = threading.Thread(target=run)
    thread.start()
    # A worker names itself after what it does.
    kill_one(indexed, lambda command: command.startswith("ray::") and "Write" in command, thread.is_alive)
    thread.join()
    assert not result, result
    report = sink.report
    assert report.ok and report.docs_read == rows, report
    assert report.settings["restored"] == "yes" and "refresh_interval" not in opensearch.settings("killed")
    expected = tmp_path / "expected.ndjson"
    with expected.open("w") as lines:
        for n in range(rows):
            lines.write(json.dumps({"id": n, "n": n * 7 % 1000, "text": f"{n:064}" * 4}) + "\n")
    command = [sys.executable, "-m", "inrush", "verify", str(expected), "--index", "killed", "--id", "id", "--to", opensearch.url]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
