/*
 * Formats that are made on the device. The host hands over CSR, uploaded once or there already, and the plug-in's
 * converter of the format writes the storage's arrays beside it: conversion at the device's bandwidth, and the bytes of
 * CSR over the bus in place of the padded ones. What the converter cannot take the host builds and uploads as before.
 */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/plan.h"

#include <string.h>

/* CSR in device memory: the matrix's own arrays, or uploads. */
typedef struct device_csr {
    spry_arrays a;
    void *uploads[3]; /* NULL: not uploaded, or handed on to the plan */
    int64_t bytes[3];
} device_csr;

static spry_status upload_array(const spryi_plan_cuda *c, device_csr *csr, int n, const void **array, int64_t count,
                                size_t size, const char *what, spry_error *err)
{
    const int64_t bytes = count * (int64_t)size;
    spry_status status = c->plugin->allocate(c->device, &csr->uploads[n], bytes, what, err);
    if (status != SPRY_OK) return status;
    csr->bytes[n] = bytes;
    if (bytes > 0) status = c->plugin->copy(c->device, csr->uploads[n], *array, bytes, SPRYI_TO_DEVICE, NULL, err);
    *array = csr->uploads[n];
    return status;
}

static spry_status upload_csr(const spryi_plan_cuda *c, device_csr *csr, spry_error *err)
{
    spry_arrays *a = &csr->a;
    spry_status status = SPRY_OK;
    SPRYI_TRY(upload_array(c, csr, 0, &a->offsets, a->rows + 1, spry_index_type_bytes(a->offset_type), "offsets", err));
    SPRYI_TRY(upload_array(c, csr, 1, &a->indices, a->nnz, spry_index_type_bytes(a->index_type), "columns", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_TRY(upload_array(c, csr, 2, &a->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
done:
    return status;
}

/* Returns what it took, which the upload has caused: CSR that is on the device already costs neither. */
static double release_csr(const spryi_plan_cuda *c, device_csr *csr)
{
    const double start = spryi_now_us();
    for (int n = 0; n < 3; n++) c->plugin->release(c->device, csr->uploads[n]);
    return spryi_now_us() - start;
}

/* Uploads that the storage uses as they are become its own. */
static void keep_uploads(spryi_cuda_made *made, device_csr *csr, const spryi_format *format)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    int count = spryi_cuda_list_sections(format, made->storage, sections);
    for (int s = 0; s < count; s++)
        for (int n = 0; sections[s].array && n < 3; n++)
            if (csr->uploads[n] && *sections[s].array == csr->uploads[n]) {
                made->arrays[made->array_count++] = csr->uploads[n];
                made->array_bytes += csr->bytes[n];
                csr->uploads[n] = NULL;
            }
}

static spry_status convert(spry_plan *plan, spryi_cuda_made *made, const spryi_cuda_converter *converter,
                           spryi_build_request *request, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    const spryi_format *format = plan->format;
    spry_status status = SPRY_OK;
    spryi_cuda_conversion work = {.request = request, .guard = spryi_check_padding};
    device_csr csr = {.a = request->csr ? request->csr->a : plan->A->a};
    int previous = 0;
    if (csr.a.device == 0) {
        double start = spryi_now_us();
        SPRYI_TRY(upload_csr(c, &csr, err));
        SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err));
        made->upload_us = spryi_now_us() - start;
    }
    work.csr = csr.a;
    SPRYI_TRY(spryi_allocate(plan->context, &made->storage, 1, format->storage_size, "storage", err));
    memset(made->storage, 0, format->storage_size);
    work.storage = made->storage;
    SPRYI_TRY(c->plugin->enter(c->device, &previous, err));
    status = converter->convert(&work, err);
    c->plugin->leave(previous);
    memcpy(made->arrays, work.made, sizeof made->arrays);
    made->array_count = work.made_count;
    made->array_bytes = work.made_bytes;
    if (status != SPRY_OK) goto done;
    keep_uploads(made, &csr, format);
    memcpy(made->parameters, work.figure.parameters, sizeof made->parameters);
done:
    made->upload_us += release_csr(c, &csr);
    if (status != SPRY_OK) spryi_cuda_unmake(plan, made);
    return status;
}

void spryi_cuda_unmake(const spry_plan *plan, spryi_cuda_made *made)
{
    const spryi_plan_cuda *c = plan->cuda;
    for (int a = 0; a < made->array_count; a++) c->plugin->release(c->device, made->arrays[a]);
    spryi_release(plan->context, made->storage);
    *made = (spryi_cuda_made){0};
}

/* Whether the matrix comes as CSR of what is to be stored, or may be made that on the host (*csr then is for it). */
static int takes(const spry_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    const int as_is = a->layout == SPRY_CSR && a->value_type == plan->value_type;
    if (a->index_type != SPRY_I32) return 0;
    return as_is || (a->device == 0 && !plan->format->takes_any_layout);
}

spry_status spryi_cuda_make(spry_plan *plan, spryi_cuda_made *made, int *done, spry_error *err)
{
    const spryi_cuda_converter *converter = spryi_cuda_find_converter(plan->cuda->plugin, plan->format->name);
    spry_error why = SPRY_ERROR_INIT;
    *made = (spryi_cuda_made){0};
    *done = 0;
    if (!converter || !takes(plan)) return SPRY_OK;
    spryi_build_request request = spryi_request_of(plan);
    spry_status status = SPRY_OK;
    if (plan->A->a.device == 0) status = spryi_complete_request(plan->context, &request, plan->format, &why);
    if (status == SPRY_OK) status = convert(plan, made, converter, &request, &why);
    spryi_matrix_release(request.csr);
    *done = status == SPRY_OK;
    /* the host's way takes less device memory: CSR and scratch need not lie beside the result */
    if (status == SPRY_OK || status == SPRY_UNSUPPORTED || status == SPRY_OUT_OF_MEMORY) return SPRY_OK;
    if (err) *err = why;
    return status;
}

spry_status spryi_cuda_convert(spry_plan *plan, int *done, spry_error *err)
{
    spryi_plan_cuda *c = plan->cuda;
    spryi_cuda_made made;
    spry_status status = spryi_cuda_make(plan, &made, done, err);
    if (status != SPRY_OK || !*done) return status;
    plan->storage = made.storage;
    memcpy(plan->parameter_text, made.parameters, sizeof plan->parameter_text);
    memcpy(c->arrays, made.arrays, sizeof c->arrays);
    c->array_count = made.array_count;
    c->array_bytes = made.array_bytes;
    c->upload_us = made.upload_us;
    c->uploaded = c->converted = 1;
    return SPRY_OK;
}

spry_status spryi_cuda_convert_again(spry_plan *plan, int *done, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    spryi_section from[SPRYI_MOST_SECTIONS], to[SPRYI_MOST_SECTIONS];
    spryi_cuda_made fresh;
    spry_status status = spryi_cuda_make(plan, &fresh, done, err);
    if (status != SPRY_OK || !*done) return status;
    int count = spryi_cuda_list_sections(plan->format, fresh.storage, from);
    spryi_cuda_list_sections(plan->format, plan->storage, to);
    for (int s = 0; s < count; s++)
        if (from[s].array && *from[s].array != *to[s].array)
            SPRYI_TRY(c->plugin->copy(c->device, *to[s].array, *from[s].array, from[s].count * from[s].item_bytes,
                                      SPRYI_WITHIN_DEVICE, NULL, err));
    SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err));
done:
    spryi_cuda_unmake(plan, &fresh);
    return status;
}
