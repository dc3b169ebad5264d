/*
 * From CSR to windows on the host. Windows are gone through twice by the same code (windowed_window.c): first they are
 * cut and counted, then, when a scan has told where each array of theirs begins, stored. No window looks at another
 * one, so both passes are parallel, and the result depends on the matrix alone.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/padding_guard.h"
#include "formats/windowed/windowed_driver.h"
#include "formats/windowed/windowed_window.h"

#include <string.h>

/* A build between its passes. */
typedef struct builder {
    spry_context *context;
    const spry_arrays *csr;
    spryi_windowed *s;
    spryi_windowed_order order;
    int64_t pieces, pieces_of_runs;  /* of `window` rows of the order, before windows are cut */
    spryi_windowed_counts *at;       /* pieces + 1: where those of each begin */
    spryi_windowed_scratch *scratch; /* of each thread */
    int threads;
} builder;

static void add(spryi_windowed_counts *sum, const spryi_windowed_counts *more)
{
    sum->windows += more->windows;
    sum->slices += more->slices;
    sum->pages += more->pages;
    sum->numbers += more->numbers;
    sum->units += more->units;
    sum->slots += more->slots;
    if (sum->staged < more->staged) sum->staged = more->staged;
}

static spry_status new_scratch(builder *b, spry_error *err)
{
    const spry_status status = SPRYI_NEW(b->context, &b->scratch, b->threads, "windows", err);
    if (status == SPRY_OK) memset(b->scratch, 0, (size_t)b->threads * sizeof *b->scratch);
    return status;
}

static void clear(builder *b)
{
    spryi_release(b->context, b->scratch);
    spryi_release(b->context, b->at);
    spryi_windowed_clear_order(b->context, &b->order);
}

typedef struct pass_job {
    builder *b;
    spryi_windowed_pass pass;
} pass_job;

static void make_pieces(void *job, int64_t begin, int64_t end_of_pieces, int part)
{
    const pass_job *j = job;
    builder *b = j->b;
    const int64_t window = b->s->window;
    for (int64_t n = begin; n < end_of_pieces; n++) {
        const int of_runs = n < b->pieces_of_runs;
        const int64_t end = of_runs ? b->order.of_runs : b->order.count;
        const int64_t first = of_runs ? n * window : b->order.of_runs + (n - b->pieces_of_runs) * window;
        spryi_windowed_counts at = j->pass.stores ? b->at[n] : (spryi_windowed_counts){0};
        spryi_windowed_make(&j->pass, &b->scratch[part], first, first + window < end ? first + window : end,
                            of_runs ? b->s->run : 1, &at);
        if (!j->pass.stores) b->at[n + 1] = at;
    }
}

/* Measures or stores all windows. at[n + 1] is the size of piece n when measuring, its position when storing. */
static void run_pass(builder *b, int stores)
{
    pass_job j = {b, {b->csr, &b->order, b->s, stores}};
    spryi_loop_in_parts(b->context, b->threads, b->pieces, 4, make_pieces, &j);
}

/* Sizes of s. The caller clears b, also after a failure. */
static spry_status measure(builder *b, const spryi_build_request *request, spry_error *err)
{
    spryi_windowed *s = b->s;
    spry_status status = SPRY_OK;
    s->a = spryi_shape_of(b->csr);
    spryi_windowed_resolve(s, request);
    SPRYI_TRY(spryi_windowed_check_sizes(s, err)); /* rows and columns */
    SPRYI_TRY(spryi_windowed_find_order(b->context, &b->order, s, b->csr,
                                        request->parameters[SPRYI_WINDOWED_ASKED_ORDER], err));
    b->pieces_of_runs = (b->order.of_runs + s->window - 1) / s->window;
    b->pieces = b->pieces_of_runs + (b->order.count - b->order.of_runs + s->window - 1) / s->window;
    SPRYI_TRY(SPRYI_NEW(b->context, &b->at, b->pieces + 1, "windows", err));
    SPRYI_TRY(new_scratch(b, err));
    b->at[0] = (spryi_windowed_counts){0};
    run_pass(b, 0);
    for (int64_t n = 0; n < b->pieces; n++) add(&b->at[n + 1], &b->at[n]);
    const spryi_windowed_counts *sum = &b->at[b->pieces];
    s->window_count = sum->windows;
    s->slice_count = sum->slices;
    s->page_count = sum->pages;
    s->numbers = sum->numbers;
    s->units = sum->units;
    s->slots = sum->slots;
    s->staged = sum->staged;
    for (int64_t i = 0; b->order.count < s->a.rows && i < s->a.rows; i++) {
        const int64_t length = spryi_row_length(b->csr, i);
        if (length <= SPRYI_WINDOWED_LONG) continue;
        s->long_count++;
        s->piece_count += (length + SPRYI_WINDOWED_PIECE - 1) / SPRYI_WINDOWED_PIECE;
        s->long_nnz += length;
    }
    SPRYI_TRY(spryi_windowed_check_sizes(s, err));
done:
    return status;
}

static void store_long_rows(const builder *b)
{
    spryi_windowed *s = b->s;
    const size_t index_bytes = spry_index_type_bytes(s->a.index_type), value_bytes = spry_type_bytes(s->a.value_type);
    int64_t rows = 0, pieces = 0, at = 0;
    for (int64_t i = 0; s->long_count > 0 && i < s->a.rows; i++) {
        const int64_t length = spryi_row_length(b->csr, i);
        const size_t from = (size_t)spryi_index_at(b->csr->offsets, b->csr->offset_type, i);
        if (length <= SPRYI_WINDOWED_LONG) continue;
        s->long_rows[rows] = i;
        s->long_first[rows++] = pieces;
        for (int64_t k = 0; k < length; k += SPRYI_WINDOWED_PIECE) s->pieces[pieces++] = at + k;
        memcpy((char *)s->long_columns + (size_t)at * index_bytes, (const char *)b->csr->indices + from * index_bytes,
               (size_t)length * index_bytes);
        if (s->long_values)
            memcpy((char *)s->long_values + (size_t)at * value_bytes, (const char *)b->csr->values + from * value_bytes,
                   (size_t)length * value_bytes);
        at += length;
    }
    s->long_first[rows] = pieces;
    s->pieces[pieces] = at;
}

static spry_status store(builder *b, spry_error *err)
{
    spryi_windowed *s = b->s;
    spryi_section arrays[SPRYI_WINDOWED_ARRAYS];
    spry_status status = SPRY_OK;
    for (int n = 0, count = spryi_windowed_arrays(s, arrays); n < count; n++)
        if (s->a.value_type != SPRY_PATTERN || (arrays[n].array != &s->values && arrays[n].array != &s->long_values))
            SPRYI_TRY(spryi_allocate(b->context, arrays[n].array, arrays[n].count, (size_t)arrays[n].item_bytes,
                                     arrays[n].name, err));
    run_pass(b, 1);
    s->windows[s->window_count] = (spryi_windowed_window){
        .slice = (uint32_t)s->slice_count,
        .dictionary = (uint32_t)(s->numbers / SPRYI_WINDOWED_DICTIONARY),
        .page = (uint32_t)s->page_count,
    };
    s->slices[s->slice_count] =
        (spryi_windowed_slice){.values = (uint32_t)(s->slots / SPRYI_WINDOWED_ALIGN), .indices = (uint32_t)s->units};
    store_long_rows(b);
done:
    return status;
}

spry_status spryi_windowed_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                   spry_error *err)
{
    spryi_windowed s = {0};
    builder b = {.context = context, .csr = &request->csr->a, .s = &s};
    b.threads = spryi_threads(context, b.csr->nnz + b.csr->rows);
    const spry_status status = measure(&b, request, err);
    if (status == SPRY_OK) spryi_windowed_cost(cost, &s);
    clear(&b);
    return status;
}

spry_status spryi_windowed_build(spry_context *context, void *storage, const spryi_build_request *request,
                                 spry_error *err)
{
    spryi_windowed *s = storage;
    builder b = {.context = context, .csr = &request->csr->a, .s = s};
    spryi_cost cost = {0};
    spry_status status = SPRY_OK;
    b.threads = spryi_threads(context, b.csr->nnz + b.csr->rows);
    SPRYI_TRY(measure(&b, request, err));
    spryi_windowed_cost(&cost, s);
    cost.beside = spryi_windowed_workspace(s, request->options->vector_type);
    SPRYI_TRY(spryi_admit(request, "windowed", &cost, err));
    SPRYI_TRY(store(&b, err));
done:
    clear(&b);
    return status;
}
