/*
 * csr_panel, the kernel of csr_merge_cuda for several columns of x and y at once, which lie row by row.
 *
 * Idea: a block takes the rows of a tile, as for one column, and brings their entries into shared memory in whole
 *       sectors. Then it deals them out in equal segments, whatever the rows: a group of lanes walks a segment, each
 *       lane for its columns (columns.cuh), so that a row of x is read in pieces of 16 bytes, lane beside lane.
 *
 *           entries    a a a b b | b b b b b | c c d d d        three segments, four rows
 *                      put a      tail        head b, put c, d
 *                      tail b
 *
 *       Where the rows of a tile are about as long as each other, and there are enough, a group has whole rows: the
 *       groups of a warp end theirs together then. Else a row that ends where it began is put at once. What a segment
 *       has of others are its head and its tail, in shared memory; when all are there, the group with a row's end adds
 *       up the row's parts in order. Pieces of long rows are blocks of their own; the one that finishes last adds up
 *       the row's sums in order.
 * Work: a block a tile and one a piece, for up to PANEL_COLUMNS columns; more columns take more launches.
 * Cost: bytes of CSR once a launch, X and Y once, as far as the caches hold what rows near each other read.
 *       Deterministic. The order of a row's sum depends on the matrix and on how many columns there are, not on what
 *       the others hold; the bits are not those of one column by itself.
 * Source: columns over lanes, equal segments: Yang, Buluc, Owens, Design Principles for Sparse Matrix Multiplication on
 *         the GPU, 2018; entries through shared memory: Greathouse and Daga 2014; this library.
 */
#include "device/cuda/columns.cuh"
#include "formats/csr/csr_merge.cuh"

enum {
    THREADS = 256,
    BLOCKS = 4,  /* a multiprocessor, at least */
    STAGED = 5,  /* entries that a thread brings at once */
    ROWS = 1024, /* of a tile that are worked on together */
    EVEN = 6,    /* entries by which rows may pass half as many again as their mean and count as of one length */
};

/* Entries of a segment whose rows of x a lane waits for at once. */
template <typename SHAPE> struct panel_flight {
    static const int entries = SHAPE::C == 1 ? 4 : 3;
};

/* Entries that a block has room for. */
template <typename V> static inline int room_for(const merge_splits *s)
{
    return shape<V>::tile + (s->kind == FEW ? cut<FEW>::longest : cut<MANY>::longest);
}

/* The last entry of a row has this bit in its column. */
static const int32_t ENDS_ROW = INT32_MIN;

/* The rows of a tile that are worked on, and whether there are others behind them. */
typedef struct panel_rows {
    int64_t first;
    int count, more;
} panel_rows;

/* What a block shares beside its entries. */
template <typename SHAPE, typename V> struct panel_memory {
    V head[SHAPE::C * SHAPE::W][THREADS], tail[SHAPE::C * SHAPE::W][THREADS]; /* of the groups' lanes */
    unsigned began[THREADS / 32]; /* of groups, a bit each: 1: the row of the tail begins in the segment */
    uint16_t begin[ROWS + 1];
    panel_rows own; /* of f64, whose numbers leave no registers for them */
};

/* The whole block: entries 0 .. count - 1 of Aj and Ax (NULL: ones) into shared memory. */
template <typename S, typename V, typename J> static __device__ __forceinline__ void
stage(int32_t *columns, V *values, const J *__restrict__ Aj, const S *__restrict__ Ax, int count)
{
#pragma unroll 1
    for (int k = threadIdx.x; k < count; k += STAGED * THREADS) {
        J j[STAGED];
        V a[STAGED];
#pragma unroll
        for (int u = 0; u < STAGED; u++)
            if (k + u * THREADS < count) j[u] = load_once(Aj + k + u * THREADS);
#pragma unroll
        for (int u = 0; u < STAGED; u++)
            if (k + u * THREADS < count) a[u] = Ax ? number_at<V>(Ax + k + u * THREADS) : V(1);
#pragma unroll
        for (int u = 0; u < STAGED; u++)
            if (k + u * THREADS < count) {
                columns[k + u * THREADS] = j[u];
                values[k + u * THREADS] = a[u];
            }
    }
}

/* A thread's share of a block: its group, and the columns that it has there. */
template <typename SHAPE, typename V> struct panel_place {
    int groups, group; /* groups: threads that are left over are in none */
    column_place<SHAPE, V> at;
    __device__ __forceinline__ panel_place(const many_columns<V> &m)
        : groups(THREADS / m.lanes), group(threadIdx.x / m.lanes), at(m, 0, threadIdx.x % m.lanes)
    {
    }
};

template <int N, typename V> static __device__ __forceinline__ void clear(column_piece<N, V> *sum, int count)
{
#pragma unroll
    for (int c = 0; c < count; c++)
#pragma unroll
        for (int w = 0; w < N; w++) sum[c].of[w] = 0;
}

/* What the group puts aside, and takes of what another did: `apart` threads before. */
template <typename SHAPE, typename V>
static __device__ __forceinline__ void keep(V (*kept)[THREADS], const column_piece<SHAPE::W, V> (&sum)[SHAPE::C])
{
#pragma unroll
    for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) kept[c * SHAPE::W + w][threadIdx.x] = sum[c].of[w];
}
template <typename SHAPE, typename V> static __device__ __forceinline__ void
add_kept(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const V (*kept)[THREADS], int apart)
{
#pragma unroll
    for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) sum[c].of[w] += kept[c * SHAPE::W + w][threadIdx.x - apart];
}

/*
 * Adds entries begin .. end - 1, and calls ended(k) behind an entry k that ends a row. Rows of x are on their way for
 * several entries at once, whatever their rows. Past the end the last one's is loaded again, so that no load waits for
 * a branch.
 */
template <typename SHAPE, typename V, typename ENDED>
static __device__ __forceinline__ void walk(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const int32_t *columns,
                                            const V *values, int begin, int end, const many_columns<V> &m,
                                            const column_place<SHAPE, V> &place, ENDED ended)
{
    constexpr int N = panel_flight<SHAPE>::entries;
#pragma unroll 1
    for (int k = begin; k < end; k += N) {
        int32_t j[N];
        V a[N];
        column_piece<SHAPE::W, V> x[N][SHAPE::C];
#pragma unroll
        for (int u = 0; u < N; u++) {
            const int at = min(k + u, end - 1);
            j[u] = columns[at];
            a[u] = values[at];
#pragma unroll
            for (int c = 0; c < SHAPE::C; c++) x[u][c] = place.load(m, c, j[u] & ~ENDS_ROW);
        }
#pragma unroll
        for (int u = 0; u < N; u++) {
#pragma unroll
            for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
                for (int w = 0; w < SHAPE::W; w++)
                    if (k + u < end) sum[c].of[w] += a[u] * x[u][c].of[w];
            if (k + u < end && (j[u] & ENDS_ROW)) ended(k + u);
        }
    }
}

/* The last group up to g whose bit is set; the first group's is. */
static __device__ __forceinline__ int last_that_began(const unsigned *began, int g)
{
    int word = g / 32;
    unsigned bits = began[word] & 0xffffffffu >> (31 - g % 32);
    while (bits == 0) bits = began[--word];
    return word * 32 + 31 - __clz(bits);
}

/* ---- rows of a tile ------------------------------------------------------------------------------------ */

/* Where the rows begin, as entries from `base` on are numbered. */
template <typename SHAPE, typename V, typename P> static __device__ __forceinline__ void
begin_rows(panel_memory<SHAPE, V> *memory, const P *__restrict__ Ap, const panel_rows &own, int64_t base)
{
    Ap += own.first;
    if (threadIdx.x == 0) memory->own = own;
    for (int i = threadIdx.x; i <= own.count; i += THREADS) memory->begin[i] = (uint16_t)(Ap[i] - base);
    if (threadIdx.x < THREADS / 32) memory->began[threadIdx.x] = 0;
}

/* A tile is loaded once more for its rows beyond ROWS, so that it takes no registers meanwhile. */
static __device__ __forceinline__ tile_rows load_again(const tile_rows *tile)
{
    tile_rows t = {};
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(t.first) : "l"(&tile->first));
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(t.base) : "l"(&tile->base));
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(t.rows) : "l"(&tile->rows));
    return t;
}

/*
 * 1: a row a group may do: most groups have one, few are idle in the last turn or it is short, and groups of many lanes
 * do not wait for memory once a row of few entries. Measured on an H200.
 */
static __device__ __forceinline__ int rows_fill_groups(int rows, int mean, int lanes)
{
    const int groups = THREADS / lanes, turns = (rows + groups - 1) / groups;
    const bool busy = turns == 1 ? 5 * rows >= 2 * groups : 5 * rows >= 3 * turns * groups || mean < 12;
    return busy && (mean >= 3 || lanes < 8);
}

/* Marks the last entries of the rows; 1: a row is far longer than the others, or groups should not have one each. */
template <typename SHAPE, typename V> static __device__ __forceinline__ int
end_rows(const panel_memory<SHAPE, V> *memory, int rows, int32_t *columns, uint16_t *owner, int lanes)
{
    const int mean = (memory->begin[rows] - memory->begin[0]) / rows, most = mean + mean / 2 + EVEN;
    int uneven = !rows_fill_groups(rows, mean, lanes);
    for (int i = threadIdx.x; i < rows; i += THREADS) {
        const int length = memory->begin[i + 1] - memory->begin[i], last = memory->begin[i + 1] - 1;
        uneven |= length > most;
        if (length == 0) continue;
        columns[last] |= ENDS_ROW;
        owner[last] = (uint16_t)i;
    }
    return uneven;
}

/*
 * y of `rows` rows from `first` on, up to ROWS, whose entries are in shared memory. Columns and values are numbered
 * from the tile's first, as memory->begin counts.
 */
template <bool SIMPLE, typename SHAPE, typename V>
static __device__ __forceinline__ void run_rows(panel_memory<SHAPE, V> *memory, int rows, int64_t first,
                                                const int32_t *columns, const V *values, const uint16_t *owner,
                                                const many_columns<V> &m, V alpha, V beta)
{
    const panel_place<SHAPE, V> place(m);
    const int g = place.group, from = memory->begin[0], all = memory->begin[rows] - from;
    const int share = (all + place.groups - 1) / place.groups;
    const int begin = from + min(g * share, all), end = from + min((g + 1) * share, all);
    column_piece<SHAPE::W, V> sum[SHAPE::C];
    int of_head = -1; /* the row that ends here and did not begin here */
    if (g < place.groups && begin < end) {
        bool began = begin == from || (columns[begin - 1] & ENDS_ROW);
        clear(sum, SHAPE::C);
        walk<SHAPE>(sum, columns, values, begin, end, m, place.at, [&](int k) {
            if (began) {
                put_columns<SIMPLE>(m, place.at, first + owner[k], sum, alpha, beta);
            } else {
                keep<SHAPE>(memory->head, sum);
                of_head = owner[k];
            }
            began = true;
            clear(sum, SHAPE::C);
        });
        keep<SHAPE>(memory->tail, sum);
        if (began && threadIdx.x == g * m.lanes) atomicOr(&memory->began[g / 32], 1u << g % 32);
    }
    __syncthreads();
    if (of_head >= 0) {
        clear(sum, SHAPE::C);
#pragma unroll 4
        for (int back = g - last_that_began(memory->began, g - 1); back > 0; back--)
            add_kept<SHAPE>(sum, memory->tail, back * m.lanes);
        add_kept<SHAPE>(sum, memory->head, 0);
        put_columns<SIMPLE>(m, place.at, first + of_head, sum, alpha, beta);
    }
    clear(sum, SHAPE::C);
    for (int row = g < place.groups ? g : rows; row < rows; row += place.groups)
        if (memory->begin[row] == memory->begin[row + 1])
            put_columns<SIMPLE>(m, place.at, first + row, sum, alpha, beta);
}

/* The same where no row is far longer than the others: a row a group. Groups of a warp put theirs at the same time. */
template <bool SIMPLE, typename SHAPE, typename V>
static __device__ __forceinline__ void run_even_rows(const panel_memory<SHAPE, V> *memory, int rows, int64_t first,
                                                     const int32_t *columns, const V *values, const many_columns<V> &m,
                                                     V alpha, V beta)
{
    const panel_place<SHAPE, V> place(m);
    if (place.group >= place.groups) return;
#pragma unroll 1
    for (int row = place.group; row < rows; row += place.groups) {
        column_piece<SHAPE::W, V> sum[SHAPE::C];
        clear(sum, SHAPE::C);
        walk<SHAPE>(sum, columns, values, memory->begin[row], memory->begin[row + 1], m, place.at, [](int) {});
        put_columns<SIMPLE>(m, place.at, first + row, sum, alpha, beta);
    }
}

/* ---- a piece of a long row ------------------------------------------------------------------------------- */

/* The last piece of a row that comes has its sums added up and put, a column a warp. */
template <typename V> static __device__ __forceinline__ void
meet_pieces(const piece &mine, const V *partial, unsigned *arrived, const many_columns<V> &m, V alpha, V beta)
{
    __shared__ int is_last;
    const int t = threadIdx.x;
    __threadfence(); /* the sums are seen before the arrival is */
    __syncthreads();
    if (t == 0) {
        is_last = atomicAdd(arrived, 1u) == (unsigned)mine.parts - 1;
        if (is_last) *arrived = 0;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int c = t / 32; c < m.count; c += THREADS / 32) {
        V own = 0;
#pragma unroll 4
        for (int p = t % 32; p < mine.parts; p += 32) own += __ldcg(partial + (int64_t)p * PANEL_COLUMNS + c);
        own = lanes_sum(own, 32);
        if (t % 32 == 0) put(m.y + c * m.y_apart, mine.row * m.y_row, own, alpha, beta);
    }
}

/* All entries of a piece, which meet in the first group. */
template <typename SHAPE, typename S, typename V, typename J>
static __device__ __forceinline__ void run_piece(const merge_splits &s, int64_t p, const J *__restrict__ Aj,
                                                 const S *__restrict__ Ax, const many_columns<V> &m, V alpha, V beta,
                                                 V *partial, unsigned *arrived, panel_memory<SHAPE, V> *memory,
                                                 int32_t *columns, V *values, int room)
{
    const piece mine = s.pieces[p];
    const panel_place<SHAPE, V> place(m);
    const int g = place.group, few = min(place.groups, 16);
    column_piece<SHAPE::W, V> sum[SHAPE::C];
    clear(sum, SHAPE::C);
    for (int at = 0; at < mine.count; at += room) {
        const int count = min(mine.count - at, room), share = (count + place.groups - 1) / place.groups;
        __syncthreads(); /* the entries before are done with */
        stage(columns, values, Aj + mine.begin + at, Ax ? Ax + mine.begin + at : Ax, count);
        __syncthreads();
        if (g < place.groups)
            walk<SHAPE>(sum, columns, values, min(g * share, count), min((g + 1) * share, count), m, place.at,
                        [](int) {});
    }
    if (g < place.groups) keep<SHAPE>(memory->tail, sum);
    __syncthreads();
    if (g < few) {
        for (int other = g + few; other < place.groups; other += few)
            add_kept<SHAPE>(sum, memory->tail, (g - other) * m.lanes);
        keep<SHAPE>(memory->head, sum);
    }
    __syncthreads();
    if (g == 0) {
        for (int other = 1; other < few; other++) add_kept<SHAPE>(sum, memory->head, -other * m.lanes);
        if (mine.parts == 1)
            put_columns<false>(m, place.at, mine.row, sum, alpha, beta);
        else
#pragma unroll
            for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
                for (int w = 0; w < SHAPE::W; w++)
                    if (place.at.has(m, c))
                        partial[p * PANEL_COLUMNS + place.at.first + c * place.at.step + w] = sum[c].of[w];
    }
    if (mine.parts > 1)
        meet_pieces(mine, partial + (p - mine.part) * PANEL_COLUMNS, arrived + mine.index, m, alpha, beta);
}

/* ---- the product ---------------------------------------------------------------------------------------- */

/* SIMPLE: beta is 0 and alpha is not. */
template <bool SIMPLE, typename SHAPE, typename S, typename V, typename P, typename J>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    csr_panel(const __grid_constant__ merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj,
              const S *__restrict__ Ax, const __grid_constant__ many_columns<V> m, scalar<V> alpha_given,
              scalar<V> beta_given, V *partial, unsigned *arrived, int room)
{
    extern __shared__ __align__(16) char entries[];
    __shared__ panel_memory<SHAPE, V> memory;
    V *values = (V *)entries;
    int32_t *columns = (int32_t *)(values + room);
    uint16_t *owner = (uint16_t *)(columns + room); /* of the last entry of each row, the row */
    const V alpha = SIMPLE ? alpha_given.value : alpha_given.get(), beta = SIMPLE ? V(0) : beta_given.get();
    if ((int64_t)blockIdx.x < s.piece_count) { /* the long rows first: they last longest */
        run_piece<SHAPE>(s, blockIdx.x, Aj, Ax, m, alpha, beta, partial, arrived, &memory, columns, values, room);
        return;
    }
    const tile_rows *tile = s.tiles + ((int64_t)blockIdx.x - s.piece_count);
    const tile_rows mine = *tile;
    panel_rows own = {mine.first, min(mine.rows, (int)ROWS), mine.rows > ROWS};
    if (own.count == 0) return;
    begin_rows<SHAPE>(&memory, Ap, own, mine.base);
    stage(columns, values, Aj + mine.base, Ax ? Ax + mine.base : Ax, mine.count);
#pragma unroll 1
    for (;;) {
        __syncthreads();
        if (sizeof(V) == 8) own = memory.own;
        if (__syncthreads_or(end_rows<SHAPE>(&memory, own.count, columns, owner, m.lanes)))
            run_rows<SIMPLE, SHAPE>(&memory, own.count, own.first, columns, values, owner, m, alpha, beta);
        else
            run_even_rows<SIMPLE, SHAPE>(&memory, own.count, own.first, columns, values, m, alpha, beta);
        if (sizeof(V) == 8) own = memory.own;
        if (!own.more) return;
        __syncthreads(); /* the rows before are done with */
        const tile_rows all = load_again(tile);
        own.first += ROWS;
        const int left = all.rows - (int)(own.first - all.first);
        own.count = min(left, (int)ROWS);
        own.more = left > ROWS;
        begin_rows<SHAPE>(&memory, Ap, own, all.base);
    }
}

/* ---- launches -------------------------------------------------------------------------------------------- */

template <bool SIMPLE, typename SHAPE, typename S, typename V, typename P, typename J>
static spry_status launch_panel(const spryi_run_args *args, const many_columns<V> &m, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    const int room = room_for<V>(s);
    const size_t bytes = (size_t)room * (sizeof(V) + sizeof(int32_t) + sizeof(uint16_t));
    const auto kernel = csr_panel<SIMPLE, SHAPE, S, V, P, J>;
    cudaError_t code = cudaSuccess;
    if (bytes + sizeof(panel_memory<SHAPE, V>) > 48 << 10) code = allow_shared_memory(kernel, (int)bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "csr_merge_cuda: several columns");
    kernel<<<(unsigned)(s->blocks + s->piece_count), THREADS, bytes, stream_of(args)>>>(*s, (const P *)a->offsets,
                                                                                        (const J *)a->indices,
                                                                                        a->nnz > 0
                                                                                            ? (const S *)a->values
                                                                                            : (const S *)NULL,
                                                                                        m, SPRY_ALPHA(V, args),
                                                                                        SPRY_BETA(V, args),
                                                                                        (V *)args->workspace,
                                                                                        arrivals_of(s, args->workspace),
                                                                                        room);
    return launched(err, "csr_merge_cuda: several columns");
}

/* Columns in panels of about the same width, a multiple of W. */
template <typename SHAPE, typename S, typename V, typename P, typename J>
static spry_status run_panels(const spryi_run_args *args, spry_error *err)
{
    const int64_t panels = ceil_div(args->columns, PANEL_COLUMNS);
    const int64_t width = ceil_div(ceil_div(args->columns, panels), SHAPE::W) * SHAPE::W;
    const bool simple = !args->scalars_on_device && *(const V *)args->alpha != 0 && *(const V *)args->beta == 0;
    for (int64_t c = 0; c < args->columns; c += width) {
        many_columns<V> m = columns_of<V>(args);
        m.x += c;
        m.y += c;
        m.count = (int)(args->columns - c < width ? args->columns - c : width);
        m.lanes = (int)ceil_div(m.count, SHAPE::W * SHAPE::C);
        m.sets = 1;
        spry_status status;
        if constexpr (sizeof(S) == sizeof(V)) /* less code for values that are narrower than vectors */
            status = simple ? launch_panel<true, SHAPE, S, V, P, J>(args, m, err)
                            : launch_panel<false, SHAPE, S, V, P, J>(args, m, err);
        else
            status = launch_panel<false, SHAPE, S, V, P, J>(args, m, err);
        if (status != SPRY_OK) return status;
    }
    return SPRY_OK;
}

/* Pieces of 16 bytes where all rows can be cut into such, two a lane where there are many. Measured on an H200. */
template <typename S, typename V, typename P, typename J>
spry_status spry_cuda_csr_panel(const spryi_run_args *args, spry_error *err)
{
    constexpr int WIDE = 16 / (int)sizeof(V);
    constexpr bool NARROW = sizeof(S) < sizeof(V);
    if (columns_fit(args, WIDE, sizeof(V))) {
        if constexpr (!NARROW)
            if (args->columns >= 8 * WIDE) return run_panels<column_shape<true, WIDE, 2>, S, V, P, J>(args, err);
        return run_panels<column_shape<true, WIDE, 1>, S, V, P, J>(args, err);
    }
    if constexpr (!NARROW && WIDE > 2)
        if (columns_fit(args, 2, sizeof(V))) return run_panels<column_shape<true, 2, 1>, S, V, P, J>(args, err);
    return run_panels<column_shape<true, 1, 2>, S, V, P, J>(args, err);
}

#define INSTANCES(tag, s, v, c, argument)                                                                              \
    template spry_status spry_cuda_csr_panel<spryi_##s, spryi_##v, int32_t, int32_t>(const spryi_run_args *args,       \
                                                                                     spry_error *err);                 \
    template spry_status spry_cuda_csr_panel<spryi_##s, spryi_##v, int64_t, int32_t>(const spryi_run_args *args,       \
                                                                                     spry_error *err);
SPRYI_PLAIN_ROWS(INSTANCES, 0)
SPRYI_MIXED_ROWS(INSTANCES, 0)
