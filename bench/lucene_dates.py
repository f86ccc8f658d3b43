"""Random dates and patterns for bench/lucene.py, and what a server makes of them."""

import json
import random
import re
import subprocess
import urllib.error

from servers import request

TIMES = "date_time date_time_no_millis ordinal_date ordinal_date_time ordinal_date_time_no_millis time time_no_millis t_time t_time_no_millis week_date week_date_time week_date_time_no_millis".split()
PARTS = (
    "date_hour date_hour_minute date_hour_minute_second date_hour_minute_second_fraction date_hour_minute_second_millis hour hour_minute hour_minute_second hour_minute_second_fraction "
    "hour_minute_second_millis weekyear weekyear_week weekyear_week_day year year_month year_month_day date date_optional_time"
).split()
# All formats with names. Elasticsearch has not those of the last line.
NAMED = [
    "basic_date", *(f"basic_{name}" for name in TIMES), *TIMES, *PARTS, *(f"strict_{name}" for name in (*TIMES, *PARTS)), "strict_basic_week_date", "strict_basic_week_date_time",
    "strict_basic_week_date_time_no_millis", "iso8601", "epoch_second", "epoch_millis", "strict_date_optional_time_nanos", "strict_week_year",
    "rfc3339_lenient", "week_year", "dateOptionalTime", "strictDateOptionalTime", "basicDate", "weekDate", "dateTime",
]
# Servers give back 100 fields of a hit.
MOST_FORMATS = 95

DATES = (
    "2024-02-29 2023-12-31 2024-2-9 24-1-1 2024-02 2024-1 2024 24 20240229 20231301 20230230 2024060 2023365 2024366 2023366 2024-060 2024-6 2024-366 2023-366 2024W091 2020W537 2024W97 2021W531 "
    "2024-W09-1 2020-W53-7 2021-W53-1 2024-W9-7 2024-W09 2009-W01-1 2016-W53-6 2023-W52-7 2024-W00-1 2023-02-29 2023-02-30 2023-02-32 2023-13-01 2023-00-10 2024-2-09 0001-01-01 0000-01-01 "
    "-0001-03-04 -2024-W09-1 -2024-060 -20240229 +12345-01-02 +12345-W09-1 +12345-060 +120240229 12345-060 12345-W09-1 12345-01-02 999-01-02 1-W1-1"
).split()
CLOCKS = "10:20:30 23:59:59 1:2:3 102030 235959 00:00:00 10:20 10 1:2 1 24:00:00 24:00 24 240000 24:00:01 23:59:60 235960 10:60:00 25:00:00 1020 12030".split()
FRACTIONS = ["", "", "", ".1", ".123", ".123", ".123456", ".123456789", ".1234567890", ",123", ".", ".000"]
ZONES = "Z Z Z +01:00 +01:00 +0100 +0100 -0530 -05:30 +01 +1 +18:00 +19:00 +01:00:30 +010030 UTC GMT UT +00:00 -00:00 ZZ z UTC+1 +1:00 +100 -18:00 +18:01 +0000".split() + [""] * 6
CHARACTERS = "0123456789-:.,TWZ+ tzw"
NUMBERS = "0 00 000 1 01 001 24 23 25 53 54 52 366 365 367 60 59 7 8 12 13 31 32 2024 2023 12345 999999999 1000000000 0000 99".split()


def text(dice):
    """A text that some format takes, or nearly."""
    time = dice.choice(CLOCKS[: dice.choice([6, 6, 9, 99])]) + dice.choice(FRACTIONS) + dice.choice(ZONES)
    date = dice.choice(DATES)
    found = dice.choice([date, time, f"T{time}", f"{date}T", f"{date} {time}"] + [f"{date}T{time}"] * 6)
    while dice.random() < 0.2 and found:
        found = edited(dice, found)
    return found


def edited(dice, text):
    at, one = dice.randrange(len(text) + 1), dice.choice(CHARACTERS)
    return text[:at] + dice.choice(["", one, one]) + text[at + dice.randrange(2):]


def near(dice, text):
    """The text with another number, zone, sign, case or mark in one or a few places."""
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
        chance, numbers = dice.random(), [match.span() for match in re.finditer(r"\d+", text)]
        if chance < 0.35 and numbers:
            start, end = dice.choice(numbers)
            number = text[start:end]
            text = text[:start] + dice.choice([*NUMBERS, number[:-1], number[1:], number + dice.choice("0123456789"), *[f"0{number}", f"{number}0"] * 3]) + text[end:]
        elif chance < 0.5:
            text = "".join(one.swapcase() if dice.random() < 0.7 else one for one in text)
        elif chance < 0.6:
            zone = re.search(r"(Z|[+-][0-9:]*|UTC?|GMT)$", text)
            text = (text[: zone.start()] if zone and zone.start() > 4 else text) + dice.choice(ZONES)
        elif chance < 0.65:
            text = dice.choice("-+") + text
        elif chance < 0.7:
            text = text.replace(dice.choice(":-.TW"), dice.choice(["", "-", ":", ",", "T", " "]), dice.choice([1, 9]))
        elif chance < 0.75:
            text = re.sub(r":\d+(\.\d+)?(?=[^:]*$)", "", text)
        else:
            text = edited(dice, text)
    return text


def pattern(dice):
    """A pattern of letters for a date, a time or both; some make no sense."""
    one = lambda words: dice.choice(words.split())
    year, month, day, of_year = one("yyyy uuuu yyyy uuuu yy uu y u yyy uuuuu"), one("MM MM M MMM"), one("dd dd d"), one("D DD DDD")
    orders = [[year, month, day], [year, month, day], [day, month, year], [month, day, year], [year, month], [month, day], [year, of_year], [year], [month], [day], [of_year], [one("E EE EEE"), day, month, year]]
    date = dice.choice(orders)
    if dice.random() < 0.1:
        dice.shuffle(date)
    date = dice.choice(["-", "/", ".", " ", ""]).join(date)
    hour, colon = one("HH HH H kk k hh h K KK"), dice.choice([":", ":", "", "."])
    time = colon.join([hour, one("mm m"), one("ss s")][: dice.choice([1, 2, 3, 3, 3, 3])])
    if dice.random() < 0.15 and colon in time[2:]:
        time = f"{time[:2]}{time[2:].replace(colon, '[' + colon, 1)}]" if colon else f"[{time}]"
    if dice.random() < 0.3:
        time += dice.choice([".", ",", "", ":"]) + one("S SSS SSSSSS SSSSSSSSS")
    if (hour[0] in "hK") != (dice.random() < 0.1):
        time += dice.choice([" a", "a"])
    if dice.random() < 0.3:
        time += dice.choice(["", " "]) + one("X XX XXX x xx xxx Z ZZ")
    both = date + dice.choice(["'T'", " ", " ", "'at'", ", ", "", "'['"]) + time
    return dice.choice([date, date, date, time, date + dice.choice(["['T'", "[ "]) + time + "]", both, both, both, both])


LARGEST = {"M": 12, "d": 31, "H": 23, "k": 24, "h": 12, "K": 11, "m": 59, "s": 59}
WORDS = {"MMM": ["Jan", "Feb", "Dec", "jan", "May"], "E": ["Mon", "Thu", "Sun", "Wed"], "a": ["AM", "PM", "am"]}
WORDS |= {letter: ["+0100", "+01:00", "Z", "-0530", "+01", "+0000", "-00:30", "+00:00", "+00", "-05:30"] for letter in "XxZ"}
YEARS = ["2024", "2023", "1999", "0001", "12345", "+12345", "-0005", "24", "0000", "1970"]


def fitting(dice, pattern):
    """A text that nearly fits a pattern."""
    found, skipped = "", 0
    for match in re.finditer(r"'[^']*'|([A-Za-z])\1*|.", pattern):
        part = match[0]
        letter, size = part[0], len(part)
        if letter == "[":
            skipped += skipped > 0 or dice.random() < 0.4
        elif letter == "]":
            skipped -= skipped > 0
        elif skipped:
            continue
        elif letter == "'":
            found += part[1:-1]
        elif not letter.isalpha():
            found += part
        elif letter in "yu":
            found += dice.choice(YEARS if size != 2 else ["24", "99", "00"])
        elif part in WORDS or letter in WORDS:
            found += dice.choice(WORDS.get(part) or WORDS[letter])
        elif letter == "S":
            found += "".join(dice.choice("0123456789") for _ in range(size + dice.choice([0] * 18 + [-1, 1])))
        else:
            most = LARGEST.get(letter, 366)
            number = dice.choice([0, 1, 2, 9, most, most, most + 1]) if dice.random() < 0.5 else dice.randint(0, most)
            found += str(number).zfill(size if dice.random() < 0.9 else 1)
    return edited(dice, found) if dice.random() < 0.1 else found


def taken_formats(node, formats):
    """Makes the index `i` with a field for each of the formats that the server has; returns them."""
    request(f"{node.url}/i", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}, "mappings": {"dynamic": False, "properties": {"n": {"type": "integer"}}}})
    found = []
    for format in formats:
        try:
            request(f"{node.url}/i/_mapping", "PUT", {"properties": {f"f{len(found)}": {"type": "date", "format": format, "ignore_malformed": True}}})
            found.append(format)
        except urllib.error.HTTPError:
            pass
    return found


def theirs(node, formats, texts):
    """The dates that a server makes of texts in the fields of the index `i`: a list of milliseconds or None for each."""
    names = [f"f{number}" for number in range(len(formats))]
    for start in range(0, len(texts), 500):
        lines = ['{"index":{}}\n%s\n' % json.dumps(dict.fromkeys(names, text) | {"n": number}) for number, text in enumerate(texts[start : start + 500], start)]
        assert not any("error" in item["index"] for item in node.bulk("".join(lines).encode()))
    request(f"{node.url}/i/_refresh", "POST")
    found, body = [], {"size": 1000, "_source": False, "sort": [{"n": "asc"}], "docvalue_fields": [{"field": name, "format": "epoch_millis"} for name in names]}
    while len(found) < len(texts):
        hits = request(f"{node.url}/i/_search", "POST", body | ({"search_after": [len(found) - 1]} if found else {}))["hits"]["hits"]
        found += [[int(hit["fields"][name][0]) if name in hit.get("fields", {}) else None for name in names] for hit in hits]
    return found


def compare(node, program, formats, texts):
    """What differs between the dates of a server and ours; and the texts that it took, how many dates are equal, and how many only a server knows."""
    formats = taken_formats(node, formats)
    try:
        rows = theirs(node, formats, texts)
    finally:
        request(f"{node.url}/i", "DELETE")
    asked = [program, node.product, node.version.split(".")[0], *formats]
    lines = subprocess.run(asked, input="".join(f"{text}\n" for text in texts), capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    found, taken, equal, left = [], {}, 0, 0
    for text, row, line in zip(texts, rows, lines, strict=True):
        for format, date, our in zip(formats, row, line.split("\t"), strict=True):
            if date is not None:
                taken.setdefault(format, []).append(text)
            if our in ("z", "?"):
                left += 1
            # The servers give the least number back as the next one.
            elif (None if our == "-" else max(int(our), 1 - 2**63)) != (date if date is None else max(date, 1 - 2**63)):
                found.append((format, text, our, "-" if date is None else date))
            else:
                equal += date is not None
    return len(formats), found, taken, equal, left


def rounds(node, program, seed, count):
    """Compares random texts, those near to what a server took, and random patterns: yields what a round compared, and what differs."""
    known = {}
    for number in range(count):
        dice = random.Random(f"{seed} {number}")
        patterns = sorted({pattern(dice) for _ in range(80)})
        made = {"texts": lambda: (NAMED, {text(dice) for _ in range(3000)})}
        made["near"] = lambda: (NAMED, {near(dice, dice.choice(known[dice.choice(sorted(known))])) for _ in range(3000)})
        made["patterns"] = lambda: (patterns, {fitting(dice, one) for one in patterns for _ in range(40)})
        for kind, make in made.items():
            formats, texts = make()
            texts = sorted(text for text in texts if text.strip())
            size, found, taken, equal, left = compare(node, program, formats, texts)
            if kind != "patterns":
                known = {format: known.get(format, []) + taken.get(format, []) for format in known | taken}
            yield f"{kind} {number}: {len(texts)} texts, {size} formats, {equal} dates are equal, {left} left to a server, {len(found)} differ", found
