/* CG and PageRank: which formats, kernels and peers solve, and what they are given. */
#include "bench/solver.h"
#include "spry/tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- group -------------------------------------------------------------------------------------- */

static int threads_of(const solver_group *group)
{
    return spry_context_threads(group->session->context);
}

static spry_status make_vectors(solver_group *group, spry_error *err)
{
    const size_t bytes = (size_t)group->arrays.rows * spry_type_bytes(group->type) + 1;
    group->x = allocate_pages(bytes);
    group->b = allocate_pages(bytes);
    if (!group->x || !group->b) return bench_out_of_memory(err);
    fill_constant(group->b, group->arrays.rows, group->type, 1, threads_of(group));
    return SPRY_OK;
}

static spry_status open_group(solver_group *group, bench_session *session, const bench_subject *subject,
                              spry_error *err)
{
    const int is_f32 = subject->types->vectors == SPRY_F32;
    *group = (solver_group){.session = session,
                            .wanted = subject->device,
                            .method = bench_factor_of(session->options->operation.op),
                            .A = subject->A,
                            .type = subject->types->vectors,
                            .arrays = SPRY_INIT(spry_arrays)};
    group->tolerance = !is_f32 ? 1e-8 : group->method == IN_CG ? 1e-3 : 1e-6;
    group->limit = group->method == IN_CG ? MOST_CG_ITERATIONS : MOST_RANK_ITERATIONS;
    spry_status status = spry_matrix_get_arrays(group->A, &group->arrays, err);
    if (status == SPRY_OK) status = bench_describe(session, &group->common, subject, err);
    if (status == SPRY_OK && session->options->operation.pattern) {
        status = bench_leave_out_values(session, &group->arrays, &group->pattern, &group->ones, &group->common, err);
        group->A = group->pattern;
    }
    if (status == SPRY_OK) status = make_vectors(group, err);
    return status == SPRY_OK ? solver_look_at_matrix(group, err) : status;
}

static void close_group(solver_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        solver_case *c = &group->cases[i];
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    free(group->cases);
    spry_matrix_destroy(group->pattern);
    free(group->ones);
    free(group->x);
    free(group->b);
}

/* ---- cases -------------------------------------------------------------------------------------- */

static solver_case *add_case(solver_group *group, const char *format, const char *kernel, const char *device)
{
    solver_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    solver_case *c = &grown[group->case_count++];
    *c = (solver_case){.record = group->common};
    c->device = strncmp(device, "cuda", 4) == 0;
    RECORD_TEXT(c->record.method.format, format);
    RECORD_TEXT(c->record.method.kernel, kernel);
    RECORD_TEXT(c->record.method.device, device);
    return c;
}

static int add_skipped(solver_group *group, const char *format, const char *kernel, const char *device,
                       const char *reason)
{
    solver_case *c = add_case(group, format, kernel, device);
    if (c) record_fail(&c->record, RECORD_SKIPPED, "%s", reason);
    return c != NULL;
}

/* Both texts live as long as the group; kernel NULL: the best of the format. 0: out of memory. */
static int add_ours(solver_group *group, const char *format, const char *kernel, const char *device)
{
    spry_error err = {0};
    if (group->unsuited[0]) return add_skipped(group, format, kernel, device, group->unsuited);
    solver_case *c = add_case(group, format, kernel, device);
    if (!c) return 0;
    c->format = strcmp(format, "auto") == 0 ? NULL : format;
    c->kernel = kernel;
    if (!c->format) c->record.method.policy = "cost";
    if (c->device > 0 && bench_measure_gpu_copy(group->session, &err) != SPRY_OK) {
        record_fail(&c->record, RECORD_FAILED, "%s", err.message);
        return 1;
    }
    if (c->device > 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    solver_check(group, c);
    return 1;
}

static void prepare_peer(solver_group *group, solver_case *c, const bench_peer *peer)
{
    const int threads = threads_of(group);
    const spry_peer_solver_request request = {.matrix = bench_peer_matrix(&group->arrays),
                                              .variant = peer->solver->variant,
                                              .threads = threads,
                                              .alpha = 0.85,
                                              .tolerance = group->tolerance,
                                              .max_iterations = group->limit};
    peer_preparation p = bench_begin_preparing(threads, peer->solver->deterministic);
    c->peer = peer->solver;
    p.result = c->peer->prepare(&c->peer_state, &request, &p.cost, &p.error);
    if (!bench_end_preparing(&p, &c->record, peer, c->peer->title, &c->peer_state, c->peer->destroy)) return;
    if (c->device > 0 && group->session->gpu_copy_gbps != 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    solver_check(group, c);
}

static int add_peer(solver_group *group, const bench_peer *peer)
{
    if (group->unsuited[0]) {
        if (!add_skipped(group, peer->format, peer->name, peer->device, group->unsuited)) return 0;
        group->cases[group->case_count - 1].record.method.peer = 1;
        return 1;
    }
    solver_case *c = add_case(group, peer->format, peer->name, peer->device);
    if (!c) return 0;
    c->record.method.peer = 1;
    if (!peer->solver)
        record_fail(&c->record, RECORD_SKIPPED, "%s", peer->reason);
    else
        prepare_peer(group, c, peer);
    return 1;
}

/* ---- which cases -------------------------------------------------------------------------------- */

/* A format on each wanted device that is there; one that is asked for by its name says why it is not there. */
static int add_format(solver_group *group, const char *format)
{
    static const char *const devices[] = {"cpu", "cuda"};
    int good = 1;
    for (int d = 0; d < 2 && good; d++)
        if (bench_device_fits(group->session, group->wanted, devices[d], 0))
            good = add_ours(group, format, NULL, devices[d]);
    return good;
}

/* Every kernel of the wanted devices, or those named, each as often as the list has it, with other parameters. */
static int add_kernels(solver_group *group)
{
    const bench_options *options = group->session->options;
    const text_list *named = &options->candidates.kernels;
    int good = 1;
    for (int k = 0; good && k < spry_kernel_count(); k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_kernel_get_info(group->session->context, &kernel, k, NULL) != SPRY_OK) continue;
        const int all = options->candidates.all_kernels;
        if (!bench_device_fits(group->session, group->wanted, kernel.device_kind, !all)) continue;
        for (int i = 0; good && i < (all ? 1 : named->count); i++) {
            const char *name = all ? kernel.name : named->items[i];
            if (!text_is_named(name, kernel.name)) continue;
            good = kernel.available ? add_ours(group, kernel.format, name, kernel.device_kind)
                                    : add_skipped(group, kernel.format, name, kernel.device_kind, kernel.reason);
        }
    }
    return good;
}

/* Ours come first: one that finds the matrix unsuited spares the peers. */
static int add_cases(solver_group *group)
{
    const bench_options *options = group->session->options;
    const bench_peers *peers = options->candidates.peers;
    int good = 1;
    for (int f = 0; f < options->candidates.formats.count && good; f++)
        good = add_format(group, options->candidates.formats.items[f]);
    if (good && (options->candidates.all_kernels || options->candidates.kernels.count > 0)) good = add_kernels(group);
    for (int p = 0; peers && p < peers->count && good; p++)
        if (bench_wants_peer(group->session, group->wanted, p)) good = add_peer(group, &peers->items[p]);
    if (good && group->case_count == 0)
        good = add_skipped(group, "", "", strcmp(group->wanted, "all") == 0 ? "" : group->wanted,
                           "no kernel of the chosen formats is there for the chosen device");
    return good;
}

spry_status bench_solvers(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *options = session->options;
    const char *name = subject->source->name;
    solver_group group;
    char text[320];
    snprintf(text, sizeof text, "%s: first solves, checked", name);
    options->receiver.progress(text);
    spry_status status = open_group(&group, session, subject, err);
    if (status == SPRY_OK) {
        const int good = add_cases(&group);
        snprintf(text, sizeof text, "%s %s: timing %d cases", name, group.common.input.type, group.case_count);
        options->receiver.progress(text);
        if (good && solver_measure(&group))
            status =
                bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.others, err);
        else
            status = bench_out_of_memory(err);
    }
    close_group(&group);
    return status;
}
