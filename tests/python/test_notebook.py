"""The tutorial's notebook runs, and its outputs equal the stored outputs."""

import copy
from pathlib import Path

import pytest

for needed in ("nbclient", "ipykernel", "matplotlib"):
    pytest.importorskip(needed, reason=f"{needed} is not installed, which runs the notebook or which it uses")

import nbformat
import notebooks

PATH = Path(__file__).resolve().parents[2] / "docs/tutorial/python.ipynb"


@pytest.fixture(scope="module")
def stored():
    return nbformat.read(PATH, as_version=4)


@pytest.fixture(scope="module")
def made():
    return notebooks.run(PATH)


def test_it_runs_and_prints_what_is_stored(stored, made):
    assert notebooks.faults(stored, made) == []


def test_what_differs_is_found(stored):
    """A different number, a missing picture and a warning are detected."""
    printing = next(cell for cell in stored.cells if "tags" not in cell.metadata and cell.get("outputs")
                    and cell.outputs[0].get("name") == "stdout")
    one = nbformat.v4.new_notebook(cells=[printing])
    other = copy.deepcopy(one)
    other.cells[0].outputs[0].text += "7\n"
    assert "prints" in notebooks.faults(one, other)[0]
    other.cells[0].outputs = []
    assert "other kinds" in notebooks.faults(one, other)[0]
    other.cells[0].outputs = [nbformat.v4.new_output("stream", name="stderr", text="careful\n")]
    assert "standard error: careful" in notebooks.faults(one, other)[0]


def test_it_is_stored_small_and_whole(stored):
    assert PATH.stat().st_size < notebooks.LIMIT
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    pictures = sum("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    assert pictures >= 5
    text = PATH.read_text(encoding="utf-8")
    assert text.isascii() and "/home/" not in text and "/work/" not in text
