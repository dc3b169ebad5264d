/*
 * Putting entries in order: the steps from any layout to sorted, compressed arrays. Reading, generating,
 * converting and the formats share them. All are parallel over the context's threads, and their result
 * does not depend on how many those are.
 *
 * "Major" is the index that offsets run over (rows of CSR, columns of CSC), "minor" the other one.
 */
#pragma once

#include "matrix/matrix.h"
#include "spry/spry.h"

/*
 * Compressed arrays while they are being made: 64-bit offsets whatever they become. All owned, by spryi_allocate.
 * On the way to COO, which has no offsets, majors without entries may be left out: labels then tells which are there.
 */
typedef struct spryi_compressed {
    int64_t majors, minors, nnz;
    spry_index_type index_type;
    spry_type value_type; /* SPRY_PATTERN: values is NULL */
    int64_t *offsets;     /* majors + 1 */
    void *indices, *values;
    int distinct;       /* 1: known to have no two entries at one position */
    int64_t *labels;    /* NULL: all; else majors of them, rising */
    int64_t all_majors; /* beside labels: of the matrix */
} spryi_compressed;

/* Entries in any order, as COO has them. Indices must be in range. */
typedef struct spryi_entries {
    int64_t majors, minors, nnz;
    spry_index_type index_type; /* of major and minor */
    spry_type value_type;
    const void *major, *minor, *values;
    spry_symmetry symmetry; /* not SPRY_GENERAL: an entry off the diagonal stands for its mirror image too */
    int owned;    /* 1: the arrays are blocks of spryi_allocate that spryi_group takes over or releases in any case */
    int in_order; /* 1: known to be sorted by major, then by minor, each position once */
    int local;    /* 1: entries that follow each other lie near each other mostly, as in files: one pass is faster */
} spryi_entries;

/* Threads worth starting for so many entries or rows: 1, or the context's. */
int spryi_threads(const spry_context *context, int64_t work);

/*
 * Threads of a product that reads a storage of so many bytes, where `asked` are asked for; 0: one for each
 * SPRYI_BYTES_A_THREAD, up to the context's.
 */
enum { SPRYI_BYTES_A_THREAD = 64 << 10 };
int spryi_threads_for(const spry_context *context, int64_t storage_bytes, int asked);

/* Allocates the arrays of *a, whose sizes and types are set; offsets that are there stay. */
spry_status spryi_compressed_allocate(spry_context *context, spryi_compressed *a, spry_error *err);

/* Releases the arrays and clears the struct; fine on a cleared one. */
void spryi_compressed_clear(spry_context *context, spryi_compressed *a);

/* *a as CSR whose arrays stay a's. */
spry_arrays spryi_compressed_view(const spryi_compressed *a);

/*
 * Gathers entries by major index and sorts each by minor index, entries at one position staying in stored
 * order, an image right behind its entry. Duplicates are kept. index_type is the result's and must hold majors and
 * minors. Cost: two passes over the entries, a copy of them as workspace; no comparison sort. Local entries take one
 * pass, and a counter for each major and thread. Entries that come major
 * by major are copied once, or not at all where they are owned and of the right index type.
 */
spry_status spryi_group(spry_context *context, spryi_compressed *to, spryi_entries *from, spry_index_type index_type,
                        spry_error *err);

/* Sorts each major's entries by minor index, stably. Looks first: sorted arrays cost one pass and no memory. */
spry_status spryi_sort(spry_context *context, spryi_compressed *a, spry_error *err);

/*
 * Sums the entries of sorted a at one position (in stored order, in f64, rounded once), or keeps the first. Changes
 * the value type. Entries of a pattern count as 1; a pattern as the result keeps positions. Returns early if nothing
 * changes. *duplicates (may be NULL) is the number of entries at the position of an earlier entry.
 */
typedef enum spryi_duplicates { SPRYI_SUM_ALL = 0, SPRYI_KEEP_ALL = 1, SPRYI_KEEP_FIRST = 2 } spryi_duplicates;
spry_status spryi_merge(spry_context *context, spryi_compressed *a, spry_type value_type, spryi_duplicates what,
                        int64_t *duplicates, spry_error *err);

/*
 * Copies A, CSR or CSC, or transposes it (then majors of the result are minors of A), or groups COO. Duplicates are
 * kept. One triangle gives both.
 * layout SPRY_COO groups by rows, for spryi_compressed_finish with SPRY_COO. If A has far more rows than entries and
 * no offsets, the result has labels instead of offsets for all rows, and memory grows with the entries.
 */
spry_status spryi_compress(spry_context *context, spryi_compressed *to, const spry_arrays *A, spry_layout layout,
                           spry_index_type index_type, spry_error *err);

/*
 * Makes the matrix: offsets narrowed to offset_type, or for SPRY_COO turned into row indices. Takes over a's
 * arrays (also on failure) and clears a. types must have been picked to hold the sizes.
 */
spry_status spryi_compressed_finish(spry_context *context, spry_matrix **A, spryi_compressed *a, spry_layout layout,
                                    spry_index_type offset_type, spry_known unique, spry_symmetry symmetry,
                                    spryi_field field, spry_error *err);

/* offsets[0 .. count] holds counts in 1 .. count: sums them up, offsets[0] becomes 0. */
void spryi_scan(int64_t *offsets, int64_t count);

/*
 * Bounds the bytes that are held while so many entries, which come in any order, become compressed rows: `lines` of
 * them, with duplicates summed and values converted. value_bytes is of the wider type.
 */
int64_t spryi_assembly_bytes(const spry_context *context, double entries, double lines, spry_index_type index_type,
                             size_t value_bytes);
