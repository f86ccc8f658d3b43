"""The live page of a load that a program runs."""

from __future__ import annotations

import socket

import inrush
import pytest

from page import free_port, get, snapshot


def test_a_page_is_there_while_the_load_runs(cluster, tmp_path):
    port = free_port()
    with inrush.Loader("page", cluster.url, page=port, textfile=tmp_path) as loader:
        loader.add({"n": 1})
        loader.flush()
        assert snapshot(port)["start"]["name"] == "page"
        assert 'inrush_documents_total{load="page",outcome="created"}' in get(port, "/metrics")
    written = (tmp_path / "inrush-page.prom").read_text()
    assert 'inrush_documents_total{load="page",outcome="created"} 1\n' in written


def test_an_address_in_use_is_an_error_before_the_load(cluster):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(inrush.UsageError, match="choose another port"):
            inrush.load([{"n": 1}], index="page2", to=cluster.url, page=listener.getsockname()[1])
    with pytest.raises(inrush.UsageError, match="needs a token"):
        inrush.load([{"n": 1}], index="page2", to=cluster.url, page="0.0.0.0:0")
    with pytest.raises(inrush.UsageError, match="expected true or an address"):
        inrush.load([{"n": 1}], index="page2", to=cluster.url, page=False)
