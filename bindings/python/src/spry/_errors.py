"""Errors of the library as exceptions.

All are spry.Error, a RuntimeError, and what Python calls such an error besides:

    InvalidError       ValueError    an argument, a size, a matrix's arrays, a name that there is not
    OutOfMemoryError   MemoryError
    FileError          OSError       a file cannot be opened, read or written
    BadFileError       ValueError    ... or it has something wrong in it: FileError, too
    Error              RuntimeError  refused as too large, not supported, a device's failure, a fault of the library
"""


import os
import re


class Error(RuntimeError):
    """What the library refused, or failed to do.

    Attributes
    ----------
    argument : str
        Name of the offending argument, "" where there is none.
    value, limit : int
        The offending value and the limit that it broke, 0 where there is none.
    path : str
        The input file, "" where there is none.
    line : int
        The line in it, from 1; 0 where there is none.
    """

    argument = ""
    value = 0
    limit = 0
    path = ""
    line = 0


class InvalidError(Error, ValueError):
    """An argument outside its range, sizes that do not fit together, arrays that are no matrix, an unknown name."""


class OutOfMemoryError(Error, MemoryError):
    """There is not so much memory."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class BadFileError(FileError, ValueError):
    """A file's content is wrong; `line` tells where."""


# spry_status of the header
_CLASSES = {
    10: InvalidError,
    11: InvalidError,
    12: InvalidError,
    13: InvalidError,
    20: FileError,
    21: BadFileError,
    30: OutOfMemoryError,
}


# What the library calls otherwise than the arguments of Python.
_ARGUMENTS = {"memory_limit_bytes": "memory_limit", "y": "out"}
_TEXTS = (
    (re.compile(r"\bmemory_limit_bytes\b"), "memory_limit"),
    (re.compile(r"\bsymmetry_tolerance\b"), "symmetry_tol"),
    (re.compile(r"\bassume_symmetric\b"), "symmetric=True"),
    (re.compile(r" and y overlap$"), " and out overlap"),
    (re.compile(r"^(pagerank: .*entr.* of) x\b"), r"\1 x0"),
    (re.compile(r"^(read|write): "), r"mm\1: "),
    (re.compile(r"read with index_base 0"), "read it with index_base=0"),
    (re.compile(r"read with input 'edges'"), "read with input='edges'"),
)


def exception_of(status, message, argument, value, limit, path, line):
    """The exception of a spry_error, for the extension to raise."""
    error = _CLASSES.get(status, Error)(with_hints(in_python(message, path)))
    error.argument = _ARGUMENTS.get(argument, argument)
    error.value, error.limit, error.path, error.line = value, limit, path, line
    return error


def in_python(message, path=""):
    """The message with Python's names of arguments. A file's name, where it begins with one, stays as it is."""
    begin = len(path) if path and message.startswith(path) else 0
    text = message[begin:]
    for pattern, replacement in _TEXTS:
        text = pattern.sub(replacement, text)
    return message[:begin] + text


def with_hints(message):
    """Adds how to get the CUDA plug-in to a message that it is missing."""
    if "no CUDA plug-in: " in message and not os.environ.get("SPRY_CUDA_PLUGIN") and not _plugin_is_installed():
        hint = "; the wheel spry-cuda13 has it, which bindings/python/wheel --cuda builds"
        return message.removesuffix("; ./quickstart --gpu builds it") + hint
    return message


def _plugin_is_installed():
    import importlib.util

    return importlib.util.find_spec("spry_cuda13") is not None
