/* Names of formats and kernels with parameters: "sell:c=16:sigma=4096", "csr_vector_cuda:lanes=32". */
#include "catalogue/catalogue.h"

#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What has parameters, a format or a kernel. */
typedef struct owner {
    const char *kind, *name; /* "format", "sell" */
    const spryi_parameter *parameters;
    const char *const *const *words; /* SPRYI_PARAMETERS lists */
} owner;

/* "c, sigma" of its parameters, for messages. */
static void list_parameters(char *text, size_t size, const owner *of)
{
    snprintf(text, size, "%s", of->parameters ? "" : "none");
    for (const spryi_parameter *p = of->parameters; p && p->name; p++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", p->name);
    }
}

/* The number of a word of `length` bytes; 0: none of the list. */
static int64_t number_of_word(const char *const *words, const char *text, size_t length)
{
    for (int w = 0; words[w]; w++)
        if (strlen(words[w]) == length && memcmp(words[w], text, length) == 0) return w + 1;
    return 0;
}

/* One "key=value" of `length` bytes. */
static spry_status parse_parameter(const owner *of, int64_t *parameters, const char *text, size_t length,
                                   spry_error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    int slot = 0;
    const spryi_parameter *p = of->parameters;
    for (; p && p->name; p++, slot++)
        if (strlen(p->name) == name_length && memcmp(p->name, text, name_length) == 0) break;
    if (!p || !p->name) {
        char known[96];
        list_parameters(known, sizeof known, of);
        return spryi_fail(err, SPRY_UNKNOWN_NAME, of->kind, "%s %s has no parameter \"%.*s\", expected %s", of->kind,
                          of->name, (int)name_length, text, known);
    }
    if (parameters[slot] != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, of->kind, "%s %s: %s is given twice", of->kind, of->name,
                          p->name);
    const char *const *words = of->words[slot];
    if (words) {
        parameters[slot] = equals ? number_of_word(words, equals + 1, length - name_length - 1) : 0;
        if (parameters[slot] > 0) return SPRY_OK;
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, of->kind, "%s %s: \"%.*s\", expected %s=WORD (%s)", of->kind,
                          of->name, (int)length, text, p->name, p->text);
    }
    char *end = NULL;
    if (equals && (equals[1] < '0' || equals[1] > '9')) equals = NULL; /* no sign and no blank */
    errno = 0;
    long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end != text + length || end == equals + 1 || errno || value < p->least || value > p->most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, of->kind, value, p->most,
                                "%s %s: \"%.*s\", expected %s=NUMBER from %lld to %lld (%s)", of->kind, of->name,
                                (int)length, text, p->name, (long long)p->least, (long long)p->most, p->text);
    parameters[slot] = value == 0 ? SPRYI_GIVEN_ZERO : value;
    return SPRY_OK;
}

/* ":key=value..." to the numbers of all parameters. */
static spry_status parse_parameters(const owner *of, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                                    spry_error *err)
{
    int64_t values[SPRYI_PARAMETERS] = {0};
    for (const char *next = text; *next == ':';) {
        next++;
        const size_t length = strcspn(next, ":");
        SPRYI_OK_OR_RETURN(parse_parameter(of, values, next, length, err));
        next += length;
    }
    memcpy(parameters, values, sizeof values);
    return SPRY_OK;
}

/* SPRY_UNKNOWN_NAME: lists the formats, and names the one whose name is the text's in lower case. */
static spry_status fail_unknown_format(const char *text, size_t length, spry_error *err)
{
    char known[256] = "auto", same[64] = "";
    for (int f = 0; spryi_format_at(f); f++) {
        const char *name = spryi_format_at(f)->name;
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", name);
        if (strlen(name) == length && strncasecmp(name, text, length) == 0)
            snprintf(same, sizeof same, "; names are in lower case: \"%s\"", name);
    }
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "format", "no format \"%.*s\" is known, expected one of %s%s",
                      (int)(length < 64 ? length : 64), text, known, same);
}

spry_status spryi_parse_format(const spryi_format **format, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err)
{
    char name[32];
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), text);
    const spryi_format *found = spryi_find_format(name);
    if (!found && length == 4 && memcmp(text, "auto", 4) == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "auto is a plan's choice of a format, without parameters; expected the name of a format");
    if (!found) return fail_unknown_format(text, length, err);
    const owner of = {"format", found->name, found->parameters, found->parameter_words};
    SPRYI_OK_OR_RETURN(parse_parameters(&of, parameters, text + length, err));
    *format = found;
    return SPRY_OK;
}

spry_status spryi_parse_kernel(const spryi_kernel **kernel, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err)
{
    const size_t length = strcspn(text, ":");
    const spryi_kernel *found = spryi_find_kernel(text);
    if (strlen(text) - length > SPRYI_MOST_PARAMETER_TEXT)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %.40s...: over %d bytes of parameters", text,
                          SPRYI_MOST_PARAMETER_TEXT);
    if (!found)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "kernel",
                          "no kernel \"%.*s\" is known" SPRYI_STUDIES_MISSING("kernels"), (int)length, text);
    const owner of = {"kernel", found->name, found->parameters, found->parameter_words};
    SPRYI_OK_OR_RETURN(parse_parameters(&of, parameters, text + length, err));
    *kernel = found;
    return SPRY_OK;
}

int spryi_is_stored_as(const spryi_stored *stored, const char *format)
{
    const spryi_format *named = NULL;
    int64_t parameters[SPRYI_PARAMETERS];
    if (spryi_parse_format(&named, parameters, format, NULL) != SPRY_OK || named != stored->format) return 0;
    for (int p = 0; p < SPRYI_PARAMETERS; p++)
        if (parameters[p] != 0 && parameters[p] != stored->parameters[p]) return 0;
    return 1;
}
