#include "support.h"
#include "spry/io.h"

uint64_t test_random(uint64_t *state)
{
    return next_random(state) >> 16;
}

void test_set(void *data, spry_type type, int64_t i, double value)
{
    if (type == SPRY_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

test_form test_form_number(int number)
{
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    static const spry_type types[] = {SPRY_F64, SPRY_F32, SPRY_PATTERN};
    static const spry_index_type pairs[][2] = {{SPRY_I32, SPRY_I32}, {SPRY_I64, SPRY_I32}, {SPRY_I64, SPRY_I64}};
    return (test_form){layouts[number % 3], types[number / 3 % 3], pairs[number / 9][0], pairs[number / 9][1]};
}

void test_set_index(void *array, spry_index_type type, int64_t k, int64_t value)
{
    if (type == SPRY_I32)
        ((int32_t *)array)[k] = (int32_t)value;
    else
        ((int64_t *)array)[k] = value;
}

spry_matrix *test_matrix(spry_context *context, int64_t rows, int64_t cols, const test_entry *entries, int64_t nnz,
                         test_form form)
{
    int by_column = form.layout == SPRY_CSC;
    int64_t majors = by_column ? cols : rows;
    void *offsets = calloc(form.layout == SPRY_COO ? 1 : (size_t)majors + 1, 8),
         *row_indices = calloc((size_t)nnz + 1, 8);
    void *indices = calloc((size_t)nnz + 1, 8), *values = calloc((size_t)nnz + 1, 8);
    int64_t k = 0;
    for (int64_t i = 0; i <= majors && form.layout != SPRY_COO; i++) {
        while (k < nnz && (by_column ? entries[k].j : entries[k].i) < i) k++;
        test_set_index(offsets, form.offset_type, i, k);
    }
    for (k = 0; k < nnz; k++) {
        test_set_index(row_indices, form.index_type, k, entries[k].i);
        test_set_index(indices, form.index_type, k, by_column ? entries[k].i : entries[k].j);
        if (form.value_type == SPRY_F64) ((double *)values)[k] = entries[k].value;
        if (form.value_type == SPRY_F32) ((float *)values)[k] = (float)entries[k].value;
    }
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = form.layout;
    a.rows = rows;
    a.columns = cols;
    a.nnz = nnz;
    a.offset_type = form.offset_type;
    a.index_type = form.index_type;
    a.value_type = form.value_type;
    a.offsets = form.layout == SPRY_COO ? NULL : offsets;
    a.row_indices = form.layout == SPRY_COO ? row_indices : NULL;
    a.indices = indices;
    a.values = form.value_type == SPRY_PATTERN ? NULL : values;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(offsets);
    free(row_indices);
    free(indices);
    free(values);
    return A;
}

static int64_t at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}
int64_t test_offset(const spry_arrays *a, int64_t k)
{
    return at(a->offsets, a->offset_type, k);
}
int64_t test_index(const spry_arrays *a, int64_t k)
{
    return at(a->indices, a->index_type, k);
}
int64_t test_row(const spry_arrays *a, int64_t k)
{
    return at(a->row_indices, a->index_type, k);
}
double test_value(const spry_arrays *a, int64_t k)
{
    if (a->value_type == SPRY_F64) return ((const double *)a->values)[k];
    return a->value_type == SPRY_F32 ? (double)((const float *)a->values)[k] : 1;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

uint64_t test_structure_hash(const spry_arrays *a)
{
    uint64_t hash = mix(mix(0xcbf29ce484222325u, (uint64_t)a->rows), (uint64_t)a->columns);
    for (int64_t i = 0; i <= a->rows; i++) hash = mix(hash, (uint64_t)test_offset(a, i));
    for (int64_t k = 0; k < a->nnz; k++) hash = mix(hash, (uint64_t)test_index(a, k));
    return hash;
}

uint64_t test_value_hash(const spry_arrays *a)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t k = 0; k < a->nnz; k++) {
        double value = test_value(a, k);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = mix(hash, bits);
    }
    return hash;
}

int test_setup(void **state)
{
    *state = context_of(0);
    return 0;
}

spry_matrix *test_generate(spry_context *context, const char *spec, const spry_read_options *options)
{
    spry_matrix *A = NULL;
    spry_error err = {0};
    spry_status status = spry_matrix_generate(context, &A, spec, options, &err);
    if (status != SPRY_OK) fail_msg("%s: %s", spec, err.message);
    return A;
}

spry_arrays test_lower_triangle(int64_t rows, const int32_t *offsets, const int32_t *columns, const double *values)
{
    spry_arrays a = csr_arrays(rows, rows, offsets, columns, values, SPRY_F64);
    a.symmetry = SPRY_SYMMETRIC;
    a.triangle = SPRY_LOWER_TRIANGLE;
    return a;
}
