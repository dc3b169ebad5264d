"""SciPy's matrices as the library's, and back. Arrays are borrowed and adopted, never copied, but where it says so."""

from dataclasses import dataclass, replace

import numpy as np

from . import _core
from ._errors import InvalidError

CSR, COO, CSC = 1, 2, 3
_LAYOUTS = {"csr": CSR, "coo": COO, "csc": CSC}
_TYPES = {"float64": "f64", "float32": "f32"}


@dataclass(slots=True)
class Source:
    """The arrays of a matrix. `first` are offsets (CSR, CSC) or rows (COO)."""

    layout: int
    shape: tuple[int, int]
    nnz: int
    first: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    is_array: bool  # of sparray, not of spmatrix
    converted_from: str = ""  # a format of SciPy whose arrays these are not

    def matrix(self, threads=0, symmetry=0, check=False) -> _core.Matrix:
        """A handle on the arrays; check looks at every offset and index."""
        rows, cols = self.shape
        matrix = _core.Matrix(self.layout, rows, cols, self.nnz, self.first, self.indices, self.values, threads,
                              symmetry)
        if check:
            matrix.check_structure()
        return matrix

    def with_values(self, values) -> "Source":
        return replace(self, values=values)


def source_of(A, name="A") -> Source:
    """What scipy.sparse has of A.

    csr, csc and coo are taken as they are. Others, bsr among them, are converted by tocsr().
    """
    if not hasattr(A, "tocsr"):
        raise TypeError(f"{name} is {_type_name(A)}, expected a matrix of scipy.sparse"
                        + ("; scipy.sparse.csr_array makes one of it" if isinstance(A, np.ndarray) else ""))
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
    else:
        first, indices = _indices(A.indptr, f"{name}.indptr"), _indices(A.indices, f"{name}.indices")
        if indices.itemsize > first.itemsize:
            first = first.astype(indices.dtype)
        nnz = int(first[-1]) if len(first) else 0
    values = A.data
    if not (values.flags.c_contiguous and values.flags.aligned):
        raise InvalidError(f"{name}.data is not contiguous: the plan would not see its changes")
    shape = (int(A.shape[0]), int(A.shape[1]))
    return Source(layout, shape, nnz, first, indices, values, _is_array(A), converted_from)


def type_of(dtype) -> str:
    """The library's name of a type of numbers."""
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
    """int32 and int64 as they are; narrower ones are widened."""
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
    """Both with values of one type, of which the wider; the other's are copied."""
    wider = np.result_type(a.values, b.values)
    widened = [s if s.values.dtype == wider else s.with_values(s.values.astype(wider)) for s in (a, b)]
    return widened[0], widened[1]


def csr_of(matrix: _core.Matrix, is_array=True):
    """SciPy's matrix on the arrays of the library's, which lives as long."""
    layout, rows, cols, nnz, first, indices, values = matrix.arrays()
    if values is None:
        values = np.ones(nnz)
    if layout == COO:
        import scipy.sparse

        make = scipy.sparse.coo_array if is_array else scipy.sparse.coo_matrix
        return make((values, (first, indices)), shape=(rows, cols), copy=False)
    return compressed(layout, (rows, cols), values, indices, first, is_array)


def compressed(layout, shape, values, indices, offsets, is_array=True, sorted_and_unique=False):
    """A csr or csc of SciPy on these arrays. Its constructor would look at every index, and may copy them."""
    import scipy.sparse

    name = ("csr" if layout == CSR else "csc") + ("_array" if is_array else "_matrix")
    if offsets.dtype != indices.dtype:  # SciPy has one type for both
        indices = indices.astype(offsets.dtype)
    made = getattr(scipy.sparse, name)(shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values, indices, offsets
    if sorted_and_unique:
        made.has_canonical_format = True
    return made
