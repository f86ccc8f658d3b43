"""New fields: members of documents that their mapping does not have, for bench/lucene.py."""

import time

from lucene_documents import ODD, TEXTS
from lucene_mappings import extras

# The share of mappings with fields that searches compute, of Elasticsearch.
RUNTIME = 0.5
FORMATS = [["MM/dd/yyyy", "yyyyMMdd||dd.MM.yyyy"], ["strict_date_optional_time"], ["yyyy-MM-dd HH:mm:ss||yyyy-MM-dd", "d/M/yyyy"], []]
WRITTEN = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y", "%Y-%m", "%Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%Y%m%d"]
# Those of the last ones are not supported.
TEMPLATES = [
    ("string", {}, {"type": "keyword", "ignore_above": 20}), ("string", {"match": "u2*"}, {"type": "text", "norms": False}), ("string", {"path_match": "u8.*"}, {"type": "keyword", "fields": {"t": {"type": "text"}}}),
    ("long", {"unmatch": "u0"}, {"type": "integer", "ignore_malformed": True}), ("long", {"match": "*"}, {"type": "keyword"}), ("double", {}, {"type": "double"}), ("double", {"match": "u1*"}, {"type": "scaled_float", "scaling_factor": 100}),
    ("boolean", {"path_unmatch": "*.u4"}, {"type": "keyword"}), ("date", {}, {"type": "keyword"}), ("date", {"match": "u3"}, {"type": "date", "format": "yyyy-MM-dd||strict_date_optional_time"}),
    ("date", {}, {"index": False}), ("date", {"match": "u3"}, {"type": "date", "store": True}), ("*", {"match": "u6"}, {"type": "{dynamic_type}"}), (None, {"match": "u1*"}, {"type": "keyword", "null_value": "no {name}"}),
    ("*", {"path_match": "*.*"}, {"doc_values": True}), (None, {"match": "*", "unmatch": "u*"}, {"type": "{dynamic_type}", "store": True}), ("string", {"match": "u6"}, {"type": "{dynamic_type}", "norms": False}),
    (None, {"match": "u1*"}, {"type": "geo_point"}), ("object", {"match": "u5"}, {"type": "object", "dynamic": False}), (None, {"match_pattern": "regex", "match": "u[6-8]"}, {"type": "keyword"}),
    ("date", {"match": "u3"}, {"type": "date", "format": "yyyy/MM/dd||strict_date_optional_time"}), ("date", {}, {"type": "keyword", "fields": {"d": {"type": "date", "ignore_malformed": True}}}),
]
# Of Elasticsearch: for one of several kinds or names.
LISTS = [
    (["string", "boolean"], {}, {"type": "keyword"}), (None, {"match": ["u1", "u2", "u6"]}, {"type": "keyword"}), ("*", {"unmatch_mapping_type": ["object", "date"], "path_unmatch": ["*.x", "u0"]}, {}),
    (["long", "double"], {"unmatch": ["u0", "u8"]}, {"type": "double"}),
]
# Of Elasticsearch: fields that searches compute.
RUNTIME_TEMPLATES = [
    ("string", {}, {}), ("string", {"match": "u2*"}, {"type": "ip"}), ("long", {"unmatch": "u0"}, {}), ("long", {"path_match": "*.x"}, {"type": "keyword"}), ("double", {}, {"type": "long"}),
    ("boolean", {}, {}), ("date", {}, {}), ("date", {"match": "u3"}, {"type": "date", "format": "yyyy-MM-dd"}), ("object", {"match": "u12"}, None),
]
# What most values of a name are.
KINDS = {
    "u0": "long", "u1": "float", "u2": "text", "u3": "date", "u4": "boolean", "u5": "object", "u6": "any", "Ü 7": "text", "u8.x": "long", "u8.y": "text", "u8.u5.z": "date",
    "_u9": "long", "u10": "digits", "u8": "object", "u2.x": "long", "u 11": "float", "f0.new": "long", "o0.new": "text", "u12.a.b.c.d.e": "any", "_id.x": "long", "_source.a": "text", "_size.x": "long",
}


def objects(properties):
    """The definitions of objects."""
    for field in properties.values():
        if "properties" in field:
            yield field
            yield from objects(field["properties"])


def runtime(dice, fields):
    """Says in a mapping of Elasticsearch that searches compute new fields."""
    if dice.random() < 0.7:
        fields["dynamic"] = "runtime"
    for below in objects(fields["properties"]):
        if dice.random() < 0.3:
            below["dynamic"] = "runtime"
    if dice.random() < 0.5:
        # Some of them in objects that the mapping does not have.
        known = {name: {"type": dice.choice(["keyword", "long"])} for name in dice.sample(list(KINDS), 3) if not name.startswith(("_id", "_source", "_size"))}
        fields["runtime"] = fields.get("runtime", {}) | known


def templates(dice, opensearch, is_runtime):
    some = dice.sample(TEMPLATES[:-5] if dice.random() < 0.9 else TEMPLATES, dice.randrange(1, 4))
    if not opensearch and dice.random() < 0.3:
        some += dice.sample(LISTS, dice.randrange(1, 3))
        dice.shuffle(some)
    some = [(kind, {**names, "mapping": made}) for kind, names, made in some if extras(opensearch) or made.get("type") != "scaled_float"]
    if is_runtime or not opensearch and dice.random() < 0.2:
        some += [(kind, {**names, **({"runtime": made} if made is not None else {"mapping": {"type": "nested"}})}) for kind, names, made in dice.sample(RUNTIME_TEMPLATES, dice.randrange(1, 4))]
        dice.shuffle(some)
    return [{f"t{number}": ({"match_mapping_type": kind} if kind else {}) | rest} for number, (kind, rest) in enumerate(some)]


def parameters(dice, fields, opensearch):
    """Says in a mapping what becomes of new fields."""
    fields["dynamic"] = "true"
    if dice.random() < 0.2:
        del fields["dynamic"]
    is_runtime = not opensearch and dice.random() < RUNTIME
    if is_runtime:
        runtime(dice, fields)
    if dice.random() < 0.15:
        fields["date_detection"] = dice.random() < 0.3
    if dice.random() < 0.3:
        fields["numeric_detection"] = dice.random() < 0.8
    if dice.random() < 0.3:
        fields["dynamic_date_formats"] = dice.choice(FORMATS)
    if dice.random() < 0.3:
        fields["dynamic_templates"] = templates(dice, opensearch, is_runtime)


def parts(field):
    """How many fields a field and its multi-fields have beside them."""
    own = field.get("max_shingle_size", 3) if field.get("type") == "search_as_you_type" else 0
    return own + sum(map(parts, field.get("fields", {}).values()))


def limit(dice, fields):
    """The setting of the most fields, with room for some more than a mapping has."""
    def count(properties):
        return sum(name.count(".") + 1 + len(field.get("fields", {})) + 2 * len(field.get("relations", {})) + parts(field) + count(field.get("properties", {})) for name, field in properties.items())

    return {"mapping": {"total_fields": {"limit": count(fields["properties"]) + len(fields.get("runtime", {})) + dice.randrange(3, 40)}}}


def value(dice, kind, depth=0):
    chance = dice.random()
    if chance < 0.06:
        return dice.choice(ODD)
    if chance < 0.12:
        return dice.choice([None, [], [None], {}, [[]], [{}], "", [None, 1], {"u0": None}])
    if chance < 0.2 and depth < 3:
        return [value(dice, kind, depth + 1) for _ in range(dice.randrange(4))]
    if kind == "any" and depth < 4:
        return value(dice, dice.choice(["long", "float", "text", "date", "boolean", "object", "digits"]), depth + 1)
    if kind == "object" and depth < 4:
        found = {}
        add(dice, found, 0.8, depth + 1)
        return found
    return {
        "float": lambda: dice.choice([dice.uniform(-1e3, 1e3), 0.5, 1e10]), "boolean": lambda: dice.random() < 0.5, "digits": lambda: dice.choice(["1", "1.5", " 7", "1e3", "12345678901234567890"]),
        "text": lambda: " ".join(dice.choice(TEXTS) for _ in range(dice.choice([1, 2, 5]))), "date": lambda: time.strftime(dice.choice(WRITTEN[:5] if dice.random() < 0.8 else WRITTEN), time.gmtime(dice.randrange(2_000_000_000))),
    }.get(kind, lambda: dice.randrange(1000))()


def add(dice, document, share=0.05, depth=0):
    """Adds new members to a document, and to the objects in it."""
    for inner in list(document.values()):
        for below in inner if isinstance(inner, list) else [inner]:
            if isinstance(below, dict) and depth < 4:
                add(dice, below, share / 3, depth + 1)
    while dice.random() < share:
        name = dice.choice(list(KINDS))
        document[name] = value(dice, KINDS[name], depth)
