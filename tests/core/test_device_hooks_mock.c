/*
 * Tests of memory hooks for devices, on the mock. All device memory must come from the hooks. The library must release
 * each block with its size, after the device has finished its work.
 */
#include "mock/mock.h"
#include "spry/cuda.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "support.h"

#include <stdbool.h>

enum { MOST = 256, SIDE = 12, N = SIDE * SIDE };

/* Blocks that the hooks have allocated, and counters of the hooks' calls and faults. */
typedef struct given {
    struct {
        void *at;
        int64_t bytes;
    } block[MOST];
    int64_t calls, held, faults, fail_at; /* fail_at: number of the refused call, counted from 1; 0: none */
    bool keeps;                           /* released blocks are listed in `back` and not freed */
    struct {
        void *at;
        int64_t bytes;
    } back[MOST];
    int back_count;
} given;

static void *hook_allocate(void *user, int device, int64_t bytes)
{
    given *g = user;
    if (device != 1 || bytes < 1 || mock_entered == 0) g->faults++;
    if (++g->calls == g->fail_at) return NULL;
    int b = 0;
    while (b < MOST && g->block[b].at) b++;
    void *made = b < MOST ? aligned_alloc(256, ((size_t)bytes + 255) / 256 * 256) : NULL;
    if (!made) return NULL;
    memset(made, 0xa5, (size_t)bytes); /* the library must not rely on zeros */
    g->block[b].at = made;
    g->block[b].bytes = bytes;
    g->held++;
    return made;
}

static void hook_release(void *user, int device, void *pointer, int64_t bytes)
{
    given *g = user;
    if (device != 1 || mock_entered == 0 || mock_waits() > 0) g->faults++;
    for (int b = 0; b < MOST; b++) {
        if (g->block[b].at != pointer) continue;
        if (g->block[b].bytes != bytes) g->faults++;
        if (g->keeps) {
            g->back[g->back_count].at = pointer;
            g->back[g->back_count++].bytes = bytes;
        } else {
            free(pointer);
        }
        g->block[b].at = NULL;
        g->held--;
        return;
    }
    g->faults++;
}

static spry_context *hooked_context(given *g)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    options.threads = 2;
    spry_device_hooks hooks = SPRY_INIT(spry_device_hooks);
    hooks.allocate = hook_allocate;
    hooks.release = hook_release;
    hooks.user = g;
    options.device_hooks = &hooks;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    return context;
}

static void both_or_none(void **state)
{
    spry_context *mark = (spry_context *)(uintptr_t)1, *context = mark;
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_device_hooks hooks = SPRY_INIT(spry_device_hooks);
    options.device_hooks = &hooks;
    hooks.allocate = hook_allocate;
    expect_error(spry_context_create(&context, &options, &err), SPRY_INVALID_ARGUMENT, "device_hooks");
    hooks.allocate = NULL;
    hooks.release = hook_release;
    expect_error(spry_context_create(&context, &options, &err), SPRY_INVALID_ARGUMENT, "device_hooks");
    assert_ptr_equal(context, mark);
}

/* Function that allocates device memory and frees all of it. */
typedef spry_status (*work)(spry_context *context, spry_matrix *A, const char *format, spry_error *err);

static spry_status plan_and_run(spry_context *context, spry_matrix *A, const char *format, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    double x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = 1, y[i] = 0;
    options.device = 1;
    options.format = format;
    options.ordering = strcmp(format, "csr") == 0 ? "rcm" : NULL;
    options.memory_limit_bytes = INT64_MAX;
    spry_status status = spry_spmv_plan_create(context, &plan, A, &options, err);
    if (status == SPRY_OK)
        status = spry_spmv_plan_run(plan, spry_vector_f64(y, N), NULL, spry_const_vector_f64(x, N), NULL, NULL, err);
    for (int i = 0; status == SPRY_OK && i < N; i++) /* 4 minus the number of neighbours */
        assert_true(y[i] == (i % SIDE == 0) + (i % SIDE == SIDE - 1) + (i < SIDE) + (i >= N - SIDE));
    if (status == SPRY_OK) status = spry_spmv_plan_update(plan, NULL, err);
    spry_spmv_plan_destroy(plan);
    return status;
}

static spry_status sparse_product(spry_context *context, spry_matrix *A, const char *format, spry_error *err)
{
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    spry_matrix *C = NULL;
    options.device = options.result_device = 1;
    spry_status status = spry_spgemm(context, &C, NULL, A, A, &options, err);
    spry_matrix_destroy(C);
    return status;
}

static spry_status solve(spry_context *context, spry_matrix *A, const char *format, spry_error *err)
{
    spry_cg_options options = SPRY_INIT(spry_cg_options);
    double x[N], b[N];
    for (int i = 0; i < N; i++) b[i] = 1;
    options.device = 1;
    options.precond = SPRY_PRECOND_JACOBI;
    return spry_cg(context, spry_vector_f64(x, N), NULL, A, spry_const_vector_f64(b, N), &options, err);
}

static spry_status vectors(spry_context *context, spry_matrix *A, const char *format, spry_error *err)
{
    spry_vector v = {0};
    void *data = NULL, *none = NULL;
    spry_status status = spry_vector_create(context, &v, 100, SPRY_F64, 1, err);
    if (status == SPRY_OK) status = spry_device_allocate(context, &data, 1, 5000, err);
    if (status == SPRY_OK) status = spry_device_allocate(context, &none, 1, 0, err);
    spry_device_free(context, 1, data);
    spry_device_free(context, 1, none);
    spry_vector_destroy(context, &v);
    return status;
}

/*
 * Runs w with each call of the allocation hook refused in turn, then with none refused. If a call is refused, w may
 * succeed only if storage was built on the host instead, or if a sparse product ran in smaller chunks.
 */
static void check(work w, const char *format)
{
    for (int64_t n = 1, refused = 1; refused; n++) {
        given g = {.fail_at = n};
        spry_context *context = hooked_context(&g);
        spry_error err = {0};
        spry_matrix *A = generate_matrix(context, "gen:laplace5,x=12,y=12");
        const int64_t bytes = context_bytes(context);
        mock.allocations = 0;
        const spry_status status = w(context, A, format, &err);
        refused = g.calls >= n;
        if (refused && status == SPRY_OK)
            assert_true(mock.converts || w == sparse_product);
        else if (refused)
            check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
        else if (status != SPRY_OK)
            fail_msg("%s: %s", format, err.message);
        assert_true(g.calls > 0);
        assert_int_equal(g.held, 0);
        assert_int_equal(g.faults, 0);
        assert_int_equal(mock.allocations, 0); /* no allocation bypasses the hooks */
        assert_int_equal(context_bytes(context), bytes);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

static void all_of_it(void **state)
{
    static const char *const formats[] = {"csr", "csc", "coo", "ell", "sell", "hyb", "bsr", "packed"};
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) check(plan_and_run, formats[f]);
    mock.converts = 0;
    check(sparse_product, "csr");
    check(solve, "csr");
    check(vectors, "none");
}

/* Asserts that destroying the context frees the library's blocks, and keeps the caller's block. */
static void left_behind(void **state)
{
    given g = {0};
    void *data = NULL;
    spry_context *context = hooked_context(&g);
    assert_int_equal(spry_device_allocate(context, &data, 1, 300, NULL), SPRY_OK);
    assert_int_equal((uintptr_t)data % 256, 0);
    spry_context_destroy(context);
    assert_int_equal(g.held, 1);
    free(data);
}

/*
 * Asserts that A's device copy is freed after both directions are built. Runs may then write y to the memory of the
 * copy.
 */
static void y_where_the_copy_was(void **state)
{
    given g = {.keeps = true};
    spry_context *context = hooked_context(&g);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    int runs = 0;
    o.device = o.vector_device = 1;
    o.format = "sell";
    o.both_directions = 1;
    spry_matrix *A = generate_matrix(context, "gen:rmat,scale=7");
    spry_spmv_plan *plan = create_plan(context, A, &o);
    const int64_t n = spry_matrix_rows(A);
    spry_vector x = create_vector(context, n, SPRY_F64, 1);
    for (int b = 0; b < g.back_count; b++) {
        if (g.back[b].bytes < n * 8) continue;
        for (int transpose = 0; transpose < 2; transpose++, runs++) {
            spry_vector y = {.data = g.back[b].at, .length = n, .type = SPRY_F64, .device = 1};
            spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
            run.transpose = transpose;
            MUST(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, &run, err));
        }
    }
    assert_true(runs > 0);
    spry_vector_destroy(context, &x);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    assert_int_equal(g.held, 0);
    for (int b = 0; b < g.back_count; b++) free(g.back[b].at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_or_none),
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(left_behind),
        cmocka_unit_test(y_where_the_copy_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
