"""The exceptions. All of them are `InrushError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Report


class InrushError(Exception):
    """The base class of all exceptions of inrush. `code` is the kind of the error, which `inrush explain` and the page of errors
    explain; None where there is none.
    """

    code: str | None = None


class UsageError(InrushError, ValueError):
    """An option is wrong or contradicts another one. Nothing was done."""


class SourceError(InrushError):
    """A source cannot be read."""


class ClusterError(InrushError):
    """The cluster cannot be reached, refuses the load, or is not ready. Nothing was sent."""


class LoadError(InrushError):
    """A load did not succeed. `report` has its results."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.problem or report.status)
        self.report = report
        self.code = report.code

    def __reduce__(self) -> tuple[type[LoadError], tuple[Report]]:
        return type(self), (self.report,)


class LoadFailed(LoadError):
    """The load could not continue, or was stopped."""


class Incomplete(LoadError):
    """The load ended, but some documents were not indexed. `report.failed` has the dead letters."""


class CheckFailed(LoadError):
    """All documents were indexed, but a check failed: the count differs, or settings could not be put back."""
