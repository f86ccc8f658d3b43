#!/usr/bin/env python3
"""inrush on Spark and the connector of Elasticsearch or OpenSearch, with the same data frame and
server.

The connectors do not run on Spark 4 yet. So this needs an environment with Spark 3.5 and the
package, built for release (`make wheel`). OpenSearch's connector is made for Scala 2.13, so Spark's
jars come from Maven, too:

    python3 -m venv spark35 && spark35/bin/pip install 'pyspark==3.5.7' pyarrow pandas setuptools ~/.cache/inrush/wheels/inrush-*.whl
    rm -r spark35/lib/python3*/site-packages/pyspark/jars
    mvn -f bench/spark.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$(echo "$PWD"/spark35/lib/python3*/site-packages/pyspark)/jars"
    spark35/bin/python bench/spark.py flights-3m.parquet --server opensearch:2.19.6

The ways take turns. Each run goes into a fresh index of the same mapping
(bench/flights.mapping.json), after the merges of the last one have ended. Without a mapping the
server would keep dates as they are sent: ISO 8601 of inrush, milliseconds of the connector. The
clock stops when all documents can be searched. The first round warms up Spark and the server, and
is not counted. Raw data go to bench/runs/.
"""

import argparse
import csv
import datetime
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, java, request

INDEX = "bench-spark"
FIELDS = ["time", "commit", "way", "round", "docs", "seconds", "docs_per_second", "server_cpu_seconds", "arrived"]
FORMATS = {"elasticsearch": ("org.elasticsearch.spark.sql", "es"), "opensearch": ("org.opensearch.spark.sql", "opensearch")}


def settle(url):
    """Waits until no merge runs, so that a run does not pay for the one before."""
    while request(f"{url}/_stats/merge")["_all"]["total"].get("merge", {}).get("current", 0):
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parquet")
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--jar", help="the connector, where it is not among Spark's own jars")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--batch-docs", type=int, nargs="*", default=[1000, 5000], help="settings of the connector; its default is 1000")
    args = parser.parse_args()

    from pyspark.sql import SparkSession

    import inrush.spark

    product, version = args.server.split(":")
    source, prefix = FORMATS[product]
    os.environ["JAVA_HOME"] = str(java(17, 17))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]").config("spark.jars", args.jar or "").config("spark.ui.enabled", "false")
        # The connector knows no timestamps without a zone.
        .config("spark.driver.memory", "2g").config("spark.sql.parquet.inferTimestampNTZ.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    df = spark.read.parquet(args.parquet).limit(args.rows).repartition(4).cache()
    docs = df.count()
    clone = pathlib.Path(__file__).parent.parent
    mapping = json.loads((clone / "bench/flights.mapping.json").read_text())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=clone, capture_output=True, text=True).stdout.strip()
    out = clone / "bench/runs" / f"{datetime.date.today()}-spark/{product}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = not out.exists()
    rates = {}
    with Server(product, version, args.heap_mib) as server, out.open("a", newline="") as file:
        rows = csv.DictWriter(file, FIELDS)
        if fresh:
            rows.writeheader()

        def connector(batch_docs):
            options = {
                f"{prefix}.nodes": "127.0.0.1", f"{prefix}.port": server.url.rsplit(":", 1)[1], f"{prefix}.nodes.wan.only": "true",
                f"{prefix}.batch.size.entries": str(batch_docs), f"{prefix}.batch.size.bytes": "10mb",
            }
            df.write.format(source).options(**options).mode("append").save(INDEX)
            request(f"{server.url}/{INDEX}/_refresh", "POST")

        def ours(**options):
            report = inrush.spark.load(df, INDEX, server.url, progress=False, **options)
            assert report.ok, report

        ways = {"inrush": ours, "inrush epoch-millis": lambda: ours(timestamps="epoch-millis")} | {f"connector {n}": (lambda n=n: connector(n)) for n in args.batch_docs}
        for number in range(args.rounds + 1):
            for way in random.Random(number).sample(sorted(ways), len(ways)):
                try:
                    request(f"{server.url}/{INDEX}", "DELETE")
                except OSError:
                    pass
                request(f"{server.url}/{INDEX}", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "mappings": mapping})
                settle(server.url)
                cpu, began = server.cpu_seconds(), time.perf_counter()
                ways[way]()
                seconds, cpu = time.perf_counter() - began, server.cpu_seconds() - cpu
                arrived = request(f"{server.url}/{INDEX}/_count")["count"]
                print(f"{'warming up' if number == 0 else f'round {number}'}: {way}: {docs / seconds:,.0f} docs/s", flush=True)
                if number:
                    rates.setdefault(way, []).append(docs / seconds)
                    rows.writerow({
                        "time": datetime.datetime.now().isoformat(timespec="seconds"), "commit": commit, "way": way, "round": number,
                        "docs": docs, "seconds": round(seconds, 3), "docs_per_second": round(docs / seconds),
                        "server_cpu_seconds": round(cpu, 2), "arrived": arrived,
                    })
                    file.flush()
    best = max(statistics.median(values) for way, values in rates.items() if way.startswith("connector"))
    for way, values in rates.items():
        print(f"{way:20} {statistics.median(values):>10,.0f} docs/s  {statistics.median(values) / best:.2f} x the connector's best")


if __name__ == "__main__":
    main()
