/* Common steps of operations on matrices in device memory. */
#pragma once

#include "matrix/operation.h"

enum { SPRYI_LISTS = 3 };

/* An operation on a device and its result. */
typedef struct spryi_device_result {
    spry_context *context;
    const spryi_device *device;
    const spryi_matrix_functions *functions;
    spry_matrix *entries[2]; /* operands whose arrays list all entries; the second may be NULL */
    spry_arrays made;        /* spryi_begin_on_device sets its types; the operation sets sizes and device arrays */
    spry_symmetry symmetry;  /* symmetry of the result, unless rounded sums of duplicates break it */
    bool rises;              /* columns of the result increase in every row */
    spry_arrays sorted[2];   /* sorted copies of operands */
    void *list[SPRYI_LISTS]; /* uploaded lists */
    int lists;
} spryi_device_result;

/*
 * Sets *device to the device whose memory contains A. Fails if the device has no operations on matrices, or if A has
 * 64-bit indices.
 */
spry_status spryi_operand_device(const spryi_device **device, const spry_context *context, const char *who,
                                 const spry_matrix *A, spry_error *err);

/*
 * Begins the operation `who` on A: checks the options, whose value type must be `value_type`, waits for the stream, and
 * sets result->entries[0] to A with all entries. If the call succeeds, the caller must call spryi_end_on_device, which
 * releases all that *B does not own.
 */
spry_status spryi_begin_on_device(spryi_device_result *result, spry_context *context, const char *who,
                                  const spry_matrix *A, const spry_matrix_options *o, spry_type value_type,
                                  spry_error *err);
void spryi_end_on_device(spryi_device_result *result);

/* Copies a list from the host to *on_device, which is NULL if the list is NULL. */
spry_status spryi_upload_list(spryi_device_result *result, const int64_t **on_device, const int64_t *list,
                              int64_t count, spry_error *err);

/* Sets *rows to A with sorted rows: A's arrays, or a sorted copy. Keeps duplicates. *repeats: A has duplicates. */
spry_status spryi_sorted_on_device(spryi_device_result *result, spry_arrays *rows, bool *repeats, const spry_matrix *A,
                                   spry_error *err);

/*
 * Sets *rows to A with columns that increase in every row: A's arrays, or a copy in result->sorted[slot]. The copy has
 * the sums of duplicates in the value type of the result.
 */
spry_status spryi_rising_on_device(spryi_device_result *result, int slot, spry_arrays *rows, bool *repeats,
                                   const spry_matrix *A, spry_error *err);

/* Creates *B from result->made. Sorts the rows if necessary, and sums duplicates unless o->keep_duplicates is set. */
spry_status spryi_deliver_from_device(spryi_device_result *result, spry_matrix **B, const spry_matrix *A,
                                      const spry_matrix_options *o, spry_error *err);
