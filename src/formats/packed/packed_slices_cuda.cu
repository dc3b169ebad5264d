/*
 * packed_slices_cuda: packed CSR-k, a warp a slice, a lane a row or block row.
 *
 * Idea: where columns lie on diagonals there are no columns: x is read at the lane's own row plus the slot's distance.
 * Work: by the kind of the slices one of five kernels, see packed_rows.cuh: packed_pairs for up to 5 slots on
 *       diagonals, packed_narrow for up to 8 and where kinds alternate, packed_diagonals for more slots on diagonals
 *       and for block rows, packed_mixed for block rows with indices, packed_wide where those or kinds that alternate
 *       come in few and wide slices. Long rows in pieces, a warp each, and a third launch that adds the pieces up in
 *       order (long_rows.cuh); both are left out where there are none. Several columns at once: packed_columns.
 * Cost: bytes of packed, x and y. Deterministic.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022 (seed 001); distances,
 *         masks and packed slots: this library.
 *
 * A GPU loads a module whole when one of its kernels is launched for the first time in a process, so the instances of
 * the kernels stand in modules of their own: rows by value type, patterns, and each size of blocks.
 */
#include "formats/packed/packed_device.cuh"

#include "formats/shared/long_rows.cuh"

/* packed_module_cuda.cu instantiates these. Slices whose lanes are rows; ONES: a pattern. */
template <typename S, typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args);
/* Slices whose lanes may be rows of blocks of B x B, B > 1. */
template <typename S, typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args);
/* Several columns. */
template <typename S, typename V, int B> void spry_cuda_packed_columns(const spryi_run_args *args);

/* ---- launches --------------------------------------------------------------------------------------- */

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return long_rows_workspace((const spryi_packed *)request->storage, request->vector_type);
}

template <typename S, typename V> static void launch_blocks(const spryi_run_args *args)
{
    switch (((const spryi_packed *)args->storage)->block) {
    case 1: spry_cuda_packed_rows<S, V, false>(args); break;
    case 2: spry_cuda_packed_blocks<S, V, 2>(args); break;
    case 3: spry_cuda_packed_blocks<S, V, 3>(args); break;
    case 4: spry_cuda_packed_blocks<S, V, 4>(args); break;
    default: spry_cuda_packed_blocks<S, V, SPRYI_PACKED_MOST_BLOCK>(args); break;
    }
}

template <typename S, typename V> static void launch_columns(const spryi_run_args *args)
{
    switch (((const spryi_packed *)args->storage)->block) {
    case 1: spry_cuda_packed_columns<S, V, 1>(args); break;
    case 2: spry_cuda_packed_columns<S, V, 2>(args); break;
    case 3: spry_cuda_packed_columns<S, V, 3>(args); break;
    case 4: spry_cuda_packed_columns<S, V, 4>(args); break;
    default: spry_cuda_packed_columns<S, V, SPRYI_PACKED_MOST_BLOCK>(args); break;
    }
}

template <typename S, typename V, bool ONES> static void launch(const spryi_run_args *args)
{
    if (args->columns > 1)
        launch_columns<S, V>(args);
    else if (ONES)
        spry_cuda_packed_rows<S, V, ONES>(args); /* patterns have no blocks */
    else
        launch_blocks<S, V>(args);
    launch_long_rows<spryi_packed, S, V, ONES>(args);
}

template <typename S, typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    if (s->slice_count == 0) return SPRY_OK;
    if (s->a.value_type == SPRY_PATTERN)
        launch<V, V, true>(args);
    else
        launch<S, V, false>(args);
    return launched(err, "packed_slices_cuda");
}

/*
 * Columns that lie apart are read where they are on diagonals and by blocks: neighbouring lanes read neighbouring
 * entries then. Others are brought into rows: on random geometric graphs that is 1.8 to 2.7 times as fast.
 */
static int takes_apart(const void *storage)
{
    const spryi_packed *s = (const spryi_packed *)storage;
    return s->indexed == 0 || s->block > 1;
}

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(run);

const spryi_kernel_functions spry_cuda_packed_slices =
    {"packed_slices_cuda", &runs, NULL, NULL, NULL, workspace_bytes, NULL, SPRYI_OP_SPMV, SPRYI_OP_SPMV, takes_apart};
