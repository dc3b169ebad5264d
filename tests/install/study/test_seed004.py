"""Seed 004's study: the table of storage, the tree's leaves on times that were made up, and fill-in where SciPy is."""
import copy
import os
import unittest

from support import ROOT, product, report_of

import seed004
from seed004 import fill_in, leaves, storage

# The lecture's 5 x 5 example: M = N = 5, K = 4, nnz = 12, W = 2, rest 3.
LECTURE = {"kind": "matrix", "matrix": "lecture", "rows": 5, "cols": 5, "nnz": 12, "mean_row": 2.4, "max_row": 4,
           "empty_rows": 0, "storage": [{"format": "csr", "words": 30, "bytes": 120, "parameters": ""},
                                        {"format": "ell", "words": 40, "bytes": 160, "parameters": ""},
                                        {"format": "coo", "words": 36, "bytes": 144, "parameters": ""},
                                        {"format": "hyb", "words": 29, "bytes": 116, "parameters": "width=2"}]}


class Storage(unittest.TestCase):
    def test_the_lectures_example(self):
        self.assertEqual(storage.formulas(LECTURE), {"dense": 25, "csr": 30, "ell": 40, "coo": 36})
        self.assertEqual(storage.exact_hyb(LECTURE), (2, 3))
        self.assertEqual(storage.bounds_of_hyb(LECTURE), (36, 40))
        self.assertFalse(storage.hyb_is_within(LECTURE))
        self.assertEqual(storage.problems(LECTURE), [])

    def test_wrong_words_are_found(self):
        for index in range(4):
            wrong = copy.deepcopy(LECTURE)
            wrong["storage"][index]["words"] += 1
            self.assertEqual(len(storage.problems(wrong)), 1, wrong["storage"][index]["format"])
        wrong = copy.deepcopy(LECTURE)
        wrong["storage"][3]["parameters"] = "width=3"
        self.assertNotEqual(storage.problems(wrong), [])


def timed(times, taken):
    """Records of the four leaves, microseconds by format, and of the tree's choice."""
    found = [product("lecture", f"{form}_x_cuda", us, kind="leaf", asked="format") for form, us in times.items()]
    return found + [product("lecture", f"{taken}_x_cuda", 99, kind="leaf", asked="", policy="tree", format="auto")]


class Leaves(unittest.TestCase):
    def test_timed(self):
        found = leaves.Timed(timed({"csr": 10, "ell": 5, "hyb": 6, "coo": 20}, "hyb"))
        self.assertEqual((found.taken, found.fastest, found.over()), ("hyb", "ell", 1.2))
        self.assertEqual(found.library(), (None, None))

    def verdicts(self, times, taken):
        others = [product("alike", k, 1, kind="balance")
                  for k in ("coo_atomic_cuda", "coo_segmented_cuda", "csr_scalar_cuda")]
        others += [product("uneven", k, us, kind="balance") for k, us in
                   (("coo_atomic_cuda", 1.1), ("coo_segmented_cuda", 1.1), ("csr_scalar_cuda", 4))]
        others += [product("lecture", "coo_atomic_cuda", 3, kind="leaf")]
        others += [product("lecture", f"{form}_y_cuda", us, kind="transposed", format=form) for form, us in
                   (("csr", 3), ("csc", 2))]
        both = [{**record, "type": kind} for kind in ("f32", "f64") for record in timed(times, taken)]
        claims, problems = report_of(seed004, [LECTURE, *both, *others], "004")
        self.assertEqual(problems, [])
        return {text: claim.verdict for (_, text), claim in claims.items()}

    def test_a_leaf_holds_or_not(self):
        holds = self.verdicts({"csr": 10, "ell": 5, "hyb": 6, "coo": 20}, "ell")
        self.assertEqual(holds["uniform, max ~ avg: ELL"], "confirmed")
        self.assertEqual(holds["uniform, max > avg: HYB"], "not comparable")
        self.assertEqual(holds["insensitive to row length distribution: perfect load balance"], "confirmed")
        self.assertEqual(holds["Column ops? CSC"], "confirmed")
        self.assertEqual(holds["HYB > 3 nnz, < 2 M K words"], "refuted")
        fails = self.verdicts({"csr": 10, "ell": 15, "hyb": 6, "coo": 20}, "ell")
        self.assertEqual(fails["uniform, max ~ avg: ELL"], "refuted")
        varied = self.verdicts({"csr": 10, "coo": 20, "hyb": 30}, "csr")
        self.assertEqual(varied["Unpredictable? HYB (tree:unpredictable)"], "refuted")

    def test_a_wrong_product_is_a_problem(self):
        wrong = {"kind": "y", "format": "csr", "status": "ok", "y": [2.0, 8.0, 25.0, 14.0, 24.0]}
        example = product("lecture.mtx", "csr_scalar_cuda", 1, kind="example")
        _, problems = report_of(seed004, [example, wrong], "004")
        self.assertTrue(any("csr: y is" in problem for problem in problems))


class FillIn(unittest.TestCase):
    def test_grids(self):
        self.assertEqual(fill_in.grid(3, 8), "gen:laplace7,x=8,y=8,z=8")
        self.assertEqual(fill_in.banded_entries(2, 10), 2000)

    def test_factors(self):
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("no SciPy")
        arrow = scipy.sparse.diags([4.0] * 6).tolil()
        arrow[0, 1:] = arrow[1:, 0] = -1.0  # eliminated in the natural order all of it fills
        found, x = fill_in.factorise(arrow.tocsc(), "natural")
        self.assertEqual((found["factor_entries"], found["fill_in"]), (36, 36 - arrow.nnz))
        self.assertAlmostEqual(abs(arrow.tocsc() @ x - 1).max(), 0)
        self.assertEqual(fill_in.factorise(arrow.tocsc(), "minimum degree")[0]["fill_in"], 0)

    def test_growth(self):
        def record(side, growth, cg_us):
            return {"kind": "fill-in", "grid": f"g{side}", "dimensions": 2, "side": side, "rows": side * side,
                    "nnz": 100, "matrix_bytes": 1, "order": "minimum degree", "factor_entries": 100 * growth,
                    "fill_in": 1,
                    "factor_bytes": 1000, "factor_us": 50, "solve_us": 1, "cg_bytes": 10, "cg_us": cg_us,
                    "cg_iterations": 3, "distance": 1e-12, "status": "ok", "reason": ""}
        for growth, cg_us, verdicts in ((9, 5, ["confirmed", "confirmed"]), (3, 500, ["refuted", "refuted"])):
            claims, problems = report_of(seed004, [record(8, 2, 1), record(64, growth, cg_us)], "004")
            self.assertEqual(problems, [])
            self.assertEqual([claim.verdict for claim in claims.values()], verdicts)

    def test_factors_that_shrink_are_a_problem(self):
        record = {"kind": "fill-in", "grid": "g", "dimensions": 2, "nnz": 100, "matrix_bytes": 1, "order": "natural",
                  "fill_in": 1, "factor_bytes": 1000, "factor_us": 50, "solve_us": 1, "cg_bytes": 10, "cg_us": 3,
                  "cg_iterations": 3, "distance": 1e-12, "status": "ok", "reason": ""}
        _, problems = report_of(seed004, [{**record, "side": 8, "rows": 64, "factor_entries": 900},
                                          {**record, "side": 16, "rows": 256, "factor_entries": 800}], "004")
        self.assertTrue(any("factors do not grow" in problem for problem in problems))
        far = {**record, "side": 8, "rows": 64, "factor_entries": 900, "distance": 0.1}
        _, problems = report_of(seed004, [far], "004")
        self.assertTrue(any("solutions differ" in problem for problem in problems))

    def test_the_file_is_the_example(self):
        with open(os.path.join(ROOT, "study", "seed004", "lecture.mtx"), encoding="utf-8") as file:
            self.assertIn("5 5 12\n", file.read())


if __name__ == "__main__":
    unittest.main()
