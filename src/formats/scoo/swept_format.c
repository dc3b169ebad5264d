/* Making the storage of format swept, and CSR of it. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/scoo/swept_part.h"

#include <omp.h>
#include <string.h>

void spryi_swept_rows_of_sums(const spryi_swept *s, const spryi_swept_block *block, int32_t *row_of)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < block->rows; r++)
        if (s->present[block->first_word + r / 32].bits >> (r % 32) & 1) row_of[sum++] = r;
    for (int64_t l = block->first_long; l < block->first_long + block->longs; l++)
        for (int32_t n = 0; n < s->longs[l].count; n++) row_of[s->longs[l].first + n] = row_of[s->longs[l].sum];
}

#define SPRYI_TEMPLATE "formats/scoo/swept_unpack.tmpl.c"
#include "core/instantiate.h"

typedef int64_t (*count_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at);
typedef void (*unpack_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                          int64_t head, const spry_arrays *A);
static const count_fn counts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(count);
static const unpack_fn unpacks[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(unpack);

static spry_arrays types_of(const spryi_swept_head *h)
{
    return spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
}

static int sections(void *storage, spryi_section *list)
{
    spryi_swept *s = storage;
    const spryi_swept_head *h = &s->head;
    s->types = types_of(h);
    int n = 0;
    list[n++] = (spryi_section){.name = "head", .inside = &s->head, .count = 1, .item_bytes = sizeof s->head};
#define ARRAY(array, items)                                                                                            \
    list[n++] = (spryi_section){#array, (void **)&s->array, NULL, items, (int64_t)sizeof *s->array}
    ARRAY(blocks, h->blocks);
    ARRAY(present, h->words);
    ARRAY(longs, h->longs);
    ARRAY(chains, h->chains);
    ARRAY(bases, h->batches);
    ARRAY(indices, spryi_swept_slots(h));
#undef ARRAY
    list[n++] =
        (spryi_section){"values", &s->values, NULL, spryi_swept_slots(h), (int64_t)spry_type_bytes(h->value_type)};
    return n;
}

static int64_t storage_bytes(const void *storage)
{
    return spryi_swept_bytes(&((const spryi_swept *)storage)->head);
}

static void release_arrays(spry_context *context, spryi_swept *s)
{
    spryi_release(context, s->blocks);
    spryi_release(context, s->present);
    spryi_release(context, s->longs);
    spryi_release(context, s->chains);
    spryi_release(context, s->bases);
    spryi_release(context, s->indices);
    spryi_release(context, s->values);
}

static void destroy(spry_context *context, void *storage)
{
    release_arrays(context, storage);
    spryi_release(context, storage);
}

static void let_go(spry_context *context, spryi_swept_making *made)
{
    spryi_release(context, made->before);
    spryi_release(context, made->cuts);
    spryi_release(context, made->targets);
}

/* All but the filling: every size is known afterwards. */
static spry_status plan_slots(spry_context *context, spryi_swept_making *made, const spryi_build_request *request,
                              spry_error *err)
{
    const spry_arrays *a = made->a = &request->csr->a;
    made->s->head = spryi_swept_head_of(request, a);
    made->s->types = types_of(&made->s->head);
    spry_status status = spryi_swept_cut_rows(context, made, err);
    return status == SPRY_OK ? spryi_swept_pack(context, made, err) : status;
}

static spry_status predict(spry_context *context, spryi_figure *figure, const spryi_build_request *request,
                           spry_error *err)
{
    spryi_swept s = {0};
    spryi_swept_making made = {.s = &s};
    spry_status status = plan_slots(context, &made, request, err);
    if (status == SPRY_OK) spryi_swept_figure(&s, figure);
    let_go(context, &made);
    release_arrays(context, &s);
    return status;
}

static spry_status allocate_arrays(spry_context *context, spryi_swept *s, spry_error *err)
{
    const spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &s->present, h->words, "bits of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->longs, h->longs, "long rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->bases, h->batches, "bases of batches", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->indices, spryi_swept_slots(h), "indices of slots", err));
    SPRYI_TRY(spryi_allocate(context, &s->values, spryi_swept_slots(h), spry_type_bytes(s->types.value_type),
                             "values of slots", err));
done:
    return status;
}

static spry_status build(spry_context *context, void **storage, const spryi_build_request *request, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_figure figure = {0};
    spryi_swept_making made = {0};
    SPRYI_TRY(SPRYI_NEW(context, &made.s, 1, "swept storage", err));
    *made.s = (spryi_swept){0};
    SPRYI_TRY(plan_slots(context, &made, request, err));
    spryi_swept_figure(made.s, &figure);
    SPRYI_TRY(spryi_admit(request, "swept", &figure, err));
    SPRYI_TRY(allocate_arrays(context, made.s, err));
    SPRYI_TRY(spryi_swept_fill(context, &made, err));
    *storage = made.s;
    made.s = NULL;
done:
    let_go(context, &made);
    if (made.s) destroy(context, made.s);
    return status;
}

/* Offsets of the rows, and where the entries go of the first row of each block that the one before has begun. */
static void place_rows(const spryi_swept *s, spry_arrays *a, int64_t *at, int64_t *heads)
{
    const int64_t blocks = s->head.blocks;
    for (int64_t b = 0; b < blocks; b++) {
        if (s->blocks[b].head_chain < 0) continue;
        const int64_t pieces = at[s->blocks[b].first_row + 1];
        at[s->blocks[b].first_row + 1] += heads[b];
        heads[b] = pieces;
    }
    spryi_scan(at, a->rows);
    for (int64_t b = 0; b < blocks; b++) heads[b] += at[s->blocks[b].first_row];
    for (int64_t i = 0; i <= a->rows; i++) spryi_set_index((void *)(uintptr_t)a->offsets, a->offset_type, i, at[i]);
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_swept *s = storage;
    const spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    int64_t *at = NULL, *heads = NULL;
    int32_t *rows = NULL;
    spry_arrays a = s->types;
    const int threads = spryi_threads(context, a.rows + a.nnz);
    SPRYI_TRY(spryi_new_csr(context, &a, err));
    SPRYI_TRY(SPRYI_NEW(context, &at, a.rows + 1, "places of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &heads, h->blocks, "places of shared rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &rows, threads * h->most_sums, "rows of sums", err));
    a.sorted = h->chains == 0 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN; /* pieces are of rows as they were stored */
    memset(at, 0, (size_t)(a.rows + 1) * sizeof *at);
    const int slot = spryi_value_slot(a.value_type), pair = spryi_index_pair(a.offset_type, a.index_type);
    const count_fn count = counts[slot][pair];
    const unpack_fn unpack = unpacks[slot][pair];
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int64_t b = 0; b < h->blocks; b++) {
            int32_t *row_of = rows + omp_get_thread_num() * h->most_sums;
            spryi_swept_rows_of_sums(s, &s->blocks[b], row_of);
            if (pass == 0)
                heads[b] = count(s, &s->blocks[b], row_of, at);
            else
                unpack(s, &s->blocks[b], row_of, at, heads[b], &a);
        }
        if (pass == 0) place_rows(s, &a, at, heads);
    }
    status = spryi_matrix_adopt(context, csr, &a, SPRYI_REAL, err);
    a = s->types; /* they are taken over, also where this fails */
done:
    spryi_release(context, at);
    spryi_release(context, heads);
    spryi_release(context, rows);
    spryi_release_csr(context, &a);
    return status;
}

/* Of the reference: sums of rows, or of columns, and whose sums a block's are. */
static int64_t workspace_bytes(const void *storage)
{
    const spryi_swept_head *h = &((const spryi_swept *)storage)->head;
    return (h->rows > h->cols ? h->rows : h->cols) * (int64_t)spry_type_bytes((spry_type)h->value_type) +
           h->most_sums * (int64_t)sizeof(int32_t);
}

static const spryi_parameter parameters[] = {
    {"blocks", 1, 1 << 20, "row blocks"},
    {"sums", 2, SPRYI_SWEPT_MOST_SUMS, "most sums of a block"},
    {.name = NULL},
};

const spryi_format spryi_format_swept = {
    .name = "swept",
    .title = "swept row blocks: SCOO for a GPU's shared memory",
    .storage = "slots values + slots indices of 32 bits + batches bases + a bit a row",
    .best_for = "scattered columns on GPUs, where each x serves few entries",
    .parameters = parameters,
    .parameter_text = "blocks=NUMBER (of rows; default: one a multiprocessor); sums=NUMBER (most of a block; default: "
                      "what the shared memory holds)",
    .predict = predict,
    .build = build,
    .destroy = destroy,
    .storage_bytes = storage_bytes,
    .owned_bytes = storage_bytes,
    .workspace_bytes = workspace_bytes,
    .borrows_values = spryi_borrows_no_values,
    .arrays = spryi_leading_arrays,
    .to_csr = to_csr,
    .storage_size = sizeof(spryi_swept),
    .device_sections = sections, /* containers keep CSR: a cut suits the GPU that it was made for */
};
