/* What "auto" takes; on a GPU, which needs none: the host chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../kernels/in_blocks.h"
#include "choose/choose.h"
#include "core/matrix.h"

#include "spry/spry.h"
#include "spry/tools.h"

#include <string.h>

typedef struct choice_case {
    const char *spec, *format, *why;
    int64_t calls;
} choice_case;

static void check_choices(const char *device, const choice_case *cases, size_t count)
{
    spry_context *context = NULL;
    assert_int_equal(spry_context_create(&context, NULL, NULL), SPRY_OK);
    for (size_t c = 0; c < count; c++) {
        spry_matrix *A = NULL;
        spryi_choice choice = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_error err = SPRY_ERROR_INIT;
        options.device = strcmp(device, "cpu") == 0 ? SPRY_CPU : 1;
        options.expected_calls = cases[c].calls;
        options.vector_type = SPRY_F64;
        if (spry_matrix_generate(context, &A, cases[c].spec, NULL, &err) != SPRY_OK) fail_msg("%s", err.message);
        if (spryi_choose_format(A, &options, spryi_driver_named(device), &choice, &err) != SPRY_OK)
            fail_msg("%s", err.message);
        if (strcmp(choice.format->name, cases[c].format) != 0 || !strstr(choice.reason, cases[c].why))
            fail_msg("%s on %s: %s", cases[c].spec, device, choice.reason);
        assert_true(strstr(choice.reason, choice.format->name) == choice.reason);
        spry_matrix_destroy(A);
    }
    assert_int_equal(spry_context_bytes(context), 0);
    spry_context_destroy(context);
}

typedef struct block_case {
    const char *spec;
    int b;
    unsigned holes; /* a bit for each place of a block */
    const char *device, *format, *why;
} block_case;

static void choices_of_blocks(void **state)
{
    (void)state;
    enum { TWO_OF_16 = 1u << 3 | 1u << 13, HALF_OF_16 = 0xa5a5 };
    static const block_case cases[] = {
        {"rgg20,scale=13", 3, 0, "cuda", "bsr", "us a product predicted"},
        {"rgg20,scale=13", 4, TWO_OF_16, "cuda", "bsr", "us a product predicted"},  /* as a flow's Jacobian has them */
        {"grid7,x=40,y=40,z=40", 5, 0, "cuda", "packed", "us a product predicted"}, /* its slices step */
        {"grid7,x=20,y=20,z=20", 5, 0, "cuda", "bsr", "us a product predicted"},    /* too few slices for packed */
        {"rgg20,scale=13", 4, HALF_OF_16, "cuda", "csr", "us a product predicted"}, /* holes take what blocks spare */
        {"rgg20,scale=13", 2, 0, "cuda", "bsr", "us a product predicted"},          /* 17 entries a row */
        {"rgg20,scale=12", 1, 0, "cuda", "sell", "us a product predicted"},
        {"rgg20,scale=12", 4, TWO_OF_16, "cpu", "bsr", "blocks of 4 x 4"},
        {"rgg20,scale=12", 4, HALF_OF_16, "cpu", "csr", ""},
        {"rgg20,scale=14", 3, 0, "cpu", "bsr", "blocks of 3 x 3"},
        {"rgg20,scale=9", 3, 0, "cpu", "csr", ""},                  /* small: all lies near the processor */
        {"diagonal,rows=60000", 3, 0, "cpu", "csr", "follow"},      /* a block a block row */
        {"banded,rows=9000", 1, 0, "cpu", "csr", "bytes an entry"}, /* csr's rows step */
        {"rgg20,scale=12", 1, 0, "cpu", "hyb", "rows are uniform"},
    };
    spry_context *context = NULL;
    assert_int_equal(spry_context_create(&context, NULL, NULL), SPRY_OK);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_choice choice = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_matrix *A = matrix_in_blocks(context, cases[c].spec, cases[c].b, cases[c].holes, SPRY_F64);
        options.device = strcmp(cases[c].device, "cpu") == 0 ? SPRY_CPU : 1;
        options.vector_type = SPRY_F64;
        assert_int_equal(spryi_choose_format(A, &options, spryi_driver_named(cases[c].device), &choice, NULL), SPRY_OK);
        if (strcmp(choice.format->name, cases[c].format) != 0 || !strstr(choice.reason, cases[c].why))
            fail_msg("%s in blocks of %d on %s: %s", cases[c].spec, cases[c].b, cases[c].device, choice.reason);
        spry_matrix_destroy(A);
    }
    assert_int_equal(spry_context_bytes(context), 0);
    spry_context_destroy(context);
}

static void choices_on_a_gpu(void **state)
{
    (void)state;
    static const choice_case cases[] = {
        {"grid7,x=60,y=60,z=60", "packed", "us a product predicted, sell ", 0},
        {"grid7,x=60,y=60,z=60", "csr", "too few calls", 3},
        {"grid7,x=60,y=60,z=60", "csr", "too few calls", 20},
        {"grid7,x=60,y=60,z=60", "csr", "set-up counted over 75", 75}, /* which do not pay a conversion */
        {"grid7,x=20,y=20,z=20", "sell", "", 0},                       /* small, even rows */
        {"rgg20,scale=16", "csr", "", 0},                              /* uneven rows, all resident at once */
        {"rgg20,scale=17", "packed", "", 0},                           /* the same, large, with local columns */
        {"rgg20,scale=19,shuffle=5", "windowed", "", 0},               /* neighbours that are numbered anyhow */
        {"uniform,rows=60000,degree=12", "sell", "", 0},               /* even rows, which need their columns */
        {"arrow,rows=400000", "csr", "", 0},                           /* a row of all columns */
        {"rmat16", "csr", "", 0},
        {"rmat18", "swept", "csr ", 0},
        {"uniform,rows=600000,degree=18", "swept", "", 0},
    };
    check_choices("cuda", cases, sizeof cases / sizeof *cases);
}

static void choices_on_a_cpu(void **state)
{
    (void)state;
    static const choice_case cases[] = {
        {"rgg20,scale=15", "csr", "ahead of hyb's", 0},    /* 9 entries a row and more */
        {"arrow,rows=4000", "hyb", "rows are uniform", 0}, /* 3 */
        {"rmat16,scale=10", "csr", "row lengths vary", 0},   {"grid7,x=20,y=20,z=20", "csr", "bytes an entry", 0},
        {"grid7,x=20,y=20,z=20", "csr", "too few calls", 5},
    };
    check_choices("cpu", cases, sizeof cases / sizeof *cases);
}

/*
 * A choice that passes the memory limit makes way for csr: the call succeeds, and err is as it was. Where csr passes it
 * as well the call does not, and tells the bytes.
 */
static void refused_choices(void **state)
{
    (void)state;
    static const char *const specs[] = {"fem3,x=8,y=8,z=8", "grid5,x=60,y=60", "banded,rows=900", "rmat,scale=9"};
    spry_context *context = NULL;
    int instead = 0;
    assert_int_equal(spry_context_create(&context, NULL, NULL), SPRY_OK);
    for (int s = 0; s < 4; s++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            spry_matrix *A = NULL;
            spry_spmv_plan *plan = NULL;
            spry_error err = SPRY_ERROR_INIT;
            spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.op = (spry_op)op;
            assert_int_equal(spry_matrix_generate(context, &A, specs[s], NULL, NULL), SPRY_OK);
            o.format = "csr";
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, NULL), SPRY_OK);
            assert_int_equal(spry_spmv_plan_get_info(plan, &info, NULL), SPRY_OK);
            spry_spmv_plan_destroy(plan);
            plan = NULL;
            o.format = NULL;
            o.memory_limit_bytes = info.owned_bytes;
            if (spry_spmv_plan_create(context, &plan, A, &o, &err) == SPRY_OK) {
                assert_int_equal(err.status, SPRY_OK);
                assert_string_equal(err.message, "");
                assert_int_equal(spry_spmv_plan_get_info(plan, &info, NULL), SPRY_OK);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_on_a_gpu), cmocka_unit_test(choices_on_a_cpu),
                                       cmocka_unit_test(choices_of_blocks), cmocka_unit_test(refused_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
