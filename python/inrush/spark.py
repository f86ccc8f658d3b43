"""inrush on Spark: the same engine in every task, one report.

::

    import inrush.spark

    report = inrush.spark.load(df, index="logs", to="http://search:9200", id="id")     # any Spark from 3.3 on

    inrush.spark.register(spark)                                                       # Spark 4
    df.write.format("inrush").option("to", "http://search:9200").option("index", "logs").option("id", "id").mode("append").save()

Options are those of `inrush.load`. Give ids if possible: then a task that Spark runs a second time makes no duplicates.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._errors import LoadFailed, UsageError
from ._job import Job as _Job
from ._job import PAGE, Part, check, load_part, merged, part_options
from ._load import _nodes
from ._options import Options
from ._progress import Progress
from ._report import Report
from ._spark_bake import bake as _bake

try:
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
except ImportError:
    # Before Spark 4 there are only `load`, `rows` and `batches`.
    DataSource = DataSourceArrowWriter = WriterCommitMessage = object
try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:
    DataSourceStreamArrowWriter = None

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from ._option_types import BakeOptions, LoadOptions

__all__ = ["InrushDataSource", "Job", "bake", "batches", "load", "merge", "register", "rows"]


def load(
    df: Any,
    index: str | None = None,
    to: str | Iterable[str] | None = None,
    *,
    tasks: int | None = None,
    expected_bytes: int | None = None,
    progress: Progress = None,
    **options: Unpack[LoadOptions],
) -> Report:
    """Loads a data frame, and returns one verified report. If `expected_bytes` is large, the driver changes settings of the
    index once and puts them back. `in_flight` is the limit of the whole job. It is divided by `tasks`, the number of tasks that
    run at once (default: the session's default parallelism).
    """
    with Job(df.sparkSession, index, to, tasks=tasks, expected_bytes=expected_bytes, progress=progress, **options) as job:
        for row in df.mapInArrow(job.batches(), "part string").collect():
            job.absorb(row["part"])
    assert job.report is not None, "a job has a report after its with statement"
    return job.report


def bake(df: Any, index: str, to: str | Iterable[str], **options: Unpack[BakeOptions]) -> Report:
    """Builds an index of a data frame outside the cluster, and hands it over complete (`inrush bake`, which has the same options:
    `repository_path` or `repository`, `mapping`, `shards`, `build_memory`, …). Each shard is written by one task, without a server
    and Java, and the driver has the cluster restore the index and points the alias `index` to it. The index that the alias pointed
    to before is kept. An index that only a server can build raises an error with the code `bake_not_native`.

    If documents were not indexed (`report.failed`), the alias is not changed, and the report names the index, which is kept. If a build
    fails, the cluster returns to its former state. `page` shows the sums of all tasks while they run.
    """
    nodes = _nodes(to) or []
    return _bake(df, index, [nodes] if isinstance(nodes, str) else list(nodes), Options.of(options), lambda: _conf(df.sparkSession, "spark.driver.host"))


class Job:
    """Manages the index while tasks load into it: creates it, changes its settings and puts them back, merges reports, verifies.

    ::

        with inrush.spark.Job(spark, index="logs", to="http://search:9200", id="id", expected_bytes=50_000_000_000) as job:
            df.write.format("inrush").options(**job.options).mode("append").save()
        print(job.report)
    """

    def __init__(
        self,
        spark: Any,
        index: str | None = None,
        to: str | Iterable[str] | None = None,
        *,
        tasks: int | None = None,
        expected_bytes: int | None = None,
        progress: Progress = None,
        **options: Unpack[LoadOptions],
    ) -> None:
        given = Options.of({**options, "index": index, "to": _nodes(to)})
        host = lambda: _conf(spark, "spark.driver.host")  # noqa: E731
        self._job = _Job(given, expected_bytes=expected_bytes, progress=progress, name="spark", host=host)
        if tasks is None and given.table.get("in_flight") is not None:
            tasks = _parallelism(spark)
        self._tasks = tasks
        self._part = part_options(given, tasks, with_job=True)
        self._speculation = _conf(spark, "spark.speculation") == "true"
        # Commits run in processes of their own, on this machine.
        self._spool = tempfile.TemporaryDirectory(prefix="inrush-job-")
        self.report: Report | None = None
        """The report of the whole job, after its end."""

    @property
    def options(self) -> dict[str, str]:
        """Options for `df.write.format("inrush")`."""
        part = self._job.of_part(self._part)
        table = {name: value if isinstance(value, str) else json.dumps(value) for name, value in part.table.items()}
        return {**table, **part.secrets, "job": self._spool.name, "speculation": json.dumps(self._speculation)}

    def batches(self) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """A function for `df.mapInArrow(job.batches(), "part string")`. Pass each row of the result to `absorb`."""
        return _Batches(self._job.of_part(self._part), self._speculation)

    def rows(self) -> Callable[[Iterable[Any]], Iterator[str]]:
        """A function for `rdd.mapPartitions(job.rows())`. Pass each element of the result to `absorb`."""
        return _Rows(self._job.of_part(self._part), self._speculation)

    def absorb(self, part: str) -> None:
        """Adds the result of a task."""
        self._job.absorb(Part.from_json(part))

    def __enter__(self) -> Job:
        self._job.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._spool:
            for path in sorted(Path(self._spool.name).glob("*.json")):
                for part in json.loads(path.read_text()):
                    self.absorb(part)
        self.report = self._job.finish(error)
        if error is None and self.report.status in ("failed", "interrupted"):
            raise LoadFailed(self.report)


def batches(**options: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `df.mapInArrow(inrush.spark.batches(index=…, to=…), "part string")` without a `Job`. Settings are not changed,
    and nothing is verified.
    """
    return _Batches(_alone(options), False)


def rows(**options: Any) -> Callable[[Iterable[Any]], Iterator[str]]:
    """A function for `rdd.mapPartitions(inrush.spark.rows(index=…, to=…))` of rows or dicts, without a `Job`."""
    return _Rows(_alone(options), False)


def merge(parts: Iterable[str]) -> Report:
    """One report of the results of `batches` or `rows`."""
    return merged(Part.from_json(part) for part in parts)


def _alone(options: dict[str, Any]) -> Options:
    tasks = options.pop("tasks", None)
    return part_options(check(Options.of(options)), tasks, with_job=False)


class _Batches:
    """Loads the batches of a partition and yields the result."""

    def __init__(self, options: Options, speculation: bool) -> None:
        self._options = options
        self._speculation = speculation

    def load(self, batches: Iterator[pa.RecordBatch]) -> Part:
        name, title, repeated = _task()
        return load_part(self._options, lambda load: load.push(batches), repeated or self._speculation, name, title)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        yield pyarrow.record_batch({"part": [self.load(batches).to_json()]})


class _Rows:
    """Loads the rows or dicts of a partition and yields the result."""

    def __init__(self, options: Options, speculation: bool) -> None:
        self._options = options
        self._speculation = speculation

    def __call__(self, rows: Iterable[Any]) -> Iterator[str]:
        name, title, repeated = _task()
        documents = (row.asDict(recursive=True) if hasattr(row, "asDict") else row for row in rows)
        part = load_part(self._options, lambda load: load.push(documents), repeated or self._speculation, name, title)
        yield part.to_json()


def _task() -> tuple[str, str, bool]:
    """The name of this task, its name among all tasks of the application, and whether this is a repeated attempt."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return "partition", "partition", False
    name = f"partition {context.partitionId()}"
    return name, f"stage {context.stageId()}, {name}", context.attemptNumber() > 0


def _conf(spark: Any, name: str) -> str | None:
    try:
        return spark.sparkContext.getConf().get(name)  # type: ignore[no-any-return]
    except Exception:
        # Spark Connect has no context. Its session has some of the data.
        return spark.conf.get(name, None)  # type: ignore[no-any-return]


def _parallelism(spark: Any) -> int | None:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        return None


def register(spark: Any) -> None:
    """Registers the format `inrush` in this session. Needs Spark 4 or newer."""
    if DataSource is object:
        raise UsageError("this Spark has no data sources in Python, which need Spark 4.0; use inrush.spark.load(df, …)")
    spark.dataSource.register(InrushDataSource)


class InrushDataSource(DataSource):  # type: ignore[misc]
    """The format `inrush` for writes. Options are those of `inrush.load` as strings (mappings as JSON), and `tasks`: the number
    of tasks that run at once, needed with `in_flight`.
    """

    @classmethod
    def name(cls) -> str:
        return "inrush"

    def writer(self, schema: Any, overwrite: bool) -> _Writer:
        return _Writer(self._of(schema, overwrite))

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        if DataSourceStreamArrowWriter is None:
            raise UsageError("this Spark passes no Arrow batches to streams, which needs Spark 4.1; use foreachBatch with inrush.spark.load")
        return _StreamWriter(self._of(schema, overwrite))

    def _of(self, schema: Any, overwrite: bool) -> _Settings:
        if overwrite:
            raise UsageError('mode("overwrite") is not supported; use mode("append"), and recreate of inrush.spark.Job to start over')
        return _Settings(dict(self.options))


class _Settings:
    """The options of the format as options of a load."""

    def __init__(self, options: dict[str, str]) -> None:
        # Options of Spark itself, such as the path of save(path).
        options.pop("path", None)
        # Spark passes options of streams in lower case.
        options = {name.lower(): value for name, value in options.items() if name.lower() != "checkpointlocation"}
        self.job = options.pop("job", None)
        self.speculation = json.loads(options.pop("speculation", "false"))
        tasks = options.pop("tasks", None)
        page = options.pop(PAGE, None)
        given = check(Options.of({name: _value(text) for name, text in options.items()})).with_secret(PAGE, page)
        self.options = given if self.job else part_options(given, None if tasks is None else int(tasks), with_job=False)

    def load(self, batches: Iterator[pa.RecordBatch]) -> _Message:
        return _Message(_Batches(self.options, self.speculation).load(batches).to_json())

    def commit(self, messages: list[Any], name: str) -> None:
        """Passes the reports to the job. Without a job, raises the problem."""
        parts = [message.part for message in messages if message is not None]
        if self.job:
            # Named by the commit, so that a repeated commit counts once.
            path = Path(self.job, f"{name}.json")
            path.with_suffix(".part").write_text(json.dumps(parts))
            path.with_suffix(".part").rename(path)
        elif parts:
            merge(parts).raise_for_status()


def _value(text: str) -> Any:
    """Parses an option, which is text: JSON, or a plain word."""
    if text in ("true", "false") or text.startswith(("{", "[")):
        return json.loads(text)
    return text


class _Message(WriterCommitMessage):  # type: ignore[misc]
    def __init__(self, part: str) -> None:
        self.part = part


class _Writer(DataSourceArrowWriter):  # type: ignore[misc]
    def __init__(self, settings: _Settings) -> None:
        self._settings = settings
        self._name = f"commit-{uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Message:
        return self._settings.load(iterator)

    def commit(self, messages: list[Any]) -> None:
        self._settings.commit(messages, self._name)

    def abort(self, messages: list[Any]) -> None:
        # There is nothing to undo: with ids the next run replaces the same documents. Spark's own exception fails the job.
        pass


if DataSourceStreamArrowWriter is not None:

    class _StreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
        def __init__(self, settings: _Settings) -> None:
            self._settings = settings

        def write(self, iterator: Iterator[pa.RecordBatch]) -> _Message:
            return self._settings.load(iterator)

        def commit(self, messages: list[Any], batchId: int) -> None:
            self._settings.commit(messages, f"batch-{batchId:020}")

        def abort(self, messages: list[Any], batchId: int) -> None:
            pass
