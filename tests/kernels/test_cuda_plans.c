/*
 * Guarantees of a plan on a GPU in addition to the product. Runs can be captured into a CUDA graph, use multiple
 * streams and threads, repeat with bitwise equal results, and follow updates. Out of memory leaks nothing. The caller's
 * current device is unchanged. Needs the CUDA run-time; skipped without a GPU.
 */
#include "cuda_support.h"
#include "reference.h"
#include "spry/io.h"
#include "spry/spgemm.h"
#include "trials.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

static const spry_op ops[] = {SPRY_NO_TRANSPOSE, SPRY_TRANSPOSE};
static const spry_type types[] = {SPRY_F64, SPRY_F32};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(code_));                                \
    } while (0)

static void *on_device(const void *host, size_t bytes)
{
    void *made = NULL;
    OK(cudaMalloc(&made, bytes + 1));
    if (host)
        OK(cudaMemcpy(made, host, bytes, cudaMemcpyHostToDevice));
    else
        OK(cudaMemset(made, 0, bytes + 1));
    return made;
}

static spry_vector vector_at(void *data, int64_t length, spry_type type, int device)
{
    return (spry_vector){.data = data,
                         .length = length,
                         .type = type,
                         .count = 1,
                         .column_stride = length,
                         .device = device};
}

/* Computes y = 2*A*x + 0.5*y, or y = A*x if first = 1. */
static spry_status product(const spry_spmv_plan *plan, const problem *p, spry_op op, void *x, void *y, int device,
                           int first, spry_spmv_run_options *o, spry_error *err)
{
    static const double numbers_f64[] = {2, 0.5};
    static const float numbers_f32[] = {2, 0.5f};
    const char *numbers = p->type == SPRY_F64 ? (const char *)numbers_f64 : (const char *)numbers_f32;
    return spry_spmv_plan_run(plan, vector_at(y, y_length(p, op), p->type, device), first ? NULL : numbers,
                              spry_vector_as_const(vector_at(x, x_length(p, op), p->type, device)),
                              first ? NULL : numbers + spry_type_bytes(p->type), o, err);
}

static void must(spry_status status, const char *kernel, const spry_error *err)
{
    if (status != SPRY_OK) fail_msg("%s: %s", kernel, err->message);
}

/* Checks that the device's y is bitwise equal to `expected`. */
static void expect_y(const char *kernel, const char *what, const problem *p, spry_op op, const void *y_device,
                     const void *expected)
{
    size_t bytes = (size_t)y_length(p, op) * spry_type_bytes(p->type);
    void *y = malloc(bytes);
    if (!y) abort();
    OK(cudaMemcpy(y, y_device, bytes, cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < y_length(p, op); i++)
        if (element_at(y, p->type, i) != element_at(expected, p->type, i))
            fail_msg("%s%s, %s, %s: y[%lld] is %.17g, expected %.17g", kernel,
                     op == SPRY_TRANSPOSE ? " transposed" : "", spry_type_name(p->type), what, (long long)i,
                     element_at(y, p->type, i), element_at(expected, p->type, i));
    free(y);
}

/* A test that is called for every kernel, product and type, or only for deterministic kernels. */
typedef void (*kernel_test)(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel,
                            spry_op op);

static void every_kernel_of(kernel_test test, int exact, int deterministic, int square)
{
    spry_context *context = context_of(2);
    for (int t = 0; t < 2; t++) {
        problem p = square ? problem_square(types[t], exact) : problem_make(types[t], exact);
        spry_matrix *A = problem_matrix(context, &p);
        for (int o = 0; o < 2; o++) {
            int index = 0, tested = 0;
            for (const char *kernel; (kernel = next_kernel(context, ops[o], deterministic, &index)); tested++)
                test(context, &p, A, kernel, ops[o]);
            assert_true(tested > 0);
        }
        spry_matrix_destroy(A);
        problem_free(&p);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

static void every_kernel(kernel_test test, int exact, int deterministic)
{
    every_kernel_of(test, exact, deterministic, 0);
}

/* Tests plans with an ordering, of rows and columns of a square matrix or only of the rows of a rectangular matrix. */
static void every_kernel_ordered(kernel_test test, int exact, int deterministic)
{
    gpu_order_plans("rcm");
    every_kernel_of(test, exact, deterministic, 1);
    gpu_order_plans("bandk");
    every_kernel_of(test, exact, deterministic, 1);
    gpu_order_plans("degree");
    every_kernel_of(test, exact, deterministic, 0);
    gpu_order_plans(NULL);
}

/* ---- graphs --------------------------------------------------------------------------------------- */

/* Captures the first run of a plan in the strictest mode: a call that allocates or waits would end the capture. */
static void replay(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel, spry_op op)
{
    spry_error err = SPRY_ERROR_INIT;
    size_t x_bytes = (size_t)x_length(p, op) * spry_type_bytes(p->type);
    size_t y_bytes = (size_t)y_length(p, op) * spry_type_bytes(p->type);
    void *x = on_device(NULL, x_bytes), *y = on_device(NULL, y_bytes);
    spry_spmv_plan *plan = gpu_plan(context, A, kernel, op, 1);
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable;
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    o.stream = stream;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    spry_status first = product(plan, p, op, x, y, 1, 1, &o, &err);
    spry_status second = first == SPRY_OK ? product(plan, p, op, x, y, 1, 0, &o, &err) : first;
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    must(second, kernel, &err);
    if (ended != cudaSuccess) fail_msg("%s: the capture ended with %s", kernel, cudaGetErrorString(ended));
    OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int pass = 0; pass < 3; pass++) {
        void *host_x = problem_x(p, op, 1, pass), *expected = problem_product(p, op, host_x, 2.5);
        OK(cudaMemcpy(x, host_x, x_bytes, cudaMemcpyHostToDevice));
        OK(cudaMemset(y, 0xff, y_bytes)); /* NaN */
        OK(cudaDeviceSynchronize());
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        expect_y(kernel, "replayed", p, op, y, expected);
        free(host_x);
        free(expected);
    }
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    spry_spmv_plan_destroy(plan);
    OK(cudaFree(x));
    OK(cudaFree(y));
}

static void captured_into_a_graph(void **state)
{
    every_kernel(replay, 1, 0);
}

static void captured_with_an_ordering(void **state)
{
    every_kernel_ordered(replay, 1, 0);
}

/* ---- streams and threads -------------------------------------------------------------------------- */

enum { RUNS = 20 };

static void both_streams(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel, spry_op op)
{
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan *plan = gpu_plan(context, A, kernel, op, 1);
    int64_t workspace = workspace_of(plan);
    size_t size = spry_type_bytes(p->type);
    void *x[2], *y[2], *space[2], *expected[2];
    cudaStream_t stream[2];
    for (int s = 0; s < 2; s++) {
        void *host_x = problem_x(p, op, 1, s);
        expected[s] = problem_product(p, op, host_x, 1);
        x[s] = on_device(host_x, (size_t)x_length(p, op) * size);
        y[s] = on_device(NULL, (size_t)y_length(p, op) * size);
        space[s] = on_device(NULL, (size_t)workspace);
        OK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        free(host_x);
    }
    OK(cudaDeviceSynchronize());
    for (int r = 0; r < 2 * RUNS; r++) {
        spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
        o.stream = stream[r % 2];
        o.workspace = workspace > 0 ? space[r % 2] : NULL;
        o.workspace_bytes = workspace;
        must(product(plan, p, op, x[r % 2], y[r % 2], 1, 1, &o, &err), kernel, &err);
    }
    for (int s = 0; s < 2; s++) {
        OK(cudaStreamSynchronize(stream[s]));
        expect_y(kernel, "beside another stream", p, op, y[s], expected[s]);
        OK(cudaStreamDestroy(stream[s]));
        OK(cudaFree(x[s]));
        OK(cudaFree(y[s]));
        OK(cudaFree(space[s]));
        free(expected[s]);
    }
    spry_spmv_plan_destroy(plan);
}

static void one_plan_in_two_streams(void **state)
{
    every_kernel(both_streams, 1, 0);
}

static void two_streams_with_an_ordering(void **state)
{
    every_kernel_ordered(both_streams, 1, 0);
}

/* A thread that plans and runs with host vectors. It counts faults, because only the main thread may fail the test. */
typedef struct worker {
    spry_context *context;
    const problem *p;
    const spry_matrix *A;
    const char *kernel;
    spry_op op;
    int number, faults;
    spry_error err;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    spry_spmv_options options = gpu_options(w->kernel, w->op, 0);
    spry_spmv_plan *plan = NULL;
    size_t bytes = (size_t)y_length(w->p, w->op) * spry_type_bytes(w->p->type);
    void *x = problem_x(w->p, w->op, 1, w->number), *expected = problem_product(w->p, w->op, x, 1), *y = malloc(bytes);
    if (!y) abort();
    w->faults = spry_spmv_plan_create(w->context, &plan, w->A, &options, &w->err) != SPRY_OK;
    for (int r = 0; r < RUNS && w->faults == 0; r++) {
        memset(y, 0xff, bytes);
        w->faults += product(plan, w->p, w->op, x, y, 0, 1, NULL, &w->err) != SPRY_OK;
        for (int64_t i = 0; i < y_length(w->p, w->op); i++)
            w->faults += element_at(y, w->p->type, i) != element_at(expected, w->p->type, i);
    }
    spry_spmv_plan_destroy(plan);
    free(x);
    free(y);
    free(expected);
    return NULL;
}

static void both_threads(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel, spry_op op)
{
    pthread_t threads[2];
    worker workers[2];
    for (int t = 0; t < 2; t++) {
        workers[t] = (worker){.context = context, .p = p, .A = A, .kernel = kernel, .op = op, .number = t};
        assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (int t = 0; t < 2; t++)
        if (workers[t].faults > 0)
            fail_msg("%s, thread %d: %d faults; %s", kernel, t, workers[t].faults, workers[t].err.message);
}

static void two_plans_in_two_threads(void **state)
{
    every_kernel(both_threads, 1, 0);
}

/* ---- the same bits -------------------------------------------------------------------------------- */

/* Runs a plan ten times, then another plan once with host vectors. */
static void repeat(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel, spry_op op)
{
    spry_error err = SPRY_ERROR_INIT;
    size_t size = spry_type_bytes(p->type), bytes = (size_t)y_length(p, op) * size;
    void *host_x = problem_x(p, op, 0, 0), *x = on_device(host_x, (size_t)x_length(p, op) * size);
    void *y = on_device(NULL, bytes), *first = malloc(bytes);
    if (!first) abort();
    spry_spmv_plan *plan = gpu_plan(context, A, kernel, op, 1);
    for (int r = 0; r < 10; r++) {
        must(product(plan, p, op, x, y, 1, 1, NULL, &err), kernel, &err);
        OK(cudaDeviceSynchronize());
        if (r == 0) OK(cudaMemcpy(first, y, bytes, cudaMemcpyDeviceToHost));
        expect_y(kernel, "repeated", p, op, y, first);
    }
    spry_spmv_plan_destroy(plan);
    void *again = malloc(bytes);
    if (!again) abort();
    memset(again, 0xff, bytes);
    plan = gpu_plan(context, A, kernel, op, 0);
    must(product(plan, p, op, host_x, again, 0, 1, NULL, &err), kernel, &err);
    expect_y(kernel, "with host vectors", p, op, y, again);
    spry_spmv_plan_destroy(plan);
    OK(cudaFree(x));
    OK(cudaFree(y));
    free(host_x);
    free(first);
    free(again);
}

static void same_bits_in_every_run(void **state)
{
    every_kernel(repeat, 0, 1);
}

static void same_bits_with_an_ordering(void **state)
{
    every_kernel_ordered(repeat, 0, 1);
}

/* ---- values that change --------------------------------------------------------------------------- */

/* Updates a matrix in host memory, then a matrix in device memory whose values change on the device. */
static void update(spry_context *context, const problem *p, const spry_matrix *A, const char *kernel, spry_op op)
{
    spry_error err = SPRY_ERROR_INIT;
    size_t size = spry_type_bytes(p->type), bytes = (size_t)p->nnz * size;
    void *host_x = problem_x(p, op, 1, 0), *x = on_device(host_x, (size_t)x_length(p, op) * size);
    void *y = on_device(NULL, (size_t)y_length(p, op) * size);
    void *offsets = on_device(p->offsets, ((size_t)p->rows + 1) * 4),
         *columns = on_device(p->columns, (size_t)p->nnz * 4);
    void *values = malloc(bytes);
    if (!values) abort();
    memcpy(values, p->values, bytes);
    for (int device = 0; device < 2; device++) {
        problem own = *p;
        own.values = values;
        spry_arrays a = problem_arrays(&own);
        void *device_values = on_device(p->values, bytes);
        if (device) {
            a.offsets = offsets;
            a.indices = columns;
            a.values = device_values;
            a.device = 1;
        }
        spry_matrix *B = NULL;
        must(spry_matrix_create(context, &B, &a, &err), kernel, &err);
        spry_spmv_plan *plan = gpu_plan(context, B, kernel, op, 1);
        for (int pass = 0; pass < 3; pass++) {
            for (int64_t k = 0; k < p->nnz; k++)
                set_number(values, p->type, k, (pass + 1) * element_at(p->values, p->type, k));
            if (device) OK(cudaMemcpy(device_values, values, bytes, cudaMemcpyHostToDevice));
            must(spry_spmv_plan_update(plan, NULL, &err), kernel, &err);
            void *expected = problem_product(&own, op, host_x, 1);
            must(product(plan, p, op, x, y, 1, 1, NULL, &err), kernel, &err);
            OK(cudaDeviceSynchronize());
            expect_y(kernel, device ? "device values changed" : "values changed", p, op, y, expected);
            free(expected);
        }
        memcpy(values, p->values, bytes);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
        OK(cudaFree(device_values));
    }
    free(values);
    free(host_x);
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(offsets));
    OK(cudaFree(columns));
}

static void updated_values(void **state)
{
    every_kernel(update, 1, 0);
}

static void updated_values_with_an_ordering(void **state)
{
    every_kernel_ordered(update, 1, 0);
}

/* ---- calls that CUDA refuses ---------------------------------------------------------------------- */

/* An update in a captured stream fails. Later calls succeed: CUDA's error does not reach them. */
static void after_a_refused_call(void **state)
{
    spry_context *context = context_of(2);
    problem p = problem_make(SPRY_F64, 1);
    spry_matrix *A = problem_matrix(context, &p), *L = NULL, *C = NULL;
    void *host_x = problem_x(&p, SPRY_NO_TRANSPOSE, 1, 0), *x = on_device(host_x, (size_t)p.cols * 8);
    void *y = on_device(NULL, (size_t)p.rows * 8), *expected = problem_product(&p, SPRY_NO_TRANSPOSE, host_x, 1);
    spry_spmv_plan *plan = gpu_plan(context, A, "sell_chunks_cuda", SPRY_NO_TRANSPOSE, 1);
    spry_update_options update_options = SPRY_INIT(spry_update_options);
    spry_spgemm_options product_options = SPRY_INIT(spry_spgemm_options);
    spry_error err = SPRY_ERROR_INIT;
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    update_options.stream = stream;
    assert_int_equal(spry_spmv_plan_update(plan, &update_options, &err), SPRY_DEVICE_FAILED);
    assert_int_not_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    (void)cudaGetLastError();
    must(product(plan, &p, SPRY_NO_TRANSPOSE, x, y, 1, 1, NULL, &err), "sell_chunks_cuda", &err);
    OK(cudaDeviceSynchronize());
    expect_y("sell_chunks_cuda", "after a refused update", &p, SPRY_NO_TRANSPOSE, y, expected);
    product_options.device = 1;
    must(spry_matrix_generate(context, &L, "gen:laplace5,x=20,y=20", NULL, &err), "laplace5", &err);
    must(spry_spgemm(context, &C, NULL, L, L, &product_options, &err), "spgemm", &err);
    OK(cudaStreamDestroy(stream));
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(L);
    spry_matrix_destroy(C);
    OK(cudaFree(x));
    OK(cudaFree(y));
    free(host_x);
    free(expected);
    problem_free(&p);
    spry_context_destroy(context);
}

/*
 * If the memory limit is too small, the refusal of "auto" states the bytes that it needs. The reason of a refusal is
 * never that csr has no kernel for transposed products.
 */
static void limits_of_transposed_products(void **state)
{
    spry_context *context = context_of(2);
    problem p = problem_make(SPRY_F64, 1);
    spry_matrix *A = problem_matrix(context, &p);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_status status;
    int refused = 0;
    o.device = 1;
    o.op = SPRY_TRANSPOSE;
    o.memory_limit_bytes = 1;
    while ((status = spry_spmv_plan_create(context, &plan, A, &o, &err)) == SPRY_TOO_LARGE && refused++ < 4) {
        assert_true(err.value > o.memory_limit_bytes);
        o.memory_limit_bytes = err.value;
    }
    must(status, "auto", &err);
    assert_true(refused > 0);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    problem_free(&p);
    spry_context_destroy(context);
}

/* csr_merge_cuda with rows of 600 entries, of which every third has `third` entries instead. */
static void check_long_rows(int third)
{
    enum { ROWS = 36000, COLUMNS = 1 << 16 };
    spry_context *context = context_of(2);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    int32_t *offsets = calloc(ROWS + 1, sizeof *offsets);
    float *x = calloc(COLUMNS, sizeof *x), *y = calloc(ROWS, sizeof *y), *expected = calloc(ROWS, sizeof *expected);
    assert_true(offsets && x && y && expected);
    for (int i = 0; i < ROWS; i++) offsets[i + 1] = offsets[i] + (i % 3 == 0 ? third : 600);
    int32_t *columns = calloc((size_t)offsets[ROWS], sizeof *columns);
    assert_non_null(columns);
    for (int j = 0; j < COLUMNS; j++) x[j] = (float)(j % 11);
    for (int i = 0; i < ROWS; i++)
        for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) {
            columns[k] = (int32_t)((i * 7 + (k - offsets[i]) * 13) % COLUMNS);
            expected[i] += x[columns[k]]; /* exact, since sums are small integers */
        }
    const spry_arrays arrays = {.struct_size = sizeof arrays,
                                .layout = SPRY_CSR,
                                .rows = ROWS,
                                .columns = COLUMNS,
                                .nnz = offsets[ROWS],
                                .offset_type = SPRY_I32,
                                .index_type = SPRY_I32,
                                .value_type = SPRY_PATTERN,
                                .offsets = offsets,
                                .indices = columns};
    must(spry_matrix_create(context, &A, &arrays, &err), "matrix", &err);
    o.device = 1;
    o.kernel = "csr_merge_cuda";
    o.vector_type = SPRY_F32;
    must(spry_spmv_plan_create(context, &plan, A, &o, &err), o.kernel, &err);
    must(spry_spmv_plan_run(plan, spry_vector_f32(y, ROWS), NULL, spry_const_vector_f32(x, COLUMNS), NULL, NULL, &err),
         o.kernel, &err);
    for (int i = 0; i < ROWS; i++)
        if (y[i] != expected[i]) fail_msg("row %d: %g, expected %g", i, (double)y[i], (double)expected[i]);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(offsets);
    free(columns);
    free(x);
    free(y);
    free(expected);
}

/*
 * Rows over 512 entries are cut in the case FEW only, rows over 1024 also in the case MANY, which these matrices are.
 * With 1100 entries there are so many tiles that the list of long rows does not fit the block of pinned host memory.
 * With 600 no row is left in the list.
 */
static void lists_of_long_rows(void **state)
{
    (void)state;
    check_long_rows(1100);
    check_long_rows(600);
}

/* An argument selects tests by name: "*ordering". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_into_a_graph),         cmocka_unit_test(after_a_refused_call),
        cmocka_unit_test(limits_of_transposed_products), cmocka_unit_test(lists_of_long_rows),
        cmocka_unit_test(one_plan_in_two_streams),       cmocka_unit_test(two_plans_in_two_threads),
        cmocka_unit_test(same_bits_in_every_run),        cmocka_unit_test(updated_values),
        cmocka_unit_test(captured_with_an_ordering),     cmocka_unit_test(two_streams_with_an_ordering),
        cmocka_unit_test(same_bits_with_an_ordering),    cmocka_unit_test(updated_values_with_an_ordering),
    };
    if (!has_gpu()) return SKIPPED;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
