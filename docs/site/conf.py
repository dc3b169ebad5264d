"""The documentation as a site: docs/build runs Sphinx with the root of the source tree as its source folder, so that
links between README.md, docs/ and study/ are the same on the site and in an editor."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
root = Path(__file__).resolve().parents[2]

project = "Spry"
copyright = "the Spry authors, Apache 2.0"
release = re.search(r"VERSION (\d+\.\d+\.\d+)", (root / "CMakeLists.txt").read_text())[1]
version = release

extensions = ["myst_parser", "header_reference", "notebook_page", "tree_links"]
root_doc = "docs/index"
include_patterns = [
    "docs/**", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "study/README.md",
    "examples/data/README.md"
]
exclude_patterns = ["build*", ".*", ".*/**", "docs/site/**", "tests", "src"]
linked_pages = ["bench/README", "examples/data/README"]

myst_heading_anchors = 6
# Tables of results have columns of numbers; nothing else of Markdown's extensions is used, so that the pages read the
# same in an editor and where they are hosted.
myst_enable_extensions = []
suppress_warnings = ["myst.header"]  # pages may begin with a heading of the second level

html_theme = "furo"
html_title = f"Spry {release}"
html_static_path = ["_static"]
html_css_files = ["spry.css"]
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
# The text under a search result would be fetched, which browsers refuse to pages of file://.
html_show_search_summary = False
html_permalinks_icon = "#"
highlight_language = "none"
pygments_style = "default"
pygments_dark_style = "monokai"
smartquotes = False
