"""bench_regret.py ROOT SPRY: tests bench/regret.py on records with known figures, and on a run of the program."""
import contextlib
import gzip
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT, SPRY = sys.argv[1:3]
SPEC = importlib.util.spec_from_file_location("regret", os.path.join(ROOT, "bench", "regret.py"))
regret = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(regret)

COMMON = {"op": "spmv", "matrix": "a", "type": "f64", "device": "cpu", "ordering": "none", "upload_us": 0,
          "spread_us": 0.1}


def record(kernel, setup, time, **other):
    return {**COMMON, "format": "packed", "kernel": kernel, "peer": False, "deterministic": True, "status": "ok",
            "setup_us": setup, "time_us": time, **other}


def choice(calls, setup, time, **other):
    """Returns a choice. csr takes 10 us per call, and 20 us for set-up."""
    return {**COMMON, "policy": "cost", "calls": calls, "format": "sell:c=16:sigma=512", "kernel": "ours",
            "setup_us": setup, "time_us": time, "baseline_us": None, "predicted_us": None, "break_even": None,
            "csr_kernel": "csr_ours", "csr_setup_us": 20, "csr_upload_us": 0, "csr_time_us": 10, "csr_spread_us": 0.1,
            **other}


class Regret(unittest.TestCase):
    def judged(self, records, *args, **other):
        return regret.judge(choice(*args, **other), records)

    def report(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines.jsonl.gz")
            with gzip.open(path, "wt") as file:
                file.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                regret.main([path])
        return out.getvalue()

    def row(self, text, start):
        """Returns the last row that begins with these cells."""
        return [line.split() for line in text.splitlines() if line.split()[:len(start)] == start][-1]

    def test_losses(self):
        records = [record("csr_ours", 20, 10), record("fast", 1000, 4), record("ours", 205, 5)]
        # Costs in us. 1 call: ours 205, csr 30. 100 calls: ours 700, csr 1020, fast 1400. 1000 calls: ours 5200, fast
        # 5000. For an unlimited number of calls only the time counts: ours 5, fast 4.
        for calls, loss, over_csr, best in (
                (1, 205 / 30, 205 / 30, (30, "csr_ours")), (100, 1, 700 / 1020, (700, "ours")),
                (1000, 1.04, 5200 / 10020, (5000, "fast")), (0, 1.25, 0.5, (4, "fast"))):
            c = self.judged(records, calls, 200, 5)
            self.assertAlmostEqual(c["loss"], loss)
            self.assertAlmostEqual(c["over_csr"], over_csr)
            self.assertEqual((c["best"][0], c["best"][2]), best)

    def test_upload_is_in_no_cost(self):
        c = self.judged([record("fast", 1000, 4, upload_us=900)], 10, 300, 5, upload_us=100)
        self.assertEqual(c["best"][0], 120)  # csr: 20 + 10 * 10; fast: 1000 - 900 + 10 * 4 = 140
        self.assertAlmostEqual(c["loss"], 250 / 120)

    def test_who_does_not_count(self):
        others = [{"deterministic": False}, {"peer": True}, {"status": "wrong"}, {"status": "skipped", "time_us": None},
                  {"device": "cuda"}, {"ordering": "rcm"}]
        records = [{**record("other", 0, 1), **other} for other in others]
        self.assertEqual(self.judged(records, 0, 200, 5)["loss"], 1)
        self.assertEqual(self.judged([*records, record("other", 0, 1)], 0, 200, 5)["loss"], 5)
        self.assertNotEqual(*[self.judged(records, 0, 200, None)["loss"]] * 2)  # NaN

    def test_statistics(self):
        self.assertAlmostEqual(regret.geometric_mean([4, 1, 2]), 2)
        self.assertEqual(regret.percentile([4, 1, 2], 0.5), 2)
        self.assertAlmostEqual(regret.percentile([4, 1, 2], 0.95), 3.8)
        self.assertAlmostEqual(regret.percentile(range(21, 0, -1), 0.95), 20)
        self.assertEqual(regret.percentile([1], 0.95), 1)

    def test_sums(self):
        lines = []
        for matrix, time in (("a", 4), ("b", 8), ("c", 16)):  # time / best: 1, 2, 4; time / csr: 0.4, 0.8, 1.6
            of = {"matrix": matrix}
            lines += [record("fast", 0, 4, **of), {"regret": choice(0, 0, time, **of)},
                      {"regret": choice(0, 0, 4, policy="tree", **of)}, {"regret_sum": {"cases": 9}}]
        text = self.report(*lines, record("x", 0, 1, matrix="d"), {"regret": choice(0, 0, None, matrix="d")})
        self.assertEqual(self.row(text, ["spmv", "cpu", "f64", "cost", "many"])[5:],
                         ["3", "2.000", "3.800", "4.000", "c", "0.800", "1.600", "c", "1"])
        self.assertEqual(self.row(text, ["spmv", "cpu", "f64", "tree", "many"])[5:7], ["3", "1.000"])
        self.assertIn("sell:c=16:sigma=512 ours 0 not measured", " ".join(text.split()))

    def test_peers(self):
        """The choice is faster than one peer and slower than three: by less than the spread, by more than 5 % and the
        spread, and by less than 5 %."""
        peers = [record("slow", 0, 10, peer=True), record("near", 0, 4.5, peer=True, spread_us=0.6),
                 record("fast", 0, 4.5, peer=True), record("close", 0, 4.8, peer=True),
                 record("gone", 0, None, peer=True, status="skipped")]
        text = self.report(*peers, {"regret": choice(0, 0, 5)}, {"regret": choice(0, 0, 50, policy="tree")},
                           record("slow", 0, 10, peer=True, matrix="b"), {"regret": choice(0, 0, 2.5, matrix="b")})
        start = ["spmv", "cpu", "f64", "cost"]
        self.assertEqual(self.row(text, [*start, "slow"])[5:], ["many", "2", "2.828", "2.000", "a", "0"])
        self.assertEqual([self.row(text, [*start, name])[-1] for name in ("near", "fast", "close")], ["0", "1", "0"])
        self.assertEqual(self.row(text, ["a", *start]), ["a", *start, "fast", "0.900"])
        self.assertNotIn("gone", text)
        c = self.judged([record("dear", 895, 5, peer=True)], 100, 500, 5)  # peers' set-up counts
        self.assertAlmostEqual(c["peers"][0][1], 1.395)

    def test_predictions(self):
        c = choice(0, 500, 5, baseline_us=20, predicted_us=11)  # takes half of csr's time, breaks even after 100 calls
        self.assertAlmostEqual(regret.prediction_error(c), 1.1)
        for even, right in ((56, False), (149, True), (None, False)):
            self.assertEqual(regret.break_even_is_right({**c, "break_even": even}), right)
        self.assertIsNone(regret.break_even_is_right({**c, "time_us": 9.5}))
        self.assertAlmostEqual(regret.prediction_error({**c, "device": "cuda"}), 2.2)
        lines = [record("csr_ours", 20, 10)]
        # The quotient is the time of the choice divided by csr's. The predicted quotient is 1.1, 1.4 and 2.2 times the
        # measured quotient. If the choice is csr, it is 0.5 times the measured quotient.
        in_csr = {"format": "csr", "time_us": 10}
        for predicted, even, other in ((11, 100, {}), (14, 200, {}), (22, 300, {}), (10, 400, in_csr)):
            chosen = choice(0, 500, 5, baseline_us=20, predicted_us=predicted, break_even=even)
            lines.append({"regret": {**chosen, **other}})
        lines.append({"regret": choice(10, 500, 5, baseline_us=5, predicted_us=5)})
        text = self.report(*lines)
        self.assertIn("1 of 4 1 of 3 3 of 4 2 of 3 1 of 3", " ".join(text.split()))

    def test_bad_files(self):
        for lines, message in ((["no JSON"], ":1: no record of spry bench"), (['{"matrix":"a"}'], ":1: no record"),
                               (["[1]"], ":1: no record"), ([record("k", 0, 1)], "no choice of auto"),
                               ([{"regret": choice(0, 0, 5)}], ":1: a choice of auto without records")):
            with self.assertRaises(SystemExit) as caught:
                self.report(*lines)
            self.assertIn(message, str(caught.exception))

    def test_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines.jsonl")
            environment = {**os.environ, "SPRY_BENCH_COPY_BYTES": "1048576", "SPRY_CUDA_PLUGIN": "none"}
            subprocess.run([SPRY, "bench", "gen:grid5,x=60,y=60", "gen:rmat,scale=9", "--regret", "--device", "cpu",
                            "--type", "all", "--runs", "3", f"--json={path}"], check=True, stdout=subprocess.DEVNULL,
                           env=environment)
            text = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "regret.py"), path, path], check=True,
                                  capture_output=True, text=True).stdout
        self.assertIn("grid5,x=60,y=60: spmv, f64 on cpu", text)
        for policy, calls in [*(("cost", calls) for calls in ("1", "10", "100", "1000", "many")), ("tree", "many")]:
            row = self.row(text, ["spmv", "cpu", "f32", policy, calls])
            self.assertEqual(row[5], "4")
            self.assertGreaterEqual(float(row[6]), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
