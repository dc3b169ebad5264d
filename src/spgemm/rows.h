/*
 * The CPU's product by rows (Gustavson), each in the accumulator that suits it.
 *
 * A dense window: sums of the columns from the row's first (rounded down to 64) to its last, a bit for each column
 * that is met, a byte for each 64 of those that says where to look. The bits are the sort: they are emitted in order.
 * The window is as wide as the widest row of C spans, which in banded matrices is little, and no wider than the limit;
 * rows that span more go through a hash table.
 * Rows of one entry are copied; rows that repeat the one before (rows_shape.tmpl.c) know their columns: no bits.
 * Every accumulator starts at 0 and adds a*b, rounded, in the order of A's row: the bits are the same in all.
 *
 * Work: pieces of rows with about equal entries of A, which threads take as they get free.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; the repeating rows: this library.
 */
#ifndef SPRYI_SPGEMM_ROWS_H
#define SPRYI_SPGEMM_ROWS_H

#include "spgemm/spgemm.h"

extern const spryi_spgemm_kernel spryi_spgemm_rows_cpu, spryi_spgemm_rows_avx512_cpu;

/* Phases with 64-bit columns, of both. */
void spryi_rows_count_64_64(spryi_spgemm_job *job);
void spryi_rows_fill_f32_64_64(spryi_spgemm_job *job);
void spryi_rows_fill_f64_64_64(spryi_spgemm_job *job);
void spryi_rows_refill_f32_64_64(spryi_spgemm_job *job);
void spryi_rows_refill_f64_64_64(spryi_spgemm_job *job);

/* Raises job->spans and job->longest to what a thread has seen. */
void spryi_rows_merge_spans(spryi_spgemm_job *job, const spryi_spgemm_spans *seen, int64_t longest);

/* The bytes functions of both. */
int64_t spryi_rows_count_bytes(spryi_spgemm_job *job);
int64_t spryi_rows_fill_bytes(spryi_spgemm_job *job);
int64_t spryi_rows_fill_runs_bytes(spryi_spgemm_job *job); /* with AVX-512 */

/* A thread's part of the count phase's workspace: a bit a column of C. */
static inline int64_t spryi_rows_mask_words(const spryi_spgemm_job *job)
{
    return (job->b.cols / 64 + 8) / 8 * 8;
}

/*
 * Rows that share one order of products (rows_runs.tmpl.c): groups that make a run, rows that do where a group is one,
 * rows of a group, entries of A and tracks of B in such a row; products of a row, values beside each other, and entries
 * of C on their way, at most.
 */
enum {
    SPRYI_RUN_LEAST = 4,
    SPRYI_RUN_ALONE = 8, /* not over 2 * SPRYI_RUN_LEAST */
    SPRYI_RUN_TWINS = 8,
    SPRYI_RUN_LENGTH = 512,
    SPRYI_RUN_TRACKS = 64,
    SPRYI_RUN_PRODUCTS = 8192,
    SPRYI_RUN_VALUES = 72 << 10,
    SPRYI_RUN_STAGED = 20 << 10
};
typedef struct spryi_run_product {
    uint32_t a, b; /* where in the values its factors begin */
} spryi_run_product;
typedef struct spryi_run_track {
    int64_t first, last;    /* rows of B that the run's first row meets */
    int64_t period, beyond; /* entries from one group to the next; groups that last is after first */
    int64_t at;             /* in the values */
} spryi_run_track;

int64_t spryi_rows_run_bytes(const spryi_spgemm_job *job);            /* of a thread */
void spryi_rows_look_for_runs(spryi_spgemm_job *job, int64_t staged); /* sets how much room they take */

/*
 * Of the fill phase's: job->windows times 64 sums, 64 flags, a word of bits and a byte; then the hash table of
 * job->slots sums and columns; then what runs take.
 */
static inline int64_t spryi_rows_lane_bytes(const spryi_spgemm_job *job)
{
    const int64_t value = (int64_t)spry_type_bytes(job->type),
                  index = (int64_t)spry_index_type_bytes(job->b.index_type);
    return (job->windows * (64 * value + 64 + 9) + job->slots * (value + index) + 63) / 64 * 64 +
           spryi_rows_run_bytes(job);
}

/*
 * Both phases at once: products of a row that are listed, entries of C in a thread's buffer, words of its window, and
 * words of a span that are looked through for each product rather than ranked.
 */
enum { SPRYI_ONCE_LIST = 1024, SPRYI_ONCE_ENTRIES = 1 << 15, SPRYI_ONCE_WINDOWS = 512, SPRYI_ONCE_SCANNED = 2 };
enum { SPRYI_ONCE_BUFFERS = 4, SPRYI_ONCE_PATIENCE = 8 }; /* of a thread that may have to wait; looks until it helps */
enum { SPRYI_ONCE_RING_LEAST = 1 << 12, SPRYI_ONCE_RING = 1 << 17 }; /* groups of eight columns in its other window */
#define SPRYI_ONCE_PAD(bytes) (((bytes) + 63) / 64 * 64)

static inline int spryi_rows_once_buffers(const spryi_spgemm_job *job)
{
    return job->threads > 1 ? SPRYI_ONCE_BUFFERS : 1;
}

int64_t spryi_rows_once_bytes(const spryi_spgemm_job *job); /* a thread's; sets nothing */
int64_t spryi_rows_once_workspace(spryi_spgemm_job *job);   /* of all; sets job->windows */

/* Words that columns first to last take, wherever they begin in one: the same for rows that repeat each other. */
static inline int64_t spryi_rows_words(int64_t first, int64_t last)
{
    return (last - first) / 64 + 2;
}

/* Rows with the same columns in A that are summed together, where the window is so many times as wide. */
enum { SPRYI_TWINS = 4 };

/* Rows whose span is that wide for their products are summed in the hash table: looking through it would cost more. */
enum { SPRYI_FEW_WORDS = 256, SPRYI_WORDS_A_PRODUCT = 32 };
static inline int spryi_rows_scattered(int64_t words, int64_t products)
{
    return words > SPRYI_FEW_WORDS && words / SPRYI_WORDS_A_PRODUCT > products;
}

static inline int spryi_rows_bin(int64_t words)
{
    return words == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)words);
}

/* Slots of a table for so many products: a power of two, half empty. */
static inline int64_t spryi_rows_slots(int64_t products, int64_t cols)
{
    const int64_t most = products < cols ? products : cols;
    return most == 0 ? 0 : (int64_t)1 << (65 - __builtin_clzll((unsigned long long)most));
}

#endif
