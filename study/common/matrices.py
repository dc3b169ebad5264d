"""Real matrices in a folder, as the collections lay them out."""
import os


def find(folder, name):
    """NAME.mtx.gz or NAME.mtx in the folder, or in one of its own name there; None: nowhere, or there is no folder."""
    places = [os.path.join(folder, own, name + ending) for own in ("", name) for ending in (".mtx.gz", ".mtx")] \
        if folder else []
    return next((place for place in places if os.path.isfile(place)), None)


def every(folder):
    """{name: path} of all that are there."""
    entries = sorted(os.listdir(folder)) if folder else []
    found = {name: find(folder, name) for name in
             (entry.removesuffix(".gz").removesuffix(".mtx") for entry in entries)}
    return {name: path for name, path in found.items() if path}
