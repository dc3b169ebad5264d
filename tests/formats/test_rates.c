/*
 * Tests of tables of rates, from which the library predicts times: printing, reading, fitting, and the effect of a
 * table on the choice of "auto".
 */
#include "spry/tune.h"
#include "testing.h"

#include <unistd.h>

enum { TEXT_BYTES = 1 << 16 };

static char path[64];

static int open_all(void **state)
{
    snprintf(path, sizeof path, "/tmp/spry-rates-XXXXXX");
    const int file = mkstemp(path);
    return file < 0 || close(file) != 0 || spry_context_create((spry_context **)state, NULL, NULL) != SPRY_OK;
}

static int close_all(void **state)
{
    spry_context_destroy(*state);
    return unlink(path);
}

/* Writes a complete tuning table with the lines of `text`. */
static void write_table(const char *text)
{
    int facts = 0;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *c = text; *c; c++) facts += *c == '\n';
    fprintf(file, "spry-tuning 3 # of a machine\n%send %d\n", text, facts);
    assert_int_equal(fclose(file), 0);
}

static spry_context *loaded(void)
{
    spry_context *context = context_of(0);
    MUST(spry_context_load_tuning(context, path, err));
    return context;
}

static char *printed(spry_context *context, const char *device_class)
{
    char *text = malloc(TEXT_BYTES);
    int64_t length = 0;
    assert_non_null(text);
    assert_int_equal(spry_rates_print(context, text, TEXT_BYTES, &length, device_class, NULL), SPRY_OK);
    assert_int_equal(length, (int64_t)strlen(text));
    return text;
}

static spry_explanation *explained(spry_context *context, const char *spec, const char *device_class)
{
    spry_explanation *e = NULL;
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    spry_spmv_options plan = SPRY_INIT(spry_spmv_options);
    plan.threads = 2;
    o.spmv = &plan;
    o.device_class = device_class;
    spry_matrix *A = generate_matrix(context, spec);
    assert_int_equal(spry_spmv_explain(context, &e, A, &o, NULL), SPRY_OK);
    spry_matrix_destroy(A);
    return e;
}

static spry_explanation_info info_of(const spry_explanation *e)
{
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    assert_int_equal(spry_explanation_get_info(e, &info, NULL), SPRY_OK);
    return info;
}

static spry_candidate candidate_at(const spry_explanation *e, int index)
{
    spry_candidate c = SPRY_INIT(spry_candidate);
    assert_int_equal(spry_explanation_get_candidate(e, &c, index, NULL), SPRY_OK);
    return c;
}

static double predicted(const spry_explanation *e, const char *format)
{
    const int count = info_of(e).candidates;
    for (int k = 0; k < count; k++)
        if (strcmp(candidate_at(e, k).format, format) == 0) return candidate_at(e, k).predicted_us;
    return 0;
}

/* A table that is printed and read again is unchanged. */
static void tables_come_back(void **state)
{
    for (int n = 0; n < device_class_count(); n++) {
        spry_device_class_info class = SPRY_INIT(spry_device_class_info);
        assert_int_equal(spry_device_class_get_info(&class, n, NULL), SPRY_OK);
        char *text = printed(*state, class.name);
        write_table(text);
        spry_context *context = loaded();
        char *again = printed(context, class.name);
        assert_string_equal(again, text);
        spry_explanation *before = explained(*state, "rgg,scale=12", class.name);
        spry_explanation *after = explained(context, "rgg,scale=12", class.name);
        assert_string_equal(info_of(before).fitted, info_of(after).fitted);
        for (int k = 0; k < info_of(before).candidates; k++) {
            const double one = candidate_at(before, k).predicted_us, other = candidate_at(after, k).predicted_us;
            assert_true(fabs(one - other) <= 0.01 * one);
        }
        spry_explanation_destroy(before);
        spry_explanation_destroy(after);
        spry_context_destroy(context);
        free(again);
        free(text);
    }
}

/* Asserts that a table changes the predictions of the context that loaded the table, and no other context's. */
static void a_table_decides(void **state)
{
    static const char slow[] = "rate %s launch 1e9\n";
    char line[64];
    spry_explanation *e = explained(*state, "grid7,x=40,y=40,z=40", "avx512");
    const char *first = info_of(e).format;
    assert_string_not_equal(first, "csr");
    char *text = printed(*state, "avx512");
    snprintf(line, sizeof line, slow, first);
    assert_true(strlen(text) + strlen(line) < TEXT_BYTES);
    strcat(text, line);
    write_table(text);
    spry_context *context = loaded();
    spry_explanation *other = explained(context, "grid7,x=40,y=40,z=40", "avx512");
    assert_string_not_equal(info_of(other).format, first);
    spry_explanation *again = explained(*state, "grid7,x=40,y=40,z=40", "avx512");
    assert_string_equal(info_of(again).format, first);
    spry_explanation_destroy(e);
    spry_explanation_destroy(other);
    spry_explanation_destroy(again);
    spry_context_destroy(context);
    free(text);
}

/* ---- fitting -------------------------------------------------------------------------------------------- */

enum { CASES = 8, MOST_OBSERVATIONS = 400 };
static const char *const specs[CASES] =
    {"grid7,x=20,y=20,z=20",       "grid5,x=90,y=90", "rgg,scale=12",     "rgg,scale=14",
     "uniform,rows=9000,degree=9", "rmat,scale=12",   "banded,rows=9000", "fem3,x=9,y=9,z=9"};

typedef struct observations {
    spry_explanation *explanations[CASES];
    spry_observation list[MOST_OBSERVATIONS];
    int64_t count;
} observations;

/*
 * Returns observations from an imaginary device, on which sell takes `factor` times the predicted time, and all set-up
 * takes half the predicted time.
 */
static observations *observe(spry_context *context, const char *device_class, double factor)
{
    observations *o = calloc(1, sizeof *o);
    assert_non_null(o);
    for (int s = 0; s < CASES; s++) {
        o->explanations[s] = explained(context, specs[s], device_class);
        for (int k = 0; k < info_of(o->explanations[s]).candidates; k++) {
            const spry_candidate c = candidate_at(o->explanations[s], k);
            if (c.predicted_us <= 0) continue;
            o->list[o->count] = SPRY_INIT(spry_observation);
            o->list[o->count].explanation = o->explanations[s];
            o->list[o->count].format = c.format;
            o->list[o->count].kernel = c.kernel;
            o->list[o->count].time_us = c.predicted_us * (strcmp(c.format, "sell") == 0 ? factor : 1);
            o->list[o->count++].setup_us = c.setup_us / 2;
        }
    }
    return o;
}

static void forget(observations *o)
{
    for (int s = 0; s < CASES; s++) spry_explanation_destroy(o->explanations[s]);
    free(o);
}

static void fits_follow_times(void **state)
{
    static const char *const classes[] = {"h200", "avx512"};
    for (int n = 0; n < 2; n++) {
        spry_context *context = context_of(0);
        observations *o = observe(context, classes[n], 3);
        spry_rates_fit_info info = SPRY_INIT(spry_rates_fit_info);
        const double sell = predicted(o->explanations[3], "sell"), csr = predicted(o->explanations[3], "csr");
        MUST(spry_rates_fit(context, &info, classes[n], o->list, o->count, "to a test", err));
        assert_int_equal(info.cases, CASES);
        assert_true(info.loss <= info.loss_before + 1e-9);
        assert_true(info.loss < 1.05 && info.worst_loss >= info.loss);
        spry_explanation *e = explained(context, specs[3], classes[n]);
        assert_string_equal(info_of(e).fitted, "to a test");
        const double ratio = predicted(e, "sell") / predicted(e, "csr") / (sell / csr);
        assert_true(ratio > 2 && ratio < 4.5);
        spry_explanation_destroy(e);
        forget(o);
        spry_context_destroy(context);
    }
}

static double time_of(const spry_explanation *e, const spry_candidate *like)
{
    for (int k = 0; k < info_of(e).candidates; k++) {
        const spry_candidate c = candidate_at(e, k);
        const int same_kernel = c.kernel && like->kernel ? strcmp(c.kernel, like->kernel) == 0
                                                         : c.kernel == like->kernel;
        if (same_kernel && strcmp(c.format, like->format) == 0) return c.predicted_us;
    }
    fail_msg("no candidate %s", like->format);
    return 0;
}

/*
 * Asserts that a fit changes nothing if the observed times and set-up times equal the predicted ones. Some matrices are
 * so small that only one thread works.
 */
static void true_rates_stay(void **state)
{
    enum { BOTH = 5 };
    static const char *const some[BOTH] = {"grid5,x=40,y=40", "uniform,rows=700,degree=9", "rmat,scale=9,edges=6",
                                           "grid7,x=20,y=20,z=20", "rgg,scale=14"};
    static spry_observation list[MOST_OBSERVATIONS];
    spry_explanation *e[BOTH];
    spry_rates_fit_info info = SPRY_INIT(spry_rates_fit_info);
    int64_t count = 0;
    for (int s = 0; s < BOTH; s++) {
        e[s] = explained(*state, some[s], "avx512");
        for (int k = 0; k < info_of(e[s]).candidates; k++) {
            const spry_candidate c = candidate_at(e[s], k);
            if (c.predicted_us <= 0) continue;
            list[count] = SPRY_INIT(spry_observation);
            list[count].explanation = e[s];
            list[count].format = c.format;
            list[count].kernel = c.kernel;
            list[count].time_us = c.predicted_us;
            list[count++].setup_us = c.setup_us;
        }
    }
    assert_int_equal(spry_rates_fit(*state, &info, "avx512", list, count, "to a test", NULL), SPRY_OK);
    assert_true(info.error_before < 1e-6 && info.error < 0.01);
    for (int s = 0; s < BOTH; s++) {
        spry_explanation *after = explained(*state, some[s], "avx512");
        for (int64_t n = 0; n < count; n++) {
            if (list[n].explanation != e[s]) continue;
            for (int k = 0; k < info_of(after).candidates; k++) {
                const spry_candidate c = candidate_at(after, k);
                if (strcmp(c.format, list[n].format) != 0 || c.predicted_us <= 0) continue;
                if (fabs(log(c.setup_us / list[n].setup_us)) > 0.1)
                    fail_msg("%s, %s: set-up %g us, it was %g", some[s], c.format, c.setup_us, list[n].setup_us);
            }
        }
        spry_explanation_destroy(after);
        spry_explanation_destroy(e[s]);
    }
}

/* Asserts that a fit that starts from very wrong rates finds the rates that the observed times imply. */
static void fits_begin_anywhere(void **state)
{
    static const char far[] = "rate sell launch 9\nrate sell sharp 6\nrate sell gather 1e6\nrate sell cached 1e6\n";
    spry_explanation *right[CASES];
    char *text = printed(*state, "h200");
    assert_true(strlen(text) + strlen(far) < TEXT_BYTES);
    strcat(text, far);
    write_table(text);
    spry_context *context = loaded();
    observations *o = observe(context, "h200", 1);
    for (int s = 0; s < CASES; s++) right[s] = explained(*state, specs[s], "h200");
    for (int64_t n = 0; n < o->count; n++) {
        const spry_candidate like = {.format = o->list[n].format, .kernel = o->list[n].kernel};
        int s = 0;
        while (o->explanations[s] != o->list[n].explanation) s++;
        o->list[n].time_us = time_of(right[s], &like);
    }
    assert_true(fabs(log(predicted(o->explanations[3], "sell") / predicted(right[3], "sell"))) > 0.5);
    assert_int_equal(spry_rates_fit(context, NULL, "h200", o->list, o->count, "to a test", NULL), SPRY_OK);
    for (int s = 0; s < CASES; s++) {
        spry_explanation *e = explained(context, specs[s], "h200");
        const double ratio = predicted(e, "sell") / predicted(right[s], "sell");
        if (ratio < 0.85 || ratio > 1.18) fail_msg("%s: sell at %g of its time", specs[s], ratio);
        spry_explanation_destroy(e);
        spry_explanation_destroy(right[s]);
    }
    forget(o);
    spry_context_destroy(context);
    free(text);
}

static void wrong_observations_are_refused(void **state)
{
    spry_context *context = *state, *other = NULL;
    spry_error err = SPRY_ERROR_INIT;
    observations *o = observe(context, "h200", 1);
    char *before = printed(context, "h200");
    spry_observation bad = o->list[0];
#define REFUSED(status, text)                                                                                          \
    do {                                                                                                               \
        assert_int_equal(spry_rates_fit(context, NULL, "h200", &bad, 1, "to a test", &err), status);                   \
        if (!strstr(err.message, text)) fail_msg("%s", err.message);                                                   \
        bad = o->list[0];                                                                                              \
    } while (0)
    bad.time_us = NAN;
    REFUSED(SPRY_INVALID_ARGUMENT, "observation 0 has a time_us outside the range");
    bad.time_us = 0;
    REFUSED(SPRY_INVALID_ARGUMENT, "has a time");
    bad.time_us = 1e-300;
    REFUSED(SPRY_INVALID_ARGUMENT, "has a time_us outside the range from 0.001 to 1e12");
    bad.setup_us = -1;
    REFUSED(SPRY_INVALID_ARGUMENT, "has a setup_us outside the range");
    bad.setup_us = INFINITY;
    REFUSED(SPRY_INVALID_ARGUMENT, "has a setup_us outside the range");
    bad.struct_size = 0;
    REFUSED(SPRY_INVALID_ARGUMENT, "observation 0 has struct_size 0, expected ");
    bad.struct_size = sizeof bad + 8;
    REFUSED(SPRY_INVALID_ARGUMENT, "has struct_size");
    bad.kernel = "abacus";
    REFUSED(SPRY_INVALID_ARGUMENT, "names a kernel that its format does not have");
    bad.kernel = strcmp(bad.format, "bsr") == 0 ? "csr_vector_cuda" : "bsr_blocks_cuda";
    REFUSED(SPRY_INVALID_ARGUMENT, "names a kernel that its format does not have");
    bad.time_us = 1e300;
    REFUSED(SPRY_INVALID_ARGUMENT, "has a time");
    bad.format = "scoo";
    bad.kernel = "";
    REFUSED(SPRY_INVALID_ARGUMENT, "is of a format without rates");
    bad.format = NULL;
    REFUSED(SPRY_INVALID_ARGUMENT, "has no explanation or no format");
    bad.explanation = explained(context, specs[0], "avx512");
    spry_explanation *of_cpu = (spry_explanation *)(uintptr_t)bad.explanation;
    REFUSED(SPRY_INVALID_ARGUMENT, "is of another class");
    bad.explanation = explained(context, "empty,rows=3,cols=3", "h200");
    spry_explanation *of_nothing = (spry_explanation *)(uintptr_t)bad.explanation;
    REFUSED(SPRY_INVALID_ARGUMENT, "without entries");
#undef REFUSED
    assert_int_equal(spry_context_create(&other, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_rates_fit(other, NULL, "h200", o->list, 1, "to a test", &err), SPRY_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "is of another context"));
    assert_int_equal(spry_rates_fit(context, NULL, "h200", o->list, 0, "to a test", &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_rates_fit(context, NULL, "h200", o->list, 1, "to a\ntest", &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_rates_fit(context, NULL, "abacus", o->list, 1, "to a test", &err), SPRY_UNKNOWN_NAME);
    assert_int_equal(spry_rates_fit(context, NULL, NULL, o->list, 1, "to a test", &err), SPRY_INVALID_ARGUMENT);
    char *after = printed(context, "h200");
    assert_string_equal(after, before);
    int64_t length = 0;
    assert_int_equal(spry_rates_print(context, after, 10, &length, "h200", &err), SPRY_TOO_LARGE);
    assert_int_equal(length, (int64_t)strlen(before));
    spry_explanation_destroy(of_cpu);
    spry_explanation_destroy(of_nothing);
    spry_context_destroy(other);
    forget(o);
    free(before);
    free(after);
}

/* ---- tables without sense ------------------------------------------------------------------------------- */

/*
 * Asserts that predicted times are finite and not negative with any numbers in a table. Explanations remain valid after
 * another table is loaded.
 */
static void absurd_tables_are_borne(void **state)
{
    static const double numbers[][2] = {{1e15, 1}, {1, 1e15}, {1e15, 1e15}, {0, 1e15}};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        spry_context *context = context_of(0);
        char *text = NULL, *line, *at;
        int facts = 0;
        text = printed(context, "avx512");
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("spry-tuning 3\n", file);
        for (line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
            const int is_rate = strncmp(line, "rate ", 5) == 0, is_sharp = strstr(line, " sharp ") != NULL;
            const int needs_one = is_sharp || strstr(line, " cached ") || strstr(line, " memory ");
            const double number = numbers[n][is_sharp ? 0 : 1];
            facts++;
            if (is_rate)
                fprintf(file, "%.*s %g\n", (int)(strrchr(line, ' ') - line), line,
                        needs_one && number < 1 ? 1 : number);
            else
                fprintf(file, "%s\n", line);
        }
        fprintf(file, "end %d\n", facts);
        assert_int_equal(fclose(file), 0);
        spry_explanation *before = explained(context, "grid7,x=20,y=20,z=20", "avx512");
        assert_int_equal(spry_context_load_tuning(context, path, NULL), SPRY_OK);
        spry_explanation *after = explained(context, "grid7,x=20,y=20,z=20", "avx512");
        assert_int_equal(spry_context_load_tuning(context, path, NULL), SPRY_OK);
        assert_string_equal(info_of(before).device_class, info_of(after).device_class);
        for (int k = 0; k < info_of(after).candidates; k++) {
            const double us = candidate_at(after, k).predicted_us;
            assert_true(us >= 0 && us <= 1e18);
        }
        spry_explanation_destroy(before);
        spry_explanation_destroy(after);
        spry_context_destroy(context);
        free(text);
    }
}

/* Tests a matrix with all entries in one long row, for which packed has no slices. */
static void one_long_row(void **state)
{
    enum { ROWS = 60000, LENGTH = 30000 };
    int32_t *offsets = malloc((ROWS + 1) * sizeof *offsets), *columns = malloc(LENGTH * sizeof *columns);
    double *values = malloc(LENGTH * sizeof *values);
    assert_true(offsets && columns && values);
    for (int i = 0; i <= ROWS; i++) offsets[i] = i > 7 ? LENGTH : 0;
    for (int k = 0; k < LENGTH; k++) columns[k] = 2 * k, values[k] = 1;
    spry_matrix *A = borrow_csr(*state, ROWS, ROWS, offsets, columns, values);
    for (int n = 0; n < device_class_count(); n++) {
        spry_device_class_info class = SPRY_INIT(spry_device_class_info);
        spry_explain_options o = SPRY_INIT(spry_explain_options);
        spry_explanation *e = NULL;
        assert_int_equal(spry_device_class_get_info(&class, n, NULL), SPRY_OK);
        o.device_class = class.name;
        assert_int_equal(spry_spmv_explain(*state, &e, A, &o, NULL), SPRY_OK);
        for (int k = 0; k < info_of(e).candidates; k++) assert_true(candidate_at(e, k).predicted_us >= 0);
        spry_explanation_destroy(e);
    }
    spry_matrix_destroy(A);
    free(offsets);
    free(columns);
    free(values);
}

/* ---- bad tables ----------------------------------------------------------------------------------------- */

static void bad_tables_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        {"title a machine\n", "a class before its title, numbers and rates", 2},
        {"class avx2-amd\n", "\"class NAME cpu\"", 2},
        {"class avx2-amd tpu\n", "\"class NAME cpu\"", 2},
        {"class avx2-amd cpu\nclass avx2-amd cpu\n", "each class once", 3},
        {"class avx2-amd cpu\nnumber cache_bytes much\n", "a number from 1 to 1e15", 3},
        {"class avx2-amd cpu\nnumber cash_bytes 1\n", "number cache_bytes|most_memory|copy|faster_memory", 3},
        {"class avx2-amd cpu\nrate csr launch\n", "\"rate FORMAT NAME NUMBER\"", 3},
        {"class avx2-amd cpu\nrate csr lunch 1\n", "\"rate FORMAT NAME NUMBER\"", 3},
        {"class avx2-amd cpu\nrate csr launch -1\n", "a number from 0 to 1e15", 3},
        {"class avx2-amd cpu\nrate csr sharp 0.5\n", "a number from 1 to 1e15", 3},
        {"class avx2-amd cpu\nrate csx launch 1\n", "a format, or a format and its kernel", 3},
        {"class avx2-amd cpu\nrate csr:bsr_blocks_cuda launch 1\n", "a format, or a format and its kernel", 3},
        {"class avx2-amd cpu\nrate csr:csr_vector_cuda launch 1\n", "a format, or a format and its kernel", 3},
        {"class avx2-amd cpu\nrate csr launch 1\n", "class avx2-amd lacks", 4},
        {"class avx2-amd cpu\nnumber cache_bytes 1e6\nnumber most_memory 1e5\nrate sell sharp 1\nrate sell cached 1\n"
         "rate sell memory 1\n",
         "rates of csr first", 8},
        {"class zen cpu\n",
         "no device has the class \"zen\", expected one of h200, h100, avx512, avx2, avx512-amd, avx2-amd", 2},
        {"class avx512-amd cuda\n", "class avx512-amd is for cpu, not for cuda", 2},
        {"class h200 cpu\n", "class h200 is for cuda, not for cpu", 2},
    };
    char *before = printed(*state, "avx512");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_error err = SPRY_ERROR_INIT;
        write_table(cases[c].text);
        assert_int_equal(spry_context_load_tuning(*state, path, &err), SPRY_BAD_FILE);
        if (!strstr(err.message, cases[c].message)) fail_msg("%s: %s", cases[c].text, err.message);
        assert_int_equal(err.line, cases[c].line);
    }
    char *after = printed(*state, "avx512");
    assert_string_equal(after, before);
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_come_back, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_table_decides, open_all, close_all),
        cmocka_unit_test_setup_teardown(fits_follow_times, open_all, close_all),
        cmocka_unit_test_setup_teardown(true_rates_stay, open_all, close_all),
        cmocka_unit_test_setup_teardown(fits_begin_anywhere, open_all, close_all),
        cmocka_unit_test_setup_teardown(wrong_observations_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(absurd_tables_are_borne, open_all, close_all),
        cmocka_unit_test_setup_teardown(one_long_row, open_all, close_all),
        cmocka_unit_test_setup_teardown(bad_tables_are_refused, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
