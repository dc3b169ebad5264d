/*
 * Runs of rows that share one order of products (row_runs.tmpl.h). Columns and offsets are of 32 bits. A kernel asks
 * at each row whether a run begins; where its order is not known it fills the first row itself and hands it over.
 */
#pragma once

#include "spgemm/kernels/spgemm.h"

/*
 * Groups that make a run; rows that do where a group is one row, at most twice as many; rows of a group; entries of A
 * and tracks of B in a row that goes with a run, at most.
 */
enum {
    SPRYI_RUN_LEAST = 4,
    SPRYI_RUN_ALONE = 8,
    SPRYI_RUN_IDENTICAL = 8,
    SPRYI_RUN_LENGTH = 512,
    SPRYI_RUN_TRACKS = 64
};

typedef struct spryi_run_product {
    uint32_t a, b; /* where in the values its factors begin */
} spryi_run_product;

/* Neighbouring rows of B that several entries of A meet. */
typedef struct spryi_run_track {
    int64_t first, last;    /* rows of B that the run's first row meets */
    int64_t period, beyond; /* entries from one group to the next; groups that last is after first */
    int64_t at;             /* in the values */
} spryi_run_track;

/* Arrays of the search for runs. */
typedef struct spryi_run_memory {
    void *values; /* tracks of B, then A: entry by entry, each with the lanes of a tile */
    void *staged; /* rows of a tile on their way to C, and their columns */
    int32_t *staged_columns;
    spryi_run_product *order; /* products by entry of C */
    int32_t *list, *columns;  /* of the ordered row: columns of its products, of its entries */
    int32_t *ends;            /* ends of the products of an entry, and 0 before */
    uint16_t *positions;
    int32_t *bases[2], *lengths[2]; /* of SPRYI_RUN_LENGTH rows of B: position in values, length */
    spryi_run_track *tracks;        /* SPRYI_RUN_TRACKS */
} spryi_run_memory;

/* The row whose products were ordered. */
typedef struct spryi_ordered_row {
    int64_t length; /* entries of A */
    int64_t count;  /* products; 0: no row was ordered */
    int64_t n;      /* entries of C */
    int64_t lanes;  /* of a tile */
    int64_t a;      /* position of A's values */
} spryi_ordered_row;

/* Where the search for runs continues. */
typedef struct spryi_run_progress {
    int64_t from;                    /* a run cannot begin before this row */
    int64_t misses;                  /* consecutive failures of spryi_try_run */
    int64_t moved_from, moved_until; /* each of these rows of A, of one piece, is the row before moved by one amount */
} spryi_run_progress;

typedef struct spryi_row_run {
    const struct spryi_run_functions *with;
    int64_t most_products, most_values, most_staged; /* room; 0 products: runs are not searched */
    int64_t width;                                   /* values in a vector */
    int streams;                                     /* 1: C is large, and written with non-temporal stores */
    spryi_run_memory memory;
    spryi_ordered_row ordered;
    spryi_run_progress search;
    int now, track_count;                /* index in bases and lengths of the order's; tracks */
    int64_t groups, identical, lanes, a; /* groups of rows with the same columns, lanes of a tile, position of A */
    int32_t shift, moved;                /* columns of C from group to group, and from the ordered row */
} spryi_row_run;

/* Runs in the vectors of a processor level. */
typedef struct spryi_run_functions {
    int64_t bytes; /* of a vector */
    /*
     * Rows from i on, before `end`, that make a run; 0: none. It can be filled at once where run->count is not 0;
     * otherwise `order` wants to know the columns of row i first.
     */
    int64_t (*find)(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end);
    /* The order of row i's products, whose n columns are known. */
    void (*order)(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, const int32_t *columns, int64_t n);
    /*
     * The run that begins with row i; what is beyond its columns and values is written next, or nobody's. Cj NULL: its
     * values alone.
     */
    void (*fill)(const spryi_spgemm_job *job, const spryi_row_run *run, int64_t i, int32_t *Cj, void *Cx);
    void (*finish)(void); /* before others read what was filled past the caches */
} spryi_run_functions;

extern const spryi_run_functions spryi_runs_avx2, spryi_runs_avx512;

/* run->with->find, but most rows begin no run, which lengths tell: without a branch for each, none can be predicted. */
static inline int64_t spryi_begin_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end)
{
    enum { HALF = SPRYI_RUN_ALONE / 2, ALL = SPRYI_RUN_ALONE }; /* rows that every run has */
    const int32_t *restrict Ap = job->a.offsets;
    if (i < run->search.from || i + ALL > end || run->most_products == 0) return 0;
    const int64_t at = Ap[i], length = Ap[i + 1] - at;
    if ((length < 2) | ((Ap[i + 2] - Ap[i + 1]) ^ length) | ((Ap[i + HALF] - at) ^ (HALF * length)) |
        ((Ap[i + ALL] - at) ^ (ALL * length)))
        return 0;
    const int32_t *restrict Aj = (const int32_t *)job->a.indices + at;
    const int64_t step = Aj[length] - Aj[0];
    if (step < 0 || Aj[2 * length - 1] - Aj[length - 1] != step) return 0;
    if (step > 0 && Aj[(ALL - 1) * length] - Aj[0] != (ALL - 1) * step) return 0;
    return run->with->find(job, run, i, end);
}

/* The same where little is to be won: until a piece has had some rows in a row without a run. */
static inline int64_t spryi_try_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end)
{
    enum { MOST_MISSES = 16 };
    if (run->search.misses >= MOST_MISSES) return 0;
    const int64_t rows = spryi_begin_run(job, run, i, end);
    run->search.misses = rows > 0 ? 0 : run->search.misses + 1;
    return rows;
}

/* A search for runs whose order is not asked for, which takes no room of the workspace. */
typedef struct spryi_run_search {
    spryi_row_run run;
    int32_t numbers[4][SPRYI_RUN_LENGTH];
    spryi_run_track tracks[SPRYI_RUN_TRACKS];
} spryi_run_search;

static inline void spryi_begin_search(spryi_run_search *search, const spryi_row_run *like, int64_t from)
{
    spryi_row_run *run = &search->run;
    *run = *like;
    run->most_products = INT64_MAX;
    run->search.from = from;
    run->memory.tracks = search->tracks;
    for (int k = 0; k < 2; k++) {
        run->memory.bases[k] = search->numbers[k];
        run->memory.lengths[k] = search->numbers[2 + k];
    }
}

/* After the rows of a piece. */
static inline void spryi_finish_runs(const spryi_row_run *run)
{
    if (run->streams && run->with) run->with->finish();
}
