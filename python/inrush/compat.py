"""`bulk`, `streaming_bulk` and `parallel_bulk` of inrush, with the signatures of the helpers of elasticsearch-py and opensearch-py.

A script changes one import::

    from inrush.compat import bulk      # instead of opensearchpy.helpers or elasticsearch.helpers
    bulk(client, actions)

The documented behaviour of the helpers is kept: one result for each action, in the order of the actions; `BulkIndexError` with
`errors`; `ignore_status`, `stats_only`, `yield_ok`. `client` is used only for the cluster's address and the credentials, and for
the order of arguments without a name, in which the two libraries differ.
Intended differences: documents that are rejected because of load are sent again (the helpers drop them unless `max_retries` is
given); `chunk_size`, `max_chunk_bytes`, `thread_count` and `queue_size` are accepted and ignored, because the tuner sets them. A
result has `_index`, `_id` (None if the cluster generated it), `status` and `result`, but no `_version`, `_seq_no` or `_shards`.
Unsupported features are refused, not ignored: scripts, `if_seq_no`, pipelines of single actions, headers of requests.
docs/moving/python-helpers.md has all parameters.
"""

from __future__ import annotations

import base64
import functools
import importlib
import inspect
import json
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar, Union

from ._errors import InrushError, LoadFailed, UsageError
from ._options import Options
from ._running import Running

__all__ = ["BulkIndexError", "bulk", "expand_action", "parallel_bulk", "streaming_bulk"]

_CHUNK_BYTES = 100 * 1024 * 1024
# The number of actions between two looks for results.
_LOOK_EVERY = 500
# Actions without a result, at most; the engine keeps results of 64 MiB until they are taken.
_UNKNOWN_MAX = 500_000

Result = tuple[bool, dict[str, Any]]
Status = Union[int, Collection[int]]
Helper = TypeVar("Helper", bound=Callable[..., Iterator[Result]])

_STATUS = {
    "created": 201,
    "updated": 200,
    "deleted": 200,
    "noop": 200,
    "not_found": 404,
    # A 409 that an earlier attempt of this load explains: the document is its own.
    "already_there": 200,
    "dropped": 200,
    "redirected": 201,
    "conflicting": 409,
}
# The class of an action of elasticsearch-py that sends what it has gathered. Here nothing waits
# longer than the option `linger`.
_FLUSH = "BulkMeta"
# Names of an action's metadata, and their names in inrush.
_METADATA = {
    "_id": "id",
    "_index": "index",
    "routing": "routing",
    "_routing": "routing",
    "version": "version",
    "_version": "version",
    "version_type": "version_type",
    "_version_type": "version_type",
    # The loader itself repeats a conflicting update.
    "retry_on_conflict": None,
    "_retry_on_conflict": None,
    "_type": None,
}
# Arguments that the helpers pass to the client's method, and that change no document.
_IGNORED = ("request_timeout", "timeout", "error_trace", "filter_path", "human", "pretty", "wait_for_active_shards")
_REFUSED = ("if_seq_no", "_if_seq_no", "if_primary_term", "_if_primary_term", "pipeline", "parent", "_parent", "_percolate", "_timestamp")


def _in_the_order_of_the_client(helper: Helper) -> Helper:
    """Gives arguments without a name those that they have in the client's own library."""

    @functools.wraps(helper)
    def call(client: Any, actions: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[Result]:
        names = _order(client, helper)
        if len(args) > len(names):
            raise UsageError(f"{len(args) - len(names)} positional arguments too many")
        for name, value in zip(names, args):
            if name in kwargs:
                raise TypeError(f"{helper.__name__}() got multiple values for argument {name!r}")
            kwargs[name] = value
        return helper(client, actions, **kwargs)

    return call  # type: ignore[return-value]


def _order(client: Any, helper: Callable[..., Any]) -> list[str]:
    """The names of the parameters behind the actions."""
    package = _package(client)
    if package in ("elasticsearch", "opensearchpy"):
        helper = getattr(importlib.import_module(f"{package}.helpers"), helper.__name__)
    parameters = list(inspect.signature(helper).parameters.values())[2:]
    return [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]


def _package(client: Any) -> str:
    return type(client).__module__.split(".")[0]


class BulkIndexError(InrushError):
    """Some actions failed. `errors` has them. For a client of elasticsearch-py or opensearch-py it is a subclass of their `BulkIndexError`."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The results of the actions that failed, with their `data`."""
        return self.args[1]  # type: ignore[no-any-return]


def bulk(
    client: Any,
    actions: Iterable[Any],
    stats_only: bool = False,
    ignore_status: Status = (),
    *args: Any,
    **kwargs: Any,
) -> tuple[int, int | list[dict[str, Any]]]:
    """Returns the number of actions that succeeded, and the errors (with `stats_only` their number)."""
    succeeded, failed = 0, 0
    errors = []
    kwargs["yield_ok"] = True
    for ok, item in streaming_bulk(client, actions, *args, **{**kwargs, "ignore_status": ignore_status}):
        if ok:
            succeeded += 1
        elif stats_only:
            failed += 1
        else:
            errors.append(item)
    return succeeded, failed if stats_only else errors


@_in_the_order_of_the_client
def streaming_bulk(
    client: Any,
    actions: Iterable[Any],
    chunk_size: int = 500,
    max_chunk_bytes: int = _CHUNK_BYTES,
    raise_on_error: bool = True,
    expand_action_callback: Callable[[Any], Any] | None = None,
    raise_on_exception: bool = True,
    max_retries: int = 0,
    initial_backoff: float = 2,
    max_backoff: float = 600,
    yield_ok: bool = True,
    ignore_status: Status = (),
    retry_on_status: Status = (429,),
    flush_after_seconds: float | None = None,
    span_name: str = "",
    **kwargs: Any,
) -> Iterator[Result]:
    """Yields `(ok, item)` for each action, in the order of the actions. `kwargs` may hold `index`, `pipeline`, `routing`, `refresh` and options of
    `inrush.load`.
    """
    ignored = {ignore_status} if isinstance(ignore_status, int) else set(ignore_status)
    expand = expand_action_callback or expand_action
    refresh = kwargs.pop("refresh", False)
    if refresh and not hasattr(client, "indices"):
        raise UsageError("refresh needs a client of elasticsearch-py or opensearch-py; refresh the index yourself")
    if kwargs.pop("headers", None):
        raise UsageError("headers of requests are not supported by inrush.compat: they can decide who writes, and where")
    for name in _IGNORED:
        kwargs.pop(name, None)
    routing = kwargs.pop("routing", None)
    options = {"no_verify": True, "max_errors": 2**62, "dead_letters": "/dev/null", "linger": "100ms", **_target(client), **kwargs}
    # Without a common index, each action names its own.
    options.setdefault("index", "index-of-each-action")
    error_class = _error_class(client)

    failed: list[dict[str, Any]] = []
    results = _results(Options.of(options), actions, expand, routing, "index" in kwargs)
    for number, (ok, item, data) in enumerate(results, 1):
        (body,) = item.values()
        if not ok and raise_on_error and body["status"] not in ignored:
            if data is not None:
                body["data"] = data
            failed.append(item)
        if yield_ok if ok else not failed:
            yield ok, item
        # Errors of actions that a helper would send in one request are raised together.
        if failed and number % chunk_size == 0:
            break
    results.close()
    if failed:
        raise error_class(f"{len(failed)} document(s) failed to index.", failed)
    if refresh:
        client.indices.refresh(index=kwargs.get("index", "_all"))


@_in_the_order_of_the_client
def parallel_bulk(
    client: Any,
    actions: Iterable[Any],
    thread_count: int = 4,
    chunk_size: int = 500,
    max_chunk_bytes: int = _CHUNK_BYTES,
    queue_size: int = 4,
    expand_action_callback: Callable[[Any], Any] | None = None,
    raise_on_exception: bool = True,
    raise_on_error: bool = True,
    ignore_status: Status = (),
    flush_after_seconds: float | None = None,
    **kwargs: Any,
) -> Iterator[Result]:
    """The same as `streaming_bulk`, which already sends several requests at once."""
    return streaming_bulk(
        client,
        actions,
        chunk_size=chunk_size,
        raise_on_error=raise_on_error,
        expand_action_callback=expand_action_callback,
        ignore_status=ignore_status,
        **kwargs,
    )


def expand_action(data: Any) -> tuple[dict[str, Any], Any]:
    """Splits an action as users write it into the action and its document."""
    if isinstance(data, (bytes, str)):
        return {"index": {}}, data
    data = dict(data)
    op = data.pop("_op_type", "index")
    meta = {name: data.pop(name) for name in (*_METADATA, *_REFUSED) if name in data}
    if op == "update" and "_source" in data and not isinstance(data["_source"], Mapping):
        meta["_source"] = data.pop("_source")
    if op == "delete":
        return {op: meta}, None
    return {op: meta}, data.get("_source", data)


def _results(
    options: Options, actions: Iterable[Any], expand: Callable[[Any], Any], routing: str | None, index_given: bool
) -> Generator[tuple[bool, dict[str, Any], Any], None, None]:
    """The result of each action, in their order, and the data of failed actions."""
    running = Running(options, None, name="actions", keep_outcomes=True, progress=False)
    load = running.load
    waiting: deque[tuple[str, dict[str, Any]]] = deque()
    known: dict[int, tuple[int, dict[str, Any], Any]] = {}
    first = 0

    def known_so_far() -> Iterator[tuple[bool, dict[str, Any], Any]]:
        nonlocal first
        for number, docs, how in load.settlements():
            for at in range(number, number + docs):
                known[at] = (_STATUS.get(how, 0), {"result": how} if how != "unknown" else {}, None)
        for number, status, kind, reason, _, document in load.failures():
            # An action that never reached the cluster is reported like one that the cluster refused.
            known[number] = (status or 400, {"error": {"type": kind, "reason": reason}}, document)
        while first in known:
            status, more, document = known.pop(first)
            op, named = waiting.popleft()
            first += 1
            yield 200 <= status < 300, {op: {**named, "status": status, **more}}, _data(op, document)

    try:
        for at, action in enumerate(action for action in actions if type(action).__name__ != _FLUSH):
            header, data = expand(action)
            op, meta = next(iter(header.items()))
            action_name, document, given = _understood(op, meta, data)
            index = given.get("index")
            if index is None and not index_given:
                raise UsageError(f"action {at} names no index, and no index is given for all actions (index=…)")
            id = given.get("id")
            waiting.append((op, {"_index": index or options.table["index"], "_id": None if id is None else str(id)}))
            where = given.get("routing", routing)
            if not load.has_room(0):
                # The engine keeps failed documents until they are taken here.
                yield from known_so_far()
            while len(waiting) > _UNKNOWN_MAX and running.poll(0.01) is None:
                yield from known_so_far()
            if not load.add(
                document, None if id is None else str(id), None if where is None else str(where), index, action_name, given.get("version")
            ):
                break
            if at % _LOOK_EVERY == _LOOK_EVERY - 1:
                yield from known_so_far()
        load.end()
        while (report := running.poll(0.05)) is None:
            yield from known_so_far()
        yield from known_so_far()
    except BaseException as error:
        # The consumer of the results may have gone, too.
        running.stop(error)
        raise
    if dropped := load.outcomes_dropped():
        raise InrushError(f"the results of {dropped:,} actions are unknown: too many waited to be taken; give smaller memory=…")
    if waiting or report.status in ("failed", "interrupted"):
        raise LoadFailed(report)


def _understood(op: str, meta: Mapping[str, Any], data: Any) -> tuple[str, Any, dict[str, Any]]:
    """The loader's action, document and metadata, or an error that names the unsupported feature."""
    given: dict[str, Any] = {}
    for name, value in meta.items():
        if name not in _METADATA:
            raise UsageError(f"{name} of a single {op} action is not supported by inrush.compat")
        known = _METADATA[name]
        if known is not None and value is not None:
            given[known] = value
    version_type = given.pop("version_type", None)
    if "version" in given and version_type not in ("external", "external_gt"):
        raise UsageError(f"version_type is {version_type}; inrush.compat takes external versions only")
    if op != "update":
        if op not in ("index", "create", "delete"):
            raise UsageError(f"_op_type is {op!r}; expected index, create, update or delete")
        return op, data, given
    body = json.loads(data) if isinstance(data, (bytes, str)) else data
    extra = set(body) - {"doc", "doc_as_upsert", "detect_noop"}
    if "doc" not in body or extra:
        what = ", ".join(sorted(extra)) or "no doc"
        raise UsageError(f"an update with {what} is not supported by inrush.compat; expected doc, and doc_as_upsert")
    return "upsert" if body.get("doc_as_upsert") else "update", body["doc"], given


def _data(op: str, document: bytes | None) -> Any:
    """The data of a failed action, for its result."""
    if document is None or op == "delete":
        return None
    try:
        data = json.loads(document)
    except ValueError:
        return document
    return {"doc": data} if op == "update" else data


def _error_class(client: Any) -> type[BulkIndexError]:
    """Makes the error a subclass of the client library's own error."""
    package = _package(client)
    try:
        if package == "elasticsearch":
            from elasticsearch.helpers import BulkIndexError as theirs
        elif package == "opensearchpy":
            from opensearchpy.helpers import BulkIndexError as theirs  # type: ignore[assignment]
        else:
            return BulkIndexError
    except ImportError:
        return BulkIndexError

    # inrush's class comes first, so that its `errors` is used. Both take message and errors.
    def __init__(self: Any, message: str, errors: list[dict[str, Any]]) -> None:
        Exception.__init__(self, message, errors)

    return type("BulkIndexError", (BulkIndexError, theirs), {"__init__": __init__, "errors": BulkIndexError.errors})


def _target(client: Any) -> dict[str, Any]:
    """The addresses and credentials of a client."""
    package = _package(client)
    if isinstance(client, (str, list)):
        return {"to": client}
    if isinstance(client, Mapping):
        return dict(client)
    if package == "elasticsearch":
        nodes = [node.config for node in client.transport.node_pool.all()]
        one = nodes[0]
        urls = [f"{node.scheme}://{node.host}:{node.port}{node.path_prefix}" for node in nodes]
        tls = {"ca": one.ca_certs, "cert": one.client_cert, "key": one.client_key, "insecure": one.verify_certs is False}
        header = client._headers.get("authorization")
    elif package == "opensearchpy":
        pool = client.transport.connection_pool
        connections = list(getattr(pool, "connections", None) or [pool.connection])
        urls = [f"{connection.host}{connection.url_prefix}" for connection in connections]
        kwargs = getattr(client.transport, "kwargs", {})
        tls = {
            "ca": kwargs.get("ca_certs"),
            "cert": kwargs.get("client_cert"),
            "key": kwargs.get("client_key"),
            "insecure": connections[0].use_ssl and kwargs.get("verify_certs") is False,
        }
        header = connections[0].headers.get("authorization")
        signer = getattr(connections[0], "http_auth", None)
        if header is None and callable(signer):
            raise UsageError(
                f"the client signs requests with {type(signer).__name__}, which inrush cannot use; give "
                "{'to': url, 'aws_sigv4': 'es'} in place of the client"
            )
    else:
        raise TypeError(f"client is a {type(client).__name__}; expected one of elasticsearch-py or opensearch-py, a URL, or a dict of options")
    options = {name: value for name, value in tls.items() if value and all(url.startswith("https") for url in urls)}
    return {"to": urls, **options, **_credentials(header)}


def _credentials(header: str | None) -> dict[str, str]:
    if header is None:
        return {}
    kind, _, value = header.partition(" ")
    kind_lower = kind.lower()
    if kind_lower == "basic":
        user, _, password = base64.b64decode(value).decode().partition(":")
        return {"user": user, "password": password}
    if kind_lower == "apikey":
        return {"api_key": value}
    if kind_lower == "bearer":
        return {"bearer": value}
    raise UsageError(f"the client's authorization is of kind {kind}; expected Basic, ApiKey or Bearer")
