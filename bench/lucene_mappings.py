"""Random mappings for bench/lucene.py."""

import json
import time

NUMBERS = ("long", "integer", "short", "byte", "double", "float", "half_float", "unsigned_long", "scaled_float")
DATES = ("date", "date_nanos")
KINDS = ["keyword", "keyword", "keyword", "text", "text", "text", "date", "date", "date_nanos", "ip", "boolean", "geo_point", "geo_point", "binary", *NUMBERS]
# Elasticsearch has the two of OpenSearch in modules that its servers for tests are without.
OF_OPENSEARCH = ["constant_keyword", "match_only_text", "flat_object", "token_count", "rank_feature", "rank_features", "search_as_you_type", "search_as_you_type", "wildcard", "wildcard"]
OF_ELASTICSEARCH = ["flattened"]
# What fields may name, in the settings of each index. Elasticsearch has only these without its modules.
ANALYSIS_OF_ELASTICSEARCH = {
    "normalizer": {"low": {"type": "custom", "filter": ["lowercase"]}, "same": {"type": "custom"}},
    "analyzer": {"own_words": {"tokenizer": "standard", "filter": ["lowercase"]}, "own_plain": {"type": "standard"}},
}
ANALYSIS = {
    "normalizer": {
        "low": {"type": "custom", "filter": ["lowercase"]}, "folded": {"type": "custom", "filter": ["lowercase", "asciifolding"]},
        "upper": {"filter": ["plain_folding", "uppercase", "trim"]}, "same": {"type": "custom"},
    },
    "filter": {"plain_folding": {"type": "asciifolding", "preserve_original": False}, "stem": {"type": "stemmer", "language": "english"}},
    "analyzer": {
        "own_words": {"tokenizer": "standard", "filter": ["lowercase", "asciifolding"]}, "own_upper": {"type": "custom", "tokenizer": "whitespace", "filter": "uppercase"},
        "own_letters": {"tokenizer": "lowercase", "filter": ["plain_folding"]}, "own_whole": {"tokenizer": "keyword", "filter": ["trim", "lowercase"]},
        "only_for_searches": {"tokenizer": "standard", "filter": ["lowercase", "stem"]},
    },
}


# The types of ranges, and those of their ends.
RANGES = {"integer_range": "integer", "long_range": "long", "float_range": "float", "double_range": "double", "date_range": "date", "ip_range": "ip"}
KINDS += [*RANGES, "date_range", "completion", "completion", "geo_shape"]


def often(types):
    """Makes three of four fields be of some types, if there are any."""
    KINDS.extend(types * (3 * len(KINDS) // len(types)) if types else [])


# Types that no multi-field has, and of which no value is copied.
ALONE = (*RANGES, "binary", "rank_feature", "rank_features", "geo_point", "geo_shape", "flattened", "flat_object", "constant_keyword")

# Of this one, servers before 3.0 refuse some malformed values that they are told to ignore.
OTHERS_REFUSE = ("unsigned_long",)
# Whether the server has the modules of OpenSearch, which its servers for tests before 3.0 are without.
EXTRAS = True
# The types that are not built for it.
NOT_BUILT = ()


# Whether the server may ignore malformed booleans, and that is built.
BOOLEANS = False


def extras(opensearch):
    return opensearch and EXTRAS


def analysis(opensearch):
    return ANALYSIS if extras(opensearch) else ANALYSIS_OF_ELASTICSEARCH


def random_analysis(dice, opensearch):
    """Other definitions under the same names."""
    found, opensearch = json.loads(json.dumps(analysis(opensearch))), extras(opensearch)
    filters = ["lowercase", "uppercase", "asciifolding", "plain_folding", "trim"] if opensearch else ["lowercase"]
    tokenizers = ["standard", "letter", "lowercase", "whitespace", "keyword"] if opensearch else ["standard"]

    def definition(**first):
        chosen = [dice.choice(filters) for _ in range(dice.choice([0, 1, 1, 2, 3, 4] if opensearch else [0, 1]))]
        # The tokenizer `lowercase` has a filter of its own.
        chosen = chosen[:3] if first.get("tokenizer") == "lowercase" else chosen
        written = dice.choice([chosen, chosen, ",".join(chosen)]) if chosen else []
        return first | dice.choice([{}, {"type": "custom"}]) | ({"filter": written} if chosen or dice.random() < 0.5 else {})

    def whole_analyzer():
        if dice.random() < 0.2:
            return {"type": dice.choice(["standard", "simple", "whitespace", "keyword"] if opensearch else ["standard"])}
        return definition(tokenizer=dice.choice(tokenizers))

    found["analyzer"] |= {name: whole_analyzer() for name in found["analyzer"] if name.startswith("own")}
    found["normalizer"] |= {name: {"type": "custom"} | definition() for name in found["normalizer"]}
    if dice.random() < 0.2:
        found["analyzer"]["default"] = whole_analyzer()
    return found


def paths(fields, above=""):
    """The full names of fields and objects."""
    for name, field in fields.items():
        yield above + name
        yield from paths(field.get("properties", {}), f"{above}{name}.")


def source(dice, fields, filters):
    """What is kept of documents, with `filters` also some of their members."""
    known = [*paths(fields["properties"]), "x", "a.b", "new"]

    def pattern():
        name, chance = dice.choice(known), dice.random()
        if chance < 0.5:
            return name
        if chance < 0.65:
            return f"{name}.{dice.choice(['*', 'a', 'x.y'])}"
        start, end = sorted(dice.randrange(len(name) + 1) for _ in range(2))
        return dice.choice([name[:start] + "*" + name[end:], "*" + name[end:], name[:start] + "*", "*." + name.rsplit(".", 1)[-1], "*"])

    if not filters or dice.random() < 0.2:
        return dice.choice([{"enabled": False}, {"enabled": False}, {"excludes": []}, {"includes": [], "enabled": True}])
    # Others are refused.
    is_plain = lambda found: all(found.split(".")) and "**" not in found and "\\" not in found and found.strip() == found and max(found) < "\U00010000"
    lists = lambda: [found for found in (pattern() for _ in range(dice.choice([1, 1, 2, 5]))) if is_plain(found)]
    excludes = lists()
    # With a star Elasticsearch reads them in another way.
    excludes = excludes if dice.random() < 0.5 else [found for found in excludes if "*" not in found]
    return dice.choice([{"includes": ["*"]}, {"includes": lists()}, {"excludes": excludes}, {"excludes": excludes}, {"includes": ["*"], "excludes": excludes}, {"includes": lists(), "excludes": excludes}])


def analyzer(dice, opensearch):
    return dice.choice(["standard", "simple", "whitespace", "keyword", *(name for name in analysis(opensearch)["analyzer"] if name.startswith("own"))])


def normalizer(dice, opensearch):
    return dice.choice(["lowercase", *analysis(opensearch)["normalizer"]])


# What stands for null in dates.
NULL_DATES = {
    None: ["2024-02-29T12:00:00.5Z", "1999", 1234567890123], "yyyy-MM-dd HH:mm:ss": ["2024-01-01 00:00:01"], "dd/MM/yyyy": ["29/02/2024"], "epoch_second": [1704063600, "5"],
    "basic_date": ["20240229"], "yyyy": ["1999"], "date_optional_time": ["2024-2-9T1:00"],
}
FORMATS = [
    "yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "epoch_second", "yyyy/MM/dd||epoch_millis", "strict_date_optional_time||epoch_second", "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "strict_date_optional_time||yyyy-MM-dd HH:mm:ss||yyyy-MM-dd HH:mm:ss.SSS||yyyy-MM-dd HH:mm:ss.SSSSSS", "basic_date", "strict_date_time", "strict_date_time_no_millis",
    "strict_date_hour_minute_second||strict_date_hour_minute_second_millis", "strict_date_optional_time_nanos", "d/M/yyyy H:m", "yyyy-MM", "yyyy", "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyyMMddHHmmss||yyyy-MM-dd'T'HH:mm:ssX", "yyyy-MM-dd HH:mm:ss Z", "dd/MMM/yyyy:HH:mm:ss Z", "strict_date||strict_year_month||strict_year", "uuuu-MM-dd", "yyyyMMdd||dd.MM.yyyy",
    "EEE MMM dd HH:mm:ss Z yyyy", "MM/dd/yyyy hh:mm:ss a||h:m a d.M.uuuu", "MMM d, yyyy||EEE, d MMM yyyy", "yyMMdd||dd-MM-yy", "date_optional_time", "date_optional_time||epoch_millis",
    "strict_date_hour||strict_date_hour_minute||basic_date",
]
# Others, of which the most need values of their own.
WRITTEN = {
    "basic_date_time": ["%Y%m%dT%H%M%S.123Z"], "basic_t_time": ["T%H%M%S.5+0100"], "basic_week_date": ["%GW%V%u"], "week_date_time": ["%G-W%V-%uT%-H:%M:%S.5Z"], "strict_weekyear_week": ["%G-W%V"],
    "ordinal_date": ["%Y-%j"], "ordinal_date_time_no_millis": ["%Y-%jT%H:%M:%S+01:00"], "basic_ordinal_date_time": ["%Y%jT%H%M%S.1Z"], "date_time": ["%Y-%m-%dT%H:%MZ"], "time": ["%-H:%M:%S.5Z"],
    "hour_minute": ["%H:%M"], "t_time_no_millis": ["T%H:%M:%SZ"], "year_month_day": ["%Y-%m-%d"], "date_hour": ["%Y-%m-%dT%-H"], "iso8601": ["%Y-%m-%dT%H:%M:%S,5Z"],
    "strict_basic_week_date_time": ["%GW%V%uT%H%M%S.5Z"], "strict_week_date||strict_ordinal_date||epoch_millis": ["%G-w%V-%u", "%Y-%j", "%s000"],
    "date_hour_minute_second_millis||time_no_millis": ["%Y-%m-%dT%H:%M:%S.12", "%H:%M:%S-0130"], "yyyy-MM-dd[ HH:mm[:ss]]": ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"], "uuuu-DDD": ["%Y-%j"],
    "HH:mm": ["%H:%M"], "MM/dd": ["%m/%d"], "KK:mm a": ["%I:%M AM"], "dMMyy": ["%-d%m%y"],
}
FORMATS += WRITTEN
NULL_DATES |= {format: [time.strftime(form, time.gmtime(1709989445)) for form in forms] for format, forms in WRITTEN.items()}


def leaf(dice, opensearch, nested=False):
    """A field with some of the parameters that its type has."""
    # The servers for tests of Elasticsearch are without its modules.
    without = ([*ALONE] if nested else []) + ([] if opensearch else ["unsigned_long"]) + [*NOT_BUILT] + ([] if extras(opensearch) else ["scaled_float", "token_count", "rank_feature", "rank_features", "search_as_you_type", "wildcard"])
    kind = dice.choice([kind for kind in KINDS + (OF_OPENSEARCH if opensearch else OF_ELASTICSEARCH) if kind not in without])
    field = {"type": kind}

    def maybe(share, name, value):
        if dice.random() < share:
            field[name] = value

    if kind == "constant_keyword":
        field["value"] = dice.choice(["x", "5", "true"])
    if kind in ("constant_keyword", "flat_object"):
        return field
    if kind == "binary":
        maybe(0.5, "doc_values", True)
        maybe(0.3, "store", True)
        return field
    if kind in ("rank_feature", "rank_features"):
        maybe(0.3, "positive_score_impact", dice.choice([True, False]))
        return field
    if kind == "wildcard":
        maybe(0.3, "ignore_above", dice.choice([0, 3, 10, 256]))
        maybe(0.3, "normalizer", normalizer(dice, opensearch))
        maybe(0.2, "null_value", dice.choice(["NULL", ""]))
        maybe(0.3, "doc_values", False)
        return field
    if kind == "completion":
        plain = ["standard", "simple", "whitespace", "keyword", "stop", "english", "french"]
        maybe(0.4, "analyzer", dice.choice(plain if extras(opensearch) else plain[:5]))
        maybe(0.3, "preserve_separators", False)
        maybe(0.3, "preserve_position_increments", False)
        maybe(0.3, "max_input_length", dice.choice([1, 5, 20, 255]))
        maybe(0.1, "search_analyzer", "simple")
        return field
    if kind == "search_as_you_type":
        maybe(0.4, "max_shingle_size", dice.choice([2, 3, 4]))
        # Others may make several tokens of one place.
        maybe(0.4, "analyzer", dice.choice(["standard", "simple", "whitespace", "keyword", "stop", "english", "french"]))
        maybe(0.3, "norms", dice.choice([True, False]))
        maybe(0.2, "index_options", dice.choice(["docs", "freqs", "positions", "offsets"]))
        maybe(0.2, "term_vector", dice.choice(["no", "yes", "with_positions_offsets"]))
        maybe(0.1, "store", True)
        return field
    if kind == "geo_shape":
        maybe(0.3, "doc_values", False)
        maybe(0.4, "ignore_malformed", dice.choice([True, True, False]))
        maybe(0.3, "coerce", True)
        maybe(0.3, "orientation", dice.choice(["left", "right", "cw", "CLOCKWISE", "ccw"]))
        maybe(0.2, "ignore_z_value", False)
        maybe(0.1, "store", True)
        maybe(0.1, "index", False)
        return field
    if kind in RANGES:
        maybe(0.2, "doc_values", False)
        maybe(0.2, "index", False)
        maybe(0.2, "coerce", False)
        if opensearch:
            maybe(0.3, "ignore_malformed", True)
            maybe(0.1, "boost", 2)
        if kind == "date_range":
            maybe(0.5, "format", dice.choice(FORMATS))
        return field
    if kind == "flattened":
        maybe(0.2, "ignore_above", dice.choice([3, 100]))
        maybe(0.2, "depth_limit", dice.choice([1, 2, 5]))
        maybe(0.2, "null_value", "NULL")
        maybe(0.1, "index", False)
        return field
    if kind == "scaled_float":
        field["scaling_factor"] = dice.choice([10, 100, 1000.5])
    if kind == "keyword":
        maybe(0.3, "ignore_above", dice.choice([0, 3, 10, 256]))
        maybe(0.3, "normalizer", normalizer(dice, opensearch))
        maybe(0.2, "null_value", dice.choice(["NULL", "", "Ünknown"]))
        maybe(0.05, "split_queries_on_whitespace", True)
        maybe(0.05, "eager_global_ordinals", True)
        maybe(0.05, "index_options", "docs")
        maybe(0.2, "norms", dice.choice([False, True, True]))
        maybe(0.05, "similarity", dice.choice(["BM25", "boolean"]))
    if kind == "token_count":
        field["analyzer"] = analyzer(dice, opensearch)
        maybe(0.5, "enable_position_increments", dice.choice([True, False]))
    if opensearch and kind in ("text", "keyword", "date", "long"):
        maybe(0.05, "boost", dice.choice([0.5, 2]))
    if kind == "text":
        if opensearch:
            maybe(0.1, "doc_values", dice.choice([True, False]))
        maybe(0.3, "norms", False)
        maybe(0.1, "index", False)
        maybe(0.4, "analyzer", analyzer(dice, opensearch))
        if field.get("index", True):
            maybe(0.3, "term_vector", dice.choice(["no", "yes", "with_positions", "with_offsets", "with_positions_offsets", "with_positions_offsets_payloads"]))
        maybe(0.3, "index_options", dice.choice(["docs", "freqs", "positions", "offsets", "offsets"]))
        if field.get("index", True):
            maybe(0.1, "fielddata", True)
        if "fielddata" in field:
            maybe(0.2, "eager_global_ordinals", True)
        if "analyzer" in field:
            maybe(0.2, "search_analyzer", dice.choice(["standard", "keyword"] + ["only_for_searches"] * extras(opensearch)))
        if "search_analyzer" in field:
            maybe(0.3, "search_quote_analyzer", "standard")
        maybe(0.1, "similarity", dice.choice(["BM25", "boolean"]))
        if field.get("index_options", "positions") in ("positions", "offsets") and "index" not in field:
            maybe(0.2, "position_increment_gap", dice.choice([0, 1, 7]))
    elif kind == "match_only_text":
        maybe(0.4, "analyzer", analyzer(dice, opensearch))
    else:
        maybe(0.15, "doc_values", False)
        maybe(0.15, "index", False)
    if kind not in ("match_only_text", "unsigned_long", "half_float"):
        is_kept = field.get("index", True) or kind != "text" and field.get("doc_values", True)
        maybe(0.08 if is_kept else 0.5, "store", True)
    if kind in NUMBERS:
        decimals = [2.5, "1e2", -0.25] if kind in ("double", "float", "half_float", "scaled_float") else []
        maybe(0.2, "null_value", dice.choice([7, 7, 0, "5", *decimals, *([] if kind == "unsigned_long" else [-1, "-7"])]))
    if kind in NUMBERS and (kind != "unsigned_long" or opensearch):
        maybe(0.2, "coerce", False)
    if kind in (*NUMBERS, *DATES, "ip", "geo_point") and not (kind in OTHERS_REFUSE and not EXTRAS):
        maybe(0.7 if kind == "geo_point" else 0.3, "ignore_malformed", True)
    if kind == "boolean" and BOOLEANS:
        maybe(0.3, "ignore_malformed", True)
    if kind in DATES:
        maybe(0.5, "format", dice.choice(FORMATS))
        if field.get("format") in NULL_DATES:
            maybe(0.2, "null_value", dice.choice(NULL_DATES[field.get("format")]))
    if kind == "ip":
        maybe(0.2, "null_value", dice.choice(["::1", "10.0.0.1"]))
    if kind == "boolean":
        maybe(0.2, "null_value", dice.choice([True, "false"]))
    if kind == "geo_point":
        maybe(0.2, "ignore_z_value", False)
        maybe(0.2, "null_value", dice.choice(["u09tv", "1,2", [3.5, -7], {"lat": 0, "lon": 180}]))
    maybe(0.03, "meta", {"unit": "ms"})
    if "null_value" not in field and kind not in ("text", "match_only_text"):
        maybe(0.03, "null_value", None)
    if not nested and kind not in ("geo_point", "match_only_text") and dice.random() < 0.3:
        more = {name: leaf(dice, opensearch, True) for name in dice.sample(["raw", "x", "num"], dice.randrange(1, 3))}
        # The servers read a second number off what the first one made of the text.
        able = lambda part: (part["type"] not in NUMBERS or kind not in NUMBERS) and (part["type"] != "completion" or kind in ("keyword", "text"))
        field["fields"] = {name: part for name, part in more.items() if able(part)}
        for part in field["fields"].values():
            # Else the most documents would be refused.
            if part["type"] in (*NUMBERS, *DATES, "ip") and not (part["type"] in OTHERS_REFUSE and not EXTRAS) and dice.random() < 0.9:
                part["ignore_malformed"] = True
        numbers = [name for name, part in field["fields"].items() if part["type"] in NUMBERS]
        for name in numbers[1:]:
            del field["fields"][name]
    return field


def members(dice, opensearch, depth, nested=False):
    """The fields of an object; those in the middle of a mapping are often objects themselves."""
    fields = {}
    wide = depth == 0 and dice.random() < 0.05
    for number in range(dice.randrange(60, 120) if wide else dice.randrange(2, 7)):
        if depth < 5 and dice.random() < (0.3 if depth < 2 else 0.2) and not wide:
            is_nested = dice.random() < 0.45
            below = {"properties": members(dice, opensearch, depth + 1, nested or is_nested)}
            if is_nested:
                below["type"] = "nested"
                # Both, only where no object above is nested: values would come twice.
                both = ("include_in_parent", "include_in_root")
                for parameter in both if not nested else dice.sample(both, 1):
                    if dice.random() < 0.2 * (1 + nested) and not has_some_alone(below["properties"]):
                        below[parameter] = True
            elif dice.random() < 0.3:
                below |= dice.choice([{"type": "object"}, {"enabled": True}])
            if dice.random() < 0.2:
                below["dynamic"] = dice.choice(["strict", "false", "true"])
            fields[dice.choice([f"o{number}", f"o{number}", f"Ö {number}"])] = below
        elif dice.random() < 0.05:
            fields[f"off{number}"] = {"type": "object", "enabled": False}
        else:
            name = dice.choice([f"f{number}"] * 15 + ["@timestamp"] * 4 + [f"a b{number}", f"ÉTÉ東{number}", f"x\"\\{number}", f"-{number}", f"n{number}" * 60])
            fields[name if dice.random() < 0.95 else f"dots.{name}"] = leaf(dice, opensearch)
    return fields


def has_some_alone(fields):
    """Whether some field keeps what the servers do not join of several nested objects, or refuse in a joined one."""
    return any(has_some_alone(field["properties"]) if "properties" in field else is_joined_never(field) for field in fields.values())


def is_joined_never(field):
    kind = field.get("type")
    if any(is_joined_never(part) for part in field.get("fields", {}).values()):
        return True
    return kind in ("rank_feature", "rank_features", "wildcard") or kind in (*RANGES, "geo_shape") and field.get("doc_values", True) or kind == "binary" and field.get("doc_values", False)


def leaves(fields, nested, path=""):
    """The fields that are no objects, with their full names; with `nested` those in nested objects, too."""
    for name, field in fields.items():
        if "properties" not in field:
            yield path + name, field
        elif nested or field.get("type") != "nested":
            yield from leaves(field["properties"], nested, f"{path}{name}.")


def scoped(fields, path="", scope=""):
    """The fields that are no objects, with their full names and that of the nested object that has them."""
    for name, field in fields.items():
        if "properties" in field:
            yield from scoped(field["properties"], f"{path}{name}.", path + name if field.get("type") == "nested" else scope)
        else:
            yield path + name, field, scope


def copy_some(dice, fields):
    """Lets some values be copied into other fields of the same document, or of one that has it."""
    every = list(scoped(fields))
    sources = [one for one in every if one[1].get("type") in ("keyword", "text", "ip", "boolean", *DATES, *NUMBERS)]
    # Other values would be refused, and second numbers of a value are not supported.
    targets = [one for one in every if one[1].get("type") in ("keyword", "text") or one[1].get("type") in ("ip", *DATES) and "ignore_malformed" in one[1]]
    targets = [one for one in targets if not any(part["type"] in NUMBERS for part in one[1].get("fields", {}).values())]
    for path, field, scope in dice.sample(sources, min(len(sources), 3)):
        able = [to for to, _, above in targets if to != path and (not above or above == scope or scope.startswith(above + "."))]
        if able and "copy_to" not in field:
            some = dice.sample(able, min(len(able), dice.choice([1, 1, 2, 3])))
            field["copy_to"] = some if len(some) > 1 else dice.choice([some, some[0]])


def mapping(dice, opensearch):
    fields = members(dice, opensearch, 0)
    if dice.random() < 0.3:
        # Several fields in one.
        kinds = ("keyword", "text", "ip", "boolean", *DATES, *NUMBERS)
        sources = [field for _, field in leaves(fields, dice.random() < 0.5) if field.get("type") in kinds]
        for field in dice.sample(sources, min(len(sources), 3)):
            field["copy_to"] = dice.choice(["all", ["all"]])
        fields["all"] = {"type": dice.choice(["text", "keyword"]), "fields": {"raw": {"type": "keyword", "ignore_above": 20}}}
    if dice.random() < 0.3:
        copy_some(dice, fields)
    if opensearch and dice.random() < 0.1:
        # Into a field that the first value adds.
        able = [field for _, field, _ in scoped(fields) if field.get("type") in ("keyword", "text") and "copy_to" not in field]
        if able:
            dice.choice(able)["copy_to"] = "added"
    if dice.random() < 0.2:
        named = [name for name, field in leaves(fields, False) if field.get("enabled", True)]
        if named:
            fields["other"] = {"type": "alias", "path": dice.choice(named)}
    found = {"dynamic": dice.choice(["strict", "false", "true", False, True]), "properties": fields}
    if dice.random() < 0.1:
        found |= dice.choice([{"_meta": {"made": "here"}}, {"date_detection": False}, {"numeric_detection": True}, {"_source": {"enabled": True}}])
    if not opensearch and dice.random() < 0.2:
        # Some with the names of other fields.
        found["runtime"] = {name: {"type": dice.choice(["keyword", "long"])} for name in ("unknown", *dice.sample(sorted(fields), 1)) if "." not in name}
    return found


def sort(dice, fields):
    """The settings of an index sort by some fields of a mapping, or none."""
    kinds = ("keyword", "long", "integer", "short", "byte", "double", "float", *DATES, "boolean")
    able = [
        (path, field)
        for path, field in leaves(fields["properties"], False)
        # A field of the section `runtime` hides the one with its name.
        if field.get("type") in kinds and field.get("doc_values", True) and path not in fields.get("runtime", {})
    ]
    nanos = [one for one in able if one[1]["type"] == "date_nanos"]
    if not able or dice.random() < (0.3 if nanos else 0.5):
        return {}
    some = dice.sample(able, min(len(able), dice.choice([1, 1, 2, 3])))
    if nanos and dice.random() < 0.5:
        # Often first, because the products differ in what documents without a value have.
        some = [nanos[0], *(one for one in some if one[0] != nanos[0][0])]
    every = {"field": [path for path, _ in some]}
    for name, values in (("order", ["asc", "desc"]), ("mode", ["min", "max"]), ("missing", ["_last", "_first"])):
        if dice.random() < 0.7:
            every[name] = [dice.choice(values) for _ in some]
    return {"sort": every}
