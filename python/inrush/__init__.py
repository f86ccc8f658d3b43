"""Loads data into Elasticsearch and OpenSearch as fast as the cluster can take it, and accounts for every document."""

from ._consume import Consumption, Progress, consume
from ._errors import CheckFailed, ClusterError, Incomplete, InrushError, LoadError, LoadFailed, SourceError, UsageError
from ._inrush import __version__
from ._load import aload, load
from ._loader import AsyncLoader, Loader
from ._report import DeadLetter, Report

__all__ = [
    "AsyncLoader",
    "CheckFailed",
    "ClusterError",
    "Consumption",
    "DeadLetter",
    "Incomplete",
    "InrushError",
    "LoadError",
    "LoadFailed",
    "Loader",
    "Progress",
    "Report",
    "SourceError",
    "UsageError",
    "__version__",
    "aload",
    "consume",
    "load",
]
