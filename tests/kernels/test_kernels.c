/* Plain products, and tests of the comparison that judges them. */
#include "formats/csr/csr.h"
#include "kernel_tests.h"
#include "trials.h"

/* Checks families marked `structured` and `pieces`: csr must find runs of rows, or cut rows into pieces. */
static void families_hold_what_they_say(void **state)
{
    spry_context *context = context_of(2);
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED)) {
        family f = family_make(number);
        double *values = random_numbers(f.nnz, SPRY_F64, 1);
        given g = given_make(&f, values, &forms[0], SPRY_F64, 0);
        trial t = {&f, &forms[0], "csr_portable_cpu", SPRY_F64, 0, SPRY_NO_TRANSPOSE};
        spry_spmv_plan *plan = plan_of(context, &t, &g);
        const spryi_csr *s = plan->forward.stored.storage;
        if (f.structured && !(s->runs.structured > 0))
            fail_msg("%s: %g of the entries in runs", f.name, s->runs.structured);
        if (f.pieces && !(s->blocks.piece_count > 0))
            fail_msg("%s: %lld pieces", f.name, (long long)s->blocks.piece_count);
        spry_spmv_plan_destroy(plan);
        given_free(&g);
        free(values);
        family_free(&f);
    }
    spry_context_destroy(context);
}

/* The comparison must find wrong results. */
static void comparator_rejects(void **state)
{
    for (int number = 0; number < family_count(); number = family_next(number, INSTRUMENTED))
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            material s;
            set_up(&s, number, (spry_type)type, tested_op);
            const reference *r = &s.with_values;
            const double alpha = 2, beta = -0.5;
            guarded y = vector_make(s.y_numbers, s.f.rows, s.type, ON_HEAP);
            for (int64_t i = 0; i < s.f.rows; i++)
                set_number(y.data, s.type, i, (double)reference_value(r, i, alpha, beta, s.y_numbers[i]));
            comparison c = reference_compare(r, s.type, alpha, beta, s.before.data, y.data);
            assert_int_equal(c.wrong, 0);
            for (int64_t i = 0; i < s.f.rows; i += 1 + s.f.rows / 3) {
                double right = element_at(y.data, s.type, i), before = s.y_numbers[i];
                double bound = (double)reference_bound(r, s.type, i, alpha, beta, before);
                const double bad[] = {right + 3 * bound, right - 3 * bound, NAN, INFINITY, before};
                for (int b = 0; b < 5; b++) {
                    if (b == 4 && fabs(before - right) < 2 * bound) continue; /* y_before is near the result */
                    set_number(y.data, s.type, i, bad[b]);
                    c = reference_compare(r, s.type, alpha, beta, s.before.data, y.data);
                    if (c.wrong != 1 || c.worst_row != i)
                        fail_msg("%s, row %lld: %g instead of %g was not seen", s.f.name, (long long)i, bad[b], right);
                }
                set_number(y.data, s.type, i, right);
            }
            guarded_free(&y);
            clear(&s);
        }
}

/* The guards detect one element written before or after an array. */
static void guards_see_writes(void **state)
{
    guarded end = guarded_make(24, AT_END), start = guarded_make(24, AT_START);
    assert_true(guarded_intact(&end) && guarded_intact(&start));
    ((volatile char *)end.data)[-1] = 0;
    ((volatile char *)start.data)[24] = 0;
    assert_false(guarded_intact(&end));
    assert_false(guarded_intact(&start));
    guarded_free(&end);
    guarded_free(&start);
}

int main(void)
{
    tested_op = SPRY_NO_TRANSPOSE;
    const struct CMUnitTest races[] = {
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(columns_row_by_row),
        cmocka_unit_test(values_of_another_type),
    };
    if (RACES_ALONE) return cmocka_run_group_tests(races, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparator_rejects),
        cmocka_unit_test(guards_see_writes),
        cmocka_unit_test(families_hold_what_they_say),
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(large_y),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(unused_x_does_not_matter),
        cmocka_unit_test(alpha_that_is_not_finite),
        cmocka_unit_test(multiple_columns),
        cmocka_unit_test(columns_row_by_row),
        cmocka_unit_test(values_of_another_type),
        cmocka_unit_test(every_simd_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
