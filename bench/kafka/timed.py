"""Runs of programs with their time, processor seconds and memory."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

LOOK_EVERY_S = 0.05


class Timed:
    """One run of a program. `arrived` tells how many documents the server has."""

    def __init__(self, command, arrived=None, docs=None, is_endless=False, timeout=900, environment=None):
        self.peak_kib = self.anonymous_kib = 0
        self.first_s = self.last_s = None
        # (seconds, documents at the server, resident KiB without pages of files)
        self.samples = []
        with tempfile.TemporaryDirectory(prefix="inrush-bench-run-", dir="/var/tmp") as folder:
            out, errors = (open(pathlib.Path(folder) / name, "w+") for name in ("out", "errors"))
            started = time.monotonic()
            child = subprocess.Popen(command, stdout=out, stderr=errors, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True, env={**os.environ, **(environment or {})})
            try:
                self._watch(child.pid, started, arrived, docs, is_endless, timeout)
                child.returncode = self.exit
            finally:
                # Nothing runs on where the measurement was broken off.
                if child.returncode is None:
                    child.kill()
                    child.wait()
            out.seek(0)
            errors.seek(0)
            self.out, self.errors = out.read(), errors.read()
            out.close()
            errors.close()

    def _watch(self, pid, started, arrived, docs, is_endless, timeout):
        asked = False
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            self.seconds = time.monotonic() - started
            if done:
                break
            self._memory(pid)
            now = arrived() if arrived else 0
            self.samples.append((self.seconds, now, self.anonymous_now))
            if now and self.first_s is None:
                self.first_s = self.seconds
            if docs and now >= docs and self.last_s is None:
                self.last_s = self.seconds
            if not asked and (self.seconds > timeout or (is_endless and self.last_s is not None)):
                os.kill(pid, signal.SIGTERM)
                asked = True
            elif asked and self.seconds > timeout + 30:
                os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S)
        self.exit = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime

    def _memory(self, pid):
        try:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            text = ""
        found = {name: int(kib) for name, kib in re.findall(r"(VmHWM|RssAnon|RssShmem):\s+(\d+)", text)}
        self.anonymous_now = found.get("RssAnon", 0) + found.get("RssShmem", 0)
        self.anonymous_kib = max(self.anonymous_kib, self.anonymous_now)
        self.peak_kib = max(self.peak_kib, found.get("VmHWM", 0))
