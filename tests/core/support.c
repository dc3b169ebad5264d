#include "support.h"

static void *room(int64_t count, size_t size)
{
    void *pointer = calloc((size_t)count + 1, size);
    if (!pointer) abort();
    return pointer;
}

static int64_t length_of_row(int64_t i, int64_t cols)
{
    int64_t length = i % 7 == 3 ? 0 : 1 + i % 5;
    if (i == 11) length = cols; /* the only long row */
    return length < cols ? length : cols;
}

sample sample_make(int64_t rows, int64_t cols)
{
    sample s = {.rows = rows, .cols = cols};
    for (int64_t i = 0; i < rows; i++) s.nnz += length_of_row(i, cols);
    s.offsets = room(rows + 1, 4);
    s.column_offsets = room(cols + 2, 4);
    s.row_of = room(s.nnz, 4);
    s.columns = room(s.nnz, 4);
    s.rows_by_column = room(s.nnz, 4);
    s.values = room(s.nnz, 8);
    s.values_by_column = room(s.nnz, 8);
    s.x = room(cols, 8);
    s.exact = room(rows, 8);
    for (int64_t j = 0; j < cols; j++) s.x[j] = (double)(j % 17 - 8);
    int32_t k = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = length_of_row(i, cols), gap = length > 0 ? cols / length : 0;
        for (int64_t e = 0; e < length; e++, k++) {
            s.row_of[k] = (int32_t)i;
            s.columns[k] = (int32_t)(e * gap + (gap > 1 ? i % gap : 0));
            s.values[k] = (double)(k % 11 - 5);
            s.exact[i] += s.values[k] * s.x[s.columns[k]];
            s.column_offsets[s.columns[k] + 2]++;
        }
        s.offsets[i + 1] = k;
    }
    for (int64_t j = 2; j <= cols; j++) s.column_offsets[j] += s.column_offsets[j - 1];
    for (int32_t e = 0; e < s.nnz; e++) {
        int32_t to = s.column_offsets[s.columns[e] + 1]++;
        s.rows_by_column[to] = s.row_of[e];
        s.values_by_column[to] = s.values[e];
    }
    return s;
}

void sample_free(sample *s)
{
    void *blocks[] = {s->offsets, s->column_offsets,   s->row_of, s->columns, s->rows_by_column,
                      s->values,  s->values_by_column, s->x,      s->exact};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) free(blocks[b]);
    memset(s, 0, sizeof *s);
}

spry_arrays sample_arrays(const sample *s, int input)
{
    static const spry_layout layouts[INPUTS] = {SPRY_CSR, SPRY_COO, SPRY_COO, SPRY_CSC, SPRY_CSR};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = layouts[input];
    a.rows = s->rows;
    a.columns = s->cols;
    a.nnz = s->nnz;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = input == 4 ? SPRY_PATTERN : SPRY_F64;
    if (a.layout == SPRY_CSR) a.offsets = s->offsets;
    if (a.layout == SPRY_COO) a.row_indices = s->row_of;
    if (a.layout == SPRY_CSC) a.offsets = s->column_offsets;
    a.indices = a.layout == SPRY_CSC ? s->rows_by_column : s->columns;
    a.values = input == 4 ? NULL : a.layout == SPRY_CSC ? s->values_by_column : s->values;
    a.sorted = input == 1 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN;
    return a;
}

spry_matrix *sample_matrix(spry_context *context, const sample *s, int input)
{
    spry_arrays a = sample_arrays(s, input);
    return create_matrix(context, &a);
}

int is_product(const sample *s, int input, const double *y)
{
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int32_t k = s->offsets[i]; k < s->offsets[i + 1]; k++)
            sum += (input == 4 ? 1 : s->values[k]) * s->x[s->columns[k]];
        if (y[i] != sum) return 0;
    }
    return 1;
}
