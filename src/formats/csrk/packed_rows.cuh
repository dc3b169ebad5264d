/* Launches of packed where lanes are rows; a module defines the instances that it has. */
#ifndef SPRYI_PACKED_ROWS_CUH
#define SPRYI_PACKED_ROWS_CUH

#include "formats/csrk/packed_slices.cuh"

template <typename V, bool ONES, int CLASS, bool SIMPLE> static void launch_narrow(const spryi_run_args *args)
{
    typedef narrow_shape<V, CLASS, SIMPLE> shape;
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const unsigned blocks = (unsigned)ceil_div(s->slice_count, shape::threads / LANES * shape::slices);
    packed_narrow<V, CLASS, ONES, SIMPLE>
        <<<blocks, shape::threads, 0, stream_of(args)>>>(*s, (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args),
                                                         SPRY_BETA(V, args));
}

template <typename V, bool ONES, int CLASS> static void launch_narrow(const spryi_run_args *args)
{
    const bool simple = !args->scalars_on_device && *(const V *)args->alpha != 0 && *(const V *)args->beta == 0;
    if (simple)
        launch_narrow<V, ONES, CLASS, true>(args);
    else
        launch_narrow<V, ONES, CLASS, false>(args);
}

/* Lanes that are rows: the mean slice's width decides, and whether all slices step; measured as above. */
template <typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const int64_t slices = s->slice_count, width = ceil_div(s->slots, slices * LANES);
    const unsigned pairs = (unsigned)ceil_div(slices, PAIRS_WARPS * PAIRS_SLICES);
    const bool steps = s->indexed == 0;
    if (steps && width <= (sizeof(V) == 8 ? NARROW_FEW - 1 : NARROW_FEW))
        packed_steps<V, ONES><<<pairs, PAIRS_WARPS * LANES, 0, stream_of(args)>>>(*s, (const V *)args->x, (V *)args->y,
                                                                                  SPRY_ALPHA(V, args),
                                                                                  SPRY_BETA(V, args));
    else if (s->a.rows > INT32_MAX || (steps && width > NARROW_MOST))
        launch_slices<V, ONES, 1>(args);
    else if (steps || width <= NARROW_FEW)
        launch_narrow<V, ONES, FEW>(args);
    else if (width <= NARROW_MOST)
        launch_narrow<V, ONES, SOME>(args);
    else
        launch_narrow<V, ONES, MANY, false>(args);
}

#endif
