"""Real matrices in a folder with the layout of the collections, and the lists of each study's matrices."""
import csv
import glob
import os

STUDIES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def listed(seed):
    """Returns the rows of the study's list, matrices.tsv, as dictionaries. study/matrices has their meaning."""
    with open(os.path.join(STUDIES, f"seed{seed}", "matrices.tsv"), encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def find(folder, name):
    """Returns the path of NAME.mtx.gz or NAME.mtx in the folder or a subfolder, such as spry fetch's GROUP; None if the
    matrix is missing."""
    places = [glob.glob(os.path.join(glob.escape(folder), own, name + ending))
              for own in ("", "*") for ending in (".mtx.gz", ".mtx")] if folder else []
    return next((place for found in places for place in sorted(found) if os.path.isfile(place)), None)
