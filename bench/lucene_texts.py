#!/usr/bin/env python3
"""Makes texts for `bench/lucene.py texts`: a file a language, with a JSON string a line.

    python3 bench/lucene_texts.py FOLDER

They are the manual pages that Debian has in other languages (fetched with apt-get), the names of languages,
countries and their parts of the package iso-codes, and Unicode's own test of word boundaries, as the crate
unicode-segmentation has it.
"""

import gettext
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MANUALS = ("de", "fr", "es", "pl", "ru", "uk", "ja", "zh", "el", "vi", "tr")
NAMES = ("ar", "he", "hi", "th", "ko", "ka", "hy", "ta", "bn", "my", "km", "lo", "am", "fa", "tr", "el", "zh_CN", "ja")
DOMAINS = ("iso_639-3", "iso_3166-1", "iso_3166-2", "iso_15924")
LINES_MAX = 60_000


def write(folder, name, texts):
    texts = list(dict.fromkeys(texts))[:LINES_MAX]
    if texts:
        (folder / name).write_text("".join(json.dumps(text) + "\n" for text in texts))
        print(f"{name}: {len(texts)} texts, {sum(map(len, texts))} characters")


def manual(language):
    """The lines of manual pages without what is for the typesetter."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "-q", "download", f"manpages-{language}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        package = next(pathlib.Path(folder).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        for page in sorted(pathlib.Path(folder).glob("usr/share/man/**/*.gz")):
            if page.is_symlink():
                continue
            for line in gzip.decompress(page.read_bytes()).decode(errors="replace").splitlines():
                line = re.sub(r"\\f[A-Z(]|\\\(..|\\&|\\-|\\\[[^]]*\]", " ", line).strip()
                if line and not line.startswith((".", "'")):
                    yield line


def names(language):
    """The translations of names."""
    for domain in DOMAINS:
        try:
            with open(f"/usr/share/locale/{language}/LC_MESSAGES/{domain}.mo", "rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog
        except FileNotFoundError:
            continue
        yield from (text for key, text in catalog.items() if key and isinstance(text, str))


def word_boundaries():
    """The texts of Unicode's test."""
    registry = pathlib.Path.home() / ".cargo/registry/src"
    source = max(registry.glob("*/unicode-segmentation-*/tests/testdata/mod.rs")).read_text()
    tests = source[source.index("TEST_WORD"):source.index("TEST_SENTENCE")]
    for literal in re.findall(r'\(\s*"((?:[^"\\]|\\.)*)",\s*&\[', tests):
        plain = re.sub(r"\\u\{([0-9a-f]+)\}", lambda hex: chr(int(hex[1], 16)), literal)
        yield plain.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "unicode-word-boundaries", word_boundaries())
    for language in MANUALS:
        write(folder, f"{language}-manuals", manual(language))
    for language in NAMES:
        write(folder, f"{language}-names", names(language))


if __name__ == "__main__":
    main()
