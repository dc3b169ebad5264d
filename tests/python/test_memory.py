"""Nothing leaks over ten thousand cycles, and documented views are not copied."""

import gc
import resource
import sys

import numpy as np
import pytest
import scipy.sparse

import spry

CYCLES = 10_000
LEAK = 500  # kilobytes in CYCLES cycles: 50 bytes per cycle


def resident_kilobytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


def growth(call):
    before = resident_kilobytes()
    for _ in range(CYCLES):
        call()
    gc.collect()
    return resident_kilobytes() - before


def cycle_plan(A, x, out):
    plan = spry.plan(A)
    plan.run(x, out)
    plan.T @ x
    plan @ x[:, None].repeat(2, axis=1)
    plan.update(A.data)


def cycle_run(A, x, out, plan=[]):  # noqa: B006  one plan for all cycles
    if not plan:
        plan.append(spry.plan(A))
    plan[0].run(x, out, alpha=2.0, beta=1.0)
    plan[0] @ x[::-1]
    x @ plan[0]


def cycle_refusals(A, x, out):
    for call in (lambda: spry.plan(A, format="none"), lambda: spry.plan(A) @ out[:1], lambda: spry.plan(A).run(x, x),
                 lambda: spry.plan(A).run(x, out[:1]), lambda: spry.plan(A, speed=1), lambda: spry.plan(A) @ "x"):
        with pytest.raises((ValueError, TypeError)):
            call()


def cycle_spgemm(A, x, out):
    spry.spgemm(A, A).data.sum()
    spry.spgemm_plan(A, A).run()


def cycle_solvers(A, x, out):
    spry.cg(A, x)
    spry.pagerank(abs(A))


def cycle_tools(A, x, out):
    spry.generate("grid5", x=3, y=3)
    spry.reorder(A)
    spry.plan(A).explain()
    spry.plan(A).info


@pytest.mark.parametrize("cycle", [
    cycle_run,
    pytest.param(cycle_plan, marks=pytest.mark.slow),
    pytest.param(cycle_refusals, marks=pytest.mark.slow),
    pytest.param(cycle_spgemm, marks=pytest.mark.slow),
    pytest.param(cycle_solvers, marks=pytest.mark.slow),
    pytest.param(cycle_tools, marks=pytest.mark.slow),
])
def test_cycles(cycle):
    A = spry.generate("laplace5", x=5, y=5)
    x, out = np.ones(25), np.zeros(25)
    watched = [A.data, A.indices, A.indptr, x, out, A.dtype, np.float64, None, "csr"]
    for _ in range(300):
        cycle(A, x, out)
    gc.collect()
    references = [sys.getrefcount(thing) for thing in watched]
    held = spry._core.held_bytes()
    # An allocator may grow by a megabyte once. A leak grows in each round.
    assert min(growth(lambda: cycle(A, x, out)) for _ in range(3)) < LEAK
    after = [sys.getrefcount(thing) for thing in watched]
    assert max(a - b for a, b in zip(after, references, strict=True)) < 50  # other code also references None
    assert after[:5] == references[:5]
    assert spry._core.held_bytes() == held


def test_a_leak_would_be_seen():
    """The leak checks detect objects that are kept. Such objects first fill memory that the heap has free."""
    kept, data = [], spry.generate("laplace5", x=5, y=5).data
    references = sys.getrefcount(data)

    def keep():
        kept.append((data, bytearray(2000)))

    for _ in range(20):  # earlier tests may have left tens of megabytes
        if growth(keep) > LEAK:
            break
    assert min(growth(keep) for _ in range(3)) > LEAK
    assert sys.getrefcount(data) > references + CYCLES // 2


@pytest.fixture
def large():
    return spry.generate("grid5", x=700, y=700)


def test_a_plan_in_csr_copies_nothing(large):
    before = spry._core.held_bytes()
    plan = spry.plan(large, format="csr", threads=1)
    assert plan.info.values_in_place
    # the plan's own data is a small part of the matrix
    assert spry._core.held_bytes() - before < 0.1 * large.data.nbytes


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_arrays_of_any_kind_are_the_callers(large, index, kind):
    A = large.asformat(kind)
    if kind == "coo":
        A.coords = tuple(c.astype(index) for c in A.coords)
        given = (A.row, A.col, A.data)
    else:
        A.indptr, A.indices = A.indptr.astype(index), A.indices.astype(index)
        given = (A.indptr, A.indices, A.data)
    shown = spry._arrays.source_of(A).matrix().arrays()[4:]
    for ours, theirs in zip(shown, given, strict=True):
        assert np.shares_memory(ours, theirs) and ours.dtype == theirs.dtype


def test_runs_allocate_nothing(large):
    plan = spry.plan(large)
    x, out = np.ones(large.shape[1]), np.zeros(large.shape[0])
    plan.run(x, out)
    held = spry._core.held_bytes()
    plan.run(x, out)
    assert spry._core.held_bytes() == held


def test_memory_of_large_results_serves_again():
    """Memory is reused only if neither the result nor a part of it exists, and only for a result of the same form."""
    n = 5_000_000
    A = scipy.sparse.csr_array((np.ones(n), np.zeros(n, np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, 1))
    plan, address = spry.plan(A, format="csr"), lambda y: y.__array_interface__["data"][0]
    first = plan @ [1.0]
    second = plan @ [2.0]
    assert (first == 1).all() and (second == 2).all()
    freed = address(first)
    del first
    third = plan @ [3.0]
    assert address(third) == freed and (second == 2).all() and (third == 3).all()
    part = third[::1000]
    del third
    fourth = plan @ [4.0]
    assert (part == 3).all() and (second == 2).all() and (fourth == 4).all()
    del second
    fourth.shape = (n, 1)
    fourth.flags.writeable = False
    del fourth, part
    fifth, sixth = plan @ [5.0], plan.run([6.0])
    assert fifth.shape == sixth.shape == (n,) and fifth.flags.writeable and sixth.flags.writeable
    assert (fifth == 5).all() and (sixth == 6).all()


def test_results_are_given_back(large):
    gc.collect()
    before = spry._core.held_bytes()
    C = spry.spgemm(large, large)
    size = C.data.nbytes + C.indices.nbytes + C.indptr.nbytes
    assert spry._core.held_bytes() - before >= size
    del C
    gc.collect()
    assert spry._core.held_bytes() == before
    assert spry.trim() >= 0


def test_adopted_matrices_serve_as_any_other(large):
    C = spry.spgemm(large, scipy.sparse.eye_array(large.shape[0], format="csr"))
    assert abs(C - large).nnz == 0
    assert (C + C).nnz == large.nnz
