"""Rose 2013: sparse times sparse on a GPU, over Matlab, SMMP and the older method."""
from seed002.measure import jobs
from seed002.show import report

TITLE = "Rose 2013, GPU Sparse Matrix Multiplication with CUDA, on this machine"
ABOUT = (
    "A*A of random square matrices of one density, as the document has it: float on its GPU, and double beside. Octave "
    "stands for Matlab, which multiplies in double alone; SMMP is `spgemm_smmp_cpu`, one thread, and SciPy's of the "
    "same origin. A time is a whole product with its allocations, A and C where the kernel works, the median of warm "
    "runs; *without SortCols* the time of that stage is taken off, which is measured in further runs by events in the "
    "GPU's stream. What is compared is of one machine: the GPU and the processor of its host. The older method is read "
    "as `src/studies/spgemm/older_cuda.cu` tells.")

__all__ = ["TITLE", "ABOUT", "jobs", "report"]
