"""Command lines of other loaders, whose documents are compared with those of the translations."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a-1", "n": 1, "f": 1.5, "doc": {"id": "x/1", "tags": ["red", "blue"]}, "text": "é <b>&amp;</b> \u2028 \"quoted\" \\"},
    {"id": "a-2", "n": 2, "f": -0.25, "doc": {"id": "x 2", "tags": []}, "text": "", "nothing": None},
    {"id": "ü-3", "n": 3, "f": 100.0, "doc": {"id": "3"}, "text": "tab\tand\nline", "yes": True},
    {"id": "a-4", "n": 9007199254740991, "f": 1e-7, "doc": {"id": "4", "deep": {"er": [{"a": 1}, {"a": 2}]}}, "text": "no"},
]
# With numbers beyond those of JavaScript, and spaces that no program writes.
ODD_LINES = '{"id":"b-1", "n": 9223372036854775807 , "f":0.1000}\n\n   \n{"id":"b-2","n":9007199254740993,"text":"\\u00e9\\/"}  \r\n'
ROWS = [
    ["sku", "name", "price", "note"],
    ["0001", "lamp", "12.50", 'the "best"'],
    ["0002", "chair, red", "49", "two\nlines"],
    ["0003", " table ", "true", "é; 'x'"],
]


@dataclass
class Case:
    """One run of a loader, and one of the command that it is translated into.

    In the arguments {url} is the address of the cluster, {gate} that of a gate with a login,
    {index} the name of the index, {host} the address without its scheme.
    """

    flags: str
    """The flags that it is an example of, as the table of flags names them."""
    arguments: list[str]
    also: list[str] = field(default_factory=list)
    """What the notes tell to add to the command."""
    before: list[dict[str, Any]] = field(default_factory=list)
    """Documents that are in the index before, by their field id."""
    stdin: str | None = None
    """A file that both read as standard input."""
    ids: bool = True
    """Whether the loader gives ids; without, the cluster makes them."""
    without: list[str] = field(default_factory=list)
    """Fields that the page says only one of both has."""
    empty: bool = False
    """Whether the page says that only the loader keeps empty cells."""
    index_too: bool = False
    """Whether the mappings of the indices are the same, too."""
    exits: int = 0
    """The exit status of the translation; that of a loader is as it is."""
    loader_fails: bool = False
    """Whether the loader ends with an error after its documents."""
    environment: dict[str, str] = field(default_factory=dict)


def lines(documents: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def table(rows: list[list[str]], separator: str = ",", quote: str = '"') -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quotechar=quote, lineterminator="\n").writerows(rows)
    return text.getvalue()


def hits(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    routed = {1: {"_routing": "north"}, 2: {"routing": "south"}}
    return [{"_index": "old", "_id": document["id"], "_source": document, **routed.get(at, {})} for at, document in enumerate(documents)]


def files(folder: pathlib.Path) -> None:
    """The files that the commands read."""
    own_ids = [{"_id": f"own {at}", **document} for at, document in enumerate(DOCUMENTS)]
    plain = lines(DOCUMENTS)
    texts = {
        "docs.ldj": plain,
        "docs.ndjson": plain,
        "more.ndjson": lines([{**document, "id": "m" + document["id"]} for document in DOCUMENTS]),
        "odd.ldj": ODD_LINES,
        "odd.ndjson": ODD_LINES.replace("\n\n   \n", "\n"),
        # A program that reads lines of JSON does not look at the name.
        **{f"docs.{end}": plain for end in ("txt", "log", "csv", "tsv", "dat", "parquet")},
        "docs": plain,
        "lines.json": plain,
        "docs.jsonl": plain,
        "one.json": json.dumps(DOCUMENTS[0], indent=2),
        "own.ndjson": lines(own_ids),
        "broken.ldj": '{"id":"ok","n":1}\n{"id":"broken"\n{"id":"ok 2","n":2}\n',
        "reply.json": json.dumps({"took": 1, "hits": {"total": 4, "hits": DOCUMENTS}}),
        "split-own.json": json.dumps({"a.b": {"c/d": own_ids}}),
        "mapping.json": json.dumps({"properties": {"id": {"type": "keyword"}, "n": {"type": "unsigned_long"}, "doc": {"enabled": False}}}),
        "doc-mapping.json": json.dumps({"properties": {"doc": {"enabled": False}}}),
        "config.json": json.dumps({"settings": {"number_of_shards": 2}, "mappings": {"properties": {"id": {"type": "keyword"}}}}),
        "settings.json": json.dumps({"number_of_shards": 2}),
        "config-mapping.json": json.dumps({"properties": {"id": {"type": "keyword"}}}),
        "mark.json": json.dumps({"processors": [{"set": {"field": "marked", "value": "{{id}}"}}]}),
        "dump.json": lines(hits(DOCUMENTS)),
        "odd-dump.json": "".join('{"_id":"%d","_source":%s}\n' % (at, line) for at, line in enumerate(filter(str.strip, ODD_LINES.splitlines()))),
        "twice.ldj": plain + lines([{**document, "again": True} for document in DOCUMENTS]),
        "indented.json": "\n".join(json.dumps(hit, indent=2) for hit in hits(DOCUMENTS)),
        "rows.csv": table(ROWS),
        "empty.csv": table([*ROWS, ["0004", "", "", ""]]),
        "semicolon.csv": table(ROWS, ";"),
        "tab.csv": table(ROWS, "\t"),
        "quote.csv": table(ROWS, quote="'"),
        "bare.csv": table(ROWS[1:]),
        "marked.csv": "\ufeff" + table(ROWS).replace("\n", "\r\n"),
        "meta.csv": table([["@id", "@index", "@type", "name"], ["k 1", "old", "_doc", "lamp"], ["k 2", "old", "_doc", "chair"]]),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name in ("docs.ldj", "docs.ndjson", "rows.csv", "dump.json"):
        (folder / f"{name}.gz").write_bytes(gzip.compress(texts[name].encode()))


def esbulk() -> list[Case]:
    def case(flags: str, *arguments: str, file: str | None = "docs.ldj", **more: Any) -> Case:
        server = () if "server" in flags else ("-server", "{url}")
        behind = () if file is None else (file,)
        return Case(flags, [*server, "-index", "{index}", *arguments, *behind], **more)

    old = [{"id": "a-1", "n": "old", "kept": 1}, {"id": "z", "n": 0}]
    login = {"INRUSH_PASSWORD": "secret"}
    return [
        case("-server -index", "-server", "{url}", ids=False),
        case("-server", "-server", "{host}", "-id", "id"),
        case("-server", "-server", "{url}", "-server", "{host}", "-id", "id"),
        case("-index", "-id", "id", file=None, stdin="docs.ldj"),
        case("-id", "-id", "id", file="odd.ldj"),
        case("-id -w", "-id", " id", "-w", "1", file="twice.ldj"),
        case("-id", "-id", "doc.id"),
        case("-id", "-id", "n"),
        case("-id", "-id", "f"),
        case("-id", "-id", "_id", file="own.ndjson"),
        case("-optype", "-id", "id", "-optype", "create", before=old, loader_fails=True, exits=3),
        case("-optype", "-id", "id", "-optype", "update", before=old),
        case("-optype", "-id", "id", "-optype", "index", before=old),
        case("-purge -purge-pause", "-id", "id", "-purge", "-purge-pause", "0s", before=old),
        case("-purge", "-id", "id", "-purge=false", before=old),
        case("-mapping", "-id", "id", "-mapping", "mapping.json", index_too=True),
        case("-mapping", "-id", "id", "-mapping", '{"properties":{"id":{"type":"keyword"},"n":{"type":"unsigned_long"},"doc":{"enabled":false}}}', index_too=True),
        case("-c", "-id", "id", "-c", "config.json", also=["--settings", "settings.json", "--mapping", "config-mapping.json"], index_too=True),
        case("-mapping", "-id", "id", "-mapping", "doc-mapping.json", before=old),
        case("-purge -mapping", "-id", "id", "-purge", "-mapping", "mapping.json", before=old, index_too=True),
        case("-c", "-id", "id", "-c", "config.json", before=old, index_too=True),
        case("-p", "-id", "id", "-p", "mark"),
        case("-p -optype", "-id", "id", "-p", "mark", "-optype", "create"),
        case("-p -optype", "-id", "id", "-p", "mark", "-optype", "update", before=old),
        case("-optype", "-optype", "create", before=old[1:], ids=False),
        case("-z", "-z", "-id", "id", file=None, stdin="docs.ldj.gz"),
        case("-server -u -k", "-server", "{gate}", "-u", "ada:secret", "-k", "-id", "id", environment=login),
        case("-server -k", "-server", "{gate_with_login}", "-k", "-id", "id", environment=login),
        case("-server -apikey -k", "-server", "{gate}", "-apikey", "a2V5OnNlY3JldA==", "-k", "-id", "id", environment={"INRUSH_API_KEY": "a2V5OnNlY3JldA=="}),
        case("-z", "-id", "id", "-z", file="docs.ldj.gz"),
        case("-skipbroken", "-id", "id", "-skipbroken", file="broken.ldj", exits=3),
        case("-size -w -verbose -seed -timeout", "-id", "id", "-size", "2", "-w", "1", "-verbose", "-seed", "7", "-timeout", "9s"),
        case("-0 -r -cpuprofile -memprofile", "-id", "id", "-0", "-r", "5s", "-cpuprofile", "cpu", "-memprofile", "memory"),
        *[case("-index", "-id", "id", file=name) for name in ("docs", "docs.txt", "docs.log", "docs.csv", "docs.tsv", "docs.dat", "docs.parquet", "lines.json", "docs.jsonl")],
    ]


def espipe() -> list[Case]:
    def case(flags: str, file: str, *arguments: str, to: str = "{url}", **more: Any) -> Case:
        return Case(flags, [*file.split(), f"{to}/{{index}}", *arguments], **{"ids": False, "without": ["origin"], **more})

    old = [{"id": "own 1", "n": "old", "kept": 1}, {"id": "z", "n": 0}]
    own: dict[str, Any] = {"ids": True, "before": old}
    as_noted = ["--id", "_id", "--drop", "_id"]
    login: dict[str, Any] = {"to": "{gate}", "environment": {"INRUSH_PASSWORD": "secret"}}
    key: dict[str, Any] = {"to": "{gate}", "environment": {"INRUSH_API_KEY": "a2V5OnNlY3JldA=="}}
    return [
        case("--action", "docs.ndjson"),
        case("--action", "odd.ndjson"),
        case("--action", "docs.ndjson.gz"),
        case("--action", "docs.jsonl"),
        case("--action", "lines.json"),
        case("--action", "one.json"),
        case("--action", "-", stdin="docs.ndjson"),
        case("--action", "rows.csv"),
        case("--action", "rows.csv.gz"),
        case("--action", "empty.csv", empty=True),
        case("--action", "own.ndjson", also=as_noted, **own),
        case("--action", "own.ndjson", "--action", "create", also=as_noted, exits=3, **own),
        case("--action", "own.ndjson", "--action", "update", exits=3, **own),
        case("--action", "own.ndjson", "--action", "upsert", **own),
        case("--split", "reply.json", "--split", "/hits/hits"),
        case("--split", "split-own.json", "--split", "/a.b/c~1d", also=as_noted, **own),
        case("--generate-id", "docs.ndjson more.ndjson", "--generate-id", "false"),
        case("--pipeline", "docs.ndjson", "--pipeline", "mark.json"),
        case("--pipeline --pipeline-name", "docs.ndjson", "--pipeline", "mark.json", "--pipeline-name", "named"),
        case("--pipeline-name", "docs.ndjson", "--pipeline-name", "_none"),
        case("--insecure --username --password", "docs.ndjson", "--insecure", "--username", "ada", "--password", "secret", **login),
        case("-k -u -p", "docs.ndjson", "-k", "-u", "ada", "-p", "secret", **login),
        case("--apikey -k", "docs.ndjson", "--apikey", "a2V5OnNlY3JldA==", "-k", **key),
        case("-a -k", "docs.ndjson", "-k", "-a", "a2V5OnNlY3JldA==", **key),
        case("--quiet --uncompressed --batch-size --max-requests", "docs.ndjson", "--quiet", "--uncompressed", "--batch-size", "2", "--max-requests", "1"),
        case("-q -z --content", "docs.ndjson", "-q", "-z", "--content", "text"),
    ]


# With OpenSearch 3.6 elasticdump fails by itself where an address has a type, and with --pit and
# --searchAfter.
def elasticdump() -> list[Case]:
    def case(flags: str, source: str, *arguments: str, **more: Any) -> Case:
        to = () if "--output" in flags else ("--output={url}/{index}",)
        return Case(flags, [f"--input={source}", *to, *arguments], **more)

    def cells(flags: str, file: str, *arguments: str, **more: Any) -> Case:
        return case(flags, f"csv://{{folder}}/{file}", *arguments, **{"ids": False, **more})

    old = [{"id": "a-1", "n": "old", "kept": 1}, {"id": "z", "n": 0}]
    index = "{url}/source"
    s3 = ["--s3AccessKeyId=reader", "--s3SecretAccessKey=very-secret-indeed", "--s3ForcePathStyle=true"]
    login = {"INRUSH_PASSWORD": "secret", "INRUSH_FROM_PASSWORD": "secret", "NODE_TLS_REJECT_UNAUTHORIZED": "0"}
    only_red = '{"query":{"term":{"doc.tags.keyword":"red"}}}'
    return [
        case("--input --type", index, "--type=data"),
        case("--input", "dump.json"),
        case("--input", "indented.json"),
        case("--input", "odd-dump.json", "--support-big-int"),
        case("--input", "{url}/sour*"),
        case("--input", "$", stdin="dump.json"),
        case("--input-index --output --output-index", "{url}", "--input-index=source", "--output={url}", "--output-index={index}"),
        case("--prefix --suffix", index, "--prefix=before-", "--suffix=-after"),
        case("--searchBody", index, f"--searchBody={only_red}"),
        case("--searchBody", index, '--searchBody={"query":{"range":{"n":{"lte":2}}},"sort":["n"],"_source":true}'),
        case("--bulkAction", "dump.json", "--bulkAction=create", before=old, exits=3),
        case("--bulkAction", "dump.json", "--bulkAction=update", before=old, exits=3),
        case("--bulkAction", index, "--bulkAction=update", before=old, exits=3),
        case("--bulkAction", index, "--bulkAction=create", before=old, exits=3),
        case("--ignore-es-write-errors", "dump.json", "--ignore-es-write-errors=false"),
        case("--ignore-es-write-errors", index, "--ignore-es-write-errors=true", "--ignore-errors=true"),
        case("--quiet", "dump.json", "--quiet"),
        case("--sourceOnly", "dump.json", "--sourceOnly"),
        case("--s3Region --s3Endpoint --s3SSLEnabled", "s3://data/dump.json", *s3, "--s3Region=eu-west-1", "--s3Endpoint={s3}", "--s3SSLEnabled=false",
             environment={"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "very-secret-indeed"}),
        cells("--input", "rows.csv"),
        cells("--input", "empty.csv", empty=True),
        cells("--csvDelimiter", "semicolon.csv", "--csvDelimiter=;"),
        cells("--csvDelimiter", "tab.csv", "--csvDelimiter=\t"),
        cells("--csvQuoteChar --csvEscapeChar", "quote.csv", "--csvQuoteChar='", "--csvEscapeChar='"),
        cells("--csvCustomHeaders", "bare.csv", "--csvCustomHeaders=a,b,c,d"),
        cells("--csvCustomHeaders", "rows.csv", "--csvCustomHeaders=a,b,c,d"),
        cells("--csvCustomHeaders", "bare.csv", "--csvCustomHeaders=a, b,c d,e"),
        cells("--input", "marked.csv"),
        cells("--csvIdColumn", "rows.csv", "--csvIdColumn=sku", ids=True),
        cells("--csvIdColumn", "meta.csv", "--csvIdColumn=@id", ids=True),
        cells("--csvIndexColumn --csvTypeColumn", "meta.csv", "--csvIndexColumn=@index", "--csvTypeColumn=@type"),
        cells("--csvRowDelimiter --csvWriteHeaders --csvIgnoreAutoColumns --csvIncludeEndRowDelimiter", "rows.csv",
              "--csvRowDelimiter=|", "--csvWriteHeaders=false", "--csvIgnoreAutoColumns", "--csvIncludeEndRowDelimiter"),
        cells("--fsCompress", "rows.csv.gz", "--fsCompress"),
        case("--fsCompress", "dump.json.gz", "--fsCompress"),
        case("--input --output --tlsAuth", "{gate_with_login}/source", "--output={gate_with_login}/{index}", also=["--insecure", "--from-insecure"],
             environment=login),
        case("--limit --concurrency --concurrencyInterval --intervalCap --maxSockets --throttleInterval", index, "--limit=1", "--concurrency=2",
             "--concurrencyInterval=10", "--intervalCap=2", "--maxSockets=2", "--throttleInterval=1"),
        case("--noRefresh --esCompress --scroll-with-post --scrollTime --timeout --debug", index, "--noRefresh", "--esCompress", "--scroll-with-post",
             "--scrollTime=1m", "--timeout=5000", "--debug"),
        case("--support-big-int --customBackoff --retryAttempts --retryDelay --retryDelayBase --carryoverConcurrencyCount --force-os-version", index,
             "--support-big-int", "--customBackoff", "--retryAttempts=2", "--retryDelay=10", "--retryDelayBase=1", "--carryoverConcurrencyCount=false",
             "--force-os-version=7.10.2"),
        case("--overwrite --jsonLines --toLog --delete-with-routing --skip-existing --format --fileSize --maxRows --compressionLevel", "dump.json",
             "--overwrite", "--jsonLines", "--toLog", "--delete-with-routing", "--skip-existing", "--format=human", "--fileSize=1mb", "--maxRows=2",
             "--compressionLevel=1"),
    ]


CASES = {"esbulk": esbulk, "espipe": espipe, "elasticdump": elasticdump}
