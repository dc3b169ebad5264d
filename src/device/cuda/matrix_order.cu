/*
 * The order of rows: inspection, transposition, sorting. A sort uses a key for each entry, with the row in the upper
 * bits and the entry's index in the lower (convert.cuh). Entries at the same position become neighbours. A scan that
 * counts the first entry at each position gives the places of the sums. The work of all steps is divided by entries, so
 * that many thread blocks share a long row.
 */
#include "device/cuda/matrix_rows.cuh"

/* ---- results ------------------------------------------------------------------------------------------- */

spry_status spry_cuda_allocate_rows(const spryi_device *device, spry_arrays *made, int64_t nnz, spry_error *err)
{
    void *offsets = NULL, *indices = NULL, *values = NULL;
    made->nnz = nnz;
    if (made->offset_type == SPRY_INDEX_DEFAULT) made->offset_type = nnz <= INT32_MAX ? SPRY_I32 : SPRY_I64;
    if (made->offset_type == SPRY_I32 && nnz > INT32_MAX)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "offset_type", nnz, INT32_MAX,
                                "%lld entries do not fit 32-bit offsets, which hold %d", (long long)nnz, INT32_MAX);
    const int64_t offset_bytes = (int64_t)spryi_index_type_bytes(made->offset_type);
    SPRY_CUDA_TRY(spry_cuda_new(device, &offsets, (made->rows + 1) * offset_bytes, "offsets", err));
    made->offsets = offsets;
    SPRY_CUDA_TRY(spry_cuda_new(device, &indices, nnz * (int64_t)sizeof(int32_t), "indices", err));
    made->indices = indices;
    if (made->value_type != SPRY_PATTERN)
        SPRY_CUDA_TRY(spry_cuda_new(device, &values, nnz * (int64_t)spry_type_bytes(made->value_type), "values", err));
    made->values = values;
    return SPRY_OK;
}

template <typename Q, typename P>
static __global__ void copy_indices(Q *__restrict__ to, const P *__restrict__ from, int64_t count)
{
    const int64_t i = thread_index();
    if (i < count) to[i] = (Q)from[i];
}

spry_status spry_cuda_copy_offsets(const spry_arrays *to, const void *from, spry_index_type type, spry_error *err)
{
    const int64_t count = to->rows + 1;
    const unsigned blocks = convert_blocks(count);
    void *const offsets = (void *)(uintptr_t)to->offsets;
    if (to->offset_type == SPRY_I32)
        SPRY_BY_TYPE(type, P, copy_indices<<<blocks, CONVERT_THREADS>>>((int32_t *)offsets, (const P *)from, count));
    else
        SPRY_BY_TYPE(type, P, copy_indices<<<blocks, CONVERT_THREADS>>>((int64_t *)offsets, (const P *)from, count));
    return launched(err, "offsets");
}

/* ---- inspection ------------------------------------------------------------------------------------------ */

enum { FALLS, REPEATS, FINDINGS };

/*
 * Sets found[FALLS] if a column is less than the previous column of its row, and found[REPEATS] if it equals the
 * previous column. Uses a warp per row.
 */
static __global__ void __launch_bounds__(CONVERT_THREADS) find_order(gpu_rows a, int *found)
{
    const int64_t i = thread_index() / 32;
    if (i >= a.rows) return;
    const int64_t end = a.offset(i + 1);
    bool falls = false, repeats = false;
    for (int64_t k = a.offset(i) + 1 + threadIdx.x % 32; k < end; k += 32) {
        falls |= a.columns[k] < a.columns[k - 1];
        repeats |= a.columns[k] == a.columns[k - 1];
    }
    if (falls) found[FALLS] = 1;
    if (repeats) found[REPEATS] = 1;
}

spry_status spry_cuda_inspect_rows(const spryi_device *device, spryi_row_order *order, const spry_arrays *a,
                                   spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch space;
    int found[FINDINGS] = {0, 0};
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(space.make(device, sizeof found, "order of rows", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(space.at, 0, sizeof found), "order of rows", err);
    if (a->rows > 0) find_order<<<convert_blocks(a->rows * 32), CONVERT_THREADS>>>(gpu_rows_of(a), (int *)space.at);
    SPRY_CUDA_TRY(launched(err, "order of rows"));
    SPRY_CUDA_CHECK(cudaMemcpy(found, space.at, sizeof found, cudaMemcpyDeviceToHost), "order of rows", err);
    *order = found[FALLS] ? SPRYI_ROWS_UNSORTED : found[REPEATS] ? SPRYI_ROWS_SORTED : SPRYI_ROWS_RISING;
    return SPRY_OK;
}

/* ---- transposition --------------------------------------------------------------------------------------- */

static spry_status check_count(const spry_arrays *a, spry_error *err)
{
    if (a->nnz <= UINT32_MAX) return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNSUPPORTED, "A", a->nnz, UINT32_MAX,
                            "a GPU sorts at most %lld entries, the matrix has %lld", (long long)UINT32_MAX,
                            (long long)a->nnz);
}

spry_status spry_cuda_transpose_rows(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                                     spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch space;
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(check_count(a, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_rows(device, made, a->nnz, err));
    void *offsets = (void *)(uintptr_t)made->offsets;
    if (made->offset_type != a->offset_type) {
        const int64_t bytes = (made->rows + 1) * (int64_t)spryi_index_type_bytes(a->offset_type);
        SPRY_CUDA_TRY(space.make(device, bytes, "offsets", err));
        offsets = space.at;
    }
    SPRY_CUDA_TRY(spry_cuda_transpose(device, a, offsets, (int32_t *)(uintptr_t)made->indices,
                                      (void *)(uintptr_t)made->values, err));
    if (space.at) SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, offsets, a->offset_type, err));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "transpose", err);
    return SPRY_OK;
}

/* ---- sorting --------------------------------------------------------------------------------------------- */

/* Sorted entries: keys, and for each entry the number of distinct positions up to it. */
struct sorted_entries {
    const uint64_t *keys;
    const int64_t *positions;
    __device__ bool is_first(int64_t p) const
    {
        return p == 0 || positions[p] != positions[p - 1];
    }
};

static __global__ void mark_positions(const uint64_t *__restrict__ keys, const int32_t *__restrict__ columns,
                                      int64_t nnz, int64_t *__restrict__ positions)
{
    const int64_t p = thread_index();
    if (p >= nnz) return;
    positions[p] = p == 0 || KEY_MAJOR(keys[p]) != KEY_MAJOR(keys[p - 1]) ||
                   columns[KEY_ENTRY(keys[p])] != columns[KEY_ENTRY(keys[p - 1])];
}

static __global__ void gather_entries(sorted_entries s, gpu_rows a, int32_t *columns, void *values, spry_type type)
{
    const int64_t p = thread_index();
    if (p >= a.nnz) return;
    columns[p] = a.columns[KEY_ENTRY(s.keys[p])];
    if (type == a.type)
        move_value(values, p, a.values, KEY_ENTRY(s.keys[p]), type);
    else
        set_value(values, type, p, a.value(KEY_ENTRY(s.keys[p])));
}

/* The thread of the first entry at a position adds all entries at this position. */
static __global__ void sum_entries(sorted_entries s, gpu_rows a, int32_t *columns, void *values, spry_type type)
{
    const int64_t p = thread_index();
    if (p >= a.nnz || !s.is_first(p)) return;
    const int64_t at = s.positions[p] - 1;
    double sum = a.value(KEY_ENTRY(s.keys[p]));
    for (int64_t q = p + 1; q < a.nnz && !s.is_first(q); q++) sum += a.value(KEY_ENTRY(s.keys[q]));
    columns[at] = a.columns[KEY_ENTRY(s.keys[p])];
    set_value(values, type, at, sum);
}

static __global__ void sum_offsets(sorted_entries s, gpu_rows a, int64_t *offsets)
{
    const int64_t i = thread_index();
    if (i > a.rows) return;
    const int64_t k = a.offset(i);
    offsets[i] = k == 0 ? 0 : s.positions[k - 1];
}

static spry_status write_sorted(const spryi_device *device, spry_arrays *made, const spry_arrays *a, sorted_entries s,
                                bool sums, int64_t nnz, spry_error *err)
{
    const gpu_rows rows = gpu_rows_of(a);
    const unsigned blocks = convert_blocks(a->nnz);
    SPRY_CUDA_TRY(spry_cuda_allocate_rows(device, made, nnz, err));
    int32_t *const columns = (int32_t *)(uintptr_t)made->indices;
    void *const values = (void *)(uintptr_t)made->values;
    scratch space;
    if (sums) {
        SPRY_CUDA_TRY(space.make(device, (a->rows + 1) * (int64_t)sizeof(int64_t), "offsets", err));
        sum_offsets<<<convert_blocks(a->rows + 1), CONVERT_THREADS>>>(s, rows, (int64_t *)space.at);
        sum_entries<<<blocks, CONVERT_THREADS>>>(s, rows, columns, values, made->value_type);
        SPRY_CUDA_TRY(launched(err, "sums of duplicates"));
        SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, space.at, SPRY_I64, err));
    } else {
        SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, a->offsets, a->offset_type, err));
        if (a->nnz > 0) gather_entries<<<blocks, CONVERT_THREADS>>>(s, rows, columns, values, made->value_type);
        SPRY_CUDA_TRY(launched(err, "sorted rows"));
    }
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "sorted rows", err); /* before the scratch memory is freed */
    return SPRY_OK;
}

spry_status spry_cuda_sort_rows(const spryi_device *device, spry_arrays *made, bool *repeats, const spry_arrays *a,
                                bool keep_duplicates, spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch key_space, other_space, row_space, position_space;
    const int64_t nnz = a->nnz;
    int64_t count = 0;
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(check_count(a, err));
    SPRY_CUDA_TRY(key_space.make(device, nnz * (int64_t)sizeof(uint64_t), "keys of entries", err));
    SPRY_CUDA_TRY(other_space.make(device, nnz * (int64_t)sizeof(uint64_t), "keys of entries", err));
    SPRY_CUDA_TRY(row_space.make(device, nnz * (int64_t)sizeof(int32_t), "rows of entries", err));
    SPRY_CUDA_TRY(position_space.make(device, nnz * (int64_t)sizeof(int64_t), "positions of entries", err));
    uint64_t *keys = (uint64_t *)key_space.at, *other = (uint64_t *)other_space.at;
    int64_t *const positions = (int64_t *)position_space.at;
    if (nnz > 0) {
        SPRY_CUDA_TRY(spry_cuda_rows_of(a, (int32_t *)row_space.at, err));
        SPRY_CUDA_TRY(spry_cuda_order_blocks(device, a, (const int32_t *)row_space.at, 1, 1, &keys, &other, err));
        mark_positions<<<convert_blocks(nnz), CONVERT_THREADS>>>(keys, (const int32_t *)a->indices, nnz, positions);
        SPRY_CUDA_TRY(launched(err, "positions of entries"));
        SPRY_CUDA_TRY(spry_cuda_scan(device, positions, nnz, err));
        SPRY_CUDA_CHECK(cudaMemcpy(&count, positions + nnz - 1, sizeof count, cudaMemcpyDeviceToHost), "sorted rows",
                        err);
    }
    *repeats = count < nnz;
    const bool sums = *repeats && !keep_duplicates;
    const sorted_entries s = {keys, positions};
    return write_sorted(device, made, a, s, sums, sums ? count : nnz, err);
}
