"""Homes: adapters for the array libraries (NumPy and SciPy, CuPy, PyTorch) and the memory of their arrays.

`device` is the library's id of a GPU, 0 for host memory. Methods `shown` convert an array of the home for the
extension: to a NumPy array in host memory, or to a view of a GPU's memory, a tuple

    (address, length, columns, row stride, column stride, type, device, owner)

with strides in entries. A view keeps `owner` alive. Methods `taken` convert back. Nothing copies an array unless
stated.
"""

import functools
import sys

import numpy as np

from . import _core
from ._errors import Error, InvalidError, with_hints
from ._vectors import refuse_shared

CSR, COO, CSC = 1, 2, 3

# Names of types in views.
_NAMES = {np.dtype(name): name for name in ("float64", "float32", "int32", "int64")}


def home_of(x):
    """Returns the home of a dense CuPy or PyTorch array; None for other objects."""
    root = type(x).__module__.partition(".")[0]
    if root == "cupy":
        return _cupy(x.device.id)
    if root == "torch":
        return _torch(str(x.device))
    return None


def adopt(x, name):
    """Returns an array on the memory of x, from any other library: CuPy or PyTorch on a GPU, NumPy on the host."""
    if hasattr(x, "__cuda_array_interface__") or _dlpack_device(x) == _DLPACK_CUDA:
        for library, take in (("cupy", _to_cupy), ("torch", lambda torch, x: torch.from_dlpack(x))):
            try:
                module = __import__(library)
            except ImportError:
                continue
            return take(module, x)
        raise TypeError(f"{name} is {type(x).__module__}.{type(x).__qualname__} in a GPU's memory, which needs CuPy or "
                        "PyTorch: install one of them")
    return np.asarray(x)


_DLPACK_CUDA = 2


def _dlpack_device(x):
    return int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else None


def _to_cupy(cupy, x):
    return cupy.asarray(x) if hasattr(x, "__cuda_array_interface__") else cupy.from_dlpack(x)


def give_back(like, y):
    """Converts y to the library of `like` if that library follows the array API standard, else returns y."""
    if type(like) is type(y) or not hasattr(like, "__array_namespace__"):
        return y
    return like.__array_namespace__().from_dlpack(y)


def sparse_home_of(A):
    """Returns the home of a CuPy or PyTorch sparse matrix; None for other objects."""
    root = type(A).__module__.partition(".")[0]
    if root == "cupyx":
        return _cupy(A.data.device.id)
    if root == "torch":
        return _torch(str(A.device))
    return None


def check_conversion(found, wanted, name, hint=""):
    """Raises TypeError if type `wanted` cannot represent all values of type `found`. Both are NumPy types or names."""
    if not np.can_cast(found, wanted, "safe"):
        raise TypeError(f"{name} holds {found}, the plan multiplies {wanted}, which does not hold such numbers "
                        f"exactly{hint}")


def device_number(name, argument="device"):
    """Returns the library's id of a device by its name. None, the default, is returned unchanged."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise TypeError(f'{argument} is {name!r}, expected a name, such as "cpu" or "cuda", or None')
    return _core.device_number(name)


def check_shape(found, wanted):
    if tuple(found) != tuple(wanted):
        raise InvalidError(f"values has shape {tuple(found)}, expected {tuple(wanted)}")


@functools.cache
def _device(ordinal):
    """Returns the library's id of the GPU with CUDA's ordinal."""
    found = [d for d in _core.devices() if d["kind"] == "cuda"]
    for d in found:
        if d["available"] and d["ordinal"] == ordinal:
            return d["device"]
    reason = found[0]["reason"] if found else "the library has no GPUs"
    raise Error(with_hints(f"GPU {ordinal} cannot be used: {reason or 'the library does not list it'}"))


def _lay_out(shape, strides):
    """Returns (length, columns, row stride, column stride) for the library; None if it does not support the strides."""
    length = shape[0]
    columns = shape[1] if len(shape) == 2 else 1
    if length == 0 or columns == 0:
        return length, columns, 1, max(length, 1)
    if columns == 1:
        return (length, 1, 1, length) if length == 1 or strides[0] == 1 else None
    if strides[1] == 1 and (length == 1 or strides[0] >= columns):
        return length, columns, columns if length == 1 else strides[0], 1
    if (length == 1 or strides[0] == 1) and strides[1] >= length:
        return length, columns, 1, strides[1]
    return None


class Host:
    """Host memory with NumPy arrays and SciPy matrices."""

    device = 0

    def __init__(self, is_array=True):
        self.is_array = is_array  # True: matrices are SciPy's sparray; False: spmatrix

    def __reduce__(self):
        return host, (self.is_array,)

    def stream(self):
        return 0

    def complete(self):
        """Waits for pending writes to arrays. Host memory has none."""

    def shown(self, array):
        return array

    shown_columns = shown

    def taken(self, shown):
        return shown

    def dtype(self, array):
        return array.dtype

    def shape(self, array):
        return array.shape

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)

    def ones(self, length):
        return np.ones(length)

    def from_any(self, x):
        return np.asarray(x)

    def converted(self, array, dtype):
        return array.astype(dtype)

    def columns(self, x, dtype, copy):
        """Returns x column-major and of type dtype; a copy if `copy` is true or x has another layout or type."""
        return np.array(x, dtype, order="F") if copy else np.require(x, dtype, ("F", "A"))

    def copy_values(self, target, values):
        check_shape(np.shape(values), target.shape)
        np.copyto(target, values, casting="safe")

    def compressed(self, layout, shape, values, indices, offsets, sorted_and_unique):
        """Creates a SciPy csr or csc on these arrays without its constructor, which would check and could copy
        indices."""
        import scipy.sparse

        name = ("csr" if layout == CSR else "csc") + ("_array" if self.is_array else "_matrix")
        if offsets.dtype != indices.dtype:  # SciPy requires one type for offsets and indices
            indices = indices.astype(offsets.dtype)
        made = getattr(scipy.sparse, name)(shape, dtype=values.dtype)
        made.data, made.indices, made.indptr = values, indices, offsets
        if sorted_and_unique:
            made.has_canonical_format = True
        return made


class OnGpu:
    """Base class of homes in a GPU's memory."""

    ordinal: int
    device: int

    def complete(self):
        """Waits for the stream, because the library reads the arrays outside the stream."""
        _core.synchronize(self.device, self.stream())

    def view(self, array, layout):
        return (self.address(array), *layout, _NAMES.get(self.dtype(array), "other"), self.device, array)

    def shown(self, array):
        """Returns the view of a contiguous array of one dimension."""
        length = self.shape(array)[0]
        return self.view(array, (length, 1, 1, max(length, 1)))

    def shown_columns(self, array):
        """Returns the view of an array of one or two dimensions. The library must support its strides."""
        return self.view(array, _lay_out(self.shape(array), self.strides(array)))

    def columns(self, x, dtype, copy):
        """Returns x column-major and of type dtype; a copy if `copy` is true or x has another layout or type."""
        if self.dtype(x) != dtype:
            x, copy = self.converted(x, dtype), False
        layout = _lay_out(self.shape(x), self.strides(x))
        return self.by_columns(x) if copy or layout is None or layout[2] != 1 else x

    def vector(self, x, dtype, length, name):
        """Returns (x, its view), with a copy of x if the library does not support its type or strides."""
        self.check(x, name)
        found, shape = self.dtype(x), self.shape(x)
        if len(shape) not in (1, 2) or shape[0] != length:
            raise InvalidError(f"{name} has shape {shape}, expected ({length},) or ({length}, k)")
        if found != dtype:
            check_conversion(found, dtype, name)
            x = self.converted(x, dtype)
        return self._viewed(x, shape)

    def result(self, x_view, dimensions, length, dtype):
        """Creates an array for the result of a product with x, with x's columns and order. Returns (y, its view)."""
        columns, by_rows = x_view[2], x_view[3] != 1
        if dimensions == 1:
            y = self.empty(length, dtype)
            return y, self.view(y, (length, 1, 1, max(length, 1)))
        if by_rows:
            y, layout = self.empty((length, columns), dtype), (length, columns, columns, 1)
        else:
            y, layout = self.empty((columns, length), dtype).T, (length, columns, 1, max(length, 1))
        return y, self.view(y, layout)

    def target(self, out, dimensions, x_view, length, dtype):
        """Checks that out fits the result. Returns (out, its view), with a copy if its strides are not supported."""
        shape = (length,) if dimensions == 1 else (length, x_view[2])
        if home_of(out) is not self:
            raise TypeError(f"out is {type(out).__module__}.{type(out).__qualname__}, expected an array like x, of "
                            "the same library on the same GPU")
        if self.dtype(out) != dtype:
            raise TypeError(f"out holds {self.dtype(out)}, expected {dtype}")
        if self.shape(out) != shape:
            raise InvalidError(f"out has shape {self.shape(out)}, expected {shape}")
        refuse_shared(shape, self.strides(out))
        return self._viewed(out, shape)

    def _viewed(self, array, shape):
        """Returns (array, its view), with a contiguous copy if the library does not support the strides."""
        layout = _lay_out(shape, self.strides(array))
        if layout is None:
            array = self.contiguous(array)
            layout = _lay_out(shape, self.strides(array))
        return array, self.view(array, layout)

    def copy_values(self, target, values):
        values = self.from_any(values)
        check_shape(self.shape(values), self.shape(target))
        check_conversion(self.dtype(values), self.dtype(target), "values")
        self.copy_into(target, values)

    def check(self, x, name):
        """Raises TypeError for features of CuPy or PyTorch that products do not support."""


class CuPy(OnGpu):
    """A GPU's memory with CuPy arrays and cupyx.scipy.sparse matrices."""

    def __init__(self, ordinal):
        self.ordinal, self.device = ordinal, _device(ordinal)
        self.cupy = sys.modules.get("cupy") or __import__("cupy")

    def __reduce__(self):
        return _cupy, (self.ordinal,)

    def stream(self):
        return self.cupy.cuda.get_current_stream(self.ordinal).ptr

    def here(self):
        """Returns a context manager that makes this GPU CuPy's current one, where new arrays are allocated."""
        return self.cupy.cuda.Device(self.ordinal)

    def address(self, array):
        return array.data.ptr

    def shape(self, array):
        return array.shape

    def strides(self, array):
        size, strides = array.itemsize, array.strides
        if len(strides) == 1:
            return (strides[0] / size,)
        return [stride // size if stride % size == 0 else 0 for stride in strides]

    def dtype(self, array):
        return array.dtype

    def empty(self, shape, dtype):
        if self.cupy.cuda.runtime.getDevice() == self.ordinal:
            return self.cupy.empty(shape, dtype)
        with self.here():
            return self.cupy.empty(shape, dtype)

    def zeros(self, bytes):
        with self.here():
            return self.cupy.zeros(bytes, np.uint8)

    def ones(self, length):
        with self.here():
            return self.cupy.ones(length)

    def contiguous(self, array):
        with self.here():
            return self.cupy.array(array, order="C", copy=True)

    def converted(self, array, dtype):
        with self.here():
            return array.astype(dtype)

    def by_columns(self, array):
        """Returns a column-major copy."""
        with self.here():
            return self.cupy.array(array, order="F", copy=True)

    def from_any(self, x):
        with self.here():
            return self.cupy.asarray(x)

    def copy_into(self, target, values):
        with self.here():
            target[...] = values

    def taken(self, shown):
        """Creates an array on the memory of a view, without a copy."""
        address, length, *_, dtype, _, owner = shown
        dtype = np.dtype(dtype)
        if length == 0:
            return self.empty(0, dtype)
        memory = self.cupy.cuda.UnownedMemory(address, length * dtype.itemsize, owner, self.ordinal)
        return self.cupy.ndarray((length,), dtype, self.cupy.cuda.MemoryPointer(memory, 0))

    def parts(self, A, name):
        """Returns (layout, offsets, indices, values, format that A was converted from or "")."""
        converted = ""
        if A.format not in ("csr", "csc"):
            converted, A = A.format, A.tocsr()
        return (CSR if A.format == "csr" else CSC), A.indptr, A.indices, A.data, converted

    def to_csr(self, A):
        return A if A.format == "csr" else A.tocsr()

    def compressed(self, layout, shape, values, indices, offsets, sorted_and_unique):
        import cupyx.scipy.sparse

        kind = cupyx.scipy.sparse.csr_matrix if layout == CSR else cupyx.scipy.sparse.csc_matrix
        if offsets.dtype != indices.dtype:
            indices = self.converted(indices, offsets.dtype)
        with self.here():
            made = kind(shape, dtype=values.dtype)
        made.data, made.indices, made.indptr = values, indices, offsets
        if sorted_and_unique:
            made.has_canonical_format = True
        return made


class Torch(OnGpu):
    """A GPU's memory with PyTorch tensors."""

    def __init__(self, place):
        self.torch = sys.modules.get("torch") or __import__("torch")
        self.place = self.torch.device(place)
        self.ordinal = self.place.index or 0
        self.device = _device(self.ordinal) if self.place.type == "cuda" else 0
        self.types = {self.torch.float32: np.dtype(np.float32), self.torch.float64: np.dtype(np.float64),
                      self.torch.int32: np.dtype(np.int32), self.torch.int64: np.dtype(np.int64)}
        self.names = {dtype: own for own, dtype in self.types.items()}

    def __reduce__(self):
        return _torch, (str(self.place),)

    def stream(self):
        return self.torch.cuda.current_stream(self.place).cuda_stream

    def address(self, array):
        return array.data_ptr()

    def shape(self, array):
        return tuple(array.shape)

    def strides(self, array):
        return array.stride()

    def dtype(self, array):
        own = self.types.get(array.dtype)
        return own if own is not None else np.dtype(self._other_type(array.dtype))

    @staticmethod
    def _other_type(own):
        name = str(own).removeprefix("torch.")
        return {"bfloat16": np.void}.get(name, name)

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=self.names[np.dtype(dtype)], device=self.place)

    def zeros(self, bytes):
        return self.torch.zeros(bytes, dtype=self.torch.uint8, device=self.place)

    def ones(self, length):
        return self.torch.ones(length, dtype=self.torch.float64, device=self.place)

    def contiguous(self, array):
        return array.clone(memory_format=self.torch.contiguous_format)

    def converted(self, array, dtype):
        return array.to(self.names[np.dtype(dtype)])

    def by_columns(self, array):
        contiguous = self.torch.contiguous_format
        return array.clone() if array.dim() == 1 else array.T.clone(memory_format=contiguous).T

    def check(self, x, name):
        if x.requires_grad:
            raise TypeError(f"{name} requires gradients, which products of Spry do not have: {name}.detach()")

    def from_any(self, x):
        return self.torch.as_tensor(x, device=self.place)

    def copy_into(self, target, values):
        target.copy_(values)

    def taken(self, shown):
        address, length, *_, dtype, _, owner = shown
        if length == 0:
            return self.empty(0, dtype)
        return self.torch.as_tensor(_Interface(address, length, np.dtype(dtype), owner), device=self.place)

    def parts(self, A, name):
        torch, converted = self.torch, ""
        self.check(A, name)
        if A.layout not in (torch.sparse_csr, torch.sparse_csc):
            converted, A = str(A.layout).removeprefix("torch.sparse_"), self.to_csr(A)
        if A.layout == torch.sparse_csr:
            return CSR, A.crow_indices(), A.col_indices(), A.values(), converted
        return CSC, A.ccol_indices(), A.row_indices(), A.values(), converted

    def to_csr(self, A):
        return A if A.layout == self.torch.sparse_csr else A.to_sparse_csr()

    def compressed(self, layout, shape, values, indices, offsets, sorted_and_unique):
        torch = self.torch
        if offsets.dtype != indices.dtype:
            indices = indices.to(offsets.dtype)
        make = torch.sparse_csr_tensor if layout == CSR else torch.sparse_csc_tensor
        return make(offsets, indices, values, shape, device=self.place, check_invariants=False)


class HostTorch(Torch):
    """Host memory with PyTorch tensors, which the extension receives as NumPy arrays."""

    def stream(self):
        return 0

    def complete(self):
        pass

    def shown(self, array):
        return array.numpy()

    shown_columns = shown

    def taken(self, shown):
        if not shown.flags.writeable:  # tensors cannot be read-only
            shown = shown.copy()
        return self.torch.from_numpy(shown)


class _Interface:
    """GPU memory with Python's CUDA array interface."""

    def __init__(self, address, length, dtype, owner):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (length,), "typestr": dtype.str,
                                         "strides": None, "version": 2}
        self.owner = owner


@functools.cache
def host(is_array):
    return Host(is_array)


HOST = host(True)


@functools.cache
def _cupy(ordinal):
    return CuPy(ordinal)


@functools.cache
def _torch(place):
    return (HostTorch if place == "cpu" else Torch)(place)
