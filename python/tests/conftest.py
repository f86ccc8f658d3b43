"""Clusters to test against: the fake one of inrush-testbed, its server that only counts, and a real OpenSearch."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTBED = os.environ.get("INRUSH_TESTBED", "inrush-testbed")


class Cluster:
    """Asks a cluster what it holds."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/{path}", data, {"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def count(self, index: str) -> int:
        self.ask("POST", f"{index}/_refresh")
        return self.ask("GET", f"{index}/_count")["count"]

    def source(self, index: str, id: str) -> dict[str, Any]:
        return self.ask("GET", f"{index}/_doc/{id}")["_source"]

    def documents(self, index: str) -> list[dict[str, Any]]:
        """At most 10,000."""
        self.ask("POST", f"{index}/_refresh")
        hits = self.ask("POST", f"{index}/_search?size=10000", {"query": {"match_all": {}}})["hits"]["hits"]
        return [hit["_source"] for hit in hits]

    def settings(self, index: str) -> dict[str, Any]:
        return self.ask("GET", f"{index}/_settings")[index]["settings"]["index"]


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[Cluster]:
    """A process of the testbed that ends when we do."""
    process = subprocess.Popen([TESTBED, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        yield Cluster(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait(timeout=30)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with served("fake") as cluster:
        yield cluster


@pytest.fixture
def faulty(tmp_path: Path) -> Any:
    """Makes a fake cluster with a script of faults."""
    with contextlib.ExitStack() as stack:

        def make(faults: dict[str, Any]) -> Cluster:
            script = tmp_path / "faults.json"
            script.write_text(json.dumps(faults))
            return stack.enter_context(served("fake", "--faults", str(script)))

        yield make


@contextlib.contextmanager
def node(repository: str | None = None) -> Iterator[tuple[Cluster, Path]]:
    """A real node of its own, and its folder, in which `repository` is one for snapshots. The user that runs it has to reach that, which a temporary
    folder of root's often cannot be.
    """
    root = Path(tempfile.mkdtemp(prefix="inrush-python.", dir="/var/tmp"))
    root.chmod(0o755)
    environment = {**os.environ, "INRUSH_NODE_ROOT": str(root / "node")}
    command = [sys.executable, "-m", "inrush", "node"]
    flags = [] if repository is None else ["--repository-path", str(root / repository)]
    try:
        started = subprocess.run([*command, "start", *flags], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        yield Cluster(started.stdout.strip()), root
    finally:
        subprocess.run([*command, "stop", "--clean"], env=environment, stdout=subprocess.DEVNULL)
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def opensearch() -> Iterator[Cluster]:
    with node() as (cluster, _):
        yield cluster


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    # Not every environment of the tests has a client of Kafka.
    from broker import started

    with started(tmp_path_factory.mktemp("kafka") / "broker") as broker:
        yield broker


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead letters and checkpoints stay out of the clone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
