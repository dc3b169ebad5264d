/* What auto takes for a matrix: plans for each number of calls, and which of the group's cases they are. */
#include "bench/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sizes that were published, beside the defaults. SELL-C-sigma: chunks and windows (Kreutzer and others 2014). CSR-k:
 * the formulas for each machine, and super-rows of the set that was searched on CPUs (Lane and Booth 2022). HYB: the
 * width that a third of the rows reach (Bell and Garland 2009). Blocks: two to four unknowns.
 */
static const char *const published[] = {"sell:c=8:sigma=1",    "sell:c=8:sigma=512",   "sell:c=16:sigma=1",
                                        "sell:c=16:sigma=512", "sell:c=16:sigma=4096", "sell:c=32:sigma=1",
                                        "sell:c=32:sigma=512", "sell:c=32:sigma=4096", "csr2:srs=32",
                                        "csr2:srs=96",         "csr2:srs=384",         "csr2:srs=1536",
                                        "csr3:tuning=cpu",     "csr3:tuning=volta",    "csr3:tuning=ampere",
                                        "csr3:tuning=hopper",  "hyb:share=67",         "bsr:block=2",
                                        "bsr:block=3",         "bsr:block=4"};

const char *regret_published(int index)
{
    return index < (int)(sizeof published / sizeof *published) ? published[index] : NULL;
}

/* ---- planning ------------------------------------------------------------------------------------- */

/* What is planned for: a device, a policy and a number of calls. */
typedef struct request {
    spmv_group *group;
    const bench_subject *subject;
    const char *device, *policy;
    int64_t calls;
} request;

static int plan(const request *r, const char *format, record *told, int *number)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = r->group->op;
    options.format = format;
    options.expected_calls = r->calls;
    options.policy = strcmp(format, "auto") == 0 ? r->policy : NULL;
    (void)!number_of_device(r->group->session->context, &options.device, r->device, NULL);
    return spmv_add_choice(r->group, &options, format, r->device, told, number);
}

/* Plans csr and "auto". If planning fails, there are no times and the record has the reason. 0: out of memory. */
static int add_choice(spmv_choices *choices, const request *r)
{
    bench_choice *items = realloc(choices->items, ((size_t)choices->count + 1) * sizeof *items);
    if (!items) return 0;
    choices->items = items;
    bench_choice *c = &items[choices->count++];
    c->calls = r->calls;
    return plan(r, "csr", &c->csr, &c->csr_case) && plan(r, "auto", &c->taken, &c->taken_case);
}

int spmv_add_choices(spmv_choices *choices, spmv_group *group, const bench_subject *subject)
{
    static const char *const kinds[] = {"cpu", "cuda"};
    static const int64_t calls[] = {1, 10, 100, 1000, 0};
    const char *policy = group->session->options->candidates.policy;
    int good = 1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        request r = {group, subject, kinds[k], policy, 0};
        if (!bench_device_fits(group->session, subject->device, kinds[k], 0)) continue;
        if (!bench_device_is_there(group->session, kinds[k])) continue;
        for (size_t n = 0; good && n < sizeof calls / sizeof *calls; n++) {
            r.calls = calls[n];
            good = add_choice(choices, &r);
        }
        r.policy = "tree";
        if (good && (!policy || strcmp(policy, "tree") != 0)) good = add_choice(choices, &r);
    }
    return good;
}

/* ---- handing on ----------------------------------------------------------------------------------- */

/* Copies the times of a case to the record of a plan that runs the same. */
static void take_times(record *told, const record *timed)
{
    told->time.median_us = is_live(timed) ? timed->time.median_us : NAN;
    told->time.spread_us = is_live(timed) ? timed->time.spread_us : NAN;
}

spry_status spmv_emit_choices(spmv_choices *choices, const spmv_group *group, spry_error *err)
{
    bench_session *session = group->session;
    for (int c = 0; c < choices->count; c++) {
        bench_choice *choice = &choices->items[c];
        take_times(&choice->taken, &group->cases[choice->taken_case].record);
        take_times(&choice->csr, &group->cases[choice->csr_case].record);
    }
    if (session->options->receiver.emit_choices(session->options->receiver.user, choices->items, choices->count) == 0)
        return SPRY_OK;
    session->stopped = 1;
    return bench_fail(err, SPRY_FILE_ERROR, "what auto took cannot be written");
}

void spmv_release_choices(spmv_choices *choices)
{
    free(choices->items);
}
