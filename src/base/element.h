/*
 * Reads and writes one element of an array whose type is known only at run time, for code that is not instantiated by
 * type. Header-only, so that src/solve may use it.
 */
#pragma once

#include "base/types.h"

static inline int64_t spryi_index_at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

static inline void spryi_set_index(void *indices, spry_index_type type, int64_t k, int64_t index)
{
    if (type == SPRY_I32)
        ((int32_t *)indices)[k] = (int32_t)index;
    else
        ((int64_t *)indices)[k] = index;
}

/* Returns value k as a double. Returns 1 if the type is SPRY_PATTERN, which has no values. */
static inline double spryi_value_at(const void *values, spry_type type, int64_t k)
{
#define SPRYI_ELEMENT_AT(name, tag, ctype, ...)                                                                        \
    if (type == (name)) return (double)spryi_widen_##tag(((const ctype *)values)[k]);
    SPRYI_TYPES(SPRYI_ELEMENT_AT)
#undef SPRYI_ELEMENT_AT
    return 1;
}

/* Stores a value as value k, rounded to the type. Does nothing for a pattern. */
static inline void spryi_set_value(void *values, spry_type type, int64_t k, double value)
{
#define SPRYI_ELEMENT_SET(name, tag, ctype, ...)                                                                       \
    if (type == (name)) ((ctype *)values)[k] = spryi_narrow_##tag(value);
    SPRYI_TYPES(SPRYI_ELEMENT_SET)
#undef SPRYI_ELEMENT_SET
}

/* Copies all bits of a value. Does nothing for a pattern. */
static inline void spryi_move_value(void *to, int64_t at, const void *from, int64_t k, spry_type type)
{
#define SPRYI_ELEMENT_MOVE(name, tag, ctype, bits, ...)                                                                \
    if (type == (name)) ((bits *)to)[at] = ((const bits *)from)[k];
    SPRYI_TYPES(SPRYI_ELEMENT_MOVE)
#undef SPRYI_ELEMENT_MOVE
}

/* Returns the address of a constant 1 of a vector type. */
static inline const void *spryi_one_of(spry_type type)
{
#define SPRYI_ELEMENT_ONE(tag, s, v, c, argument)                                                                      \
    static const spryi_##v one_##tag = 1;                                                                              \
    if ((int)type == (int)spryi_type_##v) return &one_##tag;
    SPRYI_PLAIN_ROWS(SPRYI_ELEMENT_ONE, 0)
#undef SPRYI_ELEMENT_ONE
    return NULL;
}

/* Return offset i, index k (a column in CSR, a row in CSC), row index k (of COO) and value k of a matrix. */
static inline int64_t spryi_offset_of(const spry_arrays *a, int64_t i)
{
    return spryi_index_at(a->offsets, a->offset_type, i);
}
/* Returns the number of entries in row i of CSR. */
static inline int64_t spryi_row_length(const spry_arrays *csr, int64_t i)
{
    return spryi_offset_of(csr, i + 1) - spryi_offset_of(csr, i);
}
static inline int64_t spryi_minor_of(const spry_arrays *a, int64_t k)
{
    return spryi_index_at(a->indices, a->index_type, k);
}
static inline int64_t spryi_row_of(const spry_arrays *a, int64_t k)
{
    return spryi_index_at(a->row_indices, a->index_type, k);
}
static inline double spryi_value_of(const spry_arrays *a, int64_t k)
{
    return spryi_value_at(a->values, a->value_type, k);
}
