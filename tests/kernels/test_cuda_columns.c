/*
 * Tests products with multiple vectors for every GPU kernel. The blocks of vectors are row-major and column-major, have
 * gaps, and are in device memory or on the host. Needs the CUDA run-time. Skipped without a GPU.
 */
#include "catalogue/catalogue.h"
#include "cuda_support.h"
#include "reference.h"
#include "trials.h"

#include <cuda_runtime_api.h>

enum { BETWEEN = 77 };

/* Column counts and gaps. They decide if the rows of a row-major block are aligned to 16 bytes, to 8 bytes, or not. */
static const struct shape {
    int64_t columns, gap;
} shapes[] = {{3, 2}, {2, 0}, {8, 0}, {6, 4}, {1, 0}, {7, 0}, {9, 1}, {16, 2}, {33, 1}, {64, 0}, {70, 2}};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(code_));                                \
    } while (0)

/* A block of vectors on the host, and its copy on the GPU. */
typedef struct block {
    spry_vector host, on_device;
    int64_t numbers;
} block;

static block block_make(int64_t length, spry_type type, int row_major, const struct shape *shape)
{
    block b = {.host = {.length = length, .count = shape->columns, .type = type}};
    b.host.row_stride = row_major ? shape->columns + shape->gap : 1;
    b.host.column_stride = row_major ? 1 : length + shape->gap;
    b.numbers = row_major ? length * b.host.row_stride : shape->columns * b.host.column_stride;
    b.host.data = calloc((size_t)b.numbers, spry_type_bytes(type));
    assert_non_null(b.host.data);
    for (int64_t i = 0; i < b.numbers; i++) set_number(b.host.data, type, i, BETWEEN);
    b.on_device = b.host;
    b.on_device.device = 1;
    OK(cudaMalloc(&b.on_device.data, (size_t)b.numbers * spry_type_bytes(type)));
    return b;
}

static void block_free(block *b)
{
    free(b->host.data);
    OK(cudaFree(b->on_device.data));
}

static void block_copy(const block *b, int to_gpu)
{
    const size_t bytes = (size_t)b->numbers * spry_type_bytes(b->host.type);
    if (to_gpu)
        OK(cudaMemcpy(b->on_device.data, b->host.data, bytes, cudaMemcpyHostToDevice));
    else
        OK(cudaMemcpy(b->host.data, b->on_device.data, bytes, cudaMemcpyDeviceToHost));
}

static int64_t at(const spry_vector *v, int64_t i, int64_t c)
{
    return i * v->row_stride + c * v->column_stride;
}

/* Checks y = 2*A*x + 0.5*y. The columns are 1, 2 and 3 times x, and y is 4 before the run. */
static void multiply(const spry_spmv_plan *plan, const char *kernel, const problem *p, const void *x,
                     const void *product, const struct shape *shape, int row_major, int on_gpu)
{
    const spry_type type = p->type;
    const double f64[] = {2, 0.5};
    const float f32[] = {2, 0.5f};
    const char *numbers = type == SPRY_F64 ? (const char *)f64 : (const char *)f32;
    block xs = block_make(p->cols, type, row_major, shape), ys = block_make(p->rows, type, row_major, shape);
    for (int64_t c = 0; c < shape->columns; c++) {
        for (int64_t j = 0; j < p->cols; j++)
            set_number(xs.host.data, type, at(&xs.host, j, c), (double)(c + 1) * element_at(x, type, j));
        for (int64_t i = 0; i < p->rows; i++) set_number(ys.host.data, type, at(&ys.host, i, c), 4);
    }
    block_copy(&xs, 1);
    block_copy(&ys, 1);
    spry_error err = {0};
    const spry_status status = spry_spmv_plan_run(plan, on_gpu ? ys.on_device : ys.host, numbers,
                                                  spry_vector_as_const(on_gpu ? xs.on_device : xs.host),
                                                  numbers + spry_type_bytes(type), NULL, &err);
    if (status != SPRY_OK) fail_msg("%s: %s", kernel, err.message);
    OK(cudaDeviceSynchronize());
    if (on_gpu) block_copy(&ys, 0);
    for (int64_t c = 0; c < shape->columns; c++)
        for (int64_t i = 0; i < p->rows; i++) {
            const double wanted = 2 * (double)(c + 1) * element_at(product, type, i) + 2;
            const double found = element_at(ys.host.data, type, at(&ys.host, i, c));
            if (found != wanted)
                fail_msg("%s, %s, column %lld of %lld, row %lld: %g, expected %g", kernel,
                         row_major ? "row-major" : "column-major", (long long)c, (long long)shape->columns,
                         (long long)i, found, wanted);
            set_number(ys.host.data, type, at(&ys.host, i, c), BETWEEN);
        }
    for (int64_t k = 0; k < ys.numbers; k++)
        if (element_at(ys.host.data, type, k) != BETWEEN) fail_msg("%s: wrote between the columns of y", kernel);
    block_free(&xs);
    block_free(&ys);
}

static void every_kernel(spry_type type, const char *ordering)
{
    spry_context *context = context_of(1);
    problem p = ordering ? problem_square(type, 1) : problem_make(type, 1);
    spry_matrix *A = problem_matrix(context, &p);
    void *x = problem_x(&p, SPRY_NO_TRANSPOSE, 1, 0), *product = problem_product(&p, SPRY_NO_TRANSPOSE, x, 1);
    int index = 0;
    for (const char *kernel; (kernel = next_kernel(context, SPRY_NO_TRANSPOSE, 0, &index));)
        for (int n = 0; n < 4; n++) { /* plans for row-major vectors, and for 64 column-major ones */
            const int on_gpu = n % 2, for_rows = n < 2;
            spry_spmv_options o = gpu_options(kernel, SPRY_NO_TRANSPOSE, on_gpu);
            o.count = for_rows ? shapes[0].columns : 64;
            o.row_major = for_rows;
            o.ordering = ordering;
            spry_spmv_plan *plan = create_plan(context, A, &o);
            const int multiple = !ordering && on_gpu &&
                                 (spryi_find_kernel(kernel)->multi_row_major & SPRYI_OP_SPMV) != 0;
            const size_t many = multiple ? sizeof shapes / sizeof *shapes : 1;
            for (size_t k = 0; k < many; k++) {
                if (for_rows) multiply(plan, kernel, &p, x, product, &shapes[k], 1, on_gpu);
                multiply(plan, kernel, &p, x, product, &shapes[k], 0, on_gpu); /* column-major */
            }
            spry_spmv_plan_destroy(plan);
        }
    free(product);
    free(x);
    spry_matrix_destroy(A);
    problem_free(&p);
    spry_context_destroy(context);
}

static void double_precision(void **state)
{
    every_kernel(SPRY_F64, NULL);
}

static void single_precision(void **state)
{
    every_kernel(SPRY_F32, NULL);
}

static void with_an_ordering(void **state)
{
    every_kernel(SPRY_F64, "rcm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(double_precision),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(with_an_ordering),
    };
    if (!has_gpu()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
