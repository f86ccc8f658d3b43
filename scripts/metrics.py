"""The steps of scripts/metrics.sh. Its argument is the folder of the programs."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as read_text

PROGRAMS = pathlib.Path(sys.argv[1])
TOKEN = "metrics-test-0123456789"
DOCS = 60_000
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# What happens to requests: refusals because of load, a lost answer, documents that are no good.
FAULTS = """
[[rules]]
fault = "item_rejected"
probability = 0.002
[[rules]]
fault = "reset_after_applying"
probability = 0.02
[[rules]]
fault = "item_bad_request"
ids = ["7", "77", "777"]
"""
# Buckets of the report by the label `outcome`.
OUTCOMES = (
    "created updated deleted noop not_found already_there conflicting dropped redirected superseded "
    "dead_lettered unknown"
).split()


def get(url: str, accept: str = "*/*", token: str | None = TOKEN) -> str:
    request = urllib.request.Request(url, headers={"Accept": accept})
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode()


def parsed(text: str) -> dict[tuple, float]:
    """The samples of a text in OpenMetrics, by name and labels."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, f"{family.name} has no help"
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def is_counter(name: str) -> bool:
    return name.endswith(("_total", "_bucket", "_count", "_sum"))


def check_order(scrapes: list[dict[tuple, float]]) -> None:
    for earlier, later in zip(scrapes, scrapes[1:]):
        for key, value in earlier.items():
            if is_counter(key[0]):
                assert later.get(key, -1) >= value, f"{key} fell from {value} to {later.get(key)}"


def check_report(last: dict[tuple, float], report: dict) -> None:
    def of(name: str, **labels: str) -> float:
        return last[(name, tuple(sorted({"load": "docs", **labels}.items())))]

    for outcome in OUTCOMES:
        assert of("inrush_documents_total", outcome=outcome) == report[f"docs_{outcome}"], outcome
    for name, key in [
        ("inrush_requests_total", "requests"),
        ("inrush_sent_bytes_total", "bytes_sent"),
        ("inrush_read_bytes_total", "bytes_read"),
        ("inrush_retried_documents_total", "retried_items"),
        ("inrush_rejected_documents_total", "rejected_items"),
        ("inrush_possible_duplicates_total", "possible_duplicates"),
    ]:
        assert of(name) == report[key], f"{name}: {of(name)} and {report[key]}"
    for error in report["errors"]:
        assert of("inrush_dead_letters_total", type=error["type"]) >= error["count"], error
    assert of("inrush_load_phase", inrush_load_phase="done") == 1
    assert of("inrush_load_exit_status") == 3


class Collector(http.server.ThreadingHTTPServer):
    """Reads export requests by the definition of OTLP, which knows all keys."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        self.problems: list[str] = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    assert self.path == "/v1/metrics", self.path
                    collector.requests.append(json_format.Parse(body, ExportMetricsServiceRequest()))
                except Exception as problem:
                    collector.problems.append(str(problem))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def check(self, report: dict) -> None:
        assert not self.problems and len(self.requests) > 2, (self.problems, len(self.requests))
        (resource,) = self.requests[-1].resource_metrics
        names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
        assert names["service.name"] == "inrush", names
        metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
        documents = metrics["inrush_documents"].sum
        assert documents.is_monotonic and documents.aggregation_temporality == 2
        assert sum(point.as_double for point in documents.data_points) == report["docs_read"]
        times = metrics["inrush_request_duration_seconds"].histogram.data_points[0]
        assert sum(times.bucket_counts) == times.count > 0
        assert len(times.bucket_counts) == len(times.explicit_bounds) + 1


def prometheus(folder: pathlib.Path, page: str) -> tuple[subprocess.Popen, str]:
    """A server that scrapes the page each second, and its address."""
    (folder / "token").write_text(TOKEN)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(pathlib.Path("examples/metrics/alerts.yml").resolve())],
        "scrape_configs": [
            {
                "job_name": "inrush",
                "authorization": {"credentials_file": str(folder / "token")},
                "static_configs": [{"targets": [page]}],
            }
        ],
    }
    # JSON is YAML.
    (folder / "prometheus.yml").write_text(json.dumps(config))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    return subprocess.Popen(command), f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def query(server: str, expression: str) -> list[dict]:
    url = f"{server}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    return json.loads(get(url, token=None))["data"]["result"]


def until(what: str, found):
    """The first result of `found` that is something."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            result = found()
        except OSError:
            result = None
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"not after 60 s: {what}")


def run(folder: pathlib.Path, started: list[subprocess.Popen]) -> None:
    (folder / "faults.toml").write_text(FAULTS)
    fake_command = [PROGRAMS / "inrush-fake", "cluster", "--faults", folder / "faults.toml"]
    fake = subprocess.Popen(fake_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started.append(fake)
    to = fake.stdout.readline().strip()
    with (folder / "a.ndjson").open("w") as file:
        for n in range(DOCS):
            file.write(json.dumps({"id": str(n), "text": "x" * 100}) + "\n")
    (folder / "token").write_text(TOKEN)
    load = [PROGRAMS / "inrush", "load", "a.ndjson", "--index", "docs", "--id", "id", "--to", to, "--json"]
    load += ["--max-rate", "8000docs", "--page", "--page-token-file", "token", "--textfile", "."]
    collector = Collector()
    load += [f"--otlp={collector.url}"]
    environment = {**os.environ, "OTEL_METRIC_EXPORT_INTERVAL": "1000"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    run = subprocess.Popen(load, cwd=folder, env=environment, **pipes)
    started.append(run)
    page = next(line for line in run.stderr if line.startswith("live page: ")).split()[2].rstrip("/;")
    server = None
    if shutil.which("prometheus"):
        process, server = prometheus(folder, page.removeprefix("http://"))
        started.append(process)
        until("a scrape", lambda: query(server, 'up{job="inrush"} == 1'))
    scrapes = []
    while run.poll() is None:
        try:
            scrapes.append(parsed(get(f"{page}/metrics", OPENMETRICS)))
        except OSError:
            break
        time.sleep(0.3)
    report = json.loads(run.communicate()[0])
    check_order(scrapes)
    assert len(scrapes) > 5, len(scrapes)

    # The file has the figures at the end, in the older format.
    text = (folder / "inrush-docs.prom").read_text()
    at_end = {}
    for family in read_text(text):
        for sample in family.samples:
            at_end[(sample.name, tuple(sorted(sample.labels.items())))] = sample.value
    check_report(at_end, report)
    check_order([scrapes[-1], at_end])

    collector.check(report)
    if server:
        check_server(server, report)
    with_server = "and Prometheus " if server else ""
    print(f"metrics: {len(scrapes)} scrapes {with_server}agree with the report, in {len(at_end)} series")


def check_server(server: str, report: dict) -> None:
    """Prometheus has the figures of a second before the end, and none of its rules is wrong."""
    documents = 'sum(max_over_time(inrush_documents_total{load="docs"}[5m]))'
    found = float(query(server, documents)[0]["value"][1])
    assert 0 < found <= report["docs_read"], found
    rules = json.loads(get(f"{server}/api/v1/rules", token=None))["data"]["groups"][0]["rules"]
    assert all(rule["health"] == "ok" for rule in rules), rules
    # Every expression of the dashboard is one that Prometheus takes.
    board = json.loads(pathlib.Path("examples/metrics/dashboard.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$load", ".*")
            query(server, expression)


def main() -> None:
    started: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory(prefix="inrush-metrics.") as folder:
        try:
            run(pathlib.Path(folder), started)
        finally:
            for process in started:
                process.kill()
                process.wait()


main()
