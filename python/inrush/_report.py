"""What a load did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _inrush, _notebook
from ._errors import CheckFailed, Incomplete, LoadFailed
from ._report_fields import ReportFields

if TYPE_CHECKING:
    from ._notebook import Widget


@dataclass(frozen=True)
class DeadLetter:
    """A document that is not in, and the reason."""

    status: int
    """The item's HTTP status; 0 if it was never sent."""
    type: str
    """The server's name of the error, or inrush's."""
    reason: str
    source: str
    doc: int
    """The number of documents before it in its source."""
    line: int
    """Line or row, from 1."""
    document: Any
    """The document; None if it is not JSON."""
    text: str | None
    """The text that was read, if it is not JSON."""
    action: dict[str, Any] | None
    """The action line; None if there was none."""


class Report(ReportFields):
    """The report of a load. Every name of the command line's JSON report is an attribute: `docs_read`, `docs_indexed`,
    `docs_dead_lettered`, `seconds`, `plan`, `verified`, and so on.
    """

    __slots__ = ("_data", "_once", "_widget")

    def __init__(self, data: dict[str, Any], once: bool = False) -> None:
        self._data = data
        self._once = once
        self._widget: Widget | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._data[name]
        except KeyError:
            # The JSON lacks these names if there is no value.
            if name in ("failure", "checkpoint", "this_run", "swap", "tolerance", "ended_before", "bake"):
                return None
            raise AttributeError(f"a report has no {name!r}; it has {', '.join(sorted(self._data))}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    @property
    def ok(self) -> bool:
        """Whether all documents were indexed (left out as configured, or missing as `tolerate` allows),
        settings are put back, and no check failed. `verified` has the result of the count."""
        return self.status == "complete"

    @property
    def exit_code(self) -> int:
        """The exit status of the command line."""
        return self._described()[0]

    @property
    def status(self) -> str:
        """`complete`, `incomplete`, `check_failed`, `failed` or `interrupted`."""
        status: str = self._data["status"]
        return status

    @property
    def problem(self) -> str | None:
        """The problem in one sentence; None if the load was a success."""
        return self._described()[2]

    @property
    def code(self) -> str | None:
        """The code of the problem, which `inrush explain` explains; None if the load was a success."""
        return self._described()[1]

    def raise_for_status(self) -> Report:
        """Raises `LoadFailed`, `Incomplete` or `CheckFailed` if there is a problem. Returns the report otherwise."""
        status = self.status
        if status == "complete":
            return self
        if status == "incomplete":
            raise Incomplete(self)
        if status == "check_failed":
            raise CheckFailed(self)
        raise LoadFailed(self)

    @property
    def failed(self) -> Iterator[DeadLetter]:
        """The dead letters, read one by one from their file. To load them again: `inrush.load(from_dead_letters=report.dead_letters)`."""
        return _dead_letters(self._data.get("dead_letters"))

    def to_dict(self) -> dict[str, Any]:
        """The whole report, as the command line's `--json` prints it."""
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self._data)

    def _described(self) -> tuple[int, str | None, str | None, list[tuple[str, str]]]:
        """Exit status, code, problem and rows, from the engine, which makes the text of all reports."""
        return _inrush.describe(self.to_json(), self._once)

    def __repr__(self) -> str:
        return f"<inrush.Report {self.status}: {self.docs_read:,} read, {self.docs_indexed:,} indexed, {self.seconds:.1f} s>"

    def __str__(self) -> str:
        rows = self._described()[3]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in rows)

    def _repr_html_(self) -> str:
        if self._widget is not None:
            self._widget.give_way()
            self._widget = None
        return self._html()

    def _html(self) -> str:
        return _notebook.table(self._described()[3], _notebook.GOOD if self.ok else _notebook.BAD)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Report], tuple[dict[str, Any], bool]]:
        return Report, (self._data, self._once)


def _dead_letters(path: str | None) -> Iterator[DeadLetter]:
    if path is None:
        return
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            letter = json.loads(line)
            error, position = letter["error"], letter["position"]
            yield DeadLetter(
                status=error["status"],
                type=error["type"],
                reason=error["reason"],
                source=position["source"],
                doc=position["doc"],
                line=position["line"],
                document=letter.get("document"),
                text=letter.get("text"),
                action=letter.get("action"),
            )
