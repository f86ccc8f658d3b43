"""What is shown while a load runs."""

from __future__ import annotations

from typing import Any

import inrush


def load(url: str, **options: Any) -> None:
    """Long enough to be seen: a flush waits for the batch to fill."""
    with inrush.Loader("p", url, **options) as loader:
        loader.add({"n": 1})
        loader.flush()


def test_a_line_on_a_terminal_that_is_gone_afterwards(cluster, capsys):
    load(cluster.url, progress=True)
    shown = capsys.readouterr().err
    assert "docs" in shown and shown.endswith("\r")
    load(cluster.url)
    assert capsys.readouterr().err == "", "stderr is no terminal here"


def test_a_function_that_fails_does_not_stop_the_load(cluster, caplog):
    def explode(now):
        raise RuntimeError("no screen")

    load(cluster.url, progress=explode)
    assert cluster.count("p") == 1
    assert any("cannot be shown" in record.message for record in caplog.records)
