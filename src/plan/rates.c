/* Rates of classes of devices: fitting them to times, and telling them. */
#include "catalogue/catalogue.h"
#include "choose/fit.h"
#include "core/error.h"
#include "core/float_env.h"
#include "core/memory.h"
#include "plan/explanation.h"
#include "plan/plan.h"

#include <string.h>

/* ---- fitting -------------------------------------------------------------------------------------------- */

static spry_status find_class(const spry_context *context, const spryi_device_class **found, const char *name,
                              spry_error *err)
{
    *found = spryi_class_named(context, name);
    if (*found) return SPRY_OK;
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "device_class",
                      "no device class \"%s\"; spry_device_class_get_info lists them", name);
}

/* The row of the table that a kernel's times are of, or its format's; -1: there is none. */
static int row_of(const spryi_own_class *own, const spry_observation *o)
{
    int of_format = -1;
    for (int r = 0; r < own->c.formats; r++) {
        const spryi_format_rates *rates = &own->rates[r];
        if (strcmp(rates->format, o->format) != 0) continue;
        if (rates->kernel && o->kernel && strcmp(rates->kernel, o->kernel) == 0) return r;
        if (!rates->kernel) of_format = r;
    }
    return of_format;
}

static const double LEAST_US = 1e-3, MOST_US = 1e12;

/* 1: a kernel is named, but none of the format that is. */
static int has_wrong_kernel(const spry_observation *o)
{
    const spryi_kernel *kernel = o->kernel && o->kernel[0] ? spryi_find_kernel(o->kernel) : NULL;
    return o->kernel && o->kernel[0] && (!kernel || strcmp(kernel->format, o->format) != 0);
}

static spry_status check(const spry_observation *o, int64_t n, const spryi_own_class *own, const spry_context *context,
                         spry_error *err)
{
    if (o->struct_size != sizeof *o)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "struct_size", (int64_t)o->struct_size, sizeof *o,
                                "observation %lld has struct_size %zu, expected %zu: set it with SPRY_INIT",
                                (long long)n, o->struct_size, sizeof *o);
    const char *wrong = !o->explanation || !o->format        ? "has no explanation or no format"
                        : o->explanation->context != context ? "is of another context"
                        : strcmp(o->explanation->ranking.device->name, own->name) != 0
                            ? "is of another class of devices"
                        : o->explanation->ranking.count == 0 ? "is of a matrix without entries"
                        : has_wrong_kernel(o)                ? "names a kernel that is none of its format"
                        : row_of(own, o) < 0                 ? "is of a format without rates"
                        : !(o->time_us >= LEAST_US && o->time_us <= MOST_US)
                            ? "has a time that is no number of microseconds from 0.001 to 1e12"
                        : !(o->setup_us >= 0 && o->setup_us <= MOST_US)
                            ? "has a set-up that is no number of microseconds from 0 to 1e12"
                            : NULL;
    if (!wrong) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "observations", n, 0, "observation %lld %s", (long long)n,
                            wrong);
}

/* Observations with one explanation are a case; they may come in any order. */
static spryi_fit_case *case_of(spryi_fit_case *cases, int64_t *count, const spryi_ranking *ranking)
{
    const int on_cpu = spryi_class_is_cpu(ranking->device);
    for (int64_t i = *count - 1; i >= 0; i--)
        if (cases[i].features == &ranking->features) return &cases[i];
    cases[*count] = (spryi_fit_case){.features = &ranking->features, .threads = on_cpu ? ranking->threads : 1};
    return &cases[(*count)++];
}

static spry_status fit(spry_context *context, spryi_own_class *own, const spry_observation *observations, int64_t count,
                       spry_rates_fit_info *told, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_fit_case *cases = NULL;
    spryi_fit_result result = {0};
    int64_t n = 0;
    SPRYI_TRY(SPRYI_NEW(context, &cases, count, "cases of a fit", err));
    for (int64_t k = 0; k < count; k++) {
        const spry_observation *o = &observations[k];
        SPRYI_TRY(check(o, k, own, context, err));
        spryi_fit_case *c = case_of(cases, &n, &o->explanation->ranking);
        const int r = row_of(own, o);
        if (c->us[r] == 0 || o->time_us < c->us[r]) {
            c->us[r] = o->time_us;
            c->setup_us[r] = o->setup_us;
        }
    }
    SPRYI_TRY(spryi_fit(context, own, cases, n, &result, err));
    *told = (spry_rates_fit_info){.struct_size = sizeof *told,
                                  .cases = n,
                                  .error = result.error,
                                  .error_before = result.error_before,
                                  .loss = result.loss,
                                  .loss_before = result.loss_before,
                                  .worst_loss = result.worst,
                                  .worst_loss_before = result.worst_before};
done:
    spryi_release(context, cases);
    return status;
}

spry_status spry_rates_fit(spry_context *context, const char *device_class, const spry_observation *observations,
                           int64_t count, const char *fitted, spry_rates_fit_info *info, spry_error *err)
{
    const char *missing = !context        ? "context"
                          : !device_class ? "device_class"
                          : !observations ? "observations"
                          : !fitted       ? "fitted"
                                          : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    if (count < 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "count", count, 1, "count is %lld, expected 1 or more",
                                (long long)count);
    if (info) SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    SPRYI_DEFAULT_FLOATS;
    const spryi_device_class *start = NULL;
    spry_rates_fit_info told;
    spryi_own_class *own = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(find_class(context, &start, device_class, err));
    SPRYI_TRY(SPRYI_NEW(context, &own, 1, "a table of rates", err));
    spryi_copy_class(own, start);
    if (strlen(fitted) >= sizeof own->fitted) {
        status = spryi_fail(err, SPRY_INVALID_ARGUMENT, "fitted", "fitted is longer than %zu characters",
                            sizeof own->fitted - 1);
        goto done;
    }
    if (fitted[strcspn(fitted, "#\r\n")]) {
        status = spryi_fail(err, SPRY_INVALID_ARGUMENT, "fitted", "fitted has a # or more than one line");
        goto done;
    }
    memcpy(own->fitted, fitted, strlen(fitted) + 1);
    SPRYI_TRY(fit(context, own, observations, count, &told, err));
    SPRYI_TRY(spryi_context_adopt_classes(context, &own, 1, err));
    own = NULL;
    if (info) SPRYI_GIVE(info, &told);
done:
    spryi_release(context, own);
    return status;
}

/* ---- telling -------------------------------------------------------------------------------------------- */

typedef struct printed {
    char *text;
    int64_t size, length;
} printed;

static void print(printed *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(printed *p, const char *format, ...)
{
    char line[320];
    va_list list;
    va_start(list, format);
    const int length = spryi_write_list(line, sizeof line, format, list);
    va_end(list);
    if (p->length + length < p->size) memcpy(p->text + p->length, line, (size_t)length + 1);
    p->length += length;
}

static void print_class(printed *p, const spryi_device_class *c)
{
    print(p, "class %s %s\ntitle %s\nfitted %s\n", c->name, c->driver, c->title, c->fitted);
    for (const spryi_rate_name *n = spryi_class_names; n->name; n++)
        print(p, "number %s %.4g\n", n->name, *spryi_rate((void *)(uintptr_t)c, n));
    for (int r = 0; r < c->formats; r++)
        for (const spryi_rate_name *n = spryi_rate_names; n->name; n++) {
            const spryi_format_rates *rates = &c->rates[r];
            const double value = *spryi_rate((void *)(uintptr_t)rates, n);
            if (value == 0) continue;
            print(p, "rate %s%s%s %s %.4g\n", rates->format, rates->kernel ? ":" : "",
                  rates->kernel ? rates->kernel : "", n->name, value);
        }
}

spry_status spry_rates_print(const spry_context *context, const char *device_class, char *text, int64_t size,
                             int64_t *length, spry_error *err)
{
    const char *missing = !context ? "context" : !device_class ? "device_class" : !length ? "length" : NULL;
    if (missing || (!text && size > 0)) return spryi_fail_missing(err, missing ? missing : "text");
    const spryi_device_class *c = NULL;
    printed p = {.text = text, .size = size};
    SPRYI_OK_OR_RETURN(find_class(context, &c, device_class, err));
    print_class(&p, c);
    *length = p.length;
    if (p.length < size) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "size", size, p.length + 1, "the table takes %lld bytes, size is %lld",
                            (long long)p.length + 1, (long long)size);
}
