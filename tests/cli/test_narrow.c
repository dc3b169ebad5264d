/* Tests the conversion of values to a peer's narrower type: values are unchanged, or the conversion is refused. */
#include "testing.h"

#include "bench/peers/narrow_values.c"

/* Returns the value of an f16. */
static double half_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* Asserts that every finite f16 is unchanged, and that the next larger f32 of each is refused. */
static void every_half(void **state)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if ((bits >> 10 & 31) == 31) continue;
        const float value = (float)half_of((uint16_t)bits), next = nextafterf(value, INFINITY);
        uint16_t got = 0;
        assert_int_equal(put_f16(&got, 0, &value), 1);
        assert_int_equal(got, bits);
        assert_int_equal(put_f16(&got, 0, &next), 0);
    }
    const float others[] = {65520, INFINITY, -INFINITY, NAN, 1e-8f, 1e-40f};
    uint16_t got;
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) assert_int_equal(put_f16(&got, 0, &others[n]), 0);
}

static void bf16_and_f32(void **state)
{
    const float whole[] = {0, -1, 3.140625f, 1.5e38f}, cut[] = {0.1f, NAN, INFINITY};
    const double wide[] = {0.5, -1e-3, 1e300, NAN};
    uint16_t half;
    float single;
    for (int n = 0; n < 3; n++) assert_int_equal(put_bf16(&half, 0, &whole[n]), 1);
    for (int n = 0; n < 3; n++) assert_int_equal(put_bf16(&half, 0, &cut[n]), 0);
    for (int n = 0; n < 4; n++) assert_int_equal(put_f32(&single, 0, &wide[n]), n == 0);
}

static void of_a_matrix(void **state)
{
    const double values[] = {1, 2, 0.1};
    spry_peer_matrix a = {.rows = 1, .cols = 3, .nnz = 2, .value_bytes = 8, .values = values};
    spry_peer_error error = {""};
    void *stored;
    assert_int_equal(peer_narrow(&stored, &a, &peer_f32, &error), SPRY_PEER_OK);
    assert_true(((float *)stored)[0] == 1 && ((float *)stored)[1] == 2);
    free(stored);
    a.nnz = 3;
    assert_int_equal(peer_narrow(&stored, &a, &peer_f32, &error), SPRY_PEER_UNSUPPORTED);
    assert_string_equal(error.text, "the value of entry 2 is not exact in f32: the product would be another one");
    assert_null(stored);
    assert_int_equal(peer_narrow(&stored, &a, &peer_f16, &error), SPRY_PEER_UNSUPPORTED);
    assert_string_equal(error.text, "values stored as f16 require f32 vectors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_half), cmocka_unit_test(bf16_and_f32),
                                       cmocka_unit_test(of_a_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
