#include "bench/peers/narrow_values.h"

#include <string.h>

static int put_f32(void *array, int64_t k, const void *values)
{
    const double value = ((const double *)values)[k];
    ((float *)array)[k] = (float)value;
    return (double)(float)value == value && value - value == 0;
}

static int put_bf16(void *array, int64_t k, const void *values)
{
    uint32_t bits;
    memcpy(&bits, (const float *)values + k, sizeof bits);
    ((uint16_t *)array)[k] = (uint16_t)(bits >> 16);
    return (bits & 0xffff) == 0 && (bits >> 23 & 255) != 255;
}

/*
 * Converts element k from f32 to f16. f16 numbers with magnitudes below 2^-14 are subnormal: they are multiples of
 * 2^-24. Returns 0 if the conversion is not exact.
 */
static int put_f16(void *array, int64_t k, const void *values)
{
    uint32_t bits;
    memcpy(&bits, (const float *)values + k, sizeof bits);
    const uint32_t sign = bits >> 31 << 15, significand = (bits & 0x7fffff) | 0x800000;
    const int exponent = (int)(bits >> 23 & 255) - 127, is_zero = bits << 1 == 0;
    const int dropped = exponent >= -14 ? 13 : -1 - exponent; /* number of low bits that f16 lacks */
    uint32_t half = 0;
    if (exponent > 15 || (exponent < -24 && !is_zero)) return 0;
    if (!is_zero)
        half = exponent >= -14 ? (uint32_t)(exponent + 15) << 10 | (significand >> dropped & 0x3ff)
                               : significand >> dropped;
    ((uint16_t *)array)[k] = (uint16_t)(sign | half);
    return is_zero || (significand & ((UINT32_C(1) << dropped) - 1)) == 0;
}

const peer_narrow_type peer_f32 = {"f32", 8, 4, put_f32}, peer_f16 = {"f16", 4, 2, put_f16},
                       peer_bf16 = {"bf16", 4, 2, put_bf16};

int peer_narrow(void **stored, const spry_peer_matrix *a, const peer_narrow_type *type, spry_peer_error *error)
{
    int64_t put = 0;
    *stored = NULL;
    if (a->value_bytes != type->vector_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "values stored as %s require f%d vectors", type->name,
                              8 * type->vector_bytes);
    *stored = malloc((size_t)a->nnz * (size_t)type->bytes + 1);
    if (!*stored) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for the values as %s", type->name);
    while (put < a->nnz && type->put(*stored, put, a->values)) put++;
    if (put == a->nnz) return SPRY_PEER_OK;
    free(*stored);
    *stored = NULL;
    return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                          "the value of entry %lld is not exact in %s: the product would be another one",
                          (long long)put, type->name);
}
