"""Random mappings and random documents, good ones and bad ones, for bench/lucene.py."""

import time

TEXTS = (
    "the quick brown fox GET /index.html HTTP/1.1 l’été Ünïcödé 東京 ひら カタカナ 한국어 ภาษาไทย 👩‍👩‍👧 a_b 3.14 1,000 can't x:y _ - "
    "שלום \u200d e\u0301 İ ſ Straße ΣΊΣΥΦΟΣ x\u00a0y हिन्दी မြန်မာ \U00010400\U00010428 ǅ ﬁ"
).split(" ")
NUMBERS = ("long", "integer", "short", "byte", "double", "float", "half_float", "unsigned_long", "scaled_float")
DATES = ("date", "date_nanos")
KINDS = ["keyword", "keyword", "keyword", "text", "text", "text", "date", "date", "date_nanos", "ip", "boolean", "geo_point", *NUMBERS]
FORMATS = [
    "yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "epoch_second", "yyyy/MM/dd||epoch_millis", "strict_date_optional_time||epoch_second", "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "strict_date_optional_time||yyyy-MM-dd HH:mm:ss||yyyy-MM-dd HH:mm:ss.SSS||yyyy-MM-dd HH:mm:ss.SSSSSS", "basic_date", "strict_date_time", "strict_date_time_no_millis",
    "strict_date_hour_minute_second||strict_date_hour_minute_second_millis", "strict_date_optional_time_nanos", "d/M/yyyy H:m", "yyyy-MM", "yyyy", "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyyMMddHHmmss||yyyy-MM-dd'T'HH:mm:ssX", "yyyy-MM-dd HH:mm:ss Z",
]
WRITTEN = [
    "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S.123", "%Y-%m-%dT%H:%M:%S.1234567+02:00", "%Y-%m", "%Y-%m-%dT%H",
    "%Y-%m-%d %H:%M:%S.123456", "%Y%m%d", "%Y-%m-%dT%H:%M:%S+0130", "%Y-%m-%dT%H:%M:%S-11", "%Y-%m-%dT%H:%M:%S.5Z", "%Y-%m-%dT%H:%M:%S", "%d/%m/%Y %H:%M", "%Y", "%Y%m%d%H%M%S",
    "%Y-%m-%d %H:%M:%S +0200", "%Y-%m-%dT%H:%M:%S.123456789Z",
]
ODD = [
    "", "x", "-1", 5, -3.75, True, False, "true", "1.5", "1e3", "2024-01-01", "::", "999999999999", 1e300, "0", 2**63 - 1, "-0", -0.0, 1.7976931348623157e308, 10**29,
    2**64 - 1, 2**64, -1, "18446744073709551615", 65504, 65520, 3e38, 1e-45, -(2**63), "5d", " 7 ", "0x1p3", "NaN", "1.0", "00012", "+4", ".5", "5.", "-2000", "+2000", -1970, "-1970-01-01",
]


def leaf(dice, opensearch, nested=False):
    """A field with some of the parameters that its type has."""
    # The servers for tests of Elasticsearch are without its modules.
    without = (["geo_point"] if nested else []) + ([] if opensearch else ["scaled_float", "unsigned_long"])
    kind = dice.choice([kind for kind in KINDS if kind not in without])
    field = {"type": kind}

    def maybe(share, name, value):
        if dice.random() < share:
            field[name] = value

    if kind == "scaled_float":
        field["scaling_factor"] = dice.choice([10, 100, 1000.5])
    if kind == "keyword":
        maybe(0.3, "ignore_above", dice.choice([3, 10, 256]))
        maybe(0.2, "normalizer", "lowercase")
        maybe(0.2, "null_value", "NULL")
    if kind == "text":
        maybe(0.3, "norms", False)
        maybe(0.1, "index", False)
        maybe(0.4, "analyzer", dice.choice(["standard", "simple", "whitespace", "keyword"]))
        maybe(0.3, "index_options", dice.choice(["docs", "freqs", "positions"]))
        if field.get("index_options", "positions") == "positions" and "index" not in field:
            maybe(0.2, "position_increment_gap", dice.choice([0, 1, 7]))
    else:
        maybe(0.15, "doc_values", False)
        maybe(0.15, "index", False)
    if kind in NUMBERS:
        maybe(0.2, "null_value", 7)
    if kind in NUMBERS and (kind != "unsigned_long" or opensearch):
        maybe(0.2, "coerce", False)
    if kind in (*NUMBERS, *DATES, "ip", "geo_point"):
        maybe(0.3, "ignore_malformed", True)
    if kind in DATES:
        maybe(0.5, "format", dice.choice(FORMATS))
    if kind == "ip":
        maybe(0.2, "null_value", "::1")
    if kind == "boolean":
        maybe(0.2, "null_value", True)
    if not nested and kind != "geo_point" and dice.random() < 0.3:
        more = {name: leaf(dice, opensearch, True) for name in dice.sample(["raw", "x", "num"], dice.randrange(1, 3))}
        # The servers read a second number off what the first one made of the text.
        field["fields"] = {name: part for name, part in more.items() if part["type"] not in NUMBERS or kind not in NUMBERS}
        numbers = [name for name, part in field["fields"].items() if part["type"] in NUMBERS]
        for name in numbers[1:]:
            del field["fields"][name]
    return field


def mapping(dice, opensearch, depth=0):
    fields = {}
    for number in range(dice.randrange(2, 7)):
        if depth < 2 and dice.random() < 0.25:
            below = mapping(dice, opensearch, depth + 1)
            if dice.random() < 0.4:
                below["type"] = "nested"
                for parameter in ("include_in_parent", "include_in_root"):
                    if dice.random() < 0.2:
                        below[parameter] = True
            fields[f"o{number}"] = below
        elif dice.random() < 0.05:
            fields[f"off{number}"] = {"type": "object", "enabled": False}
        else:
            name = f"f{number}" if dice.random() < 0.8 else "@timestamp"
            fields[name if dice.random() < 0.95 else f"dots.{name}"] = leaf(dice, opensearch)
    if dice.random() < 0.3:
        # Several fields in one.
        sources = [field for field in fields.values() if field.get("type") in ("keyword", "text", "ip", "boolean", *DATES)]
        for field in dice.sample(sources, min(len(sources), 2)):
            field["copy_to"] = "all" if depth == 0 else None
        if depth == 0 and sources:
            fields["all"] = {"type": dice.choice(["text", "keyword"]), "fields": {"raw": {"type": "keyword", "ignore_above": 20}}}
        for field in sources:
            if field.get("copy_to", "") is None:
                del field["copy_to"]
    if depth and dice.random() < 0.7:
        return {"properties": fields}
    dynamic = dice.choice(["strict", "false", "true"])
    return {"dynamic": dynamic, "properties": fields}


def date(dice):
    seconds = dice.randrange(2_000_000_000) if dice.random() < 0.95 else dice.randrange(-(10**10), 10**11)
    form = dice.choice([None, *WRITTEN])
    if form is None or not 0 <= seconds < 10**10:
        return dice.choice([seconds, seconds * 1000, str(seconds), f"{seconds}.{dice.randrange(10**6)}"])
    return time.strftime(form, time.gmtime(seconds))


def address(dice):
    a, b, c = (dice.randrange(256) for _ in range(3))
    if dice.random() < 0.1:
        return dice.choice([f"10.0.0.{a % 9}", "::ffff:1.2.3.4", "01.2.3.4", "1.2.3"])
    return dice.choice([f"{a}.1.{b}.{c}", f"2001:db8::{a:x}{b:02x}"])


def point(dice):
    lat, lon = dice.choice([dice.uniform(-90, 90), dice.choice([-90, 90, 0, 43.3])]), dice.choice([dice.uniform(-180, 180), dice.choice([-180, 180, 0, 1.5])])
    odd = dice.random() < 0.03
    if odd:
        return dice.choice(["", "x,y", [lon], {"lat": lat}, {"lat": lat, "lon": lon, "x": 1}, "91,0", [0, 91], "1,2,3", [1, 2, 3], "u09", 7, {"lat": "x", "lon": 1}, [[lon, lat], None]])
    forms = [f"{lat},{lon}", f" {lat} , {lon} ", [lon, lat], {"lat": lat, "lon": lon}, {"lon": str(lon), "lat": lat}, {"type": "Point", "coordinates": [lon, lat]}, f"POINT ({lon} {lat})"]
    return dice.choice(forms) if dice.random() < 0.9 else [dice.choice(forms), dice.choice(forms[3:5])]


def text(dice, short):
    if dice.random() < 0.97:
        return " ".join(dice.choice(TEXTS) for _ in range(dice.choice([1, 1, 2, 5, 12, 40])))
    return dice.choice(["", " ", "a" * 300, "A" * 33_000 if short else "b" * 600, 42, 1.0, True])


def scalar(dice, field):
    kind, chance = field["type"], dice.random()
    if chance < 0.07:
        return None if chance < 0.04 else dice.choice(ODD)
    if kind in ("keyword", "text"):
        return text(dice, kind == "text" or field.get("ignore_above", 1000) < 1000)
    values = {
        "long": lambda: [dice.randrange(-(2**63), 2**63), dice.randrange(1000), 5, 1704063600000 + 1000 * dice.randrange(9999)],
        "integer": lambda: [dice.randrange(-(2**31), 2**31), dice.randrange(50), 100 * dice.randrange(99), "17", 3.9],
        "short": lambda: [dice.randrange(-32768, 32800)],
        "byte": lambda: [dice.randrange(-128, 130)],
        "unsigned_long": lambda: [dice.randrange(2**64), dice.randrange(100), str(dice.randrange(2**64))],
        "half_float": lambda: [dice.uniform(-70000, 70000), dice.randrange(3000), dice.uniform(0, 1), 10 ** dice.uniform(-9, 4)],
        "date": lambda: [date(dice)],
        "date_nanos": lambda: [date(dice)],
        "ip": lambda: [address(dice)],
        "boolean": lambda: [True, False, "true", "false"],
        "geo_point": lambda: [point(dice)],
    }
    decimal = lambda: [dice.uniform(-1e6, 1e6), dice.randrange(100), round(dice.uniform(0, 100), 2), "12.5", 0.1, 1e-30, -2.5]
    return dice.choice(values.get(kind, decimal)())


LIMITS_MAPPING = {"dynamic": False, "properties": {
    "k": {"type": "keyword"}, "t": {"type": "text"}, "whole": {"type": "text", "analyzer": "keyword"}, "l": {"type": "long"}, "i": {"type": "integer"}, "d": {"type": "double"},
    "f": {"type": "float"}, "h": {"type": "half_float"}, "date": {"type": "date"}, "nanos": {"type": "date_nanos"}, "b": {"type": "boolean"}, "ip": {"type": "ip"},
    "off": {"type": "object", "enabled": False}, "n": {"type": "nested", "properties": {"x": {"type": "long"}}}, "o": {"properties": {"k": {"type": "keyword"}}},
}}


def limits():
    """Documents at the limits of the servers and just beyond them, and what is nearly JSON: a line each."""
    found = []
    for length in (32_766, 32_767):
        found += ['{"k":"%s"}' % ("a" * length), '{"whole":"%s"}' % ("a" * length), '{"t":"%s"}' % ("a" * length), '{"o":{"k":["x","%s"]}}' % ("a" * length)]
    found += ['{"k":"%s"}' % ("東" * count) for count in (10_922, 10_923)]
    wholes = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**31 - 1, 2**31, -(2**31) - 1]
    texts = ["9223372036854775807.9", "1e18", "1e19", "9.3e18", "1" + "0" * 400, "0." + "0" * 400 + "1", "1e309", "-1e309", "4.9e-324", "1e-400", "3.4028235e38", "3.4028236e38", "1e39", "65504", "65519.99", "65520", "1e400000"]
    for number in [*map(str, wholes), *texts]:
        found += ['{"%s":%s}' % (name, form) for name in "lidfh" for form in (number, f'"{number}"')]
    found += ['{"d":%s}' % ("1" * length) for length in (308, 310, 999, 1000, 1001)] + ['{"off":%s}' % ("1" * length) for length in (1000, 1001)]
    found += ['{"%s":1}' % ("x" * length) for length in (49_999, 50_000, 50_001, 70_000)]
    found += ['{"n":[%s]}' % ",".join(['{"x":1}'] * count) for count in (10_000, 10_001)]
    for depth in (19, 20, 21, 100, 499, 501, 998, 999, 1000, 1001, 1200):
        for name in ("off", "new", "k"):
            found.append('{"%s":%s1%s}' % (name, "[" * depth, "]" * depth))
            found.append('{"%s":%s1%s}' % (name, '{"a":' * depth, "}" * depth))
    dates = ["9999-12-31T23:59:59.999Z", "10000-01-01", "+10000-01-01", "-0001-12-31", "292278994-08-17", "+292278994-08-17", "9223372036854775807", "9223372036854775808", "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z", "1969-12-31T23:59:59.999Z", "2024-02-30", "2023-02-29", "24:00", "2024-01-01T24:00:00Z", "2024-01-01T23:59:60Z"]
    found += ['{"%s":"%s"}' % (name, date) for date in dates for name in ("date", "nanos")]
    found += ['{"ip":"%s"}' % address for address in ("1.2.3.4.5", "256.1.1.1", "1::2::3", "fe80::1%eth0", "::ffff:300.1.1.1", "1.2.3.4/8", "[::1]", "0x7f.1", "1")]
    found += ["{}", "[]", "", '"x"', "null", '{"k":"a"} ', '{"k":"a"}x', '{"k":"a"}{}', '{"k":"a",}', '{"k":"a","k":"b"}', '{"o":{"k":1,"k":2}}', "{'k':1}", '{"k":01}', '{"k":+1}', '{"k":.5}', '{"k":5.}', '{"l":0x1}', '{"d":NaN}', '{"k":tru}', '{"k":"\\ud800"}', '{"t":"a\\udc00b"}', '{"k":"\\u00"}', '{"k":"\\x"}', '{"k":"a\tb"}', '{"k":"a\x01b"}', '{/*x*/"k":1}', '\ufeff{"k":1}', '{"k"}', '{"k":}', '{k:1}', '{"k":1', '{"_id":"x"}', '{"o":null,"n":null,"k":null}', '{"o":[null,{"k":[]}],"n":[null]}', '{"b":"True"}', '{"b":0}', '{"b":"yes"}']
    return [line.encode() for line in found] + [b'{"k":"\xff"}', b'{"t":"\xc3"}', b'{"\xff":1}']


HOSTILE = [("", 1), (" ", 1), ("a.", 1), (".a", 1), ("a..b", {"c": 1}), ("deep", [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]), ("deep", eval("[" * 25 + "1" + "]" * 25)), ("x" * 40_000, 1)]


def document(dice, fields, density):
    found = {}
    for name, field in fields["properties"].items():
        if dice.random() > density[name]:
            continue
        if field.get("enabled") is False:
            found[name] = dice.choice([1, {"a": [1, {"b": None}]}, "x", []])
            continue
        is_object = "properties" in field
        one = (lambda: document(dice, field, density)) if is_object else (lambda: scalar(dice, field))
        if is_object and dice.random() < 0.02:
            one = lambda: dice.choice([None, 5, "x", {}])
        several = dice.random() > (0.5 if field.get("type") == "nested" else 0.85)
        value = [one() for _ in range(dice.randrange(4))] if several else one()
        if is_object and isinstance(value, dict) and field.get("type") != "nested" and dice.random() < 0.1:
            # The same as names with dots.
            found |= {f"{name}.{inner}": value for inner, value in value.items() if "." not in inner}
        else:
            found[name] = value
    chance = dice.random()
    if chance < 0.002:
        found["unknown"] = {"a": [1, 2]}
    elif chance < 0.006:
        found["unknown"] = dice.choice([None, [], [None, [None]]])
    elif chance < 0.008:
        name, value = dice.choice(HOSTILE)
        found[name] = value
    elif chance < 0.009 and fields["properties"]:
        found[dice.choice(list(fields["properties"]))] = dice.choice([eval("[" * 25 + "1" + "]" * 25), {"no": 1}, [[["x"]]]])
    return found


def densities(dice, fields, into):
    """How many documents have each field."""
    for name, field in fields["properties"].items():
        into[name] = dice.choice([1, 1, 0.9, 0.5, 0.02])
        if "properties" in field:
            densities(dice, field, into)
    return into
