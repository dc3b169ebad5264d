/* Sums and row products that kernels of different formats share. */
#pragma once

#include "device/cuda/cuda_common.cuh"

/*
 * Adds the values of the `width` lanes of a group. Returns the sum in the group's first lane. width: a power of two up
 * to 32. All lanes of the warp must call this function.
 */
template <typename V> static __device__ __forceinline__ V lanes_sum(V sum, int width)
{
    for (int step = width / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, width);
    return sum;
}

static __device__ __forceinline__ int lane_of_warp()
{
    return (int)threadIdx.x % 32;
}

/* Returns the sum of the values of this lane and the lanes before it. All lanes of the warp must call this function. */
template <typename T> static __device__ __forceinline__ T warp_scan(T value)
{
    for (int step = 1; step < 32; step *= 2) {
        const T lower = __shfl_up_sync(0xffffffffu, value, step);
        value += lane_of_warp() >= step ? lower : 0;
    }
    return value;
}

/* Returns the sum of the values of the threads before this thread. Sets *total to the sum of the 1024-thread block. */
template <typename T> static __device__ T sum_before(T own, T *total)
{
    __shared__ T of_warp[32];
    const int lane = lane_of_warp(), warp = threadIdx.x / 32;
    const T sum = warp_scan(own);
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    const T warps = warp_scan(of_warp[lane]);
    *total = __shfl_sync(0xffffffffu, warps, 31);
    const T before = __shfl_sync(0xffffffffu, warps, warp > 0 ? warp - 1 : 0);
    __syncthreads(); /* of_warp may be written again */
    return (warp > 0 ? before : 0) + sum - own;
}

/*
 * Adds the values of a block of THREADS threads. Returns the sum in thread 0. scratch: THREADS / 32 elements in shared
 * memory, which may be reused on return.
 */
template <int THREADS, typename V> static __device__ V sum_of_block(V sum, V *scratch)
{
    sum = lanes_sum(sum, 32);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) sum = lanes_sum(threadIdx.x < THREADS / 32 ? scratch[threadIdx.x] : V(0), THREADS / 32);
    __syncthreads();
    return sum;
}

/*
 * Returns the sum of a_k x_j over entries k, k + STEP, ... below end, with four loads in flight. If Ax is NULL, all a_k
 * are 1.
 */
template <int STEP, typename V, typename J>
static __device__ __forceinline__ V strided_product(int64_t k, int64_t end, const J *__restrict__ Aj,
                                                    const V *__restrict__ Ax, const V *__restrict__ x)
{
    V sum = 0;
    for (; k + 3 * STEP < end; k += 4 * STEP) {
        J j[4];
        V a[4];
#pragma unroll
        for (int u = 0; u < 4; u++) j[u] = load_once(Aj + k + u * STEP);
#pragma unroll
        for (int u = 0; u < 4; u++) a[u] = Ax ? load_once(Ax + k + u * STEP) : V(1);
#pragma unroll
        for (int u = 0; u < 4; u++) sum += a[u] * x[j[u]];
    }
    /* a plain load of Aj: load_once would cost csr_merge eight registers */
    for (; k < end; k += STEP) sum += (Ax ? load_once(Ax + k) : V(1)) * x[Aj[k]];
    return sum;
}

/*
 * Adds a part of a row's sum. All threads of the block must call this function. Thread 0 has the part in *sum and
 * stores it in partial[part]. Returns true in the last of the `parts` blocks. In that block, *sum of thread 0 becomes
 * the sum of the row, added in a fixed order. *arrived is zero before the first block and after the last.
 */
template <int THREADS, typename V>
static __device__ bool add_part(V *sum, int64_t part, int64_t parts, V *partial, unsigned *arrived, V *scratch)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partial[part] = *sum;
        __threadfence(); /* the sum is seen before the arrival is */
        is_last = atomicAdd(arrived, 1u) == (unsigned)parts - 1;
        if (is_last) *arrived = 0;
    }
    __syncthreads();
    const bool last = is_last;
    if (last) {
        __threadfence();
        V own = 0;
        for (int64_t p = threadIdx.x; p < parts; p += THREADS) own += __ldcg(partial + p);
        *sum = sum_of_block<THREADS>(own, scratch);
    }
    __syncthreads(); /* is_last may be written again */
    return last;
}
