/*
 * Rows of middling size: 8, 16 or 32 lanes share a row of A.
 *
 * Idea: C's columns are bits of words of 32 columns, in shared memory. Where the row spans few words they all have a
 *       place (span), else words that occur are found by hashing (hash). A count of the bits before gives each column
 *       its place in the sorted row, so that nothing is sorted (hash: words only), and values lie packed. A summary,
 *       a bit a word, spares looking at words without columns.
 * Work: one row of B at a time, lanes over its entries: no two lanes meet in a value, and sums keep A's order. Four
 *       rows of B, or four pieces of a long one, are on their way at once.
 * Cost: B's columns twice, to count and to compute (three times where counting had no room to keep the columns that it
 *       found), and its values once, for each entry of A; C written once.
 * Source: bit masks and their counts as index: this library; hashing one row at a time: the baselines' prototype.
 */
#include "spgemm/gpu_spgemm_cuda.h"

enum { GROUP_THREADS = 128, MOST_AHEAD = 4 };

/* ---- the index ---------------------------------------------------------------------------------------- */

/* Words of 32 columns in shared memory. PAIRS: each with how many columns of the row are in words before, less one. */
struct word_index {
    unsigned *mask;
    unsigned *summary; /* span: a bit a word */
    int32_t *key;      /* hash: the word of a slot, -1 where there is none */
    int32_t *words;    /* hash: those that there are, as they came, or sorted */
    int *distinct;     /* hash: how many */
    int low, slots;    /* span: the first word, and words; hash: slots, a power of two */
};

static __device__ __forceinline__ int hash_of(int32_t word, int slots)
{
    return (int)(((unsigned)word * 0x9e3779b1u) >> (__clz(slots) + 1));
}

template <bool HASH> static __device__ __forceinline__ int find_word(const word_index &index, int32_t word)
{
    if (!HASH) return word - index.low;
    int slot = hash_of(word, index.slots);
    while (index.key[slot] != word) slot = (slot + 1) & (index.slots - 1);
    return slot;
}

/* The slot of the column, which is in the index from then on. */
template <bool HASH, bool PAIRS>
static __device__ __forceinline__ int add_column(const word_index &index, int32_t column)
{
    const int32_t word = column >> 5;
    const unsigned bit = 1u << (column & 31);
    int slot;
    if (HASH) {
        slot = hash_of(word, index.slots);
        while (true) {
            int32_t there = ((volatile int32_t *)index.key)[slot];
            if (there == -1) {
                there = atomicCAS(&index.key[slot], -1, word);
                if (there == -1) {
                    index.words[atomicAdd(index.distinct, 1)] = word;
                    break;
                }
            }
            if (there == word) break;
            slot = (slot + 1) & (index.slots - 1);
        }
    } else {
        slot = word - index.low;
    }
    unsigned *mask = index.mask + (PAIRS ? 2 * slot : slot);
    if (*(volatile unsigned *)mask & bit) return slot;
    const unsigned old = atomicOr(mask, bit);
    if (!HASH && old == 0) atomicOr(&index.summary[slot >> 5], 1u << (slot & 31));
    return slot;
}

/* PAIRS only. A shift to the left drops the columns that come after. */
template <bool HASH> static __device__ __forceinline__ int place_of(const word_index &index, int32_t column)
{
    const uint2 pair = ((const uint2 *)index.mask)[find_word<HASH>(index, column >> 5)];
    return (int)pair.y + __popc(__funnelshift_l(0, pair.x, ~(unsigned)column));
}

template <int G, bool HASH, bool PAIRS> static __device__ __forceinline__ void clear_index(const word_index &index)
{
    const int lane = threadIdx.x % G;
    for (int s = lane; s < index.slots; s += G) {
        if (PAIRS)
            ((uint2 *)index.mask)[s] = make_uint2(0, 0);
        else
            index.mask[s] = 0;
        if (HASH) index.key[s] = -1;
    }
    if (HASH) {
        if (lane == 0) *index.distinct = 0;
    } else {
        for (int s = lane; s < SUMMARY_WORDS; s += G) index.summary[s] = 0;
    }
}

/* ---- rows of B ---------------------------------------------------------------------------------------- */

template <int G> static __device__ __forceinline__ int most_of_groups(int v)
{
    for (int step = 16; step >= G; step /= 2) v = max(v, __shfl_xor_sync(ALL_LANES, v, step));
    return v;
}

/* The rows of B that entries of A meet, one a thread, in shared memory. */
template <typename V> struct met_rows {
    longlong2 row[GROUP_THREADS]; /* the first entry; length */
    V a[GROUP_THREADS];
};

/*
 * VALUES: values[place of the column] += a*b for all products of the group's row, in A's order. Else the columns go
 * into the index. Lanes of all groups of a warp go through it together.
 */
template <int G, bool HASH, bool PAIRS, bool VALUES, typename V> static __device__ __forceinline__ void
add_products(const gpu_rows &r, const word_index &index, int64_t start, int length, met_rows<V> *rows, V *values)
{
    const int lane = threadIdx.x % G, own = threadIdx.x - lane, longest = most_of_groups<G>(length);
    const V *Bx = (const V *)r.B.x;
    for (int k = 0; k < longest; k += G) {
        longlong2 row = {0, 0};
        __syncwarp();
        if (k + lane < length) {
            const int32_t j = __ldg(r.A.j + start + k + lane);
            row.x = r.B.p.get(j);
            row.y = r.B.p.get((int64_t)j + 1) - row.x;
            if (VALUES) rows->a[threadIdx.x] = __ldg((const V *)r.A.x + start + k + lane);
        }
        rows->row[threadIdx.x] = row;
        const int met = min(G, longest - k);
        const int most_of_batch = warp_max((int)row.y);
        __syncwarp();
        for (int t = 0; t < met; t += MOST_AHEAD) { /* G is a multiple: rows beyond `met` are there, and empty */
            struct {
                int64_t from;
                int length;
                V a;
            } m[MOST_AHEAD];
#pragma unroll
            for (int u = 0; u < MOST_AHEAD; u++) {
                const longlong2 there = rows->row[own + t + u];
                m[u].from = there.x;
                m[u].length = (int)there.y;
                if (VALUES) m[u].a = rows->a[own + t + u];
            }
            int most = most_of_batch;
            if (most > G) most = most_of_groups<G>(max(max(m[0].length, m[1].length), max(m[2].length, m[3].length)));
            if (most <= G) {
                int32_t j[MOST_AHEAD];
                V x[MOST_AHEAD];
#pragma unroll
                for (int u = 0; u < MOST_AHEAD; u++) {
                    j[u] = -1;
                    x[u] = 0;
                    if (lane < m[u].length) {
                        j[u] = __ldg(r.B.j + m[u].from + lane);
                        if (VALUES) x[u] = __ldg(Bx + m[u].from + lane);
                    }
                }
#pragma unroll
                for (int u = 0; u < MOST_AHEAD; u++) {
                    if (j[u] >= 0) {
                        if (VALUES)
                            add_product(&values[place_of<HASH>(index, j[u])], m[u].a, x[u]);
                        else
                            (void)add_column<HASH, PAIRS>(index, j[u]);
                    }
                    if (VALUES) __syncwarp();
                }
            } else {
#pragma unroll
                for (int u = 0; u < MOST_AHEAD; u++) {
                    for (int e = lane; e - lane < most; e += MOST_AHEAD * G) {
                        int32_t j[MOST_AHEAD];
                        V x[MOST_AHEAD];
#pragma unroll
                        for (int v = 0; v < MOST_AHEAD; v++) {
                            j[v] = -1;
                            x[v] = 0;
                            if (e + v * G < m[u].length) {
                                j[v] = __ldg(r.B.j + m[u].from + e + v * G);
                                if (VALUES) x[v] = __ldg(Bx + m[u].from + e + v * G);
                            }
                        }
#pragma unroll
                        for (int v = 0; v < MOST_AHEAD; v++) {
                            if (j[v] >= 0) {
                                if (VALUES)
                                    add_product(&values[place_of<HASH>(index, j[v])], m[u].a, x[v]);
                                else
                                    (void)add_column<HASH, PAIRS>(index, j[v]);
                            }
                        }
                    }
                    if (VALUES) __syncwarp();
                }
            }
        }
    }
}

/* ---- from bits to places ------------------------------------------------------------------------------ */

/* The columns of word w, whose first is the at-th of the row. */
template <bool PAIRS>
static __device__ __forceinline__ void write_word(const word_index &index, int slot, int32_t word, int at, int32_t *j)
{
    const unsigned bits = index.mask[PAIRS ? 2 * slot : slot];
    if (PAIRS) index.mask[2 * slot + 1] = (unsigned)(at - 1);
    if (!j) return;
    for (unsigned left = bits; left; left &= left - 1) j[at++] = word * 32 + __ffs(left) - 1;
}

/* Columns of the group's row, span. */
template <int G, bool PAIRS> static __device__ __forceinline__ int columns_of_lane(const word_index &index)
{
    const int lane = threadIdx.x % G;
    int mine = 0;
#pragma unroll
    for (int s = lane * (SUMMARY_WORDS / G); s < (lane + 1) * (SUMMARY_WORDS / G); s++) {
        for (unsigned left = index.summary[s]; left; left &= left - 1) {
            const int slot = s * 32 + __ffs(left) - 1;
            mine += __popc(index.mask[PAIRS ? 2 * slot : slot]);
        }
    }
    return mine;
}

/* PAIRS: places; j: columns, where it is not NULL. The lane's first is the at-th of the row. */
template <int G, bool PAIRS>
static __device__ __forceinline__ void write_span(const word_index &index, int at, int32_t *j)
{
    const int lane = threadIdx.x % G;
#pragma unroll
    for (int s = lane * (SUMMARY_WORDS / G); s < (lane + 1) * (SUMMARY_WORDS / G); s++) {
        for (unsigned left = index.summary[s]; left; left &= left - 1) {
            const int slot = s * 32 + __ffs(left) - 1, here = __popc(index.mask[PAIRS ? 2 * slot : slot]);
            write_word<PAIRS>(index, slot, index.low + slot, at, j);
            at += here;
        }
    }
}

/* Sorts list[0 .. size - 1], a power of two, by a group; groups of a warp may have lists of different sizes. */
template <int G> static __device__ __forceinline__ void sort_words(int32_t *list, int size)
{
    const int lane = threadIdx.x % G;
    const unsigned lanes = G == 32 ? ALL_LANES : ((1u << (G & 31)) - 1) << (threadIdx.x % 32 - lane);
    for (int run = 2; run <= size; run *= 2) {
        for (int step = run / 2; step > 0; step /= 2) {
            for (int e = lane; e < size / 2; e += G) {
                const int a = 2 * e - (e & (step - 1)), b = a + step;
                const int32_t x = list[a], y = list[b];
                if ((x > y) == ((a & run) == 0)) {
                    list[a] = y;
                    list[b] = x;
                }
            }
            __syncwarp(lanes);
        }
    }
}

/* Columns of the lane's words, hash. */
template <int G, bool PAIRS> static __device__ __forceinline__ int columns_of_words(const word_index &index)
{
    int mine = 0;
    for (int s = threadIdx.x % G; s < *index.distinct; s += G) {
        const int slot = find_word<true>(index, index.words[s]);
        mine += __popc(index.mask[PAIRS ? 2 * slot : slot]);
    }
    return mine;
}

/* Sorts the words; then as write_span. */
template <int G, bool PAIRS> static __device__ __forceinline__ void write_words(const word_index &index, int32_t *j)
{
    const int lane = threadIdx.x % G, distinct = *index.distinct, most = most_of_groups<G>(distinct);
    int size = 1, sum = 0;
    while (size < distinct) size *= 2;
    for (int s = distinct + lane; s < size; s += G) index.words[s] = NO_COLUMN;
    __syncwarp();
    sort_words<G>(index.words, size);
    __syncwarp();
    for (int s = 0; s < most; s += G) {
        const int slot = s + lane < distinct ? find_word<true>(index, index.words[s + lane]) : -1;
        int of_step;
        const int here = lanes_before(slot >= 0 ? __popc(index.mask[PAIRS ? 2 * slot : slot]) : 0, G, &of_step);
        if (slot >= 0) write_word<PAIRS>(index, slot, index.words[s + lane], sum + here, j);
        sum += of_step;
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

struct group_row {
    int i, length;
    int64_t start;
};

/* The group's row of the list; length 0 beyond its end, where the group goes along. */
template <int G>
static __device__ __forceinline__ group_row row_of_group(const gpu_rows &r, const int32_t *list, int count)
{
    const int64_t g = (int64_t)blockIdx.x * (GROUP_THREADS / G) + threadIdx.x / G;
    group_row row = {-1, 0, 0};
    if (g < count) {
        row.i = list[g];
        row.start = r.A.p.get(r.first + row.i);
        row.length = (int)(r.A.p.get(r.first + row.i + 1) - row.start);
    }
    return row;
}

/* Room for the block's columns, `mine` of them the group's: where, or -1. */
template <int G> static __device__ __forceinline__ int keep_columns(const gpu_rows &r, int mine)
{
    __shared__ int of_group[GROUP_THREADS / G];
    __shared__ unsigned first;
    const int group = threadIdx.x / G;
    if (threadIdx.x % G == 0) of_group[group] = mine;
    __syncthreads();
    int before = 0, all = 0;
    for (int g = 0; g < GROUP_THREADS / G; g++) {
        if (g < group) before += of_group[g];
        all += of_group[g];
    }
    if (threadIdx.x == 0) {
        first = (unsigned)r.columns_room;
        /* a look first: where the room is gone the counter does not go round */
        if (*(volatile unsigned *)&r.found->columns_kept < (unsigned)r.columns_room)
            first = atomicAdd(&r.found->columns_kept, (unsigned)all);
    }
    __syncthreads();
    return (int64_t)first + all <= r.columns_room ? (int)first + before : -1;
}

template <int G, bool HASH> static __global__ void __launch_bounds__(GROUP_THREADS)
    count_rows(gpu_rows r, const int32_t *list, int count, int bytes)
{
    extern __shared__ uint4 group_shared[];
    __shared__ met_rows<float> met;
    char *shared = (char *)group_shared + (threadIdx.x / G) * bytes;
    const group_row row = row_of_group<G>(r, list, count);
    word_index index = {};
    index.summary = (unsigned *)shared;
    index.mask = HASH ? (unsigned *)shared : index.summary + SUMMARY_WORDS;
    index.low = row.i >= 0 ? r.low[row.i] : 0;
    index.slots = row.i < 0 ? 32 : HASH ? gpu_slots_for(r.products[row.i]) : r.words[row.i];
    index.key = (int32_t *)index.mask + index.slots;
    index.words = index.key + index.slots;
    index.distinct = (int *)(shared + bytes) - 1;
    clear_index<G, HASH, false>(index);
    __syncwarp();
    add_products<G, HASH, false, false, float>(r, index, row.start, row.length, &met, NULL);
    __syncwarp();
    int total;
    const int at = lanes_before(HASH ? columns_of_words<G, false>(index) : columns_of_lane<G, false>(index), G, &total);
    const int kept = keep_columns<G>(r, row.i >= 0 ? total : 0);
    if (kept >= 0) {
        int32_t *j = row.i >= 0 ? r.columns + kept : NULL;
        if (HASH)
            write_words<G, false>(index, j);
        else
            write_span<G, false>(index, at, j);
    }
    if (row.i < 0 || threadIdx.x % G != 0) return;
    r.counts[row.i] = total;
    r.kept[row.i] = kept;
    if (HASH) {
        r.words[row.i] = -*index.distinct;
    } else {
        /* where few words of a wide span have columns, values are computed with a table of them */
        int distinct = 0;
        for (int s = 0; s < SUMMARY_WORDS; s++) distinct += __popc(index.summary[s]);
        const int bytes = gpu_slots_for(distinct) * GPU_SLOT_BYTES;
        if (distinct <= MOST_DISTINCT && bytes < 4 * index.slots && bytes + total * 8 + 16 <= 16384)
            r.words[row.i] = -distinct;
    }
}

/* Places of columns that are known; they go to Cj where they came from elsewhere. */
template <int G, bool HASH> static __device__ __forceinline__ void
place_known(const word_index &index, const int32_t *known, int entries, int32_t *Cj)
{
    for (int e = threadIdx.x % G; e < entries; e += G) {
        const int32_t column = known[e], word = column >> 5;
        const int slot = add_column<HASH, true>(index, column);
        if (e == 0 || known[e - 1] >> 5 != word) index.mask[2 * slot + 1] = (unsigned)(e - 1);
        if (Cj) Cj[e] = column;
    }
}

template <int G, bool HASH, typename V> static __global__ void __launch_bounds__(GROUP_THREADS)
    compute_rows(gpu_rows r, const int32_t *list, int count, int bytes, int32_t *Cj, const int32_t *known, V *Cx,
                 row_offsets Cp, V alpha)
{
    extern __shared__ uint4 group_shared[];
    __shared__ met_rows<V> met;
    char *shared = (char *)group_shared + (threadIdx.x / G) * bytes;
    const group_row row = row_of_group<G>(r, list, count);
    const int lane = threadIdx.x % G, entries = row.i >= 0 ? r.counts[row.i] : 0;
    word_index index = {};
    index.low = row.i >= 0 ? r.low[row.i] : 0;
    index.slots = row.i < 0 ? 32 : HASH ? gpu_slots_for(-r.words[row.i]) : r.words[row.i];
    index.mask = (unsigned *)shared;
    index.key = (int32_t *)(index.mask + 2 * index.slots);
    index.words = index.key + index.slots;
    index.distinct = (int *)(shared + bytes) - 1;
    V *values = (V *)(HASH ? index.words + index.slots / 2 : index.key);
    index.summary = (unsigned *)(shared + bytes) - SUMMARY_WORDS;
    clear_index<G, HASH, true>(index);
    for (int e = lane; e < entries; e += G) values[e] = 0;
    __syncwarp();
    const int64_t at = row.i >= 0 ? Cp.get(row.i) : 0;
    const int kept = Cj && row.i >= 0 ? r.kept[row.i] : -1;
    const bool fill = Cj && kept < 0;
    if (!fill) place_known<G, HASH>(index, Cj ? r.columns + kept : known + at, entries, Cj ? Cj + at : NULL);
    __syncwarp();
    if (__any_sync(ALL_LANES, fill)) { /* groups that are not filling go along with no products */
        add_products<G, HASH, true, false, V>(r, index, row.start, fill ? row.length : 0, &met, NULL);
        __syncwarp();
        if (HASH) {
            word_index other = index; /* as known columns have left it */
            int none = 0;
            if (!fill) other.distinct = &none;
            write_words<G, true>(other, row.i >= 0 ? Cj + at : NULL);
        } else {
            int total;
            const int first = lanes_before(fill ? columns_of_lane<G, true>(index) : 0, G, &total);
            if (fill) write_span<G, true>(index, first, row.i >= 0 ? Cj + at : NULL);
        }
        __syncwarp();
    }
    add_products<G, HASH, true, true, V>(r, index, row.start, row.length, &met, values);
    __syncwarp();
    for (int e = lane; e < entries; e += G) Cx[at + e] = alpha * values[e];
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* bytes: of shared memory a group */
template <int G, bool HASH> static spry_status launch_count(const gpu_rows *r, const int32_t *list, int count,
                                                            int bytes, cudaStream_t stream, spry_error *err)
{
    if (count == 0) return SPRY_OK;
    const int of_block = bytes * (GROUP_THREADS / G);
    cudaError_t code = cudaFuncSetAttribute(count_rows<G, HASH>, cudaFuncAttributeMaxDynamicSharedMemorySize, of_block);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: count rows");
    count_rows<G, HASH>
        <<<(unsigned)ceil_div(count, GROUP_THREADS / G), GROUP_THREADS, of_block, stream>>>(*r, list, count, bytes);
    return launched(err, "spgemm: count rows");
}

/* Spans by `lanes` lanes; tables by warps, since groups of fewer would take too much of a block's shared memory. */
spry_status gpu_group_count(const gpu_rows *r, const gpu_row_counts *found, int lanes, cudaStream_t stream,
                            spry_error *err)
{
    const int32_t *list = r->list;
    for (int c = ROW_SPAN_LOW; c < ROW_BLOCK; c++) {
        const int count = (int)found->rows[c];
        spry_status status;
        if (c >= ROW_HASH_LOW) {
            const int slots = gpu_slots_for(HASH_PRODUCTS >> (ROW_HASH_HIGH - c));
            status = launch_count<32, true>(r, list, count, slots * 10 + 8, stream, err);
        } else {
            static const int words[3] = {SPAN_LOW_WORDS, SPAN_HIGH_WORDS, SPAN_WORDS};
            const int bytes = 4 * (SUMMARY_WORDS + words[c - ROW_SPAN_LOW]);
            status = lanes == 32 || c == ROW_SPAN_WIDE ? launch_count<32, false>(r, list, count, bytes, stream, err)
                                                       : launch_count<16, false>(r, list, count, bytes, stream, err);
        }
        if (status != SPRY_OK) return status;
        list += count;
    }
    return SPRY_OK;
}

template <int G, bool HASH, typename V> static spry_status launch_values(const gpu_rows *r, const int32_t *list,
                                                                         int count, int bytes, const gpu_result *C,
                                                                         cudaStream_t stream, spry_error *err)
{
    if (count == 0) return SPRY_OK;
    const int of_block = bytes * (GROUP_THREADS / G);
    cudaError_t code =
        cudaFuncSetAttribute(compute_rows<G, HASH, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, of_block);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: compute rows");
    compute_rows<G, HASH, V>
        <<<(unsigned)ceil_div(count, GROUP_THREADS / G), GROUP_THREADS, of_block, stream>>>(*r, list, count, bytes,
                                                                                            C->j,
                                                                                            C->j ? NULL : C->known,
                                                                                            (V *)C->x, C->p,
                                                                                            (V)C->alpha);
    return launched(err, "spgemm: compute rows");
}

template <typename V> static spry_status values_by(const gpu_rows *r, const gpu_row_counts *found, int lanes,
                                                   const gpu_result *C, cudaStream_t stream, spry_error *err)
{
    const int32_t *list = r->list;
    for (int c = LIST_SPAN; c < LIST_BLOCK; c++) {
        const int count = (int)found->list[c],
                  bytes = c < LIST_HASH ? GPU_SPAN_BYTES[c] : GPU_HASH_BYTES[c - LIST_HASH];
        const int few = lanes < 32 && bytes <= 4096; /* lanes a row: large tables are better shared by a warp */
        spry_status status;
        if (c < LIST_HASH)
            status = few ? launch_values<16, false, V>(r, list, count, bytes, C, stream, err)
                         : launch_values<32, false, V>(r, list, count, bytes, C, stream, err);
        else
            status = few ? launch_values<16, true, V>(r, list, count, bytes, C, stream, err)
                         : launch_values<32, true, V>(r, list, count, bytes, C, stream, err);
        if (status != SPRY_OK) return status;
        list += count;
    }
    return SPRY_OK;
}

spry_status gpu_group_values(const gpu_rows *r, const gpu_row_counts *found, int lanes, const gpu_result *C,
                             cudaStream_t stream, spry_error *err)
{
    return C->type == SPRY_F64 ? values_by<double>(r, found, lanes, C, stream, err)
                               : values_by<float>(r, found, lanes, C, stream, err);
}
