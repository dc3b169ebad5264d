/*
 * Rows of C that exceed a multiprocessor's shared memory: a block per window of consecutive columns.
 *
 * Idea: first the row's mask, and the number of columns before each of its words, are stored in a table. They cut the
 *       row into windows with equal numbers of values, as few windows as shared memory allows. In a window, values are
 *       stored without gaps, as in block_cuda.cu. Windows are independent, so many blocks share a giant row.
 * Work: the block reads entries of A in batches, with the parts of the rows of B in the window. It processes one row of
 *       B at a time; each thread adds one entry.
 * Cost: the row's columns are read twice. Each window needs a search in each selected row of B. These rows are read
 *       once. The table has 8 bytes per 32 columns between the row's first and last column. C is written once.
 * Source: this library.
 */
#include "spgemm/kernels/cuda/block_cuda.cuh"

enum {
    WINDOW_THREADS = 512,
#ifndef WINDOW_SHARE
    WINDOW_SHARE = 2, /* blocks per multiprocessor */
#endif
    WINDOW_WORDS = 4096 / WINDOW_SHARE /* words of the mask in shared memory */
};

/*
 * Stores a row's mask, and the number of columns before each word, in its part of the table, with `stride` words each.
 * Copies the columns to Cj.
 */
static __global__ void __launch_bounds__(BLOCK_THREADS)
    index_giants(gpu_rows r, const int32_t *list, int mask_words, int stride, unsigned *table, int32_t *Cj,
                 const int32_t *known, row_offsets Cp)
{
    gpu_started();
    extern __shared__ uint4 block_shared[];
    __shared__ int of_warp[BLOCK_THREADS / 32];
    unsigned *mask = (unsigned *)block_shared;
    const int i = list[blockIdx.x], words = r.words[i], entries = r.counts[i];
    const int64_t at = Cp.get(i);
    const int kept = Cj ? r.kept[i] : -1;
    const int32_t *columns = kept >= 0 ? r.columns + kept : (Cj ? Cj : known) + at;
    unsigned *to_mask = table + (int64_t)blockIdx.x * 2 * stride, *to_before = to_mask + stride;
    int done = 0;
    for (int w0 = 0; w0 < words; w0 += mask_words) {
        const int window_words = min(mask_words, words - w0);
        const int64_t first = ((int64_t)r.low[i] + w0) * 32, last = first + (int64_t)window_words * 32;
        for (int w = threadIdx.x; w < window_words; w += blockDim.x) mask[w] = 0;
        __syncthreads();
        const bool whole = words <= mask_words;
        const int from = whole ? 0 : (int)position_of(columns, entries, first);
        const int to = whole ? entries : (int)position_of(columns, entries, last);
        for (int e = from + threadIdx.x; e < to; e += blockDim.x) {
            add_bit(mask, (int)(columns[e] - first));
            if (kept >= 0) Cj[at + e] = columns[e];
        }
        __syncthreads();
        done += number_words(mask, (const unsigned *)NULL, to_before + w0, window_words, first, done, (int32_t *)NULL,
                             of_warp);
        for (int w = threadIdx.x; w < window_words; w += blockDim.x) to_mask[w0 + w] = mask[w];
        __syncthreads();
    }
    gpu_finish();
}

/* Returns the first word with at least `place` columns before it. */
static __device__ __forceinline__ int word_at(const unsigned *before, int words, int place)
{
    int64_t word;
    SPRYI_BISECT(word, 0, words, (int)__ldg(before + word) < place);
    return (int)word;
}

/* Computes window v of row i. Each window holds at most `room` values. */
template <typename V> static __device__ __forceinline__ void compute_window(const gpu_rows &r, int i, int v, int room,
                                                                            const unsigned *mask_of,
                                                                            const unsigned *before_of, V *Cx,
                                                                            row_offsets Cp, V alpha)
{
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<V> batch;
    const int entries = r.counts[i], words = r.words[i];
    const int windows = (entries + room - 33) / (room - 32), each = (entries + windows - 1) / windows;
    if (v >= windows) return;
    V *values = (V *)block_shared;
    unsigned *mask = (unsigned *)(values + room);
    uint16_t *before = (uint16_t *)(mask + WINDOW_WORDS);
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1), at = Cp.get(i);
    /* a window begins at a word: it holds up to 31 values more than `each` */
    const int to = v + 1 < windows ? word_at(before_of, words, (v + 1) * each) : words;
    for (int w0 = word_at(before_of, words, v * each); w0 < to; w0 += WINDOW_WORDS) {
        const int window_words = min(WINDOW_WORDS, to - w0), base = (int)__ldg(before_of + w0);
        const int found = (w0 + window_words < words ? (int)__ldg(before_of + w0 + window_words) : entries) - base;
        if (found == 0) continue;
        for (int w = threadIdx.x; w < window_words; w += blockDim.x) {
            mask[w] = __ldg(mask_of + w0 + w);
            before[w] = (uint16_t)((int)__ldg(before_of + w0 + w) - base);
        }
        for (int e = threadIdx.x; e < found; e += blockDim.x) values[e] = 0;
        const int64_t first = ((int64_t)r.low[i] + w0) * 32, last = first + (int64_t)window_words * 32;
        const mask_positions positions = {mask, before, first};
        for (int64_t k = start; k < end; k += blockDim.x) {
            meet_batch<true>(r, &batch, k, end, false, first, last);
            add_batch(r, &batch, positions, values, 0, 1, (int)blockDim.x);
        }
        __syncthreads();
        for (int e = threadIdx.x; e < found; e += blockDim.x) Cx[at + base + e] = alpha * values[e];
        __syncthreads();
    }
}

/* Block (v, g) computes window v of row g of the list. */
template <typename V> static __global__ void __launch_bounds__(WINDOW_THREADS, WINDOW_SHARE)
    compute_windows(gpu_rows r, const int32_t *list, int windows, int room, int stride, const unsigned *table, V *Cx,
                    row_offsets Cp, V alpha)
{
    gpu_started();
    const int g = blockIdx.x / windows, v = blockIdx.x % windows;
    const unsigned *mask = table + (int64_t)g * 2 * stride;
    compute_window(r, list[g], v, room, mask, mask + stride, Cx, Cp, alpha);
    gpu_finish();
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* Returns the maximal number of words of a row's mask. */
static int64_t row_words(const gpu_work *w)
{
    return ceil_div(w->rows.B.cols, 32) + 1;
}

int64_t gpu_giant_table(const gpu_work *w, int64_t most)
{
    const int64_t row = 8 * row_words(w), all = row * w->found.list[LIST_GIANT];
    return all < most ? all : most > row ? most : row;
}

template <typename V> static spry_status compute_giants(gpu_work *w, const gpu_result *C, unsigned *table,
                                                        int64_t table_bytes, spry_error *err)
{
    const int32_t *list = w->rows.list;
    for (int c = 0; c < LIST_GIANT; c++) list += w->found.list[c];
    const int count = (int)w->found.list[LIST_GIANT], stride = (int)row_words(w), mask_words = gpu_mask_words(w);
    const int bytes = (w->shared_bytes / WINDOW_SHARE - 1024 - (int)sizeof(met_batch<V>)) & ~15;
    const int room = (bytes - 6 * WINDOW_WORDS) / (int)sizeof(V);
    const int windows = (int)ceil_div(w->rows.B.cols, room - 32);
    int64_t at_once = table_bytes / 8 / stride, most_blocks = 0x7fffffff / windows;
    if (at_once > most_blocks) at_once = most_blocks;
    for (int done = 0; done < count;) {
        const int now = count - done < at_once ? count - done : (int)at_once;
        w->follows = false; /* this kernel overwrites the table that the previous windows read */
        SPRY_CUDA_TRY(gpu_launch(w, index_giants, now, BLOCK_THREADS, mask_words * 4, "spgemm: columns of long rows",
                                 err, list + done, mask_words, stride, table, C->j, C->j ? NULL : C->known, C->p));
        w->follows = false;
        SPRY_CUDA_TRY(gpu_launch(w, compute_windows<V>, (int64_t)now * windows, WINDOW_THREADS, bytes,
                                 "spgemm: compute windows", err, list + done, windows, room, stride, table, (V *)C->x,
                                 C->p, *(const V *)C->alpha));
        done += now;
    }
    return SPRY_OK;
}

spry_status gpu_giant_values(gpu_work *w, const gpu_result *C, void *table, int64_t table_bytes, spry_error *err)
{
    if (w->found.list[LIST_GIANT] == 0) return SPRY_OK;
    unsigned *words = (unsigned *)table;
    return C->type == SPRY_F64 ? compute_giants<double>(w, C, words, table_bytes, err)
                               : compute_giants<float>(w, C, words, table_bytes, err);
}
