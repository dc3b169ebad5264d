"""Lane and Booth 2022: CSR-k on CPUs and GPUs, on the 64 matrices of the document."""
from seed001.measure import jobs
from seed001.show import report

TITLE = "Lane and Booth 2022, Heterogeneous SpMV via Compressed Sparse Row Format, on this machine"
ABOUT = (
    "Rates are from the arithmetic mean of 20 runs after 5 warm-up runs, as in the document (mesh, inner products and "
    "records from elsewhere: medians of batches). CSR-k on CPUs is the document's listing 1: threads with equal shares "
    "of the outermost groups (kernels csr2_listing_... and so on). Kernels called balanced are this library's own for "
    "the same formats. All kernels are measured as given and reordered, csr-k by the Band-k of its k, all others by "
    "RCM. Unless stated otherwise, the better of the two counts on each matrix. A matrix that is not in the folder is "
    "a twin, generated with the printed sizes, row lengths, symmetry and kind. A class's mean is over its matrices on "
    "which all kernels ran.")

WORDS = {
    "as given": "in the numbering of the file or the generator.",
    "reordered": "rows and columns permuted alike before the product. Only the product is timed.",
    "better": "the higher rate of as given and reordered, for each kernel and matrix.",
    "Band-k": "the document's ordering, which also creates the groups of csr-k.",
    "RCM": "reverse Cuthill-McKee, an ordering that moves entries towards the diagonal.",
    "listing": "the document's listing 1: each thread has the same number of outermost groups; rows in plain C as "
               "printed (csr2_listing_cpu), or with csr's vector instructions (csr2_listing_avx512_cpu).",
    "MKL": "the faster of mkl_csr and mkl_csr_optimized, which uses MKL's own optimization, for each matrix.",
    "CSR5": "on CPUs this library's own implementation of its paper, with AVX-512; not the authors' program.",
    "balanced": "this library's own kernels of a format, whose threads process blocks of rows with about equal work.",
    "tuned": "the fastest listing with any of the group sizes that were tried, for each matrix.",
    "SRS, SSRS": "rows per super-row, and super-rows per super-super-row, the groups of csr-k.",
    "regular, irregular": "the document's classes: the variance of the row lengths is at most 10, or above 10.",
    "sym.": "matrices whose pattern the document calls symmetric; \"other\" are the rest of the class.",
    "packed": "a format of this library: slices of rows with columns stored as short differences.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
