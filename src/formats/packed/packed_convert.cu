/*
 * CSR to packed slices on the device, bit for bit as on the host.
 *
 * Idea: every group of rows is gone through twice by the same code (packed_group.cuh): measured first, then, when a
 *       scan has told where its arrays begin, filled. Long rows are copied by their pieces.
 * Work: a block a group, a warp a slice, a lane a row or block row, of 254 entries or blocks at most; long rows a block
 *       a piece. b is found by a warp a sample.
 * Cost: columns read two to six times, the first time in each pass from memory; values once, blocks of them in sectors
 *       that meet others' (up to three times); all slots written once and, where there are holes, cleared before.
 *       Scratch of 56 bytes a group.
 * Source: this library; the scan: CUB.
 */
#include "formats/packed/packed_group.cuh"

#include <string.h>

enum { SIZES = sizeof(spryi_packed_counts) / sizeof(int64_t) }; /* of a group */
static_assert(sizeof(spryi_packed_counts) == SIZES * sizeof(int64_t) && SIZES == 7, "counts are so many numbers");

/* counts[n*groups + g] = number n of group g; summed up over all of them, what is before. */
static __device__ spryi_packed_counts counts_before(const int64_t *counts, int64_t groups, int64_t g)
{
    int64_t number[SIZES];
#pragma unroll
    for (int n = 0; n < SIZES; n++) {
        const int64_t at = n * groups + g;
        number[n] = g > 0 ? counts[at - 1] - (n > 0 ? counts[n * groups - 1] : 0) : 0;
    }
    const spryi_packed_counts before = {number[0], number[1], number[2], number[3], number[4], number[5], number[6]};
    return before;
}

template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    count_groups(packed_rows<P> a, int64_t m, int64_t *__restrict__ counts)
{
    __shared__ packed_group g;
    const spryi_packed_counts none = {};
    measure_group(&g, &a, m, &none);
    if (threadIdx.x > 0) return;
    const int64_t numbers[] = {g.sum.slices,    g.sum.indexed, g.sum.slots,   g.sum.units,
                               g.sum.long_rows, g.sum.pieces,  g.sum.long_nnz};
    for (int n = 0; n < SIZES; n++) counts[n * (int64_t)gridDim.x + blockIdx.x] = numbers[n];
}

/* ---- filling ------------------------------------------------------------------------------------------- */

/* Where a warp finds the values of its slice, and where it puts values and indices. */
template <typename V> struct target {
    const V *Ax;      /* NULL: a pattern */
    V *Vx;            /* of the slice */
    uint8_t *indices; /* behind lengths and rows */
};

/* By a warp: a full slice of rows. Entries of a row lie side by side: those of one sector are read together. */
template <typename V, typename P>
static __device__ void fill_full(const packed_rows<P> &a, const spryi_packed_draft *n, const target<V> &to)
{
    enum { UNROLL = 8 };
    const int lane = lane_of_warp(), width = n->width, kind = n->kind;
    const int64_t begin = n->begin[lane];
    const int32_t low = kind == SPRYI_PACKED_OFFSETS ? (int32_t)n->low : 0;
    for (int t = 0; t < width; t += UNROLL) {
        V value[UNROLL];
        int32_t j[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            value[u] = to.Ax && t + u < width ? to.Ax[begin + t + u] : V(0);
            j[u] = kind != SPRYI_PACKED_DIAGONALS && t + u < width ? a.Aj[begin + t + u] : 0;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int at = (t + u) * LANES + lane;
            if (t + u >= width) break;
            if (to.Ax) to.Vx[at] = value[u];
            if (kind == SPRYI_PACKED_OFFSETS) ((uint16_t *)to.indices)[at] = (uint16_t)(j[u] - low);
            if (kind == SPRYI_PACKED_COLUMNS) ((int32_t *)to.indices)[at] = j[u];
        }
    }
}

/* By a warp: any slice, slot by slot. Returns the lane's mask of distances where it is DIAGONALS. */
template <typename V, typename P>
static __device__ uint32_t fill_slots(const packed_rows<P> &a, const spryi_packed_draft *n, target<V> to)
{
    const int lane = lane_of_warp(), b = n->b, kind = n->kind, width = n->width, length = n->length[lane];
    const bool masked = kind == SPRYI_PACKED_DIAGONALS && !n->full, padded = n->padded;
    const bool needs_column = masked || kind != SPRYI_PACKED_DIAGONALS;
    const int64_t begin = n->begin[lane], own = n->row / b + lane;
    uint32_t mask = 0;
    int next = 0;
    int64_t before = 0;
    for (int k = 0; k < width; k++) {
        const int32_t j = needs_column && next < length ? column_of(a, n, lane, next) : 0;
        const bool has = next < length && (!masked || j - own == n->distances[k]);
        const unsigned slot = __ballot_sync(ALL, has);
        const int rank = __popc(slot & ((1u << lane) - 1)), stride = padded ? LANES : __popc(slot);
        const int position = padded ? lane : rank;
        if (has) {
            if (to.Ax)
                for (int r = 0; r < b; r++)
                    for (int c = 0; c < b; c++)
                        to.Vx[(r * b + c) * stride + position] = to.Ax[begin + ((int64_t)r * length + next) * b + c];
            if (kind == SPRYI_PACKED_OFFSETS)
                ((uint16_t *)to.indices)[before + position] = (uint16_t)(j - (int32_t)n->low);
            else if (kind == SPRYI_PACKED_COLUMNS)
                ((int32_t *)to.indices)[before + position] = j;
            mask |= 1u << (k % 32);
            next++;
        }
        if (to.Ax) to.Vx += b * b * stride;
        before += stride;
    }
    return mask;
}

/* By a warp: slice q, its record and whatever it has of its own. */
template <typename V, typename P> static __device__ void store_slice(const packed_group *g, const packed_rows<P> &a,
                                                                     int q, const spryi_packed &s, const V *Ax)
{
    const spryi_packed_draft *n = &g->slice[q];
    const spryi_packed_location at = g->location[q];
    const int lane = lane_of_warp();
    const bool diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
    target<V> to = {Ax, Ax ? (V *)s.values + at.values : NULL, s.indices + at.indices * SPRYI_PACKED_INDEX_UNIT};
    if (lane == 0) {
        s.slices[g->before[q].slices] = spryi_packed_record(n, &at);
        s.extras[g->before[q].slices] = spryi_packed_extra(n, &at);
    }
    if (diagonals && !n->shared && lane < n->width) ((int32_t *)to.indices)[lane] = n->distances[lane];
    if (!diagonals && !n->full) {
        to.indices[lane] = (uint8_t)(n->long_lanes >> lane & 1 ? SPRYI_PACKED_LONG_ROW : n->length[lane]);
        to.indices += LANES;
    }
    if (n->sorted) {
        if (lane < n->count) ((uint16_t *)to.indices)[lane] = g->order[n->row - a.begin + lane];
        to.indices += LANES * sizeof(uint16_t);
    }
    if (n->full && n->b == 1) {
        fill_full(a, n, to);
        return;
    }
    const uint32_t mask = fill_slots(a, n, to);
    if (!diagonals || n->full) return;
    uint8_t *masks = s.indices + at.masks * SPRYI_PACKED_INDEX_UNIT;
    switch (spryi_packed_mask_bytes(n->width)) {
    case 1: masks[lane] = (uint8_t)mask; break;
    case 2: ((uint16_t *)masks)[lane] = (uint16_t)mask; break;
    default: ((uint32_t *)masks)[lane] = mask; break;
    }
}

/* By a warp: slice q's long rows, rows in their order, and where the first piece of each begins. */
template <typename P>
static __device__ void store_long_rows(const packed_group *g, const packed_rows<P> &a, int q, const spryi_packed &s)
{
    const int lane = lane_of_warp();
    const uint32_t rows = g->long_rows[q];
    if (rows == 0) return;
    const int64_t i = g->slice[q].row + lane, length = rows >> lane & 1 ? a.Ap[i + 1] - a.Ap[i] : 0;
    const int64_t own = (length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE;
    const int64_t pieces = warp_scan(own), entries = warp_scan(length);
    if (length == 0) return;
    const int64_t at = g->before[q].long_rows + __popc(rows & ((1u << lane) - 1));
    s.long_rows[at] = i;
    s.long_first[at] = g->before[q].pieces + pieces - own;
    s.pieces[s.long_first[at]] = g->before[q].long_nnz + entries - length;
}

template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_groups(packed_rows<P> a, const V *__restrict__ Ax, const spryi_packed s, const int64_t *__restrict__ counts)
{
    __shared__ packed_group g;
    const spryi_packed_counts at = counts_before(counts, gridDim.x, blockIdx.x);
    measure_group(&g, &a, s.a.rows, &at);
    for (int q = warp_of_block(); q < g.count; q += WARPS) {
        store_slice(&g, a, q, s, Ax);
        store_long_rows(&g, a, q, s);
    }
}

/* A block a piece of a long row; the first piece of each knows where it begins. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    copy_pieces(const P *__restrict__ Ap, const int32_t *__restrict__ Aj, const V *__restrict__ Ax,
                const spryi_packed s)
{
    const int64_t p = blockIdx.x, n = owner_of(s.long_first, 0, s.long_count, p), i = s.long_rows[n];
    const int64_t first = s.long_first[n], to = s.pieces[first], from = Ap[i], length = Ap[i + 1] - from;
    const int64_t begin = (p - first) * SPRYI_PACKED_PIECE;
    const int64_t end = begin + SPRYI_PACKED_PIECE < length ? begin + SPRYI_PACKED_PIECE : length;
    if (p > first && threadIdx.x == 0) s.pieces[p] = to + begin;
    for (int64_t k = begin + threadIdx.x; k < end; k += CONVERT_THREADS) {
        ((int32_t *)s.long_columns)[to + k] = Aj[from + k];
        if (Ax) ((V *)s.long_values)[to + k] = Ax[from + k];
    }
}

static __global__ void finish(const spryi_packed s)
{
    if (threadIdx.x > 0) return;
    s.slices[s.slice_count] = spryi_packed_end_record(&s);
    s.long_first[s.long_count] = s.piece_count;
    s.pieces[s.piece_count] = s.long_nnz;
}

/* ---- the host's side --------------------------------------------------------------------------------------------- */

template <typename P>
static spry_status find_block(const spryi_device *device, const spry_arrays *a, int64_t *block, spry_error *err)
{
    enum { VOTES = 2 * (SPRYI_PACKED_MOST_BLOCK + 1), SAMPLED = SPRYI_PACKED_MOST_BLOCK - 1 };
    int32_t votes[VOTES];
    scratch space;
    *block = 1;
    if (a->value_type == SPRY_PATTERN || a->rows < 2) return SPRY_OK;
    SPRY_CUDA_TRY(space.make(device, sizeof votes, "packed: samples", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(space.at, 0, sizeof votes), "packed: samples", err);
    sample_blocks<<<SAMPLED * SPRYI_PACKED_SAMPLES / WARPS, CONVERT_THREADS>>>((const P *)a->offsets,
                                                                               (const int32_t *)a->indices, a->rows,
                                                                               (int32_t *)space.at);
    SPRY_CUDA_TRY(launched(err, "packed: samples"));
    SPRY_CUDA_CHECK(cudaMemcpy(votes, space.at, sizeof votes, cudaMemcpyDeviceToHost), "packed: samples", err);
    for (int b = SPRYI_PACKED_MOST_BLOCK; b > 1 && *block == 1; b--)
        if (spryi_packed_mostly_blocks(votes[2 * b], votes[2 * b + 1])) *block = b;
    return SPRY_OK;
}

/* The sizes of s, and in *counts what is before each group. */
template <typename P> static spry_status count(const spryi_device *device, const spry_arrays *a, spryi_packed *s,
                                               const packed_rows<P> &rows, int64_t groups, scratch *counts,
                                               spry_error *err)
{
    int64_t ends[SIZES], sums[SIZES] = {0};
    if (groups > INT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: more blocks than a launch takes");
    if (groups > 0) {
        SPRY_CUDA_TRY(counts->make(device, SIZES * groups * (int64_t)sizeof(int64_t), "packed: groups", err));
        int64_t *numbers = (int64_t *)counts->at;
        count_groups<<<(unsigned)groups, CONVERT_THREADS>>>(rows, a->rows, numbers);
        SPRY_CUDA_TRY(launched(err, "packed: counting"));
        SPRY_CUDA_TRY(spry_cuda_scan(device, numbers, SIZES * groups, err));
        SPRY_CUDA_CHECK(cudaMemcpy2D(ends, sizeof *ends, numbers + groups - 1, (size_t)groups * sizeof *numbers,
                                     sizeof *ends, SIZES, cudaMemcpyDeviceToHost),
                        "packed: sizes", err);
        for (int n = 0; n < SIZES; n++) sums[n] = ends[n] - (n > 0 ? ends[n - 1] : 0);
    }
    spryi_packed_counts sum;
    memcpy(&sum, sums, sizeof sum);
    if (sum.pieces > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: more blocks than a launch takes");
    return spryi_packed_set_sizes(s, &sum, err);
}

/* Bits of the values are copied: V is an unsigned number of their size. */
template <typename V, typename P> static spry_status fill(const spry_arrays *a, const spryi_packed *s,
                                                          const packed_rows<P> &rows, int64_t groups,
                                                          const int64_t *counts, spry_error *err)
{
    const V *Ax = (const V *)a->values;
    const size_t index_bytes = (size_t)s->units * SPRYI_PACKED_INDEX_UNIT, value_bytes = (size_t)s->slots * sizeof(V);
    if (index_bytes > 0) SPRY_CUDA_CHECK(cudaMemsetAsync(s->indices, 0, index_bytes), "packed indices", err);
    if (s->values && s->slots > a->nnz - s->long_nnz)
        SPRY_CUDA_CHECK(cudaMemsetAsync(s->values, 0, value_bytes), "packed values", err);
    if (groups > 0) fill_groups<<<(unsigned)groups, CONVERT_THREADS>>>(rows, Ax, *s, counts);
    SPRY_CUDA_TRY(launched(err, "packed: slices"));
    if (s->piece_count > 0) copy_pieces<<<(unsigned)s->piece_count, CONVERT_THREADS>>>(rows.Ap, rows.Aj, Ax, *s);
    SPRY_CUDA_TRY(launched(err, "packed: long rows"));
    finish<<<1, LANES>>>(*s);
    return launched(err, "packed: ends");
}

template <typename P> static spry_status make(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_packed *s = (spryi_packed *)c->storage;
    scratch counts;
    SPRY_CUDA_TRY(find_block<P>(c->device, a, &s->block, err));
    const int64_t groups = spryi_packed_group_count(a, s->block);
    packed_rows<P> rows = {};
    rows.Ap = (const P *)a->offsets;
    rows.Aj = (const int32_t *)a->indices;
    rows.b = (int)s->block;
    SPRY_CUDA_TRY(count(c->device, a, s, rows, groups, &counts, err));
    spryi_packed_cost(&c->cost, s);
    SPRY_CUDA_TRY(c->guard(c->request, "packed", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make_arrays(c, spryi_packed_arrays, err));
    const int64_t *numbers = (const int64_t *)counts.at;
    SPRY_CUDA_TRY(SPRY_BY_STORED(a->value_type, S, fill<value_bits<S>>(a, s, rows, groups, numbers, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "packed", err); /* before the scratch goes */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    if (c->request->options->op == SPRY_TRANSPOSE)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: windows of a transposed product are made on the host");
    ((spryi_packed *)c->storage)->a = shape_of(&c->csr);
    return SPRY_BY_TYPE(c->csr.offset_type, P, make<P>(c, err));
}

const spryi_converter spry_cuda_to_packed = {"packed", convert};
