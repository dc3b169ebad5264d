#!/usr/bin/env python3
"""Study 000 on records whose figures are known."""
import argparse
import csv
import json
import os
import tempfile
import unittest

from support import MACHINE, product, report_of, reports, words_of

import seed000
from common import jobs, numbers, words
from common import records as stored
from common.records import Results
from seed000 import claims, measure, show, speedups

BASE = measure.BASELINE
SCALAR, VECTOR, ADAPTIVE, ELL, COO, SCOO, HYB, CUSPARSE = measure.KERNELS


def of(matrix, nnz, kernel, us, kind):
    return product(matrix, kernel, us, nnz=nnz, rows=nnz // 5, cols=nnz // 5, type=kind, twin=False, spread_us=0.0,
                   device="cpu" if kernel == BASE else "cuda")


def made_up():
    """Returns records of three matrices with 9999, 10 000 and 100 000 entries. The first matrix has fewer
    entries than both LIMITS. ELL was refused on the second matrix."""
    found = []
    for kind in ("f32", "f64"):
        for matrix, nnz, base, times in (("small", 9999, 10, {SCALAR: 0.1}),
                                         ("mid", 10000, 100, {SCALAR: 25, VECTOR: 50, ADAPTIVE: 20, COO: 10, SCOO: 20,
                                                              HYB: 20, CUSPARSE: 40}),
                                         ("large", 100000, 1000, {SCALAR: 200, VECTOR: 100, ADAPTIVE: 250, ELL: 50,
                                                                  COO: 100, SCOO: 50, HYB: 100, CUSPARSE: 400})):
            found.append(of(matrix, nnz, BASE, base, kind))
            found += [of(matrix, nnz, kernel, us, kind) for kernel, us in times.items()]
    return found


def envelope(record, machine="1", job="j", **others):
    """Returns a line of records.jsonl. record None: the line that ends the job."""
    ending = {"done": True} if record is None else {"record": record}
    return {"seed": "000", "job": job, "quick": False, "mock": False, "date": "2026-01-01", "clocks": "",
            "command": "c", "machine": {**MACHINE, "id": machine}, **ending, **others}


class Figures(unittest.TestCase):
    def setUp(self):
        self.speedups = show.Speedups(Results([envelope(record) for record in made_up()]), "f32")

    def test_sets_and_means(self):
        s = self.speedups
        self.assertEqual(s.set_of(SCALAR, 10000), ["mid", "large"])
        self.assertEqual(s.set_of(SCALAR, 100000), ["large"])
        self.assertEqual(s.set_of(ELL, 10000), ["large"])
        self.assertEqual(show.mean(s.values(SCALAR, ["mid", "large"])), 4.5)
        self.assertEqual(s.common(measure.KERNELS, 10000), ["large"])
        self.assertEqual(s.beaten(10000), ["mid"])
        self.assertEqual(s.leader("mid", measure.KERNELS), COO)
        self.assertEqual(s.ratio(HYB, ADAPTIVE, ["mid"]), 1)

    def test_ranks(self):
        for pairs, found in (([(1, 9), (2, 5), (3, 1)], -1), ([(1, 1), (2, 5), (30, 9)], 1),
                             ([(1, 1), (1, 2), (2, 1), (2, 2)], 0), ([(1, 1), (1, 1), (2, 2)], 1),
                             ([(1, 3), (1, 1), (2, 2), (3, 4)], 0.6325)):
            for turned in (pairs, pairs[::-1]):  # the order of pairs with equal values changes nothing
                self.assertAlmostEqual(numbers.rank_correlation(turned), found, 4)
        self.assertIsNone(numbers.rank_correlation([(1, 1), (2, 5)]))
        self.assertIsNone(numbers.rank_correlation([(1, 1), (1, 2), (1, 3)]))

    def test_order(self):
        """All three averages of a type must be beyond the margin, which is 1.05 without repeats."""
        same = [self.speedups] * 2
        for ratios, expected, found in (((1.06, 1.2), (1, 1), "confirmed"), ((1.04, 1.2), (1, 1), "not comparable"),
                                        ((1.2, 0.94), (1, 1), "refuted"), ((0.97, 0.5), (1, 1), "refuted"),
                                        ((1.2, 0.9), (1, -1), "confirmed"), ((1.2, 1.0), (1, -1), "not comparable"),
                                        ((1.2, 1.1), (1, -1), "refuted")):
            self.assertEqual(claims.order(same, [(r, r, r) for r in ratios], expected), found, ratios)
        self.assertEqual(claims.order(same, [(1.5, 0.9, 1.5), (1.5, 1.5, 1.5)], (1, 1)), "not comparable")

    def test_verdicts(self):
        claims, problems = report_of(seed000, made_up(), "000")
        self.assertEqual(problems, ["table table9 is empty"])
        found = {text: claim.verdict for (_, text), claim in claims.items()}
        self.assertEqual(found["CSR-Adaptive is faster than CSR-Scalar on all of these matrices"], "confirmed")
        self.assertEqual(found["cuSPARSE has a better average speed-up than CSR-Scalar"], "refuted")
        self.assertEqual(found["the leader changes with the type"], "refuted")
        self.assertEqual(found["speed-ups of 4 to 15 on average over one thread"], "not comparable")

    def claim(self, records, start):
        found = report_of(seed000, records, "000")[0]
        return next(claim for (_, text), claim in found.items() if text.startswith(start))

    def test_averages_that_disagree(self):
        """HYB's mean speed-up equals that of CSR-Adaptive, although HYB takes ten times as long on a matrix."""
        found = made_up()
        for record in found:
            slow = {HYB: {"mid": 1000, "large": 250 / 1.2}, ADAPTIVE: {"mid": 100}}.get(record["kernel"], {})
            record["mean_us"] = slow.get(record["matrix"], record["mean_us"])
        claim = self.claim(found, "HYB is quite close")
        self.assertEqual(claim.verdict, "refuted")
        self.assertIn("float: 0.98, 0.35, 0.98 and 1.20, 1.20, 1.20", claim.found)

    def test_ours_beside_the_printed(self):
        """The printed kernel gives the verdict. Larger blocks and this library's kernel have findings of their own."""
        found = made_up()
        others = ((speedups.BLOCKS[1024].adaptive, 2), (speedups.OURS.adaptive, 1), (speedups.OURS.vector, 40))
        found += [of(m, nnz, kernel, factor * us, kind) for kind in ("f32", "f64") for kernel, factor in others
                  for m, nnz, us in (("mid", 10000, 1), ("large", 100000, 10))]
        claim = self.claim(found, "CSR-Adaptive has a better speed-up than CSR-Vector")
        self.assertEqual(claim.verdict, "not comparable")
        self.assertIn("Blocks of 1024: confirmed, float: ", claim.found)
        self.assertTrue(claim.ours.startswith("confirmed: float: 40.00, 40.00, 40.00; the first kernel is faster on 2 "
                                              "of 2"), claim.ours)
        self.assertEqual(self.claim(found, "SCOO is faster").ours, "-")  # ours was not measured

    def test_rows(self):
        """On longer rows, COO falls behind segmented sums and ELL behind CSR-Scalar, and CSR-Vector becomes faster."""
        found = []
        for kind, size in (("f32", 8), ("f64", 12)):
            for row, longest, times in ((4, 4, {SCALAR: 9.8}), (10, 12, {COO: 20}),
                                        (40, 400, {ELL: 80, COO: 40, ADAPTIVE: 12})):
                matrix, rows = f"rows of {row}", 100000 // row
                for kernel in (BASE, *measure.KERNELS, speedups.OURS.coo):
                    found.append({**of(matrix, 100000, kernel, 100 if kernel == BASE else times.get(kernel, 10), kind),
                                  "rows": rows, "bytes": rows * (longest * size + 4)})
        s = show.Speedups(Results([envelope(record) for record in found]), "f64")
        self.assertEqual(s.longest, {"rows of 4": 4, "rows of 10": 12, "rows of 40": 400})
        for start, told in (("the wider the rows", "+1.00 (float), +1.00 (double)"),
                            ("ELL is most efficient", "float: ELL has 0.99 of CSR-Scalar's speed on such matrices, "
                                                      "0.13"),
                            ("padding by a few long", "float: CSR-Scalar is faster on 1 of 1 such matrices, on 0 of "
                                                      "2"),
                            ("CSR-Adaptive might be", "float: CSR-Vector is faster on 1 of 1, slower on 0")):
            claim = self.claim(found, start)
            self.assertIn(told, claim.found)
            self.assertEqual(claim.verdict, "confirmed", start)

    def test_what_was_measured(self):
        """The report states which records have few trials, how noisy the baseline is, and the matrices' sources."""
        found = [{**record, "spread_us": 0.3 * record["time_us"], "runs": 12 if record["kernel"] == BASE else 30}
                 for record in made_up()]
        for record in found:
            record["matrix"] = {"mid": "G3_circuit", "large": "mesh2-large"}.get(record["matrix"], record["matrix"])
            record["twin"] = record["matrix"] == "mesh2-large"
            if record["type"] == "f32" and record["kernel"] == BASE:
                record["mean_us"] *= 1.2
        with tempfile.TemporaryDirectory() as out:
            report = reports.Report(argparse.Namespace(seed="000", no_figures=True, quick=False, only=None),
                                    Results([envelope(record) for record in found]), out)
            seed000.report(report.results, report)
        text = "\n".join(report.parts)
        for told in ("2 matrices from 10000 entries on: 1 generated, 1 of them of a twin's kind; 1 real: G3_circuit. "
                     "Sources of real matrices: study/seed000/matrices.tsv.", "4 have fewer than 30 trials (at least 12)",
                     "4 of them are the baseline", "is 30.0 % of its time in the median of 4 cases and over 25 % in 4 "
                     "cases. The spread of the other cases is 30.0 %",
                     "On 2 of 2 matrices the baseline takes over 10 % longer in float",
                     "(on 0 over 30 %, at most 1.20 times"):
            self.assertIn(told, text)

    def test_wrong_results_are_problems(self):
        found = made_up()
        found[1]["status"] = "wrong"
        self.assertTrue(any("small: a kernel was wrong" in problem for problem in report_of(seed000, found, "000")[1]))


class Words(unittest.TestCase):
    def test_those_that_are_used(self):
        told = words_of(seed000, made_up(), "000")
        self.assertIn("speed-up", told)
        self.assertIn("leader", told)
        self.assertIn("confirmed, refuted", told)
        self.assertNotIn("padding guard", told)
        self.assertEqual(len(told), len(set(told)))

    def test_forms(self):
        for word, text, used in (("twin", "64 of them twins.", True), ("twin", "between", False),
                                 ("leaf, leaves", "Which leaves hold", True), ("set", "a sub-set", False),
                                 ("sym.", "regular, sym. (3)", True), ("lanes", "`csr_vector_cuda:lanes=2`", True),
                                 ("scalar", "csr_scalar_cuda", False), ("Band-k", "by band-k", True)):
            self.assertEqual(words.is_used(word, text), used, (word, text))
        self.assertEqual(words.section({"tuned": "t."}, "nothing of them"), "")
        self.assertEqual(words.section({"twin": "another."}, "a twin"), "## Words\n\n- **twin**: another.")


class Pictures(unittest.TestCase):
    @unittest.skipUnless(reports.can_draw(), "no Matplotlib")
    def test_axes_have_names(self):
        shown = [{"kind": "structure", "matrix": name, "rows": 1600000, "columns": 900, "nnz": 9, "mean_row": 1,
                  "max_row": 3, "picture": [[1, 0], [0, 2]], "status": "ok"} for name in ("one", "two", "three")]
        with tempfile.TemporaryDirectory() as out:
            options = argparse.Namespace(seed="000", no_figures=False, quick=False, only=None)
            results = Results([envelope(record) for record in made_up() + shown])
            report = reports.Report(options, results, out)
            show.table9(report, [show.Speedups(results, kind) for kind, _ in show.TYPES], results)
            with open(os.path.join(out, "figures", "table9.svg"), encoding="utf-8") as file:
                drawn = file.read()
        for text, times in ((">row<", 3), (">column<", 3), (">500k<", 3), (">1M<", 3), (">1.5M<", 3)):
            self.assertEqual(drawn.count(text), times, text)


class Merging(unittest.TestCase):
    def write(self, name, lines):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_jobs_of_several_machines(self):
        """Each job uses the first machine that completed it. Incomplete jobs do not count."""
        cut = [envelope({"n": 1}, "a", "one")]
        first = [envelope({"n": 2}, "b", "one"), envelope(None, "b", "one"),
                 envelope({"n": 3}, "b", "two"), envelope(None, "b", "two")]
        later = [envelope({"n": 4}, "c", "one"), envelope(None, "c", "one")]
        found = stored.read([self.write("cut", cut), self.write("first", first), self.write("later", later)], "000")
        self.assertEqual([line["record"]["n"] for line in found], [2, 3])

    def test_a_line_that_was_cut(self):
        path = self.write("one", [envelope({"n": 1})])
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"seed": "000", "jo')
        self.assertEqual(len(stored.read_lines(path)), 1)

    def test_quick_results_stay_alone(self):
        paths = [self.write("slow", [envelope({"n": 1})]), self.write("quick", [envelope({"n": 1}, quick=True)])]
        with self.assertRaises(SystemExit) as ended:
            stored.read(paths, "000")
        self.assertIn("quick results", str(ended.exception))

    def test_a_job_counts_once(self):
        lines = [envelope({"n": 1}), envelope(None)]
        path = self.write("one", lines + lines)
        self.assertEqual(len(stored.read([path, path, self.write("copy", lines)], "000")), 1)
        with self.assertRaises(SystemExit) as ended:
            stored.read([path], "001")
        self.assertIn("records of study 000, expected study 001", str(ended.exception))

    def options(self, **others):
        return argparse.Namespace(**{"seed": "000", "quick": False, "part": (1, 1), "time_limit": None, "device": "cpu",
                                     "matrices": None, **others})

    def test_going_on_behind_a_cut_line(self):
        """The lines of an incomplete job are dropped, so that the job is not counted twice."""
        path = self.write("records.jsonl", [envelope({"n": 1}, job="one"), envelope(None, job="one"),
                                            envelope({"n": 9}, job="two")])
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"seed": "000", "jo')
        some = [jobs.Job("one", None), jobs.Job("two", lambda run: iter([{"n": 2}]))]
        self.assertEqual(jobs.run(self.options(), some, self.folder.name), 0)
        self.assertEqual([line["record"]["n"] for line in stored.read([path], "000")], [1, 2])
        self.assertEqual(sum("record" in line for line in stored.read_lines(path)), 2)

    def test_a_last_line_without_its_end(self):
        path = self.write("records.jsonl", [envelope({"n": 1}, job="one"), envelope(None, job="one")])
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - 1)
        self.assertEqual(jobs.run(self.options(), [jobs.Job("one", None)], self.folder.name), 0)
        self.assertEqual(len(stored.read([path], "000")), 1)

    def test_each_record_has_its_command(self):
        def measure(run):
            for name in ("first", "second"):
                run.command = name
                yield {"n": name}
        jobs.run(self.options(), [jobs.Job("one", measure)], self.folder.name)
        found = stored.read([os.path.join(self.folder.name, "records.jsonl")], "000")
        self.assertEqual([line["command"] for line in found], ["first", "second"])

    def test_a_job_without_records_remains(self):
        nothing = [jobs.Job("one", lambda run: iter([]))]
        jobs.run(self.options(), nothing, self.folder.name)
        jobs.run(self.options(), [jobs.Job("one", lambda run: iter([{"n": 1}]))], self.folder.name)
        self.assertEqual(len(stored.read([os.path.join(self.folder.name, "records.jsonl")], "000")), 1)

    def test_other_options_are_refused(self):
        jobs.run(self.options(), [jobs.Job("one", lambda run: iter([{"n": 1}]))], self.folder.name)
        for others in ({"device": "cuda"}, {"matrices": "folder"}, {"quick": True}):
            with self.assertRaises(SystemExit) as ended:
                jobs.run(self.options(**others), [jobs.Job("one", None)], self.folder.name)
            self.assertIn("use another folder", str(ended.exception))

    def test_two_runs_in_one_folder(self):
        def measure(run):
            with self.assertRaises(SystemExit) as ended:
                jobs.run(self.options(), [], self.folder.name)
            self.assertIn("another run writes", str(ended.exception))
            yield {"n": 1}
        self.assertEqual(jobs.run(self.options(), [jobs.Job("one", measure)], self.folder.name), 0)


class Tables(unittest.TestCase):
    def test_numbers_that_are_none(self):
        from common.report import Report
        with tempfile.TemporaryDirectory() as out:
            report = Report(argparse.Namespace(seed="000", no_figures=True, only=None), Results([envelope({"n": 1})]),
                            out)
            report.table("t", "T", ["a", "b"], [["x", float("nan")], ["y", 2.5]])
            self.assertEqual(report.problems, ["table t: x has NaN or infinity"])
            with open(os.path.join(out, "tables", "t.csv"), encoding="utf-8") as file:
                self.assertEqual(list(csv.reader(file)), [["a", "b"], ["x", "nan"], ["y", "2.5"]])

    def test_only_one(self):
        with tempfile.TemporaryDirectory() as out:
            for name, wanted in (("table3", ["tables/table3.md"]), ("claims", ["claims.md"]), ("nothing", [])):
                options = argparse.Namespace(seed="000", no_figures=True, quick=False, only=name)
                files, problems = reports.write(options, seed000, [envelope(r) for r in made_up()], out)
                self.assertEqual([os.path.relpath(file, out) for file in files], wanted)
                self.assertEqual(any("no table or figure is named 'nothing'" in text for text in problems), not wanted)

    def test_margin_is_above_the_spread_of_repeats(self):
        """19 of 20 cases take 1.2 times as long in the repeat, one takes 3 times as long."""
        first = [envelope({"matrix": f"m{n}", "kernel": "k", "mean_us": 10, "status": "ok"}) for n in range(100)]
        again = [envelope({"matrix": f"m{n}", "kernel": "k", "mean_us": 30 if n > 95 else 12, "status": "ok"},
                          job=stored.REPEAT + first[0]["job"]) for n in range(100)]
        self.assertEqual(Results(first).margin(), 1.05)
        self.assertEqual(Results(first + again).margin(), 1.2)
        self.assertEqual(len(Results(first + again).records), 100)
        alike = [{**line, "machine": {**MACHINE, "id": "2"}} for line in again]
        self.assertEqual(Results(first + alike).margin(), 1.2)
        other = [{**line, "machine": {**MACHINE, "id": "2", "processor": "other"}} for line in again]
        self.assertEqual(Results(first + other).margin(), 1.05)


if __name__ == "__main__":
    unittest.main()
