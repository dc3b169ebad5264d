/*
 * Includes the template file SPRYI_TEMPLATE once for each vector type. Replaces instantiate.h for templates that do not
 * use indices. The template uses SPRY_V. It names its functions SPRY_FN(name), which expands to name_f32 and name_f64.
 * SPRYI_BY_TYPE(type, name, (...)) calls one of these functions. SPRYI_TABLE_OF_TYPES(name) is a table like
 * SPRYI_TABLE(name), with the same function for all index pairs. If SPRYI_ANY_ROW is defined, the template is also
 * included for mixed rows. SPRYI_TEMPLATE is undefined at the end.
 */
#include "base/type_row.h"

#undef SPRY_FN
#define SPRY_FN(name) SPRYI_JOIN(name, SPRYI_TYPE_TAG)

#define SPRYI_ROW SPRYI_ROW_0
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#define SPRYI_ROW SPRYI_ROW_1
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#ifdef SPRYI_ANY_ROW
#define SPRYI_ROW SPRYI_ROW_2
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#define SPRYI_ROW SPRYI_ROW_3
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#define SPRYI_ROW SPRYI_ROW_4
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#endif
#undef SPRYI_TEMPLATE

#define SPRYI_ALL_PAIRS(tag, s, v, c, name) {name##_##tag, name##_##tag, name##_##tag},
#ifdef SPRYI_ANY_ROW
#define SPRYI_TABLE_OF_TYPES(name)                                                                                     \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_ALL_PAIRS, name) SPRYI_MIXED_ROWS(SPRYI_ALL_PAIRS, name)                                \
    }
#else
#define SPRYI_TABLE_OF_TYPES(name)                                                                                     \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_ALL_PAIRS, name)                                                                        \
    }
#endif
