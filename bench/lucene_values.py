"""Mappings of many fields of one kind, and documents with one value that is nearly of this kind for all of them."""

import json

from lucene_documents import ODD, address, date
from lucene_mappings import FORMATS, NUMBERS, OTHERS_REFUSE, WRITTEN, extras

NAMED = [
    "strict_date_optional_time", "strict_date_optional_time_nanos", "date_optional_time", "strict_date_time", "strict_date_time_no_millis", "strict_date", "strict_year_month_day",
    "strict_date_hour_minute_second", "strict_date_hour_minute_second_millis", "strict_date_hour_minute_second_fraction", "strict_year_month", "strict_year", "strict_date_hour",
    "strict_date_hour_minute", "basic_date", "epoch_millis", "epoch_second", "yyyy-MM-dd", "uuuu-MM-dd", "uuuuMMdd", "yyyyMMdd", "yyyy/MM/dd HH:mm:ss.SSS", "uuuu-M-d H:m:s",
]


def mapping(dice, opensearch):
    """Twelve fields that take malformed values, and the kind of their values."""
    kind = dice.choice(["date", "date", "number", "ip", "point", "point"])

    def field():
        if kind == "date":
            format = dice.choice([lambda: dice.choice(NAMED), lambda: dice.choice(FORMATS), lambda: "||".join(dice.sample(NAMED, 2))])()
            return {"type": dice.choice(["date", "date", "date_nanos"]), "format": format}
        if kind == "ip":
            return {"type": "ip"}
        if kind == "point":
            return {"type": "geo_point"} | dice.choice([{}, {"ignore_z_value": False}])
        # Elasticsearch has the two others in modules that its servers for tests are without.
        without = () if extras(opensearch) else ("unsigned_long", "scaled_float", *(OTHERS_REFUSE if opensearch else ()))
        name = dice.choice([name for name in NUMBERS if name not in without])
        return {"type": name, "coerce": dice.choice([True, False])} | ({"scaling_factor": dice.choice([10, 0.1, 1000.5])} if name == "scaled_float" else {})

    fields = {}
    for number in range(12 if kind in ("date", "number") else 3):
        fields[f"f{number}"] = field() | {"ignore_malformed": True} | dice.choice([{}, {}, {"doc_values": False}, {"index": False}])
    return {"dynamic": "strict", "properties": fields}, kind


def document(dice, fields, kind):
    one = value(dice, kind)
    return {name: one for name in fields["properties"]}


def value(dice, kind):
    if dice.random() < 0.03:
        return dice.choice(ODD)
    if kind == "number":
        return number(dice)
    if kind == "point":
        return place(dice)
    return edited(dice, str(day(dice) if kind == "date" else address(dice)), "0123456789abcdef:.%/ " if kind == "ip" else "00112359-+:TZ .,/")


def day(dice):
    """A date, which sometimes is at the end of a month or of a day, or in a year of few or many digits."""
    if dice.random() < 0.5:
        return date(dice, dice.choice([None, *WRITTEN]) if dice.random() < 0.5 else None)
    year = dice.choice(["2023", "2024", "1900", "0000", "0001", "-0001", "-2024", "+2024", "+12024", "-12024", "12024", "9999", "202", "+292278994", "-292275055", "+999999999", "+1000000000", "1", "-1"])
    month, day = dice.choice(["01", "02", "02", "12", "11", "00", "13", "2", "99"]), dice.choice(["01", "28", "29", "30", "31", "32", "00", "1", "99"])
    text = dice.choice(["{}-{}-{}", "{}-{}-{}", "{}{}{}", "{}-{}", "{}", "{}/{}/{}"]).format(year, month, day)
    if dice.random() < 0.5:
        hour, minute, second = dice.choice(["00", "23", "24", "24", "25", "7"]), dice.choice(["00", "00", "59", "60", "5"]), dice.choice(["00", "00", "59", "60", "5"])
        time = dice.choice(["{}", "{}:{}", "{}:{}:{}", "{}:{}:{}", "{}:{}:{}.5", "{}:{}:{}.123456789", "{}:{}:{},25", "{}:{}:{}.000", "{}:{}.5"]).format(hour, minute, second)
        text += dice.choice(["T", "T", "T", " "]) + time + dice.choice(["", "", "", "Z", "+01:00", "-0030", "+18", "+18:01", "+0100"])
    return text


def number(dice):
    digits = "".join(dice.choice("0123456789") for _ in range(dice.choice([1, 2, 3, 5, 9, 10, 18, 19, 20, 25])))
    bound = dice.choice([127, 128, 32767, 32768, 65504, 65520, 2**31, 2**53, 2**63, 2**64, 340282346638528859811704183484516925440]) + dice.randrange(-2, 3)
    text = dice.choice(["", "", "", "-", "+"]) + dice.choice([digits, digits, str(bound)])
    text += dice.choice(["", "", "", ".", ".0", ".5", f".{digits}", ".9999999999999999999"]) + dice.choice(["", "", "", "", "e3", "E-3", "e+20", "e-20", "e308", "e-400", "e19", "e", "f", "d", "L"])
    if dice.random() < 0.4:
        try:
            # As a number, where JSON has it.
            return json.loads(text, parse_float=float)
        except ValueError:
            pass
    return edited(dice, text, "0123456789.-+eExdf_ ,")


def place(dice):
    """A point in one of its forms, of which a part is often missing, twice there or odd."""
    part = lambda: dice.choice([dice.uniform(-90, 90), dice.choice([0, 90, -90, 180, -180, 90.5, 180.1, 1e308, 1e-300]), str(dice.uniform(-90, 90)), edited(dice, "12.5", "0123456789.-+e "), None, True, "", [1], {}][: dice.choice([2, 4, 9])])
    form = dice.choice(["text", "text", "hash", "words", "array", "object", "object", "json", "several"])
    if form == "text":
        return edited(dice, dice.choice(["{},{}", "{}, {}", "{},{},{}", " {} ,{}", "{} {}"]).format(*(part() for _ in range(3))), "0123456789.-+e ,")
    if form == "hash":
        return edited(dice, "".join(dice.choice("0123456789bcdefghjkmnpqrstuvwxyz") for _ in range(dice.choice([1, 3, 6, 12, 13, 20]))), "ailoUX ,.-")
    if form == "words":
        return edited(dice, dice.choice(["POINT ({} {})", "POINT({} {} {})", "point ({} {})", "POINT Z ({} {} {})", "POINT EMPTY", "LINESTRING ({} {}, {} {})", "POINT ({}, {})", "BBOX ({}, {}, {}, {})"]).format(*(part() for _ in range(4))), "()0123456789.-+e ,")
    if form == "array":
        return [part() for _ in range(dice.choice([0, 1, 2, 2, 2, 3, 3, 4]))]
    if form == "json":
        found = {"type": dice.choice(["Point", "point", "POINT", "LineString", 1]), "coordinates": dice.choice([[part() for _ in range(dice.choice([1, 2, 2, 3]))], part()])}
        return dict(dice.sample(sorted(found.items()), dice.choice([1, 2, 2, 2])))
    if form == "several":
        return [place(dice) for _ in range(dice.choice([1, 2, 3]))]
    found = {"lat": part(), "lon": part(), "geohash": dice.choice(["u09tv", "", "X", 5, None]), "z": 1, "type": "Point", "LAT": 1}
    return dict(dice.sample(sorted(found.items()), dice.choice([1, 2, 3]))) if dice.random() < 0.4 else {"lat": part(), "lon": part()}


def edited(dice, text, characters):
    """The text with some characters left out, added or replaced, mostly none."""
    for _ in range(dice.choice([0, 0, 0, 1, 1, 2])):
        at = dice.randrange(len(text) + 1)
        text = text[:at] + dice.choice(["", dice.choice(characters)]) + text[at + dice.choice([0, 1]):]
    return text
