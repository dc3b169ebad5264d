#!/usr/bin/env python3
"""study/matrices on tiny archives and public data."""
import contextlib
import gzip
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import struct
import tarfile
import tempfile
import unittest
import zlib
from unittest import mock

from support import ROOT

from common import matrices as real
from common import sources
from seed000 import measure
from seed001 import suite
from seed004 import leaves

_loader = importlib.machinery.SourceFileLoader("study_matrices", os.path.join(ROOT, "study", "matrices"))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("study_matrices", _loader))
_loader.exec_module(script)

LOWER = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 4\n1 1 1\n2 1 0\n3 2 -1e-3\n3 3 2\n"
POSITIONS = hashlib.sha256(struct.pack("<8q", 1, 1, 2, 1, 3, 2, 3, 3)).hexdigest()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def listed(name, source, download, rows=3, entries=6, positions=POSITIONS):
    return {"name": name, "source": source, "rows": str(rows), "columns": str(rows), "entries": str(entries),
            "download": download, "positions": positions}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.server, self.out = (os.path.join(temporary.name, name) for name in ("server", "out"))
        os.makedirs(os.path.join(self.server, "G"))
        patch = mock.patch.dict(os.environ, {"SPRY_FETCH_URL": "file://" + self.server})
        patch.start()
        self.addCleanup(patch.stop)

    def archive(self, name, text=LOWER, inside=None):
        """Puts G/NAME.tar.gz on the server and returns its hash."""
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            entry = tarfile.TarInfo(f"{name}/{inside or name}.mtx")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        return self.public(f"G/{name}.tar.gz", content.getvalue())

    def public(self, path, data):
        with open(os.path.join(self.server, path), "wb") as file:
            file.write(data)
        return sha(data)

    def run_script(self, *rows):
        """Returns the exit status and all output of the script for a list of these rows."""
        text = io.StringIO()
        with mock.patch.object(real, "listed", lambda seed: rows), contextlib.redirect_stdout(text), \
                contextlib.redirect_stderr(text):
            status = script.main(["000", "--out", self.out])
        return status, text.getvalue().replace(self.out + "/", "").replace(self.server, "SERVER")

    def test_bad_entries(self):
        """Entries are checked also where the hash of the positions is not known."""
        for bad, told in (("4 1 1", "outside"), ("0 1 1", "outside"), ("1 99999999999999999999 1", "cannot be read"),
                          ("2 1 nonsense", "nonsense"), ("2 1", "cannot be read")):
            text = LOWER.replace("3 3 2\n", bad + "\n")
            status, output = self.run_script(listed("a", "G/a", self.archive("a", text), positions="-"))
            self.assertEqual(status, 1, bad)
            self.assertIn(told, output, bad)

    def test_archive(self):
        row = listed("a", "G/a", self.archive("a"))
        expected = 0, f"a.mtx.gz\n1 of 1 matrices are in {self.out}\n"
        self.assertEqual(self.run_script(row), expected)
        with gzip.open(os.path.join(self.out, "a.mtx.gz"), "rt") as file:
            self.assertEqual(file.read(), LOWER)
        self.archive("a", LOWER + "%")  # a matrix in the folder is checked, and not downloaded again
        self.assertEqual(self.run_script(row), expected)
        self.assertEqual(os.listdir(self.out), ["a.mtx.gz"])
        os.mkdir(os.path.join(self.out, "G"))  # spry fetch stores matrices here
        os.rename(os.path.join(self.out, "a.mtx.gz"), os.path.join(self.out, "G", "a.mtx.gz"))
        self.assertEqual(self.run_script(row), (0, "G/" + expected[1]))

    def test_goes_on(self):
        """A problem with a matrix is reported, and the next matrix is fetched."""
        good = self.archive("good")
        changed, other, renamed = self.archive("changed"), self.archive("other"), self.archive("renamed", inside="b")
        status, text = self.run_script(
            listed("missing", "G/missing", good), listed("changed", "G/changed", good),
            listed("other", "G/other", other, entries=7), listed("moved", "G/other", other, positions="0" * 64),
            listed("renamed", "G/renamed", renamed), listed("good", "G/good", good, positions="-"))
        self.assertEqual(status, 1)
        for message in ("missing: file://SERVER/G/missing.tar.gz cannot be downloaded: ",
                        f"changed: file://SERVER/G/changed.tar.gz has SHA-256 {changed}, the list {good}\n",
                        "other: .other.part.gz has entries 6, the list 7\n",
                        "moved: the archive has no moved/moved.mtx: ",
                        "renamed: the archive has no renamed/renamed.mtx: ",
                        f"good.mtx.gz; sizes as listed, positions {POSITIONS} (not in the list)\n",
                        "1 of 6 matrices are in "):
            self.assertIn(message, text)
        self.assertEqual(os.listdir(self.out), ["good.mtx.gz"])

    def test_damaged(self):
        """Files in the folder that are not the list's matrix are reported."""
        os.makedirs(self.out)
        packed = gzip.compress(LOWER.encode())
        for content, message in ((packed, "has positions"), (packed[:-20], "cannot be read"),
                                 (gzip.compress(LOWER[:-6].encode()), "3 entries, and the size line promises 4"),
                                 (gzip.compress(b"<html>"), "no sparse Matrix Market file"),
                                 (gzip.compress(LOWER.replace("3 2", "x 2").encode()), "cannot be read"),
                                 (gzip.compress(LOWER.partition("3 3")[0].encode()), "the file ends early")):
            with open(os.path.join(self.out, "a.mtx.gz"), "wb") as file:
                file.write(content)
            status, text = self.run_script(listed("a", "G/a", "-", positions="0" * 64))
            self.assertEqual(status, 1)
            self.assertIn(message, text)

    def test_made(self):
        """Public data becomes a file, whose values are exact."""
        data = b"2 3\n1 3\n% a comment\n2 3\n"
        download = self.public("nets.hgr", data)
        row = {**listed("nets", f"file://{self.server}/nets.hgr", download, rows=2, entries=4, positions="-"),
               "columns": "3"}
        self.assertEqual(self.run_script(row)[0], 0)
        with gzip.open(os.path.join(self.out, "nets.mtx.gz"), "rt") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[:1] + lines[2:], ["%%MatrixMarket matrix coordinate real general", "2 3 4",
                                                 "1 1 1.0", "2 2 1.0", "1 3 1.0", "2 3 1.0"])


def element(kind, data):
    if 0 < len(data) <= 4:  # the short form
        return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def sparse(name, rows, columns, indices, starts, values):
    """Returns a compressed sparse matrix of a MAT-file, with values as bytes."""
    content = zlib.compress(element(14, element(6, struct.pack("<II", 5, len(indices))) +
                                    element(5, struct.pack("<2i", rows, columns)) + element(1, name) +
                                    element(5, struct.pack(f"<{len(indices)}i", *indices)) +
                                    element(5, struct.pack(f"<{len(starts)}i", *starts)) + element(2, bytes(values))))
    return struct.pack("<II", 15, len(content)) + content


class Made(unittest.TestCase):
    def test_kkt(self):
        """P = [4 1; 1 5]; A has one constraint, (2 3), then the bounds."""
        data = bytes(128) + sparse(b"P", 2, 2, (0, 1, 0, 1), (0, 2, 4), (4, 1, 1, 5)) + \
            sparse(b"A", 3, 2, (0, 1, 0, 2), (0, 2, 4), (2, 1, 3, 1))
        symmetry, rows, columns, entries = sources.kkt(data)
        self.assertEqual((symmetry, rows, columns), ("symmetric", 3, 3))
        self.assertEqual(sorted(entries), [(0, 0, 4.0), (0, 1, 1.0), (0, 2, 2.0), (1, 1, 5.0), (1, 2, 3.0)])

    def test_netlist(self):
        """Two resistors, of which one ends at the ground, a source between two nodes and one at the ground."""
        text = b"* title\nR1 a 0 0.5\nr2 A b 0.25\nV1 b a 0\niload b 0 1e-3\nv2 a 0 1.8\n.op\n.end\n"
        self.assertEqual(sources.netlist(text), ("symmetric", 4, 4, [
            (0, 0, 6.0), (1, 1, 4.0), (0, 1, -4.0), (1, 2, 1.0), (0, 2, -1.0), (0, 3, 1.0)]))

    def test_program(self):
        text = ("*a comment\nNAME      T\nROWS\n N  obj\n E  c1\n L  c2\nCOLUMNS\n    M1  'MARKER'  'INTORG'\n"
                "    x1  obj  7  c2  1.5\n    x2  c1  -1\n    x2  c2  2\nRHS\n    R  c1  1\nENDATA\n")
        self.assertEqual(sources.program(gzip.compress(text.encode())),
                         ("general", 2, 2, [(0, 1, 1.5), (1, 0, -1.0), (1, 1, 2.0)]))


class Lists(unittest.TestCase):
    def test_form(self):
        for seed in ("000", "001", "003", "004"):
            rows = real.listed(seed)
            self.assertEqual(len({row["name"] for row in rows}), len(rows))
            for row in rows:
                self.assertEqual([*row], ["name", "source", "rows", "columns", "entries", "download", "positions"])
                self.assertTrue("://" in row["source"] and row["source"].endswith(tuple(sources.BY_ENDING)) or
                                row["source"].endswith("/" + row["name"]), row)
                self.assertGreater(min(int(row[field]) for field in ("rows", "columns", "entries")), 0)
                self.assertRegex(row["download"], "^[0-9a-f]{64}$")
                self.assertRegex(row["positions"], "^([0-9a-f]{64}|-)$")

    def test_names(self):
        names = {seed: [row["name"] for row in real.listed(seed)] for seed in ("000", "001", "004")}
        self.assertEqual(names["001"], [m.name for m in suite.MATRICES] + ["circuit204"])
        self.assertEqual(names["004"], list(leaves.REAL))
        self.assertEqual([*measure.selected(names["000"])], list(measure.NAMED))
        self.assertEqual(measure.selected(["G3_circuit", "rmat-16", "lhr07"]), ["lhr07", "G3_circuit", "rmat-16"])

    def test_sizes(self):
        """The document rounds the numbers of rows."""
        for row in real.listed("001")[:-1]:
            self.assertAlmostEqual(int(row["rows"]) / suite.BY_NAME[row["name"]].rows, 1, delta=0.005, msg=row)


if __name__ == "__main__":
    unittest.main()
