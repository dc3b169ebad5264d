/* Making the storage of format bsr, and CSR of it. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/bsr/bsr_build.h"
#include "formats/shared/padding_guard.h"
#include "matrix/assemble.h"

static spry_arrays types_of(const spryi_bsr_head *h)
{
    return spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
}

static int sections(void *storage, spryi_section *list)
{
    spryi_bsr *s = storage;
    const spryi_bsr_head *h = &s->head;
    if ((int32_t)s->types.value_type != h->value_type) s->types = types_of(h); /* of a head that was restored */
    const int64_t offset_bytes = (int64_t)spry_index_type_bytes((spry_index_type)h->offset_type);
    const int64_t column_bytes = (int64_t)spry_index_type_bytes((spry_index_type)h->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes((spry_type)h->value_type);
    const int64_t offsets = h->block_rows < INT64_MAX ? h->block_rows + 1 : -1;
    list[0] = (spryi_section){"head", NULL, &s->head, 1, sizeof s->head};
    list[1] = (spryi_section){"offsets", &s->offsets, NULL, offsets, offset_bytes};
    list[2] = (spryi_section){"columns", &s->columns, NULL, h->blocks, column_bytes};
    list[3] = (spryi_section){"values", &s->values, NULL, spryi_bsr_value_count(h), value_bytes};
    list[4] = (spryi_section){"masks", &s->masks, NULL, spryi_bsr_bytes_of_masks(h), 1};
    return 5;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_bsr s = {0};
    int64_t most;
    spry_status status = spryi_bsr_survey(context, &s, &most, request, err);
    if (status == SPRY_OK) spryi_bsr_cost(&s, cost);
    spryi_release_arrays(context, &s, sections);
    return status;
}

typedef struct block_job {
    const spryi_bsr *s;
    const spryi_bsr_steps *steps;
    const spry_arrays *A;    /* of filling */
    spryi_bsr_scratch *work; /* of filling */
    const spryi_compressed *c;
    atomic_llong first, entries; /* first: block row with a fault */
} block_job;

static block_job job_of(const spryi_bsr *s)
{
    const spry_arrays *t = &s->types;
    return (block_job){.s = s, .steps = spryi_bsr_steps_of(t->value_type, t->offset_type, t->index_type)};
}

static void fill_block_rows(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->fill((spryi_bsr *)(uintptr_t)j->s, j->A, I, &j->work[part]);
}

static void count_lengths(void *job, int64_t begin, int64_t end)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->lengths(j->s, j->c->offsets, I);
}

static void copy_rows(void *job, int64_t begin, int64_t end)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->rows(j->s, j->c->offsets, j->c->indices, j->c->values, I);
}

static void find_faults(void *job, int64_t begin, int64_t end)
{
    block_job *j = job;
    int64_t entries = 0;
    for (int64_t I = begin; I < end; I++)
        if (j->steps->fault(j->s, I, &entries)) spryi_lower(&j->first, I);
    atomic_fetch_add(&j->entries, entries);
}

static spry_status fill(spry_context *context, spryi_bsr *s, const spry_arrays *A, int64_t most, spry_error *err)
{
    const spryi_bsr_head *h = &s->head;
    spry_status status = SPRY_OK;
    spryi_bsr_scratch *work = NULL;
    int threads = spryi_threads(context, A->rows + A->nnz);
    SPRYI_TRY(SPRYI_NEW(context, &work, threads, "scratch memory", err));
    SPRYI_TRY(spryi_bsr_scratch_make(context, work, threads, A, h->block, most, h->value_type != SPRY_F64, err));
    block_job j = {.s = s, .A = A, .work = work};
    j.steps = spryi_bsr_steps_of(A->value_type, A->offset_type, A->index_type);
    spryi_loop_in_parts(context, threads, h->block_rows, 0, fill_block_rows, &j);
    spryi_bsr_scratch_release(context, work, threads);
done:
    spryi_release(context, work);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *A = &request->csr->a;
    spryi_cost cost = {0};
    spryi_bsr *s = storage;
    int64_t most = 0;
    SPRYI_OK_OR_RETURN(spryi_bsr_survey(context, s, &most, request, err));
    spryi_bsr_cost(s, &cost);
    cost.beside = spryi_bsr_most_sums(&s->head) * (int64_t)spry_type_bytes(request->options->vector_type);
    SPRYI_OK_OR_RETURN(spryi_admit(request, "bsr", &cost, err));
    SPRYI_OK_OR_RETURN(spryi_bsr_check_sums(request, &s->head, A, err));
    s->types = types_of(&s->head);
    SPRYI_OK_OR_RETURN(spryi_allocate_arrays(context, s, sections, err));
    SPRYI_OK_OR_RETURN(fill(context, s, A, most, err));
    spryi_bsr_find_windows(context, s, spryi_threads(context, A->rows + A->nnz));
    return SPRY_OK;
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_bsr *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    block_job j = job_of(s);
    spry_arrays a = s->types;
    a.sorted = a.unique = SPRY_KNOWN_YES;
    SPRYI_TRY(spryi_start_csr(context, &c, &a, err));
    const int threads = spryi_threads(context, a.rows + a.nnz);
    j.c = &c;
    spryi_loop(context, threads, s->head.block_rows, 0, count_lengths, &j);
    spryi_scan(c.offsets, a.rows);
    spryi_loop(context, threads, s->head.block_rows, 0, copy_rows, &j);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* Sums of the parts of a transposed product. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_bsr_head *h = &((const spryi_bsr *)storage)->head;
    return spryi_bsr_window_at(h, h->parts) * (int64_t)spry_type_bytes(vector_type);
}

static const char *head_fault(const spryi_bsr_head *h)
{
    enum { MOST = 1 << 10 };
    if (h->rows < 0 || h->cols < 0 || h->nnz < 0 || h->blocks < 0) return "a size is negative";
    if (h->block < 1 || h->block > SPRYI_BSR_MOST_BLOCK) return "the size of blocks is out of range";
    if (h->block_rows != h->rows / h->block + (h->rows % h->block > 0) ||
        h->block_cols != h->cols / h->block + (h->cols % h->block > 0))
        return "the numbers of block rows and columns do not fit";
    if (h->blocks > INT64_MAX / MOST || h->nnz > spryi_bsr_value_count(h)) return "the number of blocks does not fit";
    if (spryi_stored_row((spry_type)h->value_type) < 0 ||
        spryi_index_pair((spry_index_type)h->offset_type, (spry_index_type)h->index_type) < 0)
        return "a type is unknown";
    if (h->index_type == SPRY_I32 && h->cols > INT32_MAX) return "the columns pass their index type";
    if (h->parts < 1 || h->parts > SPRYI_BSR_PARTS || (h->parts & (h->parts - 1)) != 0) return "the parts do not fit";
    return NULL;
}

/* Offsets rise, and the windows of the transposed product are those that the structure gives. */
static const char *structure_fault(const spry_context *context, const spryi_bsr *s)
{
    const spryi_bsr_head *h = &s->head;
    int rises = spryi_index_at(s->offsets, s->types.offset_type, 0) == 0;
    for (int64_t I = 0; rises && I < h->block_rows; I++)
        rises = spryi_index_at(s->offsets, s->types.offset_type, I) <=
                spryi_index_at(s->offsets, s->types.offset_type, I + 1);
    if (!rises || spryi_index_at(s->offsets, s->types.offset_type, h->block_rows) != h->blocks)
        return "offsets do not rise from 0 to the number of blocks";
    int64_t again = 0;
    block_job j = job_of(s);
    j.first = h->block_rows;
    spryi_loop(context, spryi_threads(context, h->rows + h->blocks), h->block_rows, 0, find_faults, &j);
    if (j.first < h->block_rows) return j.steps->fault(s, j.first, &again);
    if (j.entries != h->nnz) return "the masks do not hold as many entries as are told";
    spryi_bsr found = *s;
    spryi_bsr_find_windows(context, &found, 1);
    int same = found.head.parts == h->parts;
    for (int p = 0; same && p < h->parts; p++)
        same = found.head.window_begin[p] == h->window_begin[p] && found.head.window_end[p] == h->window_end[p];
    return same ? NULL : "the windows of the transposed product do not fit";
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    const spryi_bsr *s = storage;
    const char *fault = head_fault(&s->head);
    if (!fault) fault = structure_fault(context, s);
    return fault ? spryi_fail(err, SPRY_BAD_FILE, NULL, "bsr: %s", fault) : SPRY_OK;
}

static const spryi_parameter parameters[] = {
    {"block", 1, SPRYI_BSR_MOST_BLOCK, "rows and columns of a block"},
    {.name = NULL},
};

const spryi_format spryi_format_bsr = {
    .name = "bsr",
    .title = "block compressed sparse rows",
    .storage = "block^2 values and a column a block + (m/block+1) offsets, and masks where blocks have fill",
    .best_for = "several unknowns a node: dense blocks, as finite elements have them",
    .parameters = parameters,
    .parameter_text = "block=NUMBER (rows and columns of a block, 1 to 16; default: fewest bytes of 1 to 8)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .storage_size = sizeof(spryi_bsr),
    .sections = sections,
    .check = check,
    .estimator = &spryi_bsr_estimator,
};
