/*
 * coo_segmented_cuda: COO by segmented sums, without atomics on y.
 *
 * Idea: a block of threads loads about `tile` consecutive entries and writes their products and rows to shared memory.
 *       Each thread adds up ITEMS consecutive products and writes y of rows that begin and end among them. The sums of
 *       its first and last row go through a segmented scan over the block's threads. A block whose entries are all in
 *       one row only adds up their products, and reads no row indices.
 * Work: if a row begins within `slack` entries after entry b * tile, block b begins at the first such row, and shares
 *       no row with the previous block. Otherwise block b begins at entry b * tile and cuts a row. The blocks with
 *       parts of a cut row form a chain: each block writes the sum of its part, and the block that finishes last adds
 *       up these sums in order. Rows without entries are found when the plan is built (one bit per row). Additional
 *       blocks write y of these rows, so that each y is written once.
 * Cost: bytes of COO, one write of y, 24 bytes per block, and one bit per row if there are empty rows. Deterministic
 *       for any row lengths.
 * Source: Bell and Garland 2008, 4.4 (segmented reduction of COO); Blelloch, Heroux and Zagha, Segmented operations
 *         for sparse matrix computation on vector multiprocessors, 1993; the chains: this library.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/coo/coo.h"
}
#include "formats/coo/coo_cuda.cuh"

#include <stdlib.h>

/*
 * Resident threads per multiprocessor. A multiprocessor has 65536 registers, so each thread has at least 40. Turing
 * supports at most 1024 threads.
 */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
enum { RESIDENT_F64 = 1024, RESIDENT_F32 = 1024 };
#else
/* f64 has fewer threads, because the shared memory of more threads would reduce the L1 cache for x */
enum { RESIDENT_F64 = 1280, RESIDENT_F32 = 1536 };
#endif

/*
 * Sizes of a block. A thread sums `items` consecutive entries. `items` is odd, so that the entries of different threads
 * are in different banks of shared memory.
 */
template <typename V> struct coo_shape {
    static const int threads = sizeof(V) == 8 ? 256 : 128;
    static const int items = 7;
    static const int room = threads * items; /* maximum entries of a block */
    static const int slack = threads / 2;
    static const int tile = room - slack;
    static const int resident = (sizeof(V) == 8 ? RESIDENT_F64 : RESIDENT_F32) /
                                threads; /* blocks per multiprocessor */
};

enum { EMPTY_ROWS = 16 }; /* rows that a thread of put_empty_rows inspects */

/*
 * Start of a block. begin is the block's first entry, or nnz after the last block. row and row_before are the rows of
 * entries begin and begin - 1, or -1 if the entry does not exist. cut: row equals row_before.
 */
typedef struct boundary {
    int64_t begin, row, row_before;
    int64_t cut;
} boundary;

/*
 * Chains of a block's first row (head) and last row (tail), and the indices of the block's sums of these rows in
 * `partial`. -1: the row has no chain.
 */
typedef struct __align__(16) links
{
    int32_t head_part, head_chain, tail_part, tail_chain;
}
links;

/* A row in multiple blocks. The blocks' sums of the row are partial[first .. first + parts - 1]. */
typedef struct chain {
    int64_t row, first, parts;
} chain;

/* Auxiliary data of a plan. Pointers are device addresses. */
typedef struct coo_splits {
    int64_t blocks, chain_count, part_count, empty_count;
    int64_t *place; /* blocks + 1 elements: twice the index of the first entry, plus 1 if the block has a single row */
    links *link;    /* `blocks` elements; NULL without chains */
    chain *chains;
    unsigned *with_entries; /* one bit per row: 1 if the row has entries; NULL if no row is empty */
    int64_t bytes;
} coo_splits;

/* ---- the product ----------------------------------------------------------------------------------- */

/*
 * Stores thread 0's `sum` as a part of a chain. In the last block of the chain to arrive, adds up the parts and writes
 * y. All threads of the block call this function.
 */
template <typename V> static __device__ void finish_chain(const coo_splits s, int part, int chain_index, V sum, V *y,
                                                          V alpha, V beta, V *partial, unsigned *arrived, V *scratch)
{
    const chain c = s.chains[chain_index];
    const int last = add_part<coo_shape<V>::threads>(&sum, part - c.first, c.parts, partial + c.first,
                                                     arrived + chain_index, scratch);
    if (last && threadIdx.x == 0) put(y, c.row, sum, alpha, beta);
}

/*
 * Inclusive segmented scan over a warp. A segment begins at lane 0 and at each lane with `starts` set. Each lane gets
 * the sum of the lanes of its segment up to itself.
 */
template <typename V> static __device__ __forceinline__ void scan_warp(V *sum, int *starts)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const V sum_before = __shfl_up_sync(0xffffffffu, *sum, step);
        const int starts_before = __shfl_up_sync(0xffffffffu, *starts, step);
        if (lane >= step) {
            if (!*starts) *sum += sum_before;
            *starts |= starts_before;
        }
    }
}

/*
 * Exclusive segmented scan over the block. A segment begins at thread 0 and at each thread with `starts` set. Returns
 * the sum of the preceding threads, from the start of the previous thread's segment on. sum_of_warp and warp_starts are
 * scratch arrays with one element per warp.
 */
template <int THREADS, typename V> static __device__ V scan_block(V sum, int starts, V *sum_of_warp, int *warp_starts)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    scan_warp(&sum, &starts);
    if (lane == 31) {
        sum_of_warp[warp] = sum;
        warp_starts[warp] = starts;
    }
    __syncthreads();
    V carry = 0;
#pragma unroll
    for (int w = 0; w < THREADS / 32 - 1; w++)
        if (w < warp) carry = warp_starts[w] ? sum_of_warp[w] : carry + sum_of_warp[w];
    const V before = __shfl_up_sync(0xffffffffu, sum, 1);
    const int starts_before = __shfl_up_sync(0xffffffffu, starts, 1);
    if (lane == 0) return carry;
    return starts_before ? before : carry + before;
}

/*
 * Loads columns and values of the thread's entries, which are THREADS apart. All loads are in flight together. Instead
 * of entries beyond the last of `count` entries, the last one is loaded again.
 */
template <typename V, typename J>
static __device__ __forceinline__ void load_entries(int count, const J *__restrict__ columns,
                                                    const V *__restrict__ values, int (&k)[coo_shape<V>::items],
                                                    J (&j)[coo_shape<V>::items], V (&a)[coo_shape<V>::items])
{
    constexpr int THREADS = coo_shape<V>::threads, ITEMS = coo_shape<V>::items;
#pragma unroll
    for (int u = 0; u < ITEMS; u++) k[u] = min((int)threadIdx.x + u * THREADS, count - 1);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) j[u] = load_once(columns + k[u]);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) a[u] = load_once(values + k[u]);
}

/*
 * Writes products and rows of `count` entries from `begin` on to shared memory. Threads beyond the last entry load that
 * entry again, and their products are not used. There is no branch, so that all loads are in flight together.
 */
template <typename V, typename J>
static __device__ __forceinline__ void multiply(int64_t begin, int count, const J *__restrict__ rows,
                                                const J *__restrict__ columns, const V *__restrict__ values,
                                                const V *__restrict__ x, V *products, J *row_of)
{
    constexpr int THREADS = coo_shape<V>::threads, ITEMS = coo_shape<V>::items;
    int k[ITEMS];
    J i[ITEMS], j[ITEMS];
    V a[ITEMS];
    rows += begin;
    load_entries(count, columns + begin, values + begin, k, j, a);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) i[u] = load_once(rows + k[u]);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) a[u] *= x[j[u]];
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        products[threadIdx.x + u * THREADS] = a[u];
        row_of[threadIdx.x + u * THREADS] = i[u];
    }
}

/* Returns the thread's part of the sum of `count` entries from `begin` on, all of one row. */
template <typename V, typename J>
static __device__ __forceinline__ V multiply_row(int64_t begin, int count, const J *__restrict__ columns,
                                                 const V *__restrict__ values, const V *__restrict__ x)
{
    constexpr int THREADS = coo_shape<V>::threads, ITEMS = coo_shape<V>::items;
    int k[ITEMS];
    J j[ITEMS];
    V a[ITEMS], sum = 0;
    load_entries(count, columns + begin, values + begin, k, j, a);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) a[u] *= x[j[u]];
#pragma unroll
    for (int u = 0; u < ITEMS; u++)
        if ((int)threadIdx.x + u * THREADS < count) sum += a[u];
    return sum;
}

/* Writes y of rows without entries. A thread inspects EMPTY_ROWS rows. */
template <typename V>
static __device__ void put_empty_rows(const unsigned *with_entries, int64_t m, int64_t block, V *y, V alpha, V beta)
{
    const int64_t first = block * (EMPTY_ROWS * (int64_t)blockDim.x) + threadIdx.x;
#pragma unroll 4
    for (int u = 0; u < EMPTY_ROWS; u++) {
        const int64_t i = first + u * (int64_t)blockDim.x;
        if (i < m && !(with_entries[i / 32] >> (i % 32) & 1)) put(y, i, V(0), alpha, beta);
    }
}

/* Adds the sum of a block with a single row to the row's chain, or writes y if the row has no chain. */
template <typename V, typename J>
static __device__ __forceinline__ void put_single_row(const coo_splits s, links link, const J *row, V sum, V *y,
                                                      V alpha, V beta, V *partial, unsigned *arrived, V *scratch)
{
    if (link.head_part >= 0)
        finish_chain(s, link.head_part, link.head_chain, sum, y, alpha, beta, partial, arrived, scratch);
    else if (link.tail_part >= 0)
        finish_chain(s, link.tail_part, link.tail_chain, sum, y, alpha, beta, partial, arrived, scratch);
    else if (threadIdx.x == 0)
        put(y, *row, sum, alpha, beta);
}

/* Sums of a thread's entries: `head` of the first row, `sum` of the last. With one row, only `sum` is set. */
template <typename V, typename J> struct own_rows {
    J row; /* last row */
    V head, sum;
    bool multiple; /* the first row is not the last */
};

/* Sums entries mine .. end - 1. Writes y of the rows between the first and the last row of these entries. */
template <typename V, typename J> static __device__ __forceinline__ own_rows<V, J>
sum_own_rows(const V *products, const J *row_of, int mine, int end, J head_row, V *y, V alpha, V beta)
{
    own_rows<V, J> own = {head_row, 0, 0, false};
#pragma unroll
    for (int u = 0; u < coo_shape<V>::items; u++) {
        if (mine + u >= end) continue;
        const J next = row_of[mine + u];
        if (next != own.row) {
            if (own.multiple)
                put(y, own.row, own.sum, alpha, beta);
            else
                own.head = own.sum;
            own.multiple = true;
            own.row = next;
            own.sum = 0;
        }
        own.sum += products[mine + u];
    }
    return own;
}

template <typename V, typename J>
static __global__ void __launch_bounds__(coo_shape<V>::threads, coo_shape<V>::resident)
    coo_segmented(const coo_splits s, int64_t m, const J *__restrict__ rows, const J *__restrict__ columns,
                  const V *__restrict__ values, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given,
                  scalar<V> beta_given, V *partial, unsigned *arrived)
{
    constexpr int THREADS = coo_shape<V>::threads, ITEMS = coo_shape<V>::items;
    __shared__ V products[coo_shape<V>::room];
    __shared__ J row_of[coo_shape<V>::room];
    __shared__ V sum_of_warp[THREADS / 32], ends[2];
    __shared__ int warp_starts[THREADS / 32];
    const V alpha = alpha_given.get(), beta = beta_given.get();
    const int64_t b = blockIdx.x;
    if (b >= s.blocks) {
        put_empty_rows(s.with_entries, m, b - s.blocks, y, alpha, beta);
        return;
    }
    const int64_t place = s.place[b], begin = place / 2;
    const int count = (int)(s.place[b + 1] / 2 - begin);
    if (count == 0) return;
    links link = {-1, -1, -1, -1};
    if (s.chain_count > 0) link = s.link[b];

    if (place % 2 == 1) {
        const V sum = sum_of_block<THREADS>(multiply_row(begin, count, columns, values, x), products);
        put_single_row(s, link, rows + begin, sum, y, alpha, beta, partial, arrived, products);
        return;
    }

    multiply(begin, count, rows, columns, values, x, products, row_of);
    __syncthreads();
    const J first_row = row_of[0], last_row = row_of[count - 1];
    const int mine = min((int)threadIdx.x * ITEMS, count), end = min(mine + ITEMS, count);
    const J head_row = mine < end ? row_of[mine] : 0;
    const int continues = mine > 0 && mine < end && row_of[mine - 1] == head_row;
    own_rows<V, J> own = sum_own_rows(products, row_of, mine, end, head_row, y, alpha, beta);
    const V before = scan_block<THREADS>(own.sum, own.multiple || !continues, sum_of_warp, warp_starts);
    if (mine < end) {
        if (own.multiple) {
            if (continues) own.head += before;
            if (head_row == first_row && link.head_part >= 0)
                ends[0] = own.head;
            else
                put(y, head_row, own.head, alpha, beta);
        } else if (continues) {
            own.sum += before;
        }
        if (end == count || row_of[end] != own.row) { /* the last row ends with this thread */
            if (own.row == first_row && link.head_part >= 0)
                ends[0] = own.sum;
            else if (own.row == last_row && link.tail_part >= 0)
                ends[1] = own.sum;
            else
                put(y, own.row, own.sum, alpha, beta);
        }
    }
    if (link.head_part < 0 && link.tail_part < 0) return; /* the condition is the same for all threads of the block */
    __syncthreads();
    if (link.head_part >= 0)
        finish_chain(s, link.head_part, link.head_chain, ends[0], y, alpha, beta, partial, arrived, products);
    if (link.tail_part >= 0)
        finish_chain(s, link.tail_part, link.tail_chain, ends[1], y, alpha, beta, partial, arrived, products);
}

/* ---- preparation ------------------------------------------------------------------------------------ */

/*
 * Finds the start of block b: the first row that begins within `slack` entries after entry b*tile, or entry b*tile if
 * no row begins there.
 */
template <typename J>
static __global__ void find_boundaries(const J *rows, int64_t nnz, int tile, int slack, int64_t blocks, boundary *found)
{
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b > blocks) return;
    int64_t begin = b == blocks ? nnz : b * tile, cut = 0;
    if (b > 0 && b < blocks) {
        const int64_t last = begin + slack;
        int64_t k = begin;
        while (k <= last && k < nnz && rows[k] == rows[k - 1]) k++;
        cut = k > last;
        if (!cut) begin = k; /* a row begins at k, or k is nnz */
    }
    found[b].begin = begin;
    found[b].row = begin < nnz ? (int64_t)rows[begin] : -1;
    found[b].row_before = begin > 0 ? (int64_t)rows[begin - 1] : -1;
    found[b].cut = cut;
}

/* Sets a bit for each row with entries, and counts these rows. */
template <typename J>
static __global__ void mark_rows(const J *rows, int64_t nnz, unsigned *with_entries, unsigned long long *count)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int begins = k < nnz && (k == 0 || rows[k] != rows[k - 1]);
    if (begins) atomicOr(with_entries + rows[k] / 32, 1u << (rows[k] % 32));
    const unsigned all = __ballot_sync(0xffffffffu, begins);
    if (threadIdx.x % 32 == 0 && all) atomicAdd(count, (unsigned long long)__popc(all));
}

void spry_cuda_coo_discard(const spryi_device *device, void *splits)
{
    coo_splits *s = (coo_splits *)splits;
    spry_cuda_free(device, s->place);
    spry_cuda_free(device, s->link);
    spry_cuda_free(device, s->chains);
    spry_cuda_free(device, s->with_entries);
    free(s);
}

/* Allocates a device array and copies `host` to it. If host is NULL, sets it to zero. */
static spry_status keep(const spryi_device *device, coo_splits *s, void **array, const void *host, int64_t bytes,
                        const char *name, spry_error *err)
{
    spry_status status = spry_cuda_new(device, array, bytes, name, err);
    if (status != SPRY_OK || bytes == 0) return status;
    cudaError_t code = host ? cudaMemcpy(*array, host, (size_t)bytes, cudaMemcpyHostToDevice)
                            : cudaMemset(*array, 0, (size_t)bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, name);
    s->bytes += bytes;
    return SPRY_OK;
}

/*
 * Finds the chains. A chain begins at a cut boundary if the previous boundary is not a cut of the same row. Its first
 * part is the last row of the previous block. Each following block that begins with a cut of the row has the next part.
 * If link and chains are NULL, the function only counts chains and parts.
 */
static void link_blocks(coo_splits *s, const boundary *at, links *link, chain *chains)
{
    s->chain_count = s->part_count = 0;
    for (int64_t b = 1; b < s->blocks; b++) {
        if (!at[b].cut) continue;
        const int64_t c = s->chain_count++, first = s->part_count;
        if (link) {
            link[b - 1].tail_part = (int32_t)first;
            link[b - 1].tail_chain = (int32_t)c;
        }
        s->part_count++;
        int64_t e = b;
        for (; e < s->blocks && at[e].cut && at[e].row == at[b].row; e++) {
            if (link) {
                link[e].head_part = (int32_t)s->part_count;
                link[e].head_chain = (int32_t)c;
            }
            s->part_count++;
        }
        if (chains) {
            chains[c].row = at[b].row;
            chains[c].first = first;
            chains[c].parts = s->part_count - first;
        }
        b = e - 1;
    }
}

static spry_status build_splits(const spryi_device *device, coo_splits *s, const boundary *at, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *place = (int64_t *)malloc((size_t)(s->blocks + 1) * sizeof *place);
    links *link = NULL;
    chain *chains = NULL;
    link_blocks(s, at, NULL, NULL);
    if (s->chain_count > 0) {
        link = (links *)malloc((size_t)s->blocks * sizeof *link);
        chains = (chain *)malloc((size_t)s->chain_count * sizeof *chains);
    }
    if (!place || (s->chain_count > 0 && (!link || !chains))) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld blocks", (long long)s->blocks);
        goto done;
    }
    for (int64_t b = 0; b <= s->blocks; b++)
        place[b] = 2 * at[b].begin +
                   (b < s->blocks && at[b].begin < at[b + 1].begin && at[b].row == at[b + 1].row_before);
    status = keep(device, s, (void **)&s->place, place, (s->blocks + 1) * (int64_t)sizeof *place, "blocks", err);
    if (status != SPRY_OK || s->chain_count == 0) goto done;
    for (int64_t b = 0; b < s->blocks; b++)
        link[b].head_part = link[b].head_chain = link[b].tail_part = link[b].tail_chain = -1;
    link_blocks(s, at, link, chains);
    status = keep(device, s, (void **)&s->link, link, s->blocks * (int64_t)sizeof *link, "links", err);
    if (status == SPRY_OK)
        status = keep(device, s, (void **)&s->chains, chains, s->chain_count * (int64_t)sizeof *chains, "chains", err);
done:
    free(place);
    free(link);
    free(chains);
    return status;
}

template <typename J>
static spry_status find_empty_rows(const spryi_device *device, coo_splits *s, const spry_arrays *a, spry_error *err)
{
    const int64_t words = ceil_div(a->rows, 32);
    unsigned long long *count = NULL, on_host = 0;
    cudaError_t code = cudaSuccess;
    spry_status status = keep(device, s, (void **)&s->with_entries, NULL, words * 4, "rows with entries", err);
    if (status == SPRY_OK) status = spry_cuda_new(device, (void **)&count, 8, "count of rows", err);
    if (status != SPRY_OK) return status;
    code = cudaMemset(count, 0, 8);
    if (code == cudaSuccess && a->nnz > 0) {
        mark_rows<J>
            <<<(unsigned)ceil_div(a->nnz, 256), 256>>>((const J *)a->row_indices, a->nnz, s->with_entries, count);
        status = launched(err, "coo_segmented_cuda: rows with entries");
    }
    if (code == cudaSuccess && status == SPRY_OK) code = cudaMemcpy(&on_host, count, 8, cudaMemcpyDeviceToHost);
    spry_cuda_free(device, count);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "coo_segmented_cuda: rows with entries");
    if (status != SPRY_OK) return status;
    s->empty_count = a->rows - (int64_t)on_host;
    if (s->empty_count == 0) {
        spry_cuda_free(device, s->with_entries);
        s->with_entries = NULL;
        s->bytes -= words * 4;
    }
    return SPRY_OK;
}

template <typename V, typename J> static spry_status find_splits(const spryi_device *device, coo_splits *s,
                                                                 const spry_arrays *a, int every_row, spry_error *err)
{
    boundary *found = NULL, *on_host = NULL;
    cudaError_t code = cudaSuccess;
    spry_status status = every_row ? find_empty_rows<J>(device, s, a, err) : SPRY_OK;
    if (status != SPRY_OK || a->nnz == 0) return status;
    s->blocks = ceil_div(a->nnz, coo_shape<V>::tile);
    const size_t bytes = (size_t)(s->blocks + 1) * sizeof *found;
    status = spry_cuda_new(device, (void **)&found, (int64_t)bytes, "boundaries of blocks", err);
    if (status != SPRY_OK) return status;
    find_boundaries<J><<<(unsigned)ceil_div(s->blocks + 1, 256), 256>>>((const J *)a->row_indices, a->nnz,
                                                                        coo_shape<V>::tile, coo_shape<V>::slack,
                                                                        s->blocks, found);
    status = launched(err, "coo_segmented_cuda: boundaries of blocks");
    on_host = (boundary *)malloc(bytes);
    if (status == SPRY_OK && !on_host)
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: boundaries of blocks");
    if (status == SPRY_OK) code = cudaMemcpy(on_host, found, bytes, cudaMemcpyDeviceToHost);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "coo_segmented_cuda: boundaries of blocks");
    if (status == SPRY_OK) status = build_splits(device, s, on_host, err);
    free(on_host);
    spry_cuda_free(device, found);
    return status;
}

spry_status spry_cuda_coo_split(const spryi_device *device, void **splits, int64_t *bytes, const spry_arrays *a,
                                spry_type type, int every_row, spry_error *err)
{
    coo_splits *s = (coo_splits *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    spry_status status = SPRY_BY_TYPE(type, V, find_splits<V, int32_t>(device, s, a, every_row, err));
    if (status != SPRY_OK) {
        spry_cuda_coo_discard(device, s);
        return status;
    }
    *splits = s;
    *bytes = s->bytes;
    return SPRY_OK;
}

/* The workspace has the sums of the parts, and then the counters of the chains, which are zero between runs. */
int64_t spry_cuda_coo_workspace(const void *splits)
{
    const coo_splits *s = (const coo_splits *)splits;
    return s->chain_count > 0 ? s->part_count * 8 + s->chain_count * 4 : 0;
}

template <typename V> spry_status spry_cuda_coo_segments(const void *splits, const spry_arrays *a,
                                                         const spryi_run_args *args, scalar<V> beta, spry_error *err)
{
    const coo_splits *s = (const coo_splits *)splits;
    const int64_t empty_blocks = s->empty_count > 0 ? ceil_div(a->rows, EMPTY_ROWS * coo_shape<V>::threads) : 0;
    unsigned *arrived = s->chain_count > 0 ? (unsigned *)((char *)args->workspace + s->part_count * 8) : NULL;
    if (s->blocks + empty_blocks == 0) return SPRY_OK;
    coo_segmented<V, int32_t>
        <<<(unsigned)(s->blocks + empty_blocks), coo_shape<V>::threads, 0, stream_of(args)>>>(*s, a->rows,
                                                                                              (const int32_t *)
                                                                                                  a->row_indices,
                                                                                              (const int32_t *)
                                                                                                  a->indices,
                                                                                              (const V *)a->values,
                                                                                              (const V *)args->x,
                                                                                              (V *)args->y,
                                                                                              SPRY_ALPHA(V, args), beta,
                                                                                              (V *)args->workspace,
                                                                                              arrived);
    return launched(err, "COO by segments");
}

template spry_status spry_cuda_coo_segments<float>(const void *, const spry_arrays *, const spryi_run_args *,
                                                   scalar<float>, spry_error *);
template spry_status spry_cuda_coo_segments<double>(const void *, const spry_arrays *, const spryi_run_args *,
                                                    scalar<double>, spry_error *);

/* ---- the kernel of coo ------------------------------------------------------------------------------ */

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)request->storage)->a;
    return spry_cuda_coo_split(request->device, auxiliary, bytes, a, request->vector_type, 1, err);
}

static void discard(const spryi_device *device, void *auxiliary)
{
    spry_cuda_coo_discard(device, auxiliary);
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)request;
    return spry_cuda_coo_workspace(auxiliary);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)args->storage)->a;
    return spry_cuda_coo_segments<V>(args->auxiliary, a, args, SPRY_BETA(V, args), err);
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_coo_segmented = {"coo_segmented_cuda", &runs, NULL, prepare, discard,
                                                        workspace_bytes};
