/* The head of a list of edges, and one line of it with care. */
#include "core/error.h"
#include "io/decimal.h"
#include "io/edges.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WHOLE "names of nodes are expected to be whole numbers"

/* ---- words ------------------------------------------------------------------------------------- */

/* The next field of a line, and *p behind it. *there 0: the line has no more; it may be there and be empty, "1,,2". */
static spryi_word next_field(const char **p, const char *end, int first, int *there)
{
    while (*p < end && spryi_is_blank(**p)) (*p)++;
    *there = *p < end;
    if (!first && *there && spryi_is_divider(**p)) {
        (*p)++;
        while (*p < end && spryi_is_blank(**p)) (*p)++;
    }
    spryi_word w = {*p, *p};
    while (w.end < end && !spryi_is_blank(*w.end) && !spryi_is_divider(*w.end)) w.end++;
    *p = w.end;
    return w;
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

static int read_node(const spryi_edges *edges, const char **p, const char *end, const char *what, int64_t *node,
                     spryi_fault *fault)
{
    int there, past;
    const spryi_word w = next_field(p, end, what[0] == 's', &there);
    const int shown = w.end - w.p > 40 ? 40 : (int)(w.end - w.p), base = (int)edges->base;
    const char sign = w.p == w.end ? '0' : w.p[0], *digits = w.p + (sign == '-' || sign == '+');
    int64_t value;
    const char *stop = spryi_read_digits(digits, w.end, &value, &past);
    if (!there) {
        (void)spryi_bad_line(fault, "expected the number of the %s node, found the end of the line", what);
        return 0;
    }
    if (stop == digits || stop < w.end) {
        (void)spryi_bad_line(fault, "expected the number of the %s node, found %s; " WHOLE, what, show(w, end).text);
        return 0;
    }
    if ((sign == '-' && value != 0) || (value < base && !past)) {
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

static int read_weight(const char **p, const char *end, spryi_entry *entry, spryi_fault *fault)
{
    int there;
    spryi_decimal d;
    const spryi_word w = next_field(p, end, 0, &there);
    if (!there) {
        (void)spryi_bad_line(fault, "expected a weight, as the first line of edges has one, found the end of the line");
        return 0;
    }
    if (w.p == w.end || spryi_decimal_scan(w.p, w.end, &d) != w.end) {
        (void)spryi_bad_line(fault, "expected a number as the weight, found %s", show(w, end).text);
        return 0;
    }
    entry->f64 = spryi_decimal_f64(&d);
    entry->f32 = spryi_decimal_f32(&d);
    return 1;
}

spryi_line spryi_edges_line(const spryi_edges *edges, const char *p, const char *end, spryi_entry *entry,
                            spryi_fault *fault)
{
    int there;
    if (is_comment(p, end)) return SPRYI_LINE_EMPTY;
    if (end - p > SPRYI_LINE_BYTES)
        return spryi_bad_line(fault, "the line has more than %d characters, expected an edge", SPRYI_LINE_BYTES);
    *entry = (spryi_entry){.f64 = 1, .f32 = 1};
    if (!read_node(edges, &p, end, "source", &entry->i, fault)) return SPRYI_LINE_BAD;
    if (!read_node(edges, &p, end, "target", &entry->j, fault)) return SPRYI_LINE_BAD;
    if (edges->weighted && !read_weight(&p, end, entry, fault)) return SPRYI_LINE_BAD;
    const spryi_word w = next_field(&p, end, 0, &there);
    if (there)
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
    size_t length = strlen(text->name);
    *are = stated;
    if (length > 3 && strcasecmp(text->name + length - 3, ".gz") == 0) length -= 3;
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
        spryi_text_unread(text, &block, block.text);
    }
    spryi_block_destroy(text, &block);
    return status;
}

/* How many columns a line has, and how many of the first two are numbers. */
static int count_columns(const char *p, const char *end, int *numbers)
{
    int columns = 0, there;
    *numbers = 0;
    for (;; columns++) {
        const spryi_word w = next_field(&p, end, columns == 0, &there);
        if (!there) return columns;
        if (columns < 2) *numbers += is_number(w);
    }
}

static spry_status check_columns(spryi_edges *edges, int columns, int named, int64_t named_in, spry_error *err)
{
    if (columns != 2 && columns != 3)
        return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, edges->lines,
                               "expected two or three columns, source, target and perhaps a weight, found %d", columns);
    if (named > 0 && named != columns)
        return spryi_fail_file(err, SPRY_BAD_FILE, edges->name, edges->lines,
                               "expected %d columns, as line %lld names them, found %d", named, (long long)named_in,
                               columns);
    edges->weighted = columns == 3;
    return SPRY_OK;
}

spry_status spryi_edges_read_head(spryi_text *text, spryi_block *block, spryi_edges *edges, spry_error *err)
{
    spryi_cursor c = {.text = text, .block = block};
    int named = 0;
    int64_t named_in = 0;
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
            int numbers;
            const int columns = count_columns(start, end, &numbers);
            if (numbers > 0 || columns == 1 || named > 0) {
                SPRYI_OK_OR_RETURN(check_columns(edges, columns, named, named_in, err));
                edges->lines--;
                spryi_text_unread(text, block, start);
                return SPRY_OK;
            }
            named = columns;
            named_in = c.line;
        }
        edges->aside += bytes;
        SPRYI_OK_OR_RETURN(spryi_mtx_check_aside(text, edges->aside, c.line, err));
    }
}
