/*
 * Runs of rows that share one order of products (row_runs.tmpl.h). A group is one or more consecutive rows of A with
 * equal columns. A run is consecutive groups, each of which is the group before with its columns shifted by a constant.
 * Columns and offsets have 32 bits. At each row, a kernel asks if a run begins. If the run's order is not known, the
 * kernel fills the first row itself and passes its columns to `order`.
 */
#pragma once

#include "spgemm/kernels/spgemm.h"

enum {
    SPRYI_RUN_LEAST = 4,     /* minimal groups of a run */
    SPRYI_RUN_ALONE = 8,     /* minimal groups of a run if a group is one row; at most 2 * SPRYI_RUN_LEAST */
    SPRYI_RUN_IDENTICAL = 8, /* maximal rows of a group */
    SPRYI_RUN_LENGTH = 512,  /* maximal entries of a row of A */
    SPRYI_RUN_TRACKS = 64    /* maximal tracks of B that a row selects */
};

typedef struct spryi_run_product {
    uint32_t a, b; /* positions of the factors in spryi_run_memory.values */
} spryi_run_product;

/* Consecutive rows of B that multiple entries of A select. */
typedef struct spryi_run_track {
    int64_t first, last;    /* first and last row of B in the track that the run's first row of A selects */
    int64_t period, beyond; /* period: entries of B per group; beyond: how many groups `last` is after `first` */
    int64_t at;             /* position of the track in spryi_run_memory.values */
} spryi_run_track;

/* Arrays of the search for runs. */
typedef struct spryi_run_memory {
    void *values; /* values of B's tracks, then of A; the values of an entry in all groups of a tile are contiguous */
    void *staged; /* rows of a tile before they are copied to C, and their columns */
    int32_t *staged_columns;
    spryi_run_product *order; /* products, grouped by entry of C */
    int32_t *list, *columns;  /* list: columns of the ordered row's products; columns: of its entries in C */
    int32_t *ends;            /* 0, then the end of the products of each entry of C in `order` */
    uint16_t *positions;
    int32_t *bases[2], *lengths[2]; /* for each selected row of B: its position in values; its length */
    spryi_run_track *tracks;        /* SPRYI_RUN_TRACKS */
} spryi_run_memory;

/* The row whose order of products is stored in spryi_run_memory. */
typedef struct spryi_ordered_row {
    int64_t length; /* entries of the row of A */
    int64_t count;  /* products of the row; 0: no row was ordered */
    int64_t n;      /* entries of the row of C */
    int64_t lanes;  /* lanes of a tile; each lane computes one group */
    int64_t a;      /* position of A's values in spryi_run_memory.values */
} spryi_ordered_row;

/* State of the search for runs. */
typedef struct spryi_run_progress {
    int64_t from;                    /* a run cannot begin before this row */
    int64_t misses;                  /* consecutive failures of spryi_try_run */
    int64_t moved_from, moved_until; /* rows of A known to form a sequence: each is the row before, shifted */
} spryi_run_progress;

typedef struct spryi_row_run {
    const struct spryi_run_functions *with;
    int64_t most_products, most_values, most_staged; /* sizes of buffers; most_products 0: runs are not searched */
    int64_t width;                                   /* values in a vector */
    bool streams;                                    /* C is large and written with non-temporal stores */
    spryi_run_memory memory;
    spryi_ordered_row ordered;
    spryi_run_progress search;
    int now, track_count;                /* now: index of the order's arrays in bases and lengths */
    int64_t groups, identical, lanes, a; /* groups of the run; rows of a group; lanes and a: as in `ordered` */
    int32_t shift, moved; /* shift of C's columns: from group to group; from the ordered row to the run's first row */
} spryi_row_run;

/* Functions for runs, with the vectors of a processor level. */
typedef struct spryi_run_functions {
    int64_t bytes; /* bytes of a vector */
    /*
     * Returns the number of rows, from row i on and before `end`, that form a run, or 0. If run->ordered.count is not
     * 0, the run can be filled now. Otherwise `order` must first be called.
     */
    int64_t (*find)(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end);
    /* Finds the order of row i's products. columns: the n columns of row i. */
    void (*order)(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, const int32_t *columns, int64_t n);
    /*
     * Fills the run that begins with row i. May write after the run's columns and values; the caller overwrites these
     * elements or ignores them. Cj NULL: fills only values.
     */
    void (*fill)(const spryi_spgemm_job *job, const spryi_row_run *run, int64_t i, int32_t *Cj, void *Cx);
    void (*finish)(void); /* makes non-temporal stores visible to other threads */
} spryi_run_functions;

extern const spryi_run_functions spryi_runs_avx2, spryi_runs_avx512;

/*
 * Calls run->with->find, after a test of lengths and columns that excludes most rows. The test combines
 * conditions in few branches, because a branch for each condition would often be mispredicted.
 */
static inline int64_t spryi_begin_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end)
{
    enum { HALF = SPRYI_RUN_ALONE / 2, ALL = SPRYI_RUN_ALONE }; /* every run has at least ALL rows */
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

/* Like spryi_begin_run, for use where runs save little. Gives up after MOST_MISSES consecutive rows without a run. */
static inline int64_t spryi_try_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end)
{
    enum { MOST_MISSES = 16 };
    if (run->search.misses >= MOST_MISSES) return 0;
    const int64_t rows = spryi_begin_run(job, run, i, end);
    run->search.misses = rows > 0 ? 0 : run->search.misses + 1;
    return rows;
}

/* A search for runs that does not compute their order. Needs no memory of the workspace. */
typedef struct spryi_run_search {
    spryi_row_run run;
    int32_t indices[4][SPRYI_RUN_LENGTH];
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
        run->memory.bases[k] = search->indices[k];
        run->memory.lengths[k] = search->indices[2 + k];
    }
}

/* Called after the rows of a piece. */
static inline void spryi_finish_runs(const spryi_row_run *run)
{
    if (run->streams && run->with) run->with->finish();
}
