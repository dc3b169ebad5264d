/*
 * Includes the template file SPRYI_TEMPLATE once for each row of value types (base/types.h) and index pair, and
 * undefines SPRYI_TEMPLATE at the end. The template uses SPRY_S (stored), SPRY_V (vectors), SPRY_C (compute), SPRY_P
 * (offset) and SPRY_J (column index). SPRY_IS_F64, SPRY_P_IS_64 and SPRY_J_IS_64 are 0 or 1, for #if. The template
 * names its functions SPRY_FN(name); SPRYI_TABLE(name) lists the instances as [row][index pair].
 *
 * Macros that change the list of instances. Define them before the include:
 *     SPRYI_NO_OFFSETS    the template does not use SPRY_P: one instance serves 32_32 and 64_32
 *     SPRYI_ANY_ROW       adds instances for mixed rows: the template distinguishes stored, vector and compute type
 *     SPRYI_STORED_ROWS   has instances only for the first row of each stored type, to build storages and move values
 *
 * A file may name itself as SPRYI_TEMPLATE; the template is then the part of the file inside #ifdef SPRYI_TEMPLATE. A
 * template may call functions of templates that were instantiated before. Functions that do not use SPRY_P may exist
 * once for 32_32 and 64_32: name them SPRY_FNJ(name) and define them if SPRY_FIRST_J is 1.
 */
#include "base/type_row.h"

#undef SPRY_FN
#define SPRY_FN(name) SPRYI_JOIN(SPRYI_JOIN(name, SPRYI_TYPE_TAG), SPRYI_PAIR_TAG)

#define SPRYI_ROW SPRYI_ROW_0
#include "base/instantiate_pairs.h"
#define SPRYI_ROW SPRYI_ROW_1
#include "base/instantiate_pairs.h"
#ifdef SPRYI_ANY_ROW
#define SPRYI_ROW SPRYI_ROW_2
#include "base/instantiate_pairs.h"
#endif
#if defined SPRYI_ANY_ROW || defined SPRYI_STORED_ROWS
#define SPRYI_ROW SPRYI_ROW_3
#include "base/instantiate_pairs.h"
#define SPRYI_ROW SPRYI_ROW_4
#include "base/instantiate_pairs.h"
#endif
#undef SPRYI_TEMPLATE

#ifdef SPRYI_NO_OFFSETS
#define SPRYI_TABLE_ROW(tag, s, v, c, name) {name##_##tag##_32_32, name##_##tag##_32_32, name##_##tag##_64_64},
#else
#define SPRYI_TABLE_ROW(tag, s, v, c, name) {name##_##tag##_32_32, name##_##tag##_64_32, name##_##tag##_64_64},
#endif
#ifdef SPRYI_ANY_ROW
#define SPRYI_TABLE(name)                                                                                              \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_TABLE_ROW, name) SPRYI_MIXED_ROWS(SPRYI_TABLE_ROW, name)                                \
    }
#elif defined SPRYI_STORED_ROWS
#define SPRYI_TABLE(name)                                                                                              \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_TABLE_ROW, name){0},                                                                    \
            SPRYI_ROW_3(SPRYI_TABLE_ROW, name) SPRYI_ROW_4(SPRYI_TABLE_ROW, name)                                      \
    }
#else
#define SPRYI_TABLE(name)                                                                                              \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_TABLE_ROW, name)                                                                        \
    }
#endif
