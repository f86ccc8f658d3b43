"""The compared loaders: the command of each, and the settings from which its best one is found."""

import dataclasses
import itertools
import os
import pathlib
import re

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "inrush"
PEERS = CACHE / "peers"
HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Tool:
    """`command` gets the URL, the index, the file and a setting; the first of `settings` is the
    defaults.

    `own_clock`: the time before the clock of the tool's own report starts does not count.
    `retries`: a setting with which the tool sends refused documents again, if its defaults do not.
    """

    name: str
    command: object
    settings: list
    products: tuple = ("opensearch", "elasticsearch")
    formats: tuple = ("ndjson",)
    own_clock: bool = False
    not_with_faults: bool = False
    retries: dict | None = None
    # A setting that gives documents ids, so that a repeated one is stored once; only with faults.
    ids: dict | None = None


def release(name):
    return os.environ.get("CARGO_TARGET_DIR", str(CACHE / "target")) + "/release/" + name


def grid(**values):
    """The defaults, then every combination."""
    names = list(values)
    return [{}] + [dict(zip(names, cell)) for cell in itertools.product(*values.values())]


def flags(setting):
    flag = "--{}".format
    return [part for name, value in setting.items() for part in ([flag(name.replace("_", "-"))] if value is True else [flag(name.replace("_", "-")), str(value)])]


def go(program):
    # The Go programs' flags have one dash or two.
    return lambda url, index, file, setting: [str(PEERS / "bin" / program), "--to", url, "--index", index, *flags(setting), file]


def java(main):
    path = f"{PEERS}/java/peers-1.jar:{PEERS}/java/lib/*"
    return lambda url, index, file, setting: ["java", "-cp", path, f"peers.{main}", "--to", url, "--index", index, *flags(setting), file]


def python(library, helper):
    program = [str(PEERS / "venv/bin/python"), str(HERE / "python/helpers.py"), library, helper]
    return lambda url, index, file, setting: [*program, "--to", url, "--index", index, *flags(setting), file]


def espipe(version):
    program = str(PEERS / f"espipe-{version}" / "bin" / "espipe")
    return lambda url, index, file, setting: [program, file, f"{url}/{index}", *flags(setting)]


def elasticdump(url, index, file, setting):
    program = str(PEERS / "npm/node_modules/.bin/elasticdump")
    if file.endswith(".csv"):
        return [program, f"--input=csv://{file}", f"--output={url}/{index}", *flags(setting)]
    return [program, f"--input={file}", f"--output={url}/{index}", "--type=data", "--transform=doc._source=Object.assign({},doc)", *flags(setting)]


def prototype(url, index, file, setting):
    # It sends whole files until it has sent that many GB. The reply has an entry for each document.
    return [release("examples/blast"), url, str(0.999 * os.path.getsize(file) / 1e9), "2", "items", file]


def inrush(url, index, file, setting):
    return [release("inrush"), "load", file, "--index", index, "--to", url, "--quiet", "--json", *flags(setting)]


# Replies are compressed unless `lean`.
GO = grid(lean=[True], workers=[2, 4, 8], flush_bytes=[1 << 20, 5 << 20, 16 << 20])
JAVA = grid(operations=[1000, 5000, 20000], bytes=[16 << 20], concurrent=[1, 4, 8])
BACK_OFF = {"retries": 8}
IDS = {"ids": True}
# Bodies are compressed unless `uncompressed`.
ESPIPE = grid(uncompressed=[True], batch_size=[1000, 5000, 20000], max_requests=[2, 4, 16])
TOOLS = [
    # Documents without ids are stored twice if a reply is lost and they are sent again.
    Tool("inrush", inrush, [{}], formats=("ndjson", "csv", "parquet"), ids={"id_from": "position"}),
    # The least that a loader can be: mmap, memchr and blocking sockets, in the testbed's examples.
    Tool("bare prototype", prototype, [{}], products=()),
    Tool("replay", go("replay"), grid(workers=[2, 4, 8], flush_bytes=[512 << 10, 2 << 20, 8 << 20]), own_clock=True, not_with_faults=True),
    Tool("espipe 0.4.0", espipe("0.4.0"), ESPIPE, formats=("ndjson", "csv")),
    Tool("espipe 0.7.0", espipe("0.7.0"), ESPIPE, formats=("ndjson", "csv"), ids={"generate_id": "true"}),
    Tool("go esutil", go("esutil"), GO, products=("elasticsearch",), ids=IDS),
    Tool("go opensearchutil", go("opensearchutil"), GO, products=("opensearch",), ids=IDS),
    Tool("elasticsearch-java", java("ElasticsearchIngester"), JAVA, products=("elasticsearch",), retries=BACK_OFF, ids=IDS),
    Tool("opensearch-java", java("OpenSearchIngester"), JAVA, products=("opensearch",), retries=BACK_OFF, ids=IDS),
    # It refreshes the index after each batch unless `noRefresh` is given. It sends `GET /` first,
    # which the Elasticsearch of Maven Central answers with 405.
    Tool("elasticdump", elasticdump, grid(noRefresh=[True], quiet=[True], limit=[1000, 5000], concurrency=[1, 4]), products=("opensearch",), formats=("ndjson", "csv"), retries={"retryAttempts": 8, "retryDelay": 100}),
]
for library in ("elasticsearch", "opensearch"):
    TOOLS += [
        Tool(f"{library}-py streaming_bulk", python(library, "streaming_bulk"), grid(lean=[True], chunk_size=[1000, 5000]), products=(library,),
             retries={"max_retries": 8, "initial_backoff": 0.05}, ids=IDS),
        Tool(f"{library}-py parallel_bulk", python(library, "parallel_bulk"), grid(lean=[True], chunk_size=[1000, 5000], threads=[2, 4, 8]), products=(library,), ids=IDS),
    ]


def named(setting):
    return " ".join(f"{name}={value}" for name, value in setting.items()) or "defaults"


def inrush_with(flag):
    name, _, value = flag.partition("=")
    return Tool(f"inrush --{name} {value}", inrush, [{name: value}])


def for_run(product, file, only=None, faults=False):
    """The tools for that product and kind of file; `only` is a regular expression on names.

    With faults each has its defaults, its retries if its defaults have none, and ids with these.
    """
    ending = pathlib.Path(file).suffix.lstrip(".")
    ending = {"jsonl": "ndjson", "json": "ndjson"}.get(ending, ending)
    tools = [tool for tool in TOOLS if product in (*tool.products, "null") and ending in tool.formats and re.search(only or "", tool.name)
             and not (faults and tool.not_with_faults)]
    if not tools:
        raise SystemExit(f"none of the loaders{' of that name' if only else ''} reads {file} (ndjson, jsonl, json, csv, parquet) into {product}")
    if not faults:
        return tools
    ways = lambda tool: [{}] + ([tool.retries] if tool.retries else []) + ([{**(tool.retries or {}), **tool.ids}] if tool.ids else [])
    return [dataclasses.replace(tool, settings=ways(tool)) for tool in tools]
