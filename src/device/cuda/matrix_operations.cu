/*
 * Operations on matrices: sum, extraction, scaling, diagonal, narrow values.
 * C = A + B merges rows with increasing columns. The place of an entry of A in C is the number of earlier entries of A
 * plus the number of earlier entries of B at positions that A lacks. For each entry of A, bisection finds the first
 * entry of B's row whose column is at least as large. A scan counts the entries of B at positions that A lacks. Entries
 * of B are placed in the same way.
 * Products are rounded before they are added, so that results have the bits of the host.
 */
#include "device/cuda/matrix_rows.cuh"
#include "device/cuda/reduce.cuh"

/* Finds the first entry k of begin .. end - 1 with a column of at least `column`. */
static __device__ __forceinline__ int64_t first_at_least(const int32_t *__restrict__ columns, int64_t begin,
                                                         int64_t end, int32_t column)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (columns[middle] < column)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static spry_status make_row_indices(const spryi_device *device, scratch *space, const spry_arrays *a, spry_error *err)
{
    SPRY_CUDA_TRY(space->make(device, a->nnz * (int64_t)sizeof(int32_t), "rows of entries", err));
    return spry_cuda_rows_of(a, (int32_t *)space->at, err);
}

/* ---- sum ------------------------------------------------------------------------------------------------- */

/* An operand of a sum. */
struct gpu_term {
    gpu_rows rows;
    const int32_t *row_of; /* row of each entry */
    double factor;

    __device__ double product(int64_t k) const
    {
        return __dmul_rn(factor, rows.value(k));
    }
    __device__ int64_t first_in(int64_t row, int32_t column) const
    {
        return first_at_least(rows.columns, rows.offset(row), rows.offset(row + 1), column);
    }
    __device__ bool has(int64_t k, int64_t row, int32_t column) const
    {
        return k < rows.offset(row + 1) && rows.columns[k] == column;
    }
};

/* Sets more[l + 1] to 1 if A lacks the position of entry l of B, else to 0. */
static __global__ void mark_new(gpu_term a, gpu_term b, int64_t *more)
{
    const int64_t l = thread_index();
    if (l == 0) more[0] = 0;
    if (l >= b.rows.nnz) return;
    const int32_t row = b.row_of[l], column = b.rows.columns[l];
    more[l + 1] = !a.has(a.first_in(row, column), row, column);
}

static __global__ void place_a(gpu_term a, gpu_term b, const int64_t *__restrict__ more, int32_t *columns, void *values,
                               spry_type type)
{
    const int64_t k = thread_index();
    if (k >= a.rows.nnz) return;
    const int32_t row = a.row_of[k], column = a.rows.columns[k];
    const int64_t l = b.first_in(row, column), at = k + more[l];
    double sum = a.product(k);
    if (b.has(l, row, column)) sum = __dadd_rn(sum, b.product(l));
    columns[at] = column;
    set_value(values, type, at, sum);
}

static __global__ void place_b(gpu_term a, gpu_term b, const int64_t *__restrict__ more, int32_t *columns, void *values,
                               spry_type type)
{
    const int64_t l = thread_index();
    if (l >= b.rows.nnz || more[l] == more[l + 1]) return;
    const int32_t row = b.row_of[l], column = b.rows.columns[l];
    const int64_t at = more[l] + a.first_in(row, column);
    columns[at] = column;
    set_value(values, type, at, b.product(l));
}

static __global__ void add_offsets(gpu_rows a, gpu_rows b, const int64_t *__restrict__ more, int64_t *offsets)
{
    const int64_t i = thread_index();
    if (i <= a.rows) offsets[i] = a.offset(i) + more[b.offset(i)];
}

static spry_status add(const spryi_device *device, spry_arrays *made, const spryi_device_term *a,
                       const spryi_device_term *b, spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch a_rows, b_rows, more_space, offset_space;
    int64_t count = 0;
    const int64_t b_nnz = b->rows.nnz;
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(make_row_indices(device, &a_rows, &a->rows, err));
    SPRY_CUDA_TRY(make_row_indices(device, &b_rows, &b->rows, err));
    SPRY_CUDA_TRY(more_space.make(device, (b_nnz + 1) * (int64_t)sizeof(int64_t), "entries of a sum", err));
    SPRY_CUDA_TRY(offset_space.make(device, (made->rows + 1) * (int64_t)sizeof(int64_t), "offsets", err));
    const gpu_term left = {gpu_rows_of(&a->rows), (const int32_t *)a_rows.at, a->factor};
    const gpu_term right = {gpu_rows_of(&b->rows), (const int32_t *)b_rows.at, b->factor};
    int64_t *const more = (int64_t *)more_space.at, *const offsets = (int64_t *)offset_space.at;
    mark_new<<<convert_blocks(b_nnz + 1), CONVERT_THREADS>>>(left, right, more);
    SPRY_CUDA_TRY(launched(err, "entries of a sum"));
    SPRY_CUDA_TRY(spry_cuda_scan(device, more, b_nnz + 1, err));
    SPRY_CUDA_CHECK(cudaMemcpy(&count, more + b_nnz, sizeof count, cudaMemcpyDeviceToHost), "entries of a sum", err);
    SPRY_CUDA_TRY(spry_cuda_allocate_rows(device, made, a->rows.nnz + count, err));
    int32_t *const columns = (int32_t *)(uintptr_t)made->indices;
    void *const values = (void *)(uintptr_t)made->values;
    add_offsets<<<convert_blocks(made->rows + 1), CONVERT_THREADS>>>(left.rows, right.rows, more, offsets);
    SPRY_CUDA_TRY(launched(err, "offsets of a sum"));
    SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, offsets, SPRY_I64, err));
    if (a->rows.nnz > 0)
        place_a<<<convert_blocks(a->rows.nnz), CONVERT_THREADS>>>(left, right, more, columns, values, made->value_type);
    if (b_nnz > 0)
        place_b<<<convert_blocks(b_nnz), CONVERT_THREADS>>>(left, right, more, columns, values, made->value_type);
    SPRY_CUDA_TRY(launched(err, "sum"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "sum", err); /* before the scratch memory is freed */
    return SPRY_OK;
}

/* ---- extraction ------------------------------------------------------------------------------------------- */

/* The entries of the selected rows in order, with functions that find the entries of A that they copy. */
struct gpu_picked {
    gpu_rows a;
    spryi_device_selection s;
    int64_t columns;        /* number of selected columns */
    const int64_t *offsets; /* offsets of the selected rows with all columns */
    const int32_t *row_of;  /* new row of each entry */

    __device__ int64_t old_row(int64_t i) const
    {
        return s.rows ? s.rows[i] : s.first_row + i;
    }
    /* Returns the index in A of entry t of the selected rows. */
    __device__ int64_t source(int64_t t) const
    {
        const int64_t i = row_of[t];
        return a.offset(old_row(i)) + t - offsets[i];
    }
    /* Returns the first new column of A's column j, or -1. */
    __device__ int64_t place(int64_t j) const
    {
        if (s.place) return s.place[j];
        return j >= s.first_column && j - s.first_column < columns ? j - s.first_column : -1;
    }
    __device__ int64_t next(int64_t n) const
    {
        return s.next ? s.next[n] : -1;
    }
};

/* Sets lengths[i + 1] to the number of entries of selected row i. */
static __global__ void count_rows(gpu_picked p, int64_t rows, int64_t *lengths)
{
    const int64_t i = thread_index();
    if (i == 0) lengths[0] = 0;
    if (i >= rows) return;
    const int64_t old = p.old_row(i);
    lengths[i + 1] = p.a.offset(old + 1) - p.a.offset(old);
}

/* Sets copies[t + 1] to the number of new entries that copy entry t. */
static __global__ void count_copies(gpu_picked p, int64_t count, int64_t *copies)
{
    const int64_t t = thread_index();
    if (t == 0) copies[0] = 0;
    if (t >= count) return;
    int64_t own = 0;
    for (int64_t n = p.place(p.a.columns[p.source(t)]); n >= 0; n = p.next(n)) own++;
    copies[t + 1] = own;
}

/* Copies entries to their new places. If copies is NULL, each entry is copied once. */
static __global__ void copy_picked(gpu_picked p, int64_t count, const int64_t *__restrict__ copies, spry_type type,
                                   int32_t *columns, void *values)
{
    const int64_t t = thread_index();
    if (t >= count) return;
    const int64_t k = p.source(t);
    int64_t at = copies ? copies[t] : t;
    for (int64_t n = p.place(p.a.columns[k]); n >= 0; n = p.next(n), at++) {
        columns[at] = (int32_t)n;
        move_value(values, at, p.a.values, k, type);
    }
}

static __global__ void picked_offsets(const int64_t *__restrict__ offsets, const int64_t *__restrict__ copies,
                                      int64_t rows, int64_t *to)
{
    const int64_t i = thread_index();
    if (i <= rows) to[i] = copies[offsets[i]];
}

static spry_status last_of(const int64_t *numbers, int64_t at, int64_t *last, spry_error *err)
{
    SPRY_CUDA_CHECK(cudaMemcpy(last, numbers + at, sizeof *last, cudaMemcpyDeviceToHost), "selected entries", err);
    return SPRY_OK;
}

/* Copies the `count` entries of the selected rows. */
static spry_status copy_selected(const spryi_device *device, spry_arrays *made, const gpu_picked *p, int64_t count,
                                 spry_error *err)
{
    scratch copy_space, offset_space;
    const int64_t *copies = NULL, *offsets = p->offsets;
    int64_t nnz = count;
    if (!p->s.all_columns) {
        SPRY_CUDA_TRY(copy_space.make(device, (count + 1) * (int64_t)sizeof(int64_t), "selected entries", err));
        SPRY_CUDA_TRY(offset_space.make(device, (made->rows + 1) * (int64_t)sizeof(int64_t), "offsets", err));
        count_copies<<<convert_blocks(count + 1), CONVERT_THREADS>>>(*p, count, (int64_t *)copy_space.at);
        SPRY_CUDA_TRY(launched(err, "selected entries"));
        SPRY_CUDA_TRY(spry_cuda_scan(device, (int64_t *)copy_space.at, count + 1, err));
        copies = (const int64_t *)copy_space.at;
        SPRY_CUDA_TRY(last_of(copies, count, &nnz, err));
        picked_offsets<<<convert_blocks(made->rows + 1), CONVERT_THREADS>>>(p->offsets, copies, made->rows,
                                                                            (int64_t *)offset_space.at);
        SPRY_CUDA_TRY(launched(err, "offsets"));
        offsets = (const int64_t *)offset_space.at;
    }
    SPRY_CUDA_TRY(spry_cuda_allocate_rows(device, made, nnz, err));
    SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, offsets, SPRY_I64, err));
    if (count > 0)
        copy_picked<<<convert_blocks(count), CONVERT_THREADS>>>(*p, count, copies, made->value_type,
                                                                (int32_t *)(uintptr_t)made->indices,
                                                                (void *)(uintptr_t)made->values);
    SPRY_CUDA_TRY(launched(err, "selected entries"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "selected entries", err); /* before the scratch memory is freed */
    return SPRY_OK;
}

static spry_status extract(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                           const spryi_device_selection *selection, spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch offset_space, row_space;
    spry_arrays picked = *made; /* the selected rows with all columns */
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(offset_space.make(device, (made->rows + 1) * (int64_t)sizeof(int64_t), "selected rows", err));
    int64_t *const offsets = (int64_t *)offset_space.at;
    gpu_picked p = {gpu_rows_of(a), *selection, made->columns, offsets, NULL};
    count_rows<<<convert_blocks(made->rows + 1), CONVERT_THREADS>>>(p, made->rows, offsets);
    SPRY_CUDA_TRY(launched(err, "selected rows"));
    SPRY_CUDA_TRY(spry_cuda_scan(device, offsets, made->rows + 1, err));
    picked.offsets = offsets;
    picked.offset_type = SPRY_I64;
    SPRY_CUDA_TRY(last_of(offsets, made->rows, &picked.nnz, err));
    SPRY_CUDA_TRY(make_row_indices(device, &row_space, &picked, err));
    p.row_of = (const int32_t *)row_space.at;
    return copy_selected(device, made, &p, picked.nnz, err);
}

/* ---- scaling ------------------------------------------------------------------------------------------- */

/* A vector of scale factors. If data is NULL, all factors are 1. */
struct gpu_scaling {
    const void *data;
    int64_t stride;
    bool wide; /* f64 */

    __device__ double at(int64_t i) const
    {
        if (!data) return 1;
        return wide ? ((const double *)data)[i * stride] : ((const float *)data)[i * stride];
    }
};

static gpu_scaling scaling_of(const spry_const_vector *v)
{
    gpu_scaling s = {v->data, v->row_stride, v->type == SPRY_F64};
    return s;
}

static __global__ void scale_entries(gpu_rows a, const int32_t *__restrict__ row_of, gpu_scaling rows,
                                     gpu_scaling columns, void *values, spry_type type)
{
    const int64_t k = thread_index();
    if (k >= a.nnz) return;
    const int32_t i = row_of[k], j = a.columns[k];
    const double value = a.value(k), r = rows.at(i), c = columns.at(j);
    set_value(values, type, k, i <= j ? __dmul_rn(__dmul_rn(r, value), c) : __dmul_rn(__dmul_rn(c, value), r));
}

static spry_status scale(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                         const spry_const_vector *row, const spry_const_vector *column, spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch row_space;
    SPRY_CUDA_CHECK(scope.code, "device", err);
    SPRY_CUDA_TRY(make_row_indices(device, &row_space, a, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_rows(device, made, a->nnz, err));
    SPRY_CUDA_TRY(spry_cuda_copy_offsets(made, a->offsets, a->offset_type, err));
    SPRY_CUDA_CHECK(cudaMemcpyAsync((void *)(uintptr_t)made->indices, a->indices, (size_t)a->nnz * sizeof(int32_t),
                                    cudaMemcpyDeviceToDevice, 0),
                    "scale", err);
    if (a->nnz > 0 && made->value_type != SPRY_PATTERN)
        scale_entries<<<convert_blocks(a->nnz), CONVERT_THREADS>>>(gpu_rows_of(a), (const int32_t *)row_space.at,
                                                                   scaling_of(row), scaling_of(column),
                                                                   (void *)(uintptr_t)made->values, made->value_type);
    SPRY_CUDA_TRY(launched(err, "scale"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "scale", err); /* before the scratch memory is freed */
    return SPRY_OK;
}

/* ---- the diagonal ---------------------------------------------------------------------------------------- */

/* Uses a warp per row. Its lanes find the entries, and every lane adds them in stored order. */
static __global__ void __launch_bounds__(CONVERT_THREADS)
    sum_diagonal(gpu_rows a, int64_t length, void *d, int64_t stride, spry_type type)
{
    const int64_t i = thread_index() / 32;
    if (i >= length) return;
    const int lane = threadIdx.x % 32;
    const int64_t end = a.offset(i + 1);
    double sum = 0;
    for (int64_t begin = a.offset(i); begin < end; begin += 32) {
        const int64_t k = begin + lane;
        unsigned found = __ballot_sync(0xffffffffu, k < end && a.columns[k] == i);
        for (; found; found &= found - 1) sum = __dadd_rn(sum, a.value(begin + __ffs((int)found) - 1));
    }
    if (lane == 0) set_value(d, type, i * stride, sum);
}

static spry_status diagonal(const spryi_device *device, const spry_vector *d, const spry_arrays *a, spry_error *err)
{
    device_scope scope(device->ordinal);
    SPRY_CUDA_CHECK(scope.code, "device", err);
    if (d->length > 0)
        sum_diagonal<<<convert_blocks(d->length * 32), CONVERT_THREADS>>>(gpu_rows_of(a), d->length, d->data,
                                                                          d->row_stride, d->type);
    SPRY_CUDA_TRY(launched(err, "diagonal"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "diagonal", err);
    return SPRY_OK;
}

/* ---- narrow values --------------------------------------------------------------------------------------- */

/* W, N: integers with the bits of a wide and a narrow value. Sets *is_changed to 1 if a value changes. */
template <typename W, typename N, N (*EXACT)(W, W *)>
static __global__ void narrow_values(N *__restrict__ to, const W *__restrict__ from, int64_t count, int *is_changed)
{
    const int64_t k = thread_index();
    W changed = 0;
    if (k < count) to[k] = EXACT(from[k], &changed);
    if (__any_sync(0xffffffffu, changed != 0) && threadIdx.x % 32 == 0) *is_changed = 1;
}

enum { INDEX_THREADS = 512, RANK_THREADS = 1024 };

/* Bits of a NaN that mark free slots. A value with these bits gets no index. */
static const unsigned long long FREE = ~0ull;

/* The distinct values of an array: a hash table with linear probing. N: type of an index into the table of values. */
template <typename N> struct value_set {
    static const unsigned MOST = sizeof(N) == 1 ? SPRYI_TABLE8_VALUES : SPRYI_TABLE16_VALUES; /* values */
    static const int SLOT_BITS = sizeof(N) == 1 ? 10 : 14;
    static const unsigned SLOTS = 1u << SLOT_BITS;
    unsigned long long values[SLOTS];
    struct value_set_state {
        unsigned count;  /* number of values in the set; after make_table, in the table */
        int is_full;     /* too many values, or a value has the bits FREE */
        int lacks_value; /* index_values found a value that the table lacks */
    } state;
};

/* Multiplicative hashing (Knuth). The high bits of the product depend on all bits of the value. */
static __device__ __forceinline__ unsigned hash_of(unsigned long long bits, int slot_bits)
{
    return (unsigned)(bits * 0x9e3779b97f4a7c15ull >> (64 - slot_bits));
}

/*
 * Divides `from` into `samples` equal parts and adds one value of each part to the set. The position in the part is
 * pseudo-random, since values often repeat at regular distances. Skips the last count % samples values.
 */
template <typename N> static __global__ void __launch_bounds__(INDEX_THREADS)
    collect_values(value_set<N> *set, const unsigned long long *__restrict__ from, int64_t count, int64_t samples)
{
    const int64_t n = thread_index(), step = count / samples;
    if (n >= samples) return;
    const uint64_t random = (uint64_t)n * 0x9e3779b97f4a7c15ull >> 32;
    const unsigned long long bits = from[n * step + (int64_t)(random % (uint64_t)step)];
    if (bits == FREE) set->state.is_full = 1;
    for (unsigned at = hash_of(bits, value_set<N>::SLOT_BITS);; at = (at + 1) % value_set<N>::SLOTS) {
        if (*(volatile int *)&set->state.is_full) return;
        unsigned long long there = *(volatile unsigned long long *)(set->values + at);
        if (there == FREE) there = atomicCAS(set->values + at, FREE, bits);
        if (there == FREE && atomicAdd(&set->state.count, 1u) >= value_set<N>::MOST) set->state.is_full = 1;
        if (there == FREE || there == bits) return;
    }
}

/*
 * Returns the bits of the value at index 0: one of the first values that is finite and not negative, else +0. Padding
 * has index 0, and kernels multiply its value by +0. The product must be +0, as with wide values.
 */
static __device__ __forceinline__ unsigned long long value_of_padding(const unsigned long long *values, int64_t count)
{
    enum { MOST = 64 };
    for (int k = 0; k < MOST && k < count; k++)
        if (values[k] < 0x7ffull << 52) return values[k];
    return 0;
}

/*
 * Writes the table: the value of padding at index 0, then the other values of the set, then +0 up to the end. Runs in
 * one block.
 */
template <typename N> static __global__ void __launch_bounds__(RANK_THREADS)
    make_table(value_set<N> *set, unsigned long long *table, const unsigned long long *from, int64_t count)
{
    const unsigned each = value_set<N>::SLOTS / RANK_THREADS, begin = threadIdx.x * each;
    const unsigned long long padding = value_of_padding(from, count);
    unsigned own = 0, all;
    for (unsigned at = begin; at < begin + each; at++)
        own += set->values[at] != FREE && set->values[at] != padding;
    unsigned index = 1 + sum_before(own, &all);
    if (threadIdx.x == 0) set->state.count = 1 + all;
    if (threadIdx.x == 0 && all >= value_set<N>::MOST) set->state.is_full = 1;
    if (all >= value_set<N>::MOST) return;
    if (threadIdx.x == 0) table[0] = padding;
    for (unsigned at = begin; at < begin + each; at++)
        if (set->values[at] != FREE && set->values[at] != padding) table[index++] = set->values[at];
    for (unsigned n = 1 + all + threadIdx.x; n < value_set<N>::MOST; n += RANK_THREADS) table[n] = 0;
}

/* A table of values in shared memory, and a hash table of their indices. Most slots are free. */
template <typename N> struct indexed_table {
    static const int SLOT_BITS = sizeof(N) == 1 ? 13 : 14; /* 64 KB for N of 16 bits, the most that all GPUs have */
    static const unsigned SLOTS = 1u << SLOT_BITS;
    unsigned long long values[value_set<N>::MOST];
    unsigned short slots[SLOTS]; /* 1 + an index; 0: free */
};

/* Replaces values by their indices in the table. Does nothing if the set is full. */
template <typename N> static __global__ void __launch_bounds__(INDEX_THREADS)
    index_values(N *__restrict__ to, const unsigned long long *__restrict__ from, int64_t count,
                 const unsigned long long *__restrict__ table, value_set<N> *set)
{
    enum { FLIGHT = 4 }; /* values that a thread loads together */
    constexpr int SLOT_BITS = indexed_table<N>::SLOT_BITS;
    constexpr unsigned SLOTS = indexed_table<N>::SLOTS;
    extern __shared__ __align__(8) unsigned char shared[];
    indexed_table<N> &t = *(indexed_table<N> *)shared;
    if (set->state.is_full) return;
    for (unsigned at = threadIdx.x; at < SLOTS; at += INDEX_THREADS) t.slots[at] = 0;
    __syncthreads();
    for (unsigned n = threadIdx.x; n < set->state.count; n += INDEX_THREADS) {
        t.values[n] = table[n];
        unsigned at = hash_of(t.values[n], SLOT_BITS);
        while (atomicCAS(t.slots + at, (unsigned short)0, (unsigned short)(n + 1)) != 0) at = (at + 1) % SLOTS;
    }
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * INDEX_THREADS;
    for (int64_t first = thread_index(); first < count; first += FLIGHT * step) {
        unsigned long long bits[FLIGHT];
#pragma unroll
        for (int u = 0; u < FLIGHT; u++) bits[u] = first + u * step < count ? from[first + u * step] : 0;
#pragma unroll
        for (int u = 0; u < FLIGHT; u++) {
            if (first + u * step >= count) break;
            unsigned at = hash_of(bits[u], SLOT_BITS), index = t.slots[at];
            for (; index > 0 && t.values[index - 1] != bits[u]; index = t.slots[at]) at = (at + 1) % SLOTS;
            if (index == 0) set->state.lacks_value = 1;
            to[first + u * step] = (N)(index - 1);
        }
    }
}

/* Launches the kernels that find the distinct values of a sample and replace all values by indices. */
template <typename N> static spry_status try_indices(N *to, const unsigned long long *from, int64_t count,
                                                     int64_t samples, double *table, value_set<N> *set, spry_error *err)
{
    const int64_t blocks = ceil_div(count, INDEX_THREADS), most_blocks = 264; /* two per multiprocessor of an H200 */
    const int bytes = (int)sizeof(indexed_table<N>);
    SPRY_CUDA_CHECK(cudaMemsetAsync(set->values, 255, sizeof set->values, 0), "table of values", err);
    SPRY_CUDA_CHECK(cudaMemsetAsync(&set->state, 0, sizeof set->state, 0), "table of values", err);
    if (bytes > 48 << 10) SPRY_CUDA_CHECK(allow_shared_memory(index_values<N>, bytes), "indices into a table", err);
    collect_values<N><<<(unsigned)ceil_div(samples, INDEX_THREADS), INDEX_THREADS>>>(set, from, count, samples);
    make_table<N><<<1, RANK_THREADS>>>(set, (unsigned long long *)table, from, count);
    index_values<N><<<(unsigned)(blocks < most_blocks ? blocks : most_blocks), INDEX_THREADS, bytes>>>(
        to, from, count, (const unsigned long long *)table, set);
    return launched(err, "indices into a table");
}

/*
 * Replaces f64 values by indices into a table of their distinct values. Sets *exact to whether all values have indices.
 * The order of the table depends on the order of the threads. If the sample lacks a value, all values are collected.
 */
template <typename N> static spry_status find_indices(const spryi_device *device, N *to, const void *from,
                                                      int64_t count, double *table, bool *exact, spry_error *err)
{
    const int64_t enough = 64 * (int64_t)value_set<N>::MOST;
    scratch space;
    SPRY_CUDA_TRY(space.make(device, sizeof(value_set<N>), "distinct values", err));
    value_set<N> *set = (value_set<N> *)space.at;
    typename value_set<N>::value_set_state state;
    int64_t samples = enough < count ? enough : count;
    do {
        SPRY_CUDA_TRY(try_indices(to, (const unsigned long long *)from, count, samples, table, set, err));
        SPRY_CUDA_CHECK(cudaMemcpy(&state, &set->state, sizeof state, cudaMemcpyDeviceToHost), "table of values", err);
        *exact = !state.is_full && !state.lacks_value;
        if (samples == count) break;
        samples = count;
    } while (state.lacks_value && !state.is_full);
    return SPRY_OK;
}

static spry_status narrow(const spryi_device *device, void *narrow, spry_type narrow_type, const void *wide,
                          spry_type wide_type, int64_t count, double *table, bool *exact, spry_error *err)
{
    device_scope scope(device->ordinal);
    scratch space;
    int is_changed = 0;
    SPRY_CUDA_CHECK(scope.code, "device", err);
    if (count > 0 && (int)narrow_type == SPRYI_TABLE8)
        return find_indices(device, (uint8_t *)narrow, wide, count, table, exact, err);
    if (count > 0 && (int)narrow_type == SPRYI_TABLE16)
        return find_indices(device, (uint16_t *)narrow, wide, count, table, exact, err);
    SPRY_CUDA_TRY(space.make(device, sizeof is_changed, "result of narrowing", err));
    int *result = (int *)space.at;
    SPRY_CUDA_CHECK(cudaMemsetAsync(result, 0, sizeof is_changed, 0), "narrow values", err);
    if (count > 0 && wide_type == SPRY_F64)
        narrow_values<uint64_t, uint32_t, spryi_exact_f32>
            <<<convert_blocks(count), CONVERT_THREADS>>>((uint32_t *)narrow, (const uint64_t *)wide, count, result);
    else if (count > 0 && narrow_type == SPRY_BF16)
        narrow_values<uint32_t, uint16_t, spryi_exact_bf16>
            <<<convert_blocks(count), CONVERT_THREADS>>>((uint16_t *)narrow, (const uint32_t *)wide, count, result);
    else if (count > 0)
        narrow_values<uint32_t, uint16_t, spryi_exact_f16>
            <<<convert_blocks(count), CONVERT_THREADS>>>((uint16_t *)narrow, (const uint32_t *)wide, count, result);
    SPRY_CUDA_TRY(launched(err, "narrow values"));
    SPRY_CUDA_CHECK(cudaMemcpy(&is_changed, result, sizeof is_changed, cudaMemcpyDeviceToHost), "narrow values", err);
    *exact = !is_changed;
    return SPRY_OK;
}

const spryi_matrix_functions spry_cuda_matrix = {spry_cuda_inspect_rows,
                                                 spry_cuda_transpose_rows,
                                                 spry_cuda_sort_rows,
                                                 add,
                                                 extract,
                                                 scale,
                                                 diagonal,
                                                 spry_cuda_summarize_rows,
                                                 narrow};
