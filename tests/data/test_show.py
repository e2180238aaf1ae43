import io

from rich.console import Console

from sepset.data import Dataset


def printed(dataset: Dataset) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(dataset)
    return console.file.getvalue()


def test_terminal_shows_the_first_rows_and_the_size():
    text = printed(Dataset({"[bold]coin": ["head", None] * 10}))
    assert "20 rows" in text
    assert "[bold]coin" in text
    assert text.count("head") == 4


def test_html_is_escaped_and_cut():
    html = Dataset({f"<b>{i}": ["<script>"] for i in range(12)})._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;0" in html
    assert "&lt;b&gt;11" not in html
    assert "<th>...</th>" in html


def test_nothing_to_show():
    assert "0 rows" in printed(Dataset({}))
    assert "0 rows" in Dataset({})._repr_html_()
