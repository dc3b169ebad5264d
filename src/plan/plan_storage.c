/*
 * Builds a plan's storage in memory that its device reads. A device with a converter for the format converts CSR, which
 * is copied to the device unless it is stored there. The conversion then runs at the device's bandwidth, and the bus
 * carries CSR instead of the padded arrays. All other storages are built on the host. A device with its own memory gets
 * copies of the arrays.
 */
#include "base/clock.h"
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "choose/state.h"
#include "formats/shared/storage_limits.h"
#include "plan/plan.h"
#include "spry/tune.h"

#include <stdio.h>
#include <string.h>

/* ---- on the host -------------------------------------------------------------------------------------- */

spry_status spryi_complete_request(spry_context *context, spryi_build_request *request, const spryi_format *format,
                                   spry_error *err)
{
    if (format->takes_any_layout) return SPRY_OK;
    return spryi_matrix_as_csr(context, &request->csr, request->A, request->value_type, err);
}

/* Returns the request for a storage of A on the device. csr, cost, kernel, value type and parameters are not set. */
static spryi_build_request request_for(const spryi_device *device, const spry_matrix *A,
                                       const spry_spmv_options *options)
{
    return (spryi_build_request){
        .A = A,
        .options = options,
        .only_cpu_reads = device->driver->host_memory,
        .copied = !device->driver->host_memory && A->a.device != device->number,
        .massively_parallel = device->driver->massively_parallel,
        .compute_major = device->major,
        .units = device->driver->massively_parallel ? device->units : 0,
        .shared_bytes = device->shared_bytes,
        .group_table = spryi_loaded_groups(A->context),
    };
}

spryi_build_request spryi_request_of(const spryi_plan *plan)
{
    spryi_build_request request = request_for(plan->request.device, plan->A, &plan->request.options);
    request.kernel = plan->target.kernel;
    request.value_type = plan->target.value_type;
    memcpy(request.parameters, plan->target.parameters, sizeof request.parameters);
    memcpy(request.kernel_parameters, plan->target.kernel_parameters, sizeof request.kernel_parameters);
    return request;
}

static bool is_stored_in_place(const spryi_plan *plan)
{
    return plan->target.format->in_place && plan->A->a.layout == SPRY_CSR &&
           plan->A->a.value_type == plan->target.value_type;
}

/*
 * Samples the values of csr, which is A as CSR in the memory of the host or of the plan's device. The sample is empty
 * if the values must keep the matrix's type. Values on the device that already have this type keep it, since captured
 * graphs may read them.
 */
static void sample_values(const spryi_plan *plan, spryi_value_sample *sample, const spry_matrix *csr)
{
    const bool is_wide = plan->stored.on_device && plan->stored.widening == 0;
    sample->count = 0;
    if (plan->request.options.keep_value_type || !plan->target.kernel->narrows || is_wide || !csr || !csr->a.values)
        return;
    spryi_sample_values(sample, csr->a.device > 0 ? plan->request.device : NULL, &csr->a);
}

/*
 * Returns the preferred narrow type for the values of the sample, or 0 if they must keep the matrix's type. a: CSR of
 * the matrix's index types. with_tables, previous: as in spryi_narrow_type. If graphs were captured, returns only the
 * plan's present type.
 */
static spry_type narrow_type(const spryi_plan *plan, const spryi_value_sample *sample, spry_arrays a, bool with_tables,
                             spry_type previous)
{
    const spry_type only = plan->is_captured ? spryi_storage_arrays(plan->stored.storage)->value_type : 0;
    with_tables = with_tables && plan->target.kernel->narrows == SPRYI_NARROWS_TO_TABLES;
    a.value_type = previous;
    do a.value_type = spryi_narrow_type(sample, plan->request.vector_type, with_tables, a.value_type);
    while (a.value_type && ((only && a.value_type != only) || !spryi_run_of(plan, &a)));
    return a.value_type;
}

/* Returns the bytes that the storage grows by if its values get the matrix's type. A table is then freed. */
static int64_t widening_of(const spryi_build_request *request, const spryi_cost *cost)
{
    if (!request->narrow_type) return 0;
    const size_t wide = spry_type_bytes(request->value_type), narrow = spry_type_bytes(request->narrow_type);
    const int64_t table = spryi_table_values(request->narrow_type) * (int64_t)sizeof(double);
    return (request->A->a.nnz + cost->padding) * (int64_t)(wide - narrow) - table;
}

/*
 * Builds the storage of plan->A in host memory. Formats whose in_place is set use the matrix's arrays without a copy.
 */
static spry_status build(const spryi_plan *plan, spryi_plan_storage *stored, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *host = NULL;
    spryi_cost cost = {0};
    spryi_value_sample sample;
    spryi_build_request request = spryi_request_of(plan);
    request.cost = &cost;
    if (plan->A->a.device > 0 && !is_stored_in_place(plan)) {
        SPRYI_TRY(spryi_matrix_fetch(plan->request.device, &host, plan->A, err));
        request.A = host;
        request.copied = 1;
    }
    SPRYI_TRY(spryi_complete_request(plan->context, &request, plan->target.format, err));
    sample_values(plan, &sample, request.csr);
    if (sample.count > 0) request.narrow_type = narrow_type(plan, &sample, request.csr->a, false, 0);
    SPRYI_TRY(spryi_storage_build(plan->context, plan->target.format, &stored->storage, &request, err));
    if (spryi_storage_arrays(stored->storage)->value_type == request.narrow_type)
        stored->widening = widening_of(&request, &cost);
    memcpy(stored->parameters, cost.parameters, sizeof stored->parameters);
    stored->source = host;
    host = NULL;
done:
    spryi_matrix_release(request.csr);
    spryi_matrix_release(host);
    return status;
}

/* ---- copies to a device -------------------------------------------------------------------------------- */

/* Copies the host storage's arrays to the device and replaces the storage by a struct of device addresses. */
static spry_status copy_to_device(const spryi_plan *plan, spryi_plan_storage *stored, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spryi_format *format = plan->target.format;
    const double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    spryi_plan_storage made = {.on_device = true};
    SPRYI_TRY(spryi_allocate(plan->context, &made.storage, 1, format->layout.size, "storage", err));
    memcpy(made.storage, stored->storage, format->layout.size);
    const int count = spryi_storage_device_sections(format, made.storage, sections);
    for (int s = 0; s < count; s++) {
        if (!sections[s].array) continue;
        const int64_t bytes = sections[s].count * sections[s].item_bytes;
        void *host = *sections[s].array, *device = NULL;
        SPRYI_TRY(d->ops->allocate(d, &device, bytes, sections[s].name, err));
        made.arrays[made.array_count++] = device;
        if (bytes > 0) SPRYI_TRY(d->ops->copy(d, device, host, bytes, SPRYI_TO_DEVICE, NULL, err));
        *sections[s].array = device;
    }
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    made.upload_us = spryi_now_us() - start;
    made.widening = stored->widening;
    memcpy(made.parameters, stored->parameters, sizeof made.parameters);
    spryi_discard_storage(plan, stored);
    *stored = made;
    made = (spryi_plan_storage){0};
done:
    spryi_discard_storage(plan, &made);
    return status;
}

/* ---- conversion on a device ------------------------------------------------------------------------------ */

/* Indices of device_csr.copies. The first three are copies of the matrix's arrays. */
enum { OFFSETS, INDICES, VALUES, NARROW, TABLE, COPIES };

/* CSR in device memory: the matrix's own arrays, or copies. */
typedef struct device_csr {
    spry_arrays a;
    void *copies[COPIES]; /* NULL: no copy, or the storage owns the copy */
} device_csr;

/* Adds values of 1 to a pattern. Copies a few values from the host and repeats them by copies on the device. */
static spry_status add_ones(const spryi_device *d, device_csr *csr, spry_type type, spry_error *err)
{
    double staged[256];
    const int64_t size = (int64_t)spry_type_bytes(type), all = csr->a.nnz * size;
    int64_t have = (int64_t)sizeof staged < all ? (int64_t)sizeof staged : all;
    SPRYI_OK_OR_RETURN(d->ops->allocate(d, &csr->copies[VALUES], all, "values", err));
    char *to = csr->copies[VALUES];
    for (int64_t k = 0; k * size < (int64_t)sizeof staged; k++) spryi_set_value(staged, type, k, 1);
    if (have > 0) SPRYI_OK_OR_RETURN(d->ops->copy(d, to, staged, have, SPRYI_TO_DEVICE, NULL, err));
    for (; have < all; have *= 2) {
        const int64_t more = have < all - have ? have : all - have;
        SPRYI_OK_OR_RETURN(d->ops->copy(d, to + have, to, more, SPRYI_WITHIN_DEVICE, NULL, err));
    }
    csr->a.values = to;
    csr->a.value_type = type;
    return SPRY_OK;
}

static void release_copies(const spryi_device *d, const device_csr *csr)
{
    for (int n = 0; n < COPIES; n++) d->ops->release(d, csr->copies[n]);
}

/* Moves copies that the storage uses from *csr to the storage's own arrays. */
static void keep_copies(spryi_plan_storage *made, device_csr *csr, const spryi_format *format)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    const int count = spryi_storage_device_sections(format, made->storage, sections);
    for (int s = 0; s < count; s++)
        for (int n = 0; sections[s].array && n < COPIES; n++)
            if (csr->copies[n] && *sections[s].array == csr->copies[n]) {
                made->arrays[made->array_count++] = csr->copies[n];
                csr->copies[n] = NULL;
            }
}

/* Returns the bytes of the matrix's own device arrays that the storage uses. */
static int64_t borrowed_bytes(const spryi_plan_storage *made, const spryi_format *format, const spry_arrays *a)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    const int count = a->device > 0 ? spryi_storage_device_sections(format, made->storage, sections) : 0;
    int64_t bytes = 0;
    for (int s = 0; s < count; s++) {
        const void *array = sections[s].array ? *sections[s].array : NULL;
        if (array && (array == a->offsets || array == a->indices || array == a->values))
            bytes += sections[s].count * sections[s].item_bytes;
    }
    return bytes;
}

/* Checks the bytes that the storage has with values of the matrix's type. */
static spry_status check_wide(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                              spry_error *err)
{
    spryi_cost wide = *cost;
    wide.bytes += widening_of(request, cost);
    return spryi_check_storage(request, format, &wide, err);
}

/*
 * Narrows the values, which are in device memory, to request->narrow_type. If a value changes, tries the next preferred
 * type, and sets request->narrow_type to the type that succeeds, or to 0.
 */
static spry_status narrow_on_device(const spryi_plan *plan, device_csr *to, spryi_build_request *request,
                                    const spryi_value_sample *sample, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    bool exact = false;
    for (; request->narrow_type; request->narrow_type = narrow_type(plan, sample, to->a, true, request->narrow_type)) {
        const spry_type type = request->narrow_type;
        const int64_t table_bytes = spryi_table_values(type) * (int64_t)sizeof(double);
        SPRYI_OK_OR_RETURN(
            d->ops->allocate(d, &to->copies[NARROW], to->a.nnz * (int64_t)spry_type_bytes(type), "narrow values", err));
        if (table_bytes > 0) SPRYI_OK_OR_RETURN(d->ops->allocate(d, &to->copies[TABLE], table_bytes, "table", err));
        SPRYI_OK_OR_RETURN(d->ops->matrix->narrow(d, to->copies[NARROW], type, to->a.values, to->a.value_type,
                                                  to->a.nnz, to->copies[TABLE], &exact, err));
        if (exact) {
            to->a.values = to->copies[NARROW];
            to->a.value_type = type;
            d->ops->release(d, to->copies[VALUES]);
            to->copies[VALUES] = NULL;
            break;
        }
        for (int n = NARROW; n < COPIES; n++) {
            d->ops->release(d, to->copies[n]);
            to->copies[n] = NULL;
        }
    }
    return SPRY_OK;
}

static spry_status convert(const spryi_plan *plan, spryi_plan_storage *made, const spryi_converter *converter,
                           spryi_build_request *request, const spryi_value_sample *sample, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    spry_status status = SPRY_OK;
    spryi_conversion work = {.request = request, .guard = check_wide, .device = d};
    device_csr csr = {.a = request->csr ? request->csr->a : plan->A->a};
    int previous = 0;
    double start = spryi_now_us();
    if (csr.a.device == 0) {
        SPRYI_TRY(spryi_copy_csr(d, &csr.a, csr.copies, err));
        made->upload_us = spryi_now_us() - start;
    }
    if (csr.a.value_type != request->narrow_type) SPRYI_TRY(narrow_on_device(plan, &csr, request, sample, err));
    if (csr.a.value_type == SPRY_PATTERN && plan->target.value_type != SPRY_PATTERN)
        SPRYI_TRY(add_ones(d, &csr, plan->target.value_type, err));
    work.csr = csr.a;
    work.table = csr.copies[TABLE];
    SPRYI_TRY(spryi_allocate(plan->context, &made->storage, 1, plan->target.format->layout.size, "storage", err));
    made->on_device = made->built_on_device = true;
    memset(made->storage, 0, plan->target.format->layout.size);
    work.storage = made->storage;
    SPRYI_TRY(d->ops->enter(d, &previous, err));
    status = converter->convert(&work, err);
    d->ops->leave(d, previous);
    memcpy(made->arrays, work.made, sizeof made->arrays);
    made->array_count = work.built_count;
    if (status != SPRY_OK) goto done;
    made->borrowed = borrowed_bytes(made, plan->target.format, &plan->A->a);
    made->widening = widening_of(request, &work.cost);
    keep_copies(made, &csr, plan->target.format);
    memcpy(made->parameters, work.cost.parameters, sizeof made->parameters);
done:
    start = spryi_now_us();
    release_copies(d, &csr);
    made->upload_us += spryi_now_us() - start;
    return status;
}

/*
 * Returns whether the matrix is CSR of the stored type, or can be converted to it: by adding values of 1 to a pattern,
 * or on the host.
 */
static bool can_be_converted(const spryi_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    const bool lacks_ones = a->device > 0 && a->value_type == SPRY_PATTERN;
    const bool as_is = a->layout == SPRY_CSR && (lacks_ones || a->value_type == plan->target.value_type);
    if (a->index_type != SPRY_I32) return 0;
    return as_is || (a->device == 0 && !plan->target.format->takes_any_layout);
}

/*
 * Narrows the values of request->csr, which is in host memory. If a value changes, keeps request->csr and sets
 * request->narrow_type to the next preferred type. Leaves tables to the device.
 */
static spry_status narrow_csr(const spryi_plan *plan, spryi_build_request *request, const spryi_value_sample *sample,
                              spry_error *err)
{
    const spry_type type = request->narrow_type;
    spry_matrix *made;
    if (!type || spryi_table_values(type) > 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_matrix_narrowed(plan->context, &made, request->csr, type, err));
    if (made->a.value_type != type) request->narrow_type = narrow_type(plan, sample, request->csr->a, true, type);
    spryi_matrix_release(request->csr);
    request->csr = made;
    return SPRY_OK;
}

/*
 * Converts on the device. *done is false if the device has no converter for this matrix, or too little memory. The host
 * then builds the storage.
 */
static spry_status build_on_device(const spryi_plan *plan, spryi_plan_storage *made, bool *done, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spryi_converter *converter = d->ops->find_converter ? d->ops->find_converter(d, plan->target.format->name)
                                                              : NULL;
    spry_error why = SPRY_ERROR_INIT;
    *done = false;
    if (!converter || !can_be_converted(plan)) return SPRY_OK;
    spryi_build_request request = spryi_request_of(plan);
    spryi_value_sample sample = {.count = 0};
    spry_status status = SPRY_OK;
    const bool on_host = plan->A->a.device == 0;
    if (on_host) status = spryi_complete_request(plan->context, &request, plan->target.format, &why);
    const spry_matrix *csr = on_host ? request.csr : plan->A;
    if (status == SPRY_OK) sample_values(plan, &sample, csr);
    if (sample.count > 0) request.narrow_type = narrow_type(plan, &sample, csr->a, true, 0);
    if (on_host && status == SPRY_OK) status = narrow_csr(plan, &request, &sample, &why);
    if (status == SPRY_OK) status = convert(plan, made, converter, &request, &sample, &why);
    spryi_matrix_release(request.csr);
    *done = status == SPRY_OK;
    if (!*done) spryi_discard_storage(plan, made);
    /* a host build needs less device memory: neither CSR nor scratch is stored next to the result */
    if (*done || status == SPRY_UNSUPPORTED || status == SPRY_OUT_OF_MEMORY) return SPRY_OK;
    return spryi_hand_on(err, &why);
}

spry_status spryi_transpose_on_device(const spryi_plan *plan, spry_matrix **T, const spry_matrix *A, double *upload_us,
                                      spry_error *err)
{
    spryi_plan in_columns = {.context = plan->context,
                             .A = (spry_matrix *)(uintptr_t)A, /* read only */
                             .request.device = plan->request.device,
                             .request.options = plan->request.options,
                             .target = {.format = spryi_find_format("csc"), .value_type = A->a.value_type}};
    const spryi_selection_request request = {.operation = SPRYI_OP_SPMV_T,
                                             .row = spryi_value_row(A->a.value_type, plan->request.vector_type)};
    spryi_plan_storage made = {0};
    bool done = false;
    *T = NULL;
    in_columns.request.options.keep_value_type = true;
    in_columns.request.options.memory_limit_bytes = 0; /* the plan checks its limit when it builds its own storage */
    spry_status status = spryi_select_kernel(plan->request.device, &in_columns.target.kernel, in_columns.target.format,
                                             NULL, &request, NULL);
    if (status != SPRY_OK) return SPRY_OK;
    SPRYI_TRY(build_on_device(&in_columns, &made, &done, err));
    if (!done) return SPRY_OK;
    spry_arrays a = *spryi_storage_arrays(made.storage);
    a.device = plan->request.device->number;
    made.array_count = 0; /* the matrix owns the arrays, whether or not adopt fails */
    *upload_us += made.upload_us;
    status = spryi_matrix_adopt(plan->context, T, &a, A->field, err);
done:
    spryi_discard_storage(&in_columns, &made);
    return status;
}

/* ---- storage of the matrix itself ---------------------------------------------------------------------- */

/* Writes the reason for reading a matrix in its stored format, as one sentence. */
static void write_stored_reason(char *reason, size_t size, const spryi_stored *stored)
{
    if (stored->from_arrays)
        snprintf(reason, size, "the arrays are blocks of %lld x %lld, which format %s reads in place",
                 (long long)stored->parameters[0], (long long)stored->parameters[0], stored->format->name);
    else
        snprintf(reason, size, "the container holds format %s, which is read in place", stored->format->name);
}

void spryi_choose_stored(spryi_choice *choice, const spryi_stored *stored)
{
    *choice = (spryi_choice){.format = stored->format, .code = SPRY_REASON_STORED};
    write_stored_reason(choice->reason, sizeof choice->reason, stored);
}

/*
 * Sets stored->format to a format that can read the blocks of *a, and stored->storage to a storage that borrows the
 * arrays of *a. stored->storage remains NULL if no format can read them.
 */
static spry_status borrow(spry_context *context, spryi_stored *stored, const spry_arrays *a, spry_error *err)
{
    for (int f = 0; !stored->storage && (stored->format = spryi_format_at(f)) != NULL; f++)
        if (stored->format->borrow_blocks)
            SPRYI_OK_OR_RETURN(stored->format->borrow_blocks(context, &stored->storage, a, err));
    return SPRY_OK;
}

/* Does what borrow does, for blocks in device memory. The format inspects a copy of the structure in host memory. */
static spry_status borrow_on_device(spry_context *context, spryi_stored *stored, const spry_arrays *a, spry_error *err)
{
    const spryi_device *d = spryi_device_at(context, a->device);
    spry_arrays host = *a;
    spry_status status = SPRY_OK;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    SPRYI_OK_OR_RETURN(spryi_fetch_structure(d, &host, err));
    SPRYI_TRY(borrow(context, stored, &host, err));
    const int count = stored->storage ? stored->format->layout.sections(stored->storage, sections) : 0;
    for (int s = 0; s < count; s++) {
        if (!sections[s].array) continue;
        if (*sections[s].array == host.offsets) *sections[s].array = (void *)(uintptr_t)a->offsets;
        if (*sections[s].array == host.indices) *sections[s].array = (void *)(uintptr_t)a->indices;
    }
done:
    spryi_release(context, (void *)(uintptr_t)host.offsets);
    spryi_release(context, (void *)(uintptr_t)host.indices);
    return status;
}

spry_status spryi_blocks_as_stored(spry_matrix **made, const spry_matrix *A, spry_error *err)
{
    spryi_stored stored = {.parameters = {A->a.block_size}, .from_arrays = true};
    if (A->a.layout == SPRY_BSR)
        SPRYI_OK_OR_RETURN(A->a.device > 0 ? borrow_on_device(A->context, &stored, &A->a, err)
                                           : borrow(A->context, &stored, &A->a, err));
    if (!stored.storage) {
        *made = spryi_matrix_retain(A);
        return SPRY_OK;
    }
    snprintf(stored.text, sizeof stored.text, "block=%lld", (long long)A->a.block_size);
    const spry_status status = spryi_matrix_of_storage(A->context, made, &stored, A->a.symmetry, A->field, err);
    if (status != SPRY_OK) {
        spryi_release(A->context, stored.storage);
        return status;
    }
    (*made)->structure_of = spryi_matrix_retain(A);
    (*made)->index_base = A->index_base;
    (*made)->a.device = A->a.device;
    return SPRY_OK;
}

bool spryi_is_stored_narrow(const spry_matrix *A)
{
    return spryi_storage_arrays(A->stored->storage)->value_type != A->a.value_type;
}

bool spryi_may_read_stored(const spry_matrix *A, const spry_spmv_options *o)
{
    const spryi_stored *stored = A->stored;
    const spryi_kernel *kernel = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    if (!stored || (o->ordering && strcmp(o->ordering, "none") != 0)) return 0;
    if (o->op == SPRY_TRANSPOSE && stored->format->layout.sections_lack_columns) return 0;
    if (o->keep_value_type && spryi_is_stored_narrow(A)) return 0;
    if (o->kernel && !(kernel && strcmp(kernel->format, stored->format->name) == 0)) return 0;
    return spryi_format_is_auto(o) || spryi_is_stored_as(stored, o->format);
}

/* Uses the container's own storage, or copies its arrays to a device. */
static spry_status take_stored(const spryi_plan *plan, spryi_plan_storage *stored, spry_error *err)
{
    const spryi_format *format = plan->target.format;
    stored->storage = plan->A->stored->storage;
    stored->from_container = true;
    memcpy(stored->parameters, plan->A->stored->text, sizeof stored->parameters);
    if (plan->request.device->number == plan->A->a.device) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_check_memory_limit(&plan->request.options, format->name,
                                                spryi_storage_bytes(format, stored->storage), err));
    return copy_to_device(plan, stored, err);
}

/* ---- any storage --------------------------------------------------------------------------------------- */

spry_status spryi_make_storage(const spryi_plan *plan, spryi_plan_storage *stored, spry_error *err)
{
    spry_status status = SPRY_OK;
    bool done;
    *stored = (spryi_plan_storage){0};
    if (plan->A->stored) {
        SPRYI_TRY(take_stored(plan, stored, err));
        return SPRY_OK;
    }
    SPRYI_TRY(build_on_device(plan, stored, &done, err));
    if (done) return SPRY_OK;
    SPRYI_TRY(build(plan, stored, err));
    const bool needs_no_copy =
        plan->request.device->driver->host_memory ||
        (plan->A->a.device > 0 && spryi_storage_arrays(stored->storage)->offsets == plan->A->a.offsets);
    if (!needs_no_copy) SPRYI_TRY(copy_to_device(plan, stored, err));
done:
    if (status != SPRY_OK) spryi_discard_storage(plan, stored);
    return status;
}

void spryi_discard_storage(const spryi_plan *plan, spryi_plan_storage *stored)
{
    const spryi_device *d = plan->request.device;
    for (int a = 0; a < stored->array_count; a++) d->ops->release(d, stored->arrays[a]);
    if (stored->on_device)
        spryi_release(plan->context, stored->storage);
    else if (stored->storage && !stored->from_container)
        spryi_storage_destroy(plan->context, plan->target.format, stored->storage);
    spryi_matrix_release(stored->source);
    *stored = (spryi_plan_storage){0};
}

/*
 * Overwrites the plan's arrays on the device by those of `fresh`, a storage of the same structure and types on the host
 * or the device.
 */
static spry_status overwrite(const spryi_plan *plan, void *fresh, spryi_copy kind, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    spryi_section from[SPRYI_MOST_SECTIONS], to[SPRYI_MOST_SECTIONS];
    const int count = spryi_storage_device_sections(plan->target.format, fresh, from);
    spryi_storage_device_sections(plan->target.format, plan->stored.storage, to);
    for (int s = 0; s < count; s++)
        if (from[s].array && *from[s].array != *to[s].array)
            SPRYI_OK_OR_RETURN(
                d->ops->copy(d, *to[s].array, *from[s].array, from[s].count * from[s].item_bytes, kind, NULL, err));
    return d->ops->synchronize(d, NULL, err);
}

static void replace_owned(spryi_plan_storage *of, const void *array, void *by)
{
    for (int n = 0; n < of->array_count; n++)
        if (of->arrays[n] == array) {
            of->arrays[n] = by;
            return;
        }
}

/*
 * Replaces the plan's storage on the device by *fresh, a storage of the same structure, whose values have another type.
 * Keeps all arrays but the values and their table, since kernels may keep their addresses. Captured graphs keep the
 * addresses of the values too.
 */
static spry_status exchange_values(spryi_plan *plan, spryi_plan_storage *fresh, spry_error *err)
{
    spryi_plan_storage *own = &plan->stored;
    spryi_section from[SPRYI_MOST_SECTIONS], to[SPRYI_MOST_SECTIONS];
    if (plan->is_captured)
        return spryi_fail(err, SPRY_UNSUPPORTED, "values",
                          "values: not all can be stored as %s, which captured graphs of the plan read: create plans "
                          "for graphs with keep_value_type",
                          spry_type_name(spryi_storage_arrays(own->storage)->value_type));
    const int counts[] = {spryi_storage_device_sections(plan->target.format, fresh->storage, from),
                          spryi_storage_device_sections(plan->target.format, own->storage, to)};
    for (int s = 0; s < counts[0] && s < counts[1]; s++) { /* only the table, the last section, may be on one side */
        const bool is_of_values = strstr(from[s].name, "values") || strcmp(from[s].name, SPRYI_TABLE_SECTION) == 0;
        if (!from[s].array || is_of_values) continue;
        void *const kept = *to[s].array, *const other = *from[s].array;
        replace_owned(own, kept, other);
        replace_owned(fresh, other, kept);
        *to[s].array = other;
        *from[s].array = kept;
    }
    const spryi_plan_storage old = *own;
    *own = *fresh;
    own->built_on_device = old.built_on_device;
    own->upload_us = old.upload_us;
    *fresh = old;
    return SPRY_OK;
}

/* Returns whether the storage reads plan->A's own values. */
static bool borrows_values(const spryi_plan *plan)
{
    return plan->A->a.device == plan->request.device->number &&
           spryi_storage_borrows_values(plan->stored.storage, &plan->A->a);
}

bool spryi_values_in_place(const spryi_plan *plan)
{
    const spry_matrix *given = plan->map.given;
    if (spryi_reads_blocks(plan)) return !plan->stored.on_device;
    if (given->stored || spryi_is_compact(&given->a)) return false;
    return plan->A->a.values == given->a.values && borrows_values(plan);
}

void spryi_replace_matrix(spryi_plan *plan, const spry_matrix *to)
{
    spry_matrix *from = plan->A;
    if (borrows_values(plan))
        ((spry_arrays *)(uintptr_t)spryi_storage_arrays(plan->stored.storage))->values = to->a.values;
    plan->A = spryi_matrix_retain(to);
    spryi_matrix_release(from);
}

/*
 * Makes the storage of blocks read the values of the caller's matrix. If the plan has copies on its device, copies the
 * values to the device.
 */
static spry_status renew_blocks(const spryi_plan *plan, spry_error *err)
{
    const spryi_stored *blocks = plan->A->stored;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    const int count = blocks->format->layout.sections(blocks->storage, sections);
    int values = 0;
    while (values < count - 1 && strcmp(sections[values].name, "values") != 0) values++;
    void *const before = *sections[values].array;
    *sections[values].array = (void *)(uintptr_t)plan->map.given->a.values;
    spry_status status = SPRY_OK;
    if (plan->stored.on_device) status = overwrite(plan, blocks->storage, SPRYI_TO_DEVICE, err);
    if (status != SPRY_OK) *sections[values].array = before;
    return status;
}

spry_status spryi_renew_storage(spryi_plan *plan, spry_error *err)
{
    if (spryi_reads_blocks(plan)) return renew_blocks(plan, err);
    spryi_plan_storage fresh = {0};
    spry_status status = SPRY_OK;
    bool done = false;
    if (borrows_values(plan)) return SPRY_OK;
    if (plan->stored.built_on_device) SPRYI_TRY(build_on_device(plan, &fresh, &done, err));
    if (!done) SPRYI_TRY(build(plan, &fresh, err));
    const bool same_type = spryi_storage_arrays(fresh.storage)->value_type ==
                           spryi_storage_arrays(plan->stored.storage)->value_type;
    /* The caller's streams and captured graphs use the addresses of the arrays, which must not change. */
    if (plan->stored.on_device && same_type) {
        SPRYI_TRY(overwrite(plan, fresh.storage, done ? SPRYI_WITHIN_DEVICE : SPRYI_TO_DEVICE, err));
    } else if (plan->stored.on_device) {
        if (!done) SPRYI_TRY(copy_to_device(plan, &fresh, err));
        SPRYI_TRY(exchange_values(plan, &fresh, err));
    } else {
        const spryi_plan_storage old = plan->stored;
        plan->stored = fresh;
        fresh = old;
    }
done:
    spryi_discard_storage(plan, &fresh);
    return status;
}

/* ---- prediction of a storage ----------------------------------------------------------------------------- */

/*
 * Returns the device that the options name, or else the one with A's arrays. Returns the CPU if that device is missing.
 */
static const spryi_device *device_for(const spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    const int number = o->device == SPRY_DEVICE_DEFAULT ? A->a.device : spryi_device_number(o->device);
    const spryi_device *found = spryi_device_at(context, number);
    return found ? found : spryi_device_at(context, 0);
}

/* is_built: the arrays of A are built for the plan, which owns them. */
static spry_status predict(spry_context *context, spryi_storage *storage, const spry_matrix *A, bool is_built,
                           const spry_spmv_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_format *format = NULL;
    spryi_cost cost = {0};
    const spryi_device *device = device_for(context, A, o);
    spryi_build_request request = request_for(device, A, o);
    spry_matrix *host = NULL;
    SPRYI_TRY(spryi_parse_format(&format, request.parameters, o->format, err));
    request.value_type = A->a.value_type;
    if (request.value_type == SPRY_PATTERN && !spryi_has_pattern_kernel(format)) request.value_type = o->vector_type;
    SPRYI_TRY(spryi_check_stores(format, request.value_type, err));
    if (is_built || (A->a.device > 0 && !format->in_place))
        request.copied = 1; /* the plan owns all arrays of the storage */
    SPRYI_TRY(spryi_matrix_host_entries(A, &host, err));
    request.A = host;
    SPRYI_TRY(spryi_complete_request(context, &request, format, err));
    SPRYI_TRY(format->predict(context, &cost, &request, err));
    *storage = (spryi_storage){
        .format = format->name,
        .words = cost.words,
        .bytes = cost.bytes,
        .padding = cost.padding,
        .owned_bytes = spryi_bytes_to_own(&request, &cost),
        .refused = spryi_check_storage(&request, format->name, &cost, NULL) != SPRY_OK,
    };
    memcpy(storage->parameters, cost.parameters, sizeof storage->parameters);
done:
    spryi_matrix_release(host);
    spryi_matrix_release(request.csr);
    return status;
}

/* Predicts the sizes of the format that the policy chooses. Adds the reason. */
static spry_status predict_choice(spry_context *context, spryi_storage *storage, const spry_matrix *A, bool is_built,
                                  const spry_spmv_options *options, spry_error *err)
{
    spryi_choice choice = {0};
    spry_spmv_options o = *options;
    SPRYI_OK_OR_RETURN(spryi_choose_format(A, options, device_for(context, A, options), &choice, err));
    o.format = choice.format->name;
    SPRYI_OK_OR_RETURN(predict(context, storage, A, is_built, &o, err));
    if (storage->refused && strcmp(o.format, "csr") != 0) {
        spryi_choose_instead(&choice, "csr", o.format);
        o.format = choice.format->name;
        SPRYI_OK_OR_RETURN(predict(context, storage, A, is_built, &o, err));
    }
    snprintf(storage->reason, sizeof storage->reason, "%s", choice.reason);
    return SPRY_OK;
}

/* Predicts the sizes for the plain product of A^T. */
static spry_status predict_flipped(spry_context *context, spryi_storage *storage, const spry_matrix *A,
                                   const spry_spmv_options *options, bool is_auto, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *T = NULL;
    spry_spmv_options o = *options;
    o.op = SPRY_NO_TRANSPOSE;
    SPRYI_TRY(spryi_structure_of(&T, A, SPRY_TRANSPOSE, err));
    T->a.value_type = A->a.value_type; /* T has no values if A is on a GPU */
    SPRYI_TRY(is_auto ? predict_choice(context, storage, T, true, &o, err)
                      : predict(context, storage, T, true, &o, err));
    if (is_auto) spryi_write_transposed_reason(storage->reason, sizeof storage->reason);
done:
    spryi_matrix_release(T);
    return status;
}

/*
 * Predicts the sizes for a container or blocks in their own format. A plan on the device of the arrays owns no array.
 */
static spry_status predict_stored(spry_context *context, spryi_storage *storage, const spry_matrix *A,
                                  const spry_matrix *entries, const spry_spmv_options *options, bool is_auto,
                                  spry_error *err)
{
    const spryi_format *format = A->stored->format;
    spry_spmv_options o = *options;
    char name[128];
    const bool in_place = device_for(context, A, options)->number == A->a.device;
    snprintf(name, sizeof name, "%s%s%s", format->name, A->stored->text[0] ? ":" : "", A->stored->text);
    o.format = name;
    SPRYI_OK_OR_RETURN(predict(context, storage, entries, false, &o, err));
    storage->owned_bytes = in_place ? 0 : storage->bytes;
    storage->refused = o.memory_limit_bytes > 0 && storage->owned_bytes > o.memory_limit_bytes;
    if (is_auto) write_stored_reason(storage->reason, sizeof storage->reason, A->stored);
    return SPRY_OK;
}

spry_status spryi_predict_storage(spry_context *context, spryi_storage *storage, const spry_matrix *A,
                                  const spry_spmv_options *options, spry_error *err)
{
    spry_spmv_options o;
    spryi_storage found;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(spryi_check_spmv_options(&o, err));
    SPRYI_OK_OR_RETURN(spryi_vector_type_of(&o.vector_type, A, &o, err));
    if (o.device == SPRY_DEVICE_DEFAULT && A->a.device > 0) o.device = A->a.device;
    const bool is_auto = spryi_format_is_auto(&o), is_built = spryi_is_compact(&A->a);
    spry_status status = SPRY_OK;
    spry_matrix *stored = NULL, *entries = NULL;
    SPRYI_TRY(spryi_blocks_as_stored(&stored, A, err));
    SPRYI_TRY(spryi_matrix_entries(stored, &entries, err));
    const bool flips = spryi_multiplies_transposed(device_for(context, A, &o), entries, &o);
    status = spryi_may_read_stored(stored, &o) ? predict_stored(context, &found, stored, entries, &o, is_auto, err)
             : flips                           ? predict_flipped(context, &found, entries, &o, is_auto, err)
             : is_auto                         ? predict_choice(context, &found, entries, is_built, &o, err)
                                               : predict(context, &found, entries, is_built, &o, err);
    if (status == SPRY_OK) *storage = found;
done:
    spryi_matrix_release(stored);
    spryi_matrix_release(entries);
    return status;
}
