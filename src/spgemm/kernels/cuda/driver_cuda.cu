/*
 * The kernel spgemm_rows_cuda finds runs, classifies the other rows, counts the entries of C, scans the counts to
 * offsets, and computes C. rows_cuda.cuh describes the classes of rows.
 *
 * Cost: 28 bytes of workspace per row. A search for runs needs about 5 more bytes per row. The columns that counting
 *       finds are kept, in at most 224 MB plus half of the sum of A's bytes and a lower bound of C's bytes. If there
 *       is a memory limit, no columns are kept. Giant rows of C need a table of masks. Counting needs memory for pairs
 *       of B's rows, if pairs save time. The host waits for the device once or twice, to read the sizes of launches.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

#include <cub/device/device_scan.cuh>
#include <stdlib.h>

enum { GIANT_TABLE_BYTES = 64 << 20, KEPT_BYTES = 224 << 20 };

struct gpu_product {
    gpu_work work;
    void *workspace, *columns, *table, *pairs;
    int64_t table_bytes, columns_bytes, workspace_bytes, pairs_bytes;
};

static int64_t rounded(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Returns true if threads could merge most rows, so that a search for runs saves time. */
static bool short_rows(const gpu_csr *m)
{
    return m->nnz <= MERGE_MOST * m->rows;
}

/* Allocates the workspace, with scratch for the scan at its end. */
static spry_status allocate_rows(spryi_device_product *product, gpu_product *own, void **scan_space, size_t *scan_bytes,
                                 spry_error *err)
{
    gpu_rows *r = &own->work.rows;
    const int64_t rows = product->row_end - product->row_begin;
    if (rows >= 0x7fffffff) {
        return spryi_fail_value(err, SPRY_TOO_LARGE, NULL, rows, 0x7ffffffe,
                                "spgemm: a chunk of a product on the GPU has %lld rows, the limit is 2147483646",
                                (long long)rows);
    }
    r->A = gpu_csr_of(&product->a);
    r->B = gpu_csr_of(&product->b);
    r->first = product->row_begin;
    r->rows = (int)rows;
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(NULL, *scan_bytes, (int32_t *)NULL, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), rows + 1),
                    "spgemm: scan", err);
    const int64_t each = rounded(4 * (rows + 1)), head = rounded(sizeof(gpu_row_counts));
    /* A's rows have their own array of bits for runs. If A and B have the same rows, B's array serves both */
    const bool of_piece = r->A.p.at != r->B.p.at || r->A.j != r->B.j || r->first != 0;
    const bool runs = short_rows(&r->A) && short_rows(&r->B);
    const int64_t groups = runs ? rounded((int64_t)sizeof(gpu_run) * gpu_most_groups(rows)) : 0;
    const int64_t words_b = runs ? rounded(4 * gpu_shift_words(r->B.rows)) : 0;
    const int64_t words_a = runs && of_piece ? rounded(4 * gpu_shift_words(rows)) : 0;
    const int64_t for_runs = runs ? groups + each + words_b + words_a : 0;
    own->workspace_bytes = head + 7 * each + for_runs + (int64_t)*scan_bytes;
    SPRY_CUDA_TRY(product->memory.allocate(product, &own->workspace, own->workspace_bytes, "rows of a product", err));
    char *at = (char *)own->workspace;
    r->found = (gpu_row_counts *)at;
    int32_t **arrays[] = {&r->counts, &r->low, &r->words, &r->distinct, &r->products, &r->list, &r->kept};
    for (int a = 0; a < 7; a++) *arrays[a] = (int32_t *)(at + head + a * each);
    at += head + 7 * each;
    if (runs) {
        r->groups = (gpu_run *)at;
        r->odd = (int32_t *)(at + groups);
        r->shifts_b = (unsigned *)(at + groups + each);
        r->shifts_a = of_piece ? (unsigned *)(at + groups + each + words_b) : r->shifts_b;
    }
    *scan_space = at + for_runs;
    return SPRY_OK;
}

/* Copies the device's results to the host. */
static spry_status read_found(gpu_work *w, spry_error *err)
{
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&w->found, w->rows.found, sizeof w->found, cudaMemcpyDeviceToHost, w->stream),
                    "spgemm: read counts", err);
    SPRY_CUDA_CHECK(cudaStreamSynchronize(w->stream), "spgemm: count", err);
    return SPRY_OK;
}

/* Scans the counts to offsets, and copies the results to the host. */
static spry_status scan_counts(spryi_device_product *product, gpu_work *w, void *scan_space, size_t scan_bytes,
                               spry_error *err)
{
    const gpu_rows *r = &w->rows;
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(scan_space, scan_bytes, r->counts, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)r->rows + 1, w->stream),
                    "spgemm: scan", err);
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&r->found->entries, product->c_offsets + r->rows, sizeof(int64_t),
                                    cudaMemcpyDeviceToDevice, w->stream),
                    "spgemm: count", err);
    return read_found(w, err);
}

static void drop_pairs(spryi_device_product *product, gpu_product *own)
{
    if (own->pairs) product->memory.release(product, own->pairs, own->pairs_bytes);
    own->pairs = NULL;
    own->work.rows.pairs = NULL;
}

/* Builds pairs of B's rows for counting, if memory suffices and the chunk of rows is not small. */
static spry_status build_pairs(spryi_device_product *product, gpu_product *own, spry_error *err)
{
    gpu_rows *r = &own->work.rows;
    const int64_t pairs = rounded(8 * r->B.nnz);
    if (4 * (int64_t)r->rows < r->B.rows) return SPRY_OK;
    own->pairs_bytes = pairs + 4 * r->B.rows;
    const spry_status status = product->memory.allocate(product, &own->pairs, own->pairs_bytes, "pairs of B", err);
    if (status == SPRY_OUT_OF_MEMORY || status == SPRY_TOO_LARGE) return SPRY_OK; /* own->pairs is NULL */
    if (status != SPRY_OK) return status;
    r->pairs = (uint2 *)own->pairs;
    r->pair_counts = (int32_t *)((char *)own->pairs + pairs);
    return gpu_build_pairs(&own->work, err);
}

static spry_status count(spryi_device_product *product, gpu_product *own, void *scan_space, size_t scan_bytes,
                         spry_error *err)
{
    gpu_work *w = &own->work;
    gpu_rows *r = &w->rows;
    SPRY_CUDA_CHECK(cudaMemsetAsync(r->found, 0, sizeof *r->found, w->stream), "spgemm: clear", err);
    if (r->rows == 0) {
        SPRY_CUDA_CHECK(cudaMemsetAsync(product->c_offsets, 0, sizeof(int64_t), w->stream), "spgemm: clear", err);
        return read_found(w, err);
    }
    SPRY_CUDA_TRY(gpu_count_runs(w, err));
    SPRY_CUDA_TRY(gpu_classify_rows(w, err));
    SPRY_CUDA_TRY(gpu_sample_columns(w, err));
    SPRY_CUDA_TRY(scan_counts(product, w, scan_space, scan_bytes, err)); /* final if all rows are merged */
    /* a chunk's share of the entries is estimated */
    w->lanes = gpu_lanes_of(&w->found, (int64_t)((double)r->A.nnz * r->rows / (double)r->A.rows));
    unsigned unmerged = 0, sorted = 0;
    for (int c = ROW_SPAN_LOW; c < ROW_CLASSES; c++) unmerged += w->found.rows[c];
    for (int c = 0; c < SORT_SIZES; c++) sorted += w->found.rows[ROW_SORT + c];
    if (unmerged > 0) {
        const int64_t value = (int64_t)spry_type_bytes(product->type);
        /* a constant, plus half of the sum of A's bytes and a lower bound of C's bytes */
        int64_t room = (KEPT_BYTES + (r->A.nnz + (int64_t)w->found.least_entries) * (4 + value) / 2) / 4;
        if (room > 0x7fffffff) room = 0x7fffffff;
        /* a sorted row keeps the order of its products in units of 16 products */
        const int64_t most = (int64_t)w->found.products + 16 * (int64_t)sorted;
        if (most < room) room = most;
        if (product->memory.most_bytes == 0) {
            own->columns_bytes = 4 * room;
            SPRY_CUDA_TRY(product->memory.allocate(product, &own->columns, 4 * room, "columns of a product", err));
            r->columns = (int32_t *)own->columns;
            r->columns_room = (int)room;
        }
        if (product->memory.most_bytes == 0 && gpu_pairs_pay(w)) SPRY_CUDA_TRY(build_pairs(product, own, err));
        SPRY_CUDA_TRY(gpu_list_classes(w, err));
        w->follows = false;
        SPRY_CUDA_TRY(gpu_block_count(w, NULL, err));
        SPRY_CUDA_TRY(gpu_group_count(w, NULL, err));
        SPRY_CUDA_TRY(gpu_sort_count(w, err));
        drop_pairs(product, own);
    }
    if (unmerged == 0) return SPRY_OK;
    SPRY_CUDA_TRY(gpu_list_numeric(w, (int)spry_type_bytes(product->type), 0, err));
    return scan_counts(product, w, scan_space, scan_bytes, err);
}

static void discard(spryi_device_product *product)
{
    gpu_product *own = (gpu_product *)product->state;
    if (!own) return;
    drop_pairs(product, own);
    if (own->table) product->memory.release(product, own->table, own->table_bytes);
    if (own->columns) product->memory.release(product, own->columns, own->columns_bytes);
    if (own->workspace) product->memory.release(product, own->workspace, own->workspace_bytes);
    free(own);
    product->state = NULL;
}

static spry_status symbolic(spryi_device_product *product, spry_error *err)
{
    gpu_product *own = (gpu_product *)calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %zu bytes", sizeof *own);
    product->state = own;
    own->work.multiprocessors = product->processor.multiprocessors;
    own->work.shared_bytes = product->processor.shared_bytes;
    own->work.overlaps = product->processor.major >= 9;
    own->work.stream = (cudaStream_t)product->stream;
    void *scan_space = NULL;
    size_t scan_bytes = 0;
    spry_status status = gpu_require_rising(product, err);
    if (status == SPRY_OK) status = allocate_rows(product, own, &scan_space, &scan_bytes, err);
    if (status == SPRY_OK) status = count(product, own, scan_space, scan_bytes, err);
    product->products = (int64_t)own->work.found.products;
    product->nnz = (int64_t)own->work.found.entries;
    if (status == SPRY_OK && own->work.found.list[LIST_GIANT] > 0) {
        own->table_bytes = gpu_giant_table(&own->work, GIANT_TABLE_BYTES);
        status = product->memory.allocate(product, &own->table, own->table_bytes, "windows of a product", err);
    }
    if (status != SPRY_OK) discard(product);
    return status;
}

/* Stores columns in C that the counting phase found but had no memory for. */
static spry_status find_columns(gpu_work *w, const gpu_result *C, spry_error *err)
{
    w->follows = false;
    SPRY_CUDA_TRY(gpu_list_classes(w, err));
    SPRY_CUDA_TRY(gpu_block_count(w, C, err));
    SPRY_CUDA_TRY(gpu_group_count(w, C, err));
    return gpu_list_numeric(w, (int)spry_type_bytes(C->type), 1, err);
}

static spry_status numeric(spryi_device_product *product, spry_error *err)
{
    gpu_product *own = (gpu_product *)product->state;
    gpu_work *w = &own->work;
    gpu_result C = {};
    if (product->nnz == 0) return SPRY_OK;
    w->rows.A.x = product->a.values;
    w->rows.B.x = product->b.values;
    C.type = product->type;
    C.p.at = product->c_offsets;
    C.p.wide = true;
    C.j = product->values_only ? NULL : product->c_columns;
    C.known = product->c_columns;
    C.x = product->c_values;
    C.alpha = product->alpha;
    w->stream = (cudaStream_t)product->stream;
    if (w->found.lost && C.j) SPRY_CUDA_TRY(find_columns(w, &C, err));
    w->follows = false;
    SPRY_CUDA_TRY(gpu_giant_values(w, &C, own->table, own->table_bytes, err));
    SPRY_CUDA_TRY(gpu_block_values(w, &C, err));
    SPRY_CUDA_TRY(gpu_group_values(w, &C, err));
    SPRY_CUDA_TRY(gpu_sort_values(w, &C, err));
    SPRY_CUDA_TRY(gpu_run_values(w, &C, err));
    return gpu_merge_values(w, &C, err);
}

static const spryi_spgemm_device_phases phases = {symbolic, numeric, discard};
const spryi_kernel_functions spry_cuda_spgemm_rows = {"spgemm_rows_cuda", NULL, NULL, NULL, NULL, NULL, &phases};
