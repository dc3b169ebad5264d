/*
 * Tests of the floating-point environment. Threads that help a caller must use the caller's rounding and denormal
 * modes. Threads of an executor must keep their own modes afterwards.
 */
#include "support.h"

#include "base/clock.h"
#include "base/context.h"

#include <fenv.h>
#include <pthread.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { TASKS = 2 };

/*
 * Enters environment 0 (default), 1 (rounds up) or 2 (no denormal numbers). Returns 0 if the machine has no environment
 * 2.
 */
static int enter(int environment)
{
    (void)fesetenv(FE_DFL_ENV);
    if (environment == 1) (void)fesetround(FE_UPWARD);
#if defined(__SSE__)
    if (environment == 2) _mm_setcsr(_mm_getcsr() | 0x8040); /* flush-to-zero and denormals-are-zero */
    return environment <= 2;
#else
    return environment <= 1;
#endif
}

/* Results that differ between the environments. */
typedef struct numbers {
    double third, denormal;
} numbers;

static numbers compute(void)
{
    volatile double one = 1, three = 3, small = 0x1p-1060;
    return (numbers){one / three, small * one};
}

typedef struct job {
    atomic_int begun, ended;
    pthread_t on[TASKS];
    numbers found[TASKS];
} job;

/* Waits until the other task has started, so that two threads run the tasks. */
static void work(void *argument, int index)
{
    job *j = argument;
    const double until = spryi_now_us() + 10e6;
    j->begun++;
    while (j->begun < TASKS && spryi_now_us() < until) continue;
    j->on[index] = pthread_self();
    j->found[index] = compute();
    j->ended++;
}

/* ---- executor with its own threads, which start in the default environment and must end in it ------------------ */

typedef struct own_thread {
    pthread_t thread;
    void (*task)(void *argument, int index);
    void *argument;
    int index, kept;
} own_thread;

static void *run_own(void *argument)
{
    own_thread *t = argument;
    (void)fesetenv(FE_DFL_ENV);
    const numbers before = compute();
    t->task(t->argument, t->index);
    const numbers after = compute();
    t->kept = memcmp(&before, &after, sizeof before) == 0;
    return NULL;
}

static int kept_own = 1;

static void execute(void *user, int tasks, void (*task)(void *argument, int index), void *argument)
{
    own_thread own[TASKS];
    assert_int_equal(tasks, TASKS);
    for (int t = 0; t < TASKS; t++) {
        own[t] = (own_thread){.task = task, .argument = argument, .index = t};
        assert_int_equal(pthread_create(&own[t].thread, NULL, run_own, &own[t]), 0);
    }
    for (int t = 0; t < TASKS; t++) {
        assert_int_equal(pthread_join(own[t].thread, NULL), 0);
        kept_own &= own[t].kept;
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static spry_context *context_with(int own)
{
    spry_context_options o = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    o.threads = TASKS;
    if (own) o.execute = execute;
    assert_int_equal(spry_context_create(&context, &o, NULL), SPRY_OK);
    return context;
}

/* Changes the environment after the threads have started. Every task must use the caller's environment. */
static void as_the_caller(void **state)
{
    for (int own = 0; own < 2; own++) {
        spry_context *context = context_with(own);
        static const int order[] = {0, 1, 0, 2, 1, 2, 0};
        for (size_t n = 0; n < sizeof order / sizeof *order; n++) {
            if (!enter(order[n])) continue;
            job j = {.begun = 0};
            context->pool.alone_until = 0; /* a loaded machine must not make the caller work alone */
            const numbers callers = compute();
            spryi_parallel(&context->pool, TASKS, work, &j);
            const numbers after = compute();
            (void)enter(0);
            assert_int_equal(j.ended, TASKS);
            assert_false(pthread_equal(j.on[0], j.on[1]));
            for (int t = 0; t < TASKS; t++) assert_memory_equal(&j.found[t], &callers, sizeof callers);
            assert_memory_equal(&after, &callers, sizeof callers);
        }
        spry_context_destroy(context);
    }
    assert_true(kept_own);
}

/* Asserts that all elements of y are denormal, or all are 0, as in the caller's environment. Two threads compute y. */
static void products(void **state)
{
    enum { N = 600000 };
    int32_t *offsets = malloc((N + 1) * sizeof *offsets), *columns = malloc(N * sizeof *columns);
    double *values = malloc(N * sizeof *values), *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    spry_context *context = context_with(0);
    if (!offsets || !columns || !values || !x || !y) abort();
    for (int i = 0; i < N; i++) {
        offsets[i] = columns[i] = i;
        values[i] = 1;
        x[i] = 0x1p-1060;
    }
    offsets[N] = N;
    spry_matrix *A = borrow_csr(context, N, N, offsets, columns, values);
    spry_spmv_plan *plan = create_plan(context, A, NULL);
    for (int run = 0; run < 40; run++) {
        const int environment = run % 4 == 3 ? 0 : 2; /* run 0 starts the threads; most runs use another environment */
        if (!enter(run == 0 ? 0 : environment)) continue;
        const numbers own = compute();
        context->pool.alone_until = 0;
        const spry_status status =
            spry_spmv_plan_run(plan, spry_vector_f64(y, N), NULL, spry_const_vector_f64(x, N), NULL, NULL, NULL);
        (void)enter(0);
        assert_int_equal(status, SPRY_OK);
        for (int i = 0; i < N; i++)
            if (memcmp(&y[i], &own.denormal, sizeof *y) != 0) fail_msg("run %d, row %d is %g", run, i, y[i]);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(offsets);
    free(columns);
    free(values);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_caller), cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
