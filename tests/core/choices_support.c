#include "choices_support.h"

#include "matrix/matrix.h"
#include "spry/cuda.h"
#include "spry/tune.h"

#include <unistd.h>

char folder[64], path[96];

int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/spry-choices-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/choices", folder);
    return 0;
}

int remove_folder(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

spry_spmv_options measuring(double budget_us)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.policy = "measure";
    o.measure_budget_us = budget_us;
    return o;
}

void check_product(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op)
{
    const int64_t rows = spry_matrix_rows(A), cols = spry_matrix_columns(A);
    const int64_t x_length = op == SPRY_TRANSPOSE ? rows : cols, y_length = op == SPRY_TRANSPOSE ? cols : rows;
    double *x = calloc((size_t)x_length + 1, sizeof *x), *y = calloc((size_t)y_length + 1, sizeof *y);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    const spry_const_vector none = {0};
    assert_true(x && y);
    for (int64_t i = 0; i < x_length; i++) x[i] = 1.0 / (double)(1 + i % 97);
    multiply_f64(plan, y, y_length, x, x_length);
    assert_int_equal(spry_spmv_verify(context, &v, A, op, NULL, spry_const_vector_f64(x, x_length), NULL, none,
                                      spry_const_vector_f64(y, y_length), NULL),
                     SPRY_OK);
    assert_int_equal(v.wrong_rows, 0);
    free(x);
    free(y);
}

reported plan_with(spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    reported t = {0};
    spry_spmv_plan *plan = create_plan(context, A, o);
    spry_spmv_plan_info info = plan_info(plan);
    if (o->vector_type != SPRY_F32) check_product(context, plan, A, o->op);
    t.code = info.reason_code;
    t.predicted_us = info.predicted_us;
    snprintf(t.format, sizeof t.format, "%s", info.format);
    snprintf(t.parameters, sizeof t.parameters, "%s", info.parameters);
    snprintf(t.kernel, sizeof t.kernel, "%s", info.kernel);
    snprintf(t.reason, sizeof t.reason, "%s", info.reason);
    spry_spmv_plan_destroy(plan);
    return t;
}

void check_reported(const reported *t, spry_reason code, const char *text)
{
    if (t->code != code || !strstr(t->reason, text))
        fail_msg("%d, %s: expected %d, %s", t->code, t->reason, code, text);
    assert_true(strstr(t->reason, t->format) == t->reason);
}

void set_file(spry_context *context)
{
    MUST(spry_context_set_choices(context, path, err));
}

spry_choice_info newest(const spry_context *context)
{
    spry_choice_info info = SPRY_INIT(spry_choice_info);
    assert_int_equal(spry_choice_get_info(context, &info, choice_count(context) - 1, NULL), SPRY_OK);
    return info;
}

void write_text(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

char *read_text(void)
{
    char *text = calloc(1, 1 << 16);
    FILE *file = fopen(path, "r");
    assert_true(text && file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static const void *on_device(spry_context *context, const void *array, int64_t bytes)
{
    void *on_device = NULL;
    assert_int_equal(spry_device_allocate(context, &on_device, 1, bytes, NULL), SPRY_OK);
    assert_int_equal(spry_device_copy(context, on_device, 1, array, 0, bytes, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_device_synchronize(context, 1, NULL, NULL), SPRY_OK);
    return on_device;
}

spry_matrix *matrix_on_device(spry_context *context, const spry_matrix *A, spry_arrays *arrays)
{
    *arrays = A->a;
    arrays->device = 1;
    arrays->ownership = SPRY_BORROW;
    arrays->offsets = on_device(context, A->a.offsets, 4 * (A->a.rows + 1));
    arrays->indices = on_device(context, A->a.indices, 4 * A->a.nnz);
    arrays->values = on_device(context, A->a.values, 8 * A->a.nnz);
    return create_matrix(context, arrays);
}

void free_on_device(spry_context *context, const spry_arrays *arrays)
{
    spry_device_free(context, 1, (void *)(uintptr_t)arrays->offsets);
    spry_device_free(context, 1, (void *)(uintptr_t)arrays->indices);
    spry_device_free(context, 1, (void *)(uintptr_t)arrays->values);
}
