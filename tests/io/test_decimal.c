/*
 * Compares the conversion from decimal to binary with strtod and strtof of the C library, and from binary to decimal
 * with printf.
 */
#include "io/decimal.h"
#include "testing.h"

#include <locale.h>

static uint64_t random_state = 88172645463325252u;

/* Converts one text in all ways of the reader, and compares bitwise with the C library. */
static void check_text(const char *text)
{
    size_t length = strlen(text);
    double expected = strtod(text, NULL), found;
    float expected32 = strtof(text, NULL), found32;
    spryi_decimal d;
    if (spryi_decimal_scan(text, text + length, &d) != text + length) fail_msg("'%s' is not taken as a number", text);
    found = spryi_decimal_f64(&d);
    found32 = spryi_decimal_f32(&d);
    if (memcmp(&found, &expected, sizeof found) != 0 || memcmp(&found32, &expected32, sizeof found32) != 0)
        fail_msg("'%s' is %a and %a, expected %a and %a", text, found, (double)found32, expected, (double)expected32);
}

static void test_hard_cases(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0e5",
        "1",
        "-1",
        "10",
        "0.1",
        ".1",
        "1.",
        "1e23",
        "8.5e22",
        "9007199254740993",
        "9007199254740992.99999999999999",
        "9007199254740993.0000000000000000000000000001",
        "9007199254740991",
        "18014398509481985",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641"
        "66928879109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669"
        "59622842914819860834936475292719074168444365510704342711559699508093042880",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "7.4109846876186982e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "2.225073858507201e-308",
        "1e-400",
        "1e400",
        "-1e400",
        "1e-2147483648",
        "1e2147483648",
        "0e99999999999",
        /* for f32, rounding to f64 first would give a wrong result */
        "1.00000017881393432617187499",
        "1.00000017881393432617187500",
        "1.00000017881393432617187501",
        "16777217",
        "16777217.0000000001",
        "16777216.9999999999",
        "3.4028235677973366e38",
        "3.4028235677973365e38",
        "3.4028234663852886e38",
        "7.0064923216240854e-46",
        "7.006492321624085e-46",
        "7.0064923216240862e-46",
        "1.1754943508222875e-38",
        "1.17549429e-38",
        "0.000000000000000000000000000000000000011754943157898258998",
        "1.40129846432481707092372958328991613128026194187651577175706828388979108268586060148663818836212158203125e-"
        "45",
        "7.00649232162408535461864791644958065640130970938257885878534141944895541342930300743319094181060791015625e-"
        "46",
        "5.0706025e-30",
        "1.00000005960464477539062499999999999999999999999999999999999",
        "1.00000005960464477539062500000000000000000000000000000000001",
        "1.000000059604644775390625",
    };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) check_text(texts[t]);
}

/*
 * Converts the exact midpoint of two neighbouring doubles, which may have 770 digits, and decimals that are slightly
 * larger or smaller.
 */
static void test_ties(void **state)
{
    char text[1200], exact[1200];
    for (int t = 0; t < 3000; t++) {
        uint64_t bits = next_random(&random_state) & ~(UINT64_C(1) << 63);
        if (t % 3 == 0) bits &= UINT64_C(0x800fffffffffffff); /* subnormal */
        if (t % 3 == 1) bits = (bits & UINT64_C(0x000fffffffffffff)) | (1023 + next_random(&random_state) % 80) << 52;
        double low, high;
        memcpy(&low, &bits, sizeof low);
        bits++;
        memcpy(&high, &bits, sizeof high);
        if (!isfinite(high)) continue;
        /* printf gives the exact decimal of the midpoint */
        long double middle = ((long double)low + (long double)high) /
                             2; /* exact if long double has 64 bits, except for subnormals */
        if (middle - (long double)low != (long double)high - middle) continue;
        snprintf(exact, sizeof exact, "%.1100Lg", middle);
        check_text(exact);
        size_t digits = strcspn(exact, "e");
        snprintf(text, sizeof text, "%.*s%s1%s", (int)digits, exact, strchr(exact, '.') ? "0000" : ".0000",
                 exact + digits);
        check_text(text);
        if (exact[digits - 1] > '0' && exact[digits - 1] <= '9') {
            snprintf(text, sizeof text, "%s", exact);
            text[digits - 1]--;
            check_text(text);
        }
    }
    for (int t = 0; t < 20000; t++) { /* midpoints of two f32 numbers are f64 numbers */
        uint32_t bits = (uint32_t)next_random(&random_state) & 0x7fffffff;
        float low, high;
        memcpy(&low, &bits, sizeof low);
        bits++;
        memcpy(&high, &bits, sizeof high);
        if (!isfinite(high)) continue;
        double middle = ((double)low + (double)high) / 2;
        snprintf(exact, sizeof exact, "%.400g", middle);
        check_text(exact);
        snprintf(exact, sizeof exact, "%.25g", nextafter(middle, 0));
        check_text(exact);
        snprintf(exact, sizeof exact, "%.25g", nextafter(middle, INFINITY));
        check_text(exact);
    }
}

static void test_random_texts(void **state)
{
    char text[1000];
    for (int t = 0; t < 1200000; t++) {
        char *to = text;
        int kind = t % 4, digits = t % 100 == 99 ? 1 + (int)(next_random(&random_state) % 800)
                                                 : 1 + (int)(next_random(&random_state) % 25);
        int point = (int)(next_random(&random_state) % (unsigned)(digits + 2)) - 1;
        if (kind == 3) { /* a random binary value in 17 digits, or in fewer */
            double x;
            uint64_t bits = next_random(&random_state);
            memcpy(&x, &bits, sizeof x);
            if (!isfinite(x)) continue;
            sprintf(text, "%.*e", (int)(next_random(&random_state) % 18), x);
            check_text(text);
            continue;
        }
        if (next_random(&random_state) % 2) *to++ = '-';
        for (int d = 0; d < digits; d++) {
            if (d == point) *to++ = '.';
            *to++ = (char)('0' + next_random(&random_state) % 10);
        }
        if (kind == 1) to += sprintf(to, "e%d", (int)(next_random(&random_state) % 700) - 350);
        if (kind == 2) to += sprintf(to, "E%+d", (int)(next_random(&random_state) % 40) - 20);
        *to = '\0';
        check_text(text);
    }
}

static void test_words_that_are_no_numbers(void **state)
{
    static const char *const words[] = {"", "-", "+", ".", "-.", "e5", ".e5", "in", "na", "+-1", "x", " 1"};
    static const char *const begins[] = {"1e", "1e+", "1d-", "1ex"};
    spryi_decimal d;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        assert_null(spryi_decimal_scan(words[w], words[w] + strlen(words[w]), &d));
    for (size_t w = 0; w < sizeof begins / sizeof begins[0]; w++)
        assert_null(spryi_decimal_scan(begins[w], begins[w] + strlen(begins[w]), &d));
    const char *text = "1.5x";
    assert_ptr_equal(text + 3, spryi_decimal_scan(text, text + 4, &d));
}

/* Checks that the written text reads back bitwise equal, and that no shorter text would. */
static void check_written(double x)
{
    char text[SPRYI_NUMBER_CHARS + 1], other[64];
    char *end = spryi_decimal_write_f64(text, x);
    assert_true(end - text <= SPRYI_NUMBER_CHARS);
    *end = '\0';
    double back = strtod(text, NULL);
    if (memcmp(&back, &x, sizeof x) != 0) fail_msg("%a is written as %s", x, text);
    int precision = 1;
    do snprintf(other, sizeof other, "%.*e", precision - 1, x);
    while (strtod(other, NULL) != x && precision++ < 17);
    int digits = 0, zeros = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (digits == 0 && *p == '0')) continue;
        zeros = *p == '0' ? zeros + 1 : 0;
        digits++;
    }
    if (x != trunc(x) && digits - zeros > precision) fail_msg("%s is longer than %s", text, other);
}

static void test_shortest(void **state)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.1,
                                    1e22,
                                    1e23,
                                    5e-324,
                                    2.2250738585072014e-308,
                                    0x1p-1022,
                                    1.7976931348623157e308,
                                    0x1p53,
                                    0x1p63,
                                    0.3,
                                    1.0 / 3,
                                    1e-5,
                                    9.999e-6,
                                    123456.789e3};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) check_written(values[v]);
    for (int e = -1074; e < 1024; e++) check_written(ldexp(1, e)); /* below a power of two, doubles are closer */
    for (int t = 0; t < 100000; t++) {
        double x;
        uint64_t bits = next_random(&random_state);
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) check_written(x);
        check_written((double)(next_random(&random_state) % 1000000) / 1000);
    }
    char text[SPRYI_NUMBER_CHARS + 1];
    *spryi_decimal_write_f64(text, -INFINITY) = '\0';
    assert_string_equal("-inf", text);
    *spryi_decimal_write_f64(text, INFINITY) = '\0';
    assert_string_equal("inf", text);
    *spryi_decimal_write_f64(text, (double)NAN) = '\0';
    assert_non_null(strstr(text, "nan"));
    *spryi_decimal_write_i64(text, INT64_MIN) = '\0';
    assert_string_equal("-9223372036854775808", text);
}

static void test_shortest_f32(void **state)
{
    char text[SPRYI_NUMBER_CHARS + 1];
    for (int t = 0; t < 500000; t++) {
        uint32_t bits = (uint32_t)next_random(&random_state);
        float x, back;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        char *end = spryi_decimal_write_f32(text, x);
        *end = '\0';
        spryi_decimal d;
        assert_ptr_equal(end, spryi_decimal_scan(text, end, &d));
        back = spryi_decimal_f32(&d);
        if (memcmp(&back, &x, sizeof x) != 0 || strtof(text, NULL) != x)
            fail_msg("%a is written as %s", (double)x, text);
        assert_true(end - text <= 18);
    }
    *spryi_decimal_write_f32(text, 0.1f) = '\0';
    assert_string_equal("0.1", text);
}

/*
 * Asserts that a locale with a decimal comma changes nothing. Tries multiple locales, because none is certainly
 * installed.
 */
static void test_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                        "fr_FR.UTF-8", "fr_FR.utf8", "ru_RU.UTF-8"};
    int found = 0;
    for (size_t l = 0; l < sizeof names / sizeof names[0] && !found; l++)
        found = setlocale(LC_ALL, names[l]) != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
    /* The first 19 digits do not decide the rounding, so strtod converts the text. */
    const char *undecided = "1.00000000000000011102230246251565405";
    spryi_decimal d;
    assert_non_null(spryi_decimal_scan(undecided, undecided + strlen(undecided), &d));
    assert_true(d.cut);
    assert_true(spryi_decimal_f64(&d) == 1.0000000000000002);
    const char *tie = "1.00000000000000011102230246251565404236316680908203125";
    assert_non_null(spryi_decimal_scan(tie, tie + strlen(tie), &d));
    assert_true(spryi_decimal_f64(&d) == 1.0);
    assert_true(spryi_decimal_f32(&d) == 1.0f);
    char text[SPRYI_NUMBER_CHARS + 1];
    *spryi_decimal_write_f64(text, 0.5) = '\0';
    assert_string_equal("0.5", text);
    (void)setlocale(LC_ALL, "C");
    if (!found) print_message("no locale with a decimal comma is installed: tried in the C locale only\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hard_cases),   cmocka_unit_test(test_ties),
        cmocka_unit_test(test_random_texts), cmocka_unit_test(test_words_that_are_no_numbers),
        cmocka_unit_test(test_shortest),     cmocka_unit_test(test_shortest_f32),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
