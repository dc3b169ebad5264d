/* From CSR to the slots and back. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/ell/ell.h"

enum {
    CHUNK_ROWS = 256, /* taken back at a time */
    FEW_ROWS = 64,    /* filled at a time where one tile holds all slots: they stay in the first-level cache */
    MANY_ROWS = 512,  /* where there are more slots, so many streams that each should be long */
    BLOCK_UNIT = 64   /* rows that a block is a multiple of, but for the last: whole slices too */
};
_Static_assert(SPRYI_ELL_LEAST_ROWS % BLOCK_UNIT == 0, "blocks are whole units");

#define SPRYI_TEMPLATE "formats/ell/ell_build.tmpl.c"
#include "core/instantiate.h"

typedef int64_t (*fill_fn)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end);
typedef void (*take_fn)(const spryi_ell *e, const int64_t *offsets, void *columns, void *values, int64_t begin,
                        int64_t end);
static const fill_fn fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_block);
static const take_fn take_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(take_rows);

/* Rows a block. */
static int64_t rows_of_block(int64_t rows, int64_t width)
{
    int64_t by_entries = SPRYI_ELL_BLOCK_ENTRIES / (width > 0 ? width : 1), by_rows = rows / SPRYI_ELL_BLOCKS;
    int64_t wanted = by_entries < by_rows ? by_entries : by_rows;
    if (wanted < SPRYI_ELL_LEAST_ROWS) wanted = SPRYI_ELL_LEAST_ROWS;
    return (wanted + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

spry_status spryi_ell_make(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int64_t m = csr->rows, slots = m * width;
    s->a = *csr;
    s->a.offsets = s->a.indices = s->a.values = NULL;
    s->a.ownership = SPRY_COPY;
    s->a.symmetry = SPRY_GENERAL;
    s->width = width;
    s->block_rows = rows_of_block(m, width);
    s->block_count = (m + s->block_rows - 1) / s->block_rows;
    SPRYI_TRY(SPRYI_NEW(context, &s->lengths, m, "row lengths", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->runs, (m + SPRYI_ELL_SLICE - 1) / SPRYI_ELL_SLICE, "slice runs", err));
    SPRYI_TRY(spryi_allocate(context, &s->columns, slots, spry_index_type_bytes(csr->index_type), "ell columns", err));
    SPRYI_TRY(spryi_allocate(context, &s->values, slots, spry_type_bytes(csr->value_type), "ell values", err));
    const fill_fn fill =
        fill_table[spryi_value_slot(csr->value_type)][spryi_index_pair(csr->offset_type, csr->index_type)];
    int threads = spryi_threads(context, m + slots);
    int64_t nnz = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : nnz)
    for (int64_t b = 0; b < s->block_count; b++) {
        int64_t begin = b * s->block_rows, end = begin + s->block_rows < m ? begin + s->block_rows : m;
        nnz += fill(s, csr, begin, end);
    }
    s->a.nnz = nnz;
done:
    return status;
}

void spryi_ell_take(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns, void *values)
{
    const take_fn take =
        take_table[spryi_value_slot(s->a.value_type)][spryi_index_pair(s->a.offset_type, s->a.index_type)];
    int threads = spryi_threads(context, s->a.rows * s->width);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < s->a.rows; i += CHUNK_ROWS)
        take(s, offsets, columns, values, i, i + CHUNK_ROWS < s->a.rows ? i + CHUNK_ROWS : s->a.rows);
}

spry_status spryi_ell_start_csr(spry_context *context, spryi_compressed *c, const spry_arrays *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    *c = (spryi_compressed){.majors = a->rows, .minors = a->cols, .nnz = a->nnz};
    c->index_type = a->index_type;
    c->value_type = a->value_type;
    SPRYI_TRY(SPRYI_NEW(context, &c->offsets, a->rows + 1, "row offsets", err));
    SPRYI_TRY(spryi_allocate(context, &c->indices, a->nnz, spry_index_type_bytes(a->index_type), "columns", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_TRY(spryi_allocate(context, &c->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
done:
    return status;
}

spry_status spryi_ell_finish_csr(spry_context *context, spry_matrix **csr, spryi_compressed *c, const spry_arrays *a,
                                 spry_error *err)
{
    spry_status status =
        spryi_compressed_finish(context, csr, c, SPRY_CSR, a->offset_type, a->unique, SPRY_GENERAL, SPRYI_REAL, err);
    if (status == SPRY_OK) (*csr)->a.sorted = a->sorted;
    return status;
}
