/* Rates of classes of devices in tuning tables: reading and writing. */
#include "catalogue/catalogue.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/tuning.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {"class", "title", "fitted", "number", "rate"};

int spryi_tuning_is_of_class(const spryi_tuning_line *l)
{
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (strcmp(l->words[0], words[n]) == 0) return 1;
    return 0;
}

/* Of the library's classes, and as the library knows them: devices have no others. */
static spry_status check_class(const spryi_tuning_line *l, spry_error *err)
{
    const spryi_device_class *known = spryi_device_class_named(l->words[1]);
    char names[160] = "";
    size_t used = 0;
    if (known && strcmp(known->driver, l->words[2]) == 0) return SPRY_OK;
    if (known)
        return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "class %s is of %s, not of %s", known->name,
                               known->driver, l->words[2]);
    for (int n = 0; spryi_device_class_at(n) && used < sizeof names; n++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", n > 0 ? ", " : "",
                                 spryi_device_class_at(n)->name);
    return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number, "no device has the class \"%s\", expected one of %s",
                           l->words[1], names);
}

static spry_status begin_class(spry_context *context, spryi_tuning_classes *classes, const spryi_tuning_line *l,
                               spry_error *err)
{
    spryi_own_class *own = NULL;
    const int fits = l->count == 3 && strlen(l->words[1]) < sizeof own->name &&
                     strlen(l->words[2]) < sizeof own->driver;
    if (!fits || (strcmp(l->words[2], "cpu") != 0 && strcmp(l->words[2], "cuda") != 0))
        return spryi_tuning_wrong(l, "\"class NAME cpu\" or \"class NAME cuda\", a name of at most 31 characters", err);
    SPRYI_OK_OR_RETURN(check_class(l, err));
    for (int n = 0; n < classes->count; n++)
        if (strcmp(classes->list[n]->name, l->words[1]) == 0) return spryi_tuning_wrong(l, "each class once", err);
    if (classes->count == SPRYI_MOST_OWN_CLASSES) return spryi_tuning_wrong(l, "at most 8 classes", err);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &own, 1, "a table of rates", err));
    memset(own, 0, sizeof *own);
    memcpy(own->name, l->words[1], strlen(l->words[1]));
    memcpy(own->driver, l->words[2], strlen(l->words[2]));
    own->c = (spryi_device_class){.name = own->name,
                                  .title = own->title,
                                  .fitted = own->fitted,
                                  .driver = own->driver,
                                  .rates = own->rates};
    classes->list[classes->count++] = own;
    return SPRY_OK;
}

static spry_status take_text(char *to, size_t size, const spryi_tuning_line *l, spry_error *err)
{
    if (strlen(l->rest) >= size) return spryi_tuning_wrong(l, "a shorter text", err);
    memcpy(to, l->rest, strlen(l->rest) + 1);
    return SPRY_OK;
}

static const spryi_rate_name *name_of(const spryi_rate_name *names, const char *word)
{
    while (names->name && strcmp(names->name, word) != 0) names++;
    return names->name ? names : NULL;
}

static spry_status take_number(void *to, const spryi_rate_name *name, const char *word, const spryi_tuning_line *l,
                               spry_error *err)
{
    if (!spryi_tuning_number(word, name->least, SPRYI_MOST_RATE, spryi_rate(to, name)))
        return spryi_tuning_wrong(l, name->least > 0 ? "a number from 1 to 1e15" : "a number from 0 to 1e15", err);
    return SPRY_OK;
}

/* The rates of "csr" or "csr:csr_vector_cuda", new ones where there are none yet; NULL: no such format or kernel. */
static spryi_format_rates *rates_of(spryi_own_class *own, const char *word)
{
    const char *colon = strchr(word, ':');
    const spryi_kernel *kernel = colon ? spryi_find_kernel(colon + 1) : NULL;
    const spryi_format *format = spryi_find_format(kernel ? kernel->format : word);
    const size_t length = colon ? (size_t)(colon - word) : strlen(word);
    if (!format || strlen(format->name) != length || strncmp(format->name, word, length) != 0 || (colon && !kernel) ||
        (kernel && strcmp(kernel->device, own->driver) != 0))
        return NULL;
    for (int r = 0; r < own->c.formats; r++)
        if (own->rates[r].format == format->name && own->rates[r].kernel == (kernel ? kernel->name : NULL))
            return &own->rates[r];
    if (own->c.formats == SPRYI_MOST_RATES) return NULL;
    spryi_format_rates *rates = &own->rates[own->c.formats++];
    rates->format = format->name;
    rates->kernel = kernel ? kernel->name : NULL;
    return rates;
}

static spry_status take_rate(spryi_own_class *own, const spryi_tuning_line *l, spry_error *err)
{
    const spryi_rate_name *name = l->count == 4 ? name_of(spryi_rate_names, l->words[2]) : NULL;
    if (!name) return spryi_tuning_wrong(l, "\"rate FORMAT NAME NUMBER\" with a rate's name", err);
    spryi_format_rates *rates = rates_of(own, l->words[1]);
    if (!rates) return spryi_tuning_wrong(l, "a format, or a format and its kernel as csr:csr_vector_cuda", err);
    return take_number(rates, name, l->words[3], l, err);
}

spry_status spryi_tuning_take_class(spry_context *context, spryi_tuning_classes *classes, const spryi_tuning_line *l,
                                    spry_error *err)
{
    if (strcmp(l->words[0], "class") == 0) return begin_class(context, classes, l, err);
    if (classes->count == 0) return spryi_tuning_wrong(l, "a class before what is said of it", err);
    spryi_own_class *own = classes->list[classes->count - 1];
    if (strcmp(l->words[0], "title") == 0) return take_text(own->title, sizeof own->title, l, err);
    if (strcmp(l->words[0], "fitted") == 0) return take_text(own->fitted, sizeof own->fitted, l, err);
    if (strcmp(l->words[0], "rate") == 0) return take_rate(own, l, err);
    const spryi_rate_name *name = l->count == 3 ? name_of(spryi_class_names, l->words[1]) : NULL;
    if (!name) return spryi_tuning_wrong(l, "\"number cache_bytes|most_memory|copy|faster_memory NUMBER\"", err);
    return take_number(&own->c, name, l->words[2], l, err);
}

spry_status spryi_tuning_check_classes(const spryi_tuning_classes *classes, const spryi_tuning_line *l, spry_error *err)
{
    for (int n = 0; n < classes->count; n++) {
        const spryi_device_class *c = &classes->list[n]->c;
        int complete = c->formats > 0 && strcmp(c->rates[0].format, "csr") == 0 && c->cache_bytes > 0 &&
                       c->most_memory > 0;
        for (int r = 0; r < c->formats; r++)
            complete &= c->rates[r].sharp >= 1 && c->rates[r].cached >= 1 && c->rates[r].memory >= 1;
        if (!complete)
            return spryi_fail_file(err, SPRY_BAD_FILE, l->path, l->number,
                                   "the table ends, and class %s lacks cache_bytes, most_memory, rates of csr first, "
                                   "or sharp, cached or memory of a format",
                                   c->name);
    }
    return SPRY_OK;
}
