"""Odd workbooks, by openpyxl, xlwt and odfpy."""

import datetime
import io

import openpyxl
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from make_text import NASTY

DAY = datetime.date(2024, 1, 31)
MOMENT = datetime.datetime(2024, 1, 31, 10, 30, 15)
# XML has no such characters, and Excel no way to keep them.
TEXTS = [text for text in NASTY if '\x01' not in text and '\ufeff' not in text and '\r' not in text]
FLOATS = [0, 1, -1, 7, 2.5, 0.1, 1 / 3, 1e-7, 1e15, 123456789.125, 9007199254740991, -1e300, 100, 0.125]


def tables():
    """Names, and rows of which the first has the names of the columns."""
    for n, number in enumerate(FLOATS):
        yield f'number-{n}', [['v', 'w'], [number, 'x'], [number, 'y']]
        yield f'number-after-whole-{n}', [['v'], [1], [2], [number]]
    for n, text in enumerate(TEXTS):
        yield f'text-{n}', [['v', 'w'], [text, 1], ['x', 2]]
    for n, text in enumerate(TEXTS[:20]):
        yield f'name-{n}', [[text, 'other'], [1, 2]]
    yield 'booleans', [['a', 'b'], [True, 1], [False, 0]]
    yield 'mixed', [['v'], [1], ['x'], [True], [2.5]]
    yield 'dates', [['d', 't', 'x'], [DAY, MOMENT, 1], [datetime.date(1999, 12, 31), datetime.datetime(2000, 1, 1), 2]]
    yield 'date-in-numbers', [['v'], [1], [DAY], [2]]
    yield 'times', [['t'], [datetime.time(10, 30)], [datetime.time(23, 59, 59)]]
    yield 'gaps', [['a', None, 'c'], [1, None, 3], [None, None, None], [None, 2, None], [None, None, None], [4]]
    yield 'no-header-cell', [['a'], [1, 2, 3]]
    yield 'number-names', [[1, 2.5, True], ['x', 'y', 'z']]
    yield 'same-names', [['a', 'a', 'a'], [1, 2, 3]]
    yield 'late-start', [[None, None], [None, None], [None, 'a', 'b'], [None, 1, 2]]
    yield 'wide', [[f'c{n}' for n in range(200)], list(range(200))]
    yield 'many', [['i', 't', 'f']] + [[n, f'row {n}', n / 8] for n in range(2000)]
    yield 'empty', []
    yield 'only-header', [['a', 'b']]
    yield 'long-text', [['a'], ['x' * 30_000]]


def saved(book):
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def xlsx_files():
    for name, rows in tables():
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        yield f'{name}.xlsx', saved(book)
    for name, format in {'percent': '0.00%', 'money': '[$€-407]#,##0.00', 'red': '[Red]0.0;[Blue]-0.0', 'text': '@', 'fraction': '# ?/?', 'science': '0.00E+00', 'words': '0" days"', 'day': 'd/m/yy', 'month': 'mmmm', 'hours': '[h]:mm', 'clock': 'h:mm AM/PM'}.items():
        book = openpyxl.Workbook()
        for row in (['v', 'w'], [1.5, 1], [45322.25, 2]):
            book.active.append(row)
        for row in (2, 3):
            book.active.cell(row, 1).number_format = format
        yield f'format-{name}.xlsx', saved(book)
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    for row in (['d'], [MOMENT], [datetime.datetime(1950, 5, 5)]):
        book.active.append(row)
    yield '1904.xlsx', saved(book)
    book = openpyxl.Workbook()
    book.active.append(['hidden'])
    book.active.sheet_state = 'hidden'
    second = book.create_sheet('Second')
    second.append(['a'])
    second.append([1])
    book.active = 1
    yield 'hidden-sheet.xlsx', saved(book)
    book = openpyxl.Workbook()
    for row in (['a', 'b', 'c'], [1, 2, 3], [4, 5, 6]):
        book.active.append(row)
    book.active.merge_cells('A2:B3')
    yield 'merged.xlsx', saved(book)
    book = openpyxl.Workbook()
    for row in (['a'], [1]):
        book.active.append(row)
    book.active.cell(1_048_576, 16_384, 'far')
    yield 'far-cell.xlsx', saved(book)


def xls_files():
    for name, rows in tables():
        if not rows:
            continue
        book = xlwt.Workbook()
        sheet = book.add_sheet('Data')
        styles = {kind: xlwt.easyxf(num_format_str=text) for kind, text in ((datetime.date, 'yyyy-mm-dd'), (datetime.datetime, 'yyyy-mm-dd hh:mm:ss'), (datetime.time, 'hh:mm:ss'))}
        for r, row in enumerate(rows):
            for c, value in enumerate(row):
                if value is not None and not (isinstance(value, str) and len(value) > 32_767):
                    sheet.write(r, c, value, styles.get(type(value), xlwt.Style.default_style))
        yield f'{name}.xls', saved(book)
    book = xlwt.Workbook()
    sheet = book.add_sheet('Data')
    sheet.write(0, 0, 'a')
    sheet.write(1, 0, 1)
    sheet.write(65_535, 255, 'far')
    yield 'far-cell.xls', saved(book)


def ods_files():
    for name, rows in tables():
        book = OpenDocumentSpreadsheet()
        table = Table(name='Data')
        for row in rows:
            line = TableRow()
            for value in row:
                line.addElement(ods_cell(value))
            table.addElement(line)
        book.spreadsheet.addElement(table)
        yield f'{name}.ods', saved(book)


def ods_cell(value):
    if value is None:
        return TableCell()
    if isinstance(value, bool):
        cell = TableCell(valuetype='boolean', booleanvalue=str(value).lower())
    elif isinstance(value, (int, float)):
        cell = TableCell(valuetype='float', value=repr(value))
    elif isinstance(value, datetime.time):
        cell = TableCell(valuetype='time', timevalue=value.strftime('PT%HH%MM%SS'))
    elif isinstance(value, datetime.date):
        cell = TableCell(valuetype='date', datevalue=value.isoformat())
    else:
        cell = TableCell(valuetype='string')
    for line in str(value).split('\n'):
        cell.addElement(P(text=line))
    return cell
