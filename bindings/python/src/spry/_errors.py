"""Errors of the library as exceptions.

All are spry.Error, a RuntimeError, and what Python calls such an error besides:

    InvalidError       ValueError    an argument, a size, a matrix's arrays, a name that there is not
    OutOfMemoryError   MemoryError
    FileError          OSError       a file cannot be opened, read or written
    BadFileError       ValueError    ... or it has something wrong in it: FileError, too
    Error              RuntimeError  refused as too large, not supported, a device's failure, a fault of the library
"""


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


def exception_of(status, message, argument, value, limit, path, line):
    """The exception of a spry_error, for the extension to raise."""
    error = _CLASSES.get(status, Error)(message)
    error.argument, error.value, error.limit, error.path, error.line = argument, value, limit, path, line
    return error
