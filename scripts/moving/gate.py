"""A door in front of a cluster: HTTPS with a certificate of its own, and a login."""

from __future__ import annotations

import base64
import contextlib
import http.client
import http.server
import pathlib
import ssl
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator

USER, PASSWORD, KEY = "ada", "secret", "a2V5OnNlY3JldA=="
LOGINS = {f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}", f"ApiKey {KEY}"}
# Headers of one connection, and those that are written anew.
OWN = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "authorization"}


class Gate(http.server.BaseHTTPRequestHandler):
    """Refuses requests without a login, and passes the others on."""

    protocol_version = "HTTP/1.1"
    behind = ""

    def pass_on(self) -> None:
        body = self.body()
        if self.headers.get("Authorization") not in LOGINS:
            return self.reply(401, [("WWW-Authenticate", "Basic"), ("Content-Type", "application/json")], b'{"error":"who are you?","status":401}')
        headers = {name: value for name, value in self.headers.items() if name.lower() not in OWN}
        cluster = http.client.HTTPConnection(urllib.parse.urlsplit(self.behind).netloc, timeout=60)
        with contextlib.closing(cluster):
            cluster.request(self.command, self.path, body or None, headers)
            answer = cluster.getresponse()
            self.reply(answer.status, [pair for pair in answer.getheaders() if pair[0].lower() not in OWN], answer.read())

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = pass_on

    def body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def opened(behind: str, folder: pathlib.Path) -> Iterator[str]:
    """The address of a gate in front of a cluster. Its certificate is gate.pem in the folder."""
    key, certificate = folder / "gate.key", folder / "gate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Before", (Gate,), {"behind": behind}))
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://localhost:{server.server_port}"
    finally:
        server.shutdown()
