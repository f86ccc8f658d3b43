"""Random documents of a mapping, good ones and bad ones, for bench/lucene.py."""

import base64
import json
import time

import lucene_joins
import lucene_mappings
import lucene_shapes
from lucene_mappings import ALONE, DATES, NUMBERS, RANGES

TEXTS = (
    "the quick brown fox GET /index.html HTTP/1.1 l’été Ünïcödé 東京 ひら カタカナ 한국어 ภาษาไทย 👩‍👩‍👧 a_b 3.14 1,000 can't x:y _ - "
    "שלום \u200d e\u0301 İ ſ Straße ΣΊΣΥΦΟΣ x\u00a0y हिन्दी မြန်မာ \U00010400\U00010428 ǅ ﬁ "
    "\x00 a\x1fb \x7f \u2028 x\ufeffy so\u00adft ﷺ 👨‍🚒 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 1️⃣ 🇫🇷🇩 ٣٫٤ ５ Ａｂ ｶﾞ ㌔ ヴ゛ ꙮ 𠮷野 ກິນເຂົ້າ ភាសាខ្មែរ བོད་སྐད ქართული ՀԱՅԵՐԵՆ Ωμέγα"
).split(" ")
WRITTEN = [
    "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S.123", "%Y-%m-%dT%H:%M:%S.1234567+02:00", "%Y-%m", "%Y-%m-%dT%H",
    "%Y-%m-%d %H:%M:%S.123456", "%Y%m%d", "%Y-%m-%dT%H:%M:%S+0130", "%Y-%m-%dT%H:%M:%S-11", "%Y-%m-%dT%H:%M:%S.5Z", "%Y-%m-%dT%H:%M:%S", "%d/%m/%Y %H:%M", "%Y", "%Y%m%d%H%M%S",
    "%Y-%m-%d %H:%M:%S +0200", "%Y-%m-%dT%H:%M:%S.123456789Z", "%d/%b/%Y:%H:%M:%S +0100", "%d.%m.%Y", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S,5Z", "%Y-%m-%dT%H:%M:%SUTC",
    "%Y-%m-%dT%H:%M:%S+01:00:30", "%Y-%m-%dT%H:%M:%S Europe/Paris", "%Y-%m-%dT%H:%M:%Sz", "%Y-%m-%dt%H:%M:%SZ", "%Y-%m-%dT", "%Y-%m-%dT%H:%M:%S.Z", "%Y-%m-%dT%H:%M:%S-00:00",
    "%Y-%m-%dT%H:%M:%S.1234567891Z", " %Y-%m-%d", "%Y-%m-%dT24:00:00Z", "%Y-%m-%dT%H:%M:%S.123+1400", "%Y-%m-%dT%H:%M:60", "%Y-%m-32", "%Y-00-01", "+%Y-%m-%d", "-%Y-%m-%d",
    "%a %b %d %H:%M:%S +0000 %Y", "Mon %b %d %H:%M:%S -0130 %Y", "%m/%d/%Y %I:%M:%S %p", "%I:%M AM %d.%m.%Y", "%b %d, %Y", "%b %-d, %Y", "%a, %-d %b %Y", "%y%m%d", "%d-%m-%y",
    "%Y-%-m-%-d", "%Y-%-m-%-dT%-H:%-M:%-S.5Z", "%Y-%m-%dT%-H", "%y-%m-%d", "%m/%d/%Y %H:%M:%S am", "%d/%B/%Y:%H:%M:%S +0100", "%d/%b/%Y:%H:%M:%S Z",
]
ODD = [
    "", "x", "-1", 5, -3.75, True, False, "true", "1.5", "1e3", "2024-01-01", "::", "999999999999", 1e300, "0", 2**63 - 1, "-0", -0.0, 1.7976931348623157e308, 10**29,
    2**64 - 1, 2**64, -1, "18446744073709551615", 65504, 65520, 3e38, 1e-45, -(2**63), "5d", " 7 ", "0x1p3", "NaN", "1.0", "00012", "+4", ".5", "5.", "-2000", "+2000", -1970, "-1970-01-01",
    "\ud800", "a\udc00b", "a b\ud83d", "\ud83d\ud83d\ude00", "\x00", 10**40, -(10**19), 1e-320, "1e400", "9" * 400, 0.1 + 0.2, 123456789012345678, 2**53 + 1, "٣", "1_000", "1,5", "Infinity", "True", "TRUE",
    1e16, 123456.789e3, "2.5e-3", "1e2147483648", "0e99999", "-9223372036854775809", "1e-1000",
]


def date(dice, format=None):
    seconds = dice.randrange(2_000_000_000) if dice.random() < 0.95 else dice.randrange(-(10**10), 10**11)
    form = dice.choice(lucene_mappings.WRITTEN[format] if format in lucene_mappings.WRITTEN and dice.random() < 0.7 else [None, *WRITTEN])
    if form is None or not 0 <= seconds < 10**10:
        return dice.choice([seconds, seconds * 1000, str(seconds), f"{seconds}.{dice.randrange(10**6)}"])
    return time.strftime(form, time.gmtime(seconds))


def address(dice):
    a, b, c = (dice.randrange(256) for _ in range(3))
    if dice.random() < 0.1:
        return dice.choice([f"10.0.0.{a % 9}", "::ffff:1.2.3.4", "01.2.3.4", "1.2.3"])
    return dice.choice([f"{a}.1.{b}.{c}", f"2001:db8::{a:x}{b:02x}"])


BAD_POINTS = [
    "", "x,y", "x!", "1,x", ",", "1,2,3,4", "1,2,x", "1 2", "NaN,1", "Infinity,1", "1,2,NaN", "91,0", "0,181", "-91,-181", "1e308,1e308", "u09", "U09", "a!", "gcpvj0e5b2x8zzz",
    "LINESTRING (1 2, 3 4)", "POLYGON ((0 0, 1 0, 1 1, 0 0))", "BBOX (1, 2, 3, 4)", "POINT (1 91)", "POINT (181 1)", "POINT (1)", "POINT (1 2 3)", "POINT (1 2 3 4)",
    7, -1.5, True, False, None, {}, [1], [1, None], [1, True], [1, "2"], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, "5,6"], [1, 2, 3, [5, 6]], [1, 2, None], [0, 91], [540, -450.5], [-180.1, 90.1],
    {"lat": 1}, {"lat": "x", "lon": 1}, {"lat": None, "lon": 1}, {"lat": 1, "lon": 2, "x": {"y": [1]}}, {"lat": [1], "lon": {"a": 1}}, {"lat": -90.5, "lon": 180}, {"lat": 1, "lon": "NaN"},
    {"lat": 1, "lon": 1, "type": "Point"}, {"lat": 1, "lon": 1, "z": 1}, {"type": "Point", "coordinates": [1]}, {"type": "Point", "coordinates": ["1", 2]}, {"type": "Point", "coordinates": [181, 91]}, {"type": "Point", "coordinates": None},
    {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}, {"type": 1, "coordinates": [1, 2]}, {"geohash": "ezs42"}, {"geohash": "a!"}, {"geohash": 5}, {"geohash": "ezs42", "lat": 1},
    [None], [[1, 2], None], ["x!", "y!"], ["x!", []], ["x!", None, [1, 2]], [[1, 2], [[3, 4], [5, 6]], [7, 8]], ["x!", ["y!", [1, 2]], [[3, 4], None]], [[1, "x", "5,6"], [3, 4]], [[1, 2], "x!", "3,4", {"x": 1}, [5, 91]],
]


def point(dice, malformed=0.03):
    lat, lon = dice.choice([dice.uniform(-90, 90), dice.choice([-90, 90, 0, 43.3])]), dice.choice([dice.uniform(-180, 180), dice.choice([-180, 180, 0, 1.5])])
    if dice.random() < malformed:
        good = lambda: dice.choice([[lon, lat], f"{lat},{lon}", {"lat": lat, "lon": lon}])
        one = lambda: dice.choice([lambda: dice.choice(BAD_POINTS), good])()
        return dice.choice([lambda: dice.choice(BAD_POINTS), lambda: [good(), *(one() for _ in range(dice.randrange(4)))], lambda: [one() for _ in range(dice.randrange(5))], lambda: [lon * 2, lat * 3]])()
    forms = [f"{lat},{lon}", f" {lat} , {lon} ", [lon, lat], {"lat": lat, "lon": lon}, {"lon": str(lon), "lat": lat}, {"type": "Point", "coordinates": [lon, lat]}, f"POINT ({lon} {lat})"]
    return dice.choice(forms) if dice.random() < 0.9 else [dice.choice(forms), dice.choice(forms[3:5])]


def flat(dice, depth, odd=("a", "b", "c.d", "é", "")):
    """An object whose values are terms of one field, or of a few; some names are odd."""
    one = lambda: dice.choice([text(dice, False), dice.randrange(99), 1.5, True, None, flat(dice, depth + 1, odd) if depth < 4 else "x"])
    names = odd if dice.random() < 0.1 else ["a", "b", "c"]
    return {dice.choice(names): one() if dice.random() < 0.8 else [one(), [one()], one()] for _ in range(dice.randrange(4))}


def ranged(dice, field):
    """A range; some are odd."""
    kind, chance = field["type"], dice.random()
    end = lambda: scalar(dice, {"type": RANGES[kind], "format": field.get("format")})
    if kind == "ip_range" and chance < 0.5:
        return f"{address(dice)}/{dice.choice([0, 8, 24, 32, 33, 64, 128, 129, '+8', '', '8/', 'x', -1])}"
    if chance > 0.97:
        return dice.choice([None, 5, "x", True, {}, {"from": 1}, {"gte": [1]}, {"gte": {}}, {"x": None}, {"gte": None, "lte": None}, {"gt": None, "lt": None}, {"gt": 1, "gte": 2}, "1.2.3.4", "1.2.3.0/24"])
    ends = [end(), end()]
    try:
        ends.sort(key=float)
    except (TypeError, ValueError):
        # Else the most would be refused.
        if dice.random() < 0.8:
            ends = ends[:1]
    names = dice.choice([["gte", "lte"], ["gt", "lt"], ["gte", "lt"], ["gt", "lte"], ["gte", "gt"], ["lt", "lte"]] if dice.random() < 0.05 else [["gte", "lte"], ["gt", "lt"], ["gte", "lt"], ["gt", "lte"]])
    found = dict(zip(names if len(ends) > 1 else dice.sample(names, 1), ends))
    return found if dice.random() < 0.9 else found | {dice.choice(["gte", "lt"]): None}


def suggestion(dice, texts=None):
    """What a field of suggestions takes: a text, an object, or several of both; some are none."""
    word = lambda: dice.choice([lambda: text(dice, True), lambda: dice.choice(["New York", "new  york", "Nancy", "Aa", "BB", "AaBB", " ", "a", "the end of the", "Ünï"])])()
    one = lambda: str(word()) if dice.random() < 0.99 else dice.choice(["a\x1fb", "\x00", 5, None, True, [], ["a"]])
    weight = lambda: dice.choice([0, 1, 7, 7, dice.randrange(2**31), str(dice.randrange(99)), 2**31 - 1] + ([-1, 2**31, 1.5, None, "x", [1]] if dice.random() < 0.05 else []))
    form = dice.random()
    if form < 0.4:
        return one()
    if form < 0.8:
        found = {"input": dice.choice([one, lambda: [one() for _ in range(dice.choice([0, 1, 2, 3, 20]))]])()}
        return found | dice.choice([{}, {"weight": weight()}, {"weight": weight()}]) if dice.random() < 0.99 else found | {"x": 1}
    return [suggestion(dice) for _ in range(dice.choice([0, 1, 2, 3, 15]))] if form < 0.99 else None


def features(dice):
    """An object of features, some of which are none."""
    one = lambda: dice.choice([dice.uniform(0, 100), dice.randrange(1, 9), "2.5", dice.choice([None, 1e-30, 1e30, 5]), dice.choice([0, -1, "x", True, [1], {}]) if dice.random() < 0.2 else 1])
    return {dice.choice(["a", "b", "c", "c.d", "", "é", f"k{dice.randrange(300)}"]): one() for _ in range(dice.randrange(5))}


FLAT_NAMES = ("a", "a.b", "é", "", ".", "..", "a.", ".a", "a..b", " ", "a=b", "x" * 300, "\x00", "_value")


# Letters of Unicode 14 to 16, which a node on Java 17 does not know, and of 17 with another case, which one on Java 25 does not know.
NEW_LETTERS = (
    (0x19B, 0x19B), (0x264, 0x264), (0x870, 0x887), (0x889, 0x88E), (0x8B5, 0x8B5), (0x8C8, 0x8C9), (0xC5D, 0xC5D), (0xCDD, 0xCDD), (0x170D, 0x170D), (0x171F, 0x171F), (0x1B4C, 0x1B4C),
    (0x1C89, 0x1C8A), (0x2C2F, 0x2C2F), (0x2C5F, 0x2C5F), (0x9FFD, 0x9FFF), (0xA7C0, 0xA7C1), (0xA7CB, 0xA7DC), (0xA7F2, 0xA7F4),
    (0x10570, 0x105F3), (0x10780, 0x107BA), (0x10D40, 0x10D85), (0x10EC2, 0x10EC4), (0x10F70, 0x10F81),
)


def character(dice):
    while True:
        found = dice.choice([dice.randrange(0x20, 0xD800), dice.randrange(0xE000, 0x11000), dice.randrange(0x1F000, 0x20000)])
        if not any(first <= found <= last for first, last in NEW_LETTERS):
            return chr(found)


def text(dice, short):
    chance = dice.random()
    if chance < 0.0005:
        return dice.choice(["a" * 32_766, "é" * 16_384, " ".join(dice.choice(TEXTS) for _ in range(4000))])
    if chance < 0.95:
        return " ".join(dice.choice(TEXTS) for _ in range(dice.choice([1, 1, 2, 5, 12, 40])))
    if chance < 0.97:
        return "".join(character(dice) for _ in range(dice.randrange(1, 12)))
    return dice.choice(["", " ", "a" * 300, "A" * 33_000 if short else "b" * 600, 42, 1.0, True])


def scalar(dice, field):
    kind, chance = field["type"], dice.random()
    if chance < (0.01 if kind in (*ALONE, "completion") and kind != "geo_point" else 0.07):
        return None if chance < 0.04 else dice.choice(ODD)
    if kind in ("keyword", "text", "match_only_text", "token_count", "search_as_you_type", "wildcard"):
        return text(dice, kind != "keyword" or field.get("ignore_above", 1000) < 1000)
    values = {
        "long": lambda: [dice.randrange(-(2**63), 2**63), dice.randrange(1000), 5, 1704063600000 + 1000 * dice.randrange(9999)],
        "integer": lambda: [dice.randrange(-(2**31), 2**31), dice.randrange(50), 100 * dice.randrange(99), "17", 3.9],
        "short": lambda: [dice.randrange(-32768, 32800)],
        "byte": lambda: [dice.randrange(-128, 130)],
        "unsigned_long": lambda: [dice.randrange(2**64), dice.randrange(100), str(dice.randrange(2**64))],
        "half_float": lambda: [dice.uniform(-70000, 70000), dice.randrange(3000), dice.uniform(0, 1), 10 ** dice.uniform(-9, 4)],
        "date": lambda: [date(dice, field.get("format"))],
        "date_nanos": lambda: [date(dice, field.get("format"))],
        "ip": lambda: [address(dice)],
        "boolean": lambda: [True, False, "true", "false"],
        # Else the most documents would be refused.
        "geo_point": lambda: [point(dice, 0.4 if field.get("ignore_malformed") else 0.03)],
        "geo_shape": lambda: [lucene_shapes.shape(dice, 0.3 if field.get("ignore_malformed") else 0.03)],
        "binary": lambda: ["aGVsbG8=", "", "AA==", base64.b64encode(dice.randbytes(dice.randrange(40))).decode()] + (["no base 64", 5, "aGVsbG8", " AAAA ", "AA==AAAA", "a"] if dice.random() < 0.1 else []),
        "rank_feature": lambda: [dice.uniform(0, 100), dice.randrange(1, 9), "2.5", 1e-30] + ([0, -1, 1e39, "x", True] if dice.random() < 0.05 else []),
        "rank_features": lambda: [features(dice)],
        **{name: lambda: [ranged(dice, field)] for name in RANGES},
        "completion": lambda: [suggestion(dice)],
        "constant_keyword": lambda: [field["value"]],
        "flattened": lambda: [flat(dice, 0)],
        "join": lambda: [lucene_joins.value(dice, field)],
        "flat_object": lambda: [flat(dice, 0, FLAT_NAMES)],
    }
    decimal = lambda: [dice.uniform(-1e6, 1e6), dice.randrange(100), round(dice.uniform(0, 100), 2), "12.5", 0.1, 1e-30, -2.5]
    return dice.choice(values.get(kind, decimal)())


LIMITS_MAPPING = {"dynamic": False, "properties": {
    "k": {"type": "keyword"}, "t": {"type": "text"}, "whole": {"type": "text", "analyzer": "keyword"}, "l": {"type": "long"}, "i": {"type": "integer"}, "d": {"type": "double"},
    "f": {"type": "float"}, "h": {"type": "half_float"}, "date": {"type": "date"}, "nanos": {"type": "date_nanos"}, "b": {"type": "boolean"}, "ip": {"type": "ip"},
    "off": {"type": "object", "enabled": False}, "n": {"type": "nested", "properties": {"x": {"type": "long"}}}, "o": {"properties": {"k": {"type": "keyword"}}},
}}


# Only for OpenSearch.
FLAT_LIMITS = {"flat": {"type": "flat_object"}}


def flat_limits():
    """The same of `flat_object`: OpenSearch puts `flat.flat.a=` before a value, and `flat.` before that."""
    found = ['{"flat":{"%s":"%s"}}' % (name, "x" * length) for name in ("a", "a.") for length in (32_752, 32_753, 32_754, 32_755, 32_766, 32_767)]
    found += ['{"flat":{"a":%s}}' % ("1" * length) for length in (1000, 1001)]
    found += ['{"flat":{"a":"%s"}}' % ("é" * length) for length in (16_376, 16_377)] + ['{"flat":{"%s":%s}}' % ("x" * length, value) for length in (32_753, 32_754, 32_755, 50_001) for value in (1, "null")]
    for depth in (20, 21, 499, 500, 501, 997, 998, 999):
        found += ['{"flat":{"a":%s1%s}}' % ("[" * depth, "]" * depth), '{"flat":%s{"a":1}%s}' % ("[" * depth, "]" * depth), '{"flat":%s1%s}' % ('{"a":' * depth, "}" * depth)]
    return [line.encode() for line in found]


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


HOSTILE = [
    ("", 1), (" ", 1), ("a.", 1), (".a", 1), ("a..b", {"c": 1}), (".", 1), ("..", 1), (" a", 1), ("a ", 1), ("a. b", 1), ("a.b.c", None), ("*", 1), ("a*b", 1), ("é", 1),
    ("_id", "x"), ("_routing", "x"), ("_foo", 1), ("_doc_count", 5), ("_source", {}), ("_type", "x"), ("x" * 40_000, 1), ("\x00", 1), ("a\nb", 1), ("\ud800", 1), ("x\udc00", 1),
    ("deep", [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]), ("deep", eval("[" * 25 + "1" + "]" * 25)), ("deep", eval("{'a':" * 30 + "1" + "}" * 30)),
]


def several(dice, one, field):
    """A value, or an array of some; of values rarely of many, or of arrays."""
    chance = dice.random()
    if chance > {"nested": 0.4, "rank_feature": 0.01, "rank_features": 0.01, "completion": 0}.get(field.get("type"), 0.15):
        return one()
    if chance < 0.01 and "properties" not in field:
        return dice.choice([[one() for _ in range(dice.choice([20, 100, 400]))], [[one()], [], [one(), [one()]]]])
    return [one() for _ in range(dice.randrange(4))]


def document(dice, fields, density, depth=0):
    found = {}
    for name, field in fields["properties"].items():
        # What is further down is rare, so that documents stay small.
        if dice.random() > density[name] or depth > 2 and dice.random() < 0.4:
            continue
        if field.get("type") == "alias":
            if dice.random() < 0.002:
                found[name] = 1
            continue
        if field.get("enabled") is False:
            found[name] = dice.choice([1, {"a": [1, {"b": None}]}, "x", [], {"": 1}, {"a.b": {"..": 1}}])
            continue
        is_object = "properties" in field
        few = density.get(id(field))
        one = (lambda: document(dice, field, density, depth + 1)) if is_object else (lambda: dice.choice(few)) if few else (lambda: scalar(dice, field))
        if is_object and dice.random() < 0.02:
            one = lambda: dice.choice([None, 5, "x", {}, []])
        value = several(dice, one, field)
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
    elif chance < 0.009:
        name, value = dice.choice(HOSTILE)
        found[name] = value
    elif chance < 0.011 and fields["properties"]:
        found[dice.choice(list(fields["properties"]))] = dice.choice([eval("[" * 25 + "1" + "]" * 25), {"no": 1}, [[["x"]]], [{"no": 1}], {}, [{}]])
    elif chance < 0.015 and fields["properties"]:
        # As if the field was an object.
        found[f"{dice.choice(list(fields['properties']))}.x"] = dice.choice([None, None, 1, "x", [], [None], {}, {"y": 1}])
    return found


def written(dice, value):
    """A document as a line of JSON, mostly as Python writes it, else with other forms of the same."""
    if dice.random() < 0.85:
        line = json.dumps(value, ensure_ascii=dice.random() < 0.2)
        try:
            line.encode()
        except UnicodeEncodeError:
            line = json.dumps(value)
        return line
    behind = dice.choice(["x", "{}", ",", "]", "1"]) if dice.random() < 0.003 else dice.choice(["", "", " ", "\t"])
    return dice.choice(["", "", " ", "\ufeff"]) + odd(dice, value) + behind


def odd(dice, value):
    space = lambda: dice.choice(["", "", "", " ", "\t", "  ", "/**/"])
    if isinstance(value, dict):
        members = [f"{space()}{odd(dice, name)}{space()}:{space()}{odd(dice, inner)}" for name, inner in value.items()]
        if members and dice.random() < 0.003:
            members.append(dice.choice(members))
        return "{" + space() + ",".join(members) + space() + "}"
    if isinstance(value, list):
        return "[" + space() + ",".join(f"{space()}{odd(dice, inner)}{space()}" for inner in value) + "]"
    if isinstance(value, str):
        escape = lambda c: "".join(f"\\u{unit:04{dice.choice('xX')}}" for unit in units(c))
        return '"' + "".join(escape(c) if c < " " or c in '"\\' or "\ud800" <= c <= "\udfff" or dice.random() < 0.02 else c for c in value) + '"'
    if isinstance(value, int) and not isinstance(value, bool):
        return dice.choice([str(value), str(value), f"{value}.0", f"{value}e0", f"{value}E+0", f"{value}00e-2", f"{value}.00"])
    if isinstance(value, float):
        return dice.choice([repr(value), repr(value), f"{value:.20e}", f"{value:E}", f"{value:.12f}"])
    return json.dumps(value)


def units(c):
    """The units of UTF-16 of a character."""
    code = ord(c)
    return [code] if code < 0x10000 else [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]


def densities(dice, fields, into):
    """How many documents have each field, by its name, and the values of those that have few, by the identity of their definition."""
    for name, field in fields["properties"].items():
        into[name] = dice.choice([1, 1, 0.9, 0.5, 0.02, 0])
        if "properties" in field:
            densities(dice, field, into)
        elif field.get("enabled", True) and field.get("type") not in ("alias", "join") and dice.random() < 0.35:
            into[id(field)] = few(dice, field)
    return into


def few(dice, field):
    """The only values of a field: one, some, or numbers with a common divisor."""
    step, most = dice.choice([1, 7, 1000, 86_400_000]), {"byte": 127, "short": 32_767, "integer": 2**31 - 1}.get(field["type"], 2**45)
    if field["type"] in ("long", "integer", "short", "byte", "double", "float") and dice.random() < 0.5:
        first = dice.randrange(-100, 100)
        return [first + step * number for number in range(dice.choice([1, 2, 15, 250, 3000])) if first + step * number <= most]
    return [scalar(dice, field) for _ in range(dice.choice([1, 1, 2, 10, 200]))]


def identities(dice, count):
    """Ids of the forms that the servers write differently: numbers, base 64 as they make it, and others."""
    kinds = dice.choice([["number"], ["made"], ["number", "zeros", "made", "short", "text", "unicode", "long"]])
    made = lambda size: "".join(dice.choice("abcXYZ0189-_") for _ in range(size))
    forms = {
        "number": lambda number: str(number), "zeros": lambda number: f"00{number}", "made": lambda number: f"{number:05}".replace("0", "A") + made(15), "short": lambda number: f"{number}" + made(number % 5),
        "text": lambda number: f'a "{number}"\\ % + /', "unicode": lambda number: f"é東👩\u0000{number}", "long": lambda number: (f"{number}." + "x" * 512)[:512],
    }
    found = dict.fromkeys(forms[dice.choice(kinds)](number) for number in range(count))
    return [*found, *(f"one more {number}" for number in range(count - len(found)))]
