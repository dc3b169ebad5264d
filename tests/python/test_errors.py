"""Refused calls: input, exception, message."""

import array
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from numpy.lib.stride_tricks import as_strided

import spry


def csr(data=(1.0, 2.0, 3.0), indices=(0, 1, 1), indptr=(0, 1, 3), shape=(2, 2), dtype=np.float64):
    A = scipy.sparse.csr_array(shape, dtype=dtype)
    A.data, A.indices, A.indptr = np.array(data, dtype), np.array(indices, np.int32), np.array(indptr, np.int32)
    return A


MATRICES = [
    (np.ones((2, 2)), TypeError,
     r"A is numpy.ndarray, expected a sparse matrix of SciPy, CuPy or PyTorch; scipy.sparse.csr_array"),
    ([[1.0]], TypeError, r"A is list, expected a sparse matrix of SciPy, CuPy or PyTorch$"),
    (csr(dtype=np.int64), TypeError, r"A holds int64, expected float64 or float32: A.astype\(float\) converts it"),
    (csr(dtype=bool), TypeError, r"A holds bool, expected float64 or float32"),
    (csr(dtype=np.complex128), TypeError, r"A holds complex128, .*complex numbers are not supported"),
    (csr(indices=(0, 1, 2)), spry.InvalidError, r"2"),
    (csr(indices=(0, -1, 1)), spry.InvalidError, r"-1"),
    (csr(indptr=(0, 4, 3)), spry.InvalidError, r"offset"),
    (csr(indptr=(1, 1, 3)), spry.InvalidError, r"offset"),
    (csr(indices=(0, 1)), ValueError, r"indices has 2 entries, expected 3"),
    (csr(data=(1.0,)), ValueError, r"values has 1 entries, expected 3"),
    (csr(indptr=(0, 3)), ValueError, r"indptr has 2 entries, expected 3"),
    (scipy.sparse.coo_array(np.ones(3)), spry.InvalidError, r"A has 1 dimensions, expected 2"),
]


@pytest.mark.parametrize("A, error, message", MATRICES)
def test_matrices(A, error, message):
    with pytest.raises(error, match=message):
        spry.plan(A)


@pytest.mark.parametrize("call", [
    lambda A: spry.spgemm(A, csr()),
    lambda A: spry.spgemm_plan(csr(), A),
    lambda A: spry.cg(A, np.ones(2)),
    spry.pagerank,
    spry.reorder,
    lambda A: spry.mmwrite("never.mtx", A),
])
def test_unsound_matrices_are_refused_everywhere(call):
    with pytest.raises(spry.InvalidError, match="2"):
        call(csr(indices=(0, 1, 2)))


def test_check_false_skips_the_look():
    spry.plan(csr(indices=(0, 1, 2)), check=False, expected_calls=1)  # never run: A is invalid


def test_values_with_gaps_are_refused():
    A = csr()
    A.data = np.ones(6)[::2]
    with pytest.raises(spry.InvalidError, match="A.data is not contiguous"):
        spry.plan(A)


OPTIONS = [
    ({"format": "round"}, spry.InvalidError, '^no format "round" is known, expected one of auto, [a-z0-9, ]*csr, [a-z0-9, ]*sell[a-z0-9, ]*$'),
    ({"format": 3}, TypeError, "format is 3, expected a string"),
    ({"kernel": "csr_slow_cpu"}, spry.InvalidError, "csr_slow_cpu"),
    ({"device": "tpu"}, spry.Error, "tpu"),
    ({"device": 3}, TypeError, "device is 3, expected a name"),
    ({"vector_device": 3}, TypeError, "vector_device is 3, expected a name"),
    ({"dtype": "i4"}, TypeError, "dtype is int32, expected float64 or float32"),
    ({"order": "A"}, spry.InvalidError, "order is 'A'"),
    ({"threads": 0}, ValueError, "threads is 0, expected 1 or more"),
    ({"threads": 5000}, ValueError, "5000"),
    ({"memory_limit": 1, "format": "sell"}, spry.Error, "1"),
    ({"expected_calls": -1}, spry.InvalidError, "-1"),
    ({"expected_calls": 1.5}, TypeError, "expected_calls is 1.5, expected a whole number, or None"),
    ({"expected_updates": "a"}, TypeError, "expected_updates is 'a', expected a whole number"),
    ({"memory_limit": 1e9}, TypeError, "memory_limit is 1000000000.0, expected a whole number"),
    ({"threads": 1.5}, TypeError, "threads is 1.5, expected a whole number"),
    ({"count": 2**70}, OverflowError, "count is 1180591620717411303424, expected at most 2\\*\\*63 - 1"),
    ({"speed": 1}, TypeError, "speed"),
]


@pytest.mark.parametrize("options, error, message", OPTIONS)
def test_options(options, error, message):
    with pytest.raises(error, match=message):
        spry.plan(csr(), **options)


VECTORS = [
    (np.ones(3), ValueError, r"x has shape \(3,\), expected \(2,\) or \(2, k\)"),
    (np.ones((3, 2)), ValueError, r"x has shape \(3, 2\), expected \(2,\) or \(2, k\)"),
    (np.ones((2, 2, 2)), spry.InvalidError, "x has 3 dimensions, expected 1, or 2"),
    (1.0, spry.InvalidError, "x has 0 dimensions"),
    (np.ones(2, complex), TypeError, "x holds complex128, the plan multiplies float64"),
    (["a", "b"], TypeError, "x holds <U1"),
    (scipy.sparse.eye_array(2), TypeError, "x is sparse, dia_array: spry.spgemm multiplies"),
    (None, TypeError, "x holds object"),
    ([[1.0], [1.0, 2.0]], ValueError, "inhomogeneous"),
]


@pytest.mark.parametrize("x, error, message", VECTORS)
@pytest.mark.parametrize("way", ["matmul", "run"])
def test_vectors(x, error, message, way):
    plan = spry.plan(csr())
    with pytest.raises(error, match=message):
        plan @ x if way == "matmul" else plan.run(x)


def test_double_vectors_are_not_rounded():
    plan = spry.plan(csr(dtype=np.float32))
    with pytest.raises(TypeError, match=r"x holds float64, the plan multiplies float32.*astype\('float32'\).*dtype"):
        plan @ np.ones(2)
    assert (spry.plan(csr(dtype=np.float32), dtype=float) @ np.ones(2)).dtype == np.float64


OUTS = [
    ([0.0, 0.0], TypeError, "out is <class 'list'>, expected a NumPy array"),
    (np.zeros(2, "f4"), TypeError, "out holds float32, expected aligned float64"),
    (np.zeros(3), ValueError, r"out has shape \(3,\), expected \(2,\)"),
    (np.zeros((2, 1)), ValueError, r"out has shape \(2, 1\), expected \(2,\)"),
    (np.broadcast_to(np.zeros(1), 2), ValueError, "read-only"),
    (np.frombuffer(b"\0" * 16), ValueError, "read-only"),
    (as_strided(np.zeros(1), (2,), (0,)), spry.InvalidError, r"out has strides \(0,\), with which entries share"),
]


@pytest.mark.parametrize("out, error, message", OUTS)
def test_outs(out, error, message):
    with pytest.raises(error, match=message):
        spry.plan(csr()).run(np.ones(2), out)


@pytest.mark.parametrize("shape, strides, shared", [
    ((2, 3), (24, 0), True),
    ((2, 3), (0, 8), True),
    ((2, 3), (8, 8), True),
    ((2, 3), (16, 8), True),
    ((2, 3), (8, 24), False),
    ((2, 3), (64, 16), False),
    ((2, 3), (24, 16), False),  # bytes 0 16 32 and 24 40 56: interleaved without overlap
])
def test_outs_whose_entries_share_memory(shape, strides, shared):
    plan, x = spry.plan(csr()), np.arange(6.0).reshape(2, 3)
    memory = np.zeros(64)
    out = as_strided(memory[7:], shape, strides)
    if shared:
        with pytest.raises(spry.InvalidError, match="with which entries share memory"):
            plan.run(x, out)
        assert (memory == 0).all()
    else:
        assert (plan.run(x, out) == plan @ x).all() and (out == plan @ x).all()


def test_results_over_operands():
    A, x = csr(), np.ones(2)
    plan = spry.plan(A, format="csr")
    with pytest.raises(spry.InvalidError, match="x and out overlap") as caught:
        plan.run(x, x)
    assert caught.value.argument == "out"
    with pytest.raises(spry.InvalidError, match="A's values and out overlap"):
        plan.run(x, A.data[:2])


SQUARE = csr(indices=(0, 0, 1), data=(2.0, -1.0, 2.0))

WHOLE_NUMBERS = [
    ("memory_limit", lambda n: spry.spgemm(csr(), csr(), memory_limit=n)),
    ("threads", lambda n: spry.spgemm(csr(), csr(), threads=n)),
    ("memory_limit", lambda n: spry.generate("grid5", x=3, y=3, memory_limit=n)),
    ("memory_limit", lambda n: spry.mmread("none.mtx", memory_limit=n)),
    ("max_iterations", lambda n: spry.cg(SQUARE, np.ones(2), max_iterations=n)),
    ("count", lambda n: spry.cg_plan(SQUARE, count=n)),
    ("max_iterations", lambda n: spry.pagerank(csr(), max_iterations=n)),
    ("threads", spry.set_num_threads),
    ("least_entries", lambda n: spry.patch_scipy(least_entries=n)),
    ("index_base", lambda n: spry.mmread("none.csv", index_base=n)),
]


@pytest.mark.parametrize("name, call", WHOLE_NUMBERS)
def test_whole_numbers(name, call):
    for wrong in (1.5, 2.0, "a"):
        with pytest.raises(TypeError, match=f"{name} is {wrong!r}, expected a whole number"):
            call(wrong)
    with pytest.raises(spry.InvalidError, match=rf"{name} is -3, expected \d or more"):
        call(-3)


def test_names_of_arguments(tmp_path):
    """Messages use Python's names of arguments if the library's names differ."""
    cases = [
        (lambda: spry.pagerank(csr(), personalization=-np.ones(2)), "element 0 of personalization", "personalization"),
        (lambda: spry.pagerank(csr(), personalization=np.zeros(2)), "elements of personalization sum to 0",
         "personalization"),
        (lambda: spry.pagerank(csr(), x0=-np.ones(2)), r"element 0 of x0 \(counted from 0\)", None),
        (lambda: spry.generate("grid5", x=300, y=300, memory_limit=100), "memory_limit is 100$", "memory_limit"),
        (lambda: spry.spgemm(csr(), csr(), memory_limit=10), "the limit is 10", "memory_limit"),
    ]
    for call, message, argument in cases:
        with pytest.raises(spry.Error, match=message) as caught:
            call()
        assert argument in (None, caught.value.argument)
    path = tmp_path / "memory_limit_bytes.txt"  # a file's name in a message is unchanged
    path.write_text("0 1\n")
    with pytest.raises(spry.BadFileError, match=r"memory_limit_bytes.txt:1: .*; .*read it with index_base=0"):
        spry.mmread(path, index_base=1)
    with pytest.raises(spry.InvalidError, match="mmread: index_base is 2, expected 0 or 1"):
        spry.mmread(path, index_base=2)


def test_a_gpu_without_the_plug_in(monkeypatch):
    monkeypatch.delenv("SPRY_CUDA_PLUGIN", raising=False)
    message = "device cuda cannot be used: no CUDA plug-in: libspry-cuda.so: cannot open shared object file"
    advice = "; ./quickstart --gpu builds it"
    for installed, hint in ((False, "; the wheel spry-cuda13 has it, which bindings/python/wheel --cuda builds"), (True, "")):
        monkeypatch.setattr(spry._errors, "_plugin_is_installed", lambda found=installed: found)
        assert str(spry._errors.exception_of(40, message, "device", 0, 0, "", 0)) == message + hint
        text = str(spry._errors.exception_of(40, message + advice, "device", 0, 0, "", 0))
        assert text == message + (hint or advice)
    if not any(device["kind"] == "cuda" and device["available"] for device in spry.devices()):
        monkeypatch.setattr(spry._errors, "_plugin_is_installed", lambda: False)
        with pytest.raises(spry.Error, match="device cuda"):
            spry.plan(csr(), device="cuda")


RUNS = [
    ((), {}, "run.. needs x"),
    ((1, 2, 3, 4, 5), {}, "at most 4"),
    ((np.ones(2),), {"y": 1}, "no argument 'y'"),
    ((np.ones(2),), {"x": 1}, "got 'x' twice"),
    ((np.ones(2),), {"alpha": "a"}, "real number"),
]


@pytest.mark.parametrize("args, keywords, message", RUNS)
def test_arguments_of_run(args, keywords, message):
    with pytest.raises(TypeError, match=message):
        spry.plan(csr()).run(*args, **keywords)


def test_beta_needs_out():
    with pytest.raises(ValueError, match="beta is not 0 and out is missing"):
        spry.plan(csr()).run(np.ones(2), beta=1)


def test_buffers_of_others_are_taken():
    assert (spry.plan(csr()) @ array.array("d", [1, 1]) == [1, 5]).all()
    assert (spry.plan(csr()) @ memoryview(np.ones(2)) == [1, 5]).all()


def test_what_exceptions_are():
    assert issubclass(spry.InvalidError, ValueError) and issubclass(spry.OutOfMemoryError, MemoryError)
    assert issubclass(spry.FileError, OSError) and issubclass(spry.BadFileError, (spry.FileError, ValueError))
    for kind in (spry.InvalidError, spry.OutOfMemoryError, spry.FileError, spry.BadFileError):
        assert issubclass(kind, spry.Error) and issubclass(kind, RuntimeError)


def test_what_an_exception_tells():
    with pytest.raises(spry.InvalidError) as caught:
        spry.plan(csr(), format="round")
    assert caught.value.argument == "format" and str(caught.value)
    with pytest.raises(spry.Error) as caught:
        spry.plan(csr(), memory_limit=1, format="sell")
    assert caught.value.value > 1


def test_out_of_memory():
    program = """if True:
        import resource, spry
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        try:
            spry.generate("grid5", x=40000, y=40000)
        except spry.OutOfMemoryError as error:
            print("refused:", error)"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout.startswith("refused: "), run.stderr


def test_sparse_operands_from_the_left():
    with pytest.raises((TypeError, ValueError)):
        scipy.sparse.eye_array(2) @ spry.plan(csr())
