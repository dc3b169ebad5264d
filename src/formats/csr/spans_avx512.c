/*
 * Finds spans (csr.h). A sample of the rows determines the minimum number of spans per row, and whether spans reduce
 * time in blocks of general rows at all. Then blocks are cut into spans in parallel. Each run has slots for the largest
 * number of spans that reduces time; products read the columns of a run that needs more spans.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/simd_x86.h"
#include "formats/csr/csr.h"
#include "matrix/assemble.h"

#include <string.h>

enum {
    SAMPLES = 128,        /* sampled places of the matrix */
    SAMPLE_ROWS = 64,     /* rows per place */
    SAMPLE_ENTRIES = 512, /* entries per place, approximately */
    SAMPLE_SPANS = 4096,  /* maximum spans of a sampled row; rows with more are long and need no minimum */
    LEAST_ROWS = 64,      /* minimum rows of a matrix with spans */
    /* minimum entries per span for which spans are cheaper than single loads of columns and of x */
    ROW_FILL = 3,
    GROUP_FILL_F32 = 4,
    GROUP_FILL_F64 = 3,
    /* costs, approximately in half processor cycles */
    SPAN_COST = 8,
    MISPREDICTION_COST = 32,
    ENTRY_COST = 3, /* cost of an entry without spans */
    /*
     * maximum cost with spans, in tenths of the cost without spans; lower for a cached matrix, for which spans save no
     * memory traffic
     */
    MOST_LEFT = 9,
    MOST_LEFT_CACHED = 6,
    CACHED_BYTES = 48 << 20,
};

/* The matrix in which spans are searched, and the limits for its spans. */
typedef struct search {
    const spry_arrays *csr;
    const spryi_csr_blocks *blocks;
    spryi_csr_runs *runs;
    int lanes;      /* lanes of a register */
    int least;      /* minimum spans of a general row; 0: general rows have no spans, or are being sampled */
    int group_fill; /* minimum mean entries per span in groups */
} search;

#define SPRYI_TEMPLATE "formats/csr/spans_avx512.tmpl.c"
#include "base/instantiate_indices.h"

/*
 * Cuts the first row of each group of `group` rows, from `begin` to end - 1, into spans at w. Returns the number of
 * spans, or -1 if they exceed `room`.
 */
static int64_t cut_rows(const search *s, int64_t begin, int64_t end, int group, spryi_csr_span *w, int64_t room)
{
    return SPRYI_BY_PAIR(s->csr, cut_rows, s, begin, end, group, w, room);
}

/* Returns true if the block is one general run. */
static bool is_general(const search *s, const spryi_csr_block *block)
{
    return block->runs_end == block->runs_begin + 1 && s->runs->list[block->runs_begin].kind == SPRYI_RUN_GENERAL;
}

/* rows[q]: sampled general rows with q spans; the last element counts rows with more than the maximum. */
typedef struct span_sample {
    int64_t rows[SPRYI_MAX_LEAST_SPANS + 2];
    int64_t entries, spans;
} span_sample;

/*
 * Cuts the first rows of a block into spans at w and counts them in *sample. w has room for SAMPLE_SPANS +
 * SPRYI_MAX_LEAST_SPANS spans.
 */
static void sample_block(const search *s, const spryi_csr_block *block, span_sample *sample, spryi_csr_span *w)
{
    const int64_t end = block->end < block->begin + SAMPLE_ROWS ? block->end : block->begin + SAMPLE_ROWS;
    const int64_t most = sample->entries + SAMPLE_ENTRIES;
    for (int64_t i = block->begin; i < end && sample->entries < most; i++) {
        int64_t n = cut_rows(s, i, i + 1, 1, w, SAMPLE_SPANS);
        if (n < 0) break;
        sample->rows[n <= SPRYI_MAX_LEAST_SPANS ? n : SPRYI_MAX_LEAST_SPANS + 1]++;
        sample->spans += n;
        sample->entries += spryi_csr_entries(s->csr, i, i + 1);
    }
}

/*
 * Returns the value of least_spans for which the estimated time is least. Padding spans take time. A row whose number
 * of spans differs from that of most rows also takes time, because its end is mispredicted. Returns 0 if spans would
 * cost more than `most_left` tenths of single loads, or would have fewer than ROW_FILL entries on average.
 */
static int best_least(const span_sample *sample, int most_left)
{
    int64_t total = 0, within = sample->rows[0], padding = 0, best_cost = sample->entries * ENTRY_COST * most_left / 10;
    int best = 0;
    for (int n = 0; n <= SPRYI_MAX_LEAST_SPANS + 1; n++) total += sample->rows[n];
    for (int least = 1; least <= SPRYI_MAX_LEAST_SPANS; least++) {
        padding += within; /* each row with fewer spans gets one more padding span */
        within += sample->rows[least];
        int64_t alike = within;
        for (int n = least + 1; n <= SPRYI_MAX_LEAST_SPANS + 1; n++)
            if (sample->rows[n] > alike) alike = sample->rows[n];
        const int64_t cost = (sample->spans + padding) * SPAN_COST + (total - alike) * MISPREDICTION_COST;
        if (cost < best_cost && sample->entries >= ROW_FILL * (sample->spans + padding)) {
            best_cost = cost;
            best = least;
        }
    }
    return best;
}

/* Sets s->least for general rows. It remains 0 if the sample shows no gain from spans. */
static spry_status find_least(spry_context *context, search *s, spry_error *err)
{
    span_sample sample = {0};
    spryi_csr_span *w;
    const int64_t count = s->blocks->count;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &w, SAMPLE_SPANS + SPRYI_MAX_LEAST_SPANS, "spans of a sample", err));
    for (int64_t p = 0; p < SAMPLES && p < count; p++) {
        const spryi_csr_block *block = &s->blocks->list[count < SAMPLES ? p : count * p / SAMPLES];
        if (block->piece < 0 && is_general(s, block)) sample_block(s, block, &sample, w);
    }
    const bool cached = spryi_arrays_bytes(s->csr) <= CACHED_BYTES;
    if (sample.spans > 0) s->least = best_least(&sample, cached ? MOST_LEFT_CACHED : MOST_LEFT);
    spryi_release(context, w);
    return SPRY_OK;
}

/* Returns the largest number of spans with which a run takes less time than without; 0: the run gets no spans. */
static int64_t most_spans(const search *s, const spryi_csr_block *block, const spryi_csr_run *run)
{
    const int64_t count = spryi_csr_entries(s->csr, block->begin + run->begin, block->begin + run->end);
    if (run->kind == SPRYI_RUN_SHARED) return count / (run->group * s->group_fill);
    return run->kind == SPRYI_RUN_GENERAL && s->least > 0 && is_general(s, block) ? count / ROW_FILL : 0;
}

static void cut_block(const search *s, const spryi_csr_block *block, spryi_csr_span *list)
{
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        spryi_csr_run *run = &s->runs->list[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        const int64_t most = most_spans(s, block, run);
        if (most == 0) continue;
        const bool shared = run->kind == SPRYI_RUN_SHARED;
        if (cut_rows(s, begin, end, shared ? run->group : 1, list + run->first_span, most) > 0)
            run->least_spans = shared ? 1 : s->least;
    }
}

typedef struct cut_job {
    const search *s;
    spryi_csr_span *list;
} cut_job;

static void cut_blocks(void *job, int64_t begin, int64_t end)
{
    const cut_job *j = job;
    for (int64_t b = begin; b < end; b++) cut_block(j->s, &j->s->blocks->list[b], j->list);
}

spry_status spryi_csr_spans_find(spry_context *context, spryi_csr_spans *spans, spryi_csr_runs *runs,
                                 const spryi_csr_blocks *blocks, const spry_arrays *csr, spry_type vector_type,
                                 spry_error *err)
{
    spry_status status = SPRY_OK;
    const bool f64 = vector_type == SPRY_F64;
    search s = {.csr = csr, .blocks = blocks, .runs = runs, .lanes = f64 ? 8 : 16};
    s.group_fill = f64 ? GROUP_FILL_F64 : GROUP_FILL_F32;
    if (csr->value_type != vector_type || csr->columns > INT32_MAX || csr->rows < LEAST_ROWS) return SPRY_OK;
    SPRYI_TRY(find_least(context, &s, err));
    int64_t slots = 0;
    for (int64_t b = 0; b < blocks->count; b++) {
        for (int64_t r = blocks->list[b].runs_begin; r < blocks->list[b].runs_end; r++) {
            runs->list[r].first_span = slots;
            const int64_t most = most_spans(&s, &blocks->list[b], &runs->list[r]);
            slots += most > 0 ? most + SPRYI_MAX_LEAST_SPANS : 0;
        }
    }
    if (slots == 0) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &spans->list, slots, "spans", err));
    spans->count = slots;
    spryi_loop(context, spryi_threads(context, csr->nnz + csr->rows), blocks->count, 0, cut_blocks,
               &(cut_job){&s, spans->list});
done:
    return status;
}
