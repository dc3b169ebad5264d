/*
 * Tests of the memory that runs allocate. A run allocates workspace_bytes if three conditions hold: the run overlaps
 * another CPU run of the plan, workspace_bytes is not 0, and the caller passes no workspace. Otherwise a run allocates
 * nothing.
 */
#include "spry/tune.h"
#include "support.h"

#include <pthread.h>

enum { SIDE = 120, N = SIDE * SIDE, THREADS = 4, RUNS = SAMPLED ? 10 : 60 };

typedef struct runner {
    const spry_spmv_plan *plan;
    pthread_barrier_t *start;
    int64_t workspace_bytes;
    int brings; /* 1: the thread passes its own workspace to every run; 0: none */
    int failed, other;
} runner;

static void *run_often(void *argument)
{
    runner *r = argument;
    double *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
    const size_t bytes = ((size_t)r->workspace_bytes + 64) / 64 * 64;
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    void *workspace = r->brings ? aligned_alloc(64, bytes) : NULL;
    o.workspace = workspace;
    o.workspace_bytes = workspace ? r->workspace_bytes : 0;
    o.threads = 1;
    (void)pthread_barrier_wait(r->start);
    for (int n = 0; x && y && n < RUNS; n++) {
        const spry_status status =
            spry_spmv_plan_run(r->plan, spry_vector_f64(y, N), NULL, spry_const_vector_f64(x, N), NULL, &o, NULL);
        r->failed += status == SPRY_OUT_OF_MEMORY;
        r->other += status != SPRY_OUT_OF_MEMORY && status != SPRY_OK;
    }
    free(workspace);
    free(x);
    free(y);
    return NULL;
}

/*
 * Runs on `threads` threads while every allocation fails. Returns the number of failed runs. Each failed run requested
 * only its workspace.
 */
static int64_t run_together(const spry_spmv_plan *plan, test_memory *h, int threads, int brings,
                            int64_t workspace_bytes)
{
    pthread_t started[THREADS];
    runner runners[THREADS];
    pthread_barrier_t start;
    int64_t failed = 0;
    const int64_t before = atomic_load(&h->calls);
    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)threads), 0);
    fail_call(h, 1, 1);
    for (int t = 0; t < threads; t++) {
        runners[t] = (runner){plan, &start, workspace_bytes, brings, 0, 0};
        assert_int_equal(pthread_create(&started[t], NULL, run_often, &runners[t]), 0);
    }
    for (int t = 0; t < threads; t++) {
        assert_int_equal(pthread_join(started[t], NULL), 0);
        assert_int_equal(runners[t].other, 0);
        failed += runners[t].failed;
    }
    (void)pthread_barrier_destroy(&start);
    fail_call(h, 0, 0);
    assert_int_equal(atomic_load(&h->calls) - before, failed);
    return failed;
}

static void runs_allocate_as_reported(void **state)
{
    int64_t overlapping = 0;
    test_memory h = {0};
    spry_context *context = counted_context(&h, 1);
    spry_matrix *A = generate_matrix(context, "laplace5,x=120,y=120");
    for (int f = 0; f < format_count(); f++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spry_spmv_plan *plan = NULL;
            spry_format_info format = format_info(f);
            o.format = format.name;
            o.op = (spry_op)op;
            o.memory_limit_bytes = INT64_MAX; /* replaces the padding guard */
            if (spry_spmv_plan_create(context, &plan, A, &o, NULL) == SPRY_UNSUPPORTED) continue;
            spry_spmv_plan_info info = plan_info(plan);
            assert_int_equal(run_together(plan, &h, 1, 0, info.workspace_bytes), 0);
            assert_int_equal(run_together(plan, &h, THREADS, 1, info.workspace_bytes), 0);
            const int64_t failed = run_together(plan, &h, THREADS, 0, info.workspace_bytes);
            if (info.workspace_bytes == 0) assert_int_equal(failed, 0);
            overlapping += failed;
            spry_spmv_plan_destroy(plan);
        }
    assert_true(overlapping > 0);
    spry_matrix_destroy(A);
    assert_int_equal(h.faults, 0);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_allocate_as_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
