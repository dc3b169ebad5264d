"""Study of seed 003: PageRank in plain Python, statistics of rows, and verdicts on invented times."""
import unittest

from support import envelopes_of, product, report_of

import seed003
from common.records import Results
from common.report import runs_of
from seed003 import pagerank, rows


SLOWER = "therefore scalar is slower on rows of 32 entries and more"
UNEVEN = "non-uniform distribution of nonzeros may lead to serialization"


def results_of(found):
    return Results(envelopes_of(found, "003"))


def info(histogram, **others):
    nnz = others.pop("nnz")
    count = sum(part["rows"] for part in histogram)
    return {"histogram": histogram, "nnz": nnz, "rows": count, "mean_row": nnz / count,
            "max_row": max(part["to"] for part in histogram), **others}


def matrix(name, length, count=100, longest=None):
    part = {"from": length, "to": length, "rows": count}
    return {"kind": "matrix", "matrix": name, **info([part], nnz=length * count, empty_rows=0),
            **({"max_row": longest} if longest else {})}


class PageRank(unittest.TestCase):
    def test_two_nodes(self):
        # Node 0 links to nodes 0 and 1, node 1 links to node 0. The solution of x = alpha B x + (1 - alpha)/2 has
        # x0 = (1 + alpha)/(2 + alpha).
        x, iterations, stochastic = pagerank.ranks(2, [(0, 0, 3.0), (1, 0, 3.0), (0, 1, 7.0)])
        self.assertAlmostEqual(x[0], 1.85 / 2.85, places=11)
        self.assertFalse(stochastic)
        self.assertGreater(iterations, 1)

    def test_a_column_of_zeros_aborts(self):
        with self.assertRaises(pagerank.ZeroColumn):
            pagerank.ranks(2, [(0, 0, 1.0), (1, 0, 1.0)])

    def test_stochastic_as_it_stands(self):
        self.assertTrue(pagerank.ranks(2, [(0, 1, 1.0), (1, 0, 1.0)])[2])
        self.assertFalse(pagerank.ranks(2, [(0, 1, 1.001), (1, 0, 1.0)])[2])


class Rows(unittest.TestCase):
    def test_accesses_are_those_printed(self):
        self.assertEqual(rows.scalar_accesses(rows.PTR), rows.PRINTED_SCALAR)
        self.assertEqual(rows.vector_accesses(rows.PTR), rows.PRINTED_VECTOR)
        self.assertNotEqual(rows.scalar_accesses((0, 2, 4, 6, 9)), rows.PRINTED_SCALAR)

    def test_sectors_and_lanes(self):
        diagonal, long = matrix("d", 1), matrix("l", 65)
        self.assertEqual(rows.scalar_sectors(diagonal), 4)
        self.assertEqual(rows.scalar_sectors(long), 32)
        self.assertEqual(rows.busy_lanes(diagonal), 1)
        self.assertAlmostEqual(rows.busy_lanes(long), 65 / 3)
        self.assertEqual(rows.used(32, 4), 1)

    def test_sectors_of_y(self):
        self.assertEqual((rows.result_sectors(32), rows.result_sectors(1)), (4, 32))

    def test_reason_names_the_faster(self):
        self.assertTrue(rows.reason(matrix("d", 1), 0.5, 1.05).startswith("scalar: "))
        self.assertTrue(rows.reason(matrix("d", 1), 2.0, 1.05).startswith("vector: "))
        self.assertTrue(rows.reason(matrix("d", 1), 1.01, 1.05).startswith("even: "))


def records(diagonal=(1, 5), long=(5, 1), even=(1, 1), uneven=(9, 2), graph="cnr-2000"):
    """Returns records with (scalar, vector) microseconds of each matrix, in both types."""
    twin = graph == "flickr's twin"
    found = [matrix("row length 1", 1), matrix("row length 65", 65),
             matrix("uniform, 12 a row" if twin else f"uniform, as {graph}", 12),
             {**matrix(graph, 12, longest=900), "source": "gen:twin,longest=900" if twin else "file"}]
    for entry, times in zip(list(found), (diagonal, long, even, uneven)):
        for kind in ("f32", "f64"):
            for kernel, us in zip((rows.SCALAR, rows.SHUFFLE, rows.SHARED, rows.BY_MEAN, rows.ELL),
                                  (times[0], times[1], times[1], times[1], times[0])):
                found.append(product(entry["matrix"], kernel, us, type=kind))
    found.append({"kind": "step", "device": "cpu", "step": "a", "printed": "p", "found": "f", "holds": True})
    found.append({"kind": "ranks", "matrix": "g", "rows": 4, "nnz": 9, "device": "cpu", "asked": "csr", "kernel": "k",
                  "iterations": 7, "iteration_us": 1.0, "product_us": 1.0, "verdict": "converged"})
    return found


class Told(unittest.TestCase):
    """Tests what reports state about runs and clocks (study/common)."""

    def test_slow_cases_have_fewer_runs(self):
        cases = [product("short", "a", 1, runs=60), product("long", "b", 1, runs=12),
                 product("none", "c", 1, runs=None)]
        lines = [{**line, "command": "spry bench m --runs 30 --json"} for line in envelopes_of(cases, "003")]
        text = runs_of(Results(lines), cases)
        self.assertTrue(text.startswith("Median of 30 runs;"), text)
        self.assertTrue(text.endswith("Slow cases have fewer runs: b on long (12)."), text)
        self.assertNotIn("fewer", runs_of(Results(lines), cases[:1]))
        quick = [{**line, "command": "spry bench m --runs 3"} for line in lines]
        self.assertTrue(runs_of(Results(quick), cases).startswith("Median of 3 runs;"))
        self.assertEqual(runs_of(results_of(cases), cases), "Median of the runs.")

    def test_clocks_are_of_jobs_that_used_the_gpu(self):
        lines = envelopes_of([product("m", "a", 1), product("m", "b", 1, device="cpu"), {"kind": "matrix"}], "003")
        for line, clocks in zip(lines, ("1980", "345", "360")):
            line["clocks"] = clocks
        self.assertEqual(Results(lines).machines()["1"][2], {"1980"})


class Verdicts(unittest.TestCase):
    def verdicts(self, **times):
        self.claims, problems = report_of(seed003, records(**times), "003")
        self.assertEqual(problems, [])
        return {text: claim.verdict for (_, text), claim in self.claims.items()}

    def test_as_the_tutorial_says(self):
        verdicts = self.verdicts()
        for text in ("non-coalesced memory access to indices and data", "steps a to e", SLOWER,
                     "non-uniform distribution of nonzeros may lead to serialization",
                     "non-uniform distribution of nonzeros is handled to some degree"):
            self.assertEqual(verdicts[text], "confirmed", text)
        self.assertEqual(self.claims["not the tutorial's", SLOWER].ours,
                         "confirmed: with shuffles: time of scalar / time of vector, f32: 5.00 on rows of 65")
        self.assertIn("longest 900): scalar 9.00", self.claims["CSR Kernel 1, observations", UNEVEN].found)

    def test_twins_have_no_vote(self):
        self.assertEqual(self.verdicts(graph="flickr's twin")[UNEVEN], "not comparable")

    def test_and_as_it_does_not(self):
        self.assertEqual(self.verdicts(long=(1, 1.1))[SLOWER], "refuted")
        self.assertEqual(self.verdicts(long=(1.04, 1))[SLOWER], "not comparable")
        verdicts = self.verdicts(uneven=(1, 2))
        self.assertEqual(verdicts[UNEVEN], "refuted")
        self.assertEqual(verdicts["non-uniform distribution of nonzeros is handled to some degree"], "refuted")

    def test_one_band_that_is_not_slower_refutes(self):
        between = [{**matrix("row length 33", 33)}] + [product("row length 33", kernel, us, type=kind)
                                                       for kernel, us in ((rows.SCALAR, 1), (rows.SHARED, 2),
                                                                          (rows.SHUFFLE, 2))
                                                       for kind in ("f32", "f64")]
        claims, _ = report_of(seed003, between + records(), "003")
        self.assertEqual(claims["not the tutorial's", SLOWER].verdict, "refuted")

    def test_questions_are_answered_without_a_verdict(self):
        self.assertFalse([text for text in self.verdicts() if text.endswith("?")])
        products = {kind: seed003.Products(results_of(records()), kind) for kind in ("f32", "f64")}
        self.assertIn("takes 5.0 times as long as one thread per row", seed003.answer_on_diagonals(products["f32"]))
        self.assertIn("f64: vector is faster on 2 of 4 matrices, by more than the margin of 1.05; on bands from 65 "
                      "entries per row on",
                      seed003.answer_on_matrices(products))
        nothing = {kind: seed003.Products(results_of([]), kind) for kind in ("f32", "f64")}
        self.assertEqual(seed003.answer_on_diagonals(nothing["f32"]), "not measured")

    def test_crossing(self):
        for times, length in (({}, 65), ({"diagonal": (5, 1)}, 1), ({"long": (1, 5)}, None),
                              ({"long": (1.04, 1)}, None)):
            self.assertEqual(seed003.crossing(seed003.Products(results_of(records(**times)), "f32")), length)

    def test_a_step_that_differs_is_a_problem(self):
        found = records()
        found[-2]["holds"] = False
        claims, problems = report_of(seed003, found, "003")
        self.assertTrue(any("PageRank step a" in problem for problem in problems))
        self.assertEqual(claims["Assignment: PageRank", "steps a to e"].verdict, "refuted")


if __name__ == "__main__":
    unittest.main()
