#!/usr/bin/env python3
"""Copies the pages of the site, and the files that they link to, into a folder.

    scripts/site/stage.py FOLDER

The folder has the tree of the repository, so that links work as they do there. A link to a folder
is its text alone, because a site has no page for it. Words after the language of a fence are for
scripts/pages.py, and left out.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"(\[([^\]]*)\]\(([^)\s#]+)[^)]*\))")
FENCE = re.compile(r"^(\s*```+)([\w-]+) .*$", re.MULTILINE)


def pages() -> list[pathlib.Path]:
    return [page.relative_to(ROOT) for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    waiting, staged = pages(), set()
    while waiting:
        name = waiting.pop()
        if name in staged:
            continue
        staged.add(name)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.suffix != ".md":
            shutil.copy(ROOT / name, target)
            continue
        text = FENCE.sub(r"\1\2", (ROOT / name).read_text())
        for whole, label, link in LINK.findall(text):
            linked = (ROOT / name.parent / link).resolve()
            if re.match(r"[a-z]+:", link) or not linked.is_relative_to(ROOT):
                continue
            if linked.is_dir():
                text = text.replace(whole, label)
            elif linked.exists():
                waiting.append(linked.relative_to(ROOT))
        target.write_text(text)


if __name__ == "__main__":
    main()
