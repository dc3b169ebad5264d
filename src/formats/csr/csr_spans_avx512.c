/*
 * Finds spans (see csr.h), for kernels that load x by them. A sample of the rows tells how many spans each gets at
 * least and whether any block of general rows is worth the try; then blocks are cut in parallel, each into its slots,
 * which are as many as may pay: a block that needs more keeps its columns.
 */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

#include <string.h>

enum {
    SAMPLES = 128,       /* places in the matrix that are looked at, ... */
    SAMPLE_ROWS = 64,    /* ... of so many rows each */
    SAMPLE_SPANS = 4096, /* of one place; where there are more, rows are long and need no least */
    LEAST_ROWS = 64,     /* of a matrix */
    /* entries that spans need on average to be cheaper than single loads of x and as many columns */
    ROW_FILL = 3,
    GROUP_FILL_F32 = 4,
    GROUP_FILL_F64 = 3,
    /* in half cycles, about */
    SPAN_COST = 8,
    MISPREDICTION_COST = 32,
    ENTRY_COST = 3, /* without spans */
    /* spans that leave more tenths of the cost gain nothing: fewer bytes help only where they come from memory */
    MOST_LEFT = 9,
    MOST_LEFT_CACHED = 6,
    CACHED_BYTES = 48 << 20,
};

typedef struct span_rule {
    int lanes; /* of a register */
    int least; /* spans a row */
} span_rule;

#define SPRYI_TEMPLATE "formats/csr/csr_spans_avx512.tmpl.c"
#include "core/instantiate_indices.h"

static int64_t cut_rows(const spryi_csr *s, int64_t begin, int64_t end, int group, const span_rule *rule,
                        spryi_csr_span *w, int64_t room)
{
    switch (spryi_index_pair(s->a.offset_type, s->a.index_type)) {
    case 0: return cut_rows_32_32(s->a.offsets, s->a.indices, begin, end, group, rule, w, room);
    case 1: return cut_rows_64_32(s->a.offsets, s->a.indices, begin, end, group, rule, w, room);
    default: return cut_rows_64_64(s->a.offsets, s->a.indices, begin, end, group, rule, w, room);
    }
}

static int64_t entries(const spryi_csr *s, int64_t begin, int64_t end)
{
    return spryi_index_at(s->a.offsets, s->a.offset_type, end) - spryi_index_at(s->a.offsets, s->a.offset_type, begin);
}

static int is_general(const spryi_csr *s, const spryi_csr_block *block)
{
    return block->runs_end == block->runs_begin + 1 && s->runs[block->runs_begin].kind == SPRYI_RUN_GENERAL;
}

/* Of sampled general rows: how many have q spans, the last of so many and more. */
typedef struct span_sample {
    int64_t rows[SPRYI_MOST_LEAST + 2];
    int64_t entries, spans;
} span_sample;

/* w: SAMPLE_SPANS + SPRYI_MOST_LEAST. */
static void sample_block(const spryi_csr *s, const spryi_csr_block *block, const span_rule *rule, span_sample *sample,
                         spryi_csr_span *w)
{
    const int64_t end = block->end < block->begin + SAMPLE_ROWS ? block->end : block->begin + SAMPLE_ROWS;
    for (int64_t i = block->begin; i < end; i++) {
        int64_t n = cut_rows(s, i, i + 1, 1, rule, w, SAMPLE_SPANS);
        if (n < 0) break;
        sample->rows[n <= SPRYI_MOST_LEAST ? n : SPRYI_MOST_LEAST + 1]++;
        sample->spans += n;
        sample->entries += entries(s, i, i + 1);
    }
}

/*
 * The least number of spans at which rows are cheapest: padding takes time, and so does each row whose end is not
 * where most rows have theirs, for the processor guesses it wrong. 0: spans would leave more than `most_left` tenths
 * of what single loads cost, or have fewer than `fill` entries.
 */
static int best_least(const span_sample *sample, int fill, int most_left)
{
    int64_t total = 0, within = sample->rows[0], padding = 0, best_cost = sample->entries * ENTRY_COST * most_left / 10;
    int best = 0;
    for (int n = 0; n <= SPRYI_MOST_LEAST + 1; n++) total += sample->rows[n];
    for (int least = 1; least <= SPRYI_MOST_LEAST; least++) {
        padding += within; /* rows of fewer spans, each one more than before */
        within += sample->rows[least];
        int64_t alike = within;
        for (int n = least + 1; n <= SPRYI_MOST_LEAST + 1; n++)
            if (sample->rows[n] > alike) alike = sample->rows[n];
        const int64_t cost = (sample->spans + padding) * SPAN_COST + (total - alike) * MISPREDICTION_COST;
        if (cost < best_cost && sample->entries >= fill * (sample->spans + padding)) {
            best_cost = cost;
            best = least;
        }
    }
    return best;
}

/* The rule for general rows, with least 0 where the sample says that spans would not pay. */
static spry_status rule_for_rows(spry_context *context, const spryi_csr *s, int fill, span_rule *rule, spry_error *err)
{
    span_sample sample = {0};
    spryi_csr_span *w;
    spry_status status = SPRYI_NEW(context, &w, SAMPLE_SPANS + SPRYI_MOST_LEAST, "spans of a sample", err);
    if (status != SPRY_OK) return status;
    for (int64_t p = 0; p < SAMPLES && p < s->block_count; p++) {
        const spryi_csr_block *block = &s->blocks[s->block_count < SAMPLES ? p : s->block_count * p / SAMPLES];
        if (block->piece < 0 && is_general(s, block)) sample_block(s, block, rule, &sample, w);
    }
    const int cached = spryi_arrays_bytes(&s->a) <= CACHED_BYTES;
    if (sample.spans > 0) rule->least = best_least(&sample, fill, cached ? MOST_LEFT_CACHED : MOST_LEFT);
    spryi_release(context, w);
    return SPRY_OK;
}

/* Spans that would pay for a run. */
static int64_t most_spans(const spryi_csr *s, const spryi_csr_block *block, const spryi_csr_run *run, int row_fill,
                          int group_fill)
{
    const int64_t count = entries(s, block->begin + run->begin, block->begin + run->end);
    if (run->kind == SPRYI_RUN_SHARED) return count / (run->group * group_fill);
    return run->kind == SPRYI_RUN_GENERAL && row_fill > 0 && is_general(s, block) ? count / row_fill : 0;
}

static void cut_block(spryi_csr *s, const spryi_csr_block *block, const span_rule *rows, int row_fill, int group_fill)
{
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        spryi_csr_run *run = &s->runs[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        const int64_t most = most_spans(s, block, run, row_fill, group_fill);
        if (most == 0) continue;
        const int shared = run->kind == SPRYI_RUN_SHARED;
        const int64_t n = cut_rows(s, begin, end, shared ? run->group : 1, rows, s->spans + run->spans, most);
        if (n > 0) run->least = shared ? 1 : rows->least;
    }
}

spry_status spryi_csr_find_spans(spry_context *context, spryi_csr *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int f64 = s->vector_type == SPRY_F64, lanes = f64 ? 8 : 16;
    const int group_fill = f64 ? GROUP_FILL_F64 : GROUP_FILL_F32;
    if (s->a.value_type != s->vector_type || s->a.cols > INT32_MAX || s->a.rows < LEAST_ROWS) return SPRY_OK;
    span_rule rows = {.lanes = lanes};
    SPRYI_TRY(rule_for_rows(context, s, ROW_FILL, &rows, err));
    const int row_fill = rows.least > 0 ? ROW_FILL : 0;
    int64_t slots = 0;
    for (int64_t b = 0; b < s->block_count; b++) {
        for (int64_t r = s->blocks[b].runs_begin; r < s->blocks[b].runs_end; r++) {
            s->runs[r].spans = slots;
            const int64_t most = most_spans(s, &s->blocks[b], &s->runs[r], row_fill, group_fill);
            slots += most > 0 ? most + SPRYI_MOST_LEAST : 0;
        }
    }
    if (slots == 0) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &s->spans, slots, "spans", err));
    s->span_count = slots;
    const int threads = spryi_threads(context, s->a.nnz + s->a.rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < s->block_count; b++) cut_block(s, &s->blocks[b], &rows, row_fill, group_fill);
done:
    return status;
}
