/*
 * Asserts that the parameters that a plan reports can be given with the format's name, and that the new plan then
 * reports equal parameters.
 */
#include "plan/plan.h"
#include "testing.h"

#include "catalogue/catalogue.h"
#include "spry/io.h"
#include "spry/tune.h"

#include <unistd.h>

enum { MOST_ROWS = 3000, MOST_NNZ = 9000 };

/*
 * A matrix in which `filled` rows have `length` entries. These rows, and the entries of a row, are at equal distances.
 * The other rows are empty.
 */
typedef struct shape {
    const char *name;
    int64_t rows, cols, filled, length;
} shape;

static const shape shapes[] = {
    {"nothing", 0, 0, 0, 0},
    {"no rows", 0, 7, 0, 0},
    {"no columns", 7, 0, 0, 0},
    {"no entries", 5, 5, 0, 0},
    {"one entry", 3000, 9, 1, 1},
    {"few filled rows", 3000, 100, 3, 40},
    {"half of the rows", 90, 9, 45, 1},
    {"every third row", 900, 900, 300, 9},
    {"full rows", 300, 20, 300, 20},
};

static spry_matrix *matrix_of(spry_context *context, const shape *s, spry_type type)
{
    static int32_t offsets[MOST_ROWS + 1], columns[MOST_NNZ];
    static const double zeros[MOST_NNZ]; /* of any type */
    spry_arrays a = SPRY_INIT(spry_arrays);
    int32_t nnz = 0;
    const int64_t step = s->filled > 0 ? s->rows / s->filled : 1;
    offsets[0] = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        const int is_filled = i % step == 0 && i / step < s->filled;
        for (int64_t k = 0; is_filled && k < s->length; k++) columns[nnz++] = (int32_t)(k * (s->cols / s->length));
        offsets[i + 1] = nnz;
    }
    a.rows = s->rows;
    a.columns = s->cols;
    a.nnz = nnz;
    a.layout = SPRY_CSR;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = type;
    a.offsets = offsets;
    a.indices = columns;
    a.values = type == SPRY_PATTERN ? NULL : (const void *)zeros;
    return create_matrix(context, &a);
}

/* Creates a plan and returns the parameters it reports, or "" if no kernel of the format multiplies the matrix. */
static void plan_in(spry_context *context, const spry_matrix *A, const char *format, spry_op op, char *reported,
                    size_t size)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    o.format = format;
    o.op = op;
    o.memory_limit_bytes = INT64_MAX; /* no padding guard */
    reported[0] = '\0';
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &err);
    if (status == SPRY_UNSUPPORTED) return;
    if (status != SPRY_OK) fail_msg("%s: %s", format, err.message);
    spry_spmv_plan_info info = plan_info(plan);
    snprintf(reported, size, "%s%s%s", info.format, info.parameters[0] ? ":" : "", info.parameters);
    spry_spmv_plan_destroy(plan);
}

static void predict_in(spry_context *context, const spry_matrix *A, const char *format, char *reported, size_t size)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spryi_storage s = {0};
    spry_error err = SPRY_ERROR_INIT;
    o.format = format;
    if (spryi_predict_storage(context, &s, A, &o, &err) != SPRY_OK) fail_msg("%s: %s", format, err.message);
    snprintf(reported, size, "%s%s%s", s.format, s.parameters[0] ? ":" : "", s.parameters);
}

static void check(spry_context *context, const spry_matrix *A, const char *format, const char *what)
{
    char first[160], again[160];
    for (int op = 0; op < 2; op++) {
        plan_in(context, A, format, op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, first, sizeof first);
        if (!first[0]) continue;
        plan_in(context, A, first, op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, again, sizeof again);
        if (strcmp(first, again) != 0) fail_msg("%s of %s: %s, then %s", format, what, first, again);
    }
    predict_in(context, A, format, first, sizeof first);
    predict_in(context, A, first, again, sizeof again);
    if (strcmp(first, again) != 0) fail_msg("%s of %s predicted: %s, then %s", format, what, first, again);
}

static void formats_come_back(void **state)
{
    static const spry_type types[] = {SPRY_F64, SPRY_F32, SPRY_PATTERN};
    spry_context *context = context_of(0);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            spry_matrix *A = matrix_of(context, &shapes[s], types[t]);
            for (int f = 0; f < format_count(); f++) {
                spry_format_info info = format_info(f);
                check(context, A, info.name, shapes[s].name);
            }
            check(context, A, "hyb:share=50", shapes[s].name);
            check(context, A, "hyb:share=100", shapes[s].name);
            check(context, A, "sell:c=7:sigma=9", shapes[s].name);
            check(context, A, "windowed:window=33:order=cells", shapes[s].name);
            check(context, A, "csr3:tuning=hopper", shapes[s].name);
            spry_matrix_destroy(A);
        }
    spry_context_destroy(context);
}

/* Asserts that an explicit width of 0 is used, and not replaced by the default width. */
static void no_width(void **state)
{
    static const shape full = {"full rows", 300, 20, 300, 20};
    spry_context *context = context_of(0);
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    char reported[160];
    spry_matrix *A = matrix_of(context, &full, SPRY_F64);
    plan_in(context, A, "hyb", SPRY_NO_TRANSPOSE, reported, sizeof reported);
    assert_string_equal(reported, "hyb:width=20");
    plan_in(context, A, "hyb:width=0", SPRY_NO_TRANSPOSE, reported, sizeof reported);
    assert_string_equal(reported, "hyb:width=0");
    static const struct {
        const char *format, *message;
    } cases[] = {{"hyb:width=0:share=50", "width and share are two rules"},
                 {"hyb:width=0:width=0", "width is given twice"},
                 {"hyb:width=-1", "expected width=NUMBER from 0 to"},
                 {"sell:c=0", "expected c=NUMBER from 1 to"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        o.format = cases[c].format;
        assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[c].message)) fail_msg("%s: %s", o.format, err.message);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* A container in hyb reports its width of 0, as the original plan does. */
static void in_containers(void **state)
{
    char path[64] = "/tmp/spry-parameters-XXXXXX", file[80], reported[160];
    spry_context *context = context_of(0);
    spry_write_options o = SPRY_INIT(spry_write_options);
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/a.spry", path);
    spry_matrix *A = matrix_of(context, &shapes[5], SPRY_F64);
    o.format = "hyb:width=0";
    MUST(spry_matrix_write(A, file, &o, err));
    spry_matrix *read = read_matrix(context, file, NULL);
    plan_in(context, read, NULL, SPRY_NO_TRANSPOSE, reported, sizeof reported);
    assert_string_equal(reported, "hyb:width=0");
    plan_in(context, read, "hyb:width=0", SPRY_NO_TRANSPOSE, reported, sizeof reported);
    assert_string_equal(reported, "hyb:width=0");
    spry_matrix_destroy(read);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
}

/*
 * Tests parameters that are given after a kernel's name, for kernels whose parameters are words or numbers. No GPU is
 * needed.
 */
static void parameters_of_kernels(void **state)
{
    static const struct {
        const char *text;
        spry_status status;
        int64_t numbers[2];
        const char *message; /* or a part of the message */
    } cases[] = {
        {"csr_vector_cuda", SPRY_OK, {0, 0}, ""},
        {"csr_vector_cuda:lanes=2", SPRY_OK, {1, 0}, ""},
        {"csr_vector_cuda:lanes=32", SPRY_OK, {5, 0}, ""},
        {"csr_adaptive_cuda:vector=64:nnz_per_wg=256", SPRY_OK, {1, 64}, ""},
        {"csr_vector_cuda:lanes=3", SPRY_INVALID_ARGUMENT, {0}, "kernel csr_vector_cuda: \"lanes=3\", expected"},
        {"csr_vector_cuda:lanes", SPRY_INVALID_ARGUMENT, {0}, "expected lanes=2|4|8|16|32 (lanes"},
        {"csr_adaptive_cuda:nnz_per_wg=65", SPRY_INVALID_ARGUMENT, {0}, "expected nnz_per_wg=256|512|1024|2048"},
        {"csr_vector_cuda:width=2", SPRY_UNKNOWN_NAME, {0}, "kernel csr_vector_cuda has no parameter \"width\""},
        {"csr_vector_cuda:lanes=2:lanes=4", SPRY_INVALID_ARGUMENT, {0}, "lanes is given twice"},
        {"csr_adaptive_cuda:vector=0", SPRY_INVALID_ARGUMENT, {0}, "expected vector=NUMBER from 1 to 2048"},
        {"csr_adaptive_cuda:vector= 8", SPRY_INVALID_ARGUMENT, {0}, "expected vector=NUMBER"},
        {"csr_adaptive_cuda:vector=+8", SPRY_INVALID_ARGUMENT, {0}, "expected vector=NUMBER"},
        {"csr_adaptive_cuda:vector=00000000000000000000000000000000000000000000000000000000000000000000000000000000064",
         SPRY_INVALID_ARGUMENT,
         {0},
         "over 90 bytes of parameters"},
        {"csr_scalar_cuda:lanes=2", SPRY_UNKNOWN_NAME, {0}, "expected none"},
        {"csr_vector:lanes=2", SPRY_UNKNOWN_NAME, {0}, "no kernel \"csr_vector\" is known"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_error err = SPRY_ERROR_INIT;
        const spryi_kernel *kernel = NULL;
        int64_t numbers[SPRYI_PARAMETERS] = {-7, -7, -7, -7};
        const spry_status status = spryi_parse_kernel(&kernel, numbers, cases[c].text, SPRYI_OP_SPMV, &err);
        if (status != cases[c].status) fail_msg("%s: %s", cases[c].text, spry_status_text(status));
        if (!strstr(err.message, cases[c].message)) fail_msg("%s: \"%s\"", cases[c].text, err.message);
        if (status != SPRY_OK) {
            assert_null(kernel);
            assert_int_equal(numbers[0], -7);
            continue;
        }
        assert_memory_equal(kernel->name, cases[c].text, strlen(kernel->name));
        assert_int_equal(numbers[0], cases[c].numbers[0]);
        assert_int_equal(numbers[1], cases[c].numbers[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats_come_back), cmocka_unit_test(no_width),
                                       cmocka_unit_test(in_containers), cmocka_unit_test(parameters_of_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
