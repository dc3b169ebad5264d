/* Compares values that the reader's fast path converts, in every length and notation, with strtod and strtof. */
#include "files.h"
#include "spry/io.h"

static uint64_t random_state = 2463534242u;

static char *write_random_number(char *to, int kind)
{
    if (kind < 4) { /* digits before and after the point, possibly none on one side */
        int before = (int)(next_random(&random_state) % (kind == 0 ? 2 : 12)),
            behind = (int)(next_random(&random_state) % 22);
        if (before + behind == 0) before = 1;
        if (next_random(&random_state) % 2) *to++ = next_random(&random_state) % 8 ? '-' : '+';
        for (int d = 0; d < before; d++)
            *to++ = (char)('0' + (next_random(&random_state) % 4 ? next_random(&random_state) % 10 : 0));
        if (kind == 0 && before == 0 && next_random(&random_state) % 2) *to++ = '0';
        if (behind > 0 || next_random(&random_state) % 2) *to++ = '.';
        for (int d = 0; d < behind; d++)
            *to++ = (char)('0' + (next_random(&random_state) % 4 ? next_random(&random_state) % 10 : 0));
        if (kind == 3)
            to += sprintf(to, next_random(&random_state) % 2 ? "e%+03d" : "E%d",
                          (int)(next_random(&random_state) % 600) - 300);
        return to;
    }
    union {
        uint64_t bits;
        double x;
    } any = {next_random(&random_state)};
    if (kind == 4)
        any.bits = (any.bits & UINT64_C(0x800fffffffffffff)) | (1023 - 20 + next_random(&random_state) % 40) << 52;
    if ((any.bits >> 52 & 0x7ff) == 0x7ff) any.bits ^= UINT64_C(1) << 62;
    return to + sprintf(to, kind == 5 ? "%.17g" : kind == 6 ? "%.16e" : "%.17g", any.x);
}

enum { COUNT = 300000 };

static void check_values(int array)
{
    char *text = malloc((size_t)COUNT * 64 + 200), *to = text, **starts = malloc(COUNT * sizeof *starts);
    assert_true(text && starts);
    to += array ? sprintf(to, "%%%%MatrixMarket matrix array real general\n1 %d\n", COUNT)
                : sprintf(to, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", COUNT, COUNT, COUNT);
    for (int k = 0; k < COUNT; k++) {
        if (!array) to += sprintf(to, k % 50 == 0 ? " %d\t %d  " : "%d %d ", k + 1, COUNT - k);
        starts[k] = to;
        to = write_random_number(to, (int)(next_random(&random_state) % 7));
        to += sprintf(to, next_random(&random_state) % 16 ? "\n" : next_random(&random_state) % 2 ? "\r\n" : " \n");
    }
    spry_context *context = context_of(2);
    for (int type = SPRY_F32; type <= SPRY_F64; type++) {
        spry_read_options options = SPRY_INIT(spry_read_options);
        options.value_type = (spry_type)type;
        spry_matrix *A = NULL;
        MUST(spry_matrix_read_memory(context, &A, text, (size_t)(to - text), "x", &options, err));
        spry_arrays a = arrays_of(A);
        const int32_t *Aj = a.indices;
        for (int64_t e = 0; e < a.nnz; e++) {
            int k = array ? Aj[e] : (int)e;
            if (!array) assert_int_equal(COUNT - 1 - k, Aj[e]);
            double x = strtod(starts[k], NULL);
            float y = strtof(starts[k], NULL);
            const char *found = (const char *)a.values + (size_t)e * spry_type_bytes(a.value_type);
            if (memcmp(found, type == SPRY_F64 ? (const void *)&x : (const void *)&y, spry_type_bytes(a.value_type)) !=
                0)
                fail_msg("value %d, '%.40s', is read otherwise than by strtod", k, starts[k]);
        }
        assert_true(array || a.nnz == COUNT);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
    free(starts);
    free(text);
}

static void test_coordinate(void **state)
{
    check_values(0);
}

static void test_array(void **state)
{
    check_values(1);
}

/* Reads integers of any length. They must be exact below 2^53 and rounded to the nearest double above. */
static void test_integers(void **state)
{
    enum { INTEGERS = 50000 };
    char *text = malloc((size_t)INTEGERS * 64 + 200), *to = text;
    double *expected = malloc(INTEGERS * sizeof *expected);
    assert_true(text && expected);
    to += sprintf(to, "%%%%MatrixMarket matrix coordinate integer general\n%d 1 %d\n", INTEGERS, INTEGERS);
    for (int k = 0; k < INTEGERS; k++) {
        to += sprintf(to, "%d 1 ", k + 1);
        char *start = to;
        if (next_random(&random_state) % 2) *to++ = '-';
        for (int d = (int)(next_random(&random_state) % 28); d >= 0; d--)
            *to++ = (char)('0' + next_random(&random_state) % 10);
        *to = '\0';
        expected[k] = strtod(start, NULL);
        *to++ = '\n';
    }
    spry_context *context = context_of(2);
    spry_matrix *A = NULL;
    MUST(spry_matrix_read_memory(context, &A, text, (size_t)(to - text), "x", NULL, err));
    spry_arrays a = arrays_of(A);
    assert_int_equal(INTEGERS, a.nnz);
    assert_memory_equal(expected, a.values, INTEGERS * sizeof *expected);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(expected);
    free(text);
}

/* Asserts that a fault among lines that the fast path reads is reported with its line number. */
static void test_bad_values(void **state)
{
    static const char *const bad[] = {"1.5x",  "1..5", "1e",     "1e+",     "1e5.5", "-",      ".",
                                      "-.",    "1-5",  "1.5-5",  "1.5e--5", "+-1",   "1.5 2",  "1,5",
                                      "0x1p3", "1e 5", "1.5\vx", "- 1.5",   "nane",  "1.5e5e5"};
    spry_context *context = context_of(1);
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++)
        for (int at = 3; at < 300; at += 37) {
            char text[12000],
                *to = text + sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n400 1 300\n");
            for (int line = 3; line < 303; line++)
                to += sprintf(to, line == at ? "%d 1 %s\n" : "%d 1 1.25\n", line, line == at ? bad[b] : "");
            spry_matrix *A = NULL;
            spry_error err = {0};
            if (spry_matrix_read_memory(context, &A, text, (size_t)(to - text), "x", NULL, &err) != SPRY_BAD_FILE)
                fail_msg("'%s' is accepted", bad[b]);
            assert_int_equal(at, err.line);
        }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinate),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_bad_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
