"""Runs the examples of a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent.parent.parent / "docs"


def run(page: str, url: str, names: dict[str, Any], replaced: dict[str, str] | None = None) -> int:
    """Runs the Python examples one after the other, as they stand there but for the address and what is `replaced`; how many they were."""
    text = (PAGES / page).read_text()
    examples = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for example in examples:
        code = example[1]
        for told, meant in {"http://localhost:9200": url, **(replaced or {})}.items():
            code = code.replace(told, meant)
        # A traceback names the page and the line.
        lines_before = text[: example.start(1)].count("\n")
        exec(compile("\n" * lines_before + code, str(PAGES / page), "exec"), names)
    return len(examples)
