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
        Compressed by gzip, bzip2, xz or Zstandard, or not. The content tells what it is; the name tells an edge list
        (.txt, .csv, .tsv, .edges, .el). A compressed file, .npz or container is opened for reading bytes.
    dtype : float64 or float32
        Values are rounded to it correctly. A pattern's entries are 1.
    memory_limit : int, optional
        The most bytes that reading may hold at once, for files from elsewhere, 1 or more; None: no limit.
    name : str, optional
        Of an opened file, for messages and edge lists.
    index_base : int, optional
        Of edge lists: the number of the first node, 0 or 1; None: 0.
    drop_duplicates : bool
        The first entry at a position counts; without it their sum.
    undirected : bool
        Of edge lists: each edge is entered both ways.
    input : "edges", optional
        The file is an edge list, whatever its name; None: its content and name show the kind.

    Returns
    -------
    csr_array
        Rows sorted, both halves of a symmetric matrix, without the zeros of a dense file. A container has its own
        layout (csr, csc, coo), and its arrays are the mapped file's, read-only. While they are in use nobody may cut
        that file short: the system ends a process that reads what is gone with SIGBUS.

    Raises
    ------
    OSError
        No such file, no permission; FileError where the library finds out.
    BadFileError
        Something wrong in it, with the line.
    Error
        Complex values; over memory_limit.
    KeyboardInterrupt
        At once; a thread reads on to the end and forgets it.
    """
    base = whole(index_base, "index_base", least=0)
    options = _read_options(dtype, memory_limit, index_base=base, drop_duplicates=bool(drop_duplicates),
                            undirected=bool(undirected), input=input)
    if hasattr(source, "read"):
        name = name or getattr(source, "name", "a file")
        name = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else str(name)
        return csr_of(interruptible(_core.read_bytes, _bytes_of(source, name), name, options))
    os.stat(source)  # Python's own exception where there is none
    return csr_of(interruptible(_core.read, os.fspath(source), options))


def _bytes_of(source, name):
    try:
        data = source.read()
    except UnicodeDecodeError:
        raise TypeError(f"{name} is opened as text and holds other bytes, expected a file opened with mode 'rb'") from None
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def mmwrite(target, A, *, comment=None, symmetry="general", full=False, format=None, check=True):
    """Writes a matrix to a file, in the kind that its name tells.

    .mtx or no ending: Matrix Market. .csv: a list of edges, with the columns source, target and weight, nodes counted
    from 0. Both are compressed if .gz follows. .spry: a container. Values are written with as many digits as bring them
    back. The file appears when it is complete.

    Parameters
    ----------
    target : path
    A : matrix of scipy.sparse
        As for spry.plan.
    comment : str, optional
        Of Matrix Market.
    symmetry : "general", "symmetric" or "skew-symmetric"
        What A is: of the last two one triangle is written, or both where `full` is true.
    format : str, optional
        Of containers: the format that A is stored in, for plans that read it in place; None: A's own.

    Raises
    ------
    InvalidError
        A is not what `symmetry` says; the name has another ending.
    FileError
        It cannot be written.
    """
    kind = one_of(_SYMMETRIES, symmetry, "symmetry")
    matrix = host_source_of(A).matrix(0, kind, check)
    interruptible(matrix.write, os.fspath(target), {"comment": comment if comment is None else os.fsencode(comment), "full": bool(full), "format": format})


def generate(name, *, dtype=float, memory_limit=None, **parameters):
    """A generated matrix as a csr_array, the same on every machine: generate("grid5", x=1000, y=1000).

    spry.generators() lists names and parameters.

    Raises
    ------
    InvalidError
        There is no such generator, or parameter.
    """
    if not isinstance(name, str):
        raise TypeError(f'name is {name!r}, expected a name of spry.generators(), as "grid5"')
    spec = ",".join([name, *(f"{key}={value}" for key, value in parameters.items())])
    return csr_of(interruptible(_core.generate, spec, _read_options(dtype, memory_limit)))


def generators() -> list[dict]:
    """The generators: name, parameters with their defaults, description."""
    return _core.generators()
