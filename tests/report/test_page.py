"""The HTML page: contents, validity, no network access, and equal output for equal input."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

VOID = {"meta", "wbr", "br", "hr", "img", "link", "input"}


class Checker(html.parser.HTMLParser):
    """Parses a page and records its structure and faults."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.targets, self.faults, self.headings = [], [], [], [], []
        self.tables = self.captions = self.pictures = 0
        self.text = []

    def handle_starttag(self, tag, attributes):
        about = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self._take(tag, about)

    def handle_startendtag(self, tag, attributes):
        self._take(tag, dict(attributes))

    def _take(self, tag, about):
        if "id" in about:
            self.ids.append(about["id"])
        for name in ("href", "src", "xlink:href"):
            value = about.get(name)
            if value and value.startswith("#"):
                self.targets.append(value[1:])
            elif value and not value.startswith("data:image/png;base64,"):
                self.faults.append(f"<{tag} {name}={value[:60]}>")
        self.targets += re.findall(r"url\(#([^)]+)\)", " ".join(str(value) for value in about.values()))
        self.targets += (about.get("aria-labelledby") or "").split()
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.tables += tag == "table"
        self.captions += tag == "caption"
        if tag == "svg" and about.get("aria-hidden") != "true":
            self.pictures += 1
            if about.get("role") != "img" or not about.get("aria-label"):
                self.faults.append("a picture without a text in its place")
        if tag in ("script", "link", "iframe", "object"):
            self.faults.append(f"<{tag}>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another element")

    def handle_data(self, data):
        self.text.append(data)


def make_page(records, *options):
    """Runs the renderer as the program does. Returns (status, page, result)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        result = os.path.join(folder, "result")
        with open(path, "w", encoding="utf-8") as file:
            file.write(support.lines(records))
        with open(result, "wb") as out:
            os.set_inheritable(out.fileno(), True)
            done = subprocess.run([sys.executable, "-B", support.REPORT, "--result", str(out.fileno()), *options, path],
                                  capture_output=True, close_fds=False, check=False)
        with open(result, encoding="utf-8") as file:
            told = json.load(file)
    if done.stderr:
        raise AssertionError(done.stderr.decode())
    return done.returncode, done.stdout.decode(), told


def check(page):
    checker = Checker()
    checker.feed(page)
    checker.close()
    return checker


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.status, cls.page, cls.result = make_page(support.small_run())
        cls.checker = check(cls.page)

    def assert_sound(self, page):
        checker = check(page)
        self.assertEqual(checker.faults, [])
        self.assertEqual(checker.open, [])
        self.assertEqual(sorted(checker.ids), sorted(set(checker.ids)), "an id stands twice")
        self.assertEqual(set(checker.targets) - set(checker.ids), set(), "a link to nothing")
        self.assertEqual(checker.tables, checker.captions)
        self.assertEqual(checker.headings[0], 1)
        self.assertEqual(checker.headings.count(1), 1)
        for before, after in zip(checker.headings, checker.headings[1:]):
            self.assertLessEqual(after, before + 1, "a heading skips a level")
        drawn = page.partition("</style>")[2] or page
        for colour in re.findall(r"#[0-9a-f]{6}\b", drawn):
            self.fail(f"the colour {colour} follows neither light nor dark")
        for address in re.findall(r"@import|https?://[^\s\"<]*", page):
            self.assertEqual(address, "http://www.w3.org/2000/svg")

    def test_it_is_sound(self):
        self.assertEqual((self.status, self.result["exit"]), (0, 0))
        self.assert_sound(self.page)
        self.assertGreaterEqual(self.checker.pictures, 7)  # means, 3 matrices, profile, bandwidth, ...

    def test_a_checker_finds_faults(self):
        for page in ('<p id="a"></p><p id="a"></p><h1>x</h1>', '<h1><a href="#x">x</a></h1>', "<h1>x</h1><table></table>",
                     "<h1>x</h1><h3>y</h3>", '<h1>x</h1><script src="http://x/"></script>', "<h1>x</h1><svg></svg>",
                     "<h1>x</p>", '<h1 style="color: #050505">x</h1>'):
            with self.subTest(page=page), self.assertRaises(AssertionError):
                self.assert_sound(page)

    def test_tidy(self):
        if not shutil.which("tidy"):
            self.skipTest("tidy is not installed")
        for page in (self.page, make_page([support.record(time_us=None, status="failed", reason="no memory")])[1]):
            done = subprocess.run(["tidy", "-q", "-e"], input=page, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_comes_out_the_same_again(self):
        self.assertTrue(make_page(support.small_run())[1] == self.page, "it differs")

    def test_what_won(self):
        text = re.sub(r"\s+", " ", "".join(self.checker.text))
        # sell is disturbed on the first matrix, so only csr ran on all.
        self.assertIn("csr_avx2_cpu was the fastest over 3 matrices (spmv, f64, cpu): nothing was faster", text)
        # 200 us of the peer divided by 100 us of csr. The disturbed 50 us do not count.
        self.assertIn("on 3 of 3 matrices, and 2.00 times as fast on average (from 2.00 to 2.00 times as fast)", text)
        self.assertIn("1 of 12 cases ran while other programs used", text)
        self.assertIn("the headline ignores them", text)

    def text_of(self, records):
        return re.sub(r"\s+", " ", "".join(check(make_page(records)[1]).text))

    def test_headline_without_disturbed_cases(self):
        run = [support.record(time_us=100.0, disturbed=True), support.record(kernel="lib", peer=True, disturbed=True)]
        text = self.text_of(run)
        self.assertIn("There is no headline: other programs disturbed every case that ran", text)
        self.assertNotIn("was the fastest on", text)

    def test_the_textbook_loop_is_no_other_library(self):
        run = [support.record(time_us=10.0), support.record(kernel="csr_plain", peer=True, time_us=20.0)]
        text = self.text_of(run)
        self.assertIn("No other library was measured", text)
        self.assertIn("textbook loop", text)
        text = self.text_of(run + [support.record(kernel="mkl_csr", peer=True, time_us=30.0)])
        self.assertIn("best was 3.00 times as fast as the best of other libraries", text)
        text = self.text_of([support.record(time_us=30.0), support.record(kernel="csr_plain", peer=True, time_us=20.0),
                             support.record(kernel="mkl_csr", peer=True, time_us=60.0)])
        self.assertIn("csr_plain, Spry\u2019s textbook loop, was the fastest", text)
        self.assertIn("best was 2.00 times as fast as the best of other libraries", text)

    def test_matrices_of_one_name(self):
        run = [support.record(matrix="m", path=path, nnz=nnz) for path, nnz in (("a/m.mtx", 5000), ("b/m.mtx", 6000))]
        page = make_page(run)[1]
        self.assert_sound(page)
        text = "".join(check(page).text)
        for name in ("m (a/m.mtx)", "m (b/m.mtx)"):
            self.assertIn(name, text)
        self.assertNotIn("occurred more than once", text)

    def test_what_did_not_run(self):
        text = "".join(self.checker.text)
        self.assertIn("row 7 is off by 3 bounds", text)
        self.assertIn("format ell would take 1000 bytes (and 2 more with other numbers)", text)
        self.assertIn("1 case gave a wrong result or failed", text)

    def test_regret_of_auto(self):
        rows = re.findall(r"<tr[^>]*><th[^>]*><code>(?:one|two|three)</code></th>.*?auto_<wbr>took.*?</tr>", self.page)
        self.assertEqual([re.findall(r">([\d.]+)\u00d7<", row)[-1] for row in rows], ["2.20", "1.10", "1.10"])

    def test_hostile_names(self):
        bad = '<script>alert("x")</script>&amp;$a_b$"\'\u202e'
        run = [support.record(matrix=m + bad, kernel=k + bad, reason=bad, type="f64", format=k, time_us=10.0 + n)
               for n, (m, k) in enumerate((("a", "csr"), ("a", "sell"), ("b", "csr"), ("b", "sell")))]
        run.append(support.record(matrix=bad, kernel=bad, status="skipped", time_us=None, reason=bad))
        page = make_page(run)[1]
        self.assert_sound(page)
        self.assertTrue("&lt;script&gt;" in page)

    def test_every_field_may_be_unknown(self):
        empty = {name: None for name in support.DEFAULTS}
        run = [{**empty, "op": "spmv", "matrix": "m", "device": "cpu", "type": "f64", "status": "ok", "time_us": 5.0},
               {**empty, "status": "failed"}, {**empty, "status": "ok", "op": "cg", "matrix": "m", "device": "cpu",
                                               "type": "f64"}]
        self.assert_sound(make_page(run)[1])

    def test_nothing_ran(self):
        page = make_page([support.record(time_us=None, status="skipped", reason="no GPU")])[1]
        self.assert_sound(page)
        self.assertTrue("No case ran" in page)

    def test_compared(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as old:
            old.write(support.lines([{**r, "time_us": r["time_us"] and r["time_us"] / 2} for r in support.small_run()]))
            old.flush()
            status, page, result = make_page(support.small_run(), "--compare", old.name)
            self.assertEqual((status, result["exit"], result["verdict"]), (1, 1, "regression"))
            self.assertIn("verdict: regression: ", result["text"])
            self.assert_sound(page)
            self.assertTrue("Cases that changed beyond their noise" in page)

    def test_thirty_kernels_on_twenty_matrices(self):
        run = [support.record(matrix=f"matrix_{m}", kernel=f"format{k}_avx512_cpu", format=f"f{k}", peer=k >= 22,
                              time_us=100.0 + (m * 7 + k * 13) % 90, gflops=1.0 + m * 0.03, gbps=8.0, setup_us=10.0 * k)
               for m in range(20) for k in range(30)]
        page = make_page(run)[1]
        self.assert_sound(page)
        self.assertLess(len(page), 2_000_000)


if __name__ == "__main__":
    unittest.main()
