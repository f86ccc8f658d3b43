"""The names of a report's JSON, with their types. A test of the command line compares them with its output."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class _Counts(TypedDict):
    created: int
    updated: int
    deleted: int
    uncertain: int
    """The largest excess of the count: documents that may have been created twice, or count as updated although new."""


class IndexCounts(_Counts, total=False):
    """Documents of one index."""

    vectors: dict[str, dict[str, int]]
    """By what documents did to a field with vectors, by its path, if the load looked for vectors."""


class ErrorCount(TypedDict):
    """Dead letters with the same error."""

    status: int
    """The item's HTTP status; 0 if it was never sent."""
    type: str
    reason: str
    count: int


class Start(TypedDict, total=False):
    """The plan that the load began with."""

    batch_bytes: int
    in_flight: int
    learned_at: str
    outcome: Literal["held", "contradicted", "unchecked"]
    """What the first requests said about what an earlier load had learned."""
    detail: str


class Plan(TypedDict, total=False):
    """The plan that the load ended with."""

    batch_bytes: int
    batch_docs: int
    in_flight: int
    why: str
    encoding: Literal["json", "smile"]
    compression: str
    wire_why: str
    start: Start
    learned: dict[str, Any]
    """What a later load may begin with, for the option `learned`."""


class Verified(TypedDict, total=False):
    """The result of the verification."""

    state: Literal["yes", "no", "not provable", "off"]
    detail: str
    duplicates: int
    vectors: dict[str, dict[str, Any]]
    """The documents with a vector, by path of the field."""


class SettingsRestored(TypedDict):
    """Settings of the index that were changed for the load, and whether they were put back."""

    restored: str
    changed: dict[str, dict[str, str | None]]
    detail: str


class Tolerance(TypedDict):
    """The number of documents that may be missing, and the number that are."""

    limit: str
    docs: int
    docs_unknown: int
    holds: bool


class Step(TypedDict):
    """A step, such as one at the end of a load."""

    step: str
    seconds: float
    detail: str


class Finish(TypedDict, total=False):
    """The steps after the last document."""

    steps: list[Step]
    failure: str


class Pause(TypedDict):
    """Pauses of one kind."""

    kind: str
    why: str
    times: int
    seconds: float


class NewIndex(TypedDict):
    """Where the mapping and the settings of a new index come from, in words."""

    name: str
    mapping: str
    settings: str


# A keyword is no name of a class's field.
Since = TypedDict(
    "Since",
    {"column": "str", "from": "str | None", "to": "str | None", "kept": "bool", "detail": "str"},
    total=False,
)


class WarningDetail(TypedDict, total=False):
    """A warning, for a program."""

    code: str
    source: str
    column: str
    count: int
    text: str


class Source(TypedDict):
    """The part of a source that is settled without a gap."""

    name: str
    docs_settled: int


class ReportFields:
    """The report of a load, by the names of the command line's JSON report."""

    __slots__ = ()

    ended_before: str | None
    """With `once`: the time in UTC at which this load ended before, if it did."""
    failure: str | None
    """Why the load ended early."""
    failure_code: str | None
    """The kind of the failure, which `inrush explain` explains."""
    docs_read: int
    """Documents whose result is known, or known to be unknown."""
    docs_indexed: int
    """The sum of `docs_created`, `docs_updated` and `docs_deleted`."""
    docs_created: int
    docs_updated: int
    docs_deleted: int
    docs_noop: int
    """Updates without change."""
    docs_not_found: int
    """Deletes of ids that did not exist."""
    docs_already_there: int
    """Conflicts with an earlier attempt of this load, or with equal documents."""
    docs_conflicting: int
    """Other conflicts, with `on_conflict="skip"`."""
    docs_dropped: int
    """Dropped by an ingest pipeline."""
    docs_redirected: int
    """In the failure store."""
    docs_superseded: int
    """Not sent, because a later document with the same id was."""
    docs_dead_lettered: int
    """In the dead-letter file."""
    docs_unknown: int
    """Sent, but never answered."""
    docs_given_back: int
    """Read ahead, and not in the index when the load stopped early."""
    possible_duplicates: int
    """The number of duplicates that the index may hold."""
    uncertain_creates: int
    uncertain_updates: int
    uncertain_deletes: int
    bytes_read: int
    """Bytes read from the sources, before decompression."""
    bytes_sent: int
    """Bytes of request bodies, repetitions included."""
    requests: int
    retried_items: int
    rejected_items: int
    """Items that the cluster rejected because of load."""
    seconds: float
    """Seconds from the first request to the cluster to the end."""
    docs_per_second: float
    this_run: dict[str, Any] | None
    """The counts of this run, if the load was resumed."""
    checkpoint: str | None
    """The checkpoint that `resume` continues from."""
    plan: Plan
    verified: Verified
    tolerance: Tolerance | None
    settings: SettingsRestored
    finish: Finish
    swap: dict[str, Any] | None
    """The swap of the alias."""
    new_index: NewIndex | None
    """The index that was made for an alias, or as a copy of an index."""
    since: Since | None
    """The rows that were read, with `since`."""
    bake: dict[str, Any] | None
    """The build and hand-over of the index, of a bake."""
    indices: dict[str, IndexCounts]
    sizes: dict[str, dict[str, dict[str, int] | None]]
    """The size of each index before and after the load."""
    pauses: list[Pause]
    source_idle_seconds: float
    """The time in which the source had no documents and all that it had were settled."""
    lag: dict[str, Any] | None
    """How far the load was behind at its end, for topics."""
    errors: list[ErrorCount]
    """Errors of dead letters by kind, the most frequent first."""
    dead_letters: str | None
    """The dead-letter file."""
    dead_letter_topic: str | None
    """The topic with the dead letters."""
    not_found_ids: list[str]
    """Ids of documents to delete that were not in the index, the first 100."""
    warnings: list[str]
    warning_details: list[WarningDetail]
    """The warnings with their kinds, places and counts."""
    sources: list[Source]
    run_id: str
    """The name in the cluster's logs: requests carry `X-Opaque-Id: inrush-<run id>-<number>`."""
