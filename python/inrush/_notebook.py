"""The progress and the report of a load in a notebook. IPython is used only where it runs already."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from . import _inrush

if TYPE_CHECKING:
    from ._report import Report

EVERY_S = 1.0

# They are read on light and on dark backgrounds. All other colours are those of the notebook.
RUNNING, GOOD, BAD = "#3b82f6", "#2e9e56", "#d93a32"


def table(rows: Sequence[tuple[str, str]], colour: str) -> str:
    """Names and values as HTML."""
    cell = "text-align:left;vertical-align:top;padding:1px 10px"
    lines = "".join(
        f'<tr style="background:none"><th style="{cell};white-space:nowrap">{escape(name)}</th>'
        f'<td style="{cell};white-space:pre-wrap;overflow-wrap:anywhere">{escape(value)}</td></tr>'
        for name, value in rows
    )
    style = f"border-left:4px solid {colour};color:inherit;background:none;font-variant-numeric:tabular-nums"
    return f'<table style="{style}"><tbody>{lines}</tbody></table>'


def has_kernel() -> bool:
    """Whether this is a notebook: IPython with a kernel that displays what it is given."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


class Widget:
    """The output below a cell: the progress while the load runs, and its report in the end."""

    def __init__(self) -> None:
        # IPython has no types.
        from IPython.display import display

        shown: Any = display
        self._cell = _shell().execution_count
        self._next = 0.0
        self._handle: Any = shown(_bundle(table([("phase", "starting")], RUNNING), "starting"), raw=True, display_id=True)

    def show(self, load: _inrush.Load) -> None:
        """Shows the progress, once a second at most."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        now = load.progress()
        bar = ""
        if now["bytes_total"]:
            share = min(now["bytes_read"] / now["bytes_total"], 1)
            bar = f'<progress max="1" value="{share:.3f}" style="width:30em;max-width:100%"></progress>'
        self._update(bar + table(load.rows(), RUNNING), load.line())

    def close(self, report: Report) -> None:
        """Shows the report from now on."""
        self._update(report._html(), str(report))
        report._widget = self

    def give_way(self) -> None:
        """The report is displayed. The same cell shows it once only."""
        if getattr(_shell(), "execution_count", None) == self._cell:
            self._update("", "")

    def _update(self, html: str, text: str) -> None:
        self._handle.update(_bundle(html, text), raw=True)


def _bundle(html: str, text: str) -> dict[str, str]:
    return {"text/html": html, "text/plain": text}
