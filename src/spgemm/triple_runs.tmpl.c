/* The steps of triple_runs.c for one value type and index pair. */

/* ---- runs ------------------------------------------------------------------------------------------------ */

static bool SPRY_FN(same_columns)(const spry_arrays *p, int64_t i, int64_t j)
{
    const SPRY_P *Pp = p->offsets;
    const SPRY_J *left = (const SPRY_J *)p->indices + Pp[i], *right = (const SPRY_J *)p->indices + Pp[j];
    const SPRY_P count = Pp[i + 1] - Pp[i];
    if (Pp[j + 1] - Pp[j] != count) return false;
    for (SPRY_P k = 0; k < count; k++)
        if (left[k] != right[k]) return false;
    return true;
}

/* Assigns kinds to the rows of P. Adjacent rows with equal columns have the same kind. Returns the number of kinds. */
static int64_t SPRY_FN(find_kinds)(const spry_arrays *p, void *kinds)
{
    SPRY_J kind = 0;
    for (int64_t i = 0; i < p->rows; i++) {
        if (i > 0 && !SPRY_FN(same_columns)(p, i - 1, i)) kind++;
        ((SPRY_J *)kinds)[i] = kind;
    }
    return p->rows > 0 ? (int64_t)kind + 1 : 0;
}

/* Lists the rows of P that row `row` of A*P needs, if the run does not yet list a row of their kind. */
static void SPRY_FN(add_kinds)(search *s, const spry_arrays *a, int64_t row, int64_t run)
{
    const SPRY_P *Ap = a->offsets;
    const SPRY_J *Aj = a->indices, *kinds = s->kinds.at;
    SPRY_J *seen = s->seen_kinds.at, *list = s->list.at;
    for (SPRY_P k = Ap[row]; k < Ap[row + 1]; k++) {
        const SPRY_J kind = kinds[Aj[k]];
        if (seen[kind] == (SPRY_J)run) continue; /* a predicted branch costs less than a store */
        seen[kind] = (SPRY_J)run;
        list[s->count++] = Aj[k];
    }
}

/* Ends a run: appends the columns of the rows of P that the run needs. */
static spry_status SPRY_FN(end_run)(const spry_spgemm_plan *plan, search *s, int64_t run, spry_error *err)
{
    const spry_arrays *p = &plan->job.b;
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_runs *t = &plan->triple->runs;
    const SPRY_P *Pp = p->offsets;
    const SPRY_J *Pj = p->indices, *list = s->list.at;
    SPRY_J *seen = s->seen.at;
    for (int64_t k = 0; k < s->count; k++) {
        const SPRY_J row = list[k];
        SPRYI_OK_OR_RETURN(
            spryi_triple_grow(memory, &t->columns, s->columns, (int64_t)(Pp[row + 1] - Pp[row]), sizeof(SPRY_J), err));
        SPRY_J *columns = t->columns.at;
        for (SPRY_P e = Pp[row]; e < Pp[row + 1]; e++) {
            if (seen[Pj[e]] == (SPRY_J)run) continue;
            seen[Pj[e]] = (SPRY_J)run;
            columns[s->columns++] = Pj[e];
        }
    }
    SPRYI_OK_OR_RETURN(spryi_triple_grow(memory, &t->ends, run, 1, sizeof(int64_t), err));
    ((int64_t *)t->ends.at)[run] = s->columns;
    return SPRY_OK;
}

/*
 * Returns true if the row continues the run. A run ends if its list of rows of P would become longer than twice the
 * number of entries of its shortest row of A, because then most of the full block would be zero.
 */
static bool SPRY_FN(continues)(search *s, const spry_arrays *a, int64_t row, int64_t run, int64_t *least)
{
    const SPRY_P *Ap = a->offsets;
    const int64_t before = s->count, length = (int64_t)(Ap[row + 1] - Ap[row]);
    SPRY_FN(add_kinds)(s, a, row, run);
    *least = length < *least ? length : *least;
    if (s->count <= 2 * *least) return true;
    s->count = before;
    return false;
}

static spry_status SPRY_FN(begin_run)(const spry_spgemm_plan *plan, int64_t row, int64_t run, spry_error *err)
{
    spryi_triple_runs *t = &plan->triple->runs;
    SPRYI_OK_OR_RETURN(spryi_triple_grow(&plan->triple->memory, &t->begins, run, 1, sizeof(int64_t), err));
    ((int64_t *)t->begins.at)[run] = row;
    return SPRY_OK;
}

/* Finds the runs, and the columns of A*P of each run. */
static spry_status SPRY_FN(find_runs)(const spry_spgemm_plan *plan, search *s, spry_error *err)
{
    const spry_arrays *a = &plan->job.a, *p = &plan->job.b;
    const SPRY_P *Ap = a->offsets, *Pp = p->offsets;
    const SPRY_J *kinds = s->kinds.at;
    int64_t first = 0, least = 0, runs = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const bool empty = Pp[i] == Pp[i + 1];
        if (i > 0 && kinds[i] == kinds[i - 1] &&
            (empty || (i - first < MOST_ROWS && SPRY_FN(continues)(s, a, i, runs - 1, &least))))
            continue;
        if (i > 0) SPRYI_OK_OR_RETURN(SPRY_FN(end_run)(plan, s, runs - 1, err));
        SPRYI_OK_OR_RETURN(SPRY_FN(begin_run)(plan, i, runs++, err));
        first = i;
        least = (int64_t)(Ap[i + 1] - Ap[i]);
        s->count = 0;
        if (!empty) SPRY_FN(add_kinds)(s, a, i, runs - 1);
    }
    if (a->rows > 0) SPRYI_OK_OR_RETURN(SPRY_FN(end_run)(plan, s, runs - 1, err));
    plan->triple->runs.count = runs;
    return SPRY_FN(begin_run)(plan, a->rows, runs, err);
}

/* ---- structure of C -------------------------------------------------------------------------------------- */

/*
 * One run: rows first to last - 1 of P. They share the `height` columns in `rows`, which are rows of C. Rows first to
 * last - 1 of A*P have the `width` columns in `columns`.
 */
typedef struct SPRY_FN(run) {
    int64_t first, last, width, height;
    const SPRY_J *columns, *rows;
} SPRY_FN(run);

static inline SPRY_FN(run) SPRY_FN(run_of)(const spryi_triple_runs *t, const spry_arrays *p, int64_t run)
{
    const SPRY_P *Pp = p->offsets;
    const int64_t *begins = t->begins.at, *ends = t->ends.at;
    const int64_t first = begins[run], begin = run > 0 ? ends[run - 1] : 0;
    return (SPRY_FN(run)){.first = first,
                          .last = begins[run + 1],
                          .width = ends[run] - begin,
                          .height = (int64_t)(Pp[first + 1] - Pp[first]),
                          .columns = (const SPRY_J *)t->columns.at + begin,
                          .rows = (const SPRY_J *)p->indices + Pp[first]};
}

/*
 * Counts the block elements and the columns of P of all runs, in r->places and r->entries, and the multiplications by
 * P^T. Counts the runs of each column j of P in offsets[j + 2], and computes prefix sums of these counts.
 */
static void SPRY_FN(count_runs)(spry_spgemm_plan *plan, transposed *r)
{
    spryi_triple_runs *t = &plan->triple->runs;
    const spry_arrays *p = &plan->job.b;
    int64_t *offsets = r->offsets.at;
    memset(offsets, 0, (size_t)(p->columns + 2) * sizeof *offsets);
    for (int64_t n = 0; n < t->count; n++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(t, p, n);
        const int64_t block = run.height * run.width;
        r->places += block;
        r->entries += run.height;
        t->widest = run.width > t->widest ? run.width : t->widest;
        t->largest = block > t->largest ? block : t->largest;
        plan->job.products += (run.last - run.first) * block;
        for (int64_t j = 0; j < run.height; j++) offsets[run.rows[j] + 2]++;
    }
    for (int64_t j = 2; j <= p->columns; j++) offsets[j + 1] += offsets[j];
}

/* Counts the multiplications of A*P. */
static int64_t SPRY_FN(count_middle)(const spryi_spgemm_job *job)
{
    const SPRY_P *Pp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices;
    int64_t products = 0;
    for (int64_t k = 0; k < job->a.nnz; k++) products += (int64_t)(Pp[Aj[k] + 1] - Pp[Aj[k]]);
    return products;
}

/* Lists the runs of each column of P. */
static void SPRY_FN(list_runs)(const spry_spgemm_plan *plan, transposed *r)
{
    const spryi_triple_runs *t = &plan->triple->runs;
    int64_t *offsets = r->offsets.at, *runs = r->runs.at, *starts = r->starts.at, places = 0;
    for (int64_t n = 0; n < t->count; n++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(t, &plan->job.b, n);
        for (int64_t j = 0; j < run.height; j++, places += run.width) {
            const int64_t at = offsets[run.rows[j] + 1]++; /* afterwards, offsets[j + 1] is the end of column j */
            runs[at] = n;
            starts[at] = places;
        }
    }
}

/* Lists the columns of a row of C. Returns their number. */
static int64_t SPRY_FN(find_columns)(const spry_spgemm_plan *plan, const transposed *r, int64_t row, search *s)
{
    const int64_t *offsets = r->offsets.at, *runs = r->runs.at;
    SPRY_J *seen = s->seen.at, *list = s->list.at;
    int64_t count = 0;
    for (int64_t at = offsets[row]; at < offsets[row + 1]; at++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(&plan->triple->runs, &plan->job.b, runs[at]);
        for (int64_t k = 0; k < run.width; k++) {
            const SPRY_J column = run.columns[k];
            if (seen[column] == (SPRY_J)row) continue;
            seen[column] = (SPRY_J)row;
            list[count++] = column;
        }
    }
    return count;
}

/* Stores the positions of the blocks' elements in the row of C. */
static void SPRY_FN(find_places)(const spry_spgemm_plan *plan, const transposed *r, int64_t row,
                                 const SPRY_J *positions)
{
    const spryi_triple_runs *t = &plan->triple->runs;
    const int64_t *offsets = r->offsets.at, *runs = r->runs.at, *starts = r->starts.at;
    for (int64_t at = offsets[row]; at < offsets[row + 1]; at++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(t, &plan->job.b, runs[at]);
        uint16_t *places = (uint16_t *)t->places.at + starts[at];
        for (int64_t k = 0; k < run.width; k++) places[k] = (uint16_t)positions[run.columns[k]];
    }
}

/* Finds the columns of C. Sets *fits = false if a row is too long for 16-bit positions. */
static spry_status SPRY_FN(find_result)(spry_spgemm_plan *plan, const transposed *r, search *s, bool *fits,
                                        spry_error *err)
{
    const int64_t rows = plan->result.rows;
    spryi_triple_memory *memory = &plan->triple->memory;
    int64_t *offsets = plan->job.offsets, used = 0;
    SPRY_J *seen = s->seen.at, *positions = s->positions.at, *list = s->list.at;
    for (int64_t j = 0; j < rows; j++) seen[j] = -1;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t count = SPRY_FN(find_columns)(plan, r, row, s);
        *fits = count <= UINT16_MAX;
        if (!*fits) return SPRY_OK;
        SPRY_FNJ(sort_columns)(list, count);
        SPRYI_OK_OR_RETURN(spryi_triple_grow(memory, &s->columns_of_c, used, count, sizeof(SPRY_J), err));
        SPRY_J *columns = s->columns_of_c.at;
        for (int64_t k = 0; k < count; k++) {
            columns[used + k] = list[k];
            positions[list[k]] = (SPRY_J)k;
        }
        used += count;
        offsets[row + 1] = used;
        SPRY_FN(find_places)(plan, r, row, positions);
    }
    return SPRY_OK;
}

/* ---- shares ---------------------------------------------------------------------------------------------- */

/* Sets first_run, last_run and first_place of each share, so that they cover all runs that add to its rows. */
static void SPRY_FN(find_ranges)(const spry_spgemm_plan *plan, spryi_triple_share *shares, int count)
{
    const spryi_triple_runs *t = &plan->triple->runs;
    int64_t places = 0;
    for (int64_t n = 0; n < t->count; n++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(t, &plan->job.b, n);
        for (int64_t j = 0; j < run.height; j++) {
            int64_t share;
            SPRYI_BISECT(share, 0, count - 1, shares[share].last_row <= run.rows[j]);
            if (shares[share].first_run == shares[share].last_run) {
                shares[share].first_run = n;
                shares[share].first_place = places;
            }
            shares[share].last_run = n + 1;
        }
        places += run.height * run.width;
    }
}

/* ---- values ---------------------------------------------------------------------------------------------- */

/* Sums a row of A*P. positions: for each column of P, its position among the columns of the run. */
static void SPRY_FN(sum_row)(const spryi_spgemm_job *job, const SPRY_J *restrict positions, int64_t row, int64_t width,
                             SPRY_C *restrict sums)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Pp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Pj = job->b.indices;
    const SPRY_C *restrict Ax = job->a.values, *restrict Px = job->b.values;
    for (int64_t k = 0; k < width; k++) sums[k] = 0;
    for (SPRY_P k = Ap[row]; k < Ap[row + 1]; k++) {
        const SPRY_C factor = Ax[k];
        const SPRY_P end = Pp[Aj[k] + 1];
        for (SPRY_P e = Pp[Aj[k]]; e < end; e++) sums[positions[Pj[e]]] += factor * Px[e];
    }
}

#if SPRY_FIRST_J
/*
 * Multiplies a row of A*P by the `height` factors of its row of P, and adds the products to the block. Elements of one
 * column are adjacent in the block.
 */
SPRYI_INLINE void SPRY_FNJ(add_product)(const int64_t height, int64_t width, const SPRY_C *restrict factors,
                                        const SPRY_C *restrict sums, SPRY_C *restrict block)
{
    for (int64_t k = 0; k < width; k++)
        for (int64_t j = 0; j < height; j++) block[k * height + j] += factors[j] * sums[k];
}

/* Calls add_product with a constant height, so that the compiler unrolls the inner loop. */
static void SPRY_FNJ(add_row)(int64_t height, int64_t width, const SPRY_C *factors, const SPRY_C *sums, SPRY_C *block)
{
    switch (height) {
    case 1: SPRY_FNJ(add_product)(1, width, factors, sums, block); break;
    case 2: SPRY_FNJ(add_product)(2, width, factors, sums, block); break;
    case 3: SPRY_FNJ(add_product)(3, width, factors, sums, block); break;
    case 4: SPRY_FNJ(add_product)(4, width, factors, sums, block); break;
    case 5: SPRY_FNJ(add_product)(5, width, factors, sums, block); break;
    case 6: SPRY_FNJ(add_product)(6, width, factors, sums, block); break;
    default: SPRY_FNJ(add_product)(height, width, factors, sums, block); break;
    }
}
#endif

/* Adds the product only for the columns that the row of A*P has. */
static void SPRY_FN(add_own_columns)(const spryi_spgemm_job *job, const spryi_triple_share *share,
                                     const SPRY_FN(run) * run, int64_t row, const SPRY_C *factors)
{
    const SPRY_P *Ap = job->a.offsets, *Pp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Pj = job->b.indices, *positions = share->positions;
    const SPRY_C *sums = share->sums;
    SPRY_C *block = share->block;
    memset(share->touched, 0, (size_t)run->width);
    for (SPRY_P k = Ap[row]; k < Ap[row + 1]; k++)
        for (SPRY_P e = Pp[Aj[k]]; e < Pp[Aj[k] + 1]; e++) share->touched[positions[Pj[e]]] = 1;
    for (int64_t k = 0; k < run->width; k++)
        for (int64_t j = 0; j < run->height && share->touched[k]; j++)
            block[k * run->height + j] += factors[j] * sums[k];
}

/* Returns true if the run adds to rows of the share. */
static inline bool SPRY_FN(meets)(const spryi_triple_share *share, const SPRY_FN(run) * run)
{
    for (int64_t j = 0; j < run->height; j++)
        if (run->rows[j] >= share->first_row && run->rows[j] < share->last_row) return true;
    return false;
}

/* Computes a run's block. */
static void SPRY_FN(fill_block)(const spryi_spgemm_job *job, const spryi_triple_share *share, const SPRY_FN(run) * run,
                                bool own)
{
    const SPRY_P *Pp = job->b.offsets;
    SPRY_J *positions = share->positions;
    for (int64_t k = 0; k < run->width; k++) positions[run->columns[k]] = (SPRY_J)k;
    memset(share->block, 0, (size_t)(run->height * run->width) * sizeof(SPRY_C));
    for (int64_t i = run->first; i < run->last; i++) {
        const SPRY_C *factors = (const SPRY_C *)job->b.values + Pp[i];
        SPRY_FN(sum_row)(job, positions, i, run->width, share->sums);
        if (own)
            SPRY_FN(add_own_columns)(job, share, run, i, factors);
        else
            SPRY_FNJ(add_row)(run->height, run->width, factors, share->sums, share->block);
    }
}

/* Computes the sums of a share. own: multiplies only in the columns of each row of A*P, not in all of the run. */
static void SPRY_FN(fill_sums)(const spryi_spgemm_job *job, const spryi_triple_runs *t, const spryi_triple_share *share,
                               bool own)
{
    SPRY_C *values = job->values;
    const uint16_t *places = (const uint16_t *)t->places.at + share->first_place;
    const int64_t begin = job->offsets[share->first_row], end = job->offsets[share->last_row];
    if (end > begin) memset(values + begin, 0, (size_t)(end - begin) * sizeof *values);
    for (int64_t n = share->first_run; n < share->last_run; n++) {
        const SPRY_FN(run) run = SPRY_FN(run_of)(t, &job->b, n);
        if (!SPRY_FN(meets)(share, &run)) {
            places += run.height * run.width;
            continue;
        }
        SPRY_FN(fill_block)(job, share, &run, own);
        const SPRY_C *block = share->block;
        for (int64_t j = 0; j < run.height; j++, places += run.width) {
            if (run.rows[j] < share->first_row || run.rows[j] >= share->last_row) continue;
            SPRY_C *row = values + job->offsets[run.rows[j]];
            for (int64_t k = 0; k < run.width; k++) row[places[k]] += block[k * run.height + j];
        }
    }
}

/*
 * Computes the values of a share. A row of A*P is zero in columns of the run that it does not have. Such a zero times
 * an infinity in P is NaN, although the element of C may be finite. So if any sum is NaN, all sums are computed again
 * without these columns.
 */
static void SPRY_FN(fill_share)(const spryi_spgemm_job *job, const spryi_triple_runs *t,
                                const spryi_triple_share *share)
{
    const SPRY_C alpha = *(const SPRY_C *)job->alpha;
    SPRY_C *values = job->values;
    const int64_t begin = job->offsets[share->first_row], end = job->offsets[share->last_row];
    bool has_nan = false;
    SPRY_FN(fill_sums)(job, t, share, false);
    for (int64_t k = begin; k < end; k++) has_nan |= values[k] != values[k];
    if (has_nan) SPRY_FN(fill_sums)(job, t, share, true);
    if (alpha == 1) return;
    for (int64_t k = begin; k < end; k++) values[k] *= alpha;
}
