/* Entries of a symmetric file that have their mirror image in the file. */
#include "core/error.h"
#include "core/memory.h"
#include "io/mtx.h"

#include <stdbool.h>
#include <stdlib.h>

/* The columns of the entries below the diagonal, row by row, sorted. */
typedef struct lower {
    int64_t *offsets, *cols;
} lower;

static int64_t row_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->rows, e->index_type, k);
}

static int64_t col_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->cols, e->index_type, k);
}

/* Most files hold one triangle. */
static bool has_both_triangles(const spryi_mtx_entries *e)
{
    bool above = false, below = false;
    for (int64_t k = 0; k < e->count && !(above && below); k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        above |= i < j;
        below |= i > j;
    }
    return above && below;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static spry_status make_lower(spry_context *context, lower *l, int64_t m, const spryi_mtx_entries *e, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->offsets, m + 2, "offsets of a triangle", err));
    for (int64_t i = 0; i < m + 2; i++) l->offsets[i] = 0;
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->offsets[row_of(e, k) + 2]++;
    for (int64_t i = 0; i < m; i++) l->offsets[i + 2] += l->offsets[i + 1];
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->cols, l->offsets[m + 1], "columns of a triangle", err));
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->cols[l->offsets[row_of(e, k) + 1]++] = col_of(e, k);
    for (int64_t i = 0; i < m; i++) {
        const int64_t count = l->offsets[i + 1] - l->offsets[i];
        if (count > 1) qsort(l->cols + l->offsets[i], (size_t)count, sizeof *l->cols, by_size);
    }
    return SPRY_OK;
}

static bool is_in(const lower *l, int64_t i, int64_t j)
{
    const int64_t count = l->offsets[i + 1] - l->offsets[i];
    return count > 0 && bsearch(&j, l->cols + l->offsets[i], (size_t)count, sizeof j, by_size);
}

spry_status spryi_mtx_check_triangles(spry_context *context, const spryi_mtx *head, const spryi_mtx_entries *e,
                                      spry_error *err)
{
    lower l = {0};
    spry_status status = SPRY_OK;
    if (!has_both_triangles(e)) return SPRY_OK;
    SPRYI_TRY(make_lower(context, &l, head->m, e, err));
    for (int64_t k = 0; k < e->count; k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        if (i >= j || !is_in(&l, j, i)) continue;
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, e->first_line > 0 ? e->first_line + k : 0,
                                 "entry (%lld, %lld) is the mirror image of entry (%lld, %lld), and each entry of a %s "
                                 "file stands for both; expected one triangle, or read with duplicates dropped "
                                 "(drop_duplicates)",
                                 (long long)i + 1, (long long)j + 1, (long long)j + 1, (long long)i + 1,
                                 head->symmetry_name);
        break;
    }
done:
    spryi_release(context, l.offsets);
    spryi_release(context, l.cols);
    return status;
}
