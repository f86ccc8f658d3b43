"""A real Kafka broker."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SCRIPT = Path(__file__).parent.parent.parent / "scripts/kafka.sh"
PARTITIONS = 2


class Broker:
    def __init__(self, address: str) -> None:
        self.address = address
        self._config = {"bootstrap.servers": address}

    def create(self, topic: str) -> str:
        """Makes an empty topic. Returns its address as a source."""
        admin = AdminClient(self._config)
        for made in admin.create_topics([NewTopic(topic, PARTITIONS)]).values():
            made.result(timeout=60)
        return f"kafka://{self.address}/{topic}"

    def produce(self, topic: str, records: Mapping[str, str | None]) -> None:
        """Appends records; None is a record without a value."""
        producer = Producer(self._config)
        for key, value in records.items():
            producer.produce(topic, value, key)
        assert producer.flush(60) == 0

    def committed(self, topic: str, group: str) -> int:
        """The sum of the offsets that the group has committed."""
        consumer = Consumer({**self._config, "group.id": group})
        offsets = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], timeout=60)
        consumer.close()
        return sum(max(0, offset.offset) for offset in offsets)


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Broker]:
    process = subprocess.Popen([SCRIPT, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        address = process.stdout.readline().strip()
        assert address, f"the broker does not start; see {folder}"
        yield Broker(address)
    finally:
        # The script ends the broker when its input is closed.
        process.stdin.close()
        process.wait(timeout=60)
