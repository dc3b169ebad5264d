/*
 * Includes the template file SPRYI_TEMPLATE once for each index pair. Replaces instantiate.h for templates that do not
 * use values. The template uses SPRY_P (offset) and SPRY_J (column index). It names its functions SPRY_FN(name), which
 * expands to name_32_32, name_64_32 and name_64_64, in the order of spryi_index_pair. SPRYI_TEMPLATE is undefined at
 * the end.
 */
#include "base/type_row.h"

#undef SPRY_FN
#define SPRY_FN(name) SPRYI_JOIN(name, SPRYI_PAIR_TAG)
#include "base/instantiate_pairs.h"
#undef SPRYI_TEMPLATE

/* Calls the instance for the index types of *a and returns its result. */
#define SPRYI_BY_PAIR(a, name, ...)                                                                                    \
    ((a)->index_type == SPRY_I64    ? name##_64_64(__VA_ARGS__)                                                        \
     : (a)->offset_type == SPRY_I64 ? name##_64_32(__VA_ARGS__)                                                        \
                                    : name##_32_32(__VA_ARGS__))
