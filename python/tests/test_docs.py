"""The examples of the pages about Python do what they say."""

from __future__ import annotations

from pathlib import Path

import docs


def test_examples(cluster, broker, tmp_path: Path):
    broker.create("orders")
    broker.produce("orders", {str(n): f'{{"order":{n}}}' for n in range(3)})
    (tmp_path / "trips.csv").write_text("trip_no,miles\n1,5\n2,7\n")
    topics = {"kafka://localhost:9092": f"kafka://{broker.address}"}
    for page, least in {"python.md": 6, "python/topics.md": 3, "moving/python-helpers.md": 1}.items():
        assert docs.run(page, cluster.url, {"__name__": "page"}, topics) >= least
