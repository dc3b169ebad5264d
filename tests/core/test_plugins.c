/*
 * Tests of CUDA plug-ins that are missing or unusable. One readable sentence must give the reason, and the CPU must
 * still work.
 */
#include "spry/cuda.h"
#include "support.h"

static const struct {
    const char *path;    /* relative to the folder of test plug-ins, unless it begins with a slash */
    const char *text[4]; /* parts of the reason */
} cases[] = {
    {"none.so", {"no CUDA plug-in", "none.so", "No such file", "./quickstart --gpu builds it"}},
    {"", {"no CUDA plug-in", "directory"}},
    {"text.so", {"no CUDA plug-in", "text.so", "file too short"}},
    {"stranger.so", {"stranger.so", "is not a plug-in of Spry"}},
    {"nothing.so", {"nothing.so", "is not a plug-in of Spry"}},
    {"other_build.so", {"other_build.so is of build 0.0.1-another", "install both from one"}},
    {"no_driver.so", {"fake: no driver is installed"}},
    {"broken_device.so", {"fake: the device does not answer"}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *path_of(int c)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", SPRY_TEST_PLUGINS, cases[c].path);
    return path;
}

static spry_context *context_with(const char *plugin)
{
    spry_context *context = NULL;
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = 1;
    options.cuda_plugin = plugin;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    return context;
}

static void has(const char *text, const char *wanted)
{
    if (!strstr(text, wanted)) fail_msg("\"%s\" has no \"%s\"", text, wanted);
}

/*
 * Asserts that the only device "cuda" is unavailable, each use is refused with the reason, and the CPU's product is
 * right.
 */
static void check(spry_context *context, const char *const *texts, int count)
{
    spry_device_info info = SPRY_INIT(spry_device_info);
    spry_error err = SPRY_ERROR_INIT;
    void *data = NULL;
    sample s = sample_make(40, 30);
    spry_matrix *A = sample_matrix(context, &s, 0);
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    double y[40];

    assert_int_equal(spry_device_count(context), 2);
    assert_int_equal(spry_device_get_info(context, &info, 1, NULL), SPRY_OK);
    assert_string_equal(info.name, "cuda");
    assert_false(info.available);
    assert_true(strlen(info.reason) > 10 && !strchr(info.reason, '\n'));
    o.device = 1;
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_DEVICE_UNAVAILABLE);
    for (int t = 0; t < count && texts[t]; t++) {
        has(info.reason, texts[t]);
        has(err.message, texts[t]);
    }
    assert_null(plan);
    spry_explanation *explanation; /* works without the device, by the rates of its class */
    spry_explain_options explain = SPRY_INIT(spry_explain_options);
    explain.spmv = &o;
    explain.storage_of = "all";
    assert_int_equal(spry_spmv_explain(context, &explanation, A, &explain, &err), SPRY_OK);
    spry_explanation_destroy(explanation);
    o = SPRY_INIT(spry_spmv_options);
    o.kernel = "csr_merge_cuda";
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_DEVICE_UNAVAILABLE, NULL);
    o.device = 7;
    expect_error(spry_device_find(context, &o.device, "cuda", &err), SPRY_DEVICE_UNAVAILABLE, "name");
    assert_int_equal(o.device, 7);
    static const char *const odd[] = {"cuda:", "cuda:+1", "cuda: 1", "cuda:-1", "cuda:1x", "cpu:0", "gpu", ""};
    for (size_t n = 0; n < sizeof odd / sizeof *odd; n++)
        expect_error(spry_device_find(context, &o.device, odd[n], &err), SPRY_UNKNOWN_NAME, "name");
    assert_int_equal(spry_device_find(context, &o.device, "cpu", NULL), SPRY_OK);
    assert_int_equal(o.device, SPRY_CPU);
    expect_error(spry_device_allocate(context, &data, 1, 64, &err), SPRY_DEVICE_UNAVAILABLE, "device");
    expect_error(spry_device_synchronize(context, 1, NULL, &err), SPRY_DEVICE_UNAVAILABLE, "device");
    assert_null(data);

    spry_vector x = {.data = s.x, .length = s.cols, .type = SPRY_F64};
    spry_vector to = {.data = y, .length = s.rows, .type = SPRY_F64};
    assert_int_equal(spry_spmv(context, to, NULL, A, spry_vector_as_const(x), NULL, NULL), SPRY_OK);
    assert_true(is_product(&s, 0, y));
    spry_matrix_destroy(A);
    sample_free(&s);
    assert_int_equal(context_bytes(context), 0);
}

static void given_to_the_context(void **state)
{
    for (int c = 0; c < CASES; c++) {
        spry_context *context = context_with(path_of(c));
        check(context, cases[c].text, 4);
        spry_context_destroy(context);
    }
}

static void given_by_the_environment(void **state)
{
    static const char *const bare[] = {"plug-in \"libspry-cuda.so\"", "expected a path with a slash"};
    for (int c = 0; c <= CASES; c++) {
        setenv("SPRY_CUDA_PLUGIN", c < CASES ? path_of(c) : "libspry-cuda.so", 1);
        spry_context *context = context_with(NULL);
        if (c < CASES)
            check(context, cases[c].text, 4);
        else
            check(context, bare, 2); /* refused: dlopen would search folders that other users can write */
        spry_context_destroy(context);
    }
    unsetenv("SPRY_CUDA_PLUGIN");
}

/* Asserts that the path in the context's options takes precedence over SPRY_CUDA_PLUGIN. */
static void both_given(void **state)
{
    setenv("SPRY_CUDA_PLUGIN", path_of(0), 1);
    spry_context *context = context_with(path_of(CASES - 1));
    check(context, cases[CASES - 1].text, 3);
    spry_context_destroy(context);
    unsetenv("SPRY_CUDA_PLUGIN");
}

/* Asserts that the reason names libspry-cuda.so if no plug-in is installed next to this program. */
static void none_given(void **state)
{
    static const char *const texts[] = {"no CUDA plug-in", "libspry-cuda.so"};
    unsetenv("SPRY_CUDA_PLUGIN");
    spry_context *context = context_with(NULL);
    check(context, texts, 2);
    spry_context_destroy(context);
}

/* Asserts that a path that is too long is refused without loading. */
static void too_long(void **state)
{
    static char path[2048];
    memset(path, '/', sizeof path - 1);
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.cuda_plugin = path;
    spry_context *context = NULL;
    expect_error(spry_context_create(&context, &options, &err), SPRY_INVALID_ARGUMENT, "cuda_plugin");
    assert_null(context);
}

#ifdef SPRY_REAL_PLUGIN
/*
 * Asserts that the plug-in of this build loads on every machine. If CUDA has no visible device or no driver, the reason
 * comes from CUDA.
 */
static void real_plugin_without_devices(void **state)
{
    static const char *const texts[] = {"CUDA"};
    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* CUDA reads the variable at its first call, below */
    spry_context *context = context_with(SPRY_REAL_PLUGIN);
    check(context, texts, 1);
    spry_context_destroy(context);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_to_the_context),
        cmocka_unit_test(given_by_the_environment),
        cmocka_unit_test(both_given),
        cmocka_unit_test(none_given),
        cmocka_unit_test(too_long),
#ifdef SPRY_REAL_PLUGIN
        cmocka_unit_test(real_plugin_without_devices),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
