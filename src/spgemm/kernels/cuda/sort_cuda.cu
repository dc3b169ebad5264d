/*
 * Rows of some hundred products in distant columns: 16 or 32 lanes sort the products.
 *
 * Idea: in random matrices nearly every product is an entry of C, and two columns are rarely in one word of 32 columns.
 *       Masks and tables of words gain nothing. A product is an integer of 32 bits: its column, and in the low bits its
 *       position in the row. These integers are sorted in registers, 4, 8 or 16 per lane. The order is kept for the
 *       numeric phase, in 2 bytes per product. The numeric phase copies B's columns and values to shared memory in
 *       their original order, and reads them in the sorted order.
 * Work: half a warp per row, or a warp per row with more than 256 products. The entry of A of a product is found by
 *       counting bits of a mask, in which a bit marks the first product of a row of B.
 * Cost: per entry of A, B's columns are read twice and B's values once. 2 bytes per product are written and read. C is
 *       written once. A row whose order was not kept is sorted again.
 * Source: expansion and sorting: Bell, Dalton and Olson 2012; rows in registers and a kept order: this library.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

#include <cuda_pipeline.h>

enum { SORT_THREADS = 128, SORT_PLACE = (1 << SORT_BITS) - 1 };
/* Flags of a product: it is the first of its column; another product of its column follows. */
enum { CODE_FIRST = 1 << 15, CODE_CONTINUES = 1 << 14 };
static const unsigned NO_KEY = 0xffffffffu;

/*
 * The selected nonempty rows of B. from: the row's first entry minus the number of products before the row. begin: a
 * bit is set at the first product of each row.
 */
template <int G, int N> struct sort_room {
    int64_t from[SORT_ENTRIES];
    unsigned begin[G * N / 32];
};

/*
 * Lists the nonempty rows of B of the group's row. Positions of products start at 0. a: receives the values of A,
 * unless NULL. All groups of a warp call together.
 */
template <int G, int N, typename V> static __device__ __forceinline__ void
meet_rows(const gpu_rows &r, int64_t start, int length, int longest, sort_room<G, N> *room, V *a)
{
    const int lane = threadIdx.x % G;
    const unsigned lower_lanes = (1u << (threadIdx.x % 32 - lane)) - 1,
                   earlier = ((1u << threadIdx.x % 32) - 1) & ~lower_lanes;
    int before = 0, met = 0;
    if (lane < G * N / 32) room->begin[lane] = 0;
    __syncwarp();
    for (int k = 0; k < longest; k += G) {
        int64_t from = 0;
        int row_length = 0, all;
        if (k + lane < length) {
            const int32_t j = __ldg(r.A.j + start + k + lane);
            from = r.B.p.get(j);
            row_length = (int)(r.B.p.get((int64_t)j + 1) - from);
        }
        const int at = before + lanes_before(row_length, G, &all);
        const unsigned some = __ballot_sync(ALL_LANES, row_length > 0);
        if (row_length > 0) {
            const int slot = met + __popc(some & earlier);
            room->from[slot] = from - at;
            if (a) a[slot] = __ldg((const V *)r.A.x + start + k + lane);
            atomicOr(&room->begin[at / 32], 1u << at % 32);
        }
        before += all;
        met += __popc(G == 32 ? some : some >> (threadIdx.x % 32 - lane) & ((1u << (G & 31)) - 1));
    }
    __syncwarp();
}

/* Returns the index in `room` of the row of B of product G * e + lane. *before: rows before product G * e; updated. */
template <int G, int N>
static __device__ __forceinline__ int row_of_product(const sort_room<G, N> &room, int e, int *before)
{
    const unsigned begin = G == 32 ? room.begin[e] : ((const unsigned short *)room.begin)[e];
    const int row = *before + __popc(begin & ((2u << threadIdx.x % G) - 1)) - 1;
    *before += __popc(begin);
    return row;
}

/*
 * Sorts a group's keys with a bitonic network in which all sorted runs increase. Afterwards the lane has keys lane * N
 * to lane * N + N - 1.
 */
template <int G, int N> static __device__ __forceinline__ void sort_products(unsigned (&key)[N])
{
    const int lane = threadIdx.x % G, log_n = N == 4 ? 2 : N == 8 ? 3 : 4, log_g = G == 16 ? 4 : 5;
#pragma unroll
    for (int s = 1; s <= log_n + log_g; s++) {
        const int size = 1 << s;
        if (s <= log_n) { /* compares two sorted runs from opposite ends */
#pragma unroll
            for (int e = 0; e < N; e++) {
                const int other = e ^ (size - 1);
                if (other < e) continue;
                const unsigned least = min(key[e], key[other]);
                key[other] = max(key[e], key[other]);
                key[e] = least;
            }
        } else {
            unsigned other[N];
#pragma unroll
            for (int e = 0; e < N; e++) other[e] = __shfl_xor_sync(ALL_LANES, key[N - 1 - e], size / N - 1);
            const bool lower = (lane & size / N / 2) == 0;
#pragma unroll
            for (int e = 0; e < N; e++) key[e] = lower ? min(key[e], other[e]) : max(key[e], other[e]);
        }
#pragma unroll
        for (int t = s - 2; t >= 0; t--) {
            const int step = 1 << t;
            if (t >= log_n) {
                const bool lower = (lane & step / N) == 0;
#pragma unroll
                for (int e = 0; e < N; e++) {
                    const unsigned other = __shfl_xor_sync(ALL_LANES, key[e], step / N);
                    key[e] = lower ? min(key[e], other) : max(key[e], other);
                }
            } else {
#pragma unroll
                for (int e = 0; e < N; e++) {
                    if (e & step) continue;
                    const unsigned least = min(key[e], key[e + step]);
                    key[e + step] = max(key[e], key[e + step]);
                    key[e] = least;
                }
            }
        }
    }
}

/*
 * Sorts the row's products. code: receives N consecutive products of the sorted order per lane. Returns the number of
 * the lane's products that are the first of their column.
 */
template <int G, int N> static __device__ __forceinline__ int
order_products(const gpu_rows &r, int32_t low, int total, const sort_room<G, N> &room, unsigned (&code)[N])
{
    const int lane = threadIdx.x % G;
    int rows = 0, firsts = 0;
#pragma unroll
    for (int e = 0; e < N; e++) {
        const int q = G * e + lane, row = row_of_product(room, e, &rows);
        code[e] = NO_KEY;
        if (q < total) code[e] = (unsigned)(__ldg(r.B.j + (room.from[row] + q)) - low) << SORT_BITS | (unsigned)q;
    }
    sort_products<G, N>(code);
    unsigned before = __shfl_up_sync(ALL_LANES, code[N - 1], 1, G) >> SORT_BITS;
    const unsigned next = __shfl_down_sync(ALL_LANES, code[0], 1, G) >> SORT_BITS;
#pragma unroll
    for (int e = 0; e < N; e++) {
        const int place = lane * N + e;
        const unsigned column = code[e] >> SORT_BITS,
                       after = e + 1 < N ? code[e + 1 < N ? e + 1 : 0] >> SORT_BITS : next;
        const int first = place < total && (place == 0 || column != before);
        code[e] = (code[e] & SORT_PLACE) | (first ? CODE_FIRST : 0) |
                  (place + 1 < total && after == column ? CODE_CONTINUES : 0);
        firsts += first;
        before = column;
    }
    return firsts;
}

/* Stores the lane's codes. `to` is aligned to 8 bytes. */
template <int G, int N>
static __device__ __forceinline__ void write_codes(const unsigned (&code)[N], int total, unsigned short *to)
{
    const int place = threadIdx.x % G * N;
    unsigned word[N / 2];
#pragma unroll
    for (int e = 0; e < N; e += 2) word[e / 2] = code[e] | code[e + 1] << 16;
    if (place >= total) return;
#pragma unroll
    for (int e = 0; e < N; e += 4) *(uint2 *)(to + place + e) = make_uint2(word[e / 2], word[e / 2 + 1]);
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

struct sort_row {
    int i, length, total, longest; /* longest: maximal entries of A over the warp's rows */
    int64_t start;
};

/* Returns the group's row of the list. A group after the end of the list gets i < 0 and runs with its warp. */
template <int G>
static __device__ __forceinline__ sort_row row_of_group(const gpu_rows &r, const int32_t *list, int count)
{
    const int64_t g = (int64_t)blockIdx.x * (SORT_THREADS / G) + threadIdx.x / G;
    sort_row row = {-1, 0, 0, 0, 0};
    if (g < count) {
        row.i = list[g];
        row.total = r.products[row.i];
        row.start = r.A.p.get(r.first + row.i);
        row.length = (int)(r.A.p.get(r.first + row.i + 1) - row.start);
    }
    return row;
}

static __device__ __forceinline__ void set_longest(sort_row *row)
{
    row->longest = warp_max(row->length);
}

/* Reserves memory for the order of the group's row in r.columns. Returns its position, or -1. */
template <int G> static __device__ __forceinline__ int keep_order(const gpu_rows &r, int total)
{
    __shared__ int of_group[SORT_THREADS / G];
    __shared__ unsigned base;
    const int group = threadIdx.x / G,
              mine = (total + 15) / 16 * 8; /* 32 bytes per unit, the most that a lane writes */
    if (threadIdx.x % G == 0) of_group[group] = mine;
    __syncthreads();
    int before = 0, all = 3;
    for (int w = 0; w < SORT_THREADS / G; w++) {
        if (w < group) before += of_group[w];
        all += of_group[w];
    }
    if (threadIdx.x == 0) {
        base = (unsigned)r.columns_room;
        if (*(volatile unsigned *)&r.found->columns_kept < (unsigned)r.columns_room)
            base = atomicAdd(&r.found->columns_kept, (unsigned)all);
    }
    __syncthreads();
    return (int64_t)base + all <= r.columns_room ? (int)((base + 3) & ~3u) + before : -1;
}

template <int G, int N> static __global__ void __launch_bounds__(SORT_THREADS)
    count_sorted(gpu_rows r, const int32_t *list, int count)
{
    gpu_started();
    __shared__ sort_room<G, N> rooms[SORT_THREADS / G];
    sort_room<G, N> *room = &rooms[threadIdx.x / G];
    sort_row row = row_of_group<G>(r, list, count);
    const int kept = keep_order<G>(r, row.total);
    unsigned code[N];
    set_longest(&row);
    meet_rows<G, N, float>(r, row.start, row.length, row.longest, room, NULL);
    int entries = order_products<G, N>(r, row.i >= 0 ? r.low[row.i] * 32 : 0, row.total, *room, code);
    for (int step = G / 2; step > 0; step /= 2) entries += __shfl_xor_sync(ALL_LANES, entries, step);
    if (kept >= 0) write_codes<G, N>(code, row.total, (unsigned short *)(r.columns + kept));
    if (row.i >= 0 && threadIdx.x % G == 0) {
        r.counts[row.i] = entries;
        r.distinct[row.i] = 0;
        r.kept[row.i] = kept;
        if (kept < 0) r.found->sort_again = 1;
    }
    gpu_finish();
}

static __device__ __forceinline__ float product_and_sum(float a, float b, float sum)
{
    return __fmaf_rn(a, b, sum);
}
static __device__ __forceinline__ double product_and_sum(double a, double b, double sum)
{
    return __fma_rn(a, b, sum);
}

/*
 * Shared memory of a row: the permutation that sorts its products by column, A's values, and for each product B's
 * value, its column and its entry of A.
 */
template <int G, int N, typename V> struct __align__(16) value_room
{
    unsigned short order[G * N];
    V a[SORT_ENTRIES], x[G * N];
    sort_room<G, N> met;
    int32_t j[G * N];
    unsigned char row[G * N];
};

/* Computes rows of the list whose order was kept. If AGAIN is 1, computes the rows whose order was not kept. */
template <int G, int N, int AGAIN, typename V> static __global__ void __launch_bounds__(SORT_THREADS)
    compute_sorted(gpu_rows r, const int32_t *list, int count, int32_t *Cj, V *Cx, row_offsets Cp, V alpha)
{
    gpu_started();
    __shared__ value_room<G, N, V> rooms[SORT_THREADS / G];
    value_room<G, N, V> *room = &rooms[threadIdx.x / G];
    sort_row row = row_of_group<G>(r, list, count);
    const int lane = threadIdx.x % G, kept = row.i >= 0 ? r.kept[row.i] : -1;
    if (row.i < 0 || (kept < 0) != AGAIN) row.i = -1, row.length = row.total = 0;
    set_longest(&row);
    if (row.longest == 0) {
        gpu_finish();
        return;
    }
    if (!AGAIN) {
        for (int e = lane * 8; e < row.total; e += G * 8)
            __pipeline_memcpy_async(room->order + e, (const unsigned short *)(r.columns + kept) + e, 16);
    }
    meet_rows<G, N, V>(r, row.start, row.length, row.longest, &room->met, room->a);
    int rows = 0;
#pragma unroll
    for (int e = 0; e < N; e++) {
        const int q = G * e + lane, u = row_of_product(room->met, e, &rows);
        if (q >= row.total) continue;
        const int64_t at = room->met.from[u] + q;
        __pipeline_memcpy_async(&room->j[q], r.B.j + at, sizeof(int32_t));
        __pipeline_memcpy_async(&room->x[q], (const V *)r.B.x + at, sizeof(V));
        room->row[q] = (unsigned char)u;
    }
    __pipeline_commit();
    if (AGAIN) {
        unsigned code[N];
        (void)order_products<G, N>(r, row.i >= 0 ? r.low[row.i] * 32 : 0, row.total, room->met, code);
        write_codes<G, N>(code, row.total, room->order);
    }
    __pipeline_wait_prior(0);
    __syncwarp();
    const int most = warp_max(row.total);
    const unsigned lower_lanes = (1u << (threadIdx.x % 32 - lane)) - 1,
                   earlier = ((1u << threadIdx.x % 32) - 1) & ~lower_lanes;
    int64_t at = row.i >= 0 ? Cp.get(row.i) : 0;
    for (int k = 0; k < most; k += G) {
        const unsigned code = k + lane < row.total ? room->order[k + lane] : 0;
        const unsigned firsts = __ballot_sync(ALL_LANES, code & CODE_FIRST);
        if (code & CODE_FIRST) {
            const int64_t place = at + __popc(firsts & earlier);
            int q = (int)(code & SORT_PLACE);
            if (Cj) Cj[place] = room->j[q];
            V sum = product_and_sum(room->a[room->row[q]], room->x[q], V(0));
            unsigned now = code;
            for (int n = k + lane + 1; now & CODE_CONTINUES; n++) {
                now = room->order[n];
                q = (int)(now & SORT_PLACE);
                sum = product_and_sum(room->a[room->row[q]], room->x[q], sum);
            }
            Cx[place] = alpha * sum;
        }
        at += __popc(G == 32 ? firsts : firsts >> (threadIdx.x % 32 - lane) & ((1u << (G & 31)) - 1));
    }
    gpu_finish();
}

/* ---- launches ----------------------------------------------------------------------------------------- */

template <int G, int N>
static spry_status launch_count(gpu_work *w, const int32_t **end, const unsigned *rows, spry_error *err)
{
    *end -= *rows;
    if (*rows == 0) return SPRY_OK;
    return gpu_launch(w, count_sorted<G, N>, ceil_div(*rows, SORT_THREADS / G), SORT_THREADS, 0,
                      "spgemm: count by sorting", err, *end, (int)*rows);
}

spry_status gpu_sort_count(gpu_work *w, spry_error *err)
{
    const unsigned *rows = w->found.rows + ROW_SORT;
    const int32_t *end = w->rows.list;
    for (int c = ROW_SPAN_LOW; c < ROW_SORT + SORT_SIZES; c++) end += w->found.rows[c];
    SPRY_CUDA_TRY((launch_count<32, 16>(w, &end, rows + 3, err)));
    SPRY_CUDA_TRY((launch_count<16, 16>(w, &end, rows + 2, err)));
    SPRY_CUDA_TRY((launch_count<16, 8>(w, &end, rows + 1, err)));
    return launch_count<16, 4>(w, &end, rows, err);
}

template <int G, int N, int AGAIN, typename V> static spry_status
launch_values(gpu_work *w, const int32_t **end, const unsigned *rows, const gpu_result *C, spry_error *err)
{
    *end -= *rows;
    if (*rows == 0) return SPRY_OK;
    return gpu_launch(w, compute_sorted<G, N, AGAIN, V>, ceil_div(*rows, SORT_THREADS / G), SORT_THREADS, 0,
                      "spgemm: compute sorted rows", err, *end, (int)*rows, C->j, (V *)C->x, C->p,
                      *(const V *)C->alpha);
}

template <int AGAIN, typename V> static spry_status values_by(gpu_work *w, const gpu_result *C, spry_error *err)
{
    const unsigned *rows = w->found.list + LIST_SORT;
    const int32_t *end = w->rows.list;
    for (int c = 0; c < LIST_SORT + SORT_SIZES; c++) end += w->found.list[c];
    SPRY_CUDA_TRY((launch_values<32, 16, AGAIN, V>(w, &end, rows + 3, C, err)));
    SPRY_CUDA_TRY((launch_values<16, 16, AGAIN, V>(w, &end, rows + 2, C, err)));
    SPRY_CUDA_TRY((launch_values<16, 8, AGAIN, V>(w, &end, rows + 1, C, err)));
    return launch_values<16, 4, AGAIN, V>(w, &end, rows, C, err);
}

template <typename V> static spry_status sort_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    SPRY_CUDA_TRY((values_by<0, V>(w, C, err)));
    return w->found.sort_again ? values_by<1, V>(w, C, err) : SPRY_OK;
}

spry_status gpu_sort_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    return C->type == SPRY_F64 ? sort_values<double>(w, C, err) : sort_values<float>(w, C, err);
}
