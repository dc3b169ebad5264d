/*
 * The storage of format hyb: the width of the ELL part, the size, the build from CSR, the conversion back to CSR, and
 * the sections in containers. ell_format.c fills the ELL part. The rest is filled by chunks of rows in parallel.
 */
#ifndef SPRYI_TEMPLATE
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/hyb/hyb.h"
#include "formats/shared/storage_limits.h"
#include "matrix/row_lengths.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK_ROWS = 4096 };

#define SPRYI_TEMPLATE "formats/hyb/hyb_format.c" /* its second half */
#include "base/instantiate.h"

typedef void (*fill_fn)(const spryi_hyb *h, const spry_arrays *csr, int64_t begin, int64_t end, int64_t k);
typedef void (*copy_fn)(const spryi_hyb *h, const int64_t *offsets, void *columns, void *values, int64_t k,
                        int64_t end);
static const fill_fn fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_rest);
static const copy_fn copy_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(copy_rest);

/* ---- width and size ---------------------------------------------------------------------------------- */

typedef struct hyb_job {
    const spryi_hyb *s;
    const spry_arrays *csr;
    int64_t width;
    int64_t *at; /* first COO entry of each chunk of rows */
    const spryi_compressed *to;
    atomic_llong rest;
} hyb_job;

/* Returns the number of entries beyond `width` in rows begin .. end - 1. */
static int64_t rest_of_rows(const spry_arrays *csr, int64_t begin, int64_t end, int64_t width)
{
    int64_t rest = 0;
    for (int64_t i = begin; i < end; i++) {
        int64_t length = spryi_row_length(csr, i);
        rest += length > width ? length - width : 0;
    }
    return rest;
}

static void count_rest(void *job, int64_t begin, int64_t end)
{
    hyb_job *j = job;
    atomic_fetch_add(&j->rest, rest_of_rows(j->csr, begin, end, j->width));
}

/* Returns the number of entries beyond `width` in all rows. */
static int64_t rest_of(spry_context *context, const spry_arrays *csr, int64_t width)
{
    hyb_job j = {.csr = csr, .width = width};
    spryi_loop(context, spryi_threads(context, csr->rows), csr->rows, CHUNK_ROWS, count_rest, &j);
    return j.rest;
}

/* Sets *width to the least width that holds at least `share` percent of the rows completely. */
static spry_status width_of_share(spry_context *context, int64_t *width, const spry_arrays *csr, int64_t share,
                                  spry_error *err)
{
    const int64_t longest = spryi_longest_row(context, csr);
    const double wanted = (double)share / 100 * (double)csr->rows;
    int64_t *rows_of = NULL, whole;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &rows_of, longest + 1, "row length counts", err));
    memset(rows_of, 0, (size_t)(longest + 1) * sizeof *rows_of);
    (void)spryi_count_lengths(csr, 0, csr->rows, rows_of, longest);
    *width = 0;
    for (whole = rows_of[0]; *width < longest && (double)whole < wanted;) whole += rows_of[++*width];
    spryi_release(context, rows_of);
    return SPRY_OK;
}

enum { WIDTH, SHARE }; /* indices of the parameters */

/* Returns the mean row length, rounded to the nearest integer, halves up. */
static int64_t mean_row(const spry_arrays *a)
{
    return a->rows > 0 ? a->nnz / a->rows + (a->nnz % a->rows >= a->rows - a->nnz % a->rows) : 0;
}

/*
 * Sets *width to the given width, to that of the kernel's parameters, or to the mean row length. If *share > 0 on
 * return, the share decides the width instead.
 */
static spry_status resolve_parameters(int64_t *width, int64_t *share, const spryi_build_request *request,
                                      const spry_arrays *a, spry_error *err)
{
    const int64_t *parameters = request->parameters;
    if (parameters[WIDTH] != 0 && parameters[SHARE] > 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "format hyb: width and share are two rules, give only one");
    *share = parameters[SHARE];
    const int64_t given = parameters[WIDTH] != 0 ? parameters[WIDTH] : request->kernel_parameters[SPRYI_HYB_WIDTH];
    *width = given > 0 ? given : given == SPRYI_GIVEN_ZERO ? 0 : mean_row(a);
    return SPRY_OK;
}

static spry_status cost_of(spryi_cost *cost, const spry_arrays *a, int64_t width, int64_t rest, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_ell_cost(cost, width, a, err));
    cost->words += 3 * rest;
    cost->bytes += rest * (int64_t)(spry_type_bytes(a->value_type) + 2 * spryi_index_type_bytes(a->index_type));
    cost->padding = a->rows * width - (a->nnz - rest);
    snprintf(cost->parameters, sizeof cost->parameters, "width=%lld", (long long)width);
    return SPRY_OK;
}

static spry_status resolve(spry_context *context, spryi_cost *cost, int64_t *width, int64_t *rest,
                           const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spry_status status = SPRY_OK;
    int64_t share = 0;
    SPRYI_TRY(resolve_parameters(width, &share, request, a, err));
    if (share > 0) SPRYI_TRY(width_of_share(context, width, a, share, err));
    *rest = rest_of(context, a, *width);
    SPRYI_TRY(cost_of(cost, a, *width, *rest, err));
done:
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    int64_t width, rest;
    return resolve(context, cost, &width, &rest, request, err);
}

/* ---- build ------------------------------------------------------------------------------------------- */

static int list_sections(void *storage, spryi_section *list)
{
    spryi_hyb *s = storage;
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(s->ell.a.index_type);
    int count = 0;
    list[count++] = (spryi_section){"rest", NULL, &s->rest, 1, sizeof s->rest};
    count += spryi_format_ell.layout.sections(&s->ell, list + count);
    list[count++] = (spryi_section){"rest_rows", &s->rows, NULL, s->rest, index_bytes};
    list[count++] = (spryi_section){"rest_columns", &s->columns, NULL, s->rest, index_bytes};
    list[count++] =
        (spryi_section){"rest_values", &s->values, NULL, s->rest, (int64_t)spry_type_bytes(s->ell.a.value_type)};
    return count;
}

static void count_rest_of_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++)
        j->at[c + 1] = rest_of_rows(j->csr, c * CHUNK_ROWS, spryi_block_end(c, CHUNK_ROWS, j->csr->rows), j->width);
}

static void fill_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++) SPRYI_INSTANCE(fill_table, j->csr)
    (j->s, j->csr, c * CHUNK_ROWS, spryi_block_end(c, CHUNK_ROWS, j->csr->rows), j->at[c]);
}

/* Fills *s, except its windows. Before the call *s must be zeroed. */
static spry_status fill_storage(spry_context *context, spryi_hyb *s, const spry_arrays *csr, int64_t width,
                                int64_t rest, spry_error *err)
{
    spry_status status = SPRY_OK;
    hyb_job j = {.s = s, .csr = csr, .width = width};
    const int64_t chunks = spryi_blocks_of(csr->rows, CHUNK_ROWS);
    SPRYI_TRY(spryi_ell_build(context, &s->ell, csr, width, err));
    s->ell.a.nnz = csr->nnz;
    s->rest = rest;
    SPRYI_TRY(spryi_allocate_arrays(context, s, list_sections, err));
    if (rest == 0) goto done;
    SPRYI_TRY(SPRYI_NEW(context, &j.at, chunks + 1, "row chunks", err));
    const int threads = spryi_threads(context, csr->rows + rest);
    spryi_loop(context, threads, chunks, 1, count_rest_of_chunks, &j);
    spryi_scan(j.at, chunks);
    spryi_loop(context, threads, chunks, 1, fill_chunks, &j);
done:
    spryi_release(context, j.at);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_hyb *s = storage;
    spryi_cost cost = {0};
    int64_t width = 0, rest = 0;
    SPRYI_OK_OR_RETURN(resolve(context, &cost, &width, &rest, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "hyb", &cost, err));
    SPRYI_OK_OR_RETURN(fill_storage(context, s, a, width, rest, err));
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_OK_OR_RETURN(spryi_windows_build(context, &s->windows, a, 1, err));
    return SPRY_OK;
}

/* ---- back to CSR ------------------------------------------------------------------------------------- */

int64_t spryi_hyb_rest_begin(const spryi_hyb *s, int64_t i)
{
    int64_t k;
    SPRYI_BISECT(k, 0, s->rest, spryi_index_at(s->rows, s->ell.a.index_type, k) < i);
    return k;
}

static void copy_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++) SPRYI_INSTANCE(copy_table, &j->s->ell.a)
    (j->s, j->to->offsets, j->to->indices, j->to->values, spryi_hyb_rest_begin(j->s, c * CHUNK_ROWS),
     spryi_hyb_rest_begin(j->s, spryi_block_end(c, CHUNK_ROWS, j->s->ell.a.rows)));
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_hyb *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    const spryi_ell first = spryi_hyb_ell(s);
    SPRYI_TRY(spryi_start_csr(context, &c, &s->ell.a, err));
    for (int64_t i = 0; i < s->ell.a.rows; i++) c.offsets[i + 1] = s->ell.lengths[i];
    for (int64_t k = 0; k < s->rest; k++) c.offsets[spryi_index_at(s->rows, s->ell.a.index_type, k) + 1]++;
    spryi_scan(c.offsets, s->ell.a.rows);
    spryi_ell_copy_entries(context, &first, c.offsets, c.indices, c.values);
    spryi_loop(context, spryi_threads(context, s->ell.a.rows + s->rest), spryi_blocks_of(s->ell.a.rows, CHUNK_ROWS), 1,
               copy_chunks, &(hyb_job){.s = s, .to = &c});
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->ell.a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- containers and descriptor ----------------------------------------------------------------------- */

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    const spryi_hyb *s = storage;
    spry_status status = SPRY_OK;
    if (s->rest < 0 || s->rest > s->ell.a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, s->rest, s->ell.a.nnz, "hyb: %lld of %lld entries in COO",
                                (long long)s->rest, (long long)s->ell.a.nnz);
    const spryi_ell first = spryi_hyb_ell(s);
    SPRYI_TRY(spryi_format_ell.check(context, &first, err));
    SPRYI_TRY(spryi_check_columns(&s->ell.a, s->columns, s->rest, "hyb", err));
    for (int64_t k = 0, before = 0; k < s->rest; k++) {
        int64_t i = spryi_index_at(s->rows, s->ell.a.index_type, k);
        if (i < before || i >= s->ell.a.rows || first.lengths[i] != first.width)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, i, s->ell.a.rows,
                                    "hyb: entry %lld of the rest is in row %lld (counted from 0), expected rising rows "
                                    "that fill the ELL part",
                                    (long long)k, (long long)i);
        before = i;
    }
done:
    return status;
}

static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_hyb *s = storage;
    if (s->windows.count > 0) return spryi_windows_workspace(&s->windows, vector_type);
    const spryi_coo rest = spryi_hyb_coo(s);
    return spryi_format_coo.workspace_bytes(&rest, vector_type);
}

static const spryi_parameter parameters[] = {
    {"width", 0, INT32_MAX, "entries of a row in the ELL part"},
    {"share", 1, 100, "percent of the rows that the ELL part holds completely"},
    {0},
};

const spryi_format spryi_format_hyb = {
    .name = "hyb",
    .title = "hybrid: ELL, and COO for the rest of long rows",
    .formula = "m*w values + m*w columns + m lengths + 3 arrays of the rest, w the mean row rounded",
    .best_for = "rows of similar lengths, except for some far longer rows",
    .parameters.list = parameters,
    .parameters.text = "width=NUMBER (of the ELL part; default the mean row, rounded); "
                       "share=NUMBER (instead: percent of the rows that it holds completely)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_hyb),
    .layout.windows_at = offsetof(spryi_hyb, windows),
    .layout.host_only = "runs",
    .layout.sections_lack_columns = 1,
    .layout.sections = list_sections,
    .check = check,
    .choice.estimator = &spryi_hyb_estimator,
    .choice.tree_answers = SPRYI_TREE_UNPREDICTABLE | SPRYI_TREE_FEW_LONG,
};

#else /* for each value type and pair of index types (base/instantiate.h) */

/* Copies the entries beyond the width of rows begin .. end - 1 to COO, from entry k on. */
static void SPRY_FN(fill_rest)(const spryi_hyb *h, const spry_arrays *csr, int64_t begin, int64_t end, int64_t k)
{
    const SPRY_P *Ap = csr->offsets;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = Ap[i] + h->ell.width, count = Ap[i + 1] - from;
        if (count <= 0) continue;
        memcpy((SPRY_J *)h->columns + k, (const SPRY_J *)csr->indices + from, (size_t)count * sizeof(SPRY_J));
        memcpy((SPRY_V *)h->values + k, (const SPRY_V *)csr->values + from, (size_t)count * sizeof(SPRY_V));
        for (int64_t e = k; e < k + count; e++) ((SPRY_J *)h->rows)[e] = (SPRY_J)i;
        k += count;
    }
}

/*
 * Copies entries k .. end - 1 of COO, which are all COO entries of some rows, to CSR, after the ELL entries of these
 * rows.
 */
static void SPRY_FN(copy_rest)(const spryi_hyb *h, const int64_t *offsets, void *columns, void *values, int64_t k,
                               int64_t end)
{
    const SPRY_J *Ai = h->rows;
    while (k < end) {
        int64_t i = Ai[k], to = offsets[i] + h->ell.width;
        for (; k < end && Ai[k] == i; k++, to++) {
            ((SPRY_J *)columns)[to] = ((const SPRY_J *)h->columns)[k];
            ((SPRY_V *)values)[to] = ((const SPRY_V *)h->values)[k];
        }
    }
}

#endif
