"""inrush on Ray: the same engine in every task, one report.

::

    import inrush.ray

    sink = inrush.ray.InrushSink(index="logs", to="http://search:9200", id="id")
    ds.write_datasink(sink)
    print(sink.report)

Options are those of `inrush.load`. Give ids if possible: then a task that Ray runs a second time makes no duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ray.data import Datasink
from ray.data.block import BlockAccessor

from ._errors import LoadFailed
from ._job import Job, Part, load_part, part_options
from ._load import _nodes
from ._options import Options
from ._report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import LoadOptions

__all__ = ["InrushSink"]


class InrushSink(Datasink[str]):  # type: ignore[misc]
    """The target of a dataset. The driver creates the index, changes its settings if `expected_bytes` is large, puts them
    back, and verifies. `in_flight` is the limit of the whole job. It is divided by `tasks`, the number of tasks that run at once
    (default: the cluster's CPUs). `report` has the result afterwards.
    """

    def __init__(
        self,
        index: str | None = None,
        to: str | Iterable[str] | None = None,
        *,
        tasks: int | None = None,
        expected_bytes: int | None = None,
        **options: Unpack[LoadOptions],
    ) -> None:
        given = Options.of({**options, "index": index, "to": _nodes(to)})
        if tasks is None and given.table.get("in_flight") is not None:
            import ray

            tasks = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._job: Job | None = Job(given, expected_bytes=expected_bytes, progress=False, name="ray", host=_node_ip)
        self._part = part_options(given, tasks, with_job=True)
        self.report: Report | None = None
        """The report of the whole job, after its end."""

    def on_write_start(self, schema: Any = None) -> None:
        assert self._job is not None, "the driver has the job"
        self._job.start()
        self._part = self._job.of_part(self._part)

    def write(self, blocks: Iterable[Any], ctx: Any) -> str:
        # Ray repeats a task without notice, so any attempt may be a second one.
        tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
        feed = lambda load: all(load.push_arrow(table) for table in tables)  # noqa: E731
        return load_part(self._part, feed, True, f"task {ctx.task_idx}").to_json()

    def on_write_complete(self, write_result: Any) -> None:
        assert self._job is not None, "the driver has the job"
        if not self._job.is_started:
            # The dataset had no block.
            self._job.start()
        for part in write_result.write_returns:
            self._job.absorb(Part.from_json(part))
        self._end(self._job.finish())
        assert self.report is not None
        if self.report.status in ("failed", "interrupted"):
            raise LoadFailed(self.report)

    def on_write_failed(self, error: Exception) -> None:
        if self._job is not None and self._job.is_started and self.report is None:
            self._end(self._job.finish(error))

    def _end(self, report: Report) -> None:
        self.report = report

    def get_name(self) -> str:
        return "inrush"

    def __getstate__(self) -> dict[str, Any]:
        # Tasks only load their part. The job stays with the driver.
        return {**self.__dict__, "_job": None}


def _node_ip() -> str | None:
    import ray

    return str(ray.util.get_node_ip_address())
