"""Evtushenko 2019: the kernels of CSR, ELL, COO, SCOO and HYB on a GPU, over the textbook loop on one thread."""
from seed000.measure import jobs
from seed000.show import report

TITLE = "Evtushenko 2019, Sparse Matrix-Vector Multiplication with CUDA, on this machine"
ABOUT = ("Speed-ups are over the textbook CSR loop on one thread of the same machine, in arithmetic means of 30 "
         "trials or more, as in the document, but for slow cases that have fewer. A set is the matrices with at least "
         "so many entries on which the kernel ran; ELL and HYB may take 8 GB, which the document's GPU had. Real "
         "matrices are those of the folder that was named; the others are generated. The document does not give "
         "NNZ_PER_WG, the entries of CSR-Adaptive's row blocks: table 4 has 256, the fewest that the kernel takes (the "
         "author's program, gevtushenko/matrix_format_performance on GitHub, has 64); what blocks of 1024 entries "
         "would change stands beside.")

WORDS = {
    "speed-up": "the time of the textbook CSR loop on one thread over that of the kernel.",
    "set": "the matrices with at least the entries of the line on which the kernel ran; avg and max are over these.",
    "common set": "those on which every kernel of tables 1 to 8 ran.",
    "leader": "the fastest of the document's own kernels on a matrix.",
    "twin": "elsewhere a matrix that is generated with the sizes of a real one. Here those of a twin's kind are "
            "generated in that way (structure, longest row and symmetry of the kind) with sizes of this study's own: "
            "they stand for no real matrix.",
    "lanes": "threads that share a row.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
