"""Evtushenko 2019: kernels of CSR, ELL, COO, SCOO and HYB on a GPU, compared with the textbook loop on one thread."""
from seed000.measure import jobs
from seed000.show import report

TITLE = "Evtushenko 2019, Sparse Matrix-Vector Multiplication with CUDA, on this machine"
ABOUT = ("Speed-ups are relative to the textbook CSR loop on one thread of the same machine. Times are arithmetic "
         "means of at least 30 trials, as in the document; slow cases have fewer. A set has the matrices with at least "
         "the stated number of entries on which the kernel ran. ELL and HYB may use 8 GB, the memory of the document's "
         "GPU. Real matrices are from the folder given; the others are generated. The document's kernels as printed "
         "give the verdicts. The document does not state NNZ_PER_WG, the number of entries of CSR-Adaptive's row "
         "blocks: the author's program (gevtushenko/matrix_format_performance on GitHub) has 64, and results for 256 "
         "and 1024 are also given. SCOO's slices have the sizes of that program, and HYB its width: the mean row "
         "length and a fifth of the distance to the longest row. Results with the mean row length are also given. The "
         "listings of COO and HYB add to y, and are timed as y = A*x + y.")

WORDS = {
    "speed-up": "the time of the textbook CSR loop on one thread divided by the kernel's time.",
    "set": "the matrices on which the kernel ran, with at least the number of entries in the first column; avg and max "
           "are the mean and the largest speed-up on these.",
    "common set": "the matrices on which all kernels of tables 1 to 8 ran.",
    "leader": "the fastest of the document's own kernels on a matrix.",
    "twin": "in other studies, a matrix generated with the sizes of a real one. Here matrices of a twin's kind have "
            "the structure, longest row and symmetry of the kind, and sizes chosen for this study. They do not replace "
            "a real matrix.",
    "lanes": "threads that share a row.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
