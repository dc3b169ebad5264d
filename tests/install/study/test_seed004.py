"""Study of seed 004: the table of storage, the tree's leaves on invented times, and fill-in if SciPy is installed."""
import copy
import os
import unittest

from support import ROOT, product, report_of

import seed004
from seed004 import fill_in, leaves, storage

BALANCED = "insensitive to row length distribution: perfect load balance"

# The lecture's 5 x 5 example: 12 entries, at most 4 in a row. HYB has an ELL part of width 2 and 3 entries in COO.
LECTURE = {"kind": "matrix", "matrix": "lecture", "rows": 5, "columns": 5, "nnz": 12, "mean_row": 2.4, "max_row": 4,
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


def timed(times, taken, ours=None):
    """Returns records of the leaves by the lecture's kernels and by ours, with microseconds by format, and of the
    tree's choice."""
    found = [product("lecture", f"{form}_x_cuda", us, kind="leaf", asked="format")
             for form, us in (ours or times).items()]
    found += [product("lecture", leaves.LISTED[form], us, kind="leaf", deterministic=False)
              for form, us in times.items()]
    return found + [product("lecture", f"{taken}_x_cuda", 99, kind="leaf", asked="", policy="tree", format="auto")]


class Leaves(unittest.TestCase):
    def test_timed(self):
        found = leaves.Timed(timed({"csr": 10, "ell": 5, "hyb": 6, "coo": 20}, "hyb", {"csr": 3, "hyb": 6}))
        self.assertEqual((found.taken, found.over(found.printed), found.over(found.times)), ("hyb", 1.2, 2))
        self.assertEqual((leaves.fastest(found.printed), leaves.fastest(found.times)), ("ell", "csr"))
        self.assertEqual(found.library(), (None, None))

    def verdicts(self, times, taken, more=(), atomic=1.1, ours=None):
        others = [product("alike", k, 1, kind="balance")
                  for k in ("coo_atomic_cuda", "coo_segmented_cuda", "csr_scalar_cuda")]
        others += [product("uneven", k, us, kind="balance") for k, us in
                   (("coo_atomic_cuda", atomic), ("coo_segmented_cuda", 1.1), ("csr_scalar_cuda", 4))]
        others += [product("lecture", f"{form}_y_cuda", us, kind="transposed", format=form) for form, us in
                   (("csr", 3), ("csc", 2))]
        each = timed(times, taken, ours) + list(more)
        both = [{**record, "type": kind} for kind in ("f32", "f64") for record in each]
        self.claims, problems = report_of(seed004, [LECTURE, *both, *others], "004")
        self.assertEqual(problems, [])
        return {text: claim.verdict for (_, text), claim in self.claims.items()}

    def test_a_leaf_holds_or_not(self):
        holds = self.verdicts({"csr": 10, "ell": 5, "hyb": 6, "coo": 20}, "ell")
        self.assertEqual(holds["uniform, max ~ avg: ELL"], "confirmed")
        self.assertEqual(holds["uniform, max > avg: HYB"], "not comparable")
        self.assertEqual(holds[BALANCED], "confirmed")
        self.assertEqual(holds["Column ops? CSC"], "confirmed")
        self.assertEqual(holds["HYB > 3 nnz, < 2 M K words"], "refuted")
        fails = self.verdicts({"csr": 10, "ell": 15, "hyb": 6, "coo": 20}, "ell")
        self.assertEqual(fails["uniform, max ~ avg: ELL"], "refuted")
        varied = self.verdicts({"csr": 10, "coo": 20, "hyb": 30}, "csr")
        self.assertEqual(varied["Unpredictable? HYB (tree:unpredictable)"], "refuted")

    def test_printed_kernels_give_the_verdict(self):
        found = self.verdicts({"csr": 10, "ell": 5}, "ell", ours={"csr": 5, "ell": 10})
        self.assertEqual(found["uniform, max ~ avg: ELL"], "confirmed")
        claim = self.claims["Decision Tree", "uniform, max ~ avg: ELL"]
        self.assertIn("on 1 of 1 matrices, 1.00 times its time", claim.found)
        self.assertTrue(claim.ours.startswith("refuted: within the margin of the fastest of the four on 0 of 1"))

    def test_each_way_of_coo_has_its_finding(self):
        segmented = {"csr": 10, "coo": 0.5}
        found = self.verdicts({"csr": 10, "coo": 3}, "csr", atomic=1.3, ours=segmented)
        claim = self.claims["COO for Maximal Parallelism", BALANCED]
        self.assertEqual(found[BALANCED], "refuted")
        self.assertIn("1.30 times as long", claim.found)
        self.assertIn("6 to 6 times the time of segmented sums on the 1 matrices", claim.found)
        self.assertTrue(claim.ours.startswith("confirmed: by segmented sums 1.10"))

    def test_cusparse_is_judged_by_equal_numbers(self):
        """The default against the tree's leaf, the fastest algorithm against the fastest leaf."""
        text = "Using library? cuSPARSE: production code, optimized kernels"
        for default, best, verdict in ((10, 5, "confirmed"), (11, 5, "not comparable"), (11, 10, "refuted")):
            peers = [product("lecture", name, us, kind="leaf", peer=True, asked="")
                     for name, us in (("cusparse_csr_alg1", default), ("cusparse_coo_alg1", best))]
            self.assertEqual(self.verdicts({"csr": 10, "coo": 8}, "csr", peers)[text], verdict)
            found = self.claims["Considerations", text].found
            self.assertIn(f"takes {default / 10:.2f} times the time of the leaf that the tree chooses", found)
            self.assertIn(f"algorithms takes {min(best, default) / 8:.2f} times that of the fastest of 4 leaves", found)
        features = "auto format selection/conversion; CSR, CSC, COO, ELL, HYB"
        self.assertEqual(self.claims["cuSPARSE Library", features].verdict, "not comparable")

    def test_storage_goes_by_what_was_built(self):
        built = {"csr": 120, "coo": 144, "ell": 200, "hyb": 500}
        sizes = [product("lecture", f"{form}_x_cuda", 10, kind="leaf", asked="format", bytes=size)
                 for form, size in built.items()]
        found = self.verdicts({}, "csr", sizes)
        self.assertEqual(found["CSR 2 nnz + M + 1, COO 3 nnz words"], "confirmed")
        self.assertEqual(found["ELL 2 M K words"], "not comparable")
        self.assertIn("1.25 to 1.25 times", self.claims["Storage Requirements", "ELL 2 M K words"].found)
        self.assertEqual(found["Memory constrained? CSR"], "confirmed")
        sizes[0]["bytes"] += 100
        found = self.verdicts({}, "csr", sizes)
        self.assertEqual(found["CSR 2 nnz + M + 1, COO 3 nnz words"], "refuted")
        self.assertEqual(found["Memory constrained? CSR"], "refuted")

    def test_shares_of_the_bandwidth(self):
        for roofs, verdict in (((0.2, 0.6), "not comparable"), ((0.5, 0.6), "confirmed"), ((0.4, 0.3), "refuted")):
            found = [{**LECTURE, "matrix": name} for name in "ab"]
            for name, roof in zip("ab", roofs):
                for kind in ("f32", "f64"):
                    found += [{**r, "matrix": name, "type": kind, "roof": roof} for r in timed({"csr": 10}, "csr")]
            found += [product("a", f"{form}_y_cuda", 1, kind="transposed", format=form) for form in ("csr", "csc")]
            claim = report_of(seed004, found, "004")[0]["Conclusion", "memory-bound operations"]
            self.assertEqual(claim.verdict, verdict)
        self.assertIn("in 0 of 4 cases, 30 to 40 %, median 35 %", claim.found)

    def test_hardware(self):
        """The CPU has no printed kernels: the verdict is in the column of ours."""
        key = "Conclusion", "hardware characteristics influence format choice"
        for csr, ell, spread, verdict in ((10, 20, 1, "confirmed"), (20, 10, 1, "refuted"), (10, 11, 3, "refuted")):
            cpu = [{**record, "device": "cpu", "spread_us": spread}
                   for record in timed({"csr": csr, "ell": ell}, "csr")]
            self.assertEqual(self.verdicts({"csr": 20, "ell": 10}, "ell", cpu)[key[1]], "judged by a variant")
            self.assertTrue(self.claims[key].ours.startswith(verdict), (csr, ell))
        self.assertEqual(self.verdicts({"csr": 20, "ell": 10}, "ell")[key[1]], "not comparable")

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
        arrow[0, 1:] = arrow[1:, 0] = -1.0  # in the natural order, elimination fills all entries
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
                    "cg_iterations": 3, "cg_format": "csr", "distance": 1e-12, "status": "ok", "reason": ""}
        for growth, cg_us, verdicts in ((9, 53, ["confirmed", "confirmed"]), (3, 54, ["refuted", "refuted"])):
            claims, problems = report_of(seed004, [record(8, 2, 1), record(64, growth, cg_us)], "004")
            self.assertEqual(problems, [])
            self.assertEqual([claim.verdict for claim in claims.values()], verdicts)
            self.assertIn("4096 rows (0.9", list(claims.values())[1].found)

    def test_factors_that_shrink_are_a_problem(self):
        record = {"kind": "fill-in", "grid": "g", "dimensions": 2, "nnz": 100, "matrix_bytes": 1, "order": "natural",
                  "fill_in": 1, "factor_bytes": 1000, "factor_us": 50, "solve_us": 1, "cg_bytes": 10, "cg_us": 3,
                  "cg_iterations": 3, "cg_format": "csr", "distance": 1e-12, "status": "ok", "reason": ""}
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
