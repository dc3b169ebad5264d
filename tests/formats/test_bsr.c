/*
 * Tests of BSR: the automatic block size, Inf and NaN in x where a block stores a zero for a missing entry, incomplete
 * blocks at the matrix's edges, explicit zeros, damaged storage, and memory limits.
 */
#include "support.h"

#include "catalogue/catalogue.h"
#include "formats/bsr/bsr.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "spry/tune.h"

static void the_size_is_found(void **state)
{
    static const struct {
        const char *matrix, *resolved;
    } cases[] = {
        {"fem3,x=6,y=6,z=6,dof=1", "block=1"}, {"fem3,x=6,y=6,z=6,dof=2", "block=2"},
        {"fem3,x=6,y=6,z=6,dof=3", "block=3"}, {"fem3,x=5,y=5,z=5,dof=4", "block=4"},
        {"fem3,x=5,y=5,z=5,dof=5", "block=5"}, {"fem3,x=20,y=20,z=20,dof=3", "block=3"},
        {"fem3,x=5,y=5,z=5,dof=8", "block=8"}, {"diagonal,rows=1000", "block=1"},
    };
    spry_context *context = context_of(2);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = generate_matrix(context, cases[c].matrix);
        spry_spmv_plan *plan = plan_in(context, A, "bsr", NULL, SPRY_NO_TRANSPOSE);
        spry_spmv_plan_info info = plan_info(plan);
        if (strcmp(info.parameters, cases[c].resolved) != 0)
            fail_msg("%s: %s, expected %s", cases[c].matrix, info.parameters, cases[c].resolved);
        assert_null(spryi_bsr_masks(plan->forward.stored.storage));
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

enum { M = 53, N = 71, ROW = 6 };

/* Builds rows of ROW entries, of which one is an explicit zero. Columns j with j % 5 == 3 have no entries. */
static spry_matrix *scattered(spry_context *context, int32_t *offsets, int32_t *columns, double *values)
{
    uint32_t random = 7;
    for (int32_t i = 0; i < M; i++) {
        offsets[i] = ROW * i;
        for (int32_t k = 0; k < ROW; k++) {
            random = random * 1664525u + 1013904223u;
            int32_t j = k * (N / ROW) + (int32_t)(random >> 8) % (N / ROW);
            columns[ROW * i + k] = j % 5 == 3 ? j - 1 : j;
            values[ROW * i + k] = k == 2 ? 0 : (double)(random >> 24) - 100;
        }
    }
    offsets[M] = ROW * M;
    return borrow_csr(context, M, N, offsets, columns, values);
}

/* Returns whether a equals b, or a and b are NaN. Sums are exact because all values are small integers. */
static int same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/*
 * Multiplies by an x that contains Inf and NaN. Rows with entries in these columns must equal the result of CSR's loop.
 * The zeros that fill blocks must not affect other rows.
 */
static void fill_meets_inf_and_nan(void **state)
{
    spry_context *context = context_of(2);
    int32_t offsets[M + 1], columns[ROW * M];
    double values[ROW * M], x[N], y[N], exact[N];
    spry_matrix *A = scattered(context, offsets, columns, values);
    int spoiled = 0, clean = 0;
    for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++)
        for (int block = 1; block <= SPRYI_BSR_MOST_BLOCK; block++)
            for (int k = 0; k < spmv_kernel_count(); k++) {
                const char *reason;
                if (strcmp(spryi_kernel_at(k)->format, "bsr") != 0) continue;
                if (!spryi_kernel_available(context, spryi_kernel_at(k), &reason)) continue;
                int64_t x_length = op == SPRY_TRANSPOSE ? M : N, y_length = op == SPRY_TRANSPOSE ? N : M;
                for (int64_t j = 0; j < x_length; j++)
                    x[j] = j % 5 == 3 ? (j % 2 ? NAN : -INFINITY) : j == 40 ? INFINITY : (double)(j % 7 - 3);
                for (int64_t i = 0; i < y_length; i++) exact[i] = 0;
                for (int64_t i = 0; i < M; i++)
                    for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
                        if (op == SPRY_TRANSPOSE)
                            exact[columns[e]] += values[e] * x[i];
                        else
                            exact[i] += values[e] * x[columns[e]];
                    }
                char format[32];
                snprintf(format, sizeof format, "bsr:block=%d", block);
                spry_spmv_plan *plan = plan_in(context, A, format, spryi_kernel_at(k)->name, (spry_op)op);
                multiply_f64(plan, y, y_length, x, x_length);
                for (int64_t i = 0; i < y_length; i++) {
                    if (!same(y[i], exact[i]))
                        fail_msg("%s of %s, op %d: y[%lld] is %g instead of %g", spryi_kernel_at(k)->name, format, op,
                                 (long long)i, y[i], exact[i]);
                    spoiled += !isfinite(exact[i]);
                    clean += isfinite(exact[i]);
                }
                spry_spmv_plan_destroy(plan);
            }
    assert_true(spoiled > 0 && clean > 0);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void explicit_zeros_come_back(void **state)
{
    spry_context *context = context_of(1);
    int32_t offsets[M + 1], columns[ROW * M];
    double values[ROW * M];
    spry_matrix *A = scattered(context, offsets, columns, values);
    for (int block = 1; block <= SPRYI_BSR_MOST_BLOCK; block++) {
        char format[32];
        snprintf(format, sizeof format, "bsr:block=%d", block);
        spry_spmv_plan *plan = plan_in(context, A, format, NULL, SPRY_NO_TRANSPOSE);
        spry_matrix *back = NULL;
        assert_int_equal(spryi_format_bsr.to_csr(context, &back, plan->forward.stored.storage, NULL), SPRY_OK);
        assert_int_equal(back->a.nnz, ROW * M);
        assert_memory_equal(back->a.offsets, offsets, sizeof offsets);
        assert_memory_equal(back->a.indices, columns, sizeof columns);
        assert_memory_equal(back->a.values, values, sizeof values);
        spry_matrix_destroy(back);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Asserts that the format's check finds every damage to a restored storage. */
static void damage_is_seen(void **state)
{
    spry_context *context = context_of(1);
    int32_t offsets[M + 1], columns[ROW * M];
    double values[ROW * M];
    spry_matrix *A = scattered(context, offsets, columns, values);
    spry_spmv_plan *plan = plan_in(context, A, "bsr:block=4", NULL, SPRY_NO_TRANSPOSE);
    spryi_bsr *s = plan->forward.stored.storage;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spryi_format_bsr.check(context, s, &err), SPRY_OK);
#define DAMAGED(what, with)                                                                                            \
    do {                                                                                                               \
        __typeof__(what) kept_ = (what);                                                                               \
        (what) = (with);                                                                                               \
        assert_int_equal(spryi_format_bsr.check(context, s, &err), SPRY_BAD_FILE);                                     \
        (what) = kept_;                                                                                                \
    } while (0)
    DAMAGED(s->head.rows, -1);
    DAMAGED(s->head.rows, M + 4);
    DAMAGED(s->head.block, 3);
    DAMAGED(s->head.block, 17);
    DAMAGED(s->head.nnz, ROW * M - 1);
    DAMAGED(s->head.parts, 3);
    DAMAGED(s->head.window_end[0], s->head.block_cols + 1);
    DAMAGED(s->head.value_type, 9);
    DAMAGED(((int32_t *)s->offsets)[1], -1);
    DAMAGED(((int32_t *)s->columns)[0], (int32_t)s->head.block_cols);
    DAMAGED(((int32_t *)s->columns)[1], ((int32_t *)s->columns)[0]);
    DAMAGED(((uint8_t *)s->masks)[s->head.blocks * 4 - 1], 0xf); /* entries below the last row */
    assert_int_equal(spryi_format_bsr.check(context, s, &err), SPRY_OK);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that err.value of a refused plan is a sufficient memory limit. The value includes the partial sums of a
 * transposed product.
 */
static void refused_limits_suffice(void **state)
{
    enum { MOST = 2000 };
    static int32_t offsets[MOST + 1], columns[MOST];
    static float values[MOST];
    spry_context *context = context_of(2);
    for (int k = 0; k < 16 * 2 * 2 * 2 * 4; k++) {
        const int block = k % 16 + 1, scatters = k / 16 % 2, n = (int[]){60, 300, 900, MOST}[k / 128];
        char format[16];
        spry_matrix *A = NULL;
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.keep_value_type = true;
        for (int i = 0; i < n; i++) {
            offsets[i + 1] = i + 1;
            columns[i] = scatters ? i * 7919 % n : i;
        }
        snprintf(format, sizeof format, "bsr:block=%d", block);
        o.format = format;
        o.op = k / 32 % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.vector_type = k / 64 % 2 ? SPRY_F64 : SPRY_F32;
        o.memory_limit_bytes = 1;
        assert_int_equal(spry_matrix_borrow_csr_f32(context, &A, n, n, offsets, columns, values, NULL), SPRY_OK);
        assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
        o.memory_limit_bytes = err.value;
        if (spry_spmv_plan_create(context, &plan, A, &o, &err) != SPRY_OK)
            fail_msg("%d rows, case %d, %s: %lld, then %s", n, k, format, (long long)o.memory_limit_bytes, err.message);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_limits_suffice), cmocka_unit_test(the_size_is_found),
        cmocka_unit_test(fill_meets_inf_and_nan), cmocka_unit_test(explicit_zeros_come_back),
        cmocka_unit_test(damage_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
