/*
 * Tests products and plans with more than 2^31 entries, and thus with 64-bit offsets. Columns and values use 16 MB of
 * memory each, which is mapped REPEATS times, so the matrix repeats every PERIOD rows. Values and x are small integers,
 * which f32 sums exactly, so every result is compared for equality.
 */
#include "arrays.h"

#include <sys/mman.h>
#include <unistd.h>

enum { COLUMNS = 1024, PERIOD = 4096, REPEATS = 513 };
#define ROWS ((int64_t)PERIOD * REPEATS)
#define ENTRIES (ROWS * COLUMNS) /* 2^31 + 2^22 */
static const size_t file_bytes = (size_t)PERIOD * COLUMNS * 4;

/* Maps the same pages REPEATS times. *once is a writable mapping of these pages. Returns NULL if the system refuses. */
static void *map_repeatedly(void **once)
{
    int file = memfd_create("spry-test", 0);
    if (file < 0) return NULL;
    void *all = MAP_FAILED;
    if (ftruncate(file, (off_t)file_bytes) == 0)
        all = mmap(NULL, file_bytes * REPEATS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int r = 0; all != MAP_FAILED && r < REPEATS; r++)
        if (mmap((char *)all + file_bytes * (size_t)r, file_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED) {
            munmap(all, file_bytes * REPEATS);
            all = MAP_FAILED;
        }
    *once = all != MAP_FAILED ? mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    return *once != MAP_FAILED ? all : NULL;
}

typedef struct giant {
    int64_t *offsets;
    int32_t *columns, *columns_once; /* *_once: writable arrays of the first PERIOD rows (see map_repeatedly) */
    float *values, *values_once;
    spry_arrays a;
} giant;

static int make(giant *g)
{
    g->columns = map_repeatedly((void **)&g->columns_once);
    g->values = map_repeatedly((void **)&g->values_once);
    g->offsets = malloc((size_t)(ROWS + 1) * sizeof *g->offsets);
    if (!g->columns || !g->values || !g->offsets) return 0;
    for (int64_t i = 0; i <= ROWS; i++) g->offsets[i] = i * COLUMNS;
    for (int64_t i = 0; i < PERIOD; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            g->columns_once[i * COLUMNS + j] = (int32_t)((j * 5 + i * 7) % COLUMNS);
            g->values_once[i * COLUMNS + j] = (float)(1 + (i + j) % 3);
        }
    g->a = SPRY_INIT(spry_arrays);
    g->a.layout = SPRY_CSR;
    g->a.rows = ROWS;
    g->a.columns = COLUMNS;
    g->a.nnz = ENTRIES;
    g->a.offset_type = SPRY_I64;
    g->a.index_type = SPRY_I32;
    g->a.value_type = SPRY_F32;
    g->a.offsets = g->offsets;
    g->a.indices = g->columns;
    g->a.values = g->values;
    return 1;
}

static void release(giant *g)
{
    munmap(g->columns, file_bytes * REPEATS);
    munmap(g->columns_once, file_bytes);
    munmap(g->values, file_bytes * REPEATS);
    munmap(g->values_once, file_bytes);
    free(g->offsets);
}

static void multiply(spry_context *context, const giant *g, spry_op op, const float *x, float *y)
{
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = op;
    options.format = "csr";
    options.expected_calls = 1;
    const int64_t x_length = op == SPRY_TRANSPOSE ? ROWS : COLUMNS, y_length = op == SPRY_TRANSPOSE ? COLUMNS : ROWS;
    if (spry_matrix_create(context, &A, &g->a, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK ||
        spry_spmv_plan_run(plan, spry_vector_f32(y, y_length), NULL, spry_const_vector_f32(x, x_length), NULL, NULL,
                           &err) != SPRY_OK)
        fail_msg("%s", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static void products(void **state)
{
    giant g = {0};
    if (INSTRUMENTED || sizeof(size_t) < 8) skip();
    if (!make(&g)) skip(); /* the system cannot map the arrays; the process's exit frees partial mappings */
    spry_context *context = context_of(0);
    float *x = malloc((size_t)ROWS * sizeof *x), *y = malloc((size_t)ROWS * sizeof *y);
    double *sums = calloc(COLUMNS, sizeof *sums), *weights = calloc(PERIOD, sizeof *weights);

    for (int64_t j = 0; j < COLUMNS; j++) x[j] = (float)(1 + j % 2);
    multiply(context, &g, SPRY_NO_TRANSPOSE, x, y);
    for (int64_t i = 0; i < PERIOD; i++) {
        double sum = 0;
        for (int64_t k = i * COLUMNS; k < (i + 1) * COLUMNS; k++)
            sum += (double)(g.values_once[k] * x[g.columns_once[k]]);
        for (int64_t r = i; r < ROWS; r += PERIOD)
            if ((double)y[r] != sum) fail_msg("row %lld: %g, expected %g", (long long)r, (double)y[r], sum);
    }

    for (int64_t i = 0; i < ROWS; i++) {
        x[i] = (float)(1 + i / PERIOD % 2);
        weights[i % PERIOD] += (double)x[i];
    }
    multiply(context, &g, SPRY_TRANSPOSE, x, y);
    for (int64_t k = 0; k < (int64_t)PERIOD * COLUMNS; k++)
        sums[g.columns_once[k]] += (double)g.values_once[k] * weights[k / COLUMNS];
    for (int64_t j = 0; j < COLUMNS; j++)
        if ((double)y[j] != sums[j]) fail_msg("column %lld: %g, expected %g", (long long)j, (double)y[j], sums[j]);

    free(weights);
    free(sums);
    free(y);
    free(x);
    release(&g);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
