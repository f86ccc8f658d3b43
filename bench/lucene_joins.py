"""Fields of the type `join`, and values of them, for bench/lucene.py."""

# Whether the server has the module that has the type.
KNOWN = False
# The share of mappings with such a field.
SHARE = 0.3
NAMES = ["a", "b", "ü 東", "x.y", "question", "answer", "c#d", "a b"]


def add(dice, fields):
    """Adds such a field to a mapping, at any place."""
    names = dice.sample(NAMES, dice.randrange(2, 7))
    relations = {}
    # Each relation but the first is a child of one before it, or has only children.
    for place, name in enumerate(names[1:], 1):
        relations.setdefault(dice.choice(names[:place]), []).append(name)
    written = {parent: children if len(children) > 1 or dice.random() < 0.5 else children[0] for parent, children in relations.items()}
    field = {"type": "join", "relations": written}
    if dice.random() < 0.3:
        field["eager_global_ordinals"] = dice.random() < 0.3
    members = [*fields["properties"].items()]
    members.insert(dice.randrange(len(members) + 1), (dice.choice(["join", "j o#in", "-relation"]), field))
    fields["properties"] = dict(members)


def names(mapping):
    """The names of such fields of a mapping."""
    return [name for name, field in mapping["properties"].items() if field.get("type") == "join"]


def unrouted(mapping):
    """One document of how many has no routing value, or 0, if none needs one."""
    return 9 if names(mapping) else 0


ODD = [
    {}, {"name": None}, {"name": 5, "parent": "1"}, {"parent": "1"}, {"name": [], "parent": []}, {"name": True}, {"name": {"name": "a"}}, [[]], "", "no", 5, 1.5, True, None, [None], {"name": "a", "more": "x"},
]


def value(dice, field):
    relations = field["relations"]
    children = {child: parent for parent, some in relations.items() for child in (some if isinstance(some, list) else [some])}
    name = dice.choice([*relations, *children])
    chance = dice.random()
    if chance < 0.03:
        return dice.choice(ODD)
    if name not in children and chance < 0.6:
        return name
    number = dice.choice([dice.randrange(9), dice.randrange(3000)])
    parent = dice.choice([number, str(number), str(number), str(number)])
    if chance < 0.06:
        parent = dice.choice([None, True, "", -0, -7, 10**25, 1.5, "é東👩\x00", "x" * 32_766, "x" * 32_767, ["x", parent], [[parent]]])
    if name not in children and chance < 0.9 or chance < 0.08:
        return dice.choice([{"name": name}, {"name": name, "more": dice.choice([None, True, []])}, {"name": [name]}])
    return {"name": name, "parent": parent} if dice.random() < 0.8 else {"parent": parent, "name": name}
