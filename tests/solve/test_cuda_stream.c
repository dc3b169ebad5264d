/*
 * Solvers in a non-blocking stream of the caller. Earlier work in the stream writes b and A's values. Needs the CUDA
 * run-time. Skipped if the machine has no GPU.
 */
#include "base/types.h"
#include "spry/solve.h"
#include "support.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

enum { SIDE = 200, N = SIDE * SIDE, MB = 1 << 20, DELAY_BYTES = 256 * MB, DELAYS = 200 };

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(code_));                                \
    } while (0)

static cudaStream_t stream;
static char *delay;

/* Queues some tens of milliseconds of work that no call waits for. */
static void be_late(void)
{
    for (int d = 0; d < DELAYS; d++)
        OK(cudaMemcpyAsync(delay + DELAY_BYTES, delay, DELAY_BYTES, cudaMemcpyDeviceToDevice, stream));
}

static spry_vector on_gpu(int64_t n)
{
    return create_vector(context, n, SPRY_F64, 1);
}

static void download(double *to, const spry_vector *v)
{
    OK(cudaMemcpy(to, v->data, (size_t)v->length * sizeof *to, cudaMemcpyDeviceToHost));
}

/* CG gives the same bits if b is zero until earlier work in the stream writes b. */
static void conjugate_gradients(void **state)
{
    spry_error err = {0};
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    double *expected = malloc(N * sizeof *expected), *found = malloc(N * sizeof *found);
    if (!expected || !found) abort();
    o.device = 1;
    o.format = "csr";
    spry_matrix *A = generate_matrix(context, "laplace5,x=200,y=200");
    spry_vector b = on_gpu(N), late = on_gpu(N), x = on_gpu(N);
    for (int64_t i = 0; i < N; i++) found[i] = (double)(1 + i % 7);
    OK(cudaMemcpy(b.data, found, N * sizeof *found, cudaMemcpyHostToDevice));
    for (int jacobi = 0; jacobi < 2; jacobi++) {
        o.precond = jacobi ? SPRY_PRECOND_JACOBI : SPRY_PRECOND_NONE;
        o.stream = NULL;
        expect_status(spry_cg(context, x, NULL, A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
        download(expected, &x);
        OK(cudaMemset(late.data, 0, N * sizeof *found));
        OK(cudaDeviceSynchronize());
        o.stream = stream;
        be_late();
        OK(cudaMemcpyAsync(late.data, b.data, N * sizeof *found, cudaMemcpyDeviceToDevice, stream));
        expect_status(spry_cg(context, x, NULL, A, spry_vector_as_const(late), &o, &err), &err, SPRY_OK, "");
        assert_int_equal(cudaStreamQuery(stream), cudaSuccess); /* all work in the stream has ended */
        download(found, &x);
        assert_memory_equal(found, expected, N * sizeof *found);
        download(found, &b);
    }
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &late);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    free(expected);
    free(found);
}

/* PageRank gives the same ranks if the links' values are zero until earlier work in the stream writes the values. */
static void ranks(void **state)
{
    spry_error err = {0};
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.device = 1;
    o.format = "csr";
    o.edges = SPRY_COLUMN_TO_ROW;
    o.dangling = SPRY_DANGLING_TELEPORT;
    spry_matrix *A = generate_matrix(context, "rmat,scale=12");
    spry_arrays a = arrays_of(A);
    const int64_t n = a.rows, bytes[] = {(n + 1) * (int64_t)spryi_index_type_bytes(a.offset_type),
                                         a.nnz * (int64_t)spryi_index_type_bytes(a.index_type), a.nnz * 8};
    double *values = malloc((size_t)bytes[2]), *expected = malloc((size_t)n * 8), *found = malloc((size_t)n * 8);
    if (!values || !expected || !found) abort();
    for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)(1 + k % 3);
    void *arrays[4];
    for (int i = 0; i < 4; i++) OK(cudaMalloc(&arrays[i], (size_t)bytes[i < 2 ? i : 2]));
    OK(cudaMemcpy(arrays[0], a.offsets, (size_t)bytes[0], cudaMemcpyHostToDevice));
    OK(cudaMemcpy(arrays[1], a.indices, (size_t)bytes[1], cudaMemcpyHostToDevice));
    OK(cudaMemcpy(arrays[3], values, (size_t)bytes[2], cudaMemcpyHostToDevice));
    a.offsets = arrays[0];
    a.indices = arrays[1];
    a.values = arrays[2];
    a.device = 1;
    a.ownership = SPRY_BORROW;
    spry_matrix *on_device = create_matrix(context, &a);
    for (int late = 0; late < 2; late++) {
        spry_vector x = spry_vector_f64(late ? found : expected, n);
        OK(cudaMemset(arrays[2], 0, (size_t)bytes[2]));
        OK(cudaDeviceSynchronize());
        o.stream = late ? stream : NULL;
        if (late) be_late();
        OK(cudaMemcpyAsync(arrays[2], arrays[3], (size_t)bytes[2], cudaMemcpyDeviceToDevice, late ? stream : NULL));
        expect_status(spry_pagerank(context, x, NULL, on_device, &o, &err), &err, SPRY_OK, "");
        assert_int_equal(cudaStreamQuery(stream), cudaSuccess);
    }
    assert_memory_equal(found, expected, (size_t)n * 8);
    spry_matrix_destroy(on_device);
    spry_matrix_destroy(A);
    for (int i = 0; i < 4; i++) OK(cudaFree(arrays[i]));
    free(values);
    free(expected);
    free(found);
}

/* Solves the system repeatedly. Each solve captures iterations. Returns the number of solutions that failed. */
static void *solve_again(void *matrix)
{
    enum { SOLUTIONS = 40 };
    double *x = malloc(N * sizeof *x), *b = malloc(N * sizeof *b);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    intptr_t failed = 0;
    o.device = 1;
    o.format = "csr";
    o.max_iterations = 20;
    for (int64_t i = 0; i < N; i++) b[i] = (double)(1 + i % 7);
    for (int s = 0; s < SOLUTIONS; s++)
        failed += spry_cg(context, spry_vector_f64(x, N), NULL, matrix, spry_const_vector_f64(b, N), &o, NULL) !=
                  SPRY_NOT_CONVERGED;
    free(x);
    free(b);
    return (void *)failed;
}

/* Two threads solve while this thread allocates and frees device memory. */
static void next_to_other_threads(void **state)
{
    pthread_t threads[2];
    spry_matrix *A = generate_matrix(context, "laplace5,x=200,y=200");
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&threads[t], NULL, solve_again, A), 0);
    for (int v = 0; v < 2000; v++) {
        spry_vector some = on_gpu(1000);
        spry_vector_destroy(context, &some);
    }
    for (int t = 0; t < 2; t++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[t], &failed), 0);
        assert_int_equal((intptr_t)failed, 0);
    }
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(conjugate_gradients), cmocka_unit_test(ranks),
                                       cmocka_unit_test(next_to_other_threads)};
    if (!has_gpu()) return SKIPPED;
    context = context_of(1);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&delay, (size_t)2 * DELAY_BYTES));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    OK(cudaFree(delay));
    OK(cudaStreamDestroy(stream));
    spry_context_destroy(context);
    return failed;
}
