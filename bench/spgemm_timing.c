/* Times products of two sparse matrices in turn. */
#include "bench/spgemm_cases.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = SPGEMM_TURNS, BATCHES = 5, UNTIMED_RUNS = 5 };
static const double batch_us = 1000, gpu_batch_us = 5000, turn_us = 300000, most_us = 30e6, warm_us = 50000;

/* Some runs, each timed by itself, so that giving C back is no part of it. */
static int run_many(spgemm_group *group, spgemm_case *c, int64_t runs, double *us)
{
    *us = 0;
    for (int64_t r = 0; r < runs; r++) {
        double one = 0;
        if (group->session->options->protocol.cold) bench_flush_caches(group->session);
        if (!spgemm_run(group, c, &one)) return 0;
        spgemm_release(c);
        *us += one;
    }
    return 1;
}

/* With session->runs single runs, in no more turns than these are. */
static int64_t turns_of(const spgemm_group *group)
{
    const int64_t runs = group->session->options->protocol.runs;
    return runs > 0 && runs < TURNS ? runs : TURNS;
}

/* A turn has so many batches, or single runs. */
static int64_t samples_a_turn(const spgemm_group *group)
{
    return group->session->options->protocol.runs > 0 ? (group->session->options->protocol.runs + TURNS - 1) / TURNS
                                                      : BATCHES;
}

/* Untimed runs before the first turn: allocators and caches fill, and the fastest tells how many make a batch. */
static void warm_up(spgemm_group *group, spgemm_case *c)
{
    double fastest = c->record.time.first_us, spent = 0, us = 0;
    const int most = group->session->options->protocol.runs > 0 ? UNTIMED_RUNS : 100;
    for (int r = 0; r < most && spent < warm_us && fastest < 10 * warm_us; r++) {
        if (!run_many(group, c, 1, &us)) return;
        if (us < fastest) fastest = us;
        spent += us;
    }
    double least = c->device > 0 ? gpu_batch_us : batch_us;
    const int single = group->session->options->protocol.cold || group->session->options->protocol.runs > 0;
    c->batch_runs = single || fastest > least ? 1 : (int64_t)ceil(1.1 * least / fmax(fastest, 0.1));
}

/* The stages of one run of ours. */
static void sample_stages(spgemm_group *group, spgemm_case *c)
{
    double us;
    if (c->peer || !is_live(&c->record)) return;
    if (c->options.device != SPRY_CPU && !c->plan) { /* a plan's runs tell them anyhow */
        c->options.tell_stages = 1;
        const int good = run_many(group, c, 1, &us);
        c->options.tell_stages = 0;
        if (!good) return;
    }
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        if (!isnan(c->record.product.stages[s])) c->stages[s][c->stage_counts[s]++] = c->record.product.stages[s];
}

/* Short products first run untimed: the case before left its own data in the caches. */
static void take_turn(spgemm_group *group, spgemm_case *c, double *total)
{
    double us = 0, spent = 0;
    for (int r = 0; !group->session->options->protocol.cold && r < 8 && spent < warm_us / 10; r++) {
        if (c->record.time.first_us > warm_us) break;
        if (!run_many(group, c, 1, &us)) return;
        spent += us;
    }
    spent = 0;
    for (int b = 0; b < samples_a_turn(group) && spent < turn_us; b++) {
        if (!run_many(group, c, c->batch_runs, &us)) return;
        c->samples[c->sample_count++] = us / (double)c->batch_runs;
        c->record.time.runs = (c->record.time.runs < 0 ? 0 : c->record.time.runs) + c->batch_runs;
        spent += us;
    }
    sample_stages(group, c);
    *total += spent;
}

static void fill_record(const spgemm_group *group, spgemm_case *c)
{
    const record *r = &c->record;
    spry_arrays result = group->arrays; /* C has as many rows as A, and its types */
    result.nnz = r->product.nnz_c;
    int64_t bytes = 0;
    for (int part = 0; part < 3; part++) bytes += csr_part_bytes(&group->arrays, part) + csr_part_bytes(&result, part);
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        if (c->stage_counts[s] > 0)
            c->record.product.stages[s] = bench_summarise(c->stages[s], c->stage_counts[s]).median;
    bench_fill_times(&c->record, c->samples, c->sample_count, 2 * (double)r->product.products, (double)bytes);
}

int spgemm_measure(spgemm_group *group)
{
    double *totals = calloc((size_t)group->case_count + 1, sizeof *totals);
    if (!totals) return 0;
    processor_time before = read_processor_time();
    group->children = 0;
    int good = 1;
    for (int i = 0; i < group->case_count && good; i++) {
        spgemm_case *c = &group->cases[i];
        if (!is_live(&c->record)) continue;
        c->samples = malloc((size_t)(TURNS * samples_a_turn(group)) * sizeof *c->samples);
        if (c->samples)
            warm_up(group, c);
        else
            good = 0;
    }
    const int64_t turns = turns_of(group);
    for (int turn = 0; turn < turns && good; turn++)
        for (int i = 0; i < group->case_count; i++) {
            spgemm_case *c = &group->cases[i];
            if (is_live(&c->record) && totals[i] < most_us) take_turn(group, c, &totals[i]);
            if (is_live(&c->record) && turn == turns - 1) spgemm_recheck(group, c);
        }
    for (int i = 0; i < group->case_count && good; i++) fill_record(group, &group->cases[i]);
    group->others = others_since(before, group->children);
    free(totals);
    return good;
}
