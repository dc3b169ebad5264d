/* Compares spry_spmv_verify with this folder's reference: correct results pass, and each corruption is found. */
#include "arrays.h"
#include "families.h"
#include "reference.h"
#include "spry/tune.h"

#include <float.h>

static const form forms[] = {
    {"CSR", SPRY_CSR, SPRY_NOT_KNOWN, 0, AT_END, 0, 0},
    {"COO", SPRY_COO, SPRY_KNOWN_NO, 0, AT_END, 0, 0},
    {"CSC", SPRY_CSC, SPRY_NOT_KNOWN, 0, AT_END, 0, 0},
    {"CSR pattern", SPRY_CSR, SPRY_NOT_KNOWN, 1, AT_END, 0, 0},
};
enum { FORMS = sizeof forms / sizeof *forms };

static spry_context *context;

static int make_context(void **state)
{
    return open_context((void **)&context);
}

static int drop_context(void **state)
{
    return close_context((void **)&context);
}

/* One product to verify: matrix, vectors and the correct result. */
typedef struct product {
    family f;
    spry_type type;
    spry_op op;
    double alpha, beta;
    spry_matrix *A;
    given g;
    double *values, *x_numbers, *y_numbers;
    guarded x, before, y;
    int64_t x_length, y_length;
    reference r;
} product;

static spry_vector vector_of(const guarded *g, spry_type type)
{
    int64_t length = (int64_t)(g->bytes / spry_type_bytes(type));
    return (spry_vector){g->data, length, 1, 1, length, type, 0, {0, 0}};
}

static spry_spmv_verification verify(const product *p)
{
    float alpha_f32 = (float)p->alpha, beta_f32 = (float)p->beta;
    int f64 = p->type == SPRY_F64;
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    spry_vector none = {0};
    spry_error err = {0};
    spry_status status = spry_spmv_verify(context, &v, p->A, p->op, f64 ? (const void *)&p->alpha : &alpha_f32,
                                          spry_vector_as_const(vector_of(&p->x, p->type)),
                                          f64 ? (const void *)&p->beta : &beta_f32,
                                          spry_vector_as_const(p->beta == 0 ? none : vector_of(&p->before, p->type)),
                                          spry_vector_as_const(vector_of(&p->y, p->type)), &err);
    if (status != SPRY_OK) fail_msg("%s: %s", p->f.name, err.message);
    return v;
}

static void set_up(product *p, int number, spry_type type, spry_op op, const form *how, double alpha, double beta)
{
    *p = (product){.f = family_make(number), .type = type, .op = op, .alpha = alpha, .beta = beta};
    p->x_length = op == SPRY_TRANSPOSE ? p->f.rows : p->f.cols;
    p->y_length = op == SPRY_TRANSPOSE ? p->f.cols : p->f.rows;
    p->values = random_numbers(p->f.nnz, type, 1);
    p->x_numbers = random_numbers(p->x_length, type, 2);
    p->y_numbers = random_numbers(p->y_length, type, 3);
    p->r = reference_make(&p->f, how->pattern ? NULL : p->values, p->x_numbers, op == SPRY_TRANSPOSE);
    p->g = given_make(&p->f, p->values, how, type, number % 3);
    p->x = vector_make(p->x_numbers, p->x_length, type, AT_END);
    p->before = vector_make(p->y_numbers, p->y_length, type, AT_END);
    p->y = vector_make(p->y_numbers, p->y_length, type, AT_END);
    for (int64_t i = 0; i < p->y_length; i++)
        set_number(p->y.data, type, i, (double)reference_value(&p->r, i, alpha, beta, p->y_numbers[i]));
    assert_int_equal(spry_matrix_create(context, &p->A, &p->g.a, NULL), SPRY_OK);
}

static void clear(product *p)
{
    spry_matrix_destroy(p->A);
    given_free(&p->g);
    guarded_free(&p->x);
    guarded_free(&p->before);
    guarded_free(&p->y);
    reference_free(&p->r);
    free(p->values);
    free(p->x_numbers);
    free(p->y_numbers);
    family_free(&p->f);
}

/* Checks that both verifiers give the same verdict on the current y. */
static void judges_agree(const product *p, int64_t wrong, int64_t row)
{
    comparison c = reference_compare(&p->r, p->type, p->alpha, p->beta, p->before.data, p->y.data);
    spry_spmv_verification v = verify(p);
    if (v.wrong_rows != wrong || c.wrong != wrong)
        fail_msg("%s, op %d, row %lld: %lld wrong rows, by the test's reference %lld, expected %lld", p->f.name,
                 (int)p->op, (long long)row, (long long)v.wrong_rows, (long long)c.wrong, (long long)wrong);
    if (row >= 0 && v.worst_row != row)
        fail_msg("%s: worst row is %lld, expected %lld", p->f.name, (long long)v.worst_row, (long long)row);
    if (c.worst > 1e30 && v.max_error > 1e30) return; /* the bound is 0, so the errors need not be equal */
    if (isinf(c.worst) ? !isinf(v.max_error) : fabs(v.max_error - c.worst) > 1e-3 * (c.worst + 1e-3))
        fail_msg("%s: max_error is %g, by the test's reference %g", p->f.name, v.max_error, c.worst);
}

static void corrupt(product *p)
{
    judges_agree(p, 0, -1);
    for (int64_t i = 0; i < p->y_length; i += 1 + p->y_length / 2) {
        double right = element_at(p->y.data, p->type, i), before = p->y_numbers[i];
        double bound = (double)reference_bound(&p->r, p->type, i, p->alpha, p->beta, before);
        const double bad[] = {right + 3 * bound + DBL_MIN, right - 3 * bound - DBL_MIN, NAN, -INFINITY, before};
        for (int b = 0; b < 5; b++) {
            /* Rounding may undo so small a change. */
            if (b < 2 && (bound == 0 || p->type == SPRY_F32) && bound < 1e-30) continue;
            if (b == 4 && fabs(before - right) < 2 * bound + 1e-30) continue; /* y_before is near the result */
            set_number(p->y.data, p->type, i, bad[b]);
            judges_agree(p, 1, i);
        }
        set_number(p->y.data, p->type, i, right);
    }
}

/* Step between families: 1, or 3 if SAMPLED. */
enum { SOME = SAMPLED ? 3 : 1 };

static void right_passes_and_wrong_does_not(void **state)
{
    for (int number = 0; number < family_count(); number += number < 60 ? SOME : 5)
        for (int h = 0; h < FORMS; h++)
            for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
                if (!TEST_FULL && (number + op) % FORMS != h) continue; /* forms rotate */
                product p;
                int other = (number + h + op) % 2;
                set_up(&p, number, other ? SPRY_F32 : SPRY_F64, (spry_op)op, &forms[h], -1.5, other ? 0 : 0.75);
                corrupt(&p);
                clear(&p);
                set_up(&p, number, other ? SPRY_F64 : SPRY_F32, (spry_op)op, &forms[h], 1, other ? 0 : 2);
                judges_agree(&p, 0, -1);
                clear(&p);
            }
}

/* Errors of 0.8 times the header's bound pass, and errors of 1.25 times the bound fail. */
static void bound_is_where_the_header_says(void **state)
{
    product p;
    for (int number = 22; number < 40; number++) {
        set_up(&p, number, SPRY_F64, SPRY_NO_TRANSPOSE, &forms[0], 2, -0.5);
        for (int64_t i = 0; i < p.y_length; i += 1 + p.y_length / 50) {
            double right = element_at(p.y.data, SPRY_F64, i);
            double bound = (double)reference_bound(&p.r, SPRY_F64, i, 2, -0.5, p.y_numbers[i]);
            if (p.r.entries[i] < 3) continue; /* the rounding of the corruption itself would be too large */
            set_number(p.y.data, SPRY_F64, i, right + 0.8 * bound);
            assert_int_equal(verify(&p).wrong_rows, 0);
            set_number(p.y.data, SPRY_F64, i, right + 1.25 * bound);
            assert_int_equal(verify(&p).wrong_rows, 1);
            set_number(p.y.data, SPRY_F64, i, right);
        }
        clear(&p);
    }
}

/* If the exact result is infinite, y must be the same infinity. If the exact result is NaN, y must be NaN. */
static void infinities_that_are_due(void **state)
{
    const int32_t offsets[] = {0, 1, 3, 4, 4}, columns[] = {0, 0, 1, 2};
    const double values[] = {1, 1, 1, 1}, x[] = {INFINITY, -INFINITY, 3};
    spry_matrix *A = borrow_csr(context, 4, 3, offsets, columns, values);
    const double good[] = {INFINITY, NAN, 3, 0};
    for (int n = 0; n < 6; n++) {
        double y[] = {good[0], good[1], good[2], good[3]};
        if (n == 1) y[0] = -INFINITY;
        if (n == 2) y[0] = DBL_MAX;
        if (n == 3) y[1] = INFINITY;
        if (n == 4) y[1] = 0;
        if (n == 5) y[2] = INFINITY;
        spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
        assert_int_equal(spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_const_vector_f64(x, 3), NULL,
                                          spry_const_vector_f64(NULL, 0), spry_const_vector_f64(y, 4), NULL),
                         SPRY_OK);
        assert_int_equal(v.wrong_rows, n > 0);
    }
    spry_matrix_destroy(A);
}

/*
 * Entries 3 and -1 at one position multiply an infinite x. Two results pass: NaN (products are added) and Inf (entries
 * are added first). All other results fail.
 */
static void duplicates_of_either_sign(void **state)
{
    const int32_t starts[] = {0, 3, 4}, first[] = {0, 0, 0, 1}, second[] = {0, 0, 1, 1};
    const double values[] = {3, -1, 2, 1}, x[] = {INFINITY, 1};
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
        for (int op = 0; op < 2; op++) {
            /* op(A): row 0 has 3 and -1 in column 0 and 2 in column 1. Row 1 has 1 in column 1. */
            const int rows_first = op == SPRY_NO_TRANSPOSE;
            spry_arrays a = SPRY_INIT(spry_arrays);
            a.layout = layout == SPRY_COO ? SPRY_COO : rows_first ? SPRY_CSR : SPRY_CSC;
            a.rows = a.columns = 2;
            a.nnz = 4;
            a.offset_type = a.index_type = SPRY_I32;
            a.value_type = SPRY_F64;
            a.offsets = starts;
            a.row_indices = rows_first ? first : second;
            a.indices = layout == SPRY_COO && !rows_first ? first : second;
            a.values = values;
            spry_matrix *A = create_matrix(context, &a);
            const double firsts[] = {NAN, INFINITY, -INFINITY, 5};
            for (int n = 0; n < 5; n++) {
                const double y[] = {n < 4 ? firsts[n] : INFINITY, n < 4 ? 1 : INFINITY};
                spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
                assert_int_equal(spry_spmv_verify(context, &v, A, (spry_op)op, NULL, spry_const_vector_f64(x, 2), NULL,
                                                  spry_const_vector_f64(NULL, 0), spry_const_vector_f64(y, 2), NULL),
                                 SPRY_OK);
                assert_int_equal(v.wrong_rows, n >= 2);
            }
            spry_matrix_destroy(A);
        }
}

/* Input that cannot be compared is refused, and the verdict is unchanged. */
static void refusals(void **state)
{
    const int32_t offsets[] = {0, 1, 2}, columns[] = {0, 2};
    const double values[] = {1, 1}, x[] = {1, 2, 3}, y[] = {1, 3}, one = 1;
    spry_matrix *A = borrow_csr(context, 2, 3, offsets, columns, values);
    const spry_const_vector good_x = spry_const_vector_f64(x, 3), good_y = spry_const_vector_f64(y, 2), none = {0};
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    v.max_error = 77;
#define REFUSE(wanted, name, ...)                                                                                      \
    do {                                                                                                               \
        spry_error err = {0};                                                                                          \
        assert_int_equal(spry_spmv_verify(__VA_ARGS__, &err), wanted);                                                 \
        assert_int_equal(err.status, wanted);                                                                          \
        assert_string_equal(err.argument, name);                                                                       \
        assert_true(strlen(err.message) > 12 && v.max_error == 77);                                                    \
        assert_int_equal(spry_spmv_verify(__VA_ARGS__, NULL), wanted);                                                 \
    } while (0)
    REFUSE(SPRY_INVALID_ARGUMENT, "context", NULL, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, good_y);
    REFUSE(SPRY_INVALID_ARGUMENT, "verification", context, NULL, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none,
           good_y);
    REFUSE(SPRY_INVALID_ARGUMENT, "A", context, &v, NULL, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, good_y);
    REFUSE(SPRY_INVALID_ARGUMENT, "op", context, &v, A, (spry_op)2, NULL, good_x, NULL, none, good_y);
    REFUSE(SPRY_INVALID_SIZE, "x", context, &v, A, SPRY_TRANSPOSE, NULL, good_x, NULL, none, good_y);
    REFUSE(SPRY_INVALID_SIZE, "x", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_y, NULL, none, good_y);
    REFUSE(SPRY_INVALID_SIZE, "y", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, good_x);
    REFUSE(SPRY_INVALID_SIZE, "y_before", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, &one, none, good_y);
    spry_const_vector bad = good_x;
    bad.data = NULL;
    REFUSE(SPRY_INVALID_ARGUMENT, "x", context, &v, A, SPRY_NO_TRANSPOSE, NULL, bad, NULL, none, good_y);
    bad = good_y;
    bad.type = SPRY_F32;
    REFUSE(SPRY_INVALID_ARGUMENT, "y", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, bad);
    bad = good_y;
    bad.device = 1;
    REFUSE(SPRY_INVALID_ARGUMENT, "y", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, bad);
    bad.device = 0;
    bad.count = 2;
    REFUSE(SPRY_INVALID_ARGUMENT, "y", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, bad);
    bad.count = -1;
    REFUSE(SPRY_INVALID_ARGUMENT, "y", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, bad);
    v.struct_size = 4;
    REFUSE(SPRY_INVALID_ARGUMENT, "struct_size", context, &v, A, SPRY_NO_TRANSPOSE, NULL, good_x, NULL, none, good_y);
#undef REFUSE
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_passes_and_wrong_does_not),
        cmocka_unit_test(bound_is_where_the_header_says),
        cmocka_unit_test(infinities_that_are_due),
        cmocka_unit_test(duplicates_of_either_sign),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, make_context, drop_context);
}
