#!/usr/bin/env python3
"""Prints the JSON Schema of the report, made of the tables of docs/report.md.

    scripts/report-schema.py                 the schema, on stdout
    scripts/report-schema.py REPORT…         checks reports of `inrush load --json` instead

A test compares the tables with real reports (crates/inrush-cli/tests/it/report_pages.rs). A check
needs the package jsonschema. Its exit status is 1 if a report does not fit.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Any

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/report.md"
# Tables of these sections are of other objects.
OTHER = {"Progress lines", "Several outputs"}
# Objects whose keys are names, such as indices.
NAMED = "NAME"


def rows() -> list[tuple[str, str, bool, str]]:
    """Key, type, whether it is always present, and meaning."""
    found, section, within = [], "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        within = line.startswith("| key | type | present |") or (within and line.startswith("|"))
        if within and line.startswith("| `") and section not in OTHER:
            key, kind, present, meaning = (cell.strip() for cell in line.strip().strip("|").split("|"))
            found.append((key.strip("` "), kind, not present, meaning))
    return found


def schema_of(kind: str, meaning: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)}
    words = re.findall(r"`([^`]+)`", kind)
    if words:
        return {"enum": words, **schema}
    types = [{"any": None}.get(name, name) for name in kind.split(" or ")]
    return schema if None in types else {"type": types[0] if len(types) == 1 else types, **schema}


def place(root: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The schema of the object that holds the last key of a path."""
    at = root
    for part in path[:-1]:
        name = part.removesuffix("[]")
        if name == NAMED:
            at = at.setdefault("additionalProperties", {"type": "object"})
        else:
            at = at.setdefault("properties", {}).setdefault(name, {"type": "object"})
        if part.endswith("[]"):
            at = at.setdefault("items", {"type": "object"})
    return at


def schema() -> dict[str, Any]:
    root: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of inrush load and inrush bake",
        "type": "object",
    }
    for key, kind, always, meaning in rows():
        path = key.split(".")
        holder = place(root, path)
        name = path[-1].removesuffix("[]")
        if name == NAMED:
            holder["additionalProperties"] = {**schema_of(kind, meaning), **holder.get("additionalProperties", {})}
            continue
        holder.setdefault("properties", {})[name] = schema_of(kind, meaning) | {
            key: value for key, value in holder.get("properties", {}).get(name, {}).items() if key != "type"
        }
        if always:
            holder.setdefault("required", []).append(name)
    return root


def main() -> int:
    if len(sys.argv) == 1:
        print(json.dumps(schema(), indent=2))
        return 0
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema())
    wrong = 0
    for name in sys.argv[1:]:
        for error in validator.iter_errors(json.loads(pathlib.Path(name).read_text())):
            print(f"{name}: {error.json_path}: {error.message}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
