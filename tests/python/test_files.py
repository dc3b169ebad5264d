"""Files, generated matrices, orders."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from matrices import sparse

import spry


def same(A, B):
    return A.shape == B.shape and abs(A - B).nnz == 0


@given(st.data())
def test_written_and_read_again(data):
    import tempfile

    A = data.draw(sparse(rows=st.integers(1, 6), cols=st.integers(1, 6), dtypes=("f8",)))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("mtx", "mtx.gz", "spry"):
            spry.mmwrite(f"{folder}/a.{ending}", A)
            assert np.abs(spry.mmread(f"{folder}/a.{ending}").toarray() - A.toarray()).max() <= 1e-14 * 9


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`")
def test_scipy_reads_what_is_written(tmp_path, grid):
    spry.mmwrite(tmp_path / "a.mtx", grid, comment="a grid")
    assert same(scipy.sparse.csr_array(scipy.io.mmread(tmp_path / "a.mtx")), grid)
    assert "% a grid" in (tmp_path / "a.mtx").read_text() or "%a grid" in (tmp_path / "a.mtx").read_text()


def test_what_scipy_writes_is_read(tmp_path, grid):
    scipy.io.mmwrite(tmp_path / "a.mtx", grid, precision=17)
    assert same(spry.mmread(tmp_path / "a.mtx"), grid)
    scipy.sparse.save_npz(tmp_path / "a.npz", grid)
    assert same(spry.mmread(str(tmp_path / "a.npz")), grid)


def test_compressed_files_and_opened_ones(tmp_path, grid):
    path = tmp_path / "a.mtx.gz"
    spry.mmwrite(path, grid)
    assert gzip.open(path).readline().startswith(b"%%MatrixMarket matrix coordinate real general")
    with open(path, "rb") as file:
        assert same(spry.mmread(file), grid)
    assert same(spry.mmread(io.BytesIO(path.read_bytes())), grid)


@pytest.mark.parametrize("module, ending", [(bz2, "bz2"), (lzma, "xz"), (gzip, "gz")])
def test_compressed_by_others(tmp_path, grid, module, ending):
    spry.mmwrite(tmp_path / "a.mtx", grid)
    data = (tmp_path / "a.mtx").read_bytes()
    path = tmp_path / f"a.mtx.{ending}"
    path.write_bytes(module.compress(data[:1000]) + module.compress(data[1000:]))
    assert same(spry.mmread(path), grid)
    assert same(spry.mmread(io.BytesIO(path.read_bytes())), grid)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(spry.BadFileError, match="cut short"):
        spry.mmread(path)


def test_unpacked_bytes_count_in_the_limit(tmp_path):
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(b"1,2\n" * 2_000_000))
    assert path.stat().st_size < 5000
    with pytest.raises(spry.Error, match="memory_limit is 10000000"):
        spry.mmread(path, memory_limit=10_000_000)
    assert spry.mmread(path).sum() == 2_000_000


def test_files_opened_as_text(tmp_path, grid):
    spry.mmwrite(tmp_path / "a.mtx", grid)
    with open(tmp_path / "a.mtx") as file:
        assert same(spry.mmread(file), grid)
    assert spry.mmread(io.StringIO("0 1\n1 2\n"), name="a.txt").nnz == 2
    spry.mmwrite(tmp_path / "a.mtx.gz", grid)
    with open(tmp_path / "a.mtx.gz", encoding="utf-8") as file:
        with pytest.raises(TypeError, match="is opened as text but is not text, expected .* mode 'rb'"):
            spry.mmread(file)


@pytest.mark.parametrize("name", ["caf\udce9.mtx", "\udcff\udcfe", "\u4e2d\udc80.mtx"])
def test_names_of_any_bytes(tmp_path, grid, name):
    path = os.path.join(tmp_path, name)
    for target in (path, os.fsencode(path)):
        spry.mmwrite(target, grid, comment=f"made from {name}")
        assert same(spry.mmread(target), grid)
    with open(path, "w") as file:
        file.write("garbage\n")
    with pytest.raises(spry.BadFileError) as caught:
        spry.mmread(path)
    assert caught.value.path == path and path in str(caught.value)
    with open(path, "rb") as file, pytest.raises(spry.BadFileError, match="garbage"):
        spry.mmread(file)
    with pytest.raises(spry.FileError) as caught:
        spry.mmwrite(os.path.join(path, "x.mtx"), grid)
    assert path in str(caught.value)


def test_the_name_tells_the_kind(tmp_path, grid):
    rows, cols = np.nonzero(grid.toarray())
    spry.mmwrite(tmp_path / "a.csv", grid)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "source,target,weight" and len(lines) == grid.nnz + 1
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(i), str(j)] for i, j in zip(rows, cols)]
    assert same(spry.mmread(tmp_path / "a.csv"), grid)
    spry.mmwrite(tmp_path / "plain", grid)
    assert (tmp_path / "plain").read_text().startswith("%%MatrixMarket")
    for name in ("a.foo", "a.npz", "a.txt", b"a.json"):
        with pytest.raises(spry.InvalidError, match="unknown ending, expected .mtx or .csv"):
            spry.mmwrite(name, grid)
    with pytest.raises(spry.InvalidError, match="comment is an option of"):
        spry.mmwrite(tmp_path / "a.csv", grid, comment="x")


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_unsigned_integers_of_scipy(tmp_path, dtype):
    A = scipy.sparse.coo_array(np.array([[np.iinfo(dtype).max, 0], [3, np.iinfo(dtype).max - 1]], dtype=dtype))
    scipy.io.mmwrite(tmp_path / "a.mtx", A)
    assert (spry.mmread(tmp_path / "a.mtx").toarray() == A.toarray().astype(float)).all()


def test_an_entry_and_its_mirror_image(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 5\n1 2 5\n")
    with pytest.raises(spry.BadFileError, match="mirror image") as caught:
        spry.mmread(path)
    assert caught.value.line == 5
    assert spry.mmread(path, drop_duplicates=True).toarray().tolist() == [[4, 5], [5, 0]]


def test_symmetric_files_hold_one_triangle(tmp_path, grid):
    path = tmp_path / "a.mtx"
    spry.mmwrite(path, grid, symmetry="symmetric")
    lines = path.read_text().splitlines()
    assert lines[0].endswith("real symmetric") and len(lines) < grid.nnz
    assert same(spry.mmread(path), grid)
    grid.data[1] = 9
    with pytest.raises(spry.InvalidError, match="symmetric"):
        spry.mmwrite(path, grid, symmetry="symmetric")


def test_edge_lists(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("from,to\n1,2\n2,3\n")
    A = spry.mmread(path, index_base=1, undirected=True)
    assert (A.toarray() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]).all()
    B = spry.mmread(io.BytesIO(b"0 1 2.5\n0 1 4\n"), name="a.txt", drop_duplicates=True)
    assert B[0, 1] == 2.5
    assert spry.mmread(io.BytesIO(b"0 1\n"), input="edges").shape == (2, 2)
    with pytest.raises(spry.InvalidError, match="mmread: input is 'edge', expected 'edges'"):
        spry.mmread(path, input="edge")


def test_messages_count_from_0(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 -1\n2 2 2\n")
    for read in (path, tmp_path / "a.spry"):
        A = spry.mmread(read)
        with pytest.raises(spry.Error, match=r"entry \(0, 1\) \(counted from 0\) is -1"):
            spry.pagerank(A)
        spry.mmwrite(tmp_path / "a.spry", A)


def test_containers_are_mapped(tmp_path, grid):
    path = tmp_path / "a.spry"
    spry.mmwrite(path, grid)
    A = spry.mmread(path)
    assert same(A, grid) and not A.data.flags.writeable
    x = np.ones(grid.shape[0])
    assert (spry.plan(A) @ x == spry.plan(grid) @ x).all()
    spry.mmwrite(path, grid.tocsc())
    assert spry.mmread(path).format == "csc"
    spry.mmwrite(path, grid, format="sell:c=4")
    assert same(spry.mmread(path), grid)


def test_types(tmp_path, grid):
    spry.mmwrite(tmp_path / "a.mtx", grid)
    assert spry.mmread(tmp_path / "a.mtx", dtype="f4").dtype == np.float32
    with pytest.raises(TypeError, match="dtype is int64"):
        spry.mmread(tmp_path / "a.mtx", dtype=int)


def test_bad_files(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(spry.BadFileError, match="3") as caught:
        spry.mmread(path)
    assert (caught.value.line, caught.value.path) == (3, str(path))
    with pytest.raises(FileNotFoundError):
        spry.mmread(tmp_path / "none.mtx")
    with pytest.raises(spry.FileError):
        spry.mmread(tmp_path)
    with pytest.raises(spry.FileError, match="none"):
        spry.mmwrite(tmp_path / "none" / "a.mtx", scipy.sparse.eye_array(2, format="csr"))
    path.write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n")
    with pytest.raises(spry.Error, match="complex"):
        spry.mmread(path)
    path.write_text("%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 1 1\n")
    with pytest.raises(spry.Error, match="limit"):
        spry.mmread(path, memory_limit=1000)


def test_generate():
    A = spry.generate("grid5", x=5, y=4)
    assert A.shape == (20, 20) and isinstance(A, scipy.sparse.csr_array) and A.has_canonical_format
    assert spry.generate("grid5", x=5, y=4, dtype="f4").dtype == np.float32
    assert "grid5" in [g["name"] for g in spry.generators()]
    with pytest.raises(spry.InvalidError, match="nothing"):
        spry.generate("nothing")
    with pytest.raises(spry.InvalidError, match="speed"):
        spry.generate("grid5", speed=3)


@pytest.mark.parametrize("method", ["rcm", "bfs", "degree", "bandk"])
def test_reorder(grid, rng, method):
    shuffled = rng.permutation(grid.shape[0])
    A = grid[shuffled][:, shuffled]
    perm = spry.reorder(A, method)
    assert perm.dtype == np.int64 and (np.sort(perm) == np.arange(A.shape[0])).all()
    B = A[perm][:, perm]
    width = [np.abs(M.tocoo().row - M.tocoo().col).max() for M in (A, B)]
    assert method == "degree" or width[1] < width[0]
    assert method != "degree" or (np.diff(np.diff(B.indptr)) <= 0).all()
    assert spry.reorder(A[:100], "degree").shape == (100,)
    with pytest.raises(spry.InvalidError, match="best"):
        spry.reorder(A, "best")


def test_devices():
    assert spry.devices()[0]["name"] == "cpu" and spry.devices()[0]["available"]
