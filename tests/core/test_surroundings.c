/*
 * Tests of the caller's floating-point environment and locale. Reading, writing and messages must not depend on either,
 * and calls must not change either.
 */
#include "plan/plan.h"
#include "support.h"

#include <fenv.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/error.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

enum { LINES = 120000, LINE = 48 };

/* ---- environments ------------------------------------------------------------------------------------------ */

static void enter(int environment)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    (void)fesetenv(FE_DFL_ENV);
    (void)fesetround(modes[environment % 4]);
#if defined(__x86_64__)
    if (environment >= 4) _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
#endif
    (void)feraiseexcept(FE_INEXACT);
}

static unsigned control(void)
{
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    return (unsigned)fegetround();
#endif
}

/*
 * Disables LeakSanitizer. At the end of this program, LeakSanitizer (clang 14) misreads the first thread's thread-local
 * memory and crashes.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Creates a context whose threads start in the unusual floating-point environment 5. */
static spry_context *odd_context(int threads)
{
    spry_context *context = context_of(threads);
    spry_matrix *A = NULL;
    enter(5);
    const spry_status status = spry_matrix_generate(context, &A, "grid5,x=400,y=400", NULL, NULL);
    enter(0);
    assert_int_equal(status, SPRY_OK);
    spry_matrix_destroy(A);
    return context;
}

/* Returns the text of a large vector: long decimals between 1e-3 and 1e3, and denormal numbers. */
static char *long_text(void)
{
    char *text = malloc(64 + (size_t)LINES * LINE), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%%%%MatrixMarket matrix array real general\n%d 1\n", LINES);
    for (uint64_t k = 0, seed = 1; k < LINES; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned long long high = seed >> 1, low = (seed * 31) >> 4;
        to += k % 8 == 7 ? sprintf(to, "%llue-324\n", high % 999999 + 1)
                         : sprintf(to, "0.%019llu%018llue%d\n", high, low % 1000000000000000000u, (int)(k % 7) - 3);
    }
    return text;
}

static spry_matrix *read_in(spry_context *context, const char *text, spry_type type)
{
    spry_read_options o = SPRY_INIT(spry_read_options);
    spry_matrix *A = NULL;
    o.value_type = type;
    MUST(spry_matrix_read_memory(context, &A, text, strlen(text), "text", &o, err));
    return A;
}

static void check_same(const spry_matrix *A, const spry_matrix *B, const char *what, int environment)
{
    spry_arrays a = arrays_of(A);
    spry_arrays b = arrays_of(B);
    if (a.nnz != b.nnz) fail_msg("%s in environment %d: %lld entries", what, environment, (long long)b.nnz);
    if (memcmp(a.values, b.values, (size_t)a.nnz * spry_type_bytes(a.value_type)) != 0)
        fail_msg("%s in environment %d: other values", what, environment);
}

static void reading_knows_no_environment(void **state)
{
    char *text = long_text();
    for (int type = SPRY_F32; type <= SPRY_F64; type++) {
        enter(0);
        spry_context *context = odd_context(3), *alone = context_of(1);
        spry_matrix *right = read_in(alone, text, (spry_type)type);
        for (int environment = 1; environment < 8; environment++) {
            if (INSTRUMENTED && environment % 2 != type % 2) continue; /* each type uses half of the environments */
            enter(environment);
            const unsigned before = control();
            spry_matrix *A = read_in(alone, text, (spry_type)type), *B = read_in(context, text, (spry_type)type);
            assert_int_equal(control(), before);
            enter(0);
            check_same(right, A, "one thread", environment);
            check_same(right, B, "three threads", environment);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
        spry_matrix_destroy(right);
        spry_context_destroy(alone);
        spry_context_destroy(context);
    }
    free(text);
}

/*
 * Asserts that sums of duplicates (f64) and generated random values (rounded to f32) do not depend on the environment.
 */
static void sums_and_generators_know_none(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 0.1\n1 1 0.2\n1 1 0.7\n"
                               "2 2 1e-310\n2 2 3e-310\n";
    spry_context *context = odd_context(2);
    enter(0);
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.value_type = SPRY_F32;
    spry_matrix *sums = read_in(context, text, SPRY_F64), *random = NULL;
    assert_int_equal(spry_matrix_generate(context, &random, "rgg,scale=15", &o, NULL), SPRY_OK);
    for (int environment = 1; environment < 8; environment++) {
        spry_matrix *drawn = NULL;
        enter(environment);
        const unsigned before = control();
        spry_matrix *A = read_in(context, text, SPRY_F64);
        assert_int_equal(spry_matrix_generate(context, &drawn, "rgg,scale=15", &o, NULL), SPRY_OK);
        assert_int_equal(control(), before);
        enter(0);
        check_same(sums, A, "sums", environment);
        check_same(random, drawn, "random values", environment);
        spry_matrix_destroy(A);
        spry_matrix_destroy(drawn);
    }
    spry_matrix_destroy(random);
    spry_matrix_destroy(sums);
    spry_context_destroy(context);
}

static char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, (size_t)LINES * 3 * LINE);
    assert_non_null(text);
    const size_t bytes = fread(text, 1, (size_t)LINES * 3 * LINE - 1, file);
    assert_true(bytes > 0 && bytes < (size_t)LINES * 3 * LINE - 1);
    fclose(file);
    return text;
}

/*
 * Asserts that, in every environment, the check of a matrix declared symmetric finds that two denormal values differ.
 */
static void claims_know_no_environment(void **state)
{
    static const int32_t offsets[] = {0, 1, 2}, columns[] = {1, 0};
    static const double values[] = {1e-310, 2e-310};
    spry_context *context = context_of(1);
    spry_arrays a = csr_arrays(2, 2, offsets, columns, values, SPRY_F64);
    a.symmetry = SPRY_SYMMETRIC;
    spry_matrix *A = create_matrix(context, &a);
    for (int environment = 0; environment < 8; environment++) {
        enter(environment);
        const spry_status status = spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL);
        enter(0);
        assert_int_equal(status, SPRY_INVALID_MATRIX);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void writing_knows_no_environment(void **state)
{
    char *text = long_text(), folder[] = "/tmp/spry-surroundings-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    enter(0);
    spry_context *context = odd_context(3);
    spry_matrix *A = read_in(context, text, SPRY_F64);
    assert_int_equal(spry_matrix_write(A, path, NULL, NULL), SPRY_OK);
    char *right = slurp(path);
    for (int environment = 1; environment < 8; environment++) {
        enter(environment);
        const unsigned before = control();
        assert_int_equal(spry_matrix_write(A, path, NULL, NULL), SPRY_OK);
        assert_int_equal(control(), before);
        enter(0);
        char *written = slurp(path);
        if (strcmp(written, right) != 0) fail_msg("environment %d: another text", environment);
        free(written);
    }
    free(right);
    (void)unlink(path);
    (void)rmdir(folder);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(text);
}

/* ---- locales --------------------------------------------------------------------------------------------------- */

/*
 * Creates the files of a locale with a decimal comma and activates the locale, since such a locale may not be
 * installed. The files hold only the bytes that the GNU C library reads for numbers. Returns 0 if this C library does
 * not accept the locale.
 */
static int with_comma(char *folder)
{
    const struct {
        uint32_t magic, count, at[6];
        char point[4], separator[4], grouping[4];
        uint32_t wide_point, wide_separator;
        char codeset[8];
    } numbers = {0x20031115u ^ 1, 6, {32, 36, 40, 44, 48, 52}, ",", ".", "\3\3", ',', '.', "UTF-8"};
    char path[96];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/comma", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&numbers, sizeof numbers, 1, file), 1);
    fclose(file);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    const int taken = setlocale(LC_NUMERIC, "comma") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
    (void)unsetenv("LOCPATH");
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/comma", folder);
    (void)rmdir(path);
    (void)rmdir(folder);
    return taken;
}

/* Asserts that the reason has a decimal point and is a whole sentence. */
static void assert_reads_well(const char *reason)
{
    if (!strchr(reason, '.')) fail_msg("no number in \"%s\"", reason);
    for (const char *c = strchr(reason, ','); c; c = strchr(c + 1, ','))
        if (c[1] >= '0' && c[1] <= '9') fail_msg("\"%s\"", reason);
    assert_true(strlen(reason) < sizeof(((spryi_storage *)0)->reason) - 1);
}

static void messages_know_no_locale(void **state)
{
    static const char skew[] = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 0.25\n";
    char folder[] = "/tmp/spry-locale-XXXXXX", text[32];
    const int taken = with_comma(folder);
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spry_matrix_read_memory(context, &A, skew, strlen(skew), "skew", NULL, &err), SPRY_BAD_FILE);
    assert_non_null(strstr(err.message, "is 0.25, but"));
    assert_int_equal(spry_matrix_generate(context, &A, "random,rows=9,cols=9,density=2", NULL, &err),
                     SPRY_INVALID_ARGUMENT);
    assert_null(strchr(err.message, ';'));
    A = generate_matrix(context, "rmat,scale=10");
    spryi_storage storage = {0};
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = "auto";
    assert_int_equal(spryi_predict_storage(context, &storage, A, &o, &err), SPRY_OK);
    assert_reads_well(storage.reason);
    spry_spmv_plan *plan = create_plan(context, A, &o);
    spry_spmv_plan_info info = plan_info(plan);
    assert_reads_well(info.reason);
    assert_string_equal(info.reason, storage.reason);
    spry_spmv_plan_destroy(plan);
    if (taken) {
        snprintf(text, sizeof text, "%.2f", 1.5); /* the caller's locale is still active */
        assert_string_equal(text, "1,50");
    }
    assert_int_equal(spryi_write(text, sizeof text, "%.2f", 1.5), 4);
    assert_string_equal(text, "1.50");
    (void)setlocale(LC_ALL, "C");
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    if (!taken) print_message("no locale with a decimal comma could be made: tried in the C locale only\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_knows_no_environment), cmocka_unit_test(sums_and_generators_know_none),
        cmocka_unit_test(claims_know_no_environment),   cmocka_unit_test(writing_knows_no_environment),
        cmocka_unit_test(messages_know_no_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
