"""Errors of the library as exceptions.

Each class derives from spry.Error, a RuntimeError, and from Python's own class for such errors:

    InvalidError       ValueError    invalid argument, size, array of a matrix, or unknown name
    OutOfMemoryError   MemoryError
    FileError          OSError       a file cannot be opened, read or written
    BadFileError       ValueError    a file has invalid content; also a FileError
    Error              RuntimeError  too large, not supported, a failure of a device, a fault of the library
"""


import os
import re


class Error(RuntimeError):
    """An error of the library, and the base class of its other errors.

    Attributes
    ----------
    argument : str
        Name of the wrong argument, "" if none.
    value, limit : int
        The wrong value and the limit that it violates, 0 if none.
    path : str
        The input file, "" if none.
    line : int
        Line in the input file, counted from 1; 0 if none.
    """

    argument = ""
    value = 0
    limit = 0
    path = ""
    line = 0


class InvalidError(Error, ValueError):
    """An argument outside its range, sizes that do not match, an invalid matrix, or an unknown name."""


class OutOfMemoryError(Error, MemoryError):
    """Memory cannot be allocated."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class BadFileError(FileError, ValueError):
    """A file's content is invalid; `line` is the line with the error."""


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


# Arguments whose names in the library and in Python differ.
_ARGUMENTS = {"memory_limit_bytes": "memory_limit", "y": "out"}
_TEXTS = (
    (re.compile(r"\bmemory_limit_bytes\b"), "memory_limit"),
    (re.compile(r"\bsymmetry_tolerance\b"), "symmetry_tol"),
    (re.compile(r"\bassume_symmetric\b"), "symmetric=True"),
    (re.compile(r" and y overlap$"), " and out overlap"),
    (re.compile(r"^(pagerank: .*element.* of) x\b"), r"\1 x0"),
    (re.compile(r"^(read|write): "), r"mm\1: "),
    (re.compile(r"read with index_base 0"), "read it with index_base=0"),
    (re.compile(r"read with input 'edges'"), "read with input='edges'"),
)


def exception_of(status, message, argument, value, limit, path, line):
    """Creates the exception for a spry_error, which the extension raises."""
    error = _CLASSES.get(status, Error)(with_hints(in_python(message, path)))
    error.argument = _ARGUMENTS.get(argument, argument)
    error.value, error.limit, error.path, error.line = value, limit, path, line
    return error


def in_python(message, path=""):
    """Returns the message with Python's names of arguments. A path at its beginning is not changed."""
    begin = len(path) if path and message.startswith(path) else 0
    text = message[begin:]
    for pattern, replacement in _TEXTS:
        text = pattern.sub(replacement, text)
    return message[:begin] + text


def with_hints(message):
    """Adds instructions for installing the CUDA plug-in if the message reports that it is missing."""
    if "no CUDA plug-in: " in message and not os.environ.get("SPRY_CUDA_PLUGIN") and not _plugin_is_installed():
        hint = "; the wheel spry-cuda13 has it, which bindings/python/wheel --cuda builds"
        return message.removesuffix("; ./quickstart --gpu builds it") + hint
    return message


def _plugin_is_installed():
    import importlib.util

    return importlib.util.find_spec("spry_cuda13") is not None
