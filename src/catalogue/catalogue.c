/* The lists of formats and kernels, and what the public header tells of them. */
#include "catalogue/catalogue.h"

#include "catalogue/families.h"
#include "core/error.h"
#include "device/drivers.h"
#include "spgemm/cpu/rows.h"
#include "spgemm/spgemm.h"
#include "studies/spgemm/seeds.h"

#include <string.h>

#define FAMILY(name) &spryi_family_##name,
static const spryi_family *const families[] = {SPRYI_FAMILIES(FAMILY)};
enum { FAMILIES = sizeof families / sizeof *families };

/* The one numbered `index` of a list that ends with NULL; otherwise NULL, and *index less the list's length. */
#define ENTRY_OF(list, index)                                                                                          \
    for (int n_ = 0; (list) && (list)[n_]; n_++)                                                                       \
        if ((index)-- == 0) return (list)[n_];

const spryi_format *spryi_format_at(int index)
{
    if (index < 0) return NULL;
    for (int f = 0; f < FAMILIES; f++) ENTRY_OF(families[f]->formats, index)
    return NULL;
}

const spryi_kernel *spryi_kernel_at(int index)
{
    if (index < 0) return NULL;
    for (int f = 0; f < FAMILIES; f++) ENTRY_OF(families[f]->kernels, index)
    for (int d = 0; d < spryi_driver_count; d++) ENTRY_OF(spryi_drivers[d]->kernels, index)
    return NULL;
}

const spryi_format *spryi_find_format(const char *name)
{
    int f = 0;
    while (spryi_format_at(f) && strcmp(spryi_format_at(f)->name, name) != 0) f++;
    return spryi_format_at(f);
}

const spryi_kernel *spryi_find_kernel(const char *name)
{
    int k = 0;
    while (spryi_kernel_at(k) && strcmp(spryi_kernel_at(k)->name, name) != 0) k++;
    return spryi_kernel_at(k);
}

#define X86(kernel) SPRYI_X86(kernel)
/* clang-format off */
/* Sparse times sparse, each device from slow to fast. */
static const spryi_spgemm_kernel *const own_spgemm_kernels[] = {
    &spryi_spgemm_seed_dot_cpu,
    &spryi_spgemm_seed_dense_cpu,
    &spryi_spgemm_smmp_cpu,
    &spryi_spgemm_rows_cpu,
    X86(spryi_spgemm_rows_avx512_cpu)
    &spryi_spgemm_seed_getvals_cuda,
    &spryi_spgemm_seed_reset_cuda,
    &spryi_spgemm_seed_rows_cuda,
    &spryi_spgemm_seed_claim_cuda,
    &spryi_spgemm_seed_balance_cuda,
    &spryi_spgemm_rows_cuda,
    NULL,
};
/* clang-format on */

const spryi_spgemm_kernel *spryi_spgemm_kernel_at(int index)
{
    if (index < 0) return NULL;
    const spryi_spgemm_kernel *const *own = own_spgemm_kernels;
    ENTRY_OF(own, index)
    for (int d = 0; d < spryi_driver_count; d++) ENTRY_OF(spryi_drivers[d]->spgemm_kernels, index)
    return NULL;
}

int spryi_kernel_offers(const spryi_kernel *kernel, spry_op op)
{
    if (kernel->operations) return (kernel->operations & (op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV)) != 0;
    return op == SPRY_TRANSPOSE ? kernel->spmv_t != NULL : kernel->spmv != NULL;
}

int spryi_has_pattern_kernel(const spryi_format *format)
{
    for (int k = 0; spryi_kernel_at(k); k++)
        if (spryi_kernel_at(k)->pattern && strcmp(spryi_kernel_at(k)->format, format->name) == 0) return 1;
    return 0;
}

int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason)
{
    const spryi_device *device = spryi_device_of_kind(context, kernel->device);
    spryi_kernel_functions functions;
    *reason = device->reason;
    return device->ops && device->ops->find_kernel(device, kernel, &functions, reason);
}

const spryi_spgemm_kernel *spryi_find_spgemm_kernel(const char *name)
{
    int k = 0;
    while (spryi_spgemm_kernel_at(k) && strcmp(spryi_spgemm_kernel_at(k)->name, name) != 0) k++;
    return spryi_spgemm_kernel_at(k);
}

const spryi_cuda_spgemm_kernel *spryi_find_device_spgemm_kernel(const spryi_device *device, const char *name)
{
    const spryi_device_spgemm *spgemm = device->ops->spgemm;
    for (int k = 0; spgemm && k < spgemm->kernel_count; k++)
        if (strcmp(spgemm->kernels[k]->name, name) == 0) return spgemm->kernels[k];
    return NULL;
}

int spryi_spgemm_kernel_available(const spry_context *context, const spryi_spgemm_kernel *kernel, const char **reason)
{
    const spryi_device *device = spryi_device_of_kind(context, kernel->device);
    const spryi_kernel same_level = {.name = kernel->name, .simd = kernel->simd};
    spryi_kernel_functions functions;
    *reason = device->reason;
    if (!device->ops) return 0;
    if (device->driver->host_memory) return device->ops->find_kernel(device, &same_level, &functions, reason);
    if (spryi_find_device_spgemm_kernel(device, kernel->name)) return 1;
    *reason = "the CUDA plug-in was built without it";
    return 0;
}

/* ---- the public view --------------------------------------------------------------------------- */

int spry_format_count(void)
{
    int count = 0;
    while (spryi_format_at(count)) count++;
    return count;
}

spry_status spry_format_get_info(int index, spry_format_info *info, spry_error *err)
{
    if (!info) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "info", "info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status != SPRY_OK) return status;
    const spryi_format *format = spryi_format_at(index);
    if (!format)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, spry_format_count() - 1,
                                "format %d does not exist, expected 0 to %d", index, spry_format_count() - 1);
    int kernels = 0;
    for (int k = 0; spryi_kernel_at(k); k++) kernels += strcmp(spryi_kernel_at(k)->format, format->name) == 0;
    *info = (spry_format_info){
        .struct_size = sizeof *info,
        .name = format->name,
        .title = format->title,
        .storage = format->storage,
        .best_for = format->best_for,
        .parameters = format->parameter_text ? format->parameter_text : "",
        .kernels = kernels,
    };
    return SPRY_OK;
}

int spry_kernel_count(void)
{
    int count = 0;
    while (spryi_kernel_at(count)) count++;
    return count;
}

/* The legal texts for which of two things exist; constant, so that they live for ever. */
static const char *operations_of(const spryi_kernel *kernel)
{
    if (!spryi_kernel_offers(kernel, SPRY_TRANSPOSE)) return "spmv";
    return spryi_kernel_offers(kernel, SPRY_NO_TRANSPOSE) ? "spmv spmv_t" : "spmv_t";
}

/* About kernel `index` of `count`. */
static spry_status check_question(const spry_context *context, const spry_kernel_info *info, int index, int count,
                                  spry_error *err)
{
    if (!context || !info)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "info",
                          "context and info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status != SPRY_OK) return status;
    if (index < 0 || index >= count)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, count - 1,
                                "kernel %d does not exist, expected 0 to %d", index, count - 1);
    return SPRY_OK;
}

spry_status spry_kernel_get_info(const spry_context *context, int index, spry_kernel_info *info, spry_error *err)
{
    spry_status status = check_question(context, info, index, spry_kernel_count(), err);
    if (status != SPRY_OK) return status;
    const spryi_kernel *kernel = spryi_kernel_at(index);
    const char *reason;
    int available = spryi_kernel_available(context, kernel, &reason);
    *info = (spry_kernel_info){
        .struct_size = sizeof *info,
        .name = kernel->name,
        .format = kernel->format,
        .device = kernel->device,
        .operations = operations_of(kernel),
        .types = kernel->pattern ? "f32 f64 pattern" : "f32 f64",
        .indices = spryi_driver_named(kernel->device)->indices,
        .deterministic = kernel->deterministic,
        .available = available,
        .reason = reason,
        .idea = kernel->idea,
        .source = kernel->source,
        .study = kernel->study,
    };
    return SPRY_OK;
}

int spry_spgemm_kernel_count(void)
{
    int count = 0;
    while (spryi_spgemm_kernel_at(count)) count++;
    return count;
}

spry_status spry_spgemm_kernel_get_info(const spry_context *context, int index, spry_kernel_info *info, spry_error *err)
{
    spry_status status = check_question(context, info, index, spry_spgemm_kernel_count(), err);
    if (status != SPRY_OK) return status;
    const spryi_spgemm_kernel *kernel = spryi_spgemm_kernel_at(index);
    const char *reason;
    int available = spryi_spgemm_kernel_available(context, kernel, &reason);
    *info = (spry_kernel_info){
        .struct_size = sizeof *info,
        .name = kernel->name,
        .format = "csr",
        .device = kernel->device,
        .operations = "spgemm",
        .types = "f32 f64 pattern",
        .indices = spryi_driver_named(kernel->device)->indices,
        .deterministic = kernel->deterministic,
        .available = available,
        .reason = reason,
        .idea = kernel->idea,
        .source = kernel->source,
        .study = kernel->study,
    };
    return SPRY_OK;
}
