"""Verdicts of --compare on known cases and on noise."""
import math
import random
import unittest

import support
from spry_report.compare import compare, text


def run(times, **fields):
    """Returns one case per matrix, with these times and a spread of 1 %."""
    return [support.case(**{"matrix": f"m{n}", "time_us": time, "spread_us": 0.01 * time, **fields})
            for n, time in enumerate(times)]


def noisy(random_, scale=1.0, slow=None, noise=0.01, drift=0.01, cases=20):
    """Returns a run of 20 matrices. Random factors change all times together (drift) and each time separately (noise).
    """
    machine = math.exp(random_.gauss(0, drift))
    return run([100 * (n + 1) * machine * (slow if slow and n == 7 else scale) * math.exp(random_.gauss(0, noise))
                for n in range(cases)])


class Verdicts(unittest.TestCase):
    def test_the_same(self):
        c = compare(run([100] * 10), run([100] * 10))
        self.assertEqual((c.status, len(c.of("same"))), ("ok", 10))
        self.assertIn("verdict: no regression", text(c))

    def test_one_case_is_slower(self):
        c = compare(run([100] * 20), run([100] * 19 + [110]))
        self.assertEqual((c.status, [p.new.matrix for p in c.of("slower")]), ("regression", ["m19"]))
        self.assertEqual(c.reason, "1 case is slower beyond the noise")
        self.assertIn("  +10.0 %  m19, spmv, f64, cpu: csr_avx2_cpu: 100 us, now 110 us; noise ", text(c))

    def test_less_than_five_per_cent_is_none(self):
        c = compare(run([100] * 20, spread_us=0.01), run([100] * 19 + [104.9], spread_us=0.01))
        self.assertEqual(c.status, "ok")

    def test_within_its_spread_is_none(self):
        c = compare(run([100] * 20, spread_us=30), run([100] * 19 + [112], spread_us=30))
        self.assertEqual(c.status, "ok")

    def test_all_are_a_little_slower(self):
        c = compare(run([100] * 20), run([104 + 0.1 * (n % 3) for n in range(20)]))
        self.assertEqual((c.status, c.of("slower")), ("regression", []))
        self.assertIn("the mean is slower beyond its interval", c.reason)

    def test_the_machine_is_slower(self):
        c = compare(run([100] * 20), run([112] * 20, copy_gbps=10 / 1.12))
        self.assertEqual(c.status, "ok")
        self.assertEqual(compare(run([100] * 20), run([112] * 20)).status, "regression")

    def test_a_faster_machine_hides_nothing(self):
        c = compare(run([100] * 20), run([100] * 19 + [115], copy_gbps=12))
        self.assertEqual(c.status, "regression")

    def test_another_machine(self):
        c = compare(run([100] * 20), run([300] * 20, copy_gbps=5))
        self.assertEqual((c.status, len(c.of("not judged"))), ("incomparable", 20))
        self.assertIn("another machine", c.reason)
        self.assertEqual(compare(run([100] * 3), run([100] * 3, device="cuda")).status, "incomparable")

    def test_disturbed_cases_are_not_judged(self):
        c = compare(run([100] * 20), run([100] * 19) + run([900], matrix="m19", disturbed=True))
        self.assertEqual((c.status, c.of("not judged")[0].why), ("ok", "disturbed"))
        self.assertEqual(compare(run([100], disturbed=True), run([200])).status, "incomparable")

    def test_new_and_vanished(self):
        c = compare(run([100] * 3), run([100] * 2) + run([100], kernel="new_cpu"))
        self.assertEqual(([x.kernel for x in c.new], [x.matrix for x in c.vanished]), (["new_cpu"], ["m2"]))
        self.assertIn("only in the old run:\n  m2, spmv", text(c))

    def test_wrong_now(self):
        bad = run([100], time_us=None, status="wrong", reason="row 3 is off")
        c = compare(run([100] * 2), bad + run([100] * 2)[1:])
        self.assertEqual((c.status, c.of("broken")[0].why), ("regression", "is wrong now: row 3 is off"))
        self.assertEqual(compare(bad, run([100])).of("mended")[0].verdict, "mended")

    def test_a_peer_is_not_ours(self):
        c = compare(run([100] * 20, peer=True), run([100] * 19 + [150], peer=True))
        self.assertEqual((c.status, len(c.of("slower"))), ("ok", 1))

    def test_auto_may_take_another_kernel(self):
        c = compare(run([100] * 9, format="auto", kernel="a"), run([120] * 9, format="auto", kernel="b"))
        self.assertEqual((c.status, len(c.of("slower"))), ("regression", 9))


class Noise(unittest.TestCase):
    """Rates of verdicts under noise. Seeds are fixed, so results are reproducible. The limits leave a wide margin.
    """
    TRIALS = 300

    def test_false_alarms_are_rare(self):
        random_ = random.Random(1)
        alarms = sum(compare(noisy(random_), noisy(random_)).status != "ok" for _ in range(self.TRIALS))
        self.assertLessEqual(alarms, 0.03 * self.TRIALS)

    def test_false_alarms_are_rare_with_more_noise(self):
        random_ = random.Random(2)
        alarms = sum(compare(noisy(random_, noise=0.03), noisy(random_, noise=0.03)).status != "ok"
                     for _ in range(self.TRIALS))
        self.assertLessEqual(alarms, 0.05 * self.TRIALS)

    def test_ten_per_cent_of_one_in_twenty_is_found(self):
        random_ = random.Random(3)
        found = 0
        for _ in range(self.TRIALS):
            c = compare(noisy(random_), noisy(random_, slow=1.1))
            found += "m7" in [pair.new.matrix for pair in c.of("slower")]
        self.assertGreaterEqual(found, 0.95 * self.TRIALS)

    def test_seven_per_cent_of_all_is_found(self):
        random_ = random.Random(4)
        found = sum(compare(noisy(random_), noisy(random_, scale=1.07)).status == "regression"
                    for _ in range(self.TRIALS))
        self.assertGreaterEqual(found, 0.95 * self.TRIALS)


if __name__ == "__main__":
    unittest.main()
