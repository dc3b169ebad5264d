"""Where the CUDA plug-in is: in the package spry_cuda13, where that is installed beside this one."""

import importlib.util
import os
import pathlib

from . import _core

_NAME = "libspry-cuda.so"


def _find():
    if os.environ.get("SPRY_CUDA_PLUGIN"):
        return  # which the library looks at itself
    found = importlib.util.find_spec("spry_cuda13")
    for folder in found.submodule_search_locations or () if found else ():
        path = pathlib.Path(folder, _NAME)
        if path.exists():
            _core.set_plugin(str(path))
            return


_find()
