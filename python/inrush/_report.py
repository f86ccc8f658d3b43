"""What a load did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from ._errors import CheckFailed, Incomplete, LoadFailed
from ._report_fields import ReportFields

_EXIT_CODES = {"complete": 0, "failed": 1, "incomplete": 3, "check_failed": 4, "interrupted": 130}
_RESULTS = {
    "complete": "all documents are in",
    "failed": "the load failed",
    "incomplete": "some documents are not in",
    "check_failed": "all documents are in, but a check failed",
    "interrupted": "interrupted",
}
_BUCKETS = [
    ("documents read", "docs_read"),
    ("indexed", "docs_indexed"),
    ("unchanged", "docs_noop"),
    ("not found", "docs_not_found"),
    ("already there", "docs_already_there"),
    ("conflicting", "docs_conflicting"),
    ("dropped by pipeline", "docs_dropped"),
    ("in failure store", "docs_redirected"),
    ("dead letters", "docs_dead_lettered"),
    ("unknown", "docs_unknown"),
    ("possible duplicates", "possible_duplicates"),
]


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

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

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
        """Whether all documents are in (left out as configured, or missing as `tolerate` allows),
        settings are put back, and no check failed. `verified` has the result of the count."""
        return self.status == "complete"

    @property
    def exit_code(self) -> int:
        """The exit status of the command line."""
        return _EXIT_CODES[self.status]

    @property
    def status(self) -> str:
        """`complete`, `incomplete`, `check_failed`, `failed` or `interrupted`."""
        status: str = self._data["status"]
        return status

    @property
    def problem(self) -> str | None:
        """The problem in one sentence; None if the load was a success."""
        if self.ok:
            return None
        if self.status == "incomplete":
            not_in = sum(self._data[name] for name in ("docs_dead_lettered", "docs_redirected", "docs_unknown"))
            where = f"; see {self.dead_letters}" if self.dead_letters else ""
            worst = "".join(f"; most frequent: {e['status']} {e['type']}: {e['reason']}" for e in self.errors[:1])
            more = ""
            if self.tolerance and self.tolerance["docs_unknown"]:
                more = f", {self.tolerance['docs_unknown']:,} of them without an answer, which tolerate does not cover"
            elif self.tolerance:
                more = f", more than tolerate={self.tolerance['limit']!r} allows"
            return f"{not_in:,} of {self.docs_read:,} documents are not in{more}{worst}{where}"
        if self.status == "check_failed":
            parts = [self.finish.get("failure")]
            parts += [self.verified["detail"]] if self.verified["state"] == "no" else []
            parts += [self.settings["detail"]] if self.settings["restored"] == "no" else []
            return "all documents are in, but a check failed: " + "; ".join(part for part in parts if part)
        if self.status == "interrupted":
            return f"interrupted after {self.docs_read:,} documents"
        return self.failure or "the load failed"

    def raise_for_status(self) -> Report:
        """Raises `LoadFailed`, `Incomplete` or `CheckFailed` if there is a problem. Returns the report otherwise."""
        match self.status:
            case "complete":
                return self
            case "incomplete":
                raise Incomplete(self)
            case "check_failed":
                raise CheckFailed(self)
            case _:
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

    def _rows(self) -> list[tuple[str, str]]:
        result = _RESULTS[self.status]
        if self.ok and self.tolerance and self.tolerance["docs"]:
            result += f", except {self.tolerance['docs']:,} of {self.docs_read:,}, which tolerate={self.tolerance['limit']!r} allows"
        rows = [("result", result)]
        if self.problem and self.status != "interrupted":
            rows.append(("why", self.problem))
        for name, key in _BUCKETS:
            if self._data[key] or key in ("docs_read", "docs_indexed"):
                rows.append((name, f"{self._data[key]:,}"))
        rows.append(("time", f"{self.seconds:.1f} s ({self.docs_per_second:,.0f} docs/s)"))
        rows.append(("requests", f"{self.requests:,} ({self.bytes_sent / 1e6:,.1f} MB)"))
        if self.verified["state"] != "off":
            rows.append(("verified", f"{self.verified['state']}: {self.verified['detail']}"))
        rows += [("warning", warning) for warning in self.warnings]
        if self.dead_letters:
            rows.append(("dead letters in", self.dead_letters))
        return rows

    def __repr__(self) -> str:
        return f"<inrush.Report {self.status}: {self.docs_read:,} read, {self.docs_indexed:,} indexed, {self.seconds:.1f} s>"

    def __str__(self) -> str:
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        colour = "#2a7d46" if self.ok else "#b3261e"
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in self._rows()
        )
        return f'<table style="border-left:4px solid {colour}"><tbody>{rows}</tbody></table>'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Report], tuple[dict[str, Any]]]:
        return Report, (self._data,)


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
