"""Spark: two executors that are processes of their own, a real OpenSearch, and an executor that is killed in the middle."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import docs
import inrush
import inrush.spark
from conftest import node
from killing import kill_one
from page import Viewer, free_port, snapshot

TESTS = Path(__file__).parent.parent


def java_home() -> str | None:
    """Spark 4 runs on Java 17 and newer; what is newest of all it may not know yet."""
    for release in sorted(Path("/usr/lib/jvm").glob("*/release")):
        if re.search(r'^JAVA_VERSION="(17|21)\.', release.read_text(), re.MULTILINE):
            return str(release.parent)
    return os.environ.get("JAVA_HOME")


def is_executor(command: str) -> bool:
    return "CoarseGrainedExecutorBackend" in command and "/bin/java" in command


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    if home := java_home():
        os.environ["JAVA_HOME"] = home
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # The executors' Python finds what this file defines.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS / "spark"), os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local-cluster[2,1,768]")
        .appName("inrush")
        .config("spark.executor.memory", "768m")
        .config("spark.driver.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.task.maxFailures", "8")
        .getOrCreate()
    )
    inrush.spark.register(session)
    yield session
    session.stop()


def documents(spark: SparkSession, rows: int, partitions: int) -> Any:
    """Rows that are told apart by id, of about 300 bytes."""
    df = spark.range(0, rows, numPartitions=partitions)
    return df.select(
        F.col("id"), (F.col("id") * 7 % 1000).alias("n"), F.repeat(F.sha2(F.col("id").cast("string"), 256), 4).alias("text")
    )


def assert_holds(rows: int, cluster: Any, index: str, tmp_path: Path) -> None:
    """By `inrush verify`: ids and contents, and nothing besides."""
    expected = tmp_path / f"{index}.ndjson"
    with expected.open("w") as lines:
        for n in range(rows):
            text = hashlib.sha256(str(n).encode()).hexdigest() * 4
            lines.write(json.dumps({"id": n, "n": n * 7 % 1000, "text": text}) + "\n")
    command = [sys.executable, "-m", "inrush", "verify", str(expected), "--index", index, "--id", "id", "--to", cluster.url]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_format_writes_and_the_job_looks_after_the_index(spark, opensearch, tmp_path: Path):
    df = documents(spark, 20_000, 6)
    mapping = {"properties": {"id": {"type": "long"}, "text": {"type": "keyword"}}}
    with inrush.spark.Job(
        spark, "written", opensearch.url, id="id", mapping=mapping, shards=2, in_flight=4, expected_bytes=2 << 30
    ) as job:
        assert opensearch.settings("written")["refresh_interval"] == "60s", "changed by the driver, once"
        df.write.format("inrush").options(**job.options).mode("append").save()
    report = job.report
    assert report.ok and report.docs_created == report.docs_read == 20_000, report
    assert report.verified["state"] == "yes" and report.settings["restored"] == "yes"
    assert "refresh_interval" not in opensearch.settings("written")
    assert opensearch.settings("written")["number_of_shards"] == "2"
    assert_holds(20_000, opensearch, "written", tmp_path)
    # The same once more replaces each document.
    again = inrush.spark.load(df, "written", opensearch.url, id="id")
    assert again.ok and again.docs_updated == 20_000, again


def test_the_page_of_a_job_shows_the_sums_of_its_tasks(spark, opensearch, tmp_path: Path):
    port = free_port()
    with inrush.spark.Job(spark, "paged", opensearch.url, id="id", page=port, textfile=tmp_path) as job:
        documents(spark, 20_000, 6).write.format("inrush").options(**job.options).mode("append").save()
        load = snapshot(port)
    state, report = load["state"], job.report
    assert report.ok and state["counts"]["docs_created"] == report.docs_created == 20_000
    assert len(state["parts"]) == 6 and all(part["phase"] == "done" for part in state["parts"])
    assert sum(part["docs"] for part in state["parts"]) == 20_000
    assert state["nodes"][0]["requests"] >= 6, "those of the tasks"
    # The next job writes twice, and each task of both counts.
    port = free_port()
    with Viewer(port) as viewer, inrush.spark.Job(spark, "paged", opensearch.url, id="id", page=port) as job:
        for _ in range(2):
            documents(spark, 1_000, 2).write.format("inrush").options(**job.options).mode("append").save()
    assert job.report.docs_updated == 2_000 and len(viewer.last["state"]["parts"]) == 4
    assert viewer.last["state"]["counts"]["docs_read"] == 2_000
    metrics = (tmp_path / "inrush-paged.prom").read_text()
    assert 'inrush_documents_total{load="paged",outcome="created"} 20000\n' in metrics
    for options, message in [({"textfile": tmp_path}, "textfile needs page"), ({"page": "0.0.0.0:0"}, "needs a token")]:
        with pytest.raises(inrush.UsageError, match=message), inrush.spark.Job(spark, "paged", opensearch.url, **options):
            pass
    with pytest.raises(inrush.UsageError, match="only a job on the driver"):
        inrush.spark.rows(index="paged", to=opensearch.url, page=True)


def test_the_format_alone(spark, opensearch):
    df = documents(spark, 1000, 3)
    df.write.format("inrush").option("to", opensearch.url).option("index", "alone").option("id", "id").mode("append").save()
    assert opensearch.count("alone") == 1000
    wrong = df.select("id", F.lit("many").alias("n"))
    with pytest.raises(Exception, match="documents were not indexed"):
        wrong.write.format("inrush").option("to", opensearch.url).option("index", "alone").mode("append").save()
    for options, message in [
        ({"in_flight": "4"}, "the number of tasks that run at once"),
        ({"batch_bytes": "many"}, "batch_bytes"),
        ({"alias": "a"}, "not possible"),
    ]:
        with pytest.raises(Exception, match=message):
            df.write.format("inrush").options(to=opensearch.url, index="alone", **options).mode("append").save()
    with pytest.raises(Exception, match="append"):
        df.write.format("inrush").options(to=opensearch.url, index="alone").mode("overwrite").save()


def test_examples_of_the_pages(spark, opensearch):
    assert docs.run("spark.md", opensearch.url, {"spark": spark}) >= 4
    assert docs.run("tutorials/spark.md", opensearch.url, {"spark": spark}) == 4


def test_streams(spark, opensearch, tmp_path: Path):
    source = tmp_path / "source"
    documents(spark, 500, 2).write.json(str(source))
    with inrush.spark.Job(spark, "streamed", opensearch.url, id="id") as job:
        query = (
            spark.readStream.schema("id long, n long, text string")
            .json(str(source))
            .writeStream.format("inrush")
            .options(**job.options)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    assert job.report.ok and job.report.docs_created == 500 == opensearch.count("streamed")


def test_functions_for_older_sparks(spark, opensearch):
    options = {"index": "functions", "to": opensearch.url, "id": "id"}
    df = documents(spark, 300, 3)
    parts = df.rdd.mapPartitions(inrush.spark.rows(**options)).collect()
    report = inrush.spark.merge(parts)
    assert report.ok and report.docs_created == 300 and len(parts) == 3
    parts = [row["part"] for row in df.mapInArrow(inrush.spark.batches(**options), "part string").collect()]
    assert inrush.spark.merge(parts).docs_updated == 300
    assert opensearch.count("functions") == 300


def test_dead_letters_come_home(spark, opensearch):
    df = spark.createDataFrame([(1, "5"), (2, "many"), (3, "6")], "id long, n string").repartition(2)
    mapping = {"properties": {"n": {"type": "long"}}}
    report = inrush.spark.load(df, "letters", opensearch.url, id="id", mapping=mapping)
    assert report.status == "incomplete" and report.docs_indexed == 2
    (letter,) = report.failed
    assert letter.document == {"id": 2, "n": "many"} and letter.source.startswith("partition ")


def test_a_killed_executor_leaves_exactly_the_right_documents(spark, opensearch, tmp_path: Path):
    df = documents(spark, 400_000, 12)
    result: dict[str, Any] = {}

    def run() -> None:
        try:
            result["report"] = inrush.spark.load(df, "killed", opensearch.url, id="id", expected_bytes=2 << 30)
        except BaseException as error:
            result["error"] = error

    def indexed() -> bool:
        try:
            stats = opensearch.ask("GET", "killed/_stats/indexing")
            return stats["_all"]["primaries"]["indexing"]["index_total"] > 40_000
        except OSError:
            return False

    thread = threading.Thread(target=run)
    thread.start()
    killed = kill_one(indexed, is_executor, thread.is_alive)
    assert "--executor-id" in killed
    thread.join()
    report = result.get("report")
    assert report is not None, result
    assert report.ok and report.docs_read == 400_000, report
    assert report.settings["restored"] == "yes" and report.settings["changed"]
    assert "refresh_interval" not in opensearch.settings("killed")
    assert_holds(400_000, opensearch, "killed", tmp_path)


def killed_bake(bake: Callable[[], inrush.Report], builds: Callable[[], bool], port: int) -> tuple[inrush.Report, dict[str, Any]]:
    """The report of a bake of which an executor is killed once it `builds`, and what its page showed last."""
    with ThreadPoolExecutor(1) as threads, Viewer(port) as viewer:
        running = threads.submit(bake)
        kill_one(builds, is_executor, lambda: not running.done())
        report = running.result()
    assert viewer.last is not None
    return report, viewer.last


MAPPING = {"dynamic": "strict", "properties": {"id": {"type": "long"}, "n": {"type": "long"}, "text": {"type": "keyword"}}}


def assert_clean(cluster: Any, root: Path) -> None:
    """Nothing of a bake is left but what it published."""
    assert list((root / "snapshots").iterdir()) == []
    assert cluster.ask("GET", "_snapshot") == {}
    assert "inrush-bake" not in json.dumps(cluster.ask("GET", "_alias"))
    assert list((Path(os.environ["XDG_STATE_HOME"]) / "inrush").rglob("*.json")) == []


def test_shards_are_built_without_servers(spark, tmp_path: Path):
    with node("snapshots") as (cluster, root):
        place = {"to": cluster.url, "engine": "native", "mapping": MAPPING, "repository_path": root / "snapshots"}
        # Every hundredth row comes again, from another partition.
        df = documents(spark, 20_000, 5).union(documents(spark, 20_000, 3).where("id % 100 = 0"))
        names = {"spark": spark, "df": df}
        assert docs.run("bake/spark.md", cluster.url, names, {'"/mnt/shared"': repr(str(root / "snapshots"))}) == 1
        report = names["report"]
        assert report.ok and report.docs_read == 20_200 and report.docs_created == 20_000 and report.docs_updated == 200, report
        assert report.verified["state"] == "yes" and report.bake["engine"] == "native", report
        (first,) = cluster.ask("GET", "_alias/trips")
        assert cluster.settings(first)["number_of_shards"] == "4"
        assert_holds(20_000, cluster, "trips", tmp_path)
        assert_clean(cluster, root)
        # Each document is found by its id, which leads to its shard.
        assert cluster.source("trips", "19999")["n"] == 19_999 * 7 % 1000
        # Ids that are made, one shard of few rows, and shards without any.
        few = documents(spark, 3, 1)
        with pytest.raises(inrush.LoadFailed, match="allow_shrink"):
            inrush.spark.bake(few, "trips", shards=8, **place)
        assert list(cluster.ask("GET", "_alias/trips")) == [first]
        assert_clean(cluster, root)
        report = inrush.spark.bake(few, "trips", shards=8, allow_shrink="any", **place)
        (second,) = cluster.ask("GET", "_alias/trips")
        assert report.ok and second != first and cluster.count("trips") == 3 and cluster.count(first) == 20_000
        assert [cluster.source("trips", hit["_id"]) for hit in cluster.ask("GET", "trips/_search")["hits"]["hits"]]
        report = inrush.spark.bake(few, "routed", shards=3, id="id", routing="n", **place)
        assert report.ok and cluster.ask("GET", "routed/_doc/2?routing=14")["found"]
        assert_clean(cluster, root)


def test_dead_letters_of_shards_come_home(spark, tmp_path: Path):
    with node("snapshots") as (cluster, root):
        rows = [(n, "many" if n == 5 else str(n), None if n == 7 else "i") for n in range(100)]
        df = spark.createDataFrame(rows, "id long, n string, text string").repartition(3)
        place = {"to": cluster.url, "mapping": MAPPING, "repository_path": root / "snapshots", "shards": 2}
        # A row without its id goes to some shard, whose load reports it. The others have one id.
        report = inrush.spark.bake(df, "one", id="text", engine="native", **place)
        assert report.status == "incomplete" and (report.docs_created, report.docs_updated) == (1, 97), report
        assert sorted(json.loads(letter.text)["id"] if letter.text else letter.document["id"] for letter in report.failed) == [5, 7]
        report = inrush.spark.bake(df, "letters", id="id", engine="native", **place)
        assert report.status == "incomplete" and report.docs_indexed == 99, report
        (letter,) = report.failed
        assert letter.document == {"id": 5, "n": "many", "text": "i"} and "long" in letter.reason
        assert report.swap["what_next"], report.swap
        (built,) = [row["index"] for row in cluster.ask("GET", "_cat/indices?format=json") if row["index"].startswith("letters-")]
        assert cluster.count(built) == 99 and report.swap["swapped"] is False
        # A field that the mapping does not name needs a server, which is not known before the row is read.
        open_mapping = {"dynamic": True, "properties": MAPPING["properties"]}
        more = df.selectExpr("id", "id AS n", "CASE WHEN id = 50 THEN 'x' END AS later")
        before = cluster.ask("GET", "_cat/indices?format=json")
        with pytest.raises(inrush.InrushError, match="later") as caught:
            inrush.spark.bake(more, "open", id="id", engine="native", **{**place, "mapping": open_mapping})
        assert caught.value.code == "bake_not_native"
        with pytest.raises(inrush.InrushError, match="percolator") as caught:
            inrush.spark.bake(more, "open", id="id", engine="native", **{**place, "mapping": {"properties": {"q": {"type": "percolator"}}}})
        assert caught.value.code == "bake_not_native"
        with pytest.raises(inrush.UsageError, match="no column i"):
            inrush.spark.bake(more, "open", id="i", engine="native", **place)
        with pytest.raises(inrush.UsageError, match="nothing to bake"):
            inrush.spark.bake(more.where("id < 0"), "open", id="id", engine="native", **place)
        assert len(cluster.ask("GET", "_cat/indices?format=json")) == len(before)
        assert_clean(cluster, root)
        # The number of shards is the cluster's where it is not given.
        report = inrush.spark.bake(more.drop("later"), "default", id="id", **{**place, "shards": None})
        (built,) = cluster.ask("GET", "_alias/default")
        assert report.ok and cluster.count("default") == 100 and cluster.settings(built)["number_of_shards"] == "1", report


def test_a_killed_executor_leaves_shards_complete_and_exact(spark, tmp_path: Path):
    with node("snapshots") as (cluster, root):
        df = documents(spark, 400_000, 8)
        port = free_port()

        def bake() -> inrush.Report:
            place = {"to": cluster.url, "engine": "native", "mapping": MAPPING, "repository_path": root / "snapshots"}
            return inrush.spark.bake(df, "killed", shards=4, id="id", page=port, **place)

        def builds() -> bool:
            # The files of an attempt grow.
            return any((root / "snapshots").glob("inrush-bake-*/tasks/*/_0*"))

        report, last = killed_bake(bake, builds, port)
        assert report.ok and report.docs_created == 400_000 and report.verified["state"] == "yes", report
        assert len(last["state"]["parts"]) == 4
        assert_holds(400_000, cluster, "killed", tmp_path)
        assert_clean(cluster, root)


def test_a_job_that_fails_puts_the_settings_back(spark, opensearch):
    with pytest.raises(RuntimeError, match="mine"):
        with inrush.spark.Job(spark, "failed", opensearch.url, expected_bytes=2 << 30) as job:
            assert opensearch.settings("failed")["refresh_interval"] == "60s"
            raise RuntimeError("mine")
    assert job.report.status == "failed" and "mine" in job.report.failure
    assert "refresh_interval" not in opensearch.settings("failed")
