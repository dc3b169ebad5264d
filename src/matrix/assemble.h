/*
 * Ordering of entries: the steps from any layout to sorted, compressed arrays. Readers, generators, conversions and
 * formats share the steps. All run on the context's threads, and results do not depend on the number of threads.
 *
 * "Major" is the index that offsets run over (rows of CSR, columns of CSC), "minor" the other index.
 */
#pragma once

#include "matrix/matrix.h"
#include "spry/spry.h"

/*
 * Compressed arrays under construction, with 64-bit offsets. All arrays are owned and come from spryi_allocate. If the
 * result is COO, which has no offsets, majors without entries may be omitted: labels then lists the majors with
 * entries.
 */
typedef struct spryi_compressed {
    int64_t majors, minors, nnz;
    spry_index_type index_type;
    spry_type value_type; /* SPRY_PATTERN: values is NULL */
    int64_t *offsets;     /* majors + 1 */
    void *indices, *values;
    bool distinct;      /* known to have at most one entry at each position */
    int64_t *labels;    /* majors that are not omitted, in rising order; NULL: none is omitted */
    int64_t all_majors; /* number of majors of the matrix, if labels is not NULL */
} spryi_compressed;

/* Entries in any order, as in COO. Indices must be in range. */
typedef struct spryi_entries {
    int64_t majors, minors, nnz;
    spry_index_type index_type; /* type of major and minor */
    spry_type value_type;
    const void *major, *minor, *values;
    spry_symmetry symmetry; /* if not SPRY_GENERAL, an entry off the diagonal also stands for its mirror image */
    bool owned;    /* arrays are from spryi_allocate; spryi_group takes over or releases them, also on failure */
    bool in_order; /* sorted by major, then by minor, without duplicates */
    bool local;    /* majors of consecutive entries are mostly close; grouping in one pass is faster */
} spryi_entries;

/* Returns the number of threads for `work` entries or rows: 1, or the context's. */
int spryi_threads(const spry_context *context, int64_t work);

/*
 * Returns the number of threads for a product that reads `storage_bytes`: `asked`, or if that is 0, one thread for each
 * SPRYI_BYTES_A_THREAD, up to the context's.
 */
enum { SPRYI_BYTES_A_THREAD = 64 << 10 };
int spryi_threads_for(const spry_context *context, int64_t storage_bytes, int asked);

/* Allocates the arrays of *a, whose sizes and types are set. Keeps existing offsets. */
spry_status spryi_compressed_allocate(spry_context *context, spryi_compressed *a, spry_error *err);

/* Releases the arrays and clears the struct, which may be clear already. */
void spryi_compressed_clear(spry_context *context, spryi_compressed *a);

/* Returns *a as CSR. *a keeps its arrays. */
spry_arrays spryi_compressed_view(const spryi_compressed *a);

/*
 * Groups entries by major index and sorts each group by minor index. Entries at one position keep their stored order,
 * and a mirror image directly follows its entry. Keeps duplicates. index_type is the type of the result's indices and
 * must represent majors and minors. Cost: two passes over the entries and a copy of them as workspace; no comparison
 * sort. If from->local is set, one pass suffices, with a counter per major and thread. Entries in the order of majors
 * are copied once, or not at all if they are owned and have the index type.
 */
spry_status spryi_group(spry_context *context, spryi_compressed *to, spryi_entries *from, spry_index_type index_type,
                        spry_error *err);

/* Sorts each major's entries by minor index, stably. Checks first: sorted arrays cost one pass and no memory. */
spry_status spryi_sort(spry_context *context, spryi_compressed *a, spry_error *err);

/*
 * Merges entries at one position of *a, which is sorted: sums them (in stored order, in f64, rounded once), or keeps
 * the first. Converts values to value_type. Entries of a pattern count as 1. If value_type is SPRY_PATTERN, keeps only
 * positions. Returns early if nothing changes. *duplicates (may be NULL): the number of entries at the position of an
 * earlier entry.
 */
typedef enum spryi_duplicates { SPRYI_SUM_ALL = 0, SPRYI_KEEP_ALL = 1, SPRYI_KEEP_FIRST = 2 } spryi_duplicates;
spry_status spryi_merge(spry_context *context, spryi_compressed *a, spry_type value_type, spryi_duplicates what,
                        int64_t *duplicates, spry_error *err);

/*
 * Stores the entries of A in *to: by columns if layout is SPRY_CSC, else by rows. Copies A if its majors are the same,
 * else groups the entries. Keeps duplicates. If A stores one triangle, *to has the entries of both.
 *
 * With layout SPRY_COO, *to is meant for spryi_compressed_finish. If A is not CSR and has far more rows than entries,
 * *to then has labels instead of offsets for all rows, and memory is proportional to the entries.
 */
spry_status spryi_compress(spry_context *context, spryi_compressed *to, const spry_arrays *A, spry_layout layout,
                           spry_index_type index_type, spry_error *err);

/*
 * Builds the matrix: narrows offsets to offset_type, or converts them to row indices for SPRY_COO. Takes over a's
 * arrays, also on failure, and clears a. The types must represent the sizes.
 */
spry_status spryi_compressed_finish(spry_context *context, spry_matrix **A, spryi_compressed *a, spry_layout layout,
                                    spry_index_type offset_type, spry_known unique, spry_symmetry symmetry,
                                    spryi_field field, spry_error *err);

/* Converts counts in offsets[1 .. count] to offsets, a prefix sum. Sets offsets[0] to 0. */
void spryi_scan(int64_t *offsets, int64_t count);

/*
 * Returns a bound on the bytes that are in use while `entries` entries, in any order, are converted to `lines`
 * compressed rows, with duplicates summed and values converted. value_bytes: size of the wider type.
 */
int64_t spryi_assembly_bytes(const spry_context *context, double entries, double lines, spry_index_type index_type,
                             size_t value_bytes);
