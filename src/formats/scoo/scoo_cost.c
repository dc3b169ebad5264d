/* The height of SCOO's slices, and the bytes that they take. */
#include "formats/scoo/scoo.h"

#include <stdio.h>

/* Slices of SPRYI_SCOO_SLICE_BYTES of y; lower, in steps of two, where the matrix would give few. */
static int64_t default_height(int64_t rows, spry_type value_type)
{
    int64_t height = SPRYI_SCOO_SLICE_BYTES / (int64_t)spry_type_bytes(value_type);
    while (height > SPRYI_SCOO_LEAST_HEIGHT && rows / height < SPRYI_SCOO_SLICES) height /= 2;
    return height;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/*
 * A slice a multiprocessor, so that all of them sweep x together; twice as high where the kernel's two parts a slice,
 * whose sums meet, cost less than the sectors of x they save; in rounds of two a multiprocessor where that would be
 * too much for shared memory. Whole sectors of y. lanes: sums a row that the kernel is asked for; 0: what fits.
 */
static int64_t gpu_height(int64_t rows, int64_t nnz, spry_type value_type, int64_t lanes)
{
    const int64_t sums = lanes > 0 ? lanes : 1;
    const int64_t most = SPRYI_SCOO_GPU_SLICE_BYTES / (int64_t)spry_type_bytes(value_type) / sums;
    int64_t height = quotient_up(rows, SPRYI_SCOO_GPU_SLICES);
    if (2 * height <= most && rows > 0 && nnz / rows >= SPRYI_SCOO_GPU_MEETING) height *= 2;
    if (height > most) {
        const int64_t rounds = quotient_up(rows, 2 * SPRYI_SCOO_GPU_SLICES * most);
        height = quotient_up(rows, 2 * SPRYI_SCOO_GPU_SLICES * rounds);
    }
    const int64_t least = SPRYI_SCOO_GPU_LEAST_HEIGHT;
    return height < least ? least : quotient_up(height, least) * least;
}

spryi_scoo_head spryi_scoo_head_of(const spryi_build_request *request, const spry_arrays *a)
{
    const int64_t word = request->kernel_parameters[SPRYI_SCOO_LANES], lanes = word > 0 ? INT64_C(1) << (word - 1) : 0;
    int64_t height = request->parameters[0] > 0    ? request->parameters[0]
                     : request->massively_parallel ? gpu_height(a->rows, a->nnz, a->value_type, lanes)
                                                   : default_height(a->rows, a->value_type);
    return (spryi_scoo_head){
        .rows = a->rows,
        .cols = a->cols,
        .nnz = a->nnz,
        .height = height,
        .slices = a->rows / height + (a->rows % height > 0),
        .value_type = (int32_t)a->value_type,
        .offset_type = (int32_t)a->offset_type,
        .index_type = (int32_t)a->index_type,
    };
}

void spryi_scoo_cost(const spryi_scoo_head *h, spryi_cost *cost)
{
    const size_t entry = spry_type_bytes((spry_type)h->value_type) + sizeof(uint16_t) +
                         spry_index_type_bytes((spry_index_type)h->index_type);
    cost->bytes = h->nnz * (int64_t)entry +
                  (h->slices + 1) * (int64_t)spry_index_type_bytes((spry_index_type)h->offset_type);
    cost->words = 3 * h->nnz + h->slices + 1;
    snprintf(cost->parameters, sizeof cost->parameters, "height=%lld", (long long)h->height);
}
