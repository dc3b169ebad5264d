"""Named lists of matrices of `spry bench --suite`, copied from cli/bench_sources.c."""

LISTS = {
    "mesh": ("grid5", "grid7", "grid27", "fem3", "road", "rgg21", "G3_circuit"),
    "scattered": ("rmat20", "rmat22", "uni18", "circuit", "cnr-2000", "boyd1_kkt"),
    "shuffled": ("rgg21p", "grid7p"),
    "products": ("grid5", "grid7", "grid27s", "fem3s", "road", "rgg20", "rmat16", "rmat17", "rmat18", "G3_circuit",
                 "cnr-2000", "Andrews", "cont-300_kkt", "soc-Slashdot0902"),
}


def lists_of(subjects, sources):
    """Returns {name: subjects}: classes of row lengths, lists with at least two measured matrices, and files.

    Files are listed if there is more than one.
    """
    found = {}
    for name in ("regular", "irregular"):
        found[name] = [s for s in subjects if s.class_ == name]
    for name, matrices in LISTS.items():
        members = [s for s in subjects if s.matrix in matrices]
        if 2 <= len(members) < len(subjects):
            found[name] = members
    for number, source in enumerate(sources):
        members = [s for s in subjects if s.source == number]
        if len(members) < len(subjects):
            found[f"in {source}"] = members
    return {name: members for name, members in found.items() if members}
