"""Real servers for benchmarks.

    bench/servers.py PRODUCT VERSION [SETTING…]    # runs one until stdin closes; its URL is the line of stdout

They are unpacked from the cache of the local node and the tests, started as an ordinary user on a
free port, and stopped by process id.
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "inrush"


def request(url, method="GET", body=None):
    """One JSON request; an HTTP error is an exception."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=600) as reply:
        text = reply.read()
    return json.loads(text) if text else {}


def java(least, most):
    """The newest Java home with a major version in that range."""
    found = []
    for release in pathlib.Path("/usr/lib/jvm").glob("*/release"):
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text())
        if version and least <= int(version[1]) <= most:
            found.append((int(version[1]), release.parent))
    if not found:
        raise SystemExit(f"no Java {least} to {most} in /usr/lib/jvm; run scripts/install-tools.sh")
    return max(found)[1]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def stat(path):
    """The fields of /proc/PID/stat after the name."""
    return path.read_text().rsplit(")", 1)[1].split()


def session(path):
    try:
        return int(stat(path)[3])
    except OSError:
        return None


def fetch(archive, artifact):
    """From Maven Central, as the local node and the tests do."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], check=True, stdin=subprocess.DEVNULL)
        (pathlib.Path(folder) / archive.name).rename(archive)


class Server:
    """One node with a heap of `heap_mib`.

    It is alone in its cluster unless `peers` gives the name and the transport port of each node.
    `cpus`, such as "1", pins it to processors. `settings` are further lines of its configuration,
    `java_options` further ones of its Java, `plugins` the names of plugins of OpenSearch.
    """

    def __init__(self, product, version, heap_mib=2048, cpus=None, name=None, peers=None, port=None, settings=(), java_options=(), plugins=()):
        archive = CACHE / "dist" / f"{product}-{version}.zip"
        if not archive.exists():
            fetch(archive, f"org.{product}.distribution.integ-test-zip:{product}:{version}:zip")
        self.name = f"{product}-{version}"
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="inrush-bench-", dir="/var/tmp"))
        port = port or free_port()
        more = list(settings)
        shutil.unpack_archive(archive, self.home)
        root = next(path for path in self.home.iterdir() if path.is_dir())
        for plugin in plugins:
            packed = CACHE / "dist" / f"{plugin}-{version}.0.zip"
            if not packed.exists():
                fetch(packed, f"org.opensearch.plugin:{plugin}:{version}.0:zip")
            shutil.unpack_archive(packed, root / "plugins" / plugin)
        for tool in root.glob("bin/*"):
            tool.chmod(0o755)
        settings = [f"http.port: {port}", "network.host: 127.0.0.1"]
        if peers:
            masters = "cluster.initial_cluster_manager_nodes" if product == "opensearch" else "cluster.initial_master_nodes"
            hosts = ", ".join(f"127.0.0.1:{transport}" for transport in peers.values())
            settings += [f"node.name: {name}", f"transport.port: {peers[name]}", f"discovery.seed_hosts: [{hosts}]"]
            settings += [f"{masters}: [{', '.join(peers)}]"]
        else:
            settings += ["discovery.type: single-node", "transport.port: 0"]
        if product == "elasticsearch":
            # The archives have no geoip module, and refuse an unknown setting.
            settings += ["xpack.security.enabled: false"]
        settings += ["cluster.routing.allocation.disk.threshold_enabled: false"]
        (root / "config" / f"{product}.yml").write_text("\n".join(settings + more) + "\n")
        home = java(21, 99) if product == "opensearch" and version >= "3" or product == "elasticsearch" and version >= "9" else java(17, 21)
        options = " ".join([f"-Xms{heap_mib}m -Xmx{heap_mib}m", *java_options])
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "JAVA_HOME": str(home), "OPENSEARCH_JAVA_HOME": str(home),
            "ES_JAVA_HOME": str(home), "OPENSEARCH_JAVA_OPTS": options, "ES_JAVA_OPTS": options,
        }
        # Options of the tests for each Java.
        environment |= {name: os.environ[name] for name in ["JDK_JAVA_OPTIONS"] if name in os.environ}
        user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            subprocess.run(["chown", "-R", "nobody", str(self.home)], check=True)
            user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        command = [str(root / "bin" / product)]
        if cpus:
            command = ["taskset", "-c", cpus, *command]
        self.log = open(self.home / "log", "wb")
        self.process = subprocess.Popen(
            command, env=environment, stdout=self.log, stderr=self.log, cwd=self.home, start_new_session=True, **user)
        self.url = f"http://127.0.0.1:{port}"
        # The launcher of Elasticsearch 8 stays beside its node. Looked up on first use.
        self.processes = []
        if not peers:
            try:
                self._wait()
            except BaseException:
                # The log stays.
                os.killpg(self.process.pid, signal.SIGKILL)
                raise

    def _wait(self, condition="wait_for_status=yellow"):
        until = time.monotonic() + 180
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                return request(f"{self.url}/_cluster/health?{condition}&timeout=60s")
            except OSError:
                time.sleep(0.5)
        raise SystemExit(f"{self.name} did not start; see {self.home}/log")

    def cpu_seconds(self):
        """User and system time of the node so far."""
        if not self.processes:
            self.processes = [path for path in pathlib.Path("/proc").glob("[0-9]*/stat") if session(path) == self.process.pid]
        return sum(int(field) for path in self.processes for field in stat(path)[11:13]) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Cluster:
    """Several nodes in one cluster; `cpus` has the processors of each, if they are pinned."""

    def __init__(self, product, version, nodes, heap_mib=1024, cpus=None):
        peers = {f"n{i}": free_port() for i in range(nodes)}
        cpus = cpus or [None] * nodes
        self.nodes = [Server(product, version, heap_mib, at, name, peers) for name, at in zip(peers, cpus)]
        self.name, self.url = self.nodes[0].name, self.nodes[0].url
        for node in self.nodes:
            node._wait(f"wait_for_nodes={nodes}")

    def cpu_seconds(self):
        return sum(node.cpu_seconds() for node in self.nodes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.stop()


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    product, version, *settings = sys.argv[1:]
    with Server(product, version, 1024, settings=settings) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
