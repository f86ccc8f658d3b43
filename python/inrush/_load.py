"""`load` and `aload`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._errors import LoadFailed
from ._options import Options
from ._progress import Progress
from ._report import Report
from ._running import Running

if TYPE_CHECKING:
    # Of Python 3.11 and newer, and of what every type checker knows.
    from typing_extensions import Unpack

    from ._option_types import LoadOptions


def load(
    source: Any = None,
    index: str | None = None,
    to: str | Iterable[str] | None = None,
    *,
    progress: Progress = None,
    name: str = "python",
    expected_bytes: int | None = None,
    **options: Unpack[LoadOptions],
) -> Report:
    """Loads `source` into `index` of the cluster `to`, and accounts for each document.

    `source` is one of:

    - paths, globs and URLs as on the command line: a str, a `pathlib.Path`, or a list of them;
    - an iterable of dicts, or of JSON objects as bytes or str; a generator is advanced only when there is room;
    - Arrow data (an object with `__arrow_c_stream__` or `__arrow_c_array__`) of pyarrow, polars, pandas, DuckDB or DataFusion,
      or an iterable of record batches. Values are not converted to Python objects.

    `options` are the long flags of `inrush load` with underscores: `id="customer_no"`, `batch_bytes="4MiB"`, `in_flight=8`, `recreate=True,
    yes=True`. `mapping` and `settings` may be dicts; `password`, `api_key` and `bearer` secrets. Without `to` the local OpenSearch node
    is used if it runs; `to="local"` starts it.

    `progress`: True, False, a function that is called with a dict five times per second, or None (default), which shows
    progress in terminals and notebooks. `name` is the name in reports for documents that are not files. `expected_bytes` is
    the approximate size of such documents: settings of the index are changed for large loads only.

    Returns the report, even if there are dead letters or a check failed (`report.raise_for_status()` raises then).
    Raises `UsageError`, `SourceError` or `ClusterError` if the load cannot begin, and `LoadFailed` if it could not continue.
    An exception of the iterable is raised again after everything before it is loaded.
    """
    given = Options.of({**options, "index": index, "to": _nodes(to)})
    return _finish(source, _begin(source, given, progress, name, expected_bytes))


def _begin(source: Any, options: Options, progress: Progress, name: str, expected_bytes: int | None) -> Running:
    paths = _paths(source)
    if paths is None and source is None:
        if options.table.get("from_dead_letters") is None:
            raise TypeError("load() needs a source: paths, an iterable of documents, or Arrow data")
        paths = []
    return Running(options, paths, name=name, expected_bytes=expected_bytes, progress=progress)


def _finish(source: Any, running: Running) -> Report:
    report = _feed(source, running) if running.is_fed else running.wait()
    if report.status in ("failed", "interrupted"):
        raise LoadFailed(report)
    return report


def _feed(source: Any, running: Running) -> Report:
    try:
        # False: the load ended before the source did. The report has the reason.
        if _speaks_arrow(source):
            running.load.push_arrow(source)
        else:
            running.load.push(source)
    except Exception as error:
        running.fail(error)
        raise
    except BaseException as error:
        running.stop(error)
        raise
    running.load.end()
    return running.wait()


async def aload(
    source: Any = None,
    index: str | None = None,
    to: str | Iterable[str] | None = None,
    *,
    progress: Progress = None,
    name: str = "python",
    expected_bytes: int | None = None,
    **options: Unpack[LoadOptions],
) -> Report:
    """`load` for asynchronous programs. `source` may be an asynchronous iterable, too. A cancellation stops the load in order."""
    from ._loader import AsyncLoader

    if isinstance(source, AsyncIterable):
        loader = AsyncLoader(index, to, progress=progress, name=name, expected_bytes=expected_bytes, **options)
        async with loader:
            async for item in source:
                if not await loader._push(item):
                    break
        assert loader.report is not None, "a loader has a report after its with statement"
        return loader.report
    given = Options.of({**options, "index": index, "to": _nodes(to)})
    running = await asyncio.to_thread(_begin, source, given, progress, name, expected_bytes)
    try:
        return await asyncio.to_thread(_finish, source, running)
    except asyncio.CancelledError as error:
        await asyncio.to_thread(running.stop, error)
        raise


def _nodes(to: str | Iterable[str] | None) -> str | list[str] | None:
    return to if to is None or isinstance(to, str) else list(to)


def _speaks_arrow(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _paths(source: Any) -> list[str] | None:
    """The paths of a source, or None if the source is something else."""
    if isinstance(source, (str, os.PathLike)):
        return [os.fspath(source)]
    if isinstance(source, (bytes, bytearray, Mapping)):
        raise TypeError(f"source is one {type(source).__name__}; expected paths, an iterable of documents such as [document], or Arrow data")
    if isinstance(source, (list, tuple)) and source:
        if all(isinstance(item, os.PathLike) for item in source):
            return [os.fspath(item) for item in source]
        # Text that begins with a brace is a document. A path that begins with one has to be a pathlib.Path.
        if all(isinstance(item, str) for item in source) and not source[0].lstrip().startswith("{"):
            return list(source)
    return None
