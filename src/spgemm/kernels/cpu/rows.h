/*
 * The CPU's product by rows (Gustavson), each in the accumulator that suits it: what its kernels and the sizes of their
 * workspace share.
 *
 * A dense window: sums of the columns from the row's first (rounded down to 64) to its last, a bit for each column
 * that is met, a byte for each 64 of those that says where to look. The bits are the sort: they are emitted in order.
 * The window is as wide as the widest row of C spans, which in banded matrices is little, and no wider than the limit;
 * rows that span more go through a hash table.
 * Rows of one entry are copied; rows that repeat the one before (row_shape.tmpl.h) know their columns: no bits.
 * Every accumulator starts at 0 and adds a*b, rounded, in the order of A's row: the bits are the same in all.
 *
 * Work: pieces of rows with about equal entries of A, which threads take as they get free.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; the repeating rows: this library.
 */
#pragma once

#include "spgemm/kernels/cpu/row_runs.h"
#include "spgemm/kernels/spgemm.h"

extern const spryi_kernel spryi_spgemm_rows_cpu, spryi_spgemm_rows_avx2_cpu, spryi_spgemm_rows_avx512_cpu;

/* rows_portable_cpu.c: phases that find runs where the workspace has room for them. */
extern const spryi_spgemm_table spryi_rows_count, spryi_rows_fill, spryi_rows_columns, spryi_rows_renew,
    spryi_rows_list;

/* rows_one_pass_avx512.c */
extern const spryi_spgemm_table spryi_rows_one_pass;

enum { SPRYI_SHORT = 32 }; /* products of a row whose columns lie in two registers of AVX-512 */

/* Products of a row whose columns are sorted as they are, and columns that may be copied beyond. */
enum { SPRYI_FEW_PRODUCTS = 64, SPRYI_BEYOND_FEW = 8 };

/* Rows with the same columns in A that are summed together, where the window is so many times as wide. */
enum { SPRYI_IDENTICAL_ROWS = 4 };

/* Rows of B with the same columns that are added to those at once; three are what elasticity has at a point. */
enum { SPRYI_ROWS_OF_B = 3 };

/*
 * One pass: products of a row that are listed, entries of C in a thread's buffer, words of its window; buffers of a
 * thread that may have to wait.
 */
enum { SPRYI_LISTED = 1024, SPRYI_BUFFER_ENTRIES = 1 << 15, SPRYI_BUFFERS = 4, SPRYI_ONE_PASS_WINDOWS = 512 };

enum { SPRYI_STREAMS_FROM = 16 << 20 }; /* bytes of C that would not stay in the caches */

/* A dense window, which stands over columns base .. base + 64 * windows - 1 while a row is summed. */
typedef struct spryi_dense_window {
    void *sums;
    uint64_t *bits;
    unsigned char *touched;
    unsigned char *flags; /* a byte a column: of rows that are dense in what they span, in place of bits */
} spryi_dense_window;

/* Sums, and columns + 1, 0 where there is none. */
typedef struct spryi_hash_table {
    void *sums, *keys;
} spryi_hash_table;

/* A dense window of groups of eight columns: eight sums each, which of them there are, and a byte for 64 groups. */
typedef struct spryi_group_window {
    void *sums;
    unsigned char *bits, *touched;
    uint32_t last; /* groups of the window, less 1 */
} spryi_group_window;

/*
 * Ranks of a row's columns: the columns in words of 64 before, and the bits of the word below. All words are 0 between
 * rows. rank counts only where mask is not 0.
 */
typedef struct spryi_column_ranks {
    uint64_t *restrict mask;
    uint32_t *restrict rank;
    unsigned char *restrict touched;
} spryi_column_ranks;

/* A piece of C on its way there. */
typedef struct spryi_row_buffer {
    int64_t piece, n;
    int32_t *ends; /* of its rows in: */
    int32_t *columns;
    void *values;
} spryi_row_buffer;

/* The products of a row, and where each of them goes. */
typedef struct spryi_product_list {
    int32_t *columns, *before; /* of the products of a row, and of the row that others may repeat */
    void *products;
    uint16_t *positions, *map; /* where each product of `before` goes; positions of columns of the window */
} spryi_product_list;

/* A thread's part of the workspace. */
typedef struct spryi_rows_workspace {
    uint64_t *mask, *marked; /* a bit a column; a bit a word of these, where columns are listed */
    spryi_dense_window window;
    spryi_hash_table table;
    spryi_group_window groups;
    spryi_column_ranks ranks;
    spryi_product_list list;
    spryi_row_buffer buffers[SPRYI_BUFFERS];
    spryi_row_run run;
    spryi_spgemm_spans seen; /* by this thread, in the count and columns phases */
    int64_t listed;          /* columns so far, where count and columns are one phase of one thread */
    int64_t piece;           /* that is under way */
} spryi_rows_workspace;

/* The rows of a piece, begin .. end-1. */
typedef void (*spryi_rows_piece_fn)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end);

/* rows_sizes.c: a phase in parallel, piece by piece; adds what is seen to job->found. */
void spryi_rows_run(spryi_spgemm_job *job, spryi_rows_piece_fn piece);

/* rows_sizes.c: the workspace of a phase; `runs`: of rows that share one order of products, which the kernel looks for;
   NULL: it does not. */
spryi_spgemm_sizes spryi_rows_sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes,
                                    const spryi_run_functions *runs);

/* Where the arrays of the thread's part are. */
void spryi_rows_place(const spryi_spgemm_job *job, int thread, spryi_rows_workspace *w);

/* Words that columns first to last take, wherever they begin in one: the same for rows that repeat each other. */
static inline int64_t spryi_rows_words(int64_t first, int64_t last)
{
    return (last - first) / 64 + 2;
}

/* Rows whose span is that wide for their products are summed in the hash table: looking through it would cost more. */
enum { SPRYI_FEW_WORDS = 256, SPRYI_WORDS_A_PRODUCT = 32 };
static inline int spryi_rows_scattered(int64_t words, int64_t products)
{
    return words > SPRYI_FEW_WORDS && words / SPRYI_WORDS_A_PRODUCT > products;
}

/* Notes a row that spans so many words and has so many products. */
static inline void spryi_rows_note_span(const spryi_spgemm_job *job, spryi_spgemm_spans *seen, int64_t words,
                                        int64_t products)
{
    const int64_t slots = products < job->b.columns ? products : job->b.columns;
    const int bin = words == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)words);
    int64_t *const most = spryi_rows_scattered(words, products) ? &seen->scattered : &seen->busiest[bin];
    if (slots > *most) *most = slots;
    if (most != &seen->scattered && words > seen->widest[bin]) seen->widest[bin] = words;
}

/* Notes a row that repeats the one before, which spans so many words; identical: the columns of A are the same. */
static inline void spryi_rows_note_repeated(spryi_spgemm_spans *seen, int64_t words, int identical)
{
    if (identical && words > seen->identical) seen->identical = words;
    if (words > seen->repeated) seen->repeated = words;
}

/* Slots of a table for so many products: a power of two, half empty. */
static inline int64_t spryi_rows_slots(int64_t products, int64_t cols)
{
    const int64_t most = products < cols ? products : cols;
    return most == 0 ? 0 : (int64_t)1 << (65 - __builtin_clzll((unsigned long long)most));
}
