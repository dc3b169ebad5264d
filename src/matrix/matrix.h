#pragma once

#include "base/element.h"
#include "core/device.h"
#include "spry/study.h"

#ifndef __cplusplus /* CUDA sources use only the arrays of matrices */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#endif

/* Field of a Matrix Market banner, kept so that a written file has the field that was read. */
typedef enum spryi_field { SPRYI_REAL = 0, SPRYI_INTEGER = 1, SPRYI_FIELD_PATTERN = 2 } spryi_field;

/*
 * A matrix is reference counted. A plan that borrows arrays that the matrix owns keeps the matrix alive.
 * spry_matrix_check may set a.sorted and a.unique. spry_matrix_get_values may set a.symmetry to SPRY_GENERAL.
 * Everything else in `a` is fixed at creation.
 */
#ifndef __cplusplus
/*
 * Storage of a matrix in a format, from a container or from the caller's blocks. CSR is built when it is first needed.
 */
typedef struct spryi_stored {
    const struct spryi_format *format;
    void *storage;         /* the format's struct; the matrix's mapping or block contains its arrays */
    bool from_arrays;      /* the arrays are the caller's blocks, whose values may change */
    int64_t parameters[8]; /* parameters that the storage was built with; 0: none, or not known */
    char text[64];         /* parameters in text form */
    pthread_mutex_t making;
    spry_matrix *csr; /* NULL until first use */
} spryi_stored;

/* Source of a matrix, for spry_matrix_get_source. All zero: the matrix was not read. */
typedef struct spryi_source {
    const char *kind; /* one of the names in io/readers.h; NULL: none */
    const char *field, *symmetry;
    char layout[96];
    const char *packing;         /* spryi_packing_name; NULL: none */
    int64_t rows, cols, entries; /* -1: unknown */
    spry_known by_row, by_column, duplicates;
} spryi_source;

/*
 * A plan that spry_matrix_values_changed updates. The matrix does not own its dependents. A destroyed plan leaves the
 * list. A matrix that is freed before its plans empties the list.
 */
typedef struct spryi_dependent {
    struct spryi_dependent *next, **link; /* link: the pointer to this dependent; NULL: not in a list */
    const spry_matrix *matrix;
    int64_t change; /* spry_matrix.changes when the plan last took the values */
    spry_status (*update)(struct spryi_dependent *self, const spry_update_options *options, spry_error *err);
} spryi_dependent;

struct spry_matrix {
    spry_context *context;
    _Atomic int references;
    spry_arrays a;
    spryi_field field;
    int index_base;            /* 0 or 1: base of indices in messages; arrays count from 0 */
    bool symmetry_holds;       /* a.symmetry is true and remains true, since no other code can write the values */
    void *owned[4];            /* spryi_allocate blocks of a's arrays; NULL: borrowed */
    spry_matrix *structure_of; /* matrix that owns the arrays except the values; NULL: none */
    void *mapping;             /* mapping of the file that contains the arrays; NULL: none */
    size_t mapping_bytes;
    spryi_stored *stored; /* NULL: the matrix is a's arrays; else a has sizes and types, and its arrays are NULL */
    spryi_source source;
    spryi_row_summary row_summary; /* row lengths, if the arrays are on a device; valid if row_summary_state is 1 */
    _Atomic int row_summary_state; /* 0: row_summary is not set; 1: set; 2: a thread is writing row_summary */
    spryi_dependent *dependents;
    int64_t changes; /* calls of spry_matrix_values_changed */
};
#endif

/*
 * Creates a matrix that owns the arrays of *a, which come from spryi_allocate, or from the device's plug-in if they are
 * on a GPU. Releases the arrays after a failure. Sets a->ownership to SPRY_COPY. a must be valid; nothing is checked.
 */
spry_status spryi_matrix_adopt(spry_context *context, spry_matrix **A, const spry_arrays *a, spryi_field field,
                               spry_error *err);

/* Returns the sizes and types of CSR without arrays. */
spry_arrays spryi_types_of(int64_t rows, int64_t cols, int64_t nnz, int32_t value_type, int32_t offset_type,
                           int32_t index_type);

/*
 * Sets *csr to A as CSR with values of value_type: A itself, retained, if possible, else a conversion with all entries.
 */
spry_status spryi_matrix_as_csr(spry_context *context, spry_matrix **csr, const spry_matrix *A, spry_type value_type,
                                spry_error *err);

/* Creates a matrix with A's structure, which it keeps alive, and the caller's values. */
spry_status spryi_matrix_with_values(spry_matrix **made, const spry_matrix *A, const void *values, spry_error *err);

/*
 * Creates a matrix with A's structure, which it keeps alive, and the values of *a, which come from spryi_allocate and
 * which the matrix owns. *a differs from A's arrays only in the values and their type.
 */
spry_status spryi_matrix_with_own_values(spry_matrix **made, const spry_matrix *A, const spry_arrays *a,
                                         spry_error *err);

/* Sample of a matrix's values. count is 0 for less than 1 MiB: caches deliver these as fast as kernels widen values. */
enum { SPRYI_SAMPLE_BYTES = 4096 };
typedef struct spryi_value_sample {
    uint64_t values[SPRYI_SAMPLE_BYTES / 8]; /* bits of `count` values of `type` */
    spry_type type;
    int count, distinct; /* distinct: number of distinct values; for f32, count */
    int64_t bytes;       /* of all values of the matrix */
} spryi_value_sample;

/* Samples the values of *a, in the memory of `device` or, if NULL, of the host. If the device fails, count is 0. */
void spryi_sample_values(spryi_value_sample *sample, const spryi_device *device, const spry_arrays *a);

/*
 * Returns the preferred type that suits the sample and that kernels for the vectors' type read; 0 if there is none. A
 * floating-point type suits if the sample is exact in it, a table if the sample has few distinct values and the matrix
 * is large. Other values of the matrix may still not fit. with_tables: tables are permitted. previous: 0 for the first
 * choice, or the last result, to get the next choice.
 */
spry_type spryi_narrow_type(const spryi_value_sample *sample, spry_type vector_type, bool with_tables,
                            spry_type previous);

/* Narrows values to a floating-point type for which spryi_is_narrower is true. Returns false if a value changes. */
bool spryi_narrow_values(void *narrow, spry_type narrow_type, const void *wide, spry_type wide_type, int64_t count);

/* Returns whether `narrow` is a floating-point type in which exact values of the type `wide` may be stored. */
bool spryi_is_narrower(spry_type narrow, spry_type wide);

/*
 * Creates a matrix with A's structure, which it keeps alive, and its values in a narrower type. Sets *made to A itself,
 * retained, if `narrow` is 0 or a value would change. A is in host memory.
 */
spry_status spryi_matrix_narrowed(spry_context *context, spry_matrix **made, const spry_matrix *A, spry_type narrow,
                                  spry_error *err);

/* Creates a matrix without values that shares A's offsets and indices and keeps them alive. */
spry_status spryi_matrix_without_values(spry_matrix **pattern, const spry_matrix *A, spry_error *err);

/*
 * Starts a copy of a device array to host memory. Sets *array to the copy, or to NULL if the allocation fails. The
 * caller releases the copy. It is complete after a wait for the device's default stream.
 */
spry_status spryi_fetch_array(const spryi_device *device, const void **array, int64_t count, size_t size,
                              spry_error *err);

/*
 * Copies the offsets and indices of CSR or BSR to host memory and points *a to the copies, which the caller releases.
 * *a is unchanged after a failure.
 */
spry_status spryi_fetch_structure(const spryi_device *device, spry_arrays *a, spry_error *err);

/*
 * Summarizes the rows of a matrix on a device (summarize_rows of its operations). checked: also checks the arrays. The
 * matrix keeps the result, which later calls return if checked is 0.
 */
spry_status spryi_summarize_rows(spryi_row_summary *summary, const spry_matrix *A, int checked, spry_error *err);
/* Returns whether the matrix has a result of spryi_summarize_rows. */
bool spryi_rows_are_summarized(const spry_matrix *A);

/*
 * Converts A, CSR in host memory, to CSC with the same types and its own arrays. Entries of a column are in the order
 * of their rows; entries at one position keep the stored order. The arrays do not depend on the number of threads.
 */
spry_status spryi_csc_from_csr(spry_context *context, spry_matrix **csc, const spry_matrix *A, spry_error *err);

/*
 * Returns A^T as CSR of the same types. A is in host memory, of any layout. If A is CSC, the result shares A's arrays.
 */
spry_status spryi_transposed(spry_context *context, spry_matrix **T, const spry_matrix *A, spry_error *err);

/* Copies a matrix with CSR or BSR arrays in device memory to the host. */
spry_status spryi_matrix_fetch(const spryi_device *device, spry_matrix **host, const spry_matrix *A, spry_error *err);

/*
 * Copies CSR arrays from host memory to the device and points *a to the copies. The caller releases `copies`, which are
 * NULL on entry, also after a failure.
 */
spry_status spryi_copy_csr(const spryi_device *device, spry_arrays *a, void *copies[3], spry_error *err);

/* Creates a copy of A, CSR in host memory, in the device's memory. */
spry_status spryi_copy_to_device(const spryi_device *device, spry_matrix **copy, const spry_matrix *A, spry_error *err);

/* Returns a view of the transpose: the same arrays with another layout. */
spry_arrays spryi_transposed_view(const spry_arrays *a);

#ifndef __cplusplus
/* Adds a plan, whose update function is set, to the dependents of A. Removing accepts a plan that was not added. */
void spryi_add_dependent(const spry_matrix *A, spryi_dependent *plan);
void spryi_remove_dependent(spryi_dependent *plan);

/* Records that a plan has the present values of its matrix. */
void spryi_note_update(spryi_dependent *plan);

/*
 * Returns a matrix whose arrays contain all entries, retained: A itself if possible. A container's storage is converted
 * to CSR, which A keeps. One triangle is expanded to CSR of both triangles, and blocks to CSR of their elements, sorted
 * by column. Triangles and blocks are expanded on each call, since values may change. Every public function that reads
 * arrays calls this function once.
 */
spry_status spryi_matrix_entries(const spry_matrix *A, spry_matrix **entries, spry_error *err);

/* Returns a matrix in host memory whose arrays contain all entries, as spryi_matrix_entries does. */
spry_status spryi_matrix_host_entries(const spry_matrix *A, spry_matrix **entries, spry_error *err);

/*
 * Creates a matrix from a copy of *stored, whose format, storage, parameters and text are set. The matrix owns the
 * storage on success.
 */
spry_status spryi_matrix_of_storage(spry_context *context, spry_matrix **A, const spryi_stored *stored,
                                    spry_symmetry symmetry, spryi_field field, spry_error *err);

/*
 * Returns SPRY_INVALID_MATRIX if *a, which stores one triangle, has an entry in the other triangle. The message counts
 * rows and columns from `base`.
 */
spry_status spryi_check_triangle(const spry_context *context, const spry_arrays *a, int base, spry_error *err);

/* ---- symmetry ---- */

/* Rules to compare an entry a_ij with its mirror image a_ji. Entries at one position count as their sum. */
typedef struct spryi_symmetry_test {
    bool skew;        /* the image is -a_ji */
    bool positions;   /* an entry without a stored image is reported; otherwise a missing image counts as 0 */
    bool finite;      /* Inf and NaN differ from everything; otherwise NaN is the image of NaN */
    double tolerance; /* allowed difference, relative to max(|a_ij|, |a_ji|, sqrt(|a_ii a_jj|)) */
} spryi_symmetry_test;

/* An entry that differs from its image. The row is -1 if no entry differs. */
typedef struct spryi_unequal {
    int64_t row, column;
    double value, mirrored; /* a_ij and a_ji */
    bool stored;            /* a_ji is stored */
} spryi_unequal;

/* Finds the first entry, row by row, that differs from its image. A is square and in host memory. */
spry_status spryi_find_unequal(spryi_unequal *found, const spry_matrix *A, const spryi_symmetry_test *how,
                               spry_error *err);

/* Finds the first entry that contradicts the claim of symmetry. Constant time if the claim is known to hold. */
spry_status spryi_find_false_claim(spryi_unequal *found, const spry_matrix *A, spry_error *err);

/* Returns SPRY_INVALID_MATRIX if the claim of symmetry does not hold. */
spry_status spryi_check_symmetry(const spry_matrix *A, spry_error *err);
#endif

spry_matrix *spryi_matrix_retain(const spry_matrix *A);
void spryi_matrix_release(spry_matrix *A);

/*
 * Returns the number of row, column or entry i, counted from A->index_base. Messages with this number also say
 * "(counted from %d)".
 */
#ifndef __cplusplus
static inline long long spryi_in_base(const spry_matrix *A, int64_t i)
{
    return (long long)(i + A->index_base);
}
#endif

/*
 * Selects the function for the types of *a from a table that SPRYI_TABLE fills. For a pattern, the function of any
 * value type works.
 */
#define SPRYI_INSTANCE(table, a)                                                                                       \
    (table)[(a)->value_type == SPRY_PATTERN ? 0 : spryi_stored_row((a)->value_type)]                                   \
           [spryi_index_pair((a)->offset_type, (a)->index_type)]

/*
 * Returns the row of entry k of CSR, or the column for CSC. The result is within the matrix even if offsets are
 * invalid.
 */
int64_t spryi_major_of(const spry_arrays *a, int64_t k);

/*
 * Returns SPRY_INVALID_ARGUMENT if the requested type is invalid, "WHO: value_type is 9, expected ...". least:
 * SPRY_TYPE_DEFAULT if that is permitted, else SPRY_F32.
 */
spry_status spryi_check_value_type(const char *who, spry_type type, spry_type least, spry_error *err);
spry_status spryi_check_index_type(const char *who, const char *name, spry_index_type type, spry_error *err);

/* Returns the number of indices: blocks of BSR, entries in other layouts. */
static inline int64_t spryi_index_count(const spry_arrays *a)
{
    return a->layout == SPRY_BSR && a->block_size > 0 ? a->nnz / a->block_size / a->block_size : a->nnz;
}

/* Returns whether the arrays are compact: they store one triangle or blocks instead of a list of all entries. */
static inline bool spryi_is_compact(const spry_arrays *a)
{
    return a->triangle != SPRY_ALL_ENTRIES || a->layout == SPRY_BSR;
}

/* Returns the blocks of BSR as the entries of a pattern in CSR. */
spry_arrays spryi_block_pattern(const spry_arrays *bsr);

/* The arrays of a matrix. A missing array has 0 bytes. */
enum { SPRYI_VALUES, SPRYI_INDICES, SPRYI_ROW_INDICES, SPRYI_OFFSETS, SPRYI_ARRAYS };
typedef struct spryi_array {
    const void *data;
    int64_t bytes;
} spryi_array;
void spryi_list_arrays(spryi_array list[SPRYI_ARRAYS], const spry_arrays *a);

/* Returns the bytes of A's arrays. */
int64_t spryi_arrays_bytes(const spry_arrays *a);

/* Chooses the smallest valid index types for a shape. A type that is not DEFAULT is kept and checked for range. */
spry_status spryi_pick_index_types(spry_index_type *offset_type, spry_index_type *index_type, int64_t rows,
                                   int64_t cols, int64_t nnz, spry_error *err);

#ifndef __cplusplus
/* ---- orderings ---- */

/* The public handle, which reorder/reorder.c creates. */
struct spry_ordering {
    spry_context *context;
    const char *method;
    int64_t rows, cols, components;
    int64_t *perm;      /* perm[new row] is the old row; also the order of columns if the matrix is square */
    spry_groups groups; /* the ordering owns the arrays; NULL: no such level */
    double setup_us;
    atomic_int others; /* holders in addition to its creator; the last spry_ordering_destroy frees the ordering */
};

static inline spry_ordering *spryi_ordering_retain(const spry_ordering *ordering)
{
    spry_ordering *kept = (spry_ordering *)(uintptr_t)ordering;
    if (kept) atomic_fetch_add(&kept->others, 1);
    return kept;
}
#endif
