/* Fits the rates of a class of devices to measured times. */
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "plan/explanation.h"
#include "plan/plan.h"
#include "spry/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- objective and search ------------------------------------------------------------------------------ */

/*
 * The objective is the sum of three terms. The first term is the Huber loss of errors: differences between the
 * logarithms of predicted and measured times, for all cases and all rows of the table of rates. The second term is the
 * expected loss of a choice that picks a row at random, with higher odds for rows with shorter predicted times. The
 * loss is the logarithm of a ratio: the time of the picked row divided by the least time. The third term is a small
 * penalty for changes of rates, which keeps rates that the cases do not determine. Errors of refused rows and of rows
 * far slower than the fastest count little, because no choice picks these rows, and the model does not explain their
 * times. The search multiplies one rate at a time by a factor. Factors become smaller when none of them improves the
 * objective.
 */

static const double HUBER = 0.15; /* difference of logarithms; smaller errors count by their square */
static const double ODDS = 0.08;  /* difference of predicted logarithms that makes a row e times as likely as another */
static const double OF_LOSS = 0.5;   /* weight of the choice's loss, relative to errors */
static const double OF_MOVES = 3e-4; /* weight of the squared logarithm of a known rate's change */
static const double NEAR = 1.5;      /* multiple of the least time; slower rows count less */
static const double REFUSED = 0.1;   /* weight of the errors of refused rows */

/* Measurements of one matrix with one type of vectors, one for each row of the table of rates. 0: not measured. */
typedef struct fit_case {
    const spryi_features *features;
    int threads;                       /* threads that ran the products; 1 on a GPU */
    double us[SPRYI_MOST_RATES];       /* time of a product */
    double setup_us[SPRYI_MOST_RATES]; /* time of the conversion */
} fit_case;

typedef struct fitter {
    spryi_own_class *own;
    spryi_format_rates start[SPRYI_MOST_RATES];
    const fit_case *cases;
    int64_t count;
    int rows;
    bool relative;               /* errors compare times divided by the times of csr */
    spryi_work *work;            /* element i * rows + r is for case i and row r, here and below */
    unsigned char *allowed;      /* whether the choice may pick the row */
    double *predicted, *weights; /* logarithms of predicted times, and weights of their errors */
} fitter;

/* Returns the threads of a case's products. */
static int threads_of(const fitter *f, int64_t i)
{
    return spryi_threads_of(&f->own->c, f->cases[i].features, f->cases[i].threads);
}

static bool is_setup(const spryi_rate_name *name)
{
    return strncmp(name->name, "setup", 5) == 0;
}

/* Names of rates by kind. NULL ends a list. */
static const char *const times[] = {"step", "slice", "block", "column", "ragged", "chain", NULL};
static const char *const speeds[] = {"gather", "near", "far", NULL};
static const char *const shares[] = {"uneven", "holes", "longest", "heaviest", NULL};

static bool is_one_of(const spryi_rate_name *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name->name, *list) == 0) return true;
    return false;
}

static double huber(double error)
{
    const double size = fabs(error);
    return size <= HUBER ? error * error / 2 : HUBER * (size - HUBER / 2);
}

static double predicted_us(const fitter *f, int64_t i, int r)
{
    const fit_case *c = &f->cases[i];
    return spryi_product_us(&f->own->rates[r], &f->work[i * f->rows + r], &f->own->c, c->features, c->threads);
}

static void predict_row(fitter *f, int r)
{
    for (int64_t i = 0; i < f->count; i++) f->predicted[i * f->rows + r] = log(predicted_us(f, i, r));
}

/*
 * Returns the logarithm of predicted over measured time, or 0 if the row was not measured. If f->relative, both times
 * are first divided by the times of csr.
 */
static double error_of(const fitter *f, int64_t i, int r)
{
    const fit_case *c = &f->cases[i];
    const double *predicted = &f->predicted[i * f->rows];
    if (c->us[r] <= 0) return 0;
    const double error = predicted[r] - log(c->us[r]);
    return r > 0 && f->relative && c->us[0] > 0 ? error - (predicted[0] - log(c->us[0])) : error;
}

static double least_of(const fitter *f, int64_t i)
{
    double least = INFINITY;
    for (int r = 0; r < f->rows; r++)
        if (f->cases[i].us[r] > 0) least = fmin(least, f->cases[i].us[r]);
    return least;
}

/* Returns the expected loss of the random choice in case i, as a logarithm. */
static double soft_loss(const fitter *f, int64_t i)
{
    const double *predicted = &f->predicted[i * f->rows];
    const double least = log(least_of(f, i));
    double first = INFINITY, odds = 0, loss = 0;
    for (int r = 0; r < f->rows; r++)
        if (f->cases[i].us[r] > 0 && f->allowed[i * f->rows + r]) first = fmin(first, predicted[r]);
    for (int r = 0; r < f->rows; r++) {
        if (f->cases[i].us[r] <= 0 || !f->allowed[i * f->rows + r]) continue;
        const double odd = exp(-(predicted[r] - first) / ODDS);
        odds += odd;
        loss += odd * (log(f->cases[i].us[r]) - least);
    }
    return odds > 0 ? loss / odds : 0;
}

static double moved(const fitter *f, int r)
{
    double sum = 0;
    for (const spryi_rate_name *n = spryi_rate_names; n->name; n++) {
        const double now = *spryi_rate(&f->own->rates[r], n), before = *spryi_rate((void *)&f->start[r], n);
        if (now > 0 && before > 0) sum += log(now / before) * log(now / before);
    }
    return sum;
}

static double objective(const fitter *f)
{
    double errors = 0, losses = 0, moves = 0;
    for (int64_t i = 0; i < f->count; i++) {
        for (int r = 0; r < f->rows; r++) errors += f->weights[i * f->rows + r] * huber(error_of(f, i, r));
        losses += soft_loss(f, i);
    }
    for (int r = 0; r < f->rows; r++) moves += moved(f, r);
    return (errors + OF_LOSS * HUBER * losses) / (double)f->count + OF_MOVES * moves;
}

/* ---- products ------------------------------------------------------------------------------------------- */

/* Returns whether some measured case has work that the rate applies to. */
static bool has_work(const fitter *f, int r, const spryi_rate_name *name)
{
    static const double FACTOR = 1.5;
    spryi_format_rates *rates = &f->own->rates[r];
    double *rate = spryi_rate(rates, name), kept = *rate;
    bool changes = false;
    for (int64_t i = 0; i < f->count && !changes; i++) {
        if (f->cases[i].us[r] <= 0) continue;
        const double before = predicted_us(f, i, r);
        *rate = kept * FACTOR;
        changes = predicted_us(f, i, r) != before;
        *rate = kept;
    }
    return changes;
}

static bool is_sharp(const spryi_rate_name *name)
{
    return strcmp(name->name, "sharp") == 0;
}

/* Returns the largest valid value of a rate. name->least is the smallest. */
static double most_of(const spryi_rate_name *name)
{
    static const double SHARP = 16, AHEAD = 0.5; /* AHEAD is a share of the streaming rate */
    return is_sharp(name) ? SHARP : strcmp(name->name, "ahead") == 0 ? AHEAD : SPRYI_MOST_RATE;
}

/*
 * Multiplies a rate by a factor, and keeps the new value if the objective decreases. The rate `sharp` is at least 1, so
 * the factor multiplies its excess over 1.
 */
static bool try_step(fitter *f, int r, const spryi_rate_name *name, double factor, double *least)
{
    double *rate = spryi_rate(&f->own->rates[r], name), kept = *rate;
    const double next = is_sharp(name) ? 1 + (kept - 1) * factor : kept * factor;
    if (next > most_of(name) || next < name->least) return false;
    *rate = next;
    predict_row(f, r);
    const double value = objective(f);
    if (value < *least) {
        *least = value;
        return true;
    }
    *rate = kept;
    return false;
}

/* Tries a step up for each determined rate. If the step up does not help, tries a step down. Returns the objective. */
static double sweep(fitter *f, const unsigned *determined, double step, double least)
{
    for (int r = 0; r < f->rows; r++) {
        for (int n = 0; spryi_rate_names[n].name; n++) {
            if (!(determined[r] >> n & 1)) continue;
            if (!try_step(f, r, &spryi_rate_names[n], exp(step), &least))
                (void)try_step(f, r, &spryi_rate_names[n], exp(-step), &least);
        }
        predict_row(f, r);
    }
    return least;
}

/*
 * Searches with large steps first, then with smaller steps. Repeats the search, because a rate may improve the
 * objective only after other rates have changed.
 */
static void search_products(fitter *f)
{
    enum { ROUNDS = 5, MOST_SWEEPS = 40 };
    /* FIRST and LAST are logarithms of steps. LITTLE is a share of the objective. */
    static const double FIRST = 0.7, LAST = 0.02, LITTLE = 5e-4;
    unsigned determined[SPRYI_MOST_RATES] = {0};
    for (int r = 0; r < f->rows; r++)
        for (int n = 0; spryi_rate_names[n].name; n++)
            if (!is_setup(&spryi_rate_names[n]) && has_work(f, r, &spryi_rate_names[n])) determined[r] |= 1u << n;
    double least = objective(f);
    for (int round = 0; round < ROUNDS; round++)
        for (double step = FIRST; step >= LAST; step /= 2)
            for (int n = 0; n < MOST_SWEEPS; n++) {
                const double before = least;
                least = sweep(f, determined, step, least);
                if (before - least < LITTLE * before) break;
            }
}

/* ---- set-up --------------------------------------------------------------------------------------------- */

static double setup_objective(const fitter *f, int r)
{
    double sum = 0;
    for (int64_t i = 0; i < f->count; i++)
        if (f->cases[i].setup_us[r] > 0)
            sum += huber(log(spryi_setup_of(&f->own->rates[r], f->cases[i].features, threads_of(f, i)) + 1) -
                         log(f->cases[i].setup_us[r] + 1));
    return sum / (double)f->count + OF_MOVES * moved(f, r);
}

static void search_setup(fitter *f, int r)
{
    static const double FIRST = 1.4, LAST = 0.03, LITTLE = 1e-3;
    bool measured = false;
    for (int64_t i = 0; i < f->count; i++) measured |= f->cases[i].setup_us[r] > 0;
    if (!measured) return;
    for (double step = FIRST; step >= LAST;) {
        double least = setup_objective(f, r);
        const double before = least;
        for (const spryi_rate_name *n = spryi_rate_names; n->name; n++) {
            if (!is_setup(n)) continue;
            double *rate = spryi_rate(&f->own->rates[r], n);
            if (*rate == 0) *rate = LITTLE;
            for (int sign = -1; sign <= 1; sign += 2) {
                const double kept = *rate;
                *rate = kept * exp(sign * step);
                const double value = *rate <= SPRYI_MOST_RATE ? setup_objective(f, r) : INFINITY;
                if (value < least)
                    least = value;
                else
                    *rate = kept;
            }
        }
        if (before - least <= 1e-4 * before) step /= 2;
    }
}

/* ---- the fit ---------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Returns the chosen row's time divided by the least, or 1 if no row that may be chosen was measured. */
static double hard_loss(const fitter *f, int64_t i)
{
    int taken = -1;
    for (int r = 0; r < f->rows; r++) {
        const int64_t at = i * f->rows + r;
        if (f->cases[i].us[r] <= 0 || !f->allowed[at]) continue;
        if (taken < 0 || f->predicted[at] < f->predicted[i * f->rows + taken]) taken = r;
    }
    return taken >= 0 ? f->cases[i].us[taken] / least_of(f, i) : 1;
}

static void judge(const fitter *f, double *errors, double *error, double *loss, double *worst)
{
    double sum = 0;
    int64_t count = 0;
    *worst = 1;
    for (int64_t i = 0; i < f->count; i++) {
        const double lost = hard_loss(f, i);
        sum += log(lost);
        *worst = fmax(*worst, lost);
        for (int r = 0; r < f->rows; r++)
            if (f->cases[i].us[r] > 0) errors[count++] = fabs(error_of(f, i, r));
    }
    qsort(errors, (size_t)count, sizeof *errors, by_size);
    *error = count > 0 ? errors[count / 2] : 0;
    *loss = exp(sum / (double)f->count);
}

/*
 * Returns the largest change that a rate makes to the predicted logarithm of a measured case. without: predicted
 * logarithms if the rate is 0.
 */
static double effect_of(const fitter *f, int r, const double *without)
{
    double most = 0;
    for (int64_t i = 0; i < f->count; i++)
        if (f->cases[i].us[r] > 0) most = fmax(most, fabs(f->predicted[i * f->rows + r] - without[i]));
    return most;
}

/* Starts an unknown rate, which is 0, at a value that changes the prediction of some case a little. */
static void begin_rate(fitter *f, int r, const spryi_rate_name *name, double *without)
{
    enum { MOST_STEPS = 60 };
    static const double LITTLE = 1e-9, FAST = 1e12, STEP = 3, COUNTS = 0.1;
    double *rate = spryi_rate(&f->own->rates[r], name);
    const double first = is_one_of(name, speeds) ? FAST : LITTLE;
    double now = first;
    for (int64_t i = 0; i < f->count; i++) without[i] = f->predicted[i * f->rows + r];
    for (int n = 0; n < MOST_STEPS && effect_of(f, r, without) < COUNTS; n++) {
        *rate = now;
        predict_row(f, r);
        now = is_one_of(name, speeds) ? now / STEP : now * STEP;
    }
    if (effect_of(f, r, without) < COUNTS) *rate = first; /* the rate has little effect on all cases */
    predict_row(f, r);
}

static void begin_rates(fitter *f, double *scratch)
{
    for (int r = 0; r < f->rows; r++)
        for (const spryi_rate_name *n = spryi_rate_names; n->name; n++)
            if (*spryi_rate(&f->own->rates[r], n) == 0 &&
                (is_one_of(n, times) || is_one_of(n, speeds) || is_one_of(n, shares)))
                begin_rate(f, r, n, scratch);
}

static void find_works(fitter *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        const fit_case *c = &f->cases[i];
        spryi_estimate list[SPRYI_MOST_RATES];
        (void)spryi_estimate_all(list, &f->own->c, c->features, c->threads, 1);
        for (int r = 0; r < f->rows; r++) {
            f->allowed[i * f->rows + r] = !list[r].refused;
            f->work[i * f->rows + r] = spryi_work_of(&f->own->rates[r], &f->own->c, c->features, threads_of(f, i));
        }
    }
}

static void find_weights(fitter *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        const double least = least_of(f, i);
        for (int r = 0; r < f->rows; r++) {
            const double distance = fmax(f->cases[i].us[r] / least, NEAR) / NEAR;
            f->weights[i * f->rows + r] = (f->allowed[i * f->rows + r] ? 1 : REFUSED) / (distance * distance);
        }
    }
}

/*
 * Changes the rates of `own` to minimise the objective, one rate at a time. Does not change a rate if no case has work
 * that the rate applies to. count >= 1.
 */
static spry_status search(spry_context *context, spryi_own_class *own, const fit_case *cases, int64_t count,
                          spry_rates_fit_info *result, spry_error *err)
{
    spry_status status = SPRY_OK;
    double *errors = NULL, *scratch = NULL;
    fitter f = {.own = own, .cases = cases, .count = count, .rows = own->c.formats};
    const int64_t all = count * f.rows;
    f.relative = spryi_class_is_cpu(&own->c);
    SPRYI_TRY(SPRYI_NEW(context, &f.work, all, "work of cases", err));
    SPRYI_TRY(SPRYI_NEW(context, &f.allowed, all, "cases", err));
    SPRYI_TRY(SPRYI_NEW(context, &f.predicted, all, "predictions", err));
    SPRYI_TRY(SPRYI_NEW(context, &f.weights, all, "weights of errors", err));
    SPRYI_TRY(SPRYI_NEW(context, &errors, all, "errors of predictions", err));
    SPRYI_TRY(SPRYI_NEW(context, &scratch, count, "predictions", err));
    find_works(&f);
    find_weights(&f);
    for (int r = 0; r < f.rows; r++) predict_row(&f, r);
    judge(&f, errors, &result->error_before, &result->loss_before, &result->worst_loss_before);
    memcpy(f.start, own->rates, sizeof f.start);
    begin_rates(&f, scratch);
    search_products(&f);
    for (int r = 0; r < f.rows; r++) search_setup(&f, r);
    judge(&f, errors, &result->error, &result->loss, &result->worst_loss);
done:
    spryi_release(context, f.work);
    spryi_release(context, f.allowed);
    spryi_release(context, f.predicted);
    spryi_release(context, f.weights);
    spryi_release(context, errors);
    spryi_release(context, scratch);
    return status;
}

/* ---- observations --------------------------------------------------------------------------------------- */

/* Returns the table's row for the observed kernel, or else for its format; -1: none. */
static int row_of(const spryi_own_class *own, const spry_observation *o)
{
    int of_format = -1;
    for (int r = 0; r < own->c.formats; r++) {
        const spryi_format_rates *rates = &own->rates[r];
        if (strcmp(rates->format, o->format) != 0) continue;
        if (rates->kernel && o->kernel && strcmp(rates->kernel, o->kernel) == 0) return r;
        if (!rates->kernel) of_format = r;
    }
    return of_format;
}

static const double LEAST_US = 1e-3, MOST_US = 1e12;

/* Returns whether the observation names a kernel that is unknown or that belongs to another format. */
static bool has_wrong_kernel(const spry_observation *o)
{
    const spryi_kernel *kernel = o->kernel && o->kernel[0] ? spryi_find_kernel(o->kernel) : NULL;
    return o->kernel && o->kernel[0] && (!kernel || strcmp(kernel->format, o->format) != 0);
}

static spry_status check(const spry_observation *o, int64_t n, const spryi_own_class *own, const spry_context *context,
                         spry_error *err)
{
    if (o->struct_size != sizeof *o)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "struct_size", (int64_t)o->struct_size, sizeof *o,
                                "observation %lld has struct_size %zu, expected %zu: set it with SPRY_INIT",
                                (long long)n, o->struct_size, sizeof *o);
    const char *wrong =
        !o->explanation || !o->format                                  ? "has no explanation or no format"
        : o->explanation->context != context                           ? "is of another context"
        : strcmp(o->explanation->ranking.device->name, own->name) != 0 ? "is of another class of devices"
        : o->explanation->ranking.count == 0                           ? "is of a matrix without entries"
        : has_wrong_kernel(o)                                          ? "names a kernel that its format does not have"
        : row_of(own, o) < 0                                           ? "is of a format without rates"
        : !(o->time_us >= LEAST_US && o->time_us <= MOST_US) ? "has a time_us outside the range from 0.001 to 1e12"
        : !(o->setup_us >= 0 && o->setup_us <= MOST_US)      ? "has a setup_us outside the range from 0 to 1e12"
                                                             : NULL;
    if (!wrong) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "observations", n, 0, "observation %lld %s", (long long)n,
                            wrong);
}

/* Returns the case of an explanation. Observations of one explanation form a case, in any order. */
static fit_case *case_of(fit_case *cases, int64_t *count, const spryi_ranking *ranking)
{
    const bool on_cpu = spryi_class_is_cpu(ranking->device);
    for (int64_t i = *count - 1; i >= 0; i--)
        if (cases[i].features == &ranking->features) return &cases[i];
    cases[*count] = (fit_case){.features = &ranking->features, .threads = on_cpu ? ranking->threads : 1};
    return &cases[(*count)++];
}

static spry_status fit(spry_context *context, spryi_own_class *own, const spry_observation *observations, int64_t count,
                       spry_rates_fit_info *result, spry_error *err)
{
    spry_status status = SPRY_OK;
    fit_case *cases = NULL;
    int64_t n = 0;
    SPRYI_TRY(SPRYI_NEW(context, &cases, count, "cases of a fit", err));
    for (int64_t k = 0; k < count; k++) {
        const spry_observation *o = &observations[k];
        SPRYI_TRY(check(o, k, own, context, err));
        fit_case *c = case_of(cases, &n, &o->explanation->ranking);
        const int r = row_of(own, o);
        if (c->us[r] == 0 || o->time_us < c->us[r]) {
            c->us[r] = o->time_us;
            c->setup_us[r] = o->setup_us;
        }
    }
    *result = (spry_rates_fit_info){.struct_size = sizeof *result, .cases = n};
    SPRYI_TRY(search(context, own, cases, n, result, err));
done:
    spryi_release(context, cases);
    return status;
}

spry_status spry_rates_fit(spry_context *context, spry_rates_fit_info *info, const char *device_class,
                           const spry_observation *observations, int64_t count, const char *fitted, spry_error *err)
{
    const char *missing = !context        ? "context"
                          : !device_class ? "device_class"
                          : !observations ? "observations"
                          : !fitted       ? "fitted"
                                          : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    if (count < 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "count", count, 1, "count is %lld, expected 1 or more",
                                (long long)count);
    if (info) SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    SPRYI_DEFAULT_FLOATS;
    const spryi_device_class *start = NULL;
    spry_rates_fit_info result;
    spryi_own_class *own = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_find_class(context, &start, device_class, err));
    SPRYI_TRY(SPRYI_NEW(context, &own, 1, "a table of rates", err));
    spryi_copy_class(own, start);
    if (strlen(fitted) >= sizeof own->fitted) {
        status = spryi_fail(err, SPRY_INVALID_ARGUMENT, "fitted", "fitted is longer than %zu characters",
                            sizeof own->fitted - 1);
        goto done;
    }
    if (fitted[strcspn(fitted, "#\r\n")]) {
        status = spryi_fail(err, SPRY_INVALID_ARGUMENT, "fitted", "fitted has a # or more than one line");
        goto done;
    }
    memcpy(own->fitted, fitted, strlen(fitted) + 1);
    SPRYI_TRY(fit(context, own, observations, count, &result, err));
    SPRYI_TRY(spryi_context_adopt_classes(context, &own, 1, err));
    own = NULL;
    if (info) SPRYI_GIVE(info, &result);
done:
    spryi_release(context, own);
    return status;
}
