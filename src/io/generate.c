/* Generators by name, and the specification "NAME,key=value,..." */
#include "generate/generator.h"
#include "spry/io.h"
#include "spry/tools.h"

#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "io/decimal.h"
#include "io/readers.h"

#include <stdio.h>
#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct key_rule {
    const char *name;
    int64_t first, last; /* of whole numbers */
    double low, high;    /* of real ones */
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
    [SPRYI_KEY_SHUFFLE] = {"shuffle", 0, INT64_MAX, 0, 0}, /* seed of the shuffling; 0: none */
    [SPRYI_KEY_ENTRIES] = {"entries", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_LONGEST] = {"longest", 0, INT32_MAX, 0, 0},
    [SPRYI_KEY_SYMMETRY] = {"symmetry", 0, 100, 0, 0},
    [SPRYI_KEY_DIAGONAL] = {"diagonal", 0, 1, 0, 0},
    [SPRYI_KEY_ORDER] = {"order", 0, 0, 0, 0},
    [SPRYI_KEY_KIND] = {"kind", 0, 0, 0, 0},
    [SPRYI_KEY_AX] = {"ax", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_AY] = {"ay", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_AZ] = {"az", 0, 0, 1e-30, 1e30},
    [SPRYI_KEY_DENSITY] = {"density", 0, 0, 0, 1},
};

static const char *const orders[] = {"natural", "degree", NULL};

/* A piece of the specification. */
typedef struct text {
    const char *start;
    size_t length;
} text;

static int text_is(text t, const char *word)
{
    return strlen(word) == t.length && memcmp(t.start, word, t.length) == 0;
}

/* Cuts what is before the first `mark`, or all, off *rest. */
static text cut(text *rest, char mark)
{
    const char *found = rest->length > 0 ? memchr(rest->start, mark, rest->length) : NULL;
    text head = {rest->start, found ? (size_t)(found - rest->start) : rest->length};
    size_t used = head.length + (found != NULL);
    rest->start += used;
    rest->length -= used;
    return head;
}

/* How much of a piece a message shows. */
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

/* Sets what "key=value,..." says; *seen gets a bit for each key. Only keys in `legal` may occur. */
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
    const char *parameters = g->generator->info.parameters;
    unsigned legal = 0, seen = 0;
    SPRYI_OK_OR_RETURN(set_keys(g, (text){parameters, strlen(parameters)}, ~0u, &legal, err));
    if (by_degree && !(legal >> SPRYI_KEY_ORDER & 1))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "order", "gen:%s has no order, so no ':d'",
                          g->generator->info.name);
    if (by_degree) g->n[SPRYI_KEY_ORDER] = 1;
    return set_keys(g, rest, legal, &seen, err);
}

int spry_generator_count(void)
{
    int count = 0;
    while (spryi_generator_at(count)) count++;
    return count;
}

spry_status spry_generator_get_info(spry_generator_info *info, int index, spry_error *err)
{
    if (!info) return spryi_fail_missing(err, "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const int last = spry_generator_count() - 1;
    if (index < 0 || index > last)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, last,
                                "generator: index is %d, expected 0 to %d", index, last);
    SPRYI_GIVE(info, &spryi_generator_at(index)->info);
    return SPRY_OK;
}

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

static void tell_source(spry_matrix *A)
{
    A->index_base = 1;
    A->source = (spryi_source){.kind = SPRYI_GENERATED,
                               .rows = A->a.rows,
                               .cols = A->a.cols,
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
    status = spryi_end_memory_limit(&limit, spryi_generate(&g, A, &o, err), err);
    if (status == SPRY_OK) tell_source(*A);
    return status;
}
