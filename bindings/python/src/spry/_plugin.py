"""Finds the CUDA plug-in in the package spry_cuda13, if that is installed."""

import importlib.util
import os
import pathlib

from . import _core

_NAME = "libspry-cuda.so"


def _find():
    if os.environ.get("SPRY_CUDA_PLUGIN"):
        return  # the library reads this variable
    found = importlib.util.find_spec("spry_cuda13")
    for folder in found.submodule_search_locations or () if found else ():
        path = pathlib.Path(folder, _NAME)
        if path.exists():
            _core.set_plugin(str(path))
            return


_find()
