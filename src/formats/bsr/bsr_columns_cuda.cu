/*
 * bsr_columns, the kernel of bsr_blocks_cuda for multiple vectors.
 *
 * Idea: a thread has one row of a block row, and one or two pieces, of at most 16 bytes, of its row of y. Consecutive
 *       threads have consecutive parts of one row of y, then of the next row of the block row. For a column of a block,
 *       the threads of a block row read r adjacent values and the same row of x. Each sum belongs to one thread, so no
 *       reduction is needed.
 * Work: the threads of one block row are a group. A thread block has all groups that fit. Each group multiplies one
 *       block row. Block rows of over LONG_LIST blocks are multiplied afterwards, each by all groups of the thread
 *       block. If a block row is cut into pieces (bsr_cuda.cuh), a thread block multiplies one piece with all its
 *       groups, and the thread block that finishes last adds the sums of all pieces in order. One launch for each panel
 *       of up to BSR_PANEL vectors.
 * Cost: bytes of BSR without the masks, X and Y once if reads by nearby threads hit the caches. Fill is multiplied. If
 *       a sum is NaN, the thread sums again with the masks. Deterministic, but sums are added in another order than for
 *       a single vector.
 * Source: Kreutzer and others, Performance engineering of the kernel polynomial method on large-scale CPU-GPU systems,
 *         2015 (row-major blocks of vectors); pieces: this library.
 */
#include "device/cuda/columns.cuh"
#include "formats/bsr/bsr_cuda.cuh"

enum {
    SOME = 0,       /* template parameter R for block sizes without their own code */
    LONG_LIST = 128 /* most blocks of a block row that a single group multiplies */
};

/* The blocks begin, begin + step, ... below end of a block row. */
template <typename S> struct block_list {
    const int32_t *columns;
    const S *values;
    const void *masks; /* NULL: no fill */
    int64_t begin, end, step;
};

/* Returns true if position (i, q) of block b is an entry of A. */
template <typename S>
static __device__ __forceinline__ bool is_entry(const block_list<S> &list, int r, int64_t b, int i, int q)
{
    const int64_t at = b * r + q;
    const unsigned mask = r <= BSR_OWN ? ((const uint8_t *)list.masks)[at] : ((const uint16_t *)list.masks)[at];
    return (mask >> i & 1) != 0;
}

/*
 * blocks: number of blocks that a thread loads at a time. rows: number of rows of x that it loads at a time for each
 * block. If R is SOME, a block needs more than one pass.
 */
template <int R> struct columns_flight {
    static const int blocks = R == 1 ? 4 : R == SOME || R == 4 ? 1 : 2, rows = R == SOME ? 4 : R;
};

/*
 * Adds row i of up to N blocks, from block b on, times rows q .. q + U - 1 of the blocks' x. Positions past the list,
 * the block or the matrix load a valid address, and are not added. MASKED: adds only entries.
 */
template <bool MASKED, int R, int N, int U, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_rows(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const block_list<S> &list,
                                                const bsr_view &s, int64_t b, int i, int q, const many_columns<V> &m,
                                                const column_place<SHAPE, V> &place)
{
    const int r = R == SOME ? s.block : R;
    V a[N][U];
    int64_t column[N];
    column_piece<SHAPE::W, V> x[N][U][SHAPE::C];
#pragma unroll
    for (int n = 0; n < N; n++) {
        const int64_t block = b + n * list.step < list.end ? b + n * list.step : b;
        column[n] = (int64_t)__ldg(list.columns + block) * r;
#pragma unroll
        for (int u = 0; u < U; u++) a[n][u] = element_kept<V>(list.values + (block * r + min(q + u, r - 1)) * r + i);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int p = 0; p < SHAPE::C; p++)
                x[n][u][p] = place.load(m, p, (int32_t)min(column[n] + min(q + u, r - 1), s.cols - 1));
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int u = 0; u < U; u++) {
            bool has = b + n * list.step < list.end && q + u < r && column[n] + q + u < s.cols;
            if (MASKED) has = has && is_entry(list, r, b + n * list.step, i, q + u);
#pragma unroll
            for (int p = 0; p < SHAPE::C; p++)
#pragma unroll
                for (int w = 0; w < SHAPE::W; w++)
                    if (has) sum[p].of[w] = fma(a[n][u], x[n][u][p].of[w], sum[p].of[w]);
        }
}

/* Adds row i of the blocks of a list times their rows of x, in order. */
template <bool MASKED, int R, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_blocks(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const block_list<S> &list,
                                                  const bsr_view &s, int i, const many_columns<V> &m,
                                                  const column_place<SHAPE, V> &place)
{
    constexpr int N = MASKED ? 1 : columns_flight<R>::blocks, U = columns_flight<R>::rows;
#pragma unroll 1
    for (int64_t b = list.begin; b < list.end; b += N * list.step)
#pragma unroll 1
        for (int q = 0; q < (R == SOME ? s.block : 1); q += U)
            add_rows<MASKED, R, N, U, SHAPE>(sum, list, s, b, i, q, m, place);
}

/* Sums row i of a list. If a sum is NaN, sums it again without fill. */
template <int R, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void sum_blocks(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const block_list<S> &list,
                                                  const bsr_view &s, int i, const many_columns<V> &m,
                                                  const column_place<SHAPE, V> &place)
{
    add_blocks<false, R, SHAPE>(sum, list, s, i, m, place);
    bool is_number = true;
#pragma unroll
    for (int p = 0; p < SHAPE::C; p++)
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) is_number = is_number && !isnan(sum[p].of[w]);
    if (is_number || !list.masks) return;
    column_piece<SHAPE::W, V> again[SHAPE::C] = {};
    add_blocks<true, R, SHAPE>(again, list, s, i, m, place);
#pragma unroll
    for (int p = 0; p < SHAPE::C; p++)
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++)
            if (isnan(sum[p].of[w])) sum[p].of[w] = again[p].of[w];
}

/*
 * Position of a thread in its thread block: the group, the row of the group's block row, and the lane of the row of y.
 */
struct group_place {
    int groups, group, row, lane;
    __device__ __forceinline__ group_place(int r, int lanes)
    {
        const int size = r * lanes, own = (int)threadIdx.x % size;
        groups = BSR_THREADS / size;
        group = (int)threadIdx.x / size;
        row = own / lanes;
        lane = own % lanes;
    }
};

template <typename S> static __device__ __forceinline__ block_list<S> blocks_of(const bsr_view &s, int64_t I)
{
    return {s.columns, (const S *)s.values, s.masks, offset_at(s, I), offset_at(s, I + 1), 1};
}

/* Adds the sums of all groups, in order, to the sums of the first group. Called by the whole block. */
template <typename SHAPE, typename V> static __device__ __forceinline__ void
meet_groups(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const group_place &own, int size, V *scratch)
{
#pragma unroll
    for (int p = 0; p < SHAPE::C; p++)
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) {
            scratch[threadIdx.x] = sum[p].of[w];
            __syncthreads();
            if (own.group == 0)
                for (int g = 1; g < own.groups; g++) sum[p].of[w] += scratch[g * size + threadIdx.x];
            __syncthreads();
        }
}

/* Adds the sums of a long block row's pieces in order, and writes y. Called by the whole block. */
template <typename V> static __device__ void put_pieces(const bsr_view &s, const bsr_long_row &whole, int64_t I,
                                                        const many_columns<V> &m, const V *partial, V alpha, V beta)
{
    for (int n = threadIdx.x; n < s.block * m.count; n += BSR_THREADS) {
        const int i = n / m.count, c = n % m.count;
        const V *own = partial + (whole.first * s.block + i) * BSR_PANEL + c;
        V total = 0;
#pragma unroll 8
        for (int64_t p = 0; p < whole.pieces; p++) total += __ldcg(own + p * s.block * BSR_PANEL);
        if (I * s.block + i < s.rows) put(m.y + (I * s.block + i) * m.y_row + c, 0, total, alpha, beta);
    }
}

/* Multiplies one piece of a long block row. Called by the whole block. */
template <int R, typename SHAPE, typename S, typename V>
static __device__ void run_piece(const bsr_view &s, const bsr_splits &c, int64_t p, const many_columns<V> &m, V alpha,
                                 V beta, V *partial, unsigned *arrived)
{
    __shared__ V scratch[BSR_THREADS];
    __shared__ int is_last;
    const int r = s.block;
    const group_place own(r, m.lanes);
    const column_place<SHAPE, V> place(m, 0, own.lane);
    const bsr_piece piece = c.pieces[p];
    const bsr_long_row whole = c.long_rows[piece.long_row];
    block_list<S> list = blocks_of<S>(s, piece.row);
    list.end = list.begin + (piece.end + r - 1) / r;
    list.begin += (piece.begin + r - 1) / r + own.group;
    list.step = own.groups;
    column_piece<SHAPE::W, V> sum[SHAPE::C] = {};
    if (own.group < own.groups) sum_blocks<R, SHAPE>(sum, list, s, own.row, m, place);
    meet_groups<SHAPE>(sum, own, r * m.lanes, scratch);
    if (own.group == 0)
#pragma unroll
        for (int at = 0; at < SHAPE::C; at++)
#pragma unroll
            for (int w = 0; w < SHAPE::W; w++)
                if (place.has(m, at))
                    partial[(p * r + own.row) * BSR_PANEL + place.first + at * place.step + w] = sum[at].of[w];
    __threadfence(); /* other blocks must see the sums before the arrival */
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(arrived + piece.long_row, 1u) == (unsigned)whole.pieces - 1;
        if (is_last) arrived[piece.long_row] = 0; /* the next run expects zero */
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    put_pieces(s, whole, piece.row, m, partial, alpha, beta);
}

/*
 * Multiplies the block rows of a thread block that have over LONG_LIST blocks, each by all groups. first: the first
 * block row of the thread block. Called by the whole block.
 */
template <int R, typename SHAPE, typename S, typename V> static __device__ __noinline__ void
run_long_rows(const bsr_view &s, const bsr_splits &c, int64_t first, const many_columns<V> &m, V alpha, V beta)
{
    __shared__ V scratch[BSR_THREADS];
    const group_place own(s.block, m.lanes);
    const column_place<SHAPE, V> place(m, 0, own.lane);
    for (int64_t I = first; I < first + own.groups && I < s.block_rows; I++) {
        block_list<S> list = blocks_of<S>(s, I);
        const int64_t blocks = list.end - list.begin;
        if (blocks <= LONG_LIST || blocks * s.block > BSR_LONG * c.lanes) continue;
        list.begin += own.group;
        list.step = own.groups;
        column_piece<SHAPE::W, V> sum[SHAPE::C] = {};
        if (own.group < own.groups) sum_blocks<R, SHAPE>(sum, list, s, own.row, m, place);
        meet_groups<SHAPE>(sum, own, s.block * m.lanes, scratch);
        if (own.group == 0 && I * s.block + own.row < s.rows)
            put_columns(m, place, I * s.block + own.row, sum, alpha, beta);
    }
}

template <int R, typename SHAPE, typename S, typename V> static __global__ void __launch_bounds__(BSR_THREADS)
    bsr_columns(const bsr_view s, const bsr_splits c, const __grid_constant__ many_columns<V> m, scalar<V> alpha,
                scalar<V> beta, V *partial, unsigned *arrived)
{
    wait_for_previous_kernel();
    if ((int64_t)blockIdx.x < c.piece_count) { /* pieces take longest, so they start first */
        run_piece<R, SHAPE, S>(s, c, blockIdx.x, m, alpha.get(), beta.get(), partial, arrived);
        return;
    }
    const group_place own(s.block, m.lanes);
    const int64_t first = ((int64_t)blockIdx.x - c.piece_count) * own.groups, I = first + own.group;
    const bool has_row = own.group < own.groups && I < s.block_rows;
    const block_list<S> list = blocks_of<S>(s, has_row ? I : 0);
    const bool is_long = has_row && list.end - list.begin > LONG_LIST;
    if (has_row && !is_long && I * s.block + own.row < s.rows) {
        const column_place<SHAPE, V> place(m, 0, own.lane);
        column_piece<SHAPE::W, V> sum[SHAPE::C] = {};
        sum_blocks<R, SHAPE>(sum, list, s, own.row, m, place);
        put_columns(m, place, I * s.block + own.row, sum, alpha.get(), beta.get());
    }
    if (__syncthreads_or(is_long)) run_long_rows<R, SHAPE, S>(s, c, first, m, alpha.get(), beta.get());
}

/*
 * Divides the vectors into panels, and launches one kernel for each. Panels have about equal numbers of vectors, a
 * multiple of W, such that the threads of a block row fit into a thread block.
 */
template <int R, typename SHAPE, typename S, typename V> static void run_panels(const spryi_run_args *args)
{
    const bsr_view s = view_of((const spryi_bsr *)args->storage);
    const bsr_splits *c = (const bsr_splits *)args->auxiliary;
    const int64_t most = BSR_THREADS / s.block * SHAPE::W * SHAPE::C;
    const int64_t panels = ceil_div(args->columns, most < (int64_t)BSR_PANEL ? most : (int64_t)BSR_PANEL);
    const int64_t width = ceil_div(ceil_div(args->columns, panels), SHAPE::W) * SHAPE::W;
    for (int64_t first = 0; first < args->columns; first += width) {
        many_columns<V> m = columns_of<V>(args);
        m.x += first;
        m.y += first;
        m.count = (int)(args->columns - first < width ? args->columns - first : width);
        m.lanes = (int)ceil_div(m.count, SHAPE::W * SHAPE::C);
        m.sets = 1;
        const int groups = BSR_THREADS / (s.block * m.lanes);
        launch_early(args, bsr_columns<R, SHAPE, S, V>, c->piece_count + ceil_div(s.block_rows, groups), BSR_THREADS, 0,
                     s, *c, m, SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace,
                     bsr_arrivals(c, s.block, args->workspace));
    }
}

template <typename SHAPE, typename S, typename V> static void run_blocks(const spryi_run_args *args)
{
    switch (((const spryi_bsr *)args->storage)->head.block) {
    case 1: run_panels<1, SHAPE, S, V>(args); break;
    case 2: run_panels<2, SHAPE, S, V>(args); break;
    case 3: run_panels<3, SHAPE, S, V>(args); break;
    case 4: run_panels<4, SHAPE, S, V>(args); break;
    default: run_panels<SOME, SHAPE, S, V>(args); break;
    }
}

/*
 * Uses loads of 16 bytes if the rows of x and y are aligned for them, and two loads for each thread if there are many
 * vectors.
 */
template <typename S, typename V> void spry_cuda_bsr_columns(const spryi_run_args *args)
{
    constexpr int WIDE = 16 / (int)sizeof(V);
    if (!columns_fit(args, WIDE, sizeof(V))) {
        run_blocks<column_shape<true, 1, 2>, S, V>(args);
        return;
    }
    if (args->columns >= 4 * WIDE)
        run_blocks<column_shape<true, WIDE, 2>, S, V>(args);
    else
        run_blocks<column_shape<true, WIDE, 1>, S, V>(args);
}

#define INSTANCES(tag, s, v, c, argument)                                                                              \
    template void spry_cuda_bsr_columns<spryi_##s, spryi_##v>(const spryi_run_args *args);
SPRYI_PLAIN_ROWS(INSTANCES, 0)
SPRYI_MIXED_ROWS(INSTANCES, 0)
