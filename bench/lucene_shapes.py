"""Random shapes for fields of the type `geo_shape`, good ones and bad ones, for bench/lucene.py."""

import math

# Shapes that are none, or nearly none.
ODD = [
    "", "x", "POINT", "POINT EMPTY", "POINT ()", "POINT (1)", "POINT (1 2", "POINT (1 2) x", "point(1 2)", "POINT (1 2 3)", "POINT (1 2 3 4)", "POINT (x 2)", "POINT (181 91)", "POINT # c\n(1 2)",
    "MULTIPOINT EMPTY", "MULTIPOINT (1 2, 3 4)", "MULTIPOINT ((1 2), (3 4))", "MULTIPOINT (1 2, 3 4 5)", "LINESTRING EMPTY", "LINESTRING (1 2)", "LINESTRING (1 2, 1 2)", "MULTILINESTRING ((1 2, 3 4), EMPTY)",
    "POLYGON EMPTY", "POLYGON ((0 0, 1 0, 1 1, 0 0))", "POLYGON ((0 0, 1 0, 1 1))", "POLYGON ((0 0, 0 0, 0 0, 0 0))", "POLYGON ((0 0, 1 1, 2 2, 0 0))", "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), EMPTY)", "BBOX (1, 2, 4, 3)",
    "BBOX (1, 2, 3, 4)", "BBOX EMPTY", "BBOX (170, -170, 4, 3)", "CIRCLE (1 2 3)", "GEOMETRYCOLLECTION EMPTY", "GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION (POINT (3 4), LINESTRING (0 0, 1 1)))",
    "GEOMETRYCOLLECTION (POINT (1 2), POINT (1 2 3))", "POINT (0x1p3 1e1)", "POINT (NaN 1)", "POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))",
    7, -1.5, True, None, {}, {"type": "Point"}, {"coordinates": [1, 2]}, {"type": "Point", "coordinates": [1]}, {"type": "Point", "coordinates": []}, {"type": "Point", "coordinates": None},
    {"type": "Point", "coordinates": ["1", 2]}, {"type": "Point", "coordinates": [1, 2, 3]}, {"type": "Point", "coordinates": [1, 2, 3, 4]}, {"type": "Point", "coordinates": [[1, 2]]}, {"type": "Point", "coordinates": [365, -95]},
    {"type": "pOINT", "coordinates": [1, 2], "crs": {"type": "name", "properties": [1, {"x": None}]}, "bbox": [1, 2, 3, 4]}, {"type": 1, "coordinates": [1, 2]}, {"type": None, "coordinates": [1, 2]},
    {"type": "Circle", "coordinates": [1, 2], "radius": "5m"}, {"type": "Point", "coordinates": [1, 2], "radius": "5m"}, {"type": "Point", "coordinates": [1, 2], "orientation": "left"}, {"type": "x", "coordinates": [1, 2]},
    {"type": "Point", "coordinates": [1, 2], "geometries": []}, {"type": "GeometryCollection", "geometries": []}, {"type": "GeometryCollection"}, {"type": "GeometryCollection", "geometries": {"type": "Point", "coordinates": [1, 2]}},
    {"type": "LineString", "coordinates": [[1, 2]]}, {"type": "LineString", "coordinates": [[1, 2], [3, 4, 5]]}, {"type": "LineString", "coordinates": [[1, 2, 0], [3, 4, 5]]}, {"type": "LineString", "coordinates": [1, 2]},
    {"type": "LineString", "coordinates": [[]]}, {"type": "MultiPoint", "coordinates": []}, {"type": "MultiPoint", "coordinates": [[]]}, {"type": "MultiPoint", "coordinates": [1, 2]}, {"type": "Polygon", "coordinates": []},
    {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]}, {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4]]], "orientation": "cw"}, {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]], "orientation": "x"},
    {"type": "envelope", "coordinates": [[1, 2], [3, 4]]}, {"type": "envelope", "coordinates": [[1, 4], [1, 2]]}, {"type": "envelope", "coordinates": [[-180, 90], [180, -90]]}, {"type": "bbox", "coordinates": [[1, 4], [3, 2], [5, 6]]},
    {"type": "envelope", "coordinates": [[170, 5], [-170, -5]]}, {"type": "envelope", "coordinates": [[1, 400], [3, 2]]}, {"type": "envelope", "coordinates": [1, 2]}, {"type": "LinearRing", "coordinates": [[1, 2], [3, 4]]},
    {"type": "Polygon", "coordinates": [[[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]]}, {"type": "Polygon", "coordinates": [[[170, 0], [190, 0], [190, 9], [170, 9], [170, 0]]]},
    {"type": "Polygon", "coordinates": [[[177, 0], [-177, 0], [-177, 5], [177, 5], [177, 0]]]}, {"type": "Polygon", "coordinates": [[[177, 0], [177, 5], [-177, 5], [-177, 0], [177, 0]]]},
    {"type": "Polygon", "coordinates": [[[180, 0], [180, 9], [170, 9], [170, 0], [180, 0]]]}, {"type": "Polygon", "coordinates": [[[-180, 0], [-170, 0], [-170, 9], [-180, 9], [-180, 0]]]},
]


def ring(dice, x, y, size, count, rough=0.5):
    """The points around a middle, each once."""
    start = dice.uniform(0, 7)
    far = lambda: size * (1 - dice.uniform(0, rough))
    found = [(lambda at, by: [x + by * math.cos(at), y + by * math.sin(at)])(start + 2 * math.pi * number / count, far()) for number in range(count)]
    return found if dice.random() < 0.6 else found[::-1]


def rounded(dice, points):
    """Points of few digits, some of which are equal or on a line."""
    digits = dice.choice([None, None, 6, 2, 1, 0])
    return [[round(number, digits) if digits is not None else number for number in point] for point in points]


def closed(points):
    return [*points, points[0]]


def place(dice):
    """A middle, and how far it is from the edges of the map."""
    x = dice.choice([dice.uniform(-150, 150), dice.uniform(-150, 150), dice.uniform(165, 195), dice.uniform(-185, -165), dice.choice([0, 180, -180])])
    y = dice.choice([dice.uniform(-60, 60), dice.uniform(-60, 60), dice.choice([0, 80, -85])])
    return x, y


def polygon(dice, x, y):
    size = dice.choice([0.001, 0.1, 1, 5, 20])
    count = dice.choice([3, 4, 5, 8, 12, 30, 79, 80, 81, 100, 300])
    form = dice.random()
    outer = ring(dice, x, y, size, count, dice.choice([0, 0.2, 0.5, 0.95]))
    if form < 0.15:
        # Steps, with points on lines.
        outer = [[x + size * a, y + size * b] for a, b in [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (1, 1), (0, 1)]]
    elif form < 0.25:
        # Points in any order, with lines that cross.
        dice.shuffle(outer)
    outer = rounded(dice, outer)
    rings = [closed(outer)]
    for _ in range(dice.choice([0, 0, 0, 1, 1, 2, 4, 9])):
        a, b = dice.uniform(-0.5, 0.5), dice.uniform(-0.5, 0.5)
        hole = rounded(dice, ring(dice, x + size * a, y + size * b, size * dice.choice([0.01, 0.1, 0.2]), dice.choice([3, 4, 7, 20]), 0.4))
        if dice.random() < 0.1:
            hole[0] = list(dice.choice(dice.choice(rings)))
        rings.append(closed(hole))
    return rings


def line(dice, x, y):
    step = dice.choice([0.01, 1, 10, 100])
    found = [[x, y]]
    for _ in range(dice.choice([1, 1, 2, 5, 40, 200])):
        a, b = found[-1]
        found.append([a + dice.uniform(-step, step), max(-90, min(90, b + dice.uniform(-1, 1) * min(step, 20)))])
    return rounded(dice, found)


def envelope(dice, x, y):
    width, height = dice.uniform(0, 20), dice.uniform(0, 9)
    west, east = max(-180, min(180, x - width)), max(-180, min(180, x + width))
    return rounded(dice, [[west, min(90, y + height)], [east, max(-90, y - height)]])


def geometry(dice, level=0):
    """A type of GeoJSON, and what it has."""
    x, y = place(dice)
    near = lambda: (x + dice.uniform(-30, 30), y + dice.uniform(-5, 5))
    some = lambda make: [make(dice, *near()) for _ in range(dice.choice([1, 2, 2, 5]))]
    kind = dice.choice(["Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "Polygon", "Polygon", "MultiPolygon", "Envelope"] + ["GeometryCollection"] * (level < 3))
    if kind == "GeometryCollection":
        return kind, [geometry(dice, level + 1) for _ in range(dice.choice([1, 2, 3]))]
    made = {
        "Point": lambda: rounded(dice, [[x, y]])[0], "MultiPoint": lambda: rounded(dice, [near() for _ in range(dice.choice([1, 2, 9, 60]))]), "LineString": lambda: line(dice, x, y),
        "MultiLineString": lambda: some(line), "Polygon": lambda: polygon(dice, x, y), "MultiPolygon": lambda: some(polygon), "Envelope": lambda: envelope(dice, x, y),
    }
    return kind, made[kind]()


def with_heights(node):
    return [*node, 5] if not isinstance(node[0], list) else [with_heights(below) for below in node]


def as_json(dice, kind, made):
    if kind == "GeometryCollection":
        return {"type": kind, "geometries": [as_json(dice, *part) for part in made]}
    found = {"type": dice.choice([kind, kind, kind.lower(), kind.upper()]), "coordinates": with_heights(made) if dice.random() < 0.05 else made}
    if "Polygon" in kind and dice.random() < 0.2:
        found["orientation"] = dice.choice(["left", "right", "cw", "ccw", "clockwise", "COUNTERCLOCKWISE"])
        if dice.random() < 0.1:
            found["coordinates"] = [made[0][:-1]] if kind == "Polygon" else made
    if dice.random() < 0.1:
        found = dict(reversed(found.items()))
    return found


def as_text(dice, kind, made):
    if kind == "GeometryCollection":
        return f"GEOMETRYCOLLECTION ({', '.join(as_text(dice, *part) for part in made)})"
    if kind == "Envelope":
        (west, north), (east, south) = made
        return f"BBOX ({west}, {east}, {north}, {south})"
    lists = lambda node: " ".join(map(str, node)) if not isinstance(node[0], (list, tuple)) else f"({', '.join(map(lists, node))})"
    return f"{kind.upper() if dice.random() < 0.8 else kind} {lists(made) if kind != 'Point' else f'({lists(made)})'}"


def shape(dice, odd=0.1):
    if dice.random() < odd:
        return dice.choice(ODD)
    return (as_json if dice.random() < 0.7 else as_text)(dice, *geometry(dice))
