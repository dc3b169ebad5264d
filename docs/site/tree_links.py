"""A Sphinx extension: what pages link to outside of the site.

Files of the source tree (a header, an example, a script) are copied beside the pages and linked. A folder with a page
of its own is a link to that page, one without stays text. Anything else that cannot be resolved is a warning, which
ends the build.
"""
import os
from fnmatch import fnmatch
from pathlib import Path

from docutils import nodes
from sphinx.util.nodes import make_refnode


def resolve(app, env, node, contnode):
    target = node.get("reftarget", "")
    path = target.partition("#")[0]
    if not path or "://" in path:
        return None
    root = Path(env.srcdir)
    found = Path(os.path.normpath(root / Path(node["refdoc"]).parent / path))
    if found.is_dir():
        for name in ("README", "index"):
            document = str((found / name).relative_to(root)) if found.is_relative_to(root) else ""
            if document in env.found_docs:
                return make_refnode(app.builder, node["refdoc"], document, "", contnode)
        return contnode
    return None


def mark_linked_pages(app, env):
    """Pages that a list links, one by one, need no place in the navigation."""
    for document in env.found_docs:
        if any(fnmatch(document, pattern) for pattern in app.config.linked_pages):
            env.metadata[document]["orphan"] = True


def setup(app):
    app.add_config_value("linked_pages", [], "env")
    app.connect("env-updated", mark_linked_pages)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
