"""The recipe of docs/hadoop.md: a table of a real HBase server, through Hadoop's input format and Spark, into a real OpenSearch."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import docs

TESTS = Path(__file__).parent.parent
ROWS = 5_000
REGIONS = 4
# What HBase does to Java's own classes.
OPENS = ["java.base/java.nio", "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/java.lang", "java.base/java.util.concurrent"]


class Installed:
    """What scripts/hbase.sh has fetched and made."""

    def __init__(self) -> None:
        script = TESTS.parent.parent / "scripts" / "hbase.sh"
        self.client, self.server, self.java = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def installed() -> Installed:
    return Installed()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def zookeeper_port(installed: Installed, tmp_path_factory: Any) -> Iterator[int]:
    """An HBase whose master, region server and ZooKeeper are one process."""
    folder = tmp_path_factory.mktemp("hbase")
    port = free_port()
    settings = {
        "hbase.rootdir": f"file://{folder}/data",
        "hbase.tmp.dir": f"{folder}/tmp",
        "hbase.zookeeper.quorum": "127.0.0.1",
        "hbase.zookeeper.property.clientPort": port,
        "hbase.zookeeper.property.dataDir": f"{folder}/zookeeper",
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.port": 0,
        "hbase.regionserver.port": 0,
        "hbase.master.info.port": -1,
        "hbase.regionserver.info.port": -1,
        # This is a local file system, which cannot promise that a write survives a crash.
        "hbase.unsafe.stream.capability.enforce": "false",
        "hbase.wal.provider": "filesystem",
    }
    properties = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    (folder / "hbase-site.xml").write_text(f"<configuration>{properties}</configuration>")
    opens = [flag for package in OPENS for flag in ("--add-opens", f"{package}=ALL-UNNAMED")]
    command = [f"{installed.java}/bin/java", "-Xmx512m", *opens, "-cp", f"{folder}:{installed.server}"]
    log = folder / "log"
    with log.open("w") as output:
        server = subprocess.Popen([*command, "org.apache.hadoop.hbase.master.HMaster", "start"], stdout=output, stderr=output)
    try:
        wait_for(lambda: answers(port) or server.poll() is not None)
        assert server.poll() is None, log.read_text()[-4000:]
        yield port
    finally:
        server.terminate()
        server.wait(timeout=60)


def wait_for(condition: Any, seconds: int = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def spark(installed: Installed) -> Iterator[SparkSession]:
    os.environ["JAVA_HOME"] = installed.java
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local-cluster[2,1,768]")
        .appName("inrush-hbase")
        .config("spark.executor.memory", "768m")
        .config("spark.driver.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraClassPath", installed.client)
        .config("spark.executor.extraClassPath", installed.client)
        .getOrCreate()
    )
    yield session
    session.stop()


def make_table(spark: SparkSession, port: int) -> None:
    """`trips` with four regions: a text in one family, a number in another."""
    hbase = spark._jvm.org.apache.hadoop.hbase
    text = hbase.util.Bytes.toBytes
    configuration = hbase.HBaseConfiguration.create()
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1")
    configuration.set("hbase.zookeeper.property.clientPort", str(port))
    with_server = hbase.client.ConnectionFactory.createConnection(configuration)
    name = hbase.TableName.valueOf("trips")
    table = hbase.client.TableDescriptorBuilder.newBuilder(name)
    for family in ("where", "how"):
        table.setColumnFamily(hbase.client.ColumnFamilyDescriptorBuilder.of(family))
    splits = spark._sc._gateway.new_array(spark._jvm.byte, REGIONS - 1, 4)
    for n in range(1, REGIONS):
        splits[n - 1] = text(f"{n * ROWS // REGIONS:04}")
    with_server.getAdmin().createTable(table.build(), splits)
    rows = with_server.getTable(name)
    for first in range(0, ROWS, 500):
        puts = spark._jvm.java.util.ArrayList()
        for n in range(first, first + 500):
            put = hbase.client.Put(text(f"{n:04}"))
            put.addColumn(text("where"), text("city"), text(f"Zürich {n % 7}"))
            put.addColumn(text("how"), text("distance"), struct.pack(">q", n * 1_000_000_007))
            puts.add(put)
        rows.put(puts)
    rows.close()
    with_server.close()


def test_a_table_of_hbase_is_loaded(spark: SparkSession, zookeeper_port: int, opensearch: Any, tmp_path: Path):
    make_table(spark, zookeeper_port)
    names: dict[str, Any] = {"spark": spark}
    assert docs.run("hadoop.md", opensearch.url, names, {'"2181"': f'"{zookeeper_port}"'}) == 1
    assert names["rows"].getNumPartitions() == REGIONS
    report = names["job"].report
    assert report.docs_created == ROWS and report.verified["state"] == "yes", report
    expected = tmp_path / "trips.ndjson"
    documents = ({"id": f"{n:04}", "city": f"Zürich {n % 7}", "distance": n * 1_000_000_007} for n in range(ROWS))
    expected.write_text("".join(json.dumps(document) + "\n" for document in documents))
    command = [sys.executable, "-m", "inrush", "verify", str(expected), "--index", "trips", "--id", "id", "--to", opensearch.url]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
