"""Lane and Booth 2022: CSR-k on CPUs and GPUs, over the 64 matrices of the document."""
from seed001.measure import jobs
from seed001.show import report

TITLE = "Lane and Booth 2022, Heterogeneous SpMV via Compressed Sparse Row Format, on this machine"
ABOUT = (
    "Rates are of the arithmetic mean of 20 runs after 5 that are not timed, as in the document (mesh, inner products "
    "and what was recorded elsewhere: medians of batches). CSR-k on CPUs is its "
    "listing 1: threads with equal shares of the outermost groups (kernels csr2_listing_... and so on); those called "
    "balanced are this library's own of the same formats. Everybody is measured as given and reordered, csr-k by the "
    "Band-k of its k, all others by RCM, and the better of the two counts on each matrix unless it says otherwise. A "
    "matrix that is not in the folder is a twin: generated, of the printed sizes, row lengths, symmetry and kind. A "
    "class's means are over those of its matrices on which everybody ran.")

WORDS = {
    "as given": "in the numbering that the file or the generator has.",
    "reordered": "rows and columns renumbered alike before the product, which is timed in the new numbering.",
    "better": "of as given and reordered the one with the higher rate, for each kernel and matrix by itself.",
    "Band-k": "the document's ordering, which makes the groups of csr-k, too.",
    "RCM": "reverse Cuthill-McKee, an ordering that draws the entries to the diagonal.",
    "listing": "the document's listing 1: each thread has as many of the outermost groups; rows in plain C as printed "
               "(csr2_listing_cpu), or by csr's vector instructions (csr2_listing_avx512_cpu).",
    "MKL": "of mkl_csr and, after MKL's own optimizing, mkl_csr_optimized the faster, for each matrix by itself.",
    "CSR5": "on CPUs this library's own implementation of its paper, with AVX-512; not the authors' program.",
    "balanced": "by this library's own kernels of a format, whose threads share blocks of rows of about equal work.",
    "tuned": "by the fastest of the listing with every size of groups that was tried, for each matrix by itself.",
    "SRS, SSRS": "rows of a super-row, and super-rows of a super-super-row, the groups of csr-k.",
    "regular, irregular": "the document's classes: the variance of the rows' lengths is at most 10, or above.",
    "sym.": "those whose pattern the document takes for symmetric; \"other\" are the rest of the class.",
    "packed": "a format of this library: slices of rows with columns stored as short differences.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
