#!/usr/bin/env python3
"""Tokens of `icu_tokenizer` beside those of Lucene's own jars, on random texts of all scripts.

    python3 bench/lucene_icu.py JARS PROGRAM LUCENE SEED ROUNDS

JARS is a folder with lucene-core, lucene-analysis-common, lucene-analysis-icu and icu4j; PROGRAM is
the example lucene-tokens; LUCENE is the version. Of each round 60 texts go through the tokenizer
alone, or with a filter of characters and filters behind it. A text of which the program says that
only a server knows its tokens is not compared. The status is 1 if a text differs.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lucene_tokens
import servers

TABLE = pathlib.Path(__file__).parent.parent / "crates/inrush-lucene/src/analysis/icu_words.txt"
SOURCES = pathlib.Path(__file__).parent.parent / "crates/inrush-lucene/tests/java"
# What meets in words: joiners, marks, quotes, spaces, digits, flags, pictures, letters of some scripts.
OFTEN = [0x27, 0x22, 0x2E, 0x3A, 0x2C, 0x3B, 0x5F, 0x20, 0xA, 0xD, 0x31, 0x32, 0x61, 0x42, 0x5D0, 0x5D1, 0x301, 0x200D, 0xFE0F, 0x20E3, 0x1F1E6, 0x1F1E7, 0x1F469, 0x1F3FD, 0x2139, 0x24C2, 0xA9, 0x23, 0x2A, 0xAD, 0xAC00, 0xD55C, 0x1100, 0x431, 0x3B1, 0x661, 0x627, 0x64E, 0x915, 0x93F, 0x94D, 0xB7, 0x2019, 0x203F, 0x2028, 0x85, 0x3000, 0x17000, 0xFF11, 0xFF1A, 0x1D7CE, 0x483, 0x61C, 0xE000, 0x378]
# Settings, and Lucene's own parts: filters of characters, and of tokens.
CHAINS = [
    ([], []),
    ([], ["icu_folding"]),
    ([], [{"type": "word_delimiter_graph", "catenate_words": True, "adjust_offsets": False}, "icu_folding"]),
    ([], ["lowercase", {"type": "edge_ngram", "min_gram": 1, "max_gram": 9}]),
    ([{"type": "pattern_replace", "pattern": " & ", "replacement": ""}], ["icu_normalizer"]),
]
LUCENES = [
    ("", ""),
    ("", "icuFolding"),
    ("", "wordDelimiterGraph,generateWordParts=1,generateNumberParts=1,catenateWords=1,catenateNumbers=0,catenateAll=0,splitOnCaseChange=1,preserveOriginal=0,splitOnNumerics=1,stemEnglishPossessive=1,adjustOffsets=0;icuFolding"),
    ("", "lowercase;edgeNGram,minGramSize=1,maxGramSize=9"),
    ("patternReplace,pattern= & ", "icuNormalizer2,form=nfkc_cf"),
]


def known():
    """The code points of each range of the table."""
    items = [item for line in TABLE.read_text().splitlines() if not line.startswith("#") for item in line.split()]
    for item in items:
        first, _, last = item.replace("!", "=").split("=")[0].partition("-")
        yield int(first, 16), int(last or first, 16)


def text(dice, ranges):
    kind = dice.random()
    if kind < 0.2:
        return lucene_tokens.text(dice).replace("\t", " ")
    few = [dice.randint(*dice.choice(ranges)) for _ in range(dice.choice([1, 3, 9]))]
    size = dice.choice([2, 5, 12, 40, 40, 4200])
    letters = OFTEN if kind < 0.5 else OFTEN + few * 9 if kind < 0.8 else few + [0x20, 0x61, 0x301, 0x200D]
    return "".join(map(chr, (dice.choice(letters) for _ in range(size))))


def main():
    if len(sys.argv) != 6:
        raise SystemExit(__doc__)
    jars, program, lucene, seed, rounds = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:])
    ranges = list(known())
    compared = tokens = different = unknown = 0
    with tempfile.TemporaryDirectory() as classes:
        java = servers.java(21, 99) / "bin"
        path = f"{classes}:{jars}/*"
        subprocess.run([java / "javac", "-cp", path, "-d", classes, SOURCES / "Tokens.java"], check=True)
        with subprocess.Popen([java / "java", "-cp", path, "Tokens"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as theirs, subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
            for number in range(seed, seed + rounds):
                dice = random.Random(number)
                at = dice.randrange(len(CHAINS))
                (characters, filters), (before, behind) = CHAINS[at], LUCENES[at]
                texts = [text(dice, ranges) for _ in range(60)]
                settings = {"analyzer": {"a": {"tokenizer": "icu_tokenizer", "char_filter": [f"c{n}" for n in range(len(characters))], "filter": [f"f{n}" for n in range(len(filters))]}}}
                settings["char_filter"] = {f"c{n}": definition for n, definition in enumerate(characters)}
                settings["filter"] = {f"f{n}": definition if isinstance(definition, dict) else {"type": definition} for n, definition in enumerate(filters)}
                print(json.dumps({"settings": lucene_tokens.flat(settings, "index.analysis"), "analyzer": "a", "lucene": [int(part) for part in lucene.split(".")], "texts": texts}), file=ours.stdin, flush=True)
                mine = json.loads(ours.stdout.readline())
                if isinstance(mine, dict):
                    raise SystemExit(f"seed {number}: {mine}")
                print(";".join(part for part in (before, "icu") if part), behind, lucene_tokens.asked(texts), sep="\t", file=theirs.stdin, flush=True)
                for source, a, b in zip(texts, mine, lucene_tokens.answered(theirs.stdout.readline()), strict=True):
                    if not a:
                        unknown += 1
                        continue
                    compared, tokens = compared + 1, tokens + len(b) - 1
                    if a != b:
                        different += 1
                        place = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
                        print(f"seed {number} chain {at}\n    ours   {a[place:place + 2]}\n    theirs {b[place:place + 2]}\n    text   {[hex(ord(c)) for c in source[:60]]}")
            ours.stdin.close()
            theirs.stdin.close()
    print(f"Lucene {lucene}: {compared} texts, {tokens} tokens, {different} texts differ; {unknown} that only a server knows")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
