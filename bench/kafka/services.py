"""What a measurement needs besides a broker and a cluster: a database, a schema registry."""

import http.server
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from broker import schema_answer
from servers import free_port


class Postgres:
    """A database with a table `events` of `docs` rows, whose ids are texts of digits."""

    def __init__(self, docs):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            raise SystemExit("no Postgres is here; run scripts/install-tools.sh")
        programs = found[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inrush-bench-postgres-", dir="/var/tmp"))
        # Postgres refuses to run as root.
        self.user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        data = self.folder / "data"
        self._run([programs / "initdb", "-D", data, "-U", "bench", "--auth=trust", "--no-sync"])
        self.port = free_port()
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c shared_buffers=512MB"
        self.programs, self.data = programs, data
        self._run([programs / "pg_ctl", "-D", data, "-w", "-l", self.folder / "log", "-o", options, "start"])
        self._run([programs / "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-c", f"""
            CREATE TABLE events AS
            SELECT lpad(n::text, 9, '0') AS id, timestamptz '2026-01-01' + n * interval '1 second' AS at, 'customer ' || n % 10000 AS customer,
                   (n % 97) AS status, n * 7 % 100000 AS size
            FROM generate_series(0, {docs - 1}) AS n;
            ALTER TABLE events ADD PRIMARY KEY (id);
            ANALYZE events"""])

    def _run(self, command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd="/", **self.user)

    def look_up(self):
        """The value of --fetch."""
        return f"postgres://bench@127.0.0.1:{self.port}/postgres SELECT id, at, customer, status, size FROM events WHERE id = ANY($keys)"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._run([self.programs / "pg_ctl", "-D", self.data, "-m", "fast", "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)


class Registry:
    """Answers each question for a schema with that of `avro_events`."""

    def __init__(self):
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = b'["AVRO"]' if self.path == "/schemas/types" else schema_answer()
                self.send_response(200)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
