/*
 * A list of edges, by several threads, as io/mtx_entries.c reads a file: each takes the next block of lines and parses
 * it, and blocks are joined in file order. How many edges and nodes there are is not known before the end, so each
 * block's edges are kept apart until then.
 */
#include "io/edges.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/fast_numbers.h"
#include "io/source.h"
#include "matrix/assemble.h"

#include <stdio.h>
#include <string.h>

/* ---- lines to edges ------------------------------------------------------------------------------------ */

/*
 * The three tiers of io/mtx_entries.c: by a mask of the characters that are no digits, word by word, and with care
 * (spryi_edges_line), which all that is wrong comes to.
 */

/* The edges of one block, with indices of 32 bits where they fit. */
typedef struct part {
    struct part *next;
    int64_t count, at; /* at: edges of the parts before */
    spry_index_type index_type;
    void *rows, *cols, *values;
} part;

/* One block of lines, in arrays that have room for as many edges as it can hold. */
typedef struct parsed_edges {
    int64_t *rows, *cols;
    void *values;
    int64_t count, lines, aside; /* aside: bytes of comments and blank lines */
    int64_t largest;             /* number of a node, from 0; -1: no edge */
    spryi_entry_order order;
    const char *bad; /* start of the first bad line, NULL: none; count and lines stand before it */
    part *kept;      /* that is not joined; NULL: none */
} parsed_edges;

SPRYI_INLINE int is_separator(char c)
{
    return (c == ' ') | (c == '\t') | (c == ',') | (c == ';');
}

/* Stores edge k, numbered as in the file. 0: a number is below the first. */
SPRYI_INLINE int store_edge(const spryi_edges *edges, parsed_edges *to, int64_t k, uint64_t i, uint64_t j)
{
    i -= (uint64_t)edges->base;
    j -= (uint64_t)edges->base;
    if ((int64_t)(i | j) < 0) return 0;
    to->rows[k] = (int64_t)i;
    to->cols[k] = (int64_t)j;
    return 1;
}

/* The line at p as edge k; returns behind its newline, NULL when it is no ordinary one. Loads 64 bytes and more. */
SPRYI_INLINE const char *masked_line(const spryi_edges *edges, const char *p, spry_type type, parsed_edges *to,
                                     int64_t k)
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

/* Behind blanks and at most one divider; NULL: there are none. */
SPRYI_INLINE const char *fast_separator(const char *p)
{
    const char *begin = p;
    while (*p == ' ' || *p == '\t') p++;
    if (spryi_is_divider(*p)) p++;
    while (*p == ' ' || *p == '\t') p++;
    return p > begin ? p : NULL;
}

/* The line at p as edge k; returns behind its newline, NULL when it is not in ordinary form (or is wrong). */
SPRYI_INLINE const char *fast_line(const spryi_edges *edges, const char *p, spry_type type, parsed_edges *to, int64_t k)
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

SPRYI_INLINE void parse_as(const spryi_edges *edges, const spryi_block *block, spry_type type, parsed_edges *to)
{
    const char *p = block->text;
    const int fast = edges->columns == 0;
    const char *masked_end = fast ? last_line_start(block, MASKED_BYTES + 16) : p;
    const char *fast_end = fast ? last_line_start(block, 8) : p;
    int64_t k = 0, others = 0, aside = 0;
    to->bad = NULL;
    while (p < block->end) {
        const char *next = NULL;
        if (LIKELY(p < masked_end)) next = masked_line(edges, p, type, to, k);
        if (!next && p < fast_end) {
            next = fast_line(edges, p, type, to, k);
            if (next && next - p > SPRYI_LINE_BYTES) next = NULL;
        }
        if (LIKELY(next != NULL)) {
            p = next;
            k++;
            continue;
        }
        spryi_entry entry;
        const char *end = spryi_line_end(p, block->end);
        const spryi_line kind = spryi_edges_line(edges, p, end, &entry, NULL);
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

/* type is that of to->values; SPRY_PATTERN where lines have no weight. */
static void parse_edges(const spryi_edges *edges, const spryi_block *block, spry_type type, parsed_edges *to)
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
    const spryi_edges *edges;
    spry_type type; /* of the weights; SPRY_PATTERN: none */
    /* belong to the thread that has the next block */
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

/* from->kept stays NULL if there are no edges to keep. */
static spry_status keep_part(const job *work, parsed_edges *from, spry_error *err)
{
    spry_context *context = work->text->context;
    spry_status status = SPRY_OK;
    if (from->count == 0) return SPRY_OK;
    const spry_index_type type = from->largest > INT32_MAX ? SPRY_I64 : SPRY_I32;
    const size_t index_bytes = spry_index_type_bytes(type), value_bytes = spry_type_bytes(work->type);
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
    (void)spryi_edges_line(work->edges, from->bad, spryi_line_end(from->bad, block->end), &entry, &fault);
    return spryi_fail_file(err, SPRY_BAD_FILE, work->edges->name, work->lines + from->lines + 1, "%s", fault.text);
}

/* The block's part becomes the last. */
static spry_status append(void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    job *work = job_of_text;
    parsed_edges *from = parsed;
    part *kept = from->kept;
    if (from->bad) return explain(work, block, from, err);
    work->lines += from->lines;
    work->aside += from->aside;
    SPRYI_OK_OR_RETURN(spryi_mtx_check_aside(work->text, work->aside, work->lines, err));
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

/* ---- together ---------------------------------------------------------------------------------- */

typedef enum array { ROWS, COLS, VALUES } array;

typedef struct join_job {
    part *const *parts;
    array which;
    spry_index_type index_type;
    size_t size; /* of an item */
    char *to;
} join_job;

static void join_parts(void *job, int64_t begin, int64_t end)
{
    const join_job *j = job;
    for (int64_t p = begin; p < end; p++) {
        const part *from = j->parts[p];
        const void *data = j->which == ROWS ? from->rows : j->which == COLS ? from->cols : from->values;
        char *at = j->to + (size_t)from->at * j->size;
        if (j->which == VALUES || from->index_type == j->index_type) {
            memcpy(at, data, (size_t)from->count * j->size);
        } else { /* of 32 bits, into 64 */
            for (int64_t k = 0; k < from->count; k++)
                ((int64_t *)(void *)at)[k] = spryi_index_at(data, from->index_type, k);
        }
    }
}

/* One array of all parts in one, which is the parts' no more. */
static spry_status join(spry_context *context, void **to, part **parts, int64_t count, array which,
                        spry_index_type index_type, spry_type type, int64_t edges, spry_error *err)
{
    static const char *const what[] = {"sources of all edges", "targets of all edges", "weights of all edges"};
    const size_t size = which == VALUES ? spry_type_bytes(type) : spry_index_type_bytes(index_type);
    SPRYI_OK_OR_RETURN(spryi_allocate(context, to, edges, size, what[which], err));
    spryi_loop(context, spryi_threads(context, edges), count, 1, join_parts,
               &(join_job){parts, which, index_type, size, *to});
    for (int64_t p = 0; p < count; p++) {
        void **data = which == ROWS ? &parts[p]->rows : which == COLS ? &parts[p]->cols : &parts[p]->values;
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

/* Memory for rows without edges tells that numbers were not meant as numbers of rows. */
static spry_status explain_gaps(const job *work, spry_status status, spry_error *err)
{
    if (status != SPRY_OUT_OF_MEMORY || work->largest / 64 <= work->count) return status;
    return spryi_fail_file(err, status, work->edges->name, 0,
                           "numbers of nodes go up to %lld, and rows of so many take %s at least; expected "
                           "numbers without large gaps",
                           (long long)(work->largest + work->edges->base),
                           spryi_show_size(8 * (work->largest + 1)).text);
}

/* "2 columns", or "source, target of 4 columns (not read: label)". */
static void tell_columns(const spryi_edges *edges, char *text, size_t size)
{
    if (edges->columns == 0)
        snprintf(text, size, "%s", edges->weighted ? "3 columns" : "2 columns");
    else
        snprintf(text, size, "source, target%s of %d columns%s%s%s", edges->weighted ? ", weight" : "", edges->columns,
                 edges->others[0] ? " (not read: " : "", edges->others, edges->others[0] ? ")" : "");
}

static void tell_source(const job *work, spryi_source *source)
{
    source->kind = SPRYI_EDGE_LIST;
    source->field = work->edges->weighted ? "real" : "pattern";
    source->packing = spryi_packing_name(work->text->packing);
    tell_columns(work->edges, source->layout, sizeof source->layout);
    source->rows = source->cols = -1;
    source->entries = work->count;
}

static spry_status make_matrix(job *work, spry_matrix **A, const spry_read_options *options, spry_error *err)
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
    tell_source(work, &(*A)->source);
    (*A)->index_base = options->index_base;
    return SPRY_OK;
}

/* Edges take four bytes at least. Node numbers are assumed to have no large gaps. */
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
    spryi_edges edges = {.name = text->name, .base = options->index_base};
    spryi_block block;
    SPRYI_OK_OR_RETURN(spryi_block_create(text, &block, err));
    spry_status status = spryi_edges_read_head(text, &block, &edges, err);
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
    if (status == SPRY_OK) status = explain_gaps(&work, make_matrix(&work, A, options, err), err);
    for (part *p = work.first, *next; p; p = next) {
        next = p->next;
        release_part(text->context, p);
    }
    return status;
}
