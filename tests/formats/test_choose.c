/* Tests which formats "auto" chooses. The choice for a GPU is made on the host, so the tests need no GPU. */
#include "../kernels/in_blocks.h"
#include "base/context.h"
#include "choose/choose.h"
#include "matrix/matrix.h"

typedef struct choice_case {
    const char *spec, *format, *why;
    int64_t calls;
} choice_case;

/*
 * Creates a context of two threads with the instruction level `simd`. The context only chooses, so the processor may
 * lack this level.
 */
static spry_context *chooser(spryi_simd simd)
{
    spry_context *context = context_of(2);
    context->simd = simd;
    return context;
}

/* Checks every case, or every third case under a sanitizer, since sanitizers do not change the choice. */
static void check_choices(const char *device, spryi_simd simd, const choice_case *cases, size_t count)
{
    spry_context *context = chooser(simd);
    for (size_t c = 0; c < count; c += INSTRUMENTED ? 3 : 1) {
        spryi_choice choice = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_error err = SPRY_ERROR_INIT;
        options.device = strcmp(device, "cpu") == 0 ? SPRY_CPU : 1;
        options.expected_calls = cases[c].calls;
        options.vector_type = SPRY_F64;
        spry_matrix *A = generate_matrix(context, cases[c].spec);
        const char *class_name = strcmp(device, "cuda") == 0 ? "h200" : simd == SPRYI_AVX512 ? "avx512" : "avx2";
        if (spryi_choose_on(A, &options, spryi_device_class_named(class_name), NULL, &choice, &err) != SPRY_OK)
            fail_msg("%s", err.message);
        if (strcmp(choice.format->name, cases[c].format) != 0 || !strstr(choice.reason, cases[c].why))
            fail_msg("%s on %s: %s", cases[c].spec, device, choice.reason);
        assert_true(strstr(choice.reason, choice.format->name) == choice.reason);
        spry_matrix_destroy(A);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

typedef struct block_case {
    const char *spec;
    int b;
    unsigned holes; /* bit p: position p of every block has no entry */
    const char *device, *format, *why;
} block_case;

static void choices_of_blocks(void **state)
{
    enum { TWO_OF_16 = 1u << 3 | 1u << 13, HALF_OF_16 = 0xa5a5 };
    static const block_case cases[] = {
        {"rgg20,scale=14", 3, 0, "cuda", "bsr", "us a product predicted"},
        /* The matrix is small, and the launches of csr_merge_cuda overlap. So csr is predicted to be faster. */
        {"rgg20,scale=11", 3, 0, "cuda", "csr", "us a product predicted"},
        /* Only 2 of the 16 values of a block are zeros. */
        {"rgg20,scale=15", 4, TWO_OF_16, "cuda", "bsr", "us a product predicted"},
        /* column - row has few different values. */
        {"grid7,x=40,y=40,z=40", 5, 0, "cuda", "packed", "us a product predicted"},
        {"grid7,x=20,y=20,z=20", 5, 0, "cuda", "bsr", "us a product predicted"}, /* too few slices for packed */
        /* Half of the values that bsr stores would be zeros. */
        {"rgg20,scale=13", 4, HALF_OF_16, "cuda", "csr", "us a product predicted"},
        {"rgg20,scale=12", 1, 0, "cuda", "csr", "us a product predicted"},
        {"rgg20,scale=12", 4, TWO_OF_16, "cpu", "bsr", "of csr's time a product, "},
        /* Half of the values that bsr stores would be zeros. packed stores the values as f32. */
        {"rgg20,scale=12", 4, HALF_OF_16, "cpu", "packed", "of csr's time a product, "},
        {"rgg20,scale=14", 3, 0, "cpu", "bsr", "of csr's time a product, "},
        {"diagonal,rows=60000", 3, 0, "cpu", "ell", "of csr's time a product, "}, /* rows of equal length */
        {"banded,rows=9000", 1, 0, "cpu", "packed", "of csr's time a product, "}, /* all values are 1 */
        {"rgg20,scale=12", 1, 0, "cpu", "sell", "of csr's time a product, "},
    };
    spry_context *context = chooser(SPRYI_AVX512);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_choice choice = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_matrix *A = matrix_in_blocks(context, cases[c].spec, cases[c].b, cases[c].holes, SPRY_F64);
        options.device = strcmp(cases[c].device, "cpu") == 0 ? SPRY_CPU : 1;
        options.vector_type = SPRY_F64;
        const char *class_name = strcmp(cases[c].device, "cuda") == 0 ? "h200" : "avx512";
        assert_int_equal(spryi_choose_on(A, &options, spryi_device_class_named(class_name), NULL, &choice, NULL),
                         SPRY_OK);
        if (strcmp(choice.format->name, cases[c].format) != 0 || !strstr(choice.reason, cases[c].why))
            fail_msg("%s in blocks of %d on %s: %s", cases[c].spec, cases[c].b, cases[c].device, choice.reason);
        spry_matrix_destroy(A);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

static void choices_on_a_gpu(void **state)
{
    static const choice_case cases[] = {
        {"grid7,x=80,y=80,z=80", "packed", "us a product predicted, sell ", 0},
        {"grid7,x=60,y=60,z=60", "csr", "too few calls", 3},
        {"grid7,x=60,y=60,z=60", "csr", "too few calls", 20},
        /* An inspection would take more than 10 % of the predicted time of 75 calls. */
        {"grid7,x=60,y=60,z=60", "csr", "too few calls expected for an inspection", 75},
        {"grid7,x=80,y=80,z=80", "packed", "set-up counted over 2000", 2000}, /* a short inspection */
        {"grid7,x=80,y=80,z=80", "packed", "set-up counted over 20000", 20000},
        {"grid7,x=50,y=50,z=50", "sell", "csr_vector_cuda ", 0}, /* most rows have the same length */
        {"rgg20,scale=16", "csr", "with csr_vector_cuda", 0},
        {"rgg20,scale=19,shuffle=5", "windowed", "", 0},        /* neighbours have random indices */
        {"arrow,rows=400000", "csr", "with csr_merge_cuda", 0}, /* one dense row */
        {"rmat16", "csr", "with csr_merge_cuda", 0},
        {"rmat18", "swept", "csr_merge_cuda ", 0},
        {"uniform,rows=600000,degree=18", "swept", "", 0},
    };
    check_choices("cuda", SPRYI_AVX2, cases, sizeof cases / sizeof *cases);
}

/*
 * Tests which kernel of csr is chosen for few products on a GPU. The choice is made without an inspection. It depends
 * on the kernels' set-up times and their speed on long rows.
 */
static void kernels_for_few_calls(void **state)
{
    static const choice_case cases[] = {
        {"rgg20,scale=16", "csr", "; with csr_vector_cuda", 1},
        {"rmat16", "csr", "; with csr_vector_cuda", 1},
        {"rmat16", "csr", "; with csr_merge_cuda", 60}, /* long rows; product time exceeds set-up time */
        {"uniform,rows=5000,degree=40", "csr", "; with csr_vector_cuda", 5},
        {"arrow,rows=100000", "csr", "; with csr_merge_cuda", 1},   /* other kernels would wait for one dense row */
        {"circuit,rows=20000", "csr", "; with csr_merge_cuda", 20}, /* some long rows */
        {"random,rows=400000,cols=400000,density=1.5e-7", "csr", "; with csr_scalar_cuda", 20}, /* mostly empty rows */
    };
    check_choices("cuda", SPRYI_AVX2, cases, sizeof cases / sizeof *cases);
}

static void choices_on_a_cpu(void **state)
{
    static const choice_case avx512[] = {
        {"rgg20,scale=15", "packed", "csr ", 0},
        {"rgg20,scale=17,shuffle=1", "windowed", "sell ", 0}, /* neighbours have random indices */
        {"grid7,x=60,y=60,z=60", "packed", "csr ", 0}, /* a row mostly has the columns of the row before plus 1 */
        {"grid7,x=60,y=60,z=60", "packed", "set-up counted over 100", 100},
        {"banded,rows=200000", "packed", "csr ", 0},          /* a row has the columns of the row before plus 1 */
        {"uniform,rows=200000,degree=18", "ell", "scoo ", 0}, /* rows of equal length */
        {"rmat16", "packed", "scoo ", 0},
        {"grid7,x=20,y=20,z=20", "ell", "set-up counted over 10000", 0},
        {"grid7,x=20,y=20,z=20", "ell", "set-up counted over 1000", 1000},
        {"grid7,x=20,y=20,z=20", "csr", "too few calls expected for an inspection", 30},
        {"grid7,x=20,y=20,z=20", "csr", "too few calls expected for each conversion", 5},
        {"grid7,x=10,y=10,z=10", "packed", "set-up counted over 10000", 0}, /* so small that only one thread works */
        {"grid5,x=4,y=4", "csr", "too few entries", 0},                     /* inspection costs more than it can save */
    };
    static const choice_case avx2[] = {
        {"rgg20,scale=15", "packed", "csr ", 0},
        {"grid7,x=60,y=60,z=60", "packed", "csr ", 0},
        {"uniform,rows=200000,degree=18", "scoo", "", 0},
        {"rmat16", "packed", "csr ", 0},
        {"grid7,x=20,y=20,z=20", "packed", "set-up counted over 10000", 0},
        {"grid7,x=20,y=20,z=20", "csr", "too few calls", 5},
    };
    check_choices("cpu", SPRYI_AVX512, avx512, sizeof avx512 / sizeof *avx512);
    check_choices("cpu", SPRYI_AVX2, avx2, sizeof avx2 / sizeof *avx2);
}

/*
 * Tests the choices for multiple vectors. csr reads the matrix once per run if the vectors are row-major, and once per
 * vector if they are column-major.
 */
static void choices_for_columns(void **state)
{
    static const struct {
        const char *spec, *device;
        int64_t columns;
        int row_major;
        const char *format;
    } cases[] = {
        {"grid7,x=60,y=60,z=60", "avx512", 0, 0, "packed"},
        {"grid7,x=60,y=60,z=60", "avx512", 0, 1, "packed"},
        {"grid7,x=60,y=60,z=60", "avx512", 2, 0, "packed"},
        {"grid7,x=60,y=60,z=60", "avx512", 8, 1, "csr"},
        {"grid7,x=60,y=60,z=60", "avx512", 32, 1, "csr"},
        {"fem3,x=14,y=14,z=14", "avx512", 8, 0, "csr"},
        {"grid7,x=60,y=60,z=60", "h200", 8, 0, "packed"},
        {"grid7,x=60,y=60,z=60", "h200", 32, 1, "packed"},
        {"circuit,rows=300000", "h200", 32, 0, "csr"},
        {"circuit,rows=300000", "h200", 32, 1, "csr"},
        {"rmat16", "h200", 8, 1, "csr"},
    };
    spry_context *context = chooser(SPRYI_AVX512);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = generate_matrix(context, cases[c].spec);
        spryi_choice choice = {0};
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.device = strcmp(cases[c].device, "h200") == 0 ? 1 : SPRY_CPU;
        o.vector_type = SPRY_F64;
        o.count = cases[c].columns;
        o.row_major = cases[c].row_major;
        const spryi_device_class *device = spryi_device_class_named(cases[c].device);
        assert_int_equal(spryi_choose_on(A, &o, device, NULL, &choice, NULL), SPRY_OK);
        if (strcmp(choice.format->name, cases[c].format) != 0)
            fail_msg("%d columns of %s on %s: %s", (int)o.count, cases[c].spec, cases[c].device, choice.reason);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/*
 * Tests the policy "tree" with one matrix for each leaf of the decision tree, and with the hints that a caller may add.
 */
static void choices_of_the_tree(void **state)
{
    static const struct {
        const char *spec, *policy, *format, *why;
        spry_op op;
    } cases[] = {
        {"grid7,x=20,y=20,z=20", "tree", "ell", "within 1.5 times", SPRY_NO_TRANSPOSE},
        {"arrow,rows=4000", "tree", "hyb", "over 1.5 times", SPRY_NO_TRANSPOSE},
        {"rmat16,scale=10", "tree", "csr", "not very sparse", SPRY_NO_TRANSPOSE},
        {"rmat,scale=12,edges=1", "tree", "coo", "are very sparse", SPRY_NO_TRANSPOSE},
        {"grid7,x=20,y=20,z=20", "tree", "csc", "by columns", SPRY_TRANSPOSE},
        {"grid7,x=20,y=20,z=20", "tree:memory", "csr", "memory is scarce", SPRY_NO_TRANSPOSE},
        {"grid7,x=20,y=20,z=20", "tree:unpredictable", "hyb", "unpredictable", SPRY_NO_TRANSPOSE},
    };
    spry_context *context = chooser(SPRYI_AVX2);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_choice choice = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.policy = cases[c].policy;
        options.op = cases[c].op;
        options.vector_type = SPRY_F64;
        spry_matrix *A = generate_matrix(context, cases[c].spec);
        assert_int_equal(spryi_choose_on(A, &options, spryi_device_class_named("avx512"), NULL, &choice, NULL),
                         SPRY_OK);
        if (strcmp(choice.format->name, cases[c].format) != 0 || !strstr(choice.reason, cases[c].why))
            fail_msg("%s by %s: %s", cases[c].spec, cases[c].policy, choice.reason);
        spry_matrix_destroy(A);
    }
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.policy = "oracle";
    spry_matrix *A = generate_matrix(context, "grid5,x=9,y=9");
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &options, &err), SPRY_UNKNOWN_NAME);
    assert_string_equal(err.argument, "policy");
    assert_string_equal(err.message,
                        "no policy \"oracle\", expected cost, measure, tree, tree:memory or tree:unpredictable");
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/*
 * If the choice exceeds the memory limit, the plan uses csr: the call succeeds and err is unchanged. If csr also
 * exceeds the limit, the call fails and reports the bytes needed.
 */
static void refused_choices(void **state)
{
    static const char *const specs[] = {"fem3,x=8,y=8,z=8", "grid5,x=60,y=60", "banded,rows=900", "rmat,scale=9"};
    spry_context *context = context_of(0);
    int instead = 0;
    for (int s = 0; s < 4; s++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            spry_error err = SPRY_ERROR_INIT;
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.op = (spry_op)op;
            spry_matrix *A = generate_matrix(context, specs[s]);
            o.format = "csr";
            spry_spmv_plan *plan = create_plan(context, A, &o);
            spry_spmv_plan_info info = plan_info(plan);
            spry_spmv_plan_destroy(plan);
            plan = NULL;
            o.format = NULL;
            o.memory_limit_bytes = info.owned_bytes;
            if (spry_spmv_plan_create(context, &plan, A, &o, &err) == SPRY_OK) {
                assert_int_equal(err.status, SPRY_OK);
                assert_string_equal(err.message, "");
                info = plan_info(plan);
                assert_true(info.owned_bytes <= o.memory_limit_bytes);
                instead += strstr(info.reason, "would take more memory than is allowed") != NULL;
            }
            assert_non_null(plan);
            spry_spmv_plan_destroy(plan);
            plan = NULL;
            const int64_t needed = o.memory_limit_bytes;
            o.memory_limit_bytes = needed - 1;
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
            assert_string_equal(err.argument, "memory_limit_bytes");
            assert_true(err.value == needed && err.limit == needed - 1);
            assert_null(plan);
            spry_matrix_destroy(A);
        }
    assert_true(instead > 0);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_on_a_gpu),      cmocka_unit_test(choices_on_a_cpu),
                                       cmocka_unit_test(kernels_for_few_calls), cmocka_unit_test(choices_of_the_tree),
                                       cmocka_unit_test(choices_of_blocks),     cmocka_unit_test(choices_for_columns),
                                       cmocka_unit_test(refused_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
