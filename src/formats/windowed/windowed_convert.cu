/*
 * CSR to windows on the device, bit for bit as on the host.
 *
 * Idea: rows are put in order first (windowed_order.cu). A block of threads then takes `window` rows of the order,
 *       counts their distinct columns in shared memory, cuts them in two where they are too many, sorts the rows of
 *       each part by length and measures its slices. Scans over the slices tell where everything goes, the guard is
 *       asked, and a second pass fills (windowed_fill.cuh). Windows of one slice with many columns are left to larger
 *       blocks, in both passes.
 * Work: a block a window, 8 lanes a row where columns are collected, a warp a slice.
 * Cost: columns of leaders read three times or more, values once; scratch of 2 bytes a row beside that of the order.
 * Source: open addressing; bitonic sort (Batcher 1968); the scan: CUB; this library.
 */
#include "formats/windowed/windowed_fill.cuh"

template <typename P> static __device__ void put_window(const windowing<P> &w, int64_t slice, int columns, int pages)
{
    w.columns[slice] = (uint32_t)columns;
    w.sizes[slice] = 1;
    w.sizes[w.slices + slice] = (columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY;
    w.sizes[2 * w.slices + slice] = pages;
    atomicMax(w.marks + 1, (uint32_t)(columns * run_of(w, slice)));
}

/* ---- cutting windows ------------------------------------------------------------------------------------- */

/* What a block has of `window` rows in shared memory. */
struct cutting {
    column_table table;
    uint32_t leader[SPRYI_WINDOWED_MOST_ROWS];
    uint32_t key[SPRYI_WINDOWED_MOST_ROWS];                  /* of a row, see order_lanes */
    uint32_t high[1 << (31 - SPRYI_WINDOWED_PAGE_BITS - 5)]; /* a bit for the high bits of a column */
    int pages;
};
static_assert(sizeof(cutting) <= 48 << 10, "shared memory that a launch need not ask for");

/* Which rows a block has: first of the order, first slice, how many. */
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

/* High bits that the table's columns have. */
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
    __syncthreads(); /* pages may be written again */
    return pages;
}

/* The first slices of windows, a bit each, and in *narrow those of windows with indices of few bits. */
template <typename P>
static __device__ uint32_t cut_rows(const windowing<P> &w, const block_rows &rows, cutting *c, uint32_t *narrow)
{
    enum { DEEP = 8 }; /* 1024 rows are cut five times at most */
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

/* Keys of lanes, rising: number of the window among the block's, how much the row lacks of the most runs, row. */
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

/* By a warp: slice q of the block's, its rows and sizes. Lanes without a row are a group, too, of length 0. */
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
        const int window = 31 - __clz(starts & UINT32_MAX >> (31 - q)); /* its first slice */
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

/* ---- long rows ------------------------------------------------------------------------------------------- */

/* Long rows, and what each has: pieces, and entries in first_entry; from 1 on, to be summed up. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    list_long_rows(const windowing<P> w, const spryi_windowed s, int64_t *first_entry)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n == 0) first_entry[0] = 0;
    if (n >= s.long_count) return;
    const int64_t i = w.order[w.count + n], length = w.a.length(i);
    s.long_rows[n] = i;
    s.long_first[n + 1] = (length + SPRYI_WINDOWED_PIECE - 1) / SPRYI_WINDOWED_PIECE;
    first_entry[n + 1] = length;
}

/* A block a piece. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    copy_pieces(const windowing<P> w, const V *__restrict__ Ax, const spryi_windowed s,
                const int64_t *__restrict__ first_entry)
{
    const int64_t p = blockIdx.x, n = owner_of(s.long_first, 0, s.long_count, p), i = s.long_rows[n];
    const int64_t from = (int64_t)w.a.Ap[i], to = first_entry[n], length = w.a.length(i);
    const int64_t begin = (p - s.long_first[n]) * SPRYI_WINDOWED_PIECE;
    const int64_t end = begin + SPRYI_WINDOWED_PIECE < length ? begin + SPRYI_WINDOWED_PIECE : length;
    if (threadIdx.x == 0) s.pieces[p] = to + begin;
    for (int64_t k = begin + threadIdx.x; k < end; k += CONVERT_THREADS) {
        ((int32_t *)s.long_columns)[to + k] = w.a.Aj[from + k];
        if (Ax) ((V *)s.long_values)[to + k] = Ax[from + k];
    }
}

template <typename V, typename P>
static spry_status store_long_rows(spryi_conversion *c, const windowing<P> &w, scratch *first_entry, spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)c->storage;
    if (s->long_count == 0) return SPRY_OK;
    const int64_t bytes = (s->long_count + 1) * (int64_t)sizeof(int64_t);
    SPRY_CUDA_TRY(first_entry->make(c->device, bytes, "windowed: long rows", err));
    int64_t *first = (int64_t *)first_entry->at;
    list_long_rows<<<convert_blocks(s->long_count), CONVERT_THREADS>>>(w, *s, first);
    SPRY_CUDA_TRY(launched(err, "windowed: long rows"));
    SPRY_CUDA_TRY(spry_cuda_scan(c->device, s->long_first + 1, s->long_count, err));
    SPRY_CUDA_TRY(spry_cuda_scan(c->device, first + 1, s->long_count, err));
    copy_pieces<<<(unsigned)s->piece_count, CONVERT_THREADS>>>(w, (const V *)c->csr.values, *s, first);
    return launched(err, "windowed: long rows");
}

/* ---- the host's side ------------------------------------------------------------------------------------- */

enum { MOST_LARGE_BLOCKS = 264 }; /* they go through the list of large windows in steps */

template <typename P> static unsigned large_blocks(const windowing<P> &w)
{
    return w.slices < MOST_LARGE_BLOCKS ? (unsigned)w.slices : (unsigned)MOST_LARGE_BLOCKS;
}

/* Windows and slices, measured, and sums of their sizes. space holds what w has beside the order's and s's arrays. */
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

/* Bits of the values are copied: V is an unsigned number of their size. */
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

template <typename P> static spry_status make(spryi_conversion *c, const windowed_order &order, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_windowed *s = (spryi_windowed *)c->storage;
    windowing<P> w = {};
    scratch space, first_entry;
    w.a = {(const P *)a->offsets, (const int32_t *)a->indices, a->rows, a->cols};
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
    s->long_count = order.long_count;
    s->long_nnz = order.long_nnz;
    s->piece_count = order.piece_count;
    if (s->piece_count > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "windowed: more blocks than a launch takes");
    const int64_t windows = w.windows_of_runs + ceil_div(w.count - w.of_runs, w.window);
    const int64_t row_bytes = w.slices * LANES * (int64_t)sizeof(uint32_t);
    SPRY_CUDA_TRY(spry_cuda_make(c, (void **)&s->rows, row_bytes, "rows", err));
    w.rows = s->rows;
    SPRY_CUDA_TRY(measure(c->device, &w, windows, &space, err));
    SPRY_CUDA_TRY(read_sizes(s, w, err));
    SPRY_CUDA_TRY(spryi_windowed_check_sizes(s, err));
    spryi_windowed_cost(&c->cost, s);
    SPRY_CUDA_TRY(c->guard(c->request, "windowed", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make_arrays(c, spryi_windowed_arrays, err)); /* except rows, made before */
    SPRY_CUDA_TRY(SPRY_BY_TYPE(a->value_type, V, fill<value_bits<V>>(c, w, &first_entry, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "windowed", err); /* before the scratch goes */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    spryi_windowed *s = (spryi_windowed *)c->storage;
    windowed_order order = {};
    if (c->request->options->op == SPRY_TRANSPOSE)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "windowed: there is no transposed product");
    if (c->csr.rows > MOST_ROWS) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "windowed: more rows than keys hold");
    s->a = shape_of(&c->csr);
    spryi_windowed_resolve(s, c->request);
    SPRY_CUDA_TRY(spry_cuda_windowed_order(c, &order, err));
    return SPRY_BY_TYPE(c->csr.offset_type, P, make<P>(c, order, err));
}

const spryi_converter spry_cuda_to_windowed = {"windowed", convert};
