"""Real matrices in a folder with the layout of the collections."""
import os


def find(folder, name):
    """Returns the path of NAME.mtx.gz or NAME.mtx in the folder or its subfolder NAME; None if it is missing."""
    places = [os.path.join(folder, own, name + ending) for own in ("", name) for ending in (".mtx.gz", ".mtx")] \
        if folder else []
    return next((place for place in places if os.path.isfile(place)), None)


def every(folder):
    """Returns {name: path} of all matrices in the folder."""
    entries = sorted(os.listdir(folder)) if folder else []
    found = {name: find(folder, name) for name in
             (entry.removesuffix(".gz").removesuffix(".mtx") for entry in entries)}
    return {name: path for name, path in found.items() if path}
