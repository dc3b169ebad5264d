/*
 * packed_slices_cuda: packed CSR-k, a warp for each slice, a lane for each row or block row.
 *
 * Idea: entries on diagonals need no columns: x is read at the lane's row plus the slot's distance.
 * Work: one of five kernels, chosen by the kinds and the mean width of the slices (packed_rows.cuh). packed_pairs: all
 *       slices are DIAGONALS with a mean of up to 5 slots (4 for f64). The limit is 8 if values have fewer than 8 bytes
 *       and there are many slices. packed_narrow: all slices are DIAGONALS with a mean of up to 8 slots, or some slices
 *       have indices. packed_diagonals: DIAGONALS with a greater mean, or of block rows. packed_mixed: block rows,
 *       some with indices. packed_wide: few and wide slices, some with indices. Long rows, if any, need two more
 *       launches: one with a warp for each piece, and one that adds the sums of the pieces in order (long_rows.cuh).
 *       Multiple vectors: packed_columns. If values are indices into a table, packed_narrow multiplies all matrices
 *       without block rows (packed_mixed, if rows exceed INT32_MAX), and packed_mixed replaces packed_diagonals for
 *       block rows. These kernels launch one wave of thread blocks, and each copies the table to shared memory once.
 *       packed_wide, packed_columns and long rows read the table through the L1 cache.
 * Cost: bytes of packed, x and y. Deterministic.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022; tables of values:
 *         Kourtis, Goumas, Koziris 2008; distances, masks and packed slots: this library.
 *
 * A GPU loads a whole module when one of its kernels is first launched in a process. The instances of the kernels are
 * therefore in separate modules (cmake/SpryCuda.cmake).
 */
#include "formats/packed/packed_device.cuh"

#include "formats/shared/long_rows.cuh"

/* Instantiated in packed_module_cuda.cu. Multiplies slices whose lanes are rows. ONES: the matrix is a pattern. */
template <typename S, typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args);
/* Multiplies slices in which a lane is a row or, for B > 1, B rows of B x B blocks. */
template <typename S, typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args);
/* Multiplies multiple vectors. */
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
 * Returns true if column-major vectors are read in place. Without blocks, all slices must be DIAGONALS, where adjacent
 * lanes read adjacent elements. With blocks, at least half of the slices must be DIAGONALS, or there are at most
 * SPRYI_PACKED_MOST_IN_PLACE vectors. Otherwise vectors are copied to row-major. With the copy, products are 1.8 to 2.7
 * times as fast on random geometric graphs. On finite elements with blocks of 3 x 3 and 8 or 32 vectors, product and
 * copy together are 1.2 to 2.4 times as fast.
 */
static int reads_column_major(const void *storage, int64_t columns)
{
    const spryi_packed *s = (const spryi_packed *)storage;
    if (s->block > 1) return columns <= SPRYI_PACKED_MOST_IN_PLACE || 2 * s->indexed <= s->slice_count;
    return s->indexed == 0;
}

static const spryi_run_table runs = SPRY_CUDA_ALL_ROWS(run);

const spryi_kernel_functions spry_cuda_packed_slices =
    {"packed_slices_cuda", &runs, NULL,          NULL,          NULL,
     workspace_bytes,      NULL,  SPRYI_OP_SPMV, SPRYI_OP_SPMV, reads_column_major};
