#!/usr/bin/env python3
"""Converts odd files with inrush and compares the documents with those of reference readers.

    run.py INRUSH FOLDER [--real FOLDER] [--only GLOB]

Values and types are compared. FOLDER gets the generated files and their documents. `--real` is a
folder of files from packages. A difference without a reason in known.csv ends the run with status
1.
"""

import argparse
import collections
import concurrent.futures
import csv
import decimal
import fnmatch
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import make_columns
import make_lines
import make_sheets
import make_text
import reference

MAKERS = [
    *(make_text.csv_files, make_text.tsv_files, make_text.ndjson_files, make_text.json_files),
    *(make_lines.hits_files, make_lines.bulk_files, make_lines.text_files, make_lines.log_files, make_lines.fixed_files, make_lines.regex_files),
    *(make_columns.parquet_files, make_columns.arrow_files, make_columns.avro_files),
    *(make_sheets.xlsx_files, make_sheets.xls_files, make_sheets.ods_files),
]
# The least number of files of each format.
FILES_MIN = 60
# The flags for a file whose name does not tell how to read it.
FLAGS = {
    **{kind: ['--format', kind] for kind in ('csv', 'tsv', 'ndjson')},
    # The reference readers write base64.
    **{kind: ['--binary', 'base64'] for kind in ('parquet', 'arrow', 'avro')},
    'json': ['--format', 'json-array'],
    'hits': ['--format', 'hits', '--records', 'hits.hits'],
    'txt': ['--format', 'text'],
    'log': ['--parse', 'combined'],
    'fixed': ['--fixed-width', 'a:1-8,b:9-16,c:17-'],
    'regex': ['--parse-regex', reference.REGEX],
}
JSON_NUMBER = re.compile(r'-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?')
# Other forms of numbers: .5 and 5.
NUMBER = re.compile(r'-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?')
VERDICTS = ['equal', 'known', 'refused', 'not read by the reference', 'wrong']
TEXT = {'csv', 'tsv'}


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    made = collections.Counter()
    for name, data in itertools.chain.from_iterable(maker() for maker in MAKERS):
        (folder / name).write_bytes(data)
        made[name.rsplit('.', 1)[1]] += 1
        yield folder / name
    few = {kind: made[kind] for kind in reference.READERS if made[kind] < FILES_MIN}
    assert not few, f'fewer than {FILES_MIN} files: {few}'


def files_in(folder):
    # Links to folders are followed, which rglob does not do.
    return (pathlib.Path(parent) / name for parent, _, names in os.walk(folder, followlinks=True) for name in names)


def known():
    with open(HERE / 'known.csv', newline='') as file:
        return list(csv.DictReader(file))


def convert(inrush, path, out, *flags):
    """The documents, or the error."""
    command = [inrush, 'convert', str(path), str(out), *flags]
    out.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, timeout=300, cwd=out.parent)
    if done.returncode not in (0, 3):
        return None, done.stderr.decode(errors='replace') + done.stdout.decode(errors='replace')
    documents = [reference.loads(line) for line in out.read_text().split('\n') if line]
    return documents, f'status {done.returncode}: ' + done.stderr.decode(errors='replace')[-300:]


def difference(expected, found, place=''):
    """The place where the two differ; numbers are compared by value."""
    number = (int, decimal.Decimal)
    if isinstance(expected, number) and isinstance(found, number) and not isinstance(expected, bool) and not isinstance(found, bool):
        return None if expected == found else f'{place}: {expected} is {found}'
    if type(expected) is not type(found):
        return f'{place}: {expected!r:.60} is {found!r:.60}'
    if isinstance(expected, dict):
        if list(expected) != list(found) and set(expected) != set(found):
            return f'{place}: the fields {list(expected)!r:.80} are {list(found)!r:.80}'
        pairs = ((key, expected[key], found[key]) for key in expected)
    elif isinstance(expected, list):
        if len(expected) != len(found):
            return f'{place}: {len(expected)} elements are {len(found)}'
        pairs = ((n, *pair) for n, pair in enumerate(zip(expected, found)))
    else:
        return None if expected == found else f'{place}: {expected!r:.60} is {found!r:.60}'
    return next((text for key, a, b in pairs if (text := difference(a, b, f'{place}.{key}'))), None)


def typed(expected, found):
    """Of text: a value is the cell, as a JSON number, a truth or a string; a column of numbers has
    no strings."""
    if len(expected) != len(found):
        return f'{len(expected)} rows are {len(found)}'
    columns = collections.defaultdict(list)
    for n, (row, document) in enumerate(zip(expected, found)):
        if set(row) != set(document):
            return f'row {n}: the fields {list(row)!r:.80} are {list(document)!r:.80}'
        for name, cell in row.items():
            value = document[name]
            if isinstance(value, bool):
                same = cell.lower() == str(value).lower()
            elif isinstance(value, decimal.Decimal):
                same = bool(NUMBER.fullmatch(cell)) and decimal.Decimal(cell) == value
            else:
                same = value == cell
            if not same:
                return f'row {n}, {name}: {cell!r:.60} is {value!r:.60}'
            columns[name].append((cell, value))
    for name, cells in columns.items():
        if all(JSON_NUMBER.fullmatch(cell) for cell, _ in cells) and any(isinstance(value, str) for _, value in cells):
            return f'column {name}: numbers are strings'
    return None


def judge(inrush, path, reasons, outs):
    kind = path.suffix[1:].lower()
    kind = {'jsonl': 'ndjson', 'feather': 'arrow', 'xlsm': 'xlsx'}.get(kind, kind)
    data = path.read_bytes()
    try:
        expected = reference.READERS[kind](data)
    except Exception as error:
        expected = None
        why = f'{type(error).__name__}: {error}'
    out = outs / f'{path.parent.name}-{path.name}.ndjson'
    flags = FLAGS.get(kind, [])
    found, said = convert(inrush, path, out, *flags)
    if expected is None:
        verdict, what = 'not read by the reference', f'{why:.100}; inrush: {"refused" if found is None else "read"}'
    elif found is None:
        # Two empty results are equal.
        verdict, what = 'refused', said.strip()[-300:]
    else:
        problem = typed(expected, found) if kind in TEXT else difference(expected, found)
        if not problem and kind in TEXT:
            strings, said = convert(inrush, path, out, *flags, '--all-strings')
            problem = difference(expected, strings)
            problem = problem and f'--all-strings: {problem}'
        verdict, what = ('wrong', f'{problem} ({said})') if problem else ('equal', '')
    reason = next((entry for entry in reasons if entry['format'] == kind and fnmatch.fnmatch(path.name, entry['file'])), None)
    if verdict in ('wrong', 'refused') and reason:
        verdict, what = ('known' if verdict == 'wrong' else 'refused'), reason['reason']
    elif verdict == 'refused':
        verdict = 'wrong'
    out.unlink(missing_ok=True)
    return kind, path, verdict, what


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('inrush')
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--real', type=pathlib.Path)
    parser.add_argument('--only', default='*', help='files whose name is like this')
    asked = parser.parse_args()
    paths = [path for path in make(asked.folder / 'made') if fnmatch.fnmatch(path.name, asked.only)]
    suffixes = {'.' + kind for kind in reference.READERS} | {'.jsonl', '.feather', '.xlsm'}
    if asked.real:
        paths += sorted(path for path in files_in(asked.real) if path.suffix.lower() in suffixes and path.is_file() and path.stat().st_size < 4 << 20 and fnmatch.fnmatch(path.name, asked.only))
    outs = asked.folder / 'out'
    outs.mkdir(exist_ok=True)
    reasons = known()
    inrush = os.path.abspath(asked.inrush)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda path: judge(inrush, path, reasons, outs), paths))
    for kind, path, verdict, what in results:
        if verdict == 'wrong' or (verdict != 'equal' and asked.only != '*'):
            print(f'{verdict}: {path}: {what}', file=sys.stderr)
    print(f'| format | files | {" | ".join(VERDICTS)} |\n|---|{"---:|" * (len(VERDICTS) + 1)}')
    for kind in reference.READERS:
        counts = collections.Counter(verdict for found, _, verdict, _ in results if found == kind)
        print(f'| {kind} | {sum(counts.values())} | {" | ".join(str(counts[verdict]) for verdict in VERDICTS)} |')
    return any(verdict == 'wrong' for _, _, verdict, _ in results)


if __name__ == '__main__':
    sys.exit(main())
