/* The lists of formats and kernels, and what the public header tells of them. */
#include "core/context.h"
#include "core/cuda_plugin.h"
#include "core/error.h"
#include "core/kernel.h"
#include "formats/bsr/bsr.h"
#include "formats/coo/coo.h"
#include "formats/csc/csc.h"
#include "formats/csr/csr.h"
#include "formats/csrk/csrk.h"
#include "formats/csrk/packed.h"
#include "formats/ell/ell.h"
#include "formats/hyb/hyb.h"
#include "formats/scoo/scoo.h"
#include "formats/scoo/swept.h"
#include "formats/sell/sell.h"
#include "spgemm/rows.h"
#include "spgemm/seeds.h"
#include "spgemm/spgemm.h"

#include <string.h>

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
const spryi_format *const spryi_formats[] = {
    &spryi_format_csr,
    &spryi_format_csc,
    &spryi_format_coo,
    &spryi_format_ell,
    &spryi_format_sell,
    &spryi_format_hyb,
    &spryi_format_scoo,
    &spryi_format_swept,
    &spryi_format_bsr,
    &spryi_format_csr2,
    &spryi_format_csr3,
    &spryi_format_packed,
};
const int spryi_format_count = sizeof spryi_formats / sizeof *spryi_formats;

#ifdef SPRY_HAVE_X86
#define X86(kernel) &kernel,
#else
#define X86(kernel)
#endif

/* Within a format and device from slow to fast: the last that is available is the default. */
const spryi_kernel *const spryi_kernels[] = {
    &spryi_csr_reference_cpu,
    &spryi_csr_portable_cpu,
    X86(spryi_csr_avx2_cpu)
    X86(spryi_csr_avx512_cpu)
    &spryi_csr_scalar_cuda,
    &spryi_csr_vector_shared_cuda,
    &spryi_csr_vector_cuda,
    &spryi_csr_adaptive_atomic_cuda,
    &spryi_csr_adaptive_cuda,
    &spryi_csr_merge_cuda,
    &spryi_csr_scatter_cuda,
    &spryi_csc_reference_cpu,
    &spryi_csc_portable_cpu,
    X86(spryi_csc_avx2_cpu)
    X86(spryi_csc_avx512_cpu)
    &spryi_csc_scatter_cuda,
    &spryi_csc_vector_cuda,
    &spryi_csc_merge_cuda,
    &spryi_coo_reference_cpu,
    &spryi_coo_portable_cpu,
    X86(spryi_coo_avx512_cpu)
    &spryi_coo_atomic_cuda,
    &spryi_coo_segmented_cuda,
    &spryi_ell_reference_cpu,
    &spryi_ell_portable_cpu,
    X86(spryi_ell_avx2_cpu)
    X86(spryi_ell_avx512_cpu)
    &spryi_ell_slots_cuda,
    &spryi_sell_reference_cpu,
    &spryi_sell_portable_cpu,
    X86(spryi_sell_avx2_cpu)
    X86(spryi_sell_avx512_cpu)
    &spryi_sell_chunks_cuda,
    &spryi_hyb_reference_cpu,
    &spryi_hyb_portable_cpu,
    X86(spryi_hyb_avx2_cpu)
    X86(spryi_hyb_avx512_cpu)
    &spryi_hyb_atomic_cuda,
    &spryi_hyb_segmented_cuda,
    &spryi_scoo_reference_cpu,
    &spryi_scoo_portable_cpu,
    &spryi_scoo_shared_cuda,
    &spryi_swept_reference_cpu,
    &spryi_swept_barrier_cuda,
    &spryi_bsr_reference_cpu,
    &spryi_bsr_portable_cpu,
    X86(spryi_bsr_avx2_cpu)
    X86(spryi_bsr_avx512_cpu)
    &spryi_bsr_blocks_cuda,
    &spryi_bsr_scatter_cuda,
    &spryi_csr2_reference_cpu,
    &spryi_csr2_portable_cpu,
    X86(spryi_csr2_avx2_cpu)
    X86(spryi_csr2_avx512_cpu)
    &spryi_csr2_lanes_cuda,
    &spryi_csr3_reference_cpu,
    &spryi_csr3_portable_cpu,
    X86(spryi_csr3_avx2_cpu)
    X86(spryi_csr3_avx512_cpu)
    &spryi_csr3_gpuspmv3_cuda,
    &spryi_csr3_gpuspmv35_cuda,
    &spryi_packed_reference_cpu,
    &spryi_packed_portable_cpu,
    X86(spryi_packed_avx512_cpu)
    &spryi_packed_slices_cuda,
};

/* Sparse times sparse, each device from slow to fast. */
const spryi_spgemm_kernel *const spryi_spgemm_kernels[] = {
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
};
/* clang-format on */
const int spryi_spgemm_kernel_count = sizeof spryi_spgemm_kernels / sizeof *spryi_spgemm_kernels;
const int spryi_kernel_count = sizeof spryi_kernels / sizeof *spryi_kernels;

const spryi_format *spryi_find_format(const char *name)
{
    for (int f = 0; f < spryi_format_count; f++)
        if (strcmp(spryi_formats[f]->name, name) == 0) return spryi_formats[f];
    return NULL;
}

const spryi_kernel *spryi_find_kernel(const char *name)
{
    for (int k = 0; k < spryi_kernel_count; k++)
        if (strcmp(spryi_kernels[k]->name, name) == 0) return spryi_kernels[k];
    return NULL;
}

int spryi_kernel_offers(const spryi_kernel *kernel, spry_op op)
{
    if (kernel->operations) return (kernel->operations & (op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV)) != 0;
    return op == SPRY_TRANSPOSE ? kernel->spmv_t != NULL : kernel->spmv != NULL;
}

/* A CUDA kernel needs the plug-in, a device, and its function in the plug-in. */
static int cuda_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason)
{
    if (spryi_cuda_devices(context, reason) == 0) return 0;
    *reason = "";
    if (spryi_cuda_find_kernel(spryi_cuda(context, NULL), kernel->name)) return 1;
    *reason = "the CUDA plug-in was built without it";
    return 0;
}

static int simd_available(const spry_context *context, spryi_simd simd, const char **reason)
{
    *reason = "";
    if (simd <= context->simd) return 1;
    *reason = simd == SPRYI_AVX512 ? "needs AVX-512 (f, dq, bw, vl), which this processor or SPRY_SIMD denies"
                                   : "needs AVX2 and FMA, which this processor or SPRY_SIMD denies";
    return 0;
}

int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason)
{
    if (strcmp(kernel->device, "cuda") == 0) return cuda_kernel_available(context, kernel, reason);
    return simd_available(context, kernel->simd, reason);
}

const spryi_spgemm_kernel *spryi_find_spgemm_kernel(const char *name)
{
    for (int k = 0; k < spryi_spgemm_kernel_count; k++)
        if (strcmp(spryi_spgemm_kernels[k]->name, name) == 0) return spryi_spgemm_kernels[k];
    return NULL;
}

const spryi_cuda_spgemm_kernel *spryi_cuda_find_spgemm_kernel(const spryi_cuda_plugin *plugin, const char *name)
{
    for (int k = 0; plugin->spgemm && k < plugin->spgemm->kernel_count; k++)
        if (strcmp(plugin->spgemm->kernels[k]->name, name) == 0) return plugin->spgemm->kernels[k];
    return NULL;
}

int spryi_spgemm_kernel_available(const spry_context *context, const spryi_spgemm_kernel *kernel, const char **reason)
{
    if (strcmp(kernel->device, "cpu") == 0) return simd_available(context, kernel->simd, reason);
    if (spryi_cuda_devices(context, reason) == 0) return 0;
    *reason = "";
    if (spryi_cuda_find_spgemm_kernel(spryi_cuda(context, NULL), kernel->name)) return 1;
    *reason = "the CUDA plug-in was built without it";
    return 0;
}

/* ---- the public view --------------------------------------------------------------------------- */

int spry_format_count(void)
{
    return spryi_format_count;
}

spry_status spry_format_get_info(int index, spry_format_info *info, spry_error *err)
{
    if (!info) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "info", "info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status != SPRY_OK) return status;
    if (index < 0 || index >= spryi_format_count)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, spryi_format_count - 1,
                                "format %d does not exist, expected 0 to %d", index, spryi_format_count - 1);
    const spryi_format *format = spryi_formats[index];
    int kernels = 0;
    for (int k = 0; k < spryi_kernel_count; k++) kernels += strcmp(spryi_kernels[k]->format, format->name) == 0;
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
    return spryi_kernel_count;
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
    spry_status status = check_question(context, info, index, spryi_kernel_count, err);
    if (status != SPRY_OK) return status;
    const spryi_kernel *kernel = spryi_kernels[index];
    const char *reason;
    int available = spryi_kernel_available(context, kernel, &reason);
    *info = (spry_kernel_info){
        .struct_size = sizeof *info,
        .name = kernel->name,
        .format = kernel->format,
        .device = kernel->device,
        .operations = operations_of(kernel),
        .types = kernel->pattern ? "f32 f64 pattern" : "f32 f64",
        .indices = strcmp(kernel->device, "cpu") == 0 ? "32/32 64/32 64/64" : "32/32 64/32",
        .deterministic = kernel->deterministic,
        .available = available,
        .reason = reason,
        .idea = kernel->idea,
        .source = kernel->source,
    };
    return SPRY_OK;
}

int spry_spgemm_kernel_count(void)
{
    return spryi_spgemm_kernel_count;
}

spry_status spry_spgemm_kernel_get_info(const spry_context *context, int index, spry_kernel_info *info, spry_error *err)
{
    spry_status status = check_question(context, info, index, spryi_spgemm_kernel_count, err);
    if (status != SPRY_OK) return status;
    const spryi_spgemm_kernel *kernel = spryi_spgemm_kernels[index];
    const char *reason;
    int available = spryi_spgemm_kernel_available(context, kernel, &reason);
    *info = (spry_kernel_info){
        .struct_size = sizeof *info,
        .name = kernel->name,
        .format = "csr",
        .device = kernel->device,
        .operations = "spgemm",
        .types = "f32 f64 pattern",
        .indices = strcmp(kernel->device, "cpu") == 0 ? "32/32 64/32 64/64" : "32/32 64/32",
        .deterministic = kernel->deterministic,
        .available = available,
        .reason = reason,
        .idea = kernel->idea,
        .source = kernel->source,
    };
    return SPRY_OK;
}
