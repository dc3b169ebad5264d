/*
 * The storage of format ell: its size, its build from CSR, the conversion back to CSR, and its sections in containers.
 *
 * The build fills blocks of rows in parallel. Within a block it fills a few rows at a time, so that their CSR entries
 * and slots remain in the cache.
 */
#ifndef SPRYI_TEMPLATE
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/ell/ell.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"

enum {
    CHUNK_ROWS = 256, /* rows that one task copies back to CSR */
    FEW_ROWS = 64,    /* rows filled together if width <= SPRYI_TILE_SLOTS: they remain in the L1 cache */
    MANY_ROWS = 512,  /* rows filled together if width is larger, for longer streams of stores */
    BLOCK_UNIT = 64   /* block sizes, except the last, are multiples of this, so that blocks hold whole slices */
};
_Static_assert(SPRYI_ELL_LEAST_ROWS % BLOCK_UNIT == 0, "blocks are whole units");

/* ---- sections ---------------------------------------------------------------------------------------- */

static int list_sections(void *storage, spryi_section *list)
{
    spryi_ell *s = storage;
    const spry_arrays *a = &s->a;
    const int64_t slots = spryi_size_product(a->rows, s->width), m = a->rows;
    const int64_t slices = m < 0 ? -1 : m / SPRYI_ELL_SLICE + (m % SPRYI_ELL_SLICE != 0);
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] =
        (spryi_section){"width", NULL, &s->width, 3, sizeof s->width}; /* width, block_rows and block_count */
    list[count++] = (spryi_section){"lengths", (void **)&s->lengths, NULL, m, sizeof *s->lengths};
    list[count++] = (spryi_section){"runs", (void **)&s->runs, NULL, slices, sizeof *s->runs};
    list[count++] =
        (spryi_section){"columns", &s->columns, NULL, slots, (int64_t)spryi_index_type_bytes(a->index_type)};
    list[count++] = (spryi_section){"values", &s->values, NULL, slots, (int64_t)spry_type_bytes(a->value_type)};
    return count;
}

/* ---- size -------------------------------------------------------------------------------------------- */

spry_status spryi_ell_cost(spryi_cost *cost, int64_t width, const spry_arrays *csr, spry_error *err)
{
    int64_t slots, bytes;
    int64_t size = (int64_t)(spry_type_bytes(csr->value_type) + spryi_index_type_bytes(csr->index_type));
    if (width > INT32_MAX || __builtin_mul_overflow(csr->rows, width, &slots) ||
        __builtin_mul_overflow(slots, size, &bytes) || bytes > INT64_MAX / 2)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "format", width, INT32_MAX,
                                "ell of %lld rows and width %lld is larger than any memory", (long long)csr->rows,
                                (long long)width);
    cost->words = 2 * slots;
    cost->bytes = bytes + csr->rows * (int64_t)sizeof(int32_t) +
                  spryi_blocks_of(csr->rows, SPRYI_ELL_SLICE); /* lengths and runs */
    return SPRY_OK;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    int64_t width = spryi_longest_row(context, a);
    spry_status status = spryi_ell_cost(cost, width, a, err);
    if (status == SPRY_OK) cost->padding = a->rows * width - a->nnz;
    return status;
}

/* ---- build ------------------------------------------------------------------------------------------- */

#define SPRYI_TEMPLATE "formats/shared/slots_fill.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/ell/ell_format.c" /* its last part */
#include "base/instantiate.h"

typedef int64_t (*fill_fn)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end);
typedef void (*copy_fn)(const spryi_ell *e, const int64_t *offsets, void *columns, void *values, int64_t begin,
                        int64_t end);
static const fill_fn fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_block);
static const copy_fn copy_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(copy_rows);

#define SPRYI_TEMPLATE "formats/ell/ell_format.c" /* its second part */
#include "base/instantiate_indices.h"

/* Returns the number of rows in a block. */
static int64_t rows_of_block(int64_t rows, int64_t width)
{
    int64_t by_entries = SPRYI_ELL_BLOCK_ENTRIES / (width > 0 ? width : 1), by_rows = rows / SPRYI_ELL_BLOCKS;
    int64_t wanted = by_entries < by_rows ? by_entries : by_rows;
    if (wanted < SPRYI_ELL_LEAST_ROWS) wanted = SPRYI_ELL_LEAST_ROWS;
    return (wanted + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

typedef struct ell_job {
    const spryi_ell *s;
    const spry_arrays *csr; /* source of the slots */
    atomic_llong nnz;
    const int64_t *offsets; /* CSR arrays to which slots are copied: offsets, columns, values */
    void *columns, *values;
} ell_job;

static void fill_blocks(void *job, int64_t begin, int64_t end)
{
    ell_job *j = job;
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * j->s->block_rows, last = spryi_block_end(b, j->s->block_rows, j->csr->rows);
        atomic_fetch_add(&j->nnz, SPRYI_INSTANCE(fill_table, j->csr)(j->s, j->csr, first, last));
        SPRYI_BY_PAIR(j->csr, find_runs, j->s, j->csr, first, last);
    }
}

spry_status spryi_ell_build(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int64_t m = csr->rows;
    s->a = spryi_shape_of(csr);
    s->width = width;
    s->block_rows = rows_of_block(m, width);
    s->block_count = spryi_blocks_of(m, s->block_rows);
    SPRYI_TRY(spryi_allocate_arrays(context, s, list_sections, err));
    ell_job j = {.s = s, .csr = csr};
    spryi_loop(context, spryi_threads(context, m + m * width), s->block_count, 1, fill_blocks, &j);
    s->a.nnz = j.nnz;
done:
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_ell *s = storage;
    spryi_cost cost = {0};
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "ell", &cost, err));
    SPRYI_OK_OR_RETURN(spryi_ell_build(context, s, a, a->rows > 0 ? (a->nnz + cost.padding) / a->rows : 0, err));
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_OK_OR_RETURN(spryi_windows_build(context, &s->windows, a, 1, err));
    return SPRY_OK;
}

/* ---- back to CSR ------------------------------------------------------------------------------------- */

static void copy_rows(void *job, int64_t begin, int64_t end)
{
    const ell_job *j = job;
    for (int64_t i = begin; i < end; i += CHUNK_ROWS) SPRYI_INSTANCE(copy_table, &j->s->a)
    (j->s, j->offsets, j->columns, j->values, i, i + CHUNK_ROWS < end ? i + CHUNK_ROWS : end);
}

void spryi_ell_copy_entries(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns,
                            void *values)
{
    spryi_loop(context, spryi_threads(context, s->a.rows * s->width), s->a.rows, CHUNK_ROWS, copy_rows,
               &(ell_job){.s = s, .offsets = offsets, .columns = columns, .values = values});
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_ell *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    for (int64_t i = 0; i < s->a.rows; i++) c.offsets[i + 1] = s->lengths[i];
    spryi_scan(c.offsets, s->a.rows);
    spryi_ell_copy_entries(context, s, c.offsets, c.indices, c.values);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- containers -------------------------------------------------------------------------------------- */

/*
 * Returns true if rows begin .. end - 1 are a strided run: in one block, of equal length, with columns that are the
 * previous row's plus one.
 */
static bool is_run(const spryi_ell *s, int64_t begin, int64_t end)
{
    if (end > s->a.rows || end - begin > s->block_rows - begin % s->block_rows || s->lengths[begin] == 0) return false;
    for (int64_t i = begin + 1; i < end; i++) {
        if (s->lengths[i] != s->lengths[begin]) return false;
        for (int64_t k = i; k < s->lengths[i] * s->a.rows + i; k += s->a.rows)
            if (spryi_index_at(s->columns, s->a.index_type, k) !=
                spryi_index_at(s->columns, s->a.index_type, k - 1) + 1)
                return false;
    }
    return true;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_ell *s = storage;
    spry_status status = spryi_check_shape(&s->a, "ell", err);
    if (status != SPRY_OK) return status;
    const int64_t m = s->a.rows;
    if (s->a.value_type == SPRY_PATTERN || s->width < 0 || s->width > INT32_MAX ||
        spryi_size_product(m, s->width) < 0 || s->block_rows < SPRYI_ELL_SLICE ||
        s->block_rows % SPRYI_ELL_SLICE != 0 || s->block_count != m / s->block_rows + (m % s->block_rows != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "ell: width %lld, %lld blocks of %lld rows do not fit %lld rows",
                          (long long)s->width, (long long)s->block_count, (long long)s->block_rows, (long long)m);
    int64_t nnz = 0;
    for (int64_t i = 0; i < m; i++) {
        if (s->lengths[i] < 0 || s->lengths[i] > s->width)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, s->lengths[i], s->width,
                                    "ell: row %lld (counted from 0) has %d entries, expected 0 to %lld", (long long)i,
                                    (int)s->lengths[i], (long long)s->width);
        nnz += s->lengths[i];
    }
    if (nnz != s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, nnz, s->a.nnz, "ell: rows have %lld entries, expected %lld",
                                (long long)nnz, (long long)s->a.nnz);
    status = spryi_check_columns(&s->a, s->columns, m * s->width, "ell", err);
    for (int64_t i = 0; status == SPRY_OK && i < m; i += SPRYI_ELL_SLICE) {
        int64_t rows = s->runs[i / SPRYI_ELL_SLICE] * (int64_t)SPRYI_ELL_SLICE;
        if (rows > 0 && !is_run(s, i, i + rows))
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, i, m,
                                    "ell: rows %lld to %lld (counted from 0) are listed as a run but do not step",
                                    (long long)i, (long long)(i + rows - 1));
        if (rows > 0) i += rows - SPRYI_ELL_SLICE;
    }
    return status;
}

const spryi_format spryi_format_ell = {
    .name = "ell",
    .title = "ELLPACK, padded to the longest row",
    .formula = "m*w values + m*w columns + m lengths, w the longest row",
    .best_for = "rows of nearly equal length: grids, bands",
    .predict = predict,
    .build = build,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_ell),
    .layout.windows_at = offsetof(spryi_ell, windows),
    .layout.host_only = "runs",
    .layout.sections_lack_columns = 1,
    .layout.sections = list_sections,
    .check = check,
    .choice.estimator = &spryi_ell_estimator,
    .choice.tree_answers = SPRYI_TREE_UNIFORM,
};

#elif !defined SPRYI_ROW /* for each pair of index types (base/instantiate_indices.h) */

/*
 * Returns true if rows i - 1 .. i + count - 1 have equal lengths, not 0, and the columns of each row are the previous
 * row's plus one.
 */
static bool SPRY_FN(step)(const spryi_ell *e, const spry_arrays *csr, int64_t i, int64_t count)
{
    const SPRY_P *Ap = csr->offsets;
    const int32_t length = e->lengths[i];
    int32_t differs = length == 0 || e->lengths[i - 1] != length;
    for (int64_t r = i + 1; r < i + count; r++) differs |= e->lengths[r] ^ length;
    if (differs) return false;
    const int64_t entries = count * length;
    if (Ap[i + count - 1] - Ap[i - 1] == entries) { /* no row before the last has more entries in CSR: contiguous */
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
        SPRY_J unequal = 0;
        for (int64_t k = 0; k < entries; k++) unequal |= (Aj[k] - Aj[k - length]) ^ 1;
        return unequal == 0;
    }
    for (int64_t r = i; r < i + count; r++) {
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[r], *before = (const SPRY_J *)csr->indices + Ap[r - 1];
        for (int64_t k = 0; k < length; k++)
            if (Aj[k] - before[k] != 1) return false;
    }
    return true;
}

/* Finds the runs of slices in rows begin .. end - 1, which are a block. */
static void SPRY_FN(find_runs)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* length of the run that the next slice may extend */
    for (int64_t i = begin; i < end; i += SPRYI_ELL_SLICE) {
        uint8_t *slice = e->runs + i / SPRYI_ELL_SLICE;
        *slice = 0;
        if (i + SPRYI_ELL_SLICE > end || !SPRY_FN(step)(e, csr, i + 1, SPRYI_ELL_SLICE - 1)) {
            run = NULL;
        } else if (run && *run < SPRYI_ELL_MOST_RUN && SPRY_FN(step)(e, csr, i, 1)) {
            ++*run;
        } else {
            run = slice;
            *run = 1;
        }
    }
}

#else /* for each value type and pair of index types (base/instantiate.h) */

/* Sets lengths[i] to the number of entries of row i in the slots, and *least to the smallest. Returns their sum. */
static int64_t SPRY_FN(set_lengths)(const spryi_ell *e, const SPRY_P *Ap, int64_t begin, int64_t end, int32_t *least)
{
    const SPRY_P width = (SPRY_P)e->width;
    int32_t low = INT32_MAX;
    int64_t sum = 0;
    for (int64_t i = begin; i < end; i++) {
        SPRY_P length = Ap[i + 1] - Ap[i] < width ? Ap[i + 1] - Ap[i] : width;
        e->lengths[i] = (int32_t)length;
        low = (int32_t)length < low ? (int32_t)length : low;
        sum += length;
    }
    *least = low;
    return sum;
}

/* Fills a block. Returns the number of its entries. */
static int64_t SPRY_FN(fill_block)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    const int64_t chunk = e->width <= SPRYI_TILE_SLOTS ? FEW_ROWS : MANY_ROWS;
    int64_t entries = 0;
    for (int64_t i = begin; i < end; i += chunk) {
        const int64_t to = i + chunk < end ? i + chunk : end;
        int32_t least;
        entries += SPRY_FN(set_lengths)(e, csr->offsets, i, to, &least);
        const SPRY_FN(lanes) rows = {.Aj = csr->indices,
                                     .Ax = csr->values,
                                     .first = (const SPRY_P *)csr->offsets + i,
                                     .lengths = e->lengths + i,
                                     .count = to - i,
                                     .columns = (SPRY_J *)e->columns + i,
                                     .values = (SPRY_B *)e->values + i,
                                     .stride = e->a.rows};
        SPRY_FN(fill_lanes)(&rows, e->width, least, csr->nnz > 0 ? *(const SPRY_J *)csr->indices : 0);
    }
    return entries;
}

/* Copies the entries of rows to their positions in CSR. */
static void SPRY_FN(copy_rows)(const spryi_ell *e, const int64_t *offsets, void *to_columns, void *to_values,
                               int64_t begin, int64_t end)
{
    for (int64_t s = 0; s < e->width; s++) {
        const SPRY_B *values = (const SPRY_B *)e->values + s * e->a.rows;
        const SPRY_J *columns = (const SPRY_J *)e->columns + s * e->a.rows;
        for (int64_t i = begin; i < end; i++) {
            if (s >= e->lengths[i]) continue;
            ((SPRY_J *)to_columns)[offsets[i] + s] = columns[i];
            ((SPRY_B *)to_values)[offsets[i] + s] = values[i];
        }
    }
}

#endif
