"""Study of seed 001: tables, claims and the stages of Band-k, on invented records."""
import argparse
import csv
import os
import tempfile
import unittest

from support import MACHINE, reports, words_of

import seed001
from common import records
from seed001 import stages, suite


PEERS = ("csr5_authors_cpu", "mkl_csr", "cusparse_csr_alg1")


def envelope(job, record, machine="a", done=False):
    about = {"seed": "001", "job": job, "quick": False, "mock": False, "date": "2026-01-01",
             "machine": {**MACHINE, "id": machine}, "clocks": "", "command": "c"}
    return {**about, "done": True} if done else {**about, "record": record}


def case(kernel, ordering, mean, matrix, threads=16, **more):
    """Returns a record of a million entries. 2000 us correspond to one GFLOP/s."""
    return {"matrix": matrix, "rows": 250000, "nnz": 1000000, "type": "f64", "device": "cpu", "threads": threads,
            "format": kernel.split("_")[0], "kernel": kernel, "peer": kernel in PEERS, "twin": True,
            "ordering": ordering, "mean_us": mean, "time_us": mean, "spread_us": 10, "status": "ok", "reason": "",
            **more}


def cpu(matrix, factor):
    times = (("csr_portable_cpu", "none", 1600), ("csr_portable_cpu", "rcm", 1500), ("csr2_listing_cpu", "none", 2000),
             ("csr2_listing_cpu", "bandk2", 1000), ("csr2_listing_cpu:srs=24", "none", 800),
             ("csr3_listing_cpu", "none", 2000), ("csr3_listing_cpu", "bandk3", 1250),
             ("csr4_listing_cpu", "bandk4", 100), ("csr5_authors_cpu", "none", 4000),
             ("csr5_authors_cpu", "rcm", 2000))
    return [case(kernel, ordering, factor * mean, matrix) for kernel, ordering, mean in times]


def sweep():
    times = ((8, 3000), (64, 1100), (96, 1100), (256, 1000), (512, 1005), (3072, 2000))
    return [case(f"csr2_listing_cpu:srs={srs}", "none", mean, "debr") for srs, mean in times] + \
        [case("csr_portable_cpu", "none", 1000, "debr")]


def threads():
    gains = (("mkl_csr", "rcm", 4), ("csr2_listing_cpu", "bandk2", 10), ("csr5_authors_cpu", "rcm", 9),
             ("csr3_listing_cpu", "bandk3", 8.5))
    return [case(kernel, ordering, 16000 / (1 if team == 1 else gain), "debr", team)
            for kernel, ordering, gain in gains for team in (1, 16)]


def mesh():
    times = (("csr_avx2_cpu", 1000), ("csr2_listing_cpu:srs=96", 1500), ("csr2_listing_cpu:srs=384", 1600),
             ("csr2_listing_avx2_cpu:srs=96", 1200), ("csr2_listing_avx2_cpu:srs=384", 1050))
    return [case(kernel, "none", mean, "grid5") for kernel, mean in times]


def inner(seven, nine):
    """Returns times for rows of seven and of nine entries. seven, nine: time with one thread per row, divided by the
    time with multiple threads."""
    return [case(kernel, "none", mean, f"banded {length}") for length, ratio in ((7, seven), (9, nine))
            for kernel, mean in (("csr3_gpuspmv3_cuda", 1000 * ratio), ("csr3_gpuspmv35_cuda", 1000))]


TABLE_1 = {"kind": "table 1", "matrix": "debr", "rows": 1048000, "nnz": 4192000, "max_row": 4, "mean_row": 4,
           "variance_row": 0.5, "pattern_symmetry": 0.975, "class": "regular", "twin": True, "status": "ok"}
# Rows 0 and 2 are joined, and rows 1 and 3. In the new order, the rows of each pair are neighbours.
FIGURE_2 = {"kind": "figure 2", "status": "ok", "rows": 4, "entries": [[0, 0], [0, 2], [2, 0], [1, 3], [3, 1]],
            "order": [0, 2, 1, 3], "sr_ptr": [0, 2, 4], "ssr_ptr": [0, 2], "rcm_bandwidth": 1}
AGAIN = {"repeat of cpu, 1": cpu("debr", 1.02)}
ONE = {"cpu, 1": cpu("debr", 1), **AGAIN, "sizes of debr": sweep(), "mesh grid5": mesh(), "threads, 1": threads(),
       "table 1, 1": [TABLE_1],
       "figure 2": [FIGURE_2]}
GPU = {"gpu, 1": [case(kernel, "none", mean, "FullChip", format=form) for kernel, form, mean in (
    ("csr3_gpuspmv3_cuda", "csr3", 4000), ("csr3_gpuspmv3_cuda", "csr3:tuning=volta", 4000),
    ("csr3_gpuspmv35_cuda", "csr3:by=longest", 1000),
    ("csr2_lanes_cuda", "csr2", 2000))]}


def jobs(found, machine="a"):
    return [envelope(job, record, machine) for job, list_ in found.items() for record in list_]


class Made:
    """The tables (rows by their first cells), claims and problems of a report."""

    def __init__(self, envelopes):
        with tempfile.TemporaryDirectory() as out:
            options = argparse.Namespace(seed="001", no_figures=True, quick=False, only=None)
            report = reports.Report(options, records.Results(envelopes), out)
            seed001.report(report.results, report)
            self.tables = {}
            for name in os.listdir(os.path.join(out, "tables")):
                if name.endswith(".csv"):
                    with open(os.path.join(out, "tables", name), encoding="utf-8") as file:
                        self.tables[name[:-4]] = list(csv.reader(file))
        self.problems, self.text = report.problems, "\n".join(report.parts)
        self.claims = report.claims

    def row(self, table, *begin):
        return next(row for row in self.tables[table] if row[:len(begin)] == list(begin))

    def claim(self, part, found=""):
        return next(c for c in self.claims if part in c.text and found in c.found)


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.one = Made(jobs(ONE))

    def test_nothing_is_wrong(self):
        self.assertEqual(self.one.problems, [])

    def test_numberings(self):
        # debr is regular with a symmetric pattern. The table "better" uses each kernel's better numbering.
        for numbering, name, rate in (("as-given", "csr2_listing_cpu", "1.0"), ("reordered", "csr5_authors_cpu", "1.0"),
                                      ("better", "csr2_listing_cpu", "2.0"), ("as-given", "csr5_authors_cpu", "0.5")):
            row = self.one.row(f"classes-cpu-f64-{numbering}", f"`{name}`")
            self.assertEqual(row[1:], [rate, "", rate, "", "", "", rate])

    def test_words(self):
        told = words_of(seed001, [r for found in ONE.values() for r in found], "001")
        for word in ("as given", "reordered", "better", "listing", "twin"):
            self.assertIn(word, told)
        self.assertNotIn("padding guard", told)

    def test_tuned_is_the_best_of_the_sizes(self):
        row = self.one.row("ratios-cpu-f64", "`CSR-2`", "`CSR5`")
        self.assertEqual(row[2:], ["2.5", "", "2.5", "2.50 debr", "2.50 debr", "1"])

    def test_equal_candidates(self):
        # CSR-2 has two sizes and CSR5 has one kernel, so the better size of CSR-2 counts.
        claim = self.one.claim("faster than CSR5 on regular")
        self.assertEqual((claim.found, claim.verdict), (
            "double on the CPU: CSR-2 2.5, 2.5, 2.5 GFLOP/s; CSR5 1.0, 1.0, 1.0 GFLOP/s; ratios 2.50, 2.50, 2.50",
            "confirmed"))
        self.assertIn("1.05 (from repeats on 1 matrices); kernels a side: 1, in two orders", claim.why)

    def test_noise_decides_nothing(self):
        noisy = {"cpu, 1": cpu("debr", 1), "repeat of cpu, 1": cpu("debr", 3)}
        claim = Made(jobs(noisy)).claim("faster than CSR5 on regular")
        self.assertEqual(claim.verdict, "not comparable")
        self.assertIn("margin of means, 3.00", claim.why)

    def test_choice_of_k(self):
        self.assertEqual(self.one.row("k-cpu-f64", "3")[1:], ["`CSR-3`", "1.6", "", "1.6", "debr", "none"])
        claim = self.one.claim("CSR-2 always outperforms CSR-3")
        self.assertEqual(claim.found, "double on the CPU: CSR-2 2.5, 2.5, 2.5 GFLOP/s; CSR-3 1.6, 1.6, 1.6 GFLOP/s; "
                                      "ratios 1.56, 1.56, 1.56")
        self.assertEqual(claim.verdict, "confirmed")

    def test_sizes(self):
        # The times of sizes 256 and 512 are within 1 % of the best time. The geometric mean of both sizes is 362. Size 96
        # is 10 % slower.
        row = self.one.row("sizes-csr2_listing_cpu", "debr")
        self.assertAlmostEqual(float(row[2]), 362.04, places=2)
        self.assertEqual(row[3:5] + row[6:], ["1000", "1.1", "3.0", "1.0"])
        claim = self.one.claim("SRS = 96")
        self.assertEqual((claim.found, claim.verdict), ("csr2_listing_cpu: 10.0 % slower than the best sizes; the "
                                                        "best single size, 256, is 0.0 % slower",
                                                        "not comparable"))
        again = Made(jobs({"sizes of debr": sweep(), "repeat of sizes of debr": [
            {**c, "mean_us": 1000} if "srs=96" in c["kernel"] else c for c in sweep()]}))
        self.assertEqual(again.row("sizes-csr2_listing_cpu", "debr")[4], "1.0")
        self.assertEqual(again.claim("SRS = 96").verdict, "confirmed")
        self.assertEqual(self.one.claim("prefer an SRS of 40 to 1000").found, "csr2_listing_cpu: 1 of 1 matrices")

    def test_mesh(self):
        self.assertEqual(self.one.row("mesh", "grid5")[1:], ["1000", "csr2_listing_cpu:srs=96", "1.5",
                                                            "csr2_listing_avx2_cpu:srs=384", "1.05"])
        claim = self.one.claim("at most 1.1 times balanced csr's time")
        self.assertEqual((claim.found, claim.verdict), ("1.50 times csr's time, 1.50 at most", "refuted"))
        self.assertEqual(claim.ours, "not comparable: 1.05 times, 1.05 at most, with vector rows")

    def test_scalability(self):
        row = [float(cell) for cell in self.one.row("figure5", "16")]
        for value, expected in zip(row, (16, 4, 10, 9, 8.5)):
            self.assertAlmostEqual(value, expected)
        claim = self.one.claim("8 to 12 times")
        self.assertIn("CSR-2 10.0, CSR-3 8.5, CSR5 9.0", claim.found)
        self.assertEqual(claim.verdict, "confirmed")
        self.assertEqual(self.one.claim("with all cores CSR-2 does better").verdict, "confirmed")

    def test_reordering(self):
        text = "double on the CPU, `csr2_listing_cpu`: times as fast as in the given order: "
        claim = self.one.claim("CSR-2 is faster with the ordering Band-k")
        self.assertEqual((claim.found, claim.verdict), (text + "2.00 on 1 twins", "not comparable"))
        real = [{**c, "twin": False} for name in ("debr", "M6", "NLR", "ss", "nv2") for c in cpu(name, 1)]
        made = Made(jobs({"cpu, 1": real, **AGAIN}))
        claim = made.claim("CSR-2 is faster with the ordering Band-k")
        self.assertEqual((claim.verdict, claim.ours), ("judged by a variant", "confirmed: 2.00, 2.00, 2.00"))
        self.assertEqual(made.row("orderings-cpu-f64", "`csr5_authors_cpu`")[1:6], ["RCM", "", "0", "0", "0"])

    def test_rcm(self):
        times = [case("mkl_csr", ordering, mean, m, twin=False) for m in ("debr", "M6", "NLR", "ss", "nv2")
                 for ordering, mean in (("none", 1000), ("rcm", 2000))]
        claim = Made(jobs({"cpu, 1": times, "repeat of cpu, 1": times})).claim("RCM improves performance")
        self.assertEqual(claim.verdict, "refuted")
        self.assertIn("debr 0.50; M6 0.50", claim.found)

    def test_table_1(self):
        self.assertEqual(self.one.row("table1", "r8"), ["r8", "97.5", "100", "debr", "1.048", "1.05", "4.192", "4.19",
                                                       "4", "4", "4", "0.5", "regular", "twin"])

    def test_claims_that_fail(self):
        slow = {"cpu, 1": [{**c, "mean_us": 9 * c["mean_us"]} if c["kernel"].startswith("csr2") else c
                           for c in cpu("debr", 1)],
                "sizes of debr": [{**c, "mean_us": 2000} if "srs=96" in c["kernel"] else c for c in sweep()],
                "threads, 1": [{**c, "mean_us": 100} if c["threads"] == 16 else c for c in threads()]}
        made = Made(jobs({**slow, "repeat of cpu, 1": slow["cpu, 1"]}))
        for part in ("CSR-2 always outperforms CSR-3", "SRS = 96", "8 to 12 times", "CSR5 on regular"):
            self.assertEqual(made.claim(part).verdict, "refuted", part)


class Merged(unittest.TestCase):
    def test_two_machines(self):
        one, both = Made(jobs(ONE)), Made(jobs(ONE) + jobs({"cpu, 2": cpu("FullChip", 4), **GPU}, "b"))
        self.assertEqual(both.problems, [])
        for table in ("figure2", "figure5", "sizes-csr2_listing_cpu", "table1"):
            self.assertEqual(one.tables[table], both.tables[table], table)
        self.assertEqual(both.row("classes-cpu-f64-better", "`csr2_listing_cpu`")[1:],
                         ["2.0", "", "2.0", "0.5", "", "0.5", "1.25"])
        self.assertIn("divided among 2 machines", both.text)
        self.assertIn("2 of 64 matrices, 2 of them twins, with 16 threads. Not measured: belgium_osm ", both.text)
        self.assertNotIn("shared out", one.text)

    def test_gpu(self):
        made = Made(jobs(GPU))
        self.assertEqual(made.row("k-gpu-f64", "3")[1:], ["`CSR-3`", "", "0.5", "0.5", "FullChip", "none"])
        claim = made.claim("CSR-2 beats CSR-3")
        self.assertEqual((claim.verdict, claim.ours[:13]), ("judged by a variant", "refuted: on 1"))
        self.assertIn("no licence", made.claim("TileSpMV").why)
        self.assertEqual(made.row("longest-f64", "irregular")[1:], ["1", "4.0", "4.0", "4.0"])
        claim = made.claim("longest row")
        self.assertEqual((claim.verdict, claim.ours[:10]), ("judged by a variant", "confirmed:"))
        self.assertEqual(made.claim("cuSPARSE").verdict, "not comparable")

    def test_a_wrong_result_is_a_problem(self):
        wrong = {**case("csr2_listing_cpu", "none", None, "debr"), "status": "wrong"}
        self.assertTrue(any("wrong: debr f64 csr2_listing_cpu" in p for p in
                            Made(jobs({"cpu, 1": [*cpu("debr", 1), wrong]})).problems))

    def test_a_wrong_result_of_a_peer_has_no_rate(self):
        wrong = {**case("mkl_csr", "none", None, "M6"), "status": "wrong", "max_error": 3.0}
        made = Made(jobs({"cpu, 1": [*cpu("debr", 1), wrong]}))
        self.assertEqual(made.problems, [])
        self.assertEqual(made.row("wrong-peers", "`mkl_csr`")[1:], ["double", "1", "1", "3.0", "3.0", "M6"])

    def test_sizes_on_the_gpu(self):
        for size, decided in ((60 << 20, "refuted"), (40 << 20, "not comparable")):
            swept = [{"kind": "sizes", "status": "ok", "fit": "regression", "matrix": name, "type": "f64", "density": 5,
                      "bytes": size, "twin": False, "best_srs": 8, "best_ssrs": 48, "best_us": 10, "fitted_srs": 8,
                      "fitted_ssrs": 8, "fitted_us": 13, "default_us": 12} for name in "abcde"]
            made = Made(jobs({"sizes on the gpu": swept}))
            self.assertEqual(made.claim("SRS and SSRS of 4 to 12").verdict, decided)
            claim = made.claim("regression")
            self.assertEqual((claim.verdict, claim.ours[:8] == "refuted;"), ("not comparable", decided == "refuted"))

    def test_inner_products(self):
        made = Made(jobs({"inner products": inner(0.5, 2)}))
        self.assertEqual(made.tables["inner"], [["entries per row", "banded, f64"], ["7", "0.5"], ["9", "2.0"]])
        claim = made.claim("parallel inner product")
        self.assertEqual((claim.found, claim.verdict), ("banded, f64: first faster at 9 entries per row", "confirmed"))
        for ratios in ((2, 2), (0.5, 0.5)):
            self.assertEqual(Made(jobs({"inner products": inner(*ratios)})).claim("inner product").verdict, "refuted")

    def test_a_table_names_its_machines(self):
        there = jobs({"mesh grid5": mesh()}, "b")
        there = [{**line, "machine": {**line["machine"], "processor": "q"}} for line in there]
        text = Made(jobs({"threads, 1": threads()}) + there).text
        self.assertIn("f64, as given. Measured on: q, 1 cores (2026-01-01).", text)
        self.assertIn("others by RCM. Measured on: p, 1 cores (2026-01-01).", text)


class Stages(unittest.TestCase):
    def test_of_a_small_graph(self):
        drawn = stages.stages(FIGURE_2)
        self.assertEqual([size for _, size, _ in drawn], [4, 2, 2, 4])
        self.assertEqual([stages.bandwidth(positions) for _, _, positions in drawn], [2, 0, 0, 1])
        self.assertEqual(drawn[3][2], [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2)])

    def test_coarse_numbers_before_they_are_reordered(self):
        turned = {**FIGURE_2, "order": [3, 1, 2, 0]}  # the group of row 0 comes last
        drawn = stages.stages({**turned, "entries": [[0, 2], [1, 0]]})
        self.assertEqual(drawn[1][2], [(0, 0), (1, 0)])
        self.assertEqual(drawn[2][2], [(0, 1), (1, 1)])


class Suite(unittest.TestCase):
    def test_matrices(self):
        self.assertEqual(len(suite.BY_NAME), 64)
        parts = suite.classes([m.name for m in suite.MATRICES])
        self.assertEqual([len(names) for _, names in parts], [31, 4, 35, 13, 16, 29, 64])

    def test_symmetric_ones_come_first(self):
        """Symmetric matrices come first, as printed. Figures separate them from the others by a line."""
        for letter in "ri":
            of_class = [suite.is_symmetric(m.name) for m in suite.MATRICES if m.id[0] == letter]
            self.assertEqual(of_class, sorted(of_class, reverse=True))
        self.assertFalse(suite.is_regular("Freescale2") or suite.is_symmetric("Freescale2"))

    def test_a_file_comes_before_a_twin(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "thermal2"))
            for path in ("debr.mtx", "thermal2/thermal2.mtx.gz"):
                with open(os.path.join(folder, path), "w", encoding="utf-8"):
                    pass
            found = suite.chosen(argparse.Namespace(quick=False, matrices=folder))
        self.assertTrue(found["debr"].endswith("/debr.mtx"))
        self.assertTrue(found["thermal2"].endswith("/thermal2/thermal2.mtx.gz"))
        self.assertEqual(found["ecology1"], "gen:grid5,x=1000,y=1000")
        self.assertTrue(found["M6"].startswith("gen:twin,rows=3500000,"))
        self.assertEqual(len(found), 64)


if __name__ == "__main__":
    unittest.main()
