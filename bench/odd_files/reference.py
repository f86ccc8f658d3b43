"""The documents of a file by a reference reader. Numbers are Decimal or int, other values
JSON's."""

import base64
import csv
import datetime
import decimal
import io
import json
import math
import re
import uuid

D = decimal.Decimal


class Skip(Exception):
    """The reference reader cannot read the file."""


def loads(text):
    return json.loads(text, parse_float=D, parse_int=D, parse_constant=refuse)


def refuse(name):
    raise Skip(f'{name} is no JSON')


def text_of(data):
    for mark, name in ((b'\xef\xbb\xbf', 'utf-8-sig'), (b'\xff\xfe', 'utf-16'), (b'\xfe\xff', 'utf-16')):
        if data.startswith(mark):
            return data.decode(name)
    return data.decode()


def of_ndjson(data):
    return [loads(line) for line in text_of(data).split('\n') if line.strip()]


def of_json(data):
    found = loads(text_of(data))
    if not isinstance(found, list) or not all(isinstance(element, dict) for element in found):
        raise Skip('no array of objects')
    return found


def names_of(header):
    """Empty and blank names are c and the column's number, repeated ones get a number."""
    found = []
    for n, name in enumerate(header):
        base = name if name.strip() else f'c{n + 1}'
        name, again = base, 2
        while name in found:
            name, again = f'{base}_{again}', again + 1
        found.append(name)
    return found


def of_csv(data, delimiter=','):
    rows = csv.reader(io.StringIO(text_of(data), newline=''), delimiter=delimiter)
    # A row of empty cells is none, as a blank line is none.
    rows = [row for row in rows if any(row) or len(row) == 1]
    if not rows:
        return []
    names = names_of(rows[0])
    return [{name: cell for name, cell in zip(names, row) if cell} for row in rows[1:]]


def of_tsv(data):
    return of_csv(data, '\t')


# A line of nothing but these characters is blank, and no document.
BLANKS = ' \t\n\x0c\r'


def lines_of(data):
    lines = [line.removesuffix('\r') for line in text_of(data).split('\n')]
    return [line for line in lines if line.strip(BLANKS)]


def of_text(data):
    return [{'message': line} for line in lines_of(data)]


LOG = re.compile(r'(?P<clientip>\S+) (?P<ident>\S+) (?P<auth>.+?) \[(?P<timestamp>[^]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<response>\S+) (?P<bytes>\S+) "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"')


def of_log(data):
    return [log(LOG.fullmatch(line)) for line in lines_of(data)]


def log(parts):
    if parts is None:
        raise Skip('a line is of another format')
    row = {name: re.sub(r'\\(["\\])', r'\1', text) for name, text in parts.groupdict().items()}
    when = datetime.datetime.strptime(row['timestamp'], '%d/%b/%Y:%H:%M:%S %z')
    row['timestamp'] = when.isoformat().replace('+00:00', 'Z')
    line = re.fullmatch(r'([A-Za-z]+) (.*?)(?: HTTP/([0-9.]+))?', request := row.pop('request'))
    row |= dict(zip(('verb', 'request', 'httpversion'), line.groups())) if line else {'rawrequest': request}
    for name in ('response', 'bytes'):
        row[name] = None if row[name] == '-' else int(row[name])
    return {name: value for name, value in row.items() if value not in (None, '', '-')}


def of_fixed(data):
    return [row({'a': line[:8], 'b': line[8:16], 'c': line[16:]}, ' \t') for line in lines_of(data)]


REGEX = '^(?P<a>[^;]*);(?P<b>[^;]*);(?P<c>.*)$'


def of_regex(data):
    return [row(re.match(REGEX, line).groupdict()) for line in lines_of(data)]


def row(parts, around=''):
    return {name: value for name, part in parts.items() if (value := part.strip(around) if around else part)}


def of_bulk(data):
    lines = lines_of(data)
    return [loads(document) for action, document in zip(lines[::2], lines[1::2]) if loads(action)]


def of_hits(data):
    decoder = json.JSONDecoder(parse_float=D, parse_int=D, parse_constant=refuse)
    text, found = text_of(data).strip(), []
    while text:
        reply, end = decoder.raw_decode(text)
        found += [hit['_source'] for hit in reply['hits']['hits']]
        text = text[end:].strip()
    return found


def clock(nanos):
    seconds, nanos = divmod(nanos, 10 ** 9)
    text = f'{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}'
    return text + fraction(nanos)


def fraction(nanos):
    if nanos == 0:
        return ''
    for digits in (3, 6, 9):
        if nanos % 10 ** (9 - digits) == 0:
            return f'.{nanos // 10 ** (9 - digits):0{digits}}'


PER_SECOND = {'s': 1, 'ms': 10 ** 3, 'us': 10 ** 6, 'ns': 10 ** 9}


def moment(value, unit, zone):
    nanos = value * (10 ** 9 // PER_SECOND[unit])
    offset = 0
    if zone and zone[0] in '+-':
        offset = (1 if zone[0] == '+' else -1) * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    days, nanos = divmod(nanos + offset * 10 ** 9, 86_400 * 10 ** 9)
    end = '' if not zone else zone if offset else 'Z'
    return f'{date(days)}T{clock(nanos)}{end}'


def date(days):
    import numpy
    text = str(numpy.datetime64(days, 'D'))
    year, rest = text[:-6], text[-6:]
    if len(year) == 4 and year.isdigit():
        return text
    return ('-' if year.startswith('-') else '+') + year.lstrip('+-').zfill(4) + rest


def seconds(nanos):
    sign, nanos = ('-' if nanos < 0 else ''), abs(nanos)
    return f'{sign}{nanos // 10 ** 9}{fraction(nanos % 10 ** 9)}S'


def number(value):
    if isinstance(value, float):
        return D(repr(value)) if math.isfinite(value) else None
    return D(value)


def arrow(array):
    """A Python value for each element."""
    import numpy
    import pyarrow as pa
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in arrow(chunk)]
    mask = array.is_valid().to_pylist() if not pa.types.is_union(kind) else [True] * len(array)

    def each(values, become):
        return [become(value) if valid else None for value, valid in zip(values, mask)]

    if isinstance(array, pa.ExtensionArray):
        values = arrow(array.storage)
        return each(values, lambda v: str(uuid.UUID(bytes=base64.b64decode(v)))) if kind.extension_name == 'arrow.uuid' else values
    if pa.types.is_dictionary(kind):
        words = arrow(array.dictionary)
        return each(array.indices.to_pylist(), lambda place: words[place])
    if pa.types.is_run_end_encoded(kind):
        values, ends = arrow(array.values), array.run_ends.to_pylist()
        return [next(v for v, end in zip(values, ends) if row < end) for row in range(array.offset, array.offset + len(array))]
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        # The shortest text that is the same float.
        return each(array.to_pylist(), lambda v: D(str(numpy.float32(v))) if math.isfinite(v) else None)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return array.to_pylist()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return each(array.to_pylist(), number)
    if pa.types.is_timestamp(kind):
        return each(array.cast(pa.int64()).to_pylist(), lambda v: moment(v, kind.unit, kind.tz))
    if pa.types.is_date32(kind):
        return each(array.cast(pa.int32()).to_pylist(), date)
    if pa.types.is_date64(kind):
        return each(array.cast(pa.int64()).to_pylist(), lambda v: date(v // 86_400_000))
    if pa.types.is_time(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return each(array.cast(width).to_pylist(), lambda v: clock(v * (10 ** 9 // PER_SECOND[kind.unit])))
    if pa.types.is_duration(kind):
        return each(array.cast(pa.int64()).to_pylist(), lambda v: 'PT' + seconds(v * (10 ** 9 // PER_SECOND[kind.unit])))
    if pa.types.is_interval(kind):
        return each(array.to_pylist(), interval)
    if pa.types.is_struct(kind):
        columns = [(kind.field(n).name, arrow(column)) for n, column in enumerate(array.flatten())]
        rows = [{name: column[row] for name, column in columns if column[row] is not None} for row in range(len(array))]
        return each(rows, lambda row: row)
    if pa.types.is_map(kind):
        return each(array, lambda v: entries(v.values))
    if hasattr(kind, 'value_type'):
        return each(array, lambda v: arrow(v.values))
    if pa.types.is_union(kind):
        return [arrow(pa.array([value.as_py()], array.field(code).type))[0] for value, code in zip(array, array.type_codes.to_pylist())]
    values = array.to_pylist()
    return each(values, lambda v: base64.b64encode(v).decode() if isinstance(v, bytes) else v)


def interval(value):
    months, days, nanos = value
    text = 'P' + (f'{months}M' if months else '') + (f'{days}D' if days else '')
    return text + ('T' + seconds(nanos) if nanos or text == 'P' else '')


def entries(values):
    keys, items = arrow(values.field(0)), arrow(values.field(1))
    return {key if isinstance(key, str) else str(key): item for key, item in zip(keys, items) if item is not None}


def of_table(table):
    columns = list(zip(names_of(table.column_names), map(arrow, table.columns)))
    return [{name: column[row] for name, column in columns if column[row] is not None} for row in range(table.num_rows)]


def of_parquet(data):
    import pyarrow
    import pyarrow.parquet
    exact = pyarrow.parquet.read_table(io.BytesIO(data))
    # Timestamps of 96 bits: beyond the range of nanoseconds the reader would return another date.
    far = pyarrow.parquet.read_table(io.BytesIO(data), coerce_int96_timestamp_unit='us')
    try:
        far.cast(exact.schema)
    except pyarrow.ArrowInvalid:
        return of_table(far)
    return of_table(exact)


def of_arrow(data):
    import pyarrow.ipc
    make = pyarrow.ipc.open_file if data.startswith(b'ARROW1') else pyarrow.ipc.open_stream
    return of_table(make(data).read_all())


def of_avro(data):
    import fastavro
    return [{name: value for name, value in avro(row).items() if value is not None} for row in fastavro.reader(io.BytesIO(data))]


EPOCH = datetime.datetime(1970, 1, 1)


def avro(value):
    if isinstance(value, dict):
        return {key: value for key, value in ((key, avro(value)) for key, value in value.items()) if value is not None}
    if isinstance(value, list):
        return [avro(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        zone = 'Z' if value.tzinfo else None
        micros = (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
        return moment(micros, 'us', zone)
    if isinstance(value, datetime.time):
        return clock((value.hour * 3600 + value.minute * 60 + value.second) * 10 ** 9 + value.microsecond * 1000)
    return str(value) if not isinstance(value, D) else value


def sheet(rows, tell=lambda value: value):
    """Documents of rows that are lists, None for an empty cell. The first row with a cell has the
    names."""
    rows = [row for row in rows if any(cell is not None and cell != '' for cell in row)]
    if not rows:
        return []
    width = max(len(row) for row in rows)
    while width and all(len(row) < width or row[width - 1] in (None, '') for row in rows):
        width -= 1
    header = [('' if cell is None else label(cell)) for cell in rows[0]] + [''] * width
    names = names_of(header[:width])
    columns = {name: [row[n] if n < len(row) else None for row in rows[1:]] for n, name in enumerate(names)}
    for name, cells in columns.items():
        times = any(isinstance(cell, datetime.datetime) and cell.time() != datetime.time(0) for cell in cells)
        columns[name] = [cell_value(cell, times) for cell in cells]
    return [{name: columns[name][n] for name in names if columns[name][n] is not None} for n in range(len(rows) - 1)]


def label(cell):
    if isinstance(cell, bool):
        return str(cell).lower()
    return f'{cell:g}' if isinstance(cell, float) else str(cell)


def cell_value(cell, times):
    if cell is None or cell == '':
        return None
    if isinstance(cell, bool) or isinstance(cell, str):
        return cell
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(timespec='milliseconds' if cell.microsecond else 'seconds') if times else cell.date().isoformat()
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return 'PT' + seconds(cell // datetime.timedelta(microseconds=1) * 1000)
    return number(cell)


def of_xlsx(data):
    import openpyxl
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == 'visible'] or book.worksheets
    # Cell by cell: a table up to a far cell would have billions of cells.
    found = {}
    for (row, column), cell in visible[0]._cells.items():
        value = cell.value
        if value is not None:
            found.setdefault(row, {})[column] = None if isinstance(value, str) and cell.data_type == 'e' else value
    width = max((max(row) for row in found.values()), default=0)
    return sheet([[found[row].get(column) for column in range(1, width + 1)] for row in sorted(found)])


def of_xls(data):
    import xlrd
    book = xlrd.open_workbook(file_contents=data, ragged_rows=True)
    visible = [sheet for sheet in book.sheets() if sheet.visibility == 0] or book.sheets()

    def value(cell):
        if cell.ctype == xlrd.XL_CELL_DATE:
            moment = xlrd.xldate.xldate_as_datetime(cell.value, book.datemode)
            return moment.time() if cell.value < 1 else moment
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            return bool(cell.value)
        return None if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK, xlrd.XL_CELL_ERROR) else cell.value

    return sheet([[value(cell) for cell in row] for row in visible[0].get_rows()])


def of_ods(data):
    """By its XML: other readers of this format make tables of text."""
    import xml.etree.ElementTree as tree
    import zipfile
    names = {'t': 'urn:oasis:names:tc:opendocument:xmlns:table:1.0', 'o': 'urn:oasis:names:tc:opendocument:xmlns:office:1.0', 'x': 'urn:oasis:names:tc:opendocument:xmlns:text:1.0'}
    root = tree.parse(zipfile.ZipFile(io.BytesIO(data)).open('content.xml')).getroot()
    table = root.find('.//t:table', names)
    rows = []
    for row in table.findall('t:table-row', names):
        cells = []
        for cell in row.findall('t:table-cell', names):
            get = lambda name: cell.get('{%s}%s' % (names['o'], name))
            kind, value = get('value-type'), None
            if kind in ('float', 'percentage', 'currency'):
                value = float(get('value'))
            elif kind == 'boolean':
                value = get('boolean-value') == 'true'
            elif kind == 'date':
                value = get('date-value')
            elif kind == 'time':
                # Below a day, as the sheets here have it.
                value = datetime.datetime.strptime(get('time-value'), 'PT%HH%MM%SS').time().isoformat()
            elif kind == 'string':
                value = '\n'.join(''.join(part.itertext()) for part in cell.findall('x:p', names))
            cells += [value] * int(cell.get('{%s}number-columns-repeated' % names['t'], '1'))
        rows += [cells] * int(row.get('{%s}number-rows-repeated' % names['t'], '1'))
    return sheet(rows)


READERS = {'csv': of_csv, 'tsv': of_tsv, 'ndjson': of_ndjson, 'json': of_json, 'hits': of_hits, 'bulk': of_bulk, 'txt': of_text, 'log': of_log, 'fixed': of_fixed, 'regex': of_regex, 'parquet': of_parquet, 'arrow': of_arrow, 'avro': of_avro, 'xlsx': of_xlsx, 'xls': of_xls, 'ods': of_ods}
