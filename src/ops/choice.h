/* How ops asks which format to use. The answer comes from src/choose, through a pointer: ops knows no policy. */
#ifndef SPRYI_CHOICE_H
#define SPRYI_CHOICE_H

#include "core/kernel.h"

typedef struct spryi_choice {
    const spryi_format *format;
    int64_t parameters[SPRYI_PARAMETERS]; /* of the format, as far as choosing found them out; 0: the format decides */
    char reason[320];                     /* one sentence, for people */
} spryi_choice;

/* A is sound; options is never NULL and its format is "auto" or NULL. */
typedef spry_status (*spryi_choose_fn)(const spry_matrix *A, const spry_spmv_options *options, spryi_choice *choice,
                                       spry_error *err);

extern const spryi_choose_fn spryi_choose_spmv;

/*
 * The kernel of `format` on a kind of device ("cpu", "cuda") that suits A, in host memory, best, with the reason; NULL:
 * the last one listed. It may be one that cannot run here or lacks the product: the caller looks.
 */
typedef const char *(*spryi_choose_kernel_fn)(const spry_matrix *A, const spryi_format *format, const char *device,
                                              spry_op op);
extern const spryi_choose_kernel_fn spryi_choose_kernel;

/* For what the guard refuses: csr, which never pads. refused is the format's name. */
void spryi_choose_instead(spryi_choice *choice, const char *refused);

#endif
