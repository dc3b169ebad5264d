/*
 * Generates matrices: parses the specification "NAME,key=value,...", builds the structure, renumbers rows and columns
 * on request, and draws the values. The generators are in catalogue.c, their kinds in generate/kinds.c.
 */
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "catalogue/catalogue.h"
#include "generate/generator.h"
#include "io/decimal.h"
#include "io/readers.h"
#include "matrix/assemble.h"
#include "spry/io.h"

#include <stdio.h>
#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct key_rule {
    const char *name;
    int64_t first, last; /* smallest and largest value of an integer key */
    double low, high;    /* smallest and largest value of a real key */
} key_rule;

#define LARGEST ((int64_t)1 << 56)

static const key_rule keys[SPRYI_KEYS] = {
    [SPRYI_KEY_X] = {"x", 1, LARGEST, 0, 0},
    [SPRYI_KEY_Y] = {"y", 1, LARGEST, 0, 0},
    [SPRYI_KEY_Z] = {"z", 1, LARGEST, 0, 0},
    [SPRYI_KEY_DOF] = {"dof", 1, 1024, 0, 0},
    [SPRYI_KEY_SIDE] = {"side", 1, (int64_t)1 << 28, 0, 0},
    [SPRYI_KEY_SCALE] = {"scale", 1, 30, 0, 0},
    [SPRYI_KEY_EDGES] = {"edges", 1, 65536, 0, 0},
    [SPRYI_KEY_DEGREE] = {"degree", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_ROWS] = {"rows", 0, LARGEST, 0, 0},
    [SPRYI_KEY_COLS] = {"cols", 0, LARGEST, 0, 0},
    [SPRYI_KEY_HALF] = {"half", 0, LARGEST, 0, 0},
    [SPRYI_KEY_WIDTH] = {"width", 0, LARGEST, 0, 0},
    [SPRYI_KEY_SYMBOLS] = {"symbols", 1, 65536, 0, 0},
    [SPRYI_KEY_LENGTH] = {"length", 1, 62, 0, 0},
    [SPRYI_KEY_SEED] = {"seed", 0, INT64_MAX, 0, 0},
    [SPRYI_KEY_SHUFFLE] = {"shuffle", 0, INT64_MAX, 0, 0}, /* seed of the shuffling; 0: no shuffling */
    [SPRYI_KEY_ENTRIES] = {"entries", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_LONGEST] = {"longest", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_SYMMETRY] = {"symmetry", 0, 100, 0, 0},
    [SPRYI_KEY_DIAGONAL] = {"diagonal", 0, 1, 0, 0},
    [SPRYI_KEY_DISTINCT] = {"distinct", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_BITS] = {"bits", 1, 53, 0, 0},
    [SPRYI_KEY_ORDER] = {"order", 0, 0, 0, 0},
    [SPRYI_KEY_KIND] = {"kind", 0, 0, 0, 0},
    [SPRYI_KEY_AX] = {"ax", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_AY] = {"ay", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_AZ] = {"az", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_DENSITY] = {"density", 0, 0, 0, 1},
};

static const char *const orders[] = {"natural", "degree", NULL};

/* A part of the specification. */
typedef struct text {
    const char *start;
    size_t length;
} text;

static int text_is(text t, const char *word)
{
    return strlen(word) == t.length && memcmp(t.start, word, t.length) == 0;
}

/*
 * Returns the text before the first `mark`, or all of *rest if there is no `mark`. Removes the returned text and the
 * mark from *rest.
 */
static text cut(text *rest, char mark)
{
    const char *found = rest->length > 0 ? memchr(rest->start, mark, rest->length) : NULL;
    text head = {rest->start, found ? (size_t)(found - rest->start) : rest->length};
    size_t used = head.length + (found != NULL);
    rest->start += used;
    rest->length -= used;
    return head;
}

/* Returns how many characters of a text a message shows. */
static int shown(text t)
{
    return t.length > 60 ? 60 : (int)t.length;
}

static spry_status set_integer(spryi_generation *g, spryi_key key, text value, spry_error *err)
{
    const key_rule *rule = &keys[key];
    int64_t n = 0;
    int wrong = value.length == 0;
    for (size_t c = 0; c < value.length && !wrong; c++) {
        int digit = value.start[c] - '0';
        wrong = digit < 0 || digit > 9 || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n);
    }
    if (wrong || n < rule->first || n > rule->last)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, rule->name, wrong ? 0 : n, rule->last,
                                "gen:%s: %s is '%.*s', expected a whole number from %lld to %lld",
                                g->generator->info.name, rule->name, shown(value), value.start, (long long)rule->first,
                                (long long)rule->last);
    g->n[key] = n;
    return SPRY_OK;
}

static spry_status set_real(spryi_generation *g, spryi_key key, text value, spry_error *err)
{
    const key_rule *rule = &keys[key];
    spryi_decimal d = {0};
    const char *end = value.start + value.length;
    int whole = value.length > 0 && spryi_decimal_scan(value.start, end, &d) == end;
    double x = whole ? spryi_decimal_f64(&d) : 0;
    if (!whole || !(x >= rule->low && x <= rule->high))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, rule->name,
                          "gen:%s: %s is '%.*s', expected a number from %g to %g", g->generator->info.name, rule->name,
                          shown(value), value.start, rule->low, rule->high);
    g->real[key] = x;
    return SPRY_OK;
}

static spry_status set_word(spryi_generation *g, spryi_key key, text value, spry_error *err)
{
    const char *const *words = key == SPRYI_KEY_ORDER ? orders : g->generator->kind->words;
    char known[160] = "";
    size_t used = 0;
    for (int w = 0; words[w]; w++) {
        if (text_is(value, words[w])) {
            g->n[key] = w;
            return SPRY_OK;
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                 w == 0         ? ""
                                 : words[w + 1] ? ", "
                                                : " or ",
                                 words[w]);
    }
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, keys[key].name, "gen:%s: %s is '%.*s', expected %s",
                      g->generator->info.name, keys[key].name, shown(value), value.start, known);
}

/* Sets the values of "key=value,..." and a bit of *seen for each key. Only keys in `legal` may occur. */
static spry_status set_keys(spryi_generation *g, text list, unsigned legal, unsigned *seen, spry_error *err)
{
    while (list.length > 0) {
        text value = cut(&list, ','), key = cut(&value, '=');
        int k = 0;
        while (k < SPRYI_KEYS && !(legal >> k & 1 && text_is(key, keys[k].name))) k++;
        if (k == SPRYI_KEYS)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, "spec", "gen:%s: no key '%.*s'; keys and defaults are %s",
                              g->generator->info.name, shown(key), key.start, g->generator->info.parameters);
        if (*seen >> k & 1)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, keys[k].name, "gen:%s: %s is given twice",
                              g->generator->info.name, keys[k].name);
        *seen |= 1u << k;
        SPRYI_OK_OR_RETURN(k == SPRYI_KEY_ORDER || k == SPRYI_KEY_KIND ? set_word(g, (spryi_key)k, value, err)
                           : k < SPRYI_KEY_AX                          ? set_integer(g, (spryi_key)k, value, err)
                                                                       : set_real(g, (spryi_key)k, value, err));
    }
    return SPRY_OK;
}

/* ---- specification --------------------------------------------------------------------------- */

static spry_status unknown_name(text name, spry_error *err)
{
    char names[360] = "";
    size_t used = 0;
    for (int n = 0; spryi_generator_at(n) && used < sizeof names; n++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", spryi_generator_at(n)->info.name);
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "spec",
                      "no generator '%.*s'; there are%s" SPRYI_STUDIES_MISSING("generators"), shown(name), name.start,
                      names);
}

static spry_status parse(spryi_generation *g, const char *spec, spry_error *err)
{
    text rest = {spec, strlen(spec)}, name = cut(&rest, ',');
    if (rest.length == 0 && rest.start != name.start + name.length)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "spec", "gen:%.*s: nothing behind the last comma", shown(name),
                          spec);
    int by_degree = name.length > 2 && memcmp(name.start + name.length - 2, ":d", 2) == 0;
    if (by_degree) name.length -= 2;
    for (int n = 0; spryi_generator_at(n); n++)
        if (text_is(name, spryi_generator_at(n)->info.name)) g->generator = spryi_generator_at(n);
    if (!g->generator) return unknown_name(name, err);

    g->n[SPRYI_KEY_X] = g->n[SPRYI_KEY_Y] = g->n[SPRYI_KEY_Z] = g->n[SPRYI_KEY_DOF] = 1;
    g->n[SPRYI_KEY_BITS] = 53;
    const char *parameters = g->generator->info.parameters;
    unsigned legal = 0, seen = 0;
    SPRYI_OK_OR_RETURN(set_keys(g, (text){parameters, strlen(parameters)}, ~0u, &legal, err));
    if (by_degree && !(legal >> SPRYI_KEY_ORDER & 1))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "order", "gen:%s has no order, so no ':d'",
                          g->generator->info.name);
    if (by_degree) g->n[SPRYI_KEY_ORDER] = 1;
    return set_keys(g, rest, legal, &seen, err);
}

spry_status spry_generator_get_info(spry_generator_info *info, int index, spry_error *err)
{
    if (!info) return spryi_fail_missing(err, "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_generator *generator = index >= 0 ? spryi_generator_at(index) : NULL;
    if (!generator)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, 0, "generator %d does not exist", index);
    SPRYI_GIVE(info, &generator->info);
    return SPRY_OK;
}

enum { RELABELLED_SEED = 7, ROWS_A_BLOCK = 1024 };

/* Checks that the result fits in memory and in the memory limit, before it is built. */
static spry_status check_memory(spryi_generation *g, spry_index_type offset_type, spry_index_type index_type,
                                spry_type value_type, spry_error *err)
{
    double bytes = g->entries * (double)(spryi_index_type_bytes(index_type) + spry_type_bytes(value_type)) +
                   (double)g->rows * (double)spryi_index_type_bytes(offset_type);
    if (bytes >= 0x1p62)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %s would have %.3g entries in %.3g bytes",
                          g->generator->info.name, g->entries, bytes);
    const double lines = (double)(g->rows > g->cols ? g->rows : g->cols);
    const int64_t enough = spryi_assembly_bytes(g->context, 2 * g->entries, 2 * lines, index_type, sizeof(double));
    SPRYI_OK_OR_RETURN(spryi_note_needs(0, enough, "generated matrix", err));
    void *trial = NULL;
    spry_status status = spryi_allocate(g->context, &trial, (int64_t)bytes, 1, "generated matrix", err);
    spryi_release(g->context, trial);
    return status;
}

/* ---- structure ------------------------------------------------------------------------------- */

typedef struct build_job {
    const spryi_generation *g;
    const spryi_compressed *a, *made; /* a: rows and columns as generated; made: renumbered */
    const int64_t *to;                /* new index of each row and column */
    int64_t *degree;
    uint64_t seed;
} build_job;

static void count_rows(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    for (int64_t i = begin; i < end; i++) {
        spryi_sink sink = {0};
        j->g->generator->kind->row(j->g, i, &sink);
        j->a->offsets[i + 1] = sink.at;
    }
}

static void fill_rows(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    const spryi_compressed *a = j->a;
    for (int64_t i = begin; i < end; i++) {
        spryi_sink sink = {.indices = a->indices,
                           .values = a->values,
                           .index_type = a->index_type,
                           .value_type = a->value_type,
                           .at = a->offsets[i]};
        j->g->generator->kind->row(j->g, i, &sink);
    }
}

static spry_status build_rows(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    const int threads = spryi_threads(g->context, g->rows + (int64_t)g->entries);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(g->context, &a->offsets, a->majors + 1, "row offsets", err));
    build_job j = {.g = g, .a = a};
    spryi_loop(g->context, threads, a->majors, ROWS_A_BLOCK, count_rows, &j);
    spryi_scan(a->offsets, a->majors);
    a->nnz = a->offsets[a->majors];
    SPRYI_OK_OR_RETURN(spryi_compressed_allocate(g->context, a, err));
    spryi_loop(g->context, threads, a->majors, ROWS_A_BLOCK, fill_rows, &j);
    if (g->generator->kind->loose) {
        SPRYI_OK_OR_RETURN(spryi_sort(g->context, a, err));
        SPRYI_OK_OR_RETURN(spryi_merge(g->context, a, a->value_type, SPRYI_SUM_ALL, NULL, err));
    }
    return SPRY_OK;
}

static void release_work(spryi_generation *g)
{
    for (int w = 0; w < 4; w++) {
        spryi_release(g->context, g->work[w]);
        g->work[w] = NULL;
    }
}

static spry_status build_list(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    spryi_entries entries = {.majors = g->rows,
                             .minors = g->cols,
                             .index_type = SPRY_I32,
                             .value_type = SPRY_PATTERN,
                             .owned = 1};
    SPRYI_OK_OR_RETURN(g->generator->kind->list(g, &entries.nnz, err));
    entries.major = g->work[0];
    entries.minor = g->work[1];
    g->work[0] = g->work[1] = NULL;
    release_work(g);
    SPRYI_OK_OR_RETURN(spryi_group(g->context, a, &entries, a->index_type, err));
    return spryi_merge(g->context, a, SPRY_PATTERN, SPRYI_SUM_ALL, NULL, err);
}

/* ---- new labels ------------------------------------------------------------------------------ */

static void move_lengths(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    for (int64_t i = begin; i < end; i++) j->made->offsets[j->to[i] + 1] = j->a->offsets[i + 1] - j->a->offsets[i];
}

static void move_rows(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    const spryi_compressed *a = j->a, *made = j->made;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = made->offsets[j->to[i]];
        for (int64_t k = a->offsets[i]; k < a->offsets[i + 1]; k++, at++) {
            spryi_set_index(made->indices, made->index_type, at, j->to[spryi_index_at(a->indices, a->index_type, k)]);
            if (made->values)
                spryi_set_value(made->values, made->value_type, at, spryi_value_at(a->values, a->value_type, k));
        }
    }
}

/* Replaces *a by a matrix in which row and column i of *a are row and column to[i]. */
static spry_status relabel(spry_context *context, spryi_compressed *a, const int64_t *to, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed made = *a;
    made.offsets = NULL;
    made.indices = made.values = NULL;
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    const int threads = spryi_threads(context, a->majors + a->nnz);
    build_job j = {.a = a, .made = &made, .to = to};
    spryi_loop(context, threads, a->majors, 0, move_lengths, &j);
    spryi_scan(made.offsets, made.majors);
    spryi_loop(context, threads, a->majors, ROWS_A_BLOCK, move_rows, &j);
    spryi_compressed_clear(context, a);
    *a = made;
    made = (spryi_compressed){0};
    SPRYI_TRY(spryi_sort(context, a, err));
done:
    spryi_compressed_clear(context, &made);
    return status;
}

/* Creates a random permutation by the method of Fisher and Yates, from the last element to the first. */
static void shuffle(int64_t *to, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) to[i] = i;
    uint64_t count = 0;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(spryi_random(seed, ++count) % ((uint64_t)i + 1)), kept = to[i];
        to[i] = to[j];
        to[j] = kept;
    }
}

static void count_columns(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    const void *indices = j->a->indices;
    const spry_index_type type = j->a->index_type;
    int64_t *degree = j->degree;
    for (int64_t k = begin; k < end; k++)
        __atomic_fetch_add(&degree[spryi_index_at(indices, type, k)], 1, __ATOMIC_RELAXED);
}

/*
 * Sets to[j] to the place of column j when columns are ordered by their number of entries, largest first. Columns with
 * equally many entries keep their order.
 */
static spry_status label_by_degree(spry_context *context, int64_t *to, const spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, a->minors, "column degrees", err));
    for (int64_t j = 0; j < a->minors; j++) degree[j] = 0;
    spryi_loop(context, spryi_threads(context, a->nnz), a->nnz, 0, count_columns,
               &(build_job){.a = a, .degree = degree});
    for (int64_t j = 0; j < a->minors; j++) most = degree[j] > most ? degree[j] : most;
    SPRYI_TRY(SPRYI_NEW(context, &next, most + 2, "column degrees", err));
    memset(next, 0, (size_t)(most + 2) * sizeof *next);
    for (int64_t j = 0; j < a->minors; j++) next[most - degree[j] + 1]++;
    spryi_scan(next, most + 1);
    for (int64_t j = 0; j < a->minors; j++) to[j] = next[most - degree[j]]++;
done:
    spryi_release(context, degree);
    spryi_release(context, next);
    return status;
}

static spry_status relabel_by_options(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *to = NULL;
    if (g->n[SPRYI_KEY_SHUFFLE] == 0 && g->n[SPRYI_KEY_ORDER] == 0) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(g->context, &to, a->majors, "permutation", err));
    if (g->n[SPRYI_KEY_SHUFFLE] != 0) {
        shuffle(to, a->majors, (uint64_t)g->n[SPRYI_KEY_SHUFFLE]);
        SPRYI_TRY(relabel(g->context, a, to, err));
    }
    if (g->n[SPRYI_KEY_ORDER] != 0) {
        SPRYI_TRY(label_by_degree(g->context, to, a, err));
        SPRYI_TRY(relabel(g->context, a, to, err));
    }
done:
    spryi_release(g->context, to);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void draw_some_values(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    const int weights = j->g->generator->kind->weights;
    const double distinct = (double)j->g->n[SPRYI_KEY_DISTINCT], steps = (double)(1LL << j->g->n[SPRYI_KEY_BITS]);
    for (int64_t k = begin; k < end; k++) {
        double u = spryi_uniform(j->seed, (uint64_t)k + 1);
        if (distinct > 0) u = spryi_uniform(~j->seed, (uint64_t)(u * distinct));
        u = (double)(int64_t)(u * steps) / steps;
        spryi_set_value(j->a->values, j->a->value_type, k, weights ? 1 - u : u - 0.5);
    }
}

/*
 * Draws random values for the entries in stored order. If rows and columns were renumbered, the values come from
 * another seed and do not move with the entries.
 */
static spry_status draw_values(spryi_generation *g, spryi_compressed *a, spry_type value_type, spry_error *err)
{
    if (value_type == SPRY_PATTERN) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &a->values, a->nnz, spry_type_bytes(value_type), "values", err));
    a->value_type = value_type;
    uint64_t seed = g->generator->kind->value_seed;
    if (seed == 0) seed = (uint64_t)g->n[SPRYI_KEY_SEED];
    if (g->n[SPRYI_KEY_SHUFFLE] != 0 || g->n[SPRYI_KEY_ORDER] != 0) seed = RELABELLED_SEED;
    spryi_loop(g->context, spryi_threads(g->context, a->nnz), a->nnz, 0, draw_some_values,
               &(build_job){.g = g, .a = a, .seed = seed});
    return SPRY_OK;
}

static spry_symmetry symmetry_of(const spryi_generation *g, spry_type value_type)
{
    spryi_mirror mirror = g->generator->kind->mirror;
    if (g->rows != g->cols) return SPRY_GENERAL;
    return mirror == SPRYI_MIRROR_VALUES || (mirror == SPRYI_MIRROR_PATTERN && value_type == SPRY_PATTERN)
               ? SPRY_SYMMETRIC
               : SPRY_GENERAL;
}

static spry_status generate(spryi_generation *g, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_kind *kind = g->generator->kind;
    spryi_compressed a = {.value_type = SPRY_PATTERN};
    spry_type value_type = options->value_type ? options->value_type : SPRY_F64;
    spry_index_type offset_type = options->offset_type, index_type = options->index_type;

    SPRYI_TRY(kind->shape(g, err));
    spry_index_type first_offset = offset_type, first_index = index_type;
    int64_t foreseen = g->entries < 0x1p62 ? (int64_t)g->entries : INT64_MAX / 2;
    SPRYI_TRY(spryi_pick_index_types(&first_offset, &first_index, g->rows, g->cols, foreseen, err));
    SPRYI_TRY(check_memory(g, first_offset, first_index, value_type, err));

    a.majors = g->rows;
    a.minors = g->cols;
    a.index_type = first_index;
    if (kind->own_values) a.value_type = value_type;
    if (kind->prepare) SPRYI_TRY(kind->prepare(g, err));
    SPRYI_TRY(kind->list ? build_list(g, &a, err) : build_rows(g, &a, err));
    release_work(g);
    SPRYI_TRY(relabel_by_options(g, &a, err));
    if (!kind->own_values) SPRYI_TRY(draw_values(g, &a, value_type, err));

    index_type = first_index;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, a.majors, a.minors, a.nnz, err));
    SPRYI_TRY(spryi_compressed_finish(g->context, A, &a, SPRY_CSR, offset_type, SPRY_KNOWN_YES,
                                      symmetry_of(g, value_type),
                                      value_type == SPRY_PATTERN ? SPRYI_FIELD_PATTERN : SPRYI_REAL, err));
    (*A)->symmetry_holds = true;
done:
    release_work(g);
    spryi_compressed_clear(g->context, &a);
    return status;
}

/* ---- the public function --------------------------------------------------------------------------- */

static spry_status check_options(const spry_read_options *options, spry_error *err)
{
    spry_status status = spryi_check_value_type("generate", options->value_type, SPRY_TYPE_DEFAULT, err);
    if (status == SPRY_OK) status = spryi_check_index_type("generate", "offset_type", options->offset_type, err);
    if (status == SPRY_OK) status = spryi_check_index_type("generate", "index_type", options->index_type, err);
    if (status == SPRY_OK) status = spryi_check_memory_limit_option("generate", options->memory_limit_bytes, err);
    const char *of_files = options->index_base        ? "index_base"
                           : options->drop_duplicates ? "drop_duplicates"
                           : options->undirected      ? "undirected"
                           : options->input           ? "input"
                                                      : NULL;
    if (status == SPRY_OK && of_files)
        status = spryi_fail(err, SPRY_INVALID_ARGUMENT, of_files, "generate: %s is for files", of_files);
    return status;
}

static void fill_source(spry_matrix *A)
{
    A->index_base = 1;
    A->source = (spryi_source){.kind = SPRYI_GENERATED,
                               .rows = A->a.rows,
                               .cols = A->a.columns,
                               .entries = A->a.nnz,
                               .by_row = SPRY_KNOWN_YES,
                               .duplicates = SPRY_KNOWN_NO};
}

spry_status spry_matrix_generate(spry_context *context, spry_matrix **A, const char *spec,
                                 const spry_read_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !A ? "A" : !spec ? "spec" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    SPRYI_DEFAULT_FLOATS;
    spryi_generation g = {.context = context};
    spry_read_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    spry_status status = check_options(&o, err);
    if (strncmp(spec, "gen:", 4) == 0) spec += 4;
    if (status == SPRY_OK) status = parse(&g, spec, err);
    if (status != SPRY_OK) return status;
    spryi_memory_limit limit;
    spryi_begin_memory_limit(&limit, o.memory_limit_bytes);
    status = spryi_end_memory_limit(&limit, generate(&g, A, &o, err), err);
    if (status == SPRY_OK) fill_source(*A);
    return status;
}
