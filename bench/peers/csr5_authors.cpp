/*
 * csr5_authors: CSR5 on the CPU by its authors (W. Liu and B. Vinter, CSR5: An efficient storage format for
 * cross-platform sparse matrix-vector multiplication, ICS 2015). scripts/rivals.sh gets their source (MIT licence).
 * This file includes its folder CSR5_avx2 (f64, tiles of 4 x 16 entries) and copies nothing.
 *
 * Differences from the authors' program: x and y are the benchmark's. Their product does not write empty rows, so run
 * writes zeros there. Their code does not scale by alpha, so only alpha = 1 and beta = 0 are supported.
 */
#include "bench/peer.h"

#include <dirent.h>
#include <immintrin.h>
#include <iostream>
#include <math.h>
#include <memory>
#include <new>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <vector>

/* The authors' conversion prints its times to standard output, which has the benchmark's records. */
static std::ostream silent(nullptr);
#define cout silent
#define printf(...) ((void)0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <anonymouslib_avx2.h>
#pragma GCC diagnostic pop
#undef cout
#undef printf

namespace {

constexpr int64_t tile_entries = ANONYMOUSLIB_CSR5_OMEGA * ANONYMOUSLIB_CSR5_SIGMA;

/* Returns a copy of an array, aligned as the authors' program aligns it. */
template <typename T> T *copy_of(const void *array, int64_t count)
{
    T *copy = static_cast<T *>(_mm_malloc(static_cast<size_t>(count) * sizeof(T), ANONYMOUSLIB_X86_CACHELINE));
    if (!copy) throw std::bad_alloc();
    memcpy(copy, array, static_cast<size_t>(count) * sizeof(T));
    return copy;
}

struct aligned_free {
    void operator()(void *array) const
    {
        _mm_free(array);
    }
};
template <typename T> using aligned_array = std::unique_ptr<T, aligned_free>;

/* The conversion to CSR5 is in place, so the product has copies of columns and values. */
struct product {
    int threads;
    std::vector<int> empty_rows;
    aligned_array<int> offsets, columns;
    aligned_array<double> values;
    anonymouslibHandle<int, unsigned int, double> handle;
    bool converted = false;

    explicit product(const spry_peer_request &r)
        : threads(r.threads), offsets(copy_of<int>(r.matrix.offsets, r.matrix.rows + 1)),
          columns(copy_of<int>(r.matrix.columns, r.matrix.nnz)), values(copy_of<double>(r.matrix.values, r.matrix.nnz)),
          handle(static_cast<int>(r.matrix.rows), static_cast<int>(r.matrix.cols))
    {
        for (int64_t i = 0; i < r.matrix.rows; i++)
            if (offsets.get()[i] == offsets.get()[i + 1]) empty_rows.push_back(static_cast<int>(i));
        omp_set_num_threads(threads);
        handle.inputCSR(static_cast<int>(r.matrix.nnz), offsets.get(), columns.get(), values.get());
        handle.setSigma(ANONYMOUSLIB_CSR5_SIGMA);
        converted = handle.asCSR5() == ANONYMOUSLIB_SUCCESS;
    }

    ~product()
    {
        omp_set_num_threads(threads);
        if (converted) handle.destroy();
    }
};

int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix &a = request->matrix;
    if (request->transpose || a.value_bytes != 8 || a.offset_bytes != 4 || a.index_bytes != 4 || a.nnz == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "the authors' CSR5 for CPUs has f64, indices 32/32, no transposed product and no matrix "
                              "without entries");
    try {
        product *made = new product(*request);
        *state = made;
        if (!made->converted) return spry_peer_fail(error, SPRY_PEER_FAILED, "the conversion to CSR5 failed");
    } catch (const std::bad_alloc &) {
        return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    }
    const int64_t tiles = (a.nnz + tile_entries - 1) / tile_entries;
    cost->threads = request->threads;
    cost->bytes = a.nnz * 12 + tiles * (ANONYMOUSLIB_CSR5_OMEGA + 1) * 4;
    return SPRY_PEER_OK;
}

int run(void *state, double alpha, const void *x, double beta, void *y)
{
    product *p = static_cast<product *>(state);
    if (alpha != 1 || beta != 0) return SPRY_PEER_UNSUPPORTED;
    double *result = static_cast<double *>(y);
    omp_set_num_threads(p->threads); /* their code uses all threads; other cases may have set another number */
    p->handle.setX(static_cast<double *>(const_cast<void *>(x)));
    for (int row : p->empty_rows) result[row] = 0;
    return p->handle.spmv(1, result) == ANONYMOUSLIB_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

void destroy(void *state)
{
    delete static_cast<product *>(state);
}

const spry_peer_kernel kernels[] = {
    {"csr5_authors_cpu", "csr", "cpu", "CSR5 by its authors, AVX2", -1, prepare, run, destroy, 0}};
const spry_peer_module module = {SPRY_PEER_ABI, "csr5_authors", SPRY_CSR5_COMMIT, 1, kernels, 0, nullptr, 0, nullptr, 0,
                                 nullptr};

} // namespace

extern "C" const spry_peer_module *spry_peer_get(spry_peer_error *)
{
    return &module;
}
