/*
 * Makes a level's transposed product of csr_scatter.tmpl.c, for A with values and for patterns: SPRYI_TABLE(run). The
 * file that includes this has defined FETCH and FETCH_STEPPED and, where it has a LEAF(stepped) of its own, OWN_STEPPED
 * and the LEAVES_TEMPLATE with it, which includes the other.
 */
#ifndef LEAVES_TEMPLATE
#define LEAVES_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#endif
#define SPRYI_TEMPLATE LEAVES_TEMPLATE
#define HAS_VALUES 1
#define TERM(a, x) ((a) * (x))
#define LEAF(name) SPRY_FN(name)
#include "core/instantiate.h"
#undef HAS_VALUES
#undef TERM
#undef LEAF

#define HAS_VALUES 0
#define TERM(a, x) (x)
#define LEAF(name) SPRY_FN(name##_pattern)
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE

#define SPRYI_TEMPLATE "formats/csr/csr_scatter_run.tmpl.c"
#include "core/instantiate.h"
