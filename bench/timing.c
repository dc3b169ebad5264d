/* Times the cases of a matrix in turn, a few batches each, round after round. */
#include "bench/bench.h"
#include "bench/group.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TURNS = 5, FEWEST_BATCHES = 5, MOST_BATCHES = 21, MOST_WARM_RUNS = 1000, TURN_WARM_RUNS = 8 };
enum { STUDY_WARM_RUNS = 5, FEWEST_RUNS = 3 };
static const double longest_warm_us = 250000, longest_runs_us = 500000; /* of the study's protocol */
static const double batch_us = 1000, gpu_batch_us = 5000, warm_us = 10000, turn_us = 30000, turn_warm_us = 2000,
                    most_turn_warm_us = 60000, longest_batch_us = 10000;

/* Writes every line of the flush buffer, so that no cache holds anything of the matrix. */
void bench_flush_caches(const bench_session *session)
{
    volatile char *bytes = session->flush;
    int64_t lines = (int64_t)(session->flush_bytes / 64);
    int threads = spry_context_threads(session->context);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t l = 0; l < lines; l++) bytes[l * 64] = (char)(bytes[l * 64] + 1);
}

static int run_many(bench_group *group, bench_case *c, int64_t runs, double *us)
{
    double start = bench_now_us();
    for (int64_t r = 0; r < runs; r++)
        if (!bench_case_run(group, c, 1, 0)) return 0;
    if (!bench_case_wait(group, c)) return 0;
    *us = bench_now_us() - start;
    return 1;
}

/* A GPU's batches are longer: waiting for the last run costs some microseconds. */
static double least_batch_us(const bench_case *c)
{
    return c->device > 0 ? gpu_batch_us : batch_us;
}

/* A few runs: caches and threads wake up, and the fastest run tells how many make a batch. */
static void warm_up(bench_group *group, bench_case *c)
{
    double fastest = INFINITY, spent = 0, us = 0;
    for (int r = 0; r < MOST_WARM_RUNS && (r < 2 || spent < warm_us); r++) {
        if (!run_many(group, c, 1, &us)) return;
        if (us < fastest) fastest = us;
        spent += us;
    }
    if (!(fastest > 0.01)) fastest = 0.01;
    c->batch_runs = group->session->cold ? 1 : (int64_t)ceil(1.1 * least_batch_us(c) / fastest);
}

/*
 * Runs of one batch, in pieces: a machine busy with other work can make a run a hundred times as long as
 * the one that settled the number of runs, and then the batch may end early.
 */
static int run_pieces(bench_group *group, bench_case *c, int64_t *runs, double *us)
{
    int64_t piece = c->device > 0 ? c->batch_runs : c->batch_runs > 8 ? c->batch_runs / 8 : 1;
    double piece_us = 0;
    *runs = 0;
    for (*us = 0; *runs < c->batch_runs && *us < longest_batch_us; *us += piece_us, *runs += piece)
        if (!run_many(group, c, piece, &piece_us)) return 0;
    return 1;
}

/* One batch; one that turns out too short is made longer and repeated. */
static double run_batch(bench_group *group, bench_case *c)
{
    double us = 0;
    int64_t runs = 0;
    for (;;) {
        if (group->session->cold) bench_flush_caches(group->session);
        if (!run_pieces(group, c, &runs, &us)) return us;
        if (group->session->cold || us >= least_batch_us(c)) break;
        c->batch_runs = c->batch_runs + c->batch_runs / 2 + 1;
    }
    c->samples[c->sample_count++] = us / (double)runs;
    c->record.runs = (c->record.runs < 0 ? 0 : c->record.runs) + runs;
    return us;
}

/*
 * A case's turn: some batches. Warm: untimed runs first, since the case before left its own data in the
 * caches, and a last-level cache takes in a matrix over several passes, not one.
 */
static void take_turn(bench_group *group, bench_case *c, int batches)
{
    double us = 0, spent = 0;
    if (!group->session->cold)
        for (int r = 0; spent < turn_warm_us || (r < TURN_WARM_RUNS && spent < most_turn_warm_us); r++) {
            if (!run_many(group, c, 1, &us)) return;
            spent += us;
        }
    spent = 0;
    for (int b = 0; b < batches && c->record.status == BENCH_OK; b++) {
        if (b >= FEWEST_BATCHES && spent > 4 * turn_us) break;
        spent += run_batch(group, c);
    }
}

static void fill_record(bench_group *group, bench_case *c)
{
    bench_record *r = &c->record;
    bench_summary s = bench_summarise(c->samples, c->sample_count);
    r->time_us = s.median;
    r->mean_us = s.mean;
    r->min_us = s.min;
    r->spread_us = s.spread;
    r->gflops = 2e-3 * (double)r->nnz / s.median;
    r->gbps = 1e-3 * group->csr_bytes / s.median;
    r->roof = r->gbps / r->copy_gbps;
}

/* ---- other work on the machine ------------------------------------------------------------------ */

bench_processor_time bench_read_processor_time(void)
{
    bench_processor_time t = {0};
    struct rusage own;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    FILE *file = fopen("/proc/stat", "r");
    double tick = (double)sysconf(_SC_CLK_TCK);
    if (!file) return t;
    if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft,
               &steal) == 8 &&
        getrusage(RUSAGE_SELF, &own) == 0) {
        t.busy = (double)(user + nice + system + irq + soft + steal) / tick;
        t.all = t.busy + (double)(idle + wait) / tick;
        t.own = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
    }
    fclose(file);
    return t;
}

double bench_others_since(bench_processor_time before, double children)
{
    bench_processor_time after = bench_read_processor_time();
    double all = after.all - before.all, others = after.busy - before.busy - (after.own - before.own) - children;
    return all > 0.1 && others > 0 ? others / all : 0;
}

/* Times measured beside other work mean little; the records say so. */
void bench_note_others(bench_record *r, double others)
{
    size_t used = strlen(r->reason);
    if (r->status == BENCH_OK && others >= 0.05)
        snprintf(r->reason + used, sizeof r->reason - used,
                 "%sdisturbed: other programs had %.0f %% of the processors meanwhile", used ? "; " : "", 100 * others);
}

/* ---- rounds ------------------------------------------------------------------------------------- */

static int is_live(const bench_case *c)
{
    return c->record.status == BENCH_OK;
}

/*
 * The study's protocol, cut short where products take tenths of a second. A GPU's run is a batch of a fifth of its
 * least time, since waiting for one alone takes about as long as a short product.
 */
static int measure_runs(bench_group *group, bench_case *c)
{
    const int runs = group->session->runs;
    const int cold = group->session->cold;
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
    c->record.runs = c->sample_count * batch;
    bench_case_recheck(group, c);
    return 1;
}

static void measure_turns(bench_group *group, int batches)
{
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < group->case_count; i++) {
            bench_case *c = &group->cases[i];
            if (is_live(c)) take_turn(group, c, batches);
            if (is_live(c) && turn == TURNS - 1) bench_case_recheck(group, c);
        }
}

/* Short batches are many, so that a disturbance of a few milliseconds cannot move the median. */
static int batches_of(double fastest_batch)
{
    int batches = FEWEST_BATCHES;
    if (isfinite(fastest_batch) && turn_us / fastest_batch > batches) batches = (int)(turn_us / fastest_batch);
    return batches > MOST_BATCHES ? MOST_BATCHES : batches;
}

int bench_measure(bench_group *group)
{
    const int one_by_one = group->session->runs > 0;
    double fastest_batch = INFINITY;
    bench_processor_time before = bench_read_processor_time();
    for (int i = 0; i < group->case_count; i++) {
        bench_case *c = &group->cases[i];
        if (!is_live(c)) continue;
        if (one_by_one) {
            if (!measure_runs(group, c)) return 0;
            continue;
        }
        c->samples = malloc(TURNS * MOST_BATCHES * sizeof *c->samples);
        if (!c->samples) return 0;
        warm_up(group, c);
        double us = 0;
        if (is_live(c) && !group->session->cold && run_many(group, c, c->batch_runs, &us) && us < fastest_batch)
            fastest_batch = us;
    }
    if (!one_by_one) measure_turns(group, batches_of(fastest_batch));
    for (int i = 0; i < group->case_count; i++)
        if (is_live(&group->cases[i]) && group->cases[i].sample_count > 0) fill_record(group, &group->cases[i]);
    group->others = bench_others_since(before, 0);
    for (int i = 0; i < group->case_count; i++) bench_note_others(&group->cases[i].record, group->others);
    return 1;
}

int64_t bench_break_even(const bench_record *record, const bench_record *base)
{
    if (isnan(record->time_us) || isnan(base->time_us) || isnan(record->setup_us) || isnan(base->setup_us)) return -2;
    double dearer = record->setup_us - base->setup_us, gain = base->time_us - record->time_us;
    if (record == base || (dearer <= 0 && gain >= 0)) return 0;
    if (gain <= 0) return -1;
    return (int64_t)ceil(dearer / gain);
}
