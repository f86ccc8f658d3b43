"""Random searches over the documents of a mapping, and what their answers have to have in common."""

import json

from lucene_mappings import DATES, NUMBERS, RANGES

FLAT = ("flattened", "flat_object")


class Fields:
    """The fields of a mapping with some values that documents have."""

    def __init__(self, mapping, documents):
        self.all = []
        join, self.relations = next(((name, field["relations"]) for name, field in mapping["properties"].items() if field.get("type") == "join"), (None, {}))
        joined = [document[join] for document in documents if isinstance(document.get(join), dict)]
        # Ids that children have as those of their parents.
        self.parents = [one["parent"] for one in joined if isinstance(one.get("parent"), (int, str))] or ["none"]
        self._collect(mapping["properties"], "", None, documents)

    def _collect(self, properties, path, nested, documents):
        for name, field in properties.items():
            full = path + name
            if "properties" in field:
                self._collect(field["properties"], full + ".", full if field.get("type") == "nested" else nested, documents)
                continue
            found = [value for document in documents for value in leaves(document, full.split("."))]
            values = [value for value in found if not isinstance(value, (dict, list)) and value is not None]
            if field.get("type") == "completion":
                values = [text for value in found for text in suggested(value)]
            if field.get("type") in (*RANGES, "rank_features"):
                # Ends, and names of features.
                ends = field["type"] in RANGES
                values = [one for value in found if isinstance(value, dict) for one in (value.values() if ends else value) if isinstance(one, (int, float, str)) and one != ""]
            if field.get("type") in FLAT:
                self._collect_flat(full, field, nested, found)
                continue
            for suffix, part in [("", field), *((f".{name}", part) for name, part in field.get("fields", {}).items())]:
                if part.get("type") and values and part.get("enabled", True):
                    self.all.append((full + suffix, part, nested, values))

    def _collect_flat(self, full, field, nested, objects):
        """A field whose objects have terms, and a field for each name in them."""
        pairs = [pair for value in objects for pair in named(value)]
        for name in dict.fromkeys(name for name, _ in pairs if not name or all(name.split("."))):
            values = [value for other, value in pairs if not name or other == name]
            self.all.append((f"{full}.{name}" if name else full, field, nested, values))

    def some(self, dice, kinds=None, indexed=True, doc_values=False, nested=True):
        found = [
            one for one in self.all
            if (kinds is None or one[1]["type"] in kinds) and (not indexed or one[1].get("index", True))
            and (not doc_values or one[1].get("doc_values", True) and one[1]["type"] != "text") and (nested or one[2] is None)
        ]
        return dice.choice(found) if found else None


def suggested(value):
    """The texts of suggestions."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from suggested(one)
    elif isinstance(value, dict):
        yield from suggested(value.get("input"))


def leaves(value, path):
    if isinstance(value, list):
        for element in value:
            yield from leaves(element, path)
    elif not path:
        yield value
    elif isinstance(value, dict):
        # A name of a document may have dots.
        for length in range(1, len(path) + 1):
            name = ".".join(path[:length])
            if name in value:
                yield from leaves(value[name], path[length:])


def named(value, path=""):
    """The values in an object with the names on the way, and without."""
    if isinstance(value, list):
        for element in value:
            yield from named(element, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from named(inner, f"{path}.{name}" if path else name)
    elif value is not None and path:
        yield from ((path, value), ("", value))


def word(dice, values):
    words = str(dice.choice(values)).split()
    return dice.choice(words) if words else "x"


def words(dice, values, count):
    words = str(dice.choice(values)).split() or ["x"]
    start = dice.randrange(len(words))
    return " ".join(words[start:start + count])


def text_query(dice, name, values):
    some = words(dice, values, dice.randrange(1, 5))
    return dice.choice([
        {"match": {name: {"query": some, "operator": dice.choice(["and", "or"])}}},
        {"match": {name: {"query": some, "fuzziness": "AUTO", "minimum_should_match": "50%"}}},
        {"multi_match": {"query": some, "fields": [f"{name}^2", "*"], "lenient": True, "type": dice.choice(["best_fields", "most_fields"])}},
        {"simple_query_string": {"query": some.replace("/", " "), "fields": [name]}},
        {"prefix": {name: word(dice, values)[:2].lower() or "a"}},
        {"wildcard": {name: f"*{word(dice, values)[:3].lower()}*"}},
    ])


def phrase_query(dice, name, values):
    some = words(dice, values, dice.randrange(2, 4))
    return dice.choice([
        {"match_phrase": {name: {"query": some, "slop": dice.choice([0, 0, 1, 5])}}},
        {"match_phrase_prefix": {name: some}},
    ])


def keyword_query(dice, name, values):
    value = str(dice.choice(values))
    return dice.choice([
        {"term": {name: value}},
        {"terms": {name: [str(dice.choice(values)) for _ in range(5)]}},
        {"prefix": {name: value[:2]}},
        {"wildcard": {name: f"*{value[1:4]}*"}},
        {"fuzzy": {name: {"value": value[:20], "max_expansions": 20}}},
        {"range": {name: {"gte": value[:3]}}},
    ])


def range_query(dice, name, values):
    ends = sorted((dice.choice(values) for _ in range(2)), key=str)
    return {"range": {name: dice.choice([{"gte": ends[0], "lt": ends[1]}, {"gt": ends[0]}, {"lte": ends[1]}])}}


def ranges_query(dice, name, values):
    """Ranges that meet one, are in it, or contain it."""
    found = range_query(dice, name, values)
    found["range"][name]["relation"] = dice.choice(["intersects", "within", "contains"])
    return dice.choice([found, found, {"term": {name: dice.choice(values)}}])


def feature_query(dice, name):
    how = dice.choice([{}, {"saturation": {"pivot": 5}}, {"log": {"scaling_factor": 2}}, {"sigmoid": {"pivot": 3, "exponent": 0.6}}, {"boost": 2}])
    return {"rank_feature": {"field": name} | how}


def point_query(dice, name):
    at = {"lat": dice.uniform(-80, 80), "lon": dice.uniform(-170, 170)}
    return dice.choice([
        {"geo_distance": {"distance": f"{dice.choice([10, 500, 5000])}km", name: at}},
        {"geo_bounding_box": {name: {"top_left": {"lat": min(90, at["lat"] + 40), "lon": max(-180, at["lon"] - 60)}, "bottom_right": at}}},
    ])


def leaf_query(dice, fields):
    one = fields.some(dice, indexed=dice.random() < 0.9)
    if one is None:
        return {"match_all": {}}
    name, field, nested, values = one
    kind = field["type"]
    chance = dice.random()
    if chance < 0.1:
        query = {"exists": {"field": name}}
    elif kind == "search_as_you_type":
        some = words(dice, values, dice.randrange(1, 5))
        query = {"multi_match": {"query": some, "type": dice.choice(["bool_prefix", "phrase_prefix", "best_fields"]), "fields": [name, f"{name}._2gram", f"{name}._index_prefix"]}}
        query = dice.choice([query, {"match_phrase_prefix": {name: some}}, {"match_bool_prefix": {name: some}}, {"match_phrase": {name: some}}])
    elif kind == "text":
        phrases = field.get("index_options", "positions") in ("positions", "offsets") and field.get("analyzer") != "keyword"
        query = (phrase_query if phrases and chance < 0.5 else text_query)(dice, name, values)
    elif kind in ("keyword", "wildcard") or kind in FLAT:
        query = keyword_query(dice, name, values)
    elif kind in RANGES:
        query = ranges_query(dice, name, values)
    elif kind in ("rank_feature", "rank_features"):
        query = feature_query(dice, name if kind == "rank_feature" else f"{name}.{dice.choice(values)}")
    elif kind == "geo_point":
        query = point_query(dice, name)
    elif kind in (*NUMBERS, *DATES, "ip") and chance < 0.6:
        query = range_query(dice, name, values)
    else:
        query = dice.choice([{"term": {name: dice.choice(values)}}, {"terms": {name: [dice.choice(values) for _ in range(3)]}}])
    if nested and dice.random() < 0.9:
        query = {"nested": {"path": nested, "query": query, "score_mode": dice.choice(["avg", "max", "sum", "none"])}}
    return query


def join_query(dice, fields, depth):
    """The parents of some children, the children of some parents, or of one."""
    parent = dice.choice(list(fields.relations))
    child = dice.choice(fields.relations[parent] if isinstance(fields.relations[parent], list) else [fields.relations[parent]])
    inner = lambda: dice.choice([lambda: {"match_all": {}}, lambda: query(dice, fields, depth + 1)])()
    return dice.choice([
        lambda: {"has_child": {"type": child, "query": inner(), "score_mode": dice.choice(["none", "max", "sum", "avg"]), "min_children": dice.choice([1, 1, 2])}},
        lambda: {"has_parent": {"parent_type": parent, "query": inner(), "score": dice.random() < 0.5}},
        lambda: {"parent_id": {"type": child, "id": str(dice.choice(fields.parents))}},
    ])()


def query(dice, fields, depth=0):
    if fields.relations and depth < 2 and dice.random() < 0.3:
        return join_query(dice, fields, depth)
    if depth < 2 and dice.random() < 0.4:
        many = lambda most: [query(dice, fields, depth + 1) for _ in range(dice.randrange(most))]
        return dice.choice([
            {"bool": {"must": many(3), "should": many(3), "filter": many(2), "must_not": many(2)}},
            {"dis_max": {"queries": many(3) or [{"match_all": {}}], "tie_breaker": 0.3}},
            {"constant_score": {"filter": query(dice, fields, depth + 1), "boost": 2}},
            {"function_score": {"query": query(dice, fields, depth + 1), "weight": 3}},
        ])
    return leaf_query(dice, fields)


def aggregation(dice, fields):
    if fields.relations and dice.random() < 0.4:
        children = dice.choice(list(fields.relations.values()))
        child = dice.choice(children) if isinstance(children, list) else children
        return {dice.choice(["children", "parent"]): {"type": child}, "aggs": {"of": {"max": {"field": "n"}}, "most": {"stats": {"field": "n"}}}}
    one = fields.some(dice, indexed=False, doc_values=True)
    if one is None:
        return {"global": {}}
    name, field, nested, values = one
    kind = field["type"]
    if kind == "constant_keyword":
        # OpenSearch has the name of the index as the value of all documents.
        return {"global": {}}
    choices = [{"terms": {"field": name, "size": 20, "order": [{"_count": "desc"}, {"_key": "asc"}]}}, {"missing": {"field": name}}, {"value_count": {"field": name}}, {"cardinality": {"field": name}}]
    if kind == "flat_object":
        # OpenSearch 2.19 finds no terms of a segment without deleted documents.
        choices = choices[1:]
    if kind in NUMBERS and kind != "unsigned_long":
        choices += [{"stats": {"field": name}}, {"max": {"field": name}}, {"range": {"field": name, "ranges": [{"to": 0}, {"from": 0, "to": 100}, {"from": 100}]}}]
    if kind == "date":
        choices += [{"date_histogram": {"field": name, "calendar_interval": "year", "min_doc_count": 1}}, {"min": {"field": name}}]
    if kind == "ip":
        choices += [{"ip_range": {"field": name, "ranges": [{"to": "100.0.0.0"}, {"from": "100.0.0.0"}]}}]
    if kind == "geo_point":
        choices = [{"geo_bounds": {"field": name}}, {"geohash_grid": {"field": name, "precision": 2, "size": 50}}, {"value_count": {"field": name}}]
    found = dice.choice(choices)
    return {"nested": {"path": nested}, "aggs": {"in": found}} if nested else found


def search(dice, fields):
    """The body of a search. Hits are in an order that does not depend on the order of documents."""
    body = {"query": query(dice, fields), "size": 20, "track_total_hits": True, "sort": [{"_score": "desc"}, {"n": "asc"}], "_source": False, "docvalue_fields": ["n"]}
    if dice.random() < 0.3:
        body["aggs"] = {f"a{number}": aggregation(dice, fields) for number in range(dice.randrange(1, 3))}
    if dice.random() < 0.25:
        one = fields.some(dice, ("keyword", *NUMBERS, *DATES, "ip", "boolean"), indexed=False, doc_values=True)
        if one:
            name, field, nested, _ = one
            # OpenSearch 3.6 never replies where a document without a value of nanoseconds comes last.
            order = {"order": "asc" if field["type"] == "date_nanos" else dice.choice(["asc", "desc"]), **({"nested": {"path": nested}} if nested else {})}
            body["sort"] = [{name: order}, {"n": "asc"}]
    if dice.random() < 0.5:
        body |= suggest(dice, fields)
    if dice.random() < 0.25:
        one = fields.some(dice, ("text", "keyword"), nested=False)
        if one:
            body["highlight"] = {"fields": {one[0]: {"type": dice.choice(["unified", "plain"]), "number_of_fragments": dice.choice([0, 3])}}, "require_field_match": dice.random() < 0.5}
    return body


def suggest(dice, fields):
    """The suggestions for the beginning of one, or of one that is written nearly so."""
    one = fields.some(dice, ("completion",), nested=False)
    if one is None:
        return {}
    name, _, _, values = one
    begin = str(dice.choice(values))[:dice.choice([0, 1, 2, 5])]
    found = {"field": name, "size": dice.choice([1, 5, 20]), "skip_duplicates": dice.random() < 0.3}
    if dice.random() < 0.3:
        found["fuzzy"] = {"fuzziness": 1, "min_length": 1, "prefix_length": 0}
    return {"suggest": {"s": {"prefix": begin or "a", "completion": found}}}


def difference(a, b, at="answer"):
    """Where two answers differ first, or nothing; sums of decimals depend on the order of documents."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next(filter(None, (difference(a[key], b[key], f"{at}.{key}") for key in a)), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(filter(None, (difference(x, y, f"{at}[{place}]") for place, (x, y) in enumerate(zip(a, b)))), None)
    if a == b or isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300):
        return None
    return f"{at}: {json.dumps(a)[:500]} | {json.dumps(b)[:500]}"


def answer(reply, given):
    """What is compared of a reply: hits with scores, sort values and highlights, and aggregations; ids if they were `given`."""
    if "error" in reply:
        return {"error": reply["error"]["root_cause"][0]["type"] if reply["error"].get("root_cause") else reply["error"]["type"]}
    # OpenSearch has the names of ignored fields in the order of a Java hash set.
    left_out = ["_index"] if given else ["_index", "_id"]
    hits = [{key: sorted(value) if key == "_ignored" else value for key, value in hit.items() if key not in left_out} for hit in reply["hits"]["hits"]]
    options = [
        {key: value for key, value in option.items() if key not in left_out}
        for entries in reply.get("suggest", {}).values() for entry in entries for option in entry["options"]
    ]
    return {"suggest": options, "total": reply["hits"]["total"], "max_score": reply["hits"]["max_score"], "hits": hits, "aggregations": reply.get("aggregations")}
