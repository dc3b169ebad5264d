/* Times the cases of a matrix in turn, a few batches each, round after round. */
#include "bench/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 5, FEWEST_BATCHES = 5, MOST_BATCHES = 21, MOST_WARM_RUNS = 1000, TURN_WARM_RUNS = 8 };
enum { STUDY_WARM_RUNS = 5, FEWEST_RUNS = 3 };
static const double longest_warm_us = 250000, longest_runs_us = 500000; /* of the study's protocol */
static const double batch_us = 1000, gpu_batch_us = 5000, warm_us = 10000, turn_us = 30000, turn_warm_us = 2000,
                    most_turn_warm_us = 60000, longest_batch_us = 10000;

static void change_lines(void *job, int64_t begin, int64_t end)
{
    volatile char *bytes = job;
    for (int64_t l = begin; l < end; l++) bytes[l * 64] = (char)(bytes[l * 64] + 1);
}

void bench_flush_caches(const bench_session *session)
{
    run_shares(spry_context_threads(session->context), session->flush_bytes / 64, change_lines, session->flush);
}

static int run_many(spmv_group *group, spmv_case *c, int64_t runs, double *us)
{
    const processor_time before = c->told_us ? read_processor_time() : (processor_time){0};
    double start = now_us(), told = 0;
    for (int64_t r = 0; r < runs; r++) {
        if (!spmv_run(group, c, 1, 0)) return 0;
        if (c->told_us) told += *c->told_us;
    }
    if (!spmv_wait(group, c)) return 0;
    *us = now_us() - start;
    if (!c->told_us) return 1;
    /* What this process did not work meanwhile, the peer's process may have. */
    group->children += fmax(0, 1e-6 * *us - (read_processor_time().own - before.own));
    *us = told;
    return 1;
}

/* A GPU's batches are longer: waiting for the last run costs some microseconds. */
static double least_batch_us(const spmv_case *c)
{
    return c->device > 0 ? gpu_batch_us : batch_us;
}

/* A few runs: caches and threads wake up, and the fastest run tells how many make a batch. */
static void warm_up(spmv_group *group, spmv_case *c)
{
    double fastest = INFINITY, spent = 0, us = 0;
    for (int r = 0; r < MOST_WARM_RUNS && (r < 2 || spent < warm_us); r++) {
        if (!run_many(group, c, 1, &us)) return;
        if (us < fastest) fastest = us;
        spent += us;
    }
    if (!(fastest > 0.01)) fastest = 0.01;
    c->batch_runs = group->session->options->protocol.cold ? 1 : (int64_t)ceil(1.1 * least_batch_us(c) / fastest);
}

/*
 * Runs of one batch, in pieces: a machine busy with other work can make a run a hundred times as long as
 * the one that resolved the number of runs, and then the batch may end early.
 */
static int run_pieces(spmv_group *group, spmv_case *c, int64_t *runs, double *us)
{
    int64_t piece = c->device > 0 ? c->batch_runs : c->batch_runs > 8 ? c->batch_runs / 8 : 1;
    double piece_us = 0;
    *runs = 0;
    for (*us = 0; *runs < c->batch_runs && *us < longest_batch_us; *us += piece_us, *runs += piece)
        if (!run_many(group, c, piece, &piece_us)) return 0;
    return 1;
}

/* One batch; one that turns out too short is made longer and repeated. */
static double run_batch(spmv_group *group, spmv_case *c)
{
    double us = 0;
    int64_t runs = 0;
    for (;;) {
        if (group->session->options->protocol.cold) bench_flush_caches(group->session);
        if (!run_pieces(group, c, &runs, &us)) return us;
        if (group->session->options->protocol.cold || us >= least_batch_us(c)) break;
        c->batch_runs = c->batch_runs + c->batch_runs / 2 + 1;
    }
    c->samples[c->sample_count++] = us / (double)runs;
    c->record.time.runs = (c->record.time.runs < 0 ? 0 : c->record.time.runs) + runs;
    return us;
}

/*
 * A case's turn: some batches. Warm: untimed runs first, since the case before left its own data in the
 * caches, and a last-level cache takes in a matrix over several passes, not one.
 */
static void take_turn(spmv_group *group, spmv_case *c, int batches)
{
    double us = 0, spent = 0;
    if (!group->session->options->protocol.cold)
        for (int r = 0; spent < turn_warm_us || (r < TURN_WARM_RUNS && spent < most_turn_warm_us); r++) {
            if (!run_many(group, c, 1, &us)) return;
            spent += us;
        }
    spent = 0;
    for (int b = 0; b < batches && c->record.status == RECORD_OK; b++) {
        if (b >= FEWEST_BATCHES && spent > 4 * turn_us) break;
        spent += run_batch(group, c);
    }
}

/* ---- rounds ------------------------------------------------------------------------------------- */

/*
 * The study's protocol, cut short where products take tenths of a second. A GPU's run is a batch of a fifth of its
 * least time, since waiting for one alone takes about as long as a short product.
 */
static int measure_runs(spmv_group *group, spmv_case *c)
{
    const int64_t runs = group->session->options->protocol.runs;
    const int cold = group->session->options->protocol.cold;
    double us = 0, spent = 0, fastest = INFINITY;
    c->samples = malloc((size_t)runs * sizeof *c->samples);
    if (!c->samples) return 0;
    for (int r = 0; r < STUDY_WARM_RUNS && spent < longest_warm_us; r++, spent += us) {
        if (!run_many(group, c, 1, &us)) return 1;
        if (us < fastest) fastest = us;
    }
    const int64_t batch = c->device > 0 && !cold ? (int64_t)ceil(0.2 * gpu_batch_us / fmax(fastest, 0.01)) : 1;
    spent = 0;
    for (int r = 0; r < runs && (r < FEWEST_RUNS || spent < longest_runs_us); r++, spent += us) {
        if (cold) bench_flush_caches(group->session);
        if (!run_many(group, c, batch, &us)) return 1;
        c->samples[c->sample_count++] = us / (double)batch;
    }
    c->record.time.runs = c->sample_count * batch;
    spmv_recheck(group, c);
    return 1;
}

static void measure_turns(spmv_group *group, int batches)
{
    const bench_options *options = group->session->options;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < group->case_count; i++) {
            spmv_case *c = &group->cases[i];
            if (is_live(&c->record)) take_turn(group, c, batches);
            if (is_live(&c->record) && turn == TURNS - 1) spmv_recheck(group, c);
        }
        if (options->receiver.turns) options->receiver.turns(options->receiver.user, (turn + 1.0) / TURNS);
    }
}

/* Short batches are many, so that a disturbance of a few milliseconds cannot move the median. */
static int batches_of(double fastest_batch)
{
    int batches = FEWEST_BATCHES;
    if (isfinite(fastest_batch) && turn_us / fastest_batch > batches) batches = (int)(turn_us / fastest_batch);
    return batches > MOST_BATCHES ? MOST_BATCHES : batches;
}

int spmv_measure(spmv_group *group)
{
    const int one_by_one = group->session->options->protocol.runs > 0;
    double fastest_batch = INFINITY;
    processor_time before = read_processor_time();
    for (int i = 0; i < group->case_count; i++) {
        spmv_case *c = &group->cases[i];
        if (!is_live(&c->record)) continue;
        if (one_by_one) {
            if (!measure_runs(group, c)) return 0;
            continue;
        }
        c->samples = malloc(TURNS * MOST_BATCHES * sizeof *c->samples);
        if (!c->samples) return 0;
        warm_up(group, c);
        double us = 0;
        if (is_live(&c->record) && !group->session->options->protocol.cold && run_many(group, c, c->batch_runs, &us) &&
            us < fastest_batch)
            fastest_batch = us;
    }
    if (!one_by_one) measure_turns(group, batches_of(fastest_batch));
    for (int i = 0; i < group->case_count; i++)
        bench_fill_times(&group->cases[i].record, group->cases[i].samples, group->cases[i].sample_count,
                         2 * (double)group->matrices.arrays.nnz * (double)group->vectors.columns,
                         group->matrices.csr_bytes);
    group->others = others_since(before, group->children);
    return 1;
}
