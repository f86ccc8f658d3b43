"""A Kafka broker for measurements, and the records of its topics."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from servers import session, stat

SCRIPT = pathlib.Path(__file__).parent.parent.parent / "scripts/kafka.sh"
PATHS = ["/images/logo.png", "/index.html", "/api/v1/items", "/search?q=bulk", "/download/file.zip"]
# The fields of a record, in their order.
AVRO = {
    "type": "record", "name": "Event",
    "fields": [{"name": name, "type": kind} for name, kind in (("id", "string"), ("at", "string"), ("ip", "string"), ("path", "string"), ("status", "int"), ("size", "int"))],
}


class Broker:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inrush-bench-kafka-", dir="/var/tmp"))
        self.process = subprocess.Popen([SCRIPT, self.folder / "broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"the broker does not start; see {self.folder}")

    def create(self, topic, partitions):
        admin = AdminClient({"bootstrap.servers": self.address})
        for made in admin.create_topics([NewTopic(topic, partitions)]).values():
            made.result(timeout=60)

    def fill(self, topic, records, compression="none"):
        """Appends pairs of key and value. Records of one key are in one partition."""
        producer = Producer({"bootstrap.servers": self.address, "compression.type": compression, "linger.ms": 50, "batch.size": 1 << 20, "enable.idempotence": True,
                             "partitioner": "murmur2_random"})
        for key, value in records:
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:
                    producer.poll(0.1)
        if left := producer.flush(300):
            raise SystemExit(f"{left} records of {topic} were not written")

    def cpu_seconds(self):
        """User and system time of the broker so far, without processes that have ended."""
        processes = [path for path in pathlib.Path("/proc").glob("[0-9]*/stat") if session(path) == self.process.pid]
        return sum(int(field) for path in processes for field in stat(path)[11:13]) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The script ends the broker when its input is closed.
        self.process.stdin.close()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


def fields(dice, n, key):
    at = f"2026-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:{(n // 7) % 60:02}Z"
    ip = f"{10 + n % 200}.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(256)}"
    return key, at, ip, PATHS[n % 5], (200, 200, 200, 304, 404)[n % 5], dice.randrange(100, 100_000)


def value(dice, n, key):
    """JSON of about 130 bytes."""
    return '{"id":"%s","at":"%s","ip":"%s","path":"%s","status":%d,"size":%d,"agent":"curl"}' % fields(dice, n, key)


def events(docs, has_keys=True):
    """A record for each of `docs` keys, or without keys."""
    dice = random.Random(1)
    for n in range(docs):
        key = f"{n:09}"
        yield key if has_keys else None, value(dice, n, key)


def changes(events, keys, order):
    """Records over fewer keys: `any` draws each key from all keys, `close` from 434 of a block."""
    dice = random.Random(2)
    per_block = 434
    blocks = max(1, keys // per_block)
    for n in range(events):
        number = dice.randrange(keys) if order == "any" else n * blocks // events * per_block + dice.randrange(per_block)
        key = f"{number:09}"
        yield key, value(dice, n, key)


def avro_events(docs, schema):
    """Avro with the id of its schema in front, as Confluent's serializers write it."""
    dice = random.Random(1)
    begin = b"\0" + schema.to_bytes(4, "big")
    for n in range(docs):
        key = f"{n:09}"
        yield key, begin + b"".join(text(field) if isinstance(field, str) else number(field) for field in fields(dice, n, key))


def number(value):
    """A number that is not negative, as Avro writes it."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value):
    encoded = value.encode()
    return number(len(encoded)) + encoded


def schema_answer():
    """The answer of a schema registry for the schema of `avro_events`."""
    return json.dumps({"schema": json.dumps(AVRO)}).encode()
