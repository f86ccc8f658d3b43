"""The files of examples/: the job file loads a topic, and the options of the manifests exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

# Of Python 3.11 and newer.
tomllib = pytest.importorskip("tomllib")

EXAMPLES = Path(__file__).parent.parent.parent / "examples/kafka"
INRUSH = [sys.executable, "-m", "inrush"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*INRUSH, *arguments], capture_output=True, text=True, timeout=120)


def test_the_job_file_loads_a_topic(broker, cluster, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/api-key").write_text("aWQ6a2V5")
    job = tmp_path / "job/orders.toml"
    job.write_text((EXAMPLES / "orders.toml").read_text())
    broker.create("example-orders")
    broker.create("orders-dead")
    broker.produce("example-orders", {str(n): f'{{"order":"{n}","at":"2026-01-31T10:00:00Z"}}' for n in range(10)})
    broker.produce("example-orders", {"3": None})
    source = f"kafka://{broker.address}/example-orders"
    done = run("load", "--job", job, source, "--to", cluster.url, "--until", "latest", "--member", "")
    assert done.returncode == 0, done.stderr
    assert cluster.count("orders") == 9 and cluster.settings("orders")["number_of_shards"] == "3"
    assert broker.committed("example-orders", "orders") == 11


@pytest.mark.parametrize("name", ["deployment.yaml", "statefulset.yaml"])
def test_the_manifests(name):
    manifest = yaml.safe_load((EXAMPLES / name).read_text())
    pod = manifest["spec"]["template"]["spec"]
    command, *arguments = pod["containers"][0]["args"]
    flags = [argument for argument in arguments if argument.startswith("--")]
    known = run(command, "--help").stdout.split()
    assert flags and set(flags) <= set(known)
    # The volumes hold the files that the job names.
    mounts = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    job = Path(arguments[arguments.index("--job") + 1])
    key = tomllib.loads((EXAMPLES / job.name).read_text())["api_key_file"]
    assert str(job.parent) in mounts and str((job.parent / key).resolve().parent) in mounts
    grace = int(tomllib.loads((EXAMPLES / job.name).read_text())["grace"].removesuffix("s"))
    assert pod["terminationGracePeriodSeconds"] > grace


def test_the_autoscaler_fits_the_job():
    job = tomllib.loads((EXAMPLES / "orders.toml").read_text())
    scaled = yaml.safe_load((EXAMPLES / "scaledobject.yaml").read_text())
    deployment = yaml.safe_load((EXAMPLES / "deployment.yaml").read_text())
    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    trigger = scaled["spec"]["triggers"][0]["metadata"]
    assert job["sources"] == [f"kafka://{trigger['bootstrapServers']}/{trigger['topic']}"]
    assert trigger["consumerGroup"] == job["group"]
