"""A running load."""

from __future__ import annotations

import atexit
import json
import logging
import os
import time
import weakref
from collections.abc import Sequence

from . import _inrush
from ._options import Options
from ._progress import Progress, Watcher, forward_messages, level
from ._report import Report

# The longest wait in the engine before Python checks for signals, seconds.
LOOK_EVERY_S = 0.2


# Loads that have not ended.
_active: weakref.WeakSet[Running] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Ends open loads at the exit of the program: documents added so far are loaded, and settings are put back."""
    for running in list(_active):
        if running.process == os.getpid():
            logging.getLogger("inrush").error("the program exits but a load was not closed: documents added so far are loaded now")
            if running.is_fed:
                running.load.end()
            else:
                running.load.stop()
            while running.poll(LOOK_EVERY_S) is None:
                pass


class Running:
    """Starts a load, watches it, and waits for its end."""

    def __init__(
        self,
        options: Options,
        sources: Sequence[str] | None,
        *,
        name: str = "python",
        expected_bytes: int | None = None,
        keep_outcomes: bool = False,
        progress: Progress = None,
        parts: str | None = None,
        job: tuple[str, str, str, str] | None = None,
        shard: tuple[str, int] | None = None,
    ) -> None:
        try:
            self.load = _inrush.Load(
                options.as_json(),
                None if sources is None else list(sources),
                options.secret_list(),
                name,
                expected_bytes,
                keep_outcomes,
                level(),
                parts,
                job,
                shard,
            )
        finally:
            forward_messages()
        self.is_fed = sources is None
        self._once = bool(options.table.get("once"))
        self.process = os.getpid()
        _active.add(self)
        self._report: Report | None = None
        self._watcher = Watcher(self.load, progress)

    def poll(self, seconds: float) -> Report | None:
        """The report, if the load ends within this number of seconds."""
        if self._report is None:
            text = self.load.wait(seconds)
            if text is not None:
                self._report = Report(json.loads(text), self._once)
                _active.discard(self)
                self._watcher.stop(self._report)
        return self._report

    def wait(self) -> Report:
        """Waits for the end. An interruption stops the load and is raised again, with the report as an attribute."""
        try:
            while (report := self.poll(LOOK_EVERY_S)) is None:
                pass
            return report
        except BaseException as error:
            self.stop(error)
            raise

    def stop(self, why: BaseException | None = None) -> Report:
        """Ends the load early and waits for requests in flight. The times of `retry` and `drain` bound the wait."""
        self.load.stop()
        while (report := self.poll(LOOK_EVERY_S)) is None:
            pass
        if why is not None:
            _attach(why, report)
        return report

    def fail(self, why: BaseException) -> Report:
        """Ends the load as failed after an exception of its source. Documents added so far are loaded."""
        self.load.fail(f"{type(why).__name__}: {why}")
        report = self.wait()
        _attach(why, report)
        return report

    def flush(self, timeout: float | None = None) -> None:
        """Waits until each added document is settled: in, or a dead letter."""
        self.load.hurry()
        target = self.load.given()
        end = None if timeout is None else time.monotonic() + timeout
        while self.load.progress()["docs_settled"] < target:
            if self.poll(0.02) is not None:
                break
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"not all of {target:,} documents are settled after {timeout} s")


def _attach(error: BaseException, report: Report) -> None:
    try:
        error.report = report  # type: ignore[attr-defined]
        if hasattr(error, "add_note"):
            error.add_note(f"inrush: {report.docs_read:,} documents were read and {report.docs_indexed:,} indexed before; see the attribute `report`")
    except Exception:
        # Some exceptions accept no attributes. Then there is only the log.
        pass

