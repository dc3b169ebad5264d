#include "examples.h"
#include "spry/matrix.h"
#include "spry/tune.h"

static const int32_t IA[] = {0, 2, 5, 9, 11, 12}, JA[] = {0, 3, 0, 1, 3, 0, 2, 3, 4, 2, 3, 4};
static const double AA[] = {1, 1, 3, 2, 3, 6, 8, 9, 2, 5, 9, 25};
static const double lecture_x[] = {1, 2, 3, 4, 5}, lecture_y[] = {5, 19, 76, 51, 125};
const example lecture = {"the lecture's", 5, 12, IA, JA, AA, lecture_x, lecture_y};

static const int32_t ptr[] = {0, 2, 4, 7, 9}, indices[] = {0, 1, 1, 2, 0, 2, 3, 1, 3};
static const double data[] = {1, 7, 2, 8, 5, 3, 9, 6, 4};
static const double tutorial_x[] = {1, 10, 100, 1000}, tutorial_y[] = {71, 820, 9305, 4060};
const example tutorial = {"the tutorial's", 4, 9, ptr, indices, data, tutorial_x, tutorial_y};

spry_matrix *example_matrix(spry_context *context, const example *e)
{
    return borrow_csr(context, e->rows, e->rows, e->offsets, e->columns, e->values);
}

static double element_at(const void *vector, spry_type type, int i)
{
    return type == SPRY_F32 ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

static void set_number_at(void *vector, spry_type type, int i, double value)
{
    if (type == SPRY_F32)
        ((float *)vector)[i] = (float)value;
    else
        ((double *)vector)[i] = value;
}

/* Checks y = A*x + beta*y. If beta is 0, y is NaN before the run. */
static void check_product(const example *e, const spry_spmv_plan *plan, const char *kernel, spry_type type, int adds)
{
    double x[MOST_ROWS], y[MOST_ROWS];
    const float beta32 = (float)adds;
    const double beta = adds;
    for (int i = 0; i < e->rows; i++) {
        set_number_at(x, type, i, e->x[i]);
        set_number_at(y, type, i, adds ? 1000.0 * (i + 1) : (double)NAN);
    }
    const spry_vector to = type == SPRY_F32 ? spry_vector_f32((float *)y, e->rows) : spry_vector_f64(y, e->rows);
    const spry_const_vector from = type == SPRY_F32 ? spry_const_vector_f32((const float *)x, e->rows)
                                                    : spry_const_vector_f64(x, e->rows);
    assert_int_equal(spry_spmv_plan_run(plan, to, NULL, from, type == SPRY_F32 ? (const void *)&beta32 : &beta, NULL,
                                        NULL),
                     SPRY_OK);
    for (int i = 0; i < e->rows; i++) {
        const double right = e->product[i] + (adds ? 1000.0 * (i + 1) : 0), got = element_at(y, type, i);
        if (got != right) fail_msg("%s matrix, %s, beta %d: y[%d] is %g, not %g", e->name, kernel, adds, i, got, right);
    }
}

static void check_kernel(spry_context *context, const example *e, spry_spmv_options *options, spry_type type)
{
    spry_matrix *as_f64 = example_matrix(context, e);
    spry_matrix_options convert = SPRY_INIT(spry_matrix_options);
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    convert.value_type = type;
    spry_matrix *A = convert_matrix(context, as_f64, &convert);
    if (spry_spmv_plan_create(context, &plan, A, options, &err) != SPRY_OK)
        fail_msg("%s matrix, %s: %s", e->name, options->kernel, err.message);
    check_product(e, plan, options->kernel, type, 0);
    check_product(e, plan, options->kernel, type, 1);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(as_f64);
}

int multiply_examples(spry_context *context, const char *device)
{
    int tried = 0;
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        const int plain = strcmp(kernel.operations, "spmv") == 0 || strcmp(kernel.operations, "spmv spmv_t") == 0;
        if (!kernel.available || !plain || strcmp(kernel.device_kind, device) != 0) continue;
        const char *const formats[] = {kernel.format, strcmp(kernel.format, "hyb") == 0 ? "hyb:width=1" : NULL};
        for (int f = 0; f < 2 && formats[f]; f++)
            for (int e = 0; e < 2; e++)
                for (int t = 0; t < 2; t++) {
                    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
                    options.format = formats[f];
                    options.kernel = kernel.name;
                    options.allow_nondeterministic = 1;
                    check_kernel(context, e ? &tutorial : &lecture, &options, t ? SPRY_F32 : SPRY_F64);
                }
        tried++;
    }
    return tried;
}
