/*
 * csr_panel, the kernel of csr_merge_cuda for multiple row-major vectors.
 *
 * Idea: a block has the rows of a tile, as with one vector, and copies the entries of up to ROWS rows at a time to
 *       shared memory, in whole sectors. Then it divides these entries into segments of equal length, regardless of
 *       rows; the last segments may be shorter or empty. A group of lanes multiplies a segment; each lane has some of
 *       the vectors (columns.cuh), so that the lanes read a row of x in pieces of 16 bytes.
 *
 *           entries    a a a b b | b b b b b | b c c d d        three segments, four rows
 *                      put a      tail b      head b, put c, d
 *                      tail b
 *
 *       A row that begins and ends in a segment is written to y directly. The sums of other rows are the segment's head
 *       and tail, in shared memory. When all segments are complete, the group whose segment has a row's end adds up the
 *       row's parts in order. If the rows of a tile have similar lengths and are many enough, each group multiplies
 *       whole rows instead of a segment, and the groups of a warp finish their rows at the same time. Each piece of a
 *       long row has a block of its own; the block that finishes last adds up the row's sums in order.
 * Work: one block per tile and per piece, for up to PANEL_COLUMNS vectors; more vectors take more launches.
 * Cost: bytes of CSR once per launch. X and Y once, if the caches hold the rows of X that nearby rows read.
 *       Deterministic. The order of a row's additions depends on the matrix and on the number, alignment and strides of
 *       the vectors, not on their values; the bits differ from those of a product with one vector.
 * Source: columns over lanes, equal segments: Yang, Buluc, Owens, Design Principles for Sparse Matrix Multiplication on
 *         the GPU, 2018; entries through shared memory: Greathouse and Daga 2014; this library.
 */
#include "device/cuda/columns.cuh"
#include "formats/csr/csr_merge.cuh"

enum {
    STAGED = 5,  /* entries that a thread loads together */
    ROWS = 1024, /* rows of a tile that are multiplied together */
    EVEN = 6,    /* a row of at most 1.5 times the mean length plus EVEN entries counts as of similar length */
    SPARE = 8,   /* entries with column 0 and value 0 after the last entry, which the last batch of a segment reads */
};

/*
 * Size of a thread block and of its loads. flight: number of entries for which a lane loads the rows of x together.
 * With f32, smaller blocks leave registers for more entries in flight, so products are 1.1 to 1.2 times as fast on
 * average. With f64, blocks of 128 threads are faster only for 2 vectors, and slower for 16 and 32. Measured on an
 * H200.
 */
template <typename V, int W, int C> struct panel_shape : column_shape<true, W, C> {
    static const bool is_double = sizeof(V) == 8;
    static const int threads = is_double ? 256 : 128;
    static const int blocks = !is_double ? 6 : W * C > 2 ? 3 : 4; /* minimum number of blocks per multiprocessor */
    static const int flight = !is_double && C == 1 ? 8 : 4;
};

/* Returns a / b, for 0 <= a < 2^20 and 0 < b < 2^20. A division of integers takes five times the instructions. */
static __device__ __forceinline__ int quotient(int a, int b)
{
    return (int)__fdividef((float)a + 0.5f, (float)b);
}

/* Returns the number of entries that a block has shared memory for, in addition to SPARE. */
template <typename V> static inline int room_for(const merge_splits *s)
{
    return shape<V>::tile + (s->kind == FEW ? cut<FEW>::longest : cut<MANY>::longest);
}

/* This bit is set in the column of a row's last entry. */
static const int32_t ENDS_ROW = INT32_MIN;

/* Rows of a tile that are multiplied together. more: 1 if the tile has rows after them. */
typedef struct panel_rows {
    int64_t first;
    int count, more;
} panel_rows;

/* Shared memory of a block, in addition to its entries. */
template <typename SHAPE, typename V> struct panel_memory {
    column_piece<SHAPE::W, V> head[SHAPE::C][SHAPE::threads], tail[SHAPE::C][SHAPE::threads]; /* of each thread */
    unsigned began[SHAPE::threads / 32]; /* bit g: the row of group g's tail begins in the group's segment */
    uint16_t begin[ROWS + 1];
    panel_rows own; /* used for f64, which leaves no registers for these values */
};

/*
 * Copies entries 0 .. count - 1 of Aj and Ax (NULL: ones) to shared memory, and writes SPARE entries after them. All
 * threads of the block call this function.
 */
template <int THREADS, typename S, typename V, typename J> static __device__ __forceinline__ void
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
            if (k + u * THREADS < count) a[u] = Ax ? element_at<V>(Ax + k + u * THREADS) : V(1);
#pragma unroll
        for (int u = 0; u < STAGED; u++)
            if (k + u * THREADS < count) {
                columns[k + u * THREADS] = j[u];
                values[k + u * THREADS] = a[u];
            }
    }
    if (threadIdx.x < SPARE) {
        columns[count + threadIdx.x] = 0;
        values[count + threadIdx.x] = 0;
    }
}

/* Position of a thread in its block: its group, and the vectors of its lane. */
template <typename SHAPE, typename V> struct panel_place {
    int groups, group; /* threads that are in no group have group >= groups */
    column_place<SHAPE, V> at;
    V *y; /* the thread's first column of row `first` */
    uint32_t y_row_bytes;
    __device__ __forceinline__ panel_place(const many_columns<V> &m, int64_t first)
        : groups(quotient(SHAPE::threads, m.lanes)), group(quotient(threadIdx.x, m.lanes)),
          at(m, 0, threadIdx.x - group * m.lanes), y(m.y + first * m.y_row + at.first),
          y_row_bytes(m.y_row * (uint32_t)sizeof(V))
    {
    }
    /* Stores the thread's columns of row first + row of y. */
    template <bool SIMPLE> __device__ __forceinline__ void
    put(const many_columns<V> &m, uint32_t row, const column_piece<SHAPE::W, V> *sum, V alpha, V beta) const
    {
        put_columns_at<SIMPLE>((V *)((char *)y + (uint64_t)row * y_row_bytes), m, at, sum, alpha, beta);
    }
};

template <int N, typename V> static __device__ __forceinline__ void clear(column_piece<N, V> *sum, int count)
{
#pragma unroll
    for (int c = 0; c < count; c++)
#pragma unroll
        for (int w = 0; w < N; w++) sum[c].of[w] = 0;
}

/* Clears `sum` in place. Without `asm`, compilers keep zeros in other registers and copy sums after every entry. */
template <int N, int C> static __device__ __forceinline__ void clear_here(column_piece<N, float> (&sum)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int w = 0; w < N; w++) asm volatile("mov.f32 %0, 0f00000000;" : "=f"(sum[c].of[w]));
}
template <int N, int C> static __device__ __forceinline__ void clear_here(column_piece<N, double> (&sum)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int w = 0; w < N; w++) asm volatile("mov.f64 %0, 0d0000000000000000;" : "=d"(sum[c].of[w]));
}

/*
 * keep stores a thread's sums in shared memory. add_kept adds the sums that the thread `threads_before` positions
 * earlier has stored.
 */
template <typename SHAPE, typename V> static __device__ __forceinline__ void
keep(column_piece<SHAPE::W, V> (*kept)[SHAPE::threads], const column_piece<SHAPE::W, V> (&sum)[SHAPE::C])
{
#pragma unroll
    for (int c = 0; c < SHAPE::C; c++) kept[c][threadIdx.x] = sum[c];
}
template <typename SHAPE, typename V>
static __device__ __forceinline__ void add_kept(column_piece<SHAPE::W, V> (&sum)[SHAPE::C],
                                                const column_piece<SHAPE::W, V> (*kept)[SHAPE::threads],
                                                int threads_before)
{
#pragma unroll
    for (int c = 0; c < SHAPE::C; c++) {
        const column_piece<SHAPE::W, V> other = kept[c][threadIdx.x - threads_before];
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) sum[c].of[w] += other.of[w];
    }
}

/* Adds the product of a value of A and a row of x. */
template <int N, int C, typename V> static __device__ __forceinline__ void
add_product(column_piece<N, V> (&sum)[C], V a, const column_piece<N, V> (&x)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int w = 0; w < N; w++) sum[c].of[w] += a * x[c].of[w];
}

/* Loads N numbers from shared memory. `from` is aligned to 16 bytes. */
template <int N, typename T> static __device__ __forceinline__ void load_aligned(T (&to)[N], const T *from)
{
    constexpr int M = N * sizeof(T) > 16 ? 16 / sizeof(T) : N;
#pragma unroll
    for (int u = 0; u < N; u += M) {
        const column_piece<M, T> piece = *(const column_piece<M, T> *)(from + u);
#pragma unroll
        for (int v = 0; v < M; v++) to[u + v] = piece.of[v];
    }
}

/*
 * Adds the products of `flight` entries and x to `sum`, from entry k on, a multiple of `flight`. The rows of x are
 * loaded together, even if the entries are in different rows of A. Calls ended(k) after an entry k that ends a row.
 */
template <typename SHAPE, typename V, typename ENDED> static __device__ __forceinline__ void
add_batch(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const int32_t *columns, const V *values, int k,
          const many_columns<V> &m, const column_place<SHAPE, V> &place, ENDED ended)
{
    constexpr int N = SHAPE::flight;
    int32_t j[N];
    V a[N];
    column_piece<SHAPE::W, V> x[N][SHAPE::C];
    load_aligned(j, columns + k);
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int c = 0; c < SHAPE::C; c++) x[u][c] = place.load(m, c, j[u] & ~ENDS_ROW);
    load_aligned(a, values + k);
#pragma unroll
    for (int u = 0; u < N; u++) {
        add_product(sum, a[u], x[u]);
        if (j[u] & ENDS_ROW) ended(k + u);
    }
}

/*
 * Adds the products of entries k .. k + count - 1 and x to `sum`. ALL: count is `flight`. Otherwise the last entry is
 * loaded again instead of entries after it, so that no load waits for a branch.
 */
template <bool ALL, typename SHAPE, typename V>
static __device__ __forceinline__ void add_entries(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const int32_t *columns,
                                                   const V *values, int k, int count, const many_columns<V> &m,
                                                   const column_place<SHAPE, V> &place)
{
    constexpr int N = SHAPE::flight;
    V a[N];
    column_piece<SHAPE::W, V> x[N][SHAPE::C];
#pragma unroll
    for (int u = 0; u < N; u++) {
        const int at = k + (ALL ? u : min(u, count - 1));
        a[u] = values[at];
#pragma unroll
        for (int c = 0; c < SHAPE::C; c++) x[u][c] = place.load(m, c, columns[at] & ~ENDS_ROW);
    }
#pragma unroll
    for (int u = 0; u < N; u++)
        if (ALL || u < count) add_product(sum, a[u], x[u]);
}

/* Adds the products of entries begin .. end - 1 and x to `sum`. */
template <typename SHAPE, typename V>
static __device__ __forceinline__ void walk(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const int32_t *columns,
                                            const V *values, int begin, int end, const many_columns<V> &m,
                                            const column_place<SHAPE, V> &place)
{
    constexpr int N = SHAPE::flight;
    int k = begin;
#pragma unroll 1
    for (; k + N <= end; k += N) add_entries<true, SHAPE>(sum, columns, values, k, N, m, place);
    if (k < end) add_entries<false, SHAPE>(sum, columns, values, k, end - k, m, place);
}

/* Returns the last group up to g whose bit is set. The bit of group 0 is always set. */
static __device__ __forceinline__ int last_that_began(const unsigned *began, int g)
{
    int word = g / 32;
    unsigned bits = began[word] & 0xffffffffu >> (31 - g % 32);
    while (bits == 0) bits = began[--word];
    return word * 32 + 31 - __clz(bits);
}

/* ---- rows of a tile ------------------------------------------------------------------------------------ */

/* Sets memory->begin to the rows' first entries, relative to `base`. */
template <typename SHAPE, typename V, typename P> static __device__ __forceinline__ void
begin_rows(panel_memory<SHAPE, V> *memory, const P *__restrict__ Ap, const panel_rows &own, int64_t base)
{
    Ap += own.first;
    if (threadIdx.x == 0) memory->own = own;
    for (int i = threadIdx.x; i <= own.count; i += SHAPE::threads) memory->begin[i] = (uint16_t)(Ap[i] - base);
    if (threadIdx.x < SHAPE::threads / 32) memory->began[threadIdx.x] = 0;
}

/* Loads a tile again for its rows beyond ROWS, so that until then the tile occupies no registers. */
static __device__ __forceinline__ tile_rows load_again(const tile_rows *tile)
{
    tile_rows t = {};
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(t.first) : "l"(&tile->first));
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(t.base) : "l"(&tile->base));
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(t.rows) : "l"(&tile->rows));
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(t.count) : "l"(&tile->count));
    return t;
}

/*
 * Returns true if groups may multiply whole rows without much imbalance. If one pass multiplies all rows, at least two
 * fifths of the groups must have a row. Otherwise the groups must have rows in at least three fifths of their passes,
 * or `mean` must be less than 12. Groups of 8 or more lanes also need a mean of at least 3 entries per row, to hide
 * latency. Measured on an H200.
 */
static __device__ __forceinline__ bool rows_fill_groups(int groups, int rows, int mean, int lanes)
{
    const int passes = quotient(rows + groups - 1, groups);
    const bool busy = passes == 1 ? 5 * rows >= 2 * groups : 5 * rows >= 3 * passes * groups || mean < 12;
    return busy && (mean >= 3 || lanes < 8);
}

/*
 * Marks the last entries of the rows. Returns 1 if segments are better than whole rows: a row is far longer than the
 * others, or rows_fill_groups is false.
 */
template <typename SHAPE, typename V> static __device__ __forceinline__ int
end_rows(const panel_memory<SHAPE, V> *memory, int rows, int32_t *columns, uint16_t *owner, int lanes)
{
    const int mean = quotient(memory->begin[rows], rows), most = mean + mean / 2 + EVEN;
    int uneven = !rows_fill_groups(quotient(SHAPE::threads, lanes), rows, mean, lanes);
    for (int i = threadIdx.x; i < rows; i += SHAPE::threads) {
        const int length = memory->begin[i + 1] - memory->begin[i], last = memory->begin[i + 1] - 1;
        uneven |= length > most;
        if (length == 0) continue;
        columns[last] |= ENDS_ROW;
        owner[last] = (uint16_t)i;
    }
    return uneven;
}

/*
 * Computes y of `rows` <= ROWS rows from `first` on, by segments. Their entries are in shared memory. Indices of
 * columns and values are relative to the first entry of row `first`, as in memory->begin.
 */
template <bool SIMPLE, typename SHAPE, typename V>
static __device__ __forceinline__ void run_rows(panel_memory<SHAPE, V> *memory, int rows, int64_t first,
                                                const int32_t *columns, const V *values, const uint16_t *owner,
                                                const many_columns<V> &m, V alpha, V beta)
{
    constexpr int N = SHAPE::flight;
    const panel_place<SHAPE, V> place(m, first);
    const int g = place.group, all = memory->begin[rows];
    const int batches = quotient(all + place.groups * N - 1, place.groups * N);
    const int share = (batches < 4 ? batches : batches | 1) * N; /* odd: neighbouring groups read different banks */
    const int begin = min(g * share, all), end = min(begin + share, all);
    column_piece<SHAPE::W, V> sum[SHAPE::C];
    int of_head = -1; /* row that ends in this segment and began before it; -1: none */
    if (g < place.groups && begin < end) {
        bool began = begin == 0 || (columns[begin - 1] & ENDS_ROW);
        clear(sum, SHAPE::C);
        const auto ended = [&](int k) {
            if (began) {
                place.template put<SIMPLE>(m, owner[k], sum, alpha, beta);
            } else {
                keep<SHAPE>(memory->head, sum);
                of_head = owner[k];
            }
            began = true;
            clear_here(sum);
        };
        /* SPARE entries, after the last row's end, are added to a sum that is not used. */
#pragma unroll 1
        for (int k = begin; k < end; k += N) add_batch<SHAPE>(sum, columns, values, k, m, place.at, ended);
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
        place.template put<SIMPLE>(m, of_head, sum, alpha, beta);
    }
    clear(sum, SHAPE::C);
    for (int row = g < place.groups ? g : rows; row < rows; row += place.groups)
        if (memory->begin[row] == memory->begin[row + 1])
            place.template put<SIMPLE>(m, row, sum, alpha, beta);
}

/* Computes y of rows of similar lengths, one group per row. The groups of a warp write y at the same time. */
template <bool SIMPLE, typename SHAPE, typename V>
static __device__ __forceinline__ void run_even_rows(const panel_memory<SHAPE, V> *memory, int rows, int64_t first,
                                                     const int32_t *columns, const V *values, const many_columns<V> &m,
                                                     V alpha, V beta)
{
    const panel_place<SHAPE, V> place(m, first);
    if (place.group >= place.groups) return;
#pragma unroll 1
    for (int row = place.group; row < rows; row += place.groups) {
        column_piece<SHAPE::W, V> sum[SHAPE::C];
        clear(sum, SHAPE::C);
        walk<SHAPE>(sum, columns, values, memory->begin[row], memory->begin[row + 1], m, place.at);
        place.template put<SIMPLE>(m, row, sum, alpha, beta);
    }
}

/* ---- a piece of a long row ------------------------------------------------------------------------------- */

/*
 * Counts the pieces of a row that have arrived. The block of the last one adds up the row's sums and writes y, one warp
 * per vector.
 */
template <typename V> static __device__ __forceinline__ void
meet_pieces(const piece &mine, const V *partial, unsigned *arrived, const many_columns<V> &m, V alpha, V beta)
{
    __shared__ int is_last;
    const int t = threadIdx.x;
    __threadfence(); /* makes the sums visible before the arrival */
    __syncthreads();
    if (t == 0) {
        is_last = atomicAdd(arrived, 1u) == (unsigned)mine.parts - 1;
        if (is_last) *arrived = 0;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int c = t / 32; c < m.count; c += (int)blockDim.x / 32) {
        V own = 0;
#pragma unroll 4
        for (int p = t % 32; p < mine.parts; p += 32) own += __ldcg(partial + (int64_t)p * PANEL_COLUMNS + c);
        own = lanes_sum(own, 32);
        if (t % 32 == 0) put(m.y + c * m.y_column_stride, mine.row * m.y_row, own, alpha, beta);
    }
}

/* Multiplies all entries of a piece. The sums of all groups are added up in the first group. */
template <typename SHAPE, typename S, typename V, typename J>
static __device__ __forceinline__ void run_piece(const merge_splits &s, int64_t p, const J *__restrict__ Aj,
                                                 const S *__restrict__ Ax, const many_columns<V> &m, V alpha, V beta,
                                                 V *partial, unsigned *arrived, panel_memory<SHAPE, V> *memory,
                                                 int32_t *columns, V *values, int room)
{
    const piece mine = s.pieces[p];
    const panel_place<SHAPE, V> place(m, mine.row);
    const int g = place.group, few = min(place.groups, 16);
    column_piece<SHAPE::W, V> sum[SHAPE::C];
    clear(sum, SHAPE::C);
    for (int at = 0; at < mine.count; at += room) {
        const int count = min(mine.count - at, room), share = (count + place.groups - 1) / place.groups;
        __syncthreads(); /* the previous entries are no longer needed */
        stage<SHAPE::threads>(columns, values, Aj + mine.begin + at, Ax ? Ax + mine.begin + at : Ax, count);
        __syncthreads();
        if (g < place.groups)
            walk<SHAPE>(sum, columns, values, min(g * share, count), min((g + 1) * share, count), m, place.at);
    }
    if (g < place.groups) keep<SHAPE>(memory->tail, sum);
    __syncthreads();
    if (g < few) {
        for (int source = g + few; source < place.groups; source += few)
            add_kept<SHAPE>(sum, memory->tail, (g - source) * m.lanes);
        keep<SHAPE>(memory->head, sum);
    }
    __syncthreads();
    if (g == 0) {
        for (int source = 1; source < few; source++) add_kept<SHAPE>(sum, memory->head, -source * m.lanes);
        if (mine.parts == 1)
            place.template put<false>(m, 0, sum, alpha, beta);
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

/* SIMPLE: beta is 0 and alpha is not 0. */
template <bool SIMPLE, typename SHAPE, typename S, typename V, typename P, typename J>
static __global__ void __launch_bounds__(SHAPE::threads, SHAPE::blocks)
    csr_panel(const __grid_constant__ merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj,
              const S *__restrict__ Ax, const __grid_constant__ many_columns<V> m, scalar<V> alpha_given,
              scalar<V> beta_given, V *partial, unsigned *arrived, int room)
{
    extern __shared__ __align__(16) char entries[];
    __shared__ panel_memory<SHAPE, V> memory;
    V *values = (V *)entries;
    int32_t *columns = (int32_t *)(values + room + SPARE);
    uint16_t *owner = (uint16_t *)(columns + room + SPARE); /* row index, at the last entry of each row */
    const V alpha = SIMPLE ? alpha_given.value : alpha_given.get(), beta = SIMPLE ? V(0) : beta_given.get();
    if ((int64_t)blockIdx.x < s.piece_count) { /* the long rows first: they last longest */
        run_piece<SHAPE>(s, blockIdx.x, Aj, Ax, m, alpha, beta, partial, arrived, &memory, columns, values, room);
        return;
    }
    const tile_rows *tile = s.tiles + ((int64_t)blockIdx.x - s.piece_count);
    const tile_rows mine = *tile;
    panel_rows own = {mine.first, min(mine.rows, (int)ROWS), mine.rows > ROWS};
    if (own.count == 0) return;
    int64_t base = mine.base;
    int count = mine.count;
#pragma unroll 1
    for (;;) {
        if (own.more) count = (int)(Ap[own.first + own.count] - base);
        begin_rows<SHAPE>(&memory, Ap, own, base);
        stage<SHAPE::threads>(columns, values, Aj + base, Ax ? Ax + base : Ax, count);
        __syncthreads();
        if (SHAPE::is_double) own = memory.own;
        if (__syncthreads_or(end_rows<SHAPE>(&memory, own.count, columns, owner, m.lanes)))
            run_rows<SIMPLE, SHAPE>(&memory, own.count, own.first, columns, values, owner, m, alpha, beta);
        else
            run_even_rows<SIMPLE, SHAPE>(&memory, own.count, own.first, columns, values, m, alpha, beta);
        if (SHAPE::is_double) own = memory.own;
        if (!own.more) return;
        __syncthreads(); /* the previous rows are no longer needed */
        const tile_rows all = load_again(tile);
        own.first += ROWS;
        const int left = all.rows - (int)(own.first - all.first);
        own.count = min(left, (int)ROWS);
        own.more = left > ROWS;
        base = Ap[own.first];
        count = (int)(all.base + all.count - base);
    }
}

/* ---- launches -------------------------------------------------------------------------------------------- */

template <bool SIMPLE, typename SHAPE, typename S, typename V, typename P, typename J>
static spry_status launch_panel(const spryi_run_args *args, const many_columns<V> &m, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    const int room = room_for<V>(s);
    static_assert((shape<V>::tile + cut<FEW>::longest + SPARE) * sizeof(V) % 16 == 0 &&
                      (shape<V>::tile + cut<MANY>::longest + SPARE) * sizeof(V) % 16 == 0,
                  "columns are aligned to 16 bytes");
    static_assert(SHAPE::flight <= SPARE, "a batch ends in the spare entries");
    const size_t bytes = (size_t)(room + SPARE) * (sizeof(V) + sizeof(int32_t) + sizeof(uint16_t));
    const auto kernel = csr_panel<SIMPLE, SHAPE, S, V, P, J>;
    cudaError_t code = cudaSuccess;
    if (bytes + sizeof(panel_memory<SHAPE, V>) > 48 << 10) code = allow_shared_memory(kernel, (int)bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "csr_merge_cuda: multiple vectors");
    kernel<<<(unsigned)(s->blocks + s->piece_count), SHAPE::threads, bytes, stream_of(args)>>>(
        *s, (const P *)a->offsets, (const J *)a->indices, a->nnz > 0 ? (const S *)a->values : (const S *)NULL, m,
        SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace, arrivals_of(s, args->workspace), room);
    return launched(err, "csr_merge_cuda: multiple vectors");
}

/* Multiplies the vectors in panels, one per launch. Panels have about equal numbers of vectors, a multiple of W. */
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
        if constexpr (sizeof(S) == sizeof(V)) /* mixed types use the general kernel, to limit code size */
            status = simple ? launch_panel<true, SHAPE, S, V, P, J>(args, m, err)
                            : launch_panel<false, SHAPE, S, V, P, J>(args, m, err);
        else
            status = launch_panel<false, SHAPE, S, V, P, J>(args, m, err);
        if (status != SPRY_OK) return status;
    }
    return SPRY_OK;
}

/*
 * Chooses the width of pieces of x: 16 bytes if the alignment of the rows of x allows it. With f64 and at least 32
 * vectors, a lane has two pieces, which are 1.05 times as fast as one. For fewer vectors or f32, two are slower.
 * Measured on an H200.
 */
template <typename S, typename V, typename P, typename J>
spry_status spry_cuda_csr_panel(const spryi_run_args *args, spry_error *err)
{
    constexpr int WIDE = 16 / (int)sizeof(V);
    constexpr bool NARROW = sizeof(S) < sizeof(V);
    if (columns_fit(args, WIDE, sizeof(V))) {
        if constexpr (!NARROW && sizeof(V) == 8)
            if (args->columns >= 32) return run_panels<panel_shape<V, WIDE, 2>, S, V, P, J>(args, err);
        return run_panels<panel_shape<V, WIDE, 1>, S, V, P, J>(args, err);
    }
    if constexpr (!NARROW && WIDE > 2)
        if (columns_fit(args, 2, sizeof(V))) return run_panels<panel_shape<V, 2, 1>, S, V, P, J>(args, err);
    return run_panels<panel_shape<V, 1, 2>, S, V, P, J>(args, err);
}

#define INSTANCES(tag, s, v, c, argument)                                                                              \
    template spry_status spry_cuda_csr_panel<spryi_##s, spryi_##v, int32_t, int32_t>(const spryi_run_args *args,       \
                                                                                     spry_error *err);                 \
    template spry_status spry_cuda_csr_panel<spryi_##s, spryi_##v, int64_t, int32_t>(const spryi_run_args *args,       \
                                                                                     spry_error *err);
SPRYI_PLAIN_ROWS(INSTANCES, 0)
SPRYI_MIXED_ROWS(INSTANCES, 0)
