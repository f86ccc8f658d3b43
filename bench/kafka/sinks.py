"""The compared ways from a topic into a cluster: the command of each, and its settings.

Kafka Connect's sinks for OpenSearch and Elasticsearch, Logstash and Vector were not found in the
package registries, so they are not here.
"""

import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "peers"))
from servers import CACHE, java
from tools import release

INSTALLED = CACHE / "sinks"


@dataclasses.dataclass(frozen=True)
class Sink:
    """`command` gets the broker's address, the topic, the group, the cluster's URL, the index and
    the folder of the files. `is_endless`: it does not end with the topic."""

    name: str
    command: object
    is_endless: bool = False


def load(source, url, index, *more):
    return [release("inrush"), "load", source, "--index", index, "--to", url, "--quiet", "--json", "--no-verify", *more]


def topic(*more):
    """A member without a name, so that the next run need not wait for it."""
    return lambda broker, topic, group, url, index, folder: load(
        f"kafka://{broker}/{topic}", url, index, "--group", group, "--member", "", "--until", "latest", *more)


def file(*more):
    return lambda broker, topic, group, url, index, folder: load(f"{folder}/{topic}.ndjson", url, index, "--id", "id", *more)


def program(name, main, *setting):
    def command(broker, topic, group, url, index, folder):
        home = INSTALLED / name
        heap = ["-Xmx1g"]
        return [str(java(17, 21) / "bin/java"), *heap, *opened(name), "-cp", f"{home}/{name}-1.jar:{home}/lib/*", main, broker, topic, group, url, index, *map(str, setting)]

    return command


def opened(name):
    # Flink's serializers look into classes of the JDK.
    return ["--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED"] if name == "flink" else []


INRUSH = Sink("inrush", topic())
FILE = Sink("inrush, file", file())
OTHERS = [
    Sink(f"consumer + opensearch-java {operations}x{concurrent}", program("consumer", "sinks.ConsumerIngester", operations, concurrent), True)
    for operations, concurrent in ((1000, 4), (5000, 4))
] + [
    Sink(f"flink {operations}x{tasks}", program("flink", "sinks.FlinkJob", operations, tasks), True)
    for operations, tasks in ((1000, 2), (5000, 2))
]


def installed():
    """The others that `install.sh` has built."""
    return [sink for sink in OTHERS if (INSTALLED / sink.name.split()[0] / "lib").is_dir()]
