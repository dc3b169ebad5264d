"""Tests the simulation of docs/scale.md: counts against matrices built entry by entry, times against the input."""
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/petsc"))
import scale  # noqa: E402

GRIDS = ((8, 8), (5, 9), (7, 3), (1, 6), (4, 4, 4), (3, 5, 4), (6, 2, 3))
RANKS = (1, 2, 3, 4, 7, 16)


def machine(*options):
    return scale.machine_of(scale.parse(["tables", *options]))


def entries(dims):
    """Returns rows and columns of all entries, in the grid's natural order."""
    at = np.arange(scale.points(dims)).reshape(dims[::-1])
    rows, columns = [at.ravel()], [at.ravel()]
    for axis in range(len(dims)):
        low, high = np.moveaxis(at, axis, 0)[:-1].ravel(), np.moveaxis(at, axis, 0)[1:].ravel()
        rows += [low, high]
        columns += [high, low]
    return np.concatenate(rows), np.concatenate(columns)


def owners(dims, ranks, blocks):
    """Returns the rank of each point."""
    if blocks == "rows":
        return np.repeat(np.arange(ranks), scale.split(scale.points(dims), ranks))
    counts = scale.processes(dims, ranks)
    sides = [np.repeat(np.arange(count), scale.split(extent, count)) for extent, count in zip(dims, counts)]
    owner, stride = 0, 1
    for axis, (side, count) in enumerate(zip(sides, counts)):
        owner = owner + stride * side.reshape((-1,) + (1,) * axis)
        stride *= count
    return owner.ravel()


def partitions():
    for blocks, make in scale.BLOCKS.items():
        for dims in GRIDS:
            for ranks in RANKS:
                if blocks == "rows" or all(c <= d for c, d in zip(scale.processes(dims, ranks), dims)):
                    yield dims, ranks, blocks, make(dims, ranks)


class Counts(unittest.TestCase):
    def test_as_entry_by_entry(self):
        for dims, ranks, blocks, part in partitions():
            owner = owners(dims, ranks, blocks)
            rows, columns = entries(dims)
            of, outside = owner[rows], owner[rows] != owner[columns]
            needed = np.unique(np.stack((of, owner[columns], columns))[:, outside], axis=1)
            pairs, how_many = np.unique(needed[:2], axis=1, return_counts=True)
            order = np.lexsort((part.sender, part.receiver))
            told = np.stack((part.receiver, part.sender, part.columns))[:, order]
            with self.subTest(dims=dims, ranks=ranks, blocks=blocks):
                self.assertEqual(part.rows.tolist(), np.bincount(owner, minlength=ranks).tolist())
                self.assertEqual(part.diagonal.tolist(), np.bincount(of[~outside], minlength=ranks).tolist())
                self.assertEqual(part.off.tolist(), np.bincount(of[outside], minlength=ranks).tolist())
                filled = np.unique(rows[outside])
                self.assertEqual(part.filled.tolist(), np.bincount(owner[filled], minlength=ranks).tolist())
                self.assertEqual(told.tolist(), np.vstack((pairs, how_many)).tolist())

    def test_sums(self):
        for dims in ((512, 256), (64, 32, 16)):
            for make in scale.BLOCKS.values():
                part = make(dims, 64)
                self.assertEqual(part.rows.sum(), scale.points(dims))
                self.assertEqual((part.diagonal + part.off).sum(), scale.entries_of(dims))

    def test_halo_by_hand(self):
        # 8 x 8 points on 2 x 2 ranks. Each box of 4 x 4 points receives 4 columns of 8 bytes from each of two
        # neighbours. 7 rows of a box use these columns.
        part = scale.box_blocks((8, 8), 4)
        self.assertEqual((8 * part.received()).tolist(), [64] * 4)
        self.assertEqual(part.filled.tolist(), [7] * 4)
        # With two grid lines per rank, middle ranks need one line from each neighbour.
        self.assertEqual((8 * scale.row_blocks((8, 8), 4).received()).tolist(), [64, 128, 128, 64])
        # 4 x 4 x 4 points on 2 x 2 x 2 ranks: three neighbours with 4 columns each.
        self.assertEqual(scale.box_blocks((4, 4, 4), 8).received().tolist(), [12] * 8)

    def test_processes_as_a_dmda(self):
        self.assertEqual(scale.processes((4096, 4096), 1024), (32, 32))
        self.assertEqual(scale.processes((100, 100), 2), (1, 2))
        self.assertEqual(scale.processes((64, 64, 64), 64), (4, 4, 4))
        self.assertEqual(scale.processes((10, 10), 7), (1, 7))


class Times(unittest.TestCase):
    # No cache, and unlimited memory bandwidth for each rank: only computation and messages take time.
    PLAIN = ("--cache", "0", "--memory", "1e9", "--core", "1e9", "--cores", "16")

    def test_one_rank_takes_what_was_measured(self):
        for (grid, kind), measured in scale.ONE_RANK.items():
            dims = scale.SIZES[grid][kind]
            part = scale.row_blocks(dims, 1)
            for name, microseconds in zip(scale.TYPES, measured):
                self.assertAlmostEqual(1e6 * scale.mult(machine(), grid, name, part), microseconds)

    def test_efficiency(self):
        m = machine(*self.PLAIN)
        for dims in ((512, 512), (64, 64, 64)):
            for blocks in scale.BLOCKS:
                for weak in (False, True):
                    rows = scale.scale(m, dims, blocks, (1, 4, 16, 64), weak)
                    for what in ("mult", "cg"):
                        for k in range(len(scale.TYPES)):
                            gains = [scale.efficiency(rows[0][1][what][k], times[what][k], count, weak)
                                     for count, times in rows]
                            self.assertEqual(gains[0], 1)
                            self.assertTrue(all(0 < gain < 1.02 for gain in gains), (dims, blocks, weak, what, gains))

    def test_small_blocks_are_petsc(self):
        m = machine("--grid5-cache", "80,40,40", "--grid5-memory", "5000,2500,2500")
        small, large = scale.row_blocks((40, 40), 1), scale.row_blocks((60, 60), 1)  # 7840 and 17760 entries
        self.assertEqual(len({scale.mult(m, "grid5", name, small) for name in scale.TYPES}), 1)
        aij, csr = (scale.mult(m, "grid5", name, large) for name in ("aij", "csr"))
        self.assertAlmostEqual(aij / csr, 2)

    def test_memory_of_a_node_is_shared(self):
        # Sixteen ranks share 16 GB/s: 1 GB/s per rank, less than one rank alone could use.
        m = machine("--cache", "0", "--memory", "16", "--cores", "16")
        part = scale.row_blocks((1024, 1024), 16)
        for name in scale.TYPES:
            least = scale.product_bytes(name, part.diagonal, part.rows, part.rows).max() / 1e9
            self.assertGreaterEqual(scale.mult(m, "grid5", name, part), least)

    def test_messages(self):
        # Each rank needs one grid line of 512 columns from its neighbour. Within a node, the time to copy the line is
        # added to the time of the product. Between nodes, the message and the product run at the same time.
        part, slow = scale.row_blocks((512, 512), 2), ("--cache", "0", "--memory", "1e9")
        free = ("--local-latency", "0", "--local-bandwidth", "1e9")
        alone = scale.mult(machine(*slow, "--cores", "2", *free), "grid5", "aij", part)
        for cores, added in (("2", 0.9e-6 + 4096 / 2e9), ("1", 0)):
            m = machine(*slow, "--cores", cores)
            self.assertAlmostEqual(scale.mult(m, "grid5", "aij", part), alone + added, places=9)
        late = machine(*slow, "--cores", "1", "--network-latency", "1e5")
        self.assertGreater(scale.mult(late, "grid5", "aij", part), 0.1)

    def test_reductions(self):
        m = machine("--cores", "64")
        self.assertEqual(scale.reduction(m, 1), 0)
        self.assertAlmostEqual(scale.reduction(m, 1024), 6 * 0.9e-6 + 4 * 1.5e-6)


class Page(unittest.TestCase):
    def test_tables_and_picture_are_what_the_script_says(self):
        self.assertTrue(scale.page(write=False), "bindings/petsc/scale.py write brings its tables into docs/scale.md")
        subprocess.run([sys.executable, "-B", str(ROOT / "docs/pictures/draw_scale.py"), "--check"], check=True)

    def test_command_line(self):
        def told(*arguments):
            run = [sys.executable, "-B", str(ROOT / "bindings/petsc/scale.py"), *arguments]
            return subprocess.run(run, capture_output=True, text=True)
        lines = told("counts", "--grid", "8x8", "--ranks", "4", "--blocks", "boxes").stdout.splitlines()
        neighbours = ("1 2", "0 3", "0 3", "1 2")
        self.assertEqual(lines[1:], [f"{rank} 16 64 8 7 8 {neighbours[rank]}" for rank in range(4)])
        page = (ROOT / "docs/scale.md").read_text()
        self.assertIn(told("validate").stdout, page)
        table = told("tables", "--grid", "64x64", "--per-rank", "32x32", "--ranks", "1", "4").stdout
        self.assertEqual(table.count("\n| 64x64 |"), 4)
        self.assertEqual(table.count("\n| 32x32 per rank |"), 4)
        self.assertNotEqual(told("tables", "--grid", "64").returncode, 0)
        self.assertNotEqual(told("tables", "--grid5-memory", "1,2").returncode, 0)


if __name__ == "__main__":
    unittest.main()
