/*
 * The policy "measure". Builds the formats that are ranked first and times them in rounds. Each format gets a copy of
 * the plan that is being built, the base plan. The copies share the matrix and the map with the base plan. The fastest
 * copy replaces the base plan, so that nothing is built twice. The context remembers the result for later plans
 * (choose/choices.h).
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "choose/state.h"
#include "matrix/assemble.h"
#include "plan/plan.h"
#include "spry/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL /* compiles xxHash from its header, as io/container.c does */
#include <xxhash.h>

/* ---- timing a plan --------------------------------------------------------------------------------------- */

enum { BATCHES = 20, MOST_BATCH_RUNS = 100000 };
static const double batch_us = 1000;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static spry_status time_runs(const spryi_plan *plan, spry_vector x, spry_vector y, int64_t runs, double *us,
                             spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = SPRY_OK;
    for (int64_t r = 0; r < runs && status == SPRY_OK; r++)
        status = spryi_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err);
    /* waits, since runs may return before they are complete */
    if (status == SPRY_OK) status = plan->request.device->ops->synchronize(plan->request.device, NULL, err);
    *us = spryi_now_us() - start;
    return status;
}

static void fill_some(void *job, int64_t begin, int64_t end)
{
    const spry_vector *v = job;
    for (int64_t i = begin; i < end; i++) spryi_set_value(v->data, v->type, i, 0.5 + (double)(i % 1021) / 1021);
}

static void fill(const spry_context *context, spry_vector *v, int64_t count)
{
    spryi_loop(context, spryi_threads(context, count), count, 0, fill_some, v);
}

static spry_status create_vector(const spryi_plan *plan, spry_vector *v, int64_t length, int64_t columns, bool filled,
                                 spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spry_spmv_options *o = &plan->request.options;
    spry_vector host = {0};
    spry_status status = SPRY_OK;
    int64_t count;
    if (__builtin_mul_overflow(length, columns, &count))
        return spryi_fail(err, SPRY_TOO_LARGE, "count", "%lld vectors of %lld elements overflow", (long long)columns,
                          (long long)length);
    SPRYI_TRY(spry_vector_create(plan->context, v, count, plan->request.vector_type, o->vector_device, err));
    if (filled && o->vector_device == 0) fill(plan->context, v, count);
    if (filled && o->vector_device != 0) {
        SPRYI_TRY(spry_vector_create(plan->context, &host, count, plan->request.vector_type, 0, err));
        fill(plan->context, &host, count);
        SPRYI_TRY(d->ops->copy(d, v->data, host.data, count * (int64_t)plan->request.element_bytes, SPRYI_TO_DEVICE,
                               NULL, err));
        SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    }
    v->length = length;
    v->count = columns;
    v->row_stride = o->row_major && columns > 1 ? columns : 1;
    v->column_stride = o->row_major && columns > 1 ? 1 : length;
done:
    spry_vector_destroy(plan->context, &host);
    return status;
}

/* Returns the bytes that a product must move with the matrix in plain CSR. */
static double csr_bytes(const spryi_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    size_t value = spry_type_bytes(plan->request.vector_type);
    size_t offset = spryi_index_type_bytes(a->offset_type != SPRY_INDEX_DEFAULT ? a->offset_type : a->index_type);
    return (double)plan->map.nnz * (double)(value + spryi_index_type_bytes(a->index_type)) +
           (double)(a->rows + 1) * (double)offset +
           (double)(plan->request.x_length + plan->request.y_length) * (double)value;
}

/* Increases *runs if *runs runs, which took `us`, are too short for a batch. Returns whether it increased *runs. */
static bool lengthen(int64_t *runs, double us)
{
    if (us >= batch_us || *runs >= MOST_BATCH_RUNS) return false;
    double more = us > 0 ? (double)*runs * batch_us * 1.2 / us + 1 : (double)*runs * 10;
    *runs = more < MOST_BATCH_RUNS ? (int64_t)more : MOST_BATCH_RUNS;
    return true;
}

static spry_status measure(const spryi_plan *plan, spry_vector x, spry_vector y, spry_measurement *m, spry_error *err)
{
    double us, batch[BATCHES];
    int64_t runs = 1;
    SPRYI_OK_OR_RETURN(time_runs(plan, x, y, 1, &m->first_us, err));
    do { /* also warms up */
        SPRYI_OK_OR_RETURN(time_runs(plan, x, y, runs, &us, err));
    } while (lengthen(&runs, us));
    double sum = 0;
    for (int b = 0; b < BATCHES; b++) {
        SPRYI_OK_OR_RETURN(time_runs(plan, x, y, runs, &us, err));
        batch[b] = us / (double)runs;
        sum += batch[b];
        if (!lengthen(&runs, us)) continue;
        /* restarts with longer batches: the warm-up was disturbed, so it found too few runs */
        b = -1;
        sum = 0;
    }
    qsort(batch, BATCHES, sizeof *batch, by_value);
    m->median_us = (batch[BATCHES / 2 - 1] + batch[BATCHES / 2]) / 2;
    m->mean_us = sum / (double)BATCHES;
    m->min_us = batch[0];
    m->spread_us = batch[3 * BATCHES / 4] - batch[BATCHES / 4];
    m->runs = runs * BATCHES;
    m->gflops = 2e-3 * (double)plan->map.nnz / m->median_us;
    m->gbps = 1e-3 * csr_bytes(plan) / m->median_us;
    return SPRY_OK;
}

spry_status spry_spmv_plan_measure(spry_spmv_plan *of, spry_measurement *measurement, spry_error *err)
{
    if (!of || !measurement) return spryi_fail_missing(err, !of ? "plan" : "measurement");
    const spryi_plan *plan = &of->forward;
    spry_status status = SPRY_OK;
    spry_vector x = {0}, y = {0};
    spry_measurement m = SPRY_INIT(spry_measurement);
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(measurement, err));
    SPRYI_TRY(create_vector(plan, &x, plan->request.x_length, 1, true, err));
    SPRYI_TRY(create_vector(plan, &y, plan->request.y_length, 1, true, err));
    SPRYI_TRY(measure(plan, x, y, &m, err));
    SPRYI_GIVE(measurement, &m);
done:
    spry_vector_destroy(plan->context, &x);
    spry_vector_destroy(plan->context, &y);
    return status;
}

enum { FEW_ROUNDS = 3, MOST_ROUNDS = 40, MOST_RUNS = 10000 };
/*
 * USUAL_BUDGET is in us. In addition to csr and the choice of the policy "cost", a format is tried only if its
 * predicted time is at most WITHIN times the least predicted time.
 */
static const double USUAL_BUDGET = 50000, WITHIN = 2;
static const double TIMED = 500; /* us of timed runs per format and round, if the budget allows */

typedef struct candidate {
    spryi_plan *plan;
    double setup_us, us; /* us: time of a run, the least of the rounds' means */
    int64_t runs;        /* timed runs per round */
} candidate;

typedef struct trial {
    spry_context *context;
    spryi_plan *base;
    spryi_ranking ranking;
    double budget, start, end; /* us; end: clock time at which the budget is spent */
    spry_vector x, y;
    candidate tried[SPRYI_MOST_TRIED];
    int count;
    char refused[64];     /* names of refused formats */
    bool short_of_memory; /* a format was refused for lack of memory, which may be available in a later run */
    spry_error why;       /* why csr was refused, since csr needs least memory; else the first refusal */
} trial;

/* ---- vectors to measure with ---------------------------------------------------------------------------- */

/* Creates vectors to multiply. *made is false if there is too little memory. */
static spry_status create_vectors(trial *t, bool *made, spry_error *err)
{
    const int64_t columns = t->base->request.options.count > 1 ? t->base->request.options.count : 1;
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = create_vector(t->base, &t->x, t->base->request.x_length, columns, true, &why);
    if (status == SPRY_OK) status = create_vector(t->base, &t->y, t->base->request.y_length, columns, false, &why);
    *made = status == SPRY_OK;
    if (status == SPRY_OK || status == SPRY_OUT_OF_MEMORY || status == SPRY_TOO_LARGE) return SPRY_OK;
    return spryi_hand_on(err, &why);
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static void discard(spryi_plan *plan)
{
    if (!plan) return;
    spryi_discard_built(plan);
    pthread_mutex_destroy(&plan->in_use);
    spryi_release(plan->context, plan);
}

static void note_refusal(trial *t, const char *format, const spry_error *why)
{
    const size_t used = strlen(t->refused);
    if (t->why.status == SPRY_OK || strcmp(format, "csr") == 0) t->why = *why;
    t->short_of_memory |= why->status == SPRY_OUT_OF_MEMORY;
    snprintf(t->refused + used, sizeof t->refused - used, "%s%s", used ? ", " : "", format);
}

/* Builds the format at index `place` of the ranking. Skips a format that is refused or lacks memory. */
static spry_status begin(trial *t, int place, spry_error *err)
{
    spryi_choice choice = {0};
    spryi_plan *plan = NULL;
    const spryi_ranking *r = &t->ranking;
    const double start = spryi_now_us();
    if (place == r->taken)
        SPRYI_OK_OR_RETURN(spryi_choose_on(t->base->A, &t->base->request.options, r->device, r, &choice, err));
    else
        spryi_choose_ranked(&choice, r, place);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(t->context, &plan, 1, "plan", err));
    *plan = *t->base;
    pthread_mutex_init(&plan->in_use, NULL);
    spry_error why = SPRY_ERROR_INIT;
    const spry_status status = spryi_build_choice(plan, &choice, &why);
    if (status == SPRY_OK) {
        t->tried[t->count++] = (candidate){.plan = plan, .setup_us = spryi_now_us() - start, .us = INFINITY, .runs = 1};
        return SPRY_OK;
    }
    discard(plan);
    if (status != SPRY_TOO_LARGE && status != SPRY_UNSUPPORTED && status != SPRY_OUT_OF_MEMORY)
        return spryi_hand_on(err, &why);
    note_refusal(t, r->list[place].format, &why);
    return SPRY_OK;
}

/*
 * Returns whether the budget has time to build the format and run a few rounds of two runs for all formats. Each
 * format uploads its own copies to a device.
 */
static bool fits(const trial *t, int place)
{
    const spryi_estimate *e = &t->ranking.list[place];
    const double upload_us = t->tried[0].plan->stored.upload_us;
    return e->setup_us + upload_us + 2 * FEW_ROUNDS * (t->count + 1) * e->us <= t->end - spryi_now_us();
}

/*
 * Lists the indices in the ranking of the formats to try: the choice of the policy "cost", csr, then others by
 * predicted time. Returns the number of indices.
 */
static int list_places(const spryi_ranking *r, int places[SPRYI_MOST_TRIED])
{
    int count = 0;
    places[count++] = r->taken;
    if (r->csr != r->taken) places[count++] = r->csr;
    for (int k = 0; k < r->allowed && count < SPRYI_MOST_TRIED && r->list[k].us <= WITHIN * r->list[0].us; k++)
        if (k != r->taken && k != r->csr) places[count++] = k;
    return count;
}

static spry_status begin_all(trial *t, spry_error *err)
{
    int places[SPRYI_MOST_TRIED];
    const int count = list_places(&t->ranking, places);
    for (int p = 0; p < count; p++)
        if (t->count == 0 || fits(t, places[p])) SPRYI_OK_OR_RETURN(begin(t, places[p], err));
    return t->count > 0 ? SPRY_OK : spryi_hand_on(err, &t->why);
}

/* ---- timing --------------------------------------------------------------------------------------------- */

/* Times one candidate. The first run brings the caches to the state of repeated products and does not count. */
static spry_status time_candidate(const trial *t, candidate *c, double timed_us, spry_error *err)
{
    double us;
    SPRYI_OK_OR_RETURN(time_runs(c->plan, t->x, t->y, 1, &us, err));
    SPRYI_OK_OR_RETURN(time_runs(c->plan, t->x, t->y, c->runs, &us, err));
    const double mean = us / (double)c->runs;
    if (mean < c->us) c->us = mean;
    const double runs = ceil(timed_us / fmax(c->us, 0.01));
    c->runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (int64_t)runs;
    return SPRY_OK;
}

/* Times all candidates. Runs one round in any case, and then as many as the budget allows. */
static spry_status time_all(trial *t, spry_error *err)
{
    const double left = t->end - spryi_now_us();
    const double timed_us = fmin(TIMED, fmax(0, left) / (8 * t->count));
    for (int round = 0; round < MOST_ROUNDS; round++) {
        const double start = spryi_now_us();
        for (int c = 0; c < t->count; c++) /* rotates the order of the candidates */
            SPRYI_OK_OR_RETURN(time_candidate(t, &t->tried[(round + c) % t->count], timed_us, err));
        const double now = spryi_now_us();
        if (now + (now - start) > t->end) break;
    }
    return SPRY_OK;
}

/* ---- the result ---------------------------------------------------------------------------------------- */

static double total_of(const trial *t, const candidate *c)
{
    return t->base->request.options.expected_calls > 0 ? c->setup_us + (double)t->ranking.calls * c->us : c->us;
}

static int best_of(const trial *t)
{
    int best = 0;
    for (int c = 1; c < t->count; c++)
        if (total_of(t, &t->tried[c]) < total_of(t, &t->tried[best])) best = c;
    return best;
}

static double time_of_csr(const trial *t)
{
    for (int c = 0; c < t->count; c++)
        if (strcmp(t->tried[c].plan->target.format->name, "csr") == 0) return t->tried[c].us;
    return 0;
}

/* Writes the reason: "packed: 19.1 us measured, sell 21.7, csr 25.9; of 3 formats in 41 ms" */
static void write_reason(const trial *t, int best)
{
    spryi_plan *plan = t->tried[best].plan;
    char *text = plan->target.reason;
    const size_t size = sizeof plan->target.reason;
    size_t used = (size_t)spryi_write(text, size, "%s: %s us measured", plan->target.format->name,
                                      spryi_three_digits(t->tried[best].us).s);
    for (int c = 0; c < t->count; c++)
        if (c != best)
            used += (size_t)spryi_write(text + used, size - used, ", %s %s", t->tried[c].plan->target.format->name,
                                        spryi_three_digits(t->tried[c].us).s);
    used += (size_t)spryi_write(text + used, size - used, "; of %d formats in %s ms", t->count,
                                spryi_three_digits(1e-3 * (spryi_now_us() - t->start)).s);
    if (t->base->request.options.expected_calls > 0)
        used +=
            (size_t)spryi_write(text + used, size - used, ", set-up counted over %lld", (long long)t->ranking.calls);
    if (t->refused[0]) (void)spryi_write(text + used, size - used, "; refused: %s", t->refused);
    plan->target.reason_code = SPRY_REASON_MEASURED;
}

/*
 * Notes why nothing was timed: only one format was built, or vectors lacked memory. The plan keeps the reason of the
 * policy "cost".
 */
static void note_untimed(const trial *t, spryi_trial *result)
{
    int places[SPRYI_MOST_TRIED];
    if (t->count > 1)
        (void)spryi_write(result->note, sizeof result->note,
                          "; not measured, since there is no memory for vectors of %lld and %lld elements",
                          (long long)t->base->request.x_length, (long long)t->base->request.y_length);
    else if (t->refused[0])
        (void)spryi_write(result->note, sizeof result->note, "; not measured, since all other formats were refused: %s",
                          t->refused);
    else if (list_places(&t->ranking, places) > 1)
        (void)spryi_write(result->note, sizeof result->note,
                          "; not measured, since the budget of %s ms is too short for a second format",
                          spryi_three_digits(1e-3 * t->budget).s);
    else
        snprintf(result->note, sizeof result->note,
                 "; not measured, since no other format has a similar predicted time");
}

/*
 * Remembers the result. If it cannot be stored or written, the plan's reason says so and the plan succeeds. A trial
 * that was short of memory is not remembered.
 */
static void remember(const trial *t, int best, spry_choice_info *asked)
{
    spryi_plan *plan = t->tried[best].plan;
    const char *parameters = plan->stored.parameters;
    const time_t now = time(NULL);
    struct tm day;
    spry_error why = SPRY_ERROR_INIT;
    if (t->short_of_memory) return;
    snprintf(asked->format, sizeof asked->format, "%s%s%s", plan->target.format->name, parameters[0] ? ":" : "",
             parameters);
    snprintf(asked->kernel, sizeof asked->kernel, "%s", plan->target.kernel->name);
    asked->measured_us = t->tried[best].us;
    asked->csr_us = time_of_csr(t);
    asked->predicted_us = plan->target.us;
    asked->predicted_csr_us = plan->target.csr_us;
    if (gmtime_r(&now, &day)) (void)strftime(asked->date, sizeof asked->date, "%Y-%m-%d", &day);
    if (spryi_choice_keep(plan->context, asked, &why) == SPRY_OK) return;
    const size_t used = strlen(plan->target.reason);
    snprintf(plan->target.reason + used, sizeof plan->target.reason - used, "; not kept: %s", why.message);
}

static void fill_trial(const trial *t, spryi_trial *result)
{
    result->count = t->count;
    for (int c = 0; c < t->count; c++) {
        result->timed[c].format = t->tried[c].plan->target.format->name;
        result->timed[c].kernel = t->tried[c].plan->target.kernel->name;
        result->timed[c].us = t->tried[c].us;
        result->timed[c].setup_us = t->tried[c].setup_us;
    }
}

/* Moves the best plan to *plan. Both share the matrix and the map. */
static void take_best(trial *t, int best, spryi_plan *plan)
{
    spryi_plan *taken = t->tried[best].plan;
    taken->times.search_us += spryi_now_us() - t->start - t->tried[best].setup_us;
    t->tried[best].plan = NULL;
    pthread_mutex_destroy(&taken->in_use);
    pthread_mutex_destroy(&plan->in_use);
    *plan = *taken;
    pthread_mutex_init(&plan->in_use, NULL);
    spryi_release(plan->context, taken);
}

/* Ranks, builds and times formats, and remembers the best. */
static spry_status try_formats(spryi_plan *plan, spry_choice_info *asked, spryi_trial *result, spry_error *err)
{
    const spry_spmv_options *o = &plan->request.options;
    trial t = {.context = plan->context, .base = plan, .start = spryi_now_us(), .why = SPRY_ERROR_INIT};
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_rank_for(&t.ranking, t.base->A, o, spryi_class_of(t.base->request.device), err));
    t.budget = o->measure_budget_us > 0 ? o->measure_budget_us : USUAL_BUDGET;
    t.end = spryi_now_us() + t.budget;
    SPRYI_TRY(begin_all(&t, err));
    int best = 0;
    bool timed = false;
    if (t.count > 1) SPRYI_TRY(create_vectors(&t, &timed, err));
    if (timed) {
        SPRYI_TRY(time_all(&t, err));
        best = best_of(&t);
        write_reason(&t, best);
        fill_trial(&t, result);
        remember(&t, best, asked);
    } else {
        note_untimed(&t, result);
    }
    take_best(&t, best, plan);
done:
    spry_vector_destroy(t.context, &t.x);
    spry_vector_destroy(t.context, &t.y);
    for (int c = 0; c < t.count; c++) discard(t.tried[c].plan);
    return status;
}

/* ---- fingerprints ---------------------------------------------------------------------------------------- */

/*
 * Computes the key of a measured choice. The structure's hash is a sum over entries of a hash of row and column. The
 * sum does not depend on layout, index width, order or threads, and changes if an entry moves. Computing the sum takes
 * less time than a product. A matrix with more than MOST_ENTRIES is sampled by rows. A device's arrays are copied to
 * the host in samples and hashed as bytes, since the bus is slow. Their layout and index widths change the hash.
 */

enum {
    ROWS = 1024,            /* consecutive rows that are sampled together */
    MOST_ENTRIES = 1 << 21, /* most entries that are hashed, approximately; one thread hashes them in a millisecond */
    ALONE = 128,            /* a thread gets 128 times the usual least work, since threads may start late */
    PIECE = 64 << 10,       /* bytes of a sample of a device array */
    PIECES = 64             /* most samples of an array */
};

/* ---- fingerprints: in host memory -------------------------------------------------------------------- */

/* Parameters P, the type of offsets, and J, the type of indices, are constants after the functions are inlined. */

typedef struct row_key {
    uint32_t add, flip;
} row_key;

SPRYI_INLINE row_key key_of(int64_t row)
{
    const uint64_t random = spryi_random(1, (uint64_t)row + 1);
    return (row_key){(uint32_t)random, (uint32_t)(random >> 32)};
}

/* Hashes an entry by one 32-bit product, which compilers can vectorize. */
SPRYI_INLINE uint64_t hash_entry(row_key key, int64_t column)
{
    const uint32_t c = (uint32_t)((uint64_t)column ^ (uint64_t)column >> 32);
    return (uint64_t)(c + key.add) * (c ^ key.flip);
}

SPRYI_INLINE int is_sampled(int64_t row, int64_t step)
{
    return step == 1 || row / ROWS % step == 0;
}

SPRYI_INLINE uint64_t hash_rows(const spry_arrays *a, int64_t block, spry_index_type P, spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->rows ? (block + 1) * ROWS : a->rows;
    for (int64_t i = block * ROWS; i < end; i++) {
        const row_key key = key_of(i);
        const int64_t last = spryi_index_at(a->offsets, P, i + 1);
        for (int64_t k = spryi_index_at(a->offsets, P, i); k < last; k++)
            sum += hash_entry(key, spryi_index_at(a->indices, J, k));
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_columns(const spry_arrays *a, int64_t block, int64_t step, spry_index_type P,
                                   spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->columns ? (block + 1) * ROWS : a->columns;
    for (int64_t j = block * ROWS; j < end; j++) {
        const int64_t last = spryi_index_at(a->offsets, P, j + 1);
        for (int64_t k = spryi_index_at(a->offsets, P, j); k < last; k++) {
            const int64_t row = spryi_index_at(a->indices, J, k);
            if (is_sampled(row, step)) sum += hash_entry(key_of(row), j);
        }
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_triples(const spry_arrays *a, int64_t block, int64_t step, spry_index_type J)
{
    uint64_t sum = 0;
    const int64_t end = (block + 1) * ROWS < a->nnz ? (block + 1) * ROWS : a->nnz;
    for (int64_t k = block * ROWS; k < end; k++) {
        const int64_t row = spryi_index_at(a->row_indices, J, k);
        if (is_sampled(row, step)) sum += hash_entry(key_of(row), spryi_index_at(a->indices, J, k));
    }
    return sum;
}

SPRYI_INLINE uint64_t hash_block_as(const spry_arrays *a, int64_t block, int64_t step, spry_index_type P,
                                    spry_index_type J)
{
    if (a->layout == SPRY_COO) return hash_triples(a, block, step, J);
    if (a->layout == SPRY_CSC) return hash_columns(a, block, step, P, J);
    return block % step == 0 ? hash_rows(a, block, P, J) : 0;
}

static uint64_t hash_block(const spry_arrays *a, int64_t block, int64_t step)
{
    if (a->index_type == SPRY_I64) return hash_block_as(a, block, step, SPRY_I64, SPRY_I64);
    if (a->layout != SPRY_COO && a->offset_type == SPRY_I64) return hash_block_as(a, block, step, SPRY_I64, SPRY_I32);
    return hash_block_as(a, block, step, SPRY_I32, SPRY_I32);
}

typedef struct hash_job {
    const spry_arrays *a;
    int64_t step;
    atomic_ullong sum;
} hash_job;

static void hash_blocks(void *job, int64_t begin, int64_t end)
{
    hash_job *j = job;
    uint64_t sum = 0;
    for (int64_t b = begin; b < end; b++) sum += hash_block(j->a, b, j->step);
    atomic_fetch_add(&j->sum, sum);
}

static uint64_t hash_on_host(const spry_context *context, const spry_arrays *a)
{
    const int64_t majors = a->layout == SPRY_COO ? a->nnz : a->layout == SPRY_CSC ? a->columns : a->rows;
    hash_job j = {.a = a, .step = 1 + a->nnz / MOST_ENTRIES};
    const int64_t work = a->layout == SPRY_CSR && j.step > 1 ? MOST_ENTRIES : a->nnz;
    spryi_loop(context, spryi_threads(context, (work + majors) / ALONE), (majors + ROWS - 1) / ROWS, 4, hash_blocks,
               &j);
    return j.sum;
}

/* ---- fingerprints: in a device's memory -------------------------------------------------------------- */

static spry_status hash_array(const spryi_device *d, const void *array, int64_t bytes, void *piece, uint64_t *hash,
                              spry_error *err)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE, count = pieces < PIECES ? pieces : PIECES;
    for (int64_t p = 0; array && p < count; p++) {
        const int64_t begin = p * pieces / count * PIECE, left = bytes - begin, size = left < PIECE ? left : PIECE;
        SPRYI_OK_OR_RETURN(d->ops->copy(d, piece, (const char *)array + begin, size, SPRYI_FROM_DEVICE, NULL, err));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, err));
        *hash = XXH3_64bits_withSeed(piece, (size_t)size, *hash);
    }
    return SPRY_OK;
}

static spry_status hash_on_device(spry_context *context, const spry_arrays *a, uint64_t *hash, spry_error *err)
{
    const spryi_device *d = spryi_device_at(context, a->device);
    const int64_t offset = (int64_t)spryi_index_type_bytes(a->offset_type);
    const int64_t index = (int64_t)spryi_index_type_bytes(a->index_type);
    const int64_t majors = a->layout == SPRY_CSC ? a->columns : a->rows;
    void *piece = NULL;
    spry_status status = SPRY_OK;
    *hash = (uint64_t)a->layout;
    SPRYI_TRY(spryi_allocate(context, &piece, PIECE, 1, "a piece of an array", err));
    if (a->layout != SPRY_COO) SPRYI_TRY(hash_array(d, a->offsets, (majors + 1) * offset, piece, hash, err));
    if (a->layout == SPRY_COO) SPRYI_TRY(hash_array(d, a->row_indices, a->nnz * index, piece, hash, err));
    SPRYI_TRY(hash_array(d, a->indices, a->nnz * index, piece, hash, err));
done:
    spryi_release(context, piece);
    return status;
}

/* ---- fingerprints: complete -------------------------------------------------------------------------- */

/* Returns the number of bits of `calls`. Counts 4 to 7, for example, share a class. 0: no count was given. */
static int class_of(int64_t calls)
{
    int bits = 0;
    for (; calls > 0; calls >>= 1) bits++;
    return bits;
}

static void describe(const spryi_plan *plan, spry_choice_info *asked)
{
    const spry_arrays *a = &plan->A->a;
    const spry_spmv_options *o = &plan->request.options;
    const spryi_device *d = plan->request.device;
    const spry_index_type offset = a->layout == SPRY_COO ? a->index_type : a->offset_type;
    *asked = (spry_choice_info){.struct_size = sizeof *asked,
                                .rows = a->rows,
                                .columns = a->columns,
                                .nnz = a->nnz,
                                .op = plan->request.op,
                                .calls = o->expected_calls > 0 ? spryi_calls_counted(o) : 0};
    snprintf(asked->device, sizeof asked->device, "%s%s%s %.40s", d->driver->name, d->simd && d->simd[0] ? " " : "",
             d->simd ? d->simd : "", d->description);
    snprintf(asked->types, sizeof asked->types, "%s %s %d/%d", spry_type_name(a->value_type),
             spry_type_name(plan->request.vector_type), 8 * (int)spryi_index_type_bytes(offset),
             8 * (int)spryi_index_type_bytes(a->index_type));
}

static spry_status fingerprint(const spryi_plan *plan, spry_choice_info *asked, spry_error *err)
{
    const spry_spmv_options *o = &plan->request.options;
    const spryi_device *d = plan->request.device;
    char text[512];
    uint64_t structure = 0;
    if (plan->A->a.device == 0)
        structure = hash_on_host(plan->context, &plan->A->a);
    else
        SPRYI_OK_OR_RETURN(hash_on_device(plan->context, &plan->A->a, &structure, err));
    describe(plan, asked);
    const int threads = !d->driver->host_memory ? 0 : o->threads > 0 ? o->threads : plan->context->threads;
    const int length =
        snprintf(text, sizeof text, "%s|%s|%d|%s|%d|%lld %lld %lld|%016llx|%d %d|%d %d|%lld %d|%d|%d|%lld",
                 spry_version(), asked->device, d->units, asked->types, threads, (long long)asked->rows,
                 (long long)asked->columns, (long long)asked->nnz, (unsigned long long)structure, (int)plan->request.op,
                 (int)o->op, o->vector_device == d->number, plan->A->a.device == d->number,
                 (long long)(o->count > 1 ? o->count : 1), o->row_major, class_of(asked->calls),
                 o->allow_nondeterministic != 0, (long long)o->memory_limit_bytes);
    snprintf(asked->fingerprint, sizeof asked->fingerprint, "%016llx",
             (unsigned long long)XXH3_64bits(text, (size_t)length));
    return SPRY_OK;
}

/* ---- remembered choices --------------------------------------------------------------------------------- */

/* Builds the plan in the remembered format. *done is false if that format is refused; the note then states so. */
static spry_status take_remembered(spryi_plan *plan, const spry_choice_info *found, spryi_trial *result, bool *done,
                                   spry_error *err)
{
    spryi_choice choice = {.code = SPRY_REASON_REMEMBERED,
                           .kernel = found->kernel,
                           .us = found->predicted_us,
                           .csr_us = found->predicted_csr_us};
    const char *path = spryi_choose_state_of(plan->context)->choices.path;
    char csr[32] = "";
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = spryi_parse_format(&choice.format, choice.parameters, found->format, &why);
    if (status == SPRY_OK) {
        if (found->csr_us > 0 && strcmp(choice.format->name, "csr") != 0)
            (void)spryi_write(csr, sizeof csr, ", csr %s", spryi_three_digits(found->csr_us).s);
        (void)spryi_write(choice.reason, sizeof choice.reason, "%s: %s us measured%s; remembered from %s%s%s",
                          choice.format->name, spryi_three_digits(found->measured_us).s, csr, found->date,
                          path ? " in " : "", path ? path : "");
        status = spryi_build_choice(plan, &choice, &why);
    }
    *done = status == SPRY_OK;
    if (*done) return SPRY_OK;
    snprintf(result->note, sizeof result->note, "; the remembered format %s was refused", found->format);
    const int refused = status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED || status == SPRY_UNKNOWN_NAME ||
                        status == SPRY_INVALID_ARGUMENT;
    return refused ? SPRY_OK : spryi_hand_on(err, &why);
}

spry_status spryi_measure_plan(spryi_plan *plan, spryi_trial *result, bool *done, spry_error *err)
{
    spryi_plan *base = plan;
    spryi_choose_state *state = NULL;
    spry_choice_info asked;
    spryi_effort effort;
    *done = false;
    if (!spryi_may_inspect(&effort, base->A, &base->request.options, spryi_class_of(base->request.device)))
        return SPRY_OK;
    SPRYI_OK_OR_RETURN(fingerprint(base, &asked, err));
    SPRYI_OK_OR_RETURN(spryi_choose_state_get(base->context, &state, err));
    spryi_choices *choices = &state->choices;
    if (!result->measure_again && spryi_choice_find(choices, &asked))
        return take_remembered(base, &asked, result, done, err);
    pthread_mutex_lock(&choices->measuring);
    /* another plan may have measured the same matrix meanwhile */
    const bool found = !result->measure_again && spryi_choice_find(choices, &asked);
    spry_status status = found ? SPRY_OK : try_formats(plan, &asked, result, err);
    pthread_mutex_unlock(&choices->measuring);
    if (found) return take_remembered(base, &asked, result, done, err);
    *done = status == SPRY_OK;
    return status;
}
