/* The storage of format ell: its size, its build, CSR of it, and what containers need. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/ell/ell.h"
#include "formats/shared/padding_guard.h"
#include "matrix/row_lengths.h"

spry_status spryi_ell_cost(spryi_cost *cost, int64_t width, const spry_arrays *csr, spry_error *err)
{
    int64_t slots, bytes;
    int64_t size = (int64_t)(spry_type_bytes(csr->value_type) + spry_index_type_bytes(csr->index_type));
    if (width > INT32_MAX || __builtin_mul_overflow(csr->rows, width, &slots) ||
        __builtin_mul_overflow(slots, size, &bytes) || bytes > INT64_MAX / 2)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "format", width, INT32_MAX,
                                "ell of %lld rows and width %lld is larger than any memory", (long long)csr->rows,
                                (long long)width);
    cost->words = 2 * slots;
    cost->bytes = bytes + csr->rows * (int64_t)sizeof(int32_t) +
                  spryi_blocks_of(csr->rows, SPRYI_ELL_SLICE); /* lengths, runs */
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

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_ell *s = storage;
    spryi_cost cost = {0};
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "ell", &cost, err));
    SPRYI_OK_OR_RETURN(spryi_ell_make(context, s, a, a->rows > 0 ? (a->nnz + cost.padding) / a->rows : 0, err));
    if (request->options->op == SPRY_TRANSPOSE) SPRYI_OK_OR_RETURN(spryi_windows_make(context, &s->windows, a, 1, err));
    return SPRY_OK;
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_ell *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    for (int64_t i = 0; i < s->a.rows; i++) c.offsets[i + 1] = s->lengths[i];
    spryi_scan(c.offsets, s->a.rows);
    spryi_ell_take(context, s, c.offsets, c.indices, c.values);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- containers ------------------------------------------------------------------------------------ */

void spryi_ell_sections(spry_arrays *a, spryi_ell *s, spryi_section *sections, int *count)
{
    spryi_list_shape(a, sections, count);
    sections[(*count)++] = (spryi_section){"width", NULL, &s->width, 3, sizeof s->width}; /* and the two of blocks */
    const int64_t slots = spryi_size_product(a->rows, s->width), m = a->rows;
    const int64_t slices = m < 0 ? -1 : m / SPRYI_ELL_SLICE + (m % SPRYI_ELL_SLICE != 0);
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(a->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(a->value_type);
    sections[(*count)++] = (spryi_section){"lengths", (void **)&s->lengths, NULL, m, sizeof *s->lengths};
    sections[(*count)++] = (spryi_section){"runs", (void **)&s->runs, NULL, slices, sizeof *s->runs};
    sections[(*count)++] = (spryi_section){"columns", &s->columns, NULL, slots, index_bytes};
    sections[(*count)++] = (spryi_section){"values", &s->values, NULL, slots, value_bytes};
}

int spryi_ell_list(void *storage, spryi_section *list)
{
    int count = 0;
    spryi_ell *s = storage;
    spryi_ell_sections(&s->a, s, list, &count);
    return count;
}

/* A strided run ends in its block, its rows have one length, and their columns step. */
static int run_holds(const spryi_ell *s, int64_t begin, int64_t end)
{
    if (end > s->a.rows || end - begin > s->block_rows - begin % s->block_rows || s->lengths[begin] == 0) return 0;
    for (int64_t i = begin + 1; i < end; i++) {
        if (s->lengths[i] != s->lengths[begin]) return 0;
        for (int64_t k = i; k < s->lengths[i] * s->a.rows + i; k += s->a.rows)
            if (spryi_index_at(s->columns, s->a.index_type, k) !=
                spryi_index_at(s->columns, s->a.index_type, k - 1) + 1)
                return 0;
    }
    return 1;
}

spry_status spryi_ell_check(const spryi_ell *s, spry_error *err)
{
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
        if (rows > 0 && !run_holds(s, i, i + rows))
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, i, m,
                                    "ell: rows %lld to %lld (counted from 0) do not step, as said", (long long)i,
                                    (long long)(i + rows - 1));
        if (rows > 0) i += rows - SPRYI_ELL_SLICE;
    }
    return status;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    return spryi_ell_check(storage, err);
}

const spryi_format spryi_format_ell = {
    .name = "ell",
    .title = "ELLPACK, padded to the longest row",
    .storage = "m*w values + m*w columns + m lengths, w the longest row",
    .best_for = "rows of nearly one length: grids, bands",
    .predict = predict,
    .build = build,
    .to_csr = to_csr,
    .storage_size = sizeof(spryi_ell),
    .windows_at = offsetof(spryi_ell, windows),
    .host_only = "runs",
    .transposed_apart = 1,
    .sections = spryi_ell_list,
    .check = check,
    .estimator = &spryi_ell_estimator,
    .tree_answers = SPRYI_TREE_UNIFORM,
};
