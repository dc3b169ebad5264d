/*
 * Tests products with multiple vectors of so many rows that kernels use non-temporal stores for y. These stores need
 * alignment. y begins one element, 16, 32 or 64 bytes after the start of a cache line. Values and x are small integers,
 * so results are exact and compared for equality.
 */
#include "reference.h"
#include "spry/tune.h"

enum { NEAR = 3, LINE = 64, SIZES = 4 };

/*
 * Numbers of rows and of columns, the largest last: half a register or less, and whole registers with and without a
 * remainder.
 */
typedef struct shape {
    int64_t rows;
    int columns[SIZES];
} shape;

static const shape shapes[] = {{1060000, {1, 2, 3, 4}}, {263000, {9, 10, 12, 16}}};

typedef struct numbers {
    int64_t rows, nnz;
    int columns;
    int32_t *offsets, *indices;
    double *values, *x, *y; /* y: of COLUMNS columns, row-major */
} numbers;

/* Row i has column i and two columns at some distance. */
static numbers make_numbers(const shape *of)
{
    const int64_t rows = of->rows, nnz = NEAR * rows, columns = of->columns[SIZES - 1];
    numbers n = {rows,
                 nnz,
                 (int)columns,
                 malloc((size_t)(rows + 1) * sizeof(int32_t)),
                 malloc((size_t)nnz * sizeof(int32_t)),
                 malloc((size_t)nnz * sizeof(double)),
                 malloc(sizeof(double) * (size_t)(rows * columns)),
                 calloc((size_t)(rows * columns), sizeof(double))};
    for (int64_t i = 0; i <= rows; i++) n.offsets[i] = (int32_t)(NEAR * i);
    for (int64_t k = 0; k < nnz; k++) {
        n.indices[k] = (int32_t)((k / NEAR + 797 * (k % NEAR)) % rows);
        n.values[k] = (double)(k % 7) - 3;
    }
    for (int64_t j = 0; j < rows * columns; j++) n.x[j] = (double)(j % 11) - 5;
    for (int64_t k = 0; k < nnz; k++)
        for (int64_t c = 0; c < columns; c++)
            n.y[k / NEAR * columns + c] += n.values[k] * n.x[(int64_t)n.indices[k] * columns + c];
    return n;
}

/* Runs with y at different offsets from a cache line. Checks that nothing is written next to y. */
static void check_places(const numbers *n, const spry_spmv_plan *plan, const char *kernel, spry_type type, int columns,
                         const void *x, char *line)
{
    const int64_t size = (int64_t)spry_type_bytes(type), bytes = size * n->rows * columns;
    const int64_t places[] = {size, 16, 32, LINE};
    for (int p = 0; p < (int)(sizeof places / sizeof *places); p++) {
        const int64_t place = places[p];
        spry_error err = SPRY_ERROR_INIT;
        char *const to = line + place;
        memset(to - size, 0x5a, (size_t)(bytes + 2 * size));
        const spry_vector y =
            {.data = to, .length = n->rows, .count = columns, .row_stride = columns, .column_stride = 1, .type = type};
        const spry_const_vector from = {.data = x,
                                        .length = n->rows,
                                        .count = columns,
                                        .row_stride = n->columns,
                                        .column_stride = 1,
                                        .type = type};
        if (spry_spmv_plan_run(plan, y, NULL, from, NULL, NULL, &err) != SPRY_OK)
            fail_msg("%s: %s", kernel, err.message);
        for (int64_t i = 0; i < n->rows; i++)
            for (int c = 0; c < columns; c++)
                if (element_at(to, type, i * columns + c) != n->y[i * n->columns + c])
                    fail_msg("%s, %d columns, y %d bytes after a line: row %d is wrong", kernel, columns, (int)place,
                             (int)i);
        assert_memory_equal(to - size, "ZZZZZZZZ", (size_t)size);
        assert_memory_equal(to + bytes, "ZZZZZZZZ", (size_t)size);
    }
}

/* Runs every available kernel of the formats that may use non-temporal stores. */
static void check_kernels(spry_context *context, const shape *of, const numbers *n, spry_type type, const void *values,
                          const void *x, char *line)
{
    static const char *const formats = "csr sell bsr packed";
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    arrays.layout = SPRY_CSR;
    arrays.rows = arrays.columns = n->rows, arrays.nnz = n->nnz;
    arrays.offset_type = arrays.index_type = SPRY_I32;
    arrays.value_type = type;
    arrays.offsets = n->offsets, arrays.indices = n->indices, arrays.values = values;
    spry_matrix *A = create_matrix(context, &arrays);
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        if (!kernel.available || kernel.is_study || strcmp(kernel.device_kind, "cpu") != 0 ||
            !strstr(formats, kernel.format))
            continue;
        for (int c = 0; c < SIZES; c++) {
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            spry_spmv_plan *plan = NULL;
            options.format = kernel.format;
            options.kernel = kernel.name;
            options.count = of->columns[c];
            options.row_major = 1;
            if (spry_spmv_plan_create(context, &plan, A, &options, NULL) != SPRY_OK) continue;
            check_places(n, plan, kernel.name, type, of->columns[c], x, line);
            spry_spmv_plan_destroy(plan);
        }
    }
    spry_matrix_destroy(A);
}

static void y_from_every_place_on(void **state)
{
    spry_context *context = context_of(0);
    for (int h = 0; h < (int)(sizeof shapes / sizeof *shapes); h++) {
        const numbers n = make_numbers(&shapes[h]);
        const int64_t elements = n.rows * n.columns;
        char *const line = aligned_alloc(LINE, sizeof(double) * (size_t)elements + 4 * LINE);
        void *const values = malloc(sizeof(double) * (size_t)n.nnz), *const x =
                                                                         malloc(sizeof(double) * (size_t)elements);
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            for (int64_t k = 0; k < n.nnz; k++) set_number(values, (spry_type)type, k, n.values[k]);
            for (int64_t j = 0; j < elements; j++) set_number(x, (spry_type)type, j, n.x[j]);
            check_kernels(context, &shapes[h], &n, (spry_type)type, values, x, line);
        }
        free(values);
        free(x);
        free(line);
        free(n.offsets);
        free(n.indices);
        free(n.values);
        free(n.x);
        free(n.y);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(y_from_every_place_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
