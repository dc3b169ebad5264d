/*
 * Converts CSR to BSR on the device, with the same bits as on the host, also for unsorted rows and duplicates. The
 * windows of the transposed product are not built, since no GPU kernel reads them.
 *
 * Idea: entry indices are sorted stably by block column and then by block row. The entries of a block are then
 *       adjacent, in stored order. The first entry of each block is marked, and a scan over the marks gives the blocks
 *       their numbers. A thread writes the entries of one block, and sums duplicates in f64. Before allocation, the
 *       distinct positions of entries are counted, which the padding guard needs. To detect the block size, the same
 *       steps run for each size on the groups of rows that the host samples.
 * Work: a thread for each entry, then a thread for each block.
 * Cost: about 16 bytes per entry for each of the 5 to 6 passes of the sorts (a pass sorts 8 bits of the block columns
 *       or block rows), 90 bytes per entry for the other steps, and one write of the blocks. Scratch: 32 bytes per
 *       entry. Blocks with many duplicates take longest, since all entries of such a block are read for each position.
 * Source: radix sort and scan: CUB; this library.
 */
extern "C" {
#include "formats/bsr/bsr.h"
}
#include "device/cuda/convert.cuh"

/* The entries of a matrix, sorted by blocks of one size. */
struct block_order {
    scratch key_space, other_space, row_space, sum_space, begin_space;
    uint64_t *keys;   /* sorted by block row, then block column */
    int32_t *row_of;  /* row of each entry of A, in stored order */
    int64_t *through; /* through[p]: number of blocks up to and including the block of key p */
    uint32_t *begins; /* first key of each block, then nnz */
    int64_t blocks;
};

static __global__ void mark_blocks(const uint64_t *__restrict__ keys, const int32_t *__restrict__ Aj, int64_t nnz,
                                   uint32_t block, int64_t *__restrict__ starts)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nnz) return;
    const uint64_t key = keys[p], before = p > 0 ? keys[p - 1] : 0;
    starts[p] = p == 0 || KEY_MAJOR(key) != KEY_MAJOR(before) ||
                (uint32_t)Aj[KEY_ENTRY(key)] / block != (uint32_t)Aj[KEY_ENTRY(before)] / block;
}

static __global__ void find_begins(const int64_t *__restrict__ through, int64_t nnz, uint32_t *__restrict__ begins)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nnz) return;
    const int64_t b = through[p] - 1;
    if (p == 0 || through[p - 1] == b) begins[b] = (uint32_t)p;
    if (p == nnz - 1) begins[b + 1] = (uint32_t)nnz;
}

/* Sets the masks of a block's columns. Returns true if a position has more than one entry. */
static __device__ __forceinline__ bool collect_masks(const uint64_t *__restrict__ keys, uint32_t begin, uint32_t end,
                                                     const int32_t *__restrict__ row_of, const int32_t *__restrict__ Aj,
                                                     uint32_t block, unsigned *masks)
{
    bool twice = false;
    for (uint32_t j = 0; j < block; j++) masks[j] = 0;
    for (uint32_t p = begin; p < end; p++) {
        const uint32_t k = KEY_ENTRY(keys[p]), i = (uint32_t)row_of[k] % block, j = (uint32_t)Aj[k] % block;
        twice |= masks[j] >> i & 1;
        masks[j] |= 1u << i;
    }
    return twice;
}

static __global__ void count_entries(const uint64_t *__restrict__ keys, const uint32_t *__restrict__ begins,
                                     int64_t blocks, const int32_t *__restrict__ row_of, const int32_t *__restrict__ Aj,
                                     uint32_t block, unsigned long long *entries)
{
    unsigned masks[SPRYI_BSR_MOST_BLOCK];
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;
    if (b < blocks) {
        collect_masks(keys, begins[b], begins[b + 1], row_of, Aj, block, masks);
        for (uint32_t j = 0; j < block; j++) count += __popc(masks[j]);
    }
    for (int width = 16; width > 0; width /= 2) count += __shfl_down_sync(0xffffffffu, count, width);
    if (threadIdx.x % 32 == 0) atomicAdd(entries, (unsigned long long)count);
}

template <typename P> static __global__ void find_offsets(const uint64_t *__restrict__ keys,
                                                          const int64_t *__restrict__ through, int64_t nnz,
                                                          int64_t block_rows, P *__restrict__ offsets)
{
    const int64_t I = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (I > block_rows) return;
    const int64_t p = first_of_major(keys, nnz, I);
    offsets[I] = (P)(p > 0 ? through[p - 1] : 0);
}

/* Writes the values and masks of the blocks. masks_out: uint8_t for blocks up to 8, else uint16_t; NULL: no fill. */
template <typename S>
static __global__ void fill_blocks(const uint64_t *__restrict__ keys, const uint32_t *__restrict__ begins,
                                   int64_t blocks, const int32_t *__restrict__ row_of, const int32_t *__restrict__ Aj,
                                   const S *__restrict__ Ax, uint32_t block, int32_t *__restrict__ columns,
                                   S *__restrict__ values, void *masks_out)
{
    unsigned masks[SPRYI_BSR_MOST_BLOCK];
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    const uint32_t begin = begins[b], end = begins[b + 1];
    S *to = values + b * block * block;
    columns[b] = (int32_t)((uint32_t)Aj[KEY_ENTRY(keys[begin])] / block);
    const bool twice = collect_masks(keys, begin, end, row_of, Aj, block, masks);
    for (uint32_t at = 0; at < block * block; at++) round_to(to + at, 0);
    for (uint32_t p = begin; p < end && !twice; p++) {
        const uint32_t k = KEY_ENTRY(keys[p]);
        to[(uint32_t)Aj[k] % block * block + (uint32_t)row_of[k] % block] = Ax[k];
    }
    for (uint32_t at = 0; at < block * block && twice; at++) { /* sum in stored order, round once */
        double sum = 0;
        bool any = false;
        for (uint32_t p = begin; p < end; p++) {
            const uint32_t k = KEY_ENTRY(keys[p]);
            if ((uint32_t)Aj[k] % block * block + (uint32_t)row_of[k] % block != at) continue;
            const double value = (double)widened(Ax[k]);
            sum = any ? sum + value : value; /* assign the first value, since 0 + -0 is 0 */
            any = true;
        }
        round_to(to + at, sum);
    }
    for (uint32_t j = 0; j < block && masks_out; j++)
        if (block <= 8)
            ((uint8_t *)masks_out)[b * block + j] = (uint8_t)masks[j];
        else
            ((uint16_t *)masks_out)[b * block + j] = (uint16_t)masks[j];
}

/* Allocates scratch for a matrix of a's size, and finds the row of each entry. */
static spry_status start(const spryi_device *device, block_order *o, const spry_arrays *a, spry_error *err)
{
    SPRY_CUDA_TRY(o->key_space.make(device, a->nnz * (int64_t)sizeof *o->keys, "bsr: keys", err));
    SPRY_CUDA_TRY(o->other_space.make(device, a->nnz * (int64_t)sizeof *o->keys, "bsr: keys", err));
    SPRY_CUDA_TRY(o->row_space.make(device, a->nnz * (int64_t)sizeof *o->row_of, "bsr: rows", err));
    SPRY_CUDA_TRY(o->sum_space.make(device, a->nnz * (int64_t)sizeof *o->through, "bsr: blocks of entries", err));
    SPRY_CUDA_TRY(o->begin_space.make(device, (a->nnz + 1) * (int64_t)sizeof *o->begins, "bsr: blocks", err));
    o->row_of = (int32_t *)o->row_space.at;
    o->through = (int64_t *)o->sum_space.at;
    o->begins = (uint32_t *)o->begin_space.at;
    return spry_cuda_rows_of(a, o->row_of, err);
}

/* Sorts a's entries by blocks of one size, and counts the blocks. */
static spry_status order(const spryi_device *device, block_order *o, const spry_arrays *a, uint32_t block,
                         spry_error *err)
{
    const unsigned grid = convert_blocks(a->nnz);
    uint64_t *other = (uint64_t *)o->other_space.at;
    o->keys = (uint64_t *)o->key_space.at;
    o->blocks = 0;
    if (a->nnz == 0) return SPRY_OK;
    SPRY_CUDA_TRY(spry_cuda_order_blocks(device, a, o->row_of, block, block, &o->keys, &other, err));
    mark_blocks<<<grid, CONVERT_THREADS>>>(o->keys, (const int32_t *)a->indices, a->nnz, block, o->through);
    SPRY_CUDA_TRY(launched(err, "bsr: blocks of entries"));
    SPRY_CUDA_TRY(spry_cuda_scan(device, o->through, a->nnz, err));
    find_begins<<<grid, CONVERT_THREADS>>>(o->through, a->nnz, o->begins);
    SPRY_CUDA_TRY(launched(err, "bsr: blocks"));
    SPRY_CUDA_CHECK(cudaMemcpy(&o->blocks, o->through + a->nnz - 1, sizeof o->blocks, cudaMemcpyDeviceToHost),
                    "bsr: blocks", err);
    return SPRY_OK;
}

/* Sets the head of the storage and the cost of the conversion for matrix a with blocks of one size. */
static spry_status survey(block_order *o, spryi_conversion *c, const spry_arrays *a, int64_t block, spry_error *err)
{
    spryi_bsr *s = (spryi_bsr *)c->storage;
    scratch entries;
    SPRY_CUDA_TRY(order(c->device, o, a, (uint32_t)block, err));
    SPRY_CUDA_TRY(entries.make(c->device, sizeof s->head.nnz, "bsr: entries", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(entries.at, 0, sizeof s->head.nnz), "bsr: entries", err);
    if (o->blocks > 0)
        count_entries<<<convert_blocks(o->blocks), CONVERT_THREADS>>>(o->keys, o->begins, o->blocks, o->row_of,
                                                                      (const int32_t *)a->indices, (uint32_t)block,
                                                                      (unsigned long long *)entries.at);
    SPRY_CUDA_TRY(launched(err, "bsr: entries"));
    s->head = spryi_bsr_head_of(a, block);
    s->head.blocks = o->blocks;
    SPRY_CUDA_CHECK(cudaMemcpy(&s->head.nnz, entries.at, sizeof s->head.nnz, cudaMemcpyDeviceToHost), "bsr: entries",
                    err);
    spryi_bsr_cost(s, &c->cost);
    return SPRY_OK;
}

/* ---- block size ------------------------------------------------------------------------------------- */

template <typename P>
static __global__ void move_offsets(const P *__restrict__ Ap, int64_t count, int64_t by, P *__restrict__ to)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = (P)((int64_t)Ap[i] + by);
}

/* Copies offset i to the host. */
template <typename P>
static spry_status entries_before(const spry_arrays *a, int64_t i, int64_t *before, spry_error *err)
{
    P offset = 0;
    SPRY_CUDA_CHECK(cudaMemcpy(&offset, (const P *)a->offsets + i, sizeof offset, cudaMemcpyDeviceToHost),
                    "bsr: groups of rows", err);
    *before = (int64_t)offset;
    return SPRY_OK;
}

/* Copies the rows sampled for detection, group after group, into a matrix without values. */
template <typename P> static spry_status copy_groups(const spryi_device *device, spry_arrays *sample, scratch *offsets,
                                                     scratch *columns, const spry_arrays *a, spry_error *err)
{
    enum { MOST = 64 };
    const int64_t groups = spryi_bsr_groups(a->rows);
    int64_t first[MOST], last[MOST], begin[MOST], end[MOST];
    *sample = shape_of(a);
    sample->rows = sample->nnz = 0;
    if (groups > MOST) return spryi_fail(err, SPRY_INTERNAL, NULL, "bsr: too many groups of rows");
    for (int64_t g = 0; g < groups; g++) {
        begin[g] = spryi_bsr_group(a->rows, g, &end[g]);
        SPRY_CUDA_TRY(entries_before<P>(a, begin[g], &first[g], err));
        SPRY_CUDA_TRY(entries_before<P>(a, end[g], &last[g], err));
        sample->rows += end[g] - begin[g];
        sample->nnz += last[g] - first[g];
    }
    SPRY_CUDA_TRY(offsets->make(device, (sample->rows + 1) * (int64_t)sizeof(P), "bsr: groups of rows", err));
    SPRY_CUDA_TRY(columns->make(device, sample->nnz * (int64_t)sizeof(int32_t), "bsr: groups of rows", err));
    sample->offsets = offsets->at;
    sample->indices = columns->at;
    for (int64_t g = 0, row = 0, entry = 0; g < groups; g++) {
        const int64_t rows = end[g] - begin[g];
        move_offsets<<<convert_blocks(rows + 1), CONVERT_THREADS>>>((const P *)a->offsets + begin[g], rows + 1,
                                                                    entry - first[g], (P *)offsets->at + row);
        SPRY_CUDA_TRY(launched(err, "bsr: groups of rows"));
        SPRY_CUDA_CHECK(cudaMemcpyAsync((int32_t *)columns->at + entry, (const int32_t *)a->indices + first[g],
                                        (size_t)(last[g] - first[g]) * sizeof(int32_t), cudaMemcpyDeviceToDevice),
                        "bsr: groups of rows", err);
        row += rows;
        entry += last[g] - first[g];
    }
    return SPRY_OK;
}

/* value_type: of A, which may be wider than that of a; the block size does not depend on the type of narrow values. */
static spry_status detect(const spryi_device *device, int64_t *block, const spry_arrays *a, spry_type value_type,
                          spry_error *err)
{
    int64_t blocks[SPRYI_BSR_MOST_DETECTED + 1] = {0}, entries[SPRYI_BSR_MOST_DETECTED + 1] = {0};
    block_order o;
    scratch offsets, columns;
    spry_arrays sample;
    SPRY_CUDA_TRY(SPRY_BY_TYPE(a->offset_type, P, copy_groups<P>(device, &sample, &offsets, &columns, a, err)));
    SPRY_CUDA_TRY(start(device, &o, &sample, err));
    for (int64_t r = 1; r <= SPRYI_BSR_MOST_DETECTED; r++) {
        SPRY_CUDA_TRY(order(device, &o, &sample, (uint32_t)r, err));
        blocks[r] = o.blocks;
        entries[r] = blocks[1]; /* with size 1, the blocks are the distinct entries */
    }
    spry_arrays wide = *a;
    wide.value_type = value_type;
    *block = spryi_bsr_cheapest(&wide, blocks, entries);
    return SPRY_OK;
}

/* ---- conversion ------------------------------------------------------------------------------------- */

template <typename S>
static spry_status fill(const block_order *o, const spry_arrays *a, const spryi_bsr *s, void *masks, spry_error *err)
{
    fill_blocks<S><<<convert_blocks(o->blocks), CONVERT_THREADS>>>(o->keys, o->begins, o->blocks, o->row_of,
                                                                   (const int32_t *)a->indices, (const S *)a->values,
                                                                   (uint32_t)s->head.block, (int32_t *)s->columns,
                                                                   (S *)s->values, masks);
    return launched(err, "bsr: blocks");
}

template <typename P>
static spry_status set_offsets(const block_order *o, const spry_arrays *a, const spryi_bsr *s, spry_error *err)
{
    find_offsets<<<convert_blocks(s->head.block_rows + 1), CONVERT_THREADS>>>(o->keys, o->through, a->nnz,
                                                                              s->head.block_rows, (P *)s->offsets);
    return launched(err, "bsr: offsets");
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_bsr *s = (spryi_bsr *)c->storage;
    const int64_t given = c->request->parameters[0];
    int64_t block = given;
    block_order o;
    if (a->value_type == SPRY_PATTERN) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "bsr: a pattern");
    if (a->nnz > UINT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "bsr: more entries than a key can number");
    if (given == 0) SPRY_CUDA_TRY(detect(c->device, &block, a, c->request->value_type, err));
    SPRY_CUDA_TRY(start(c->device, &o, a, err));
    SPRY_CUDA_TRY(survey(&o, c, a, block, err));
    if (given == 0 && block > 1 && c->guard(c->request, "bsr", &c->cost, NULL) != SPRY_OK)
        SPRY_CUDA_TRY(survey(&o, c, a, 1, err)); /* size 1, since the matrix has more fill than the sample */
    SPRY_CUDA_TRY(c->guard(c->request, "bsr", &c->cost, err));
    SPRY_CUDA_TRY(spryi_bsr_check_sums(c->request, &s->head, a, err));
    const spryi_bsr_head *h = &s->head;
    const int64_t masks = spryi_bsr_bytes_of_masks(h), offset_bytes = (int64_t)spryi_index_type_bytes(a->offset_type);
    s->types = shape_of(a);
    s->types.nnz = h->nnz;
    SPRY_CUDA_TRY(
        spry_cuda_allocate_array(c, &s->offsets, (h->block_rows + 1) * offset_bytes, "block row offsets", err));
    SPRY_CUDA_TRY(
        spry_cuda_allocate_array(c, &s->columns, h->blocks * (int64_t)sizeof(int32_t), "columns of blocks", err));
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &s->values,
                                           spryi_bsr_value_count(h) * (int64_t)spry_type_bytes(a->value_type),
                                           "values of blocks", err));
    if (masks > 0) SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &s->masks, masks, "masks of blocks", err));
    SPRY_CUDA_TRY(SPRY_BY_TYPE(a->offset_type, P, set_offsets<P>(&o, a, s, err)));
    if (h->blocks > 0)
        SPRY_CUDA_TRY(SPRY_BY_STORED(a->value_type, S, fill<S>(&o, a, s, masks > 0 ? s->masks : NULL, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "bsr", err); /* before scratch is freed */
    return SPRY_OK;
}

const spryi_converter spry_cuda_to_bsr = {"bsr", convert};
