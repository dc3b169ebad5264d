/*
 * Tests of the stack use of the library on callers' threads and executors' threads with small stacks. Every operation
 * must stay within the size in spry.h: building plans, products in every format, sparse products, orderings, files and
 * solvers.
 */
#include "expect.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "support.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

/* Instrumented code and unoptimised code need a much larger stack. */
#if defined(__OPTIMIZE__)
enum { STACK_KB = INSTRUMENTED ? 1024 : 64 };
#else
enum { STACK_KB = 1024 };
#endif

static spry_context *context;

typedef struct job {
    int (*work)(spry_matrix *A);
    spry_matrix *A;
    int good;
} job;

static void *start(void *given)
{
    job *j = given;
    j->good = j->work(j->A);
    return NULL;
}

/* Returns 1 if work(A) succeeds on a thread with a stack of STACK_KB. */
static int on_small_stack(int (*work)(spry_matrix *A), spry_matrix *A)
{
    job j = {work, A, 0};
    pthread_t thread;
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)STACK_KB << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, start, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    return j.good;
}

/*
 * Calls work with a grid, a matrix with long rows and a matrix with scattered columns. Each matrix is large enough for
 * two threads.
 */
static int on_each(int (*work)(spry_matrix *A))
{
    static const char *const specs[] = {"gen:grid5,x=150,y=150", "gen:rmat,scale=12", "gen:random,rows=9000,cols=9000"};
    static const char *const small[] = {"gen:grid5,x=70,y=70", "gen:rmat,scale=10"};
    for (int s = 0; s < (INSTRUMENTED ? 2 : 3); s++) {
        const char *spec = INSTRUMENTED ? small[s] : specs[s];
        spry_matrix *A = NULL;
        OK(spry_matrix_generate(context, &A, spec, NULL, &fault));
        const int good = on_small_stack(work, A);
        spry_matrix_destroy(A);
        if (!good) fprintf(stderr, "%s\n", spec);
        if (!good) return 0;
    }
    return 1;
}

static int multiplies(spry_spmv_plan *plan, spry_type type, int64_t rows, int64_t cols)
{
    spry_vector x = {0}, y = {0};
    OK(spry_vector_create(context, &x, cols, type, 0, &fault));
    OK(spry_vector_create(context, &y, rows, type, 0, &fault));
    memset(x.data, 0, (size_t)cols * spry_type_bytes(type));
    OK(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, &fault));
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
    return 1;
}

static int plans(spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    OK(spry_matrix_get_arrays(A, &a, &fault));
    for (int f = -1; f < format_count(); f++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            spry_format_info info = SPRY_INIT(spry_format_info);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spry_spmv_plan *plan = NULL;
            if (f >= 0) OK(spry_format_get_info(&info, f, &fault));
            o.format = f < 0 ? "auto" : info.name;
            o.op = (spry_op)op;
            const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &fault);
            if (status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED) continue; /* for example, too much padding */
            EXPECT(status == SPRY_OK);
            if (!multiplies(plan, SPRY_F64, op == SPRY_TRANSPOSE ? a.columns : a.rows,
                            op == SPRY_TRANSPOSE ? a.rows : a.columns))
                return 0;
            spry_spmv_plan_destroy(plan);
        }
    return 1;
}

/* Measures formats and writes the file of choices. */
static int measures(spry_matrix *A)
{
    char folder[] = "/tmp/spry-stack-XXXXXX", path[64];
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    EXPECT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/choices", folder);
    OK(spry_context_set_choices(context, path, &fault));
    o.policy = "measure";
    o.measure_budget_us = 300000;
    for (int again = 0; again < 2; again++) {
        spry_spmv_plan *plan = NULL;
        OK(spry_spmv_plan_create(context, &plan, A, &o, &fault));
        spry_spmv_plan_destroy(plan);
    }
    OK(spry_context_set_choices(context, path, &fault));
    OK(spry_context_clear_choices(context, NULL, &fault));
    OK(spry_context_set_choices(context, NULL, &fault));
    (void)unlink(path);
    return rmdir(folder) == 0;
}

static int kernels(spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    OK(spry_matrix_get_arrays(A, &a, &fault));
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_spmv_plan *plan = NULL;
        OK(spry_kernel_get_info(context, &info, k, &fault));
        o.kernel = info.name;
        o.allow_nondeterministic = 1;
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            o.op = (spry_op)op;
            if (spry_spmv_plan_create(context, &plan, A, &o, NULL) != SPRY_OK) continue; /* unsupported */
            if (!multiplies(plan, SPRY_F64, op == SPRY_TRANSPOSE ? a.columns : a.rows,
                            op == SPRY_TRANSPOSE ? a.rows : a.columns))
                return 0;
            spry_spmv_plan_destroy(plan);
        }
    }
    return 1;
}

/* Multiplies sparse matrices with every kernel, first without a plan and then with two runs of a plan. */
static int sparse_products(spry_matrix *A)
{
    for (int k = 0; k < spgemm_kernel_count(); k++)
        for (int f32 = 0; f32 < 2; f32++) {
            spry_kernel_info info = SPRY_INIT(spry_kernel_info);
            spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
            spry_spgemm_plan *plan = NULL;
            spry_matrix *C = NULL, *B = NULL;
            spry_matrix_options c = SPRY_INIT(spry_matrix_options);
            OK(get_spgemm_kernel(context, &info, k, &fault));
            if (!info.available || strstr(info.name, "seed")) continue; /* slow and sequential kernels */
            c.value_type = f32 ? SPRY_F32 : SPRY_F64;
            OK(spry_matrix_convert(context, &B, NULL, A, &c, &fault));
            o.kernel = info.name;
            if (spry_spgemm(context, &C, NULL, B, B, &o, &fault) != SPRY_UNSUPPORTED) {
                EXPECT(C);
                OK(spry_spgemm_plan_create(context, &plan, B, B, &o, &fault));
                OK(spry_spgemm_plan_run(plan, NULL, NULL, &fault));
                OK(spry_spgemm_plan_run(plan, NULL, NULL, &fault));
                spry_spgemm_plan_destroy(plan);
                spry_matrix_destroy(C);
            }
            spry_matrix_destroy(B);
        }
    return 1;
}

static int orders(spry_matrix *A)
{
    static const char *const methods[] = {"rcm", "bandk", "degree", "bfs"};
    for (int m = 0; m < 4; m++) {
        spry_ordering_options o = SPRY_INIT(spry_ordering_options);
        spry_ordering *ordering = NULL;
        spry_ordering_info info = SPRY_INIT(spry_ordering_info);
        spry_matrix *B = NULL;
        o.method = methods[m];
        OK(spry_ordering_create(context, &ordering, A, &o, &fault));
        OK(spry_ordering_get_info(ordering, &info, &fault));
        OK(permute_matrix(context, &B, A, info.row_perm, info.column_perm, &fault));
        spry_matrix_destroy(B);
        spry_ordering_destroy(ordering);
    }
    return 1;
}

/* Reads and writes text, compressed text and containers of every format, and reads the info of matrices. */
static int reads_and_writes(spry_matrix *A)
{
    char folder[] = "/tmp/spry-stack-XXXXXX", path[64];
    EXPECT(mkdtemp(folder));
    for (int f = -2; f < format_count(); f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        spry_write_options o = SPRY_INIT(spry_write_options);
        spry_matrix *B = NULL;
        spry_matrix_report report = SPRY_INIT(spry_matrix_report);
        spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
        if (f >= 0) OK(spry_format_get_info(&info, f, &fault));
        if (f >= 0) o.format = info.name;
        snprintf(path, sizeof path, "%s/A%s", folder, f == -2 ? ".mtx" : f == -1 ? ".mtx.gz" : ".spry");
        const spry_status status = spry_matrix_write(A, path, &o, &fault);
        if (status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED) continue;
        EXPECT(status == SPRY_OK);
        OK(spry_matrix_read(context, &B, path, NULL, &fault));
        OK(spry_matrix_check(B, &report, SPRY_CHECK_ALL, &fault));
        OK(spry_matrix_get_stats(B, &stats, &fault));
        spry_matrix_destroy(B);
        unlink(path);
    }
    return rmdir(folder) == 0;
}

static int solves(spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector x = {0}, b = {0};
    spry_cg_options cg = SPRY_INIT(spry_cg_options);
    cg.max_iterations = 3;
    OK(spry_matrix_get_arrays(A, &a, &fault));
    OK(spry_vector_create(context, &x, a.columns, SPRY_F64, 0, &fault));
    OK(spry_vector_create(context, &b, a.rows, SPRY_F64, 0, &fault));
    for (int64_t i = 0; i < a.rows; i++) ((double *)b.data)[i] = ((double *)x.data)[i] = 1;
    (void)!spry_cg(context, x, NULL, A, spry_vector_as_const(b), &cg, NULL); /* the status does not matter */
    (void)!spry_pagerank(context, x, NULL, A, NULL, NULL);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &b);
    return 1;
}

static int set_up(void **state)
{
    context = context_of(2);
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    return 0;
}

#define ON_EACH(work)                                                                                                  \
    static void test_##work(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        assert_true(on_each(work));                                                                                    \
    }
ON_EACH(plans)
ON_EACH(measures)
ON_EACH(kernels)
ON_EACH(sparse_products)
ON_EACH(orders)
ON_EACH(reads_and_writes)
ON_EACH(solves)

/* ---- an executor whose threads have small stacks ----------------------------------------------------------------- */

typedef struct executor_task {
    void (*task)(void *argument, int index);
    void *argument;
    int index;
} executor_task;

static void *run_task(void *given)
{
    const executor_task *l = given;
    l->task(l->argument, l->index);
    return NULL;
}

static void execute(void *stack_kb, int tasks, void (*task)(void *argument, int index), void *argument)
{
    enum { MOST = 64 };
    executor_task all[MOST];
    pthread_t threads[MOST];
    pthread_attr_t attributes;
    assert_in_range(tasks, 1, MOST);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t) * (int *)stack_kb << 10), 0);
    for (int t = 0; t < tasks; t++) {
        all[t] = (executor_task){task, argument, t};
        assert_int_equal(pthread_create(&threads[t], &attributes, run_task, &all[t]), 0);
    }
    for (int t = 0; t < tasks; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
    pthread_attr_destroy(&attributes);
}

static int all(spry_matrix *A)
{
    return plans(A) && measures(A) && kernels(A) && sparse_products(A) && orders(A) && reads_and_writes(A) && solves(A);
}

static void with_executor(int (*work)(spry_matrix *A), int stack_kb)
{
    spry_context *pools = context;
    spry_context_options o = SPRY_INIT(spry_context_options);
    o.threads = 2;
    o.execute = execute;
    o.execute_user = &stack_kb;
    assert_int_equal(spry_context_create(&context, &o, &fault), SPRY_OK);
    const int good = on_each(work);
    spry_context_destroy(context);
    context = pools;
    assert_true(good);
}

/*
 * Sparse products need the largest stack. They run with only 3/8 of STACK_KB, so that the test fails if a stack frame
 * grows.
 */
static void threads_of_executor(void **state)
{
    with_executor(all, STACK_KB);
    with_executor(sparse_products, STACK_KB * 3 / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),   cmocka_unit_test(test_measures),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_sparse_products),
        cmocka_unit_test(test_orders),  cmocka_unit_test(test_reads_and_writes),
        cmocka_unit_test(test_solves),  cmocka_unit_test(threads_of_executor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
