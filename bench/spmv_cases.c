/* Products with vectors: selection of kernels and peers, their timing, and the choices of auto. */
#include "bench/internal.h"
#include "spry/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- regret of automatic choices ------------------------------------------------------------- */

/*
 * Published parameters of formats, measured in addition to the defaults. SELL-C-sigma: chunks and windows (Kreutzer and
 * others 2014). CSR-k: formulas for each machine, and sizes of super-rows from the set that the authors tried on CPUs
 * (Lane and Booth 2022). HYB: the width that a third of the rows reach (Bell and Garland 2009). BSR: blocks of two to
 * four rows.
 */
static const char *const published[] = {"sell:c=8:sigma=1",    "sell:c=8:sigma=512",   "sell:c=16:sigma=1",
                                        "sell:c=16:sigma=512", "sell:c=16:sigma=4096", "sell:c=32:sigma=1",
                                        "sell:c=32:sigma=512", "sell:c=32:sigma=4096", "csr2:srs=32",
                                        "csr2:srs=96",         "csr2:srs=384",         "csr2:srs=1536",
                                        "csr3:tuning=cpu",     "csr3:tuning=volta",    "csr3:tuning=ampere",
                                        "csr3:tuning=hopper",  "hyb:share=67",         "bsr:block=2",
                                        "bsr:block=3",         "bsr:block=4"};

/* Returns the format `index` of the list; NULL after the last. */
static const char *published_format(int index)
{
    return index < (int)(sizeof published / sizeof *published) ? published[index] : NULL;
}

/* The choices of auto on each device. */
typedef struct spmv_choices {
    bench_choice *items;
    int count;
} spmv_choices;

/* The device, policy and number of calls of a choice. */
typedef struct request {
    spmv_group *group;
    const bench_subject *subject;
    const char *device, *policy;
    int64_t calls;
} request;

static int plan(const request *r, const char *format, record *planned, int *index)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = r->group->op;
    options.format = format;
    options.expected_calls = r->calls;
    options.policy = strcmp(format, "auto") == 0 ? r->policy : NULL;
    (void)!find_device(r->group->session->context, &options.device, r->device, NULL);
    return spmv_add_choice(r->group, &options, format, r->device, planned, index);
}

/*
 * Creates a plan in csr and a plan of "auto". If a plan cannot be created, its record has the reason. Returns 0 if
 * memory is short.
 */
static int add_choice(spmv_choices *choices, const request *r)
{
    bench_choice *items = realloc(choices->items, ((size_t)choices->count + 1) * sizeof *items);
    if (!items) return 0;
    choices->items = items;
    bench_choice *c = &items[choices->count++];
    c->calls = r->calls;
    return plan(r, "csr", &c->csr, &c->csr_case) && plan(r, "auto", &c->chosen, &c->chosen_case);
}

/*
 * Creates the plans that auto chooses for each number of calls. A plan is a new case unless an equal case exists.
 * Returns 0 if memory is short.
 */
static int add_choices(spmv_choices *choices, spmv_group *group, const bench_subject *subject)
{
    static const char *const kinds[] = {"cpu", "cuda"};
    static const int64_t calls[] = {1, 10, 100, 1000, 0};
    const char *policy = group->session->options->candidates.policy;
    int good = 1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        request r = {group, subject, kinds[k], policy, 0};
        if (!bench_device_fits(group->session, subject->device, kinds[k], false)) continue;
        if (!bench_has_device(group->session, kinds[k])) continue;
        for (size_t n = 0; good && n < sizeof calls / sizeof *calls; n++) {
            r.calls = calls[n];
            good = add_choice(choices, &r);
        }
        r.policy = "tree";
        if (good && (!policy || strcmp(policy, "tree") != 0)) good = add_choice(choices, &r);
    }
    return good;
}

/* ---- output of choices ---------------------------------------------------------------------------- */

/* Copies the times of a case to the record of a plan that runs like this case. */
static void copy_times(record *planned, const record *timed)
{
    planned->time.median_us = is_live(timed) ? timed->time.median_us : NAN;
    planned->time.spread_us = is_live(timed) ? timed->time.spread_us : NAN;
}

/* Emits the choices, with the times of their cases. */
static spry_status emit_choices(spmv_choices *choices, const spmv_group *group, spry_error *err)
{
    bench_session *session = group->session;
    for (int c = 0; c < choices->count; c++) {
        bench_choice *choice = &choices->items[c];
        copy_times(&choice->chosen, &group->cases[choice->chosen_case].record);
        copy_times(&choice->csr, &group->cases[choice->csr_case].record);
    }
    if (session->options->receiver.emit_choices(session->options->receiver.user, choices->items, choices->count) == 0)
        return SPRY_OK;
    session->stopped = true;
    return bench_fail(err, SPRY_FILE_ERROR, "the choices of auto cannot be written");
}

static void release_choices(spmv_choices *choices)
{
    free(choices->items);
}

/* ---- times ----------------------------------------------------------------------------------- */

enum { ROUNDS = 5, FEWEST_BATCHES = 5, MOST_BATCHES = 21, MOST_WARM_RUNS = 1000, ROUND_WARM_RUNS = 8 };
enum { SHORT_WARM_RUNS = 5, FEWEST_RUNS = 3 };
static const double longest_warm_us = 250000, longest_runs_us = 500000; /* limits of the short protocol */
static const double batch_us = 1000, gpu_batch_us = 5000, warm_us = 10000, round_us = 30000, round_warm_us = 2000,
                    most_round_warm_us = 60000, longest_batch_us = 10000;

static void change_lines(void *job, int64_t begin, int64_t end)
{
    volatile char *bytes = job;
    for (int64_t l = begin; l < end; l++) bytes[l * 64] = (char)(bytes[l * 64] + 1);
}

void bench_flush_caches(const bench_session *session)
{
    run_shares(pool_threads(session->context), session->flush_bytes / 64, change_lines, session->flush);
}

static int run_many(spmv_group *group, spmv_case *c, int64_t runs, double *us)
{
    const processor_time before = c->reported_us ? read_processor_time() : (processor_time){0};
    const double beta = bench_adds(group->session->options->operation.op) ? 1 : 0;
    double start = now_us(), reported = 0;
    for (int64_t r = 0; r < runs; r++) {
        if (!spmv_run(group, c, 1, beta)) return 0;
        if (c->reported_us) reported += *c->reported_us;
    }
    if (!spmv_wait(group, c)) return 0;
    *us = now_us() - start;
    if (!c->reported_us) return 1;
    /* Time that this process did not use may be work of the peer's process. */
    group->children += fmax(0, 1e-6 * *us - (read_processor_time().own - before.own));
    *us = reported;
    return 1;
}

/* Returns the least time of a batch. GPU batches are longer, because waiting for the last run costs microseconds. */
static double least_batch_us(const spmv_case *c)
{
    return c->device > 0 ? gpu_batch_us : batch_us;
}

/* Runs a few products, which fill caches and wake threads, and sets batch_runs from the fastest. */
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
 * Runs one batch, on the CPU in groups of an eighth of its runs. Ends the batch early if it takes too long: on a busy
 * machine a run can take a hundred times as long as the run from which batch_runs was computed.
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

/* Measures one batch. Repeats it with more runs if it is too short. Returns its time. */
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
 * Measures batches of a case. With warm caches, untimed runs precede the batches, because the previous case left its
 * data in the caches, and a last-level cache needs multiple passes to hold a matrix.
 */
static void measure_batches(spmv_group *group, spmv_case *c, int batches)
{
    double us = 0, spent = 0;
    if (!group->session->options->protocol.cold)
        for (int r = 0; spent < round_warm_us || (r < ROUND_WARM_RUNS && spent < most_round_warm_us); r++) {
            if (!run_many(group, c, 1, &us)) return;
            spent += us;
        }
    spent = 0;
    for (int b = 0; b < batches && c->record.status == RECORD_OK; b++) {
        if (b >= FEWEST_BATCHES && spent > 4 * round_us) break;
        spent += run_batch(group, c);
    }
}

/* ---- rounds ------------------------------------------------------------------------------------- */

/*
 * Measures a case by the short protocol, with fewer samples if products take tenths of a second. On a GPU a sample is a
 * batch of runs that takes about a fifth of gpu_batch_us, because waiting for one run takes as long as a short product.
 */
static int measure_runs(spmv_group *group, spmv_case *c)
{
    const int64_t runs = group->session->options->protocol.runs;
    const bool cold = group->session->options->protocol.cold;
    double us = 0, spent = 0, fastest = INFINITY;
    c->samples = malloc((size_t)runs * sizeof *c->samples);
    if (!c->samples) return 0;
    for (int r = 0; r < SHORT_WARM_RUNS && spent < longest_warm_us; r++, spent += us) {
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

static void measure_rounds(spmv_group *group, int batches)
{
    const bench_options *options = group->session->options;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < group->case_count; i++) {
            spmv_case *c = &group->cases[i];
            if (is_live(&c->record)) measure_batches(group, c, batches);
            if (is_live(&c->record) && round == ROUNDS - 1) spmv_recheck(group, c);
        }
        if (options->receiver.rounds) options->receiver.rounds(options->receiver.user, (round + 1.0) / ROUNDS);
    }
}

/* Returns the number of batches per round: more for short batches, so that short disturbances do not matter. */
static int batches_of(double fastest_batch)
{
    int batches = FEWEST_BATCHES;
    if (isfinite(fastest_batch) && round_us / fastest_batch > batches) batches = (int)(round_us / fastest_batch);
    return batches > MOST_BATCHES ? MOST_BATCHES : batches;
}

/* Measures all cases that passed their checks. Returns 0 if memory is short. */
static int measure(spmv_group *group)
{
    const bool short_protocol = group->session->options->protocol.runs > 0;
    double fastest_batch = INFINITY;
    processor_time before = read_processor_time();
    for (int i = 0; i < group->case_count; i++) {
        spmv_case *c = &group->cases[i];
        if (!is_live(&c->record)) continue;
        if (short_protocol) {
            if (!measure_runs(group, c)) return 0;
            continue;
        }
        c->samples = malloc(ROUNDS * MOST_BATCHES * sizeof *c->samples);
        if (!c->samples) return 0;
        warm_up(group, c);
        double us = 0;
        if (is_live(&c->record) && !group->session->options->protocol.cold && run_many(group, c, c->batch_runs, &us) &&
            us < fastest_batch)
            fastest_batch = us;
    }
    if (!short_protocol) measure_rounds(group, batches_of(fastest_batch));
    for (int i = 0; i < group->case_count; i++)
        bench_fill_times(&group->cases[i].record, group->cases[i].samples, group->cases[i].sample_count,
                         2 * (double)group->matrices.arrays.nnz * (double)group->vectors.count,
                         group->matrices.csr_bytes);
    group->disturbance = disturbance_since(before, group->children);
    return 1;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* The group to which cases are added, and the device of these cases: "cpu", "cuda" or "all". */
typedef struct choice {
    spmv_group *group;
    const bench_subject *subject;
    const bench_options *options;
    const char *device;
} choice;

/* Returns k of csr2, csr3 and csr4, which use groups of Band-k; 0 for other formats. */
static int k_of(const char *name)
{
    return strncmp(name, "csr", 3) == 0 && name[3] >= '2' && name[3] <= '4' ? name[3] - '0' : 0;
}

/* Returns true if the format runs under the subject's ordering. */
static bool is_in_part(const choice *c, const char *format)
{
    const int k = k_of(format);
    if (c->subject->k > 0) return k == c->subject->k;
    return c->subject->part == ALL_FORMATS || (c->subject->part == ONLY_CSRK ? k == 2 || k == 3 : k == 0);
}

/*
 * Returns the groups of Band-k for the format; NULL if the format's parameters may give sizes of groups, or if the
 * format has no groups on this device.
 */
static const spry_ordering *groups_for(const choice *c, const char *format, const char *device)
{
    const int k = k_of(format), most = c->subject->k > 0 ? c->subject->k : 3;
    if (!c->subject->groups || k == 0 || k > most || strchr(format, ':')) return NULL;
    return strcmp(c->subject->groups_device, device) == 0 ? c->subject->groups : NULL;
}

static spry_spmv_options plan_options(const choice *c, const char *format, const char *device)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = c->group->op;
    options.count = c->group->vectors.count;
    options.row_major = c->group->vectors.row_major;
    options.expected_calls = c->options->candidates.calls;
    options.expected_updates = c->options->candidates.updates;
    options.policy = c->options->candidates.policy;
    options.memory_limit_bytes = c->options->candidates.memory_limit;
    options.ordering = c->subject->plan_ordering;
    options.format = format;
    (void)!find_device(c->group->session->context, &options.device, device,
                       NULL); /* cannot fail: "cpu" and "cuda" are known names */
    options.groups = device ? groups_for(c, format, device) : NULL;
    return options;
}

/* Adds a kernel. name: its name, optionally with parameters; the group borrows the string. */
static int add_kernel(const choice *c, const spry_kernel_info *kernel, const char *name)
{
    spry_spmv_options options = plan_options(c, kernel->format, kernel->device_kind);
    options.kernel = name;
    if (strchr(name, ':')) options.groups = NULL; /* parameters may give other sizes of groups */
    options.allow_nondeterministic = true;
    if (!kernel->available)
        return spmv_add_skipped(c->group, kernel->format, name, kernel->device_kind, kernel->reason);
    return spmv_add_plan(c->group, &options, NULL, kernel->device_kind);
}

/*
 * Adds all kernels of the wanted devices, or only the named kernels. A kernel may be named more than once, with
 * different parameters.
 */
static int add_kernels(const choice *c, bool all)
{
    const text_list *named = &c->options->candidates.kernels;
    int good = 1;
    spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
    for (int k = 0; good && spry_kernel_get_info(c->group->session->context, &kernel, k, NULL) == SPRY_OK; k++) {
        if (strcmp(kernel.operations, "spgemm") == 0) continue;
        if (!bench_device_fits(c->group->session, c->device, kernel.device_kind, !all)) continue;
        if (c->options->protocol.regret && !kernel.deterministic) continue;
        if (!is_in_part(c, kernel.format)) continue;
        if (all) good = add_kernel(c, &kernel, kernel.name);
        for (int i = 0; good && !all && i < named->count; i++)
            if (text_is_named(named->items[i], kernel.name)) good = add_kernel(c, &kernel, named->items[i]);
    }
    return good;
}

/*
 * Adds the best kernel of a format on each wanted device. Format auto is always one case, because it chooses among the
 * wanted devices.
 */
static int add_format(const choice *c, const char *format)
{
    const bool all = strcmp(c->device, "all") == 0;
    if (!all || strcmp(format, "auto") == 0) {
        const spry_spmv_options options = plan_options(c, format, all ? NULL : c->device);
        return spmv_add_plan(c->group, &options, format, all ? NULL : c->device);
    }
    int added = 0;
    for (int d = 0; d < spry_device_count(c->group->session->context); d++) {
        spry_device_info device = SPRY_INIT(spry_device_info);
        if (spry_device_get_info(c->group->session->context, &device, d, NULL) != SPRY_OK) continue;
        if (strchr(device.name, ':')) continue; /* skip further devices of a kind */
        if (!device.available) continue;        /* "all" means available devices */
        const spry_spmv_options options = plan_options(c, format, device.name);
        if (!spmv_add_plan(c->group, &options, format, device.name)) return 0;
        added++;
    }
    return added > 0 || spmv_add_skipped(c->group, format, "", "", "no device is listed");
}

/* Adds the peers for the chosen formats and devices, or only the named peers if kernels are named. */
static int add_peers(const choice *c)
{
    const bench_peers *peers = c->options->candidates.peers;
    if (!peers || c->subject->plan_ordering || c->subject->part == ONLY_CSRK || c->subject->k > 0) return 1;
    for (int p = 0; p < peers->count; p++) {
        const bench_peer *peer = &peers->items[p];
        if (!bench_wants_peer(c->group->session, c->device, p)) continue;
        bool wanted = c->options->candidates.all_kernels ||
                      text_list_names(&c->options->candidates.formats, peer->format) ||
                      text_list_has(&c->options->candidates.formats, "auto") ||
                      text_list_has(&c->options->candidates.kernels, peer->name);
        for (int i = 0; !wanted && i < c->group->case_count; i++)
            wanted = strcmp(c->group->cases[i].record.method.format, peer->format) == 0;
        if (wanted && !spmv_add_peer(c->group, peer)) return 0;
    }
    return 1;
}

/* Adds a skipped case with the reason why the group is empty. */
static int add_nothing(const choice *c)
{
    const char *device = strcmp(c->device, "all") == 0 ? "" : c->device;
    char format[8], reason[160];
    if (c->subject->k == 0)
        return spmv_add_skipped(c->group, "", "", device, "the chosen formats have no kernel for the chosen device");
    snprintf(format, sizeof format, "csr%d", c->subject->k);
    snprintf(reason, sizeof reason, "%s is only for %s, of which no kernel is chosen for the device",
             c->subject->ordering, format);
    return spmv_add_skipped(c->group, format, "", device, reason);
}

static int add_cases(const choice *c)
{
    const text_list *formats = &c->options->candidates.formats;
    int good = c->options->candidates.all_kernels ? add_kernels(c, true) : 1;
    for (int p = 0; good && c->options->protocol.regret && published_format(p); p++)
        good = add_format(c, published_format(p));
    for (int f = 0; good && f < formats->count; f++)
        if (is_in_part(c, formats->items[f])) good = add_format(c, formats->items[f]);
    if (good && c->options->candidates.kernels.count > 0 && !c->options->candidates.all_kernels)
        good = add_kernels(c, false);
    if (good) good = add_peers(c);
    return good && c->group->case_count == 0 && c->subject->part == ALL_FORMATS ? add_nothing(c) : good;
}

/* Adds the CPU's cases again for each smaller number of threads. */
static int add_fewer(const choice *c)
{
    const choice on_cpu = {c->group, c->subject, c->options, "cpu"};
    int good = 1;
    if (strcmp(c->device, "cuda") == 0) return 1;
    for (int f = 0; good && f < c->options->protocol.fewer_count; f++) {
        c->group->planner = c->options->protocol.fewer[f];
        good = add_cases(&on_cpu);
    }
    c->group->planner = c->group->session->context;
    return good;
}

spry_status bench_spmv(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *options = session->options;
    spmv_group group;
    spry_status status = spmv_group_open(&group, session, subject, err);
    if (status != SPRY_OK) return status;
    const choice c = {&group, subject, options, subject->device};
    spmv_choices choices = {0};
    char text[320];
    snprintf(text, sizeof text, "%s %s: planning and checking", subject->source->name, group.common.input.type);
    options->receiver.progress(text);
    int good = add_cases(&c) && add_fewer(&c);
    if (good && options->protocol.regret) good = add_choices(&choices, &group, subject);
    snprintf(text, sizeof text, "%s %s: timing %d cases", subject->source->name, group.common.input.type,
             group.case_count);
    options->receiver.progress(text);
    if (good && measure(&group))
        status =
            bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.disturbance, err);
    else
        status = bench_out_of_memory(err);
    if (status == SPRY_OK && options->protocol.regret) status = emit_choices(&choices, &group, err);
    release_choices(&choices);
    spmv_group_close(&group);
    return status;
}
