/*
 * Spry: reading and writing files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_IO_H
#define SPRY_IO_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ *
 * Reading and writing files
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_read_options {
    size_t struct_size;
    spry_type value_type;        /* default f64 (a pattern file's entries are 1.0); SPRY_PATTERN drops the values */
    spry_index_type offset_type; /* default: 32 bits where nnz allows, else 64 */
    spry_index_type index_type;  /* default: 32 bits where rows and columns allow, else 64 */
    /*
     * The most bytes that reading may hold at once, the matrix included, whatever the file claims or inflates to. 0: no
     * limit. Of a container only arrays that are created count, not the mapped file. The head of a file is read with up
     * to 1 MB, whatever the limit. A file that needs more is refused with SPRY_TOO_LARGE before the memory is
     * allocated. error.limit is then this limit. error.value is a limit that suffices, often several times the bytes
     * that reading will hold. For a pipe, and for an edge list whose node numbers have large gaps, error.value may be
     * too small: try again with the new one.
     */
    int64_t memory_limit_bytes;
    /* Of these three each is 0 or 1. Where a file is of another kind than they are for: SPRY_INVALID_ARGUMENT. */
    int index_base;      /* edge lists: the number of the first node, which becomes row and column 0 */
    int drop_duplicates; /* of entries at one position the first in the file counts; 0: their sum. Not of containers */
    int undirected;      /* edge lists: each edge is entered both ways, one from a node to itself once */
    /*
     * "edges": the file is an edge list, whatever its name; content of another kind is SPRY_INVALID_ARGUMENT. NULL: the
     * content shows the kind, and the ending of the name shows an edge list.
     */
    const char *input;
} spry_read_options;

/*
 * Reads a file with a matrix: Matrix Market, an edge list, SciPy's .npz or a container. What it is tells its content;
 * an edge list its name, see below. docs/files.md has an example of each.
 *
 * Matrix Market (.mtx) becomes an owned CSR matrix: sorted, duplicates summed, both halves of a symmetric file stored.
 * Values are rounded correctly to value_type, whatever the locale. Zeros of an array file are dropped. A value past the
 * type's range is read as infinity. Entries above the diagonal of a symmetric file are mirrored like those below. An
 * entry and its mirror image in one symmetric file are SPRY_BAD_FILE, unless drop_duplicates is 1. A skew-symmetric
 * file that is read as SPRY_PATTERN becomes a symmetric matrix. Complex files are SPRY_UNSUPPORTED. Whatever is wrong
 * in a file is SPRY_BAD_FILE with the line. A line has at most 65536 characters, a comment any number.
 *
 * Matrix Market and edge lists may be compressed by gzip, bzip2, xz or Zstandard, which the content tells. The last
 * three are read through libarchive, which is loaded at run time; SPRY_UNSUPPORTED if it is missing. The buffers of
 * libarchive do not count in memory_limit_bytes; for xz and Zstandard the file sets their size. Files of other
 * well-known kinds (Harwell-Boeing, tar, HDF5, MATLAB, ...) are SPRY_UNSUPPORTED with the kind and what to do.
 *
 * Pipes and devices are read as they come, so that endless input is refused at its first fault: the
 * banner, an entry too many, or more than 64 MB of comments and blank lines, which a file may have.
 *
 * An edge list is text whose name ends in .txt, .csv, .tsv, .edges or .el (and .gz, .bz2, .xz or .zst), and which is
 * none of the others. All lines have two columns or all have three: source, target and perhaps a weight, separated by
 * blanks, tabs, a comma or a semicolon. Fields may have double quotes. Numbers of nodes are whole, in any spelling (7,
 * 7.0, 7e0); the largest gives the number of rows and columns. A[source][target] becomes the weight, 1 if there is
 * none. Blank lines, and lines that begin with # or %, are skipped. The first other line may name the columns. If it
 * names source and target, in any order and case, the weight is the column named weight, if any, and other columns are
 * not read. If it does not name both, the columns are read in their order, and SPRY_BAD_FILE refuses a first column
 * without a name and a column named source, target or weight in another place. Repeated edges are summed as entries
 * are.
 *
 * A .npz of scipy.sparse.save_npz may be csr, csc, coo, bsr or dia, of real, integer or bool values, compressed or not.
 * It becomes CSR, too; zeros within blocks and diagonals are dropped. It is not read from pipes. Complex values are
 * SPRY_UNSUPPORTED, and all .npz files if the library was built without minizip.
 *
 * A container (.spry; recognised by its content) opens with the layout and types that it was written with; options
 * other than the default convert it. Entries are in the order written. The file is mapped, not copied, and does not
 * count in spry_context_bytes. It must not be changed in place or cut while the matrix lives. Checksums, offsets,
 * ranges and order are verified first, so that products are safe. SPRY_BAD_FILE if anything is wrong, or if the
 * container has a newer version. docs/container.md has the layout.
 *
 * A container in format bsr, ell, hyb, packed, scoo, sell or windowed (spry_write_options) appears as CSR. The CSR
 * arrays are built by the first call that reads entries. Plans in the container's format, which "auto" then chooses,
 * read the mapped file in place (spry_spmv_plan_info.from_file) with the container's parameters. Updates do not change
 * their values.
 *
 * Matrix Market: R. F. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_read(spry_context *context, spry_matrix **A, const char *path,
                                                      const spry_read_options *options, spry_error *err);

/*
 * The same of what a command line names: a path, "-" for standard input, or "gen:NAME[,key=value...]"
 * (spry_matrix_generate). Not for names from elsewhere: standard input can block, and generators make
 * what they are told to, within memory_limit_bytes.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_open(spry_context *context, spry_matrix **A, const char *source,
                                                      const spry_read_options *options, spry_error *err);

/*
 * The same of the `bytes` bytes of a file in memory; `name` stands for the file in messages, and tells an edge list by
 * its ending. Nothing of the bytes is kept.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_read_memory(spry_context *context, spry_matrix **A, const void *text,
                                                             size_t bytes, const char *name,
                                                             const spry_read_options *options, spry_error *err);

/*
 * What the file that A was read from said of itself, where A now is sorted, of other types and of another layout.
 * Matrices that are made of others, as by spry_matrix_convert, come from nowhere, as those of the caller's arrays.
 */
typedef struct spry_source_info {
    size_t struct_size;
    char kind[32];     /* "Matrix Market", "edge list", "SciPy npz", "container", "generated"; "": from nowhere */
    char layout[96];   /* "coordinate", "array"; "2 columns"; "csr", "coo", ...; a container's with its parameters */
    char field[32];    /* values as the file names them: "real", "integer", "pattern", "f32", "float64"; "": not told */
    char symmetry[32]; /* "general", "symmetric", "skew-symmetric", "hermitian"; "": not told */
    int gzip;          /* 1: the file is compressed by gzip */
    int64_t rows, columns;
    int64_t entries;       /* in the file: one triangle of a symmetric matrix, duplicates included */
    spry_known by_row;     /* the file has them by row, and by column within a row */
    spry_known by_column;  /* the reverse */
    spry_known duplicates; /* several entries at one position; of one triangle also an entry and its mirror image */
    int index_base;        /* spry_matrix_index_base(A), also for a matrix from nowhere */
    char packing[16];      /* "gzip", "bzip2", "xz", "Zstandard"; "": the file is not compressed */
} spry_source_info;

/* Numbers that the file does not tell are -1. */
SPRY_API spry_status spry_matrix_get_source(const spry_matrix *A, spry_source_info *info, spry_error *err);

typedef struct spry_write_options {
    size_t struct_size;
    int full;            /* 1: write both halves of a symmetric matrix; 0: its lower triangle */
    const char *comment; /* written after the banner, lines of 1024 characters at most behind "%"; NULL: none */
    /*
     * Containers: the format to store A in, with parameters if wanted: csr, csc, coo, bsr, ell, hyb, packed, scoo, sell
     * or windowed. NULL: A's own layout. The other formats are SPRY_UNSUPPORTED.
     */
    const char *format;
} spry_write_options;

/*
 * Returns the kind of file that spry_matrix_write writes under this name, a constant text: "Matrix Market" (.mtx, no
 * ending, "-"), "CSV" (.csv), "Matrix Market, gzip" and "CSV, gzip" (.gz behind the ending), or "container" (.spry).
 * Endings may be in capitals. Another ending is SPRY_INVALID_ARGUMENT, unless the path is that of a device or FIFO,
 * which gets Matrix Market.
 */
SPRY_API spry_status spry_output_kind(const char *path, const char **kind, spry_error *err);

/*
 * Writes a matrix to a file, in the kind that its name shows (spry_output_kind), or to standard output if path is "-".
 * Values are written with as many digits as bring back the same value. The file appears under its name only when
 * it is complete (nameless until then, or temporary beside it); a device or FIFO is written directly. options may be
 * NULL.
 *
 * Matrix Market: a matrix claimed symmetric that is not is SPRY_INVALID_MATRIX: its lower triangle would lose entries.
 *
 * CSV: the line "source,target,weight" ("source,target" of a pattern), then all entries, a line for each, with nodes in
 * the matrix's base (spry_matrix_index_base). The file does not have the sizes of A: empty rows and columns at the end
 * are lost. comment is SPRY_INVALID_ARGUMENT, full is ignored.
 *
 * A container: A as it is stored, all entries, or in options->format (for plans that read it in place). comment is
 * SPRY_INVALID_ARGUMENT, full is ignored.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_write(const spry_matrix *A, const char *path,
                                                       const spry_write_options *options, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Vectors
 * ------------------------------------------------------------------------------------------------ */

/*
 * Reads a Matrix Market file (compressed or not) of n x k entries, array or coordinate (entries left out are 0),
 * into a vector of k columns, one behind the other, as spry_vector_create makes one. Symmetric files are refused where
 * k > 1. type: SPRY_F32 or SPRY_F64 (default). Who expects one column looks at v->columns.
 * There is no limit of memory. The entries have to be in the file before anything is allocated for them; rows and
 * columns, of which a coordinate file may claim any number, take 4 or 8 bytes for each pair, asked for at once:
 * SPRY_OUT_OF_MEMORY, or SPRY_TOO_LARGE.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_vector_read(spry_context *context, spry_vector *v, const char *path,
                                                      spry_type type, spry_error *err);

/* The same, "-" being standard input. */
SPRY_API spry_status spry_vector_open(spry_context *context, spry_vector *v, const char *source, spry_type type,
                                      spry_error *err);

/*
 * Writes a vector's columns as a Matrix Market array of length x columns, in the way of spry_matrix_write. comment may
 * be NULL. If path ends in .csv, writes what spry_vector_write_table writes with "row", "value" and base 0; comment is
 * then SPRY_INVALID_ARGUMENT. Paths that end in .gz or .spry are SPRY_INVALID_ARGUMENT.
 */
SPRY_API spry_status spry_vector_write(spry_context *context, spry_const_vector v, const char *path,
                                       const char *comment, spry_error *err);

/*
 * Writes a vector as CSV, whatever the ending of path. The first line has the names `row` and `value`. Each other line
 * has the number of a row, counted from index_base (0 or 1), and its value. Of multiple columns the names get numbers:
 * value1, value2, ...
 */
SPRY_API spry_status spry_vector_write_table(spry_context *context, spry_const_vector v, const char *path,
                                             const char *row, const char *value, int index_base, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Generated matrices
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_generator_info {
    size_t struct_size;
    const char *name;        /* "grid7" */
    const char *parameters;  /* "x=140,y=140,z=140": the keys and their defaults */
    const char *description; /* one line */
} spry_generator_info;

/* Describes generator `index`, from 0. SPRY_UNKNOWN_NAME after the last. */
SPRY_MUST_CHECK SPRY_API spry_status spry_generator_get_info(spry_generator_info *info, int index, spry_error *err);

/*
 * spec is "NAME" or "NAME,key=value,...", with or without "gen:" before it. The same matrix on every machine.
 * Values are random, one drawn for each entry: "grid7" and the like are symmetric in pattern alone. Graphs ("road",
 * "rgg", "rmat", "uniform", "debruijn" and their presets) have the weights of links, above 0 and at most 1; others have
 * values from -0.5 to 0.5. Only "laplace5", "laplace7", "grid5a" and "grid7a" have the values of finite differences,
 * and are symmetric positive definite.
 */
SPRY_API spry_status spry_matrix_generate(spry_context *context, spry_matrix **A, const char *spec,
                                          const spry_read_options *options, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
