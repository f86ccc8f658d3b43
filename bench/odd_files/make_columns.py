"""Odd Parquet, Arrow IPC and Avro files, by pyarrow and fastavro."""

import datetime
import decimal
import io
import itertools
import uuid

import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq

D = decimal.Decimal
DAY = datetime.date(2024, 1, 31)
MOMENTS = [0, 1, -1, 1706695200123, -62135596800000, 253402300799999, None]


def arrays():
    """Names and arrays of each type, with its extremes."""
    for bits in (8, 16, 32, 64):
        yield f'int{bits}', pa.array([-2 ** (bits - 1), 0, None, 2 ** (bits - 1) - 1], getattr(pa, f'int{bits}')())
        yield f'uint{bits}', pa.array([0, None, 2 ** bits - 1], getattr(pa, f'uint{bits}')())
    yield 'float16', pa.array([0.0, -0.0, 1.5, 65504.0, None], pa.float16())
    yield 'float32', pa.array([0.1, 1e20, 3.4028235e38, 1e-45, float('nan'), float('inf'), None], pa.float32())
    yield 'float64', pa.array([0.1, 1e300, 5e-324, 123456789.12345678, 5.0, float('nan'), float('-inf'), None], pa.float64())
    yield 'bool', pa.array([True, None, False])
    yield 'null', pa.nulls(3)
    yield 'decimal-2', pa.array([D('1.10'), D('-0.05'), None], pa.decimal128(20, 2))
    yield 'decimal-0', pa.array([D(5), D(-7)], pa.decimal128(38, 0))
    yield 'decimal-38', pa.array([D('9' * 38), D('-' + '9' * 38)], pa.decimal128(38, 0))
    yield 'decimal256', pa.array([D('9' * 40 + '.' + '9' * 10)], pa.decimal256(50, 10))
    for unit, factor in (('s', 0.001), ('ms', 1), ('us', 1000), ('ns', 1_000_000)):
        values = [None if m is None or (unit == 'ns' and abs(m) > 9e12) else int(m * factor) for m in MOMENTS]
        yield f'timestamp-{unit}', pa.array(values, pa.timestamp(unit))
        yield f'timestamp-{unit}-utc', pa.array(values, pa.timestamp(unit, 'UTC'))
        yield f'timestamp-{unit}-offset', pa.array(values, pa.timestamp(unit, '+02:00'))
        yield f'duration-{unit}', pa.array([0, 1, -1, 90_500, None], pa.duration(unit))
    yield 'date32', pa.array([DAY, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None])
    yield 'date64', pa.array([DAY, datetime.date(1969, 12, 31)], pa.date64())
    yield 'time32-s', pa.array([0, 86399, None], pa.time32('s'))
    yield 'time32-ms', pa.array([0, 86399999], pa.time32('ms'))
    yield 'time64-us', pa.array([1, 86399999999], pa.time64('us'))
    yield 'time64-ns', pa.array([1, 86399999999999], pa.time64('ns'))
    texts = ['', 'a"b', 'x\ny', '\u0000', '日本🎉', 'longer than twelve bytes', None]
    for name in ('string', 'large_string', 'string_view'):
        yield name, pa.array(texts, getattr(pa, name)())
    for name in ('binary', 'large_binary', 'binary_view'):
        yield name, pa.array([b'', b'\x00\xff', b'abc', None], getattr(pa, name)())
    yield 'fixed', pa.array([b'abcd', None], pa.binary(4))
    yield 'uuid', pa.array([uuid.UUID(int=2 ** 127).bytes, None], pa.uuid())
    yield 'dictionary', pa.array(['x', None, 'y', 'x']).dictionary_encode()
    yield 'dictionary-int', pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array([10, 20]))
    yield 'list', pa.array([[1, None], [], None, [3]])
    yield 'large-list', pa.array([[1, None], [], None], pa.large_list(pa.int32()))
    yield 'fixed-list', pa.array([[1, 2], None, [3, None]], pa.list_(pa.int32(), 2))
    yield 'list-of-lists', pa.array([[[1], []], [None, [2, 3]], None])
    yield 'struct', pa.array([{'a': 1, 'b': 'x'}, {'a': None, 'b': None}, None])
    yield 'struct-deep', pa.array([{'a': {'b': {'c': [{'d': 1}]}}}, {'a': {'b': None}}])
    yield 'list-of-structs', pa.array([[{'a': 1}, {'a': None}, None], []])
    yield 'map', pa.array([[('a', 1), ('b', None)], [], None], pa.map_(pa.string(), pa.int32()))
    yield 'map-int', pa.array([[(1, 'x'), (-2, 'y')]], pa.map_(pa.int32(), pa.string()))
    yield 'names', pa.array([{'': 1, 'a.b': 2, 'é"': 3}])
    yield 'timestamps-in-lists', pa.array([[1, None]], pa.list_(pa.timestamp('ms', 'UTC')))


def only_arrow():
    yield 'month-day-nano', pa.array([(1, 2, 3_000_000_000), None], pa.month_day_nano_interval())
    yield 'run-end', pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(['x', None]))
    yield 'list-view', pa.array([[1], [], None, [2, 3]], pa.list_view(pa.int32()))
    ids = pa.array([0, 1, 0], pa.int8())
    yield 'sparse-union', pa.UnionArray.from_sparse(ids, [pa.array([1, 2, 3]), pa.array(['a', 'b', 'c'])])
    yield 'dense-union', pa.UnionArray.from_dense(ids, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 3]), pa.array(['b'])])


def parquet(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


MANY = pa.table({'i': list(range(5000)), 't': [f'row {i % 13}' for i in range(5000)], 'n': [None if i % 3 else i / 7 for i in range(5000)]})


def parquet_files():
    for name, array in arrays():
        yield f'{name}.parquet', parquet(pa.table({'v': array}))
    for name in ('timestamp-us', 'timestamp-ns', 'timestamps-in-lists'):
        table = pa.table({'v': dict(arrays())[name]})
        yield f'{name}-int96.parquet', parquet(table, use_deprecated_int96_timestamps=True)
        yield f'{name}-int96-plain.parquet', parquet(table, use_deprecated_int96_timestamps=True, store_schema=False)
    for compression in ('none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4'):
        yield f'many-{compression}.parquet', parquet(MANY, compression=compression, row_group_size=700)
    for page in ('1.0', '2.0'):
        yield f'many-page-{page}.parquet', parquet(MANY, data_page_version=page, data_page_size=500, use_dictionary=False)
    for encoding in ('DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'):
        yield f'many-{encoding}.parquet', parquet(MANY.select(['i']), use_dictionary=False, column_encoding={'i': encoding})
    for encoding in ('DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY'):
        yield f'many-{encoding}.parquet', parquet(MANY.select(['t']), use_dictionary=False, column_encoding={'t': encoding})
    yield 'crc.parquet', parquet(MANY, write_page_checksum=True)
    yield 'index.parquet', parquet(MANY, write_page_index=True, data_page_size=300)
    yield 'no-rows.parquet', parquet(MANY.slice(0, 0))
    yield 'no-columns.parquet', parquet(pa.table({}))
    yield 'no-arrow-schema.parquet', parquet(pa.table({'v': pa.array([1], pa.timestamp('ms', 'UTC'))}), store_schema=False)
    yield 'same-names.parquet', parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=['a', 'a']))
    yield 'odd-names.parquet', parquet(pa.table({'': [1], 'a.b': [2], 'é"\n': [3]}))


def ipc(table, compression=None, stream=False):
    out = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    make = pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file
    with make(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1000)
    return out.getvalue()


def arrow_files():
    for name, array in itertools.chain(arrays(), only_arrow()):
        yield f'{name}.arrow', ipc(pa.table({'v': array}), stream=len(name) % 2 == 0)
    for compression in (None, 'lz4', 'zstd'):
        for stream in (False, True):
            yield f'many-{compression}-{"stream" if stream else "file"}.arrow', ipc(MANY, compression, stream)
    yield 'no-rows.arrow', ipc(MANY.slice(0, 0))
    yield 'slice.arrow', ipc(MANY.slice(3001, 1500))
    out = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pyarrow.ipc.new_stream(out, pa.schema({'d': pa.dictionary(pa.int32(), pa.string())}), options=options) as writer:
        for words in (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']):
            array = pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int32()), words)
            writer.write_batch(pa.record_batch([array], names=['d']))
    yield 'dictionary-deltas.arrow', out.getvalue()


def record(*fields):
    return {'type': 'record', 'name': 'r', 'fields': [{'name': name, 'type': kind} for name, kind in fields]}


def avro(schema, rows, codec='null'):
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec=codec, sync_marker=b'0123456789abcdef')
    return out.getvalue()


def logical(kind, logical_type, **more):
    return {'type': kind, 'logicalType': logical_type, **more}


def avro_types():
    utc = datetime.timezone.utc
    moments = [datetime.datetime(2024, 1, 31, 10, 0, 0, 123000, utc), datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=utc), datetime.datetime(1, 1, 1, tzinfo=utc)]
    yield 'null', 'null', [None]
    yield 'boolean', 'boolean', [True, False]
    yield 'int', 'int', [0, -2 ** 31, 2 ** 31 - 1]
    yield 'long', 'long', [0, -2 ** 63, 2 ** 63 - 1]
    yield 'float', 'float', [0.5, -0.0, 1e10, float('nan'), float('inf')]
    yield 'double', 'double', [0.1, 1e300, 5e-324, 5.0, float('nan')]
    yield 'bytes', 'bytes', [b'', b'\x00\xff', b'abc']
    yield 'string', 'string', ['', 'a"b', '日本🎉', '\u0000', 'x' * 5000]
    yield 'fixed', {'type': 'fixed', 'name': 'f', 'size': 4}, [b'abcd']
    yield 'enum', {'type': 'enum', 'name': 'e', 'symbols': ['A', 'B']}, ['A', 'B']
    yield 'array', {'type': 'array', 'items': 'int'}, [[], [1, 2]]
    yield 'array-nulls', {'type': 'array', 'items': ['null', 'int']}, [[None], [1, None]]
    yield 'map', {'type': 'map', 'values': 'int'}, [{}, {'a': 1, 'é"': 2}]
    yield 'map-nulls', {'type': 'map', 'values': ['null', 'int']}, [{'a': None, 'b': 1}]
    yield 'optional', ['null', 'string'], [None, '', 'x']
    yield 'optional-last', ['string', 'null'], [None, '', 'x']
    yield 'union', ['null', 'int', 'string', 'double'], [None, 1, 'x', 1.5]
    yield 'union-2', ['int', 'string'], [1, 'x']
    inner = {'type': 'record', 'name': 'i', 'fields': [{'name': 'x', 'type': ['null', 'int']}, {'name': 'y', 'type': 'string'}]}
    yield 'record', inner, [{'x': 1, 'y': 'a'}, {'x': None, 'y': ''}]
    yield 'records', {'type': 'array', 'items': inner}, [[], [{'x': 1, 'y': 'a'}]]
    yield 'optional-record', ['null', inner], [None, {'x': None, 'y': 'b'}]
    yield 'date', logical('int', 'date'), [DAY, datetime.date(1, 1, 1)]
    yield 'time-millis', logical('int', 'time-millis'), [datetime.time(10, 0, 0, 123000)]
    yield 'time-micros', logical('long', 'time-micros'), [datetime.time(10, 0, 0, 123456), datetime.time(0)]
    yield 'timestamp-millis', logical('long', 'timestamp-millis'), moments
    yield 'timestamp-micros', logical('long', 'timestamp-micros'), moments
    local = [moment.replace(tzinfo=None) for moment in moments]
    yield 'local-timestamp-millis', logical('long', 'local-timestamp-millis'), local
    yield 'local-timestamp-micros', logical('long', 'local-timestamp-micros'), local
    yield 'decimal', logical('bytes', 'decimal', precision=20, scale=2), [D('1.10'), D('-0.05')]
    yield 'decimal-fixed', logical('fixed', 'decimal', name='df', size=9, precision=20, scale=3), [D('1.125'), D('-99999.001')]
    yield 'uuid', logical('string', 'uuid'), [uuid.UUID(int=5), uuid.UUID(int=2 ** 127)]
    yield 'unknown-logical', logical('string', 'whatever'), ['x']
    yield 'optional-moment', ['null', logical('long', 'timestamp-millis')], [None, moments[0]]
    yield 'moments', {'type': 'array', 'items': logical('long', 'timestamp-micros')}, [moments, []]


def avro_files():
    for name, kind, values in avro_types():
        yield f'{name}.avro', avro(record(('v', kind)), [{'v': value} for value in values])
        yield f'{name}-deflate.avro', avro(record(('before', 'int'), ('v', kind), ('after', 'string')), [{'before': 1, 'v': value, 'after': 'z'} for value in values], 'deflate')
    many = [{'i': i, 't': f'row {i}'} for i in range(5000)]
    for codec in ('null', 'deflate', 'bzip2', 'xz'):
        yield f'many-{codec}.avro', avro(record(('i', 'long'), ('t', 'string')), many, codec)
    yield 'no-rows.avro', avro(record(('i', 'long')), [])
    yield 'no-fields.avro', avro(record(), [{}, {}])
    spaced = {'type': 'record', 'name': 'a.b.r', 'fields': [{'name': 'x', 'type': {'type': 'enum', 'name': 'e', 'symbols': ['A']}}, {'name': 'y', 'type': 'a.b.e'}]}
    yield 'namespaces.avro', avro(spaced, [{'x': 'A', 'y': 'A'}])
    yield 'docs.avro', avro({**record(('i', {'type': 'long', 'doc': 'a number'})), 'doc': 'rows', 'aliases': ['s']}, [{'i': 1}])
    yield 'defaults.avro', avro({'type': 'record', 'name': 'r', 'fields': [{'name': 'i', 'type': 'long', 'default': 5}]}, [{'i': 1}, {}])
