/*
 * Converts CSR to windows on the device, with the same bits as on the host.
 *
 * Idea: windowed_order.cu orders the rows. Then a block of threads processes `window` rows of the order: it counts
 *       their distinct columns in shared memory, cuts the window in two if there are too many, sorts the rows of each
 *       part by length and measures its slices. Scans over the slices give the positions. After the check of the
 *       limits, a second pass fills the arrays. In both passes, windows of one slice with many columns are processed by
 *       larger blocks of threads.
 * Work: a block per window, 8 lanes per row to collect columns, a warp per slice.
 * Cost: columns of leaders are read at least three times, values once; 2 bytes of scratch per row in addition to the
 *       scratch of windowed_order.cu.
 * Source: open addressing; bitonic sort (Batcher 1968); the scan: CUB; this library.
 */
#include "formats/windowed/windowed_device.cuh"

#include <climits>

/* ---- columns of a window ------------------------------------------------------------------------------- */

enum {
    /* bits of an index in the hash table. The filled slots are at most half of all slots plus one slot per thread */
    SMALL_BITS = 13,
    SMALL_TABLE = 1 << SMALL_BITS,
    MOST_SMALL = 4096, /* most columns of a window that the hash table holds */
    SMALL_THREADS = 512,
    MOST_LARGE = SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG, /* most columns of a window of one slice */
    LARGE_THREADS = 1024,
    LARGE_BYTES = MOST_LARGE * (int)sizeof(int32_t),
    OWN_LARGE = MOST_LARGE / LARGE_THREADS, /* columns per thread */
    NO_COLUMN = INT_MAX,
};
static_assert(MOST_SMALL >= (int)SPRYI_WINDOWED_NUMBERS && MOST_SMALL + SMALL_THREADS < SMALL_TABLE,
              "the table has room");

/*
 * Sizes of one slice. The first three are zero unless the slice begins a window. A prefix sum over slices gives the
 * positions. In memory, each member is an array with one element per slice.
 */
struct window_sizes {
    int64_t windows, dictionary, pages, values, units; /* dictionary and values: in units of DICTIONARY and ALIGN */
};
enum { SIZES = sizeof(window_sizes) / sizeof(int64_t) };

static __device__ window_sizes sizes_before(const int64_t *sizes, int64_t slices, int64_t slice)
{
    int64_t number[SIZES];
#pragma unroll
    for (int n = 0; n < SIZES; n++) {
        const int64_t at = n * slices + slice;
        number[n] = slice > 0 ? sizes[at - 1] - (n > 0 ? sizes[n * slices - 1] : 0) : 0;
    }
    return {number[0], number[1], number[2], number[3], number[4]};
}

/*
 * The windows to build. Windows of rows that consist of runs come first; both kinds are cut at multiples of `window`.
 */
template <typename P> struct windowing {
    windowed_csr<P> a;
    const uint32_t *order, *leader;
    int64_t window, count, of_runs, run, stride;
    int64_t windows_of_runs, slices_of_runs; /* windows and slices of rows of runs, before windows are cut further */
    int64_t slices;
    uint32_t *rows;    /* the storage's rows */
    uint32_t *columns; /* for each slice that begins a window, the window's number of columns */
    int64_t *sizes;    /* see window_sizes */
    uint32_t *large;   /* slices that are windows of more than MOST_SMALL columns */
    uint32_t *marks;   /* length of `large`, and the maximum of columns*run */
};

/*
 * run_of returns the run of a slice's window. begin_of_run returns the position in its row of the first entry of run t.
 */
template <typename P> static __device__ __forceinline__ int run_of(const windowing<P> &w, int64_t slice)
{
    return slice < w.slices_of_runs ? (int)w.run : 1;
}
template <typename P> static __device__ __forceinline__ int begin_of_run(const windowing<P> &w, int run, int t)
{
    return w.stride == 1 ? t * run : t; /* if the window's stride is not w.stride, run is 1 */
}

/*
 * Does the steps of a bitonic sort that compare keys at distances LANES, LANES / 2, ... 1, for one size. A lane has two
 * of the 2*LANES keys. base: position of the first key in its array. Called by a warp.
 */
template <typename K> static __device__ __forceinline__ void sort_chunk(K *low, K *high, int base, int size)
{
    const int lane = lane_of_warp();
    const bool low_rises = ((base + lane) & size) == 0, high_rises = ((base + LANES + lane) & size) == 0;
    if (size > LANES && (*low > *high) == low_rises) {
        const K swap = *low;
        *low = *high;
        *high = swap;
    }
    for (int step = size / 2 < LANES ? size / 2 : LANES / 2; step > 0; step /= 2) {
        const K other_low = __shfl_xor_sync(FULL_WARP, *low, step),
                other_high = __shfl_xor_sync(FULL_WARP, *high, step);
        const bool is_first = (lane & step) == 0;
        if ((*low > other_low) == (is_first == low_rises)) *low = other_low;
        if ((*high > other_high) == (is_first == high_rises)) *high = other_high;
    }
}

/*
 * Calls sort_chunk for all chunks of 2*LANES keys of an array in shared memory, and for the sizes `first` to `last`.
 * Ends with a barrier.
 */
template <typename K> static __device__ void sort_chunks(K *keys, int count, int first, int last)
{
    const int step = blockDim.x / LANES * (2 * LANES);
    for (int base = threadIdx.x / LANES * (2 * LANES); base < count; base += step) {
        K *own = keys + base + lane_of_warp(), low = own[0], high = own[LANES];
        for (int size = first; size <= last; size *= 2) sort_chunk(&low, &high, base, size);
        own[0] = low;
        own[LANES] = high;
    }
    __syncthreads();
}

/*
 * Sorts keys[0 .. count - 1] in increasing order. count is a power of two; the array has at least 2*LANES elements.
 * Called by all threads of the block.
 */
template <typename K> static __device__ void sort_block(K *keys, int count)
{
    enum { CHUNK = 2 * LANES };
    if (count < CHUNK) {
        for (int n = count + threadIdx.x; n < CHUNK; n += blockDim.x) keys[n] = keys[count - 1];
        __syncthreads();
    }
    sort_chunks(keys, count, 2, count < CHUNK ? count : (int)CHUNK);
    for (int size = 2 * CHUNK; size <= count; size *= 2) {
        for (int step = size / 2; step >= CHUNK; step /= 2) {
            for (int n = threadIdx.x; n < count / 2; n += blockDim.x) {
                const int low = 2 * n - (n & (step - 1)), high = low + step;
                const K a = keys[low], b = keys[high];
                if ((a > b) == ((low & size) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
        sort_chunks(keys, count, size, size);
    }
}

static __device__ __forceinline__ int power_of_two(int count)
{
    int size = 1;
    while (size < count) size *= 2;
    return size;
}

/* ---- few columns ----------------------------------------------------------------------------------------- */

struct column_table {
    int32_t column[SMALL_TABLE];
    int count;
};

/* Adds a column. Returns false if the table has more than `most` columns. */
static __device__ __forceinline__ bool add_column(column_table *t, int32_t column, int most)
{
    if (*(volatile int *)&t->count > most) return false;
    unsigned slot = (uint32_t)column * 0x9E3779B1u >> (32 - SMALL_BITS);
    for (;;) {
        int32_t found = *(volatile int32_t *)&t->column[slot];
        if (found == NO_COLUMN) found = atomicCAS(&t->column[slot], NO_COLUMN, column);
        if (found == NO_COLUMN) atomicAdd(&t->count, 1);
        if (found == NO_COLUMN || found == column) return true;
        slot = (slot + 1) % SMALL_TABLE;
    }
}

/*
 * Returns the number of distinct columns of rows begin .. end - 1, given their leaders. Stops soon after the number
 * exceeds `most`.
 */
template <typename P> static __device__ int collect_columns(const windowing<P> &w, const uint32_t *leader, int begin,
                                                            int end, int run, int most, column_table *t)
{
    enum { AHEAD = 4 };
    for (int n = threadIdx.x; n < SMALL_TABLE; n += blockDim.x) t->column[n] = NO_COLUMN;
    if (threadIdx.x == 0) t->count = 0;
    __syncthreads();
    /* All lanes of a warp take the same steps; otherwise the rows of a warp would be processed one after the other. */
    const int lane = threadIdx.x % ROW_LANES, step = blockDim.x / ROW_LANES;
    bool has_room = true;
    for (int base = begin + threadIdx.x / LANES * (LANES / ROW_LANES); base < end; base += step) {
        const int p = base + lane_of_warp() / ROW_LANES;
        const uint32_t own = p < end ? leader[p] : NO_ROW;
        const bool is_first = own != NO_ROW && (p == begin || leader[p - 1] != own);
        const int32_t *Aj = w.a.Aj + (is_first ? (int64_t)w.a.Ap[own] : 0);
        const int runs = is_first ? (int)w.a.length(own) / run : 0;
        for (int r = lane; __any_sync(FULL_WARP, r - lane < runs); r += AHEAD * ROW_LANES) {
            int32_t j[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                j[u] = r + u * ROW_LANES < runs ? Aj[begin_of_run(w, run, r + u * ROW_LANES)] : NO_COLUMN;
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (has_room && j[u] != NO_COLUMN) has_room = add_column(t, j[u], most);
                __syncwarp();
            }
        }
        if (!__any_sync(FULL_WARP, has_room)) break;
    }
    __syncthreads();
    const int count = t->count;
    __syncthreads(); /* before the table is cleared again */
    return count;
}

/* Moves the columns of a table, at most MOST_SMALL, to its first slots, in increasing order. */
static __device__ void sort_table(column_table *t, int count)
{
    enum { OWN = SMALL_TABLE / SMALL_THREADS };
    const int size = power_of_two(count);
    int32_t own[OWN];
#pragma unroll
    for (int n = 0; n < OWN; n++) own[n] = t->column[n * SMALL_THREADS + threadIdx.x];
    if (threadIdx.x == 0) t->count = 0;
    __syncthreads();
#pragma unroll
    for (int n = 0; n < OWN; n++)
        if (own[n] != NO_COLUMN) t->column[atomicAdd(&t->count, 1)] = own[n];
    for (int n = count + threadIdx.x; n < size; n += SMALL_THREADS) t->column[n] = NO_COLUMN;
    __syncthreads();
    sort_block(t->column, size);
}

/* ---- many columns ---------------------------------------------------------------------------------------- */

/*
 * Lists the columns of a window of one slice in increasing order. Returns the number of columns. Called by
 * LARGE_THREADS threads, a warp per row.
 */
template <typename P> static __device__ int list_columns(const windowing<P> &w, int64_t slice, int32_t *column)
{
    static_assert(LARGE_THREADS == LANES * SPRYI_WINDOWED_LANES, "a warp a row");
    const int run = run_of(w, slice), warp = threadIdx.x / LANES;
    const uint32_t row = w.rows[slice * LANES + warp], own = row != NO_ROW ? w.leader[row] : NO_ROW;
    const uint32_t row_before = warp > 0 ? w.rows[slice * LANES + warp - 1] : NO_ROW;
    const bool has = own != NO_ROW && (row_before == NO_ROW || w.leader[row_before] != own);
    const int runs = has ? (int)w.a.length(own) / run : 0;
    int all = 0, sum = 0;
    const int at = __shfl_sync(FULL_WARP, sum_before(lane_of_warp() == 0 ? runs : 0, &all), 0);
    for (int r = lane_of_warp(); r < runs; r += LANES) column[at + r] = w.a.Aj[w.a.Ap[own] + begin_of_run(w, run, r)];
    const int size = power_of_two(all);
    for (int n = all + threadIdx.x; n < size; n += LARGE_THREADS) column[n] = NO_COLUMN;
    __syncthreads();
    sort_block(column, size);
    int32_t unique[OWN_LARGE], count = 0; /* this thread's columns that differ from the preceding column */
    for (int u = 0; u < OWN_LARGE; u++) {
        const int n = OWN_LARGE * threadIdx.x + u;
        if (n < all && (n == 0 || column[n - 1] != column[n])) unique[count++] = column[n];
    }
    const int to = sum_before(count, &sum); /* includes a barrier: all threads have read column */
    for (int u = 0; u < count; u++) column[to + u] = unique[u];
    __syncthreads();
    return sum;
}

template <typename P> static __device__ void put_window(const windowing<P> &w, int64_t slice, int columns, int pages)
{
    w.columns[slice] = (uint32_t)columns;
    w.sizes[slice] = 1;
    w.sizes[w.slices + slice] = (columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY;
    w.sizes[2 * w.slices + slice] = pages;
    atomicMax(w.marks + 1, (uint32_t)(columns * run_of(w, slice)));
}

/* ---- cutting windows ------------------------------------------------------------------------------------- */

/* Shared memory of a block that cuts `window` rows. */
struct cutting {
    column_table table;
    uint32_t leader[SPRYI_WINDOWED_MOST_ROWS];
    uint32_t key[SPRYI_WINDOWED_MOST_ROWS];                  /* sort key of each row, see order_lanes */
    uint32_t high[1 << (31 - SPRYI_WINDOWED_PAGE_BITS - 5)]; /* a bit per value of a column's high bits */
    int pages;
};
static_assert(sizeof(cutting) <= 48 << 10, "shared memory that a launch need not ask for");

/* The rows of a thread block: position of the first row in the order, first slice, number of rows. */
struct block_rows {
    int64_t first, slice;
    int count;
};

template <typename P> static __device__ block_rows rows_of_block(const windowing<P> &w)
{
    const int64_t b = blockIdx.x, begin = b < w.windows_of_runs ? 0 : w.of_runs;
    const int64_t end = b < w.windows_of_runs ? w.of_runs : w.count;
    const int64_t at = (b < w.windows_of_runs ? b : b - w.windows_of_runs) * w.window;
    const int64_t slice = (b < w.windows_of_runs ? 0 : w.slices_of_runs) + at / LANES;
    const int64_t count = end - begin - at < w.window ? end - begin - at : w.window;
    return {begin + at, slice, (int)count};
}

/* Returns the number of distinct high bits of the table's columns. */
static __device__ int count_pages(cutting *c, int64_t cols)
{
    const int used = (int)((cols - 1) >> (SPRYI_WINDOWED_PAGE_BITS + 5)) + 1;
    for (int n = threadIdx.x; n < used; n += SMALL_THREADS) c->high[n] = 0;
    if (threadIdx.x == 0) c->pages = 0;
    __syncthreads();
    for (int n = threadIdx.x; n < SMALL_TABLE; n += SMALL_THREADS) {
        const int32_t j = c->table.column[n];
        if (j == NO_COLUMN) continue;
        const uint32_t high = (uint32_t)j >> SPRYI_WINDOWED_PAGE_BITS, bit = 1u << (high % 32);
        if (!(*(volatile uint32_t *)&c->high[high / 32] & bit) && !(atomicOr(&c->high[high / 32], bit) & bit))
            atomicAdd(&c->pages, 1);
    }
    __syncthreads();
    const int pages = c->pages;
    __syncthreads(); /* before pages is written again */
    return pages;
}

/*
 * Returns a mask of the slices that begin windows. Sets *narrow to the mask of the slices that begin windows with
 * indices of SHORT_BITS.
 */
template <typename P>
static __device__ uint32_t cut_rows(const windowing<P> &w, const block_rows &rows, cutting *c, uint32_t *narrow)
{
    enum { DEEP = 8 }; /* 1024 rows are halved at most five times */
    const int run = run_of(w, rows.slice);
    int begins[DEEP] = {0}, sizes[DEEP] = {(int)w.window};
    uint32_t starts = 0;
    *narrow = 0;
    for (int top = 1; top > 0;) {
        const int begin = begins[--top], left = rows.count - begin;
        int size = sizes[top];
        while (size > LANES && spryi_windowed_half(size) >= left) size = (int)spryi_windowed_half(size);
        const int most = size > LANES ? SPRYI_WINDOWED_NUMBERS / run : (int)MOST_SMALL;
        const int columns =
            collect_columns(w, c->leader, begin, begin + (size < left ? size : left), run, most, &c->table);
        if (columns > most && size > LANES) {
            const int half = (int)spryi_windowed_half(size);
            begins[top] = begin + half;
            sizes[top++] = size - half;
            begins[top] = begin;
            sizes[top++] = half;
            continue;
        }
        const int64_t slice = rows.slice + begin / LANES;
        const bool is_large = columns > MOST_SMALL;
        starts |= 1u << (begin / LANES);
        if (!is_large && spryi_windowed_bits(run, columns) == SPRYI_WINDOWED_SHORT_BITS)
            *narrow |= 1u << (begin / LANES);
        const int pages = is_large ? 0 : count_pages(c, w.a.cols);
        if (threadIdx.x > 0) continue;
        if (is_large)
            w.large[atomicAdd(w.marks, 1u)] = (uint32_t)slice;
        else
            put_window(w, slice, columns, pages);
    }
    return starts;
}

/*
 * Sort key of a lane, from high to low bits: index of the window in the block; SPRYI_WINDOWED_LONG minus the runs of
 * the row; row.
 */
enum { ROW_BITS = 10, LENGTH_BITS = 10 };
static_assert(SPRYI_WINDOWED_MOST_ROWS <= 1 << ROW_BITS && SPRYI_WINDOWED_LONG < 1 << LENGTH_BITS, "keys have room");

template <typename P>
static __device__ void order_lanes(const windowing<P> &w, const block_rows &rows, uint32_t starts, cutting *c)
{
    const int run = run_of(w, rows.slice), size = power_of_two(rows.count);
    int unsorted = 0;
    for (int p = threadIdx.x; p < size; p += SMALL_THREADS) {
        uint32_t key = UINT32_MAX;
        if (p < rows.count) {
            const uint32_t missing = SPRYI_WINDOWED_LONG - (uint32_t)w.a.length(c->leader[p]) / run;
            const uint32_t window = __popc(starts << (31 - p / LANES));
            key = (window << LENGTH_BITS | missing) << ROW_BITS | (uint32_t)p;
        }
        c->key[p] = key;
    }
    __syncthreads();
    for (int p = threadIdx.x; p + 1 < rows.count; p += SMALL_THREADS) unsorted |= c->key[p] > c->key[p + 1];
    if (__syncthreads_or(unsorted)) sort_block(c->key, size);
}

/* Stores the rows and sizes of slice q of the block. Lanes without a row form a group of length 0. Called by a warp. */
template <typename P>
static __device__ void measure_slice(const windowing<P> &w, const block_rows &rows, const cutting *c, int q, int bits)
{
    const int run = run_of(w, rows.slice), p = q * LANES + lane_of_warp();
    const int64_t slice = rows.slice + q;
    const uint32_t key = p < rows.count ? c->key[p] : 0;
    const int from = key & ((1 << ROW_BITS) - 1);
    const int length = p < rows.count ? SPRYI_WINDOWED_LONG - (int)(key >> ROW_BITS & ((1 << LENGTH_BITS) - 1)) : 0;
    const uint32_t own = p < rows.count ? c->leader[from] : NO_ROW, before = __shfl_up_sync(FULL_WARP, own, 1);
    const bool is_first = lane_of_warp() == 0 || own != before;
    const int groups = __popc(__ballot_sync(FULL_WARP, is_first));
    const int units = lanes_sum(is_first ? (int)spryi_windowed_words(length, bits) : 0, LANES);
    const int entries = lanes_sum(length * run, LANES);
    w.rows[slice * LANES + lane_of_warp()] = p < rows.count ? w.order[rows.first + from] : NO_ROW;
    if (lane_of_warp() > 0) return;
    w.sizes[3 * w.slices + slice] = (entries + SPRYI_WINDOWED_ALIGN - 1) / SPRYI_WINDOWED_ALIGN;
    w.sizes[4 * w.slices + slice] = spryi_windowed_units(spryi_windowed_head_bytes(groups) + 4 * units);
}

template <typename P> static __global__ void __launch_bounds__(SMALL_THREADS) cut_windows(const windowing<P> w)
{
    __shared__ cutting c;
    const block_rows rows = rows_of_block(w);
    uint32_t narrow = 0;
    for (int p = threadIdx.x; p < rows.count; p += SMALL_THREADS) c.leader[p] = w.leader[w.order[rows.first + p]];
    __syncthreads();
    const uint32_t starts = cut_rows(w, rows, &c, &narrow);
    order_lanes(w, rows, starts, &c);
    for (int q = threadIdx.x / LANES; q * LANES < rows.count; q += SMALL_THREADS / LANES) {
        const int window = 31 - __clz(starts & UINT32_MAX >> (31 - q)); /* first slice of the window */
        measure_slice(w, rows, &c, q, narrow >> window & 1 ? (int)SPRYI_WINDOWED_SHORT_BITS : 16);
    }
}

template <typename P> static __global__ void __launch_bounds__(LARGE_THREADS) count_large(const windowing<P> w)
{
    extern __shared__ int32_t column[];
    for (uint32_t n = blockIdx.x; n < w.marks[0]; n += gridDim.x) {
        const int64_t slice = w.large[n];
        const int columns = list_columns(w, slice, column);
        int pages = 0;
        for (int d = threadIdx.x; d < columns; d += LARGE_THREADS)
            pages += d == 0 || column[d] >> SPRYI_WINDOWED_PAGE_BITS != column[d - 1] >> SPRYI_WINDOWED_PAGE_BITS;
        sum_before(pages, &pages);
        if (threadIdx.x == 0) put_window(w, slice, columns, pages);
    }
}

/* ---- filling ------------------------------------------------------------------------------------------- */

enum { WARPS = CONVERT_THREADS / LANES };

/* A slice, seen from a lane of a warp. */
struct lane_view {
    int64_t begin;   /* first entry of the row */
    uint32_t leader; /* NO_ROW: the lane has no row */
    int length;      /* length of the row in runs */
};

template <typename P> static __device__ lane_view view_slice(const windowing<P> &w, int64_t slice, int run)
{
    const uint32_t row = w.rows[slice * LANES + lane_of_warp()];
    if (row == NO_ROW) return {0, NO_ROW, 0};
    return {(int64_t)w.a.Ap[row], w.leader[row], (int)w.a.length(row) / run};
}

/*
 * Stores the values of a slice with runs of 1. Multiple consecutive entries of a row are loaded before they are stored.
 * Called by a warp.
 */
template <typename V> static __device__ int put_entries(const lane_view &lane, int width, const V *Ax, V *to)
{
    enum { AHEAD = 8 };
    int before = 0;
    for (int t = 0; t < width; t += AHEAD) {
        V value[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) value[u] = t + u < lane.length ? Ax[lane.begin + t + u] : V(0);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const unsigned has = __ballot_sync(FULL_WARP, t + u < lane.length);
            if (t + u < lane.length) to[before + lane_of_warp()] = value[u];
            before += __popc(has);
        }
    }
    return before;
}

/* Stores the values of a slice with runs of any length. Called by a warp. */
template <typename V>
static __device__ int put_runs(const lane_view &lane, int width, int run, int64_t stride, const V *Ax, V *to)
{
    int before = 0;
    for (int t = 0; t < width; t++) {
        const int has = __popc(__ballot_sync(FULL_WARP, t < lane.length));
        V value[SPRYI_WINDOWED_MOST_RUN];
#pragma unroll
        for (int c = 0; c < SPRYI_WINDOWED_MOST_RUN; c++)
            value[c] = t < lane.length && c < run ? Ax[lane.begin + (stride == 1 ? t * run + c : c * lane.length + t)]
                                                  : V(0);
#pragma unroll
        for (int c = 0; c < SPRYI_WINDOWED_MOST_RUN; c++)
            if (t < lane.length && c < run) to[before + c * has + lane_of_warp()] = value[c];
        before += has * run;
    }
    return before;
}

/*
 * Stores the record and values of a slice. If the slice begins a window, stores the window's record. A warp per slice.
 */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    put_slices(const windowing<P> w, const V *__restrict__ Ax, const spryi_windowed s)
{
    const int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / LANES;
    if (slice >= w.slices) return;
    const window_sizes at = sizes_before(w.sizes, w.slices, slice);
    const int run = run_of(w, slice);
    const lane_view lane = view_slice(w, slice, run);
    const uint32_t before = __shfl_up_sync(FULL_WARP, lane.leader, 1);
    const unsigned firsts = __ballot_sync(FULL_WARP, lane_of_warp() == 0 || lane.leader != before);
    const int width = __shfl_sync(FULL_WARP, lane.length, 0), whole = __shfl_sync(FULL_WARP, lane.length, LANES - 1);
    if (lane_of_warp() == 0) {
        const uint8_t groups = (uint8_t)__popc(firsts);
        s.slices[slice] = {(uint32_t)at.values, (uint32_t)at.units, (uint16_t)width, (uint16_t)whole, groups, {}};
        if (w.sizes[slice] > at.windows) {
            const uint32_t columns = w.columns[slice];
            const uint8_t bits = (uint8_t)spryi_windowed_bits(run, columns);
            s.windows[at.windows] = {(uint32_t)slice,    (uint32_t)at.dictionary,
                                     (uint32_t)at.pages, (uint16_t)columns,
                                     (uint8_t)run,       bits};
        }
    }
    if (!Ax) return;
    V *to = (V *)s.values + at.values * SPRYI_WINDOWED_ALIGN;
    const int put = run == 1 ? put_entries(lane, width, Ax, to) : put_runs(lane, width, run, w.stride, Ax, to);
    if (lane_of_warp() < (SPRYI_WINDOWED_ALIGN - put % SPRYI_WINDOWED_ALIGN) % SPRYI_WINDOWED_ALIGN)
        to[put + lane_of_warp()] = V(0);
}

static __global__ void put_ends(const spryi_windowed s)
{
    const uint32_t dictionary = (uint32_t)(s.numbers / SPRYI_WINDOWED_DICTIONARY);
    if (threadIdx.x > 0) return;
    s.windows[s.window_count] = {(uint32_t)s.slice_count, dictionary, (uint32_t)s.page_count, 0, 0, 0};
    s.slices[s.slice_count] = {(uint32_t)(s.slots / SPRYI_WINDOWED_ALIGN), (uint32_t)s.units, 0, 0, 0, 0, 0};
    s.long_rows.first[0] = 0;
    s.long_rows.pieces[s.long_rows.piece_count] = s.long_rows.nnz;
}

/* A window with its sorted columns in shared memory. */
struct filling {
    const int32_t *column;
    int columns;
    spryi_windowed_window at;
};

/* Called by all threads of a block, which store the dictionary, padded with zeros. The first warp stores its pages. */
static __device__ void put_dictionary(const filling &f, const spryi_windowed &s)
{
    uint16_t *to = s.dictionary + (int64_t)f.at.dictionary * SPRYI_WINDOWED_DICTIONARY;
    const int room = (f.columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY *
                     SPRYI_WINDOWED_DICTIONARY;
    for (int d = threadIdx.x; d < room; d += blockDim.x) to[d] = d < f.columns ? (uint16_t)f.column[d] : 0;
    if (threadIdx.x >= LANES) return;
    int pages = 0;
    for (int begin = 0; begin < f.columns; begin += LANES) {
        const int d = begin + threadIdx.x;
        const int32_t high = d < f.columns ? f.column[d] >> SPRYI_WINDOWED_PAGE_BITS : -1;
        const bool is_first = d < f.columns && (d == 0 || f.column[d - 1] >> SPRYI_WINDOWED_PAGE_BITS != high);
        const unsigned firsts = __ballot_sync(FULL_WARP, is_first);
        if (is_first) s.pages[f.at.page + pages + __popc(firsts & lanes_before())] = {(uint32_t)d, (uint32_t)high};
        pages += __popc(firsts);
    }
}

/* Work of a lane in one step: `numbers` dictionary indices, which fill `words` whole words. */
template <int BITS> struct number_step {
    static const int numbers = BITS == 16 ? 4 : 8, words = numbers * BITS / 32;
};

/*
 * Builds the words of the dictionary indices first, first + 1, ... of a group of `length` runs. The columns are
 * increasing, so a binary search finds an index.
 */
template <int BITS, typename P>
static __device__ __forceinline__ void build_words(const windowing<P> &w, const filling &f, int64_t begin, int length,
                                                   int first, int first_step, uint32_t *word)
{
    constexpr int NUMBERS = number_step<BITS>::numbers, WORDS = number_step<BITS>::words;
    int32_t column[NUMBERS];
    int number[NUMBERS];
#pragma unroll
    for (int u = 0; u < NUMBERS; u++) {
        column[u] = first + u < length ? w.a.Aj[begin + begin_of_run(w, f.at.run, first + u)] : -1;
        number[u] = 0; /* default if there is no column */
    }
    for (int step = first_step; step > 0; step /= 2)
#pragma unroll
        for (int u = 0; u < NUMBERS; u++)
            if (number[u] + step < f.columns && f.column[number[u] + step] <= column[u]) number[u] += step;
#pragma unroll
    for (int n = 0; n < WORDS; n++) {
        word[n] = 0;
#pragma unroll
        for (int u = 0; u < NUMBERS; u++) {
            const int bit = u * BITS - 32 * n;
            if (bit > -BITS && bit < 32) word[n] |= bit < 0 ? (uint32_t)number[u] >> -bit : (uint32_t)number[u] << bit;
        }
    }
}

/*
 * Stores the words of a slice's groups: word 0 of all groups, then word 1 of the groups that have it, and so on. Groups
 * with more words come first. Called by warp `part` of `parts` warps. Each lane has a group of `length` runs.
 */
template <int BITS, typename P> static __device__ __forceinline__ void
put_words(const windowing<P> &w, const filling &f, int64_t begin, int length, int part, int parts, uint32_t *put)
{
    constexpr int NUMBERS = number_step<BITS>::numbers, WORDS = number_step<BITS>::words;
    const int lane = lane_of_warp(), first_step = power_of_two(f.columns) / 2;
    const int own_words = (int)spryi_windowed_words(length, BITS);
    for (int step = 0;; step++) {
        int before[WORDS + 1] = {0};
        uint32_t word[WORDS];
#pragma unroll
        for (int n = 0; n < WORDS; n++)
            before[n + 1] = before[n] + __popc(__ballot_sync(FULL_WARP, own_words > step * WORDS + n));
        if (before[1] == 0) return;
        if (step % parts == part && own_words > step * WORDS) {
            build_words<BITS>(w, f, begin, length, step * NUMBERS, first_step, word);
#pragma unroll
            for (int n = 0; n < WORDS; n++)
                if (own_words > step * WORDS + n) put[before[n] + lane] = word[n];
        }
        put += before[WORDS];
    }
}

/*
 * Stores the indices of a slice. Called by warp `part` of `parts` warps. lanes: LANES bytes of the warp's shared
 * memory.
 */
template <typename P> static __device__ void put_indices(const windowing<P> &w, const filling &f,
                                                         const spryi_windowed &s, int64_t slice, int part, int parts,
                                                         uint8_t *lanes)
{
    const int lane = lane_of_warp(), run = f.at.run;
    const lane_view own = view_slice(w, slice, run);
    const uint32_t before = __shfl_up_sync(FULL_WARP, own.leader, 1);
    const bool is_first = lane == 0 || own.leader != before;
    const unsigned firsts = __ballot_sync(FULL_WARP, is_first);
    const int groups = __popc(firsts), group = __popc(firsts & lanes_before()) + is_first - 1;
    __syncwarp();
    if (is_first) lanes[group] = (uint8_t)lane;
    __syncwarp();
    const int from = lane < groups ? lanes[lane] : 0; /* from this point, lane g handles group g */
    const int64_t begin = __shfl_sync(FULL_WARP, own.begin, from);
    const int all = __shfl_sync(FULL_WARP, own.length, from), length = lane < groups ? all : 0;
    uint8_t *to = s.indices + (int64_t)s.slices[slice].indices * SPRYI_WINDOWED_UNIT;
    if (groups < LANES) {
        if (part == 0) to[lane] = (uint8_t)group;
        to += LANES;
    }
    if (part == 0 && lane < groups) ((uint16_t *)to)[lane] = (uint16_t)length;
    uint32_t *put = (uint32_t *)(to + (groups + 1) / 2 * 4);
    if (f.at.bits == 16)
        put_words<16>(w, f, begin, length, part, parts, put);
    else
        put_words<SPRYI_WINDOWED_SHORT_BITS>(w, f, begin, length, part, parts, put);
}

/* Stores the dictionary and indices of a window. Called by a block of THREADS threads. */
template <int THREADS, typename P>
static __device__ void fill_window(const windowing<P> &w, const filling &f, const spryi_windowed &s, int slices)
{
    enum { ALL = THREADS / LANES };
    __shared__ uint8_t lanes[ALL][LANES];
    const int warp = threadIdx.x / LANES, parts = slices < ALL ? ALL / slices : 1;
    put_dictionary(f, s);
    for (int n = warp; n < slices * parts; n += ALL)
        put_indices(w, f, s, f.at.slice + n % slices, n / slices, parts, lanes[warp]);
}

/* Stores the indices and dictionaries of windows with at most MOST_SMALL columns. A block per window. */
template <typename P> static __global__ void __launch_bounds__(SMALL_THREADS)
    fill_small(const windowing<P> w, const spryi_windowed s)
{
    __shared__ column_table table;
    __shared__ uint32_t leader[SPRYI_WINDOWED_MOST_ROWS];
    const spryi_windowed_window at = s.windows[blockIdx.x];
    const int slices = (int)(s.windows[blockIdx.x + 1].slice - at.slice);
    if (at.columns > MOST_SMALL) return;
    for (int p = threadIdx.x; p < slices * LANES; p += SMALL_THREADS) {
        const uint32_t row = w.rows[(int64_t)at.slice * LANES + p];
        leader[p] = row != NO_ROW ? w.leader[row] : NO_ROW;
    }
    __syncthreads();
    const int columns = collect_columns(w, leader, 0, slices * LANES, at.run, MOST_SMALL, &table);
    sort_table(&table, columns);
    const filling f = {table.column, columns, at};
    fill_window<SMALL_THREADS>(w, f, s, slices);
}

/* Does the same as fill_small for windows of one slice with more columns. Blocks step through the list w.large. */
template <typename P> static __global__ void __launch_bounds__(LARGE_THREADS)
    fill_large(const windowing<P> w, const spryi_windowed s)
{
    extern __shared__ int32_t column[];
    for (uint32_t n = blockIdx.x; n < w.marks[0]; n += gridDim.x) {
        const int64_t slice = w.large[n];
        const int columns = list_columns(w, slice, column);
        const window_sizes before = sizes_before(w.sizes, w.slices, slice);
        const filling f = {column, columns, s.windows[before.windows]};
        fill_window<LARGE_THREADS>(w, f, s, 1);
        __syncthreads(); /* before column is written again */
    }
}

/* ---- long rows ------------------------------------------------------------------------------------------- */

/*
 * Lists the long rows. Sets element n + 1 of long_rows.first to the number of pieces of row n, and of first_entry to
 * its number of entries. Prefix sums follow.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    list_long_rows(const windowing<P> w, const spryi_windowed s, int64_t *first_entry)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n == 0) first_entry[0] = 0;
    if (n >= s.long_rows.count) return;
    const int64_t i = w.order[w.count + n], length = w.a.length(i);
    s.long_rows.rows[n] = i;
    s.long_rows.first[n + 1] = (length + SPRYI_WINDOWED_PIECE - 1) / SPRYI_WINDOWED_PIECE;
    first_entry[n + 1] = length;
}

/* Copies the entries of long rows. A block per piece. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    copy_pieces(const windowing<P> w, const V *__restrict__ Ax, const spryi_windowed s,
                const int64_t *__restrict__ first_entry)
{
    const int64_t p = blockIdx.x, n = owner_of(s.long_rows.first, 0, s.long_rows.count, p), i = s.long_rows.rows[n];
    const int64_t from = (int64_t)w.a.Ap[i], to = first_entry[n], length = w.a.length(i);
    const int64_t begin = (p - s.long_rows.first[n]) * SPRYI_WINDOWED_PIECE;
    const int64_t end = begin + SPRYI_WINDOWED_PIECE < length ? begin + SPRYI_WINDOWED_PIECE : length;
    if (threadIdx.x == 0) s.long_rows.pieces[p] = to + begin;
    for (int64_t k = begin + threadIdx.x; k < end; k += CONVERT_THREADS) {
        ((int32_t *)s.long_rows.columns)[to + k] = w.a.Aj[from + k];
        if (Ax) ((V *)s.long_rows.values)[to + k] = Ax[from + k];
    }
}

template <typename V, typename P>
static spry_status store_long_rows(spryi_conversion *c, const windowing<P> &w, scratch *first_entry, spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)c->storage;
    if (s->long_rows.count == 0) return SPRY_OK;
    const int64_t bytes = (s->long_rows.count + 1) * (int64_t)sizeof(int64_t);
    SPRY_CUDA_TRY(first_entry->make(c->device, bytes, "windowed: long rows", err));
    int64_t *first = (int64_t *)first_entry->at;
    list_long_rows<<<convert_blocks(s->long_rows.count), CONVERT_THREADS>>>(w, *s, first);
    SPRY_CUDA_TRY(launched(err, "windowed: long rows"));
    SPRY_CUDA_TRY(spry_cuda_scan(c->device, s->long_rows.first + 1, s->long_rows.count, err));
    SPRY_CUDA_TRY(spry_cuda_scan(c->device, first + 1, s->long_rows.count, err));
    copy_pieces<<<(unsigned)s->long_rows.piece_count, CONVERT_THREADS>>>(w, (const V *)c->csr.values, *s, first);
    return launched(err, "windowed: long rows");
}

/* ---- the host's side ------------------------------------------------------------------------------------- */

enum { MOST_LARGE_BLOCKS = 264 }; /* blocks step through the list of large windows */

template <typename P> static unsigned large_blocks(const windowing<P> &w)
{
    return w.slices < MOST_LARGE_BLOCKS ? (unsigned)w.slices : (unsigned)MOST_LARGE_BLOCKS;
}

/*
 * Measures windows and slices, and computes prefix sums of their sizes. space holds the arrays of w that belong neither
 * to the order nor to s.
 */
template <typename P> static spry_status measure(const spryi_device *device, windowing<P> *w, int64_t windows,
                                                 scratch *space, spry_error *err)
{
    const int64_t size_bytes = SIZES * w->slices * (int64_t)sizeof(int64_t);
    const int64_t bytes = size_bytes + 2 * (w->slices + 1) * (int64_t)sizeof(uint32_t);
    SPRY_CUDA_TRY(space->make(device, bytes, "windowed: slices", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(space->at, 0, (size_t)bytes), "windowed: slices", err);
    w->sizes = (int64_t *)space->at;
    w->columns = (uint32_t *)(w->sizes + SIZES * w->slices);
    w->large = w->columns + w->slices;
    w->marks = w->large + w->slices;
    if (w->slices == 0) return SPRY_OK;
    cut_windows<<<(unsigned)windows, SMALL_THREADS>>>(*w);
    SPRY_CUDA_TRY(launched(err, "windowed: windows"));
    SPRY_CUDA_CHECK(allow_shared_memory(count_large<P>, LARGE_BYTES), "windowed: windows", err);
    count_large<<<large_blocks(*w), LARGE_THREADS, LARGE_BYTES>>>(*w);
    SPRY_CUDA_TRY(launched(err, "windowed: windows"));
    return spry_cuda_scan(device, w->sizes, SIZES * w->slices, err);
}

template <typename P> static spry_status read_sizes(spryi_windowed *s, const windowing<P> &w, spry_error *err)
{
    int64_t ends[SIZES], sums[SIZES];
    uint32_t marks[2];
    if (w.slices == 0) return SPRY_OK;
    SPRY_CUDA_CHECK(cudaMemcpy2D(ends, sizeof *ends, w.sizes + w.slices - 1, (size_t)w.slices * sizeof *w.sizes,
                                 sizeof *ends, SIZES, cudaMemcpyDeviceToHost),
                    "windowed: sizes", err);
    SPRY_CUDA_CHECK(cudaMemcpy(marks, w.marks, sizeof marks, cudaMemcpyDeviceToHost), "windowed: sizes", err);
    for (int n = 0; n < SIZES; n++) sums[n] = ends[n] - (n > 0 ? ends[n - 1] : 0);
    s->window_count = sums[0];
    s->numbers = sums[1] * SPRYI_WINDOWED_DICTIONARY;
    s->page_count = sums[2];
    s->slots = sums[3] * SPRYI_WINDOWED_ALIGN;
    s->units = sums[4];
    s->staged = marks[1];
    return SPRY_OK;
}

/* Fills the arrays. Values are copied as bits: V is an unsigned integer of their size. */
template <typename V, typename P>
static spry_status fill(spryi_conversion *c, const windowing<P> &w, scratch *first_entry, spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)c->storage;
    const size_t index_bytes = (size_t)s->units * SPRYI_WINDOWED_UNIT;
    if (index_bytes > 0) SPRY_CUDA_CHECK(cudaMemsetAsync(s->indices, 0, index_bytes), "windowed: indices", err);
    put_ends<<<1, LANES>>>(*s);
    SPRY_CUDA_TRY(launched(err, "windowed: ends"));
    SPRY_CUDA_TRY((store_long_rows<V>(c, w, first_entry, err)));
    if (s->slice_count == 0) return SPRY_OK;
    put_slices<<<(unsigned)ceil_div(w.slices, WARPS), CONVERT_THREADS>>>(w, (const V *)c->csr.values, *s);
    SPRY_CUDA_TRY(launched(err, "windowed: slices"));
    fill_small<<<(unsigned)s->window_count, SMALL_THREADS>>>(w, *s);
    SPRY_CUDA_TRY(launched(err, "windowed: indices"));
    SPRY_CUDA_CHECK(allow_shared_memory(fill_large<P>, LARGE_BYTES), "windowed: indices", err);
    fill_large<<<large_blocks(w), LARGE_THREADS, LARGE_BYTES>>>(w, *s);
    return launched(err, "windowed: indices");
}

template <typename P> static spry_status build(spryi_conversion *c, const windowed_order &order, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_windowed *s = (spryi_windowed *)c->storage;
    windowing<P> w = {};
    scratch space, first_entry;
    w.a = {(const P *)a->offsets, (const int32_t *)a->indices, a->rows, a->columns};
    w.order = order.rows;
    w.leader = order.leader;
    w.window = s->window;
    w.count = order.count;
    w.of_runs = order.of_runs;
    w.run = s->run;
    w.stride = s->stride;
    w.windows_of_runs = ceil_div(w.of_runs, w.window);
    w.slices_of_runs = ceil_div(w.of_runs, LANES);
    w.slices = s->slice_count = w.slices_of_runs + ceil_div(w.count - w.of_runs, LANES);
    s->long_rows.count = order.long_count;
    s->long_rows.nnz = order.long_nnz;
    s->long_rows.piece_count = order.piece_count;
    if (s->long_rows.piece_count > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL,
                          "windowed: %lld pieces of long rows exceed the blocks of a launch",
                          (long long)s->long_rows.piece_count);
    const int64_t windows = w.windows_of_runs + ceil_div(w.count - w.of_runs, w.window);
    const int64_t row_bytes = w.slices * LANES * (int64_t)sizeof(uint32_t);
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, (void **)&s->rows, row_bytes, "rows", err));
    w.rows = s->rows;
    SPRY_CUDA_TRY(measure(c->device, &w, windows, &space, err));
    SPRY_CUDA_TRY(read_sizes(s, w, err));
    SPRY_CUDA_TRY(spryi_windowed_check_sizes(s, err));
    spryi_windowed_cost(&c->cost, s);
    SPRY_CUDA_TRY(c->guard(c->request, "windowed", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_arrays(c, spryi_windowed_arrays, err)); /* all arrays except rows, which exist */
    SPRY_CUDA_TRY(SPRY_BY_BYTES(a->value_type, B, fill<B>(c, w, &first_entry, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "windowed", err); /* before the scratch is freed */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    spryi_windowed *s = (spryi_windowed *)c->storage;
    windowed_order order = {};
    if (c->request->options->op == SPRY_TRANSPOSE)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "windowed has no transposed product on a GPU");
    if (c->csr.rows > MOST_ROWS)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "windowed: %lld rows exceed the %lld of its sort keys",
                          (long long)c->csr.rows, (long long)MOST_ROWS);
    s->a = shape_of(&c->csr);
    spryi_windowed_resolve(s, c->request);
    SPRY_CUDA_TRY(spry_cuda_windowed_order(c, &order, err));
    return SPRY_BY_TYPE(c->csr.offset_type, P, build<P>(c, order, err));
}

const spryi_converter spry_cuda_to_windowed = {"windowed", convert};
