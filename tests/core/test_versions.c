/* Tests of structs of programs that were compiled with an earlier or later header, and of matrix accessors. */
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "support.h"

static spry_context *context;
static sample s;
static spry_matrix *A;

static int set_up(void **state)
{
    context = context_of(2);
    s = sample_make(40, 40);
    A = sample_matrix(context, &s, 0);
    return 0;
}

static int tear_down(void **state)
{
    spry_matrix_destroy(A);
    const int leaked = context_bytes(context) != 0;
    spry_context_destroy(context);
    sample_free(&s);
    return leaked;
}

/* Copies a struct to its own block of `size` bytes, so that a sanitizer reports access past the end. */
static void *of_size(const void *from, size_t known, size_t size)
{
    unsigned char *made = calloc(1, size);
    assert_non_null(made);
    memcpy(made, from, known < size ? known : size);
    memcpy(made, &size, sizeof size);
    return made;
}

/* Passes options of an earlier header, whose last field is `format`. */
static void earlier_options(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = "sell";
    spry_spmv_options *earlier = of_size(&o, sizeof o, offsetof(spry_spmv_options, kernel));
    spry_spmv_plan *plan = create_plan(context, A, earlier);
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(info.format, "sell");
    double y[40];
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options), *old = of_size(&run, sizeof run, 2 * sizeof(void *));
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 40), NULL, spry_const_vector_f64(s.x, 40), NULL, old,
                                        NULL),
                     SPRY_OK);
    assert_true(is_product(&s, 0, y));
    spry_spmv_plan_destroy(plan);
    free(old);
    free(earlier);
}

/* Passes options of a later header. Fields that this library lacks must be 0. */
static void later_options(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    unsigned char *later = of_size(&o, sizeof o, sizeof o + 24);
    spry_spmv_plan *plan = create_plan(context, A, (spry_spmv_options *)later);
    spry_spmv_plan_destroy(plan);
    plan = NULL;
    later[sizeof o + 23] = 1;
    expect_error(spry_spmv_plan_create(context, &plan, A, (spry_spmv_options *)later, &err), SPRY_UNSUPPORTED,
                 "struct_size");
    assert_null(plan);
    free(later);
    const size_t sizes[] = {0, 1, sizeof(size_t), 1 << 20};
    for (int n = 0; n < 4; n++) {
        o.struct_size = sizes[n];
        expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    }
}

/*
 * Clears the memory below the stack pointer. Local structs of the next call will use this memory, also for their
 * padding.
 */
__attribute__((noinline)) static void clear_stack(void)
{
    volatile unsigned char below[16384];
    for (size_t b = 0; b < sizeof below; b++) below[b] = 0;
}

/*
 * Asserts that an output struct is filled up to its size. Bytes after the fields that the library knows must be set to
 * 0.
 */
static void filled(const void *ours, size_t size, spry_status (*fill)(void *))
{
    unsigned char *earlier = of_size(ours, size, size - 8), *later = of_size(ours, size, size + 8);
    unsigned char *whole = of_size(ours, size, size);
    memset(later + size, 0xee, 8);
    void *const filled_structs[] = {whole, earlier, later};
    for (int s = 0; s < 3; s++) {
        clear_stack();
        assert_int_equal(fill(filled_structs[s]), SPRY_OK);
    }
    const size_t kept = sizeof(size_t);
    assert_memory_equal(whole + kept, earlier + kept, size - 8 - kept);
    assert_memory_equal(whole + kept, later + kept, size - kept);
    for (int b = 0; b < 8; b++) assert_int_equal(later[size + (size_t)b], 0);
    size_t reported;
    memcpy(&reported, earlier, sizeof reported);
    assert_int_equal(reported, size - 8);
    free(earlier);
    free(later);
    free(whole);
}

static spry_spmv_plan *shown;

static spry_status fill_plan(void *to)
{
    return spry_spmv_plan_get_info(shown, to, NULL);
}

static spry_status fill_device(void *to)
{
    return spry_device_get_info(context, to, SPRY_CPU, NULL);
}

static spry_status fill_kernel(void *to)
{
    return spry_kernel_get_info(context, to, 0, NULL);
}

static spry_status fill_stats(void *to)
{
    return spry_matrix_get_stats(A, to, NULL);
}

static spry_status fill_arrays(void *to)
{
    return spry_matrix_get_arrays(A, to, NULL);
}

/* Clears available_memory_bytes, which other programs change between two calls. */
static spry_status fill_context(void *to)
{
    const spry_status status = spry_context_get_info(context, to, NULL);
    spry_context_info *info = to;
    if (info->struct_size >= sizeof *info) info->available_memory_bytes = 0;
    return status;
}

static spry_status fill_report(void *to)
{
    return spry_matrix_check(A, to, SPRY_CHECK_ALL, NULL);
}

static void earlier_and_later_outputs(void **state)
{
    shown = create_plan(context, A, NULL);
#define FILLED(type, fill)                                                                                             \
    do {                                                                                                               \
        type whole = SPRY_INIT(type);                                                                                  \
        filled(&whole, sizeof whole, fill);                                                                            \
    } while (0)
    FILLED(spry_spmv_plan_info, fill_plan);
    FILLED(spry_device_info, fill_device);
    FILLED(spry_kernel_info, fill_kernel);
    FILLED(spry_matrix_stats, fill_stats);
    FILLED(spry_arrays, fill_arrays);
    FILLED(spry_context_info, fill_context);
    FILLED(spry_matrix_report, fill_report);
#undef FILLED
    spry_spmv_plan_destroy(shown);
}

/* ---- accessors ------------------------------------------------------------------------------------------- */

static void sizes_and_diagonal(void **state)
{
    assert_int_equal(spry_matrix_rows(A), s.rows);
    assert_int_equal(spry_matrix_columns(A), s.cols);
    assert_int_equal(spry_matrix_nnz(A), s.nnz);
    double exact[40] = {0}, found[40];
    for (int64_t i = 0; i < 40; i++)
        for (int64_t k = s.offsets[i]; k < s.offsets[i + 1]; k++)
            if (s.columns[k] == i) exact[i] += s.values[k];
    for (int input = 0; input < INPUTS - 1; input++) {
        spry_matrix *B = sample_matrix(context, &s, input);
        assert_int_equal(spry_matrix_diagonal(B, spry_vector_f64(found, 40), NULL), SPRY_OK);
        assert_memory_equal(found, exact, sizeof exact);
        spry_matrix_destroy(B);
    }
    expect_error(spry_matrix_diagonal(A, spry_vector_f64(NULL, 40), &err), SPRY_INVALID_ARGUMENT, "diagonal");
}

/* Asserts that borrowed or copied arrays with index base 1 give the same matrix as arrays with index base 0. */
static void counted_from_one(void **state)
{
    for (int input = 0; input < INPUTS; input++)
        for (int ownership = SPRY_BORROW; ownership <= SPRY_COPY; ownership++) {
            spry_arrays a = sample_arrays(&s, input);
            const int64_t offsets = a.layout == SPRY_COO ? 0 : 41;
            int32_t *copies[3] = {0};
            const void **arrays[] = {&a.offsets, &a.row_indices, &a.indices};
            for (int p = 0; p < 3; p++) {
                const int64_t count = p == 0 ? offsets : s.nnz;
                if (!*arrays[p]) continue;
                copies[p] = malloc((size_t)count * sizeof *copies[p]);
                assert_non_null(copies[p]);
                for (int64_t k = 0; k < count; k++) copies[p][k] = ((const int32_t *)*arrays[p])[k] + 1;
                *arrays[p] = copies[p];
            }
            a.index_base = 1;
            a.ownership = (spry_ownership)ownership;
            double y[40];
            spry_matrix *B = create_matrix(context, &a);
            for (int p = 0; p < 3; p++) free(copies[p]); /* the matrix has its own index arrays */
            spry_arrays shown = arrays_of(B);
            assert_int_equal(shown.index_base, 0);
            assert_int_equal(shown.values == a.values, ownership == SPRY_BORROW || a.value_type == SPRY_PATTERN);
            assert_int_equal(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
            spry_spmv_plan *plan = create_plan(context, B, NULL);
            multiply_f64(plan, y, 40, s.x, 40);
            assert_true(is_product(&s, input, y));
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(B);
        }
    spry_arrays a = sample_arrays(&s, 0);
    spry_matrix *B = NULL;
    a.index_base = 2;
    expect_error(spry_matrix_create(context, &B, &a, &err), SPRY_INVALID_ARGUMENT, "index_base");
    a.index_base = 1;
    expect_error(spry_matrix_create(context, &B, &a, &err), SPRY_INVALID_MATRIX, "offsets");
    assert_null(B);
}

/*
 * Changes owned values in place and updates the plan. spry_matrix_get_values must refuse a matrix with borrowed values.
 */
static void values_that_are_owned(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    void *values = NULL;
    double y[40];
    expect_error(spry_matrix_get_values(A, &values, &err), SPRY_UNSUPPORTED, "A");
    assert_null(values);
    spry_matrix *owned = convert_matrix(context, A, NULL);
    assert_int_equal(spry_matrix_get_values(owned, &values, NULL), SPRY_OK);
    o.format = "ell";
    o.memory_limit_bytes = 1 << 20;
    spry_spmv_plan *plan = create_plan(context, owned, &o);
    for (int64_t k = 0; k < spry_matrix_nnz(owned); k++) ((double *)values)[k] *= 2;
    assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
    multiply_f64(plan, y, 40, s.x, 40);
    for (int64_t i = 0; i < 40; i++) assert_true(y[i] == 2 * s.exact[i]);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(owned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_options),           cmocka_unit_test(later_options),
        cmocka_unit_test(earlier_and_later_outputs), cmocka_unit_test(sizes_and_diagonal),
        cmocka_unit_test(counted_from_one),          cmocka_unit_test(values_that_are_owned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
