/*
 * Tests of the thread pool. Each task, block and item must run once, also if multiple threads call at the same time or
 * after a fork. Destroying a context must end its threads. Results must have the same bits for all thread counts.
 */
#include "expect.h"
#include "support.h"

#include "base/clock.h"
#include "base/context.h"
#include "spry/io.h"
#include "spry/solve.h"
#include "spry/spgemm.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 200, SIDE = 40, N = SIDE * SIDE };

static spry_context *context_with(int threads)
{
    spry_context_options o = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    o.threads = threads;
    assert_int_equal(spry_context_create(&context, &o, &fault), SPRY_OK);
    return context;
}

/* ---- tasks ------------------------------------------------------------------------------------------------ */

typedef struct tally {
    atomic_int done[MOST], elsewhere;
    pthread_t caller;
    spryi_pool *pool; /* each task runs three more tasks in this pool; NULL: it runs none */
    int pause_ms;     /* pause of each task on other threads; if not 0, task 0 waits until one of these starts */
} tally;

static void count(void *argument, int index)
{
    tally *t = argument;
    t->done[index]++;
}

static void do_task(void *argument, int index)
{
    tally *t = argument;
    t->done[index]++;
    const int others = !pthread_equal(pthread_self(), t->caller);
    t->elsewhere += others;
    if (others) usleep((useconds_t)t->pause_ms * 1000);
    const double until = spryi_now_us() + 5e6;
    while (t->pause_ms > 0 && index == 0 && t->elsewhere == 0 && spryi_now_us() < until) usleep(10);
    tally inner = {.pause_ms = 0};
    if (t->pool) spryi_parallel(t->pool, 3, count, &inner);
    if (t->pool) t->elsewhere += inner.done[0] != 1 || inner.done[1] != 1 || inner.done[2] != 1 ? 1000 : 0;
}

/* Returns 1 if each of the tasks ran once. */
static int each_once(spryi_pool *pool, int tasks)
{
    tally t = {.caller = pthread_self()};
    spryi_parallel(pool, tasks, do_task, &t);
    for (int i = 0; i < MOST; i++) EXPECT(t.done[i] == (i < tasks));
    return 1;
}

static void every_task_once(void **state)
{
    static const int counts[] = {0, 1, 2, 3, 2, 63, 64, 65, 5, 130, INSTRUMENTED ? 4 : MOST};
    spry_context *context = context_with(2);
    for (int round = 0; round < 20; round++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) assert_true(each_once(&context->pool, counts[c]));
    spry_context_destroy(context);
    assert_true(each_once(NULL, 7));
}

static void tasks_within_tasks(void **state)
{
    spry_context *context = context_with(4);
    for (int round = 0; round < 200; round++) {
        tally t = {.caller = pthread_self(), .pool = &context->pool};
        spryi_parallel(&context->pool, 4, do_task, &t);
        for (int i = 0; i < 4; i++) assert_int_equal(t.done[i], 1);
        assert_in_range(t.elsewhere, 0, 3);
    }
    spry_context_destroy(context);
}

static void without_threads_the_caller_does_all(void **state)
{
    spry_context *context = context_with(4);
    context->pool.most = 0; /* the system has no threads left */
    for (int round = 0; round < 3; round++) {
        tally t = {.caller = pthread_self()};
        spryi_parallel(&context->pool, 70, do_task, &t);
        for (int i = 0; i < 70; i++) assert_int_equal(t.done[i], 1);
        assert_int_equal(t.elsewhere, 0);
    }
    spry_context_destroy(context);
}

/* The pause of 300 ms simulates a thread that lost its processor. */
static void a_late_thread_is_not_asked_again_at_once(void **state)
{
    spry_context *context = context_with(2);
    tally late = {.caller = pthread_self(), .pause_ms = 300}, next = {.caller = pthread_self()};
    spryi_parallel(&context->pool, 2, do_task, &late);
    assert_int_equal(late.elsewhere, 1);
    if (context->pool.alone_until == 0) /* if the caller was as slow, the pool saw no late thread, so set it here */
        context->pool.alone_until = spryi_now_us() + 5e6;
    spryi_parallel(&context->pool, 2, do_task, &next);
    assert_int_equal(next.elsewhere, 0);
    assert_true(next.done[0] == 1 && next.done[1] == 1);
    context->pool.alone_until = spryi_now_us() - 1; /* the waiting time has passed */
    tally again = {.caller = pthread_self(), .pause_ms = 1};
    spryi_parallel(&context->pool, 2, do_task, &again);
    assert_int_equal(again.elsewhere, 1);
    spry_context_destroy(context);
}

static void *call_often(void *pool)
{
    static int good = 1, bad = 0;
    for (int round = 0; round < 300; round++)
        if (!each_once(pool, 1 + round % 9)) return &bad;
    return &good;
}

static void many_callers_at_once(void **state)
{
    enum { CALLERS = 6 };
    spry_context *context = context_with(3);
    pthread_t callers[CALLERS];
    for (int c = 0; c < CALLERS; c++)
        assert_int_equal(pthread_create(&callers[c], NULL, call_often, &context->pool), 0);
    for (int c = 0; c < CALLERS; c++) {
        void *good = NULL;
        assert_int_equal(pthread_join(callers[c], &good), 0);
        assert_int_equal(*(int *)good, 1);
    }
    spry_context_destroy(context);
}

/* ---- blocks ----------------------------------------------------------------------------------------------- */

typedef struct trail {
    atomic_int done[MOST];
    int order[MOST];
    atomic_int next;
} trail;

static void follow(const void *argument, int64_t begin, int64_t end)
{
    trail *t = *(trail *const *)argument;
    for (int64_t b = begin; b < end; b++) {
        t->done[b]++;
        t->order[atomic_fetch_add(&t->next, 1)] = (int)b;
    }
}

static void every_block_once_either_way(void **state)
{
    static const int threads[] = {2, 3, 64, 65, 100}, blocks[] = {0, 1, 2, 63, 64, 65, MOST};
    spry_context *context = context_with(2);
    for (int c = 0; c < 5 * 7 * 2; c++) {
        trail t = {.next = 0}, *to = &t;
        (c / 35 ? spryi_parallel_blocks_backwards : spryi_parallel_blocks)(&context->pool, threads[c % 5],
                                                                           blocks[c / 5 % 7], follow, &to);
        for (int b = 0; b < MOST; b++) assert_int_equal(t.done[b], b < blocks[c / 5 % 7]);
    }
    spry_context_destroy(context);
    context = context_with(2);
    context->pool.most = 0; /* on one thread, tasks run in a known order */
    trail t = {.next = 0}, *to = &t;
    spryi_parallel_blocks_backwards(&context->pool, 2, 10, follow, &to);
    static const int expected[] = {4, 3, 2, 1, 0, 9, 8, 7, 6, 5};
    assert_memory_equal(t.order, expected, sizeof expected);
    spry_context_destroy(context);
}

typedef struct visits {
    atomic_int done[MOST * 10], busy[MOST];
    atomic_int clashes;
} visits;

static void visit(void *job, int64_t begin, int64_t end)
{
    visits *v = job;
    for (int64_t i = begin; i < end; i++) v->done[i]++;
}

static void visit_in_part(void *job, int64_t begin, int64_t end, int part)
{
    visits *v = job;
    v->clashes += atomic_exchange(&v->busy[part], 1);
    visit(job, begin, end);
    v->busy[part] = 0;
}

static void every_item_once(void **state)
{
    static const int threads[] = {1, 2, 7, 65, MOST}, items[] = {0, 1, 63, 64, 65, MOST * 10},
                     grains[] = {0, 1, 7, MOST};
    spry_context *context = context_with(3);
    for (int c = 0; c < 5 * 6 * 4; c++) {
        visits v = {.clashes = 0}, w = {.clashes = 0};
        const int count = items[c / 5 % 6], grain = grains[c / 30];
        spryi_loop(context, threads[c % 5], count, grain, visit, &v);
        spryi_loop_in_parts(context, threads[c % 5], count, grain, visit_in_part, &w);
        for (int i = 0; i < MOST * 10; i++) assert_true(v.done[i] == (i < count) && w.done[i] == (i < count));
        assert_int_equal(w.clashes, 0);
    }
    spry_context_destroy(context);
}

/* ---- products --------------------------------------------------------------------------------------------- */

typedef struct results {
    double y[N], transposed[N], solution[N];
    int64_t nnz;
    double *c;
} results;

static atomic_int executed;

static void backwards(void *user, int tasks, void (*task)(void *argument, int index), void *argument)
{
    assert_string_equal(user, "the executor's");
    executed++;
    for (int t = tasks - 1; t >= 0; t--) task(argument, t);
}

static int runs(spry_context *context, results *r)
{
    spry_matrix *A = NULL, *C = NULL;
    static double x[N];
    for (int i = 0; i < N; i++) x[i] = 1.0 / (i % 37 + 1);
    OK(spry_matrix_generate(context, &A, "gen:grid5,x=40,y=40", NULL, &fault));
    for (int op = 0; op < 2; op++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_spmv_run_options how = SPRY_INIT(spry_spmv_run_options);
        spry_spmv_plan *plan = NULL;
        double again[N];
        o.op = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.format = op ? "csc" : "csr"; /* the matrix has enough rows for multiple threads in these formats */
        o.threads = context_threads(context);
        OK(spry_spmv_plan_create(context, &plan, A, &o, &fault));
        double *y = op ? r->transposed : r->y;
        OK(spry_spmv_plan_run(plan, spry_vector_f64(y, N), NULL, spry_const_vector_f64(x, N), NULL, NULL, &fault));
        how.threads = 7;
        OK(spry_spmv_plan_run(plan, spry_vector_f64(again, N), NULL, spry_const_vector_f64(x, N), NULL, &how, &fault));
        EXPECT(memcmp(y, again, sizeof again) == 0);
        spry_spmv_plan_destroy(plan);
    }
    spry_spgemm_options g = SPRY_INIT(spry_spgemm_options);
    g.threads = context_threads(context);
    OK(spry_spgemm(context, &C, NULL, A, A, &g, &fault));
    spry_arrays c = SPRY_INIT(spry_arrays);
    OK(spry_matrix_get_arrays(C, &c, &fault));
    r->nnz = c.nnz;
    r->c = malloc((size_t)c.nnz * sizeof *r->c);
    EXPECT(r->c);
    memcpy(r->c, c.values, (size_t)c.nnz * sizeof *r->c);
    spry_cg_options cg = SPRY_INIT(spry_cg_options);
    cg.max_iterations = 5;
    memset(r->solution, 0, sizeof r->solution);
    (void)!spry_cg(context, spry_vector_f64(r->solution, N), NULL, A, spry_const_vector_f64(x, N), &cg, NULL);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    return 1;
}

static int same(const results *r, const results *s)
{
    EXPECT(memcmp(r->y, s->y, sizeof r->y) == 0 && memcmp(r->transposed, s->transposed, sizeof r->y) == 0);
    EXPECT(memcmp(r->solution, s->solution, sizeof r->y) == 0);
    return r->nnz == s->nnz && memcmp(r->c, s->c, (size_t)r->nnz * sizeof *r->c) == 0;
}

static results first;

static int runs_alike(spry_context *context)
{
    static results r;
    const int good = runs(context, &r) && same(&first, &r);
    free(r.c);
    return good;
}

static void the_same_bits_on_all(void **state)
{
    spry_context *alone = context_with(1);
    assert_true(runs(alone, &first));
    for (int threads = 2; threads <= 5; threads += 3) {
        spry_context *context = context_with(threads);
        assert_true(runs_alike(context));
        assert_int_equal(context->pool.started > 0, 1);
        spry_context_destroy(context);
    }
    spry_context_options o = SPRY_INIT(spry_context_options);
    spry_context *context = NULL;
    o.threads = 3;
    o.execute = backwards;
    o.execute_user = (void *)(uintptr_t) "the executor's";
    assert_int_equal(spry_context_create(&context, &o, &fault), SPRY_OK);
    assert_true(runs_alike(context));
    assert_true(executed >= 4 && context->pool.started == 0);
    spry_context_destroy(context);
    spry_context_destroy(alone);
}

static int threads_reported(spry_context *context, const char *grid, int asked)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.threads = asked;
    spry_matrix *A = generate_matrix(context, grid);
    spry_spmv_plan *plan = create_plan(context, A, &o);
    spry_spmv_plan_info info = plan_info(plan);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    return info.threads;
}

static void small_products_have_one_thread_unless_asked(void **state)
{
    spry_context *context = context_with(2);
    assert_int_equal(threads_reported(context, "gen:grid5,x=30,y=30", 0), 1);
    assert_int_equal(threads_reported(context, "gen:grid5,x=30,y=30", 3), 3);
    assert_int_equal(threads_reported(context, "gen:grid5,x=300,y=300", 0), 2);
    assert_int_equal(threads_reported(context, "gen:grid5,x=300,y=300", 1), 1);
    spry_context_destroy(context);
}

static void refusals(void **state)
{
    static const int bad[] = {-1, 4097};
    double x[1] = {1}, y[1];
    spry_context *made = NULL, *context = context_with(1);
    spry_matrix *C = NULL;
    spry_matrix *A = generate_matrix(context, "gen:grid5,x=1,y=1");
    spry_spmv_plan *plan = create_plan(context, A, NULL);
    for (int b = 0; b < 2; b++) {
        spry_context_options o = SPRY_INIT(spry_context_options);
        spry_spmv_options s = SPRY_INIT(spry_spmv_options);
        spry_spgemm_options g = SPRY_INIT(spry_spgemm_options);
        spry_spmv_run_options r = SPRY_INIT(spry_spmv_run_options);
        spry_spmv_plan *none = NULL;
        o.threads = s.threads = g.threads = r.threads = bad[b];
        expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "threads");
        expect_error(spry_spmv_plan_create(context, &none, A, &s, &err), SPRY_INVALID_ARGUMENT, "threads");
        expect_error(spry_spgemm(context, &C, NULL, A, A, &g, &err), SPRY_INVALID_ARGUMENT, "threads");
        expect_error(spry_spmv_plan_run(plan, spry_vector_f64(y, 1), NULL, spry_const_vector_f64(x, 1), NULL, &r, &err),
                     SPRY_INVALID_ARGUMENT, "threads");
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- processes -------------------------------------------------------------------------------------------- */

static void *work_in_child(void *context)
{
    static int good;
    good = runs_alike(context) && ((spry_context *)context)->pool.started > 0;
    return &good;
}

/*
 * Asserts that, in the child, the thread that forked works alone, while other threads and new contexts use all threads.
 */
static int child_works(spry_context *context)
{
    pthread_t thread;
    void *good = NULL;
    EXPECT(runs_alike(context));
    if (!INSTRUMENTED) { /* ThreadSanitizer ends a child that starts threads */
        EXPECT(pthread_create(&thread, NULL, work_in_child, context) == 0 && pthread_join(thread, &good) == 0);
        EXPECT(*(int *)good);
    }
    spry_context_destroy(context);
    return 1;
}

static void forked(spry_context *context)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(INSTRUMENTED ? 120 : 20);
        _exit(child_works(context) ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(runs_alike(context));
}

static void forks(void **state)
{
    spry_context *context = context_with(3);
    forked(context); /* before the pool has threads */
    assert_true(context->pool.started > 0);
    forked(context);
    spry_context_destroy(context);
}

static int threads_of_process(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Waits until the process has `count` threads. A joined thread may still be listed for a while. */
static int comes_to(int count)
{
    for (int ms = 0; ms < 5000 && threads_of_process() != count; ms++) usleep(1000);
    return threads_of_process() == count;
}

static void contexts_end_with_their_threads(void **state)
{
    enum { ROUNDS = INSTRUMENTED ? 100 : 1000 };
    int before = 0; /* threads outside the pool, counted after the first start, when sanitizers also start one */
    for (int round = 0; round < ROUNDS; round++) {
        spry_context *context = context_with(3);
        assert_true(each_once(&context->pool, 3));
        assert_int_equal(context->pool.started, 2);
        if (round == 0) before = threads_of_process() - 2;
        assert_true(comes_to(before + 2));
        spry_context_destroy(context);
    }
    assert_true(comes_to(before));
}

static int tear_down(void **state)
{
    free(first.c);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_end_with_their_threads),
        cmocka_unit_test(every_task_once),
        cmocka_unit_test(tasks_within_tasks),
        cmocka_unit_test(without_threads_the_caller_does_all),
        cmocka_unit_test(a_late_thread_is_not_asked_again_at_once),
        cmocka_unit_test(many_callers_at_once),
        cmocka_unit_test(every_block_once_either_way),
        cmocka_unit_test(every_item_once),
        cmocka_unit_test(the_same_bits_on_all),
        cmocka_unit_test(small_products_have_one_thread_unless_asked),
        cmocka_unit_test(refusals),
        cmocka_unit_test(forks),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
