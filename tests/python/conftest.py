"""Shared fixtures. Hypothesis has no deadline and uses the same examples in each run."""

import hypothesis
import numpy as np
import pytest

import spry

hypothesis.settings.register_profile("spry", deadline=None, derandomize=True, print_blob=False, max_examples=150)
hypothesis.settings.load_profile("spry")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than some seconds; ctest leaves it out")


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def grid():
    """A symmetric positive definite matrix of 400 rows."""
    return spry.generate("laplace5", x=20, y=20)


@pytest.fixture
def all_threads():
    """Removes the limit of threads after the test."""
    yield
    spry.set_num_threads(None)
