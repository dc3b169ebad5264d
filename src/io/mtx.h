/*
 * Matrix Market text, inside the reader: the head of a file, one line of it taken apart with care (mtx_line.c),
 * and all its entries taken apart by threads (mtx_entries.c).
 *
 * Beyond the format's letter the reader accepts, since writers produce it: a UTF-8 byte order mark, CRLF, blanks
 * and tabs anywhere, comments of any length, comments and blank lines between entries, a sign before indices and
 * sizes, exponents with d, inf and nan, entries of a
 * symmetric matrix above the diagonal (each stands for its mirror image too; both of a pair are refused),
 * explicit zeros (which stay entries), Hermitian matrices of a real field (they are symmetric).
 * In an array, which is dense by columns, every value that is not zero becomes an entry.
 * A number past the largest is infinite, as rounding to nearest says.
 */
#pragma once

#include "io/entry_order.h"
#include "io/text.h"
#include "matrix/matrix.h"
#include "spry/io.h"

typedef struct spryi_mtx {
    const char *name; /* of the file, in messages */
    int array;        /* dense values by columns, no indices */
    spryi_field field;
    spry_symmetry symmetry;
    int64_t m, n;
    int64_t entries;                        /* in the file */
    int64_t lines;                          /* that the head takes */
    int64_t aside;                          /* bytes of its comments and blank lines */
    const char *field_name, *symmetry_name; /* as the banner has them, in lower case */
} spryi_mtx;

/* Lines one after the other, across blocks. */
typedef struct spryi_cursor {
    spryi_text *text;
    spryi_block *block;
    const char *p;
    int64_t line; /* number of the latest line */
} spryi_cursor;

/* The next line; *end == NULL: there is none. */
spry_status spryi_cursor_next(spryi_cursor *c, const char **start, const char **end, spry_error *err);

/* 1: the text begins with the format's banner, whatever else is wrong with it. */
int spryi_mtx_is_banner(const char *p, const char *end);

/*
 * SPRY_BAD_FILE where the text comes from a feed and more than SPRYI_ASIDE_BYTES bytes of it were comments and blank
 * lines: they may go on for ever.
 */
spry_status spryi_mtx_check_aside(const spryi_text *text, int64_t aside, int64_t line, spry_error *err);

/* Reads the banner, comments and the size line; text then stands before the first entry. */
spry_status spryi_mtx_read_head(spryi_text *text, spryi_block *block, spryi_mtx *head, spry_error *err);

/* ---- one line ---------------------------------------------------------------------------------- */

typedef enum spryi_line { SPRYI_LINE_EMPTY, SPRYI_LINE_ENTRY, SPRYI_LINE_BAD } spryi_line;

typedef struct spryi_entry {
    int64_t i, j; /* from 0 */
    double f64;
    float f32;
} spryi_entry;

typedef struct spryi_fault {
    char text[256];
} spryi_fault;

/* Takes the line p..end (without its newline) apart. fault may be NULL; it is set for a bad line. */
spryi_line spryi_mtx_line(const spryi_mtx *head, const char *p, const char *end, spryi_entry *entry,
                          spryi_fault *fault);

/* SPRYI_LINE_BAD, and what is wrong into fault, if there is one. */
spryi_line spryi_bad_line(spryi_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The word at p for a message: short, in quotes, nothing unprintable; "the end of the line" where there is none. */
typedef struct spryi_shown {
    char text[64];
} spryi_shown;
spryi_shown spryi_mtx_show(const char *p, const char *end);

static inline int spryi_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of p..end, which is within a line, and *p behind it; empty where there is none. */
typedef struct spryi_word {
    const char *p, *end;
} spryi_word;

static inline spryi_word spryi_next_word(const char **p, const char *end)
{
    while (*p < end && spryi_is_blank(**p)) (*p)++;
    spryi_word w = {*p, *p};
    while (w.end < end && !spryi_is_blank(*w.end)) w.end++;
    *p = w.end;
    return w;
}

/* The number that the digits at p spell; *past: it is larger than INT64_MAX. Returns behind the last digit. */
static inline const char *spryi_read_digits(const char *p, const char *end, int64_t *value, int *past)
{
    *value = *past = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        *past |= __builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *p - '0', value);
    return p;
}

/* The end of the line that p lies in, before its newline. */
const char *spryi_line_end(const char *p, const char *end);

/*
 * mtx_write.c: comment (may be NULL) as lines that begin with '%' and have at most 1024 characters, as the format
 * asks, broken at blanks where there are any. Returns the bytes; to NULL: only counts them.
 */
size_t spryi_mtx_comment(char *to, const char *comment);

/* ---- all entries ------------------------------------------------------------------------------- */

/* Entries in file order, indices from 0, in arrays made with spryi_allocate. */
typedef struct spryi_mtx_entries {
    spry_index_type index_type;
    spry_type value_type; /* SPRY_PATTERN: no values */
    int64_t count;
    int64_t first_line;         /* of the file's entries if each line behind it holds one, else 0 */
    void *rows, *cols, *values; /* array: rows and cols are NULL, values hold all of it */
    spryi_entry_order order;
} spryi_mtx_entries;

/* Allocates and fills; value_type SPRY_PATTERN checks values and drops them. On failure nothing is left. */
spry_status spryi_mtx_read_entries(spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                                   spry_type value_type, spryi_mtx_entries *entries, spry_error *err);

void spryi_mtx_release(spry_context *context, spryi_mtx_entries *entries);

/*
 * Entries in any order to CSR, with sorted rows, duplicates summed in file order and both halves of a
 * symmetric matrix. Takes the entries over, also on failure. options->value_type is that of the matrix: entries without
 * values count as 1. With options->drop_duplicates the first entry of a position is kept. The matrix's source gets the
 * order and the duplicates. The result does not depend on the number of threads.
 */
spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *entries,
                             const spry_read_options *options, spry_error *err);

/* The type that values are read as: 16-bit ones are rounded once, with all entries of a position. */
static inline spry_type spryi_read_as(spry_type value_type)
{
    return value_type != SPRY_PATTERN && spryi_value_slot(value_type) < 0 ? SPRY_F64 : value_type;
}

/* mtx_read.c: a whole file. */
spry_status spryi_mtx_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);

/* The type of the indices of an m x n matrix that options ask for; SPRY_BAD_FILE where it cannot hold them. */
spry_status spryi_mtx_pick_index_type(const spryi_mtx *head, const spry_read_options *options, spry_index_type *type,
                                      spry_error *err);
