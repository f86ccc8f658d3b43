#!/usr/bin/env python3
"""The bulk helpers of elasticsearch-py and opensearch-py as documented. Prints one line of JSON."""

import argparse
import json
import sys
import time


def documents(files, ids):
    number = 0
    for name in files:
        with open(name, "rb") as lines:
            for line in lines:
                yield {"_source": json.loads(line), **({"_id": str(number)} if ids else {})}
                number += 1


def lines_as_they_are(files, _ids):
    """The helpers also accept documents that are JSON text."""
    for name in files:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=["elasticsearch", "opensearch"])
    parser.add_argument("helper", choices=["streaming_bulk", "parallel_bulk"])
    parser.add_argument("--to", default="http://127.0.0.1:9200")
    parser.add_argument("--index", default="bench")
    parser.add_argument("--chunk-size", type=int, default=500)
    parser.add_argument("--max-chunk-bytes", type=int, default=100 * 1024 * 1024)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--lean", action="store_true", help="documents are not decoded, and replies without what is not needed")
    parser.add_argument("--max-retries", type=int, default=0, help="streaming_bulk only; parallel_bulk has none")
    parser.add_argument("--initial-backoff", type=float, default=2, help="seconds; streaming_bulk only")
    parser.add_argument("--ids", action="store_true", help="line numbers as ids; not with --lean")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    if args.library == "elasticsearch":
        from elasticsearch import Elasticsearch, helpers
        client = Elasticsearch(args.to, request_timeout=120)
    else:
        from opensearchpy import OpenSearch, helpers
        client = OpenSearch(args.to, timeout=120)
    options = {"chunk_size": args.chunk_size, "max_chunk_bytes": args.max_chunk_bytes, "raise_on_error": False}
    if args.lean:
        options["filter_path"] = "errors,items.*.status,items.*.error"
    source = (lines_as_they_are if args.lean else documents)(args.files, args.ids)
    if args.helper == "parallel_bulk":
        run = helpers.parallel_bulk(client, source, index=args.index, thread_count=args.threads, **options)
    else:
        # Its first wait is 2 s, doubled each time, for every batch that had a rejection.
        run = helpers.streaming_bulk(client, source, index=args.index, max_retries=args.max_retries, initial_backoff=args.initial_backoff, **options)
    began = time.monotonic()
    indexed = failed = 0
    for good, _ in run:
        indexed += good
        failed += not good
    report = {"docs_sent": indexed + failed, "docs_indexed": indexed, "docs_failed": failed, "seconds": time.monotonic() - began}
    json.dump(report, sys.stdout)
    print()


if __name__ == "__main__":
    main()
