"""`consume`: a load that follows a topic."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._errors import LoadFailed, UsageError
from ._load import _nodes, _paths
from ._options import Options
from ._report import Report
from ._running import LOOK_EVERY_S, Running

if TYPE_CHECKING:
    # Of Python 3.11 and newer, and of what every type checker knows.
    from typing_extensions import Unpack

    from ._option_types import LoadOptions


@dataclass(frozen=True)
class Progress:
    """The progress of a load that follows a topic."""

    docs_read: int
    docs_settled: int
    """Documents whose result is known, among them dead letters and superseded ones."""
    docs_dead_lettered: int
    docs_superseded: int
    """Documents that were not sent, because a later one with the same id was (`coalesce`)."""
    bytes_read: int
    bytes_total: int | None
    bytes_sent: int
    requests: int
    retried_items: int
    in_flight: int
    """Requests in flight."""
    seconds: float
    """Seconds since the load began."""
    lag_records: int | None
    """Offsets between the first record that is not settled and the ends of all partitions, and `None` before the brokers have
    named the ends."""
    lag_seconds: float | None
    """The age of the oldest record that waits."""
    phase: str
    """`loading`, `idle`, `paused: REASON`, and so on."""
    report: Report | None = None
    """The final report; only the last progress of a load has one."""


def consume(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    index: str | None = None,
    to: str | Iterable[str] | None = None,
    *,
    every: float | timedelta = 5.0,
    **options: Unpack[LoadOptions],
) -> Consumption:
    """Follows the topics of `source`, as in `kafka://broker:9092/orders`, and loads their records into `index` of the cluster `to`.

    The result is for `for` and `async for`: it gives the progress every `every` seconds. The load begins with the loop, and
    runs on while the body of the loop works. It ends when the loop is left by `break`, an exception or a cancellation, or
    with the option `until`. Then requests in flight are awaited, and the offsets of everything that is settled are committed.
    The others are read again by the next load of the same group.

    The last progress of a load that ends by itself has the report. The loop raises `UsageError`, `SourceError` or
    `ClusterError` if the load cannot begin, and `LoadFailed` if it cannot continue. `options` are those of `load`.
    """
    paths = _paths(source)
    if paths is None:
        raise TypeError(
            "consume() needs the address of topics, as in kafka://broker:9092/orders; documents of a program are for load() and Loader"
        )
    seconds = every.total_seconds() if isinstance(every, timedelta) else float(every)
    if not seconds > 0:
        raise UsageError(f"every={every!r} is not a time; expected seconds above 0, such as every=30")
    return Consumption(paths, Options.of({**options, "index": index, "to": _nodes(to)}), seconds)


class Consumption:
    """A load that follows a topic, made by `consume`. It can be iterated once, and be used in `with` and `async with`."""

    def __init__(self, paths: list[str], options: Options, every: float) -> None:
        self._paths = paths
        self._options = options
        self._every = every
        self._is_begun = False
        self._is_closed = False
        self._running: Running | None = None
        self.report: Report | None = None
        """The report, after the end of the load."""

    def __iter__(self) -> Iterator[Progress]:
        running = self._begin()
        try:
            while self.report is None:
                until = time.monotonic() + self._every
                while self.report is None and (left := until - time.monotonic()) > 0:
                    self.report = running.poll(min(left, LOOK_EVERY_S))
                yield self._now(running)
        except BaseException as error:
            # Also where the loop is left: a generator is closed by an exception.
            self._stop(running, error)
            raise

    async def __aiter__(self) -> AsyncIterator[Progress]:
        try:
            running = await asyncio.to_thread(self._begin)
        except asyncio.CancelledError:
            # The thread goes on, and ends the load as soon as it has begun. A load that has begun already ends here.
            await self.aclose()
            raise
        try:
            while self.report is None:
                until = time.monotonic() + self._every
                while self.report is None and (left := until - time.monotonic()) > 0:
                    await asyncio.sleep(min(left, LOOK_EVERY_S))
                    self.report = running.poll(0)
                yield self._now(running)
        except BaseException as error:
            # In a thread, which goes on to the end if this wait is cancelled.
            await asyncio.to_thread(self._stop, running, error)
            raise

    def close(self) -> Report | None:
        """Ends the load as leaving the loop does, and waits for its end. None if the load has not begun."""
        self._is_closed = True
        if self._running is not None:
            self._stop(self._running)
        return self.report

    async def aclose(self) -> Report | None:
        """`close`, which does not block other tasks."""
        return await asyncio.to_thread(self.close)

    def _begin(self) -> Running:
        if self._is_begun or self._is_closed:
            raise RuntimeError("this load was started or closed before; call consume() again")
        self._is_begun = True
        self._running = Running(self._options, self._paths, progress=False)
        if self._is_closed:
            self.close()
        return self._running

    def _stop(self, running: Running, why: BaseException | None = None) -> None:
        if self.report is None:
            self.report = running.stop(why)

    def _now(self, running: Running) -> Progress:
        if self.report is not None and self.report.status == "failed":
            raise LoadFailed(self.report)
        return Progress(**running.load.progress(), report=self.report)

    def __enter__(self) -> Consumption:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Consumption:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        state = "ended" if self.report else "running" if self._running else "not started"
        return f"<inrush.Consumption {state}: {self._options.table}>"
