/*
 * The phases of a kernel that searches for runs of rows (row_runs.h), for each value type and index pair. The kernel
 * defines fill_rows and columns_row for rows outside of runs, and COUNT_SHORT, which counts short rows or is NULL. The
 * AVX-512 kernel uses the portable instances for 64-bit columns.
 */
#if !(SPRY_J_IS_64 && defined __AVX512F__)

static __attribute__((noinline)) void SPRY_FN(count_runs)(const spryi_spgemm_job *job, spryi_rows_workspace *w,
                                                          int64_t begin, int64_t end)
{
    spryi_run_search search;
    int64_t *restrict counts = job->offsets + 1, words = 0;
    spryi_begin_search(&search, &w->run, begin);
    for (int64_t i = begin, rows; i<end; i += rows> 0 ? rows : 1) {
        rows = spryi_try_run(job, &search.run, i, end);
        SPRY_FN(count_row)(job, w, begin, i, &words, COUNT_SHORT);
        for (int64_t r = 1; r < rows; r++) counts[i + r] = counts[i];
        if (rows > 0) spryi_rows_note_repeated(&w->seen, words, search.run.identical > 1);
    }
}

static void SPRY_FN(count_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    int64_t words = 0;
    if (!SPRY_P_IS_64 && w->run.most_values > 0)
        SPRY_FN(count_runs)(job, w, begin, end);
    else
        for (int64_t i = begin; i < end; i++) SPRY_FN(count_row)(job, w, begin, i, &words, COUNT_SHORT);
}

static void SPRY_FN(count)(spryi_spgemm_job *job)
{
    job->found = (spryi_spgemm_spans){0};
    spryi_rows_run(job, SPRY_FN(count_piece));
}

/*
 * Fills the run that begins with row i. If no run begins there, fills row i, and the next rows if their columns in A
 * are equal. Returns the number of rows.
 */
static inline int64_t SPRY_FN(fill_next)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t i,
                                         int64_t end)
{
    const int64_t rows = SPRY_P_IS_64 ? 0 : spryi_begin_run(job, &w->run, i, end), at = job->offsets[i];
    if (rows == 0) return SPRY_FN(fill_rows)(job, w, begin, i, end);
    int32_t *Cj = (int32_t *)job->columns + at;
    if (w->run.ordered.count == 0) {
        (void)SPRY_FN(fill_rows)(job, w, i, i, i + 1);
        w->run.with->order(job, &w->run, i, Cj, job->offsets[i + 1] - at);
    }
    w->run.with->fill(job, &w->run, i, Cj, (SPRY_V *)job->values + at);
    return rows;
}

static void SPRY_FN(fill_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    const int64_t entry = sizeof(SPRY_V) + sizeof(SPRY_J);
    w->run.streams = job->offsets[job->a.rows] * entry >= SPRYI_STREAMS_FROM;
    w->run.search.from = begin;
    for (int64_t i = begin; i < end;) i += SPRY_FN(fill_next)(job, w, begin, i, end);
    spryi_finish_runs(&w->run);
}

static void SPRY_FN(fill)(spryi_spgemm_job *job)
{
    spryi_rows_run(job, SPRY_FN(fill_piece));
}

/* Writes the columns of `rows` rows of a run. The first row has n columns, which are in `columns`. */
static inline void SPRY_FN(repeat_run)(const spryi_row_run *run, SPRY_J *columns, int64_t n, int64_t rows)
{
    SPRY_J *restrict to = columns + n;
    for (int64_t r = 1; r < rows; r++, to += n) {
        const SPRY_J shift = (SPRY_J)(r / run->identical * run->shift);
        for (int64_t k = 0; k < n; k++) to[k] = columns[k] + shift;
    }
}

/* Writes the columns of the run that begins with row i if there is one, else of row i. Returns the number of rows. */
static inline int64_t SPRY_FN(columns_rows)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin,
                                            int64_t i, int64_t end)
{
    const int64_t rows = SPRY_P_IS_64 ? 0 : spryi_try_run(job, &w->run, i, end), at = job->offsets[i];
    SPRY_FN(columns_row)(job, w, begin, i);
    w->seen.in_runs += rows;
    SPRY_FN(repeat_run)(&w->run, (SPRY_J *)job->columns + at, job->offsets[i + 1] - at, rows);
    return rows > 0 ? rows : 1;
}

static void SPRY_FN(columns_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    w->run.search.from = begin;
    w->run.search.misses = 0;
    for (int64_t i = begin; i < end;) i += SPRY_FN(columns_rows)(job, w, begin, i, end);
}

static void SPRY_FN(columns)(spryi_spgemm_job *job)
{
    spryi_rows_run(job, SPRY_FN(columns_piece));
}

/*
 * Computes only the values of the run that begins with row i. If no run begins there, computes the values of row i, and
 * of the next rows if their columns in A are equal. Returns the number of rows.
 */
static inline int64_t SPRY_FN(renew_next)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t i, int64_t end)
{
    const int64_t rows = spryi_begin_run(job, &w->run, i, end), at = job->offsets[i], n = job->offsets[i + 1] - at;
    if (rows == 0) return n == 0 ? 1 : SPRY_FN(fill_values)(job, w, i, end);
    if (w->run.ordered.count == 0) w->run.with->order(job, &w->run, i, (const int32_t *)job->columns + at, n);
    w->run.with->fill(job, &w->run, i, NULL, (SPRY_V *)job->values + at);
    return rows;
}

static void SPRY_FN(renew_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    w->run.streams = job->offsets[job->a.rows] * (int64_t)sizeof(SPRY_V) >= SPRYI_STREAMS_FROM;
    w->run.search.from = begin;
    for (int64_t i = begin; i < end;) i += SPRY_FN(renew_next)(job, w, i, end);
    spryi_finish_runs(&w->run);
}

/* Computes only values. Searches for runs if an earlier phase found most rows in runs. */
static void SPRY_FN(renew)(spryi_spgemm_job *job)
{
    if (!SPRY_P_IS_64 && job->found.in_runs > job->a.rows / 2)
        spryi_rows_run(job, SPRY_FN(renew_piece));
    else
        SPRY_FN(refill)(job);
}
#endif
