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
    "as `study/kernels/older_cuda.cu` tells.")

WORDS = {
    "seed's kernels": "the document's, as it prints them: GetNNZ, GetVals and SortCols.",
    "GetNNZ": "the stage that counts the entries of each row of the product.",
    "GetVals": "the stage that fills these rows, in the order in which columns turn up.",
    "SortCols": "the stage that sorts the columns of each row.",
    "older method": "the one that the document sets out to improve: rows times columns on a GPU.",
    "load": "reading the matrix from a Matrix Market file.",
    "products": "multiplications of an entry with an entry, of which there may be many for an entry of A*A.",
    "resetting what was touched": "clearing, after each row, those places of its table alone that the row used.",
    "claimed": "taken by a block of threads when it has done the rows before.",
    "all improvements": "what the document's conclusion asks for together: several rows a block, threads by the rows' "
                        "lengths, rows that are claimed, tables cleared where they were touched.",
    "array of all columns": "the document's sequential product: each row is added up in an array of a place a column.",
    "rows times columns": "the textbook's product, each entry of A*A by itself.",
    "warm": "after runs that are not timed.",
}

__all__ = ["TITLE", "ABOUT", "WORDS", "jobs", "report"]
