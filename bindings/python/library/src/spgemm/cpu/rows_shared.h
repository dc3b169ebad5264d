/* Inline functions that the kernels share, for each value type and index pair. */
#include "spgemm/cpu/row_primitives.h"
#include "spgemm/cpu/rows.h"

#define SPRYI_TEMPLATE "spgemm/cpu/row_shape.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/cpu/column_mask.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/cpu/hash_accumulator.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/cpu/dense_window.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/cpu/known_columns.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/cpu/columns_alone.tmpl.h"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
