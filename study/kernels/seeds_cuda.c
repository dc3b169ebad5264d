/* Descriptors of the GPU kernels of the study of sparse products. The plug-in has their functions. */
#include "study/kernels/seeds.h"
#include "study/kernels/study_kernels.h"

static const spryi_parameter parameters[] = {
    {"rows", 1, 32, "rows a block"},
    {"lanes", 0, 0, "threads a row"},
    {"count", 0, 0, "threads a row of GetNNZ"},
    {"blocks", 1, 64, "blocks a multiprocessor"},
    {"claim", 0, 1024, "rows claimed at a time"},
    {"reset", 0, 0, "entries of the tables that are cleared"},
    {"sort", 0, 0, "threads of SortCols"},
    {0},
};
static const char *const widths[] = {"4", "8", "16", "32", "64", "128", "256", "512", NULL};
static const char *const resets[] = {"all", "touched", NULL};
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
    .parameters.text = "rows=NUMBER (rows a block, each with a table; " rows ", at most 32); "                         \
                       "lanes=4|8|16|32|64|128|256|512 (threads a row; " lanes ", rows times lanes at most 1024); "    \
                       "count=4|8|16|32|64|128|256|512 (threads a row of GetNNZ; " count "); "                         \
                       "blocks=NUMBER (blocks a multiprocessor; " blocks "); "                                         \
                       "claim=NUMBER (rows that are claimed at a time, 0: each has its own; " claim "); "              \
                       "reset=all|touched (what of the tables is cleared for a row; " reset "); "                      \
                       "sort=32|64|128|256 (threads of SortCols; by the longest row)"

SEED(older, "B converted to columns, rows of A times columns of B: the method that the paper compares with",
     PAPER ", [3]", .parameters.list = NULL)
SEED(getvals, "a block a row, tables of all columns for counting and placing, rows sorted in place by radix",
     PAPER ", section 4", WITH_PARAMETERS("1", "32", "128, or what a block has room for", "16 / rows", "0", "all"))
SEED(together, "the seed's with all four improvements that it asks for", PAPER ", section 6",
     WITH_PARAMETERS("8 to 1 by lanes", "as B's mean row has entries, 4 to 128", "as lanes", "4 to 16 by lanes", "4",
                     "touched"))
