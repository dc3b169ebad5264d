/* The format that "auto" chooses for a matrix and a kind of device, the kernel, and the reason. */
#pragma once

#include "choose/rank.h"
#include "core/device.h"
#include "core/kernel.h"

typedef struct spryi_choice {
    const spryi_format *format;
    int64_t parameters[SPRYI_PARAMETERS]; /* set by the choice for the format; 0: the format decides */
    const char *kernel;                   /* kernel that suits the matrix; NULL: not determined */
    double us, csr_us;                    /* predicted times of a product in the format and in csr; 0: not predicted */
    spry_reason code;
    char reason[320]; /* one sentence, for people */
} spryi_choice;

/* Returns SPRY_UNKNOWN_NAME if there is no such policy. NULL is the default policy. */
spry_status spryi_check_policy(const char *policy, spry_error *err);

/* Returns the rates of a device: the context's table for the device's class, else the library's. */
const spryi_device_class *spryi_class_of(const spryi_device *device);
/* Returns whether the policy is "measure". The policy chooses like "cost" if nothing is measured. */
bool spryi_is_measured(const char *policy);

/*
 * Chooses a format. A is valid. options is not NULL; its format is "auto" or NULL, and its vector_type is
 * a type of vectors.
 */
spry_status spryi_choose_format(const spry_matrix *A, const spry_spmv_options *options, const spryi_device *device,
                                spryi_choice *choice, spry_error *err);

/*
 * Returns true if the transposed product of A is ranked as a product of A^T. The plan may then build A^T, as csc always
 * does. Returns false if csc or csr is chosen without ranking, or if the product is not transposed.
 */
bool spryi_wants_transposed(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device);

/* A time in a reason: "13.7", "1563"; three digits or more, without an exponent. */
typedef struct spryi_digits {
    char s[32];
} spryi_digits;
spryi_digits spryi_three_digits(double value);

/* Appends the words that the plan builds A^T to `reason`. */
void spryi_write_transposed_reason(char *reason, size_t size);

/* Returns the number of products that are expected after each conversion. Rankings spread set-up over this number. */
int64_t spryi_calls_counted(const spry_spmv_options *options);

/* Ranks the formats for a plan with these options, even if an inspection does not pay. A has entries. */
spry_status spryi_rank_for(spryi_ranking *ranking, const spry_matrix *A, const spry_spmv_options *options,
                           const spryi_device_class *device, spry_error *err);

/*
 * Returns whether formats should be ranked, and sets *effort, the effort of the inspection. Returns false if there are
 * too few products for a conversion or no entries, or if an inspection takes too long. Also returns false if the
 * product is transposed and has a memory limit.
 */
bool spryi_may_inspect(spryi_effort *effort, const spry_matrix *A, const spry_spmv_options *options,
                       const spryi_device_class *device);

/*
 * Copies times, parameters and kernel of the estimate at position `place` of the ranking to the choice. Also sets the
 * format and a reason, unless the choice has a format.
 */
void spryi_choose_ranked(spryi_choice *choice, const spryi_ranking *ranking, int place);

/*
 * Like spryi_choose_format, for a class of devices, even if this machine has no such device. ranking: the result of
 * spryi_rank_for; NULL: this function ranks if needed.
 */
spry_status spryi_choose_on(const spry_matrix *A, const spry_spmv_options *options, const spryi_device_class *device,
                            const spryi_ranking *ranking, spryi_choice *choice, spry_error *err);

/* Chooses `format`, which never pads, instead of `refused`, which would need too much memory. */
void spryi_choose_instead(spryi_choice *choice, const char *format, const char *refused);
