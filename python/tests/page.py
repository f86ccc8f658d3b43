"""The live page of a load, as a viewer reads it."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from types import TracebackType
from typing import Any


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
        return str(reply.read().decode())


def snapshot(port: int) -> dict[str, Any]:
    """The only load of the page."""
    (load,) = json.loads(get(port, "/snapshot"))["loads"]
    return dict(load)


class Viewer:
    """Looks at the page ten times a second, as long as it is there. `last` is what it saw last of a load with parts."""

    def __init__(self, port: int) -> None:
        self.last: dict[str, Any] | None = None
        self._port = port
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            try:
                load = snapshot(self._port)
            except (OSError, ValueError):
                continue
            if load["state"].get("parts"):
                self.last = load

    def __enter__(self) -> Viewer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()
