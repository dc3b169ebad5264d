/*
 * The types of numbers, in two tables: those of an element, and the combinations of stored, vector and compute type
 * that kernels are instantiated for. Sizes, names, limits, conversions (base/element.h), instances
 * (base/instantiate.h) and the tables of kernels follow them. Header-only, so that src/solve may use it.
 */
#pragma once

#include "base/narrow.h"
#include "spry/spry.h"

#include <float.h>

/* Functions whose `const int` parameters are constants where they are called: one source, a copy for each case. */
#define SPRYI_INLINE static inline __attribute__((always_inline))

/*
 * Types of an element: X(public name, tag, type of C, integer of its width, epsilon, largest, least normal, least). A
 * pattern is none of them: it has no numbers. Code that reads or writes an element goes through spryi_widen_TAG and
 * spryi_narrow_TAG (base/narrow.h), since the types of 16 bits are none of C's.
 */
#define SPRYI_TYPES(X)                                                                                                 \
    X(SPRY_F32, f32, float, uint32_t, FLT_EPSILON, FLT_MAX, FLT_MIN, FLT_TRUE_MIN)                                     \
    X(SPRY_F64, f64, double, uint64_t, DBL_EPSILON, DBL_MAX, DBL_MIN, DBL_TRUE_MIN)                                    \
    X(SPRY_BF16, bf16, spryi_bf16_number, uint16_t, 0x1p-7, 0x1.fep127, 0x1p-126, 0x1p-133)                            \
    X(SPRY_F16, f16, spryi_f16_number, uint16_t, 0x1p-10, 65504, 0x1p-14, 0x1p-24)

/*
 * Combinations, each a row of every table of kernels: X(tag, stored, vector, compute type, argument). Plain rows have
 * one type for all three, which is a type of vectors, and everything exists for them. Of a mixed row a format has what
 * it instantiates for any row (SPRYI_ANY_ROW), and NULL elsewhere; it is the next SPRYI_ROW_, and is named in the list
 * of mixed rows.
 */
#define SPRYI_ROW_0(X, argument) X(f32, f32, f32, f32, argument)
#define SPRYI_ROW_1(X, argument) X(f64, f64, f64, f64, argument)
#define SPRYI_ROW_2(X, argument) X(f32_f64, f32, f64, f64, argument)
#define SPRYI_ROW_3(X, argument) X(bf16_f32, bf16, f32, f32, argument)
#define SPRYI_ROW_4(X, argument) X(f16_f32, f16, f32, f32, argument)
#define SPRYI_PLAIN_ROWS(X, argument) SPRYI_ROW_0(X, argument) SPRYI_ROW_1(X, argument)
#define SPRYI_MIXED_ROWS(X, argument) SPRYI_ROW_2(X, argument) SPRYI_ROW_3(X, argument) SPRYI_ROW_4(X, argument)

/* spryi_f32 is float, spryi_bits_f32 an integer that moves one, spryi_type_f32 the number of SPRY_F32. */
#define SPRYI_TYPE_NAMES(name, tag, type, bits, ...)                                                                   \
    typedef type spryi_##tag;                                                                                          \
    typedef bits spryi_bits_##tag;                                                                                     \
    enum { spryi_type_##tag = name };
SPRYI_TYPES(SPRYI_TYPE_NAMES)

#define SPRYI_ROW_INDEX(tag, stored, vector, compute, argument) spryi_row_##tag,
enum { SPRYI_PLAIN_ROWS(SPRYI_ROW_INDEX, 0) SPRYI_VALUE_TYPES };
enum { spryi_row_before_mixed = SPRYI_VALUE_TYPES - 1, SPRYI_MIXED_ROWS(SPRYI_ROW_INDEX, 0) SPRYI_VALUE_ROWS };

/* The row of values that are stored as one type and multiply vectors of another, -1: none. A pattern stores none. */
static inline int spryi_value_row(spry_type stored, spry_type vector)
{
#define SPRYI_ROW_MATCH(tag, s, v, c, argument)                                                                        \
    if ((stored == SPRY_PATTERN || (int)stored == (int)spryi_type_##s) && (int)vector == (int)spryi_type_##v)          \
        return spryi_row_##tag;
    SPRYI_PLAIN_ROWS(SPRYI_ROW_MATCH, 0)
    SPRYI_MIXED_ROWS(SPRYI_ROW_MATCH, 0)
#undef SPRYI_ROW_MATCH
    return -1;
}

/* 1: values are stored in another type than the vectors'. */
static inline int spryi_is_mixed(spry_type stored, spry_type vector)
{
    return spryi_value_row(stored, vector) > spryi_row_before_mixed;
}

/* The first row that stores a type, -1 for others: what only moves values is instantiated for any row by SPRY_S. */
static inline int spryi_stored_row(spry_type stored)
{
#define SPRYI_ROW_STORES(tag, s, v, c, argument)                                                                       \
    if ((int)stored == (int)spryi_type_##s) return spryi_row_##tag;
    SPRYI_PLAIN_ROWS(SPRYI_ROW_STORES, 0)
    SPRYI_MIXED_ROWS(SPRYI_ROW_STORES, 0)
#undef SPRYI_ROW_STORES
    return -1;
}

/* The plain row of a type, -1 for others: types of vectors have one. */
static inline int spryi_value_slot(spry_type type)
{
    return spryi_value_row(type, type);
}

/* Returns the index of an offset and column type in tables: 32/32, 64/32, 64/64; -1 if the pair is not legal. */
enum { SPRYI_INDEX_PAIRS = 3 };
int spryi_index_pair(spry_index_type offset_type, spry_index_type index_type);

size_t spryi_index_type_bytes(spry_index_type type); /* 4 or 8; 0: no such type */

/* Vectors that a matrix multiplies where nobody says more: of its own type, else of the first row that stores it. */
static inline spry_type spryi_usual_vectors(spry_type stored)
{
#define SPRYI_ROW_VECTORS(tag, s, v, c, argument)                                                                      \
    if ((int)stored == (int)spryi_type_##s) return (spry_type)spryi_type_##v;
    SPRYI_PLAIN_ROWS(SPRYI_ROW_VECTORS, 0)
    SPRYI_MIXED_ROWS(SPRYI_ROW_VECTORS, 0)
#undef SPRYI_ROW_VECTORS
    return SPRY_F64;
}

/*
 * Calls name_f32 or name_f64, which return nothing, with `arguments` in parentheses: the instance for vectors of
 * `type` (base/instantiate_types.h).
 */
#define SPRYI_BY_TYPE(type, name, arguments) (SPRYI_PLAIN_ROWS(SPRYI_TYPE_CALL, (type, name, arguments))(void) 0)
#define SPRYI_TYPE_CALL(tag, s, v, c, call) SPRYI_TYPE_CALL_(spryi_type_##v, tag, SPRYI_UNWRAP call)
#define SPRYI_TYPE_CALL_(number, tag, ...) SPRYI_TYPE_CASE(number, tag, __VA_ARGS__)
#define SPRYI_TYPE_CASE(number, tag, type, name, arguments) (int)(type) == (int)number ? name##_##tag arguments:
#define SPRYI_UNWRAP(...) __VA_ARGS__

typedef struct spryi_limits {
    double epsilon, largest, least_normal, least;
} spryi_limits;

/* Of a type of numbers. */
static inline spryi_limits spryi_limits_of(spry_type type)
{
    spryi_limits limits = {DBL_EPSILON, DBL_MAX, DBL_MIN, DBL_TRUE_MIN};
#define SPRYI_TYPE_LIMITS(number, tag, ctype, bits, epsilon, largest, least_normal, least)                             \
    if (type == (number)) {                                                                                            \
        const spryi_limits found = {(double)(epsilon), (double)(largest), (double)(least_normal), (double)(least)};    \
        limits = found;                                                                                                \
    }
    SPRYI_TYPES(SPRYI_TYPE_LIMITS)
#undef SPRYI_TYPE_LIMITS
    return limits;
}

/* A number of any of the types: alpha and beta of a product. */
#define SPRYI_TYPE_MEMBER(name, tag, type, ...) type tag;
typedef union spryi_scalar {
    SPRYI_TYPES(SPRYI_TYPE_MEMBER)
} spryi_scalar;
