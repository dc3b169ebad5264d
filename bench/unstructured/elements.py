#!/usr/bin/env python3
"""Meshes and unknowns of independent finite-element software, for the suite `unstructured`: step 1 of 2.

Each table has the unknowns of each element, in the numbering of the program that generated the mesh: gmsh, netgen and
ngsolve, or scikit-fem. Step 2 (matrices.py) builds matrices from tables without these programs.

    pip install -r requirements.txt   (gmsh may need libGLU, libXrender, libXcursor, libXft and libXinerama)
    elements.py FOLDER [TABLE...]     generates the tables that FOLDER lacks, all or the named tables
    elements.py --list                lists the names

A table is a file of a few arrays of 32-bit integers. Each table has its own process with one thread, which makes
meshers reproducible. The hash of each table is compared with suite.tsv.
"""
import collections
import hashlib
import io
import lzma
import pathlib
import subprocess
import sys

import numpy as np

Table = collections.namedtuple("Table", "software how make")

# ---- gmsh ---------------------------------------------------------------------------------------

TRIANGLE, QUAD, TETRAHEDRON, HEXAHEDRON, PRISM, TRIANGLE6, TETRAHEDRON10 = 2, 3, 4, 5, 6, 9, 11


def told(make, size, order=1):
    return f"{make.__doc__.rstrip('.')}; size {size}" + f", order {order}" * (order > 1)


def gmsh_model(make, size, dimension, order=1, options=(), finish=None):
    """Returns the elements of `dimension`, {gmsh's type: indices of nodes in gmsh's order}, and {periodic node: its
    master node}."""
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    for name, value in (("Mesh.MeshSizeMax", size), ("Mesh.RandomSeed", 1), *options):
        gmsh.option.setNumber(name, value)
    make(gmsh)
    gmsh.model.mesh.generate(dimension)
    if finish:
        finish(gmsh)
    if order > 1:
        gmsh.model.mesh.setOrder(order)
    tags = gmsh.model.mesh.getNodes()[0].astype(np.int64)
    number = np.full(tags.max() + 1, -1, np.int64)
    number[tags] = np.arange(len(tags))
    found = {}
    kinds, _, nodes = gmsh.model.mesh.getElements(dimension)
    for kind, own in zip(kinds, nodes):
        width = gmsh.model.mesh.getElementProperties(kind)[3]
        found[int(kind)] = number[own.astype(np.int64)].reshape(-1, width)
    images = {}
    for tag in gmsh.model.getEntities(dimension - 1):
        master, own, others, _ = gmsh.model.mesh.getPeriodicNodes(*tag)
        if master != tag[1]:
            images.update(zip(number[own.astype(np.int64)].tolist(), number[others.astype(np.int64)].tolist()))
    gmsh.finalize()
    return found, images


def only_used(elements):
    """Removes nodes without elements; other nodes keep their order."""
    used = np.unique(np.concatenate([e.ravel() for e in elements]))
    number = np.full(used.max() + 1, -1, np.int64)
    number[used] = np.arange(len(used))
    return [number[e] for e in elements]


def box_less_ball(gmsh):
    """A box without a ball."""
    gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
    gmsh.model.occ.addSphere(0.5, 0.5, 0.5, 0.3)
    gmsh.model.occ.cut([(3, 1)], [(3, 2)])
    gmsh.model.occ.synchronize()


def bracket(gmsh):
    """An L with two bores."""
    o = gmsh.model.occ
    o.addBox(0, 0, 0, 2, 1, 0.3)
    o.addBox(0, 0, 0, 0.3, 1, 1.5)
    o.addCylinder(1.4, 0.5, -1, 0, 0, 3, 0.25)
    o.addCylinder(-1, 0.5, 1.0, 3, 0, 0, 0.2)
    o.cut(o.fuse([(3, 1)], [(3, 2)])[0], [(3, 3), (3, 4)])
    o.synchronize()


def torus(gmsh):
    """A torus."""
    gmsh.model.occ.addTorus(0, 0, 0, 1, 0.35)
    gmsh.model.occ.synchronize()


def tube(gmsh):
    """Two crossing tubes."""
    o = gmsh.model.occ
    o.addCylinder(-2, 0, 0, 4, 0, 0, 0.5)
    o.addCylinder(0, -2, 0, 0, 4, 0, 0.35)
    o.fuse([(3, 1)], [(3, 2)])
    o.synchronize()


def plate(gmsh):
    """A plate with five holes."""
    o = gmsh.model.occ
    o.addRectangle(0, 0, 0, 3, 2)
    holes = [(2, o.addDisk(x, y, 0, r, r)) for x, y, r in ((0.6, 0.5, 0.2), (1.5, 1.0, 0.4), (2.4, 0.5, 0.15),
                                                           (0.7, 1.5, 0.25), (2.3, 1.5, 0.3))]
    o.cut([(2, 1)], holes)
    o.synchronize()


def airfoil_like(gmsh):
    """Models the area around an ellipse, with quads near the ellipse and triangles away from it."""
    o = gmsh.model.occ
    o.addDisk(0, 0, 0, 4, 4)
    o.addDisk(0, 0, 0, 1.5, 0.8)
    o.addDisk(0, 0, 0, 1.0, 0.15)
    ring = o.cut([(2, 2)], [(2, 3)], removeTool=False)[0]
    o.cut([(2, 1)], ring + [(2, 3)], removeObject=True, removeTool=False)
    o.remove([(2, 3)])
    o.fragment(o.getEntities(2), [])
    o.synchronize()
    near = min(gmsh.model.getEntities(2), key=lambda e: gmsh.model.occ.getMass(*e))
    gmsh.model.mesh.setRecombine(*near)


def graded(make, smallest, largest):
    """Sets element sizes that grow with the distance from the model's curves."""

    def made(gmsh):
        make(gmsh)
        field = gmsh.model.mesh.field
        field.add("Distance", 1)
        field.setNumbers(1, "CurvesList", [t for _, t in gmsh.model.getEntities(1)])
        field.add("Threshold", 2)
        limits = ("InField", 1), ("SizeMin", smallest), ("SizeMax", largest), ("DistMin", 0.0), ("DistMax", 0.5)
        for name, value in limits:
            field.setNumber(2, name, value)
        field.setAsBackgroundMesh(2)
        for name in ("MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"):
            gmsh.option.setNumber("Mesh." + name, 0)

    made.__doc__ = f"{make.__doc__.rstrip('.')}, edges of {smallest} to {largest}"
    return made


def periodic_box(gmsh):
    """A box without a bar, with periodic faces."""
    o = gmsh.model.occ
    o.addBox(0, 0, 0, 1, 1, 1)
    o.addBox(0.3, 0.35, 0.4, 0.3, 0.25, 0.2)
    o.cut([(3, 1)], [(3, 2)])
    o.synchronize()
    for axis in range(3):
        shift = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
        shift[4 * axis + 3] = 1

        def faces(at):
            low, high = [-0.01] * 3, [1.01] * 3
            low[axis], high[axis] = at - 0.01, at + 0.01
            return [t for _, t in gmsh.model.getEntitiesInBoundingBox(*low, *high, 2)]

        gmsh.model.mesh.setPeriodic(2, faces(1), faces(0), shift)


def gmsh_tets(make, size, order=1, options=()):
    def table():
        found, _ = gmsh_model(make, size, 3, order, options)
        return {"elements": only_used([found[TETRAHEDRON if order == 1 else TETRAHEDRON10]])[0]}

    return Table("gmsh", told(make, size, order), table)


def gmsh_periodic(size):
    def table():
        found, same = gmsh_model(periodic_box, size, 3)
        cells = found[TETRAHEDRON]
        number = np.arange(cells.max() + 1)
        for own, other in same.items():
            number[own] = other
        for _ in range(3):
            number = number[number]  # the master of a node on an edge or a corner may have a master itself
        return {"elements": only_used([number[cells]])[0]}

    return Table("gmsh", told(periodic_box, size), table)


def gmsh_surface(make, size, order=1, options=()):
    def table():
        found, _ = gmsh_model(make, size, 2, order, options)
        kinds = (TRIANGLE, QUAD) if order == 1 else (TRIANGLE6,)
        parts = only_used([found[k] for k in kinds if k in found])
        return {f"elements{k if k else ''}": part for k, part in enumerate(parts)}

    return Table("gmsh", told(make, size, order), table)


def gmsh_prisms(size, layers):
    def make(gmsh):
        """Extrudes airfoil_like: hexahedra near the ellipse, prisms away from it."""
        airfoil_like(gmsh)
        for surface in gmsh.model.getEntities(2):
            gmsh.model.occ.extrude([surface], 0, 0, 2, [layers], recombine=True)
        gmsh.model.occ.synchronize()

    def table():
        found, _ = gmsh_model(make, size, 3)
        prisms, hexes = only_used([found[PRISM], found[HEXAHEDRON]])
        return {"elements": prisms, "elements1": hexes}

    return Table("gmsh", told(make, size) + f", {layers} layers", table)


def gmsh_hexes(make, size):
    def table():
        found, _ = gmsh_model(make, size, 3, options=(("Mesh.SubdivisionAlgorithm", 2),))
        return {"elements": only_used([found[HEXAHEDRON]])[0]}

    return Table("gmsh", told(make, size) + ", tetrahedra cut into hexahedra", table)


# ---- netgen and ngsolve -------------------------------------------------------------------------


BODIES = {
    "drilled": "A box without a cylinder and a ball",
    "ball": "A ball without a bar",
    "pipe": "A pipe with a bar across it",
}


def netgen_body(name):
    from netgen.occ import Box, Cylinder, OCCGeometry, Sphere, X, Z

    bodies = {
        "drilled": lambda: Box((0, 0, 0), (1, 1, 1)) - Cylinder((0.5, 0.5, -1), Z, r=0.2, h=3)
        - Sphere((0.2, 0.2, 0.2), 0.12),
        "ball": lambda: Sphere((0, 0, 0), 1) - Box((-0.3, -0.3, -2), (0.3, 0.3, 2)),
        "pipe": lambda: Cylinder((0, 0, 0), X, r=0.5, h=3) - Cylinder((-1, 0, 0), X, r=0.3, h=5)
        + Cylinder((1.5, 0, 0), Z, r=0.3, h=1.5),
    }
    return OCCGeometry(bodies[name]())


def ngsolve_spaces(body, size, spaces, refined=0):
    """Writes a table for each space on one mesh: the unknowns of each tetrahedron."""

    def table():
        import ngsolve as ngs

        ngs.SetNumThreads(1)
        mesh = ngs.Mesh(netgen_body(body).GenerateMesh(maxh=size))
        for _ in range(refined):
            mesh.Refine()
        found = {}
        for name, make in spaces.items():
            space = make(ngs, mesh)
            found[name] = np.array([[k for k in space.GetDofNrs(e) if k >= 0] for e in mesh.Elements(ngs.VOL)])
        return found

    return Table("ngsolve", f"{BODIES[body]}; size {size}" + ", refined" * refined, table)


def h1(order):
    return lambda ngs, mesh: ngs.H1(mesh, order=order)


# ---- scikit-fem ---------------------------------------------------------------------------------


def skfem_dofs(how, make):
    def table():
        import skfem

        mesh, element = make(skfem)
        return {"elements": skfem.Basis(mesh, element).element_dofs.T.astype(np.int64)}

    return Table("scikit-fem", how, table)


def uneven_hexes(points):
    def made(skfem):
        draw = np.random.default_rng(2)
        return skfem.MeshHex.init_tensor(*(np.sort(draw.random(n)) for n in points)), skfem.ElementHex2()

    return made


TABLES = {
    "drilled": ngsolve_spaces("drilled", 0.017, {"p2": h1(2)}),
    "ball_fine": ngsolve_spaces("ball", 0.032, {"p2": h1(2)}),
    "ball": ngsolve_spaces(
        "ball",
        0.045,
        {
            "p2": h1(2),
            "p3": h1(3),
            "edge1": lambda n, m: n.HCurl(m, order=1),
            "hdiv": lambda n, m: n.HDiv(m, order=1),
            "facet": lambda n, m: n.Compress(n.FacetFESpace(m, order=1)),
        },
    ),
    "pipe": ngsolve_spaces(
        "pipe",
        0.05,
        {
            "p2": h1(2),
            "p3": h1(3),
            "edge1": lambda n, m: n.HCurl(m, order=1),
            "hdiv": lambda n, m: n.HDiv(m, order=1),
            "facet": lambda n, m: n.Compress(n.FacetFESpace(m, order=2)),
        },
    ),
    "pipe_refined": ngsolve_spaces("pipe", 0.085, {"p2": h1(2)}, refined=1),
    "pipe_coarse": ngsolve_spaces("pipe", 0.075, {"p2": h1(2)}),
    "box_fine": gmsh_tets(box_less_ball, 0.0125, options=(("Mesh.Algorithm3D", 10),)),
    "box": gmsh_tets(box_less_ball, 0.026),
    "box_p2": gmsh_tets(box_less_ball, 0.025, order=2),
    "bracket": gmsh_tets(bracket, 0.022),
    "bracket_p2": gmsh_tets(bracket, 0.055, order=2),
    "torus": gmsh_tets(torus, 0.035),
    "torus_coarse": gmsh_tets(torus, 0.09),
    "bracket_graded": gmsh_tets(graded(bracket, 0.0021, 0.14), 0.14),
    "box_graded_p2": gmsh_tets(graded(box_less_ball, 0.004, 0.2), 0.2, order=2),
    "periodic": gmsh_periodic(0.03),
    "periodic_fine": gmsh_periodic(0.015),
    "wing": gmsh_prisms(0.09, 25),
    "wing_coarse": gmsh_prisms(0.14, 10),
    "bracket_hex": gmsh_hexes(bracket, 0.05),
    "torus_hex": gmsh_hexes(torus, 0.11),
    "tube": gmsh_surface(tube, 0.03),
    "tube_fine": gmsh_surface(tube, 0.006),
    "torus_surface": gmsh_surface(torus, 0.013, order=2),
    "torus_shell": gmsh_surface(torus, 0.035, options=(("Mesh.RecombineAll", 1),)),
    "plate": gmsh_surface(plate, 0.0035),
    "plate_p2": gmsh_surface(plate, 0.0065, order=2),
    "plate_coarse": gmsh_surface(plate, 0.009),
    "airfoil": gmsh_surface(airfoil_like, 0.03),
    "airfoil_fine": gmsh_surface(airfoil_like, 0.012),
    "hexq2": skfem_dofs("Hexahedra of 27 nodes, of uneven sizes, 33 by 39 by 35", uneven_hexes((34, 40, 36))),
    "circle_p2": skfem_dofs("A disk, refined 7 times, P2", lambda s: (s.MeshTri.init_circle(7), s.ElementTriP2())),
    "circle_morley": skfem_dofs(
        "A disk, refined 8 times, Morley", lambda s: (s.MeshTri.init_circle(8), s.ElementTriMorley())
    ),
    "circle_p1": skfem_dofs("A disk, refined 9 times", lambda s: (s.MeshTri.init_circle(9), s.ElementTriP1())),
    "ball_refined": skfem_dofs("A ball, refined 6 times", lambda s: (s.MeshTet.init_ball(6), s.ElementTetP1())),
}

# ---- files --------------------------------------------------------------------------------------


def pack(arrays):
    """Compresses arrays: subtracts from each number its left neighbour (in the first column, the number above it). Then
    stores byte k of all differences together, for k = 0 to 3."""
    out = io.BytesIO()
    for name, array in sorted(arrays.items()):
        array = np.asarray(array, np.int64)
        steps = array.copy()
        steps[:, 1:] -= array[:, :-1]
        steps[1:, 0] -= array[:-1, 0]
        folded = np.where(steps < 0, -2 * steps - 1, 2 * steps).astype(np.uint32)
        planes = b"".join(((folded >> 8 * k) & 255).astype(np.uint8).T.tobytes() for k in range(4))
        data = lzma.compress(planes, preset=4)
        out.write(f"{name} {array.shape[0]} {array.shape[1]} {len(data)}\n".encode())
        out.write(data)
    return out.getvalue()


def unpack(data):
    arrays, at = {}, 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, rows, width, size = data[at:end].decode().split()
        rows, width, size = int(rows), int(width), int(size)
        planes = np.frombuffer(lzma.decompress(data[end + 1 : end + 1 + size]), np.uint8).reshape(4, width, rows)
        folded = sum(planes[k].T.astype(np.int64) << 8 * k for k in range(4))
        steps = np.where(folded & 1, -(folded + 1 >> 1), folded >> 1)
        steps[:, 0] = np.cumsum(steps[:, 0])
        arrays[name] = np.cumsum(steps, axis=1)
        at = end + 1 + size
    return arrays


def digest(arrays):
    """Hashes names, sizes and elements of arrays, independent of the compression."""
    h = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        h.update(f"{name} {array.shape[0]} {array.shape[1]}\n".encode())
        h.update(np.ascontiguousarray(array, "<i4").tobytes())
    return h.hexdigest()


def listed():
    """Returns the rows of suite.tsv by name."""
    path = pathlib.Path(__file__).with_name("suite.tsv")
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return {row[0]: dict(zip(rows[0], row)) for row in rows[1:]}


def differs(name, arrays):
    """Compares a table's SHA-256 with suite.tsv. Returns the difference as text, or None."""
    expected = {row["table_sha256"] for row in listed().values() if row["table"] == name}
    found = digest(arrays)
    if expected in (set(), {found}):
        return None
    return f"table {name} has SHA-256 {found}, expected {expected.pop()}: are the packages those of requirements.txt?"


def main():
    if len(sys.argv) == 2 and sys.argv[1] == "--list":
        print("\n".join(TABLES))
        return
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(TABLES)
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        sys.exit(f"there is no table '{unknown[0]}': --list names them")
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in wanted:
        path = folder / f"{name}.elements"
        if path.exists():
            continue
        if len(wanted) > 1:  # one process per table, because meshers keep state
            failed |= subprocess.run([sys.executable, __file__, str(folder), name]).returncode != 0
            continue
        arrays = TABLES[name].make()
        data = pack(arrays)
        temporary = path.with_suffix(".part")
        temporary.write_bytes(data)
        temporary.rename(path)
        print(f"{name}: { {k: v.shape for k, v in arrays.items()} }, {len(data)} bytes", flush=True)
        wrong = differs(name, arrays)
        if wrong:
            sys.exit(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
