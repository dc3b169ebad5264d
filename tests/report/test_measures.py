"""Figures of the report, compared with numbers computed by hand."""
import math
import unittest

import support
from spry_report import measures, sections
from spry_report.groups import make_groups
from spry_report.lists import LISTS, lists_of


class Measures(unittest.TestCase):
    def test_geometric_mean(self):
        self.assertAlmostEqual(measures.geometric_mean([1, 2, 4]), 2)
        self.assertAlmostEqual(measures.geometric_mean([0.5, 8]), 2)
        self.assertIsNone(measures.geometric_mean([]))

    def test_profile(self):
        factors = [1, 1.5, None, 3]  # None: the kernel failed, but the matrix counts in the total of four
        self.assertEqual([measures.profile(factors, at) for at in (1, 1.49, 1.5, 3, 1e9)],
                         [0.25, 0.25, 0.5, 0.75, 0.75])
        self.assertEqual(measures.profile_steps(factors), [(1, 0.25), (1.5, 0.5), (3, 0.75)])

    def test_break_even(self):
        # With 10 us less per call, 1000 us more set-up are recovered after 100 calls, and 1001 us after 101 calls.
        self.assertEqual(measures.break_even(1100, 90, 100, 100), 100)
        self.assertEqual(measures.break_even(1101, 90, 100, 100), 101)
        self.assertEqual(measures.break_even(100, 90, 100, 100), 0)
        self.assertEqual(measures.break_even(100, 100, 100, 100), 0)
        self.assertEqual(measures.break_even(1100, 100, 100, 100), math.inf)
        self.assertEqual(measures.break_even(50, 110, 100, 100), math.inf)
        self.assertIsNone(measures.break_even(None, 90, 100, 100))

    def test_cost_of_calls(self):
        self.assertEqual(measures.cost_of_calls(100, 40, 10, 5), 110)  # the upload does not count
        self.assertEqual(measures.cost_of_calls(100, 40, 10, None), 10)
        self.assertIsNone(measures.cost_of_calls(None, 0, 10, 5))

    def test_regret(self):
        self.assertAlmostEqual(measures.regret(110, [100, 220]), 1.1)
        self.assertEqual(measures.regret(90, [100, None]), 1)
        self.assertIsNone(measures.regret(None, [100]))

    def test_noise(self):
        # The standard error is 0.93 times the spread of 4 %, divided by the square root of 16 batches. At most 20 batches
        # count.
        self.assertAlmostEqual(measures.standard_error(4, 16, 100), 0.93 * 0.04 / 4)
        self.assertEqual(measures.standard_error(4, 2000, 100), measures.standard_error(4, 20, 100))
        self.assertIsNone(measures.standard_error(None, 20, 100))
        self.assertAlmostEqual(measures.scatter([0, 1, 2, 3, 100]), 1.4826)
        mean, half = measures.mean_interval([0.0, 0.2])  # deviation 0.1414 / sqrt(2) = 0.1; Student's t is 63.66
        self.assertAlmostEqual(mean, 0.1)
        self.assertAlmostEqual(half, 6.366)
        self.assertIsNone(measures.mean_interval([0.1])[1])


class OfAGroup(unittest.TestCase):
    """Figures of small_run: sell takes 50, 100 and 200 us, csr always 100, the peer 200, auto 110."""

    def setUp(self):
        cases = [support.case(**{k.replace("class", "class_") if k == "class" else k: v for k, v in r.items()})
                 for r in support.small_run()]
        groups = make_groups(cases, ["run"])
        self.assertEqual(len(groups), 1)
        self.group = groups[0]
        self.by_label = {c.label: c for c in self.group.competitors}

    def test_who_is_in(self):
        self.assertEqual(list(self.by_label), ["csr_avx2_cpu", "sell_avx2_cpu", "auto", "lib_csr"])
        self.assertEqual([s.matrix for s in self.group.subjects], ["one", "two", "three"])

    def test_factors_and_wins(self):
        self.assertEqual(self.group.factors(self.by_label["sell_avx2_cpu"]), [1, 1, 2])
        self.assertEqual(self.group.factors(self.by_label["csr_avx2_cpu"]), [2, 1, 1])
        self.assertEqual([self.group.won(c) for c in self.group.competitors], [2, 2, 0, 0])
        self.assertAlmostEqual(self.group.mean_factor(self.by_label["lib_csr"]), (4 * 2 * 2) ** (1 / 3))
        regular = lists_of(self.group.subjects, ["run"])["regular"]
        self.assertAlmostEqual(self.group.mean_factor(self.by_label["lib_csr"], regular), 8 ** 0.5)

    def test_break_even(self):
        # 1000 us more set-up: 50 us less per call on "one", no gain on "two", slower on "three".
        self.assertEqual(sections.paid_calls(self.group, self.by_label["sell_avx2_cpu"]), [20, math.inf, math.inf])

    def test_ratio_of_two_runs_is_never_made(self):
        first = [support.case(time_us=100.0), support.case(kernel="other_cpu", time_us=200.0)]
        second = [support.case(time_us=10.0)]
        second[0].source = 1
        group = make_groups(first + second, ["a", "b"])[0]
        self.assertEqual([s.label for s in group.subjects], ["m (a)", "m (b)"])
        self.assertEqual(group.factors(group.competitors[0]), [1, 1])

    def test_threads_tell_cases_apart_only_where_they_differ(self):
        same = make_groups([support.case(), support.case(kernel="p", peer=True, threads=1)], ["a"])[0]
        self.assertEqual([c.label for c in same.competitors], ["csr_avx2_cpu", "p"])
        apart = make_groups([support.case(), support.case(threads=1)], ["a"])[0]
        self.assertEqual([c.label for c in apart.competitors], ["csr_avx2_cpu, 2 threads", "csr_avx2_cpu, 1 thread"])

    def test_groups(self):
        cases = [support.case(), support.case(type="f32"), support.case(op="spmm", count=8, layout="row")]
        self.assertEqual([g.title for g in make_groups(cases, ["a"])],
                         ["spmv, f64, cpu", "spmv, f32, cpu", "spmm of 8 vectors, row-major, f64, cpu"])


class Lists(unittest.TestCase):
    def test_they_are_those_of_the_benchmark(self):
        with open(f"{support.ROOT}/cli/bench_sources.c", encoding="utf-8") as file:
            source = file.read()
        table = source[source.index("suites[]"):source.index("};", source.index("suites[]"))]
        names = source[source.index("suite_names[] ="):].split('"')[1].split("|")
        for name, row in zip(names, [row.split("}")[0] for row in table.split("{")[2:]]):
            if name in LISTS:
                members = [member.removeprefix("gen:") for member in row.split('"')[1::2]]
                self.assertEqual(list(LISTS[name]), members, name)


if __name__ == "__main__":
    unittest.main()
