"""The few requests to a cluster from Python: those of a driver before and after the bakes of its executors."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any

from ._errors import ClusterError, InrushError, UsageError
from ._options import Options

_EXPLAINED_BY = 2000
"""The most characters of a cluster's answer in an error."""
_PATIENCE_S = 300.0
_PAUSE_S = 1.0
_TRIES_MAX = 5
_PASSING = (429, 502, 503, 504)


class _NoAnswer(ClusterError):
    """The cluster did not answer, or was not able to. It may have executed the request nevertheless."""


class Cluster:
    """A cluster by the addresses of its nodes. If a node does not answer, the next one is tried, for some minutes."""

    def __init__(self, urls: Iterable[str], options: Options) -> None:
        self._urls = [url.rstrip("/") for url in urls]
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

    def behind(self, name: str, patience: float = _PATIENCE_S) -> list[str]:
        """The indices behind the alias now, which no index may have as its name."""
        if found := self.with_alias(name, patience):
            return found
        if self._ask("GET", name, patience=patience) is not None:
            raise UsageError(f"{name} is an index, but it has to be the name of an alias; choose another name, or delete the index")
        return []

    def with_alias(self, name: str, patience: float = _PATIENCE_S) -> list[str]:
        """The indices that have the alias now."""
        return sorted(self._ask("GET", f"_alias/{name}", patience=patience) or [])

    def indices(self, prefix: str) -> list[str]:
        return [row["index"] for row in self._ask("GET", f"_cat/indices/{prefix}-*?format=json&h=index") or []]

    def delete(self, indices: Iterable[str]) -> None:
        for index in indices:
            self._ask("DELETE", index)

    def count(self, index: str) -> int:
        self._ask("POST", f"{index}/_refresh")
        return int(self._ask("GET", f"{index}/_count")["count"])

    def publish(self, alias: str, before: list[str], after: list[str]) -> None:
        """Moves the alias in one atomic request. If there is no answer, asks the cluster whether the alias was moved."""
        problem: InrushError | None = None
        for _ in range(_TRIES_MAX):
            try:
                self._ask("POST", "_aliases", moving(alias, before, after), patience=0)
                return
            except ClusterError as error:
                problem = error
            time.sleep(_PAUSE_S)
            try:
                now = self.behind(alias)
            except InrushError as error:
                problem = error
                break
            if now == after:
                return
            if not isinstance(problem, _NoAnswer) or now != before:
                break
        raise ClusterError(f"{problem}; it is unknown whether the alias {alias} points to {', '.join(after)}, which are kept: see GET /_alias/{alias}")

    def _ask(self, method: str, path: str, body: Any = None, patience: float = _PATIENCE_S) -> Any:
        end = time.monotonic() + patience
        turn = 0
        while True:
            try:
                return self._once(self._urls[turn % len(self._urls)], method, path, body)
            except _NoAnswer:
                if time.monotonic() >= end:
                    raise
            turn += 1
            time.sleep(_PAUSE_S)

    def _once(self, url: str, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{url}/{path}", data=data, method=method, headers=self._headers)
        what = f"{method} {url}/{path}"
        try:
            with urllib.request.urlopen(request, timeout=120, context=self._tls if url.startswith("https") else None) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            if error.code == 404 and method != "POST":
                return None
            kind = _NoAnswer if error.code in _PASSING else ClusterError
            raise kind(f"{what}: {error.code} {error.read()[:_EXPLAINED_BY].decode(errors='replace')}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A wrong certificate stays wrong, so there is no retry.
            is_refused = isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)
            raise (ClusterError if is_refused else _NoAnswer)(f"{what}: {error}") from None


def moving(alias: str, before: list[str], after: list[str]) -> dict[str, Any]:
    """The body of `POST _aliases` that takes an alias off indices and puts it on others."""
    actions = [{"remove": {"index": index, "alias": alias}} for index in before]
    return {"actions": actions + [{"add": {"index": index, "alias": alias}} for index in after]}
