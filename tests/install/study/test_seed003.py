"""Seed 003's study: PageRank in plain Python, what is counted of rows, and verdicts on times that were made up."""
import unittest

from support import product, report_of

import seed003
from seed003 import pagerank, rows


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
        # 0 links to both, 1 to 0: x = alpha B x + (1 - alpha)/2 has x0 = (1 + alpha)/(2 + alpha)
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

    def test_reason_names_the_faster(self):
        self.assertTrue(rows.reason(matrix("d", 1), 0.5).startswith("scalar: "))
        self.assertTrue(rows.reason(matrix("d", 1), 2.0).startswith("vector: "))
        self.assertTrue(rows.reason(matrix("d", 1), 1.01).startswith("even: "))


def records(diagonal=(1, 5), long=(5, 1), even=(1, 1), uneven=(9, 2)):
    """(scalar, vector) microseconds of each matrix, in both types."""
    found = [matrix("row length 1", 1), matrix("row length 65", 65), matrix("uniform, 12 a row", 12),
             matrix("flickr's twin", 12, longest=900)]
    for entry, times in zip(list(found), (diagonal, long, even, uneven)):
        for kind in ("f32", "f64"):
            for kernel, us in zip((rows.SCALAR, rows.SHUFFLE, rows.SHARED, rows.BY_MEAN, rows.ELL),
                                  (times[0], times[1], times[1], times[1], times[0])):
                found.append(product(entry["matrix"], kernel, us, type=kind))
    found.append({"kind": "step", "device": "cpu", "step": "a", "printed": "p", "found": "f", "holds": True})
    found.append({"kind": "ranks", "matrix": "g", "rows": 4, "nnz": 9, "device": "cpu", "asked": "csr", "kernel": "k",
                  "iterations": 7, "iteration_us": 1.0, "product_us": 1.0, "verdict": "converged"})
    return found


class Verdicts(unittest.TestCase):
    def verdicts(self, **times):
        claims, problems = report_of(seed003, records(**times), "003")
        self.assertEqual(problems, [])
        return {text: claim.verdict for (_, text), claim in claims.items()}

    def test_as_the_tutorial_says(self):
        verdicts = self.verdicts()
        for text in ("what about diagonal matrices?", "non-coalesced memory access to indices and data", "steps a to e",
                     "non-uniform distribution of nonzeros may lead to serialization",
                     "non-uniform distribution of nonzeros is handled to some degree"):
            self.assertEqual(verdicts[text], "confirmed", text)

    def test_and_as_it_does_not(self):
        self.assertEqual(self.verdicts(diagonal=(1, 1))["what about diagonal matrices?"], "refuted")
        self.assertEqual(self.verdicts(long=(1, 1))["and so scalar is the slower one on rows of 32 entries and more"],
                         "refuted")
        verdicts = self.verdicts(uneven=(1, 2))
        self.assertEqual(verdicts["non-uniform distribution of nonzeros may lead to serialization"], "refuted")
        self.assertEqual(verdicts["non-uniform distribution of nonzeros is handled to some degree"], "refuted")

    def test_crossing(self):
        from common.records import Results
        envelope = {"job": "j", "machine": {"id": "1"}, "date": "d", "quick": False, "mock": False}
        for times, length in (({}, 65), ({"diagonal": (5, 1)}, 1), ({"long": (1, 5)}, None)):
            results = Results([{**envelope, "record": record} for record in records(**times)])
            self.assertEqual(seed003.crossing(seed003.Products(results, "f32")), length)

    def test_a_step_that_differs_is_a_problem(self):
        found = records()
        found[-2]["holds"] = False
        claims, problems = report_of(seed003, found, "003")
        self.assertTrue(any("PageRank step a" in problem for problem in problems))
        self.assertEqual(claims["Assignment: PageRank", "steps a to e"].verdict, "refuted")


if __name__ == "__main__":
    unittest.main()
