"""The pages of the tutorial run as notebooks in a kernel of Jupyter; its stop button ends long work with a result."""

from __future__ import annotations

import importlib.util
import json
import queue
from pathlib import Path

import pytest

pytestmark = pytest.mark.crosscheck
nbformat = pytest.importorskip("nbformat", reason="needs the extra jupyter")
nbclient = pytest.importorskip("nbclient", reason="needs the extra jupyter")
pytest.importorskip("ipykernel", reason="needs the extra jupyter")

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md"))


def converter():
    """The module `tools/notebooks.py`, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_tutorial_in_a_kernel(page, tmp_path):
    made = json.loads(json.dumps(converter().as_notebook(page.read_text(encoding="utf-8"))))
    notebook = nbformat.from_dict(made)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} & kinds
    assert not [output for output in outputs if output.get("name") == "stderr"]


LONG = """
import sepset as ss
rows = ss.sample(ss.datasets.load("alarm"), 2000, seed=1)
found = ss.structure_posterior(rows, method=ss.OrderMCMC(), until=ss.Until(seconds=120), seed=0)
print(found.status, len(found.names))
"""


def test_the_stop_button_ends_long_work_with_a_result():
    from jupyter_client import KernelManager

    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        messages = list(run(client, manager, LONG))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    bars = [data["text/html"] for kind, data in messages if kind == "update_display_data"]
    assert "<progress" in bars[0]
    assert bars[-1] == ""
    assert messages[-1] == ("stream", {"text": "interrupted 37\n"})


def run(client, manager, code):
    """What a cell shows, message by message; the kernel is interrupted once the bar has moved a few times."""
    asked, moved = client.execute(code), 0
    while True:
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except queue.Empty:
            continue
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if kind == "status" and content["execution_state"] == "idle":
            return
        if kind == "update_display_data" and "<progress" in content["data"]["text/html"]:
            moved += 1
            if moved == 5:
                manager.interrupt_kernel()
        if kind in ("stream", "update_display_data"):
            yield kind, {"text": content["text"]} if kind == "stream" else content["data"]
