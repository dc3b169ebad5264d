/*
 * Rows of medium size: 16 or 32 lanes share a row of A.
 *
 * Idea: C's columns are bits of words of 32 columns in shared memory. The number of bits before a column is its
 *       position in the sorted row. Columns are not sorted, and values are stored without gaps. Counting has two
 *       variants. SPAN: the row spans few words; each word has a slot, and a summary of one bit per word skips words
 *       without columns. HASH: the words that have columns are found by hashing, and are sorted. When values are
 *       computed, the columns are known. The variant is then HASH or LEVELS, whichever needs less memory. LEVELS: the
 *       words that have columns are stored without gaps, and the counts of the summary give their positions.
 * Work: a group of lanes processes one row of B at a time; each lane adds one entry. So no two lanes add to the same
 *       value, and sums keep A's order. Four rows of B, or four pieces of a long row, are loaded in advance.
 * Cost: per entry of A, B's columns are read twice, to count and to compute (three times if counting could not keep its
 *       columns). B's values are read once. C is written once.
 * Source: bit masks and their counts as index: this library; hash tables: a prototype of this library.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

enum { GROUP_THREADS = 128, MOST_AHEAD = 4 };

/* ---- the index ---------------------------------------------------------------------------------------- */

enum index_kind { SPAN, HASH, LEVELS };

/*
 * Words of 32 columns in shared memory. PAIRS: each word is followed by the number of the row's columns in words before
 * it, minus one.
 */
struct word_index {
    unsigned *mask;
    unsigned *summary; /* span: a bit per word; levels: pairs of 32 such bits and the number of words before, minus 1 */
    int32_t *key;      /* hash: the word of a slot, -1 for an empty slot */
    int32_t *words;    /* hash: the words, in order of insertion, later sorted */
    int *distinct;     /* hash: number of words */
    /* low: first word (span), or first word / 32 (levels). slots: number of words (span), or a power of two (hash) */
    int low, slots;
};

static __device__ __forceinline__ int hash_of(int32_t word, int slots)
{
    return (int)(((unsigned)word * 0x9e3779b1u) >> (__clz(slots) + 1));
}

static __device__ __forceinline__ int find_word(const word_index &index, int32_t word)
{
    int slot = hash_of(word, index.slots);
    while (index.key[slot] != word) slot = (slot + 1) & (index.slots - 1);
    return slot;
}

/* Adds the column to the index. Returns its slot. */
template <index_kind KIND, bool PAIRS>
static __device__ __forceinline__ int add_column(const word_index &index, int32_t column)
{
    const int32_t word = column >> 5;
    const unsigned bit = 1u << (column & 31);
    int slot;
    if (KIND == HASH) {
        slot = hash_of(word, index.slots);
        while (true) {
            int32_t found = ((volatile int32_t *)index.key)[slot];
            if (found == -1) {
                found = atomicCAS(&index.key[slot], -1, word);
                if (found == -1) {
                    index.words[atomicAdd(index.distinct, 1)] = word;
                    break;
                }
            }
            if (found == word) break;
            slot = (slot + 1) & (index.slots - 1);
        }
    } else {
        slot = word - index.low;
    }
    unsigned *mask = index.mask + (PAIRS ? 2 * slot : slot);
    if (*(volatile unsigned *)mask & bit) return slot;
    const unsigned old = atomicOr(mask, bit);
    if (KIND == SPAN && old == 0) atomicOr(&index.summary[slot >> 5], 1u << (slot & 31));
    return slot;
}

/* Returns the number of bits set in the pair up to `bit`, plus the count of the pair. The shift drops higher bits. */
static __device__ __forceinline__ int rank_of(uint2 pair, unsigned bit)
{
    return (int)pair.y + __popc(__funnelshift_l(0, pair.x, ~bit));
}

/* Returns the position of a column. PAIRS only. */
template <index_kind KIND> static __device__ __forceinline__ int place_of(const word_index &index, int32_t column)
{
    const int slot = KIND == HASH ? find_word(index, column >> 5)
                                  : rank_of(((const uint2 *)index.summary)[(column >> 10) - index.low], column >> 5);
    return rank_of(((const uint2 *)index.mask)[slot], column);
}

/* Clears memory in units of 16 bytes. `at` is aligned. */
template <int G> static __device__ __forceinline__ void clear_bytes(void *at, int bytes)
{
    for (int e = threadIdx.x % G; e < (bytes + 15) / 16; e += G) ((uint4 *)at)[e] = make_uint4(0, 0, 0, 0);
}

template <int G, bool PAIRS> static __device__ __forceinline__ void clear_table(const word_index &index)
{
    const int lane = threadIdx.x % G;
    for (int s = lane; s < index.slots; s += G) {
        if (PAIRS)
            ((uint2 *)index.mask)[s] = make_uint2(0, 0);
        else
            index.mask[s] = 0;
        index.key[s] = -1;
    }
    if (lane == 0) *index.distinct = 0;
}

/* ---- rows of B ---------------------------------------------------------------------------------------- */

template <int G> static __device__ __forceinline__ int most_of_groups(int v)
{
    for (int step = 16; step >= G; step /= 2) v = max(v, __shfl_xor_sync(ALL_LANES, v, step));
    return v;
}

/*
 * The rows of B that a group's entries of A select, in pieces of at most G entries. An element of `piece` is: first
 * entry in B * 65536 + lane that has the entry of A * 256 + length. A group stores two pieces per thread at a time.
 */
template <typename V> struct met_rows {
    long long piece[2 * GROUP_THREADS];
    V a[GROUP_THREADS];
};

/*
 * Lists pieces `first` to first + 2G - 1 of the group's `all` pieces; `before` pieces precede the lane's row. Groups of
 * a warp with fewer than `most` pieces get empty pieces.
 */
template <int G> static __device__ __forceinline__ void list_pieces(long long *list, int first, int before, int pieces,
                                                                    int all, int most, int64_t from, int length)
{
    const int lane = threadIdx.x % G, end = min(most, first + 2 * G);
    for (int c = max(0, first - before); c < pieces && before + c < end; c++)
        list[before + c - first] = (from + c * G) << 16 | lane << 8 | min(G, length - c * G);
    for (int e = max(all, first) + lane; e < min(first + 2 * G, (end + MOST_AHEAD - 1) & -MOST_AHEAD); e += G)
        list[e - first] = 0;
}

/*
 * VALUES: adds a*b to values[position of the column] for all products of the group's row, in A's order. Otherwise adds
 * the columns to the index. All groups of a warp call together.
 */
template <int G, index_kind KIND, bool VALUES, typename V> static __device__ __forceinline__ void
add_products(const gpu_rows &r, const word_index &index, int64_t start, int length, met_rows<V> *rows, V *values)
{
    const int lane = threadIdx.x % G, own = threadIdx.x - lane, longest = most_of_groups<G>(length);
    long long *list = rows->piece + 2 * own;
    for (int k = 0; k < longest; k += G) {
        int64_t from = 0;
        int row_length = 0, all;
        __syncwarp();
        if (k + lane < length) {
            const int32_t j = __ldg(r.A.j + start + k + lane);
            from = r.B.p.get(j);
            row_length = (int)(r.B.p.get((int64_t)j + 1) - from);
            if (VALUES) rows->a[threadIdx.x] = __ldg((const V *)r.A.x + start + k + lane);
        }
        const int pieces = (row_length + G - 1) / G, before = lanes_before(pieces, G, &all),
                  most = most_of_groups<G>(all);
        for (int first = 0; first < most; first += 2 * G) {
            __syncwarp();
            list_pieces<G>(list, first, before, pieces, all, most, from, row_length);
            __syncwarp();
            for (int t = 0; t < min(2 * G, most - first); t += MOST_AHEAD) {
                int32_t j[MOST_AHEAD];
                int of[MOST_AHEAD];
                V x[MOST_AHEAD];
#pragma unroll
                for (int u = 0; u < MOST_AHEAD; u++) {
                    const long long piece = list[t + u];
                    j[u] = -1;
                    x[u] = 0;
                    of[u] = (int)piece >> 8 & 0xff;
                    if (lane < ((int)piece & 0xff)) {
                        j[u] = __ldg(r.B.j + (piece >> 16) + lane);
                        if (VALUES) x[u] = __ldg((const V *)r.B.x + (piece >> 16) + lane);
                    }
                }
                if (VALUES) { /* positions first: unlike sums, they do not depend on each other */
#pragma unroll
                    for (int u = 0; u < MOST_AHEAD; u++)
                        if (j[u] >= 0) j[u] = place_of<KIND>(index, j[u]);
                }
#pragma unroll
                for (int u = 0; u < MOST_AHEAD; u++) {
                    if (VALUES) {
                        if (j[u] >= 0) add_product(&values[j[u]], rows->a[own + of[u]], x[u]);
                        __syncwarp();
                    } else if (j[u] >= 0) {
                        (void)add_column<KIND, false>(index, j[u]);
                    }
                }
            }
        }
    }
}

/* Adds the columns of the selected rows of B to a span index, given the pairs of these rows. */
template <int G>
static __device__ __forceinline__ void add_pairs(const gpu_rows &r, const word_index &index, int64_t start, int length)
{
    const int lane = threadIdx.x % G, longest = most_of_groups<G>(length);
    for (int k = 0; k < longest; k += G) {
        int64_t from = 0;
        int row_length = 0, all;
        if (k + lane < length) {
            const int32_t j = __ldg(r.A.j + start + k + lane);
            from = r.B.p.get(j);
            row_length = __ldg(r.pair_counts + j);
        }
        const int before = lanes_before(row_length, G, &all), most = most_of_groups<G>(all);
        from -= before;
        for (int t = 0; t < most; t += MOST_AHEAD * G) {
            uint2 pair[MOST_AHEAD];
#pragma unroll
            for (int u = 0; u < MOST_AHEAD; u++) {
                pair[u] = make_uint2(0, 0);
                if (t + u * G >= most) continue;
                const int q = t + u * G + lane;
                int row = 0;
#pragma unroll
                for (int step = G / 2; step > 0; step /= 2)
                    if (__shfl_sync(ALL_LANES, before, row + step, G) <= q) row += step;
                const int64_t base = __shfl_sync(ALL_LANES, from, row, G);
                if (q < all) pair[u] = __ldg(r.pairs + base + q);
            }
#pragma unroll
            for (int u = 0; u < MOST_AHEAD; u++) {
                const int slot = (int)pair[u].x - index.low;
                if (pair[u].y == 0 || (pair[u].y & ~((volatile unsigned *)index.mask)[slot]) == 0) continue;
                if (atomicOr(&index.mask[slot], pair[u].y) == 0) atomicOr(&index.summary[slot >> 5], 1u << (slot & 31));
            }
        }
    }
}

/* ---- from bits to positions ------------------------------------------------------------------------------ */

/*
 * Returns which of up to 32 words, from w on, have columns. Span: a lane has consecutive words, so its columns are
 * consecutive.
 */
template <int G> static __device__ __forceinline__ unsigned words_of_lane(const word_index &index, int w, int end)
{
    if (w >= end) return 0;
    const unsigned some = __funnelshift_r(index.summary[w >> 5], index.summary[(w >> 5) + 1], w);
    return end - w >= 32 ? some : some & ((1u << (end - w)) - 1);
}

/* Span: returns the number of columns in the lane's words, plus 65536 times the number of words that have columns. */
template <int G> static __device__ __forceinline__ int columns_of_lane(const word_index &index)
{
    const int each = (index.slots + G - 1) / G, from = threadIdx.x % G * each, end = min(from + each, index.slots);
    int mine = 0;
    for (int w = from; w < end; w += 32) {
        const unsigned some = words_of_lane<G>(index, w, end);
        mine += __popc(some) << 16;
        for (unsigned left = some; left; left &= left - 1) mine += __popc(index.mask[w + __ffs(left) - 1]);
    }
    return mine;
}

/* Writes the columns of the lane's words. `at`: position of the lane's first column. */
template <int G> static __device__ __forceinline__ void write_span(const word_index &index, int at, int32_t *j)
{
    const int each = (index.slots + G - 1) / G, from = threadIdx.x % G * each, end = min(from + each, index.slots);
    for (int w = from; w < end; w += 32) {
        for (unsigned left = words_of_lane<G>(index, w, end); left; left &= left - 1) {
            const int slot = w + __ffs(left) - 1;
            const int32_t first = (index.low + slot) * 32 - 1;
            for (unsigned bits = index.mask[slot]; bits; bits &= bits - 1) j[at++] = first + __ffs(bits);
        }
    }
}

/* Sorts list[0 .. size - 1] with a group. size is a power of two; groups of a warp may have different sizes. */
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

/* Hash: returns the number of columns in the lane's words. */
template <int G> static __device__ __forceinline__ int columns_of_words(const word_index &index)
{
    int mine = 0;
    for (int s = threadIdx.x % G; s < *index.distinct; s += G)
        mine += __popc(index.mask[find_word(index, index.words[s])]);
    return mine;
}

/* Sorts the words, and writes the columns to j if it is not NULL. */
template <int G> static __device__ __forceinline__ void write_words(const word_index &index, int32_t *j)
{
    const int lane = threadIdx.x % G, distinct = *index.distinct, most = most_of_groups<G>(distinct);
    int size = 1, sum = 0;
    while (size < distinct) size *= 2;
    for (int s = distinct + lane; s < size; s += G) index.words[s] = NO_COLUMN;
    __syncwarp();
    sort_words<G>(index.words, size);
    __syncwarp();
    for (int s = 0; s < most; s += G) {
        const int32_t word = s + lane < distinct ? index.words[s + lane] : 0;
        unsigned bits = s + lane < distinct ? index.mask[find_word(index, word)] : 0;
        int of_step;
        int at = sum + lanes_before(__popc(bits), G, &of_step);
        if (j)
            for (; bits; bits &= bits - 1) j[at++] = word * 32 + __ffs(bits) - 1;
        sum += of_step;
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

struct group_row {
    int i, length;
    int64_t start;
};

/* Returns the group's row of the list. A group after the end of the list gets length 0 and runs with its warp. */
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

/*
 * Reserves memory for the columns of the block's rows. mine: number of columns of the group. Returns the position of
 * the group in r.columns, or -1.
 */
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
        /* read first, so that the counter cannot overflow when no memory is left */
        if (*(volatile unsigned *)&r.found->columns_kept < (unsigned)r.columns_room)
            first = atomicAdd(&r.found->columns_kept, (unsigned)all);
    }
    __syncthreads();
    return (int64_t)first + all <= r.columns_room ? (int)first + before : -1;
}

/*
 * Counts rows of the list. If Cj is not NULL, does not count, but stores in Cj the columns of rows whose columns were
 * not kept.
 */
template <int G, index_kind KIND, int PAIRED> static __global__ void __launch_bounds__(GROUP_THREADS, 16)
    count_rows(gpu_rows r, const int32_t *list, int count, int bytes, int32_t *Cj, row_offsets Cp)
{
    gpu_started();
    extern __shared__ uint4 group_shared[];
    __shared__ met_rows<float> met;
    char *shared = (char *)group_shared + (threadIdx.x / G) * bytes;
    group_row row = row_of_group<G>(r, list, count);
    if (Cj && (row.i < 0 || r.kept[row.i] >= 0)) {
        row.i = -1;
        row.length = 0;
    }
    if (Cj && __syncthreads_and(row.i < 0)) {
        gpu_finish();
        return;
    }
    word_index index = {};
    if (KIND == HASH) {
        index.slots = row.i < 0 ? 32 : gpu_slots_for(r.products[row.i]);
        index.mask = (unsigned *)shared;
        index.key = (int32_t *)index.mask + index.slots;
        index.words = index.key + index.slots;
        index.distinct = (int *)(shared + bytes) - 1;
        clear_table<G, false>(index);
    } else {
        index.low = row.i < 0 ? 0 : r.low[row.i];
        index.slots = row.i < 0 ? 1 : r.words[row.i];
        index.summary = (unsigned *)shared;
        index.mask = index.summary + ((index.slots + 31) / 32 + 3) / 4 * 4;
        clear_bytes<G>(shared, (int)((char *)(index.mask + index.slots) - shared));
    }
    __syncwarp();
    if (PAIRED)
        add_pairs<G>(r, index, row.start, row.length);
    else
        add_products<G, KIND, false, float>(r, index, row.start, row.length, &met, NULL);
    __syncwarp();
    int total;
    const int mine = KIND == HASH ? columns_of_words<G>(index) : columns_of_lane<G>(index);
    const int at = lanes_before(mine, G, &total) & 0xffff;
    const int distinct = KIND == HASH ? *index.distinct : total >> 16;
    if (KIND == SPAN) total &= 0xffff;
    const int kept = Cj ? -1 : keep_columns<G>(r, row.i >= 0 ? total : 0);
    int32_t *to = row.i < 0 ? NULL : Cj ? Cj + Cp.get(row.i) : kept >= 0 ? r.columns + kept : NULL;
    if (KIND == HASH && (Cj || kept >= 0))
        write_words<G>(index, to);
    else if (KIND == SPAN && to)
        write_span<G>(index, at, to);
    if (!Cj && row.i >= 0 && threadIdx.x % G == 0) {
        r.counts[row.i] = total;
        r.distinct[row.i] = distinct;
        r.kept[row.i] = kept;
        if (kept < 0) r.found->lost = 1;
    }
    gpu_finish();
}

/* Hash: adds known columns to a table of their words, with positions. Copies the columns to Cj if it is not NULL. */
template <int G> static __device__ __forceinline__ void place_known(const word_index &index, const int32_t *known,
                                                                    int entries, int32_t *Cj)
{
    for (int e = threadIdx.x % G; e < entries; e += G) {
        const int32_t column = known[e], word = column >> 5;
        const int slot = add_column<HASH, true>(index, column);
        if (e == 0 || known[e - 1] >> 5 != word) index.mask[2 * slot + 1] = (unsigned)(e - 1);
        if (Cj) Cj[e] = column;
    }
}

/* Levels: does the same as place_known. The n-th word that occurs is in the n-th pair. */
template <int G> static __device__ __forceinline__ void place_levels(const word_index &index, const int32_t *known,
                                                                     int entries, int32_t *Cj)
{
    const int lane = threadIdx.x % G, most = most_of_groups<G>(entries);
    const unsigned lower_lanes = (1u << (threadIdx.x % 32 - lane)) - 1, upto = 2u << (threadIdx.x % 32);
    uint2 *pairs = (uint2 *)index.mask, *summary = (uint2 *)index.summary;
    int before = -1;
    for (int e = lane; e - lane < most; e += G) {
        const int32_t column = e < entries ? known[e] : 0, last = e < entries && e > 0 ? known[e - 1] : -1;
        const bool first = e < entries && column >> 5 != last >> 5; /* the column is the first of its word */
        const unsigned firsts = __ballot_sync(ALL_LANES, first) & ~lower_lanes;
        const int slot = before + __popc(firsts & (upto - 1));
        before += __popc(G == 32 ? firsts : firsts & ((lower_lanes + 1) * ((1u << (G & 31)) - 1)));
        if (e >= entries) continue;
        atomicOr(&pairs[slot].x, 1u << (column & 31));
        if (first) {
            pairs[slot].y = (unsigned)(e - 1);
            uint2 *above = &summary[(column >> 10) - index.low];
            atomicOr(&above->x, 1u << (column >> 5 & 31));
            if (column >> 10 != last >> 10) above->y = (unsigned)(slot - 1);
        }
        if (Cj) Cj[e] = column;
    }
}

template <int G, index_kind KIND, typename V> static __global__ void __launch_bounds__(GROUP_THREADS, 10)
    compute_rows(gpu_rows r, const int32_t *list, int count, int bytes, int32_t *Cj, const int32_t *known, V *Cx,
                 row_offsets Cp, V alpha)
{
    gpu_started();
    extern __shared__ uint4 group_shared[];
    __shared__ met_rows<V> met;
    char *shared = (char *)group_shared + (threadIdx.x / G) * bytes;
    const group_row row = row_of_group<G>(r, list, count);
    const int lane = threadIdx.x % G, entries = row.i >= 0 ? r.counts[row.i] : 0;
    const int distinct = row.i >= 0 ? r.distinct[row.i] : 0;
    word_index index = {};
    V *values;
    if (KIND == HASH) {
        index.slots = gpu_slots_for(distinct);
        index.mask = (unsigned *)shared;
        index.key = (int32_t *)(index.mask + 2 * index.slots);
        index.words = index.key + index.slots;
        index.distinct = (int *)(shared + bytes) - 1;
        values = (V *)(index.words + index.slots / 2);
        clear_table<G, true>(index);
        for (int e = lane; e < entries; e += G) values[e] = 0;
    } else {
        const int low = row.i >= 0 ? r.low[row.i] : 0, words = row.i >= 0 ? r.words[row.i] : 0;
        index.low = low >> 5;
        index.summary = (unsigned *)shared;
        index.mask = index.summary + 2 * gpu_summary_pairs(low, words);
        values = (V *)(index.mask + 2 * distinct);
        clear_bytes<G>(shared, (int)((char *)(values + entries) - shared));
    }
    __syncwarp();
    const int64_t at = row.i >= 0 ? Cp.get(row.i) : 0;
    const int kept = Cj && row.i >= 0 ? r.kept[row.i] : -1;
    int32_t *to = kept >= 0 ? Cj + at : NULL;
    const int32_t *columns = kept >= 0 ? r.columns + kept : (Cj ? Cj : known) + at;
    if (KIND == LEVELS)
        place_levels<G>(index, columns, entries, to);
    else
        place_known<G>(index, columns, entries, to);
    __syncwarp();
    add_products<G, KIND, true, V>(r, index, row.start, row.length, &met, values);
    __syncwarp();
    for (int e = lane; e < entries; e += G) Cx[at + e] = alpha * values[e];
    gpu_finish();
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* bytes: shared memory per group */
template <int G, index_kind KIND> static spry_status launch_count(gpu_work *w, const int32_t *list, int count,
                                                                  int bytes, const gpu_result *C, spry_error *err)
{
    if (count == 0) return SPRY_OK;
    const int groups = GROUP_THREADS / G;
    const row_offsets none = {};
    const auto kernel = KIND == SPAN && w->rows.pairs ? count_rows<G, KIND, KIND == SPAN> : count_rows<G, KIND, 0>;
    return gpu_launch(w, kernel, ceil_div(count, groups), GROUP_THREADS, bytes * groups, "spgemm: count rows", err,
                      list, count, bytes, C ? C->j : NULL, C ? C->p : none);
}

/*
 * Counts the entries of C's rows. A row with a bitmap of its span is counted by 16 or 32 lanes. A row with a hash table
 * is counted by a warp, because smaller groups would need too many tables in a block's shared memory.
 */
spry_status gpu_group_count(gpu_work *w, const gpu_result *C, spry_error *err)
{
    const int32_t *list = w->rows.list;
    for (int c = ROW_SPAN_LOW; c < ROW_SORT; c++) {
        const int count = (int)w->found.rows[c];
        spry_status status;
        if (c >= ROW_HASH_LOW) {
            const int slots = gpu_slots_for(HASH_PRODUCTS >> (ROW_HASH_HIGH - c));
            status = launch_count<32, HASH>(w, list, count, slots * 10 + 8, C, err);
        } else {
            static const int words[3] = {SPAN_LOW_WORDS, SPAN_HIGH_WORDS, SPAN_WORDS};
            const int most = words[c - ROW_SPAN_LOW], bytes = 4 * ((most / 32 + 3) / 4 * 4 + most);
            status = w->lanes == 32 || c == ROW_SPAN_WIDE ? launch_count<32, SPAN>(w, list, count, bytes, C, err)
                                                          : launch_count<16, SPAN>(w, list, count, bytes, C, err);
        }
        if (status != SPRY_OK) return status;
        list += count;
    }
    return SPRY_OK;
}

template <int G, index_kind KIND, typename V> static spry_status
launch_values(gpu_work *w, const int32_t *list, int count, int bytes, const gpu_result *C, spry_error *err)
{
    if (count == 0) return SPRY_OK;
    const int groups = GROUP_THREADS / G;
    return gpu_launch(w, compute_rows<G, KIND, V>, ceil_div(count, groups), GROUP_THREADS, bytes * groups,
                      "spgemm: compute rows", err, list, count, bytes, C->j, C->j ? NULL : C->known, (V *)C->x, C->p,
                      *(const V *)C->alpha);
}

template <typename V> static spry_status values_by(gpu_work *w, const gpu_result *C, spry_error *err)
{
    const int32_t *list = w->rows.list;
    for (int c = LIST_LEVELS; c < LIST_BLOCK; c++) {
        const int count = (int)w->found.list[c], bytes = gpu_list_bytes(c);
        const int few = w->lanes < 32 && bytes <= 4096; /* 16 lanes per row; a large table is shared by 32 */
        spry_status status;
        if (c < LIST_HASH)
            status = few ? launch_values<16, LEVELS, V>(w, list, count, bytes, C, err)
                         : launch_values<32, LEVELS, V>(w, list, count, bytes, C, err);
        else
            status = few ? launch_values<16, HASH, V>(w, list, count, bytes, C, err)
                         : launch_values<32, HASH, V>(w, list, count, bytes, C, err);
        if (status != SPRY_OK) return status;
        list += count;
    }
    return SPRY_OK;
}

spry_status gpu_group_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    return C->type == SPRY_F64 ? values_by<double>(w, C, err) : values_by<float>(w, C, err);
}
