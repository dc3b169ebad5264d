/* The steps of triple_rows.c for one value type and index pair. */

/* Transposes P by a counting sort. */
static void SPRY_FN(transpose)(const spryi_spgemm_job *job, spryi_triple_rows *t)
{
    const SPRY_P *Pp = job->b.offsets;
    const SPRY_J *Pj = job->b.indices;
    const int64_t rows = job->b.rows, cols = job->b.columns, nnz = job->b.nnz;
    SPRY_P *offsets = t->offsets.at, *entries = t->entries.at;
    SPRY_J *row_of = t->rows.at;
    memset(offsets, 0, (size_t)(cols + 2) * sizeof *offsets);
    for (int64_t k = 0; k < nnz; k++) offsets[Pj[k] + 2]++;
    for (int64_t j = 2; j <= cols; j++) offsets[j + 1] += offsets[j];
    for (int64_t i = 0; i < rows; i++)
        for (SPRY_P k = Pp[i]; k < Pp[i + 1]; k++) {
            const SPRY_P at = offsets[Pj[k] + 1]++; /* afterwards, offsets[j + 1] is the end of column j */
            row_of[at] = (SPRY_J)i;
            entries[at] = k;
        }
}

/*
 * Sums a row of P^T*A in part->middle, lists its columns, and returns their number. Not inlined, because the caller
 * would lack registers.
 */
static __attribute__((noinline)) int64_t SPRY_FN(sum_middle)(const spryi_spgemm_job *job, const spryi_triple_rows *t,
                                                             spryi_triple_part *part, SPRY_J row)
{
    const SPRY_P *Ap = job->a.offsets, *offsets = t->offsets.at, *entries = t->entries.at;
    const SPRY_J *Aj = job->a.indices, *rows = t->rows.at;
    const SPRY_C *Ax = job->a.values, *Px = job->b.values;
    SPRY_C *sums = part->middle;
    SPRY_J *seen = part->seen, *list = part->list;
    int64_t count = 0;
    for (SPRY_P e = offsets[row]; e < offsets[row + 1]; e++) {
        const SPRY_J i = rows[e];
        const SPRY_C factor = Px[entries[e]];
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
            const SPRY_J column = Aj[k];
            list[count] = column;
            count += seen[column] != row;
            seen[column] = row;
            sums[column] += factor * Ax[k];
        }
    }
    return count;
}

/*
 * Multiplies a row of P^T*A by P and adds the product to part->sums. The row is in part->middle and has `middle`
 * columns. Lists the columns of the product, and returns their number.
 */
static int64_t SPRY_FN(find_columns)(const spryi_spgemm_job *job, spryi_triple_part *part, SPRY_J row, int64_t middle)
{
    const SPRY_P *Pp = job->b.offsets;
    const SPRY_J *Pj = job->b.indices, *list = part->list;
    const SPRY_C *Px = job->b.values;
    SPRY_C *sums = part->sums, *factors = part->middle;
    SPRY_J *seen = part->seen_of_c, *columns = part->list_of_c;
    int64_t count = 0, products = 0;
    for (int64_t k = 0; k < middle; k++) {
        const SPRY_J column = list[k];
        const SPRY_C factor = factors[column];
        const SPRY_P begin = Pp[column], end = Pp[column + 1];
        factors[column] = 0;
        products += (int64_t)(end - begin);
        for (SPRY_P e = begin; e < end; e++) {
            const SPRY_J j = Pj[e];
            columns[count] = j;
            count += seen[j] != row;
            seen[j] = row;
            sums[j] += factor * Px[e];
        }
    }
    part->products += products;
    return count;
}

/* Marks all columns as not seen in any row. */
static void SPRY_FN(clear_seen)(void *seen, int64_t count)
{
    for (int64_t k = 0; k < count; k++) ((SPRY_J *)seen)[k] = -1;
}

/* Finds columns and values of rows begin to end - 1 of C, and appends them to the thread's arrays. */
static spry_status SPRY_FN(find_rows)(rows_job *r, spryi_triple_part *part, int64_t begin, int64_t end, spry_error *err)
{
    const spryi_spgemm_job *job = r->job;
    const SPRY_C alpha = *(const SPRY_C *)job->alpha;
    SPRY_C *sums = part->sums;
    SPRY_J *list = part->list_of_c;
    for (int64_t row = begin; row < end; row++) {
        const int64_t middle = SPRY_FN(sum_middle)(job, &r->triple->rows, part, (SPRY_J)row);
        const int64_t count = SPRY_FN(find_columns)(job, part, (SPRY_J)row, middle);
        SPRY_FNJ(sort_columns)(list, count);
        job->offsets[row + 1] = count;
        if (count == 0) continue; /* the arrays may not be allocated yet */
        if (count > part->room - part->used) SPRYI_OK_OR_RETURN(grow_part(r, part, count, err));
        SPRY_J *columns = (SPRY_J *)part->columns.at + part->used;
        SPRY_C *values = (SPRY_C *)part->values.at + part->used;
        for (int64_t k = 0; k < count; k++) {
            columns[k] = list[k];
            values[k] = alpha * sums[list[k]];
            sums[list[k]] = 0;
        }
        part->used += count;
    }
    return SPRY_OK;
}

/* Computes the values of rows begin to end - 1 of C. */
static void SPRY_FN(fill_rows)(const spryi_spgemm_job *job, const spryi_triple_rows *t, spryi_triple_part *part,
                               int64_t begin, int64_t end)
{
    const SPRY_P *Pp = job->b.offsets;
    const SPRY_J *Pj = job->b.indices, *columns = job->columns;
    const SPRY_C *Px = job->b.values;
    const SPRY_C alpha = *(const SPRY_C *)job->alpha;
    SPRY_C *sums = part->sums, *factors = part->middle, *values = job->values;
    for (int64_t row = begin; row < end; row++) {
        const int64_t middle = SPRY_FN(sum_middle)(job, t, part, (SPRY_J)row);
        for (int64_t k = 0; k < middle; k++) {
            const SPRY_J column = ((const SPRY_J *)part->list)[k];
            const SPRY_C factor = factors[column];
            factors[column] = 0;
            for (SPRY_P e = Pp[column]; e < Pp[column + 1]; e++) sums[Pj[e]] += factor * Px[e];
        }
        for (int64_t k = job->offsets[row]; k < job->offsets[row + 1]; k++) {
            values[k] = alpha * sums[columns[k]];
            sums[columns[k]] = 0;
        }
    }
}
