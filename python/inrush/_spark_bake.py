"""`inrush.spark.bake`: Spark's tasks build the shards of an index outside the cluster."""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from . import _inrush, _spark_shards
from ._errors import UsageError
from ._job import WATCHED, check, with_page
from ._options import Options
from ._report import Report


def bake(df: Any, index: str, to: Iterable[str], options: Options, driver: Callable[[], str | None] = lambda: None) -> Report:
    """See `inrush.spark.bake`. `driver` gives the driver's address."""
    check(options, has_driver=True)
    _refuse_servers(options)
    with _Page(index, options, driver) as page:
        page.report = _spark_shards.bake(df, index, list(to), page.of_parts)
    return page.report


def _refuse_servers(options: Options) -> None:
    """Refuses options about a server that builds: tasks build without one."""
    of_servers = (name for name, value in options.table.items() if value is not None and (name.startswith("builder") or name == "java_home"))
    name = next(of_servers, None) or ("engine='server'" if options.table.get("engine") == "server" else None)
    if name is not None:
        raise UsageError(f"{name} is about a server that builds, and tasks of Spark build without one; leave it out, or bake files with `inrush bake`")


class _Page:
    """The page of the bake, if it has one, from its begin to its end. `of_parts` are the options of the parts."""

    def __init__(self, index: str, options: Options, driver: Callable[[], str | None]) -> None:
        self.report: Report | None = None
        watched = {name: options.table[name] for name in WATCHED if name in options.table}
        self._page = None
        self.of_parts = options.but(**dict.fromkeys(WATCHED))
        if watched:
            token = secrets.token_hex(24)
            self._page = _inrush.BakesPage(index, json.dumps(watched), token)
            self.of_parts = with_page(self.of_parts, self._page.page(), token, driver)

    def __enter__(self) -> _Page:
        return self

    def __exit__(self, *_: object) -> None:
        if self._page is not None:
            try:
                self._page.end(None if self.report is None else json.dumps(self.report.to_dict()))
            except Exception as error:
                # What was baked counts, and not how it was shown.
                warnings.warn(f"the page could not show the end of the bake: {error}", stacklevel=4)
