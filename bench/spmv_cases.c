/* Which kernels and peers multiply a matrix with a vector, and their records. */
#include "bench/internal.h"
#include "spry/tools.h"

#include <stdio.h>
#include <string.h>

/* The cases of a group that are being listed: of one device, or of "all". */
typedef struct choice {
    spmv_group *group;
    const bench_subject *subject;
    const bench_options *options;
    const char *device;
} choice;

/* k of csr2, csr3 and csr4, whose groups Band-k makes; 0: another format. */
static int k_of(const char *name)
{
    return strncmp(name, "csr", 3) == 0 && name[3] >= '2' && name[3] <= '4' ? name[3] - '0' : 0;
}

/* 1: it runs under the subject's ordering. Band-k's of k = 4 is csr4's alone. */
static int takes_part(const choice *c, const char *format)
{
    const int k = k_of(format);
    if (c->subject->k > 0) return k == c->subject->k;
    return c->subject->part == EVERYBODY || (c->subject->part == CSRK_ALONE ? k == 2 || k == 3 : k == 0);
}

/* Sizes given as parameters are kept to: equal groups. */
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
    options.columns = c->group->vectors.columns;
    options.row_major = c->group->vectors.row_major;
    options.expected_calls = c->options->candidates.calls;
    options.expected_updates = c->options->candidates.updates;
    options.policy = c->options->candidates.policy;
    options.memory_limit_bytes = c->options->candidates.memory_limit;
    options.ordering = c->subject->plan_ordering;
    options.format = format;
    (void)!number_of_device(c->group->session->context, &options.device, device, NULL); /* "cpu", "cuda" are known */
    options.groups = device ? groups_for(c, format, device) : NULL;
    return options;
}

/* name: the kernel's, parameters may follow it; its text lives as long as the group. */
static int add_kernel(const choice *c, const spry_kernel_info *kernel, const char *name)
{
    spry_spmv_options options = plan_options(c, kernel->format, kernel->device_kind);
    options.kernel = name;
    if (strchr(name, ':')) options.groups = NULL; /* sizes are given, as of a format */
    options.allow_nondeterministic = 1;
    if (!kernel->available)
        return spmv_add_skipped(c->group, kernel->format, name, kernel->device_kind, kernel->reason);
    return spmv_add_plan(c->group, &options, NULL, kernel->device_kind);
}

/* Every kernel of the wanted devices, or those named: each as often as the list has it, with other parameters. */
static int add_kernels(const choice *c, int all)
{
    const text_list *named = &c->options->candidates.kernels;
    int good = 1;
    for (int k = 0; good && k < spry_kernel_count(); k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_kernel_get_info(c->group->session->context, &kernel, k, NULL) != SPRY_OK) continue;
        if (!bench_device_fits(c->group->session, c->device, kernel.device_kind, !all)) continue;
        if (c->options->protocol.regret && !kernel.deterministic) continue;
        if (!takes_part(c, kernel.format)) continue;
        if (all) good = add_kernel(c, &kernel, kernel.name);
        for (int i = 0; good && !all && i < named->count; i++)
            if (text_is_named(named->items[i], kernel.name)) good = add_kernel(c, &kernel, named->items[i]);
    }
    return good;
}

/*
 * The best kernel of a format on each wanted device. auto is decided with every device open to it, so it
 * is one case unless one device is asked for.
 */
static int add_format(const choice *c, const char *format)
{
    const int all = strcmp(c->device, "all") == 0;
    if (!all || strcmp(format, "auto") == 0) {
        const spry_spmv_options options = plan_options(c, format, all ? NULL : c->device);
        return spmv_add_plan(c->group, &options, format, all ? NULL : c->device);
    }
    int added = 0;
    for (int d = 0; d < spry_device_count(c->group->session->context); d++) {
        spry_device_info device = SPRY_INIT(spry_device_info);
        if (spry_device_get_info(c->group->session->context, &device, d, NULL) != SPRY_OK) continue;
        if (strchr(device.name, ':')) continue; /* a second device of a kind */
        if (!device.available) continue;        /* all there are: a GPU that cannot be used is asked for by its name */
        const spry_spmv_options options = plan_options(c, format, device.name);
        if (!spmv_add_plan(c->group, &options, format, device.name)) return 0;
        added++;
    }
    return added > 0 || spmv_add_skipped(c->group, format, "", "", "no device is listed");
}

/* Peers of the chosen formats and devices; those named alone when any is named. */
static int add_peers(const choice *c)
{
    const bench_peers *peers = c->options->candidates.peers;
    if (!peers || c->subject->plan_ordering || c->subject->part == CSRK_ALONE || c->subject->k > 0) return 1;
    for (int p = 0; p < peers->count; p++) {
        const bench_peer *peer = &peers->items[p];
        if (!bench_wants_peer(c->group->session, c->device, p)) continue;
        int wanted = c->options->candidates.all_kernels ||
                     text_list_names(&c->options->candidates.formats, peer->format) ||
                     text_list_has(&c->options->candidates.formats, "auto") ||
                     text_list_has(&c->options->candidates.kernels, peer->name);
        for (int i = 0; !wanted && i < c->group->case_count; i++)
            wanted = strcmp(c->group->cases[i].record.method.format, peer->format) == 0;
        if (wanted && !spmv_add_peer(c->group, peer)) return 0;
    }
    return 1;
}

/* Why the group is empty. */
static int add_nothing(const choice *c)
{
    const char *device = strcmp(c->device, "all") == 0 ? "" : c->device;
    char format[8], reason[160];
    if (c->subject->k == 0)
        return spmv_add_skipped(c->group, "", "", device,
                                "no kernel of the chosen formats is there for the chosen device");
    snprintf(format, sizeof format, "csr%d", c->subject->k);
    snprintf(reason, sizeof reason, "%s is the ordering of %s alone, of which no kernel is chosen for the device",
             c->subject->ordering, format);
    return spmv_add_skipped(c->group, format, "", device, reason);
}

static int add_cases(const choice *c)
{
    const text_list *formats = &c->options->candidates.formats;
    int good = c->options->candidates.all_kernels ? add_kernels(c, 1) : 1;
    for (int p = 0; good && c->options->protocol.regret && regret_published(p); p++)
        good = add_format(c, regret_published(p));
    for (int f = 0; good && f < formats->count; f++)
        if (takes_part(c, formats->items[f])) good = add_format(c, formats->items[f]);
    if (good && c->options->candidates.kernels.count > 0 && !c->options->candidates.all_kernels)
        good = add_kernels(c, 0);
    if (good) good = add_peers(c);
    return good && c->group->case_count == 0 && c->subject->part == EVERYBODY ? add_nothing(c) : good;
}

/* The CPU's cases once more for each smaller number of threads. */
static int add_fewer(const choice *c)
{
    const choice on_cpu = {c->group, c->subject, c->options, "cpu"};
    int good = 1;
    if (strcmp(c->device, "cuda") == 0 || strcmp(c->subject->ordering, "none") != 0) return 1;
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
    if (good && options->protocol.regret) good = spmv_add_choices(&choices, &group, subject);
    snprintf(text, sizeof text, "%s %s: timing %d cases", subject->source->name, group.common.input.type,
             group.case_count);
    options->receiver.progress(text);
    if (good && spmv_measure(&group))
        status = bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.others, err);
    else
        status = bench_out_of_memory(err);
    if (status == SPRY_OK && options->protocol.regret) status = spmv_emit_choices(&choices, &group, err);
    spmv_release_choices(&choices);
    spmv_group_close(&group);
    return status;
}
