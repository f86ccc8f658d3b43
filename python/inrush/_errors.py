"""The exceptions. All of them are `InrushError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Report


class InrushError(Exception):
    """What everything that inrush raises is."""


class UsageError(InrushError, ValueError):
    """An option is wrong or does not fit the others; nothing was done."""


class SourceError(InrushError):
    """A source cannot be read."""


class ClusterError(InrushError):
    """The cluster cannot be reached, refuses, or is not ready; nothing was sent."""


class LoadError(InrushError):
    """A load did not end well; `report` says how far it came."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.problem or report.status)
        self.report = report

    def __reduce__(self) -> tuple[type[LoadError], tuple[Report]]:
        return type(self), (self.report,)


class LoadFailed(LoadError):
    """It could not go on, or was stopped."""


class Incomplete(LoadError):
    """It came to its end, and some documents are not in: `report.failed` has the dead letters."""


class CheckFailed(LoadError):
    """All documents are in, but a check failed: the count differs, or settings could not be put back."""
