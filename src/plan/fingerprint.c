/*
 * What a choice that was measured is found by. Of the structure a sum over entries of a hash of row and column, which
 * is the same in every layout and for every width of indices, in any order and by any threads, and which an entry that
 * moves changes. It takes less than a product's time; of more than MOST_ENTRIES a sample of the rows is summed. Arrays
 * in a device's memory come to the host piece by piece, as bytes: little goes over the bus; layout and widths count.
 */
#include "choose/choose.h"
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "plan/measured.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL /* nothing to link (io/container_check.c) */
#include <xxhash.h>

enum {
    ROWS = 1024,            /* that are in the sample together */
    MOST_ENTRIES = 1 << 21, /* in it, about: a millisecond by one thread */
    ALONE = 128,            /* times what is too little for threads in other passes: they may come late */
    PIECE = 64 << 10,       /* bytes of an array in a device's memory, */
    PIECES = 64             /* of which so many are looked at */
};

/* ---- in host memory ------------------------------------------------------------------------------------ */

/* P and J are constants where these are inlined. */

typedef struct row_key {
    uint32_t add, flip;
} row_key;

SPRYI_INLINE row_key key_of(int64_t row)
{
    const uint64_t random = spryi_random(1, (uint64_t)row + 1);
    return (row_key){(uint32_t)random, (uint32_t)(random >> 32)};
}

/* One product of 32 bits, of which vector units do several at once. */
SPRYI_INLINE uint64_t hash_entry(row_key key, int64_t column)
{
    const uint32_t c = (uint32_t)((uint64_t)column ^ (uint64_t)column >> 32);
    return (uint64_t)(c + key.add) * (c ^ key.flip);
}

SPRYI_INLINE int is_sampled(int64_t row, int64_t step)
{
    return step == 1 || row / ROWS % step == 0;
}

SPRYI_INLINE uint64_t hash_rows(const spry_arrays *a, int64_t block, spry_index_type P, spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->rows ? (block + 1) * ROWS : a->rows;
    for (int64_t i = block * ROWS; i < end; i++) {
        const row_key key = key_of(i);
        const int64_t last = spryi_index_at(a->offsets, P, i + 1);
        for (int64_t k = spryi_index_at(a->offsets, P, i); k < last; k++)
            sum += hash_entry(key, spryi_index_at(a->indices, J, k));
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_columns(const spry_arrays *a, int64_t block, int64_t step, spry_index_type P,
                                   spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->cols ? (block + 1) * ROWS : a->cols;
    for (int64_t j = block * ROWS; j < end; j++) {
        const int64_t last = spryi_index_at(a->offsets, P, j + 1);
        for (int64_t k = spryi_index_at(a->offsets, P, j); k < last; k++) {
            const int64_t row = spryi_index_at(a->indices, J, k);
            if (is_sampled(row, step)) sum += hash_entry(key_of(row), j);
        }
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_triples(const spry_arrays *a, int64_t block, int64_t step, spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->nnz ? (block + 1) * ROWS : a->nnz;
    for (int64_t k = block * ROWS; k < end; k++) {
        const int64_t row = spryi_index_at(a->row_indices, J, k);
        if (is_sampled(row, step)) sum += hash_entry(key_of(row), spryi_index_at(a->indices, J, k));
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_block_as(const spry_arrays *a, int64_t block, int64_t step, spry_index_type P,
                                    spry_index_type J)
{
    if (a->layout == SPRY_COO) return hash_triples(a, block, step, J);
    if (a->layout == SPRY_CSC) return hash_columns(a, block, step, P, J);
    return block % step == 0 ? hash_rows(a, block, P, J) : 0;
}

static uint64_t hash_block(const spry_arrays *a, int64_t block, int64_t step)
{
    if (a->index_type == SPRY_I64) return hash_block_as(a, block, step, SPRY_I64, SPRY_I64);
    if (a->layout != SPRY_COO && a->offset_type == SPRY_I64) return hash_block_as(a, block, step, SPRY_I64, SPRY_I32);
    return hash_block_as(a, block, step, SPRY_I32, SPRY_I32);
}

typedef struct hash_job {
    const spry_arrays *a;
    int64_t step;
    atomic_ullong sum;
} hash_job;

static void hash_blocks(void *job, int64_t begin, int64_t end)
{
    hash_job *j = job;
    uint64_t sum = 0;
    for (int64_t b = begin; b < end; b++) sum += hash_block(j->a, b, j->step);
    atomic_fetch_add(&j->sum, sum);
}

static uint64_t hash_here(const spry_context *context, const spry_arrays *a)
{
    const int64_t majors = a->layout == SPRY_COO ? a->nnz : a->layout == SPRY_CSC ? a->cols : a->rows;
    hash_job j = {.a = a, .step = 1 + a->nnz / MOST_ENTRIES};
    const int64_t work = a->layout == SPRY_CSR && j.step > 1 ? MOST_ENTRIES : a->nnz;
    spryi_loop(context, spryi_threads(context, (work + majors) / ALONE), (majors + ROWS - 1) / ROWS, 4, hash_blocks,
               &j);
    return j.sum;
}

/* ---- in a device's memory ------------------------------------------------------------------------------- */

static spry_status hash_array(const spryi_device *d, const void *array, int64_t bytes, void *piece, uint64_t *hash,
                              spry_error *err)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE, count = pieces < PIECES ? pieces : PIECES;
    for (int64_t p = 0; array && p < count; p++) {
        const int64_t begin = p * pieces / count * PIECE, left = bytes - begin, size = left < PIECE ? left : PIECE;
        SPRYI_OK_OR_RETURN(d->ops->copy(d, piece, (const char *)array + begin, size, SPRYI_FROM_DEVICE, NULL, err));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, err));
        *hash = XXH3_64bits_withSeed(piece, (size_t)size, *hash);
    }
    return SPRY_OK;
}

static spry_status hash_there(spry_context *context, const spry_arrays *a, uint64_t *hash, spry_error *err)
{
    const spryi_device *d = spryi_device_at(context, a->device);
    const int64_t offset = (int64_t)spry_index_type_bytes(a->offset_type);
    const int64_t index = (int64_t)spry_index_type_bytes(a->index_type);
    const int64_t majors = a->layout == SPRY_CSC ? a->cols : a->rows;
    void *piece = NULL;
    spry_status status = SPRY_OK;
    *hash = (uint64_t)a->layout;
    SPRYI_TRY(spryi_allocate(context, &piece, PIECE, 1, "a piece of an array", err));
    if (a->layout != SPRY_COO) SPRYI_TRY(hash_array(d, a->offsets, (majors + 1) * offset, piece, hash, err));
    if (a->layout == SPRY_COO) SPRYI_TRY(hash_array(d, a->row_indices, a->nnz * index, piece, hash, err));
    SPRYI_TRY(hash_array(d, a->indices, a->nnz * index, piece, hash, err));
done:
    spryi_release(context, piece);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

/* The number of bits: counts within a factor of 2 are of one class. 0: no number is expected. */
static int class_of(int64_t calls)
{
    int bits = 0;
    for (; calls > 0; calls >>= 1) bits++;
    return bits;
}

static void tell(const spry_spmv_plan *plan, spry_choice_info *asked)
{
    const spry_arrays *a = &plan->A->a;
    const spry_spmv_options *o = &plan->options;
    const spryi_device *d = plan->device;
    const spry_index_type offset = a->layout == SPRY_COO ? a->index_type : a->offset_type;
    *asked = (spry_choice_info){.struct_size = sizeof *asked,
                                .rows = a->rows,
                                .cols = a->cols,
                                .nnz = a->nnz,
                                .op = plan->op,
                                .calls = o->expected_calls > 0 ? spryi_calls_counted(o) : 0};
    snprintf(asked->device, sizeof asked->device, "%s%s%s %.40s", d->driver->name, d->simd && d->simd[0] ? " " : "",
             d->simd ? d->simd : "", d->description);
    snprintf(asked->types, sizeof asked->types, "%s %s %d/%d", spry_type_name(a->value_type),
             spry_type_name(plan->vector_type), 8 * (int)spry_index_type_bytes(offset),
             8 * (int)spry_index_type_bytes(a->index_type));
}

spry_status spryi_fingerprint(const spry_spmv_plan *plan, spry_choice_info *asked, spry_error *err)
{
    const spry_spmv_options *o = &plan->options;
    const spryi_device *d = plan->device;
    char text[512];
    uint64_t structure = 0;
    if (plan->A->a.device == 0)
        structure = hash_here(plan->context, &plan->A->a);
    else
        SPRYI_OK_OR_RETURN(hash_there(plan->context, &plan->A->a, &structure, err));
    tell(plan, asked);
    const int threads = !d->driver->host_memory ? 0 : o->threads > 0 ? o->threads : plan->context->threads;
    const int length =
        snprintf(text, sizeof text, "%s|%s|%d|%s|%d|%lld %lld %lld|%016llx|%d %d|%d %d|%lld %d|%d|%d|%lld",
                 spry_version(), asked->device, d->units, asked->types, threads, (long long)asked->rows,
                 (long long)asked->cols, (long long)asked->nnz, (unsigned long long)structure, (int)plan->op,
                 (int)o->op, o->vector_device == d->number, plan->A->a.device == d->number,
                 (long long)(o->columns > 1 ? o->columns : 1), o->row_major, class_of(asked->calls),
                 o->allow_nondeterministic != 0, (long long)o->memory_limit_bytes);
    snprintf(asked->fingerprint, sizeof asked->fingerprint, "%016llx",
             (unsigned long long)XXH3_64bits(text, (size_t)length));
    return SPRY_OK;
}
