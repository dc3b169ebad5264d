/* Matrix operations of the mock device, entry by entry in device memory. */
#include "mock/mock.h"

#include "base/element.h"
#include "base/error.h"
#include "matrix/matrix.h"

#include <stdlib.h>
#include <string.h>

/* An entry of a result, with its index among all entries. */
typedef struct entry {
    int64_t row, column, number;
    double value;
} entry;

/* Entries of a result on the host. */
typedef struct list {
    entry *entries;
    int64_t count, room;
} list;

static void open_all(void)
{
    mock_finish();
    mock_open_memory();
}

static void add_entry(list *l, int64_t row, int64_t column, double value)
{
    if (l->count == l->room) {
        l->room = 2 * l->room + 16;
        l->entries = realloc(l->entries, (size_t)l->room * sizeof *l->entries);
        if (!l->entries) abort();
    }
    l->entries[l->count] = (entry){row, column, l->count, value};
    l->count++;
}

/* Writes the list to the arrays of *made. The list's rows are in ascending order. Frees the list. */
static spry_status give(const spryi_device *device, spry_arrays *made, list *l, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *offsets = NULL, *indices = NULL, *values = NULL;
    made->nnz = l->count;
    SPRYI_TRY(spryi_pick_index_types(&made->offset_type, &made->index_type, made->rows, made->columns, made->nnz, err));
    SPRYI_TRY(device->ops->allocate(device, &offsets,
                                    (made->rows + 1) * (int64_t)spryi_index_type_bytes(made->offset_type), "offsets",
                                    err));
    made->offsets = offsets;
    SPRYI_TRY(device->ops->allocate(device, &indices, 4 * made->nnz, "indices", err));
    made->indices = indices;
    if (made->value_type != SPRY_PATTERN)
        SPRYI_TRY(device->ops->allocate(device, &values, made->nnz * (int64_t)spry_type_bytes(made->value_type),
                                        "values", err));
    made->values = values;
    for (int64_t i = 0, k = 0; i <= made->rows; i++) {
        while (k < l->count && l->entries[k].row < i) k++;
        spryi_set_index(offsets, made->offset_type, i, k);
    }
    for (int64_t k = 0; k < l->count; k++) {
        spryi_set_index(indices, SPRY_I32, k, l->entries[k].column);
        spryi_set_value(values, made->value_type, k, l->entries[k].value);
    }
done:
    free(l->entries);
    mock_close_memory();
    return status;
}

static int by_place(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void sort_list(list *l)
{
    if (l->count > 0) qsort(l->entries, (size_t)l->count, sizeof *l->entries, by_place);
}

static spry_status inspect(const spryi_device *device, spryi_row_order *order, const spry_arrays *a, spry_error *err)
{
    (void)device, (void)err;
    *order = SPRYI_ROWS_RISING;
    open_all();
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spryi_offset_of(a, i) + 1; k < spryi_offset_of(a, i + 1); k++) {
            const int64_t before = spryi_minor_of(a, k - 1), column = spryi_minor_of(a, k);
            if (column < before) *order = SPRYI_ROWS_UNSORTED;
            if (column == before && *order == SPRYI_ROWS_RISING) *order = SPRYI_ROWS_SORTED;
        }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status transpose(const spryi_device *device, spry_arrays *made, const spry_arrays *a, spry_error *err)
{
    list l = {0};
    open_all();
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spryi_offset_of(a, i); k < spryi_offset_of(a, i + 1); k++)
            add_entry(&l, spryi_minor_of(a, k), i, spryi_value_of(a, k));
    sort_list(&l);
    return give(device, made, &l, err);
}

static spry_status sort(const spryi_device *device, spry_arrays *made, bool *repeats, const spry_arrays *a,
                        bool keep_duplicates, spry_error *err)
{
    list l = {0};
    int64_t count = 0;
    *repeats = false;
    open_all();
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spryi_offset_of(a, i); k < spryi_offset_of(a, i + 1); k++)
            add_entry(&l, i, spryi_minor_of(a, k), spryi_value_of(a, k));
    sort_list(&l);
    for (int64_t k = 0; k < l.count; k++) {
        entry *last = l.entries + count - 1;
        const bool again = count > 0 && last->row == l.entries[k].row && last->column == l.entries[k].column;
        *repeats |= again;
        if (again && !keep_duplicates)
            last->value += l.entries[k].value;
        else
            l.entries[count++] = l.entries[k];
    }
    l.count = count;
    return give(device, made, &l, err);
}

static spry_status add(const spryi_device *device, spry_arrays *made, const spryi_device_term *a,
                       const spryi_device_term *b, spry_error *err)
{
    list l = {0};
    int64_t count = 0;
    open_all();
    for (int64_t i = 0; i < made->rows; i++)
        for (int t = 0; t < 2; t++) {
            const spryi_device_term *term = t == 0 ? a : b;
            for (int64_t k = spryi_offset_of(&term->rows, i); k < spryi_offset_of(&term->rows, i + 1); k++)
                add_entry(&l, i, spryi_minor_of(&term->rows, k), term->factor * spryi_value_of(&term->rows, k));
        }
    sort_list(&l);
    for (int64_t k = 0; k < l.count; k++) {
        entry *last = l.entries + count - 1;
        if (count > 0 && last->row == l.entries[k].row && last->column == l.entries[k].column)
            last->value += l.entries[k].value;
        else
            l.entries[count++] = l.entries[k];
    }
    l.count = count;
    return give(device, made, &l, err);
}

static spry_status extract(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                           const spryi_device_selection *s, spry_error *err)
{
    list l = {0};
    open_all();
    for (int64_t i = 0; i < made->rows; i++) {
        const int64_t row = s->rows ? s->rows[i] : s->first_row + i;
        for (int64_t k = spryi_offset_of(a, row); k < spryi_offset_of(a, row + 1); k++) {
            const int64_t j = spryi_minor_of(a, k), from_first = j - s->first_column;
            int64_t n = s->place ? s->place[j] : from_first >= 0 && from_first < made->columns ? from_first : -1;
            if (s->all_columns && n != j) abort();
            for (; n >= 0; n = s->next ? s->next[n] : -1) add_entry(&l, i, n, spryi_value_of(a, k));
        }
    }
    return give(device, made, &l, err);
}

static double factor_at(const spry_const_vector *v, int64_t i)
{
    return v->data ? spryi_value_at(v->data, v->type, i * v->row_stride) : 1;
}

static spry_status scale(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                         const spry_const_vector *row, const spry_const_vector *column, spry_error *err)
{
    list l = {0};
    open_all();
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spryi_offset_of(a, i); k < spryi_offset_of(a, i + 1); k++) {
            const int64_t j = spryi_minor_of(a, k);
            const double value = spryi_value_of(a, k), r = factor_at(row, i), c = factor_at(column, j);
            add_entry(&l, i, j, i <= j ? r * value * c : c * value * r);
        }
    return give(device, made, &l, err);
}

static spry_status diagonal(const spryi_device *device, const spry_vector *d, const spry_arrays *a, spry_error *err)
{
    (void)device, (void)err;
    open_all();
    for (int64_t i = 0; i < d->length; i++) {
        double sum = 0;
        for (int64_t k = spryi_offset_of(a, i); k < spryi_offset_of(a, i + 1); k++)
            if (spryi_minor_of(a, k) == i) sum += spryi_value_of(a, k);
        spryi_set_value(d->data, d->type, i * d->row_stride, sum);
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status narrow(const spryi_device *device, void *narrow, spry_type narrow_type, const void *wide,
                          spry_type wide_type, int64_t count, double *table, bool *exact, spry_error *err)
{
    (void)device, (void)table, (void)err;
    open_all();
    *exact = spryi_narrow_values(narrow, narrow_type, wide, wide_type, count);
    mock_close_memory();
    return SPRY_OK;
}

const spryi_matrix_functions mock_matrix = {.inspect = inspect,
                                            .transpose = transpose,
                                            .sort = sort,
                                            .add = add,
                                            .extract = extract,
                                            .scale = scale,
                                            .diagonal = diagonal,
                                            .summarize_rows = mock_summarize_rows,
                                            .narrow = narrow};
