"""Real matrices in a folder with the layout of the collections, and the lists of each study's matrices."""
import csv
import os

STUDIES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def listed(seed):
    """Returns the rows of the study's list, matrices.tsv, as dictionaries. study/matrices has their meaning."""
    with open(os.path.join(STUDIES, f"seed{seed}", "matrices.tsv"), encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def find(folder, name):
    """Returns the path of NAME.mtx.gz or NAME.mtx in the folder or its subfolder NAME; None if it is missing."""
    places = [os.path.join(folder, own, name + ending) for own in ("", name) for ending in (".mtx.gz", ".mtx")] \
        if folder else []
    return next((place for place in places if os.path.isfile(place)), None)
