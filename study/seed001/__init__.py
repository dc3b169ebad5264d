"""Lane and Booth 2022: CSR-k on CPUs and GPUs, over the 64 matrices of the document."""
from seed001.measure import jobs
from seed001.show import report

TITLE = "Lane and Booth 2022, Heterogeneous SpMV via Compressed Sparse Row Format, on this machine"
ABOUT = (
    "Rates are of the arithmetic mean of 20 runs after 5 that are not timed, as in the document. CSR-k on CPUs is its "
    "listing 1: threads with equal shares of the outermost groups (kernels csr2_listing_... and so on); those called "
    "balanced are this library's own of the same formats. Everybody is measured as given and reordered, csr-k by the "
    "Band-k of its k, all others by RCM, and the better of the two counts on each matrix unless it says otherwise. A "
    "matrix that is not in the folder is a twin: generated, of the printed sizes, row lengths, symmetry and kind. A "
    "class's means are over those of its matrices on which everybody ran.")

__all__ = ["TITLE", "ABOUT", "jobs", "report"]
