"""Runs a notebook and compares its outputs with the stored outputs: notebooks.py NOTEBOOK [--write]

Printed text must be the same, except in cells with the tag "machine", which print times and device names. The number of
pictures must be the same. No cell may write to standard error. --write stores the outputs of this run.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

LIMIT = 400_000  # most bytes of a notebook with its outputs


def run(path: Path):
    """Returns the notebook with new outputs. The kernel is this Python. Its configuration files are written to a
    temporary folder."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "MPLCONFIGDIR"):
            os.environ[name] = str(Path(folder, name))
        # Uses sockets in the folder. Other users of the machine could reach TCP ports.
        sockets = Config(KernelManager={"transport": "ipc", "ip": str(Path(folder, "kernel"))})
        NotebookClient(notebook, kernel_name="python3", config=sockets, timeout=300, record_timing=False,
                       coalesce_streams=True, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def text_of(output):
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def kind_of(output):
    return output.get("name") or sorted(set(output.get("data", {})) & {"image/png", "text/plain"})


def faults(stored, made):
    """Returns sentences that describe the differences."""
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, made.cells, strict=True), 1):
        if new.cell_type != "code":
            continue
        where = f"cell {number}, {new.source.split(chr(10))[0]!r}"
        found += [f"{where} writes to standard error: {o.text}" for o in new.outputs if o.get("name") == "stderr"]
        if [kind_of(o) for o in old.outputs] != [kind_of(o) for o in new.outputs]:
            found.append(f"{where} has outputs of other kinds than are stored")
        elif "machine" not in new.metadata.get("tags", []):
            found += [f"{where} prints\n{text_of(b)}stored is\n{text_of(a)}"
                      for a, b in zip(old.outputs, new.outputs, strict=True)
                      if text_of(a) != text_of(b)]
    return found


def write(path: Path, notebook):
    """Stores the notebook with its outputs, and without metadata of this run."""
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                         "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "tags"}
    nbformat.write(notebook, path)


def main():
    path = Path(sys.argv[1])
    made = run(path)
    if sys.argv[2:] == ["--write"]:
        write(path, made)
        print(f"{path}: {path.stat().st_size} bytes")
        return
    found = faults(nbformat.read(path, as_version=4), made)
    print(*found, f"{len(found)} faults", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
