/*
 * Reader of Matrix Market. Reads the banner and the sizes, then all entries with multiple threads, and builds CSR
 * (matrix/assemble.h). Entries of one row keep their file order when they are grouped. Rows are therefore sorted if the
 * file is sorted by column or by row, also if the file contains only one triangle. Files of SuiteSparse are sorted by
 * column, so their rows need no sorting.
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/decimal.h"
#include "io/fast_numbers.h"
#include "io/readers.h"
#include "matrix/assemble.h"
#include "spry/io.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- banner and sizes --------------------------------------------------------------------------- */

/* Reports a fault of `head` in the last line that was read. */
#define BAD_HEAD(...) spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines, __VA_ARGS__)

/*
 * Least number of bytes to read ahead in a feed. If the feed ends within these bytes, its size is known. The number of
 * threads that read the feed is then limited by its number of blocks.
 */
enum { READ_AHEAD_AT_LEAST = 2 * SPRYI_BLOCK_BYTES };

#define FIELDS "'real', 'double', 'integer', 'unsigned-integer' or 'pattern'"
#define BANNER "'%%%%MatrixMarket matrix coordinate real general'"

/* Returns the index of the name that equals w, or -1. names are in lower case and end with NULL. */
static int index_of(spryi_word w, const char *const *names)
{
    for (int k = 0; names[k]; k++) {
        size_t length = strlen(names[k]), c = 0;
        if ((size_t)(w.end - w.p) != length) continue;
        while (c < length && ((w.p[c] >= 'A' && w.p[c] <= 'Z') ? w.p[c] + 32 : w.p[c]) == names[k][c]) c++;
        if (c == length) return k;
    }
    return -1;
}

/* Reads a word of the banner as one of `names`. */
static spry_status read_choice(const spryi_mtx *head, const char **p, const char *end, const char *const *names,
                               const char *expected, int *choice, spry_error *err)
{
    spryi_word w = spryi_next_word(p, end);
    *choice = index_of(w, names);
    if (*choice >= 0) return SPRY_OK;
    return BAD_HEAD("expected %s in the banner, found %s", expected, spryi_show_word(w.p, w.end).text);
}

static spry_status check_banner(const spryi_mtx *head, int object, int field, int symmetry, spry_error *err)
{
    if (object != 0)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, head->name, head->lines,
                               "the file holds a vector; this library reads 'matrix' files only");
    if (field == 4)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, head->name, head->lines,
                               "complex matrices are not supported yet, expected " FIELDS);
    if (field == 3 && head->array)
        return BAD_HEAD("an array file has values, but its banner says 'pattern'; expected 'real' or 'integer'");
    if (field == 3 && symmetry == 2)
        return BAD_HEAD("a pattern has no signs, so it cannot be skew-symmetric; expected 'general' or "
                        "'symmetric'");
    return SPRY_OK;
}

/*
 * Returns whether a line looks like an edge: two or three numbers, or names and numbers separated by commas, semicolons
 * or tabs.
 */
static bool resembles_edge(const char *p, const char *end)
{
    int words = 0, letters = 0, dividers = 0;
    for (char before = ' '; p < end; before = *p++) {
        const int is_letter = (*p | 0x20) >= 'a' && (*p | 0x20) <= 'z';
        const int is_divider = *p == ',' || *p == ';' || *p == '\t';
        if (is_divider || spryi_is_blank(*p)) {
            dividers += is_divider;
            continue;
        }
        if (!is_letter && !strchr("0123456789.+-_\"", *p)) return 0;
        letters += is_letter && *p != 'e' && *p != 'E';
        words += spryi_is_blank(before) || before == ',' || before == ';';
    }
    return dividers > 0 || (letters == 0 && (words == 2 || words == 3));
}

/* Returns the advice that follows a message if the first line of text looks like an edge; else "". */
static const char *edges_advice(const char *p, const char *end)
{
    const char *line_end = end;
    for (; p < end; p = line_end + (line_end < end)) { /* skips comments */
        line_end = spryi_line_end(p, end);
        const char *word = p;
        const spryi_word first = spryi_next_word(&word, line_end);
        if (first.p < first.end && *first.p != '#') break;
    }
    if (!resembles_edge(p, line_end)) return "";
    return "; its lines look like those of an edge list, whose name ends in .txt, .csv, .tsv, .edges or .el, or "
           "which is read with input 'edges'";
}

/* Returns the advice that follows a message if the name is that of another kind of file; else "". */
static const char *name_advice(const char *name)
{
    const size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".npz") == 0)
        return "; the name ends in .npz, but the content is no zip archive of NumPy";
    if (length > 5 && strcmp(name + length - 5, ".spry") == 0)
        return "; the name ends in .spry, but the content is no container";
    return "";
}

/* Reads the banner. block_end: end of the loaded text, whose beginning identifies other kinds of files. */
static spry_status read_banner(spryi_mtx *head, const char *p, const char *end, const char *block_end, spry_error *err)
{
    const char *start = p;
    static const char *const objects[] = {"matrix", "vector", NULL};
    static const char *const layouts[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"real", "double", "integer", "pattern", "complex", "unsigned-integer", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};
    static const spryi_field meaning[] = {SPRYI_REAL,          SPRYI_REAL, SPRYI_INTEGER,
                                          SPRYI_FIELD_PATTERN, SPRYI_REAL, SPRYI_INTEGER};
    static const spry_symmetry kinds[] = {SPRY_GENERAL, SPRY_SYMMETRIC, SPRY_SKEW_SYMMETRIC, SPRY_SYMMETRIC};
    int object, field, symmetry;

    spryi_word w = spryi_first_word(&p, end);
    if (!spryi_is_banner(w)) {
        SPRYI_OK_OR_RETURN(spryi_refuse_foreign(head->name, start, block_end, err));
        const char *advice = name_advice(head->name);
        return BAD_HEAD("expected a banner such as " BANNER ", found %s%s", spryi_show_word(w.p, w.end).text,
                        advice[0] ? advice : edges_advice(start, block_end));
    }
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, objects, "'matrix'", &object, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, layouts, "'coordinate' or 'array'", &head->array, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, fields, FIELDS, &field, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, symmetries, "'general', 'symmetric', 'skew-symmetric' or 'hermitian'",
                                   &symmetry, err));
    w = spryi_next_word(&p, end);
    if (w.p < w.end) return BAD_HEAD("expected the end of the banner, found %s", spryi_show_word(w.p, w.end).text);
    SPRYI_OK_OR_RETURN(check_banner(head, object, field, symmetry, err));
    head->field_name = fields[field];
    head->symmetry_name = symmetries[symmetry];
    head->field = meaning[field];
    head->symmetry = kinds[symmetry];
    return SPRY_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------- */

static spry_status read_size(const spryi_mtx *head, const char **p, const char *end, const char *what, int64_t *size,
                             spry_error *err)
{
    spryi_word w = spryi_next_word(p, end);
    const char *digit = w.p + (w.p < w.end && *w.p == '+');
    int64_t value;
    int past;
    const char *stop = spryi_read_digits(digit, w.end, &value, &past);
    if (stop == digit || stop < w.end)
        return BAD_HEAD("expected the number of %s in the size line, found %s", what, spryi_show_word(w.p, w.end).text);
    if (past || value > INT64_MAX / 64)
        return BAD_HEAD("%s %s are more than indices can hold, which is %lld", spryi_show_word(w.p, w.end).text, what,
                        (long long)(INT64_MAX / 64));
    *size = value;
    return SPRY_OK;
}

/*
 * Sets head->entries to the number of values in an array file: all values, or for a symmetric or skew-symmetric matrix
 * those of the lower triangle. A skew-symmetric file omits the diagonal.
 */
static spry_status count_array(spryi_mtx *head, spry_error *err)
{
    int64_t m = head->m, n = head->n;
    int past;
    if (head->symmetry == SPRY_GENERAL) {
        past = __builtin_mul_overflow(m, n, &head->entries);
    } else {
        int64_t other = head->symmetry == SPRY_SYMMETRIC ? n + 1 : n - 1;
        past = __builtin_mul_overflow(n % 2 == 0 ? n / 2 : n, n % 2 == 0 ? other : other / 2, &head->entries);
    }
    if (!past && head->entries <= INT64_MAX / 64) return SPRY_OK;
    return BAD_HEAD("an array of %lld x %lld values is more than this file can contain", (long long)m, (long long)n);
}

static spry_status read_sizes(spryi_mtx *head, const char *p, const char *end, spry_error *err)
{
    SPRYI_OK_OR_RETURN(read_size(head, &p, end, "rows", &head->m, err));
    SPRYI_OK_OR_RETURN(read_size(head, &p, end, "columns", &head->n, err));
    if (!head->array) SPRYI_OK_OR_RETURN(read_size(head, &p, end, "entries", &head->entries, err));
    spryi_word w = spryi_next_word(&p, end);
    if (w.p < w.end)
        return BAD_HEAD("expected the end of the size line, which is '%s', found %s",
                        head->array ? "ROWS COLUMNS" : "ROWS COLUMNS ENTRIES", spryi_show_word(w.p, w.end).text);
    if (head->symmetry != SPRY_GENERAL && head->m != head->n)
        return BAD_HEAD("the banner says %s, but the matrix is not square: %lld rows, %lld columns",
                        head->symmetry == SPRY_SYMMETRIC ? "symmetric" : "skew-symmetric", (long long)head->m,
                        (long long)head->n);
    if (head->array) SPRYI_OK_OR_RETURN(count_array(head, err));
    if (head->entries > 0 && (head->m == 0 || head->n == 0))
        return BAD_HEAD("%lld entries in a matrix of %lld rows and %lld columns, expected 0", (long long)head->entries,
                        (long long)head->m, (long long)head->n);
    return SPRY_OK;
}

/*
 * Checks that the rest of the file can contain the entries. An entry is at least two one-digit indices and perhaps a
 * value, each followed by a character.
 */
static spry_status check_room(spryi_text *text, const spryi_mtx *head, spry_error *err)
{
    int64_t least = (head->array ? 0 : 4) + (head->field == SPRYI_FIELD_PATTERN ? 0 : 2);
    int64_t needed = head->entries * least; /* no overflow: entries are at most INT64_MAX / 64 */
    SPRYI_OK_OR_RETURN(spryi_text_read_ahead(text, needed > READ_AHEAD_AT_LEAST ? needed : READ_AHEAD_AT_LEAST, err));
    int64_t most = (spryi_text_most_left(text) + 1) / least; /* the last line may lack its newline */
    if (head->entries <= most) return SPRY_OK;
    return BAD_HEAD("the size line announces %lld entries, but the rest of the file has room for %lld at most",
                    (long long)head->entries, (long long)most);
}

/* Finds the size line, after comments and blank lines. */
static spry_status find_size_line(spryi_cursor *c, spryi_mtx *head, const char **start, const char **end,
                                  spry_error *err)
{
    for (;;) {
        SPRYI_OK_OR_RETURN(spryi_cursor_next(c, start, end, err));
        if (!*end)
            return spryi_fail_file(err, SPRY_BAD_FILE, head->name, c->line,
                                   "the file ends before its size line, expected '%s'",
                                   head->array ? "ROWS COLUMNS" : "ROWS COLUMNS ENTRIES");
        head->lines = c->line;
        const char *p = *start;
        spryi_word w = spryi_next_word(&p, *end);
        int comment = w.p < w.end && *w.p == '%';
        if (!comment && *end - *start > SPRYI_LINE_BYTES)
            return spryi_fail_file(err, SPRY_BAD_FILE, head->name, c->line,
                                   "the line has more than %d characters, the format allows 1024", SPRYI_LINE_BYTES);
        if (!comment && w.p < w.end) return SPRY_OK;
        head->aside += *end - *start + 1;
        SPRYI_OK_OR_RETURN(spryi_check_aside(c->text, head->aside, c->line, err));
    }
}

spry_status spryi_mtx_read_head(spryi_text *text, spryi_block *block, spryi_mtx *head, spry_error *err)
{
    const char *start, *end;
    spryi_cursor c = {text, block, NULL, 0};
    block->text = block->end = NULL;
    *head = (spryi_mtx){.name = text->name};

    SPRYI_OK_OR_RETURN(spryi_cursor_next(&c, &start, &end, err));
    if (!end) return spryi_fail_file(err, SPRY_BAD_FILE, text->name, 0, "the file is empty, expected " BANNER);
    head->lines = 1;
    SPRYI_OK_OR_RETURN(read_banner(head, start, end, block->end, err));
    SPRYI_OK_OR_RETURN(find_size_line(&c, head, &start, &end, err));
    SPRYI_OK_OR_RETURN(read_sizes(head, start, end, err));
    spryi_text_unread(text, block, c.p);
    return check_room(text, head, err);
}

/* ---- one line with checks ------------------------------------------------------------------------ */

/* Reads a word as an index from 1 to limit. Returns its end, or NULL with a fault. */
static const char *read_index(const char *p, const char *end, int64_t limit, const char *what, int64_t *index,
                              spryi_fault *fault)
{
    const spryi_word w = spryi_next_word(&p, end);
    const int shown = w.end - w.p > 40 ? 40 : (int)(w.end - w.p);
    const char sign = w.p == w.end ? '0' : w.p[0], *digits = w.p + (sign == '-' || sign == '+');
    int64_t value;
    int past;
    const char *stop = spryi_read_digits(digits, w.end, &value, &past);
    if (stop == digits || stop < w.end) {
        (void)spryi_bad_line(fault, "expected a %s index, found %s", what, spryi_show_word(w.p, w.end).text);
        return NULL;
    }
    if (sign == '-' || (value == 0 && !past)) {
        (void)spryi_bad_line(fault, "%s index %.*s is below 1, the first %s", what, shown, w.p, what);
        return NULL;
    }
    if (past || value > limit) {
        (void)spryi_bad_line(fault, "%s index %.*s is past the last %s %lld", what, shown, w.p, what, (long long)limit);
        return NULL;
    }
    *index = value - 1;
    return stop;
}

static const char *read_value(const spryi_mtx *head, const char *p, const char *end, spryi_entry *entry,
                              spryi_fault *fault)
{
    const spryi_word w = spryi_next_word(&p, end);
    spryi_decimal d;
    int integer = head->field == SPRYI_INTEGER;
    if (w.p == w.end || spryi_decimal_scan(w.p, w.end, &d) != w.end) {
        (void)spryi_bad_line(fault, "expected %s, found %s", integer ? "an integer" : "a number",
                             spryi_show_word(w.p, w.end).text);
        return NULL;
    }
    if (integer && !d.integer) {
        (void)spryi_bad_line(fault, "expected an integer, as the banner says, found %s",
                             spryi_show_word(w.p, w.end).text);
        return NULL;
    }
    entry->f64 = spryi_decimal_f64(&d);
    entry->f32 = spryi_decimal_f32(&d);
    return p;
}

static spryi_line read_line(const spryi_mtx *head, const char *p, const char *end, spryi_entry *entry,
                            spryi_fault *fault)
{
    const char *start = p;
    while (start < end && spryi_is_blank(*start)) start++;
    if (start < end && *start == '%') return SPRYI_LINE_EMPTY;
    if (end - p > SPRYI_LINE_BYTES)
        return spryi_bad_line(fault, "the line has more than %d characters, the format allows 1024", SPRYI_LINE_BYTES);
    if (start == end) return SPRYI_LINE_EMPTY;
    p = start;
    *entry = (spryi_entry){0};
    if (!head->array) {
        p = read_index(p, end, head->m, "row", &entry->i, fault);
        if (!p) return SPRYI_LINE_BAD;
        p = read_index(p, end, head->n, "column", &entry->j, fault);
        if (!p) return SPRYI_LINE_BAD;
    }
    if (head->field != SPRYI_FIELD_PATTERN) {
        p = read_value(head, p, end, entry, fault);
        if (!p) return SPRYI_LINE_BAD;
    }
    if (spryi_next_word(&(const char *){p}, end).p < end)
        return spryi_bad_line(fault, "expected the end of the line after the %s, found %s",
                              head->field == SPRYI_FIELD_PATTERN ? "column index" : "value",
                              spryi_show_word(p, end).text);
    if (!head->array && head->symmetry == SPRY_SKEW_SYMMETRIC && entry->i == entry->j && !(entry->f64 == 0))
        return spryi_bad_line(fault, "diagonal entry (%lld, %lld) is %g, but a skew-symmetric matrix has zeros there",
                              (long long)entry->i + 1, (long long)entry->j + 1, entry->f64);
    return SPRYI_LINE_ENTRY;
}

/* ---- all entries, by multiple threads ----------------------------------------------------------- */

/*
 * Each thread parses the next block of lines into arrays that remain in its cache. It waits until the position after
 * the previous block's entries is known, and copies its entries there. No pass counts lines first. The first block in
 * file order that has a fault reports it.
 *
 * Lines are read in three ways. Most files have lines "i j -d.ddde-dd" with single blanks and at most 63 characters. A
 * mask of the characters that are not digits divides such a line into words. The division is a few bit operations
 * without loops or branches that depend on the data, so the processor works on multiple lines at a time. fast_line
 * reads lines with more blanks or digits word by word, eight characters at a time. read_line reads all other lines and
 * finds faults.
 */
typedef struct parsed_block {
    void *rows, *cols, *values;
    int64_t count, lines;
    int64_t aside; /* bytes of comments and blank lines */
    spryi_entry_order order;
    int64_t at;      /* position of the block's first entry in the arrays of the file */
    const char *bad; /* start of the first bad line; NULL: none. count and lines exclude it */
} parsed_block;

/*
 * Reads the line at p as entry k. Returns the start of the next line, or NULL if the line has an unusual form. Loads up
 * to MASKED_BYTES + 16 bytes from p on, past the end of a short line.
 */
SPRYI_INLINE const char *masked_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                     const parsed_block *to, int64_t k)
{
    uint64_t mask = mask_of_words(p);
    unsigned end = 0;
    if (!array) {
        if (!mask) return NULL;
        unsigned i_end = FIRST(mask);
        mask = DROP_FIRST(mask);
        if (!mask) return NULL;
        unsigned j_end = FIRST(mask), j_count = j_end - i_end - 1;
        if (i_end - 1 > 7 || j_count - 1 > 7 || p[i_end] != ' ') return NULL;
        uint64_t i = one_to_eight_digits(p, i_end), j = one_to_eight_digits(p + i_end + 1, j_count);
        if (i - 1 >= (uint64_t)head->m || j - 1 >= (uint64_t)head->n) return NULL;
        if (i == j && head->symmetry == SPRY_SKEW_SYMMETRIC) return NULL; /* read_line checks that the value is 0 */
        store_index(to->rows, wide, k, i - 1);
        store_index(to->cols, wide, k, j - 1);
        end = j_end;
    }
    if (type != SPRY_PATTERN) {
        if (!array && p[end] != ' ') return NULL;
        end = masked_value(p, array, mask, head->field == SPRYI_INTEGER, type, to->values, k);
        if (end == 0) return NULL;
    }
    if (LIKELY(p[end] == '\n')) return p + end + 1;
    return p[end] == '\r' && p[end + 1] == '\n' ? p + end + 2 : NULL;
}

/*
 * Reads the line at p as entry k. Returns the start of the next line, or NULL if the line has an unusual form or a
 * fault.
 */
SPRYI_INLINE const char *fast_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                   const parsed_block *to, int64_t k)
{
    while (*p == ' ' || *p == '\t') p++;
    if (!array) {
        uint64_t i, j;
        p = fast_index(p, &i);
        if (!p || i - 1 >= (uint64_t)head->m) return NULL;
        p = fast_blanks(p);
        if (!p) return NULL;
        p = fast_index(p, &j);
        if (!p || j - 1 >= (uint64_t)head->n) return NULL;
        if (__builtin_expect(i == j && head->symmetry == SPRY_SKEW_SYMMETRIC, 0)) return NULL; /* must be zero */
        store_index(to->rows, wide, k, i - 1);
        store_index(to->cols, wide, k, j - 1);
        if (type != SPRY_PATTERN) {
            p = fast_blanks(p);
            if (!p) return NULL;
        }
    }
    if (type != SPRY_PATTERN) {
        p = fast_value(p, head->field == SPRYI_INTEGER, type, to->values, k);
        if (!p) return NULL;
    }
    if (__builtin_expect(*p != '\n', 0)) {
        while (spryi_is_blank(*p)) p++;
        if (*p != '\n') return NULL;
    }
    return p + 1;
}

static void store_entry(const spryi_entry *entry, int wide, int array, spry_type type, const parsed_block *to,
                        int64_t k)
{
    if (!array) {
        store_index(to->rows, wide, k, (uint64_t)entry->i);
        store_index(to->cols, wide, k, (uint64_t)entry->j);
    }
    if (type == SPRY_F64) ((double *)to->values)[k] = entry->f64;
    if (type == SPRY_F32) ((float *)to->values)[k] = entry->f32;
}

/* ---- a block ----------------------------------------------------------------------------------- */

SPRYI_INLINE void parse_as(const spryi_mtx *head, const spryi_block *block, int wide, int array, spry_type type,
                           parsed_block *to)
{
    const char *p = block->text;
    const char *masked_end = last_line_start(block, MASKED_BYTES + 16), *fast_end = last_line_start(block, 8);
    int64_t k = 0, others = 0, aside = 0;
    to->bad = NULL;
    while (p < block->end) {
        const char *next = LIKELY(p < masked_end) ? masked_line(head, p, wide, array, type, to, k) : NULL;
        if (!next && p < fast_end) next = fast_line(head, p, wide, array, type, to, k);
        if (LIKELY(next != NULL && next - p <= SPRYI_LINE_BYTES)) {
            p = next;
            k++;
            continue;
        }
        spryi_entry entry;
        const char *end = spryi_line_end(p, block->end);
        spryi_line kind = read_line(head, p, end, &entry, NULL);
        if (kind == SPRYI_LINE_BAD) {
            to->bad = p;
            break;
        }
        if (kind == SPRYI_LINE_ENTRY) {
            store_entry(&entry, wide, array, type, to, k);
            k++;
        } else {
            others++;
            aside += end - p + 1;
        }
        p = end < block->end ? end + 1 : end;
    }
    to->count = k;
    to->lines = k + others;
    to->aside = aside;
}

typedef struct job {
    spryi_text *text;
    const spryi_mtx *head;
    spryi_mtx_entries *entries;
    spry_type parsed_type; /* type of values in a block; f64 if values are only checked */
    /* used only by the thread whose block is the next in file order */
    int64_t count, lines, aside;
    int64_t last_i, last_j;
} job;

/* Parses a block into *parsed, whose arrays have space for the largest number of entries that a block can contain. */
static spry_status parse(const void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    const spryi_mtx *head = work->head;
    const spry_type type = head->field == SPRYI_FIELD_PATTERN ? SPRY_PATTERN : work->parsed_type;
    const int wide = work->entries->index_type == SPRY_I64;
    parsed_block *to = parsed;
    (void)err;
#define PARSE(tag, s, v, c, argument)                                                                                  \
    if ((int)type == (int)spryi_type_##s)                                                                              \
        head->array ? parse_as(head, block, 0, 1, (spry_type)spryi_type_##s, to)                                       \
        : wide      ? parse_as(head, block, 1, 0, (spry_type)spryi_type_##s, to)                                       \
                    : parse_as(head, block, 0, 0, (spry_type)spryi_type_##s, to);
    SPRYI_PLAIN_ROWS(PARSE, 0)
#undef PARSE
    if (type == SPRY_PATTERN)
        wide ? parse_as(head, block, 1, 0, SPRY_PATTERN, to) : parse_as(head, block, 0, 0, SPRY_PATTERN, to);
    if (head->array) return SPRY_OK;
    to->order = wide ? spryi_order_of(to->rows, to->cols, SPRY_I64, to->count)
                     : spryi_order_of(to->rows, to->cols, SPRY_I32, to->count);
    return SPRY_OK;
}

/* ---- appending in order ------------------------------------------------------------------------ */

static spry_status explain(const spryi_mtx *head, const char *p, const char *block_end, int64_t line, int surplus,
                           spry_error *err)
{
    const char *end = spryi_line_end(p, block_end);
    spryi_fault fault = {""};
    spryi_entry entry;
    if (surplus)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, line,
                               "expected the end of the file after %lld entries, found %s", (long long)head->entries,
                               spryi_show_word(p, end).text);
    (void)read_line(head, p, end, &entry, &fault);
    return spryi_fail_file(err, SPRY_BAD_FILE, head->name, line, "%s", fault.text);
}

/* Reports the first entry in excess: the entry after the `left` entries that the file may still have. */
static spry_status explain_surplus(const job *work, const spryi_block *block, int64_t left, spry_error *err)
{
    int64_t line = work->lines + 1;
    for (const char *p = block->text; p < block->end; line++) {
        const char *end = spryi_line_end(p, block->end);
        spryi_entry entry;
        spryi_line kind = read_line(work->head, p, end, &entry, NULL);
        if (kind != SPRYI_LINE_EMPTY && left-- == 0) return explain(work->head, p, block->end, line, 1, err);
        p = end < block->end ? end + 1 : end;
    }
    return spryi_fail(err, SPRY_INTERNAL, NULL, "surplus entry not found again");
}

static spry_status claim_range(void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    job *work = job_of_text;
    parsed_block *from = parsed;
    int64_t left = work->head->entries - work->count;
    if (from->count > left) return explain_surplus(work, block, left, err);
    if (from->bad)
        return explain(work->head, from->bad, block->end, work->lines + from->lines + 1, from->count == left, err);
    from->at = work->count;
    if (from->count > 0 && !work->head->array) {
        const spry_index_type type = work->entries->index_type;
        const int64_t i = spryi_index_at(from->rows, type, 0), j = spryi_index_at(from->cols, type, 0);
        spryi_order_join(&work->entries->order, &from->order, work->last_i, work->last_j, i, j);
        work->last_i = spryi_index_at(from->rows, type, from->count - 1);
        work->last_j = spryi_index_at(from->cols, type, from->count - 1);
    }
    work->count += from->count;
    work->lines += from->lines;
    work->aside += from->aside;
    return spryi_check_aside(work->text, work->aside, work->lines, err);
}

static void append(const void *job_of_text, const void *parsed)
{
    const spryi_mtx_entries *entries = ((const job *)job_of_text)->entries;
    const parsed_block *from = parsed;
    size_t index_bytes = spryi_index_type_bytes(entries->index_type),
           value_bytes = spry_type_bytes(entries->value_type);
    const size_t count = (size_t)from->count;
    if (count == 0) return;
    if (entries->rows) {
        memcpy((char *)entries->rows + (size_t)from->at * index_bytes, from->rows, count * index_bytes);
        memcpy((char *)entries->cols + (size_t)from->at * index_bytes, from->cols, count * index_bytes);
    }
    if (entries->values)
        memcpy((char *)entries->values + (size_t)from->at * value_bytes, from->values, count * value_bytes);
}

/* ---- the whole file --------------------------------------------------------------------------- */

static void release_parsed(spry_context *context, void *parsed)
{
    parsed_block *p = parsed;
    spryi_release(context, p->rows);
    spryi_release(context, p->cols);
    spryi_release(context, p->values);
}

static spry_status create_parsed(const void *job_of_text, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    parsed_block *p = parsed;
    spry_context *context = work->text->context;
    size_t index_bytes = spryi_index_type_bytes(work->entries->index_type);
    const spryi_mtx *head = work->head;
    int64_t least = (head->array ? 0 : 4) + (head->field == SPRYI_FIELD_PATTERN ? 0 : 2); /* bytes of a line */
    int64_t most = (1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES) / least + 1;
    if (!head->array) {
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &p->rows, most, index_bytes, "parsed rows", err));
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &p->cols, most, index_bytes, "parsed columns", err));
    }
    if (head->field == SPRYI_FIELD_PATTERN) return SPRY_OK;
    return spryi_allocate(context, &p->values, most, spry_type_bytes(work->parsed_type), "parsed values", err);
}

static spry_status allocate_entries(spry_context *context, const spryi_mtx *head, spryi_mtx_entries *e, spry_error *err)
{
    size_t index_bytes = spryi_index_type_bytes(e->index_type);
    if (!head->array) {
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->rows, e->count, index_bytes, "row indices of the file", err));
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->cols, e->count, index_bytes, "column indices of the file", err));
    }
    if (e->value_type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(
            spryi_allocate(context, &e->values, e->count, spry_type_bytes(e->value_type), "values of the file", err));
    return SPRY_OK;
}

void spryi_mtx_release(spry_context *context, spryi_mtx_entries *entries)
{
    spryi_release(context, entries->rows);
    spryi_release(context, entries->cols);
    spryi_release(context, entries->values);
    entries->rows = entries->cols = entries->values = NULL;
}

spry_status spryi_mtx_read_entries(spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                                   spry_type value_type, spryi_mtx_entries *entries, spry_error *err)
{
    static const spryi_readers readers = {sizeof(parsed_block), create_parsed, release_parsed, parse,
                                          claim_range,          append};
    spry_context *context = text->context;
    *entries = (spryi_mtx_entries){.index_type = index_type,
                                   .value_type = head->field == SPRYI_FIELD_PATTERN ? SPRY_PATTERN : value_type,
                                   .count = head->entries,
                                   .order = SPRYI_ALL_ORDERS};
    /* The values show which entries are zeros and must be dropped. */
    if (head->array && value_type == SPRY_PATTERN) entries->value_type = SPRY_F64;
    job work = {.text = text,
                .head = head,
                .entries = entries,
                .parsed_type = value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64,
                .lines = head->lines,
                .aside = head->aside,
                .last_i = -1,
                .last_j = -1};
    spry_status status = allocate_entries(context, head, entries, err);
    if (status == SPRY_OK) status = spryi_text_share(text, &readers, &work, err);
    if (status == SPRY_OK && work.count < head->entries)
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, work.lines, "the file ends after %lld of %lld entries",
                                 (long long)work.count, (long long)head->entries);
    if (work.lines == head->lines + work.count) entries->first_line = head->lines + 1;
    if (status != SPRY_OK) spryi_mtx_release(context, entries);
    return status;
}

/* ---- to CSR -------------------------------------------------------------------------------------- */

/* Converts the values of an array file to entries: removes zeros, and stores row and column of each other value. */
static spry_status index_array(spry_context *context, const spryi_mtx *head, spryi_mtx_entries *e, spry_error *err)
{
    int64_t kept = 0, k = 0;
    size_t index_bytes = spryi_index_type_bytes(e->index_type);
    for (int64_t v = 0; v < e->count; v++) kept += spryi_value_at(e->values, e->value_type, v) != 0;
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->rows, kept, index_bytes, "row indices of the array", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->cols, kept, index_bytes, "column indices of the array", err));
    kept = 0;
    for (int64_t j = 0; j < head->n && k < e->count; j++) {
        int64_t first = head->symmetry == SPRY_GENERAL ? 0 : head->symmetry == SPRY_SYMMETRIC ? j : j + 1;
        for (int64_t i = first; i < head->m; i++, k++) {
            double value = spryi_value_at(e->values, e->value_type, k);
            if (value == 0) continue;
            spryi_set_index(e->rows, e->index_type, kept, i);
            spryi_set_index(e->cols, e->index_type, kept, j);
            spryi_set_value(e->values, e->value_type, kept++, value);
        }
    }
    e->count = kept;
    e->order = (spryi_entry_order){0, 0, 1};
    return SPRY_OK;
}

static spry_known known(int holds)
{
    return holds ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
}

spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *e,
                             const spry_read_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed a = {0};
    spry_index_type offset_type = options->offset_type;
    const spry_type value_type = options->value_type;
    int64_t duplicates = 0;
    if (head->array) SPRYI_TRY(index_array(context, head, e, err));
    const spryi_entry_order order = e->order;
    if (value_type == SPRY_PATTERN) { /* values of an array file were needed only to find zeros */
        spryi_release(context, e->values);
        e->values = NULL;
        e->value_type = SPRY_PATTERN;
    }
    spryi_entries entries = {.majors = head->m,
                             .minors = head->n,
                             .nnz = e->count,
                             .index_type = e->index_type,
                             .value_type = e->value_type,
                             .major = e->rows,
                             .minor = e->cols,
                             .values = e->values,
                             .symmetry = head->symmetry,
                             .owned = 1,
                             .in_order = e->order.strict,
                             .local = 1};
    e->rows = e->cols = e->values = NULL;
    const int distinct = e->order.strict && head->symmetry == SPRY_GENERAL;
    SPRYI_TRY(spryi_group(context, &a, &entries, e->index_type, err));
    if (offset_type == SPRY_I32 && a.nnz > INT32_MAX)
        SPRYI_TRY(BAD_HEAD("%lld entries do not fit 32-bit offsets, which hold %d", (long long)a.nnz, INT32_MAX));
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &e->index_type, head->m, head->n, a.nnz, err));
    /* If the file has no values, each entry counts as 1, so the value of a position is its number of entries. */
    if (!distinct || value_type != a.value_type)
        SPRYI_TRY(spryi_merge(context, &a, value_type, options->drop_duplicates ? SPRYI_KEEP_FIRST : SPRYI_SUM_ALL,
                              &duplicates, err));
    const bool all_ones = value_type == SPRY_PATTERN && head->symmetry != SPRY_GENERAL;
    status = spryi_compressed_finish(context, A, &a, SPRY_CSR, offset_type, SPRY_KNOWN_YES,
                                     all_ones ? SPRY_SYMMETRIC : head->symmetry, head->field, err);
    if (status == SPRY_OK) {
        (*A)->symmetry_holds = true;
        (*A)->source.by_row = known(order.by_row);
        (*A)->source.by_column = known(order.by_column);
        (*A)->source.duplicates = known(duplicates > 0);
    }
done:
    spryi_mtx_release(context, e);
    spryi_compressed_clear(context, &a);
    return status;
}

/* ---- both triangles ------------------------------------------------------------------------------ */

/* Columns of the entries below the diagonal, row by row, sorted within each row. */
typedef struct lower {
    int64_t *offsets, *cols;
} lower;

static int64_t row_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->rows, e->index_type, k);
}

static int64_t col_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->cols, e->index_type, k);
}

/* Returns whether there are entries above and entries below the diagonal. Most files contain one triangle. */
static bool has_both_triangles(const spryi_mtx_entries *e)
{
    bool above = false, below = false;
    for (int64_t k = 0; k < e->count && !(above && below); k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        above |= i < j;
        below |= i > j;
    }
    return above && below;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static spry_status build_lower(spry_context *context, lower *l, int64_t m, const spryi_mtx_entries *e, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->offsets, m + 2, "offsets of a triangle", err));
    for (int64_t i = 0; i < m + 2; i++) l->offsets[i] = 0;
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->offsets[row_of(e, k) + 2]++;
    for (int64_t i = 0; i < m; i++) l->offsets[i + 2] += l->offsets[i + 1];
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->cols, l->offsets[m + 1], "columns of a triangle", err));
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->cols[l->offsets[row_of(e, k) + 1]++] = col_of(e, k);
    for (int64_t i = 0; i < m; i++) {
        const int64_t count = l->offsets[i + 1] - l->offsets[i];
        if (count > 1) qsort(l->cols + l->offsets[i], (size_t)count, sizeof *l->cols, by_size);
    }
    return SPRY_OK;
}

static bool is_in(const lower *l, int64_t i, int64_t j)
{
    const int64_t count = l->offsets[i + 1] - l->offsets[i];
    return count > 0 && bsearch(&j, l->cols + l->offsets[i], (size_t)count, sizeof j, by_size);
}

/*
 * Returns SPRY_BAD_FILE if the file of a symmetric, skew-symmetric or Hermitian matrix contains an entry and its mirror
 * image, since each entry stands for both.
 */
static spry_status check_triangles(spry_context *context, const spryi_mtx *head, const spryi_mtx_entries *e,
                                   spry_error *err)
{
    lower l = {0};
    spry_status status = SPRY_OK;
    if (!has_both_triangles(e)) return SPRY_OK;
    SPRYI_TRY(build_lower(context, &l, head->m, e, err));
    for (int64_t k = 0; k < e->count; k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        if (i >= j || !is_in(&l, j, i)) continue;
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, e->first_line > 0 ? e->first_line + k : 0,
                                 "entry (%lld, %lld) is the mirror image of entry (%lld, %lld), and each entry of a %s "
                                 "file stands for both; expected one triangle, or read with duplicates dropped "
                                 "(drop_duplicates)",
                                 (long long)i + 1, (long long)j + 1, (long long)j + 1, (long long)i + 1,
                                 head->symmetry_name);
        break;
    }
done:
    spryi_release(context, l.offsets);
    spryi_release(context, l.cols);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------- */

spry_status spryi_mtx_pick_index_type(const spryi_mtx *head, const spry_read_options *options, spry_index_type *type,
                                      spry_error *err)
{
    int64_t longer = head->m > head->n ? head->m : head->n;
    if (longer > INT32_MAX && (options->index_type == SPRY_I32 || options->offset_type == SPRY_I32))
        return BAD_HEAD("%lld rows or columns do not fit 32-bit indices, which hold %d", (long long)longer, INT32_MAX);
    spry_index_type offset_type = options->offset_type;
    *type = options->index_type;
    return spryi_pick_index_types(&offset_type, type, head->m, head->n, 0, err);
}

/* Checks the memory limit for the file's entries and the offsets, which are needed together, before allocation. */
static spry_status check_limit(const spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                               spry_type value_type, spry_error *err)
{
    const double entries = (head->symmetry == SPRY_GENERAL ? 1 : 2) * (double)head->entries;
    const int64_t indices = head->array ? 0 : 2 * (int64_t)spryi_index_type_bytes(index_type);
    const int64_t values = head->field == SPRYI_FIELD_PATTERN          ? 0
                           : value_type == SPRY_PATTERN && head->array ? (int64_t)sizeof(double)
                                                                       : (int64_t)spry_type_bytes(value_type);
    const int64_t enough = spryi_text_enough(text, entries, head->m, index_type);
    return spryi_note_needs(head->entries * (indices + values) + 8 * (head->m + 1), enough, "entries and offsets", err);
}

static void fill_source(const spryi_text *text, const spryi_mtx *head, spryi_source *source)
{
    source->kind = SPRYI_MATRIX_MARKET;
    source->field = head->field_name;
    source->symmetry = head->symmetry_name;
    source->packing = spryi_packing_name(text->packing);
    snprintf(source->layout, sizeof source->layout, "%s", head->array ? "array" : "coordinate");
    source->rows = head->m;
    source->cols = head->n;
    source->entries = head->entries;
}

spry_status spryi_mtx_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spryi_mtx head;
    spryi_mtx_entries entries;
    spryi_block block;
    spry_index_type index_type;
    spry_status status = spryi_block_create(text, &block, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(spryi_mtx_read_head(text, &block, &head, err));
    SPRYI_TRY(spryi_mtx_pick_index_type(&head, options, &index_type, err));
    spryi_block_destroy(text, &block);
    const spry_type read_as = spryi_read_as(options->value_type);
    SPRYI_TRY(check_limit(text, &head, index_type, read_as, err));
    SPRYI_TRY(spryi_mtx_read_entries(text, &head, index_type, read_as, &entries, err));
    if (head.symmetry != SPRY_GENERAL && !head.array && !options->drop_duplicates)
        status = check_triangles(text->context, &head, &entries, err);
    if (status != SPRY_OK) {
        spryi_mtx_release(text->context, &entries);
        goto done;
    }
    status = spryi_mtx_to_csr(text->context, A, &head, &entries, options, err);
    if (status == SPRY_OK) fill_source(text, &head, &(*A)->source);
    if (status == SPRY_OK) (*A)->index_base = 1;
done:
    spryi_block_destroy(text, &block);
    return status;
}
