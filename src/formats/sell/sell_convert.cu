/*
 * Converts CSR to SELL-C-sigma on the device, with the same bits as on the host. The kinds are not built, since no GPU
 * kernel reads them.
 *
 * Idea: each row has a key: its window, then the longest length minus its length, then its position in the window. A
 *       stable sort by the window and the difference of lengths orders the rows of every window. The first lane of a
 *       chunk then has the chunk's width. A scan of the widths gives the offsets and the number of slots. The padding
 *       guard and the memory limit (storage_limits.h) check this number before allocation. Slots are filled in order, a
 *       thread for each slot. If rows may remain unsorted, their slots are counted first, and the sort is skipped if
 *       it cannot save enough slots.
 * Work: blocks of 2048 slots. A block finds its chunks by bisection, and each thread then finds the chunk of its slot.
 * Cost: entries are read once, slots written once, at 12 bytes (f64) or 8 (f32) each. If rows are sorted, the sort
 *       moves about 16 bytes per row for each 8 bits of the key (usually 4 passes), and 60 more bytes per row are
 *       moved. Sorting needs 16 bytes of scratch memory per row.
 * Source: radix sort and scan: CUB; this library.
 */
extern "C" {
#include "formats/sell/sell.h"
}
#include "device/cuda/convert.cuh"

/* Layout of a key. */
struct key_layout {
    int64_t sigma, longest;
    int row_bits, length_bits;
    __device__ int64_t row(uint64_t key) const
    {
        return (int64_t)(key & ((uint64_t)1 << row_bits) - 1);
    }
    __device__ int64_t length(uint64_t key) const
    {
        return longest - (int64_t)(key >> row_bits & ((uint64_t)1 << length_bits) - 1);
    }
};

template <typename P>
static __global__ void build_keys(const P *__restrict__ Ap, int64_t m, key_layout layout, uint64_t *__restrict__ keys)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    const int64_t window = i / layout.sigma, missing = layout.longest - (int64_t)(Ap[i + 1] - Ap[i]);
    keys[i] = ((uint64_t)window << layout.length_bits | (uint64_t)missing) << layout.row_bits |
              (uint64_t)(i - window * layout.sigma);
}

/*
 * Sets offsets[k + 1] to the number of slots of chunk k. If rows are sorted, the first lane of each chunk has its
 * longest row. keys is NULL if rows are not sorted.
 */
template <typename P> static __global__ void find_widths(const P *__restrict__ Ap, const uint64_t *__restrict__ keys,
                                                         int64_t m, int64_t c, int64_t chunks, key_layout layout,
                                                         int64_t *__restrict__ offsets)
{
    int64_t chunk = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, width = 0;
    if (chunk == 0) offsets[0] = 0;
    if (chunk >= chunks) return;
    if (keys)
        width = layout.length(keys[chunk * c]);
    else
        for (int64_t i = chunk * c; i < (chunk + 1) * c && i < m; i++) {
            int64_t length = (int64_t)(Ap[i + 1] - Ap[i]);
            width = length > width ? length : width;
        }
    offsets[chunk + 1] = width * c;
}

template <typename P>
static __global__ void set_lanes(const P *__restrict__ Ap, const uint64_t *__restrict__ keys, int64_t m, int64_t lanes,
                                 key_layout layout, int32_t *__restrict__ lengths, uint16_t *__restrict__ permutation)
{
    int64_t l = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= lanes) return;
    if (l >= m) {
        lengths[l] = 0;
    } else if (keys) {
        const uint64_t key = keys[l];
        lengths[l] = (int32_t)layout.length(key);
        permutation[l] = (uint16_t)layout.row(key);
    } else {
        lengths[l] = (int32_t)(Ap[l + 1] - Ap[l]);
    }
}

/*
 * Fills slots. The column of padding is that of the row's last entry, or of the matrix's first entry if the row is
 * empty.
 */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_slots(const spryi_sell s, const P *__restrict__ Ap, const int32_t *__restrict__ Aj, const V *__restrict__ Ax,
               int32_t *__restrict__ columns, V *__restrict__ values)
{
    __shared__ int64_t range[2];
    const int64_t begin = (int64_t)blockIdx.x * CONVERT_TILE;
    const int64_t end = begin + CONVERT_TILE < s.slots ? begin + CONVERT_TILE : s.slots;
    owners_of_tile(s.offsets, s.chunk_count, begin, end, range);
    for (int64_t t = begin + threadIdx.x; t < end; t += CONVERT_THREADS) {
        const int64_t chunk = owner_of(s.offsets, range[0], range[1] + 1, t), at = t - s.offsets[chunk];
        const int64_t slot = at / s.c, l = chunk * s.c + at - slot * s.c, length = s.lengths[l];
        const bool is_entry = slot < length;
        int64_t k = 0;
        if (length > 0) {
            const int64_t row = s.sigma > 1 ? l / s.sigma * s.sigma + s.permutation[l] : l;
            k = (int64_t)Ap[row] + (is_entry ? slot : length - 1);
        }
        columns[t] = Aj[k];
        if (values) values[t] = is_entry ? Ax[k] : V(0);
    }
}

/* Sorts the rows if *keys is not NULL. Sets s->offsets and s->slots. */
template <typename P> static spry_status order(const spryi_device *device, spryi_sell *s, const P *Ap, uint64_t **keys,
                                               uint64_t *other, const key_layout *layout, spry_error *err)
{
    const int64_t m = s->a.rows;
    if (*keys && m > 0) {
        build_keys<<<convert_blocks(m), CONVERT_THREADS>>>(Ap, m, *layout, *keys);
        SPRY_CUDA_TRY(launched(err, "sell: keys"));
        const int window_bits = bits_of((m - 1) / s->sigma);
        SPRY_CUDA_TRY(spry_cuda_sort_keys(device, keys, &other, m, layout->row_bits,
                                          layout->row_bits + layout->length_bits + window_bits, err));
    }
    find_widths<<<convert_blocks(s->chunk_count + 1), CONVERT_THREADS>>>(Ap, *keys, m, s->c, s->chunk_count, *layout,
                                                                         s->offsets);
    SPRY_CUDA_TRY(launched(err, "sell: widths"));
    SPRY_CUDA_TRY(spry_cuda_scan(device, s->offsets + 1, s->chunk_count, err));
    SPRY_CUDA_CHECK(cudaMemcpy(&s->slots, s->offsets + s->chunk_count, sizeof s->slots, cudaMemcpyDeviceToHost),
                    "sell: slots", err);
    return SPRY_OK;
}

template <typename V, typename P> static spry_status fill(const spry_arrays *a, const spryi_sell *s, spry_error *err)
{
    if (s->slots > 0)
        fill_slots<V, P><<<(unsigned)ceil_div(s->slots, CONVERT_TILE), CONVERT_THREADS>>>(*s, (const P *)a->offsets,
                                                                                          (const int32_t *)a->indices,
                                                                                          (const V *)a->values,
                                                                                          (int32_t *)s->columns,
                                                                                          (V *)s->values);
    return launched(err, "sell: slots");
}

template <typename P> static spry_status build(spryi_conversion *c, const key_layout *layout, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_sell *s = (spryi_sell *)c->storage;
    const P *Ap = (const P *)a->offsets;
    const int64_t lanes = s->chunk_count * s->c, value_bytes = (int64_t)spry_type_bytes(a->value_type);
    const int may_leave = spryi_sell_may_leave_rows(c->request);
    scratch key_space, other_space;
    uint64_t *keys = NULL;
    if (s->sigma == 1 || may_leave) SPRY_CUDA_TRY(order(c->device, s, Ap, &keys, NULL, layout, err));
    const int64_t unsorted = s->slots;
    /* sorted chunks have at least nnz slots, so the sort is skipped if even nnz slots would save too few */
    int sorts = s->sigma > 1 && (!may_leave || spryi_sell_sorting_pays(a, a->nnz, unsorted));
    if (sorts) {
        SPRY_CUDA_TRY(key_space.make(c->device, a->rows * (int64_t)sizeof(uint64_t), "sell: keys", err));
        SPRY_CUDA_TRY(other_space.make(c->device, a->rows * (int64_t)sizeof(uint64_t), "sell: keys", err));
        keys = (uint64_t *)key_space.at;
        SPRY_CUDA_TRY(order(c->device, s, Ap, &keys, (uint64_t *)other_space.at, layout, err));
        sorts = !may_leave || spryi_sell_sorting_pays(a, s->slots, unsorted);
        if (!sorts) {
            keys = NULL;
            SPRY_CUDA_TRY(order(c->device, s, Ap, &keys, NULL, layout, err)); /* offsets of unsorted rows */
        }
    }
    if (!sorts) s->sigma = 1;
    spryi_sell_cost(&c->cost, a, s->slots, s->c, s->sigma);
    SPRY_CUDA_TRY(c->guard(c->request, "sell", &c->cost, err));
    if (ceil_div(s->slots, CONVERT_TILE) > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "sell: more blocks than a CUDA launch permits");
    SPRY_CUDA_TRY(
        spry_cuda_allocate_array(c, (void **)&s->lengths, lanes * (int64_t)sizeof(int32_t), "row lengths", err));
    if (s->sigma > 1)
        SPRY_CUDA_TRY(spry_cuda_allocate_array(c, (void **)&s->permutation, a->rows * (int64_t)sizeof(uint16_t),
                                               "row permutation", err));
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &s->columns, s->slots * (int64_t)sizeof(int32_t), "sell columns", err));
    if (value_bytes > 0)
        SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &s->values, s->slots * value_bytes, "sell values", err));
    if (lanes > 0)
        set_lanes<<<convert_blocks(lanes), CONVERT_THREADS>>>(Ap, keys, a->rows, lanes, *layout, s->lengths,
                                                              s->permutation);
    SPRY_CUDA_TRY(launched(err, "sell: lanes"));
    SPRY_CUDA_TRY(SPRY_BY_BYTES(a->value_type, B, fill<B, P>(a, s, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "sell", err); /* before scratch is freed */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_sell *s = (spryi_sell *)c->storage;
    int64_t longest = 0;
    if (c->request->options->op == SPRY_TRANSPOSE)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "sell: windows of a transposed product are built on the host");
    s->a = shape_of(a);
    spryi_sell_resolve(&s->c, &s->sigma, c->request);
    s->chunk_count = ceil_div(a->rows, s->c);
    SPRY_CUDA_TRY(spry_cuda_longest(c->device, a, &longest, err));
    SPRY_CUDA_TRY(spryi_sell_check_size(a->rows, longest, s->c, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, (void **)&s->offsets, (s->chunk_count + 1) * (int64_t)sizeof(int64_t),
                                           "chunk offsets", err));
    const key_layout layout = {s->sigma, longest, bits_of(s->sigma - 1), bits_of(longest)};
    return SPRY_BY_TYPE(a->offset_type, P, build<P>(c, &layout, err));
}

const spryi_converter spry_cuda_to_sell = {"sell", convert};
