/*
 * Values in a narrower type that holds each of them exactly: f64 as f32, f32 as bf16 or f16. Widening a narrow value
 * gives all bits of the value again. f64 to f32 and f32 to f16 refuse NaNs, infinities and numbers below the least
 * normal number of the narrow type: processors may quiet such a NaN, or read such a number as zero. f32 to bf16 keeps
 * the upper half of the bits and accepts them.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <stdatomic.h>
#include <string.h>

/*
 * Narrows the first `count` values. Returns false if one of them changes. All steps are on integers, without branches,
 * so that compilers vectorize the loops and no floating-point exception is raised.
 */
typedef bool (*narrow_fn)(void *narrow, const void *wide, int64_t count);

static bool f64_to_f32(void *narrow, const void *wide, int64_t count)
{
    static const uint64_t rebias = (uint64_t)(1023 - 127) << 52, one = UINT64_C(1) << 52, sign = UINT64_C(1) << 63;
    const uint64_t *from = wide;
    uint32_t *to = narrow;
    uint64_t changed = 0; /* nonzero if a value changes */
    for (int64_t k = 0; k < count; k++) {
        const uint64_t size = from[k] & ~sign, is_nonzero = 0 - ((size | (0 - size)) >> 63);
        const uint64_t below = size - (rebias + one), above = rebias + 255 * one - 1 - size; /* negative: outside */
        changed |= (((below | above) & sign) | (size & ((UINT64_C(1) << 29) - 1))) & is_nonzero;
        to[k] = (uint32_t)((((size - rebias) >> 29) & is_nonzero) | (from[k] & sign) >> 32);
    }
    return changed == 0;
}

static bool f32_to_bf16(void *narrow, const void *wide, int64_t count)
{
    const uint32_t *from = wide;
    spryi_bf16_number *to = narrow;
    uint32_t changed = 0;
    for (int64_t k = 0; k < count; k++) {
        changed |= from[k] & UINT16_MAX;
        to[k].bits = (uint16_t)(from[k] >> 16);
    }
    return changed == 0;
}

static bool f32_to_f16(void *narrow, const void *wide, int64_t count)
{
    static const uint32_t rebias = (uint32_t)(127 - 15) << 23, one = 1u << 23, sign = 1u << 31;
    const uint32_t *from = wide;
    spryi_f16_number *to = narrow;
    uint32_t changed = 0;
    for (int64_t k = 0; k < count; k++) {
        const uint32_t size = from[k] & ~sign, is_nonzero = 0 - ((size | (0 - size)) >> 31);
        const uint32_t below = size - (rebias + one), above = rebias + 31 * one - 1 - size;
        changed |= (((below | above) & sign) | (size & ((1u << 13) - 1))) & is_nonzero;
        to[k].bits = (uint16_t)((((size - rebias) >> 13) & is_nonzero) | (from[k] & sign) >> 16);
    }
    return changed == 0;
}

static const struct {
    spry_type wide, narrow;
    narrow_fn convert;
} forms[] = {{SPRY_F64, SPRY_F32, f64_to_f32}, {SPRY_F32, SPRY_BF16, f32_to_bf16}, {SPRY_F32, SPRY_F16, f32_to_f16}};

/* Returns NULL if `narrow` is not a narrower type for the type `wide`. */
static narrow_fn conversion(spry_type wide, spry_type narrow)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (forms[f].wide == wide && forms[f].narrow == narrow) return forms[f].convert;
    return NULL;
}

bool spryi_is_narrower(spry_type narrow, spry_type wide)
{
    return conversion(wide, narrow) != NULL;
}

bool spryi_narrow_values(void *narrow, spry_type narrow_type, const void *wide, spry_type wide_type, int64_t count)
{
    return conversion(wide_type, narrow_type)(narrow, wide, count);
}

static bool fits(const spry_arrays *a, narrow_fn convert)
{
    enum { SAMPLES = 64 };
    const size_t size = spry_type_bytes(a->value_type);
    uint64_t value, narrowed;
    for (int64_t n = 0; n < SAMPLES; n++) {
        const int64_t k = a->nnz / SAMPLES * n + a->nnz % SAMPLES * n / SAMPLES;
        memcpy(&value, (const char *)a->values + (size_t)k * size, size);
        if (!convert(&narrowed, &value, 1)) return false;
    }
    return true;
}

spry_type spryi_narrow_type(const spry_arrays *a, spry_type vector_type)
{
    enum { LEAST_BYTES = 1 << 20 };
    if (a->nnz * (int64_t)spry_type_bytes(a->value_type) < LEAST_BYTES) return 0;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (forms[f].wide == a->value_type && spryi_value_row(forms[f].narrow, vector_type) >= 0 &&
            fits(a, forms[f].convert))
            return forms[f].narrow;
    return 0;
}

typedef struct narrow_job {
    narrow_fn convert;
    const char *wide;
    char *narrow;
    size_t wide_bytes, narrow_bytes; /* of a value */
    _Atomic bool exact;
} narrow_job;

static void narrow_part(void *job, int64_t begin, int64_t end)
{
    enum { BLOCK = 4096 }; /* values per check of `exact` */
    narrow_job *j = job;
    for (int64_t k = begin; k < end && atomic_load_explicit(&j->exact, memory_order_relaxed); k += BLOCK)
        if (!j->convert(j->narrow + (size_t)k * j->narrow_bytes, j->wide + (size_t)k * j->wide_bytes,
                        end - k < BLOCK ? end - k : BLOCK))
            atomic_store_explicit(&j->exact, false, memory_order_relaxed);
}

spry_status spryi_matrix_narrowed(spry_context *context, spry_matrix **made, const spry_matrix *A, spry_type narrow,
                                  spry_error *err)
{
    const int64_t nnz = A->a.nnz;
    void *values = NULL;
    spry_arrays arrays = A->a;
    *made = NULL;
    if (narrow) {
        SPRYI_OK_OR_RETURN(
            spryi_allocate(context, &values, nnz, spry_type_bytes(narrow), "values in a narrower type", err));
        narrow_job job = {.convert = conversion(A->a.value_type, narrow),
                          .wide = A->a.values,
                          .narrow = values,
                          .wide_bytes = spry_type_bytes(A->a.value_type),
                          .narrow_bytes = spry_type_bytes(narrow),
                          .exact = true};
        spryi_loop(context, spryi_threads(context, nnz), nnz, 1 << 14, narrow_part, &job);
        arrays.value_type = narrow;
        arrays.values = values;
        const spry_status status = job.exact ? spryi_matrix_with_own_values(made, A, &arrays, err) : SPRY_OK;
        if (!*made) spryi_release(context, values);
        SPRYI_OK_OR_RETURN(status);
    }
    if (!*made) *made = spryi_matrix_retain(A);
    return SPRY_OK;
}
