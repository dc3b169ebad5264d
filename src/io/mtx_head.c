/* Banner, comments and size line. */
#include "base/error.h"
#include "io/foreign.h"
#include "io/mtx.h"

#include <stdio.h>
#include <string.h>

/* A small input's end is looked for: it is then read by few threads. */
enum { LOOK_AT_LEAST = 2 * SPRYI_BLOCK_BYTES };

#define FIELDS "'real', 'double', 'integer', 'unsigned-integer' or 'pattern'"
#define BANNER "'%%%%MatrixMarket matrix coordinate real general'"

spry_status spryi_cursor_next(spryi_cursor *c, const char **start, const char **end, spry_error *err)
{
    *start = *end = NULL;
    while (c->p == c->block->end) {
        SPRYI_OK_OR_RETURN(spryi_text_next(c->text, c->block, err));
        c->p = c->block->text;
        if (c->block->finished) return SPRY_OK;
    }
    *start = c->p;
    *end = spryi_line_end(c->p, c->block->end);
    c->p = *end < c->block->end ? *end + 1 : *end;
    c->line++;
    return SPRY_OK;
}

/* names are in lower case and end with NULL. Returns which it is, -1 for none. */
static int which(spryi_word w, const char *const *names)
{
    for (int k = 0; names[k]; k++) {
        size_t length = strlen(names[k]), c = 0;
        if ((size_t)(w.end - w.p) != length) continue;
        while (c < length && ((w.p[c] >= 'A' && w.p[c] <= 'Z') ? w.p[c] + 32 : w.p[c]) == names[k][c]) c++;
        if (c == length) return k;
    }
    return -1;
}

/* A word of the banner, or what is wrong with it. */
static spry_status read_choice(const spryi_mtx *head, const char **p, const char *end, const char *const *names,
                               const char *expected, int *choice, spry_error *err)
{
    spryi_word w = spryi_next_word(p, end);
    *choice = which(w, names);
    if (*choice >= 0) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines, "expected %s in the banner, found %s", expected,
                           spryi_mtx_show(w.p, w.end).text);
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
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "an array file has values, but its banner says 'pattern'; expected 'real' or 'integer'");
    if (field == 3 && symmetry == 2)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "a pattern has no signs, so it cannot be skew-symmetric; expected 'general' or "
                               "'symmetric'");
    return SPRY_OK;
}

static const char *const banners[] = {"%%matrixmarket", NULL};

/* Behind a byte order mark, if there is one. */
static spryi_word first_word(const char **p, const char *end)
{
    if (end - *p >= 3 && memcmp(*p, "\xef\xbb\xbf", 3) == 0) *p += 3;
    return spryi_next_word(p, end);
}

int spryi_mtx_is_banner(const char *p, const char *end)
{
    end = spryi_line_end(p, end);
    return which(first_word(&p, end), banners) >= 0;
}

/* block_end: of what follows the line, which tells other kinds of files. */
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

    spryi_word w = first_word(&p, end);
    if (which(w, banners) < 0) {
        SPRYI_OK_OR_RETURN(spryi_refuse_foreign(head->name, start, block_end, err));
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "expected a banner such as " BANNER ", found %s%s", spryi_mtx_show(w.p, w.end).text,
                               spryi_edges_advice(start, block_end));
    }
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, objects, "'matrix'", &object, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, layouts, "'coordinate' or 'array'", &head->array, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, fields, FIELDS, &field, err));
    SPRYI_OK_OR_RETURN(read_choice(head, &p, end, symmetries, "'general', 'symmetric', 'skew-symmetric' or 'hermitian'",
                                   &symmetry, err));
    w = spryi_next_word(&p, end);
    if (w.p < w.end)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines, "expected the end of the banner, found %s",
                               spryi_mtx_show(w.p, w.end).text);
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
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "expected the number of %s in the size line, found %s", what,
                               spryi_mtx_show(w.p, w.end).text);
    if (past || value > INT64_MAX / 64)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "%s %s are more than indices can hold, which is %lld", spryi_mtx_show(w.p, w.end).text,
                               what, (long long)(INT64_MAX / 64));
    *size = value;
    return SPRY_OK;
}

/* Values of an array: all, or those of the lower triangle that its symmetry leaves free. */
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
    return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                           "an array of %lld x %lld values is more than this file can contain", (long long)m,
                           (long long)n);
}

static spry_status read_sizes(spryi_mtx *head, const char *p, const char *end, spry_error *err)
{
    SPRYI_OK_OR_RETURN(read_size(head, &p, end, "rows", &head->m, err));
    SPRYI_OK_OR_RETURN(read_size(head, &p, end, "columns", &head->n, err));
    if (!head->array) SPRYI_OK_OR_RETURN(read_size(head, &p, end, "entries", &head->entries, err));
    spryi_word w = spryi_next_word(&p, end);
    if (w.p < w.end)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "expected the end of the size line, which is '%s', found %s",
                               head->array ? "ROWS COLUMNS" : "ROWS COLUMNS ENTRIES", spryi_mtx_show(w.p, w.end).text);
    if (head->symmetry != SPRY_GENERAL && head->m != head->n)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "the banner says %s, but the matrix is not square: %lld rows, %lld columns",
                               head->symmetry == SPRY_SYMMETRIC ? "symmetric" : "skew-symmetric", (long long)head->m,
                               (long long)head->n);
    if (head->array) SPRYI_OK_OR_RETURN(count_array(head, err));
    if (head->entries > 0 && (head->m == 0 || head->n == 0))
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "%lld entries in a matrix of %lld rows and %lld columns, expected 0",
                               (long long)head->entries, (long long)head->m, (long long)head->n);
    return SPRY_OK;
}

/* An entry is at least two one-digit indices and perhaps a value, each with a character behind it. */
static spry_status check_room(spryi_text *text, const spryi_mtx *head, spry_error *err)
{
    int64_t least = (head->array ? 0 : 4) + (head->field == SPRYI_FIELD_PATTERN ? 0 : 2);
    int64_t needed = head->entries * least; /* entries are at most INT64_MAX / 64 */
    SPRYI_OK_OR_RETURN(spryi_text_look_ahead(text, needed > LOOK_AT_LEAST ? needed : LOOK_AT_LEAST, err));
    int64_t most = (spryi_text_most_left(text) + 1) / least; /* the last line may lack its newline */
    if (head->entries <= most) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                           "the size line announces %lld entries, but the rest of the file has room for %lld at most",
                           (long long)head->entries, (long long)most);
}

spry_status spryi_mtx_check_aside(const spryi_text *text, int64_t aside, int64_t line, spry_error *err)
{
    if (text->feed.fd < 0 || aside <= SPRYI_ASIDE_BYTES) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, text->name, line,
                           "comments and blank lines take more than %d MB, the limit in a pipe",
                           SPRYI_ASIDE_BYTES >> 20);
}

/* The size line, behind comments and blank lines. */
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
        SPRYI_OK_OR_RETURN(spryi_mtx_check_aside(c->text, head->aside, c->line, err));
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
