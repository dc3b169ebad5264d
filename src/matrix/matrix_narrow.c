/*
 * Values in a narrower type that holds each of them exactly: f64 as f32, f32 as bf16 or f16. Widening a narrow value
 * gives all bits of the value again. NaNs, infinities, and numbers below the least normal number of the narrow type are
 * not narrowed, except from f32 to bf16, which keeps the upper half of the bits: processors may quiet such a NaN when
 * they widen it, or may be set to read such a small number as zero.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <stdatomic.h>
#include <string.h>

/*
 * Narrows the values begin..end-1. Returns false if one of them changes. All steps are on integers, without branches,
 * so that compilers vectorize the loops and no floating-point exception is raised.
 */
typedef bool (*narrow_fn)(void *narrow, const void *wide, int64_t begin, int64_t end);

static bool f64_to_f32(void *narrow, const void *wide, int64_t begin, int64_t end)
{
    static const uint64_t rebias = (uint64_t)(1023 - 127) << 52, one = UINT64_C(1) << 52, sign = UINT64_C(1) << 63;
    const uint64_t *from = wide;
    uint32_t *to = narrow;
    uint64_t changed = 0; /* a nonzero high or low bit: a value changes */
    for (int64_t k = begin; k < end; k++) {
        const uint64_t size = from[k] & ~sign, is_nonzero = 0 - ((size | (0 - size)) >> 63);
        const uint64_t below = size - (rebias + one), above = rebias + 255 * one - 1 - size; /* negative: outside */
        changed |= (((below | above) & sign) | (size & ((UINT64_C(1) << 29) - 1))) & is_nonzero;
        to[k] = (uint32_t)((((size - rebias) >> 29) & is_nonzero) | (from[k] & sign) >> 32);
    }
    return changed == 0;
}

static bool f32_to_bf16(void *narrow, const void *wide, int64_t begin, int64_t end)
{
    const uint32_t *from = wide;
    spryi_bf16_number *to = narrow;
    uint32_t changed = 0;
    for (int64_t k = begin; k < end; k++) {
        changed |= from[k] & UINT16_MAX;
        to[k].bits = (uint16_t)(from[k] >> 16);
    }
    return changed == 0;
}

static bool f32_to_f16(void *narrow, const void *wide, int64_t begin, int64_t end)
{
    static const uint32_t rebias = (uint32_t)(127 - 15) << 23, one = 1u << 23, sign = 1u << 31;
    const uint32_t *from = wide;
    spryi_f16_number *to = narrow;
    uint32_t changed = 0;
    for (int64_t k = begin; k < end; k++) {
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

typedef struct narrow_job {
    narrow_fn convert;
    void *narrow;
    const void *wide;
    _Atomic bool exact;
} narrow_job;

static void narrow_part(void *job, int64_t begin, int64_t end)
{
    enum { BLOCK = 4096 }; /* values that are narrowed between two looks at `exact` */
    narrow_job *j = job;
    for (int64_t k = begin; k < end && atomic_load_explicit(&j->exact, memory_order_relaxed); k += BLOCK)
        if (!j->convert(j->narrow, j->wide, k, k + BLOCK < end ? k + BLOCK : end))
            atomic_store_explicit(&j->exact, false, memory_order_relaxed);
}

/* Returns whether values at equal distances are exact. */
static bool sample_is_exact(narrow_fn convert, const void *values, size_t size, int64_t count)
{
    enum { SAMPLES = 64 };
    uint64_t value, narrow;
    for (int64_t n = 0; n < SAMPLES && count > 0; n++) {
        memcpy(&value, (const char *)values + (size_t)(count / SAMPLES * n + n * (count % SAMPLES) / SAMPLES) * size,
               size);
        if (!convert(&narrow, &value, 0, 1)) return false;
    }
    return true;
}

spry_status spryi_matrix_narrowed(spry_context *context, spry_matrix **made, const spry_matrix *A, spry_type narrow,
                                  spry_error *err)
{
    const spry_arrays *a = &A->a;
    narrow_job job = {.wide = a->values, .exact = true};
    *made = NULL;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (forms[f].wide == a->value_type && forms[f].narrow == narrow) job.convert = forms[f].convert;
    if (!job.convert || !sample_is_exact(job.convert, a->values, spry_type_bytes(a->value_type), a->nnz))
        return SPRY_OK;
    spry_status status = SPRY_OK;
    spry_arrays arrays = *a;
    SPRYI_OK_OR_RETURN(
        spryi_allocate(context, &job.narrow, a->nnz, spry_type_bytes(narrow), "values in a narrower type", err));
    spryi_loop(context, spryi_threads(context, a->nnz), a->nnz, 1 << 14, narrow_part, &job);
    if (!job.exact) goto done;
    arrays.value_type = narrow;
    arrays.values = job.narrow;
    SPRYI_TRY(spryi_matrix_with_own_values(made, A, &arrays, err));
    job.narrow = NULL;
done:
    spryi_release(context, job.narrow);
    return status;
}
