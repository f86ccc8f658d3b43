"""Each task builds a shard of one index, and the driver hands the index over."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from . import _inrush
from ._errors import InrushError, LoadFailed, UsageError
from ._job import ONCE, PAGE, Part, check_letters, load_part, write_letters
from ._options import Options
from ._progress import forward_messages, level
from ._report import Report

if TYPE_CHECKING:
    import pyarrow as pa

_LOOK_EVERY_S = 0.2
_MASK = 0xFFFFFFFF


class NotNative(InrushError):
    """The index has something that only a server can build. `why` is a part of a sentence, without what to do."""

    code = "bake_not_native"

    def __init__(self, why: str) -> None:
        super().__init__(f"this index cannot be built without a server: {why}; load it with inrush.spark.load, or bake files with `inrush bake`")


def bake(df: Any, index: str, to: list[str], options: Options) -> Report:
    """See `inrush.spark.bake`. Raises `NotNative` if only a server can build the index; then nothing was changed."""
    check_letters(options)
    driver = _Driver(options.but(alias=index, to=to, no_resume=True, dead_letters=None))
    order = driver.order()
    try:
        parts = _build(df, order, _of_tasks(options, index))
    except BaseException as error:
        driver.give_up(f"{type(error).__name__}: {error}".splitlines()[0])
        raise
    report = driver.hand_over(parts).to_dict()
    report["dead_letters"] = write_letters(parts, options, report["run_id"])
    if left_out := sum(part.letters_left_out for part in parts):
        report["warnings"] = [*report["warnings"], f"{left_out:,} dead letters are not in the file, which takes at most 1 MiB from each task"]
    if report["status"] in ("failed", "interrupted"):
        raise LoadFailed(Report(report))
    return Report(report)


def _of_tasks(options: Options, index: str) -> Options:
    """The options of tasks, which do not contact the target: without its secrets."""
    given = options.but(index=index, to=None, **dict.fromkeys(ONCE))
    return Options(given.table).with_secret(PAGE, options.secrets.get(PAGE))


class _Driver:
    """The bake on the driver: it has the empty index made, and waits for the shards."""

    def __init__(self, options: Options) -> None:
        try:
            self._bake = _inrush.ShardsBake(options.as_json(), options.secret_list(), "spark", level())
        finally:
            forward_messages()

    def order(self) -> str:
        """What tasks need to build shards."""
        try:
            return self._bake.order()
        except InrushError as error:
            why = getattr(error, "needs_server", None)
            if why is None:
                raise
            raise NotNative(why) from None
        except BaseException:
            self.give_up("interrupted")
            raise
        finally:
            forward_messages()

    def give_up(self, why: str) -> None:
        """Ends the bake without shards, and waits until the cluster is as before."""
        self._bake.fail(why)
        self._bake.stop()
        left = []
        try:
            left = self._end()["bake"]["left"]
        except InrushError as error:
            # The first error is the one to raise. This one says what could not be cleaned up, if anything.
            left = [str(error)] if "not cleaned up" in str(error) else []
        finally:
            forward_messages()
        if left:
            warnings.warn("; ".join(left), stacklevel=4)

    def _end(self) -> dict[str, Any]:
        """Waits for the report."""
        while (report := self._bake.wait(_LOOK_EVERY_S)) is None:
            pass
        found: dict[str, Any] = json.loads(report)
        return found

    def hand_over(self, parts: list[Part]) -> Report:
        try:
            self._bake.build([part.built for part in parts if part.built is not None])
        except ValueError as error:
            self.give_up("a shard cannot be read")
            raise InrushError(f"a task sent a shard that this version of inrush cannot read; the executors need the same version: {error}") from None
        try:
            return Report(self._end())
        except InrushError:
            raise
        except BaseException:
            self.give_up("interrupted")
            raise
        finally:
            forward_messages()


def _build(df: Any, order: str, options: Options) -> list[Part]:
    """One part for each shard that has documents."""
    shards = int(json.loads(order)["blueprint"]["shards"])
    named = [options.table[name] for name in ("id", "routing") if options.table.get(name) is not None]
    tag = None
    if named and shards > 1:
        df, tag = _divided(df, order, shards, named, options)
    else:
        df = df.repartition(shards)
    rows = df.mapInArrow(_Task(order, options, tag), "part string").collect()
    parts = [Part.from_json(row["part"]) for row in rows]
    if why := next((part.not_native for part in parts if part.not_native is not None), None):
        raise NotNative(why)
    if not parts:
        raise UsageError("there was nothing to bake: no partition has rows")
    return parts


class _Tag:
    """The column that says to which shard a row belongs, by a number that Spark puts into a partition of its own."""

    def __init__(self, name: str, shards: int) -> None:
        self.name = name
        self.numbers = _numbers(shards)


def _divided(df: Any, order: str, shards: int, named: list[str], options: Options) -> tuple[Any, _Tag]:
    """The rows with a tag, and those of a shard in one partition."""
    from pyspark.sql.types import IntegerType, StructField, StructType

    name = "_inrush_shard"
    while name in df.columns:
        name += "_"
    tag = _Tag(name, shards)
    # The column of this name, or the struct that the field is a part of.
    columns = sorted({field if field in df.columns else field.split(".")[0] for field in named})
    for column in columns:
        if column not in df.columns:
            raise UsageError(f"the data frame has no column {column}, by which documents are divided into shards; it has {', '.join(df.columns)}")
    schema = StructType([*df.schema.fields, StructField(name, IntegerType(), False)])
    return df.mapInArrow(_Divide(order, options, columns, tag), schema).repartition(shards, name), tag


def _numbers(partitions: int) -> list[int]:
    """For each partition a number that Spark's hash puts there, where rows are partitioned by it."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(_hash(number) % partitions, number)
        number += 1
    return [found[partition] for partition in range(partitions)]


def _hash(number: int) -> int:
    """Spark's hash of an `int`: Murmur3_x86_32 with the seed 42, as a signed number."""

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & _MASK

    mixed = rotated(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    value = (rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & _MASK) ^ 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


class _Divide:
    """Adds the tag to the rows of a partition."""

    def __init__(self, order: str, options: Options, columns: list[str], tag: _Tag) -> None:
        self._order = order
        self._options = options
        self._columns = columns
        self._tag = tag

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        divider = _inrush.ShardDivider(self._order, self._options.as_json())
        for batch in batches:
            # By their places: names may come twice.
            named = [batch.schema.get_field_index(column) for column in self._columns]
            shards = divider.shards(pyarrow.RecordBatch.from_arrays([batch.column(at) for at in named], names=self._columns))
            tags = pyarrow.array([self._tag.numbers[shard] for shard in shards], pyarrow.int32())
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, tags], names=[*batch.schema.names, self._tag.name])


class _Task:
    """Builds the shard of a partition, and yields the result. A partition without rows yields nothing."""

    def __init__(self, order: str, options: Options, tag: _Tag | None) -> None:
        self._order = order
        self._options = options
        self._tag = tag

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        with_rows = (batch for batch in batches if batch.num_rows)
        first = next(with_rows, None)
        if first is None:
            return
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        shard = partition if self._tag is None else self._tag.numbers.index(first.column(self._tag.name)[0].as_py())
        rows = self._rows(chain([first], with_rows), shard)
        name = f"shard {shard}"
        part = load_part(self._options, lambda load: load.push(rows), False, name, shard=(self._order, shard))
        yield pyarrow.record_batch({"part": [part.to_json()]})

    def _rows(self, batches: Iterator[pa.RecordBatch], shard: int) -> Iterator[pa.RecordBatch]:
        import pyarrow
        import pyarrow.compute

        for batch in batches:
            if self._tag is not None:
                at = batch.schema.get_field_index(self._tag.name)
                number = self._tag.numbers[shard]
                ends = pyarrow.compute.min_max(batch.column(at)).as_py()
                if ends != {"min": number, "max": number}:
                    raise InrushError(f"Spark has put rows of several shards together with those of shard {shard}; this is a defect, please report it")
                others = [place for place in range(batch.num_columns) if place != at]
                names = [batch.schema.names[place] for place in others]
                batch = pyarrow.RecordBatch.from_arrays([batch.column(place) for place in others], names=names)
            yield batch
