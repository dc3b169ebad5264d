/* The lists of formats, kernels and generators, and their public descriptions. */
#include "catalogue/catalogue.h"

#include "base/error.h"
#include "catalogue/families.h"
#include "core/estimate.h"
#include "device/drivers.h"
#include "generate/generator.h"
#include "spry/io.h"
#include "spry/tune.h"
#ifdef SPRY_STUDIES
#include "study/kernels/study_generators.h"
#endif

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FAMILY(name) &spryi_family_##name,
static const spryi_family *const families[] = {SPRYI_FAMILIES(FAMILY)};
enum { FAMILIES = sizeof families / sizeof *families };

/*
 * The formats and the kernels of all families and drivers. They are in two lists, since planning iterates them often.
 */
enum { MOST_FORMATS = 64, MOST_KERNELS = 512 };
static const spryi_format *formats[MOST_FORMATS];
static const spryi_kernel *kernels[MOST_KERNELS];
static const spryi_format *estimated[SPRYI_MOST_ESTIMATED];
static int format_count, kernel_count, estimated_count;
static pthread_once_t listed = PTHREAD_ONCE_INIT;

/* Adds the kernels of a list that ends with NULL or has `most` elements. */
static void add_kernels(const spryi_kernel *const *list, int most)
{
    for (int n = 0; n < most && list[n] && kernel_count < MOST_KERNELS; n++) kernels[kernel_count++] = list[n];
}

static void list_all(void)
{
    for (int f = 0; f < FAMILIES; f++) {
        const spryi_format *const *list = families[f]->formats;
        for (int n = 0; n < SPRYI_FAMILY_FORMATS && list[n] && format_count < MOST_FORMATS; n++)
            formats[format_count++] = list[n];
        add_kernels(families[f]->kernels, SPRYI_FAMILY_KERNELS);
    }
    for (int f = 0; f < format_count && estimated_count < SPRYI_MOST_ESTIMATED; f++)
        if (formats[f]->choice.estimator) estimated[estimated_count++] = formats[f];
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->kernels) add_kernels(spryi_drivers[d]->kernels, INT_MAX);
}

const spryi_format *spryi_format_at(int index)
{
    (void)pthread_once(&listed, list_all);
    return index >= 0 && index < format_count ? formats[index] : NULL;
}

const spryi_format *spryi_estimated_at(int index)
{
    (void)pthread_once(&listed, list_all);
    return index >= 0 && index < estimated_count ? estimated[index] : NULL;
}

int spryi_estimated_index(const char *format)
{
    for (int n = 0; spryi_estimated_at(n); n++)
        if (strcmp(estimated[n]->name, format) == 0) return n;
    return -1;
}

const spryi_kernel *spryi_kernel_at(int index)
{
    (void)pthread_once(&listed, list_all);
    return index >= 0 && index < kernel_count ? kernels[index] : NULL;
}

const spryi_format *spryi_find_format(const char *name)
{
    int f = 0;
    while (spryi_format_at(f) && strcmp(spryi_format_at(f)->name, name) != 0) f++;
    return spryi_format_at(f);
}

const spryi_kernel *spryi_find_kernel(const char *name)
{
    const size_t length = strcspn(name, ":");
    int k = 0;
    while (spryi_kernel_at(k) &&
           (strncmp(spryi_kernel_at(k)->name, name, length) != 0 || spryi_kernel_at(k)->name[length] != '\0'))
        k++;
    return spryi_kernel_at(k);
}

static bool offers(const spryi_kernel *kernel, unsigned operations)
{
    unsigned has = kernel->operations;
    if (kernel->spmv) has |= SPRYI_OP_SPMV;
    if (kernel->spmv_t) has |= SPRYI_OP_SPMV_T;
    if (kernel->spgemm) has |= SPRYI_OP_SPGEMM;
    return (has & operations) != 0;
}

int spryi_count_kernels(unsigned operations, const char *format)
{
    int count = 0;
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        count += offers(kernel, operations) && (!format || strcmp(kernel->format, format) == 0);
    return count;
}

bool spryi_has_pattern_kernel(const spryi_format *format)
{
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        if (kernel->pattern && offers(kernel, SPRYI_OP_VECTOR) && strcmp(kernel->format, format->name) == 0)
            return true;
    return false;
}

bool spryi_kernel_takes(const spryi_kernel *kernel, unsigned operation, int row)
{
    if (!offers(kernel, operation)) return false;
    if (kernel->operations) return row <= spryi_row_before_mixed || (kernel->mixed & operation) != 0;
    const spryi_run_table *table = operation == SPRYI_OP_SPMV_T ? kernel->spmv_t : kernel->spmv;
    return (*table)[row][0] != NULL;
}

spry_status spryi_check_stores(const spryi_format *format, spry_type stored, spry_error *err)
{
    const int row = stored == SPRY_PATTERN ? 0 : spryi_stored_row(stored);
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        if (strcmp(kernel->format, format->name) == 0 &&
            (spryi_kernel_takes(kernel, SPRYI_OP_SPMV, row) || spryi_kernel_takes(kernel, SPRYI_OP_SPMV_T, row)))
            return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNSUPPORTED, "format", stored, 0, "format %s has no kernel for %s values",
                            format->name, spry_type_name(stored));
}

/* Returns the types of a kernel as in spry_kernel_info. The text is constant. */
static const char *types_of(const spryi_kernel *kernel)
{
#define TYPES(tag, stored, vector, compute, argument) " " #stored ":" #vector
#define MIXED_TYPES SPRYI_MIXED_ROWS(TYPES, 0)
    const bool mixed = spryi_kernel_takes(kernel, SPRYI_OP_SPMV, spryi_row_before_mixed + 1) ||
                       spryi_kernel_takes(kernel, SPRYI_OP_SPMV_T, spryi_row_before_mixed + 1);
    if (kernel->pattern) return mixed ? "f32 f64" MIXED_TYPES " pattern" : "f32 f64 pattern";
    return mixed ? "f32 f64" MIXED_TYPES : "f32 f64";
}

bool spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason)
{
    const spryi_device *device = spryi_device_of_kind(context, kernel->device);
    spryi_kernel_functions functions;
    *reason = device->reason;
    return device->ops && device->ops->find_kernel(device, kernel, &functions, reason);
}

/* ---- public functions -------------------------------------------------------------------------------- */

spry_status spry_format_get_info(spry_format_info *info, int index, spry_error *err)
{
    if (!info) return spryi_fail_missing(err, "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_format *format = spryi_format_at(index);
    if (!format) return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, 0, "format %d does not exist", index);
    const spry_format_info description = {
        .struct_size = sizeof description,
        .name = format->name,
        .title = format->title,
        .storage = format->formula,
        .best_for = format->best_for,
        .parameters = format->parameters.text ? format->parameters.text : "",
        .kernels = spryi_count_kernels(SPRYI_OP_VECTOR, format->name),
    };
    SPRYI_GIVE(info, &description);
    return SPRY_OK;
}

/* Returns the operations of a kernel as in spry_kernel_info. The text is constant. */
static const char *operations_of(const spryi_kernel *kernel)
{
    if (offers(kernel, SPRYI_OP_SPGEMM)) return "spgemm";
    if (!offers(kernel, SPRYI_OP_SPMV_T)) return "spmv";
    return offers(kernel, SPRYI_OP_SPMV) ? "spmv spmv_t" : "spmv_t";
}

/*
 * Returns kernel `index` of the kernels that have one of the operations. If the operation is SpGEMM, the kernels are
 * counted device by device.
 */
static const spryi_kernel *kernel_with(unsigned operations, int index)
{
    const spryi_kernel *kernel;
    for (int k = 0; operations == SPRYI_OP_VECTOR && (kernel = spryi_kernel_at(k)); k++)
        if (offers(kernel, operations) && index-- == 0) return kernel;
    for (int d = 0; operations == SPRYI_OP_SPGEMM && d < spryi_driver_count; d++)
        for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
            if (offers(kernel, operations) && spryi_driver_named(kernel->device) == spryi_drivers[d] && index-- == 0)
                return kernel;
    return NULL;
}

spry_status spry_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index, spry_error *err)
{
    if (!context || !info) return spryi_fail_missing(err, !context ? "context" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const int vectors = spryi_count_kernels(SPRYI_OP_VECTOR, NULL);
    const spryi_kernel *kernel = index < vectors ? kernel_with(SPRYI_OP_VECTOR, index)
                                                 : kernel_with(SPRYI_OP_SPGEMM, index - vectors);
    if (!kernel) return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, 0, "kernel %d does not exist", index);
    const char *reason;
    const bool available = spryi_kernel_available(context, kernel, &reason);
    const spry_kernel_info description = {
        .struct_size = sizeof description,
        .name = kernel->name,
        .format = kernel->format,
        .device_kind = kernel->device,
        .operations = operations_of(kernel),
        .types = types_of(kernel),
        .indices = spryi_driver_named(kernel->device)->indices,
        .deterministic = !kernel->nondeterministic,
        .available = available,
        .reason = reason,
        .idea = kernel->idea,
        .source = kernel->source,
        .is_study = kernel->study,
        .parameters = kernel->parameters.text ? kernel->parameters.text : "",
    };
    SPRYI_GIVE(info, &description);
    return SPRY_OK;
}

/* ---- names with parameters: "sell:c=16:sigma=4096", "csr_vector_cuda:lanes=32" ------------------------- */

/* A format or a kernel that has parameters. */
typedef struct owner {
    const char *kind, *name; /* "format", "sell" */
    const spryi_parameters *parameters;
} owner;

/* Writes the names of the parameters, "c, sigma", for messages. */
static void list_parameters(char *text, size_t size, const owner *of)
{
    snprintf(text, size, "%s", of->parameters->list ? "" : "none");
    for (const spryi_parameter *p = of->parameters->list; p && p->name; p++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", p->name);
    }
}

/* Returns the position of `text`, a word of `length` bytes, in the list `words`, counted from 1; 0: not in the list. */
static int64_t number_of_word(const char *const *words, const char *text, size_t length)
{
    for (int w = 0; words[w]; w++)
        if (strlen(words[w]) == length && memcmp(words[w], text, length) == 0) return w + 1;
    return 0;
}

/* Writes the words of a parameter, "mean|longest", for messages. */
static void list_words(char *text, size_t size, const char *const *words)
{
    size_t used = 0;
    for (int w = 0; words[w] && used < size; w++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", w > 0 ? "|" : "", words[w]);
}

/* Parses one "key=value" of `length` bytes. */
static spry_status parse_parameter(const owner *of, int64_t *parameters, const char *text, size_t length,
                                   spry_error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    int slot = 0;
    const spryi_parameter *p = of->parameters->list;
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
    const char *const *words = of->parameters->words[slot];
    if (words) {
        parameters[slot] = equals ? number_of_word(words, equals + 1, length - name_length - 1) : 0;
        if (parameters[slot] > 0) return SPRY_OK;
        char known[96] = "";
        list_words(known, sizeof known, words);
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, of->kind, "%s %s: \"%.*s\", expected %s=%s (%s)", of->kind,
                          of->name, (int)length, text, p->name, known, p->text);
    }
    char *end = NULL;
    if (equals && (equals[1] < '0' || equals[1] > '9')) equals = NULL; /* refuse signs and blanks */
    errno = 0;
    long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end != text + length || end == equals + 1 || errno || value < p->least || value > p->most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, of->kind, value, p->most,
                                "%s %s: \"%.*s\", expected %s=NUMBER from %lld to %lld (%s)", of->kind, of->name,
                                (int)length, text, p->name, (long long)p->least, (long long)p->most, p->text);
    parameters[slot] = value == 0 ? SPRYI_GIVEN_ZERO : value;
    return SPRY_OK;
}

/* Parses ":key=value..." to the values of all parameters. */
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

/* Returns SPRY_UNKNOWN_NAME. The message lists the formats and suggests a name that equals text except for case. */
static spry_status fail_unknown_format(const char *text, size_t length, spry_error *err)
{
    char known[256] = "auto", suggestion[64] = "";
    for (int f = 0; spryi_format_at(f); f++) {
        const char *name = spryi_format_at(f)->name;
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", name);
        if (strlen(name) == length && strncasecmp(name, text, length) == 0)
            snprintf(suggestion, sizeof suggestion, "; names are in lower case: \"%s\"", name);
    }
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "format", "no format \"%.*s\" is known, expected one of %s%s",
                      (int)(length < 64 ? length : 64), text, known, suggestion);
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
    const owner of = {"format", found->name, &found->parameters};
    SPRYI_OK_OR_RETURN(parse_parameters(&of, parameters, text + length, err));
    *format = found;
    return SPRY_OK;
}

/*
 * Returns SPRY_UNKNOWN_NAME. The message lists the kernels that have the operation, as many as fit. It does not list
 * kernels of studies.
 */
static spry_status fail_unknown_kernel(const char *text, size_t length, unsigned operation, spry_error *err)
{
    enum { ROOM = 64 };
    char known[320] = "";
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = kernel_with(operation & SPRYI_OP_VECTOR ? SPRYI_OP_VECTOR : operation, k)); k++) {
        const size_t used = strlen(known);
        if (kernel->study) continue;
        if (used + ROOM > sizeof known) {
            snprintf(known + used, sizeof known - used, ", ...");
            break;
        }
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", kernel->name);
    }
    return spryi_fail(err, SPRY_UNKNOWN_NAME, "kernel",
                      "no kernel \"%.*s\" is known, expected one of %s" SPRYI_STUDIES_MISSING("kernels"),
                      (int)(length < 64 ? length : 64), text, known);
}

spry_status spryi_parse_kernel(const spryi_kernel **kernel, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               unsigned operation, spry_error *err)
{
    const size_t length = strcspn(text, ":");
    const spryi_kernel *found = spryi_find_kernel(text);
    if (strlen(text) - length > SPRYI_MOST_PARAMETER_TEXT)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %.40s...: over %d bytes of parameters", text,
                          SPRYI_MOST_PARAMETER_TEXT);
    if (!found) return fail_unknown_kernel(text, length, operation, err);
    const owner of = {"kernel", found->name, &found->parameters};
    SPRYI_OK_OR_RETURN(parse_parameters(&of, parameters, text + length, err));
    *kernel = found;
    return SPRY_OK;
}

bool spryi_is_stored_as(const spryi_stored *stored, const char *format)
{
    const spryi_format *named = NULL;
    int64_t parameters[SPRYI_PARAMETERS];
    if (spryi_parse_format(&named, parameters, format, NULL) != SPRY_OK || named != stored->format) return false;
    for (int p = 0; p < SPRYI_PARAMETERS; p++)
        if (parameters[p] != 0 && parameters[p] != stored->parameters[p]) return false;
    return true;
}

/* ---- selection of a device and a kernel ------------------------------------------------------------------ */

/*
 * Returns the kernel that the request names. Returns NULL if the request names no kernel, or if the request is for
 * SpGEMM and the kernel is for products with vectors, or the reverse.
 */
static const spryi_kernel *named_kernel(const spryi_selection_request *request)
{
    const unsigned operations = request->operation == SPRYI_OP_SPGEMM ? SPRYI_OP_SPGEMM : SPRYI_OP_VECTOR;
    const spryi_kernel *kernel = request->kernel ? spryi_find_kernel(request->kernel) : NULL;
    return kernel && offers(kernel, operations) ? kernel : NULL;
}

/* Finds the device of a public number, SPRY_CPU or a usable GPU. */
static spry_status device_asked(const spry_context *context, const spryi_device **device, int number, spry_error *err)
{
    if (number > 0) return spryi_device_usable(context, device, number, err);
    if (number != SPRY_CPU)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", number, SPRY_CPU,
                                "device is %d, expected SPRY_DEVICE_DEFAULT, SPRY_CPU (%d) or a GPU's number", number,
                                SPRY_CPU);
    *device = spryi_device_at(context, 0);
    return SPRY_OK;
}

spry_status spryi_select_device(const spry_context *context, const spryi_device **device,
                                const spryi_selection_request *request, spry_error *err)
{
    const spryi_kernel *kernel = named_kernel(request);
    const spryi_device *operand_device = spryi_device_at(context, request->operand_device), *picked = operand_device;
    if (request->device != SPRY_DEVICE_DEFAULT)
        SPRYI_OK_OR_RETURN(device_asked(context, &picked, request->device, err));
    else if (kernel && strcmp(kernel->device, operand_device->driver->name) != 0)
        picked = spryi_device_of_kind(context, kernel->device);
    if (!picked->ops) return spryi_device_usable(context, &picked, picked->number, err);
    if (request->operand_device != 0 && request->operand_device != picked->number)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", request->operand_device, picked->number,
                                "%s is in memory of device %d, but the product is to run on %s", request->operand,
                                request->operand_device, picked->name);
    if (request->result_device != 0 && request->result_device != picked->number) {
        const bool is_device = spryi_device_at(context, request->result_device) != NULL;
        return spryi_fail_value(err, is_device ? SPRY_UNSUPPORTED : SPRY_INVALID_ARGUMENT, request->result_argument,
                                request->result_device, picked->number, "%s is %d%s, expected SPRY_CPU%s%s",
                                request->result, request->result_device, is_device ? "" : ", which is not a device",
                                picked->number == 0 ? "" : " or ", picked->number == 0 ? "" : request->result_place);
    }
    *device = picked;
    return SPRY_OK;
}

static const char *product_of(unsigned operation)
{
    return operation == SPRYI_OP_SPGEMM   ? "sparse product"
           : operation == SPRYI_OP_SPMV_T ? "transposed product"
                                          : "product";
}

/* Returns whether the table has an instance for the row of value types. */
static bool has_row(const spryi_run_table *table, int row)
{
    for (int pair = 0; table && pair < SPRYI_INDEX_PAIRS; pair++)
        if ((*table)[row][pair]) return true;
    return false;
}

/* Returns whether the functions include the request's product for the request's types. */
static bool has_product(const spryi_kernel_functions *functions, const spryi_selection_request *request)
{
    return request->operation == SPRYI_OP_SPGEMM ||
           has_row(request->operation == SPRYI_OP_SPMV_T ? functions->spmv_t : functions->spmv, request->row);
}

/* Returns " for f32 values and f64 vectors" if these types differ, else "". */
static const char *types_text(const spryi_selection_request *request)
{
#define TEXT(tag, s, v, c, argument)                                                                                   \
    if (request->row == (int)spryi_row_##tag) return " for " #s " values and " #v " vectors";
    if (request->operation == SPRYI_OP_SPGEMM) return "";
    SPRYI_MIXED_ROWS(TEXT, 0)
    return "";
}

spry_status spryi_select_named_kernel(const spryi_device *device, const spryi_kernel **kernel,
                                      int64_t parameters[SPRYI_PARAMETERS], const spryi_selection_request *request,
                                      spry_error *err)
{
    const spryi_kernel *named = named_kernel(request);
    const spryi_kernel *any;
    spryi_kernel_functions functions = {0};
    const char *reason;
    int64_t given[SPRYI_PARAMETERS];
    SPRYI_OK_OR_RETURN(spryi_parse_kernel(&any, given, request->kernel, request->operation, err));
    if (!named)
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s", any->name,
                          product_of(request->operation));
    if (request->format && strcmp(request->format, named->format) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s works on format %s, but format is %s",
                          named->name, named->format, request->format);
    if (strcmp(named->device, device->driver->name) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s runs on %s, but device is %s", named->name,
                          named->device, device->name);
    if (!spryi_kernel_available(device->context, named, &reason))
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "kernel", "kernel %s: %s", named->name, reason);
    if (named->nondeterministic && !request->allow_nondeterministic)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allow_nondeterministic",
                          "kernel %s may change bits from run to run: set allow_nondeterministic to use it",
                          named->name);
    if (!offers(named, request->operation))
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s", named->name,
                          product_of(request->operation));
    if (!device->ops->find_kernel(device, named, &functions, &reason) || !has_product(&functions, request))
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s%s", named->name,
                          product_of(request->operation), types_text(request));
    memcpy(parameters, given, sizeof given);
    *kernel = named;
    return SPRY_OK;
}

/*
 * Returns whether the device can run the kernel, the kernel reads the format, and the kernel has the product for the
 * types of values.
 */
static bool can_run(const spryi_device *device, const spryi_kernel *kernel, const spryi_format *format,
                    const spryi_selection_request *request)
{
    spryi_kernel_functions functions;
    const char *reason;
    return strcmp(kernel->format, format->name) == 0 && strcmp(kernel->device, device->driver->name) == 0 &&
           (!kernel->nondeterministic || request->allow_nondeterministic) && offers(kernel, request->operation) &&
           device->ops->find_kernel(device, kernel, &functions, &reason) && has_product(&functions, request);
}

spry_status spryi_select_kernel(const spryi_device *device, const spryi_kernel **kernel, const spryi_format *format,
                                const char *suitable, const spryi_selection_request *request, spry_error *err)
{
    const spryi_kernel *picked = suitable ? spryi_find_kernel(suitable) : NULL;
    if (picked && !can_run(device, picked, format, request)) picked = NULL;
    if (!picked) /* otherwise the last usable kernel */
        for (int k = 0; spryi_kernel_at(k); k++)
            if (can_run(device, spryi_kernel_at(k), format, request)) picked = spryi_kernel_at(k);
    if (!picked)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format", "format %s has no kernel for %s %s%s on %s", format->name,
                          request->operation == SPRYI_OP_SPMV_T ? "the" : "this", product_of(request->operation),
                          types_text(request), device->driver->massively_parallel ? "a GPU" : "the cpu");
    *kernel = picked;
    return SPRY_OK;
}

/* ---- generators ---------------------------------------------------------------------------------- */

#define ORDER ",order=natural,shuffle=0"
#define VALUES ",distinct=0,bits=53"
#define RANDOM ORDER VALUES
#define GENERATOR(name, parameters, kind, text)                                                                        \
    {                                                                                                                  \
        {sizeof(spry_generator_info), name, parameters, text}, &spryi_kind_##kind                                      \
    }

static const spryi_generator generators[] =
    {GENERATOR("grid5", "x=2000,y=2000,seed=3" RANDOM, grid_star, "5-point stencil on an x*y grid"),
     GENERATOR("grid7", "x=140,y=140,z=140,seed=3" RANDOM, grid_star, "7-point stencil on an x*y*z grid"),
     GENERATOR("grid7p", "x=140,y=140,z=140,seed=3,order=natural,shuffle=23" VALUES, grid_star, "grid7, shuffled"),
     GENERATOR("grid9", "x=1500,y=1500,seed=3" RANDOM, grid_full, "9-point stencil on an x*y grid"),
     GENERATOR("grid27", "x=110,y=110,z=110,seed=3" RANDOM, grid_full, "27-point stencil on an x*y*z grid"),
     GENERATOR("grid27s", "x=80,y=80,z=80,seed=3" RANDOM, grid_full, "grid27, smaller"),
     GENERATOR("fem3", "x=56,y=56,z=56,dof=3,seed=3" RANDOM, grid_full, "27-point stencil with dof unknowns a point"),
     GENERATOR("fem3s", "x=40,y=40,z=40,dof=3,seed=3" RANDOM, grid_full, "fem3, smaller"),
     GENERATOR("laplace5", "x=1000,y=1000,ax=1,ay=1" ORDER, laplace,
               "finite differences of -(ax u_xx + ay u_yy), positive definite"),
     GENERATOR("laplace7", "x=100,y=100,z=100,ax=1,ay=1,az=1" ORDER, laplace,
               "finite differences of -(ax u_xx + ay u_yy + az u_zz), positive definite"),
     GENERATOR("grid5a", "x=1000,y=1000,ax=1,ay=0.01" ORDER, laplace, "laplace5, anisotropic"),
     GENERATOR("grid7a", "x=100,y=100,z=100,ax=1,ay=1,az=0.01" ORDER, laplace, "laplace7, anisotropic"),
     GENERATOR("road", "side=1600,seed=19" RANDOM, road, "side*side lattice that lacks 30 % of its edges"),
     GENERATOR("rgg", "scale=20,seed=5" RANDOM, rgg,
               "random geometric graph of 2^scale points, radius 0.55 sqrt(ln n/n), numbered cell by cell"),
     GENERATOR("rgg20", "scale=20,seed=5" RANDOM, rgg, "rgg, scale 20"),
     GENERATOR("rgg21", "scale=21,seed=5" RANDOM, rgg, "rgg, scale 21"),
     GENERATOR("rgg21p", "scale=21,seed=5,order=natural,shuffle=23" VALUES, rgg, "rgg21, shuffled"),
     GENERATOR("rmat", "scale=20,edges=16,seed=11" RANDOM, rmat,
               "R-MAT .57 .19 .19 .05: 2^scale vertices, at most `edges` edges a vertex"),
     GENERATOR("rmat16", "scale=16,edges=16,seed=11" RANDOM, rmat, "rmat, scale 16"),
     GENERATOR("rmat17", "scale=17,edges=16,seed=11" RANDOM, rmat, "rmat, scale 17"),
     GENERATOR("rmat18", "scale=18,edges=16,seed=11" RANDOM, rmat, "rmat, scale 18"),
     GENERATOR("rmat19", "scale=19,edges=16,seed=11" RANDOM, rmat, "rmat, scale 19"),
     GENERATOR("rmat20", "scale=20,edges=16,seed=11" RANDOM, rmat, "rmat, scale 20"),
     GENERATOR("rmat22", "scale=22,edges=8,seed=11" RANDOM, rmat, "rmat, scale 22, 8 edges a vertex"),
     GENERATOR("uniform", "rows=1000000,degree=16,seed=13" RANDOM, uniform, "`degree` random columns in each row"),
     GENERATOR("uni18", "rows=1500000,degree=18,seed=13" RANDOM, uniform, "uniform, degree 18"),
     GENERATOR("circuit", "rows=3000000,seed=17" RANDOM, circuit,
               "short rows near the diagonal and six nearly dense rows and columns"),
     GENERATOR("circuit1", "rows=1000000,seed=17" RANDOM, circuit, "circuit, smaller"),
     GENERATOR("debruijn", "symbols=2,length=20,seed=3" RANDOM, debruijn,
               "de Bruijn graph: words of `length` symbols, joined to those shifted by one"),
     GENERATOR("diagonal", "rows=1000000,seed=3" RANDOM, diagonal, "a diagonal"),
     GENERATOR("banded", "rows=1000000,half=8,seed=3" RANDOM, banded, "all entries at most `half` off the diagonal"),
     GENERATOR("arrow", "rows=1000000,width=1,seed=3" RANDOM, arrow,
               "`width` dense rows and columns in front, and the diagonal"),
     GENERATOR("random", "rows=1000000,cols=1000000,density=0.00001,seed=29" VALUES, random,
               "every entry stored with probability `density`"),
     GENERATOR("dense", "rows=2000,cols=2000,seed=3" VALUES, dense, "every entry stored"),
     GENERATOR("empty", "rows=1000,cols=1000", empty, "no entry stored"),
#ifdef SPRY_STUDIES
     SPRYI_STUDY_GENERATORS(GENERATOR)
#endif
};

const spryi_generator *spryi_generator_at(int n)
{
    return n >= 0 && n < (int)(sizeof generators / sizeof *generators) ? &generators[n] : NULL;
}
