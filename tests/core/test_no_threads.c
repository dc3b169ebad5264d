/*
 * Tests of a system that refuses to start threads: all threads, or all after the first few. Every call must work and
 * give the same bits as on one thread. The linker redirects pthread_create of the library and of this program to
 * __wrap_pthread_create.
 */
#include "base/types.h"
#include "expect.h"
#include "support.h"

#include "base/pool.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, MOST_BITS = 256 };

/* created: number of calls of pthread_create. fail_from: number of the first call that fails; 0: none fails. */
static atomic_int created, fail_from;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    const int call = atomic_fetch_add(&created, 1) + 1;
    return fail_from > 0 && call >= fail_from ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

/* ---- calls, and hashes of their results ----------------------------------------------------------------------- */

static uint64_t bits[MOST_BITS];
static int bit_count;

static void note(const void *data, size_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t b = 0; b < bytes; b++) hash = (hash ^ ((const unsigned char *)data)[b]) * UINT64_C(0x100000001b3);
    assert_in_range(bit_count, 0, MOST_BITS - 1);
    bits[bit_count++] = hash;
}

static void note_matrix(const spry_matrix *A)
{
    spry_arrays a = arrays_of(A);
    const size_t index = spryi_index_type_bytes(a.index_type),
                 majors = (size_t)(a.layout == SPRY_CSC ? a.columns : a.rows);
    if (a.offsets) note(a.offsets, (majors + 1) * spryi_index_type_bytes(a.offset_type));
    if (a.row_indices) note(a.row_indices, (size_t)a.nnz * index);
    note(a.indices, (size_t)a.nnz * index);
    if (a.values) note(a.values, (size_t)a.nnz * spry_type_bytes(a.value_type));
}

static char folder[] = "/tmp/spry-no-threads-XXXXXX";

static spry_matrix *written_and_read(spry_context *context, const spry_matrix *A, const char *name, const char *format)
{
    char path[128];
    spry_write_options o = SPRY_INIT(spry_write_options);
    spry_matrix *B = NULL;
    o.format = format;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (spry_matrix_write(A, path, &o, &fault) != SPRY_OK) fail_msg("%s: %s", name, fault.message);
    if (spry_matrix_read(context, &B, path, NULL, &fault) != SPRY_OK) fail_msg("%s: %s", name, fault.message);
    assert_int_equal(unlink(path), 0);
    return B;
}

static void files(spry_context *context, const spry_matrix *A)
{
    static const struct {
        const char *name, *format;
    } all[] = {{"A.mtx", NULL}, {"A.mtx.gz", NULL}, {"A.spry", NULL}, {"A.spry", "bsr"}, {"A.spry", "scoo"}};
    for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
        spry_matrix *B = written_and_read(context, A, all[f].name, all[f].format);
        assert_int_equal(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, &fault), SPRY_OK);
        spry_matrix *csr = convert_matrix(context, B, NULL);
        note_matrix(csr);
        spry_matrix_destroy(csr);
        spry_matrix_destroy(B);
    }
    char path[128];
    spry_matrix *B = NULL;
    snprintf(path, sizeof path, "%s/edges.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int k = 0; k < 100000; k++) fprintf(file, "%d %d\n", k % 5003, k * 7 % 4999);
    assert_int_equal(fclose(file), 0);
    if (spry_matrix_read(context, &B, path, NULL, &fault) != SPRY_OK) fail_msg("%s", fault.message);
    assert_int_equal(unlink(path), 0);
    note_matrix(B);
    spry_matrix_destroy(B);
}

static void layouts(spry_context *context, const spry_matrix *A)
{
    static const spry_layout all[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    for (int n = 0; n < 3; n++) {
        spry_matrix_options o = SPRY_INIT(spry_matrix_options);
        o.layout = all[n];
        o.value_type = SPRY_F32;
        spry_matrix *B = convert_matrix(context, A, &o);
        note_matrix(B);
        spry_matrix_destroy(B);
    }
}

/* Multiplies by A and by its transpose with each format, and verifies the products. */
static void plans(spry_context *context, const spry_matrix *A, int64_t n)
{
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    assert_true(x && y);
    for (int64_t i = 0; i < n; i++) x[i] = 1.0 / (double)(i % 101 + 1);
    for (int number = 0; number < 2 * format_count(); number++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
        spry_spmv_plan *plan = NULL;
        spry_format_info info = format_info(number / 2);
        o.format = info.name;
        o.op = number % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.threads = THREADS;
        const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &fault);
        note(&status, sizeof status);
        if (status != SPRY_OK) continue; /* a format may refuse a direction, or too much padding */
        multiply_f64(plan, y, n, x, n);
        note(y, (size_t)n * sizeof *y);
        assert_int_equal(spry_spmv_verify(context, &v, A, o.op, NULL, spry_const_vector_f64(x, n), NULL,
                                          (spry_const_vector){0}, spry_const_vector_f64(y, n), &fault),
                         SPRY_OK);
        assert_int_equal(v.wrong_rows, 0);
        note(&v.max_error, sizeof v.max_error);
        spry_spmv_plan_destroy(plan);
    }
    free(x);
    free(y);
}

static void products(spry_context *context, const spry_matrix *A)
{
    spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
    spry_matrix *C = multiply_matrices(context, A, A, NULL);
    note_matrix(C);
    for (int how = SPRY_VERIFY_RANDOM; how <= SPRY_VERIFY_EXACT; how++) {
        assert_int_equal(spry_spgemm_verify(context, &v, C, A, A, NULL, (spry_thoroughness)how, &fault), SPRY_OK);
        assert_int_equal(v.wrong_rows, 0);
    }
    spry_matrix_destroy(C);
}

static void orders(spry_context *context, const spry_matrix *A, int64_t n)
{
    static const char *const methods[] = {"rcm", "bandk", "degree"};
    for (int m = 0; m < 3; m++) {
        spry_ordering_options o = SPRY_INIT(spry_ordering_options);
        spry_ordering_stats f = SPRY_INIT(spry_ordering_stats);
        spry_ordering *ordering = NULL;
        spry_matrix *B = NULL;
        o.method = methods[m];
        if (spry_ordering_create(context, &ordering, A, &o, &fault) != SPRY_OK) fail_msg("%s", fault.message);
        assert_int_equal(spry_ordering_get_stats(ordering, &f, A, &fault), SPRY_OK);
        note(&f.bandwidth_after, sizeof f.bandwidth_after);
        spry_ordering_info info = SPRY_INIT(spry_ordering_info);
        assert_int_equal(spry_ordering_get_info(ordering, &info, &fault), SPRY_OK);
        const int64_t *perm = info.row_perm;
        note(perm, (size_t)n * sizeof *perm);
        assert_int_equal(permute_matrix(context, &B, A, perm, perm, &fault), SPRY_OK);
        note_matrix(B);
        spry_matrix_destroy(B);
        spry_ordering_destroy(ordering);
    }
}

static void do_all(int threads)
{
    static const char *const specs[] = {"grid5,x=150,y=150", "rmat,scale=11"};
    spry_context *context = context_of(threads);
    bit_count = 0;
    for (int s = 0; s < 2; s++) {
        spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
        spry_matrix *A = generate_matrix(context, specs[s]);
        assert_int_equal(spry_matrix_get_stats(A, &stats, &fault), SPRY_OK);
        note(&stats.profile, sizeof stats.profile);
        files(context, A);
        layouts(context, A);
        plans(context, A, stats.rows);
        products(context, A);
        orders(context, A, stats.rows);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void everything_works_with_fewer_threads(void **state)
{
    uint64_t expected[MOST_BITS];
    assert_non_null(mkdtemp(folder));
    do_all(1);
    const int count = bit_count;
    memcpy(expected, bits, sizeof bits);
    for (int from = 0; from < THREADS; from += SAMPLED ? 2 : 1) {
        created = 0;
        fail_from = from;
        do_all(THREADS);
        assert_true(created > 0);
        assert_int_equal(bit_count, count);
        for (int b = 0; b < count; b++)
            if (bits[b] != expected[b]) fail_msg("result %d differs if threads fail from %d on", b, from);
    }
    fail_from = 0;
    assert_int_equal(rmdir(folder), 0);
}

/* Asserts that a context uses OMP_NUM_THREADS if it is a valid number of threads, and ignores other values. */
static void any_value_of_the_variable(void **state)
{
    static const struct {
        const char *value;
        int threads; /* 0: ignored, the default applies */
    } all[] = {{"1", 1},   {"3", 3},  {" 2 ", 2}, {"4,2", 4},  {"5 , 1", 5}, {"4096", 4096},
               {"", 0},    {"0", 0},  {"-1", 0},  {"4097", 0}, {"99999", 0}, {"99999999999999999999", 0},
               {"two", 0}, {"2x", 0}, {"1.5", 0}, {",2", 0},   {" ", 0},     {"0x4", 0}};
    unsetenv("OMP_NUM_THREADS");
    spry_context *context = context_of(0);
    const int processors = context_threads(context);
    spry_context_destroy(context);
    assert_in_range(processors, 1, SPRYI_MOST_THREADS);
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        setenv("OMP_NUM_THREADS", all[v].value, 1);
        context = context_of(0);
        const int threads = context_threads(context);
        if (threads != (all[v].threads ? all[v].threads : processors)) fail_msg("\"%s\": %d", all[v].value, threads);
        spry_context_destroy(context);
    }
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_works_with_fewer_threads),
        cmocka_unit_test(any_value_of_the_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
