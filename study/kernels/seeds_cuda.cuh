/* Shared code of the GPU kernels of seed 002: operands, count of multiplications, times of stages. */
#pragma once

#include "device/cuda/convert.cuh"
#include "spgemm/kernels/cuda/rows_cuda.cuh"

/* Operands of a launch: rows first .. first + rows - 1 of A, and all of B. */
struct seed_rows {
    gpu_csr A, B;
    int64_t first;
    int rows;
};

static inline seed_rows rows_of(const spryi_device_product *product)
{
    seed_rows r = {};
    r.A = gpu_csr_of(&product->a);
    r.B = gpu_csr_of(&product->b);
    r.first = product->row_begin;
    r.rows = (int)(product->row_end - product->row_begin);
    return r;
}

/* Counts the multiplications of all rows, which the library reports. The count is not a stage of the seed's method. */
static __global__ void add_products(seed_rows r, unsigned long long *products)
{
    unsigned long long sum = 0;
    const int64_t from = r.A.p.get(r.first), to = r.A.p.get(r.first + r.rows);
    for (int64_t k = from + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < to;
         k += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = __ldg(r.A.j + k);
        sum += (unsigned long long)(r.B.p.get(i + 1) - r.B.p.get(i));
    }
    if (sum) atomicAdd(products, sum);
}

/* ---- times of stages ------------------------------------------------------------------------------------ */

enum { CLOCK_MARKS = 8 };

/* Events in the stream that measure stages. If not enabled, no events are created. */
struct stage_clock {
    cudaEvent_t marks[CLOCK_MARKS];
    bool recorded[CLOCK_MARKS];
    bool enabled;
};

static inline void clock_close(stage_clock *c)
{
    for (int m = 0; m < CLOCK_MARKS; m++)
        if (c->marks[m]) (void)cudaEventDestroy(c->marks[m]);
    *c = {};
}

static inline spry_status clock_open(stage_clock *c, bool enabled, spry_error *err)
{
    *c = {};
    c->enabled = enabled;
    for (int m = 0; enabled && m < CLOCK_MARKS; m++)
        SPRY_CUDA_CHECK(cudaEventCreate(&c->marks[m]), "spgemm: event", err);
    return SPRY_OK;
}

static inline spry_status clock_mark(stage_clock *c, int mark, cudaStream_t stream, spry_error *err)
{
    if (!c->enabled) return SPRY_OK;
    SPRY_CUDA_CHECK(cudaEventRecord(c->marks[mark], stream), "spgemm: event", err);
    c->recorded[mark] = true;
    return SPRY_OK;
}

/* Returns the time between two marks that the stream has passed, or -1 if a mark was not recorded. */
static inline double clock_us(const stage_clock *c, int from, int to)
{
    float ms = 0;
    if (!c->recorded[from] || !c->recorded[to]) return -1;
    return cudaEventElapsedTime(&ms, c->marks[from], c->marks[to]) == cudaSuccess ? 1e3 * (double)ms : -1;
}
