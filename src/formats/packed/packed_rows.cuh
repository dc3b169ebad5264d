/* Choice of a kernel of packed for lanes that are rows. Each module defines its instances. */
#pragma once

#include "formats/packed/packed_narrow.cuh"
#include "formats/packed/packed_pairs.cuh"
#include "formats/packed/packed_slices.cuh"

template <typename S, typename V, bool ONES, int CLASS, bool SIMPLE>
static void launch_narrow(const spryi_run_args *args)
{
    typedef narrow_shape<S, V, CLASS, SIMPLE> shape;
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const int64_t at_once = UNITS * shape::blocks * (shape::threads / LANES);
    const int slices = shape::has_table ? (int)ceil_div(s->slice_count, at_once)
                                         : slices_of_warp(s, shape::slices, at_once);
    const int64_t blocks = ceil_div(s->slice_count, shape::threads / LANES * slices);
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    const V *x = (const V *)args->x;
    launch_early(args, packed_narrow<S, V, CLASS, ONES, SIMPLE>, blocks, shape::threads, 0, *s, x, (V *)args->y, alpha,
                 beta, slices);
}

template <typename S, typename V, bool ONES, int CLASS> static void launch_narrow(const spryi_run_args *args)
{
    const bool simple = !args->scalars_on_device && *(const V *)args->alpha != 0 && *(const V *)args->beta == 0;
    if (simple)
        launch_narrow<S, V, ONES, CLASS, true>(args);
    else
        launch_narrow<S, V, ONES, CLASS, false>(args);
}

template <typename S, typename V, bool ONES, int SLOTS> static void launch_pairs(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const int64_t blocks = ceil_div(s->slice_count, PAIRS_WARPS * PAIRS_SLICES);
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    const V *x = (const V *)args->x;
    launch_early(args, packed_pairs<S, V, ONES, SLOTS>, blocks, PAIRS_WARPS * LANES, 0, *s, x, (V *)args->y, alpha,
                 beta);
}

/*
 * Returns true if the matrix has so many slices of 6 to 8 slots that an incomplete last wave of warps costs little
 * time.
 */
template <typename V> static bool has_many_pairs(const spryi_packed *s)
{
    return s->slice_count >= (int64_t)4 * UNITS * PAIRS_WARPS * PAIRS_SLICES * pairs_shape<V, PAIRS_MOST>::blocks;
}

/*
 * Chooses a kernel by the mean width of the slices and by whether all slices are DIAGONALS. ONES: the matrix is a
 * pattern. Limits are measured on an H200.
 */
template <typename S, typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const int64_t width = ceil_div(s->slots, s->slice_count * LANES);
    const bool diagonals = s->indexed == 0;
    if constexpr (table_traits<S>::has_table) {
        if (s->a.rows > INT32_MAX || (!diagonals && parts_of_slice(s) > 1))
            launch_slices<S, V, ONES, 1>(args);
        else if (width <= NARROW_FEW)
            launch_narrow<S, V, ONES, FEW>(args);
        else
            launch_narrow<S, V, ONES, MANY, false>(args);
        return;
    } else if (diagonals && width <= (sizeof(S) == 8 ? NARROW_FEW - 1 : NARROW_FEW))
        launch_pairs<S, V, ONES, PAIRS_FEW>(args);
    else if (diagonals && sizeof(S) < 8 && width <= PAIRS_MOST && has_many_pairs<V>(s))
        launch_pairs<S, V, ONES, sizeof(S) < 8 ? PAIRS_MOST : PAIRS_FEW>(args); /* f64 has no instance for PAIRS_MOST */
    else if (s->a.rows > INT32_MAX || (diagonals && width > NARROW_MOST) || (!diagonals && parts_of_slice(s) > 1))
        launch_slices<S, V, ONES, 1>(args);
    else if (diagonals || width <= NARROW_FEW)
        launch_narrow<S, V, ONES, FEW>(args);
    else if (width <= NARROW_MOST)
        launch_narrow<S, V, ONES, SOME>(args);
    else
        launch_narrow<S, V, ONES, MANY, false>(args);
}
