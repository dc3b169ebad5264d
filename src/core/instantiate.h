/*
 * Includes the template file named by SPRYI_TEMPLATE once for each value type and index pair. The template
 * uses SPRY_V (value), SPRY_P (offset) and SPRY_J (column index); SPRY_IS_F64, SPRY_P_IS_64 and SPRY_J_IS_64 are
 * 0 or 1 for #if. It names its functions SPRY_FN(name); SPRYI_TABLE(name) then lists the instances as
 * [value type][index pair].
 *
 * A file may name itself, as a kernel with one level does: what it has where SPRYI_TEMPLATE is defined is then the
 * template. Templates that are instantiated one after the other see the functions of those before. A template that does
 * not look at offsets is made once for 32_32 and 64_32 where SPRYI_NO_OFFSETS is defined before.
 */
#define SPRYI_JOIN_(name, type, pair) name##_##type##_##pair
#define SPRYI_JOIN(name, type, pair) SPRYI_JOIN_(name, type, pair)
#define SPRY_FN(name) SPRYI_JOIN(name, SPRYI_TYPE_TAG, SPRYI_PAIR_TAG)

#define SPRY_V float
#define SPRY_IS_F64 0
#define SPRYI_TYPE_TAG f32
#include "core/instantiate_pairs.h"
#undef SPRY_V
#undef SPRY_IS_F64
#undef SPRYI_TYPE_TAG

#define SPRY_V double
#define SPRY_IS_F64 1
#define SPRYI_TYPE_TAG f64
#include "core/instantiate_pairs.h"
#undef SPRY_V
#undef SPRY_IS_F64
#undef SPRYI_TYPE_TAG

#ifdef SPRYI_NO_OFFSETS
#define SPRYI_TABLE(name)                                                                                              \
    {                                                                                                                  \
        {name##_f32_32_32, name##_f32_32_32, name##_f32_64_64},                                                        \
        {                                                                                                              \
            name##_f64_32_32, name##_f64_32_32, name##_f64_64_64                                                       \
        }                                                                                                              \
    }
#else
#define SPRYI_TABLE(name)                                                                                              \
    {                                                                                                                  \
        {name##_f32_32_32, name##_f32_64_32, name##_f32_64_64},                                                        \
        {                                                                                                              \
            name##_f64_32_32, name##_f64_64_32, name##_f64_64_64                                                       \
        }                                                                                                              \
    }
#endif
