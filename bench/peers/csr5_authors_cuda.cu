/*
 * csr5_authors_cuda: CSR5 on the first GPU by its authors, folder CSR5_cuda of the source that csr5_authors.cpp names:
 * f64 and f32, tiles of 32 x sigma entries with sigma by their rule. scripts/rivals.sh lists the edits that the source
 * needs for GPUs since Volta.
 *
 * Differences from the authors' program: their product adds the partial sums of tiles to y, so run first sets y to 0;
 * their timed loop leaves this out. Atomic additions of f64 are the GPU's instead of a loop. Their code does not scale
 * by alpha, so only alpha = 1 and beta = 0 are supported.
 */
#include "bench/peer.h"
#include "common/wall_clock.h"

#include <cuda_runtime.h>
#include <dirent.h>
#include <iostream>
#include <math.h>
#include <memory>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/* Keeps the first error of the authors' calls. Their program's macro, of CUDA's samples, ends the process. */
static cudaError_t first_error;
#define checkCudaErrors(call)                                                                                          \
    do {                                                                                                               \
        const cudaError_t code_ = (call);                                                                              \
        if (first_error == cudaSuccess) first_error = code_;                                                           \
    } while (0)
/* The authors' conversion prints its times to standard output, which has the benchmark's records. */
static std::ostream silent(nullptr);
#define cout silent
#include <anonymouslib_cuda.h>
#undef cout

namespace {

struct product {
    virtual ~product() = default;
    virtual cudaError_t run(const void *x, void *y) = 0;
};

/* Returns a copy of an array in GPU memory. */
template <typename T> T *upload(const void *array, int64_t count)
{
    void *copy = nullptr;
    checkCudaErrors(cudaMalloc(&copy, static_cast<size_t>(count) * sizeof(T)));
    if (copy) checkCudaErrors(cudaMemcpy(copy, array, static_cast<size_t>(count) * sizeof(T), cudaMemcpyHostToDevice));
    return static_cast<T *>(copy);
}

template <typename V> struct typed_product final : product {
    int64_t rows, nnz;
    int *offsets, *columns;
    V *values;
    const void *last_x = nullptr;
    anonymouslibHandle<int, unsigned int, V> handle;
    bool converted = false;

    explicit typed_product(const spry_peer_matrix &a)
        : rows(a.rows), nnz(a.nnz), offsets(upload<int>(a.offsets, a.rows + 1)), columns(upload<int>(a.columns, a.nnz)),
          values(upload<V>(a.values, a.nnz)), handle(static_cast<int>(a.rows), static_cast<int>(a.cols))
    {
    }

    void convert()
    {
        handle.inputCSR(static_cast<int>(nnz), offsets, columns, values);
        handle.setSigma(ANONYMOUSLIB_AUTO_TUNED_SIGMA);
        converted = handle.asCSR5() == ANONYMOUSLIB_SUCCESS && first_error == cudaSuccess;
        checkCudaErrors(cudaDeviceSynchronize());
        checkCudaErrors(cudaGetLastError());
    }

    ~typed_product() override
    {
        (void)cudaDeviceSynchronize();                  /* a product may still be running */
        if (converted && !last_x) handle.setX(nullptr); /* destroy releases what setX creates */
        if (converted) handle.destroy();
        (void)cudaFree(offsets);
        (void)cudaFree(columns);
        (void)cudaFree(values);
        (void)cudaGetLastError();
    }

    cudaError_t run(const void *x, void *y) override
    {
        if (x != last_x) handle.setX(static_cast<V *>(const_cast<void *>(x)));
        last_x = x;
        const cudaError_t code = cudaMemsetAsync(y, 0, static_cast<size_t>(rows) * sizeof(V));
        handle.spmv(1, static_cast<V *>(y));
        return code != cudaSuccess ? code : cudaGetLastError();
    }
};

/* Returns the authors' sigma, the entries of a lane in a tile. */
int64_t sigma_of(const spry_peer_matrix &a)
{
    const int64_t mean = a.nnz / a.rows;
    return mean <= 4 ? 4 : mean <= 32 ? mean : mean <= 256 ? 32 : 6;
}

template <typename V> product *make(const spry_peer_matrix &a, spry_peer_cost *cost)
{
    const double start = now_us();
    typed_product<V> *made = new typed_product<V>(a);
    cost->upload_us = now_us() - start;
    if (first_error == cudaSuccess) made->convert();
    return made;
}

int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix &a = request->matrix;
    if (request->transpose || a.offset_bytes != 4 || a.index_bytes != 4)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "the authors' CSR5 for GPUs has indices 32/32 and no transposed product");
    const int64_t tile = a.rows > 0 ? ANONYMOUSLIB_CSR5_OMEGA * sigma_of(a) : 1;
    if (a.nnz <= tile)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "the authors' CSR5 for GPUs needs more than one tile, here more than %lld entries",
                              static_cast<long long>(tile));
    const double start = now_us();
    first_error = cudaFree(nullptr); /* starts CUDA */
    cost->startup_us = now_us() - start;
    *state = a.value_bytes == 8 ? make<double>(a, cost) : make<float>(a, cost);
    if (first_error != cudaSuccess)
        return spry_peer_fail(error, SPRY_PEER_FAILED, "CSR5: %s", cudaGetErrorString(first_error));
    const int64_t tiles = (a.nnz + tile - 1) / tile;
    cost->threads = 0;
    cost->bytes = a.nnz * (a.value_bytes + 4) + tiles * (ANONYMOUSLIB_CSR5_OMEGA + 1) * 4;
    return SPRY_PEER_OK;
}

int run(void *state, double alpha, const void *x, double beta, void *y)
{
    if (alpha != 1 || beta != 0) return SPRY_PEER_UNSUPPORTED;
    return static_cast<product *>(state)->run(x, y) == cudaSuccess ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

void destroy(void *state)
{
    delete static_cast<product *>(state);
}

const spry_peer_kernel kernels[] = {
    {"csr5_authors_cuda", "csr", "cuda", "CSR5 by its authors, CUDA", 0, prepare, run, destroy, 0}};
const spry_peer_module module =
    {SPRY_PEER_ABI, "csr5_authors_cuda", SPRY_CSR5_COMMIT, 1, kernels, 0, nullptr, 0, nullptr, 0, nullptr};

} // namespace

extern "C" const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code == cudaSuccess && devices > 0) return &module;
    (void)cudaGetLastError();
    spry_peer_fail(error, SPRY_PEER_FAILED, "CSR5 for GPUs needs a GPU: %s",
                   code == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(code));
    return nullptr;
}
