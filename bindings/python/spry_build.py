"""The build back end: scikit-build-core's, but that a source distribution holds the library's sources, too.

They lie above this folder in the repository, where a source distribution cannot reach. So they are copied beside this
file, into library/, while it is made.
"""

import shutil
from pathlib import Path

from scikit_build_core import build as backend
from scikit_build_core.build import (  # noqa: F401  what a front end looks for
    build_wheel,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = HERE / "library"
# what the library's CMakeLists.txt needs without tests, program and plug-ins
PARTS = ["CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake", "include", "src"]


def build_sdist(sdist_directory, config_settings=None):
    if LIBRARY.exists():  # this is a source distribution itself
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
