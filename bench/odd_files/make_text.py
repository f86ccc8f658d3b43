"""Odd CSV, TSV, NDJSON and JSON files, each for one case. A function returns names and bytes."""

import csv
import io
import json

NASTY = ['a,b', 'a"b', 'a\nb', 'a\r\nb', "'", '""', ' lead', 'trail ', '\t', 'é', '日本', '🎉', '\u202e', '\ufeff', '#', '=1+1', '\\', '\\n', '\x01', 'NULL', 'null', 'N/A', 'nan', '-', '0x1F']
NUMBERS = ['0', '-0', '7', '007', '+7', '1_000', '1,5', '.5', '5.', '1e5', '1E-5', '1e400', '-1e-400', 'NaN', 'Infinity', 'true', 'TRUE', '1/2', '9223372036854775807', '9223372036854775808', '18446744073709551616', '123456789012345678901234567890', '0.1', '0.30000000000000004', '1.10', '100%', '1 ', '٣']


def table(rows, **dialect):
    out = io.StringIO(newline='')
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


def csv_files():
    rows = [['id', 'v']] + [[n, text] for n, text in enumerate(NASTY)]
    for name, dialect in {'crlf': {}, 'lf': {'lineterminator': '\n'}, 'all-quoted': {'quoting': csv.QUOTE_ALL}, 'strings-quoted': {'quoting': csv.QUOTE_NONNUMERIC}}.items():
        yield f'nasty-{name}.csv', table(rows, **dialect).encode()
    for n, text in enumerate(NASTY):
        yield f'nasty-name-{n}.csv', table([[text, 'x'], ['1', '2'], ['', text]], lineterminator='\n').encode()
    for n, text in enumerate(NUMBERS):
        yield f'number-alone-{n}.csv', table([['v', 'w'], [text, 'x'], [text, 'y']]).encode()
        yield f'number-after-whole-{n}.csv', table([['v', 'w'], ['1', 'x'], ['2', 'y'], [text, 'z']]).encode()
    plain = table([['a', 'b'], ['1', 'x'], ['2', 'y']])
    yield 'bom.csv', b'\xef\xbb\xbf' + plain.encode()
    yield 'utf-16.csv', plain.encode('utf-16')
    yield 'no-end.csv', plain.strip().encode()
    yield 'blank-lines.csv', b'a,b\n\n1,x\n\n\n2,y\n\n'
    yield 'only-header.csv', b'a,b\n'
    yield 'one-column.csv', b'a\n1\n2\n'
    yield 'short-rows.csv', b'a,b,c\n1\n1,2\n1,2,3\n'
    yield 'empty-cells.csv', b'a,b,c\n,,\n,x,\n"","",""\n'
    yield 'empty-names.csv', b'a,,\n1,2,3\n'
    yield 'same-names.csv', b'a,a,b,a\n1,2,3,4\n'
    yield 'space-names.csv', b' a , b\n1,2\n'
    yield 'wide.csv', table([[f'c{n}' for n in range(500)], list(range(500))]).encode()
    yield 'long-cell.csv', table([['a', 'b'], ['x' * 100_000, '1']]).encode()
    yield 'many-lines-in-a-cell.csv', table([['a', 'b'], ['line\n' * 1000, '1'], ['y', '2']]).encode()
    yield 'quote-at-end.csv', b'a,b\n1,"x"\n2,"y"'
    yield 'dates.csv', b'd,t\n2024-01-31,2024-01-31T10:00:00Z\n2024-02-01,2024-01-31 10:00:00\n'
    yield 'booleans.csv', b'a,b\ntrue,True\nfalse,False\n'
    yield 'late-float.csv', ('n\n' + '\n'.join(map(str, range(20000))) + '\n2866.0\n').encode()
    yield 'late-text.csv', ('n\n' + '\n'.join(map(str, range(20000))) + '\nx\n').encode()
    yield 'whole-and-float.csv', b'n\n1\n2.50\n3\n'


def tsv_files():
    for n, text in enumerate(NUMBERS):
        yield f'number-alone-{n}.tsv', table([['v', 'w'], [text, 'x'], [text, 'y']], delimiter='\t').encode()
    for n, text in enumerate(NASTY):
        yield f'nasty-name-{n}.tsv', table([[text, 'x'], ['1', '2'], ['', text]], delimiter='\t', lineterminator='\n').encode()
    rows = [['id', 'v'], ['1', 'a b'], ['2', 'c"d'], ['3', 'é']]
    for encoding in ('utf-8-sig', 'utf-16'):
        yield f'{encoding}.tsv', table(rows, delimiter='\t').encode(encoding)
    yield 'no-end.tsv', table(rows, delimiter='\t').strip().encode()
    yield 'empty-cells.tsv', b'a\tb\tc\n\t\t\n\tx\t\n""\t""\t""\n'
    yield 'commas.tsv', b'a,b\tc\n1,2\t3\n4;5\t6\n'
    yield 'plain.tsv', table(rows, delimiter='\t').encode()
    yield 'quoted.tsv', table(rows, delimiter='\t', quoting=csv.QUOTE_ALL).encode()
    yield 'nasty.tsv', table([['id', 'v']] + [[n, text] for n, text in enumerate(NASTY)], delimiter='\t').encode()


VALUES = ['0', '-0', '-0.0', '1.10', '1e5', '1E+2', '1e400', '4.9e-324', '123456789012345678901234567890', '0.1000000000000000055511151231257827', 'true', 'false', 'null', '""', '"\\u0000"', '"\\ud83c\\udf89"', '"\\/"', '"\\b\\f\\n\\r\\t"', '"é"', '"\u2028"', '"\x7f"', '[]', '{}', '[[],{}]', '[1,"a",null,{"b":[2]}]', '{"":1}', '{"a.b":1}', '{"a":{"b":{"c":{}}}}', '"' + 'x' * 70_000 + '"', '[' * 100 + ']' * 100, '{"\\u0061":1}', '" "']


def ndjson_files():
    for n, value in enumerate(VALUES):
        yield f'value-{n}.ndjson', f'{{"v":{value}}}\n{{"v":{value},"w":1}}'.encode()
    yield 'spaces.ndjson', b' {"a" : 1 } \n\t{ "a":\t2}\r\n{"a":3}'
    yield 'blank-lines.ndjson', b'\n{"a":1}\n\n\r\n{"a":2}\n\n'
    yield 'bom.ndjson', b'\xef\xbb\xbf{"a":1}\n'
    yield 'utf-16.ndjson', '{"a":"é"}\n{"a":"日"}\n'.encode('utf-16')
    yield 'empty-objects.ndjson', b'{}\n{}\n'
    for n, name in enumerate(NASTY):
        yield f'name-{n}.ndjson', (json.dumps({name: n}, ensure_ascii=n % 2 == 0) + '\n').encode()
    yield 'many.ndjson', b''.join(json.dumps({'i': i, 's': 'x' * (i % 97)}).encode() + b'\n' for i in range(5000))


def json_files():
    for n, value in enumerate(VALUES):
        yield f'array-{n}.json', f'[{{"v":{value}}},\n {{"v":{value},"w":1}}]'.encode()
    pretty = [{'a': n, 'b': {'c': [1, {'d': None}]}} for n in range(3)]
    for indent in (0, 1, 2, 4, '\t'):
        yield f'pretty-{indent!r}.json', json.dumps(pretty, indent=indent).encode()
    yield 'empty.json', b'[]'
    yield 'spaces.json', b' \n[\r\n\t{ "a" : 1 }\n,\n{"a":2} ] \n\n'
    yield 'bom.json', b'\xef\xbb\xbf[{"a":1}]'
    yield 'utf-16.json', '[{"a":"é"},{"a":"日"}]'.encode('utf-16')
    yield 'crlf.json', json.dumps(pretty, indent=2).replace('\n', '\r\n').encode()
    yield 'brackets-in-text.json', b'[{"a":"]},{"},{"a":"\\"],["}]'
    for n, name in enumerate(NASTY):
        yield f'name-{n}.json', json.dumps([{name: n}, {name: str(n)}], ensure_ascii=n % 2 == 0).encode()
    yield 'many.json', json.dumps([{'i': i, 's': 'x' * (i % 97)} for i in range(5000)]).encode()
