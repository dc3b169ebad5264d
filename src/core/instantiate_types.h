/*
 * Includes the template file named by SPRYI_TEMPLATE once for each type of vectors: instantiate.h for templates that
 * look at no matrix. It uses SPRY_V and names its functions SPRY_FN(name), which makes name_f32 and name_f64:
 * SPRYI_BY_TYPE(type, name, (...)) calls one of them.
 */
#include "core/type_row.h"

#undef SPRY_FN
#define SPRY_FN(name) SPRYI_JOIN(name, SPRYI_TYPE_TAG)

#define SPRYI_ROW SPRYI_ROW_0
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
#define SPRYI_ROW SPRYI_ROW_1
#include SPRYI_TEMPLATE
#undef SPRYI_ROW
