#!/usr/bin/env python3
"""The reading level of pages, as CSV on stdout. Needs textstat 0.7.4 from PyPI.

    bench/reading.py NAME FOLDER [NAME FOLDER …] >bench/runs/DATE-reading/reading.csv

FOLDER is a checkout, and NAME stands in the column `state`. Code, tables and addresses of links are
left out; each cell of a table of words is prose as well, so `table` rows have the cells alone.
Decisions, raw data and the generated page of the options are left out.
"""

from __future__ import annotations

import csv
import pathlib
import re
import sys

import textstat

LEFT_OUT = re.compile(r"docs/(decisions/|options\.md)")


def prose_and_cells(text: str) -> tuple[str, str]:
    text = re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    # The name of a flag is one word, however long it is.
    text = re.sub(r"`[^`]*`", "code", text)
    prose, cells, paragraph = [], [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells += [cell.strip() for cell in line.strip("| ").split(" | ")]
        elif re.match(r"[-*] |\d+\. |#|$", line):
            prose.append(" ".join(paragraph))
            paragraph = [] if line.startswith("#") else [re.sub(r"^([-*]|\d+\.) ", "", line)]
        else:
            paragraph.append(line.strip())
    sentences = lambda parts: " ".join(part if re.search(r"[.?!:]$", part) else part + "." for part in parts if re.search(r"\w \w", part))
    return sentences(prose), sentences(cell for cell in cells if len(cell.split()) >= 4)


def level(text: str) -> list[float]:
    # textstat's own functions round syllables to a tenth before they go on.
    words = textstat.lexicon_count(text)
    sentence, word = words / textstat.sentence_count(text), textstat.syllable_count(text) / words
    ease, grade = 206.835 - 1.015 * sentence - 84.6 * word, 0.39 * sentence + 11.8 * word - 15.59
    return [round(ease, 1), round(grade, 1), round(sentence, 1)]


def main() -> None:
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["state", "page", "words", "part", "flesch_reading_ease", "flesch_kincaid_grade", "words_a_sentence"])
    arguments = sys.argv[1:]
    for state, folder in zip(arguments[::2], map(pathlib.Path, arguments[1::2]), strict=True):
        every = {"prose": [], "table": []}
        for page in [folder / "README.md", folder / "COMPARE.md", *sorted((folder / "docs").rglob("*.md"))]:
            name = str(page.relative_to(folder))
            if LEFT_OUT.match(name):
                continue
            text = page.read_text()
            for part, words in zip(every, prose_and_cells(text), strict=True):
                if words:
                    every[part].append(words)
                    rows.writerow([state, name, len(text.split()), part, *level(words)])
        for part, words in every.items():
            text = " ".join(words)
            rows.writerow([state, "all", len(text.split()), part, *level(text)])


if __name__ == "__main__":
    main()
