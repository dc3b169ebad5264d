"""Lane and Booth 2022: CSR-k on CPUs and GPUs, on the 64 matrices of the document."""
from seed001.measure import jobs
from seed001.show import report

TITLE = "Lane and Booth 2022, Heterogeneous SpMV via Compressed Sparse Row Format, on this machine"
ABOUT = (
    "Rates are from the arithmetic mean of 20 runs after 5 warm-up runs, as in the document (mesh and inner products: "
    "medians of batches). CSR-k on CPUs is the document's listing 1: threads have equal shares of the groups. "
    "All kernels are measured as given and reordered, csr-k by the Band-k of its k, all others by RCM. Unless stated "
    "otherwise, the better of the two counts on each matrix. ecology1 and debr are generated exactly. Another matrix "
    "that is not in the folder is a twin, generated with the printed sizes, row lengths, symmetry and kind. A class's "
    "mean is over its matrices on which all kernels ran. Both sides of a verdict have equally many kernels or sizes: "
    "those that are best on average.")

WORDS = {
    "as given": "in the numbering of the file or the generator.",
    "reordered": "rows and columns permuted alike before the product. Only the product is timed.",
    "better": "the higher rate of as given and reordered, for each kernel and matrix.",
    "Band-k": "the document's ordering, which also creates the groups of csr-k.",
    "RCM": "reverse Cuthill-McKee, an ordering that moves entries towards the diagonal.",
    "CSR-2, CSR-3": "on CPUs the document's listing 1 in plain C, with the best of the sizes that were tried. On GPUs "
                    "CSR-3 is listings 3 and 4, with sizes by a formula, and CSR-2 this library's kernel.",
    "vector rows": "listing 1 with csr's vector instructions for a row.",
    "listing": "the document's listing 1: each thread has the same number of outermost groups.",
    "MKL": "the faster of mkl_csr and mkl_csr_optimized, which uses MKL's own optimization, for each matrix.",
    "CSR5": "the program of its authors; on CPUs its AVX2 code, as in the document.",
    "Kokkos Kernels": "its sparse product of CSR matrices.",
    "balanced": "this library's own kernels of a format, whose threads process blocks of rows with about equal work.",
    "margin of means": "the ratio of two means over a class that counts as a difference: at least 1.05. 95 % of the "
                       "means that were measured twice differ by less.",
    "SRS, SSRS": "rows per super-row, and super-rows per super-super-row, the groups of csr-k.",
    "regular, irregular": "the document's classes: the variance of the row lengths is at most 10, or above 10.",
    "sym.": "matrices whose pattern the document calls symmetric; \"other\" are the rest of the class.",
    "packed": "a format of this library: slices of rows with columns stored as short differences.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
