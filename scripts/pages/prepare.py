"""Makes what the commands of the pages read: files, a web server's files, indices and topics."""

from __future__ import annotations

import base64
import gzip
import json
import pathlib
import subprocess
import urllib.request
from typing import Any

TRIPS = "id,from,to,miles\n1,JFK,LAX,2475\n2,EWR,SFO,NA\n3,LGA,ORD,733\n"
DEAD_LETTER = {
    "index": "customers",
    "error": {"status": 429, "type": "t", "reason": "r"},
    "position": {},
    "action": {"index": {}},
    "document": {"message": "again"},
}
# The files of each page's folder. Those below `data` and `web` are shared.
FILES = {
    "customers.csv": "customer_no,name\n0001,Ada\n0002,Grace\n",
    "trips.csv": TRIPS,
    "flights.csv": TRIPS,
    "access.log": "GET /\nGET /favicon.ico\n",
    "logs/a.ndjson": '{"message":"hello 1"}\n{"message":"hello 2"}\n',
    "works/a.ndjson": '{"id":1,"title":"A Figure","artist":38}\n{"id":2,"title":"Two Drawings","artist":7}\n',
    "artists.csv": "artist,name\n38,Blake\n7,Linnell\n",
    "dump.json": '{"_index":"shop","_id":"0001","_source":{"name":"lamp"}}\n',
    "key": base64.b64encode(b"secret:key").decode() + "\n",
    "inrush-dead-letters-0123456789ab.ndjson": json.dumps(DEAD_LETTER) + "\n",
    "job.toml": 'sources = ["customers.csv"]\nindex = "customers-by-job"\nid = "customer_no"\n',
    "sales.sql": "SELECT sale AS id, min(town) AS town, count(*) AS lots FROM input GROUP BY sale ORDER BY id\n",
}
INDICES = {
    "trips": [{"miles": 2475, "at": "2026-02-01"}, {"miles": 733, "at": "2026-03-01"}],
    "shop": [{"name": "lamp", "price": 12.5}, {"name": "chair", "price": 49}],
    "logs-2026": [{"message": "hello", "@timestamp": "2026-01-02"}],
}
ORDERS = [("a1", {"customer": "Ada", "total": 12.5}), ("a2", {"customer": "Grace", "total": 7}), ("a1", {"customer": "Ada", "total": 14})]
TOPICS = ("orders", "orders-dead", "orders-dead-2")


def files(folder: pathlib.Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "key").chmod(0o600)


def shared(work: pathlib.Path) -> None:
    for folder in ("data", "state", "web/export"):
        (work / folder).mkdir(parents=True)
    (work / "data/orders.ndjson.gz").write_bytes(gzip.compress(b'{"order_no":1}\n{"order_no":2}\n'))
    (work / "web/export/trips.csv.gz").write_bytes(gzip.compress(TRIPS.encode()))
    (work / "web/download").write_text('{"id":7}\n')


def indices(url: str) -> None:
    lines: list[Any] = []
    for index, documents in INDICES.items():
        for number, document in enumerate(documents, 1):
            lines += [{"index": {"_index": index, "_id": f"{index[0]}{number}"}}, document]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    request = urllib.request.Request(f"{url}/_bulk?refresh=true", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert not json.load(reply)["errors"], "the documents of the old cluster"


def topics(broker: str) -> None:
    # Only pages about Kafka need the client.
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics([NewTopic(topic, 2) for topic in TOPICS]).values():
        made.result(timeout=60)
    producer = Producer({"bootstrap.servers": broker})
    for key, value in ORDERS:
        producer.produce("orders", json.dumps(value), key)
    assert producer.flush(60) == 0, "the records of the topic"


def parquet(inrush: str, folder: pathlib.Path) -> None:
    subprocess.run([inrush, "convert", "artists.csv", "artists.parquet"], cwd=folder, check=True, capture_output=True)
