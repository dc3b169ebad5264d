/*
 * Between csr_driver.c and csr's kernels. A kernel is a set of loops, one for each kind of run and one for a piece of a
 * long row. The driver calls them for every block of rows on the threads of a product.
 */
#pragma once

#include "formats/csr/csr.h"
#include "formats/shared/panels.h"

/* The arrays and vectors that the loops work on. */
typedef struct spryi_csr_job {
    const void *offsets, *columns, *values, *x; /* of a pattern values is NULL */
    int wide_offsets;                           /* 1: an offset has 64 bits */
    void *y;
    spryi_scalar alpha, beta; /* of the vectors' type: SPRY_SCALAR(job->alpha) */
    int stream_y; /* y is large and not read: kernels may write it around the cache, which saves reading it in */
    double *sums; /* of the pieces of long rows */
    int64_t x_stride, y_stride; /* of several columns, as in spryi_run_args */
} spryi_csr_job;

enum { SPRYI_CSR_PANEL = 4 /* columns at once in the plain loops */ };

/*
 * The loops of one level, value type and index pair, over rows begin .. end - 1 of one run.
 *
 *   y = alpha*A*x + beta*y      piece writes the plain sum over its entries to job->sums.
 *   y = alpha*A^T*x + beta*y    y_j += a_ij x_i for each entry, without alpha, beta and spans.
 */
typedef struct spryi_csr_loops {
    void (*rows)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*strided)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group);
    void (*piece)(const spryi_csr_job *job, const spryi_csr_block *piece);
    /* general and shared rows by their spans; NULL where a level does not use them */
    void (*span_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span, int least);
    void (*span_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span, int group);
    /* several columns, row by row: rows of any run, and a piece's sums, those of columns `apart` from one another */
    void (*panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns);
    void (*panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, int64_t apart, int64_t columns);
} spryi_csr_loops;

/* Columns that lie apart (csr_apart.c); 1: it pays for this storage, which has no rows in pieces. */
extern const spryi_run_table spryi_csr_apart;
int spryi_csr_takes_apart(const void *storage);

/* loops[1] are for stored values, loops[0] for patterns, whose entries are ones and have none. */
spry_status spryi_csr_drive(const spryi_run_args *args, const spryi_csr_loops loops[2]);
spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_loops loops[2]);

/* A function with one copy, for what runs once a block: a second copy inline would cost time to compile alone. */
#define SPRYI_ONCE static __attribute__((noinline))

/* function(..., group) with the group, 2 to 8 rows, as a constant. */
#define SPRYI_BY_GROUP(group, function, ...)                                                                           \
    switch (group) {                                                                                                   \
    case 2: function(__VA_ARGS__, 2); break;                                                                           \
    case 3: function(__VA_ARGS__, 3); break;                                                                           \
    case 4: function(__VA_ARGS__, 4); break;                                                                           \
    case 5: function(__VA_ARGS__, 5); break;                                                                           \
    case 6: function(__VA_ARGS__, 6); break;                                                                           \
    case 7: function(__VA_ARGS__, 7); break;                                                                           \
    default: function(__VA_ARGS__, 8); break;                                                                          \
    }

/* Returns offset i, in loops that exist once for both widths of offsets and read few of them. */
SPRYI_INLINE int64_t spryi_csr_offset(const spryi_csr_job *job, int64_t i)
{
    return job->wide_offsets ? ((const int64_t *)job->offsets)[i] : ((const int32_t *)job->offsets)[i];
}

/* In a template: its loops plain_rows and so on as kind_rows, of values or of a pattern's ones. */
#define SPRYI_CSR_ROWS(kind, has_values)                                                                               \
    static inline void SPRY_FN(kind##_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)                      \
    {                                                                                                                  \
        SPRY_FN(plain_rows)(job, begin, end, has_values);                                                              \
    }
#define SPRYI_CSR_LOOPS(kind, has_values)                                                                              \
    static inline void SPRY_FNJ(kind##_strided)(const spryi_csr_job *job, int64_t begin, int64_t end)                  \
    {                                                                                                                  \
        SPRY_FNJ(plain_strided)(job, begin, end, has_values);                                                          \
    }                                                                                                                  \
    static inline void SPRY_FNJ(kind##_shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)        \
    {                                                                                                                  \
        SPRY_FNJ(plain_shared)(job, begin, end, group, has_values);                                                    \
    }                                                                                                                  \
    static inline void SPRY_FNJ(kind##_piece)(const spryi_csr_job *job, const spryi_csr_block *piece)                  \
    {                                                                                                                  \
        SPRY_FNJ(plain_piece)(job, piece, has_values);                                                                 \
    }

/* The same of way_rows and way_piece, which take several columns. */
#define SPRYI_CSR_PANEL_LOOPS(kind, way, has_values)                                                                   \
    static inline void SPRY_FNJ(kind##_panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end,               \
                                                   int64_t columns)                                                    \
    {                                                                                                                  \
        SPRY_FNJ(way##_rows)(job, begin, end, columns, has_values);                                                    \
    }                                                                                                                  \
    static inline void SPRY_FNJ(kind##_panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece,            \
                                                    int64_t apart, int64_t columns)                                    \
    {                                                                                                                  \
        SPRY_FNJ(way##_piece)(job, piece, apart, columns, has_values);                                                 \
    }

/*
 * Ask for the matrix ahead of its use, in loops that every level has. The portable level leaves that to the processor.
 * near: into the first-level cache.
 */
SPRYI_INLINE void spryi_csr_fetch_near(const void *base, int64_t bytes)
{
#ifdef __AVX2__
    spryi_prefetch_near(base, bytes + SPRYI_AHEAD_NEAR);
#else
    (void)base, (void)bytes;
#endif
}

SPRYI_INLINE void spryi_csr_fetch(const void *base, int64_t bytes)
{
#ifdef __AVX2__
    spryi_prefetch(base, bytes + SPRYI_AHEAD);
#else
    (void)base, (void)bytes;
#endif
}
