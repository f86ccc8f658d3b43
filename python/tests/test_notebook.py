"""The progress and the report in a notebook, which a real kernel executes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import IPython
import nbclient
import nbformat

import inrush

DOCUMENTS = 1500


class Client(nbclient.NotebookClient):
    """Keeps all messages of the kernel."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.messages: list[tuple[str, dict[str, Any]]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        self.messages.append((msg["msg_type"], msg["content"]))
        return super().process_message(msg, cell, cell_index)


def executed(*cells: str) -> tuple[Client, list[list[Any]]]:
    """Executes the cells. The outputs are those that a reader sees at the end."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = Client(notebook, kernel_name="python3", timeout=120)
    client.execute()
    return client, [cell.outputs for cell in notebook.cells]


def load(url: str, more: str = "") -> str:
    """A load of about a second."""
    documents = f"({{'n': n}} for n in range({DOCUMENTS}))"
    return f"inrush.load({documents}, 'p', '{url}', batch_bytes='2kB', in_flight=2, max_rate='{DOCUMENTS}docs'{more})"


def html(output: Any) -> str:
    text: str = output["data"]["text/html"]
    return text


def test_a_widget_that_becomes_the_report(cluster):
    client, outputs = executed("import inrush", f"report = {load(cluster.url)}", "print(report.docs_indexed)")
    updates = [content for kind, content in client.messages if kind == "update_display_data"]
    assert len(updates) >= 2, "the progress, and the report"
    live = html(updates[0])
    for text in [">phase<", ">loading", ">documents read<", " docs/s", " in flight x "]:
        assert text in live, live
    [widget] = outputs[1]
    assert widget.output_type == "display_data"
    assert ">result<" in html(widget) and f"{DOCUMENTS:,}" in html(widget), html(widget)
    assert "documents read" in widget["data"]["text/plain"]
    assert outputs[2][0].text == f"{DOCUMENTS}\n"


def test_the_report_is_shown_once_where_it_is_the_result_of_the_cell(cluster):
    _, outputs = executed("import inrush", f"report = {load(cluster.url)}\nreport", "report")
    widget, result = outputs[1]
    assert (html(widget), result.output_type) == ("", "execute_result")
    assert ">result<" in html(result)
    [again] = outputs[2]
    assert html(again) == html(result)


def test_a_cell_that_shows_the_report_later_leaves_the_widget(cluster):
    _, outputs = executed("import inrush", f"report = {load(cluster.url)}", "report")
    assert ">result<" in html(outputs[1][0]) and ">result<" in html(outputs[2][0])


def test_text_of_others_is_no_markup(cluster, tmp_path):
    path = str(tmp_path / "<img src=x>.ndjson")
    options = f", mapping={{'properties': {{'n': {{'type': 'long'}}}}}}, dead_letters={path!r}"
    failing = f"inrush.load([{{'n': '<script>alert(1)</script>'}}], 'q', '{cluster.url}'{options})"
    client, outputs = executed("import inrush", f"report = {failing}")
    shown = html(outputs[1][0])
    assert "&lt;img src=x&gt;.ndjson" in shown and "some documents were not indexed" in shown, shown
    for kind, content in client.messages:
        shown = content.get("data", {}).get("text/html", "")
        assert "<script" not in shown and "<img" not in shown, (kind, shown)


def test_without_progress_there_is_no_widget(cluster):
    client, outputs = executed("import inrush", f"report = {load(cluster.url, ', progress=False')}")
    assert outputs[1] == []
    client, outputs = executed("import inrush", f"seen = []\nreport = {load(cluster.url, ', progress=seen.append')}\nassert seen")
    assert outputs[1] == []


def test_a_load_that_fails_ends_with_its_report(cluster):
    cell = f"""
def broken():
    yield {{'n': 1}}
    raise ValueError('no more')
try:
    inrush.load(broken(), 'p', '{cluster.url}')
except ValueError as error:
    print(error.report.status)
"""
    _, outputs = executed("import inrush", cell)
    widget, printed = sorted(outputs[1], key=lambda output: output.output_type)
    assert printed.text == "failed\n" and ">the load failed<" in html(widget), widget


def test_ipython_without_a_kernel_is_a_terminal(cluster, monkeypatch, capsys):
    class TerminalInteractiveShell:
        execution_count = 1

    monkeypatch.setattr(IPython, "get_ipython", TerminalInteractiveShell)
    assert inrush.load([{"n": 1}], "p", cluster.url).ok
    assert capsys.readouterr() == ("", "")


def test_ipython_is_not_needed(cluster):
    program = f"""
import sys
sys.modules['IPython'] = None
import inrush
report = inrush.load([{{'n': 1}}], 'p', '{cluster.url}')
print(report.ok, '<table' in report._repr_html_())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")
