/* The head of a list of edges, and one line of it with care. */
#include "base/error.h"
#include "io/decimal.h"
#include "io/edges.h"
#include "io/foreign.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WHOLE "names of nodes are expected to be whole numbers"

/* ---- words ------------------------------------------------------------------------------------- */

/* Ends a field: `divider`, or, if that is 0, a blank, a comma or a semicolon. */
static int ends_field(char c, char divider)
{
    return divider ? c == divider : spryi_is_blank(c) || spryi_is_divider(c);
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

/* Sets *w to what the quotes at p hold and returns behind them; NULL if none close, or more of the field follows. */
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
 * The next field of a line, without quotes, and *p behind it. *there = 0: the line has no more. A field may be empty:
 * "1,,2". divider: see ends_field.
 */
static spryi_word next_field(const char **p, const char *end, char divider, int first, int *there)
{
    *p = skip_blanks(*p, end, divider);
    *there = *p < end;
    if (!first && *there && (divider ? **p == divider : spryi_is_divider(**p))) *p = skip_blanks(*p + 1, end, divider);
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

/* An empty field is shown as what stands there. */
static spryi_shown show(spryi_word w, const char *end)
{
    if (w.p < w.end) return spryi_mtx_show(w.p, w.end);
    return spryi_mtx_show(w.p, w.p < end && !spryi_is_blank(*w.p) ? w.p + 1 : w.p);
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

/* Reads a whole number in any spelling: "7", "7.0", "7e0". Returns 0 if w is none. *past: it exceeds INT64_MAX. */
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

/* w is a field of a line that ends at `end`. */
static int read_node(const spryi_edges *edges, spryi_word w, const char *end, const char *what, int64_t *node,
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
    if (past || value - base > SPRYI_LARGEST_NODE) {
        (void)spryi_bad_line(fault, "%s node %.*s is more than indices can hold, which is %lld", what, shown, w.p,
                             (long long)SPRYI_LARGEST_NODE);
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

/* The fields of the line *p..end whose columns have names: source, target and weight are at their places. */
static int find_named(const spryi_edges *edges, const char **p, const char *end, spryi_word fields[3],
                      spryi_fault *fault)
{
    int columns = 0, there;
    for (;; columns++) {
        const spryi_word w = next_field(p, end, edges->divider, columns == 0, &there);
        if (!there) break;
        for (int f = 0; f < 3; f++)
            if (edges->places[f] == columns) fields[f] = w;
    }
    if (columns == edges->columns) return 1;
    (void)spryi_bad_line(fault, "expected %d columns, as line %lld names them, found %d", edges->columns,
                         (long long)edges->names_line, columns);
    return 0;
}

/* The fields of the line *p..end that are source, target and weight in this order, and *p behind them. */
static int find_in_order(const spryi_edges *edges, const char **p, const char *end, spryi_word fields[3],
                         spryi_fault *fault)
{
    static const char *const missing[] = {"the number of the source node", "the number of the target node",
                                          "a weight, as the first line of edges has one"};
    const int count = edges->weighted ? 3 : 2;
    int there;
    for (int f = 0; f < count; f++) {
        fields[f] = next_field(p, end, 0, f == 0, &there);
        if (there) continue;
        (void)spryi_bad_line(fault, "expected %s, found the end of the line", missing[f]);
        return 0;
    }
    return 1;
}

spryi_line spryi_edges_line(const spryi_edges *edges, const char *p, const char *end, spryi_entry *entry,
                            spryi_fault *fault)
{
    int there = 0;
    spryi_word fields[3] = {{p, p}, {p, p}, {p, p}};
    if (is_comment(p, end)) return SPRYI_LINE_EMPTY;
    if (end - p > SPRYI_LINE_BYTES)
        return spryi_bad_line(fault, "the line has more than %d characters, expected an edge", SPRYI_LINE_BYTES);
    *entry = (spryi_entry){.f64 = 1, .f32 = 1};
    if (!(edges->columns > 0 ? find_named : find_in_order)(edges, &p, end, fields, fault)) return SPRYI_LINE_BAD;
    if (!read_node(edges, fields[0], end, "source", &entry->i, fault)) return SPRYI_LINE_BAD;
    if (!read_node(edges, fields[1], end, "target", &entry->j, fault)) return SPRYI_LINE_BAD;
    if (edges->weighted && !read_weight(fields[2], end, entry, fault)) return SPRYI_LINE_BAD;
    const spryi_word w = next_field(&p, end, 0, 0, &there);
    if (there && edges->columns == 0)
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
        *are = !spryi_mtx_is_banner(block.text, block.end);
        if (*are) status = spryi_refuse_foreign(text->name, block.text, block.end, err);
        spryi_text_unread(text, &block, block.text);
    }
    spryi_block_destroy(text, &block);
    return status;
}

/* The names that a line gives to the columns. */
typedef struct names {
    int64_t line; /* 0: none is known */
    int columns, places[3];
    int numbers;  /* of the first two names */
    int nameless; /* the first name is empty */
    int indented; /* blanks stand before the first name: it may be that of the second column */
    char divider; /* of the line's fields, see ends_field */
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

/* 1: the columns are source, target and perhaps weight in this order, and no others. */
static int are_in_order(const names *n)
{
    return n->places[0] == 0 && n->places[1] == 1 && n->columns == (n->places[2] == 2 ? 3 : 2);
}

/* The comma, semicolon or tab that a line has outside of quotes, in this order of preference; 0: none. */
static char divider_of(const char *p, const char *end)
{
    int quoted = 0;
    char found = 0;
    for (; p < end; p++) {
        quoted ^= *p == '"';
        if (!quoted && spryi_is_divider(*p)) return *p;
        if (!quoted && *p == '\t') found = '\t';
    }
    return found;
}

static int count_columns(const char *p, const char *end, char divider)
{
    int columns = 0, there = 1;
    while (there) {
        (void)next_field(&p, end, divider, columns == 0, &there);
        columns += there;
    }
    return columns;
}

/* Takes the line p..end as names of columns. Returns the name that two columns have, NULL if none. */
static const char *read_names(names *n, const char *p, const char *end)
{
    const char *twice = NULL;
    int there, count = 0;
    *n = (names){.places = {-1, -1, -1}, .indented = p < end && spryi_is_blank(*p)};
    p = skip_blanks(p, end, 0);
    n->divider = divider_of(p, end);
    for (;; n->columns++) {
        const spryi_word w = next_field(&p, end, n->divider, n->columns == 0, &there);
        int known = 0;
        if (!there) return twice;
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

static spry_status refuse_nameless(const spryi_edges *edges, int64_t line, spry_error *err)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, line,
                           "the first column has no name, and no columns are named source and target; name them, or "
                           "write the file without the first column (pandas: to_csv(index=False))");
}

/* Names that leave open which columns are meant. */
static spry_status check_names(const spryi_edges *edges, const names *n, const char *twice, int64_t line,
                               spry_error *err)
{
    if (twice)
        return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, line, "two columns are named %s, expected one", twice);
    if (has_both(n)) return SPRY_OK;
    if (n->nameless) return refuse_nameless(edges, line, err);
    for (int f = 0; f < 3; f++)
        if (n->places[f] >= 0 && n->places[f] != f)
            return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, line,
                                   "column %d is named %s, but the columns of nodes are not named source and target; "
                                   "expected these names",
                                   n->places[f] + 1, known_names[f]);
    return SPRY_OK;
}

/* Settles what the columns are by their names and the first line of edges, which is p..end. */
static spry_status choose_columns(spryi_edges *edges, names *n, const char *p, const char *end, spry_error *err)
{
    const char *q = p;
    int there;
    if (n->line == 0 && next_field(&q, end, 0, 1, &there).p == q && q < end)
        return refuse_nameless(edges, edges->lines, err);
    const int by_name = n->line > 0 && has_both(n), divider = by_name ? n->divider : 0;
    const int columns = count_columns(p, end, (char)divider);
    if (n->line > 0 && n->indented && columns == n->columns + 1) {
        if (!by_name) return refuse_nameless(edges, n->line, err);
        for (int f = 0; f < 3; f++) n->places[f] += n->places[f] >= 0;
        n->columns++;
    }
    if (n->line > 0 && n->columns != columns)
        return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, edges->lines,
                               "expected %d columns, as line %lld names them, found %d", n->columns, (long long)n->line,
                               columns);
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
        return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, edges->lines,
                               "expected two or three columns, source, target and perhaps a weight, found %d; of "
                               "more, the first line has to name source and target",
                               columns);
    edges->weighted = columns == 3;
    return SPRY_OK;
}

spry_status spryi_edges_read_head(spryi_text *text, spryi_block *block, spryi_edges *edges, spry_error *err)
{
    spryi_cursor c = {.text = text, .block = block};
    names n = {0};
    block->text = block->end = NULL;
    for (;;) {
        const char *start, *end;
        SPRYI_OK_OR_RETURN(spryi_cursor_next(&c, &start, &end, err));
        if (!end)
            return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, 0,
                                   "the file has no edges, expected lines such as '0 1' or '0,1,2.5'");
        const int64_t bytes = end - start + 1;
        if (c.line == 1 && end - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) start += 3;
        edges->lines = c.line;
        if (!is_comment(start, end)) {
            if (end - start > SPRYI_LINE_BYTES)
                return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, c.line,
                                       "the line has more than %d characters, expected an edge", SPRYI_LINE_BYTES);
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
        SPRYI_OK_OR_RETURN(spryi_mtx_check_aside(text, edges->aside, c.line, err));
    }
}
