"""The examples of docs/python.md do what they say."""

from __future__ import annotations

from pathlib import Path

import docs


def test_examples(cluster, broker, tmp_path: Path):
    broker.create("orders")
    broker.produce("orders", {str(n): f'{{"order":{n}}}' for n in range(3)})
    (tmp_path / "trips.csv").write_text("trip_no,miles\n1,5\n2,7\n")
    topics = {"kafka://localhost:9092": f"kafka://{broker.address}"}
    assert docs.run("python.md", cluster.url, {"__name__": "page"}, topics) >= 9
