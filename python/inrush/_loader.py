"""Loads that a program feeds document by document."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from ._errors import LoadFailed
from ._load import _nodes
from ._options import Options
from ._progress import Progress
from ._report import Report
from ._running import Running

if TYPE_CHECKING:
    # Of Python 3.11 and newer, and of what every type checker knows.
    from typing_extensions import Unpack

    from ._option_types import LoadOptions

Document = Union[Mapping[str, Any], bytes, str, None]


class _Feeding:
    """The common part of both loaders. It can be pickled before its start."""

    def __init__(
        self,
        index: str | None = None,
        to: str | Iterable[str] | None = None,
        *,
        progress: Progress = None,
        name: str = "python",
        expected_bytes: int | None = None,
        **options: Unpack[LoadOptions],
    ) -> None:
        self._options = Options.of({**options, "index": index, "to": _nodes(to)})
        self._progress = progress
        self._name = name
        self._expected_bytes = expected_bytes
        self._running: Running | None = None
        self.report: Report | None = None
        """The report, after the end of the load."""

    def _begin(self) -> None:
        if self._running is not None:
            raise RuntimeError("this loader was started before; create another one")
        self._running = Running(
            self._options, None, name=self._name, expected_bytes=self._expected_bytes, progress=self._progress
        )

    @property
    def _load(self) -> Running:
        if self._running is None:
            raise RuntimeError("this loader was not started; use it in a with statement, or call start()")
        return self._running

    def _ended(self) -> LoadFailed:
        """The exception for documents after the end of the load."""
        report = self._load.wait()
        self.report = report
        return LoadFailed(report)

    def _finished(self, report: Report) -> Report:
        self.report = report
        if report.status in ("failed", "interrupted"):
            raise LoadFailed(report)
        return report

    def __getstate__(self) -> dict[str, Any]:
        if self._running is not None:
            raise TypeError("a started loader cannot be pickled; pickle it before its start, and start it where it is used")
        return self.__dict__.copy()

    def __repr__(self) -> str:
        state = "ended" if self.report else "running" if self._running else "not started"
        return f"<inrush.{type(self).__name__} {state}: {self._options.table}>"

    def progress(self) -> dict[str, Any]:
        """The progress: `docs_read`, `docs_settled`, `docs_dead_lettered`, `bytes_sent`, `phase`, and so on."""
        return self._load.load.progress()


class Loader(_Feeding):
    """A load that a program feeds, from any number of threads.

    ::

        with inrush.Loader("logs", "http://localhost:9200") as loader:
            loader.add({"message": "hello"}, id="1")
            loader.flush()
        print(loader.report)

    The options are those of `inrush.load`.
    """

    def start(self) -> Loader:
        """Starts the load. `with` does it, too."""
        self._begin()
        return self

    def add(
        self,
        document: Document,
        *,
        id: str | int | None = None,
        routing: str | None = None,
        index: str | None = None,
        action: str | None = None,
        version: int | None = None,
    ) -> None:
        """Adds one document: a dict, or a JSON object as bytes or str; None for an action without a document (delete). Waits
        while there is no room. The other arguments take precedence over the options of the load.
        """
        if not self._load.load.add(document, None if id is None else str(id), routing, index, action, version):
            raise self._ended()

    def add_many(self, documents: Iterable[Any]) -> None:
        """Adds the elements of an iterable: dicts, bytes, str, or record batches. An element that is not a document becomes
        a dead letter.
        """
        if not self._load.load.push(documents):
            raise self._ended()

    def add_batch(self, data: Any) -> None:
        """Adds Arrow data: a table, a record batch, a data frame, or a stream."""
        if not self._load.load.push_arrow(data):
            raise self._ended()

    def flush(self, timeout: float | None = None) -> None:
        """Waits until each added document is in or a dead letter, at most `timeout` seconds (`TimeoutError`)."""
        self._load.flush(timeout)

    def close(self) -> Report:
        """Ends the load and waits for it. Raises `LoadFailed` if the load could not continue."""
        if self.report is not None:
            return self.report
        self._load.load.end()
        return self._finished(self._load.wait())

    def __enter__(self) -> Loader:
        return self if self._running is not None else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
        elif self.report is None and isinstance(error, Exception):
            # Documents added so far are loaded nevertheless.
            self._load.load.end()
            self.report = self._load.wait()
        elif self.report is None:
            self.report = self._load.stop(error)


class AsyncLoader(_Feeding):
    """`Loader` for asynchronous programs: `async with`, and methods to await."""

    async def start(self) -> AsyncLoader:
        """Starts the load. `async with` does it, too."""
        await asyncio.to_thread(self._begin)
        return self

    async def add(
        self,
        document: Document,
        *,
        id: str | int | None = None,
        routing: str | None = None,
        index: str | None = None,
        action: str | None = None,
        version: int | None = None,
    ) -> None:
        """`Loader.add`, which does not block other tasks while it waits."""
        await self._room()
        if not self._load.load.add(document, None if id is None else str(id), routing, index, action, version):
            raise await asyncio.to_thread(self._ended)

    async def add_batch(self, data: Any) -> None:
        """`Loader.add_batch`, in a thread."""
        if not await asyncio.to_thread(self._load.load.push_arrow, data):
            raise await asyncio.to_thread(self._ended)

    async def _push(self, item: Any) -> bool:
        await self._room()
        return self._load.load.push([item])

    async def _room(self) -> None:
        if not self._load.load.has_room(0):
            while not await asyncio.to_thread(self._load.load.has_room, 0.1):
                pass

    async def flush(self, timeout: float | None = None) -> None:
        """`Loader.flush`."""
        await asyncio.to_thread(self._load.flush, timeout)

    async def close(self) -> Report:
        """`Loader.close`."""
        if self.report is not None:
            return self.report
        self._load.load.end()
        return self._finished(await asyncio.to_thread(self._load.wait))

    async def __aenter__(self) -> AsyncLoader:
        return self if self._running is not None else await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            await self.close()
        elif self.report is None and isinstance(error, Exception):
            self._load.load.end()
            self.report = await asyncio.to_thread(self._load.wait)
        elif self.report is None:
            # Cancelled: the load stops in order, which takes as long as its requests in flight.
            self.report = await asyncio.to_thread(self._load.stop, error)
