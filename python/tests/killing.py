"""Finds processes to kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def descendants(root: int) -> dict[int, str]:
    """The processes below `root`, with their command lines."""
    parents, commands = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below and pid not in below}:
        below |= more
    return {pid: commands[pid] for pid in below - {root} if pid in commands}


def kill_one(when: Callable[[], bool], which: Callable[[str], bool], under_way: Callable[[], bool]) -> str:
    """Waits until `when`, then kills the first process below this one that is `which`. Fails where the work was over before."""
    end = time.monotonic() + 300
    while not when():
        assert under_way() and time.monotonic() < end, "the load was over before anything could be killed"
        time.sleep(0.02)
    for pid, command in sorted(descendants(os.getpid()).items()):
        if which(command):
            assert under_way(), "the load was over before anything was killed"
            os.kill(pid, signal.SIGKILL)
            return command
    raise AssertionError("nothing to kill was found")
