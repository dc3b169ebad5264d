/* The policy "measure": fingerprints of what is asked for, and trials of formats. */
#pragma once

#include "choose/choose.h"
#include "core/choices.h"
#include "plan/plan.h"

enum { SPRYI_MOST_TRIED = 4 };

/* What a trial found. */
typedef struct spryi_trial {
    int anew;  /* asked for: what is remembered does not count */
    int count; /* formats that were timed; 0: there was no trial */
    struct {
        const char *format, *kernel;
        double us, setup_us;
    } timed[SPRYI_MOST_TRIED];
    char note[160]; /* "" or what the reason of the plan is to tell besides */
} spryi_trial;

/* Of a plan with device, order and matrix: what its choice is found by; format, kernel, times and date are left 0. */
spry_status spryi_fingerprint(const spry_spmv_plan *plan, spry_choice_info *asked, spry_error *err);

/*
 * *plan, which has a device, order and matrix, is built in the format that is remembered or measured; it may be another
 * block then. *done = 0: there is nothing to measure, or what was remembered is refused, which the note tells: the plan
 * is as it was and to be made by cost.
 */
spry_status spryi_measure_plan(spry_spmv_plan **plan, const spry_spmv_options *options, spryi_trial *trial, int *done,
                               spry_error *err);

/* spry_spmv_plan_create, which tells of its trial where it made one. */
spry_status spryi_plan_create(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                              const spry_spmv_options *options, spryi_trial *trial, spry_error *err);

/* ---- plan.c -------------------------------------------------------------------------------------------- */

/* The plan in a format that was chosen: kernel, storage and all beside it. After a failure nothing of them is left. */
spry_status spryi_build_choice(spry_spmv_plan *plan, const spry_spmv_options *options, const spryi_choice *choice,
                               spry_error *err);

/* Lets go of what that has made. */
void spryi_discard_built(spry_spmv_plan *plan);
