"""Odd lines: text, access logs, fixed width, regular expressions, bulk bodies; and search
replies."""

import json

from make_text import NASTY, NUMBERS, VALUES

# A line end within one is another line.
PARTS = [text for text in NASTY + NUMBERS if '\n' not in text and '\r' not in text]
ENCODINGS = {'utf-8': 'utf-8', 'bom': 'utf-8-sig', 'utf-16': 'utf-16'}


def encoded(name, text):
    """The same text in each encoding with a byte order mark."""
    ending = name.rsplit('.', 1)
    for encoding, codec in ENCODINGS.items():
        yield f'{ending[0]}-{encoding}.{ending[1]}', text.encode(codec)


def text_files():
    for n, part in enumerate(PARTS):
        yield f'line-{n}.txt', f'{part}\nx {part} y\n'.encode()
    everything = [*PARTS, '  ', '', '{"a":1}', '[1]', 'a;b', 'x' * 70_000]
    for name, end in {'lf': '\n', 'crlf': '\r\n'}.items():
        yield from encoded(f'ends-{name}.txt', end.join(everything) + end)
        yield from encoded(f'no-end-{name}.txt', end.join(everything))
    yield 'blank.txt', b'\n \n\t\r\n\x0c\n\x0b\nx\n'
    yield 'carriage-returns.txt', b'a\rb\r\r\nc\r'
    yield 'many.txt', ''.join(f'line {n}\n' for n in range(20_000)).encode()


AGENTS = ['-', '', 'Mozilla/5.0 (X11; Linux x86_64)', 'curl/8.5.0', 'a \\"quoted\\" one', 'back\\\\slash', 'é日本🎉', "o'brien", '[brackets]', 'tab\there']
REQUESTS = ['GET / HTTP/1.1', 'POST /a?b=c&d=%20 HTTP/2.0', 'HEAD /x', '-', '', '\\x16\\x03\\x01', 'GET /with space HTTP/1.0', 'OPTIONS * HTTP/1.1', 'get /lower HTTP/1.1', 'GET /é HTTP/1.1']
WHO = ['- -', '- frank', 'id frank', '- a user', '- -x', '- é']
WHEN = ['17/May/2015:10:05:03 +0000', '01/Jan/2000:00:00:00 -0330', '31/Dec/2024:23:59:59 +1400', '29/Feb/2024:12:00:00 +0530']


def log_line(n, who, when, request, response, size, agent):
    host = ('127.0.0.1', '::1', 'host.example', '2001:db8::ff')[n % 4]
    return f'{host} {who} [{when}] "{request}" {response} {size} "https://example.org/?q={n}" "{agent}"'


def log_files():
    """The format `combined`."""
    for n, request in enumerate(REQUESTS):
        for m, who in enumerate(WHO):
            response, size = (200, '007', 404, '-')[(n + m) % 4], ('0', '-', '203023', '999999999999999999')[(n * m) % 4]
            yield f'request-{n}-{m}.log', (log_line(n, who, WHEN[m % 4], request, response, size, AGENTS[n]) + '\n').encode()
    lines = [log_line(n, WHO[n % 6], WHEN[n % 4], REQUESTS[n % 10], 200, n, AGENTS[n // 3 % 10]) for n in range(200)]
    yield from encoded('many.log', '\r\n'.join(lines))


def fixed_files():
    """a in the first 8 characters, b in the next 8, c to the end."""
    for n, part in enumerate(PARTS):
        rows = [(part, 'x', 'y'), ('x', part, ''), ('', 'x', part)]
        yield f'part-{n}.fixed', ''.join(f'{a[:8]:<8}{b[:8]:>8}{c}\n' for a, b, c in rows).encode()
    rows = [(part, PARTS[-n - 1]) for n, part in enumerate(PARTS)]
    yield from encoded('all.fixed', ''.join(f'{a[:8]:^8}{b[:8]:^8}\t{a}{b}\r\n' for a, b in rows))
    yield from encoded('short.fixed', 'abc\n12345678\n123456789\n1234567812345678\n12345678123456789\n')
    yield from encoded('wide.fixed', '🎉🎉🎉🎉🎉🎉🎉🎉日本日本日本日本é é\n')


def regex_files():
    """a up to the first semicolon, b up to the second, c the rest."""
    parts = [part for part in PARTS if ';' not in part]
    for n, part in enumerate(parts):
        yield f'part-{n}.regex', f'{part};x;y\nx;{part};\n;x;{part}\n;;{part};{part}\n'.encode()
    for end in ('\n', '\r\n'):
        yield from encoded(f'all-{len(end)}.regex', end.join(f'{part};{n};{part}' for n, part in enumerate(parts)))
    yield from encoded('empty.regex', ';;\n; ;\n\t;\t;\t\n')


def bulk_files():
    actions = ['{"index":{}}', '{"create":{"_id":"1"}}', '{"index":{"_index":"x","_id":"é\\"","routing":"r"}}', ' { "index" : { "_id" : 5 } } ']
    for n, value in enumerate(VALUES):
        for m in (0, 1):
            lines = [line for k in range(3) for line in (actions[(n + m + k) % 4], f'{{"v":{value},"k":{k}}}')]
            end = ('\n', '\r\n')[m]
            yield f'value-{n}-{m}.bulk', (end.join(lines) + end).encode()
    yield 'blank-lines.bulk', b'\n{"index":{}}\n{"a":1}\n\n{"index":{}}\n{"a":2}\n\n'
    yield 'many.bulk', ''.join(f'{{"index":{{"_id":"{n}"}}}}\n{{"n":{n}}}\n' for n in range(5000)).encode()


def hits_files():
    """Replies of searches."""
    for n, value in enumerate(VALUES):
        for m, spaces in enumerate(((',', ':'), (' ,\n  ', ' : '))):
            comma, colon = spaces
            hits = comma.join(f'{{"_index"{colon}"x"{comma}"_id"{colon}"{k}"{comma}"_source"{colon}{{"v"{colon}{value}{comma}"k"{colon}{k}}}}}' for k in range(3))
            head = f'"took"{colon}3{comma}"hits"{colon}{{"total"{colon}{{"value"{colon}3}}{comma}"hits"{colon}[{hits}]}}'
            yield f'value-{n}-{m}.hits', f'{{{head}{comma}"after"{colon}[1]}}'.encode()
    rows = [{'_index': 'x', '_id': str(n), '_score': None, 'sort': [n], '_source': {'n': n, 't': text}} for n, text in enumerate(NASTY)]
    for indent in (None, 0, 2):
        yield f'nasty-{indent}.hits', json.dumps({'hits': {'hits': rows}}, indent=indent, ensure_ascii=indent == 0).encode()
    yield 'pages.hits', b''.join(json.dumps({'hits': {'hits': rows[n:n + 5]}}).encode() + b'\n' for n in range(0, 25, 5))
    yield 'none.hits', b'{"hits":{"hits":[]}}'
