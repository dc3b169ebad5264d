/* From CSR to the slots and back. */
#include "base/context.h"
#include "base/error.h"
#include "formats/ell/ell.h"
#include "formats/shared/slots.h"
#include "matrix/assemble.h"

enum {
    CHUNK_ROWS = 256, /* taken back at a time */
    FEW_ROWS = 64,    /* filled at a time where one tile holds all slots: they stay in the first-level cache */
    MANY_ROWS = 512,  /* where there are more slots, so many streams that each should be long */
    BLOCK_UNIT = 64   /* rows that a block is a multiple of, but for the last: whole slices too */
};
_Static_assert(SPRYI_ELL_LEAST_ROWS % BLOCK_UNIT == 0, "blocks are whole units");

#define SPRYI_TEMPLATE "formats/shared/slots_fill.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/ell/ell_build.tmpl.c"
#include "base/instantiate.h"

typedef int64_t (*fill_fn)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end);
typedef void (*take_fn)(const spryi_ell *e, const int64_t *offsets, void *columns, void *values, int64_t begin,
                        int64_t end);
static const fill_fn fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_block);
static const take_fn take_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(take_rows);

#define SPRYI_TEMPLATE "formats/ell/ell_runs.tmpl.c"
#include "base/instantiate_indices.h"

/* Rows of a block. */
static int64_t rows_of_block(int64_t rows, int64_t width)
{
    int64_t by_entries = SPRYI_ELL_BLOCK_ENTRIES / (width > 0 ? width : 1), by_rows = rows / SPRYI_ELL_BLOCKS;
    int64_t wanted = by_entries < by_rows ? by_entries : by_rows;
    if (wanted < SPRYI_ELL_LEAST_ROWS) wanted = SPRYI_ELL_LEAST_ROWS;
    return (wanted + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

typedef struct ell_job {
    const spryi_ell *s;
    const spry_arrays *csr; /* of filling */
    fill_fn fill;
    atomic_llong nnz;
    take_fn take;
    const int64_t *offsets; /* of taking */
    void *columns, *values;
} ell_job;

static void fill_blocks(void *job, int64_t begin, int64_t end)
{
    ell_job *j = job;
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * j->s->block_rows, last = spryi_block_end(b, j->s->block_rows, j->csr->rows);
        atomic_fetch_add(&j->nnz, j->fill(j->s, j->csr, first, last));
        SPRYI_BY_PAIR(j->csr, find_runs, j->s, j->csr, first, last);
    }
}

static void take_rows(void *job, int64_t begin, int64_t end)
{
    const ell_job *j = job;
    for (int64_t i = begin; i < end; i += CHUNK_ROWS)
        j->take(j->s, j->offsets, j->columns, j->values, i, i + CHUNK_ROWS < end ? i + CHUNK_ROWS : end);
}

spry_status spryi_ell_make(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int64_t m = csr->rows;
    s->a = spryi_shape_of(csr);
    s->width = width;
    s->block_rows = rows_of_block(m, width);
    s->block_count = spryi_blocks_of(m, s->block_rows);
    SPRYI_TRY(spryi_allocate_arrays(context, s, spryi_ell_list, err));
    ell_job j = {.s = s, .csr = csr, .fill = SPRYI_INSTANCE(fill_table, csr)};
    spryi_loop(context, spryi_threads(context, m + m * width), s->block_count, 1, fill_blocks, &j);
    s->a.nnz = j.nnz;
done:
    return status;
}

void spryi_ell_take(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns, void *values)
{
    ell_job j = {.s = s, .take = SPRYI_INSTANCE(take_table, &s->a), .offsets = offsets, .columns = columns};
    j.values = values;
    spryi_loop(context, spryi_threads(context, s->a.rows * s->width), s->a.rows, CHUNK_ROWS, take_rows, &j);
}
