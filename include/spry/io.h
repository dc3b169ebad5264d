/*
 * Spry: files and generated matrices. docs/files.md has the kinds of files in detail, with examples.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPRY_IO_H
#define SPRY_IO_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spry_read_options {
    size_t struct_size;
    spry_type value_type;        /* default: f64; of containers theirs. SPRY_PATTERN drops the values */
    spry_index_type offset_type; /* default: the smallest that holds nnz */
    spry_index_type index_type;  /* default: the smallest that holds rows and columns */
    /*
     * Limit of memory while reading, the matrix included. SPRY_TOO_LARGE: error.value is a limit that suffices, except
     * for pipes and edge lists with large gaps between nodes. 0: no limit.
     */
    int64_t memory_limit_bytes;
    int index_base;       /* edge lists: number of the first node, 0 or 1 */
    bool drop_duplicates; /* uses the first entry at a position instead of the sum; not for containers */
    bool undirected;      /* edge lists: each edge is entered in both directions */
    const char *input;    /* "edges": an edge list; NULL: content and name decide */
} spry_read_options;

/*
 * Reads a matrix. An option of another kind of file is SPRY_INVALID_ARGUMENT.
 *
 * Matrix Market (.mtx): sorted CSR, duplicates summed, symmetric files expanded. Values are rounded to value_type.
 * Edge list (.txt .csv .tsv .edges .el): two or three columns: source, target, weight. A[source][target] = weight or 1.
 * Repeated edges are summed. The first line may have names. Comments begin with # or %.
 * SciPy (.npz): csr, csc, coo, bsr or dia; becomes CSR.
 * Container (.spry): mapped, unless options ask for other types. Must not be changed in place. A container in another
 * format appears as CSR, and plans of that format read it in place.
 *
 * Text may be compressed (gzip; with libarchive also bzip2, xz, Zstandard). All files are checked completely, so that
 * the matrix is safe to use. SPRY_UNSUPPORTED: complex values, other kinds of files.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_read(spry_context *context, spry_matrix **A, const char *path,
                                                      const spry_read_options *options, spry_error *err);

/* Reads a matrix from the content of a file in memory. name: as if the file had it. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_read_memory(spry_context *context, spry_matrix **A,
                                                             const void *content, size_t bytes, const char *name,
                                                             const spry_read_options *options, spry_error *err);

/* The file of a matrix. -1 and "": the file does not say. */
typedef struct spry_source_info {
    size_t struct_size;
    char kind[32];     /* "Matrix Market", "edge list", "SciPy npz", "container", "generated"; "" for arrays */
    char layout[96];   /* "coordinate", "array", "2 columns", "csr", ... */
    char field[32];    /* "real", "integer", "pattern", "f32", ... */
    char symmetry[32]; /* "general", "symmetric", "skew-symmetric", "hermitian" */
    char packing[16];  /* "gzip", ... */
    int64_t rows, columns;
    int64_t entries;      /* in the file, with duplicates */
    spry_known by_row;    /* entries are ordered by row, then column */
    spry_known by_column; /* entries are ordered by column, then row */
    spry_known duplicates;
    int index_base; /* 0 or 1: messages and containers count from it */
} spry_source_info;

SPRY_API spry_status spry_matrix_get_source(const spry_matrix *A, spry_source_info *info, spry_error *err);

/* Sets the index base of messages about A and of containers of A: 0 or 1. Exclusive use of A. */
SPRY_API spry_status spry_matrix_set_index_base(spry_matrix *A, int index_base, spry_error *err);

typedef struct spry_write_options {
    size_t struct_size;
    bool full;           /* Matrix Market: writes both triangles of a symmetric matrix */
    const char *comment; /* Matrix Market: lines after the banner; NULL: none */
    const char *format;  /* containers: "csr", "sell:c=16", "packed", ...; NULL: A's layout, csr for BSR */
    const char *row_name, *value_name; /* CSV of a vector: names of the columns; NULL: "row", "value" */
    int index_base;                    /* CSV of a vector: number of the first row, 0 or 1 */
} spry_write_options;

/*
 * Writes a matrix. The ending of path selects the kind: .mtx, none or "-" (standard output): Matrix Market; .csv: lines
 * "source,target,weight"; .spry: container. .gz after .mtx or .csv compresses. Reading restores all values. The file
 * appears when it is complete. SPRY_INVALID_ARGUMENT: another ending, or an option of another kind.
 * SPRY_INVALID_MATRIX: a false claim of symmetry.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_write(const spry_matrix *A, const char *path,
                                                       const spry_write_options *options, spry_error *err);

/*
 * Creates count vectors from a Matrix Market file with count columns. path "-" is standard input. type: SPRY_F32 or
 * SPRY_F64 (default).
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_vector_read(spry_context *context, spry_vector *v, const char *path,
                                                      spry_type type, spry_error *err);

/* Writes vectors in host memory. .csv: lines "row,value" or "row,value1,value2,..."; else Matrix Market. */
SPRY_MUST_CHECK SPRY_API spry_status spry_vector_write(spry_context *context, spry_const_vector v, const char *path,
                                                       const spry_write_options *options, spry_error *err);

/* ---- Generated matrices ---- */

typedef struct spry_generator_info {
    size_t struct_size;
    const char *name;        /* "grid7" */
    const char *parameters;  /* keys and defaults: "x=140,y=140,z=140" */
    const char *description; /* one line */
} spry_generator_info;

/* Lists the generators: index from 0. SPRY_UNKNOWN_NAME after the last. */
SPRY_MUST_CHECK SPRY_API spry_status spry_generator_get_info(spry_generator_info *info, int index, spry_error *err);

/*
 * Generates "NAME" or "NAME,key=value,...", the same matrix on every machine. Messages count from 1. Values are random:
 * (0, 1] for graphs, else -0.5 to 0.5. Only laplace5, laplace7, grid5a and grid7a are symmetric positive definite.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_generate(spry_context *context, spry_matrix **A, const char *spec,
                                                          const spry_read_options *options, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
