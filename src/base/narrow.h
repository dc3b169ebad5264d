/*
 * Types of 8 and 16 bits for stored values. Indices into a table: base/types.h. bf16 is the upper half of an f32, with
 * 8 bits of exponent and 7 bits of fraction. f16 is IEEE 754 half precision, with 5 bits of exponent and 10 bits of
 * fraction. Widening is exact. Narrowing rounds once, to nearest, ties to even, in every floating-point environment.
 * spryi_widen_TAG and spryi_narrow_TAG exist for all element types, for use in tables and templates.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SPRYI_ANYWHERE static inline __host__ __device__
#else
#define SPRYI_ANYWHERE static inline
#endif

/* The types are structs, so that code cannot add their bits as integers. */
typedef struct spryi_table8_number {
    uint8_t index; /* into a table of f64 values (base/types.h) */
} spryi_table8_number;
typedef struct spryi_table16_number {
    uint16_t index;
} spryi_table16_number;
typedef struct spryi_bf16_number {
    uint16_t bits;
} spryi_bf16_number;
typedef struct spryi_f16_number {
    uint16_t bits;
} spryi_f16_number;

SPRYI_ANYWHERE float spryi_widen_f32(float value)
{
    return value;
}
SPRYI_ANYWHERE double spryi_widen_f64(double value)
{
    return value;
}
SPRYI_ANYWHERE float spryi_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
SPRYI_ANYWHERE float spryi_widen_bf16(spryi_bf16_number value)
{
    return spryi_float_of_bits((uint32_t)value.bits << 16);
}

/* No branches, so that compilers can vectorize. */
SPRYI_ANYWHERE float spryi_widen_f16(spryi_f16_number value)
{
#ifdef __CUDA_ARCH__
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
#else
    enum { REBIAS = (127 - 15) << 23, LEAST_NORMAL = 1 << 10, INFINITE = 31 << 10 };
    const uint32_t sign = (uint32_t)(value.bits & 0x8000u) << 16, size = value.bits & 0x7fffu;
    const uint32_t normal = (size << 13) + REBIAS + (size >= INFINITE ? REBIAS : 0);
    const float small = (float)(int32_t)size * 0x1p-24f;
    uint32_t bits;
    memcpy(&bits, &small, sizeof bits);
    return spryi_float_of_bits((size < LEAST_NORMAL ? bits : normal) | sign);
#endif
}

/* Returns the bits of `value` rounded to 1 sign bit, exponent_bits and fraction_bits, 16 bits in all. */
SPRYI_ANYWHERE uint16_t spryi_round_to_16_bits(double value, int exponent_bits, int fraction_bits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000u);
    const uint16_t infinite = (uint16_t)(((1u << exponent_bits) - 1) << fraction_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(bits >> 52 & 2047) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 1024) /* infinity, or a NaN, which becomes a quiet NaN */
        return (uint16_t)(sign | infinite |
                          (fraction ? 1u << (fraction_bits - 1) | (unsigned)(fraction >> (52 - fraction_bits)) : 0));
    if (exponent > -1023) fraction |= UINT64_C(1) << 52;
    const int below = exponent < 1 - bias ? 1 - bias - exponent : 0; /* denormal numbers have fewer bits */
    const int dropped = 52 - fraction_bits + below;
    if (dropped > 54) return sign; /* less than half of the smallest positive number: rounds to 0 */
    const uint64_t kept = fraction >> dropped, rest = fraction & ((UINT64_C(1) << dropped) - 1);
    const uint64_t half = UINT64_C(1) << (dropped - 1);
    const uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
    const uint64_t base = below > 0 ? 0 : (uint64_t)(exponent + bias - 1) << fraction_bits;
    return (uint16_t)(sign | (base + rounded < infinite ? base + rounded : infinite));
}

SPRYI_ANYWHERE float spryi_narrow_f32(double value)
{
    return (float)value;
}
SPRYI_ANYWHERE double spryi_narrow_f64(double value)
{
    return value;
}
SPRYI_ANYWHERE spryi_bf16_number spryi_narrow_bf16(double value)
{
    const spryi_bf16_number number = {spryi_round_to_16_bits(value, 8, 7)};
    return number;
}
SPRYI_ANYWHERE spryi_f16_number spryi_narrow_f16(double value)
{
    const spryi_f16_number number = {spryi_round_to_16_bits(value, 5, 10)};
    return number;
}

/*
 * Narrow f64 to f32, or f32 to bf16 or f16. Set bits of *changed if the value is not exact in the narrow type. f32 and
 * f16 also refuse NaNs, infinities and nonzero values below the least normal number of the narrow type. Processors may
 * quiet such a NaN, or read such a value as zero. bf16 accepts all values whose lower 16 bits are zero. All steps are
 * on integers, without branches: compilers vectorize loops, and no floating-point exception is raised.
 */
SPRYI_ANYWHERE uint32_t spryi_exact_f32(uint64_t wide, uint64_t *changed)
{
    const uint64_t rebias = (uint64_t)(1023 - 127) << 52, one = UINT64_C(1) << 52, sign = UINT64_C(1) << 63;
    const uint64_t size = wide & ~sign, is_nonzero = 0 - ((size | (0 - size)) >> 63);
    const uint64_t below = size - (rebias + one), above = rebias + 255 * one - 1 - size; /* negative: outside */
    *changed |= (((below | above) & sign) | (size & ((UINT64_C(1) << 29) - 1))) & is_nonzero;
    return (uint32_t)((((size - rebias) >> 29) & is_nonzero) | (wide & sign) >> 32);
}
SPRYI_ANYWHERE uint16_t spryi_exact_bf16(uint32_t wide, uint32_t *changed)
{
    *changed |= wide & UINT16_MAX;
    return (uint16_t)(wide >> 16);
}
SPRYI_ANYWHERE uint16_t spryi_exact_f16(uint32_t wide, uint32_t *changed)
{
    const uint32_t rebias = (uint32_t)(127 - 15) << 23, one = 1u << 23, sign = 1u << 31;
    const uint32_t size = wide & ~sign, is_nonzero = 0 - ((size | (0 - size)) >> 31);
    const uint32_t below = size - (rebias + one), above = rebias + 31 * one - 1 - size;
    *changed |= (((below | above) & sign) | (size & ((1u << 13) - 1))) & is_nonzero;
    return (uint16_t)((((size - rebias) >> 13) & is_nonzero) | (wide & sign) >> 16);
}
