#include "core/assemble.h"
#include "formats/hyb/hyb.h"

#include <math.h>

int64_t spryi_hyb_rest_of(const spryi_hyb *s, int64_t i)
{
    int64_t low = 0, high = s->rest;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (spryi_index_at(s->rows, s->a.index_type, middle) < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

spry_status spryi_hyb_drive(const spryi_run_args *args, const spryi_kernel *ell, const spryi_kernel *coo,
                            spry_error *err)
{
    static const float one_f32 = 1;
    static const double one_f64 = 1;
    const spryi_hyb *s = args->storage;
    const int slot = spryi_value_slot(args->vector_type);
    const int pair = spryi_index_pair(s->a.offset_type, s->a.index_type);
    /* infinite alpha times each part is not infinite alpha times their sum */
    if (s->rest > 0 && !isfinite(spryi_value_at(args->alpha, args->vector_type, 0)))
        return (*spryi_hyb_reference_cpu.spmv)[slot][pair](args, err);
    const spryi_ell first = spryi_hyb_ell(s);
    spryi_run_args part = *args;
    part.storage = &first;
    spry_status status = (*ell->spmv)[slot][pair](&part, err);
    if (status != SPRY_OK || s->rest == 0) return status;
    const spryi_coo rest = spryi_hyb_coo(s);
    part.storage = &rest;
    part.beta = args->vector_type == SPRY_F64 ? (const void *)&one_f64 : &one_f32;
    return (*coo->spmv)[slot][spryi_index_pair(s->a.index_type, s->a.index_type)](&part, err);
}
