/*
 * Lists of edges: lines of two or three columns, "source target" or "source target weight". All lines have the same
 * columns. Blanks, tabs, a comma or a semicolon separate columns. Lines that begin with # or % and blank lines are
 * skipped. The first line that is not skipped may name the columns. If it names source and target, columns are found by
 * name, in any order, and columns with other names are not read.
 *
 * Threads parse blocks of lines, which are joined in file order, as mtx_read.c reads a file. The numbers of edges and
 * nodes are unknown until the file ends. Until then, the edges of each block are kept in arrays of their own.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/decimal.h"
#include "io/fast_numbers.h"
#include "io/readers.h"
#include "matrix/assemble.h"
#include "spry/io.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct edge_list {
    const char *name; /* name of the file in messages */
    int64_t base;     /* number of the first node */
    bool weighted;    /* lines have a third column */
    int64_t lines;    /* number of lines of the head */
    int64_t aside;    /* bytes of comments and blank lines in the head */
    /*
     * columns: number of columns in a line, if columns are found by name. 0: source, target and perhaps weight, in this
     * order.
     */
    int columns, places[3]; /* places of source, target and weight, from 0; -1: none */
    char divider;           /* character between columns; 0: a blank, a comma or a semicolon */
    int64_t names_line;     /* the line with the names */
    char others[36];        /* names of columns that are not read */
} edge_list;

/* The largest number that a node may have, if nodes are counted from 0. */
#define LARGEST_NODE (INT64_MAX / 64 - 1)

static inline int is_divider(char c)
{
    return c == ',' || c == ';';
}

/* Reports a fault in line `line` of the file; 0: in the whole file. */
#define BAD_EDGES(line, ...) spryi_fail_file(err, SPRY_BAD_FILE, edges->name, line, __VA_ARGS__)

#define WHOLE "names of nodes are expected to be whole numbers"

/* ---- words ------------------------------------------------------------------------------------- */

/* Returns whether c ends a field: the divider, or, if divider is 0, a blank, a comma or a semicolon. */
static int ends_field(char c, char divider)
{
    return divider ? c == divider : spryi_is_blank(c) || is_divider(c);
}

static const char *skip_blanks(const char *p, const char *end, char divider)
{
    while (p < end && spryi_is_blank(*p) && *p != divider) p++;
    return p;
}

static spryi_word trim(spryi_word w)
{
    while (w.p < w.end && spryi_is_blank(*w.p)) w.p++;
    while (w.p < w.end && spryi_is_blank(w.end[-1])) w.end--;
    return w;
}

/*
 * Sets *w to the text within the quotes at p and returns the end of the field. Returns NULL if there is no closing
 * quote, or if text follows the closing quote in the field.
 */
static const char *read_quotes(const char *p, const char *end, char divider, spryi_word *w)
{
    const char *close = p + 1;
    while (close < end && (*close != '"' || (close + 1 < end && close[1] == '"'))) close += *close == '"' ? 2 : 1;
    if (close >= end) return NULL;
    const char *behind = divider ? skip_blanks(close + 1, end, divider) : close + 1;
    if (behind < end && !ends_field(*behind, divider)) return NULL;
    *w = trim((spryi_word){p + 1, close});
    return behind;
}

/*
 * Returns the next field of a line, without quotes, and moves *p after it. *found: the line has another field. A field
 * may be empty, like the second field of "1,,2". divider: see ends_field.
 */
static spryi_word next_field(const char **p, const char *end, char divider, int first, int *found)
{
    *p = skip_blanks(*p, end, divider);
    *found = *p < end;
    if (!first && *found && (divider ? **p == divider : is_divider(**p))) *p = skip_blanks(*p + 1, end, divider);
    spryi_word w = {*p, *p};
    const char *behind = *p < end && **p == '"' ? read_quotes(*p, end, divider, &w) : NULL;
    if (behind) {
        *p = behind;
        return w;
    }
    while (w.end < end && !ends_field(*w.end, divider)) w.end++;
    *p = w.end;
    return trim(w);
}

/* Shows a field. If the field is empty, shows the character that follows. */
static spryi_shown show(spryi_word w, const char *end)
{
    if (w.p < w.end) return spryi_show_word(w.p, w.end);
    return spryi_show_word(w.p, w.p < end && !spryi_is_blank(*w.p) ? w.p + 1 : w.p);
}

static int is_comment(const char *p, const char *end)
{
    while (p < end && spryi_is_blank(*p)) p++;
    return p == end || *p == '#' || *p == '%';
}

static int is_number(spryi_word w)
{
    spryi_decimal d;
    return w.p < w.end && spryi_decimal_scan(w.p, w.end, &d) == w.end;
}

/* ---- a line ------------------------------------------------------------------------------------ */

/*
 * Reads an integer in any notation: "7", "7.0", "7e0". Returns 0 if w is not an integer. *past: the integer exceeds
 * INT64_MAX.
 */
static int read_whole(spryi_word w, int64_t *value, int *past)
{
    spryi_decimal d;
    const char *digits = w.p + (w.p < w.end && (*w.p == '-' || *w.p == '+'));
    if (digits < w.end && spryi_read_digits(digits, w.end, value, past) == w.end) return 1;
    if (w.p == w.end || spryi_decimal_scan(w.p, w.end, &d) != w.end || d.special) return 0;
    for (; d.digits > 0 && d.exponent < 0; d.exponent++) {
        if (d.cut || d.digits % 10 != 0) return 0;
        d.digits /= 10;
    }
    *past = d.cut || d.digits > INT64_MAX;
    *value = *past ? 0 : (int64_t)d.digits;
    for (; *value > 0 && d.exponent > 0 && !*past; d.exponent--) *past = __builtin_mul_overflow(*value, 10, value);
    return 1;
}

/* Reads a node from w, a field of a line that ends at `end`. */
static int read_node(const edge_list *edges, spryi_word w, const char *end, const char *what, int64_t *node,
                     spryi_fault *fault)
{
    int past;
    const int shown = w.end - w.p > 40 ? 40 : (int)(w.end - w.p), base = (int)edges->base;
    const char sign = w.p == w.end ? '0' : w.p[0];
    int64_t value;
    if (!read_whole(w, &value, &past)) {
        (void)spryi_bad_line(fault, "expected the number of the %s node, found %s; " WHOLE, what, show(w, end).text);
        return 0;
    }
    if ((sign == '-' && (value != 0 || past)) || (value < base && !past)) {
        (void)spryi_bad_line(fault, "%s node %.*s is below %d, the first number%s", what, shown, w.p, base,
                             sign != '-' ? "; if the first number is 0, read with index_base 0" : "");
        return 0;
    }
    if (past || value - base > LARGEST_NODE) {
        (void)spryi_bad_line(fault, "%s node %.*s is more than indices can hold, which is %lld", what, shown, w.p,
                             (long long)LARGEST_NODE);
        return 0;
    }
    *node = value - base;
    return 1;
}

static int read_weight(spryi_word w, const char *end, spryi_entry *entry, spryi_fault *fault)
{
    spryi_decimal d;
    if (w.p == w.end || spryi_decimal_scan(w.p, w.end, &d) != w.end) {
        (void)spryi_bad_line(fault, "expected a number as the weight, found %s", show(w, end).text);
        return 0;
    }
    entry->f64 = spryi_decimal_f64(&d);
    entry->f32 = spryi_decimal_f32(&d);
    return 1;
}

/* Finds source, target and weight in the line *p..end at the columns edges->places. */
static int find_named(const edge_list *edges, const char **p, const char *end, spryi_word fields[3], spryi_fault *fault)
{
    int columns = 0, found;
    for (;; columns++) {
        const spryi_word w = next_field(p, end, edges->divider, columns == 0, &found);
        if (!found) break;
        for (int f = 0; f < 3; f++)
            if (edges->places[f] == columns) fields[f] = w;
    }
    if (columns == edges->columns) return 1;
    (void)spryi_bad_line(fault, "expected %d columns, as line %lld names them, found %d", edges->columns,
                         (long long)edges->names_line, columns);
    return 0;
}

/* Finds source, target and weight in this order in the line *p..end. Moves *p after them. */
static int find_in_order(const edge_list *edges, const char **p, const char *end, spryi_word fields[3],
                         spryi_fault *fault)
{
    static const char *const missing[] = {"the number of the source node", "the number of the target node",
                                          "a weight, as the first line of edges has one"};
    const int count = edges->weighted ? 3 : 2;
    int found;
    for (int f = 0; f < count; f++) {
        fields[f] = next_field(p, end, 0, f == 0, &found);
        if (found) continue;
        (void)spryi_bad_line(fault, "expected %s, found the end of the line", missing[f]);
        return 0;
    }
    return 1;
}

static spryi_line read_line(const edge_list *edges, const char *p, const char *end, spryi_entry *entry,
                            spryi_fault *fault)
{
    int found = 0;
    spryi_word fields[3] = {{p, p}, {p, p}, {p, p}};
    if (is_comment(p, end)) return SPRYI_LINE_EMPTY;
    if (end - p > SPRYI_LINE_BYTES)
        return spryi_bad_line(fault, "the line has more than %d characters, expected an edge", SPRYI_LINE_BYTES);
    *entry = (spryi_entry){.f64 = 1, .f32 = 1};
    if (!(edges->columns > 0 ? find_named : find_in_order)(edges, &p, end, fields, fault)) return SPRYI_LINE_BAD;
    if (!read_node(edges, fields[0], end, "source", &entry->i, fault)) return SPRYI_LINE_BAD;
    if (!read_node(edges, fields[1], end, "target", &entry->j, fault)) return SPRYI_LINE_BAD;
    if (edges->weighted && !read_weight(fields[2], end, entry, fault)) return SPRYI_LINE_BAD;
    const spryi_word w = next_field(&p, end, 0, 0, &found);
    if (found && edges->columns == 0)
        return spryi_bad_line(fault,
                              "expected the end of the line after the %s, as in the first line of edges, found %s",
                              edges->weighted ? "weight" : "target node",
                              w.p < w.end ? show(w, end).text : "another column");
    return SPRYI_LINE_ENTRY;
}

/* ---- the head ---------------------------------------------------------------------------------- */

spry_status spryi_edges_are(spryi_text *text, int stated, int *are, spry_error *err)
{
    static const char *const endings[] = {".txt", ".csv", ".tsv", ".edges", ".el"};
    const size_t length = spryi_unpacked_length(text->name);
    *are = stated;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const size_t ending = strlen(endings[e]);
        *are |= length > ending && strncasecmp(text->name + length - ending, endings[e], ending) == 0;
    }
    if (!*are) return SPRY_OK;
    spryi_block block;
    SPRYI_OK_OR_RETURN(spryi_block_create(text, &block, err));
    spry_status status = SPRY_OK;
    do status = spryi_text_next(text, &block, err);
    while (status == SPRY_OK && !block.finished && block.text == block.end);
    if (status == SPRY_OK && !block.finished) {
        const char *p = block.text;
        *are = !spryi_is_banner(spryi_first_word(&p, spryi_line_end(p, block.end)));
        if (*are) status = spryi_refuse_foreign(text->name, block.text, block.end, err);
        spryi_text_unread(text, &block, block.text);
    }
    spryi_block_destroy(text, &block);
    return status;
}

/* The column names of a line. */
typedef struct names {
    int64_t line; /* 0: no such line */
    int columns, places[3];
    int numbers;   /* number of numeric words among the first two names */
    bool nameless; /* the first name is empty */
    bool indented; /* blanks precede the first name, which may be that of the second column */
    char divider;  /* character between the line's fields; see ends_field */
    char others[36];
} names;

static const char *const known_names[] = {"source", "target", "weight"};

static int is_name(spryi_word w, const char *name)
{
    const size_t length = strlen(name);
    return (size_t)(w.end - w.p) == length && strncasecmp(w.p, name, length) == 0;
}

static int has_both(const names *n)
{
    return n->places[0] >= 0 && n->places[1] >= 0;
}

/* Returns whether the columns are exactly source, target and perhaps weight, in this order. */
static int are_in_order(const names *n)
{
    return n->places[0] == 0 && n->places[1] == 1 && n->columns == (n->places[2] == 2 ? 3 : 2);
}

/*
 * Returns the first comma or semicolon of a line outside of quotes. If there is none, returns a tab if the line has
 * one, else 0.
 */
static char divider_of(const char *p, const char *end)
{
    int quoted = 0;
    char found = 0;
    for (; p < end; p++) {
        quoted ^= *p == '"';
        if (!quoted && is_divider(*p)) return *p;
        if (!quoted && *p == '\t') found = '\t';
    }
    return found;
}

static int count_columns(const char *p, const char *end, char divider)
{
    int columns = 0, found = 1;
    while (found) {
        (void)next_field(&p, end, divider, columns == 0, &found);
        columns += found;
    }
    return columns;
}

/* Reads the line p..end as names of columns. Returns the name that two columns share, or NULL. */
static const char *read_names(names *n, const char *p, const char *end)
{
    const char *twice = NULL;
    int found, count = 0;
    *n = (names){.places = {-1, -1, -1}, .indented = p < end && spryi_is_blank(*p)};
    p = skip_blanks(p, end, 0);
    n->divider = divider_of(p, end);
    for (;; n->columns++) {
        const spryi_word w = next_field(&p, end, n->divider, n->columns == 0, &found);
        int known = 0;
        if (!found) return twice;
        n->numbers += n->columns < 2 && is_number(w);
        n->nameless |= n->columns == 0 && w.p == w.end;
        for (int f = 0; f < 3; f++)
            if (is_name(w, known_names[f])) {
                known = 1;
                if (n->places[f] >= 0) twice = known_names[f];
                n->places[f] = n->columns;
            }
        if (known || w.p == w.end) continue;
        const size_t used = strlen(n->others);
        snprintf(n->others + used, sizeof n->others - used, "%s%.*s", count++ > 0 ? ", " : "", (int)(w.end - w.p), w.p);
    }
}

static spry_status refuse_nameless(const edge_list *edges, int64_t line, spry_error *err)
{
    return BAD_EDGES(line, "the first column has no name, and no columns are named source and target; name them, or "
                           "write the file without the first column (pandas: to_csv(index=False))");
}

/* Rejects names that do not determine the columns. */
static spry_status check_names(const edge_list *edges, const names *n, const char *twice, int64_t line, spry_error *err)
{
    if (twice) return BAD_EDGES(line, "two columns are named %s, expected one", twice);
    if (has_both(n)) return SPRY_OK;
    if (n->nameless) return refuse_nameless(edges, line, err);
    for (int f = 0; f < 3; f++)
        if (n->places[f] >= 0 && n->places[f] != f)
            return BAD_EDGES(line,
                             "column %d is named %s, but the columns of nodes are not named source and target; "
                             "expected these names",
                             n->places[f] + 1, known_names[f]);
    return SPRY_OK;
}

/* Determines the columns from their names and the first line of edges, p..end. */
static spry_status choose_columns(edge_list *edges, names *n, const char *p, const char *end, spry_error *err)
{
    const char *q = p;
    int found;
    if (n->line == 0 && next_field(&q, end, 0, 1, &found).p == q && q < end)
        return refuse_nameless(edges, edges->lines, err);
    const int by_name = n->line > 0 && has_both(n), divider = by_name ? n->divider : 0;
    const int columns = count_columns(p, end, (char)divider);
    if (n->line > 0 && n->indented && columns == n->columns + 1) {
        if (!by_name) return refuse_nameless(edges, n->line, err);
        for (int f = 0; f < 3; f++) n->places[f] += n->places[f] >= 0;
        n->columns++;
    }
    if (n->line > 0 && n->columns != columns)
        return BAD_EDGES(edges->lines, "expected %d columns, as line %lld names them, found %d", n->columns,
                         (long long)n->line, columns);
    if (by_name && !are_in_order(n)) {
        edges->columns = columns;
        edges->divider = n->divider;
        edges->names_line = n->line;
        memcpy(edges->places, n->places, sizeof edges->places);
        snprintf(edges->others, sizeof edges->others, "%s", n->others);
        edges->weighted = n->places[2] >= 0;
        return SPRY_OK;
    }
    if (columns != 2 && columns != 3)
        return BAD_EDGES(edges->lines,
                         "expected two or three columns, source, target and perhaps a weight, found %d; of "
                         "more, the first line must name source and target",
                         columns);
    edges->weighted = columns == 3;
    return SPRY_OK;
}

static spry_status read_head(spryi_text *text, spryi_block *block, edge_list *edges, spry_error *err)
{
    spryi_cursor c = {.text = text, .block = block};
    names n = {0};
    block->text = block->end = NULL;
    for (;;) {
        const char *start, *end;
        SPRYI_OK_OR_RETURN(spryi_cursor_next(&c, &start, &end, err));
        if (!end) return BAD_EDGES(0, "the file has no edges, expected lines such as '0 1' or '0,1,2.5'");
        const int64_t bytes = end - start + 1;
        if (c.line == 1 && end - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) start += 3;
        edges->lines = c.line;
        if (!is_comment(start, end)) {
            if (end - start > SPRYI_LINE_BYTES)
                return BAD_EDGES(c.line, "the line has more than %d characters, expected an edge", SPRYI_LINE_BYTES);
            names found;
            const char *twice = n.line == 0 ? read_names(&found, start, end) : NULL;
            if (n.line > 0 || (!has_both(&found) && (found.numbers > 0 || found.columns == 1))) {
                SPRYI_OK_OR_RETURN(choose_columns(edges, &n, start, end, err));
                edges->lines--;
                spryi_text_unread(text, block, start);
                return SPRY_OK;
            }
            SPRYI_OK_OR_RETURN(check_names(edges, &found, twice, c.line, err));
            n = found;
            n.line = c.line;
        }
        edges->aside += bytes;
        SPRYI_OK_OR_RETURN(spryi_check_aside(text, edges->aside, c.line, err));
    }
}

/* ---- lines to edges ------------------------------------------------------------------------------------ */

/*
 * Lines are read in three ways, as in mtx_read.c. masked_line divides a line by a mask of the characters that are not
 * digits. fast_line reads word by word. read_line reads all other lines and reports faults.
 */

/* A copy of the edges of one block, with 32-bit indices if possible. All parts are joined at the end. */
typedef struct part {
    struct part *next;
    int64_t count, at; /* at: number of edges in earlier parts */
    spry_index_type index_type;
    void *rows, *cols, *values;
} part;

/* Edges of one block of lines. The arrays have space for the most edges that a block can contain. */
typedef struct parsed_edges {
    int64_t *rows, *cols;
    void *values;
    int64_t count, lines, aside; /* aside: bytes of comments and blank lines */
    int64_t largest;             /* largest node, from 0; -1: no edge */
    spryi_entry_order order;
    const char *bad; /* start of the first bad line; NULL: none. count and lines exclude it */
    part *kept;      /* copy of the edges, until append takes it; NULL: none */
} parsed_edges;

SPRYI_INLINE int is_separator(char c)
{
    return (c == ' ') | (c == '\t') | (c == ',') | (c == ';');
}

/*
 * Stores edge k. i and j are node numbers of the file. Returns 0 if a number is smaller than the number of the first
 * node.
 */
SPRYI_INLINE int store_edge(const edge_list *edges, parsed_edges *to, int64_t k, uint64_t i, uint64_t j)
{
    i -= (uint64_t)edges->base;
    j -= (uint64_t)edges->base;
    if ((int64_t)(i | j) < 0) return 0;
    to->rows[k] = (int64_t)i;
    to->cols[k] = (int64_t)j;
    return 1;
}

/*
 * Reads the line at p as edge k. Returns the start of the next line, or NULL if the line has an unusual form. Loads up
 * to MASKED_BYTES + 16 bytes from p on, past the end of a short line.
 */
SPRYI_INLINE const char *masked_line(const edge_list *edges, const char *p, spry_type type, parsed_edges *to, int64_t k)
{
    uint64_t mask = mask_of_words(p);
    if (!mask) return NULL;
    const unsigned i_end = FIRST(mask);
    mask = DROP_FIRST(mask);
    if (!mask) return NULL;
    const unsigned j_end = FIRST(mask), j_count = j_end - i_end - 1;
    if (i_end - 1 > 7 || j_count - 1 > 7 || !is_separator(p[i_end])) return NULL;
    if (!store_edge(edges, to, k, one_to_eight_digits(p, i_end), one_to_eight_digits(p + i_end + 1, j_count)))
        return NULL;
    unsigned end = j_end;
    if (type != SPRY_PATTERN) {
        if (!is_separator(p[end])) return NULL;
        end = masked_value(p, 0, mask, 0, type, to->values, k);
        if (end == 0) return NULL;
    }
    if (LIKELY(p[end] == '\n')) return p + end + 1;
    return p[end] == '\r' && p[end + 1] == '\n' ? p + end + 2 : NULL;
}

/* Skips blanks and at most one divider. Returns NULL if there are none. */
SPRYI_INLINE const char *fast_separator(const char *p)
{
    const char *begin = p;
    while (*p == ' ' || *p == '\t') p++;
    if (is_divider(*p)) p++;
    while (*p == ' ' || *p == '\t') p++;
    return p > begin ? p : NULL;
}

/*
 * Reads the line at p as edge k. Returns the start of the next line, or NULL if the line has an unusual form or a
 * fault.
 */
SPRYI_INLINE const char *fast_line(const edge_list *edges, const char *p, spry_type type, parsed_edges *to, int64_t k)
{
    uint64_t i, j;
    while (*p == ' ' || *p == '\t') p++;
    p = fast_index(p, &i);
    if (!p) return NULL;
    p = fast_separator(p);
    if (!p) return NULL;
    p = fast_index(p, &j);
    if (!p || !store_edge(edges, to, k, i, j)) return NULL;
    if (type != SPRY_PATTERN) {
        p = fast_separator(p);
        if (!p) return NULL;
        p = fast_value(p, 0, type, to->values, k);
        if (!p) return NULL;
    }
    while (spryi_is_blank(*p)) p++;
    return *p == '\n' ? p + 1 : NULL;
}

SPRYI_INLINE void parse_as(const edge_list *edges, const spryi_block *block, spry_type type, parsed_edges *to)
{
    const char *p = block->text;
    const int fast = edges->columns == 0;
    const char *masked_end = fast ? last_line_start(block, MASKED_BYTES + 16) : p;
    const char *fast_end = fast ? last_line_start(block, 8) : p;
    int64_t k = 0, others = 0, aside = 0;
    to->bad = NULL;
    while (p < block->end) {
        const char *next = LIKELY(p < masked_end) ? masked_line(edges, p, type, to, k) : NULL;
        if (!next && p < fast_end) next = fast_line(edges, p, type, to, k);
        if (LIKELY(next != NULL && next - p <= SPRYI_LINE_BYTES)) {
            p = next;
            k++;
            continue;
        }
        spryi_entry entry;
        const char *end = spryi_line_end(p, block->end);
        const spryi_line kind = read_line(edges, p, end, &entry, NULL);
        if (kind == SPRYI_LINE_BAD) {
            to->bad = p;
            break;
        }
        if (kind == SPRYI_LINE_ENTRY) {
            to->rows[k] = entry.i;
            to->cols[k] = entry.j;
            if (type == SPRY_F64) ((double *)to->values)[k] = entry.f64;
            if (type == SPRY_F32) ((float *)to->values)[k] = entry.f32;
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

/* Parses a block. type: type of to->values; SPRY_PATTERN if lines have no weight. */
static void parse_edges(const edge_list *edges, const spryi_block *block, spry_type type, parsed_edges *to)
{
    if (type == SPRY_PATTERN) parse_as(edges, block, SPRY_PATTERN, to);
    if (type == SPRY_F64) parse_as(edges, block, SPRY_F64, to);
    if (type == SPRY_F32) parse_as(edges, block, SPRY_F32, to);
    to->order = spryi_order_of(to->rows, to->cols, SPRY_I64, to->count);
    int64_t largest = -1;
    for (int64_t k = 0; k < to->count; k++) {
        const int64_t larger = to->rows[k] > to->cols[k] ? to->rows[k] : to->cols[k];
        largest = larger > largest ? larger : largest;
    }
    to->largest = largest;
}

typedef struct job {
    spryi_text *text;
    const edge_list *edges;
    spry_type type; /* type of the weights; SPRY_PATTERN: no weights */
    /* used only by the thread whose block is the next in file order */
    part *first, *last;
    int64_t parts, count, lines, aside, largest;
    int64_t last_i, last_j;
    spryi_entry_order order;
} job;

static void release_part(spry_context *context, part *p)
{
    if (!p) return;
    spryi_release(context, p->rows);
    spryi_release(context, p->cols);
    spryi_release(context, p->values);
    spryi_release(context, p);
}

static void copy_indices(void *to, spry_index_type type, const int64_t *from, int64_t count)
{
    if (type == SPRY_I64) {
        memcpy(to, from, (size_t)count * sizeof *from);
        return;
    }
    for (int64_t k = 0; k < count; k++) ((int32_t *)to)[k] = (int32_t)from[k];
}

/* Copies the edges to from->kept, which remains NULL if there are none. */
static spry_status keep_part(const job *work, parsed_edges *from, spry_error *err)
{
    spry_context *context = work->text->context;
    spry_status status = SPRY_OK;
    if (from->count == 0) return SPRY_OK;
    const spry_index_type type = from->largest > INT32_MAX ? SPRY_I64 : SPRY_I32;
    const size_t index_bytes = spryi_index_type_bytes(type), value_bytes = spry_type_bytes(work->type);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &from->kept, 1, "a part of the edges", err));
    part *p = from->kept;
    *p = (part){.count = from->count, .index_type = type};
    SPRYI_TRY(spryi_allocate(context, &p->rows, p->count, index_bytes, "sources of edges", err));
    SPRYI_TRY(spryi_allocate(context, &p->cols, p->count, index_bytes, "targets of edges", err));
    copy_indices(p->rows, type, from->rows, p->count);
    copy_indices(p->cols, type, from->cols, p->count);
    if (work->type != SPRY_PATTERN) {
        SPRYI_TRY(spryi_allocate(context, &p->values, p->count, value_bytes, "weights of edges", err));
        memcpy(p->values, from->values, (size_t)p->count * value_bytes);
    }
done:
    if (status != SPRY_OK) {
        release_part(context, p);
        from->kept = NULL;
    }
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static spry_status explain(const job *work, const spryi_block *block, const parsed_edges *from, spry_error *err)
{
    spryi_fault fault = {""};
    spryi_entry entry;
    (void)read_line(work->edges, from->bad, spryi_line_end(from->bad, block->end), &entry, &fault);
    return spryi_fail_file(err, SPRY_BAD_FILE, work->edges->name, work->lines + from->lines + 1, "%s", fault.text);
}

/* Appends the block's edges to the list of parts. */
static spry_status append(void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    job *work = job_of_text;
    parsed_edges *from = parsed;
    part *kept = from->kept;
    if (from->bad) return explain(work, block, from, err);
    work->lines += from->lines;
    work->aside += from->aside;
    SPRYI_OK_OR_RETURN(spryi_check_aside(work->text, work->aside, work->lines, err));
    if (!kept) return SPRY_OK;
    spryi_order_join(&work->order, &from->order, work->last_i, work->last_j, from->rows[0], from->cols[0]);
    work->last_i = from->rows[from->count - 1];
    work->last_j = from->cols[from->count - 1];
    if (from->largest > work->largest) work->largest = from->largest;
    kept->at = work->count;
    work->count += kept->count;
    work->parts++;
    *(work->last ? &work->last->next : &work->first) = kept;
    work->last = kept;
    from->kept = NULL;
    return SPRY_OK;
}

static spry_status parse_part(const void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    parsed_edges *own = parsed;
    parse_edges(work->edges, block, work->type, own);
    return own->bad ? SPRY_OK : keep_part(work, own, err);
}

static void release_parsed(spry_context *context, void *parsed)
{
    parsed_edges *own = parsed;
    release_part(context, own->kept);
    spryi_release(context, own->rows);
    spryi_release(context, own->cols);
    spryi_release(context, own->values);
}

static spry_status create_parsed(const void *job_of_text, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    parsed_edges *own = parsed;
    spry_context *context = work->text->context;
    const int64_t most = (1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES) / (work->type == SPRY_PATTERN ? 4 : 6) + 1;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &own->rows, most, "parsed sources", err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &own->cols, most, "parsed targets", err));
    if (work->type == SPRY_PATTERN) return SPRY_OK;
    return spryi_allocate(context, &own->values, most, spry_type_bytes(work->type), "parsed weights", err);
}

/* ---- joining all parts -------------------------------------------------------------------------- */

typedef enum array { ROWS, COLS, VALUES } array;

typedef struct join_job {
    part *const *parts;
    array kind;
    spry_index_type index_type;
    size_t size; /* bytes of an item */
    char *to;
} join_job;

static void join_parts(void *job, int64_t begin, int64_t end)
{
    const join_job *j = job;
    for (int64_t p = begin; p < end; p++) {
        const part *from = j->parts[p];
        const void *data = j->kind == ROWS ? from->rows : j->kind == COLS ? from->cols : from->values;
        char *at = j->to + (size_t)from->at * j->size;
        if (j->kind == VALUES || from->index_type == j->index_type) {
            memcpy(at, data, (size_t)from->count * j->size);
        } else { /* widens 32-bit indices to 64 bits */
            for (int64_t k = 0; k < from->count; k++)
                ((int64_t *)(void *)at)[k] = spryi_index_at(data, from->index_type, k);
        }
    }
}

/* Joins one array of all parts, and releases the parts' arrays. */
static spry_status join(spry_context *context, void **to, part **parts, int64_t count, array kind,
                        spry_index_type index_type, spry_type type, int64_t edges, spry_error *err)
{
    static const char *const what[] = {"sources of all edges", "targets of all edges", "weights of all edges"};
    const size_t size = kind == VALUES ? spry_type_bytes(type) : spryi_index_type_bytes(index_type);
    SPRYI_OK_OR_RETURN(spryi_allocate(context, to, edges, size, what[kind], err));
    spryi_loop(context, spryi_threads(context, edges), count, 1, join_parts,
               &(join_job){parts, kind, index_type, size, *to});
    for (int64_t p = 0; p < count; p++) {
        void **data = kind == ROWS ? &parts[p]->rows : kind == COLS ? &parts[p]->cols : &parts[p]->values;
        spryi_release(context, *data);
        *data = NULL;
    }
    return SPRY_OK;
}

static spry_status join_all(job *work, spryi_mtx_entries *entries, spry_index_type index_type, spry_error *err)
{
    spry_context *context = work->text->context;
    part **parts = NULL;
    int64_t p = 0;
    *entries = (spryi_mtx_entries){.index_type = index_type,
                                   .value_type = work->type,
                                   .count = work->count,
                                   .order = work->order};
    spry_status status = SPRYI_NEW(context, &parts, work->parts, "list of parts", err);
    if (status != SPRY_OK) return status;
    for (part *next = work->first; next; next = next->next) parts[p++] = next;
    SPRYI_TRY(join(context, &entries->rows, parts, p, ROWS, index_type, work->type, work->count, err));
    SPRYI_TRY(join(context, &entries->cols, parts, p, COLS, index_type, work->type, work->count, err));
    if (work->type != SPRY_PATTERN)
        SPRYI_TRY(join(context, &entries->values, parts, p, VALUES, index_type, work->type, work->count, err));
done:
    if (status != SPRY_OK) spryi_mtx_release(context, entries);
    spryi_release(context, parts);
    return status;
}

/* If memory does not suffice and most rows have no edges, reports the probable cause: node numbers with large gaps. */
static spry_status explain_gaps(const job *work, spry_status status, spry_error *err)
{
    if (status != SPRY_OUT_OF_MEMORY || work->largest / 64 <= work->count) return status;
    return spryi_fail_file(err, status, work->edges->name, 0,
                           "node numbers go up to %lld, and that many rows need at least %s; expected "
                           "numbers without large gaps",
                           (long long)(work->largest + work->edges->base),
                           spryi_show_size(8 * (work->largest + 1)).text);
}

/* Describes the columns: "2 columns", or "source, target of 4 columns (not read: label)". */
static void describe_columns(const edge_list *edges, char *text, size_t size)
{
    if (edges->columns == 0)
        snprintf(text, size, "%s", edges->weighted ? "3 columns" : "2 columns");
    else
        snprintf(text, size, "source, target%s of %d columns%s%s%s", edges->weighted ? ", weight" : "", edges->columns,
                 edges->others[0] ? " (not read: " : "", edges->others, edges->others[0] ? ")" : "");
}

static void fill_source(const job *work, spryi_source *source)
{
    source->kind = SPRYI_EDGE_LIST;
    source->field = work->edges->weighted ? "real" : "pattern";
    source->packing = spryi_packing_name(work->text->packing);
    describe_columns(work->edges, source->layout, sizeof source->layout);
    source->rows = source->cols = -1;
    source->entries = work->count;
}

static spry_status build_matrix(job *work, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spryi_mtx_entries entries;
    spry_index_type index_type;
    const spryi_mtx head = {.name = work->edges->name,
                            .field = work->edges->weighted ? SPRYI_REAL : SPRYI_FIELD_PATTERN,
                            .symmetry = options->undirected ? SPRY_SYMMETRIC : SPRY_GENERAL,
                            .m = work->largest + 1,
                            .n = work->largest + 1,
                            .entries = work->count,
                            .lines = work->lines};
    SPRYI_OK_OR_RETURN(spryi_mtx_pick_index_type(&head, options, &index_type, err));
    const double both = (options->undirected ? 2 : 1) * (double)work->count;
    SPRYI_OK_OR_RETURN(
        spryi_note_needs(8 * (head.m + 1), spryi_text_enough(work->text, 2 * both, head.m, SPRY_I64), "offsets", err));
    SPRYI_OK_OR_RETURN(join_all(work, &entries, index_type, err));
    SPRYI_OK_OR_RETURN(spryi_mtx_to_csr(work->text->context, A, &head, &entries, options, err));
    fill_source(work, &(*A)->source);
    (*A)->index_base = options->index_base;
    return SPRY_OK;
}

/*
 * Records a memory limit that suffices for the edges. Assumes that an edge takes at least four bytes of text and that
 * node numbers have no large gaps.
 */
static spry_status note_needs(const spryi_text *text, const spry_read_options *options, spry_error *err)
{
    enum { LEAST_LINE = 4 };
    const double edges = (double)spryi_text_most_left(text) / LEAST_LINE + 1;
    const int64_t nodes = edges < (double)(INT64_MAX / 4) ? 2 * (int64_t)edges : INT64_MAX / 2;
    const double entries = (options->undirected ? 4 : 2) * edges;
    return spryi_note_needs(0, spryi_text_enough(text, entries, nodes, SPRY_I64), "edges", err);
}

spry_status spryi_edges_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    static const spryi_readers readers = {sizeof(parsed_edges), create_parsed, release_parsed,
                                          parse_part,           append,        NULL};
    edge_list edges = {.name = text->name, .base = options->index_base};
    spryi_block block;
    SPRYI_OK_OR_RETURN(spryi_block_create(text, &block, err));
    spry_status status = read_head(text, &block, &edges, err);
    spryi_block_destroy(text, &block);
    if (status != SPRY_OK) return status;
    SPRYI_OK_OR_RETURN(note_needs(text, options, err));
    job work = {.text = text,
                .edges = &edges,
                .type = edges.weighted ? spryi_read_as(options->value_type) : SPRY_PATTERN,
                .lines = edges.lines,
                .aside = edges.aside,
                .largest = -1,
                .last_i = -1,
                .last_j = -1,
                .order = SPRYI_ALL_ORDERS};
    if (work.type == SPRY_PATTERN && edges.weighted) work.type = SPRY_F64; /* weights are checked, then dropped */
    status = spryi_text_share(text, &readers, &work, err);
    if (status == SPRY_OK) status = explain_gaps(&work, build_matrix(&work, A, options, err), err);
    for (part *p = work.first, *next; p; p = next) {
        next = p->next;
        release_part(text->context, p);
    }
    return status;
}
