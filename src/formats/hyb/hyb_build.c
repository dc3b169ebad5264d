/* From CSR to the two parts and back. */
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/hyb/hyb.h"
#include "matrix/row_lengths.h"

#include <string.h>

enum { CHUNK_ROWS = 4096 };

#define SPRYI_TEMPLATE "formats/hyb/hyb_build.tmpl.c"
#include "base/instantiate.h"

typedef void (*fill_fn)(const spryi_hyb *h, const spry_arrays *csr, int64_t begin, int64_t end, int64_t k);
typedef void (*take_fn)(const spryi_hyb *h, const int64_t *offsets, void *columns, void *values, int64_t k,
                        int64_t end);
static const fill_fn fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_rest);
static const take_fn take_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(take_rest);

static int64_t rest_of_rows(const spry_arrays *csr, int64_t begin, int64_t end, int64_t width)
{
    int64_t rest = 0;
    for (int64_t i = begin; i < end; i++) {
        int64_t length = spryi_row_length(csr, i);
        rest += length > width ? length - width : 0;
    }
    return rest;
}

int64_t spryi_hyb_rest_begin(const spryi_hyb *s, int64_t i)
{
    int64_t k;
    SPRYI_BISECT(k, 0, s->rest, spryi_index_at(s->rows, s->a.index_type, k) < i);
    return k;
}

typedef struct hyb_job {
    const spryi_hyb *s;
    const spry_arrays *csr;
    int64_t width, *at;
    fill_fn fill;
    take_fn take;
    const spryi_compressed *c;
    atomic_llong rest;
} hyb_job;

static void count_rest(void *job, int64_t begin, int64_t end)
{
    hyb_job *j = job;
    atomic_fetch_add(&j->rest, rest_of_rows(j->csr, begin, end, j->width));
}

/* The functions below handle chunks of rows. */
static void count_rest_of_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++)
        j->at[c + 1] = rest_of_rows(j->csr, c * CHUNK_ROWS, spryi_block_end(c, CHUNK_ROWS, j->csr->rows), j->width);
}

static void fill_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++)
        j->fill(j->s, j->csr, c * CHUNK_ROWS, spryi_block_end(c, CHUNK_ROWS, j->csr->rows), j->at[c]);
}

static void take_chunks(void *job, int64_t begin, int64_t end)
{
    const hyb_job *j = job;
    for (int64_t c = begin; c < end; c++)
        j->take(j->s, j->c->offsets, j->c->indices, j->c->values, spryi_hyb_rest_begin(j->s, c * CHUNK_ROWS),
                spryi_hyb_rest_begin(j->s, spryi_block_end(c, CHUNK_ROWS, j->s->a.rows)));
}

int64_t spryi_hyb_rest(spry_context *context, const spry_arrays *csr, int64_t width)
{
    hyb_job j = {.csr = csr, .width = width};
    spryi_loop(context, spryi_threads(context, csr->rows), csr->rows, CHUNK_ROWS, count_rest, &j);
    return j.rest;
}

spry_status spryi_hyb_width_of_share(spry_context *context, int64_t *width, const spry_arrays *csr, int64_t share,
                                     spry_error *err)
{
    const int64_t longest = spryi_longest_row(context, csr);
    const double wanted = (double)share / 100 * (double)csr->rows;
    int64_t *rows_of = NULL, whole;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &rows_of, longest + 1, "row length counts", err));
    memset(rows_of, 0, (size_t)(longest + 1) * sizeof *rows_of);
    spryi_count_row_lengths(csr, rows_of, longest);
    *width = 0;
    for (whole = rows_of[0]; *width < longest && (double)whole < wanted;) whole += rows_of[++*width];
    spryi_release(context, rows_of);
    return SPRY_OK;
}

spry_status spryi_hyb_make(spry_context *context, spryi_hyb *s, const spry_arrays *csr, int64_t width, int64_t rest,
                           spry_error *err)
{
    spry_status status = SPRY_OK;
    hyb_job j = {.s = s, .csr = csr, .width = width, .fill = SPRYI_INSTANCE(fill_table, csr)};
    const int64_t chunks = spryi_blocks_of(csr->rows, CHUNK_ROWS);
    SPRYI_TRY(spryi_ell_make(context, &s->ell, csr, width, err));
    s->a = s->ell.a;
    s->a.nnz = csr->nnz;
    s->rest = rest;
    SPRYI_TRY(spryi_allocate_arrays(context, s, spryi_hyb_list, err));
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

spry_status spryi_hyb_to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_hyb *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    const spryi_ell first = spryi_hyb_ell(s);
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    for (int64_t i = 0; i < s->a.rows; i++) c.offsets[i + 1] = s->ell.lengths[i];
    for (int64_t k = 0; k < s->rest; k++) c.offsets[spryi_index_at(s->rows, s->a.index_type, k) + 1]++;
    spryi_scan(c.offsets, s->a.rows);
    spryi_ell_take(context, &first, c.offsets, c.indices, c.values);
    spryi_loop(context, spryi_threads(context, s->a.rows + s->rest), spryi_blocks_of(s->a.rows, CHUNK_ROWS), 1,
               take_chunks, &(hyb_job){.s = s, .take = SPRYI_INSTANCE(take_table, &s->a), .c = &c});
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}
