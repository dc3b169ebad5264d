#ifndef SPRYI_TEMPLATE
#include "core/kernel.h"

#define SPRYI_TEMPLATE "core/kernel.c"
#include "base/instantiate_types.h"

void spryi_scale(void *y, spry_type type, int64_t begin, int64_t end, const void *beta)
{
    SPRYI_BY_TYPE(type, scale, (y, begin, end, beta));
}

#else /* instantiated for each vector type: base/instantiate_types.h */

static void SPRY_FN(scale)(void *y, int64_t begin, int64_t end, const void *factor)
{
    const SPRY_V beta = *(const SPRY_V *)factor;
    SPRY_V *v = y;
    if (beta == 1) return;
    for (int64_t i = begin; i < end; i++) v[i] = beta == 0 ? 0 : beta * v[i];
}

#endif
