"""An index that Spark's executors build, each a part of it, beside the cluster: `inrush.spark.bake`."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import CheckFailed, ClusterError, InrushError, UsageError
from ._job import _add, check
from ._options import Options
from ._report import Report

if TYPE_CHECKING:
    import pyarrow as pa

# Options of requests of our own, besides those that go to the command.
_LOGIN = ("user", "ca", "insecure")
_REFUSED = ("cert", "key", "aws_sigv4", "password_file", "password_env", "api_key_file", "api_key_env", "bearer_file", "bearer_env")
_EXPLAINED_BY = 2000
"""Characters of what a bake has said last."""


def bake(df: Any, index: str, to: Iterable[str], builders: int, options: Options) -> Report:
    """See `inrush.spark.bake`."""
    check(options)
    for name in _REFUSED:
        if options.table.get(name) is not None:
            raise UsageError(f"{name} is not possible here; give user with password, api_key or bearer, or ca")
    cluster = _Cluster(next(iter(to)), options)
    before = cluster.behind(index)
    prefix = f"{index}-{uuid.uuid4().hex[:8]}"
    id_field = options.table.get("id")
    # Documents with one id are one document, so they have to come to one builder.
    parts = df.repartition(builders, id_field) if id_field is not None and "." not in id_field else df.repartition(builders)
    try:
        rows = parts.mapInArrow(_Part(prefix, list(to), options), "index string, report string").collect()
        if not rows:
            raise UsageError("there was nothing to bake: no partition has rows")
        indices = sorted(row["index"] for row in rows)
        # Of attempts that Spark has given up, or that ran beside the one that counts.
        cluster.delete(set(cluster.indices(prefix)) - set(indices))
        report = _merge([json.loads(row["report"]) for row in rows], index, indices, sum(cluster.count(name) for name in indices))
        if report.status == "check_failed":
            raise CheckFailed(report)
        cluster.publish(index, before, indices)
    except BaseException:
        cluster.delete(cluster.indices(prefix))
        raise
    return report


def _merge(reports: list[dict[str, Any]], index: str, indices: list[str], counted: int) -> Report:
    total: dict[str, Any] = {}
    for report in reports:
        total = _add(total, report)
    expected = total["docs_created"]
    if counted != expected:
        total["status"] = "check_failed"
    else:
        total["status"] = "complete" if total["docs_indexed"] == total["docs_read"] else "incomplete"
    total["verified"] = {
        "state": "yes" if counted == expected else "no",
        "detail": f"{counted} documents in {len(indices)} indices for {index}, {expected} were created",
    }
    total["dead_letters"] = None
    return Report(total)


class _Part:
    """Bakes the batches of a partition into an index of their own, and yields its name and the report."""

    def __init__(self, prefix: str, to: list[str], options: Options) -> None:
        self._prefix = prefix
        self._to = to
        self._options = options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        # Each attempt has an index of its own, so that one that was lost is never taken for one that counts.
        index = f"{self._prefix}-{context.partitionId() + 1 if context else 1}-{uuid.uuid4().hex[:6]}"
        with tempfile.TemporaryDirectory(prefix="inrush-part-") as folder:
            rows = Path(folder, "part.arrow")
            # A bake may have to read its source again, which a partition does not allow.
            if not _write(batches, rows):
                return
            report = self._bake(rows, index, Path(folder))
        yield pyarrow.record_batch({"index": [index], "report": [report]})

    def _bake(self, rows: Path, index: str, folder: Path) -> str:
        command = [sys.executable, "-m", "inrush._part", str(folder), str(os.getpid())]
        command += ["bake", str(rows), "--index", index, "--state", str(folder / "state"), "--json", "--quiet"]
        command += ["--dead-letters", str(folder / "dead.ndjson"), "--no-resume"]
        for url in self._to:
            command += ["--to", url]
        for name, value in self._options.table.items():
            if name not in ("index", "to", "dead_letters"):
                command += _flags(name, value, folder)
        secrets = {f"INRUSH_{name.upper()}": secret for name, secret in self._options.secrets.items()}
        # In a session of its own, because Spark's Python hangs up on its whole group when an executor dies, which would end it at once.
        done = subprocess.run(
            command,
            env={**os.environ, **secrets},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_ends_with_its_parent,
        )
        if done.returncode not in (0, 3):
            raise InrushError(f"the bake of {index} ended with status {done.returncode}: {done.stderr[-_EXPLAINED_BY:]}")
        return done.stdout.strip()


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


def _flags(name: str, value: Any, folder: Path) -> list[str]:
    """What the command line calls an option."""
    flag = "--" + name.replace("_", "-")
    match value:
        case None | False:
            return []
        case True:
            return [flag]
        case dict():
            file = folder / f"{name}.json"
            file.write_text(json.dumps(value))
            return [flag, str(file)]
        case list():
            return [part for item in value for part in (flag, str(item))]
    return [flag, str(value)]


def _ends_with_its_parent() -> None:
    """If the executor dies, so that its bake takes away what it has begun. Linux only; elsewhere it goes on, for nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class _Cluster:
    """The few requests of the driver's own."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        given = options.secrets
        if "api_key" in given:
            self._headers["Authorization"] = f"ApiKey {given['api_key']}"
        elif "bearer" in given:
            self._headers["Authorization"] = f"Bearer {given['bearer']}"
        elif options.table.get("user") is not None:
            login = f"{options.table['user']}:{given.get('password', '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        self._tls = ssl.create_default_context(cafile=options.table.get("ca"))
        if options.table.get("insecure"):
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/{path}", data=data, method=method, headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=120, context=self._tls if self._url.startswith("https") else None) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            if error.code == 404 and method != "POST":
                return None
            raise ClusterError(f"{method} /{path}: {error.code} {error.read()[:_EXPLAINED_BY].decode(errors='replace')}") from None

    def behind(self, name: str) -> list[str]:
        """The indices that the alias stands for now."""
        if found := self._ask("GET", f"_alias/{name}"):
            return sorted(found)
        if self._ask("GET", name) is not None:
            raise UsageError(f"{name} is an index; an alias is made of this name, so choose another one, or delete the index")
        return []

    def indices(self, prefix: str) -> list[str]:
        return [row["index"] for row in self._ask("GET", f"_cat/indices/{prefix}-*?format=json&h=index") or []]

    def delete(self, indices: Iterable[str]) -> None:
        for index in indices:
            self._ask("DELETE", index)

    def count(self, index: str) -> int:
        self._ask("POST", f"{index}/_refresh")
        return int(self._ask("GET", f"{index}/_count")["count"])

    def publish(self, alias: str, before: list[str], after: list[str]) -> None:
        """In one request, so that nobody sees a part of it."""
        actions = [{"remove": {"index": index, "alias": alias}} for index in before]
        actions += [{"add": {"index": index, "alias": alias}} for index in after]
        self._ask("POST", "_aliases", {"actions": actions})
