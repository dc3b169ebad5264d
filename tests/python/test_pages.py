"""Python code on the documentation's pages runs and prints the shown outputs."""

import contextlib
from pathlib import Path

import pytest
import scipy
from pages import WrongOutput, blocks_of, run_page

import spry
from spry import _patch

ROOT = Path(__file__).resolve().parents[2]
CANDIDATES = [ROOT / "README.md", *(page for folder in ("docs", "bindings/python")
                                     for page in sorted((ROOT / folder).rglob("*.md")))]
PAGES = [page for page in CANDIDATES
         if any(True for _ in blocks_of(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, tmp_path, all_threads):
    if page.name == "scipy.md":
        if ".".join(scipy.__version__.split(".")[:2]) not in _patch.TESTED:
            pytest.skip(f"patch_scipy refuses SciPy {scipy.__version__}")
    if page.name == "cupy.md":
        pytest.importorskip("cupy")
        if not any(d["kind"] == "cuda" and d["available"] for d in spry.devices()):
            pytest.skip("the library has no GPU here")
    with contextlib.chdir(ROOT if page.name == "README.md" else tmp_path):
        blocks, compared = run_page(page)
    assert blocks > 0
    assert compared > 10 or page.name != "scipy.md"


def page_of(tmp_path, *lines):
    page = tmp_path / "page.md"
    page.write_text("\n".join(["A page.", "", *lines, ""]))
    return page


def test_other_output_is_found(tmp_path):
    page = page_of(tmp_path, "```python", "a = 3", "```", "", "```python", "print(a)  # 4", "```")
    with pytest.raises(WrongOutput, match=r"page.md:8: prints '3\\n', the page says '4'"):
        run_page(page)


def test_an_exception_is_found(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_page(page_of(tmp_path, "```python", "1 / 0", "```"))


def test_blocks_are_left_out(tmp_path):
    page = page_of(tmp_path, "<!-- run: no, it fails -->", "```python", "1 / 0", "```", "", "```sh", "false", "```")
    assert run_page(page) == (0, 0)
