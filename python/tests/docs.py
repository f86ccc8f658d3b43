"""Runs the examples of a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent.parent.parent / "docs"


def run(page: str, url: str, names: dict[str, Any]) -> int:
    """Runs the Python examples one after the other, as they stand there but for the address; how many they were."""
    text = (PAGES / page).read_text()
    examples = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for example in examples:
        code = example[1].replace("http://localhost:9200", url)
        # A traceback names the page and the line.
        lines_before = text[: example.start(1)].count("\n")
        exec(compile("\n" * lines_before + code, str(PAGES / page), "exec"), names)
    return len(examples)
