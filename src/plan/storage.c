/* What a format would take, told before it is built. */
#include "base/error.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "formats/shared/padding_guard.h"
#include "plan/plan.h"
#include "spry/tools.h"

#include <stdio.h>
#include <string.h>

/* The device that the options name, else where A is; the CPU where there is none of that number. */
static const spryi_device *device_for(const spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    const int number = o->device == SPRY_DEVICE_DEFAULT ? A->a.device : spryi_device_number(o->device);
    const spryi_device *found = spryi_device_at(context, number);
    return found ? found : spryi_device_at(context, 0);
}

static spry_status predict(spry_context *context, spry_storage *storage, const spry_matrix *A,
                           const spry_spmv_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_format *format = NULL;
    spryi_cost cost = {0};
    const spryi_device *device = device_for(context, A, o);
    spryi_build_request request = spryi_request_for(device, A, o);
    SPRYI_TRY(spryi_parse_format(&format, request.parameters, o->format, err));
    request.value_type = A->a.value_type;
    if (request.value_type == SPRY_PATTERN && !spryi_has_pattern_kernel(format)) request.value_type = o->vector_type;
    SPRYI_TRY(spryi_check_stores(format, request.value_type, err));
    if (A->a.device > 0 && !format->in_place) request.copied = 1; /* only csr uses arrays where a device has them */
    SPRYI_TRY(spryi_complete_request(context, &request, format, err));
    SPRYI_TRY(format->predict(context, &cost, &request, err));
    *storage = (spry_storage){
        .struct_size = sizeof *storage,
        .format = format->name,
        .words = cost.words,
        .bytes = cost.bytes,
        .padding = cost.padding,
        .owned_bytes = spryi_bytes_to_own(&request, &cost),
        .refused = spryi_check_padding(&request, format->name, &cost, NULL) != SPRY_OK,
    };
    memcpy(storage->parameters, cost.parameters, sizeof storage->parameters);
done:
    spryi_matrix_release(request.csr);
    return status;
}

/* Of what the policy picks, with its reason. */
static spry_status predict_choice(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                  const spry_spmv_options *options, spry_error *err)
{
    spryi_choice choice = {0};
    spry_spmv_options o = *options;
    SPRYI_OK_OR_RETURN(spryi_choose_format(A, options, device_for(context, A, options), &choice, err));
    o.format = choice.format->name;
    SPRYI_OK_OR_RETURN(predict(context, storage, A, &o, err));
    if (storage->refused && strcmp(o.format, "csr") != 0) {
        spryi_choose_instead(&choice, "csr", o.format);
        o.format = choice.format->name;
        SPRYI_OK_OR_RETURN(predict(context, storage, A, &o, err));
    }
    snprintf(storage->reason, sizeof storage->reason, "%s", choice.reason);
    return SPRY_OK;
}

/* Of the plain product of A^T. */
static spry_status predict_flipped(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                   const spry_spmv_options *options, bool is_auto, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *T = NULL;
    spry_spmv_options o = *options;
    o.op = SPRY_NO_TRANSPOSE;
    SPRYI_TRY(spryi_structure_of(&T, A, SPRY_TRANSPOSE, err));
    T->a.value_type = A->a.value_type; /* values are not looked at */
    SPRYI_TRY(is_auto ? predict_choice(context, storage, T, &o, err) : predict(context, storage, T, &o, err));
    if (is_auto) spryi_tell_transposed(storage->reason, sizeof storage->reason);
done:
    spryi_matrix_release(T);
    return status;
}

/* Of the container's own format, whose arrays a plan on the CPU does not own, and which is nowhere made anew. */
static spry_status predict_stored(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                  const spry_matrix *entries, const spry_spmv_options *options, bool is_auto,
                                  spry_error *err)
{
    const spryi_format *format = A->stored->format;
    spry_spmv_options o = *options;
    char name[128];
    const bool on_cpu = device_for(context, A, options)->driver->host_memory;
    snprintf(name, sizeof name, "%s%s%s", format->name, A->stored->text[0] ? ":" : "", A->stored->text);
    o.format = name;
    SPRYI_OK_OR_RETURN(predict(context, storage, entries, &o, err));
    storage->owned_bytes = on_cpu ? 0 : storage->bytes;
    storage->refused = o.memory_limit_bytes > 0 && storage->owned_bytes > o.memory_limit_bytes;
    if (is_auto) spryi_tell_stored(storage->reason, sizeof storage->reason, A->stored);
    return SPRY_OK;
}

spry_status spry_spmv_predict_storage(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                      const spry_spmv_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !storage ? "storage" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_spmv_options o;
    spry_storage found;
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(storage, err));
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(spryi_check_spmv_options(&o, err));
    SPRYI_OK_OR_RETURN(spryi_vector_type_of(&o.vector_type, A, &o, err));
    const bool is_auto = spryi_format_is_auto(&o);
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &entries, err));
    const bool flips = spryi_multiplies_transposed(device_for(context, A, &o), entries, &o);
    spry_status status = spryi_may_read_stored(A, &o) ? predict_stored(context, &found, A, entries, &o, is_auto, err)
                         : flips                      ? predict_flipped(context, &found, entries, &o, is_auto, err)
                         : is_auto                    ? predict_choice(context, &found, entries, &o, err)
                                                      : predict(context, &found, entries, &o, err);
    spryi_matrix_release(entries);
    if (status == SPRY_OK) SPRYI_GIVE(storage, &found);
    return status;
}
