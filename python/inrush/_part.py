"""`python -m inrush._part`: bakes one part, in a process that cleans up even if its parent process is killed.

The process creates a folder and prints its name on standard output, in a line. It reads the options of the bake from
standard input, in a line of JSON, and the page of its job from the environment, and prints a line with the status when the bake has ended. The output of the bake is in the
folder, in the files `OUTPUT` and `ERRORS`. When standard input ends, which is also the case if the parent is killed, the
process ends the bake, deletes the folder and exits."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from ._inrush import run_bake
from ._job import PAGE

PAGE_VARIABLE = f"INRUSH_{PAGE.upper()}"
NAME_VARIABLE = "INRUSH_JOB_PART"
OUTPUT = "report.json"
ERRORS = "errors.txt"
_CATCHES_SIGNALS_AFTER_S = 1.0


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Until `inrush` handles the signals itself.
        signal.signal(number, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(prefix="inrush-part-") as folder:
        parent = os.dup(sys.stdout.fileno())
        _say(parent, folder)
        options = sys.stdin.readline()
        if not options:
            return
        for stream, name in ((sys.stdout, OUTPUT), (sys.stderr, ERRORS)):
            file = os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT)
            os.dup2(file, stream.fileno())
            os.close(file)
        runs = threading.Event()
        runs.set()
        alone = threading.Thread(target=_ends_with_its_input, args=[runs])
        alone.start()
        try:
            status = run_bake(options, _job())
        except BaseException:
            traceback.print_exc()
            status = 1
        runs.clear()
        _say(parent, str(status))
        alone.join()


def _job() -> tuple[str, str, str, str] | None:
    """The page of the job, if it has one, with the name and the machine of this part."""
    page = os.environ.pop(PAGE_VARIABLE, None)
    if page is None:
        return None
    url, token = json.loads(page)
    return url, token, os.environ.get(NAME_VARIABLE, ""), socket.gethostname()


def _say(parent: int, line: str) -> None:
    try:
        os.write(parent, f"{line}\n".encode())
    except BrokenPipeError:
        # The reader has gone, so the input has ended, too.
        pass


def _ends_with_its_input(runs: threading.Event) -> None:
    sys.stdin.read()
    # A signal would kill a bake that has only just begun.
    time.sleep(_CATCHES_SIGNALS_AFTER_S if runs.is_set() else 0)
    if runs.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
