/* Packed slices back to CSR: rows are counted, then each slot's entries are copied behind those of the slots before. */
#ifndef SPRY_FN
#include "base/context.h"
#include "base/error.h"
#include "formats/packed/packed_reader.h"
#include "formats/shared/long_rows.h"
#include "formats/shared/owned_arrays.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/packed/packed_to_csr.c" /* its second half */
#include "base/instantiate.h"

typedef void (*copy_fn)(const spryi_packed_reader *r, const int64_t *offsets, int32_t *next, void *columns,
                        void *values);
static const copy_fn copy_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(copy_slot);

/* offsets[i + 1] = the entries of row i of the slice. */
static void count_rows(const spryi_packed *s, int64_t slice, int64_t *offsets)
{
    const spryi_packed_view v = spryi_packed_view_of(s, slice);
    const uint32_t lanes = spryi_packed_row_mask(&v);
    int32_t length[SPRYI_PACKED_LANES] = {0};
    for (int k = 0; k < v.width; k++) {
        const uint32_t mask = spryi_packed_slot_mask(&v, k);
        for (int l = 0; l < SPRYI_PACKED_LANES; l++) length[l] += (int32_t)(mask >> l & 1);
    }
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        for (int r = 0; lanes >> l & 1 && r < v.b; r++) offsets[spryi_packed_row(&v, l) + r + 1] = length[l] * v.b;
}

typedef struct slice_job {
    const spryi_packed *s;
    const spryi_compressed *c;
    copy_fn copy;
} slice_job;

static void count_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t k = begin; k < end; k++) count_rows(j->s, k, j->c->offsets);
}

static void copy_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t k = begin; k < end; k++) {
        spryi_packed_reader reader;
        int32_t next[SPRYI_PACKED_LANES] = {0};
        spryi_packed_open(&reader, j->s, k);
        while (spryi_packed_next(&reader)) j->copy(&reader, j->c->offsets, next, j->c->indices, j->c->values);
    }
}

spry_status spryi_packed_to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_packed *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    slice_job j = {s, &c, SPRYI_INSTANCE(copy_table, &s->a)};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    const int threads = spryi_threads(context, s->a.nnz + s->a.rows);
    spryi_loop(context, threads, s->slice_count, 0, count_slices, &j);
    for (int64_t n = 0; n < s->long_count; n++)
        c.offsets[s->long_rows[n] + 1] = s->pieces[s->long_first[n + 1]] - s->pieces[s->long_first[n]];
    spryi_scan(c.offsets, s->a.rows);
    spryi_loop(context, threads, s->slice_count, 0, copy_slices, &j);
    spryi_copy_long_rows(&SPRYI_LONG_ROWS_OF(s), &s->a, &c);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

#else /* once for each value type and type of columns */

/* Entries of the reader's slot to the rows' ends: next[l] of lane l have been copied. */
static void SPRY_FN(copy_slot)(const spryi_packed_reader *r, const int64_t *offsets, int32_t *next, void *columns,
                               void *values)
{
    const SPRY_B *Vx = r->s->values;
    const int b = r->v.b;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(r->mask >> l & 1)) continue;
        for (int e = 0; e < b * b; e++) {
            const int64_t to = offsets[spryi_packed_row(&r->v, l) + e / b] + (int64_t)next[l] * b + e % b;
            ((SPRY_J *)columns)[to] = (SPRY_J)(r->column[l] * b + e % b);
            if (values) ((SPRY_B *)values)[to] = Vx[r->at + (int64_t)e * r->stride + r->rank[l]];
        }
        next[l]++;
    }
}

#endif
