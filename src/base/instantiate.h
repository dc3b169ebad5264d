/*
 * Includes the template file named by SPRYI_TEMPLATE once for each row of value types (base/types.h) and index pair.
 * The template uses SPRY_S (stored), SPRY_V (vectors), SPRY_C (compute), SPRY_P (offset) and SPRY_J (column index);
 * SPRY_IS_F64, SPRY_P_IS_64 and SPRY_J_IS_64 are 0 or 1 for #if. It names its functions SPRY_FN(name);
 * SPRYI_TABLE(name) then lists the instances as [row][index pair].
 *
 * A file may name itself, as a kernel with one level does: what it has where SPRYI_TEMPLATE is defined is then the
 * template. Templates that are instantiated one after the other see the functions of those before. A template that does
 * not look at offsets is made once for 32_32 and 64_32 where SPRYI_NO_OFFSETS is defined before. One that keeps the
 * three types apart is made for mixed rows, too, where SPRYI_ANY_ROW is, and one that builds a storage or moves values
 * for each stored type, the first row that has it, where SPRYI_STORED_ROWS is: SPRYI_INSTANCE picks that.
 * A template may define functions that do not use SPRY_P once for 32_32 and 64_32: it names them SPRY_FNJ(name) and
 * defines them where SPRY_FIRST_J is 1. SPRYI_TEMPLATE is undefined at the end.
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
