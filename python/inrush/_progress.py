"""Progress while a load runs, and the engine's log as messages of `logging`."""

from __future__ import annotations

import contextvars
import logging
import shutil
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Union

from . import _inrush, _notebook

if TYPE_CHECKING:
    from ._report import Report

EVERY_S = 0.2

Progress = Union[bool, Callable[[dict[str, Any]], None], None]


class _Display(Protocol):
    def show(self, load: _inrush.Load) -> None: ...

    def close(self, report: Report) -> None: ...


class _Terminal:
    """One line on stderr that is redrawn."""

    def __init__(self) -> None:
        self._shown = 0

    def show(self, load: _inrush.Load) -> None:
        line = load.line()[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + line.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(line)

    def close(self, report: Report) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()


class _Callback:
    def __init__(self, function: Callable[[dict[str, Any]], None]) -> None:
        self._function = function

    def show(self, load: _inrush.Load) -> None:
        self._function(load.progress())

    def close(self, report: Report) -> None:
        pass


def _display(progress: Progress) -> _Display | None:
    if progress is False:
        return None
    if callable(progress):
        return _Callback(progress)
    if _notebook.has_kernel():
        return _notebook.Widget()
    if progress is True or sys.stderr.isatty():
        return _Terminal()
    return None


def level() -> int:
    """The lowest level that any logger accepts."""
    return min(max(logging.getLogger("inrush").getEffectiveLevel(), 0), 50)


_forwarding = threading.Lock()


def forward_messages() -> None:
    """Passes the engine's messages to `logging`."""
    with _forwarding:
        for number, name, text in _inrush.take_messages():
            logging.getLogger(name).log(number, text)


class Watcher:
    """A thread that shows progress and forwards messages until it is stopped."""

    def __init__(self, load: _inrush.Load, progress: Progress) -> None:
        self._load = load
        self._display = _display(progress)
        self._stop = threading.Event()
        # A notebook knows by its context which cell the thread belongs to.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._watch,), name="inrush-progress", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            forward_messages()
            if self._display is not None:
                try:
                    self._display.show(self._load)
                except Exception:
                    # The failure of a display does not stop a load.
                    logging.getLogger("inrush").exception("the progress cannot be shown")
                    self._display = None

    def stop(self, report: Report) -> None:
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._display is not None:
            try:
                self._display.close(report)
            except Exception:
                logging.getLogger("inrush").exception("the report cannot be shown")
            self._display = None
        forward_messages()
