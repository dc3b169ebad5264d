#include "operations.h"

/* ---- samples ------------------------------------------------------------------------------------------ */

typedef struct numbered {
    test_entry e;
    int64_t number, major, minor;
} numbered;

static int by_major(const void *left, const void *right)
{
    const numbered *a = left, *b = right;
    if (a->major != b->major) return a->major < b->major ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_minor(const void *left, const void *right)
{
    const numbered *a = left, *b = right;
    if (a->major != b->major) return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor) return a->minor < b->minor ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Returns whether the values are skew-symmetric. A pattern has only ones, so a pattern is never skew-symmetric. */
static bool is_skew(const sample *s)
{
    return (s->kind == SAMPLE_SKEW || s->kind == SAMPLE_UPPER_SKEW) && s->form.value_type != SPRY_PATTERN;
}

/* Appends an entry, and its mirror image if the sample stores all entries of a symmetric matrix. */
static int64_t append(numbered *list, int64_t count, const sample *s, int64_t i, int64_t j, double value)
{
    const bool skew = is_skew(s);
    if (skew && i == j) value = 0;
    list[count] = (numbered){.e = {i, j, value}};
    if ((s->kind == SAMPLE_SYMMETRIC || s->kind == SAMPLE_SKEW) && i != j)
        list[++count] = (numbered){.e = {j, i, skew ? -value : value}};
    return count + 1;
}

static int64_t draw(numbered *list, const sample *s)
{
    uint64_t state = s->seed * 2 + 1;
    int64_t count = 0;
    char *taken = calloc((size_t)(s->rows * s->columns) + 1, 1);
    for (int64_t n = 0; n < s->entries; n++) {
        int64_t i = (int64_t)(test_random(&state) % (uint64_t)s->rows);
        int64_t j = (int64_t)(test_random(&state) % (uint64_t)s->columns);
        const double value = (double)(int64_t)(test_random(&state) % 7) - 3;
        const bool lower = s->kind != SAMPLE_UPPER_SKEW, swaps = s->kind != SAMPLE_GENERAL && (lower ? j > i : j < i);
        if (test_random(&state) % 5 == 0 && s->kind == SAMPLE_GENERAL) i = s->rows / 2; /* a long row */
        if (swaps) {
            const int64_t swap = i;
            i = j, j = swap;
        }
        if (!s->duplicates && taken[i * s->columns + j]) continue;
        taken[i * s->columns + j] = 1;
        count = append(list, count, s, i, j, value);
        if (s->duplicates && n % 4 == 0) count = append(list, count, s, i, j, value + 1);
    }
    free(taken);
    return count;
}

static void write_arrays(spry_arrays *a, const sample *s, const numbered *list)
{
    const bool by_column = s->form.layout == SPRY_CSC;
    const int64_t lines = by_column ? a->columns : a->rows;
    void *offsets = (void *)(uintptr_t)a->offsets, *values = (void *)(uintptr_t)a->values;
    for (int64_t i = 0, k = 0; i <= lines && offsets; i++) {
        while (k < a->nnz && list[k].major < i) k++;
        test_set_index(offsets, a->offset_type, i, k + s->index_base);
    }
    for (int64_t k = 0; k < a->nnz; k++) {
        const int64_t index = by_column ? list[k].e.i : list[k].e.j;
        test_set_index((void *)(uintptr_t)a->indices, a->index_type, k, index + s->index_base);
        if (a->row_indices)
            test_set_index((void *)(uintptr_t)a->row_indices, a->index_type, k, list[k].e.i + s->index_base);
        if (values) spryi_set_value(values, a->value_type, k, list[k].e.value);
    }
}

spry_matrix *sample_matrix(spry_context *context, const sample *s)
{
    numbered *list = calloc((size_t)(4 * s->entries) + 1, sizeof *list);
    const int64_t nnz = draw(list, s);
    const bool is_coo = s->form.layout == SPRY_COO, is_pattern = s->form.value_type == SPRY_PATTERN;
    for (int64_t k = 0; k < nnz; k++) {
        list[k].number = k;
        list[k].major = s->form.layout == SPRY_CSC ? list[k].e.j : is_coo && !s->sorted ? 0 : list[k].e.i;
        list[k].minor = s->form.layout == SPRY_CSC ? list[k].e.i : list[k].e.j;
    }
    qsort(list, (size_t)nnz, sizeof *list, s->sorted ? by_minor : by_major);
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = s->form.layout;
    a.rows = s->rows;
    a.columns = s->columns;
    a.nnz = nnz;
    a.offset_type = s->form.offset_type;
    a.index_type = s->form.index_type;
    a.value_type = s->form.value_type;
    a.index_base = s->index_base;
    a.ownership = SPRY_COPY;
    a.symmetry = s->kind == SAMPLE_GENERAL ? SPRY_GENERAL : is_skew(s) ? SPRY_SKEW_SYMMETRIC : SPRY_SYMMETRIC;
    a.triangle = s->kind == SAMPLE_LOWER        ? SPRY_LOWER_TRIANGLE
                 : s->kind == SAMPLE_UPPER_SKEW ? SPRY_UPPER_TRIANGLE
                                                : SPRY_ALL_ENTRIES;
    a.sorted = s->sorted && s->seed % 2 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN;
    a.unique = !s->duplicates && s->seed % 2 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN;
    void *offsets = calloc((size_t)(s->rows + s->columns) + 1, 8), *indices = calloc((size_t)nnz + 1, 8);
    void *row_indices = calloc((size_t)nnz + 1, 8), *values = calloc((size_t)nnz + 1, 8);
    a.offsets = is_coo ? NULL : offsets;
    a.row_indices = is_coo ? row_indices : NULL;
    a.indices = indices;
    a.values = is_pattern ? NULL : values;
    write_arrays(&a, s, list);
    spry_matrix *A = create_matrix(context, &a);
    free(offsets);
    free(indices);
    free(row_indices);
    free(values);
    free(list);
    return A;
}

/* ---- dense matrices ------------------------------------------------------------------------------------ */

dense dense_new(int64_t rows, int64_t columns)
{
    const size_t count = (size_t)(rows * columns) + 1;
    dense d = {rows, columns, calloc(count, sizeof *d.value), calloc(count, sizeof *d.stored)};
    if (!d.value || !d.stored) abort();
    return d;
}

void dense_free(dense *d)
{
    free(d->value);
    free(d->stored);
}

static void put(dense *d, int64_t i, int64_t j, double value)
{
    d->value[i * d->columns + j] += value;
    d->stored[i * d->columns + j]++;
}

dense dense_of(const spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    MUST(spry_matrix_get_arrays(A, &a, err));
    dense d = dense_new(a.rows, a.columns);
    const double sign = a.symmetry == SPRY_SKEW_SYMMETRIC ? -1 : 1;
    int64_t line = 0;
    for (int64_t k = 0; k < a.nnz; k++) {
        while (a.layout != SPRY_COO && test_offset(&a, line + 1) <= k) line++;
        const int64_t major = a.layout == SPRY_COO ? test_row(&a, k) : line, minor = test_index(&a, k);
        const int64_t i = a.layout == SPRY_CSC ? minor : major, j = a.layout == SPRY_CSC ? major : minor;
        const double value = spryi_value_at(a.values, a.value_type, k);
        put(&d, i, j, value);
        if (a.triangle != SPRY_ALL_ENTRIES && i != j) put(&d, j, i, sign * value);
    }
    return d;
}

dense dense_transpose(const dense *a)
{
    dense d = dense_new(a->columns, a->rows);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->columns; j++) {
            d.value[j * d.columns + i] = a->value[i * a->columns + j];
            d.stored[j * d.columns + i] = a->stored[i * a->columns + j];
        }
    return d;
}

dense dense_add(double alpha, const dense *a, double beta, const dense *b)
{
    dense d = dense_new(a->rows, a->columns);
    for (int64_t n = 0; n < a->rows * a->columns; n++) {
        d.value[n] = (a->stored[n] ? alpha * a->value[n] : 0) + (b->stored[n] ? beta * b->value[n] : 0);
        d.stored[n] = a->stored[n] || b->stored[n];
    }
    return d;
}

dense dense_extract(const dense *a, const int64_t *rows, int64_t row_count, const int64_t *columns,
                    int64_t column_count)
{
    dense d = dense_new(rows ? row_count : a->rows, columns ? column_count : a->columns);
    for (int64_t i = 0; i < d.rows; i++)
        for (int64_t j = 0; j < d.columns; j++) {
            const int64_t from = (rows ? rows[i] : i) * a->columns + (columns ? columns[j] : j);
            d.value[i * d.columns + j] = a->value[from];
            d.stored[i * d.columns + j] = a->stored[from];
        }
    return d;
}

dense dense_scale(const dense *a, const double *rows, const double *columns)
{
    dense d = dense_new(a->rows, a->columns);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->columns; j++) {
            const int64_t at = i * a->columns + j;
            d.value[at] = a->value[at] * (rows ? rows[i] : 1) * (columns ? columns[j] : 1);
            d.stored[at] = a->stored[at];
        }
    return d;
}

/* ---- comparison ---------------------------------------------------------------------------------------- */

static const char *fault_of_types(const spry_arrays *b, const spry_matrix_options *o)
{
    const spry_matrix_options none = SPRY_INIT(spry_matrix_options);
    if (!o) o = &none;
    if (b->layout != (o->layout ? o->layout : SPRY_CSR)) return "another layout";
    if (o->value_type && b->value_type != o->value_type) return "another value type";
    if (o->index_type && b->index_type != o->index_type) return "another index type";
    if (b->layout != SPRY_COO && o->offset_type && b->offset_type != o->offset_type) return "another offset type";
    if (b->layout != SPRY_COO && !o->offset_type && b->offset_type != (b->index_type == SPRY_I32 ? SPRY_I32 : SPRY_I64))
        return "offsets are wider than needed";
    return b->ownership == SPRY_COPY ? NULL : "arrays are not the matrix's own";
}

/* Compares size and entries of B with *d. Returns the first difference or NULL. */
static const char *fault_of_entries(const spry_matrix *B, const dense *d, bool keeps)
{
    spry_arrays b = SPRY_INIT(spry_arrays);
    MUST(spry_matrix_get_arrays(B, &b, err));
    if (b.rows != d->rows || b.columns != d->columns) return "another size";
    const char *fault = NULL;
    dense found = dense_of(B);
    for (int64_t n = 0; n < d->rows * d->columns && !fault; n++) {
        const int wanted = keeps ? d->stored[n] : d->stored[n] > 0;
        if (found.stored[n] != wanted) fault = "another number of entries at a position";
        if (wanted && b.value_type != SPRY_PATTERN && found.value[n] != d->value[n]) fault = "another value";
    }
    dense_free(&found);
    return fault;
}

const char *fault_of(spry_matrix *B, const dense *d, const spry_matrix_options *o)
{
    spry_arrays b = SPRY_INIT(spry_arrays);
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    spry_error err = {0};
    static char message[600];
    MUST(spry_matrix_get_arrays(B, &b, err));
    const bool keeps = o && o->keep_duplicates;
    const char *fault = fault_of_types(&b, o);
    if (fault) return fault;
    if (b.triangle != SPRY_ALL_ENTRIES) return "one triangle";
    if (b.sorted != SPRY_KNOWN_YES) return "not claimed sorted";
    B->symmetry_holds = false; /* makes the check verify the symmetry */
    if (spry_matrix_check(B, &report, SPRY_CHECK_ALL, &err) != SPRY_OK) {
        snprintf(message, sizeof message, "%s", err.message);
        return message;
    }
    if (report.duplicates > 0 && !keeps) return "duplicates";
    if (b.unique != (report.duplicates > 0 ? SPRY_KNOWN_NO : SPRY_KNOWN_YES)) return "unique is wrong";
    return fault_of_entries(B, d, keeps);
}

void expect_matrix(spry_matrix *B, dense *d, const spry_matrix_options *o, const char *what)
{
    const char *fault = fault_of(B, d, o);
    if (fault) fail_msg("%s: %s", what, fault);
    spry_matrix_destroy(B);
    dense_free(d);
}
