/*
 * Macros for templates. They describe the row of base/types.h that SPRYI_ROW names. SPRY_S is the stored type, SPRY_B
 * an integer of the same width, SPRY_V the vector type and SPRY_C the compute type. SPRY_IS_F64 and SPRY_IS_MIXED are 0
 * or 1, for #if.
 */
#pragma once

#include "base/types.h"

#define SPRY_S SPRYI_ROW(SPRYI_ROW_STORED, 0)
#define SPRY_B SPRYI_ROW(SPRYI_ROW_BITS, 0)
#define SPRY_V SPRYI_ROW(SPRYI_ROW_VECTOR, 0)
#define SPRY_C SPRYI_ROW(SPRYI_ROW_COMPUTE, 0)
#define SPRYI_TYPE_TAG SPRYI_ROW(SPRYI_ROW_TAG, 0)
#define SPRYI_VECTOR_TAG SPRYI_ROW(SPRYI_ROW_MEMBER, 0)
#define SPRY_IS_MIXED SPRYI_ROW(SPRYI_ROW_IS_MIXED, 0)
#define SPRY_IS_F64 SPRYI_ROW(SPRYI_ROW_IS_F64, 0)
/*
 * SPRY_VALUE widens a stored value to the compute type, exactly. SPRY_ROUNDED rounds a double to the stored type,
 * once.
 */
#define SPRY_VALUE(stored) ((SPRY_C)SPRYI_ROW(SPRYI_ROW_WIDEN, 0)(stored))
#define SPRY_ROUNDED(wide) SPRYI_ROW(SPRYI_ROW_NARROW, 0)(wide)
/* The value of a spryi_scalar that contains an element of the vector type, as the compute type. */
#define SPRY_SCALAR(scalar) ((SPRY_C)(scalar).SPRYI_ROW(SPRYI_ROW_MEMBER, 0))

#define SPRYI_ROW_STORED(tag, stored, vector, compute, argument) spryi_##stored
#define SPRYI_ROW_BITS(tag, stored, vector, compute, argument) spryi_bits_##stored
#define SPRYI_ROW_VECTOR(tag, stored, vector, compute, argument) spryi_##vector
#define SPRYI_ROW_COMPUTE(tag, stored, vector, compute, argument) spryi_##compute
#define SPRYI_ROW_TAG(tag, stored, vector, compute, argument) tag
#define SPRYI_ROW_NARROW(tag, stored, vector, compute, argument) spryi_narrow_##stored
#define SPRYI_ROW_WIDEN(tag, stored, vector, compute, argument) spryi_widen_##stored
#define SPRYI_ROW_MEMBER(tag, stored, vector, compute, argument) vector
#define SPRYI_ROW_IS_F64(tag, stored, vector, compute, argument) SPRYI_IS_F64_##vector
#define SPRYI_ROW_IS_MIXED(tag, stored, vector, compute, argument) SPRYI_IS_MIXED_##tag
#define SPRYI_IS_MIXED_f32 0
#define SPRYI_IS_MIXED_f64 0
#define SPRYI_IS_MIXED_f32_f64 1
#define SPRYI_IS_MIXED_bf16_f32 1
#define SPRYI_IS_MIXED_f16_f32 1
#define SPRYI_IS_F64_f32 0
#define SPRYI_IS_F64_f64 1

/* Names of functions that do not use SPRY_P: one instance serves 32_32 and 64_32. */
#define SPRY_FNJ(name) SPRYI_JOIN(SPRYI_JOIN(name, SPRYI_TYPE_TAG), SPRYI_JOIN(SPRYI_COLUMNS, SPRY_J_IS_64))
#define SPRY_FIRST_J (!SPRY_P_IS_64 || SPRY_J_IS_64)
#define SPRYI_COLUMNS_0 32_32
#define SPRYI_COLUMNS_1 64_64

#define SPRYI_JOIN(a, b) SPRYI_JOIN_(a, b)
#define SPRYI_JOIN_(a, b) a##_##b
