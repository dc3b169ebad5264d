#!/usr/bin/env python3
"""The suite `unstructured`: matrices of finite elements and volumes, in the numbering of the meshers. Step 2 of 2.

Needs numpy, scipy, xxhash and the tables that elements.py generates. Needs no mesher. suite.tsv lists the matrices with
their hashes. A table or a matrix with another hash is refused.

    matrices.py TABLES FOLDER [NAME...]     writes the missing files FOLDER/NAME.spry, all or the named ones
    matrices.py TABLES --list               builds all matrices and prints suite.tsv

The value of an entry depends only on its row and column. Values are in (-1, 1) and equal on every machine.
"""
import hashlib
import pathlib
import sys

import numpy as np
import scipy.sparse as sparse
from elements import TABLES, differs, digest as digest_of_table, listed, unpack

FIT_OR_JUDGE = "within a kind, matrices in the order of the SHA-256 of their names are fit, judge, fit, judge, ..."

# ---- patterns -----------------------------------------------------------------------------------


def pattern(*groups, unknowns=None):
    """Returns the pattern of unknowns that share an element. Elements are in one or more arrays."""
    unknowns = unknowns or 1 + max(int(e.max()) for e in groups)
    total = sparse.csr_matrix((unknowns, unknowns), dtype=np.int8)
    for elements in groups:
        if len(elements) == 0:
            continue
        count = elements.shape[1]
        for part in np.array_split(elements.astype(np.int32), 1 + elements.size * count // 60_000_000):
            rows, columns = np.repeat(part, count, axis=1).ravel(), np.tile(part, (1, count)).ravel()
            ones = sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=total.shape).tocsr()
            ones.data[:] = 1
            total = total + ones
            total.data[:] = 1
    return total


def blocks(matrix, block):
    """Numbers the unknowns of each node consecutively."""
    return sparse.kron(matrix, np.asarray(block, np.int8), format="csr")


def apart(matrix, block):
    """Numbers all first unknowns, then all second unknowns, and so on."""
    return sparse.kron(np.asarray(block, np.int8), matrix, format="csr")


def full(rows, columns=None):
    return np.ones((rows, columns or rows), np.int8)


FACES = {3: ((0, 1), (1, 2), (2, 0)), 4: ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)),
         "quad": ((0, 1), (1, 2), (2, 3), (3, 0))}


def faces_of(*groups):
    """Returns the sorted vertices of each face, and the cell of each face. Cells are triangles and quads, or
    tetrahedra."""
    faces, owners, first = [], [], 0
    for cells in groups:
        flat = cells.shape[1] == 4 and len(groups) > 1
        for face in FACES["quad" if flat else cells.shape[1]]:
            faces.append(np.sort(cells[:, list(face)], axis=1))
            owners.append(first + np.arange(len(cells)))
        first += len(cells)
    return np.concatenate(faces), np.concatenate(owners)


def neighbours(*groups):
    """Returns the pattern of cells that share a face."""
    faces, owners = faces_of(*groups)
    order = np.lexsort(faces.T[::-1])
    met = np.all(faces[order][1:] == faces[order][:-1], axis=1)
    a, b, own = owners[order][:-1][met], owners[order][1:][met], np.arange(owners.max() + 1)
    rows, columns = np.r_[a, b, own], np.r_[b, a, own]
    return sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, columns))).tocsr()


def boundary_nodes(cells):
    faces, _ = faces_of(cells)
    _, where, counts = np.unique(faces, axis=0, return_index=True, return_counts=True)
    return np.unique(faces[where[counts == 1]])


def with_fixed_rows(matrix, rows):
    """Replaces some rows by rows of the identity; columns do not change."""
    keep = np.ones(matrix.shape[0], np.int8)
    keep[rows] = 0
    identity = sparse.diags(1 - keep, format="csr", dtype=np.int8)
    out = sparse.diags(keep, format="csr", dtype=np.int8) @ matrix + identity
    out.eliminate_zeros()
    return out


def flow(quadratic, dimension, is_apart):
    """Returns a Taylor-Hood pattern: quadratic velocity, linear pressure at the vertices, an empty pressure block."""
    vertices = quadratic[:, : dimension + 1]
    number = np.unique(vertices)
    local = np.full(quadratic.max() + 1, -1, np.int64)
    local[number] = np.arange(len(number))
    velocity = pattern(quadratic)
    both = pattern(np.hstack([quadratic, local[vertices] + velocity.shape[0]]))
    coupling = both[: velocity.shape[0], velocity.shape[0] :]
    spread = apart if is_apart else blocks
    return sparse.bmat([[spread(velocity, full(dimension)), spread(coupling, full(dimension, 1))],
                        [spread(coupling.T.tocsr(), full(1, dimension)), None]], format="csr")


def constrained(matrix, nodes, block, count):
    """Adds `count` constraints to a matrix of elasticity. Each constraint couples 30 to 200 nodes, by one unknown of
    each node."""
    draw = np.random.default_rng(5)
    rows, columns = [], []
    for c in range(count):
        first, size = int(draw.integers(0, nodes - 400)), int(draw.integers(30, 201))
        own = first + np.sort(draw.choice(400, size, replace=False))
        rows.append(np.full(size, c))
        columns.append(own * block + int(draw.integers(0, block)))
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    link = sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(count, matrix.shape[0])).tocsr()
    return sparse.bmat([[matrix, link.T], [link, None]], format="csr")


# Blocks of finite volumes: the unknowns (density, momentum, energy) that a flux couples.
EULER_2D = [[1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
SPARSE_2D = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]]
EULER_3D = [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 1], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1]]
SPARSE_3D = [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [1, 1, 1, 1, 1]]

# ---- the suite ----------------------------------------------------------------------------------


def nodes(t):
    return pattern(*(t[k] for k in sorted(t) if k.startswith("elements")))


def vertices(quadratic, dimension=3):
    """Returns the pattern of linear elements on the vertices, the first nodes of each quadratic element."""
    return pattern(quadratic[:, : dimension + 1])


def edges(quadratic):
    """Returns the pattern of lowest-order edge elements.

    ngsolve numbers their unknowns like the edge unknowns of quadratic elements.
    """
    return pattern(quadratic[:, 4:] - quadratic[:, 4:].min())


def groups(t):
    return [t[k] for k in sorted(t) if k.startswith("elements")]


def fixed(t, block):
    bound = boundary_nodes(t["elements"])
    rows = np.concatenate([bound[::3] * block + c for c in range(block)] + [bound[1::3] * block + block - 1])
    return with_fixed_rows(blocks(nodes(t), full(block)), rows)


# The key is the matrix's name. The value has the kind, the class, the table, and a function from table to matrix.
SUITE = {
    "p1_drilled": ("P1 on tetrahedra", "scalar", "drilled", lambda t: vertices(t["p2"])),
    "p1_box": ("P1 on tetrahedra", "scalar", "box_fine", nodes),
    "p1_ball": ("P1 on tetrahedra", "scalar", "ball_refined", nodes),
    "p1_bracket": ("P1 on tetrahedra", "scalar", "bracket", nodes),
    "p2_drilled": ("P2 on tetrahedra", "scalar", "drilled", lambda t: pattern(t["p2"])),
    "p2_ball": ("P2 on tetrahedra", "scalar", "ball_fine", lambda t: pattern(t["p2"])),
    "p2_box": ("P2 on tetrahedra", "scalar", "box_p2", nodes),
    "p2_pipe": ("P2 on tetrahedra", "scalar", "pipe_refined", lambda t: pattern(t["p2"])),
    "p3_ball": ("P3 on tetrahedra", "scalar", "ball", lambda t: pattern(t["p3"])),
    "p3_pipe": ("P3 on tetrahedra", "scalar", "pipe", lambda t: pattern(t["p3"])),
    "p1_wing": ("prisms", "scalar", "wing", nodes),
    "elast_wing": ("prisms", "block", "wing_coarse", lambda t: blocks(nodes(t), full(3))),
    "edge_drilled": ("edge elements", "scalar", "drilled", lambda t: edges(t["p2"])),
    "edge_ball": ("edge elements", "scalar", "ball_fine", lambda t: edges(t["p2"])),
    "edge1_ball": ("edge elements", "scalar", "ball", lambda t: pattern(t["edge1"])),
    "edge1_pipe": ("edge elements", "scalar", "pipe", lambda t: pattern(t["edge1"])),
    "hdiv_ball": ("face elements", "mixed", "ball", lambda t: pattern(t["hdiv"])),
    "hdiv_pipe": ("face elements", "mixed", "pipe", lambda t: pattern(t["hdiv"])),
    "facet_ball": ("face elements", "block", "ball", lambda t: pattern(t["facet"])),
    "facet_pipe": ("face elements", "block", "pipe", lambda t: pattern(t["facet"])),
    "elast_drilled": ("elasticity", "block", "drilled", lambda t: blocks(vertices(t["p2"]), full(3))),
    "elast_pipe": ("elasticity", "block", "pipe", lambda t: blocks(vertices(t["p2"]), full(3))),
    "elast_box": ("elasticity", "block", "box", lambda t: blocks(nodes(t), full(3))),
    "elast_p2_bracket": ("elasticity", "block", "bracket_p2", lambda t: blocks(nodes(t), full(3))),
    "elast_p2_pipe": ("elasticity", "block", "pipe_coarse", lambda t: blocks(pattern(t["p2"]), full(3))),
    "apart_torus": ("unknowns apart", "block", "torus", lambda t: apart(nodes(t), full(3))),
    "apart_ball": ("unknowns apart", "block", "ball_fine", lambda t: apart(vertices(t["p2"]), full(3))),
    "fixed_torus": ("fixed boundary rows", "block", "torus", lambda t: fixed(t, 3)),
    "fixed_bracket": ("fixed boundary rows", "block", "bracket", lambda t: fixed(t, 3)),
    "periodic_box": ("periodic images", "scalar", "periodic_fine", nodes),
    "periodic_elast": ("periodic images", "block", "periodic", lambda t: blocks(nodes(t), full(3))),
    "bound_torus": ("constraints", "mixed", "torus",
                    lambda t: constrained(blocks(nodes(t), full(3)), t["elements"].max() + 1, 3, 300)),
    "bound_box": ("constraints", "mixed", "box",
                  lambda t: constrained(blocks(nodes(t), full(3)), t["elements"].max() + 1, 3, 1500)),
    "hex_bracket": ("hexahedra", "scalar", "bracket_hex", nodes),
    "hex_elast": ("hexahedra", "block", "torus_hex", lambda t: blocks(nodes(t), full(3))),
    "hex_q2": ("hexahedra", "scalar", "hexq2", nodes),
    "shell_tube": ("shells", "block", "tube", lambda t: blocks(nodes(t), full(6))),
    "shell_torus": ("shells", "block", "torus_shell", lambda t: blocks(nodes(t), full(6))),
    "surface_tube": ("surface Laplacian", "scalar", "tube_fine", nodes),
    "surface_torus": ("surface Laplacian", "scalar", "torus_surface", nodes),
    "plate_p1": ("triangles", "scalar", "plate", nodes),
    "plate_p2": ("triangles", "scalar", "plate_p2", nodes),
    "circle_p1": ("triangles", "scalar", "circle_p1", nodes),
    "circle_morley": ("triangles", "scalar", "circle_morley", nodes),
    "plate_elast": ("elasticity in the plane", "block", "plate_coarse", lambda t: blocks(nodes(t), full(2))),
    "circle_elast": ("elasticity in the plane", "block", "circle_p2", lambda t: blocks(nodes(t), full(2))),
    "graded_bracket": ("graded meshes", "scalar", "bracket_graded", nodes),
    "graded_box": ("graded meshes", "scalar", "box_graded_p2", nodes),
    "flow_pipe": ("Taylor-Hood", "mixed", "pipe", lambda t: flow(t["p2"], 3, False)),
    "flow_apart": ("Taylor-Hood", "mixed", "pipe_coarse", lambda t: flow(t["p2"], 3, True)),
    "flow_plate": ("Taylor-Hood", "mixed", "plate_p2", lambda t: flow(t["elements"], 2, False)),
    "dg4_torus": ("discontinuous Galerkin", "block", "torus", lambda t: blocks(neighbours(*groups(t)), full(4))),
    "dg10_torus": ("discontinuous Galerkin", "block", "torus_coarse",
                   lambda t: blocks(neighbours(*groups(t)), full(10))),
    "dg20_torus": ("discontinuous Galerkin", "block", "torus_coarse",
                   lambda t: blocks(neighbours(*groups(t)), full(20))),
    "dg6_plate": ("discontinuous Galerkin", "block", "plate_coarse", lambda t: blocks(neighbours(*groups(t)), full(6))),
    "dg3_torus": ("discontinuous Galerkin", "block", "torus_surface",
                  lambda t: blocks(neighbours(t["elements"][:, :3]), full(3))),
    "euler_airfoil": ("finite volumes", "block", "airfoil", lambda t: blocks(neighbours(*groups(t)), EULER_2D)),
    "euler_sparse": ("finite volumes", "block", "airfoil_fine", lambda t: blocks(neighbours(*groups(t)), SPARSE_2D)),
    "euler3_torus": ("finite volumes", "block", "torus", lambda t: blocks(neighbours(*groups(t)), EULER_3D)),
    "euler3_bracket": ("finite volumes", "block", "bracket", lambda t: blocks(neighbours(*groups(t)), SPARSE_3D)),
    "volumes_box": ("finite volumes, one unknown", "scalar", "box_fine", lambda t: neighbours(*groups(t))),
    "volumes_bracket": ("finite volumes, one unknown", "scalar", "bracket", lambda t: neighbours(*groups(t))),
    "volumes_periodic": ("finite volumes, one unknown", "scalar", "periodic_fine", lambda t: neighbours(*groups(t))),
}


def halves():
    kinds = {}
    for name, (kind, *_) in SUITE.items():
        kinds.setdefault(kind, []).append(name)
    found = {}
    for names in kinds.values():
        for n, name in enumerate(sorted(names, key=lambda s: hashlib.sha256(s.encode()).hexdigest())):
            found[name] = ("fit", "judge")[n % 2]
    return found


def make(tables, name, is_checked=True):
    path = tables / f"{SUITE[name][2]}.elements"
    if not path.exists():
        sys.exit(f"{path} is missing: elements.py {tables} {SUITE[name][2]} makes it")
    arrays = unpack(path.read_bytes())
    wrong = is_checked and differs(SUITE[name][2], arrays)
    if wrong:
        sys.exit(f"{path}: {wrong}")
    matrix = sparse.csr_matrix(SUITE[name][3](arrays))
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def digest(matrix):
    h = hashlib.sha256(np.array(matrix.shape, "<i4").tobytes())
    h.update(matrix.indptr.astype("<i4").tobytes())
    h.update(matrix.indices.astype("<i4").tobytes())
    return h.hexdigest()


# ---- files --------------------------------------------------------------------------------------


def values(matrix):
    """Returns values in (-1, 1), not 0, which SplitMix64's finalizer computes from row and column."""
    out = np.empty(matrix.nnz)
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.uint64), np.diff(matrix.indptr))
    for begin in range(0, matrix.nnz, 1 << 22):
        part = slice(begin, begin + (1 << 22))
        z = (rows[part] << np.uint64(32) | matrix.indices[part].astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        out[part] = ((z >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-51 - 1
    return out


def write_container(path, matrix):
    """Writes a container (docs/container.md): CSR with 32-bit offsets and columns and f64 values."""
    import xxhash

    chunk, page = 1 << 18, 4096
    sections, at = [], page
    for name, array in (("offsets", matrix.indptr.astype("<i4")), ("indices", matrix.indices.astype("<i4")),
                        ("values", values(matrix).astype("<f8"))):
        data = array.view(np.uint8)
        of_chunks = b"".join(xxhash.xxh3_64_intdigest(data[k : k + chunk]).to_bytes(8, "little")
                             for k in range(0, len(data), chunk))
        sections.append((name, at, len(array), array.itemsize, xxhash.xxh3_64_intdigest(of_chunks), data))
        at += -(-len(data) // page) * page
    length = sections[-1][1] + len(sections[-1][5])
    head = bytearray(page)
    head[0:8] = bytes.fromhex("895350590d0a1a0a")

    def put(offset, value, size):
        head[offset : offset + size] = int(value).to_bytes(size, "little")

    sizes = (112, matrix.shape[0], 8), (120, matrix.shape[1], 8), (128, matrix.nnz, 8)
    types = (136, 2, 1), (137, 1, 1), (138, 1, 1), (139, 2, 1), (140, 2, 1)
    for field in ((8, 1, 4), (12, page, 4), (24, length, 8), *sizes, *types, (144, len(sections), 4), (148, chunk, 4)):
        put(*field)
    head[32:35] = b"csr"
    for n, (name, offset, count, size, hashed, _) in enumerate(sections):
        slot = 192 + 64 * n
        head[slot : slot + len(name)] = name.encode()
        for k, value in enumerate((offset, count, size, hashed)):
            put(slot + 16 + 8 * k, value, 8)
    put(16, xxhash.xxh3_64_intdigest(bytes(head)), 8)
    temporary = path.with_suffix(".part")
    with open(temporary, "wb") as file:
        file.write(head)
        for _, offset, _, _, _, data in sections:
            file.seek(offset)
            file.write(data)
    temporary.rename(path)


HEAD = f"""# Matrices of bench/unstructured: matrices.py TABLES --list prints this.
# half: {FIT_OR_JUDGE}
# sha256: of rows and columns, offsets, columns, as little-endian 32-bit integers
# table_sha256: of the names, sizes and numbers of the table's arrays, as elements.py has it"""


def print_list(tables):
    print(HEAD)
    print("name\tkind\tclass\thalf\tsoftware\trows\tentries\tsha256\ttable\ttable_sha256\thow")
    for name, half in halves().items():
        matrix = make(tables, name, is_checked=False)
        kind, kind_class, table, _ = SUITE[name]
        of_table = digest_of_table(unpack((tables / f"{table}.elements").read_bytes()))
        print(name, kind, kind_class, half, TABLES[table].software, matrix.shape[0], matrix.nnz, digest(matrix), table,
              of_table, TABLES[table].how, sep="\t", flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tables, names = pathlib.Path(sys.argv[1]), sys.argv[3:] or list(SUITE)
    if sys.argv[2] == "--list":
        print_list(tables)
        return
    unknown = [name for name in names if name not in SUITE]
    if unknown:
        sys.exit(f"there is no matrix '{unknown[0]}' in the suite")
    folder, known, wrong = pathlib.Path(sys.argv[2]), listed(), 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.spry"
        if path.exists():
            continue
        matrix = make(tables, name)
        found, expected = digest(matrix), known[name]["sha256"]
        if found != expected:
            print(f"{name}: the matrix has SHA-256 {found}, expected {expected}", file=sys.stderr)
            wrong = 1
            continue
        write_container(path, matrix)
        print(f"{name}: {matrix.shape[0]} rows, {matrix.nnz} entries", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
