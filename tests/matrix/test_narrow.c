/*
 * Tests of 16-bit values: conversion of every bit pattern to and from larger types, reports of conversions, and the
 * functions that refuse 16-bit values.
 */
#include "plan/plan.h"
#include "testing.h"

#include "base/narrow.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

#include <fenv.h>

/* A floating-point format by its definition, independent of C's types. */
typedef struct layout {
    int exponent_bits, fraction_bits;
} layout;
static const layout bf16 = {8, 7}, f16 = {5, 10};

static double value_of(layout l, unsigned bits)
{
    const int bias = (1 << (l.exponent_bits - 1)) - 1, most = (1 << l.exponent_bits) - 1;
    const int exponent = (int)(bits >> l.fraction_bits) & most;
    const double fraction = ldexp((double)(bits & ((1u << l.fraction_bits) - 1)), -l.fraction_bits);
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == most) return fraction == 0 ? sign * HUGE_VAL : NAN;
    return sign * (exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias));
}

static double widened(layout l, unsigned bits)
{
    const spryi_bf16_number b = {(uint16_t)bits};
    const spryi_f16_number h = {(uint16_t)bits};
    return l.exponent_bits == 8 ? (double)spryi_widen_bf16(b) : (double)spryi_widen_f16(h);
}

static unsigned rounded(layout l, double value)
{
    return l.exponent_bits == 8 ? spryi_narrow_bf16(value).bits : spryi_narrow_f16(value).bits;
}

static void check_bits(layout l)
{
    for (unsigned bits = 0; bits < 1u << 16; bits++) {
        const double exact = value_of(l, bits), wide = widened(l, bits);
        if (isnan(exact)) {
            assert_true(isnan(wide) && isnan(value_of(l, rounded(l, wide))));
            continue;
        }
        if (wide != exact || signbit(wide) != signbit(exact)) fail_msg("%#x is %a, expected %a", bits, wide, exact);
        assert_int_equal(rounded(l, exact), bits);
    }
}

static void every_pattern_of_bits(void **state)
{
    check_bits(bf16);
    check_bits(f16);
}

/*
 * Rounds values between two neighbouring numbers of the format. The result must be the nearer number, or the even one
 * in a tie. Values beyond the largest number become infinity. The rounding mode of the environment must have no effect.
 */
static void check_between(layout l)
{
    const unsigned largest = ((1u << l.exponent_bits) - 1) << l.fraction_bits; /* the bits of infinity */
    for (unsigned bits = 0; bits < largest; bits++) {
        const double low = value_of(l, bits);
        const double high = bits + 1 < largest ? value_of(l, bits + 1) : 2 * low - value_of(l, bits - 1);
        const double middle = low + (high - low) / 2; /* exact */
        assert_int_equal(rounded(l, middle), bits + (bits & 1));
        assert_int_equal(rounded(l, nextafter(middle, 0)), bits);
        assert_int_equal(rounded(l, nextafter(middle, HUGE_VAL)), bits + 1);
        assert_int_equal(rounded(l, -middle), (bits + (bits & 1)) | 0x8000u);
    }
    assert_int_equal(rounded(l, 1e300), largest);
    assert_int_equal(rounded(l, -1e300), largest | 0x8000u);
    assert_int_equal(rounded(l, 5e-324), 0);
    assert_int_equal(rounded(l, -5e-324), 0x8000);
}

static void rounding_to_nearest(void **state)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int m = 0; m < 4; m++) {
        fesetround(modes[m]);
        check_between(bf16);
        check_between(f16);
    }
    fesetround(FE_TONEAREST);
}

/* ---- conversions ---------------------------------------------------------------------------------- */

static const int32_t offsets[] = {0, 3, 3, 6}, columns[] = {0, 1, 2, 0, 0, 2};

static spry_matrix *convert(spry_context *context, const double *values, spry_type type, spry_rounding *rounding,
                            int keep_duplicates)
{
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.value_type = type;
    options.keep_duplicates = keep_duplicates;
    spry_matrix *A = borrow_csr(context, 3, 3, offsets, columns, values);
    spry_matrix *B = NULL;
    MUST(spry_matrix_convert(context, &B, rounding, A, &options, err));
    spry_matrix_destroy(A);
    return B;
}

/* Tests the report of a conversion. The two entries at (2, 0) become one entry, whose sum is rounded once. */
static void what_a_conversion_tells(void **state)
{
    spry_context *context = *state;
    static const double values[] = {1, 1.0 + 0x1p-9, 70000, 1, 0x1p-9, 1e-30};
    spry_rounding reported = SPRY_INIT(spry_rounding);
    spry_matrix *B = convert(context, values, SPRY_F16, &reported, 0);
    spry_arrays b = arrays_of(B);
    assert_int_equal(b.value_type, SPRY_F16);
    assert_int_equal(b.nnz, 5);
    static const uint16_t expected[] = {0x3c00, 0x3c02, 0x7c00, 0x3c02, 0};
    assert_memory_equal(b.values, expected, sizeof expected);
    assert_int_equal(reported.rounded, 2);
    assert_int_equal(reported.overflowed, 1);
    assert_int_equal(reported.overflowed_row, 0);
    assert_int_equal(reported.overflowed_column, 2);
    assert_int_equal(reported.vanished, 1);
    assert_true(reported.largest == 1);
    assert_int_equal(reported.largest_row, 2);
    assert_int_equal(reported.largest_column, 2);
    spry_matrix_destroy(B);

    B = convert(context, values, SPRY_BF16, &reported, 1);
    assert_int_equal(spry_matrix_nnz(B), 6);
    assert_int_equal(reported.overflowed, 0);
    assert_int_equal(reported.overflowed_row, -1);
    assert_int_equal(reported.vanished, 0);
    assert_true(reported.largest > 0 && reported.largest <= 0x1p-8);
    spry_matrix_destroy(B);

    B = convert(context, values, SPRY_F64, &reported, 0); /* nothing to round */
    assert_true(reported.rounded == 0 && reported.largest == 0 && reported.largest_row == -1);
    spry_matrix_destroy(B);
    B = convert(context, values, SPRY_PATTERN, &reported, 0);
    assert_true(reported.rounded == 0 && reported.largest_row == -1);
    spry_matrix_destroy(B);
}

/* Asserts that multiple threads convert a large matrix to the same values as a conversion entry by entry. */
static void rounding_of_many(void **state)
{
    spry_context *context = *state;
    spry_rounding reported = SPRY_INIT(spry_rounding);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.value_type = SPRY_BF16;
    options.layout = SPRY_COO;
    spry_matrix *A = generate_matrix(context, "grid27,x=12,y=13,z=14"), *B = NULL;
    MUST(spry_matrix_convert(context, &B, &reported, A, &options, err));
    spry_arrays a = arrays_of(A);
    spry_arrays b = arrays_of(B);
    double largest = 0;
    int64_t count = 0, at = -1;
    for (int64_t k = 0; k < a.nnz; k++) {
        const double before = ((const double *)a.values)[k], after = value_of(bf16, ((const uint16_t *)b.values)[k]);
        const double change = fabs((after - before) / before);
        count += change > 0;
        if (change > largest) at = k;
        if (change > largest) largest = change;
    }
    assert_int_equal(reported.rounded, count);
    assert_true(reported.largest == largest);
    assert_int_equal(reported.largest_row, ((const int32_t *)b.row_indices)[at]);
    assert_int_equal(reported.largest_column, ((const int32_t *)b.indices)[at]);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

/*
 * Converts one triangle of a skew-symmetric matrix to both triangles. Mirror images must have the opposite sign, but
 * NaN must keep its bits.
 */
static void both_triangles(void **state)
{
    spry_context *context = *state;
    static const int32_t of_rows[] = {0, 0, 1, 2}, of_columns[] = {0, 1};
    static const uint16_t values[] = {0x3f80, 0x7fc1};
    spry_arrays a = csr_arrays(3, 3, of_rows, of_columns, values, SPRY_BF16);
    a.symmetry = SPRY_SKEW_SYMMETRIC;
    a.triangle = SPRY_LOWER_TRIANGLE;
    spry_matrix *A = create_matrix(context, &a);
    spry_matrix *B = convert_matrix(context, A, NULL);
    spry_arrays b = arrays_of(B);
    static const uint16_t both[] = {0xbf80, 0x3f80, 0x7fc1, 0x7fc1};
    assert_int_equal(b.nnz, 4);
    assert_memory_equal(b.values, both, sizeof both);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

/* ---- functions that accept 16-bit values, and functions that refuse them ------------------------------ */

static spry_status plan_status(spry_context *context, const spry_matrix *A, spry_type vectors, const char *format,
                               const char *kernel, spry_spmv_plan_info *info, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    options.vector_type = vectors;
    options.format = format;
    options.kernel = kernel;
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &options, err);
    if (status == SPRY_OK && info) assert_int_equal(spry_spmv_plan_get_info(plan, info, NULL), SPRY_OK);
    spry_spmv_plan_destroy(plan);
    return status;
}

static void plans_and_refusals(void **state)
{
    spry_context *context = *state;
    static const double values[] = {1, 2, 3, 4, 5, 6};
    spry_matrix *B = convert(context, values, SPRY_BF16, NULL, 0), *S = convert(context, values, SPRY_F32, NULL, 0);
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    static const char *const taken[] = {"auto", "csr", "packed", "bsr", "csr2", "csc"};
    for (int f = 0; f < 6; f++) {
        if (plan_status(context, B, SPRY_TYPE_DEFAULT, taken[f], NULL, &info, &err) != SPRY_OK)
            fail_msg("%s: %s", taken[f], err.message);
        assert_int_equal(plan_status(context, S, SPRY_F64, taken[f], NULL, &info, &err), SPRY_OK);
    }
    static const char *const refused[] = {"ell", "hyb", "scoo", "coo", "windowed"};
    for (int f = 0; f < 5; f++) {
        assert_int_equal(plan_status(context, B, SPRY_F32, refused[f], NULL, NULL, &err), SPRY_UNSUPPORTED);
        assert_non_null(strstr(err.message, "bf16 values and f32 vectors"));
    }
    assert_int_equal(plan_status(context, S, SPRY_F64, NULL, "ell_portable_cpu", NULL, &err), SPRY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "f32 values and f64 vectors"));
    assert_int_equal(plan_status(context, B, SPRY_F64, NULL, NULL, NULL, &err), SPRY_UNSUPPORTED);
    assert_string_equal(err.argument, "vector_type");
    assert_int_equal(plan_status(context, B, SPRY_BF16, NULL, NULL, NULL, &err), SPRY_INVALID_ARGUMENT);
    spry_matrix *C = NULL;
    assert_int_equal(spry_spgemm(context, &C, NULL, B, B, NULL, &err), SPRY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "bf16"));
    float b[3] = {1, 1, 1}, x[3] = {0};
    assert_int_equal(spry_cg(context, spry_vector_f32(x, 3), NULL, B, spry_const_vector_f32(b, 3), NULL, &err),
                     SPRY_UNSUPPORTED);
    spryi_storage storage = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "ell";
    assert_int_equal(spryi_predict_storage(context, &storage, B, &options, &err), SPRY_UNSUPPORTED);
    options.format = "csr";
    assert_int_equal(spryi_predict_storage(context, &storage, B, &options, &err), SPRY_OK);
    assert_int_equal(storage.bytes, 4 * 4 + 5 * (4 + 2));
    spry_vector v = {0};
    assert_int_equal(spry_vector_create(context, &v, 3, SPRY_F16, 0, &err), SPRY_INVALID_ARGUMENT);
    spry_matrix_destroy(B);
    spry_matrix_destroy(S);
}

/* Asserts that products of f32 values with f64 vectors are within the error bound for f64. */
static void f64_sums_of_f32_values(void **state)
{
    spry_context *context = *state;
    static const double values[] = {1.0 / 3, 2.0 / 3, 1e10 / 7, 0.1, 0.2, 0.3}, x[] = {1e-9, -1.1e-9, 0x1p-60};
    spry_matrix *S = convert(context, values, SPRY_F32, NULL, 1);
    const double alpha = 3;
    double y[3];
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.vector_type = SPRY_F64;
    spry_spmv_plan *plan = create_plan(context, S, &options);
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 3), &alpha, spry_const_vector_f64(x, 3), NULL, NULL,
                                        NULL),
                     SPRY_OK);
    long double exact = 0, size = 0;
    for (int k = 0; k < 3; k++) exact += (long double)(float)values[k] * x[k];
    for (int k = 0; k < 3; k++) size += fabsl((long double)(float)values[k] * x[k]);
    assert_true(fabsl((long double)y[0] - 3 * exact) <= 6 * 0x1p-52L * 3 * size);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(S);
}

/*
 * Writes 16-bit values to a text file and reads them. The file has the shortest decimals, and the values read must have
 * equal bits.
 */
static void text(void **state)
{
    spry_context *context = *state;
    static const double values[] = {0.1, -2.5, 3e38, 1e-40, 5, 6};
    spry_matrix *B = convert(context, values, SPRY_BF16, NULL, 0);
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = SPRY_BF16;
    assert_int_equal(spry_matrix_write(B, "narrow.mtx", NULL, NULL), SPRY_OK);
    spry_matrix *C = read_matrix(context, "narrow.mtx", &options);
    spry_arrays b = arrays_of(B);
    spry_arrays c = arrays_of(C);
    assert_int_equal(c.value_type, SPRY_BF16);
    assert_int_equal(c.nnz, b.nnz);
    assert_memory_equal(c.values, b.values, (size_t)b.nnz * 2);
    spry_matrix_destroy(B);
    spry_matrix_destroy(C);
}

/* Writes 16-bit values to containers and reads them. Bits and type must be equal. */
static void containers(void **state)
{
    spry_context *context = *state;
    static const double values[] = {1, -2.5, 3, 4, 5, 6};
    static const char *const formats[] = {"csr", "packed", "bsr"};
    for (int f = 0; f < 3; f++) {
        spry_matrix *B = convert(context, values, SPRY_F16, NULL, 0);
        spry_write_options options = SPRY_INIT(spry_write_options);
        options.format = formats[f];
        spry_error err = SPRY_ERROR_INIT;
        if (spry_matrix_write(B, "narrow.spry", &options, &err) != SPRY_OK) fail_msg("%s: %s", formats[f], err.message);
        spry_matrix *C = read_matrix(context, "narrow.spry", NULL);
        spry_arrays b = arrays_of(B);
        spry_arrays c = arrays_of(C);
        assert_int_equal(c.value_type, SPRY_F16);
        assert_int_equal(c.nnz, b.nnz);
        assert_memory_equal(c.values, b.values, (size_t)b.nnz * 2);
        options.format = "ell";
        assert_int_equal(spry_matrix_write(B, "narrow.spry", &options, &err), SPRY_UNSUPPORTED);
        spry_matrix_destroy(B);
        spry_matrix_destroy(C);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_of_bits),
        cmocka_unit_test(rounding_to_nearest),
        cmocka_unit_test(what_a_conversion_tells),
        cmocka_unit_test(rounding_of_many),
        cmocka_unit_test(both_triangles),
        cmocka_unit_test(plans_and_refusals),
        cmocka_unit_test(f64_sums_of_f32_values),
        cmocka_unit_test(text),
        cmocka_unit_test(containers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
