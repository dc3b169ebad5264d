/* Making the storage of format sell, and what containers need of it. */
#include "base/error.h"
#include "base/memory.h"
#include "formats/sell/sell.h"
#include "formats/shared/padding_guard.h"
#include "matrix/row_lengths.h"

#include <string.h>

/* Sorts the rows, or leaves them where that would not pay. */
static spry_status sort_rows(spry_context *context, spryi_sell *s, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_sell unsorted = {.a = s->a, .c = s->c, .sigma = 1};
    spry_status status = spryi_sell_survey(context, s, a, err);
    if (status != SPRY_OK || !spryi_sell_may_leave_rows(request)) return status;
    status = spryi_sell_survey(context, &unsorted, a, err);
    if (status == SPRY_OK && !spryi_sell_sorting_pays(a, s->slots, unsorted.slots)) {
        const spryi_sell sorted = *s;
        *s = unsorted;
        unsorted = sorted;
    }
    spryi_release_arrays(context, &unsorted, spryi_sell_list);
    return status;
}

/* Sorts the rows into a zeroed *s, and tells what the whole will take. The caller releases, also after a failure. */
static spry_status survey(spry_context *context, spryi_sell *s, spryi_cost *cost, const spryi_build_request *request,
                          spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    s->a = spryi_shape_of(a);
    spryi_sell_resolve(&s->c, &s->sigma, request);
    spry_status status = spryi_sell_check_size(a->rows, spryi_longest_row(context, a), s->c, err);
    if (status == SPRY_OK) status = sort_rows(context, s, request, err);
    if (status == SPRY_OK) spryi_sell_cost(cost, a, s->slots, s->c, s->sigma);
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_sell s = {0};
    spry_status status = survey(context, &s, cost, request, err);
    spryi_release_arrays(context, &s, spryi_sell_list);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_sell *s = storage;
    spryi_cost cost = {0};
    SPRYI_OK_OR_RETURN(survey(context, s, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "sell", &cost, err));
    SPRYI_OK_OR_RETURN(spryi_sell_make(context, s, a, err));
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_OK_OR_RETURN(spryi_windows_make(context, &s->windows, a, s->sigma > 1 ? s->sigma : s->c, err));
    return SPRY_OK;
}

/* ---- containers ------------------------------------------------------------------------------------ */

/* An array that this storage does without: its address stays NULL, also in a restored one. */
static void leave_out(spryi_section *section, void *storage)
{
    section->array = NULL;
    section->inside = storage;
}

int spryi_sell_list(void *storage, spryi_section *list)
{
    spryi_sell *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] = (spryi_section){"chunks", NULL, &s->c, 4, sizeof s->c}; /* c, sigma, chunk_count, slots */
    const int64_t chunks = s->chunk_count < 0 ? -1 : s->chunk_count, lanes = spryi_size_product(chunks, s->c);
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(s->a.index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    const int has_values = value_bytes > 0;
    list[count++] = (spryi_section){"offsets", (void **)&s->offsets, NULL, chunks < INT64_MAX ? chunks + 1 : -1,
                                    sizeof *s->offsets};
    list[count++] = (spryi_section){"lengths", (void **)&s->lengths, NULL, lanes, sizeof *s->lengths};
    list[count++] = (spryi_section){"permutation", (void **)&s->permutation, NULL, s->sigma > 1 ? s->a.rows : 0,
                                    sizeof *s->permutation};
    if (s->sigma == 1) leave_out(&list[count - 1], s);
    list[count++] = (spryi_section){"kinds", (void **)&s->kinds, NULL, chunks, sizeof *s->kinds};
    list[count++] = (spryi_section){"columns", &s->columns, NULL, s->slots, index_bytes};
    list[count++] =
        (spryi_section){"values", &s->values, NULL, has_values ? s->slots : 0, has_values ? value_bytes : 1};
    if (s->a.value_type == SPRY_PATTERN) leave_out(&list[count - 1], s);
    return count;
}

static spry_status bad_chunk(const char *what, int64_t chunk, spry_error *err)
{
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, chunk, 0, "sell: chunk %lld: %s", (long long)chunk, what);
}

/* Every row of each window occurs once. */
static spry_status check_permutation(const spryi_sell *s, spry_error *err)
{
    static const size_t bytes = SPRYI_SELL_MOST_SIGMA / 8;
    uint8_t seen[SPRYI_SELL_MOST_SIGMA / 8];
    for (int64_t begin = 0; begin < s->a.rows; begin += s->sigma) {
        int64_t count = s->a.rows - begin < s->sigma ? s->a.rows - begin : s->sigma;
        memset(seen, 0, bytes);
        for (int64_t l = begin; l < begin + count; l++) {
            unsigned row = s->permutation[l], bit = 1u << row % 8;
            if (row >= count || (seen[row / 8] & bit))
                return spryi_fail_value(err, SPRY_BAD_FILE, NULL, row, count,
                                        "sell: lane %lld has row %u of a window of %lld, past it or not for the first "
                                        "time",
                                        (long long)l, row, (long long)count);
            seen[row / 8] = (uint8_t)(seen[row / 8] | bit);
        }
    }
    return SPRY_OK;
}

/* Lanes from `first` on step as lanes before do: column of slot k - that of slot `before` is 1. */
static int lane_steps(const spryi_sell *s, int64_t lane)
{
    int64_t at = s->offsets[lane / s->c] + lane % s->c;
    int64_t before = s->offsets[(lane - 1) / s->c] + (lane - 1) % s->c;
    if (s->lengths[lane] != s->lengths[lane - 1]) return 0;
    for (int64_t k = 0; k < s->lengths[lane] * s->c; k += s->c)
        if (spryi_index_at(s->columns, s->a.index_type, at + k) !=
            spryi_index_at(s->columns, s->a.index_type, before + k) + 1)
            return 0;
    return 1;
}

static spry_status check_kinds(const spryi_sell *s, spry_error *err)
{
    for (int64_t b = 0; b < spryi_sell_block_count(s); b++) {
        int64_t end = spryi_sell_block_begin(s, b + 1), chunks = 1;
        for (int64_t chunk = spryi_sell_block_begin(s, b); chunk < end; chunk += chunks) {
            int kind = s->kinds[chunk], strided = kind > 0 && kind <= SPRYI_SELL_MOST_RUN;
            chunks = strided ? kind : 1;
            if (kind == SPRYI_SELL_SCATTERED) continue;
            if (chunk + chunks > end || (chunk + chunks) * s->c > s->a.rows)
                return bad_chunk("a run that ends outside", chunk, err);
            for (int64_t l = chunk * s->c + 1; l < (chunk + chunks) * s->c; l++)
                if (spryi_sell_row(s, l) != spryi_sell_row(s, l - 1) + 1 || (strided && !lane_steps(s, l)))
                    return bad_chunk("rows do not follow each other, as said", chunk, err);
        }
    }
    return SPRY_OK;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_sell *s = storage;
    spry_status status = SPRY_OK;
    int64_t nnz = 0;
    SPRYI_TRY(spryi_check_shape(&s->a, "sell", err));
    if (s->c < 1 || s->c > SPRYI_SELL_MOST_CHUNK || s->sigma < 1 || s->sigma > SPRYI_SELL_MOST_SIGMA ||
        (s->sigma > 1 && s->sigma % s->c != 0) || s->chunk_count != s->a.rows / s->c + (s->a.rows % s->c != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "sell: %lld chunks of %lld rows, windows of %lld, do not fit %lld",
                          (long long)s->chunk_count, (long long)s->c, (long long)s->sigma, (long long)s->a.rows);
    if (s->offsets[0] != 0 || s->offsets[s->chunk_count] != s->slots) return bad_chunk("wrong offset", 0, err);
    for (int64_t chunk = 0; chunk < s->chunk_count; chunk++) {
        int64_t slots = s->offsets[chunk + 1] - s->offsets[chunk];
        if (slots < 0 || s->offsets[chunk + 1] > s->slots || slots % s->c != 0)
            return bad_chunk("offsets are wrong", chunk, err);
        for (int64_t l = chunk * s->c; l < (chunk + 1) * s->c; l++) {
            if (s->lengths[l] < 0 || s->lengths[l] > (l < s->a.rows ? slots / s->c : 0))
                return bad_chunk("a row is longer than the chunk", chunk, err);
            nnz += s->lengths[l];
        }
    }
    if (nnz != s->a.nnz) return bad_chunk("entries do not add up", s->chunk_count, err);
    if (s->sigma > 1) SPRYI_TRY(check_permutation(s, err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->columns, s->slots, "sell", err));
    SPRYI_TRY(check_kinds(s, err));
done:
    return status;
}

static const spryi_parameter parameters[] = {
    {"c", 1, SPRYI_SELL_MOST_CHUNK, "rows a chunk"},
    {"sigma", 1, SPRYI_SELL_MOST_SIGMA, "rows a window, inside of which rows are sorted by length; 1: they are not"},
    {0},
};

const spryi_format spryi_format_sell = {
    .name = "sell",
    .title = "SELL-C-sigma: ELL by chunks of rows of similar length",
    .storage = "slots values + slots columns + (m/c+1) offsets + m permutation + m lengths",
    .best_for = "unstructured meshes, rows of moderately different lengths",
    .parameters = parameters,
    .parameter_text = "c=NUMBER (rows a chunk, default 16); sigma=NUMBER (rows a window that is sorted, default 512)",
    .predict = predict,
    .build = build,
    .to_csr = spryi_sell_to_csr,
    .storage_size = sizeof(spryi_sell),
    .windows_at = offsetof(spryi_sell, windows),
    .host_only = "kinds",
    .transposed_apart = 1,
    .sections = spryi_sell_list,
    .check = check,
    .estimator = &spryi_sell_estimator,
};
