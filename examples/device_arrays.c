/*
 * A matrix and vectors in a GPU's memory, and products in the caller's stream. The products are asynchronous. Also
 * needs CUDA's run-time library. Exits with status 77 if there is no GPU.
 */
#include <cuda_runtime_api.h>
#include <spry/spry.h>
#include <stdio.h>

enum { N = 1000, STEPS = 10 };

/* Copies host memory to the current GPU. Returns NULL on failure. */
static void *to_gpu(const void *host, size_t bytes)
{
    void *copy = NULL;
    if (cudaMalloc(&copy, bytes) != cudaSuccess) return NULL;
    return cudaMemcpy(copy, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess ? copy : NULL;
}

int main(void)
{
    static int32_t offsets[N + 1], columns[2 * N];
    static double values[2 * N], x[N];
    for (int i = 0; i < N; i++) { /* y_i = (x_i + x_(i+1)) / 2, in a ring */
        columns[2 * i] = i < N - 1 ? i : 0;
        columns[2 * i + 1] = i < N - 1 ? i + 1 : i;
        values[2 * i] = values[2 * i + 1] = 0.5;
        offsets[i + 1] = 2 * (i + 1);
        x[i] = i % 2;
    }
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    cudaStream_t stream = NULL;
    int gpu = 0, status = 0;
    void *on_gpu[5] = {0};
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    spry_device_info device = SPRY_INIT(spry_device_info);

    if (spry_context_create(&context, NULL, &err) != SPRY_OK) goto done;
    if (spry_device_find(context, &gpu, "cuda", &err) != SPRY_OK) {
        status = 77;
        goto done;
    }
    if (spry_device_get_info(context, &device, gpu, &err) != SPRY_OK) goto done;
    cudaSetDevice(device.ordinal);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    on_gpu[0] = to_gpu(offsets, sizeof offsets);
    on_gpu[1] = to_gpu(columns, sizeof columns);
    on_gpu[2] = to_gpu(values, sizeof values);
    on_gpu[3] = to_gpu(x, sizeof x);
    on_gpu[4] = to_gpu(x, sizeof x);
    for (int a = 0; a < 5; a++)
        if (!on_gpu[a] || !stream) status = 1;
    if (status != 0) goto done;

    arrays.layout = SPRY_CSR;
    arrays.rows = arrays.columns = N;
    arrays.nnz = 2 * N;
    arrays.offset_type = arrays.index_type = SPRY_I32;
    arrays.value_type = SPRY_F64;
    arrays.offsets = on_gpu[0];
    arrays.indices = on_gpu[1];
    arrays.values = on_gpu[2];
    arrays.device = gpu; /* by default the plan and its vectors use the same device */
    options.stream = run.stream = stream;
    if (spry_matrix_create(context, &A, &arrays, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK)
        goto done;
    for (int step = 0; step < STEPS; step++) {
        spry_vector y = spry_vector_f64(on_gpu[4 - step % 2], N);
        spry_const_vector from = spry_const_vector_f64(on_gpu[3 + step % 2], N);
        y.device = from.device = gpu;
        if (spry_spmv_plan_run(plan, y, NULL, from, NULL, &run, &err) != SPRY_OK) goto done; /* enqueued only */
    }
    if (cudaMemcpyAsync(x, on_gpu[3], sizeof x, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        status = 1;
    printf("%g %g\n", x[0], x[N - 1]);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    for (int a = 0; a < 5; a++) cudaFree(on_gpu[a]);
    if (stream) cudaStreamDestroy(stream);
    spry_context_destroy(context);
    return status != 0 ? status : err.status != SPRY_OK;
}
