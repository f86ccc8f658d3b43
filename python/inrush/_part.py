"""`python -m inrush._part`: a bake of a part, in a process that outlives whoever started it by as long as it takes to tidy up.

It makes a folder and says its name on its standard output, in a line; reads the options of the bake from its standard input, in a line of JSON;
and says when that is done, in a line with its status. What the bake wrote is in the folder, in the files `OUTPUT` and `ERRORS`. When its standard
input ends it ends the bake, deletes the folder and is gone: so it ends too when the process that holds the other end is killed, at any moment."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from ._inrush import run_bake

OUTPUT = "report.json"
ERRORS = "errors.txt"
_CATCHES_SIGNALS_AFTER_S = 1.0


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Until `inrush` catches them itself.
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
            status = run_bake(options)
        except BaseException:
            traceback.print_exc()
            status = 1
        runs.clear()
        _say(parent, str(status))
        alone.join()


def _say(parent: int, line: str) -> None:
    try:
        os.write(parent, f"{line}\n".encode())
    except BrokenPipeError:
        # Nobody is there; the input has ended as well.
        pass


def _ends_with_its_input(runs: threading.Event) -> None:
    sys.stdin.read()
    # What has only just begun would be killed by it.
    time.sleep(_CATCHES_SIGNALS_AFTER_S if runs.is_set() else 0)
    if runs.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
