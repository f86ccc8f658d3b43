"""A real OpenSearch: what comes from Python is what is there."""

from __future__ import annotations

import opensearchpy
import opensearchpy.helpers
import pyarrow as pa

import inrush
import inrush.compat


def test_documents_and_tables(opensearch):
    table = pa.table({"n": range(50_000), "text": [f"row {n}" for n in range(50_000)]})
    report = inrush.load(table, "python-table", opensearch.url, id="n", expected_bytes=2 << 30)
    assert report.ok and report.verified["state"] == "yes" and report.settings["restored"] == "yes", report
    assert opensearch.source("python-table", "49999") == {"n": 49_999, "text": "row 49999"}
    report = inrush.load(({"n": n, "at": None} for n in range(20_000)), "python-dicts", opensearch.url, id="n")
    assert report.ok and opensearch.count("python-dicts") == 20_000


def test_the_helpers(opensearch):
    actions = [{"_index": "python-helped", "_id": n, "n": n} for n in range(1000)]
    assert inrush.compat.bulk(opensearch.url, actions) == (1000, [])
    wrong = [{"_index": "python-helped", "_id": 1, "_op_type": "create", "n": 1}, {"_index": "python-helped", "_id": "x", "n": "many"}]
    done, errors = inrush.compat.bulk(opensearch.url, wrong, raise_on_error=False)
    assert done == 0 and [next(iter(error.values()))["status"] for error in errors] == [409, 400]


def test_a_loader(opensearch):
    with inrush.Loader("python-loader", opensearch.url) as loader:
        for n in range(1000):
            loader.add({"n": n}, id=n)
        loader.flush()
        assert opensearch.count("python-loader") == 1000
    assert loader.report.ok


def test_a_load_copies_what_the_helper_copies(opensearch):
    client = opensearchpy.OpenSearch(opensearch.url)
    actions = [{"_index": "python-old", "_id": n, "n": n, **({"routing": "r"} if n % 3 else {})} for n in range(100)]
    assert inrush.compat.bulk(client, actions, refresh=True) == (100, [])
    query = {"query": {"range": {"n": {"lt": 70}}}}
    opensearchpy.helpers.reindex(client, "python-old", "python-theirs", query=query, chunk_size=7, scroll="1m")
    assert inrush.load(f"{opensearch.url}/python-old", "python-ours", opensearch.url, query=query).ok

    def found(index: str) -> list[tuple[str, str | None, int]]:
        client.indices.refresh(index=index)
        hits = client.search(index=index, body={"size": 1000})["hits"]["hits"]
        return sorted((hit["_id"], hit.get("_routing"), hit["_source"]["n"]) for hit in hits)

    assert found("python-ours") == found("python-theirs") and len(found("python-ours")) == 70
