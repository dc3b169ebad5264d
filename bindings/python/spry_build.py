"""The build back end: scikit-build-core, extended to add the library's sources to a source distribution.

In the repository the library's sources are above this folder, and a source distribution cannot contain them. So they
are copied to library/, next to this file, while the source distribution is built.
"""

import shutil
from pathlib import Path

from scikit_build_core import build as backend
from scikit_build_core.build import (  # noqa: F401  hooks for front ends
    build_wheel,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = HERE / "library"
# Files that the library's CMakeLists.txt needs to build without tests, program and plug-ins.
PARTS = ["CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake", "include", "src"]


def build_sdist(sdist_directory, config_settings=None):
    if LIBRARY.exists():  # this folder is an unpacked source distribution
        return backend.build_sdist(sdist_directory, config_settings)
    try:
        for part in PARTS:
            source, target = ROOT / part, LIBRARY / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)
        return backend.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(LIBRARY, ignore_errors=True)
