#!/usr/bin/env python3
"""Vectors in clusters with a number and a title each, as Parquet and as NDJSON, the same each time.

    python3 bench/vector_data.py DOCS DIMS PREFIX   # PREFIX.parquet and PREFIX.ndjson

The columns are `n` (int64), `title` (string) and `v` (a list of float32 of fixed size). The numbers
of the NDJSON are the shortest decimal ones of the same float32. Needs numpy, orjson and pyarrow.
"""

import sys

import numpy
import orjson
import pyarrow
import pyarrow.parquet

ROWS = 10_000
CLUSTERS = 1_000


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    docs, dims, prefix = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    dice = numpy.random.default_rng(1)
    centres = dice.standard_normal((CLUSTERS, dims), dtype=numpy.float32)
    vector = pyarrow.list_(pyarrow.float32(), dims)
    schema = pyarrow.schema([("n", pyarrow.int64()), ("title", pyarrow.string()), ("v", vector)])
    with pyarrow.parquet.ParquetWriter(f"{prefix}.parquet", schema) as table, open(f"{prefix}.ndjson", "wb") as lines:
        for first in range(0, docs, ROWS):
            numbers = range(first, min(first + ROWS, docs))
            vectors = centres[dice.integers(CLUSTERS, size=len(numbers))]
            vectors = vectors + 0.3 * dice.standard_normal(vectors.shape, dtype=numpy.float32)
            titles = [f"document number {n}" for n in numbers]
            column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), dims)
            table.write_table(pyarrow.table([list(numbers), titles, column], schema=schema))
            for n, title, row in zip(numbers, titles, vectors):
                document = {"n": n, "title": title, "v": row}
                lines.write(orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
