/* Which format "auto" takes for a matrix on a kind of device, which kernel of a format suits it, and why. */
#ifndef SPRYI_CHOOSE_H
#define SPRYI_CHOOSE_H

#include "core/device.h"
#include "core/kernel.h"

typedef struct spryi_choice {
    const spryi_format *format;
    int64_t parameters[SPRYI_PARAMETERS]; /* of the format, as far as choosing found them out; 0: the format decides */
    const char *kernel;                   /* that suits, NULL: spryi_choose_kernel tells */
    spry_reason code;
    char reason[320]; /* one sentence, for people */
} spryi_choice;

/* A is sound; options is never NULL, its format "auto" or NULL, its vector_type one of x and y. */
spry_status spryi_choose_format(const spry_matrix *A, const spry_spmv_options *options, const spryi_driver *device,
                                spryi_choice *choice, spry_error *err);

/*
 * The kernel of `format` on a kind of device that suits A best; NULL: the last one listed. It may be one that cannot
 * run here or lacks the product: the caller looks.
 */
const char *spryi_choose_kernel(const spry_matrix *A, const spryi_format *format, const spryi_driver *device,
                                spry_op op);

/* csr, which never pads, for a format that the guard refuses; `refused` is its name. */
void spryi_choose_instead(spryi_choice *choice, const char *refused);

#endif
