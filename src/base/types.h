/*
 * Types of numbers, in two tables: element types, and the combinations of stored, vector and compute type that kernels
 * are instantiated for. Sizes, names, limits, conversions (base/element.h), instances (base/instantiate.h) and tables
 * of kernels are generated from these tables. Header-only, so that src/solve may use it.
 */
#pragma once

#include "base/narrow.h"
#include "spry/spry.h"

#include <float.h>
#include <stdbool.h>

/*
 * Attribute of functions whose `const int` parameters are constants in each call. The compiler generates a specialised
 * copy for each call.
 */
#define SPRYI_INLINE static inline __attribute__((always_inline))

/*
 * Element types: X(public name, tag, C type, integer of the same width, epsilon, largest, least normal, least). A
 * pattern has no values and is not in the table. Code reads and writes elements with spryi_widen_TAG and
 * spryi_narrow_TAG (base/narrow.h), since C has no 16-bit floating-point types.
 */
#define SPRYI_TYPES(X)                                                                                                 \
    X(SPRY_F32, f32, float, uint32_t, FLT_EPSILON, FLT_MAX, FLT_MIN, FLT_TRUE_MIN)                                     \
    X(SPRY_F64, f64, double, uint64_t, DBL_EPSILON, DBL_MAX, DBL_MIN, DBL_TRUE_MIN)                                    \
    X(SPRY_BF16, bf16, spryi_bf16_number, uint16_t, 0x1p-7, 0x1.fep127, 0x1p-126, 0x1p-133)                            \
    X(SPRY_F16, f16, spryi_f16_number, uint16_t, 0x1p-10, 65504, 0x1p-14, 0x1p-24)

/*
 * Combinations of types: X(tag, stored, vector, compute type, argument). Each combination is a row of every table of
 * kernels. A plain row has the same type three times, and every kernel has an instance for it. For a mixed row, only
 * kernels of formats that use SPRYI_ANY_ROW have instances; the other kernels have NULL. To add a mixed row, define the
 * next SPRYI_ROW_, add it to SPRYI_MIXED_ROWS, and instantiate it in base/instantiate.h and base/instantiate_types.h.
 * SPRYI_TABLE_ROWS: rows whose stored type is an index into a table. Only CUDA kernels of packed have instances, since
 * with tables sell and bsr would read at least the bytes of packed.
 */
#define SPRYI_ROW_0(X, argument) X(f32, f32, f32, f32, argument)
#define SPRYI_ROW_1(X, argument) X(f64, f64, f64, f64, argument)
#define SPRYI_ROW_2(X, argument) X(f32_f64, f32, f64, f64, argument)
#define SPRYI_ROW_3(X, argument) X(bf16_f32, bf16, f32, f32, argument)
#define SPRYI_ROW_4(X, argument) X(f16_f32, f16, f32, f32, argument)
#define SPRYI_TABLE_ROWS(X, argument)                                                                                  \
    X(table8_f64, table8, f64, f64, argument) X(table16_f64, table16, f64, f64, argument)
#define SPRYI_PLAIN_ROWS(X, argument) SPRYI_ROW_0(X, argument) SPRYI_ROW_1(X, argument)
#define SPRYI_MIXED_ROWS(X, argument) SPRYI_ROW_2(X, argument) SPRYI_ROW_3(X, argument) SPRYI_ROW_4(X, argument)

/* For f32: spryi_f32 is float, spryi_bits_f32 is an integer of the same width, and spryi_type_f32 equals SPRY_F32. */
#define SPRYI_TYPE_NAMES(name, tag, type, bits, ...)                                                                   \
    typedef type spryi_##tag;                                                                                          \
    typedef bits spryi_bits_##tag;                                                                                     \
    enum { spryi_type_##tag = name };
SPRYI_TYPES(SPRYI_TYPE_NAMES)

/*
 * Stored types outside both tables: an index into a table of 256 or 4096 f64 values. Only plans have these types. No
 * constant of spry_type has their numbers. Value 0 of a table is finite, since padding has index 0.
 */
typedef spryi_table8_number spryi_table8;
typedef spryi_table16_number spryi_table16;
enum { SPRYI_TABLE8 = 64, SPRYI_TABLE16, spryi_type_table8 = SPRYI_TABLE8, spryi_type_table16 = SPRYI_TABLE16 };
enum { SPRYI_TABLE8_VALUES = 256, SPRYI_TABLE16_VALUES = 4096 };

/* Returns the number of values in the table of a stored type, 0 if the type has no table. */
static inline int spryi_table_values(spry_type type)
{
    return (int)type == SPRYI_TABLE8 ? SPRYI_TABLE8_VALUES : (int)type == SPRYI_TABLE16 ? SPRYI_TABLE16_VALUES : 0;
}

#define SPRYI_ROW_INDEX(tag, stored, vector, compute, argument) spryi_row_##tag,
enum { SPRYI_PLAIN_ROWS(SPRYI_ROW_INDEX, 0) SPRYI_VALUE_TYPES };
enum {
    spryi_row_before_mixed = SPRYI_VALUE_TYPES - 1,
    SPRYI_MIXED_ROWS(SPRYI_ROW_INDEX, 0) SPRYI_TABLE_ROWS(SPRYI_ROW_INDEX, 0) SPRYI_VALUE_ROWS
};

/* Returns the row of a stored and a vector type, -1 if none. A pattern has the plain row of the vector type. */
static inline int spryi_value_row(spry_type stored, spry_type vector)
{
#define SPRYI_ROW_MATCH(tag, s, v, c, argument)                                                                        \
    if ((stored == SPRY_PATTERN || (int)stored == (int)spryi_type_##s) && (int)vector == (int)spryi_type_##v)          \
        return spryi_row_##tag;
    SPRYI_PLAIN_ROWS(SPRYI_ROW_MATCH, 0)
    SPRYI_MIXED_ROWS(SPRYI_ROW_MATCH, 0)
    SPRYI_TABLE_ROWS(SPRYI_ROW_MATCH, 0)
#undef SPRYI_ROW_MATCH
    return -1;
}

/* Returns whether the stored type differs from the vector type. */
static inline bool spryi_is_mixed(spry_type stored, spry_type vector)
{
    return spryi_value_row(stored, vector) > spryi_row_before_mixed;
}

/*
 * Returns the first row with a stored type. Returns -1 if there is none, or if the type is an index into a table. Code
 * that only moves values needs one instance per stored type.
 */
static inline int spryi_stored_row(spry_type stored)
{
#define SPRYI_ROW_STORES(tag, s, v, c, argument)                                                                       \
    if ((int)stored == (int)spryi_type_##s) return spryi_row_##tag;
    SPRYI_PLAIN_ROWS(SPRYI_ROW_STORES, 0)
    SPRYI_MIXED_ROWS(SPRYI_ROW_STORES, 0)
#undef SPRYI_ROW_STORES
    return -1;
}

/* Returns the plain row of a type. Only vector types have one; -1 for others. */
static inline int spryi_value_slot(spry_type type)
{
    return spryi_value_row(type, type);
}

/* Returns an index for tables: 0 for 32-bit offsets and columns, 1 for 64/32 bits, 2 for 64/64; -1 for other pairs. */
enum { SPRYI_INDEX_PAIRS = 3 };
int spryi_index_pair(spry_index_type offset_type, spry_index_type index_type);

size_t spryi_index_type_bytes(spry_index_type type); /* 4 or 8; 0: no such type */

/*
 * Returns the default type of vectors for a stored type: the vector type of the first row with this stored type. It
 * equals the stored type if vectors may have the stored type. Returns SPRY_F64 for a pattern.
 */
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
 * Calls name_f32 or name_f64, depending on the vector type `type`. `arguments` has its own parentheses
 * (base/instantiate_types.h). The functions return nothing.
 */
#define SPRYI_BY_TYPE(type, name, arguments) (SPRYI_PLAIN_ROWS(SPRYI_TYPE_CALL, (type, name, arguments))(void) 0)
#define SPRYI_TYPE_CALL(tag, s, v, c, call) SPRYI_TYPE_CALL_(spryi_type_##v, tag, SPRYI_UNWRAP call)
#define SPRYI_TYPE_CALL_(number, tag, ...) SPRYI_TYPE_CASE(number, tag, __VA_ARGS__)
#define SPRYI_TYPE_CASE(number, tag, type, name, arguments) (int)(type) == (int)number ? name##_##tag arguments:
#define SPRYI_UNWRAP(...) __VA_ARGS__

typedef struct spryi_limits {
    double epsilon, largest, least_normal, least;
} spryi_limits;

/* Returns the limits of an element type. For a pattern, returns the limits of f64. */
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

/* A number of any element type, such as alpha or beta of a product. */
#define SPRYI_TYPE_MEMBER(name, tag, type, ...) type tag;
typedef union spryi_scalar {
    SPRYI_TYPES(SPRYI_TYPE_MEMBER)
} spryi_scalar;
