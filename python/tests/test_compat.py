"""The same calls of the helpers, with the libraries' own and with ours, and the same answers."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

import inrush
import inrush.compat
from conftest import Cluster, served
from docs import PAGES


@pytest.fixture(params=["opensearchpy", "elasticsearch"])
def library(request):
    module = importlib.import_module(request.param)
    product = {"opensearchpy": "opensearch", "elasticsearch": "elasticsearch"}[request.param]
    version = ["--version", "9.1.0"] if product == "elasticsearch" and module.__version__[0] == 9 else []
    with served("fake", "--product", product, *version) as cluster:
        client = (module.OpenSearch if product == "opensearch" else module.Elasticsearch)(cluster.url)
        yield client, importlib.import_module(f"{request.param}.helpers"), cluster


# What only theirs knows of a result, and the words of an error, which hold ids and places.
THEIRS = ("_version", "_seq_no", "_primary_term", "_shards", "_type", "forced_refresh", "get")


def told(results: Any) -> list[Any]:
    """Results without what differs by design."""
    plain = []
    for ok, item in results:
        ((op, body),) = item.items()
        body = {name: value for name, value in body.items() if name not in THEIRS}
        if "error" in body:
            body["error"] = body["error"]["type"]
            body.pop("result", None)
        plain.append((ok, op, body))
    return plain


ACTIONS = [
    {"_index": "a", "_id": "1", "n": 1},
    {"_index": "a", "_id": "1", "n": 2},
    {"_op_type": "create", "_index": "a", "_id": "2", "_source": {"n": 3}, "_routing": "r"},
    {"_op_type": "update", "_index": "a", "_id": "1", "doc": {"m": 1}},
    {"_op_type": "update", "_index": "a", "_id": "3", "doc": {"m": 1}, "doc_as_upsert": True},
    {"_op_type": "delete", "_index": "a", "_id": "3"},
    {"_index": "b", "_id": 5, "text": "x"},
]


def both(library, call):
    """The answer of their function, then, with empty indices again, of ours."""
    client, theirs, cluster = library
    answers = []
    for functions in (theirs, inrush.compat):
        for index in ("a", "b", "t"):
            try:
                cluster.ask("DELETE", index)
            except OSError:
                pass
        answers.append(call(functions, client))
    return answers


@pytest.mark.parametrize("name", ["streaming_bulk", "parallel_bulk"])
def test_results_come_in_order_with_the_same_words(library, name):
    options = {"chunk_size": 1} if name == "parallel_bulk" else {}
    options |= {"thread_count": 1} if name == "parallel_bulk" else {}
    theirs, ours = both(library, lambda functions, client: told(getattr(functions, name)(client, ACTIONS, **options)))
    assert ours == theirs and len(ours) == len(ACTIONS)
    assert library[2].source("a", "1") == {"n": 2, "m": 1}


def test_bulk_counts(library):
    theirs, ours = both(library, lambda functions, client: functions.bulk(client, ACTIONS, refresh=True))
    assert ours == theirs == (7, [])
    theirs, ours = both(library, lambda functions, client: functions.bulk(client, [{"n": 1}, '{"n":2}'], index="t", stats_only=True))
    assert ours == theirs == (2, 0)


WRONG = [
    {"_index": "a", "_id": "1", "n": 1},
    {"_op_type": "create", "_index": "a", "_id": "1", "n": 2},
    {"_op_type": "delete", "_index": "a", "_id": "9"},
    {"_index": "a", "_id": "4", "n": 4},
]


def test_errors_are_collected_or_raised(library):
    theirs, ours = both(library, lambda functions, client: told((False, e) for e in functions.bulk(client, WRONG, raise_on_error=False)[1]))
    assert ours == theirs and [status["status"] for _, _, status in ours] == [409, 404]

    theirs, ours = both(library, lambda functions, client: functions.bulk(client, WRONG, raise_on_error=False, stats_only=True))
    assert ours == theirs == (2, 2)

    def raised(functions, client):
        with pytest.raises(library[1].BulkIndexError) as error:
            functions.bulk(client, WRONG)
        return str(error.value.args[0]), told((False, e) for e in error.value.errors)

    theirs, ours = both(library, raised)
    assert ours == theirs
    assert ours[1][0][2]["data"] == {"n": 2} and ours[0] == "2 document(s) failed to index."


def test_ignored_statuses_and_unwanted_results(library):
    def call(functions, client):
        return told(functions.streaming_bulk(client, WRONG, ignore_status=(404, 409), yield_ok=False))

    theirs, ours = both(library, call)
    assert ours == theirs and len(ours) == 2


def test_a_callback_expands_actions(library):
    def expand(number):
        return {"index": {"_index": "t", "_id": str(number)}}, {"n": number}

    def call(functions, client):
        return told(functions.streaming_bulk(client, range(1000), expand_action_callback=expand))

    theirs, ours = both(library, call)
    assert ours == theirs and len(ours) == 1000


def test_what_cannot_be_done_is_refused(library):
    client, _, cluster = library
    for action, expected in [
        ({"_index": "a", "_id": "1", "if_seq_no": 1, "if_primary_term": 1}, "if_seq_no"),
        ({"_index": "a", "_id": "1", "_op_type": "update", "script": "x"}, "script"),
        ({"_index": "a", "_op_type": "explode"}, "explode"),
        ({"n": 1}, "names no index"),
    ]:
        with pytest.raises(inrush.UsageError, match=expected):
            inrush.compat.bulk(client, [action])


def test_the_address_and_the_credentials_of_clients():
    import elasticsearch
    import opensearchpy

    target = inrush.compat._target
    client = elasticsearch.Elasticsearch("https://h:1/p", basic_auth=("u", "p:w"), verify_certs=False, ssl_show_warn=False)
    assert target(client) == {"to": ["https://h:1/p"], "insecure": True, "user": "u", "password": "p:w"}
    assert target(elasticsearch.Elasticsearch("http://h:1", api_key="abc")) == {"to": ["http://h:1"], "api_key": "abc"}
    client = opensearchpy.OpenSearch([{"host": "h", "port": 2}, "http://g:3"], http_auth=("u", "p"))
    found = target(client)
    # The client shuffles its hosts.
    assert found | {"to": sorted(found["to"])} == {"to": ["http://g:3", "http://h:2"], "user": "u", "password": "p"}
    client = opensearchpy.OpenSearch("https://h:1", verify_certs=False, ssl_show_warn=False)
    assert target(client)["insecure"] is True
    assert target("http://h:1") == {"to": "http://h:1"}
    with pytest.raises(TypeError, match="expected one of"):
        target(5)


def test_whoever_stops_listening_stops_the_load(cluster: Cluster):
    def forever():
        n = 0
        while True:
            n += 1
            yield {"_index": "t", "n": n}

    results = inrush.compat.streaming_bulk(cluster.url, forever())
    assert next(iter(results))[0]
    results.close()


def rows(heading: str) -> dict[str, str]:
    """What the page says of each name in the tables below a heading."""
    page = (PAGES / "moving/python-helpers.md").read_text()
    (part,) = re.findall(rf"^### {heading}\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| (`.*?) \| (.*) \|$", part, re.MULTILINE)
    return {name: becomes for names, becomes in cells for name in re.findall(r"`(\w+)`", names)}


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: parameter for name, parameter in inspect.signature(function).parameters.items() if parameter.kind in named and name != "self"}


OF_BULK = "bulk, streaming_bulk, parallel_bulk"


def test_the_page_has_all_parameters_of_the_helpers(library):
    client, theirs, _ = library
    for name, heading in [("bulk", OF_BULK), ("streaming_bulk", OF_BULK), ("parallel_bulk", OF_BULK), ("reindex", "reindex"), ("scan", "scan")]:
        missing = parameters(getattr(theirs, name)).keys() - rows(heading).keys()
        assert not missing, f"{name} of {theirs.__name__}: {missing}"
    assert not parameters(client.bulk).keys() - rows(OF_BULK).keys()
    keys = re.findall(r'^ +"(\w+)",$', inspect.getsource(theirs.expand_action), re.MULTILINE)
    assert len(keys) > 10 and not set(keys) - rows("Metadata of an action").keys()


# Examples of arguments that are not true.
VALUES = {
    "ignore_status": 404,
    "expand_action_callback": inrush.compat.expand_action,
    "index": "t",
    "pipeline": None,
    "routing": "r",
    "headers": {"x": "y"},
    "retry_on_status": (429,),
    "timeout": "1m",
    "span_name": "x",
}


def test_parameters_are_taken_or_refused_as_the_page_says(library):
    client, _, cluster = library
    own = set(inspect.signature(inrush.compat.streaming_bulk).parameters) | set(inspect.signature(inrush.compat.parallel_bulk).parameters)
    for name, becomes in rows(OF_BULK).items():
        if name in ("client", "actions", "stats_only") or "`" in name:
            continue
        given = {"index": "t", name: VALUES.get(name, True)}
        if name in inspect.signature(inrush.compat.streaming_bulk).parameters or name not in own:
            helper = inrush.compat.streaming_bulk
        else:
            helper = inrush.compat.parallel_bulk
        if becomes.startswith("refused"):
            with pytest.raises(inrush.UsageError, match=name):
                list(helper(client, [{"n": 1}], **given))
        else:
            assert len(list(helper(client, [{"n": 1}], **given))) == 1, name
    for name, becomes in rows("Metadata of an action").items():
        header, document = inrush.compat.expand_action({"_op_type": "index", name: "x", "n": 1})
        if becomes.startswith("refused"):
            with pytest.raises(inrush.UsageError, match=name.lstrip("_")):
                inrush.compat._understood("index", header["index"], document)


def test_arguments_without_a_name_have_the_order_of_the_library(library):
    def call(functions, client):
        name = "streaming_bulk"
        order = parameters(getattr(library[1], name))
        before = [order[at].default for at in list(order)[2 : list(order).index("raise_on_error")]]
        return told(getattr(functions, name)(client, WRONG, *before, False))

    theirs, ours = both(library, call)
    assert ours == theirs and len(ours) == len(WRONG)
    with pytest.raises(TypeError, match="chunk_size"):
        inrush.compat.streaming_bulk(library[0], WRONG, 500, chunk_size=7)
    with pytest.raises(inrush.UsageError, match="too many"):
        inrush.compat.parallel_bulk(library[0], WRONG, *[None] * 30)


def test_the_marker_that_sends_what_is_gathered_is_no_action(library):
    client, theirs, _ = library
    if not hasattr(theirs, "BULK_FLUSH"):
        pytest.skip("the library has no such marker")
    actions = [{"n": 1}, theirs.BULK_FLUSH, {"n": 2}, theirs.BULK_FLUSH]
    assert inrush.compat.bulk(client, actions, index="t") == (2, [])


def test_a_refresh_needs_a_client_and_an_update_an_object(library):
    _, _, cluster = library
    with pytest.raises(inrush.UsageError, match="refresh"):
        inrush.compat.bulk(cluster.url, [{"n": 1}], index="t", refresh=True)
    with pytest.raises(inrush.UsageError, match="_source"):
        inrush.compat.bulk(cluster.url, [{"_op_type": "update", "_id": 1, "_source": True, "doc": {"n": 1}}], index="t")
