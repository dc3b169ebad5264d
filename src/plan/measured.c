/*
 * The policy "measure": the formats that are ranked first are made and timed in turns, each by a plan of its own that
 * shares matrix and order with the one that is being made; the best takes that one's place, and is not made twice.
 * What was found is remembered by the context (core/choices.h), and taken from there the next time.
 */
#include "plan/measured.h"

#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "core/assemble.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FEW_ROUNDS = 3, MOST_ROUNDS = 40, MOST_RUNS = 10000 };
static const double USUAL_BUDGET = 50000, WITHIN = 2; /* us; times the least predicted time */
static const double TURN = 500;                       /* us of timed runs in a turn, where the budget has room for it */

typedef struct candidate {
    spry_spmv_plan *plan;
    double setup_us, us; /* us: the least mean of a turn */
    int64_t runs;        /* of a turn */
} candidate;

typedef struct trial {
    spry_context *context;
    spry_spmv_plan *base;
    const spry_spmv_options *o;
    spryi_ranking ranking;
    double budget, start, end; /* when the budget is spent */
    spry_vector x, y;
    candidate tried[SPRYI_MOST_TRIED];
    int count;
    char refused[64];    /* names of those that were */
    int short_of_memory; /* 1: one was refused for want of memory, which another day may have */
    spry_error why;      /* of csr's refusal, which needs least, else of the first */
} trial;

/* ---- vectors to measure with ---------------------------------------------------------------------------- */

static void fill_some(void *job, int64_t begin, int64_t end)
{
    const spry_vector *v = job;
    for (int64_t i = begin; i < end; i++) spryi_set_value(v->data, v->type, i, 0.5 + (double)(i % 1021) / 1021);
}

static void fill(const spry_context *context, spry_vector *v, int64_t count)
{
    spryi_loop(context, spryi_threads(context, count), count, 0, fill_some, v);
}

/* So many columns as runs will multiply, as they will lie; x with numbers, y with zeros. */
static spry_status make_vector(const spry_spmv_plan *plan, spry_vector *v, int64_t length, int filled, spry_error *err)
{
    const spryi_device *d = plan->device;
    const spry_spmv_options *o = &plan->options;
    const int64_t columns = o->columns > 1 ? o->columns : 1;
    spry_vector host = {0};
    spry_status status = SPRY_OK;
    int64_t count;
    if (__builtin_mul_overflow(length, columns, &count))
        return spryi_fail(err, SPRY_TOO_LARGE, "columns", "%lld vectors of %lld entries overflow", (long long)columns,
                          (long long)length);
    SPRYI_TRY(spry_vector_create(plan->context, v, count, plan->vector_type, o->vector_device, err));
    if (filled && o->vector_device == 0) fill(plan->context, v, count);
    if (filled && o->vector_device != 0) {
        SPRYI_TRY(spry_vector_create(plan->context, &host, count, plan->vector_type, 0, err));
        fill(plan->context, &host, count);
        SPRYI_TRY(d->ops->copy(d, v->data, host.data, count * (int64_t)plan->number_bytes, SPRYI_TO_DEVICE, NULL, err));
        SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    }
    v->length = length;
    v->columns = columns;
    v->row_stride = o->row_major ? columns : 1;
    v->column_stride = o->row_major ? 1 : length;
done:
    spry_vector_destroy(plan->context, &host);
    return status;
}

/* *made = 0: there is no memory for them. */
static spry_status make_vectors(trial *t, int *made, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = make_vector(t->base, &t->x, t->base->x_length, 1, &why);
    if (status == SPRY_OK) status = make_vector(t->base, &t->y, t->base->y_length, 0, &why);
    *made = status == SPRY_OK;
    if (status == SPRY_OK || status == SPRY_OUT_OF_MEMORY || status == SPRY_TOO_LARGE) return SPRY_OK;
    return spryi_hand_on(err, &why);
}

/* ---- formats that are tried ----------------------------------------------------------------------------- */

static void discard(spry_spmv_plan *plan)
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

/* Makes the format at a place of the ranking; one that is refused, or finds no memory, is left out. */
static spry_status begin(trial *t, int place, spry_error *err)
{
    spryi_choice choice = {0};
    spry_spmv_plan *plan = NULL;
    const spryi_ranking *r = &t->ranking;
    const double start = spryi_now_us();
    if (place == r->taken)
        SPRYI_OK_OR_RETURN(spryi_choose_on(t->base->A, t->o, r->device, r, &choice, err));
    else
        spryi_choose_ranked(&choice, r, place);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(t->context, &plan, 1, "plan", err));
    *plan = *t->base;
    pthread_mutex_init(&plan->in_use, NULL);
    spry_error why = SPRY_ERROR_INIT;
    const spry_status status = spryi_build_choice(plan, t->o, &choice, &why);
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

/* With it there would be time left for some rounds, of two runs each. What goes to a device goes there each time. */
static int fits(const trial *t, int place)
{
    const spryi_estimate *e = &t->ranking.list[place];
    const double upload_us = t->tried[0].plan->stored.upload_us;
    return e->setup_us + upload_us + 2 * FEW_ROUNDS * (t->count + 1) * e->us <= t->end - spryi_now_us();
}

/* Places in the ranking: what "cost" takes, csr, then by predicted time. Returns how many. */
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

/* A run that brings the caches to the state that repeated products find, then those that count. */
static spry_status take_turn(const trial *t, candidate *c, double turn_us, spry_error *err)
{
    double us;
    SPRYI_OK_OR_RETURN(spryi_time_runs(c->plan, t->x, t->y, 1, &us, err));
    SPRYI_OK_OR_RETURN(spryi_time_runs(c->plan, t->x, t->y, c->runs, &us, err));
    const double mean = us / (double)c->runs;
    if (mean < c->us) c->us = mean;
    const double runs = ceil(turn_us / fmax(c->us, 0.01));
    c->runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (int64_t)runs;
    return SPRY_OK;
}

/* One round in any case, since the formats are made, then as many as the budget has time for. */
static spry_status time_all(trial *t, spry_error *err)
{
    const double left = t->end - spryi_now_us();
    const double turn_us = fmin(TURN, fmax(0, left) / (8 * t->count));
    for (int round = 0; round < MOST_ROUNDS; round++) {
        const double start = spryi_now_us();
        for (int c = 0; c < t->count; c++) /* none always follows the same one */
            SPRYI_OK_OR_RETURN(take_turn(t, &t->tried[(round + c) % t->count], turn_us, err));
        const double now = spryi_now_us();
        if (now + (now - start) > t->end) break;
    }
    return SPRY_OK;
}

/* ---- the answer ----------------------------------------------------------------------------------------- */

static double total_of(const trial *t, const candidate *c)
{
    return t->o->expected_calls > 0 ? c->setup_us + (double)t->ranking.calls * c->us : c->us;
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
        if (strcmp(t->tried[c].plan->format->name, "csr") == 0) return t->tried[c].us;
    return 0;
}

/* "packed: 19.1 us measured, sell 21.7, csr 25.9; of 3 formats in 41 ms" */
static void tell(const trial *t, int best)
{
    spry_spmv_plan *plan = t->tried[best].plan;
    char *text = plan->reason;
    const size_t size = sizeof plan->reason;
    size_t used = (size_t)spryi_write(text, size, "%s: %s us measured", plan->format->name,
                                      spryi_three_digits(t->tried[best].us).s);
    for (int c = 0; c < t->count; c++)
        if (c != best)
            used += (size_t)spryi_write(text + used, size - used, ", %s %s", t->tried[c].plan->format->name,
                                        spryi_three_digits(t->tried[c].us).s);
    used += (size_t)spryi_write(text + used, size - used, "; of %d formats in %s ms", t->count,
                                spryi_three_digits(1e-3 * (spryi_now_us() - t->start)).s);
    if (t->o->expected_calls > 0)
        used +=
            (size_t)spryi_write(text + used, size - used, ", set-up counted over %lld", (long long)t->ranking.calls);
    if (t->refused[0]) (void)spryi_write(text + used, size - used, "; refused: %s", t->refused);
    plan->reason_code = SPRY_REASON_MEASURED;
}

/* Of one format there is nothing to compare, and without vectors nothing is: the reason is that of "cost". */
static void tell_untimed(const trial *t, spryi_trial *told)
{
    int places[SPRYI_MOST_TRIED];
    if (t->count > 1)
        (void)spryi_write(told->note, sizeof told->note,
                          "; not measured, since there is no memory for vectors of %lld and %lld entries",
                          (long long)t->base->x_length, (long long)t->base->y_length);
    else if (t->refused[0])
        (void)spryi_write(told->note, sizeof told->note, "; nothing to compare it with, refused: %s", t->refused);
    else if (list_places(&t->ranking, places) > 1)
        (void)spryi_write(told->note, sizeof told->note,
                          "; not measured, since the budget of %s ms has no time for another",
                          spryi_three_digits(1e-3 * t->budget).s);
    else
        snprintf(told->note, sizeof told->note, "; not measured, since no other is near it");
}

/*
 * What cannot be remembered or written is no failure of the plan, which tells it. Of a trial that was short of memory
 * nothing is.
 */
static void remember(const trial *t, int best, spry_choice_info *asked)
{
    spry_spmv_plan *plan = t->tried[best].plan;
    const char *parameters = plan->stored.parameters;
    const time_t now = time(NULL);
    struct tm day;
    spry_error why = SPRY_ERROR_INIT;
    if (t->short_of_memory) return;
    snprintf(asked->format, sizeof asked->format, "%s%s%s", plan->format->name, parameters[0] ? ":" : "", parameters);
    snprintf(asked->kernel, sizeof asked->kernel, "%s", plan->kernel->name);
    asked->measured_us = t->tried[best].us;
    asked->csr_us = time_of_csr(t);
    asked->predicted_us = plan->estimated_us;
    asked->predicted_csr_us = plan->estimated_csr_us;
    if (gmtime_r(&now, &day)) (void)strftime(asked->date, sizeof asked->date, "%Y-%m-%d", &day);
    if (spryi_choice_keep(plan->context, asked, &why) == SPRY_OK) return;
    const size_t used = strlen(plan->reason);
    snprintf(plan->reason + used, sizeof plan->reason - used, "; not kept: %s", why.message);
}

static void fill_told(const trial *t, spryi_trial *told)
{
    told->count = t->count;
    for (int c = 0; c < t->count; c++) {
        told->timed[c].format = t->tried[c].plan->format->name;
        told->timed[c].kernel = t->tried[c].plan->kernel->name;
        told->timed[c].us = t->tried[c].us;
        told->timed[c].setup_us = t->tried[c].setup_us;
    }
}

/* The plan of the best in the place of *plan, which gives it all that they share. */
static void take_best(trial *t, int best, spry_spmv_plan **plan)
{
    spry_spmv_plan *taken = t->tried[best].plan, *shell = *plan;
    taken->search_us += spryi_now_us() - t->start - t->tried[best].setup_us;
    t->tried[best].plan = NULL;
    *plan = taken;
    pthread_mutex_destroy(&shell->in_use);
    spryi_release(shell->context, shell);
}

/* Ranks, makes, times and remembers. */
static spry_status try_formats(spry_spmv_plan **plan, const spry_spmv_options *o, spry_choice_info *asked,
                               spryi_trial *told, spry_error *err)
{
    const spryi_device *d = (*plan)->device;
    trial t = {.context = (*plan)->context, .base = *plan, .o = o, .start = spryi_now_us(), .why = SPRY_ERROR_INIT};
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_rank_for(&t.ranking, t.base->A, o, spryi_class_of(d), err));
    t.budget = o->budget_us > 0 ? o->budget_us : USUAL_BUDGET;
    t.end = spryi_now_us() + t.budget;
    SPRYI_TRY(begin_all(&t, err));
    int best = 0, timed = 0;
    if (t.count > 1) SPRYI_TRY(make_vectors(&t, &timed, err));
    if (timed) {
        SPRYI_TRY(time_all(&t, err));
        best = best_of(&t);
        tell(&t, best);
        fill_told(&t, told);
        remember(&t, best, asked);
    } else {
        tell_untimed(&t, told);
    }
    take_best(&t, best, plan);
done:
    spry_vector_destroy(t.context, &t.x);
    spry_vector_destroy(t.context, &t.y);
    for (int c = 0; c < t.count; c++) discard(t.tried[c].plan);
    return status;
}

/* ---- what is remembered --------------------------------------------------------------------------------- */

/* *done = 0: it is refused, and the note tells so. */
static spry_status take_remembered(spry_spmv_plan *plan, const spry_spmv_options *o, const spry_choice_info *found,
                                   spryi_trial *told, int *done, spry_error *err)
{
    spryi_choice choice = {.code = SPRY_REASON_REMEMBERED,
                           .kernel = found->kernel,
                           .us = found->predicted_us,
                           .csr_us = found->predicted_csr_us};
    const char *path = plan->context->choices.path;
    char csr[32] = "";
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = spryi_parse_format(&choice.format, choice.parameters, found->format, &why);
    if (status == SPRY_OK) {
        if (found->csr_us > 0 && strcmp(choice.format->name, "csr") != 0)
            (void)spryi_write(csr, sizeof csr, ", csr %s", spryi_three_digits(found->csr_us).s);
        (void)spryi_write(choice.reason, sizeof choice.reason, "%s: %s us measured%s; remembered from %s%s%s",
                          choice.format->name, spryi_three_digits(found->measured_us).s, csr, found->date,
                          path ? " in " : "", path ? path : "");
        status = spryi_build_choice(plan, o, &choice, &why);
    }
    *done = status == SPRY_OK;
    if (*done) return SPRY_OK;
    snprintf(told->note, sizeof told->note, "; %s, which is remembered, was refused", found->format);
    const int refused = status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED || status == SPRY_UNKNOWN_NAME ||
                        status == SPRY_INVALID_ARGUMENT;
    return refused ? SPRY_OK : spryi_hand_on(err, &why);
}

spry_status spryi_measure_plan(spry_spmv_plan **plan, const spry_spmv_options *o, spryi_trial *told, int *done,
                               spry_error *err)
{
    spry_spmv_plan *base = *plan;
    spryi_choices *choices = &base->context->choices;
    const spryi_device *d = base->device;
    spry_choice_info asked;
    spryi_effort effort;
    *done = 0;
    if (!spryi_may_look(&effort, base->A, o, spryi_class_of(d))) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_fingerprint(base, &asked, err));
    if (!told->anew && spryi_choice_find(base->context, &asked))
        return take_remembered(base, o, &asked, told, done, err);
    pthread_mutex_lock(&choices->measuring);
    /* another plan may have measured it meanwhile */
    const int found = !told->anew && spryi_choice_find(base->context, &asked);
    spry_status status = found ? SPRY_OK : try_formats(plan, o, &asked, told, err);
    pthread_mutex_unlock(&choices->measuring);
    if (found) return take_remembered(base, o, &asked, told, done, err);
    *done = status == SPRY_OK;
    return status;
}
