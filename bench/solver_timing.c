/* Times whole solves in turn. */
#include "bench/solver.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_TURNS = 3 }; /* of solves that take long */
static const double turn_us = 200000, most_us = 20e6;

int solver_run(solver_group *group, solver_case *c, solver_outcome *outcome)
{
    *outcome = (solver_outcome){0};
    if (!c->peer) return solver_run_ours(group, c, outcome);
    const processor_time before = read_processor_time();
    spry_peer_solution solution = {.us = -1};
    spry_peer_error error = {"no reason given"};
    const double start = now_us();
    const int result =
        c->peer->solve(c->peer_state, group->x, group->method == IN_CG ? group->b : NULL, &solution, &error);
    const double took = now_us() - start;
    if (result != SPRY_PEER_OK) return record_fail(&c->record, bench_status_of_peer(result), "%s", error.text);
    /* What this process did not work meanwhile, the peer's process may have. */
    if (solution.us >= 0) group->children += fmax(0, 1e-6 * took - (read_processor_time().own - before.own));
    *outcome = (solver_outcome){solution.iterations, solution.residual, solution.us >= 0 ? solution.us : took};
    return 1;
}

static int solves_of(const solver_group *group)
{
    return group->session->options->protocol.runs > 0 ? (int)group->session->options->protocol.runs
                                                      : SOLVER_TURNS * SOLVES_A_TURN;
}

/* Some solves; *total holds what all of them took. */
static void take_turn(solver_group *group, solver_case *c, int most, solver_outcome *last, double *total)
{
    double spent = 0;
    for (int s = 0; s < most && (s == 0 || spent < turn_us) && c->sample_count < solves_of(group); s++) {
        const double start = now_us();
        if (!solver_run(group, c, last)) return;
        if (last->iterations < 1) {
            record_fail(&c->record, RECORD_FAILED, "it told no iterations");
            return;
        }
        c->samples[c->sample_count++] = last->us / (double)last->iterations;
        spent += now_us() - start;
    }
    *total += spent;
}

/* Of an iteration: the operations of the product, its bytes as in other records, and those of the method's vectors. */
static void fill_record(const solver_group *group, solver_case *c)
{
    const spry_arrays *a = &group->arrays;
    const double row_numbers = group->method == IN_CG ? 9 : 4;
    double bytes = (2 + row_numbers) * (double)a->rows * (double)spry_type_bytes(group->type);
    for (int part = 0; part < (group->pattern ? 2 : 3); part++) bytes += (double)csr_part_bytes(a, part);
    c->record.time.runs = c->sample_count;
    bench_fill_times(&c->record, c->samples, c->sample_count, 2 * (double)a->nnz, bytes);
}

int solver_measure(solver_group *group)
{
    double *totals = calloc((size_t)group->case_count + 1, sizeof *totals);
    if (!totals) return 0;
    const processor_time before = read_processor_time();
    const int one_by_one = group->session->options->protocol.runs > 0;
    const int turns = one_by_one ? solves_of(group) : SOLVER_TURNS;
    int good = 1;
    group->children = 0;
    for (int i = 0; i < group->case_count && good; i++) {
        if (!is_live(&group->cases[i].record)) continue;
        group->cases[i].samples = malloc((size_t)solves_of(group) * sizeof(double));
        good = group->cases[i].samples != NULL;
    }
    for (int turn = 0; turn < turns && good; turn++)
        for (int i = 0; i < group->case_count; i++) {
            solver_case *c = &group->cases[i];
            solver_outcome last;
            if (!is_live(&c->record) || (turn >= FEWEST_TURNS && totals[i] > most_us)) continue;
            take_turn(group, c, one_by_one ? 1 : SOLVES_A_TURN, &last, &totals[i]);
            if (is_live(&c->record)) solver_recheck(group, c, &last);
        }
    for (int i = 0; i < group->case_count && good; i++)
        if (is_live(&group->cases[i].record)) fill_record(group, &group->cases[i]);
    group->others = others_since(before, group->children);
    free(totals);
    return good;
}
