"""The named lists of matrices of `spry bench --suite`, as cli/bench_sources.c has them."""

LISTS = {
    "mesh": ("grid5", "grid7", "grid27", "fem3", "road", "rgg21", "G3_circuit"),
    "scattered": ("rmat20", "rmat22", "uni18", "circuit", "cnr-2000", "boyd1_kkt"),
    "shuffled": ("rgg21p", "grid7p"),
    "products": ("grid5", "grid7", "grid27s", "fem3s", "road", "rgg20", "rmat16", "rmat17", "rmat18", "G3_circuit",
                 "cnr-2000", "Andrews", "cont-300_kkt", "soc-Slashdot0902"),
}


def lists_of(subjects, sources):
    """
    {name: its subjects}: the classes of row lengths, the lists of which two matrices at least were measured, and each
    file, where there are several.
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
