#include "core/rates.h"

#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <stddef.h>
#include <string.h>

#define RATE(field, least)                                                                                             \
    {                                                                                                                  \
#field, offsetof(spryi_format_rates, field), least                                                             \
    }

const spryi_rate_name spryi_rate_names[] = {
    RATE(launch, 0), RATE(sharp, 1),       RATE(cached, 1),    RATE(memory, 1),      RATE(gather, 0),   RATE(near, 0),
    RATE(far, 0),    RATE(step, 0),        RATE(slice, 0),     RATE(block, 0),       RATE(ragged, 0),   RATE(column, 0),
    RATE(chain, 0),  RATE(uneven, 0),      RATE(holes, 0),     RATE(longest, 0),     RATE(heaviest, 0), RATE(ahead, 0),
    RATE(setup, 0),  RATE(setup_entry, 0), RATE(setup_row, 0), RATE(setup_value, 0), {NULL, 0, 0},
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

static int place_of(const spry_context *context, const char *name)
{
    int at = 0;
    while (at < context->class_count && strcmp(context->classes[at]->name, name) != 0) at++;
    return at;
}

spry_status spryi_context_adopt_classes(spry_context *context, spryi_own_class *const *classes, int count,
                                        spry_error *err)
{
    int in_all = context->class_count;
    for (int n = 0; n < count; n++) in_all += place_of(context, classes[n]->name) == context->class_count;
    if (in_all > SPRYI_MOST_OWN_CLASSES)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "classes", in_all, SPRYI_MOST_OWN_CLASSES,
                                "a context holds at most %d tables of rates", SPRYI_MOST_OWN_CLASSES);
    for (int n = 0; n < count; n++) {
        const int at = place_of(context, classes[n]->name);
        if (at < context->class_count)
            spryi_release(context, (void *)(uintptr_t)context->classes[at]); /* the struct's first member */
        else
            context->class_count++;
        context->classes[at] = &classes[n]->c;
    }
    return SPRY_OK;
}

void spryi_context_release_classes(spry_context *context)
{
    for (int n = 0; n < context->class_count; n++) spryi_release(context, (void *)(uintptr_t)context->classes[n]);
    context->class_count = 0;
}
