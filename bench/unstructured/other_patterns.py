#!/usr/bin/env python3
"""Patterns of other discretisations by four independent packages, as Matrix Market files: what a choice is judged on.

Needs gmsh, ngsolve, pyamg, scikit-fem and scipy. Takes some minutes.

    other_patterns.py FOLDER
"""
import pathlib
import sys

import gmsh
import numpy as np
import pyamg
import scipy.io
import scipy.sparse as sparse
import skfem
from netgen.occ import Box, OCCGeometry, Sphere
from ngsolve import H1, VOL, Compress, FacetFESpace, HDiv, Mesh
from matrices import pattern


def in_blocks(matrix, block):
    return sparse.kron(matrix, np.asarray(block, np.int8))


def of_pyamg():
    yield "elas2d", pyamg.gallery.linear_elasticity((500, 500))[0]
    yield "nine", pyamg.gallery.stencil_grid(np.ones((3, 3)), (900, 900), format="csr")
    grid = pyamg.gallery.poisson((70, 70, 70), format="csr")
    patch = np.arange(grid.shape[0]) // 64
    order = np.argsort(patch + np.random.default_rng(1).random(patch[-1] + 1)[patch] * 4000, kind="stable")
    yield "patched7", grid[order][:, order]  # a grid in patches of 64 points, which lie anywhere


def of_skfem():
    sizes = np.random.default_rng(2)
    mesh = skfem.MeshHex.init_tensor(*(np.sort(sizes.random(points)) for points in (34, 40, 36)))
    circle = skfem.MeshTri.init_circle
    for name, mesh, element in (
        ("hexq2", mesh, skfem.ElementHex2()),
        ("circp2v", circle(7), skfem.ElementVector(skfem.ElementTriP2())),
        ("morley", circle(8), skfem.ElementTriMorley()),
    ):
        basis = skfem.Basis(mesh, element)
        yield name, pattern(basis.element_dofs.T.astype(np.int64), unknowns=basis.N)


def of_ngsolve():
    body = Sphere((0, 0, 0), 1) - Box((-0.3, -0.3, -2), (0.3, 0.3, 2))
    mesh = Mesh(OCCGeometry(body).GenerateMesh(maxh=0.075))

    def elements(space):
        return np.array([[k for k in space.GetDofNrs(e) if k >= 0] for e in mesh.Elements(VOL)], dtype=np.int64)

    linear, quadratic = H1(mesh, order=1), H1(mesh, order=2)
    p1 = pattern(elements(linear), unknowns=linear.ndof)
    both = np.hstack([elements(quadratic), elements(linear) + quadratic.ndof])
    flow = pattern(both, unknowns=quadratic.ndof + linear.ndof)
    velocity, pressure = flow[: quadratic.ndof, : quadratic.ndof], flow[: quadratic.ndof, quadratic.ndof :]
    yield "ballp1", p1
    yield "ballel3", in_blocks(p1, np.ones((3, 3)))
    yield "unknowns3", sparse.kron(np.ones((3, 3), np.int8), p1)  # all first unknowns, then all second, then all third
    yield "taylor", sparse.bmat([[in_blocks(velocity, np.ones((3, 3))), in_blocks(pressure, np.ones((3, 1)))],
                                 [in_blocks(pressure.T, np.ones((1, 3))), None]])
    for name, space in (("ballp3", H1(mesh, order=3)), ("hdiv", HDiv(mesh, order=1)),
                        ("facet", Compress(FacetFESpace(mesh, order=1)))):
        yield name, pattern(elements(space), unknowns=space.ndof)


def of_gmsh():
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
    gmsh.model.occ.addSphere(0.5, 0.5, 0.5, 0.3)
    gmsh.model.occ.cut([(3, 1)], [(3, 2)])
    gmsh.model.occ.synchronize()
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.035)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 30)
    gmsh.model.mesh.generate(3)
    tags = gmsh.model.mesh.getNodes()[0].astype(np.int64)
    number = np.zeros(tags.max() + 1, np.int64)
    number[tags] = np.arange(len(tags))
    cells = number[gmsh.model.mesh.getElements(3)[2][0].reshape(-1, 4).astype(np.int64)]
    nodes = pattern(cells, unknowns=len(tags))
    faces = np.sort(np.concatenate([cells[:, list(f)] for f in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))]), axis=1)
    cell = np.tile(np.arange(len(cells)), 4)
    order = np.lexsort(faces.T[::-1])
    met = np.all(faces[order][1:] == faces[order][:-1], axis=1)
    a, b, own = cell[order][:-1][met], cell[order][1:][met], np.arange(len(cells))
    rows, columns = np.r_[a, b, own], np.r_[b, a, own]
    volumes = sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, columns))).tocsr()
    yield "gmshp1", nodes
    yield "gmshel", in_blocks(nodes, np.ones((3, 3)))
    yield "gmshns4", in_blocks(nodes, [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0], [1, 0, 0, 1]])
    yield "cells1", volumes
    yield "cells5", in_blocks(volumes, np.ones((5, 5)))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for matrices in (of_pyamg, of_skfem, of_ngsolve, of_gmsh):
        for name, matrix in matrices():
            matrix = sparse.coo_matrix(matrix)
            scipy.io.mmwrite(folder / f"{name}.mtx", matrix, field="pattern", symmetry="general")
            print(f"{name}: {matrix.shape[0]} rows, {matrix.nnz} entries", flush=True)


if __name__ == "__main__":
    main()
