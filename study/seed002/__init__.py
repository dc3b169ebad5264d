"""Rose 2013: sparse products on a GPU, compared with Matlab, SMMP and the older method."""
from seed002.measure import MOST_PRINTED, jobs
from seed002.show import report

TITLE = "Rose 2013, GPU Sparse Matrix Multiplication with CUDA, on this machine"
ABOUT = (
    "A*A of random square matrices of given density, as in the document: float on its GPU, and also double. Octave "
    "replaces Matlab; both multiply sparse matrices only in double. SMMP is `spgemm_smmp_cpu`, on one thread; SciPy's "
    "product has the same origin. A time is the median of warm runs of a whole product with its allocations, with A "
    "and C in the kernel's memory. *Without SortCols* subtracts the time of that stage, which is measured in more runs "
    "by events in the GPU's stream. Verdicts depend on float. As printed, the document's kernels are measured up to "
    f"{MOST_PRINTED} rows, because their time grows with 32 times rows times columns. All comparisons are on one "
    "machine: the GPU and the processor of its host. "
    "`study/kernels/older_cuda.cu` states how this study interprets the older method.")

WORDS = {
    "seed's kernels": "the document's kernels: GetNNZ, GetVals and SortCols.",
    "repaired": "GetVals clears each element of its table once. As printed, each of 32 threads clears nearly all of "
                "them.",
    "GetNNZ": "the stage that counts the entries of each row of the product.",
    "GetVals": "the stage that fills these rows, in the order in which columns occur.",
    "SortCols": "the stage that sorts the columns of each row.",
    "older method": "the method that the document improves: rows times columns on a GPU.",
    "load": "reading the matrix from a Matrix Market file.",
    "products": "multiplications of two entries; an entry of A*A may need many.",
    "resetting what was touched": "clearing, after each row, only the table entries that the row used.",
    "claimed": "assigned to a block of threads when it has finished its previous rows.",
    "all improvements": "all improvements of the document's conclusion: more than one row per block, threads by row "
                        "length, claimed rows, clearing of used table entries only.",
    "array of all columns": "the document's sequential product: each row is summed in an array with one element per "
                            "column.",
    "rows times columns": "the textbook product, which computes each entry of A*A separately.",
    "warm": "after runs that are not timed.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
