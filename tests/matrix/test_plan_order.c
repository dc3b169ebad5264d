/*
 * Tests of plans with an ordering, and of groups of Band-k in csr2 and csr3. Vectors are always in the caller's order.
 */
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "support.h"

#include <pthread.h>

static const char *const orderings[] = {"rcm", "bandk", "degree", "bfs"};

/* ---- helpers ------------------------------------------------------------------------------------ */

typedef struct product {
    spry_spmv_plan *plan;
    spry_spmv_plan_info info;
    spry_type type;
    int64_t x_length, y_length;
} product;

static product plan_with(spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    product p = {.info = SPRY_INIT(spry_spmv_plan_info)};
    spry_error err = {0};
    const spry_arrays a = arrays_of(A);
    if (spry_spmv_plan_create(context, &p.plan, A, o, &err) != SPRY_OK)
        fail_msg("%s, %s: %s", o->ordering ? o->ordering : "none", o->format ? o->format : "auto", err.message);
    assert_int_equal(spry_spmv_plan_get_info(p.plan, &p.info, NULL), SPRY_OK);
    p.type = o->vector_type != SPRY_TYPE_DEFAULT ? o->vector_type : a.value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
    p.x_length = o->op == SPRY_TRANSPOSE ? a.rows : a.columns;
    p.y_length = o->op == SPRY_TRANSPOSE ? a.columns : a.rows;
    return p;
}

static spry_vector vector_of(void *data, int64_t length, spry_type type)
{
    return (spry_vector){.data = data, .length = length, .type = type};
}

static void *numbers(int64_t length, spry_type type, uint64_t seed)
{
    void *data = calloc((size_t)length + 1, 8);
    for (int64_t i = 0; i < length; i++)
        test_set(data, type, i, (double)(int64_t)(test_random(&seed) % 2001) / 1000 - 1.0003);
    return data;
}

/*
 * Checks that the plan computes alpha*op(A)*x + beta*y, with vectors in the caller's order, within the error bound of
 * spry_spmv_verify.
 */
static void check_product(spry_context *context, const spry_matrix *A, const product *p, spry_op op, double alpha,
                          double beta, const char *what)
{
    const size_t bytes = (size_t)p->y_length * spry_type_bytes(p->type);
    void *x = numbers(p->x_length, p->type, 11), *y = numbers(p->y_length, p->type, 23),
         *before = calloc((size_t)p->y_length + 1, 8);
    double a[1], b[1];
    spry_error err = {0};
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    test_set(a, p->type, 0, alpha);
    test_set(b, p->type, 0, beta);
    if (beta == 0)
        for (int64_t i = 0; i < p->y_length; i++) test_set(y, p->type, i, NAN);
    memcpy(before, y, bytes);
    spry_vector xv = vector_of(x, p->x_length, p->type), yv = vector_of(y, p->y_length, p->type);
    if (spry_spmv_plan_run(p->plan, yv, a, spry_vector_as_const(xv), b, NULL, &err) != SPRY_OK)
        fail_msg("%s: %s", what, err.message);
    assert_int_equal(spry_spmv_verify(context, &v, A, op, a, spry_vector_as_const(xv), b,
                                      spry_vector_as_const(
                                          vector_of(beta == 0 ? NULL : before, beta == 0 ? 0 : p->y_length, p->type)),
                                      spry_vector_as_const(yv), &err),
                     SPRY_OK);
    if (v.wrong_rows > 0)
        fail_msg("%s, %s, alpha %g, beta %g: %lld wrong rows, row %lld by %g of the bound", what, p->info.kernel, alpha,
                 beta, (long long)v.wrong_rows, (long long)v.worst_row, v.max_error);
    free(x);
    free(y);
    free(before);
}

static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.75, 0}, {1.5, -2.25}, {0, 0.5}};

static void check_plan(spry_context *context, const spry_matrix *A, const spry_spmv_options *o, const char *what)
{
    product p = plan_with(context, A, o);
    assert_string_equal(p.info.ordering, o->ordering ? o->ordering : "none");
    for (int s = 0; s < TEST_COUNT(scalars); s++)
        check_product(context, A, &p, o->op, scalars[s][0], scalars[s][1], what);
    spry_spmv_plan_destroy(p.plan);
}

static spry_matrix *converted(spry_context *context, const spry_matrix *A, spry_layout layout, spry_type type,
                              spry_index_type offsets, spry_index_type indices)
{
    spry_matrix_options as = SPRY_INIT(spry_matrix_options);
    as.layout = layout;
    as.value_type = type;
    as.offset_type = offsets;
    as.index_type = indices;
    return convert_matrix(context, A, &as);
}

/* ---- products ----------------------------------------------------------------------------------- */

static const char *const specs[] = {"grid5,x=20,y=15,shuffle=7",
                                    "rgg20,scale=8,shuffle=5",
                                    "random,rows=150,cols=150,density=0.02", /* not symmetric, multiple components */
                                    "random,rows=70,cols=300,density=0.03",
                                    "random,rows=300,cols=70,density=0.03",
                                    "diagonal,rows=90",
                                    "arrow,rows=130",
                                    "empty,rows=5,cols=5",
                                    "empty,rows=4,cols=0",
                                    "empty,rows=0,cols=4",
                                    "empty,rows=0,cols=0",
                                    "empty,rows=1,cols=1",
                                    "dense,rows=1,cols=1",
                                    "dense,rows=1,cols=9"};

static void every_type_and_layout(void **state)
{
    if (RACES_ALONE) skip();
    char what[256];
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *source = test_generate(*state, specs[s], NULL);
        for (int f = 0; f < TEST_FORMS; f++) {
            const test_form form = test_form_number(f);
            spry_matrix *A = converted(*state, source, form.layout, form.value_type, form.offset_type, form.index_type);
            for (int c = 0; c < 8; c++) {
                if (SAMPLED && (c + f + s) % 4) continue; /* the operations rotate */
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.ordering = orderings[c / 2];
                o.op = c % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                snprintf(what, sizeof what, "%s, form %d, %s, op %d", specs[s], f, o.ordering, (int)o.op);
                check_plan(*state, A, &o, what);
            }
            spry_matrix_destroy(A);
        }
        spry_matrix_destroy(source);
    }
}

/* Tests every CPU kernel of every format with f32 and f64. */
static void every_kernel(void **state)
{
    if (RACES_ALONE) skip();
    char what[256];
    int ran = 0;
    for (int s = 0; s < 6; s++)
        for (int f32 = 0; f32 < 2; f32++) {
            spry_read_options read = SPRY_INIT(spry_read_options);
            read.value_type = f32 ? SPRY_F32 : SPRY_F64;
            spry_matrix *A = test_generate(*state, specs[s], &read);
            for (int k = 0; k < 8 * spmv_kernel_count(); k++) {
                if (SAMPLED && (k + k / 8 + s + f32) % 4) continue; /* the kernels rotate */
                spry_kernel_info kernel = kernel_info(*state, k / 8);
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.op = k % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                o.ordering = orderings[k % 8 / 2];
                o.kernel = kernel.name;
                o.allow_nondeterministic = 1;
                o.memory_limit_bytes = INT64_C(1) << 30;
                if (!kernel.available || strcmp(kernel.device_kind, "cpu") != 0) continue;
                if (o.op == SPRY_TRANSPOSE && !strstr(kernel.operations, "spmv_t")) continue;
                snprintf(what, sizeof what, "%s, %s, op %d", specs[s], o.ordering, (int)o.op);
                check_plan(*state, A, &o, what);
                ran++;
            }
            spry_matrix_destroy(A);
        }
    assert_true(ran > 100);
}

static void scalings(void **state)
{
    static const char *const names[] = {"none", "rcm", "bandk", "degree", "bfs"};
    for (int s = 0; s < 5; s++)
        for (int op = 0; op < 2; op++) {
            spry_read_options read = SPRY_INIT(spry_read_options);
            read.value_type = SPRY_PATTERN;
            spry_matrix *A = test_generate(*state, specs[s], &read);
            const spry_arrays a = arrays_of(A);
            double *r = numbers(a.rows, SPRY_F64, 3), *c = numbers(a.columns, SPRY_F64, 4), *y[5];
            double *x = numbers(a.rows + a.columns, SPRY_F64, 5);
            const double beta = 0.5, alpha = 2;
            for (int n = 0; n < 5; n++) {
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.op = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                o.ordering = names[n];
                o.row_scaling = r;
                o.column_scaling = c;
                product p = plan_with(*state, A, &o);
                y[n] = numbers(p.y_length, SPRY_F64, 6);
                assert_int_equal(spry_spmv_plan_run(p.plan, spry_vector_f64(y[n], p.y_length), &alpha,
                                                    spry_const_vector_f64(x, p.x_length), &beta, NULL, NULL),
                                 SPRY_OK);
                for (int64_t i = 0; i < p.y_length; i++) assert_true(fabs(y[n][i] - y[0][i]) <= 1e-12);
                spry_spmv_plan_destroy(p.plan);
            }
            for (int n = 0; n < 5; n++) free(y[n]);
            free(r);
            free(c);
            free(x);
            spry_matrix_destroy(A);
        }
}

/* Uses matrices that are so large that threads also share the permutation of the vectors. */
static void threads_and_runs_give_the_same_bits(void **state)
{
    static const int threads[] = {1, 2, 5};
    for (int m = 0; m < 8; m++) {
        if (INSTRUMENTED && (m + m / 2) % 2) continue; /* half of the cases */
        double *first = NULL;
        for (int t = 0; t < 3; t++) {
            test_memory memory = {0};
            spry_context *context = counted_context(&memory, threads[t]);
            spry_matrix *A = test_generate(context, "grid5,x=300,y=250,shuffle=1", NULL);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.ordering = orderings[m / 2];
            o.op = m % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            product p = plan_with(context, A, &o);
            double *x = numbers(p.x_length, SPRY_F64, 1), *y = numbers(p.y_length, SPRY_F64, 2);
            const double beta = -0.3;
            assert_int_equal(spry_spmv_plan_run(p.plan, spry_vector_f64(y, p.y_length), NULL,
                                                spry_const_vector_f64(x, p.x_length), &beta, NULL, NULL),
                             SPRY_OK);
            if (first) assert_memory_equal(first, y, (size_t)p.y_length * 8);
            free(x);
            if (first) free(y);
            if (!first) first = y;
            spry_spmv_plan_destroy(p.plan);
            spry_matrix_destroy(A);
            spry_context_destroy(context);
        }
        free(first);
    }
}

typedef struct runner {
    const product *p;
    const double *x;
    double *y;
} runner;

static void *run_often(void *user)
{
    const runner *r = user;
    const size_t bytes = ((size_t)r->p->info.workspace_bytes + 63) / 64 * 64;
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    o.workspace = aligned_alloc(64, bytes);
    o.workspace_bytes = (int64_t)bytes;
    memset(o.workspace, 0xff, bytes);
    for (int n = 0; n < 50; n++)
        if (spry_spmv_plan_run(r->p->plan, spry_vector_f64(r->y, r->p->y_length), NULL,
                               spry_const_vector_f64(r->x, r->p->x_length), NULL, &o, NULL) != SPRY_OK)
            r->y[0] = NAN;
    free(o.workspace);
    return NULL;
}

static void concurrent_runs(void **state)
{
    enum { RUNNERS = 4 };
    spry_matrix *A = test_generate(*state, "rgg20,scale=10,shuffle=5", NULL);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.ordering = "rcm";
    product p = plan_with(*state, A, &o);
    assert_true(p.info.workspace_bytes >= 2 * 8 * p.y_length);
    pthread_t threads[RUNNERS];
    runner runners[RUNNERS];
    for (int r = 0; r < RUNNERS; r++) {
        runners[r] = (runner){&p, numbers(p.x_length, SPRY_F64, (uint64_t)r + 1), numbers(p.y_length, SPRY_F64, 2)};
        assert_int_equal(pthread_create(&threads[r], NULL, run_often, &runners[r]), 0);
    }
    for (int r = 0; r < RUNNERS; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
    double *alone = numbers(p.y_length, SPRY_F64, 2);
    for (int r = 0; r < RUNNERS; r++) {
        multiply_f64(p.plan, alone, p.y_length, runners[r].x, p.x_length);
        assert_memory_equal(alone, runners[r].y, (size_t)p.y_length * 8);
        free((void *)(uintptr_t)runners[r].x);
        free(runners[r].y);
    }
    spry_spmv_run_options small = SPRY_INIT(spry_spmv_run_options);
    small.workspace = aligned_alloc(64, 64);
    small.workspace_bytes = p.info.workspace_bytes - 1;
    assert_int_equal(spry_spmv_plan_run(p.plan, spry_vector_f64(alone, p.y_length), NULL,
                                        spry_const_vector_f64(alone, p.x_length), NULL, &small, NULL),
                     SPRY_INVALID_ARGUMENT);
    free(small.workspace);
    free(alone);
    spry_spmv_plan_destroy(p.plan);
    spry_matrix_destroy(A);
}

/* ---- values ------------------------------------------------------------------------------------- */

static void new_values(void **state)
{
    static const char *const formats[] = {"csr", "coo", "ell", "sell", "csr2", "csr3", "csc", "bsr", "hyb", "scoo"};
    for (int s = 0; s < 5; s++)
        for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
            for (int c = 0; c < 4 * TEST_COUNT(formats); c++) {
                if (SAMPLED && (s + layout + c) % 3) continue;
                spry_matrix *source = test_generate(*state, specs[s], NULL), *A;
                A = converted(*state, source, (spry_layout)layout, SPRY_F64, SPRY_INDEX_DEFAULT, SPRY_INDEX_DEFAULT);
                spry_arrays a = arrays_of(A);
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.ordering = orderings[c % 4];
                o.format = formats[c / 4];
                o.memory_limit_bytes = INT64_C(1) << 30;
                product p = plan_with(*state, A, &o);
                double *values = (double *)(uintptr_t)a.values; /* A owns the values */
                for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)((k * 31) % 17) - 8.25;
                assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
                check_product(*state, A, &p, SPRY_NO_TRANSPOSE, 1.5, -1, formats[c / 4]);
                spry_spmv_plan_destroy(p.plan);
                spry_matrix_destroy(A);
                spry_matrix_destroy(source);
            }
}

/*
 * Asserts that updating a plan of a pattern succeeds and changes nothing, even if the plan no longer has the permuted
 * copy of the matrix.
 */
static void nothing_new(void **state)
{
    static const char *const formats[] = {"csr", "ell", "sell", "csr3", "csc"};
    spry_read_options read = SPRY_INIT(spry_read_options);
    read.value_type = SPRY_PATTERN;
    spry_matrix *A = test_generate(*state, specs[1], &read);
    for (int f = 0; f < TEST_COUNT(formats); f++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.ordering = "rcm";
        o.format = formats[f];
        product p = plan_with(*state, A, &o);
        assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
        check_product(*state, A, &p, SPRY_NO_TRANSPOSE, 1.5, -1, formats[f]);
        spry_spmv_plan_destroy(p.plan);
    }
    spry_matrix_destroy(A);
}

/* ---- groups ------------------------------------------------------------------------------------- */

/*
 * B is A in the order that Band-k found. Asserts that a plan of B with the groups of this ordering computes B*x. The
 * plan's bytes include one pointer per group.
 */
static void groups_of_an_ordering(void **state)
{
    spry_matrix *A = test_generate(*state, "rgg20,scale=11,shuffle=5", NULL), *B = NULL;
    for (int k = 2; k <= 3; k++)
        for (int op = 0; op < 2; op++) {
            spry_ordering_options how = SPRY_INIT(spry_ordering_options);
            spry_ordering_info found = SPRY_INIT(spry_ordering_info);
            spryi_storage storage = {0};
            how.method = "bandk";
            how.k = k;
            how.srs = 13;
            how.ssrs = k == 3 ? 5 : 0;
            spry_ordering *ordering = create_ordering(*state, A, &how);
            assert_int_equal(spry_ordering_get_info(ordering, &found, NULL), SPRY_OK);
            assert_int_equal(permute_matrix(*state, &B, A, found.row_perm, found.column_perm, NULL), SPRY_OK);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = k == 3 ? "csr3" : "csr2";
            o.op = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            o.groups = ordering;
            assert_int_equal(spryi_predict_storage(*state, &storage, B, &o, NULL), SPRY_OK);
            const spry_arrays b = arrays_of(B);
            const int64_t pointers = found.groups->sr_count + 1 + (k == 3 ? found.groups->ssr_count + 1 : 0);
            assert_int_equal(storage.bytes, b.nnz * 12 + (b.rows + 1) * 4 + pointers * 8);
            assert_string_equal(storage.parameters, k == 3 ? "srs=13:ssrs=5" : "srs=13");
            check_plan(*state, B, &o, o.format);
            spry_matrix_destroy(B);
            spry_ordering_destroy(ordering);
        }
    spry_matrix_destroy(A);
}

/*
 * Asserts that a plan with the ordering bandk uses the groups of Band-k. Their number differs from that of groups of
 * equal size, and a plan needs about 8 bytes per group.
 */
static void bandk_makes_the_groups(void **state)
{
    spry_matrix *A = test_generate(*state, "rgg20,scale=11,shuffle=5", NULL);
    const spry_arrays a = arrays_of(A);
    for (int k = 2; k <= 3; k++) {
        spry_ordering_options how = SPRY_INIT(spry_ordering_options);
        spry_ordering_info found = SPRY_INIT(spry_ordering_info);
        how.method = "bandk";
        how.k = k;
        how.srs = 12;
        how.ssrs = k == 3 ? 4 : 0;
        spry_ordering *ordering = create_ordering(*state, A, &how);
        assert_int_equal(spry_ordering_get_info(ordering, &found, NULL), SPRY_OK);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.format = k == 3 ? "csr3:srs=12:ssrs=4" : "csr2:srs=12";
        o.ordering = "bandk";
        product p = plan_with(*state, A, &o);
        o.ordering = "rcm"; /* this plan has groups of equal size */
        product q = plan_with(*state, A, &o);
        const int64_t equal = (a.rows + 11) / 12, super = (equal + 3) / 4;
        const int64_t more = found.groups->sr_count - equal + (k == 3 ? found.groups->ssr_count - super : 0);
        assert_true(more != 0);
        /* The tolerance of 4096 bytes is for the blocks and runs of rows, whose numbers also differ. */
        assert_true(llabs(p.info.storage_bytes - q.info.storage_bytes) < 8 * llabs(more) + 4096);
        assert_true(p.info.owned_bytes >= a.nnz * 12 + (a.rows + 1) * 4 + 8 * found.groups->sr_count + 8 * a.rows);
        check_product(*state, A, &p, SPRY_NO_TRANSPOSE, 1, 0, o.format);
        spry_spmv_plan_destroy(p.plan);
        spry_spmv_plan_destroy(q.plan);
        spry_ordering_destroy(ordering);
    }
    spry_matrix_destroy(A);
}

/* ---- figures and refusals ----------------------------------------------------------------------- */

static void bytes_are_reported(void **state)
{
    spry_matrix *A = test_generate(*state, "grid5,x=100,y=70,shuffle=1", NULL);
    const spry_arrays a = arrays_of(A);
    static const char *const formats[] = {"csr", "ell"};
    for (int f = 0; f < 2; f++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.format = formats[f];
        o.expected_calls = 1; /* then csr stores no runs, whose number depends on the order */
        product plain = plan_with(*state, A, &o);
        o.ordering = "degree";
        const int64_t before = context_bytes(*state);
        product p = plan_with(*state, A, &o);
        const int64_t held = context_bytes(*state) - before;
        const int64_t copy = f == 0 ? a.nnz * 12 + (a.rows + 1) * 4 : 0, maps = 8 * a.rows;
        assert_int_equal(p.info.workspace_bytes - plain.info.workspace_bytes, 2 * ((a.rows * 8 + 63) / 64 * 64));
        assert_int_equal(p.info.storage_bytes, plain.info.storage_bytes + maps);
        assert_int_equal(p.info.owned_bytes,
                         plain.info.owned_bytes + copy + maps + p.info.workspace_bytes - plain.info.workspace_bytes);
        assert_in_range(held, p.info.owned_bytes, p.info.owned_bytes + 8192); /* additional bytes for handles */
        assert_true(p.info.setup_us > 0);
        spry_spmv_plan_destroy(p.plan);
        spry_spmv_plan_destroy(plain.plan);
    }
    spry_matrix_destroy(A);
}

static void mistakes(void **state)
{
    spry_matrix *A = test_generate(*state, "grid5,x=4,y=3", NULL),
                *other = test_generate(*state, "grid5,x=4,y=4", NULL);
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    spry_ordering *rcm = create_ordering(*state, A, &how);
    how.method = "bandk";
    how.k = 2;
    spry_ordering *two = create_ordering(*state, A, &how);
    const struct {
        const spry_matrix *A;
        spry_spmv_options o;
        spry_status status;
        const char *argument, *message;
    } cases[] =
        {{A,
          {.ordering = "rmc"},
          SPRY_UNKNOWN_NAME,
          "ordering",
          "no ordering \"rmc\", expected none, rcm, bandk, degree or"},
         {A, {.ordering = "rcm", .groups = two}, SPRY_INVALID_ARGUMENT, "groups", "which ordering rcm would change"},
         {A, {.ordering = "bandk", .format = "csr9"}, SPRY_UNKNOWN_NAME, "format", "csr9"},
         {A,
          {.format = "csr2", .groups = rcm},
          SPRY_INVALID_ARGUMENT,
          "groups",
          "the ordering (rcm) has no super-rows"},
         {A, {.format = "csr3", .groups = two}, SPRY_INVALID_ARGUMENT, "groups", "expected groups of k = 3"},
         {A, {.format = "csr4", .groups = two}, SPRY_INVALID_ARGUMENT, "groups", "expected groups of k = 4"},
         {other, {.format = "csr2", .groups = two}, SPRY_INVALID_SIZE, "groups", "has 12 rows, the matrix has 16"}};
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_spmv_plan *plan = NULL;
        spry_error err = {0};
        spry_spmv_options o = cases[c].o;
        o.struct_size = sizeof o;
        assert_int_equal(spry_spmv_plan_create(*state, &plan, cases[c].A, &o, &err), cases[c].status);
        assert_string_equal(err.argument, cases[c].argument);
        if (!strstr(err.message, cases[c].message)) fail_msg("'%s' in: %s", cases[c].message, err.message);
        assert_null(plan);
    }
    /* y must not overlap the values that the plan reads again on an update */
    const spry_arrays a = arrays_of(A);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.ordering = "rcm";
    product p = plan_with(*state, A, &o);
    double x[12] = {0};
    assert_int_equal(spry_spmv_plan_run(p.plan, spry_vector_f64((double *)(uintptr_t)a.values, 12), NULL,
                                        spry_const_vector_f64(x, 12), NULL, NULL, NULL),
                     SPRY_INVALID_ARGUMENT);
    spry_spmv_plan_destroy(p.plan);
    spry_ordering_destroy(rcm);
    spry_ordering_destroy(two);
    spry_matrix_destroy(A);
    spry_matrix_destroy(other);
}

/* ---- memory ------------------------------------------------------------------------------------- */

typedef struct memory_case {
    const char *spec, *ordering, *format;
    int pattern;
} memory_case;

static spry_status plan_run_and_update(spry_context *context, const void *input, spry_error *err)
{
    const memory_case *c = input;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_read_options read = SPRY_INIT(spry_read_options);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    double x[512], y[512], scaling[512];
    for (int i = 0; i < 512; i++) x[i] = y[i] = scaling[i] = i;
    if (c->pattern) read.value_type = SPRY_PATTERN;
    o.ordering = c->ordering;
    o.format = c->format;
    if (c->pattern) o.row_scaling = o.column_scaling = scaling;
    spry_status status = spry_matrix_generate(context, &A, c->spec, &read, err);
    if (status == SPRY_OK) status = spry_spmv_plan_create(context, &plan, A, &o, err);
    if (status == SPRY_OK) {
        const spry_arrays a = arrays_of(A);
        spry_vector xv = spry_vector_f64(x, a.columns), yv = spry_vector_f64(y, a.rows);
        status = spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, err);
        if (status == SPRY_OK) status = spry_spmv_plan_update(plan, NULL, err);
        double again[512];
        yv.data = again;
        if (spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, NULL) ==
            SPRY_OK) /* a failed update leaves the plan unchanged */
            assert_memory_equal(y, again, (size_t)a.rows * 8);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    return status;
}

static void every_allocation(void **state)
{
    static const memory_case cases[] = {{"grid5,x=12,y=10,shuffle=1", "rcm", "csr", 0},
                                        {"grid5,x=12,y=10,shuffle=1", "bandk", "csr3:srs=5:ssrs=3", 0},
                                        {"grid5,x=12,y=10,shuffle=1", "degree", "ell", 0},
                                        {"random,rows=80,cols=30,density=0.1", "rcm", "coo", 0},
                                        {"grid5,x=12,y=10,shuffle=1", "bandk", "csr2", 1},
                                        {"random,rows=80,cols=80,density=0.04", "rcm", "auto", 1}};
    for (int c = 0; c < TEST_COUNT(cases); c++)
        assert_true(fail_every_allocation(plan_run_and_update, &cases[c], 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_and_layout, test_setup, close_context),
        cmocka_unit_test_setup_teardown(every_kernel, test_setup, close_context),
        cmocka_unit_test_setup_teardown(scalings, test_setup, close_context),
        cmocka_unit_test(threads_and_runs_give_the_same_bits),
        cmocka_unit_test_setup_teardown(concurrent_runs, test_setup, close_context),
        cmocka_unit_test_setup_teardown(new_values, test_setup, close_context),
        cmocka_unit_test_setup_teardown(nothing_new, test_setup, close_context),
        cmocka_unit_test_setup_teardown(groups_of_an_ordering, test_setup, close_context),
        cmocka_unit_test_setup_teardown(bandk_makes_the_groups, test_setup, close_context),
        cmocka_unit_test_setup_teardown(bytes_are_reported, test_setup, close_context),
        cmocka_unit_test_setup_teardown(mistakes, test_setup, close_context),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
