/*
 * The CPU's product by rows (Gustavson): declarations shared by the kernels and the code that sizes their workspace.
 *
 * Each row uses one of these accumulators:
 *
 *   window    Dense sums of all columns from the row's first column (rounded down to 64) to its last. One bit per
 *             column marks the columns of the row, and one byte per 64 bits marks nonzero words. The bits replace a
 *             sort: entries are written in their order. The window's width is that of the widest row of C, up to a
 *             limit. Rows of banded matrices are narrow.
 *   table     A hash table, for wider rows.
 *   copy      If a row of A has one entry, a multiple of a row of B is stored.
 *
 * Some rows have the columns of the row before plus a constant (row_shape.tmpl.h). They use the window without bits.
 *
 * Every accumulator starts at 0 and adds rounded products a*b in the order of A's row. All accumulators give the same
 * bits.
 *
 * Work: pieces of rows with about equal numbers of entries of A. Idle threads fetch the next piece.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library.
 */
#pragma once

#include "spgemm/kernels/cpu/row_runs.h"
#include "spgemm/kernels/spgemm.h"

extern const spryi_kernel spryi_spgemm_rows_cpu, spryi_spgemm_rows_avx2_cpu, spryi_spgemm_rows_avx512_cpu;

/* rows_portable_cpu.c: phases that search for runs if the workspace has memory for runs. */
extern const spryi_spgemm_table spryi_rows_count, spryi_rows_fill, spryi_rows_columns, spryi_rows_renew,
    spryi_rows_list;

/* rows_one_pass_avx512.c */
extern const spryi_spgemm_table spryi_rows_one_pass;

enum { SPRYI_SHORT = 32 }; /* maximal products of a row whose columns fit in two registers of AVX-512 */

/*
 * FEW_PRODUCTS: maximal products of a row whose columns are sorted without a mask. BEYOND_FEW: number of elements that
 * copy_few may write after the list of these columns.
 */
enum { SPRYI_FEW_PRODUCTS = 64, SPRYI_BEYOND_FEW = 8 };

/* Maximal rows with equal columns in A that are summed together. Their window is wider by this factor. */
enum { SPRYI_IDENTICAL_ROWS = 4 };

/* Maximal rows of B with equal columns that are added together. In elasticity, a point has three such rows. */
enum { SPRYI_ROWS_OF_B = 3 };

/*
 * Limits of one pass. LISTED: maximal products of a listed row. ENTRIES: maximal entries of C in a buffer. BUFFERS:
 * buffers of each thread, if there are multiple threads. WINDOWS: maximal words of the dense window.
 */
enum { SPRYI_LISTED = 1024, SPRYI_BUFFER_ENTRIES = 1 << 15, SPRYI_BUFFERS = 4, SPRYI_ONE_PASS_WINDOWS = 512 };

enum { SPRYI_STREAMS_FROM = 16 << 20 }; /* least bytes of C that are written with non-temporal stores */

/* A dense window of columns base .. base + 64 * windows - 1, for the row that is being summed. */
typedef struct spryi_dense_window {
    void *sums;
    uint64_t *bits;
    unsigned char *touched;
    unsigned char *flags; /* one byte per column, in place of bits, for rows that are dense in their span */
} spryi_dense_window;

/* A hash table. A slot has a sum and a key: its column + 1, or 0 if the slot is empty. */
typedef struct spryi_hash_table {
    void *sums, *keys;
} spryi_hash_table;

/*
 * A dense window of groups of eight columns: eight sums, a byte of bits for the columns present, and one byte per 64
 * groups.
 */
typedef struct spryi_group_window {
    void *sums;
    unsigned char *bits, *touched;
    uint32_t last; /* number of groups minus 1 */
} spryi_group_window;

/*
 * Ranks of a row's columns. The rank of a column is rank[word] plus the number of lower bits set in mask[word].
 * rank[word] counts the columns in all words before; it is valid only if mask[word] is not 0. mask and touched are 0
 * between rows.
 */
typedef struct spryi_column_ranks {
    uint64_t *restrict mask;
    uint32_t *restrict rank;
    unsigned char *restrict touched;
} spryi_column_ranks;

/* A summed piece of C that is not yet copied to C. */
typedef struct spryi_row_buffer {
    int64_t piece, n;
    int32_t *ends; /* ends of its rows in columns and values */
    int32_t *columns;
    void *values;
} spryi_row_buffer;

/* The products of a row, and the position of each in the row of C. */
typedef struct spryi_product_list {
    int32_t *columns, *before; /* columns of the row's products; those of the row before, which the row may repeat */
    void *products;
    uint16_t *positions, *map; /* position of each product of `before`; position of each column of the window */
} spryi_product_list;

/* A thread's part of the workspace. */
typedef struct spryi_rows_workspace {
    uint64_t *mask, *marked; /* one bit per column; one bit per word of mask, if columns are listed */
    spryi_dense_window window;
    spryi_hash_table table;
    spryi_group_window groups;
    spryi_column_ranks ranks;
    spryi_product_list list;
    spryi_row_buffer buffers[SPRYI_BUFFERS];
    spryi_row_run run;
    spryi_spgemm_spans seen; /* spans of the rows that this thread counted, or whose columns it found */
    int64_t listed;          /* columns listed so far, if one thread counts and lists */
    int64_t piece;           /* current piece */
} spryi_rows_workspace;

/* Processes the rows begin .. end-1 of a piece. */
typedef void (*spryi_rows_piece_fn)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end);

/* rows_sizes.c: runs a phase in parallel, piece by piece. Merges the `seen` of all threads into job->found. */
void spryi_rows_run(spryi_spgemm_job *job, spryi_rows_piece_fn piece);

/*
 * rows_sizes.c: returns the sizes of a phase's workspace. runs: functions of a kernel that searches for runs, or NULL.
 */
spryi_spgemm_sizes spryi_rows_sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes,
                                    const spryi_run_functions *runs);

/* Sets the addresses of the thread's arrays in the workspace. */
void spryi_rows_place(const spryi_spgemm_job *job, int thread, spryi_rows_workspace *w);

/*
 * Returns an upper bound on the number of words that columns `first` to `last` span. The bound
 * depends only on last - first, so a row whose columns are those of another row plus a constant has the same bound.
 */
static inline int64_t spryi_rows_words(int64_t first, int64_t last)
{
    return (last - first) / 64 + 2;
}

/* Returns true if a row has so few products for its span that the hash table is faster than scanning the window. */
enum { SPRYI_FEW_WORDS = 256, SPRYI_WORDS_A_PRODUCT = 32 };
static inline bool spryi_rows_scattered(int64_t words, int64_t products)
{
    return words > SPRYI_FEW_WORDS && words / SPRYI_WORDS_A_PRODUCT > products;
}

/* Records in `seen` a row that spans `words` words and has `products` products. */
static inline void spryi_rows_note_span(const spryi_spgemm_job *job, spryi_spgemm_spans *seen, int64_t words,
                                        int64_t products)
{
    const int64_t slots = products < job->b.columns ? products : job->b.columns;
    const int bin = words == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)words);
    int64_t *const most = spryi_rows_scattered(words, products) ? &seen->scattered : &seen->busiest[bin];
    if (slots > *most) *most = slots;
    if (most != &seen->scattered && words > seen->widest[bin]) seen->widest[bin] = words;
}

/*
 * Records in `seen` a row that repeats the row before (row_shape.tmpl.h) and spans `words` words. identical: the two
 * rows have equal columns in A.
 */
static inline void spryi_rows_note_repeated(spryi_spgemm_spans *seen, int64_t words, bool identical)
{
    if (identical && words > seen->identical) seen->identical = words;
    if (words > seen->repeated) seen->repeated = words;
}

/* Returns the slots of a hash table for `products` products: a power of two, at most half full. */
static inline int64_t spryi_rows_slots(int64_t products, int64_t cols)
{
    const int64_t most = products < cols ? products : cols;
    return most == 0 ? 0 : (int64_t)1 << (65 - __builtin_clzll((unsigned long long)most));
}
