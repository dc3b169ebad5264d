"""Plug-in of pytest that runs all tests with spry.patch_scipy(), for any number of entries, and counts Spry's products.

python -m pytest -p patched_scipy --pyargs scipy.sparse.tests.test_base -k TestCSR
"""

from collections import Counter

import spry
from spry import _core, _patch

products = Counter()
_patched = spry.patch_scipy(least_entries=0)


class Counting:
    """Replaces the extension in spry._patch and counts calls."""

    Matrix = _core.Matrix

    @staticmethod
    def spmv(*args):
        products["spmv"] += 1
        return _core.spmv(*args)

    @staticmethod
    def spgemm(*args):
        products["spgemm"] += 1
        return _core.spgemm(*args)


def pytest_configure(config):
    _patch._core = Counting
    _patched.__enter__()


def pytest_unconfigure(config):
    _patched.__exit__(None, None, None)
    print(f"\nproducts of Spry: {products['spmv']} spmv, {products['spgemm']} spgemm")
