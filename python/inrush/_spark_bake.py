"""`inrush.spark.bake`: Spark's executors build parts of an index outside the cluster."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _inrush, _part, _spark_shards
from ._cluster import Cluster, moving
from ._errors import CheckFailed, ClusterError, InrushError, UsageError
from ._job import WATCHED, Part, check, letters_of, merged, with_page, write_letters
from ._options import Options
from ._report import Report

if TYPE_CHECKING:
    import pyarrow as pa

_REFUSED = ("cert", "key", "aws_sigv4", "password_file", "password_env", "api_key_file", "api_key_env", "bearer_file", "bearer_env")
_WITHOUT_SERVERS = ("build_memory", "repository_option", "allow_shrink")
"""Options that have no meaning where servers build."""
_OF_SWAPS = ("delete_old", "old_writes", "warm")
_ENGINE = "auto"
"""What builds where the options do not say it."""
_EXPLAINED_BY = 2000
"""The most characters of a bake's last messages in an error."""


def bake(df: Any, index: str, to: Iterable[str], builders: int, options: Options, driver: Callable[[], str | None] = lambda: None) -> Report:
    """See `inrush.spark.bake`. `driver` gives the driver's address."""
    check(options, has_driver=True)
    engine = _engine(options)
    if engine == "server":
        _check_servers(options)
    with _Page(index, options, driver) as page:
        page.report = _with_engine(engine, df, index, list(to), builders, page.of_parts)
    return page.report


def _engine(options: Options) -> str:
    """What builds. Who says something about servers that build gets them."""
    of_builders = any(value is not None and (name.startswith("builder") or name == "java_home") for name, value in options.table.items())
    return options.table.get("engine") or ("server" if of_builders else _ENGINE)


def _with_engine(engine: str, df: Any, index: str, to: list[str], builders: int, options: Options) -> Report:
    because = _asks_for_servers(index, to, builders, options) if engine == "auto" else None
    if engine != "server" and because is None:
        try:
            return _spark_shards.bake(df, index, to, builders, options.but(engine=engine))
        except _spark_shards.NotNative as error:
            if engine == "native":
                raise
            because = error.why
    _check_servers(options, because)
    report = _bake(df, index, to, builders, options.but(engine="server", **dict.fromkeys(_WITHOUT_SERVERS)))
    if because is None:
        return report
    data = report.to_dict()
    return Report({**data, "warnings": [f"the indices are built with servers, because {because}", *data["warnings"]]})


def _asks_for_servers(index: str, to: list[str], builders: int, options: Options) -> str | None:
    """Why `auto` takes servers without a try: jobs that were made for them go on."""
    if problem := _spark_shards.other_shards(builders, options):
        return problem
    if not to or _of_shards_only(options) is not None:
        return None
    try:
        before = Cluster(to, options).with_alias(index, patience=10)
    except ClusterError:
        # The bake asks the same, and knows more forms of addresses.
        return None
    if len(before) > 1:
        return f"the alias {index} stands for {len(before)} indices, and an index that is built without servers replaces one"
    return None


def _of_shards_only(options: Options) -> str | None:
    """The first given option with which no servers can build."""
    return next((name for name in (*_REFUSED, *_OF_SWAPS) if options.table.get(name) not in (None, False)), None)


def _check_servers(options: Options, because: str | None = None) -> None:
    """Refuses options with which no servers can build. `because`: why they would, where the options left the choice."""
    name = _of_shards_only(options)
    if name is None:
        return
    why = "" if because is None else f" (they would, because {because})"
    remedy = "leave it out: the indices that had the alias are kept" if name in _OF_SWAPS else "give user with password, api_key or bearer, or ca"
    raise UsageError(f"{name} is not possible where servers build{why}; {remedy}")


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


def _bake(df: Any, index: str, to: list[str], builders: int, options: Options) -> Report:
    cluster = Cluster(to, options)
    before = cluster.behind(index, patience=10)
    prefix = f"{index}-{uuid.uuid4().hex[:8]}"
    id_field = options.table.get("id")
    # Documents with the same id have to go to the same builder.
    parts = df.repartition(builders, *_columns(df, id_field))
    try:
        rows = parts.mapInArrow(_Part(prefix, to, options), "index string, part string").collect()
        if not rows:
            raise UsageError("there was nothing to bake: no partition has rows")
        built = {row["index"]: Part.from_json(row["part"]) for row in rows}
        # Indices of attempts that Spark has given up, or of duplicate attempts.
        cluster.delete(set(cluster.indices(prefix)) - set(built))
        report = _report(list(built.values()), index, sum(cluster.count(name) for name in built), options)
        if report.status == "check_failed":
            raise CheckFailed(report)
    except BaseException:
        _take_away(cluster, prefix)
        raise
    # A request without an answer may have moved the alias, so from here on nothing is deleted.
    if report.status == "complete":
        cluster.publish(index, before, sorted(built))
        return report
    kept = f"the alias {index} was not moved, because documents are not in; the indices are kept: {', '.join(sorted(built))}"
    how = f"to publish them as they are: POST /_aliases {json.dumps(moving(index, before, sorted(built)))}"
    data = report.to_dict()
    return Report({**data, "warnings": [*data["warnings"], f"{kept}; {how}"]})


def _take_away(cluster: Cluster, prefix: str) -> None:
    try:
        cluster.delete(cluster.indices(prefix))
    except InrushError as error:
        # The first error is the one to raise.
        warnings.warn(f"the indices of this bake could not be deleted ({error}); run DELETE /{prefix}-*", stacklevel=3)


def _columns(df: Any, field: str | None) -> list[str]:
    """The column of a field: one of this name, or a part of a struct."""
    if field is None:
        return []
    return [f"`{field}`" if field in df.columns else field]


def _report(parts: list[Part], index: str, counted: int, options: Options) -> Report:
    """One report of all parts, whose indices hold `counted` documents together."""
    total = merged(parts).to_dict()
    # A document that is sent again after a crash of its builder counts as an update.
    more = ("docs_updated", "uncertain_creates", "uncertain_updates", "possible_duplicates", "docs_unknown")
    created = total["docs_created"]
    most, least = created + sum(total[name] for name in more), created - total["docs_unknown"]
    proven = all(part.report["verified"]["state"] == "yes" for part in parts)
    detail = f"{counted} documents in {len(parts)} indices for {index}, {created} were created"
    if not least <= counted <= most:
        total["status"], proven = "check_failed", False
    total["verified"] = {"state": "yes" if proven else "no", "detail": detail}
    total["dead_letters"] = write_letters(parts, options, total["run_id"])
    if left_out := sum(part.letters_left_out for part in parts):
        total["warnings"] = [*total["warnings"], f"{left_out:,} dead letters are not in the file, which takes at most 1 MiB from each task"]
    return Report(total)


class _Part:
    """Bakes the batches of a partition into an index of their own, and yields the index's name and the result."""

    def __init__(self, prefix: str, to: list[str], options: Options) -> None:
        self._prefix = prefix
        self._to = to
        self._options = options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() + 1 if context else 1
        # Each attempt has an index of its own, so that a lost attempt is never mistaken for the one that counts.
        index = f"{self._prefix}-{number}-{uuid.uuid4().hex[:6]}"
        with _process(self._options, f"part {number}") as process:
            rows = process.folder / "part.arrow"
            # A bake may have to read its source again, but a partition can be read only once.
            if not _write(batches, rows):
                return
            part = self._bake(process, rows, index)
        yield pyarrow.record_batch({"index": [index], "part": [part.to_json()]})

    def _bake(self, process: _Process, rows: Path, index: str) -> Part:
        folder = process.folder
        given = {name: value for name, value in self._options.table.items() if value is not None}
        own = {
            "sources": [str(rows)],
            "index": index,
            "to": self._to,
            "state": str(folder / "state"),
            "dead_letters": str(folder / "dead.ndjson"),
            "no_resume": True,
            "json": True,
            "quiet": True,
        }
        status = process.run({**given, **own})
        if status not in (0, 3):
            raise InrushError(f"the bake of {index} ended with status {status}: {process.said()}")
        report = json.loads((folder / _part.OUTPUT).read_text())
        return Part(report, *letters_of(report["dead_letters"]), repeated=False)


class _Process:
    """A process of `inrush._part`, which cleans up if this process is killed."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        self._popen = popen
        folder = self._line()
        if not folder:
            raise InrushError(f"the process of a bake ended at its start with status {popen.wait()}; see the executor's log")
        self.folder = Path(folder)

    def run(self, options: dict[str, Any]) -> int:
        assert self._popen.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._popen.stdin.write(json.dumps(options) + "\n")
            self._popen.stdin.flush()
        status = self._line()
        if not status:
            raise InrushError(f"the process of a bake died with status {self._popen.wait()}, and its builder may still run: {self.said()}")
        return int(status)

    def said(self) -> str:
        """The last error messages of the process."""
        try:
            return (self.folder / _part.ERRORS).read_text(errors="replace")[-_EXPLAINED_BY:]
        except OSError as error:
            return str(error)

    def _line(self) -> str:
        assert self._popen.stdout is not None
        return self._popen.stdout.readline().rstrip("\n")


@contextlib.contextmanager
def _process(options: Options, name: str = "") -> Iterator[_Process]:
    """The process of a part. It gets secrets through the environment."""
    given = {f"INRUSH_{name.upper()}": secret for name, secret in options.secrets.items()}
    with subprocess.Popen(
        [sys.executable, "-m", "inrush._part"],
        env={**os.environ, **given, _part.NAME_VARIABLE: name},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # When an executor dies, Spark's Python sends SIGHUP to its process group, which would end this process at once.
        start_new_session=True,
    ) as popen:
        process = _Process(popen)
        try:
            # At the end the input is closed, and the process is awaited.
            yield process
        finally:
            if popen.poll() is not None:
                # The process was killed before it could clean up.
                shutil.rmtree(process.folder, ignore_errors=True)


def _write(batches: Iterator[pa.RecordBatch], path: Path) -> bool:
    """Whether there were rows."""
    import pyarrow.ipc

    writer = None
    for batch in batches:
        if batch.num_rows:
            writer = writer or pyarrow.ipc.new_file(path, batch.schema)
            writer.write_batch(batch)
    if writer is not None:
        writer.close()
    return writer is not None
