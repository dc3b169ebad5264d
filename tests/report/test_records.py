"""Invalid records are refused with file and line."""
import json
import os
import tempfile
import unittest

import support
from spry_report.records import Refused, read_file

GOOD = json.dumps(support.record())
MISTAKES = (
    ("", "there is no record in it; expected JSON lines of spry bench --json"),
    (GOOD + "\n{\"op\":\n" + GOOD + "\n", ":2: no JSON object: expected lines that spry bench --json=FILE wrote"),
    (GOOD + "\n" + GOOD[:50], ":2: the last line is cut off: the run was interrupted in it; remove the line"),
    ("[1, 2]\n", ":1: no record of spry bench: expected a JSON object"),
    ('{"name":"x"}\n', ':1: no record of spry bench: it lacks "op"'),
    (json.dumps(support.record(status="fine")) + "\n",
     ':1: "status" is "fine": expected one of ok, wrong, skipped, failed'),
    (json.dumps(support.record(time_us="3")) + "\n", ':1: "time_us" is "3": expected a number or null'),
    (json.dumps(support.record(time_us=True)) + "\n", ':1: "time_us" is true: expected a number or null'),
    (json.dumps(support.record(time_us=0)) + "\n", ':1: "time_us" is 0: expected a number above 0'),
    (json.dumps(support.record(time_us=-1)) + "\n", ':1: "time_us" is -1: expected a number above 0'),
    (json.dumps(support.record(setup_us=-1)) + "\n", ':1: "setup_us" is -1: expected no number below 0'),
    (json.dumps(support.record(matrix=7)) + "\n", ':1: "matrix" is 7: expected a text or null'),
    (json.dumps(support.record(peer=1)) + "\n", ':1: "peer" is 1: expected true or false or null'),
    (json.dumps(support.record(matrix=None)) + "\n", ':1: "matrix" is not known, but the case is said to be ok'),
    (json.dumps(support.record(gbps=1)).replace('"gbps": 1', '"gbps": NaN') + "\n",
     ":1: no JSON object: expected lines that spry bench --json=FILE wrote"),
    (json.dumps(support.record(gbps=1)).replace('"gbps": 1', '"gbps": 1e999') + "\n", ':1: "gbps" is out of range'),
    ("[" * 100000 + "\n", ":1: no record of spry bench: too deeply nested"),
)


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "run.jsonl")

    def read(self, text):
        with open(self.path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return read_file(self.path)

    def test_mistakes(self):
        for text, message in MISTAKES:
            with self.subTest(message=message), self.assertRaises(Refused) as refused:
                self.read(text)
            self.assertTrue(str(refused.exception).startswith(self.path), refused.exception)
            self.assertTrue(str(refused.exception).endswith(message), refused.exception)

    def test_other_files(self):
        with self.assertRaises(Refused) as refused:
            self.read(b"\xff\xfe{}")
        self.assertIn("not in UTF-8", str(refused.exception))
        with self.assertRaises(Refused) as refused:
            read_file(self.path + "x")
        self.assertIn("No such file", str(refused.exception))

    def test_what_is_taken(self):
        cases = self.read(
            json.dumps({**support.record(), "from_the_future": [1]}) + "\n\n" +
            '{"regret": {"matrix": "m", "loss": 1.5}}\n{"regret_sum": {"op": "spmv"}}\n' +
            '{"op": null, "matrix": null, "kernel": null, "status": "failed", "reason": "no memory"}\n')
        self.assertEqual([case.status for case in cases], ["ok", "failed"])
        self.assertIsNone(cases[1].time_us)


if __name__ == "__main__":
    unittest.main()
