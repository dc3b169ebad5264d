/*
 * Interface between csr_driver.c and the kernels of csr. A kernel is a set of loops: one for each kind of run, and one
 * for a piece of a long row. The driver calls them for every row block on the threads of a product.
 */
#pragma once

#include "formats/csr/csr.h"
#include "formats/shared/panels.h"

/* Arrays and vectors of one product. */
typedef struct spryi_csr_job {
    const void *offsets, *columns, *values, *x; /* values is NULL for a pattern */
    bool wide_offsets;                          /* offsets have 64 bits */
    void *y;
    spryi_scalar alpha, beta;   /* scalars of the vectors' type, read with SPRY_SCALAR */
    bool large_y;               /* y does not remain in a cache */
    bool stream_y;              /* kernels may write y with non-temporal stores, which do not load y first */
    double *sums;               /* sums of the pieces of long rows */
    int64_t x_stride, y_stride; /* elements between two rows of multiple vectors, as in spryi_run_args */
} spryi_csr_job;

enum { SPRYI_CSR_PANEL = 4 /* vectors that the loops of csr_portable.tmpl.c multiply together */ };

/*
 * The loops of one SIMD level, value type and index pair, over rows begin .. end - 1 of one run.
 *
 *   y = alpha*A*x + beta*y      `piece` writes the unscaled sum of the piece to job->sums.
 *   y = alpha*A^T*x + beta*y    The loops only add a_ij x_i to y_j. alpha, beta and spans are not used.
 */
typedef struct spryi_csr_loops {
    void (*rows)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*strided)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group);
    void (*piece)(const spryi_csr_job *job, const spryi_csr_block *piece);
    /* general and shared rows with spans; NULL if the level does not use them */
    void (*span_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span, int least);
    void (*span_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span, int group);
    /*
     * Loops for multiple row-major vectors: panel_rows multiplies rows of any run, panel_piece a piece. sums_stride:
     * distance in job->sums between a piece's sums for two neighbouring vectors.
     */
    void (*panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns);
    void (*panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, int64_t sums_stride, int64_t columns);
} spryi_csr_loops;

/*
 * Products with column-major vectors (csr_column_major.c). spryi_csr_supports_column_major returns 1 if these products
 * reduce time for a storage. The storage then has no rows in pieces.
 */
extern const spryi_run_table spryi_csr_column_major;
int spryi_csr_supports_column_major(const void *storage, int64_t columns);

/* loops[1] are for stored values, loops[0] for patterns, which have no values. */
spry_status spryi_csr_drive_parts(const spryi_run_args *args, const spryi_csr_loops loops[2], int stream_part);
static inline spry_status spryi_csr_drive(const spryi_run_args *args, const spryi_csr_loops loops[2])
{
    return spryi_csr_drive_parts(args, loops, SPRYI_STREAM_PART); /* that of the file's instruction set */
}
spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_loops loops[2]);

/* A function that is not inlined, since it runs once per block: a second inline copy would cost compile time. */
#define SPRYI_ONCE static __attribute__((noinline))

/* Calls function(..., group) with group, 2 to 8 rows, as a constant. */
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

/* Returns offset i, for loops that are compiled once for both offset widths and read few offsets. */
SPRYI_INLINE int64_t spryi_csr_offset(const spryi_csr_job *job, int64_t i)
{
    return job->wide_offsets ? ((const int64_t *)job->offsets)[i] : ((const int32_t *)job->offsets)[i];
}

/*
 * Macros for templates; `kind` is a parameter. They define functions <kind>_rows, <kind>_strided and so on, which call
 * plain_rows, plain_strided and so on for stored values or for a pattern.
 */
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

/* Loops over rows of up to this number of entries are not unrolled: branches at their ends would be mispredicted. */
enum { SPRYI_CSR_SHORT_ROW = 8 };
#ifdef __clang__
#define SPRYI_CSR_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define SPRYI_CSR_ROLLED _Pragma("GCC unroll 1")
#endif

/* The lanes of a register that a panel uses. */
enum { SPRYI_SOME_LANES, SPRYI_HALF_THE_LANES, SPRYI_ALL_LANES };

/* Macro for templates. Defines the loops for multiple vectors, which call <way>_rows and <way>_piece. */
#define SPRYI_CSR_PANEL_LOOPS(kind, way, has_values)                                                                   \
    static inline void SPRY_FNJ(kind##_panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end,               \
                                                   int64_t columns)                                                    \
    {                                                                                                                  \
        SPRY_FNJ(way##_rows)(job, begin, end, columns, has_values);                                                    \
    }                                                                                                                  \
    static inline void SPRY_FNJ(kind##_panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece,            \
                                                    int64_t sums_stride, int64_t columns)                              \
    {                                                                                                                  \
        SPRY_FNJ(way##_piece)(job, piece, sums_stride, columns, has_values);                                           \
    }

/*
 * Prefetch the matrix in loops that all levels share. The portable level leaves prefetching to the processor.
 * spryi_csr_fetch_near prefetches into the first-level cache.
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
