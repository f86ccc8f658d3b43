"""A load that is spread over several processes: the job that runs once, and the parts.

The job is a load without documents of its own. It checks the cluster, creates the index, changes its settings and puts
them back, and counts at the end. Parts are loads that do not change settings. The job adds up their reports. Parts share
the cluster as any loaders do: the tuner of each one adapts. A limit of requests in flight is divided among the parts that
run at once.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _inrush
from ._errors import LoadFailed, UsageError
from ._options import Options
from ._progress import Progress
from ._report import Report
from ._running import Running

# The secret that has the address of the job's page and its token. Spark hides options with "token" in their names.
PAGE = "job_page_token"

# The most bytes of dead letters that a part sends to the driver. More mean that all documents have a problem.
_LETTERS_BYTES_MAX = 1 << 20

# Options that a job of several processes cannot have, with the reasons.
_REFUSED = {
    "alias": "only a load of one process can swap; load into a new index, then move the alias",
    "durability": "each part would have to wait for flushes of the others",
    "id_from": "a part cannot count the documents of other parts; name the field that holds the id with id",
    "resume": "the framework repeats failed tasks; give ids, and run the job again",
    "once": "the framework repeats failed tasks; give ids, and run the job again",
    "from_dead_letters": "dead letters are few; load them with inrush.load",
    "map": "no part sees all documents; give a mapping",
    "max_rate": "each part would have a rate of its own; limit the requests with in_flight",
    "trace": "each part has a tuner of its own",
}
# Options that only the driver's job can have: its parts report to it.
WATCHED = ("page", "page_token_file", "textfile", "otlp")
# Options of steps that only the job does.
ONCE = (
    "mapping",
    "settings",
    "shards",
    "replicas",
    "indices",
    "no_copy",
    "recreate",
    "yes",
    "replicas_off",
    "force_merge",
    "graph",
    "wait_for",
    "wait_timeout",
    "state",
    "under_policy",
    "forget",
    *WATCHED,
)


@dataclass
class Part:
    """The result of one part, small enough to be sent to the job."""

    report: dict[str, Any]
    letters: list[str]
    """Lines of the part's dead-letter file."""
    letters_left_out: int
    repeated: bool
    """Whether an earlier attempt may have loaded some of the documents, or another attempt may run at the same time."""
    built: str | None = None
    """The shard that it has built, of a bake."""
    not_native: str | None = None
    """Why a server has to build the shard."""

    def to_json(self) -> str:
        return json.dumps(self.__dict__)

    @classmethod
    def from_json(cls, text: str) -> Part:
        return cls(**json.loads(text))


def check(options: Options, *, has_driver: bool = False) -> Options:
    """Refuses options that a job of several processes cannot have. `has_driver`: a job on the driver sees the reports of its parts."""
    for name, why in _REFUSED.items():
        if _is_given(options, name):
            raise UsageError(f"{name} is not possible for a load of several processes: {why}")
    for name in WATCHED:
        if _is_given(options, name) and not has_driver:
            raise UsageError(f"{name} is not possible here: only a job on the driver sees all parts, such as inrush.spark.load or inrush.spark.Job")
        if _is_given(options, name) and not _is_given(options, "page"):
            raise UsageError(f"{name} needs page for a load of several processes: the parts report to the page of the job")
    return options


def _is_given(options: Options, name: str) -> bool:
    return options.table.get(name) not in (None, False)


def _nodes_of_variable() -> list[str] | None:
    """The nodes of the variable `INRUSH_TO`, which only the driver may have."""
    nodes = [node.strip() for node in os.environ.get("INRUSH_TO", "").split(",")]
    return [node for node in nodes if node] or None


def part_options(options: Options, tasks: int | None, with_job: bool) -> Options:
    """The options of a part, if `tasks` parts run at once. Called on the driver."""
    # A part may be empty although the job is not.
    changes: dict[str, Any] = {"leave_settings": True, "no_verify": True, "dead_letters": None, "allow_empty": True}
    if not options.table.get("to"):
        changes["to"] = _nodes_of_variable()
    if with_job:
        changes.update(dict.fromkeys(ONCE))
    if options.table.get("learned") is None:
        # The plan of one of several loads is not that of a load alone, so it is not kept where the part runs.
        changes.update(learned="none", forget=None)
    in_flight = options.table.get("in_flight")
    if in_flight is not None:
        if tasks is None:
            raise UsageError(
                "in_flight is the limit of all tasks together; give the number of tasks that run at once with tasks, or leave in_flight out"
            )
        changes["in_flight"] = max(1, int(in_flight) // max(1, tasks))
    # A task that runs again finds the documents of its first attempt: equal content is not a conflict.
    if options.table.get("action") == "create" and options.table.get("on_conflict") is None:
        changes["on_conflict"] = "compare"
    return options.but(**changes)


def load_part(
    options: Options, feed: Callable[[Any], bool], repeated: bool, name: str, title: str | None = None, shard: tuple[str, int] | None = None
) -> Part:
    """Loads one part, whose documents `feed` adds. Raises if the load could not continue, so that the framework runs it again.
    `title` is the name of the part on the page of the job, the same for each attempt. Default: `name`. `shard`: the order of a bake
    and the shard that is built of the documents, instead of loading them into the cluster.
    """
    page = options.secrets.get(PAGE)
    job = None if page is None else (*json.loads(page), title or name, socket.gethostname())
    with tempfile.TemporaryDirectory(prefix="inrush-") as folder:
        letters = os.path.join(folder, "dead-letters.ndjson")
        running = Running(options.but(dead_letters=letters), None, name=name, progress=False, job=job, shard=shard)
        try:
            feed(running.load)
        except BaseException as error:
            running.stop(error)
            raise
        running.load.end()
        report = running.wait()
        lines, left_out = letters_of(report.dead_letters)
        built, not_native = running.load.built()
    if not_native is None and report.status in ("failed", "interrupted"):
        raise LoadFailed(report)
    return Part(report.to_dict(), lines, left_out, repeated, built, not_native)


def letters_of(path: str | None) -> tuple[list[str], int]:
    """The lines of a dead-letter file that are sent to the driver, and the number of further lines."""
    if path is None:
        return [], 0
    kept: list[str] = []
    room, left_out = _LETTERS_BYTES_MAX, 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            room -= len(line)
            if room < 0:
                left_out += 1
            else:
                kept.append(line)
    return kept, left_out


def with_page(part: Options, listens: tuple[str, int] | None, token: str | None, driver: Callable[[], str | None]) -> Options:
    """The options of a part, with the page that it reports to. `driver` gives the address of the driver."""
    if listens is None or token is None:
        return part
    host, port = listens
    if host in ("0.0.0.0", "::"):
        # The page listens on all addresses of the driver.
        host = driver() or socket.gethostname()
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return part.with_secret(PAGE, json.dumps([url, token]))


class Job:
    """The job, which runs once, from `start` to `finish`."""

    def __init__(
        self, options: Options, *, expected_bytes: int | None, progress: Progress, name: str, host: Callable[[], str | None] = lambda: None
    ) -> None:
        self.options = check(options, has_driver=True)
        self._host = host
        self._page_token = secrets.token_hex(24) if _is_given(options, "page") else None
        self._expected_bytes = expected_bytes
        self._progress = progress
        self._name = name
        self._running: Running | None = None
        self._letters: list[str] = []
        self._notes: list[str] = []

    def start(self) -> None:
        """Checks the cluster, creates the index, and changes its settings if `expected_bytes` are enough."""
        # The job has no dead letters of its own. Those of the parts are written at the end.
        once = self.options.but(dead_letters=None, in_flight=None, id=None, routing=None, version=None, action=None, on_conflict=None)
        self._running = Running(
            once, None, name=self._name, expected_bytes=self._expected_bytes, progress=self._progress, parts=self._page_token
        )
        # The settings have changed when the load waits for documents. Parts begin after that.
        while self._running.load.progress()["phase"] == "starting" and self._running.poll(0.02) is None:
            pass

    @property
    def is_started(self) -> bool:
        return self._running is not None

    def of_part(self, part: Options) -> Options:
        """The options of a part, with the page that it reports to, and with what the parts of earlier jobs learned. The job keeps
        what these parts learn.
        """
        part = self._with_page(part)
        learned = None if self._running is None else self._running.load.learned()
        if learned is None or part.table.get("learned") != "none":
            return part
        return part.but(learned=learned)

    def _with_page(self, part: Options) -> Options:
        listens = None if self._running is None else self._running.load.page()
        return with_page(part, listens, self._page_token, self._host)

    def absorb(self, part: Part) -> None:
        """Adds the result of a part. Add each part once, with the attempt that counts."""
        assert self._running is not None, "call start() before absorb()"
        report = part.report
        if part.repeated:
            # Another attempt may have created the documents that this one has updated.
            report["uncertain_updates"] += report["docs_updated"]
            report["uncertain_deletes"] += report["docs_not_found"]
        self._running.load.absorb(json.dumps(report))
        self._letters += part.letters
        if part.letters_left_out:
            self._notes.append(f"{part.letters_left_out:,} dead letters of one task are not in the file, which takes at most 1 MiB from each task")
        self._notes += report["warnings"]

    def finish(self, failure: BaseException | str | None = None) -> Report:
        """Puts the settings back, counts, and returns the report of the job."""
        assert self._running is not None, "call start() before finish()"
        if failure is None:
            self._running.load.end()
        else:
            self._running.load.fail(str(failure))
        report = self._running.wait()
        data = report.to_dict()
        data["warnings"] = sorted({*data["warnings"], *self._notes})
        data["dead_letters"] = _write(self._letters, self.options, report.run_id) or data["dead_letters"]
        return Report(data)


def check_letters(options: Options) -> None:
    """Refuses a file for dead letters that cannot be written, or has something in it, before a document is read."""
    path = options.table.get("dead_letters")
    if path is None:
        return
    try:
        with open(path, "ab") as file:
            if file.tell() > 0:
                raise UsageError(f"dead_letters={path!r} has something in it; name another file")
    except OSError as error:
        raise UsageError(f"dead_letters={path!r} cannot be written: {error}") from None
    if not os.path.getsize(path):
        os.remove(path)


def write_letters(parts: Iterable[Part], options: Options, run_id: str) -> str | None:
    """Writes the dead letters of parts to one file, and returns its name."""
    return _write([line for part in parts for line in part.letters], options, run_id)


def _write(letters: list[str], options: Options, run_id: str) -> str | None:
    if not letters:
        return None
    path = Path(options.table.get("dead_letters") or f"inrush-dead-letters-{run_id}.ndjson")
    path.write_text("".join(letters), encoding="utf-8")
    return str(path)


def merged(parts: Iterable[Part]) -> Report:
    """One report of several parts without a job."""
    text = _inrush.merge([json.dumps(part.report) for part in parts])
    if text is None:
        raise UsageError("there was nothing to load: no part sent a report")
    return Report(json.loads(text))
