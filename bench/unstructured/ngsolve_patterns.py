#!/usr/bin/env python3
"""Patterns of finite elements on a tetrahedral mesh, in the mesher's own numbering, as Matrix Market files.

Needs ngsolve and scipy (pip install ngsolve scipy). The mesh is a box without a cylinder and a ball; --size 0.017 gives
161 822 nodes and 872 775 tetrahedra in a minute and a half. Written are p1, p2 (linear and quadratic elements), edge
(lowest-order edge elements) and elast (linear elements with three unknowns a node).

    ngsolve_patterns.py --size 0.017 FOLDER
"""
import argparse
import pathlib

import numpy as np
import scipy.io
import scipy.sparse as sparse
from netgen.occ import Box, Cylinder, OCCGeometry, Sphere, Z
from ngsolve import H1, VOL, HCurl, Mesh


def pattern(elements, unknowns):
    """Which unknowns share an element."""
    count = elements.shape[1]
    rows, columns = np.repeat(elements, count, axis=1).ravel(), np.tile(elements, (1, count)).ravel()
    return sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(unknowns, unknowns)).tocsr()


def pattern_of(space, mesh):
    return pattern(np.array([space.GetDofNrs(e) for e in mesh.Elements(VOL)]), space.ndof)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--size", type=float, default=0.05, help="longest edge of the mesh (default: 0.05)")
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()

    body = Box((0, 0, 0), (1, 1, 1)) - Cylinder((0.5, 0.5, -1), Z, r=0.2, h=3) - Sphere((0.2, 0.2, 0.2), 0.12)
    mesh = Mesh(OCCGeometry(body).GenerateMesh(maxh=given.size))
    p1 = pattern_of(H1(mesh, order=1), mesh)
    matrices = {
        "p1": p1,
        "p2": pattern_of(H1(mesh, order=2), mesh),
        "edge": pattern_of(HCurl(mesh, order=0), mesh),
        "elast": sparse.kron(p1, np.ones((3, 3), np.int8)),
    }
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, matrix in matrices.items():
        scipy.io.mmwrite(given.folder / f"{name}.mtx", matrix, field="pattern", symmetry="symmetric")
        print(f"{name}: {matrix.shape[0]} rows, {matrix.nnz} entries")


if __name__ == "__main__":
    main()
