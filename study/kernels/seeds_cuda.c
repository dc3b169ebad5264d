/* Descriptors of the GPU kernels of the study of sparse products. The plug-in has their functions. */
#include "study/kernels/seeds.h"
#include "study/kernels/study_kernels.h"

static const spryi_parameter parameters[] = {
    {"rows", 1, 32, "rows per block"},
    {"lanes", 0, 0, "threads per row"},
    {"count", 0, 0, "threads per row of GetNNZ"},
    {"blocks", 1, 64, "blocks per multiprocessor"},
    {"claim", 0, 1024, "rows claimed at a time"},
    {"reset", 0, 0, "table entries that are cleared"},
    {"sort", 0, 0, "threads of SortCols"},
    {0},
};
static const char *const widths[] = {"4", "8", "16", "32", "64", "128", "256", "512", NULL};
static const char *const resets[] = {"all", "touched", "printed", "repaired", NULL};
static const char *const sorts[] = {"32", "64", "128", "256", NULL};

#define PAPER "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013"
#define SEED(way, idea_, source_, ...)                                                                                 \
    const spryi_kernel spryi_spgemm_seed_##way##_cuda = {.name = "spgemm_seed_" #way "_cuda",                          \
                                                         .format = "csr",                                              \
                                                         .device = "cuda",                                             \
                                                         .idea = idea_,                                                \
                                                         .source = source_,                                            \
                                                         .study = 1,                                                   \
                                                         .pattern = 1,                                                 \
                                                         .operations = SPRYI_OP_SPGEMM,                                \
                                                         __VA_ARGS__};
#define WITH_PARAMETERS(rows, lanes, count, blocks, claim, reset)                                                      \
    .parameters.list = parameters,                                                                                     \
    .parameters.words = {[SPRYI_SEED_LANES] = widths,                                                                  \
                         [SPRYI_SEED_COUNT] = widths,                                                                  \
                         [SPRYI_SEED_RESET] = resets,                                                                  \
                         [SPRYI_SEED_SORT] = sorts},                                                                   \
    .parameters.text =                                                                                                 \
        "rows=NUMBER (rows per block, each with a table; " rows ", at most 32); "                                      \
        "lanes=4|8|16|32|64|128|256|512 (threads per row; " lanes ", rows times lanes at most 1024); "                 \
        "count=4|8|16|32|64|128|256|512 (threads per row of GetNNZ; " count "); "                                      \
        "blocks=NUMBER (blocks per multiprocessor; " blocks "); "                                                      \
        "claim=NUMBER (rows claimed at a time, 0: rows are fixed; " claim "); "                                        \
        "reset=all|touched|printed|repaired (table entries cleared for each row; printed, repaired: listings; " reset  \
        "); "                                                                                                          \
        "sort=32|64|128|256 (threads of SortCols; by the longest row)"

SEED(older, "B converted to columns, rows of A times columns of B: the paper's older method", PAPER ", [3]",
     .parameters.list = NULL)
SEED(getvals, "one block per row, tables of all columns to count and place entries, rows sorted in place by radix",
     PAPER ", section 4", WITH_PARAMETERS("1", "32", "128, or less to fit in a block", "16 / rows", "0", "all"))
SEED(together, "the seed's kernels with all four improvements of its conclusion", PAPER ", section 6",
     WITH_PARAMETERS("8 to 1 by lanes", "B's mean row rounded up to a power of 2, 4 to 128", "as lanes",
                     "4 to 16 by lanes", "4", "touched"))
