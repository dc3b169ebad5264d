/*
 * Internal functions that read files: they find lines and words of text (lines.c), hold entries in file order, and read
 * one kind of file each.
 */
#pragma once

#include "base/element.h"
#include "io/text.h"
#include "matrix/matrix.h"
#include "spry/io.h"

#include <stdbool.h>

/* ---- lines and words of text -------------------------------------------------------------------- */

/* Position in a text that is read line by line. When a block ends, the next block is loaded. */
typedef struct spryi_cursor {
    spryi_text *text;
    spryi_block *block;
    const char *p;
    int64_t line; /* number of the line that was read last */
} spryi_cursor;

/* Finds the next line. Sets *end to NULL if there is none. */
spry_status spryi_cursor_next(spryi_cursor *c, const char **start, const char **end, spry_error *err);

/* Returns the end of the line at p, before its newline. */
const char *spryi_line_end(const char *p, const char *end);

/*
 * Returns SPRY_BAD_FILE if the text is a feed (text.h) and `aside`, its bytes of comments and blank lines so far,
 * exceeds SPRYI_ASIDE_BYTES. A feed may never end.
 */
spry_status spryi_check_aside(const spryi_text *text, int64_t aside, int64_t line, spry_error *err);

static inline int spryi_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* A word of a line. p == end: no word. */
typedef struct spryi_word {
    const char *p, *end;
} spryi_word;

/* Returns the next word of p..end, within a line, and moves *p after it. */
static inline spryi_word spryi_next_word(const char **p, const char *end)
{
    while (*p < end && spryi_is_blank(**p)) (*p)++;
    spryi_word w = {*p, *p};
    while (w.end < end && !spryi_is_blank(*w.end)) w.end++;
    *p = w.end;
    return w;
}

/* Reads the digits at p as a number. Sets *past if the number exceeds INT64_MAX. Returns the end of the digits. */
static inline const char *spryi_read_digits(const char *p, const char *end, int64_t *value, int *past)
{
    *value = *past = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        *past |= __builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *p - '0', value);
    return p;
}

/*
 * A word as a message shows it: in quotes, shortened, with \xNN for bytes that are not printable. An empty word is
 * shown as "the end of the line".
 */
typedef struct spryi_shown {
    char text[64];
} spryi_shown;
spryi_shown spryi_show_word(const char *p, const char *end);

/* Returns the first word of a text, after a byte order mark if present, and moves *p after the word. */
spryi_word spryi_first_word(const char **p, const char *end);

/* Returns whether the word is "%%MatrixMarket", in upper or lower case. */
bool spryi_is_banner(spryi_word w);

/*
 * Writes a comment (may be NULL) as lines that begin with '%'. Lines have at most 1024 characters, the format's limit,
 * and are broken at blanks if possible. Returns the number of bytes. If `to` is NULL, only counts.
 */
size_t spryi_mtx_comment(char *to, const char *comment);

/* Result of reading one line of entries. */
typedef enum spryi_line { SPRYI_LINE_EMPTY, SPRYI_LINE_ENTRY, SPRYI_LINE_BAD } spryi_line;

typedef struct spryi_entry {
    int64_t i, j; /* indices, counted from 0 */
    double f64;
    float f32;
} spryi_entry;

typedef struct spryi_fault {
    char text[256];
} spryi_fault;

/* Writes the reason to fault, which may be NULL. Returns SPRYI_LINE_BAD. */
spryi_line spryi_bad_line(spryi_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- entries -------------------------------------------------------------------------------------- */

/* Order of the entries of a file, determined block by block. */
typedef struct spryi_entry_order {
    int strict;            /* sorted by row, then by column, each position once */
    int by_row, by_column; /* sorted by row then column, or by column then row; positions may repeat */
} spryi_entry_order;

#define SPRYI_ALL_ORDERS ((spryi_entry_order){1, 1, 1})

/* Updates *order for entry (i, j), which follows entry (before_i, before_j) in the file. */
SPRYI_INLINE void spryi_order_add(spryi_entry_order *order, int64_t before_i, int64_t before_j, int64_t i, int64_t j)
{
    order->strict &= (i > before_i) | ((i == before_i) & (j > before_j));
    order->by_row &= (i > before_i) | ((i == before_i) & (j >= before_j));
    order->by_column &= (j > before_j) | ((j == before_j) & (i >= before_i));
}

/* Returns the order of the `count` entries of a block. type is a constant after inlining. */
SPRYI_INLINE spryi_entry_order spryi_order_of(const void *rows, const void *cols, spry_index_type type, int64_t count)
{
    spryi_entry_order order = SPRYI_ALL_ORDERS;
    for (int64_t k = 1; k < count; k++)
        spryi_order_add(&order, spryi_index_at(rows, type, k - 1), spryi_index_at(cols, type, k - 1),
                        spryi_index_at(rows, type, k), spryi_index_at(cols, type, k));
    return order;
}

/*
 * Updates *all, the order of all entries before a block, with *block, the order of the entries in the block. (i, j) is
 * the first entry of the block, (before_i, before_j) the entry before it.
 */
static inline void spryi_order_join(spryi_entry_order *all, const spryi_entry_order *block, int64_t before_i,
                                    int64_t before_j, int64_t i, int64_t j)
{
    all->strict &= block->strict;
    all->by_row &= block->by_row;
    all->by_column &= block->by_column;
    spryi_order_add(all, before_i, before_j, i, j);
}

/* Head of a Matrix Market file, or the same facts about a file of another kind. */
typedef struct spryi_mtx {
    const char *name; /* name of the file in messages */
    int array;        /* the file lists all values column by column, without indices */
    spryi_field field;
    spry_symmetry symmetry;
    int64_t m, n;
    int64_t entries;                        /* number of entries in the file */
    int64_t lines;                          /* number of lines of the head */
    int64_t aside;                          /* bytes of comments and blank lines in the head */
    const char *field_name, *symmetry_name; /* as in the banner, in lower case */
} spryi_mtx;

/* Entries in file order, with indices from 0. */
typedef struct spryi_mtx_entries {
    spry_index_type index_type;
    spry_type value_type; /* SPRY_PATTERN: no values */
    int64_t count;
    int64_t first_line;         /* line of the first entry if every line after it has one entry, else 0 */
    void *rows, *cols, *values; /* rows and cols are NULL if the file is an array */
    spryi_entry_order order;
} spryi_mtx_entries;

void spryi_mtx_release(spry_context *context, spryi_mtx_entries *entries);

/*
 * Builds CSR from entries in any order: rows are sorted, duplicates are summed in file order, and a symmetric matrix
 * gets both halves. Takes over the entries, also on failure. options->value_type is the type of the matrix; entries
 * without values count as 1. If options->drop_duplicates is set, only the first entry at each position is kept.
 * (*A)->source records how the entries were ordered and whether there were duplicates. The result does not depend on
 * the number of threads.
 */
spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *entries,
                             const spry_read_options *options, spry_error *err);

/*
 * Returns the type in which values are read. Values of 16 bits are read as f64 and rounded once, after entries at one
 * position are summed.
 */
static inline spry_type spryi_read_as(spry_type value_type)
{
    return value_type != SPRY_PATTERN && spryi_value_slot(value_type) < 0 ? SPRY_F64 : value_type;
}

/*
 * Selects the index type of an m x n matrix by the options. Returns SPRY_BAD_FILE if the type cannot represent the
 * sizes.
 */
spry_status spryi_mtx_pick_index_type(const spryi_mtx *head, const spry_read_options *options, spry_index_type *type,
                                      spry_error *err);

/* ---- kinds of files ------------------------------------------------------------------------------- */

/* spry_source_info.kind */
#define SPRYI_MATRIX_MARKET "Matrix Market"
#define SPRYI_CONTAINER "container"
#define SPRYI_EDGE_LIST "edge list"
#define SPRYI_NPZ "SciPy npz"
#define SPRYI_GENERATED "generated"

/*
 * Reads the banner, comments and the size line. The text then continues with the first entry.
 *
 * In addition to the format, the reader of Matrix Market accepts what programs write: a UTF-8 byte order mark, CRLF,
 * blanks and tabs anywhere, comments of any length, comments and blank lines between entries, a sign before indices and
 * sizes, exponents with d, inf and nan, explicit zeros (which remain entries), and Hermitian matrices of a real field
 * (which are symmetric). An entry of a symmetric matrix above the diagonal also stands for its mirror image; a file
 * with both entries is refused. In an array, which is dense by columns, every value that is not zero becomes an entry.
 * A number that exceeds the largest value of the type becomes infinite.
 */
spry_status spryi_mtx_read_head(spryi_text *text, spryi_block *block, spryi_mtx *head, spry_error *err);

/*
 * Allocates and reads all entries. value_type SPRY_PATTERN: values are checked and dropped. Frees the entries on
 * failure.
 */
spry_status spryi_mtx_read_entries(spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                                   spry_type value_type, spryi_mtx_entries *entries, spry_error *err);
spry_status spryi_mtx_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);

/*
 * Sets *are to 1 if the text is a list of edges: `stated` is 1 or the name has an ending of edge lists, and the text
 * does not begin with the banner of Matrix Market. Does not consume text.
 */
spry_status spryi_edges_are(spryi_text *text, int stated, int *are, spry_error *err);
spry_status spryi_edges_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);

/* Reads SciPy's .npz, a zip archive. options->value_type must not be SPRY_TYPE_DEFAULT. */
spry_status spryi_npz_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);

/*
 * Recognises kinds of files that the library does not read, by their first bytes after decompression. Returns
 * SPRY_UNSUPPORTED with a message that names the kind and a remedy, or SPRY_OK if the kind is unknown.
 */
spry_status spryi_refuse_foreign(const char *name, const char *p, const char *end, spry_error *err);
