#include "in_blocks.h"
#include "spry/io.h"

static void set(void *values, spry_type type, int64_t k, double value)
{
    if (type == SPRY_F64)
        ((double *)values)[k] = value;
    else
        ((float *)values)[k] = (float)value;
}

spry_matrix *matrix_in_blocks(spry_context *context, const char *spec, int b, unsigned holes, spry_type type)
{
    spry_matrix *pattern = NULL;
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_read_options without_values = SPRY_INIT(spry_read_options);
    without_values.value_type = SPRY_PATTERN;
    assert_int_equal(spry_matrix_generate(context, &pattern, spec, &without_values, NULL), SPRY_OK);
    spry_arrays p = arrays_of(pattern);
    const int32_t *offsets = p.offsets, *indices = p.indices;
    int32_t *rows = malloc((size_t)(p.rows * b + 1) * sizeof *rows);
    int32_t *columns = malloc((size_t)(p.nnz * b * b) * sizeof *columns), k = 0;
    void *values = malloc((size_t)(p.nnz * b * b) * spry_type_bytes(type));
    assert_true(rows && columns && values);
    for (int64_t i = 0; i < p.rows * b; i++) {
        rows[i] = k;
        for (int32_t e = offsets[i / b]; e < offsets[i / b + 1]; e++)
            for (int c = 0; c < b; c++) {
                if (holes >> (i % b * b + c) & 1) continue;
                columns[k] = indices[e] * b + c;
                set(values, type, k++, 1 + c);
            }
    }
    rows[p.rows * b] = k;
    a.layout = SPRY_CSR;
    a.rows = p.rows * b;
    a.columns = p.columns * b;
    a.nnz = k;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = type;
    a.offsets = rows;
    a.indices = columns;
    a.values = values;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(rows);
    free(columns);
    free(values);
    spry_matrix_destroy(pattern);
    return A;
}
