"""Matrices made of public data that is not in Matrix Market form. Each function returns symmetry, rows, columns and the
entries (column, row, value), with indices from 0."""
import array
import gzip
import struct
import zlib

MAT_TYPES = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}
SPARSE, COMPRESSED = 5, 15


def _elements(data):
    """Yields the type and content of each element of a MAT-file, version 5."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind >> 16:  # short form: type and size share a word
            yield kind & 0xffff, data[at + 4:at + 4 + (kind >> 16)]
            at += 8
        else:
            yield kind, data[at + 8:at + 8 + size]
            at += 8 + (size if kind == COMPRESSED else (size + 7) // 8 * 8)


def _sparse(data):
    """Returns {name: (rows, columns, entries)} of a MAT-file's sparse matrices."""
    found = {}
    for kind, content in _elements(data[128:]):
        if kind == COMPRESSED:
            content = next(_elements(zlib.decompress(content)))[1]
        flags, size, name, *parts = _elements(content)
        if flags[1][0] == SPARSE:
            rows, columns = struct.unpack("<2i", size[1])
            indices, starts, values = (array.array(MAT_TYPES[kind], part) for kind, part in parts[:3])
            found[name[1].decode()] = rows, columns, [
                (j, indices[k], float(values[k])) for j in range(columns) for k in range(starts[j], starts[j + 1])]
    return found


def kkt(data):
    """Makes [H A^T; A 0] of a quadratic program, a MAT-file with H in P. The last rows of A are the variables'
    bounds, an identity, which is left out."""
    found = _sparse(data)
    n, _, hessian = found["P"]
    rows, _, constraints = found["A"]
    entries = [e for e in hessian if e[1] >= e[0]] + [(j, n + i, v) for j, i, v in constraints if i < rows - n]
    return "symmetric", rows, rows, entries


def netlist(data):
    """Makes the nodal analysis of a SPICE netlist: conductances between nodes, then a row for each voltage source.
    Nodes are in the order of the netlist, and node 0 is the ground."""
    parts = [line.lower().split() for line in data.decode().splitlines() if line[:1].lower() in ("r", "v", "i")]
    nodes = {}
    for _, *ends, _ in parts:
        for node in ends:
            if node != "0":
                nodes.setdefault(node, len(nodes))
    total, sums = len(nodes), {}
    for name, one, other, value in parts:
        ends = [nodes[node] for node in (one, other) if node != "0"]
        if name[0] == "v":
            sums.update({(nodes[node], total): sign for node, sign in ((one, 1.0), (other, -1.0)) if node != "0"})
            total += 1
        elif name[0] == "r":
            places = [(i, i) for i in ends] + [(min(ends), max(ends))] * (len(ends) == 2)
            for place in places:
                sums[place] = sums.get(place, 0.0) + (1 if place[0] == place[1] else -1) / float(value)
    return "symmetric", total, total, [(*place, value) for place, value in sums.items()]


def program(data):
    """Makes the constraint matrix of a linear program, a compressed MPS file. The objective is left out."""
    section, rows, columns, entries = "", {}, {}, []
    for line in gzip.decompress(data).decode().splitlines():
        words = line.split()
        if not line.startswith(" "):
            section = words[0] if words else section
        elif section == "ROWS" and words[0] != "N":
            rows[words[1]] = len(rows)
        elif section == "COLUMNS" and words[1] != "'MARKER'":
            column = columns.setdefault(words[0], len(columns))
            entries += [(column, rows[row], float(value)) for row, value in zip(words[1::2], words[2::2])
                        if row in rows]
    return "general", len(rows), len(columns), entries


def hypergraph(data):
    """Makes the matrix of nets by cells of a hypergraph in hMETIS's form."""
    (nets, cells), *lines = (line.split() for line in data.decode().splitlines() if line[:1] != "%")
    entries = {(int(cell) - 1, net, 1.0) for net, line in enumerate(lines) for cell in line}
    return "general", int(nets), int(cells), entries


BY_ENDING = {".mat": kkt, ".spice": netlist, ".gz": program, ".hgr": hypergraph}
