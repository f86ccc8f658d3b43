"""The examples of docs/python.md do what they say."""

from __future__ import annotations

from pathlib import Path

import docs


def test_examples(cluster, tmp_path: Path):
    (tmp_path / "trips.csv").write_text("trip_no,miles\n1,5\n2,7\n")
    assert docs.run("python.md", cluster.url, {"__name__": "page"}) >= 7
