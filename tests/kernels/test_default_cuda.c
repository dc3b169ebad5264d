/*
 * Default behaviour on a GPU: the first product does not wait for kernels that it does not need, and the chosen format
 * is almost as fast as the best. Times are compared within this process. Skipped without a GPU.
 */
#include "cuda_support.h"
#include "in_blocks.h"
#include "spry/io.h"
#include "spry/tune.h"

static spry_context *context;

static spry_measurement measure(const spry_matrix *A, const char *format, char chosen[16])
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_measurement m = SPRY_INIT(spry_measurement);
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan *plan = NULL;
    options.device = 1;
    options.format = format;
    options.vector_device = 1;
    spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &err);
    if (status == SPRY_OK) status = spry_spmv_plan_measure(plan, &m, &err);
    if (status == SPRY_OK) status = spry_spmv_plan_get_info(plan, &info, &err);
    if (status == SPRY_TOO_LARGE)
        m.median_us = INFINITY; /* refused because of padding, so never the best format */
    else if (status != SPRY_OK)
        fail_msg("%s: %s", format ? format : "auto", err.message);
    if (chosen) snprintf(chosen, 16, "%s", status == SPRY_OK ? info.format : "");
    spry_spmv_plan_destroy(plan);
    return m;
}

static spry_matrix *generate(const char *spec, spry_type type)
{
    spry_matrix *A = NULL;
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = type;
    assert_int_equal(spry_matrix_generate(context, &A, spec, &options, NULL), SPRY_OK);
    return A;
}

/* Runs before all other tests, so that no kernel is loaded. */
static void first_products(void **state)
{
    static const double MOST_US = 2000;
    static const char *const formats[] = {"packed", "bsr", "sell", "csr", "swept"};
    static const char *const specs[] = {"grid7,x=40,y=40,z=40", "fem3,x=15,y=15,z=15"};
    for (int type = SPRY_F64; type >= SPRY_F32; type--)
        for (int s = 0; s < 2; s++)
            for (int f = 0; f < 5; f++) {
                spry_matrix *A = generate(specs[s], (spry_type)type);
                const double us = measure(A, formats[f], NULL).first_us;
                printf("%s %s %s: first product %.0f us\n", specs[s], spry_type_name((spry_type)type), formats[f], us);
                if (us > MOST_US) fail_msg("%s: the first product took %.0f us", formats[f], us);
                spry_matrix_destroy(A);
            }
}

typedef struct mesh {
    const char *spec;
    int b; /* 0: the generated matrix, not in blocks */
    unsigned holes;
} mesh;

/* Matrices other than grids, large enough that the launch time does not dominate. */
static void default_is_near_the_best(void **state)
{
    static const double MOST = 1.25; /* limit of the default's time / best time, for one matrix (docs/choosing.md) */
    static const char *const formats[] = {"packed", "sell", "csr", "bsr", "swept"};
    static const mesh meshes[] = {
        {"rgg20,scale=16", 3, 0}, {"rgg20,scale=15", 4, 1u << 3 | 1u << 13}, {"rgg20,scale=17", 0, 0},
        {"rgg20,scale=20", 0, 0}, {"uniform,rows=90000,degree=16", 0, 0},    {"rmat17", 0, 0},
    };
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (size_t n = 0; n < sizeof meshes / sizeof *meshes; n++) {
            const mesh *m = &meshes[n];
            spry_matrix *A = m->b == 0 ? generate(m->spec, (spry_type)type)
                                       : matrix_in_blocks(context, m->spec, m->b, m->holes, (spry_type)type);
            double best = INFINITY;
            char chosen[16];
            for (int f = 0; f < 5; f++) {
                const double us = measure(A, formats[f], NULL).median_us;
                best = us < best ? us : best;
            }
            const double us = measure(A, NULL, chosen).median_us;
            printf("%s in blocks of %d, %s: auto takes %s, %.1f us, best %.1f us\n", m->spec, m->b,
                   spry_type_name((spry_type)type), chosen, us, best);
            if (us > MOST * best) fail_msg("%s: auto takes %s, %.1f us, the best %.1f", m->spec, chosen, us, best);
            spry_matrix_destroy(A);
        }
}

/* For any number of expected calls a plan exists. It is deterministic unless nondeterminism is allowed. */
static void a_plan_for_few(void **state)
{
    spry_matrix *A = generate("grid5,x=90,y=70", SPRY_F64);
    for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++)
        for (int any = 0; any < 2; any++)
            for (int64_t calls = 0; calls < 12; calls++) {
                spry_spmv_options options = SPRY_INIT(spry_spmv_options);
                options.device = 1;
                options.op = (spry_op)op;
                options.expected_calls = calls;
                options.allow_nondeterministic = any;
                spry_spmv_plan *plan = create_plan(context, A, &options);
                spry_spmv_plan_info info = plan_info(plan);
                if (!any) assert_int_equal(info.deterministic, 1);
                spry_spmv_plan_destroy(plan);
            }
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_products), cmocka_unit_test(a_plan_for_few),
                                       cmocka_unit_test(default_is_near_the_best)};
    if (!has_gpu()) return SKIPPED;
    context = context_of(0);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spry_context_destroy(context);
    return failed;
}
