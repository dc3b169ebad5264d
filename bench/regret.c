#include "bench/regret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t regret_calls[REGRET_CALLS] = {1, 10, 100, 1000, 0};

static const double BEHIND = 1.05, NEAR = 1.15, FAR = 2, GAIN = 1.1, EVEN = 1.5;

/* ---- one case ------------------------------------------------------------------------------------- */

double regret_cost(const regret_plan *plan, int64_t calls)
{
    if (calls == 0) return plan->time_us;
    return plan->setup_us - plan->upload_us + (double)calls * plan->time_us;
}

static regret_plan plan_of(const record *r)
{
    return (regret_plan){r->setup_us, isnan(r->upload_us) ? 0 : r->upload_us, r->time_us, r->spread_us};
}

/* 1: it ran beside the choice, with as many threads. */
static int ran_beside(const record *r, const regret_choice *c)
{
    return r->status == RECORD_OK && !r->fewer_threads && r->time_us > 0 && strcmp(r->device, c->device) == 0 &&
           strcmp(r->ordering, c->ordering) == 0;
}

static void keep_least(regret_case *k, double cost, const char *format, const char *kernel)
{
    if (isnan(cost) || (!isnan(k->best_us) && cost >= k->best_us)) return;
    k->best_us = cost;
    RECORD_TEXT(k->best_format, format);
    RECORD_TEXT(k->best_kernel, kernel);
}

/* auto's plan comes first: it is told as the best where no other costs less. */
static regret_case judge(const regret_choice *c, const record *records, int count)
{
    regret_case k = {.choice = *c, .best_us = NAN};
    const double cost = regret_cost(&c->taken, c->calls), csr = regret_cost(&c->csr, c->calls);
    keep_least(&k, cost, c->format, c->kernel);
    keep_least(&k, csr, "csr", c->csr_kernel);
    for (int i = 0; i < count; i++) {
        const record *r = &records[i];
        if (!ran_beside(r, c) || r->peer || r->deterministic != 1) continue;
        const regret_plan plan = plan_of(r);
        keep_least(&k, regret_cost(&plan, c->calls), r->format, r->kernel);
    }
    k.loss = cost / k.best_us;
    k.over_csr = cost / csr;
    return k;
}

static regret_against compare(const regret_case *k, int of, const record *peer)
{
    const regret_choice *c = &k->choice;
    const regret_plan other = plan_of(peer);
    const double calls = c->calls == 0 ? 1 : (double)c->calls;
    const double ours = regret_cost(&c->taken, c->calls), theirs = regret_cost(&other, c->calls);
    const double spread = calls * fmax(c->taken.spread_us, other.spread_us);
    regret_against a = {.of = of, .ratio = theirs / ours, .slower = ours > BEHIND * theirs && ours - theirs > spread};
    RECORD_TEXT(a.peer, peer->kernel);
    return a;
}

double regret_prediction_error(const regret_choice *c)
{
    if (!(c->predicted_us > 0) || !(c->taken.time_us > 0)) return NAN;
    if (strcmp(c->device, "cpu") != 0) return c->predicted_us / c->taken.time_us;
    return c->predicted_us / c->baseline_us / (c->taken.time_us / c->csr.time_us);
}

static int is_within(double ratio, double factor)
{
    return ratio <= factor && ratio >= 1 / factor;
}

int regret_break_even_is_right(const regret_choice *c)
{
    if (!(c->csr.time_us >= GAIN * c->taken.time_us)) return -1;
    const double measured = fmax(1, ceil(c->taken.setup_us / (c->csr.time_us - c->taken.time_us)));
    return c->break_even >= 0 && is_within(fmax(1, (double)c->break_even) / measured, EVEN);
}

/* ---- the report ----------------------------------------------------------------------------------- */

static int grow(void **items, int count, int more, size_t size)
{
    void *grown = realloc(*items, (size_t)(count + more + 1) * size);
    if (grown) *items = grown;
    return grown != NULL;
}

int regret_add(regret_report *report, const record *records, int count, const regret_choice *choices, int choice_count)
{
    if (!grow((void **)&report->cases, report->case_count, choice_count, sizeof *report->cases)) return 0;
    for (int c = 0; c < choice_count; c++) {
        const int of = report->case_count++;
        regret_case *k = &report->cases[of];
        *k = judge(&choices[c], records, count);
        if (isnan(k->loss) || strcmp(choices[c].policy, choices[0].policy) != 0) continue;
        if (!grow((void **)&report->against, report->against_count, count, sizeof *report->against)) return 0;
        for (int i = 0; i < count; i++)
            if (records[i].peer == 1 && ran_beside(&records[i], &choices[c]))
                report->against[report->against_count++] = compare(k, of, &records[i]);
    }
    return 1;
}

void regret_release(regret_report *report)
{
    free(report->cases);
    free(report->against);
    *report = (regret_report){0};
}

/* ---- statistics ----------------------------------------------------------------------------------- */

double regret_geometric_mean(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += log(values[i]);
    return count > 0 ? exp(sum / count) : NAN;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double regret_percentile(double *values, int count, double share)
{
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, by_size);
    const double position = share * (double)(count - 1);
    const int below = (int)position;
    if (below >= count - 1) return values[count - 1];
    return values[below] + (position - (double)below) * (values[below + 1] - values[below]);
}

static int is_of_kind(const regret_choice *a, const regret_choice *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->device, b->device) == 0 && strcmp(a->type, b->type) == 0 &&
           strcmp(a->policy, b->policy) == 0;
}

static int is_of_sum(const regret_choice *a, const regret_choice *b)
{
    return is_of_kind(a, b) && a->calls == b->calls;
}

/* ---- sums ----------------------------------------------------------------------------------------- */

/* values: room for all cases. */
static regret_sum sum_of(const regret_report *report, const regret_choice *of, double *values)
{
    regret_sum s = {.of = of, .csr_mean = 0};
    for (int i = 0; i < report->case_count; i++) {
        const regret_case *k = &report->cases[i];
        if (!is_of_sum(&k->choice, of) || isnan(k->loss) || isnan(k->over_csr)) continue;
        if (!s.worst_matrix || k->loss > s.worst) {
            s.worst = k->loss;
            s.worst_matrix = k->choice.matrix;
        }
        if (!s.csr_worst_matrix || k->over_csr > s.csr_worst) {
            s.csr_worst = k->over_csr;
            s.csr_worst_matrix = k->choice.matrix;
        }
        s.csr_mean += log(k->over_csr);
        s.csr_behind += k->over_csr > BEHIND;
        values[s.cases++] = k->loss;
    }
    s.csr_mean = exp(s.csr_mean / s.cases);
    s.mean = regret_geometric_mean(values, s.cases);
    s.percentile95 = regret_percentile(values, s.cases, 0.95);
    return s;
}

regret_sum *regret_sums(const regret_report *report, int *count)
{
    double *values = malloc((size_t)(report->case_count + 1) * sizeof *values);
    regret_sum *sums = calloc((size_t)report->case_count + 1, sizeof *sums);
    *count = values && sums ? 0 : -1;
    for (int i = 0; *count >= 0 && i < report->case_count; i++) {
        const regret_case *k = &report->cases[i];
        int known = isnan(k->loss) || isnan(k->over_csr);
        for (int s = 0; !known && s < *count; s++) known = is_of_sum(sums[s].of, &k->choice);
        if (!known) sums[(*count)++] = sum_of(report, &k->choice, values);
    }
    free(values);
    if (*count > 0) return sums;
    free(sums);
    return NULL;
}

static void add_to_peer(regret_peer_sum *s, const regret_case *k, const regret_against *a)
{
    if (s->cases == 0 || a->ratio < s->least) {
        s->least = a->ratio;
        s->least_matrix = k->choice.matrix;
    }
    s->of = &k->choice;
    s->cases++;
    s->slower += a->slower;
    s->mean += log(a->ratio);
}

/* Means of those that have cases; the others go. */
static int close_peer_sums(regret_peer_sum *sums, int count)
{
    int kept = 0;
    for (int s = 0; s < count; s++) {
        if (sums[s].cases == 0) continue;
        sums[kept] = sums[s];
        sums[kept].mean = exp(sums[kept].mean / sums[kept].cases);
        kept++;
    }
    return kept;
}

static int number_of_calls(int64_t calls)
{
    int n = 0;
    while (n < REGRET_CALLS - 1 && regret_calls[n] != calls) n++;
    return n;
}

/* A peer's sums lie side by side, one for each number of calls. */
regret_peer_sum *regret_peer_sums(const regret_report *report, int *count)
{
    regret_peer_sum *sums = calloc((size_t)(report->against_count + 1) * REGRET_CALLS, sizeof *sums);
    *count = sums ? 0 : -1;
    for (int i = 0; *count >= 0 && i < report->against_count; i++) {
        const regret_against *a = &report->against[i];
        const regret_case *k = &report->cases[a->of];
        int s = 0;
        if (isnan(a->ratio)) continue;
        while (s < *count && !(is_of_kind(sums[s].of, &k->choice) && strcmp(sums[s].peer, a->peer) == 0))
            s += REGRET_CALLS;
        for (int n = 0; s == *count && n < REGRET_CALLS; n++)
            sums[s + n] = (regret_peer_sum){.of = &k->choice, .peer = a->peer};
        if (s == *count) *count += REGRET_CALLS;
        add_to_peer(&sums[s + number_of_calls(k->choice.calls)], k, a);
    }
    if (*count > 0) *count = close_peer_sums(sums, *count);
    if (*count > 0) return sums;
    free(sums);
    return NULL;
}

/* ---- predictions ---------------------------------------------------------------------------------- */

static void add_to_prediction(regret_prediction *p, const regret_choice *c)
{
    const double error = regret_prediction_error(c);
    const int even = regret_break_even_is_right(c), other = strcmp(c->format, "csr") != 0;
    if (c->calls == 0 && !isnan(error)) {
        p->cases++;
        p->within_15 += is_within(error, NEAR);
        p->within_2 += is_within(error, FAR);
        p->others += other;
        p->others_within_15 += other && is_within(error, NEAR);
        p->others_within_2 += other && is_within(error, FAR);
    }
    if (c->calls == 0 && even >= 0) {
        p->gains++;
        p->right += even;
    }
}

/* Only of policies that predict. */
regret_prediction *regret_predictions(const regret_report *report, int *count)
{
    regret_prediction *list = calloc((size_t)report->case_count + 1, sizeof *list);
    *count = list ? 0 : -1;
    for (int i = 0; *count >= 0 && i < report->case_count; i++) {
        const regret_choice *c = &report->cases[i].choice;
        int p = 0;
        if (strncmp(c->policy, "tree", 4) == 0) continue;
        while (p < *count && !is_of_kind(list[p].of, c)) p++;
        if (p == *count) list[(*count)++] = (regret_prediction){.of = c};
        add_to_prediction(&list[p], c);
    }
    if (*count > 0) return list;
    free(list);
    return NULL;
}
