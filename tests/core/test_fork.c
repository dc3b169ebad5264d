/*
 * Tests of forked children of a process with threads. Every call must work in a child and give the same bits as in the
 * parent. A child has none of the parent's threads and must not wait for them. An alarm ends a child that waits.
 */
#include "expect.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "support.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(THREADS_WATCHED)
enum { WATCHED = 1 };
#else
enum { WATCHED = 0 };
#endif
enum { ALARM = INSTRUMENTED ? 120 : 20, MOST_PLANS = 64, N = 40000, NNZ = 3 * N - 2 };

static spry_context *context;
static spry_matrix *A; /* tridiagonal, positive definite, large enough for two threads in every call */
static int32_t offsets[N + 1], columns[NNZ];
static double values[NNZ], x[N], z[N];
static int plan_count;            /* one plan and result per format, and one more if the format supports A^T */
static int number_of[MOST_PLANS]; /* twice the format's index, plus 1 if transposed */
static spry_spmv_plan *plans[MOST_PLANS];
static double *products[MOST_PLANS];
static char folder[] = "/tmp/spry-fork-XXXXXX", text_file[64], containers[2][64];

/* Runs work() in a child. Returns 1 if the child succeeds in time. */
static int in_child(int (*work)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(ALARM);
        _exit(work() ? 0 : 1);
    }
    int status = 1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
    return status == 0;
}

static spry_spmv_plan *plan_number(int p)
{
    const int number = number_of[p];
    spry_spmv_plan *plan = NULL;
    spry_format_info info = SPRY_INIT(spry_format_info);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    if (spry_format_get_info(&info, number / 2, &fault) != SPRY_OK) return NULL;
    o.format = info.name;
    o.op = number % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    return spry_spmv_plan_create(context, &plan, A, &o, &fault) == SPRY_OK ? plan : NULL;
}

static int multiplies(const spry_spmv_plan *plan, double *y)
{
    memset(y, 0xff, N * sizeof *y);
    OK(spry_spmv_plan_run(plan, spry_vector_f64(y, N), NULL, spry_const_vector_f64(x, N), NULL, NULL, &fault));
    return 1;
}

static int same_product(int number, const spry_spmv_plan *plan)
{
    EXPECT(plan && multiplies(plan, z));
    EXPECT(memcmp(z, products[number], sizeof z) == 0);
    return 1;
}

static void make_matrix(void)
{
    int32_t k = 0;
    for (int32_t i = 0; i < N; i++) {
        for (int32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) {
            columns[k] = j;
            values[k++] = i == j ? 4 + 1.0 / (i + 1) : -1;
        }
        offsets[i + 1] = k;
        x[i] = 1.0 / (i % 101 + 1);
    }
    A = borrow_csr(context, N, N, offsets, columns, values);
}

static int set_up(void **state)
{
    context = context_of(2);
    make_matrix();
    assert_in_range(format_count(), 1, MOST_PLANS / 2);
    for (int number = 0; number < 2 * format_count(); number++) {
        const int p = plan_count;
        number_of[p] = number;
        plans[p] = plan_number(p);
        if (!plans[p] && number % 2 && fault.status == SPRY_UNSUPPORTED) continue;
        products[p] = malloc(sizeof z);
        plan_count++;
        assert_true(plans[p] && products[p] && multiplies(plans[p], products[p]));
    }
    assert_in_range(plan_count, format_count() + 2, MOST_PLANS);
    assert_non_null(mkdtemp(folder));
    snprintf(text_file, sizeof text_file, "%s/A.mtx", folder);
    assert_int_equal(spry_matrix_write(A, text_file, NULL, &fault), SPRY_OK);
    for (int c = 0; c < 2; c++) { /* containers in formats that are checked on multiple threads when read */
        spry_write_options o = SPRY_INIT(spry_write_options);
        o.format = c ? "bsr" : "scoo";
        snprintf(containers[c], sizeof containers[c], "%s/%s.spry", folder, o.format);
        assert_int_equal(spry_matrix_write(A, containers[c], &o, &fault), SPRY_OK);
    }
    return 0;
}

static int tear_down(void **state)
{
    for (int p = 0; p < plan_count; p++) {
        spry_spmv_plan_destroy(plans[p]);
        free(products[p]);
    }
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    unlink(text_file);
    for (int c = 0; c < 2; c++) unlink(containers[c]);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

/* ---- child -------------------------------------------------------------------------------------------- */

static int child_multiplies(void)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    EXPECT(context_threads(context) == 1);
    for (int p = 0; p < plan_count; p++) {
        EXPECT(same_product(p, plans[p]));
        spry_spmv_plan *own = plan_number(p);
        EXPECT(same_product(p, own));
        OK(spry_spmv_plan_get_info(own, &info, &fault));
        EXPECT(info.threads == 1);
        spry_spmv_plan_destroy(own);
    }
    return 1;
}

static int child_has_a_context(void)
{
    spry_context *own = NULL;
    spry_matrix *B = NULL;
    spry_context_options o = SPRY_INIT(spry_context_options);
    o.threads = 2;
    OK(spry_context_create(&own, &o, &fault));
    EXPECT(context_threads(own) == 1);
    OK(spry_matrix_generate(own, &B, "gen:grid5,x=150,y=150", NULL, &fault));
    spry_matrix_destroy(B);
    spry_context_destroy(own);
    return 1;
}

static int same_matrix(const spry_matrix *B)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    OK(spry_matrix_get_arrays(B, &a, &fault));
    EXPECT(a.nnz == NNZ && memcmp(a.values, values, sizeof values) == 0);
    return 1;
}

static int child_reads_and_writes(void)
{
    const char *const files[] = {text_file, containers[0], containers[1]};
    for (int f = 0; f < 3; f++) {
        spry_matrix *B = NULL;
        spry_matrix_report report = SPRY_INIT(spry_matrix_report);
        OK(spry_matrix_read(context, &B, files[f], NULL, &fault));
        EXPECT(same_matrix(B));
        OK(spry_matrix_check(B, &report, SPRY_CHECK_ALL, &fault));
        OK(spry_matrix_write(B, text_file, NULL, &fault));
        spry_matrix_destroy(B);
    }
    return 1;
}

static int child_orders(void)
{
    static const char *const methods[] = {"rcm", "bandk", "degree", "bfs"};
    for (int m = 0; m < 4; m++) {
        spry_ordering_options o = SPRY_INIT(spry_ordering_options);
        spry_ordering *ordering = NULL;
        spry_ordering_info info = SPRY_INIT(spry_ordering_info);
        spry_matrix *B = NULL, *C = NULL;
        spry_matrix_options csc = SPRY_INIT(spry_matrix_options);
        o.method = methods[m];
        csc.layout = SPRY_CSC;
        OK(spry_ordering_create(context, &ordering, A, &o, &fault));
        OK(spry_ordering_get_info(ordering, &info, &fault));
        OK(permute_matrix(context, &B, A, info.row_perm, info.column_perm, &fault));
        OK(spry_matrix_convert(context, &C, NULL, B, &csc, &fault));
        spry_matrix_destroy(C);
        spry_matrix_destroy(B);
        spry_ordering_destroy(ordering);
    }
    return 1;
}

/* Runs the parent's plan and a new plan in the child, and compares both with a product without a plan. */
static spry_spgemm_plan *parents_product;
static int child_multiplies_matrices(void)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
    spry_matrix *C = NULL, *D = NULL;
    OK(spry_spgemm(context, &C, NULL, A, A, &o, &fault));
    OK(spry_spgemm_verify(context, &v, C, A, A, &o, SPRY_VERIFY_EXACT, &fault));
    EXPECT(v.wrong_rows == 0);
    OK(spry_spgemm_plan_create(context, &plan, A, A, &o, &fault));
    spry_spgemm_plan *const runs[] = {parents_product, plan};
    for (int r = 0; r < 2; r++) {
        OK(spry_spgemm_plan_run(runs[r], NULL, NULL, &fault));
        OK(spry_spgemm_plan_get_info(runs[r], &info, &fault));
        EXPECT(info.threads == 1);
        OK(spry_spgemm_plan_get_result(runs[r], &D, &fault));
        spry_arrays c = SPRY_INIT(spry_arrays), d = SPRY_INIT(spry_arrays);
        OK(spry_matrix_get_arrays(C, &c, &fault));
        OK(spry_matrix_get_arrays(D, &d, &fault));
        EXPECT(c.nnz == d.nnz && memcmp(c.values, d.values, (size_t)c.nnz * sizeof(double)) == 0);
        spry_matrix_destroy(D);
    }
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(C);
    return 1;
}

static int child_solves(void)
{
    spry_cg_result cg = SPRY_INIT(spry_cg_result);
    spry_pagerank_result ranks = SPRY_INIT(spry_pagerank_result);
    memset(z, 0, sizeof z);
    OK(spry_cg(context, spry_vector_f64(z, N), &cg, A, spry_const_vector_f64(x, N), NULL, &fault));
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    OK(spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_const_vector_f64(x, N), NULL,
                        spry_const_vector_f64(NULL, 0), spry_const_vector_f64(products[0], N), &fault));
    EXPECT(v.wrong_rows == 0);
    for (int i = 0; i < NNZ; i++) values[i] = 1; /* changes the child's copy; PageRank needs weights above 0 */
    OK(spry_pagerank(context, spry_vector_f64(z, N), &ranks, A, NULL, &fault));
    return 1;
}

/*
 * Multiplies on a new thread of the child. Only the thread that called fork works alone. A new thread uses all threads
 * of the context.
 */
static void *fresh_thread(void *good)
{
    *(int *)good = context_threads(context) == 2 && same_product(0, plans[0]) && same_product(1, plans[1]);
    return NULL;
}

static int child_starts_a_thread(void)
{
    pthread_t thread;
    int good = 0;
    EXPECT(pthread_create(&thread, NULL, fresh_thread, &good) == 0 && pthread_join(thread, NULL) == 0);
    EXPECT(good && context_threads(context) == 1);
    return same_product(0, plans[0]);
}

static int grandchild(void)
{
    return in_child(child_multiplies) && child_multiplies();
}

/* ---- parent ------------------------------------------------------------------------------------------- */

static void parent_continues(void)
{
    assert_int_equal(context_threads(context), 2);
    for (int p = 0; p < plan_count; p++) assert_true(same_product(p, plans[p]));
}

static void products_of_vectors(void **state)
{
    assert_true(in_child(child_multiplies));
    parent_continues();
    assert_true(in_child(child_has_a_context));
}

static void products_of_matrices(void **state)
{
    parents_product = create_spgemm_plan(context, A, A, NULL);
    assert_int_equal(spry_spgemm_plan_run(parents_product, NULL, NULL, &fault), SPRY_OK);
    assert_true(in_child(child_multiplies_matrices));
    assert_int_equal(spry_spgemm_plan_run(parents_product, NULL, NULL, &fault), SPRY_OK);
    spry_spgemm_plan_destroy(parents_product);
}

static void files(void **state)
{
    assert_true(in_child(child_reads_and_writes));
}

static void orderings(void **state)
{
    assert_true(in_child(child_orders));
}

static void solvers(void **state)
{
    assert_true(in_child(child_solves));
}

static void children_of_children(void **state)
{
    assert_true(in_child(grandchild));
    parent_continues();
}

static void threads_of_children(void **state)
{
    if (WATCHED) skip(); /* ThreadSanitizer ends a child that starts threads */
    assert_true(in_child(child_starts_a_thread));
}

static int has_a_team(void)
{
    context = context_of(2);
    make_matrix();
    spry_spmv_plan *plan = plan_number(0);
    EXPECT(context_threads(context) == 2 && plan && multiplies(plan, z));
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return 1;
}

/*
 * Forks from a process with one thread, as a daemon does. The child must get all threads of its context. Runs before
 * any other test.
 */
static void children_of_one_thread(void **state)
{
    if (WATCHED) skip();
    assert_true(in_child(has_a_team));
}

int main(void)
{
    const struct CMUnitTest first[] = {cmocka_unit_test(children_of_one_thread)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_vectors),
        cmocka_unit_test(products_of_matrices),
        cmocka_unit_test(files),
        cmocka_unit_test(orderings),
        cmocka_unit_test(solvers),
        cmocka_unit_test(children_of_children),
        cmocka_unit_test(threads_of_children),
    };
    return cmocka_run_group_tests(first, NULL, NULL) + cmocka_run_group_tests(tests, set_up, tear_down);
}
