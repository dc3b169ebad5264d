"""A plug-in of pytest: all tests run with spry.patch_scipy(), of however few entries, and Spry's products are counted.

python -m pytest -p patched_scipy --pyargs scipy.sparse.tests.test_base -k TestCSR
"""

from collections import Counter

import spry
from spry import _core, _patch

products = Counter()
_patched = spry.patch_scipy(least_entries=0)


class Counting:
    """The extension as spry._patch sees it."""

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
