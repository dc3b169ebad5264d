/*
 * The library's tables of rates, one for each class of devices. Each table was fitted by `spry tune` to times of one
 * machine, which `fitted` names. The rows of a table are in the families (<family>_work.c).
 */
#include "choose/rates.h"

#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/state.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Classes, with the names of their tables in spryi_rates_row. Both Hopper GPUs have the same processor and table. */
static struct {
    const char *table;
    spryi_device_class c;
} classes[] = {
    /* clang-format off */
    /* table, name, title, fitted, driver, cache_bytes, most_memory, copy, faster_memory; then rates and their number */
    {"hopper", {"h200", "NVIDIA H200", "to an NVIDIA H100, 2026-11-25, with the H200's memory",
                "cuda", 62.9e6, 1e9, 4.13e6, 1.41, NULL, 0}},
    {"hopper", {"h100", "NVIDIA H100", "to an NVIDIA H100, 2026-11-25", "cuda", 52.4e6, 1e9, 2.92e6, 0, NULL, 0}},
    {"avx512", {"avx512", "Intel processors with AVX-512",
                "to two threads of an Intel Xeon (Sapphire Rapids), 2026-11-25", "cpu", 2.4e7, 2.4e5, 0, 0, NULL, 0}},
    {"avx2", {"avx2", "Intel processors with AVX2 or less",
              "to one thread of an Intel Xeon without AVX-512, 2026-11-27", "cpu", 2.4e7, 2.4e5, 0, 0, NULL, 0}},
    {"avx512-amd", {"avx512-amd", "AMD processors with AVX-512",
                    "to two threads of an AMD EPYC (Zen 4), 2026-11-25", "cpu", 1.6e7, 1e5, 0, 0, NULL, 0}},
    {"avx2-amd", {"avx2-amd", "AMD processors with AVX2 or less",
                  "to two threads of an AMD EPYC (Zen 3), 2026-11-30", "cpu", 1.6e7, 1e5, 0, 0, NULL, 0}},
    /* clang-format on */
};
enum { CLASSES = sizeof classes / sizeof *classes };

static spryi_format_rates tables[CLASSES][SPRYI_MOST_RATES];
static pthread_once_t collected = PTHREAD_ONCE_INIT;

/* Collects the rows of each table from the families. */
static void collect_rates(void)
{
    for (int n = 0; n < CLASSES; n++) {
        spryi_device_class *c = &classes[n].c;
        c->rates = tables[n];
        for (int f = 0; spryi_estimated_at(f); f++)
            for (const spryi_rates_row *row = spryi_estimated_at(f)->choice.estimator->rates; row->table; row++)
                if (strcmp(row->table, classes[n].table) == 0 && c->formats < SPRYI_MOST_RATES) {
                    tables[n][c->formats] = row->rates;
                    tables[n][c->formats++].format = spryi_estimated_at(f)->name;
                }
    }
}

const spryi_device_class *spryi_device_class_at(int n)
{
    (void)pthread_once(&collected, collect_rates);
    return n >= 0 && n < CLASSES ? &classes[n].c : NULL;
}

const spryi_device_class *spryi_device_class_named(const char *name)
{
    for (int n = 0; spryi_device_class_at(n); n++)
        if (strcmp(classes[n].c.name, name) == 0) return &classes[n].c;
    return NULL;
}

/* ---- rates by name ---------------------------------------------------------------------------------------- */

#define RATE(name, member, least)                                                                                      \
    {                                                                                                                  \
#name, offsetof(spryi_format_rates, member), least                                                             \
    }

const spryi_rate_name spryi_rate_names[] = {
    RATE(launch, launch, 0),
    RATE(sharp, sharp, 1),
    RATE(cached, cached, 1),
    RATE(memory, memory, 1),
    RATE(gather, gather, 0),
    RATE(near, near, 0),
    RATE(far, far, 0),
    RATE(step, step, 0),
    RATE(slice, slice, 0),
    RATE(block, block, 0),
    RATE(ragged, ragged, 0),
    RATE(column, column, 0),
    RATE(chain, chain, 0),
    RATE(uneven, shares.uneven, 0),
    RATE(holes, shares.holes, 0),
    RATE(longest, shares.longest, 0),
    RATE(heaviest, shares.heaviest, 0),
    RATE(ahead, shares.ahead, 0),
    RATE(setup, setup.us, 0),
    RATE(setup_entry, setup.entry, 0),
    RATE(setup_row, setup.row, 0),
    RATE(setup_value, setup.value, 0),
    {NULL, 0, 0},
};

#undef RATE
#define RATE(field, least)                                                                                             \
    {                                                                                                                  \
#field, offsetof(spryi_device_class, field), least                                                             \
    }

const spryi_rate_name spryi_class_names[] = {
    RATE(cache_bytes, 1), RATE(most_memory, 1), RATE(copy, 0), RATE(faster_memory, 0), {NULL, 0, 0},
};

static void copy_text(char *to, size_t size, const char *from)
{
    const size_t length = strlen(from) < size ? strlen(from) : size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

void spryi_copy_class(spryi_own_class *own, const spryi_device_class *c)
{
    *own = (spryi_own_class){.c = *c};
    memcpy(own->rates, c->rates, (size_t)c->formats * sizeof *own->rates);
    copy_text(own->name, sizeof own->name, c->name);
    copy_text(own->title, sizeof own->title, c->title);
    copy_text(own->fitted, sizeof own->fitted, c->fitted);
    copy_text(own->driver, sizeof own->driver, c->driver);
    own->c.name = own->name;
    own->c.title = own->title;
    own->c.fitted = own->fitted;
    own->c.driver = own->driver;
    own->c.rates = own->rates;
}

/* ---- classes of a context ----------------------------------------------------------------------------------- */

static int place_of(const spryi_choose_state *state, const char *name)
{
    int at = 0;
    while (at < state->class_count && strcmp(state->classes[at]->name, name) != 0) at++;
    return at;
}

spry_status spryi_context_adopt_classes(spry_context *context, spryi_own_class *const *classes, int count,
                                        spry_error *err)
{
    spryi_choose_state *state = NULL;
    SPRYI_OK_OR_RETURN(spryi_choose_state_get(context, &state, err));
    int in_all = state->class_count;
    for (int n = 0; n < count; n++) in_all += place_of(state, classes[n]->name) == state->class_count;
    if (in_all > SPRYI_MOST_OWN_CLASSES)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "classes", in_all, SPRYI_MOST_OWN_CLASSES,
                                "a context holds at most %d tables of rates", SPRYI_MOST_OWN_CLASSES);
    for (int n = 0; n < count; n++) {
        const int at = place_of(state, classes[n]->name);
        if (at < state->class_count)
            spryi_release(context, (void *)(uintptr_t)state->classes[at]); /* first member of a spryi_own_class */
        else
            state->class_count++;
        state->classes[at] = &classes[n]->c;
    }
    return SPRY_OK;
}

const spryi_device_class *spryi_class_named(const spry_context *context, const char *name)
{
    const spryi_choose_state *state = spryi_choose_state_of(context);
    const spryi_device_class *ours = spryi_device_class_named(name);
    for (int n = 0; state && n < state->class_count; n++) {
        const spryi_device_class *own = state->classes[n];
        if (strcmp(own->name, name) == 0 && (!ours || strcmp(own->driver, ours->driver) == 0)) return own;
    }
    return ours;
}

spryi_name_list spryi_list_classes(void)
{
    spryi_name_list names = {""};
    size_t used = 0;
    for (int n = 0; spryi_device_class_at(n) && used < sizeof names.text; n++)
        used += (size_t)snprintf(names.text + used, sizeof names.text - used, "%s%s", n > 0 ? ", " : "",
                                 spryi_device_class_at(n)->name);
    return names;
}

spry_status spryi_find_class(const spry_context *context, const spryi_device_class **found, const char *name,
                             spry_error *err)
{
    *found = spryi_class_named(context, name);
    if (*found) return SPRY_OK;
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "device_class", "no device class \"%s\", expected one of %s", name,
                      spryi_list_classes().text);
}
