/* Sparse products on a CPU in one pass, with rows of B stored as groups of eight columns (rows_one_pass_avx512.c). */
#include "support.h"

#include "matrix/matrix.h"
#include "spgemm/spgemm_plan.h"
#include "spry/spgemm.h"

#include <sys/resource.h>
#include <unistd.h>

static void put(test_entries *e, int64_t i, int64_t j, double value)
{
    e->i[e->nnz] = i;
    e->j[e->nnz] = j;
    e->value[e->nnz++] = value;
}

static test_entries room_for(int64_t rows, int64_t cols, int64_t nnz)
{
    test_entries e = {.rows = rows, .cols = cols};
    e.i = malloc((size_t)nnz * sizeof *e.i);
    e.j = malloc((size_t)nnz * sizeof *e.j);
    e.value = malloc((size_t)nnz * sizeof *e.value);
    return e;
}

/*
 * Returns values whose sums round. Some sums are infinite or NaN. The bits would change if products were added in
 * another order, or if a column of a group without an entry in B were multiplied.
 */
static double some_value(uint64_t *state)
{
    const int64_t k = test_below(state, 4001) - 2000;
    return k == 0 ? (double)INFINITY : k == 1 ? -0.0 : (double)k / 3;
}

/*
 * Returns a matrix whose rows have `runs` intervals of consecutive columns. All columns of a row are within a range of
 * `reach` columns. This range moves to the right from row to row.
 */
static test_entries clustered(int64_t rows, int64_t cols, int64_t runs, int64_t reach, uint64_t *state)
{
    enum { LONGEST = 24 };
    test_entries e = room_for(rows, cols, rows * runs * LONGEST);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = (cols - reach) * i / rows, part = reach / runs;
        for (int64_t r = 0; r < runs && i % 7 != 3; r++) {
            const int64_t length = 1 + test_below(state, LONGEST), from = test_below(state, part - length + 1);
            for (int64_t t = 0; t < length; t++) put(&e, i, start + r * part + from + t, some_value(state));
        }
    }
    return e;
}

/*
 * Returns a matrix whose rows have a few entries in nearby columns. Some rows have one entry or none, some have two
 * distant entries, and one row has all columns.
 */
static test_entries mostly_local(int64_t rows, int64_t cols, uint64_t *state)
{
    test_entries e = room_for(rows, cols, rows * 24 + cols);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = (cols - 60) * i / rows;
        if (i % 11 == 5) {
            put(&e, i, test_below(state, cols / 2), some_value(state));
            put(&e, i, cols / 2 + test_below(state, cols / 2), some_value(state));
        } else if (i == rows / 2) {
            for (int64_t j = 0; j < cols; j++) put(&e, i, j, some_value(state));
        } else if (i % 13 > 0) {
            for (int64_t j = 0; j < (i % 5 == 0 ? 1 : 20); j++) put(&e, i, start + 3 * j, some_value(state));
        }
    }
    return e;
}

static int is_grouped(const spry_context *context, const spry_matrix *A, const spry_matrix *B)
{
    spryi_spgemm_job job = {.a = A->a, .b = B->a, .products = INT64_MAX};
    return spryi_spgemm_column_groups_pay(context, &job);
}

/* Checks that all kernels give the same bits with 1, 2 and 5 threads, and in two phases, which memory hooks enforce. */
static void check(test_entries *b, spry_type type, uint64_t *state)
{
    test_memory memory = {0};
    spry_context *contexts[] = {context_of(1), context_of(2), context_of(5), counted_context(&memory, 2)};
    const test_form form = {SPRY_CSR, type, SPRY_I32, SPRY_I32};
    test_entries a = mostly_local(2000, b->rows, state);
    spry_matrix *A = test_matrix(contexts[0], &a, form), *B = test_matrix(contexts[0], b, form), *first = NULL;
    double alpha = 3;
    float alpha32 = 3;
    assert_true(is_grouped(contexts[0], A, B));
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < TEST_KERNELS; k++) {
            spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
            options.kernel = test_kernels[k];
            options.alpha = type == SPRY_F64 ? (const void *)&alpha : &alpha32;
            spry_matrix *C = NULL;
            spry_error err = SPRY_ERROR_INIT;
            spry_status status = spry_spgemm(contexts[c], &C, NULL, A, B, &options, &err);
            if (status == SPRY_DEVICE_UNAVAILABLE) continue;
            if (status != SPRY_OK) fail_msg("%s", err.message);
            if (!first) first = spryi_matrix_retain(C);
            if (!test_same_bits(first, C)) fail_msg("%s differs with context %d", test_kernels[k], c);
            spry_matrix_destroy(C);
        }
    spry_matrix_destroy(first);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    test_discard(&a);
    for (int c = 0; c < 4; c++) spry_context_destroy(contexts[c]);
}

/*
 * Tests a B whose columns all fit the dense window of rows_one_pass_avx512.c. Then tests a B with more columns, in rows
 * whose first and last columns are close together or far apart.
 */
static void by_groups(void **unused)
{
    static const int64_t shapes[][3] = {{300, 4000, 4000}, {900, 70000, 2000}, {1500, 3000000, 60000}};
    uint64_t state = 11;
    for (int s = 0; s < 3; s++)
        for (int t = 0; t < 2; t++) {
            if (INSTRUMENTED && (s + t) % 2) continue; /* alternates the types */
            test_entries b = clustered(shapes[s][0], shapes[s][1], 4, shapes[s][2], &state);
            check(&b, t ? SPRY_F32 : SPRY_F64, &state);
            test_discard(&b);
        }
}

/* Columns in no order or with gaps form no groups. */
static void no_groups(void **unused)
{
    uint64_t state = 5;
    spry_context *context = context_of(2);
    for (int k = 0; k < 2; k++) {
        const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        test_entries b = test_make(k ? TEST_SHUFFLED : TEST_UNIFORM, 2000, k ? 60 : 60000, 20, &state);
        spry_matrix *B = test_matrix(context, &b, form);
        assert_false(is_grouped(context, B, B));
        spry_matrix_destroy(B);
        test_discard(&b);
    }
    spry_context_destroy(context);
}

/*
 * Returns 1 if a product succeeds when only `mib` MiB of address space are available in addition to the process's
 * current size. Its result must have the bits of `wanted`.
 */
static int made_within(const spry_matrix *A, const spry_matrix *wanted, const char *kernel, int64_t mib)
{
    long pages = 0;
    struct rlimit usual;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%ld", &pages) == 1 && getrlimit(RLIMIT_AS, &usual) == 0);
    fclose(file);
    spry_context *context = context_of(1);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.kernel = kernel;
    spry_matrix *C = NULL;
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)mib << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){most, usual.rlim_max}), 0);
    const spry_status status = spry_spgemm(context, &C, NULL, A, A, &options, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
    if (status != SPRY_OK) assert_int_equal(status, SPRY_OUT_OF_MEMORY);
    if (status == SPRY_OK) assert_true(test_same_bits(C, wanted));
    spry_matrix_destroy(C);
    spry_context_destroy(context);
    return status == SPRY_OK;
}

/* If address space is too small for one pass, the method releases its reservation, and two phases are used. */
static void little_address_space(void **unused)
{
    enum { STEP = 8, MOST = 320, BESIDE = 24 }; /* in MiB; an entry of C for every product needs 150 MiB */
    if (INSTRUMENTED) skip();                   /* sanitizer shadows reserve terabytes */
    spry_context *context = context_of(1);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.kernel = "spgemm_rows_cpu";
    spry_matrix *A = generate_matrix(context, "gen:rgg,scale=16");
    spry_matrix *wanted = multiply_matrices(context, A, A, &options);
    spry_spgemm_options fast = SPRY_INIT(spry_spgemm_options);
    fast.kernel = "spgemm_rows_avx512_cpu";
    spry_matrix *C = NULL;
    const spry_status status = spry_spgemm(context, &C, NULL, A, A, &fast, NULL);
    spry_matrix_destroy(C);
    int64_t least = STEP;
    while (least < MOST && !made_within(A, wanted, options.kernel, least)) least += STEP;
    assert_true(least < MOST);
    for (int64_t mib = 0; mib < MOST && status == SPRY_OK; mib += STEP)
        if (!made_within(A, wanted, fast.kernel, mib) && mib >= least + BESIDE)
            fail_msg("two phases need %lld MiB, but %lld are too little", (long long)least, (long long)mib);
    spry_matrix_destroy(wanted);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * One pass cuts C into pieces of one row each. This list of pieces needs more bytes than the list for two phases. If
 * only the longer list exceeds the limit, two phases are used, so that no limit of at least least_bytes is refused.
 */
static void limits(void **unused)
{
    enum { ROWS = 100, LENGTH = 20000, STEP = SAMPLED ? 600 : 120 };
    spry_context *context = context_of(1);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    test_entries a = room_for(ROWS, 1, ROWS), b = room_for(1, 2 * LENGTH, LENGTH);
    for (int64_t i = 0; i < ROWS; i++) put(&a, i, 0, 1);
    for (int64_t j = 0; j < LENGTH; j++) put(&b, 0, 2 * j, 1);
    spry_matrix *A = test_matrix(context, &a, form), *B = test_matrix(context, &b, form);
    spry_spgemm_estimate_info estimate = SPRY_INIT(spry_spgemm_estimate_info);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    assert_int_equal(spry_spgemm_estimate(context, &estimate, A, B, NULL, NULL), SPRY_OK);
    int64_t limit = estimate.peak_bytes - 4000;
    if (limit < estimate.least_bytes) limit = estimate.least_bytes; /* on processors that use two phases */
    for (; limit < estimate.peak_bytes + 1000; limit += STEP) {
        spry_error err = SPRY_ERROR_INIT;
        spry_matrix *C = NULL;
        options.memory_limit_bytes = limit;
        if (spry_spgemm(context, &C, &info, A, B, &options, &err) != SPRY_OK)
            fail_msg("limit %lld, least %lld: %s", (long long)limit, (long long)estimate.least_bytes, err.message);
        assert_true(info.peak_bytes <= limit);
        spry_matrix_destroy(C);
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    test_discard(&a);
    test_discard(&b);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_groups), cmocka_unit_test(no_groups),
                                       cmocka_unit_test(little_address_space), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
