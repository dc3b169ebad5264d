/* The lists of formats and kernels, and what the public header tells of them. */
#include "catalogue/catalogue.h"
#include "spry/tools.h"

#include "catalogue/families.h"
#include "core/error.h"
#include "device/drivers.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#define FAMILY(name) &spryi_family_##name,
static const spryi_family *const families[] = {SPRYI_FAMILIES(FAMILY)};
enum { FAMILIES = sizeof families / sizeof *families };

/* The lists of families and drivers in one list of each kind: planning goes through them many times. */
enum { MOST_FORMATS = 64, MOST_KERNELS = 512 };
static const spryi_format *formats[MOST_FORMATS];
static const spryi_kernel *kernels[MOST_KERNELS];
static int format_count, kernel_count;
static pthread_once_t listed = PTHREAD_ONCE_INIT;

/* Adds the kernels before NULL, at most `most`. */
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
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->kernels) add_kernels(spryi_drivers[d]->kernels, INT_MAX);
}

const spryi_format *spryi_format_at(int index)
{
    (void)pthread_once(&listed, list_all);
    return index >= 0 && index < format_count ? formats[index] : NULL;
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

int spryi_kernel_offers(const spryi_kernel *kernel, unsigned operations)
{
    unsigned has = kernel->operations;
    if (kernel->spmv) has |= SPRYI_OP_SPMV;
    if (kernel->spmv_t) has |= SPRYI_OP_SPMV_T;
    if (kernel->spgemm) has |= SPRYI_OP_SPGEMM;
    return (has & operations) != 0;
}

/* How many kernels of a format have one of the operations; NULL: of any format. */
static int count_kernels(unsigned operations, const char *format)
{
    int count = 0;
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        count += spryi_kernel_offers(kernel, operations) && (!format || strcmp(kernel->format, format) == 0);
    return count;
}

int spryi_has_pattern_kernel(const spryi_format *format)
{
    const spryi_kernel *kernel;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        if (kernel->pattern && spryi_kernel_offers(kernel, SPRYI_OP_VECTOR) &&
            strcmp(kernel->format, format->name) == 0)
            return 1;
    return 0;
}

int spryi_kernel_takes(const spryi_kernel *kernel, unsigned operation, int row)
{
    if (!spryi_kernel_offers(kernel, operation)) return 0;
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

/* The legal texts of types for what a kernel has; constant, so that they live for ever. */
static const char *types_of(const spryi_kernel *kernel)
{
#define TYPES(tag, stored, vector, compute, argument) " " #stored ":" #vector
#define MIXED_TYPES SPRYI_MIXED_ROWS(TYPES, 0)
    const int mixed = spryi_kernel_takes(kernel, SPRYI_OP_SPMV, spryi_row_before_mixed + 1) ||
                      spryi_kernel_takes(kernel, SPRYI_OP_SPMV_T, spryi_row_before_mixed + 1);
    if (kernel->pattern) return mixed ? "f32 f64" MIXED_TYPES " pattern" : "f32 f64 pattern";
    return mixed ? "f32 f64" MIXED_TYPES : "f32 f64";
}

int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason)
{
    const spryi_device *device = spryi_device_of_kind(context, kernel->device);
    spryi_kernel_functions functions;
    *reason = device->reason;
    return device->ops && device->ops->find_kernel(device, kernel, &functions, reason);
}

/* ---- the public view --------------------------------------------------------------------------- */

int spry_format_count(void)
{
    int count = 0;
    while (spryi_format_at(count)) count++;
    return count;
}

spry_status spry_format_get_info(spry_format_info *info, int index, spry_error *err)
{
    if (!info) return spryi_fail_missing(err, "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_format *format = spryi_format_at(index);
    if (!format)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, spry_format_count() - 1,
                                "format %d does not exist, expected 0 to %d", index, spry_format_count() - 1);
    const spry_format_info told = {
        .struct_size = sizeof told,
        .name = format->name,
        .title = format->title,
        .storage = format->storage,
        .best_for = format->best_for,
        .parameters = format->parameter_text ? format->parameter_text : "",
        .kernels = count_kernels(SPRYI_OP_VECTOR, format->name),
    };
    SPRYI_GIVE(info, &told);
    return SPRY_OK;
}

/* The legal texts for which of two things exist; constant, so that they live for ever. */
static const char *operations_of(const spryi_kernel *kernel)
{
    if (spryi_kernel_offers(kernel, SPRYI_OP_SPGEMM)) return "spgemm";
    if (!spryi_kernel_offers(kernel, SPRYI_OP_SPMV_T)) return "spmv";
    return spryi_kernel_offers(kernel, SPRYI_OP_SPMV) ? "spmv spmv_t" : "spmv_t";
}

/* Kernel `index` of `count`; NULL: there is none of that number. */
static spry_status get_info(const spry_context *context, const spryi_kernel *kernel, int index, int count,
                            spry_kernel_info *info, spry_error *err)
{
    if (!context || !info) return spryi_fail_missing(err, !context ? "context" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    if (!kernel)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, count - 1,
                                "kernel %d does not exist, expected 0 to %d", index, count - 1);
    const char *reason;
    int available = spryi_kernel_available(context, kernel, &reason);
    const spry_kernel_info told = {
        .struct_size = sizeof told,
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
        .study = kernel->study,
        .parameters = kernel->parameter_text ? kernel->parameter_text : "",
    };
    SPRYI_GIVE(info, &told);
    return SPRY_OK;
}

int spry_kernel_count(void)
{
    return count_kernels(SPRYI_OP_VECTOR, NULL);
}

spry_status spry_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index, spry_error *err)
{
    const spryi_kernel *kernel;
    int left = index;
    for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
        if (spryi_kernel_offers(kernel, SPRYI_OP_VECTOR) && left-- == 0) break;
    return get_info(context, kernel, index, spry_kernel_count(), info, err);
}

int spry_spgemm_kernel_count(void)
{
    return count_kernels(SPRYI_OP_SPGEMM, NULL);
}

/* The kernels of SpGEMM are of one format and of several families: they are numbered device by device. */
static const spryi_kernel *spgemm_kernel_at(int index)
{
    const spryi_kernel *kernel;
    for (int d = 0; d < spryi_driver_count; d++)
        for (int k = 0; (kernel = spryi_kernel_at(k)); k++)
            if (spryi_kernel_offers(kernel, SPRYI_OP_SPGEMM) &&
                spryi_driver_named(kernel->device) == spryi_drivers[d] && index-- == 0)
                return kernel;
    return NULL;
}

spry_status spry_spgemm_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index, spry_error *err)
{
    return get_info(context, spgemm_kernel_at(index), index, spry_spgemm_kernel_count(), info, err);
}
