"""Conversion of SciPy, CuPy and PyTorch matrices to library matrices and back, without copies unless stated."""

import weakref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidError
from ._homes import COO, CSC, CSR, HOST, host, sparse_home_of

_LAYOUTS = {"csr": CSR, "coo": COO, "csc": CSC}
_TYPES = {"float64": "f64", "float32": "f32"}


@dataclass
class Source:
    """The arrays of a matrix, in the array type of their home (_homes.py). `first` holds offsets (CSR, CSC) or row
    indices (COO)."""

    layout: int
    shape: tuple[int, int]
    nnz: int
    first: Any
    indices: Any
    values: Any
    home: Any
    converted_from: str = ""  # format of the caller's matrix if it was converted, so that the arrays are copies
    transposed: bool = False  # the arrays are those of the transpose: on a GPU the library supports only csr
    is_copy: bool = False  # the values are in an array that the caller does not have

    def matrix(self, threads=0, symmetry=0, check=False) -> _core.Matrix:
        """Creates a handle on the arrays. check: check every offset and index."""
        rows, cols = self.shape
        arrays = [self.home.shown(array) for array in (self.first, self.indices, self.values)]
        matrix = _core.Matrix(self.layout, rows, cols, self.nnz, *arrays, threads, symmetry)
        if check:
            self.home.complete()
            matrix.check_structure()
        return matrix

    @property
    def dtype(self) -> np.dtype:
        return self.home.dtype(self.values)

    def for_gpu(self) -> "Source":
        """Returns the source with 32-bit indices, which GPU kernels need. Wider indices are copied.

        Offsets remain 64-bit if there are too many entries for 32 bits.
        """
        first = self._narrowed(self.first, max(self.shape) if self.layout == COO else self.nnz)
        return replace(self, first=first, indices=self._narrowed(self.indices, max(self.shape)))

    def _narrowed(self, array, largest):
        fits = self.home.dtype(array) == np.int64 and largest <= np.iinfo(np.int32).max
        return self.home.converted(array, np.dtype(np.int32)) if fits else array

    def with_values(self, values) -> "Source":
        return replace(self, values=values, is_copy=False)

    def with_own_values(self) -> "Source":
        """Returns the source with a new, uninitialized array for values."""
        return replace(self, values=self.home.empty(self.home.shape(self.values), self.dtype), is_copy=True)

    @property
    def owns_values(self) -> bool:
        return self.is_copy or bool(self.converted_from)


def source_of(A, name="A", as_csr=False) -> Source:
    """Returns the arrays of a matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch.

    csr and csc, and coo of SciPy, are borrowed. Other formats, such as bsr, are converted by tocsr(). With as_csr, a
    csc matrix on a GPU is converted instead of transposed. 64-bit indices on a GPU, which PyTorch has, are copied to
    32-bit indices.
    """
    home = sparse_home_of(A)
    if home is not None:
        return _of_home(home, A, name, as_csr)
    if not hasattr(A, "tocsr"):
        raise TypeError(f"{name} is {_type_name(A)}, expected a sparse matrix of SciPy, CuPy or PyTorch"
                        + ("; scipy.sparse.csr_array converts it" if isinstance(A, np.ndarray) else ""))
    if len(A.shape) != 2:
        raise InvalidError(f"{name} has {len(A.shape)} dimensions, expected 2")
    converted_from = ""
    if getattr(A, "format", None) not in _LAYOUTS:
        converted_from = getattr(A, "format", type(A).__name__)
        A = A.tocsr()
    check_values(A.dtype, name)
    layout = _LAYOUTS[A.format]
    if layout == COO:
        first, indices = _indices(A.row, f"{name}.row"), _indices(A.col, f"{name}.col")
        first, indices = (array.astype(np.result_type(first, indices), copy=False) for array in (first, indices))
        nnz = len(A.data)
        if not len(first) == len(indices) == nnz:
            raise InvalidError(f"{name}.row, {name}.col and {name}.data have {len(first)}, {len(indices)} and {nnz} "
                               "entries, expected the same number of entries in each")
    else:
        first, indices = _indices(A.indptr, f"{name}.indptr"), _indices(A.indices, f"{name}.indices")
        if indices.itemsize > first.itemsize:
            first = first.astype(indices.dtype)
        nnz = int(first[-1]) if len(first) else 0
    values = A.data
    if not (values.flags.c_contiguous and values.flags.aligned):
        raise InvalidError(f"{name}.data is not contiguous: the plan would not see its changes")
    shape = (int(A.shape[0]), int(A.shape[1]))
    return Source(layout, shape, nnz, first, indices, values, host(_is_array(A)), converted_from)


def _of_home(home, A, name, as_csr) -> Source:
    """Returns the arrays of a CuPy or PyTorch matrix."""
    if not hasattr(A, "tocsr") and not (hasattr(A, "layout") and str(A.layout) != "torch.strided"):
        raise TypeError(f"{name} is dense, expected a sparse matrix: {name}.to_sparse_csr() converts a tensor")
    if len(A.shape) != 2:
        raise InvalidError(f"{name} has {len(A.shape)} dimensions, expected 2")
    csr = home.to_csr(A) if as_csr else A
    layout, first, indices, values, converted_from = home.parts(csr, name)
    if csr is not A:
        converted_from = str(getattr(A, "format", "") or A.layout).removeprefix("torch.sparse_")
    check_values(home.dtype(values), name)
    if len(home.shape(values)) != 1:
        raise TypeError(f"{name} has blocks of values, expected single values: {name}.to_sparse_csr() converts it")
    if any(home.shape(array)[0] > 1 and home.strides(array)[0] != 1 for array in (first, indices, values)):
        raise InvalidError(f"{name} has arrays that are not contiguous: a plan would not see changes of their copies")
    shape = (int(A.shape[0]), int(A.shape[1]))
    nnz = int(home.shape(indices)[0])
    transposed = home.device != 0 and layout == CSC
    if transposed:
        layout, shape = CSR, shape[::-1]
    source = Source(layout, shape, nnz, first, indices, values, home, converted_from, transposed)
    return source.for_gpu() if home.device else source


def source_for(A, device) -> Source:
    """Returns the source of A for work on a device with this name; None: the device where A is."""
    source = source_of(A)
    return source if device in (None, "cpu") else source.for_gpu()


def host_source_of(A, name="A") -> Source:
    """Returns the source of A for operations on host memory. TypeError if A is in a GPU's memory."""
    source = source_of(A, name)
    if source.home.device:
        raise TypeError(f"{name} is in a GPU's memory: {name}.get() of CuPy and {name}.cpu() of PyTorch copy it")
    return source


def common_home(a: Source, b: Source):
    """Returns the home for results that are computed from both sources."""
    if a.home.device == b.home.device == 0 and type(a.home) is type(b.home):
        return b.home if getattr(b.home, "is_array", False) else a.home
    if a.home is not b.home:
        raise TypeError("A and B are of different libraries or in different memories, expected the same for both")
    return a.home


def refuse_matrix(values, name="values"):
    """Raises TypeError if `values` is a sparse matrix instead of an array of values."""
    if hasattr(values, "tocsr") or str(getattr(values, "layout", "")).startswith("torch.sparse"):
        of = "A.values()" if hasattr(values, "layout") else "A.data"
        raise TypeError(f"{name} is a matrix, {_type_name(values)}, expected the array of its values, such as {of}")


def write_values(source: Source, values, name="values"):
    """Copies values into the source's array. TypeError if they are a matrix, InvalidError for another shape."""
    refuse_matrix(values, name)
    source.home.copy_values(source.values[: source.nnz], values)


def type_of(dtype) -> str:
    """Returns the library's name of a dtype."""
    name = np.dtype(dtype).name
    if name not in _TYPES:
        raise TypeError(f"dtype is {name}, expected float64 or float32")
    return _TYPES[name]


def check_values(dtype, name):
    if dtype in (np.float64, np.float32) and dtype.isnative:
        return
    hint = f"{name}.astype(float) converts it"
    if dtype.kind == "c":
        hint = "complex numbers are not supported"
    raise TypeError(f"{name} holds {dtype}, expected float64 or float32: {hint}")


def _type_name(thing):
    kind = type(thing)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _indices(array, name):
    """Returns indices as a contiguous array of int32 or int64. Other integer types are converted to int64."""
    array = np.asarray(array)
    if array.ndim != 1:
        raise InvalidError(f"{name} has {array.ndim} dimensions, expected 1")
    if array.dtype not in (np.int32, np.int64) or not array.dtype.isnative:
        if not np.can_cast(array.dtype, np.int64, "safe"):
            raise TypeError(f"{name} holds {array.dtype}, expected int32 or int64")
        array = array.astype(np.int64)
    return np.require(array, requirements=("C", "A"))


def _is_array(A):
    import scipy.sparse

    return not isinstance(A, scipy.sparse.spmatrix)


def same_values(a: Source, b: Source) -> tuple[Source, Source]:
    """Returns both sources with values of the wider of the two types. Narrower values are copied."""
    wider = np.result_type(a.dtype, b.dtype)
    return _widened(a, wider), _widened(b, wider)


def _widened(source, dtype):
    if source.dtype == dtype:
        return source
    return replace(source, values=source.home.converted(source.values, dtype),
                   converted_from=source.converted_from or source.dtype.name)


def origin_of(A, source: Source):
    """Returns a weak reference to A if the source borrows A.data, else None."""
    return weakref.ref(A) if hasattr(A, "tocsr") and getattr(A, "data", None) is source.values else None


def later_values(source: Source, origin, call="values"):
    """Returns A.data if the caller has replaced that array, else None. InvalidError if A was converted."""
    A = origin() if origin is not None else None
    if A is not None and A.data is not source.values:
        return A.data
    if source.converted_from:
        raise InvalidError(f"the plan has a copy of a {source.converted_from} matrix and does not see its "
                           f"changes: update({call}) takes values in the order of its tocsr()")
    return None


def csr_of(matrix: _core.Matrix, home=HOST, canonical=False):
    """Wraps the library's arrays in a matrix of the home. The arrays keep the library's matrix alive."""
    layout, rows, cols, nnz, first, indices, values = matrix.arrays()
    first, indices = home.taken(first), home.taken(indices)
    values = home.ones(nnz) if values is None else home.taken(values)
    if layout == COO:
        import scipy.sparse

        return scipy.sparse.coo_array((values, (first, indices)), shape=(rows, cols), copy=False)
    return home.compressed(layout, (rows, cols), values, indices, first, canonical)
