/* Which format "auto" takes for a matrix on a kind of device, which kernel of a format suits it, and why. */
#pragma once

#include "choose/rank.h"
#include "core/device.h"
#include "core/kernel.h"

typedef struct spryi_choice {
    const spryi_format *format;
    int64_t parameters[SPRYI_PARAMETERS]; /* of the format, as far as choosing found them out; 0: the format decides */
    const char *kernel;                   /* that suits, NULL: spryi_choose_kernel tells */
    double us, csr_us;                    /* of a product, and in csr, where they were estimated; else 0 */
    spry_reason code;
    char reason[320]; /* one sentence, for people */
} spryi_choice;

/* SPRY_UNKNOWN_NAME where there is no such policy; NULL is the default one. */
spry_status spryi_check_policy(const char *policy, spry_error *err);

/* The table of rates that counts for a device: the context's own of the class's name, else the library's. */
const spryi_device_class *spryi_class_of(const spryi_device *device);
/* Of a class by its name; NULL: there is none. */
/* 1: the policy "measure", which chooses as "cost" does where nothing is measured (plan/policy_measure.c). */
int spryi_is_measured(const char *policy);

/* A is sound; options is never NULL, its format "auto" or NULL, its vector_type one of x and y. */
spry_status spryi_choose_format(const spry_matrix *A, const spry_spmv_options *options, const spryi_device *device,
                                spryi_choice *choice, spry_error *err);

/*
 * 1: the transposed product of A is ranked as a product of A^T, and A^T, which csc makes in any case, may be made for
 * that; 0: csc or csr takes it, or it is no transposed product.
 */
int spryi_wants_transposed(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device);

/* A time in a reason: "13.7", "1563"; three digits or more, without a power of ten. */
typedef struct spryi_digits {
    char s[32];
} spryi_digits;
spryi_digits spryi_three_digits(double value);

/* Adds to a reason that the format holds A^T. */
void spryi_tell_transposed(char *reason, size_t size);

/* Products that set-up is counted over: those expected to follow each conversion. */
int64_t spryi_calls_counted(const spry_spmv_options *options);

/* The ranking for a plan with these options, whether a look pays or not. A has entries. */
spry_status spryi_rank_for(spryi_ranking *ranking, const spry_matrix *A, const spry_spmv_options *options,
                           const spryi_device_class *device, spry_error *err);

/*
 * 1: conversions may pay and a look of *effort at A does, so that there is a ranking; 0: what is taken is known
 * without.
 */
int spryi_may_look(spryi_effort *effort, const spry_matrix *A, const spry_spmv_options *options,
                   const spryi_device_class *device);

/* The format at a place of the ranking, with all but the reason. */
void spryi_choose_ranked(spryi_choice *choice, const spryi_ranking *ranking, int place);

/* spryi_choose_format for a class of devices, here or not. ranking: spryi_rank_for's; NULL: made where it is needed. */
spry_status spryi_choose_on(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device,
                            const spryi_ranking *ranking, spryi_choice *choice, spry_error *err);

/* Takes `format`, which never pads, in place of the format `refused`, which would take too much memory. */
void spryi_choose_instead(spryi_choice *choice, const char *format, const char *refused);
