/*
 * Runs are consecutive rows of C. The columns of each row are those of the row before, plus 1. Grids have such rows.
 * Comments say that a row "is the row before, shifted", if its columns are those of the row before, plus 1. Values may
 * differ.
 *
 * Idea: in a run, each row of A, and each selected row of B, is the row before, shifted. Then the products
 *       of all rows have the same order. A warp sorts the first row's products once, and keeps the order for the
 *       numeric phase. There each lane computes a row, and the warp follows the order without comparisons.
 * Work: one bit per row of A and B marks rows that are the row before, shifted (mark_shifts). Runs are cut into groups
 *       of up to 32 rows, one per warp (find_runs). Rows outside of runs are listed and classified like other rows.
 * Cost: counting reads the offsets and columns of A and B once. Computing reads the values of A and B, and writes C.
 * Source: this library.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

#include <cuda_pipeline.h>

enum {
    MARK_THREADS = 256,
    RUN_WINDOW = 512,      /* rows of a window in which a block, with one thread per row, searches for runs */
    RUN_LEAST = 16,        /* minimal rows of a run: its order fills 16 elements of `low` and 16 of `products` */
    RUN_SAMPLE = 2048,     /* 32 of this many rows are sampled before the search for runs */
    RUN_SAMPLED = 1 << 18, /* a chunk with fewer rows is not sampled */
    RUN_WARPS = 4,
    RUN_THREADS = 32 * RUN_WARPS,
    MARK_BLOCKS = 16, /* per multiprocessor */
    RUN_BLOCKS = 16,
    SPAN_BITS = 26,
    RUN_SKEW = 8 /* maximal shift, in values, of a result in shared memory to match C's alignment to 16 bytes */
};

/* ---- rows that are the row before, shifted -------------------------------------------------------------- */

/* Returns true if row i is the row before, shifted by one column, and has at most `most` entries. */
static __device__ __forceinline__ bool is_moved(const gpu_csr &m, int64_t i, int most)
{
    const int64_t before = m.p.get(i - 1), start = m.p.get(i), end = m.p.get(i + 1);
    int moved = end - start == start - before && end - start <= most;
    for (int64_t k = start; moved && k < end; k++) moved = __ldg(m.j + k) == __ldg(m.j + k - (start - before)) + 1;
    return moved;
}

/*
 * Returns true if a sample of A's rows has so few shifted rows that the search for runs would take longer than it
 * saves.
 */
static __device__ __forceinline__ bool runs_are_few(const gpu_row_counts *found, unsigned sample)
{
    return 2 * found->sample_moved < sample;
}

/* A warp samples the first 32 of every RUN_SAMPLE rows. */
static __global__ void __launch_bounds__(MARK_THREADS) sample_rows(gpu_rows r)
{
    const int64_t warp = ((int64_t)blockIdx.x * MARK_THREADS + threadIdx.x) / 32,
                  i = warp * RUN_SAMPLE + threadIdx.x % 32;
    const int moved = threadIdx.x % 32 > 0 && i < r.rows && is_moved(r.A, r.first + i, MERGE_MOST);
    const unsigned all = __ballot_sync(ALL_LANES, moved);
    if (threadIdx.x % 32 == 0 && all) atomicAdd(&r.found->sample_moved, (unsigned)__popc(all));
}

/*
 * Sets bit i if row first + i is the row before, shifted by one column. The last word is zero. sample: number of
 * sampled rows; 0: no sample.
 */
static __global__ void __launch_bounds__(MARK_THREADS)
    mark_shifts(gpu_csr m, int64_t first, int64_t rows, int most, unsigned *bits, int64_t words,
                const gpu_row_counts *found, unsigned sample)
{
    if (runs_are_few(found, sample)) return;
    const int64_t step = (int64_t)gridDim.x * MARK_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * MARK_THREADS + threadIdx.x; i < 32 * words; i += step) {
        const int moved = i > 0 && i < rows && is_moved(m, first + i, most);
        const unsigned word = __ballot_sync(ALL_LANES, moved);
        if (threadIdx.x % 32 == 0) bits[i / 32] = word;
    }
}

/* Sets the bits of rows `first` to end - 1 of a window in a mask. Requires that these are fewer than 32 rows. */
static __device__ __forceinline__ void set_rows(unsigned *mask, int first, int end)
{
    const unsigned rows = (1u << (end - first)) - 1;
    atomicOr(&mask[first / 32], rows << first % 32);
    if ((end - 1) / 32 > first / 32) atomicOr(&mask[first / 32 + 1], rows >> (32 - first % 32));
}

/* Returns true if row i of C is the row before, shifted by one column. */
static __device__ __forceinline__ bool continues_run(const gpu_rows &r, int64_t i)
{
    if (!(__ldg(r.shifts_a + i / 32) >> i % 32 & 1)) return false;
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1);
    int moved = end > start && end - start <= MERGE_MOST;
    for (int64_t k = start; moved && k < end; k++) {
        const int32_t j = __ldg(r.A.j + k);
        moved = __ldg(r.shifts_b + j / 32) >> j % 32 & 1;
    }
    return moved;
}

/* Returns the first row after row t of a window, at most `limit`, that is not the row before, shifted. */
static __device__ __forceinline__ int end_of_run(const unsigned *moved, int t, int limit)
{
    int end = t + 1;
    while (end < limit) {
        const unsigned stop = ~moved[end / 32] >> end % 32;
        if (stop) {
            end += __ffs((int)stop) - 1;
            break;
        }
        end = (end / 32 + 1) * 32;
    }
    return min(end, limit);
}

/* Cuts a window of rows of C into groups of runs, and lists the rows outside of runs. */
static __global__ void __launch_bounds__(RUN_WINDOW) find_runs(gpu_rows r, unsigned sample)
{
    if (runs_are_few(r.found, sample)) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            r.found->odd = (unsigned)r.rows; /* all rows; no list is needed */
            r.counts[r.rows] = 0;
        }
        return;
    }
    __shared__ unsigned moved[RUN_WINDOW / 32], odd[RUN_WINDOW / 32], group_count, group_base, odd_base;
    const int t = threadIdx.x, lane = t % 32;
    const int64_t window = (int64_t)blockIdx.x * RUN_WINDOW, i = window + t;
    const int limit = (int)min((int64_t)RUN_WINDOW, r.rows - window);
    const bool as_before = t > 0 && t < limit && continues_run(r, i);
    const unsigned word = __ballot_sync(ALL_LANES, as_before);
    if (lane == 0) {
        moved[t / 32] = word;
        odd[t / 32] = 0;
    }
    if (t == 0) group_count = 0;
    __syncthreads();
    int rows = 0, groups = 0, at = 0;
    if (t < limit && !as_before) {
        rows = end_of_run(moved, t, limit) - t;
        if (rows >= RUN_LEAST) {
            groups = (rows + 31) / 32;
            at = (int)atomicAdd(&group_count, (unsigned)groups);
        } else if (rows > 1) {
            set_rows(odd, t, t + rows);
        }
    }
    const unsigned alone = __ballot_sync(ALL_LANES, rows == 1);
    if (lane == 0 && alone) atomicOr(&odd[t / 32], alone);
    __syncthreads();
    int all;
    const int of_words = lanes_before(lane < RUN_WINDOW / 32 ? __popc(odd[lane]) : 0, 32, &all);
    const int before = __shfl_sync(ALL_LANES, of_words, t / 32);
    if (t == 0) {
        if (group_count > 0) group_base = atomicAdd(&r.found->groups, group_count);
        if (all > 0) odd_base = atomicAdd(&r.found->odd, (unsigned)all);
    }
    __syncthreads();
    const unsigned mine = odd[t / 32];
    if (mine >> lane & 1) r.odd[odd_base + before + __popc(mine & ((1u << lane) - 1))] = (int32_t)i;
    for (int k = 0; k < groups; k++) {
        const gpu_run g = {(int32_t)i + 32 * k, min(32, rows - 32 * k), 32 * k, 0};
        r.groups[group_base + at + k] = g;
    }
    if (i == r.rows - 1) r.counts[r.rows] = 0;
}

/* ---- counting ------------------------------------------------------------------------------------------- */

/* Entry u of the first of 32 rows of A, in lane u. */
struct run_entry {
    int32_t j;      /* row of B */
    int64_t from;   /* first entry of that row */
    int32_t length; /* 0 after the last entry */
};

static __device__ __forceinline__ run_entry run_entry_of(const gpu_rows &r, int64_t start, int length)
{
    const int lane = threadIdx.x % 32;
    run_entry e = {0, 0, 0};
    if (lane < length) {
        e.j = __ldg(r.A.j + start + lane);
        e.from = r.B.p.get(e.j);
        e.length = (int32_t)min(r.B.p.get((int64_t)e.j + 1) - e.from, (int64_t)MERGE_PRODUCTS + 1);
    }
    return e;
}

/* Returns true if entry u of the row of A, in lane u, selects the row of B after the row that entry u - 1 selects. */
static __device__ __forceinline__ bool extends_before(const run_entry &e, int length)
{
    const int lane = threadIdx.x % 32;
    const int32_t before = __shfl_up_sync(ALL_LANES, e.j, 1);
    return lane > 0 && lane < length && e.j == before + 1;
}

static __device__ __forceinline__ unsigned sort_step(unsigned key, int step, int up)
{
    const unsigned other = __shfl_xor_sync(ALL_LANES, key, step);
    const int lower = (threadIdx.x & step) == 0;
    return lower == up ? min(key, other) : max(key, other);
}

/* Sorts 64 keys, two per lane: key `lane` in *low, key lane + 32 in *high. If both is 0, sorts only 32 keys in *low. */
static __device__ __forceinline__ void sort_keys(unsigned *low, unsigned *high, int both)
{
    for (int size = 2; size <= 32; size *= 2) {
        const int up = (threadIdx.x & size & 31) == 0;
        for (int step = size / 2; step > 0; step /= 2) {
            *low = sort_step(*low, step, up);
            if (both) *high = sort_step(*high, step, size == 32 ? 0 : up);
        }
    }
    if (!both) return;
    const unsigned least = min(*low, *high);
    *high = max(*low, *high);
    *low = least;
    for (int step = 16; step > 0; step /= 2) {
        *low = sort_step(*low, step, 1);
        *high = sort_step(*high, step, 1);
    }
}

/* Encodes a product: its entry of A, its entry of the row of B, and if it is the last of its column. */
static __device__ __forceinline__ unsigned short product_of(unsigned entry, int last)
{
    return (unsigned short)(entry | (unsigned)last << 15);
}

/* State of a run in a warp. */
struct run_state {
    int run;  /* as gpu_run.run; 0: not a run */
    int room; /* shared memory that the run needs, in values */
    unsigned short product[2];
};

/* Sorts the products of row i of a run. */
static __device__ __forceinline__ void count_run(const gpu_rows &r, int64_t i, run_state *s)
{
    const int lane = threadIdx.x % 32;
    s->run = 0;
    const int64_t start = r.A.p.get(r.first + i);
    const int length = (int)(r.A.p.get(r.first + i + 1) - start);
    const run_entry mine = run_entry_of(r, start, length);
    int total;
    const int before = lanes_before(mine.length, 32, &total);
    if (total == 0 || total > MERGE_PRODUCTS) return;

    unsigned entry[2], key[2];
    int32_t column[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int q = lane + 32 * h;
        int u = 0;
        for (int v = 1; v < length; v++) u += q >= __shfl_sync(ALL_LANES, before, v);
        const int e = q - __shfl_sync(ALL_LANES, before, u);
        const int64_t at = __shfl_sync(ALL_LANES, mine.from, u) + e;
        column[h] = q < total ? __ldg(r.B.j + at) : -1;
        entry[h] = (unsigned)(u | e << 3);
    }
    const int highest = warp_max(max(column[0], column[1]));
    const int lowest = ~warp_max(max(column[0] < 0 ? ~NO_COLUMN : ~column[0], column[1] < 0 ? ~NO_COLUMN : ~column[1]));
    if (highest - lowest >= (1 << SPAN_BITS) - 1) return;
#pragma unroll
    for (int h = 0; h < 2; h++)
        key[h] = column[h] < 0 ? 0xffffffffu : (unsigned)(column[h] - lowest) << 6 | (unsigned)(lane + 32 * h);
    const int both = total > 32;
    sort_keys(&key[0], &key[1], both);

    int columns = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        s->product[h] = 0;
        if (h > both) break;
        unsigned next = __shfl_down_sync(ALL_LANES, key[h], 1);
        const unsigned other = __shfl_sync(ALL_LANES, key[1], 0);
        if (lane == 31) next = h == 0 ? other : 0xffffffffu;
        const int valid = lane + 32 * h < total, q = valid ? (int)(key[h] & 63) : 0;
        const int last = valid && (lane + 32 * h == total - 1 || next >> 6 != key[h] >> 6);
        const unsigned low = __shfl_sync(ALL_LANES, entry[0], q & 31), high = __shfl_sync(ALL_LANES, entry[1], q & 31);
        s->product[h] = product_of(q < 32 ? low : high, last);
        columns += __popc(__ballot_sync(ALL_LANES, last));
    }
    s->run = total | columns << 8 | length << 16;
    s->room = warp_sum(extends_before(mine, length) ? mine.length : 32 * mine.length) + 32 * length + 32 * columns +
              RUN_SKEW;
}

/* Sums of rows and products, and maxima of room and products, over a warp's groups. */
struct run_counts {
    unsigned rows, products, room, most_products;
};

/*
 * Counts group g of a run. Uses the order that the previous group stored in `s`, unless g is the warp's or the run's
 * first group.
 */
static __device__ __forceinline__ void count_group(const gpu_rows &r, unsigned g, int first, run_state *s,
                                                   run_counts *all)
{
    const int lane = threadIdx.x % 32;
    const gpu_run group = r.groups[g];
    const int64_t i = group.row;
    if (first || group.after == 0) count_run(r, i, s);
    if (lane == 0) r.groups[g].run = s->run;
    if (s->run == 0) { /* too many products, or too wide: the rows are listed as outside of runs */
        unsigned at = 0;
        if (lane == 0) at = atomicAdd(&r.found->odd, (unsigned)group.rows);
        at = __shfl_sync(ALL_LANES, at, 0);
        if (lane < group.rows) r.odd[at + lane] = group.row + lane;
        return;
    }
    const int total = s->run & 0xff;
    if (group.after == 0) {
        ((unsigned short *)(r.low + i))[lane] = s->product[0];
        if (total > 32) ((unsigned short *)(r.products + i))[lane] = s->product[1];
    }
    if (lane < group.rows) {
        r.counts[i + lane] = s->run >> 8 & 0xff;
        r.words[i + lane] = 0;
    }
    all->rows += (unsigned)group.rows;
    all->products += (unsigned)(total * group.rows);
    all->room = max(all->room, (unsigned)s->room);
    all->most_products = max(all->most_products, (unsigned)total);
}

/* Each warp counts `each` consecutive groups. */
static __global__ void __launch_bounds__(RUN_THREADS) count_runs(gpu_rows r, int each)
{
    __shared__ run_counts found;
    if (threadIdx.x == 0) found = run_counts();
    __syncthreads();
    const unsigned warp = (blockIdx.x * RUN_THREADS + threadIdx.x) / 32, groups = r.found->groups;
    const unsigned step = gridDim.x * RUN_WARPS * (unsigned)each;
    run_counts mine = {0, 0, 0, 0};
    run_state s = {};
    for (unsigned from = warp * (unsigned)each; from < groups; from += step)
        for (unsigned g = from; g < groups && g < from + (unsigned)each; g++) count_group(r, g, g == from, &s, &mine);
    if (threadIdx.x % 32 == 0 && mine.rows > 0) {
        atomicAdd(&found.rows, mine.rows);
        atomicAdd(&found.products, mine.products);
        atomicMax(&found.room, mine.room);
        atomicMax(&found.most_products, mine.most_products);
    }
    __syncthreads();
    if (threadIdx.x > 0 || found.rows == 0) return;
    atomicAdd(&r.found->run_rows, found.rows);
    atomicAdd(&r.found->rows[ROW_MERGE], found.rows);
    atomicAdd(&r.found->products, (unsigned long long)found.products);
    atomicMax(&r.found->run_room, found.room);
    atomicMax(&r.found->most_products, found.most_products);
}

/* ---- computing ------------------------------------------------------------------------------------------ */

template <typename V> static __device__ __forceinline__ void fetch(V *to, const V *from)
{
    __pipeline_memcpy_async(to, from, sizeof(V));
}

/* A product of the order. Positions and distances are bytes of shared memory. */
struct __align__(16) run_product
{
    int b, stride; /* position of B's value of lane 0; distance between the values of adjacent lanes */
    int a;         /* position of A's value in the lane's row of A */
    int last;      /* -1 if the product is the last of its column, else 0 */
};

enum { RUN_VALUE_WARPS = 2, RUN_VALUE_THREADS = 32 * RUN_VALUE_WARPS, RUN_AT_ONCE = 4, MOST_GROUPS_EACH = 4 };

/*
 * Writes the order of a run, and the columns of a group's first row of C. e: the entries of A in this row; head: the
 * run's first row; row: position in shared memory, in values, of lane u's row of B.
 */
static __device__ __forceinline__ void lay_out(const gpu_rows &r, int64_t head, int total, const run_entry &e, int row,
                                               int value_bytes, run_product *order, int32_t *columns)
{
    const int lane = threadIdx.x % 32;
    int positions = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (32 * h >= total) break;
        const int t = lane + 32 * h;
        const unsigned short *products = (const unsigned short *)((h == 0 ? r.low : r.products) + head);
        const unsigned product = t < total ? __ldg(products + lane) : 0;
        const int u = (int)(product & 7), at = (int)(product >> 3 & 0xfff), last = (int)(product >> 15);
        const int64_t from = __shfl_sync(ALL_LANES, e.from, u);
        run_product p;
        p.b = (__shfl_sync(ALL_LANES, row, u) + at) * value_bytes;
        p.stride = __shfl_sync(ALL_LANES, e.length, u) * value_bytes;
        p.a = u * value_bytes;
        p.last = -last;
        order[t] = p;
        const unsigned lasts = __ballot_sync(ALL_LANES, last);
        if (last) columns[positions + __popc(lasts & ((1u << lane) - 1))] = __ldg(r.B.j + from + at);
        positions += __popc(lasts);
    }
}

template <typename V> struct vector_of;
template <> struct vector_of<float> {
    typedef float4 type;
};
template <> struct vector_of<double> {
    typedef double2 type;
};

/* Copies count values, 16 bytes at a time. from and to have the same alignment to 16 bytes. */
template <typename V> static __device__ __forceinline__ void copy_results(V *to, const V *from, int count, int skewed)
{
    typedef typename vector_of<V>::type vector;
    const int lane = threadIdx.x % 32, each = 16 / (int)sizeof(V);
    const int head = min(count, skewed ? each - skewed : 0), whole = (count - head) / each;
    if (lane < head) to[lane] = from[lane];
#pragma unroll 4
    for (int e = lane; e < whole; e += 32) ((vector *)(to + head))[e] = ((const vector *)(from + head))[e];
    const int done = head + whole * each;
    if (lane < count - done) to[done + lane] = from[done + lane];
}

/*
 * Starts copies of the values of A and B that `rows` rows need. extends: result of extends_before; row: position in
 * `stage` of lane u's row of B.
 */
template <typename V> static __device__ __forceinline__ void stage_run(const gpu_rows &r, const run_entry &mine,
                                                                       bool extends, int row, V *stage, V *a,
                                                                       int64_t start, int length, int rows)
{
    const int lane = threadIdx.x % 32;
    const unsigned extending = __ballot_sync(ALL_LANES, extends);
    for (int u = 0; u < length; u++) {
        const int of_b = __shfl_sync(ALL_LANES, mine.length, u);
        const int skipped = extending >> u & 1 ? (rows - 1) * of_b : 0, count = rows * of_b - skipped;
        const V *from = (const V *)r.B.x + __shfl_sync(ALL_LANES, mine.from, u) + skipped + lane;
        V *to = stage + __shfl_sync(ALL_LANES, row, u) + skipped + lane;
        for (int k = lane; k < count; k += 32, to += 32, from += 32) fetch(to, from);
    }
    for (int k = lane; k < rows * length; k += 32) fetch(a + k, (const V *)r.A.x + start + k);
    __pipeline_commit();
}

/* Computes a lane's row of C, with the products in the order of the run. */
template <typename V> static __device__ __forceinline__ void
multiply_run(const run_product *order, int total, const char *stage, const char *a, V alpha, V *place)
{
    const int lane = threadIdx.x % 32;
    V sum = 0;
    for (int t = 0; t < total; t += RUN_AT_ONCE) {
        V of_a[RUN_AT_ONCE], of_b[RUN_AT_ONCE];
        int last[RUN_AT_ONCE];
#pragma unroll
        for (int k = 0; k < RUN_AT_ONCE; k++) {
            const run_product p = order[t + k];
            of_b[k] = *(const V *)(stage + (p.b + lane * p.stride));
            of_a[k] = *(const V *)(a + p.a);
            last[k] = p.last;
        }
#pragma unroll
        for (int k = 0; k < RUN_AT_ONCE; k++) {
            add_product(&sum, of_a[k], of_b[k]);
            if (last[k]) {
                *place++ = alpha * sum;
                sum = 0;
            }
        }
    }
}

/*
 * Writes `entries` columns: consecutive rows of n columns each. A row has the first row's columns plus `more`, which
 * grows by one per row.
 */
static __device__ __forceinline__ void write_columns(int32_t *to, const int32_t *columns, int n, int entries, int more)
{
    const int lane = threadIdx.x % 32, rows_on = 32 / n, columns_on = 32 % n;
    int column = lane % n;
    more += lane / n;
#pragma unroll 4
    for (int e = lane; e < entries; e += 32) {
        to[e] = columns[column] + more;
        column += columns_on;
        more += rows_on;
        if (column >= n) {
            column -= n;
            more++;
        }
    }
}

/* Each warp computes `each` consecutive groups. Within a run, the order is reused. */
template <typename V> static __global__ void __launch_bounds__(RUN_VALUE_THREADS)
    multiply_runs(gpu_rows r, int64_t groups, int each, int bytes_of_warp, row_offsets Cp, int32_t *Cj, V *Cx, V alpha)
{
    extern __shared__ double2 run_shared[];
    __shared__ run_product orders[RUN_VALUE_WARPS][MERGE_PRODUCTS];
    __shared__ int32_t columns_of[RUN_VALUE_WARPS][MERGE_PRODUCTS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, of_16 = 16 / (int)sizeof(V);
    const int64_t first = ((int64_t)blockIdx.x * RUN_VALUE_WARPS + warp) * each;
    V *stage = (V *)((char *)run_shared + warp * bytes_of_warp);
    run_entry mine = {0, 0, 0};
    int64_t start = 0, base = 0;
    int more = 0, row = 0, staged = 0;
    bool extends = false;
    for (int64_t g = first; g < first + each && g < groups; g++) {
        const gpu_run group = r.groups[g];
        if (!group.run) continue;
        const int total = group.run & 0xff, n = group.run >> 8 & 0xff, length = group.run >> 16;
        const bool continues = g > first && group.after > 0;
        if (continues) {
            start += 32 * length;
            base += 32 * n;
            mine.from += 32 * mine.length;
            more += 32;
        } else {
            start = r.A.p.get(r.first + group.row);
            base = Cp.get(group.row);
            more = 0;
            mine = run_entry_of(r, start, length);
            extends = extends_before(mine, length);
            const int amount = extends ? mine.length : 32 * mine.length;
            row = lanes_before(amount, 32, &staged) + amount - 32 * mine.length;
        }
        V *a = stage + staged;
        /* results have the same alignment to 16 bytes as in C */
        const int skewed = (int)((size_t)(Cx + base) % 16 / sizeof(V));
        V *out = stage + (staged + 32 * length + of_16 - 1) / of_16 * of_16 + skewed;
        __syncwarp();
        stage_run(r, mine, extends, row, stage, a, start, length, group.rows);
        if (!continues)
            lay_out(r, (int64_t)group.row - group.after, total, mine, row, (int)sizeof(V), orders[warp],
                    columns_of[warp]);
        __pipeline_wait_prior(0);
        __syncwarp();
        multiply_run(orders[warp], total, (const char *)stage, (const char *)(a + lane * length), alpha,
                     out + lane * n);
        __syncwarp();
        copy_results(Cx + base, out, group.rows * n, skewed);
        if (Cj) write_columns(Cj + base, columns_of[warp], n, group.rows * n, more);
    }
}

/* ---- launches ------------------------------------------------------------------------------------------- */

/* Returns the number of consecutive groups per warp. */
static int groups_each(int64_t groups)
{
    const int each = (int)(groups / 16384) + 1;
    return each < MOST_GROUPS_EACH ? each : MOST_GROUPS_EACH;
}

static spry_status mark(gpu_work *w, const gpu_csr *m, int64_t first, int64_t rows, int most, unsigned *bits,
                        unsigned sample, spry_error *err)
{
    const int64_t words = gpu_shift_words(rows), most_blocks = MARK_BLOCKS * w->multiprocessors;
    const int64_t blocks = min(ceil_div(32 * words, MARK_THREADS), most_blocks);
    mark_shifts<<<(unsigned)blocks, MARK_THREADS, 0, w->stream>>>(*m, first, rows, most, bits, words, w->rows.found,
                                                                  sample);
    return launched(err, "spgemm: mark rows");
}

spry_status gpu_count_runs(gpu_work *w, spry_error *err)
{
    if (!w->rows.groups || w->rows.rows == 0) return SPRY_OK;
    const int64_t sampled = w->rows.rows >= RUN_SAMPLED ? ceil_div(w->rows.rows, RUN_SAMPLE) : 0;
    const unsigned sample = (unsigned)(31 * sampled);
    if (sampled > 0) {
        sample_rows<<<(unsigned)ceil_div(32 * sampled, MARK_THREADS), MARK_THREADS, 0, w->stream>>>(w->rows);
        SPRY_CUDA_TRY(launched(err, "spgemm: sample rows"));
    }
    SPRY_CUDA_TRY(mark(w, &w->rows.B, 0, w->rows.B.rows, MERGE_PRODUCTS, w->rows.shifts_b, sample, err));
    if (w->rows.shifts_a != w->rows.shifts_b)
        SPRY_CUDA_TRY(mark(w, &w->rows.A, w->rows.first, w->rows.rows, MERGE_MOST, w->rows.shifts_a, sample, err));
    find_runs<<<(unsigned)ceil_div(w->rows.rows, RUN_WINDOW), RUN_WINDOW, 0, w->stream>>>(w->rows, sample);
    SPRY_CUDA_TRY(launched(err, "spgemm: find runs"));
    int64_t blocks = ceil_div(w->rows.rows, 32 * RUN_WARPS);
    if (blocks > RUN_BLOCKS * w->multiprocessors) blocks = RUN_BLOCKS * w->multiprocessors;
    count_runs<<<(unsigned)blocks, RUN_THREADS, 0, w->stream>>>(w->rows, groups_each(ceil_div(w->rows.rows, 32)));
    return launched(err, "spgemm: count runs");
}

template <typename V>
static spry_status run_values(gpu_work *w, row_offsets Cp, int32_t *Cj, V *Cx, V alpha, spry_error *err)
{
    const int of_warp = ((int)w->found.run_room * (int)sizeof(V) + 15) & ~15, bytes = of_warp * RUN_VALUE_WARPS;
    cudaError_t code = cudaFuncSetAttribute(multiply_runs<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: multiply runs");
    const int each = groups_each(w->found.groups);
    multiply_runs<V><<<(unsigned)ceil_div(w->found.groups, each * RUN_VALUE_WARPS), RUN_VALUE_THREADS, bytes,
                       w->stream>>>(w->rows, w->found.groups, each, of_warp, Cp, Cj, Cx, alpha);
    return launched(err, "spgemm: multiply runs");
}

spry_status gpu_run_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    if (!w->rows.groups || w->found.run_rows == 0) return SPRY_OK;
    if (C->type == SPRY_F64) return run_values<double>(w, C->p, C->j, (double *)C->x, *(const double *)C->alpha, err);
    return run_values<float>(w, C->p, C->j, (float *)C->x, *(const float *)C->alpha, err);
}
