/*
 * Rows with many products or distant columns: a block per row.
 *
 * Idea: C's columns are bits of a mask from the row's first column to its last. The number of bits before a column is
 *       its position. Nothing is sorted, and values are stored without gaps.
 * Work: the block reads entries of A in batches, with the selected rows of B. To compute values, 1, 2, 4 or 8 groups of
 *       warps process rows of B in turn; each lane adds one entry. Each group has its own values. Fewer groups are used
 *       if memory does not suffice. A barrier of the group between two rows replaces atomic addition. The groups'
 *       values are added in order.
 * Cost: per entry of A, B's columns are read twice and B's values once. The mask is cleared and read. C is written
 *       once.
 * Source: this library.
 */
#include "spgemm/kernels/cuda/block_cuda.cuh"

enum { LOW_THREADS = 128 }; /* threads that count a row with few products */

/* ---- counting ----------------------------------------------------------------------------------------- */

/*
 * Sets the bits of the products' columns in [first, last). first is a multiple of 32. The mask and the summary must be
 * zero.
 */
template <int THREADS> static __device__ __forceinline__ void fill_mask(const gpu_rows &r, met_batch<float, THREADS> *b,
                                                                        int64_t start, int64_t end, bool whole,
                                                                        int64_t first, int64_t last, unsigned *mask,
                                                                        unsigned *summary)
{
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int64_t k = start; k < end; k += blockDim.x) {
        meet_batch<false>(r, b, k, end, whole, first, last);
        for (int t = threadIdx.x / 32; t < b->met; t += warps) {
            const int32_t *j = r.B.j + b->from[t];
            const int length = b->length[t];
            for (int e = lane; e < length; e += 128) {
                int32_t column[4];
#pragma unroll
                for (int u = 0; u < 4; u++) column[u] = e + 32 * u < length ? __ldg(j + e + 32 * u) : -1;
#pragma unroll
                for (int u = 0; u < 4; u++) {
                    if (column[u] < 0) continue;
                    const int bit = (int)(column[u] - first), w = bit >> 5;
                    const unsigned one = 1u << (bit & 31);
                    if (((volatile unsigned *)mask)[w] & one) continue;
                    if (atomicOr(&mask[w], one) == 0) atomicOr(&summary[w >> 5], 1u << (w & 31));
                }
            }
        }
    }
    __syncthreads();
}

/* Returns the number of columns in the mask. Increases *some by the number of words with columns. */
static __device__ __forceinline__ int count_bits(const unsigned *mask, const unsigned *summary, int words, int *some,
                                                 int *scratch)
{
    const int lane = threadIdx.x % 32;
    int mine = 0, mine_some = 0;
    const int warps = blockDim.x / 32, each = ((words + warps - 1) / warps + 31) / 32 * 32;
    const int from = threadIdx.x / 32 * each, to = min(words, from + each);
    for (int s = from; s < to; s += 1024) {
        for (unsigned left = pieces_with_columns(summary, s, to); left; left &= left - 1) {
            const int piece = s / 32 + __ffs(left) - 1;
            mine_some += summary[piece] >> lane & 1;
            if (32 * piece + lane < to) mine += __popc(mask[32 * piece + lane]);
        }
    }
    *some += block_sum(mine_some, scratch);
    return block_sum(mine, scratch);
}

/*
 * Counts rows of the list. If Cj is not NULL, does not count, but stores in Cj the columns of rows whose columns were
 * not kept.
 */
template <int THREADS> static __global__ void __launch_bounds__(THREADS, 1536 / THREADS)
    count_block_rows(gpu_rows r, const int32_t *list, int mask_words, int32_t *Cj, row_offsets Cp)
{
    gpu_started();
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<float, THREADS> batch;
    __shared__ unsigned kept;
    unsigned *mask = (unsigned *)block_shared, *summary = mask + mask_words;
    const int i = list[blockIdx.x], words = Cj && r.kept[i] >= 0 ? 0 : r.words[i];
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1);
    const bool whole = words <= mask_words;
    int total = 0, some = 0;
    for (int at = 0; at < words; at += mask_words) {
        const int window_words = min(mask_words, words - at);
        for (int w = threadIdx.x; w < (window_words + 3) / 4; w += blockDim.x) block_shared[w] = make_uint4(0, 0, 0, 0);
        for (int w = threadIdx.x; w < (window_words + 31) / 32; w += blockDim.x) summary[w] = 0;
        const int64_t first = ((int64_t)r.low[i] + at) * 32;
        __syncthreads();
        fill_mask(r, &batch, start, end, whole, first, first + (int64_t)window_words * 32, mask, summary);
        total +=
            Cj ? number_words(mask, summary, (int *)NULL, window_words, first, total, Cj + Cp.get(i), batch.of_warp)
               : count_bits(mask, summary, window_words, &some, batch.of_warp);
    }
    if (!Cj) {
        if (threadIdx.x == 0) {
            kept = (unsigned)r.columns_room;
            if (whole && *(volatile unsigned *)&r.found->columns_kept < (unsigned)r.columns_room)
                kept = atomicAdd(&r.found->columns_kept, (unsigned)total);
            const bool fits = (int64_t)kept + total <= r.columns_room;
            r.counts[i] = total;
            r.distinct[i] = some;
            r.kept[i] = fits ? (int)kept : -1;
            if (!fits) r.found->lost = 1;
        }
        __syncthreads();
        if ((int64_t)kept + total <= r.columns_room)
            (void)number_words(mask, summary, (int *)NULL, words, (int64_t)r.low[i] * 32, 0, r.columns + kept,
                               batch.of_warp);
    }
    gpu_finish();
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* Computes a row of the list. most_words: maximal words of the mask; bytes: shared memory for mask and values. */
template <typename V> static __global__ void __launch_bounds__(BLOCK_THREADS, 2)
    compute_block_rows(gpu_rows r, const int32_t *list, int bytes, int most_words, int32_t *Cj, const int32_t *known,
                       V *Cx, row_offsets Cp, V alpha)
{
    gpu_started();
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<V> batch;
    const int i = list[blockIdx.x], words = r.words[i], entries = r.counts[i];
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1), at = Cp.get(i);
    const int index_words = min(words, most_words), threads = (int)blockDim.x;
    unsigned *mask = (unsigned *)block_shared;
    const int index_bytes = (index_words * 6 + 15) & ~7;
    uint16_t *before = (uint16_t *)(mask + index_words);
    V *values = (V *)((char *)block_shared + index_bytes);
    int groups = gpu_groups_wanted(r.products[i], end - start, entries, threads);
    while (groups > 1 && index_bytes + (int64_t)groups * entries * (int)sizeof(V) > bytes) groups /= 2;
    const int lanes = threads / groups, group = threadIdx.x / lanes;
    int done = 0; /* entries of previous windows */
    const int kept = Cj ? r.kept[i] : -1;
    const int32_t *columns = kept >= 0 ? r.columns + kept : (Cj ? Cj : known) + at;
    for (int w0 = 0; w0 < words; w0 += index_words) {
        const int window_words = min(index_words, words - w0);
        const int64_t first = ((int64_t)r.low[i] + w0) * 32, last = first + (int64_t)window_words * 32;
        const bool whole = words == index_words;
        for (int w = threadIdx.x; w < window_words; w += threads) mask[w] = 0;
        __syncthreads();
        const int from = whole ? 0 : (int)position_of(columns, entries, first);
        const int found = (whole ? entries : (int)position_of(columns, entries, last)) - from;
        for (int e = from + threadIdx.x; e < from + found; e += threads) {
            const int32_t column = columns[e];
            const int w = (int)((column - first) >> 5);
            add_bit(mask, (int)(column - first));
            if (e == from || (columns[e - 1] - first) >> 5 != w) before[w] = (uint16_t)(e - from);
            if (kept >= 0) Cj[at + e] = column;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < groups * found; e += threads) values[e] = 0;
        __syncthreads();
        const mask_positions positions = {mask, before, first};
        for (int64_t k = start; k < end; k += threads) {
            meet_batch<true>(r, &batch, k, end, whole, first, last);
            add_batch(r, &batch, positions, values + (int64_t)group * found, group, groups, lanes);
        }
        __syncthreads();
        for (int e = threadIdx.x; e < found; e += threads) {
            V sum = values[e];
            for (int g = 1; g < groups; g++) sum += values[(int64_t)g * found + e];
            Cx[at + done + e] = alpha * sum;
        }
        __syncthreads();
        done += found;
    }
    gpu_finish();
}

/* ---- launches ----------------------------------------------------------------------------------------- */

spry_status gpu_block_count(gpu_work *w, const gpu_result *C, spry_error *err)
{
    const int words = (gpu_mask_words(w) + 31) & ~31;
    const row_offsets none = {};
    const int32_t *list = w->rows.list;
    for (int c = ROW_SPAN_LOW; c < ROW_BLOCK_LOW; c++) list += w->found.rows[c];
    for (int c = ROW_BLOCK; c >= ROW_BLOCK_LOW; c--) { /* long rows first */
        const int count = (int)w->found.rows[c], threads = c == ROW_BLOCK ? (int)BLOCK_THREADS : (int)LOW_THREADS;
        if (count == 0) continue;
        SPRY_CUDA_TRY(gpu_launch(w, c == ROW_BLOCK ? count_block_rows<BLOCK_THREADS> : count_block_rows<LOW_THREADS>,
                                 count, threads, words / 32 * 132, "spgemm: count rows by blocks", err,
                                 c == ROW_BLOCK ? list + w->found.rows[ROW_BLOCK_LOW] : list, words, C ? C->j : NULL,
                                 C ? C->p : none));
    }
    return SPRY_OK;
}

template <typename V> static spry_status compute_blocks(gpu_work *w, const gpu_result *C, spry_error *err)
{
    static const int threads[4] = {256, 256, 512, 512};
    const int32_t *list = w->rows.list;
    for (int c = 0; c < LIST_BLOCK; c++) list += w->found.list[c];
    for (int c = LIST_GIANT - 1; c >= LIST_BLOCK; c--) {
        const int count = (int)w->found.list[c], s = c - LIST_BLOCK, bytes = gpu_block_bytes(s, w->shared_bytes);
        if (count == 0) continue;
        int before = 0;
        for (int d = LIST_BLOCK; d < c; d++) before += (int)w->found.list[d];
        SPRY_CUDA_TRY(gpu_launch(w, compute_block_rows<V>, count, threads[s], bytes, "spgemm: compute rows by blocks",
                                 err, list + before, bytes, gpu_block_words(bytes), C->j, C->j ? NULL : C->known,
                                 (V *)C->x, C->p, *(const V *)C->alpha));
    }
    return SPRY_OK;
}

spry_status gpu_block_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    return C->type == SPRY_F64 ? compute_blocks<double>(w, C, err) : compute_blocks<float>(w, C, err);
}
