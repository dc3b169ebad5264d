/* Leaving out entries that came out as 0. */
#include "ops/spgemm_plan.h"

#define DROP(V, J)                                                                                                     \
    static int64_t drop_##V##_##J(const spry_arrays *c, int64_t to, int64_t begin, int64_t end)                        \
    {                                                                                                                  \
        J *columns = (J *)(uintptr_t)c->indices;                                                                       \
        V *values = (V *)(uintptr_t)c->values;                                                                         \
        for (int64_t k = begin; k < end; k++) {                                                                        \
            columns[to] = columns[k];                                                                                  \
            values[to] = values[k];                                                                                    \
            to += values[k] != 0;                                                                                      \
        }                                                                                                              \
        return to;                                                                                                     \
    }
DROP(float, int32_t)
DROP(float, int64_t)
DROP(double, int32_t)
DROP(double, int64_t)

void spryi_drop_zeros(spry_matrix *C)
{
    int64_t (*const drop[2][2])(const spry_arrays *, int64_t, int64_t,
                                int64_t) = {{drop_float_int32_t, drop_float_int64_t},
                                            {drop_double_int32_t, drop_double_int64_t}};
    spry_arrays *c = &C->a;
    void *offsets = (void *)(uintptr_t)c->offsets;
    int64_t to = 0, begin = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        const int64_t end = spryi_index_at(offsets, c->offset_type, i + 1);
        to = drop[spryi_value_slot(c->value_type)][c->index_type == SPRY_I64](c, to, begin, end);
        begin = end;
        spryi_set_index(offsets, c->offset_type, i + 1, to);
    }
    c->nnz = to;
}
