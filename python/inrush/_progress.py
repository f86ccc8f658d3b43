"""Progress while a load runs, and the engine's log as messages of `logging`."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

from . import _inrush

EVERY_S = 0.2

Progress = bool | Callable[[dict[str, Any]], None] | None


class _Display(Protocol):
    def show(self, load: _inrush.Load) -> None: ...

    def close(self) -> None: ...


class _Terminal:
    """One line on stderr that is redrawn."""

    def __init__(self) -> None:
        self._shown = 0

    def show(self, load: _inrush.Load) -> None:
        line = load.line()[:119]
        sys.stderr.write("\r" + line.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(line)

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()


class _Notebook:
    """One line below the cell."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        # IPython has no types.
        self._html: Any = HTML
        self._handle: Any = display(HTML("starting"), display_id=True)  # type: ignore[no-untyped-call]

    def show(self, load: _inrush.Load) -> None:
        now = load.progress()
        share = f'<progress max="1" value="{now["bytes_read"] / now["bytes_total"]:.3f}"></progress> ' if now["bytes_total"] else ""
        self._handle.update(self._html(f"{share}<code>{escape(load.line())}</code>"))

    def close(self) -> None:
        self._handle.update(self._html(""))


class _Callback:
    def __init__(self, function: Callable[[dict[str, Any]], None]) -> None:
        self._function = function

    def show(self, load: _inrush.Load) -> None:
        self._function(load.progress())

    def close(self) -> None:
        pass


def _display(progress: Progress) -> _Display | None:
    if progress is False:
        return None
    if callable(progress):
        return _Callback(progress)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return _Notebook()
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
        self._thread = threading.Thread(target=self._watch, name="inrush-progress", daemon=True)
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

    def stop(self) -> None:
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._display is not None:
            self._display.close()
            self._display = None
        forward_messages()
