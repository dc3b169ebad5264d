"""Files and generated matrices, as matrices of scipy.sparse."""

import os

from . import _core
from ._arrays import csr_of, host_source_of, type_of
from ._numbers import one_of, whole
from ._threads import interruptible

_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": 2}


def _read_options(dtype, memory_limit, **more):
    return {"value_type": type_of(dtype), "memory_limit_bytes": whole(memory_limit, "memory_limit"), **more}


def mmread(source, *, dtype=float, memory_limit=None, name=None, index_base=None, drop_duplicates=False,
           undirected=False, input=None):
    """Reads a matrix as a csr_array: Matrix Market, an edge list, SciPy's .npz or a container (.spry).

    Parameters
    ----------
    source : path, or an opened file
        May be compressed by gzip, bzip2, xz or Zstandard. The content determines the kind of file, except for edge
        lists, which have the ending .txt, .csv, .tsv, .edges or .el. Open compressed files, .npz and containers in
        binary mode.
    dtype : float64 or float32
        Type of the values. They are rounded correctly. Entries of a pattern are 1.
    memory_limit : int, optional
        Maximum number of bytes in use while reading, 1 or more, for untrusted files; None: no limit.
    name : str, optional
        Name of an opened file, for messages and to recognize edge lists.
    index_base : int, optional
        Only for edge lists: index of the first node, 0 or 1; None: 0.
    drop_duplicates : bool
        True: keeps the first of the entries at one position. False: adds them up.
    undirected : bool
        Only for edge lists: adds each edge in both directions.
    input : "edges", optional
        The file is an edge list, whatever its name. None: content and name determine the kind.

    Returns
    -------
    csr_array
        Rows are sorted. A symmetric matrix has both triangles. Zeros of a dense file are left out. A container keeps
        its layout (csr, csc, coo), and its arrays are the mapped file, read-only. Do not truncate that file while the
        arrays are in use: reading the missing part ends the process with SIGBUS.

    Raises
    ------
    OSError
        The file is missing or not readable; FileError if the library detects it.
    BadFileError
        The content is invalid; the exception has the line.
    Error
        The values are complex, or memory_limit is exceeded.
    KeyboardInterrupt
        Raised immediately. Another thread reads to the end and discards the result.
    """
    base = whole(index_base, "index_base", least=0)
    options = _read_options(dtype, memory_limit, index_base=base, drop_duplicates=bool(drop_duplicates),
                            undirected=bool(undirected), input=input)
    if hasattr(source, "read"):
        name = name or getattr(source, "name", "a file")
        name = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else str(name)
        return csr_of(interruptible(_core.read_bytes, _bytes_of(source, name), name, options))
    os.stat(source)  # raises Python's own exception if the file is missing
    return csr_of(interruptible(_core.read, os.fspath(source), options))


def _bytes_of(source, name):
    try:
        data = source.read()
    except UnicodeDecodeError:
        raise TypeError(f"{name} is opened as text but is not text, expected a file opened with mode 'rb'") from None
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def mmwrite(target, A, *, comment=None, symmetry="general", full=False, format=None, check=True):
    """Writes a matrix to a file. The ending of its name determines the kind.

    .mtx or no ending: Matrix Market. .csv: a list of edges, with the columns source, target and weight, nodes counted
    from 0. Both are compressed if .gz follows. .spry: a container. Values are written with enough digits to read them
    back exactly. The file appears when it is complete.

    Parameters
    ----------
    target : path
    A : matrix of scipy.sparse
        As for spry.plan.
    comment : str, optional
        Comment of a Matrix Market file.
    symmetry : "general", "symmetric" or "skew-symmetric"
        Symmetry of A. One triangle is written, except for "general".
    full : bool
        Writes both triangles.
    format : str, optional
        Only for containers: the format to store A in, so that plans can use the file in place; None: A's own layout.

    Raises
    ------
    InvalidError
        A does not have this symmetry, or the name has another ending.
    FileError
        The file cannot be written.
    """
    kind = one_of(_SYMMETRIES, symmetry, "symmetry")
    matrix = host_source_of(A).matrix(0, kind, check)
    interruptible(matrix.write, os.fspath(target), {"comment": comment if comment is None else os.fsencode(comment), "full": bool(full), "format": format})


def generate(name, *, dtype=float, memory_limit=None, **parameters):
    """Generates a matrix as a csr_array, equal on every machine: generate("grid5", x=1000, y=1000).

    spry.generators() lists names and parameters.

    Raises
    ------
    InvalidError
        The generator or a parameter is unknown.
    """
    if not isinstance(name, str):
        raise TypeError(f'name is {name!r}, expected a name of spry.generators(), such as "grid5"')
    spec = ",".join([name, *(f"{key}={value}" for key, value in parameters.items())])
    return csr_of(interruptible(_core.generate, spec, _read_options(dtype, memory_limit)))


def generators() -> list[dict]:
    """Lists the generators: name, parameters with their defaults, description."""
    return _core.generators()
