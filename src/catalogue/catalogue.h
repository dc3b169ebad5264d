/*
 * The catalogue: every format and kernel that there is, of all families (families.h) and of devices. Whoever asks for
 * one by name, or goes over all of them, asks here.
 */
#pragma once

#include "core/device.h"
#include "core/kernel.h"
#include "matrix/matrix.h"

/* Ends the message about an unknown name, if this build lacks the studies: SPRYI_STUDIES_MISSING("kernels"). */
#ifdef SPRY_STUDIES
#define SPRYI_STUDIES_MISSING(what) ""
#else
#define SPRYI_STUDIES_MISSING(what) "; " what " of studies need a build with -DSPRY_STUDIES=ON"
#endif

/* Those numbered from 0 on; NULL past the last. */
const spryi_format *spryi_format_at(int index);
/* Within a format and device from slow to fast: the last that is available is the default. */
const spryi_kernel *spryi_kernel_at(int index);

/* Formats with an estimator, by index from 0; NULL past the last. The baseline, csr, is the first. */
const spryi_format *spryi_estimated_at(int index);
/* Returns the index of such a format; -1 if the format has no estimator. */
int spryi_estimated_index(const char *format);

const spryi_format *spryi_find_format(const char *name); /* NULL: no such */
const spryi_kernel *spryi_find_kernel(const char *name); /* parameters behind it do not count; NULL: no such */

/*
 * "NAME[:key=value...]" to a format and its parameters. SPRY_UNKNOWN_NAME or SPRY_INVALID_ARGUMENT name the fault and
 * the names that there are.
 */
spry_status spryi_parse_format(const spryi_format **format, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err);

enum { SPRYI_MOST_PARAMETER_TEXT = 90 };

/* The same of a kernel: "csr_vector_cuda:lanes=32", with at most SPRYI_MOST_PARAMETER_TEXT bytes behind its name. */
spry_status spryi_parse_kernel(const spryi_kernel **kernel, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err);

/* 1: `format` names what a container holds; parameters that it gives are the container's. */
int spryi_is_stored_as(const spryi_stored *stored, const char *format);

/* 1: patterns are stored in this format without values. */
int spryi_has_pattern_kernel(const spryi_format *format);

/* 1: the kernel has one of these operations, SPRYI_OP_ bits. */
int spryi_kernel_offers(const spryi_kernel *kernel, unsigned operations);

/* 1: the kernel has the operation, one SPRYI_OP_ bit of products with vectors, for a row of types (base/types.h). */
int spryi_kernel_takes(const spryi_kernel *kernel, unsigned operation, int row);

/* SPRY_UNSUPPORTED where no kernel of the format multiplies values that are stored as that type. */
spry_status spryi_check_stores(const spryi_format *format, spry_type stored, spry_error *err);

/* 1: a device of this context can run the kernel; otherwise 0, and *reason is a text that lives with the context. */
int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason);

/* Returns the generator of an index, from 0; NULL past the last. */
const struct spryi_generator *spryi_generator_at(int n);
