/*
 * The format for a GPU: that of the least predicted time (cost_gpu.c) over the products that are expected and what its
 * conversion takes. swept is taken where columns are scattered alone, which its estimate does not tell.
 * Measured on an H200: docs/results/h200-choice-2026-11-22.md, docs/results/h200-unstructured-2026-11-23.md.
 */
#include "choose/choose_gpu.h"

#include "choose/cost_gpu.h"
#include "choose/structure.h"
#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scattered columns ----------------------------------------------------------------------------- */

/*
 * Whether a matrix is scattered: neighbouring entries gather x from all over, so that each takes a sector of its own
 * from the second-level cache, and kernels by rows are bound by that. Then row blocks that sweep x are faster, whatever
 * the lengths of the rows. Judged by a sample: tiles of consecutive entries, as a block of threads takes them, and the
 * share of distinct sectors of x among their entries. On the lists of docs/performance.md it is 0.86 and more for
 * R-MAT, random and shuffled matrices, 0.35 and less for all others. Where only the entries that a warp takes at once
 * gather so, row blocks are still ahead of csr for large matrices of f32, half of whose bytes are columns.
 */
static const double SCATTERED = 0.5, SCATTERED_WARPS = 0.65;
enum {
    TILES = 64,
    TILE = 2048, /* entries */
    WARP = 32,
    SLOTS_BITS = 12,
    SECTOR = 32,              /* bytes */
    LEAST_ENTRIES = 3 << 19,  /* fewer leave multiprocessors without a batch or two */
    LEAST_BY_WARPS = 1 << 23, /* entries */
    LEAST_X_BYTES = 1 << 19,  /* what first-level caches hold for long is not scattered */
};

/* How many of the entries' columns lie in sectors of x that no entry before them had. */
static int64_t distinct_sectors(const spry_arrays *a, int64_t begin, int64_t end, int64_t per_sector)
{
    uint16_t met[1 << SLOTS_BITS]; /* entry, counted from begin, and 1: the first of the slot's sector; 0: none */
    int64_t distinct = 0;
    memset(met, 0, sizeof met);
    for (int64_t k = begin; k < end; k++) {
        const int64_t sector = spryi_index_at(a->indices, a->index_type, k) / per_sector;
        uint64_t at = (uint64_t)sector * 0x9E3779B97F4A7C15u >> (64 - SLOTS_BITS);
        while (met[at] && spryi_index_at(a->indices, a->index_type, begin + met[at] - 1) / per_sector != sector)
            at = (at + 1) % (1 << SLOTS_BITS);
        distinct += met[at] == 0;
        if (met[at] == 0) met[at] = (uint16_t)(k - begin + 1);
    }
    return distinct;
}

/* Share of distinct sectors of x, of numbers of that size, among `entries` consecutive entries, by the sample. */
static double scattered_share(const spry_arrays *a, int64_t size, int64_t entries)
{
    int64_t distinct = 0;
    if (a->nnz < TILE) return 0;
    for (int64_t t = 0; t < TILES; t++) {
        const int64_t tile = (a->nnz - TILE) / (TILES - 1) * t;
        for (int64_t begin = tile; begin < tile + TILE; begin += entries)
            distinct += distinct_sectors(a, begin, begin + entries, SECTOR / size);
    }
    return (double)distinct / ((double)TILES * TILE);
}

/* ---- the choice ------------------------------------------------------------------------------------ */

static const double MOST_LONGEST = 8; /* times the mean row: rows are not cut, but for swept */
enum { MANY_CALLS = 10000 };          /* where the caller expects no number */

static int is_scattered(const spry_arrays *a, spry_type vector_type, const spryi_row_profile *rows)
{
    const int64_t size = (int64_t)spry_type_bytes(vector_type);
    const int long_rows = rows->longest > MOST_LONGEST * rows->mean;
    const int by_warps = vector_type == SPRY_F32 && long_rows && a->nnz >= LEAST_BY_WARPS;
    if (a->nnz < LEAST_ENTRIES || a->cols * size < LEAST_X_BYTES) return 0;
    return scattered_share(a, size, TILE) >= SCATTERED ||
           (by_warps && scattered_share(a, size, WARP) >= SCATTERED_WARPS);
}

/* 1: all products of csr together take less time than a conversion could save in half of them. */
static int pays_nothing(const spry_arrays *a, int64_t calls)
{
    static const double LEAST_SETUP = 300, LAUNCH = 4, RATE = 4e6; /* us, us, bytes a us: the least of conversions */
    const double entry = (double)spry_type_bytes(a->value_type) + (double)spry_index_type_bytes(a->index_type);
    return calls > 0 && (double)calls * (LAUNCH + entry * (double)a->nnz / RATE) < 2 * LEAST_SETUP;
}

static double total_us(const spryi_estimate *e, int64_t calls)
{
    return e->setup_us + (double)calls * e->us;
}

static int by_time(const void *a, const void *b)
{
    const double one = ((const spryi_estimate *)a)->us, other = ((const spryi_estimate *)b)->us;
    return one < other ? -1 : one > other;
}

/* "windowed: 19.1 us a product predicted; sell 21.7, csr 25.9, ..." */
static void tell_estimates(spryi_choice *choice, const spryi_estimate *taken, const spryi_estimate *list, int count,
                           int64_t calls)
{
    char others[160] = "";
    size_t used = 0;
    for (int k = 0; k < count; k++)
        if (&list[k] != taken && used < sizeof others)
            used += (size_t)snprintf(others + used, sizeof others - used, "%s%s %.3g", used ? ", " : "", list[k].format,
                                     list[k].us);
    spryi_choose(choice, taken->format, SPRY_REASON_LEAST_TIME,
                 "%.3g us a product predicted, %s; set-up counted over %lld", taken->us,
                 used ? others : "the only one that suits", (long long)calls);
}

/*
 * Rows of f64 that are of similar lengths and not short are faster by row blocks (csr_adaptive_cuda: 1.1 times), all
 * others by entries (csr_merge_cuda, the last listed: up to 2.5 times on graphs), also where a long row keeps a small
 * matrix waiting or rows are few. Measured on an H200: docs/results/h200-2026-11-21.md.
 */
const char *spryi_csr_kernel_on_gpu(const spry_arrays *a, spry_type value_type, const spryi_row_profile *rows)
{
    static const double LONG = 8, SHORT = 8; /* times the mean row; a mean row */
    enum { LEAST_WITH_LONG_ROWS = 1 << 22 /* entries */, LEAST_ROWS = 1 << 15 /* fewer are too few blocks */ };
    const int long_in_small = a->nnz < LEAST_WITH_LONG_ROWS && rows->longest > LONG * rows->mean;
    if (value_type != SPRY_F64 || !spryi_rows_are_uniform(rows) || rows->mean < SHORT) return "csr_merge_cuda";
    return a->rows < LEAST_ROWS || long_in_small ? "csr_merge_cuda" : "csr_adaptive_cuda";
}

spry_status spryi_choose_on_gpu(spryi_choice *choice, const spry_matrix *A, spry_type vector_type,
                                int64_t expected_calls, spry_error *err)
{
    const int64_t calls = expected_calls > 0 ? expected_calls : MANY_CALLS;
    spryi_estimate all[SPRYI_GPU_FORMATS], list[SPRYI_GPU_FORMATS];
    spryi_features features;
    spryi_row_profile rows;
    spry_status status = SPRY_OK;
    spry_matrix *structure = NULL;
    int count = 0;
    if (pays_nothing(&A->a, expected_calls)) {
        spryi_choose(choice, "csr", SPRY_REASON_FEW_CALLS, "too few calls expected for a conversion to pay");
        return SPRY_OK;
    }
    SPRYI_TRY(spryi_structure_of(&structure, A, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, structure, err));
    spry_arrays csr = structure->a;
    csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &features, &csr, vector_type, &rows, err));
    const int found = spryi_estimate_on_gpu(all, &features), scattered = is_scattered(&csr, vector_type, &rows);
    for (int k = 0; k < found; k++)
        if (scattered || strcmp(all[k].format, "swept") != 0) list[count++] = all[k];
    qsort(list, (size_t)count, sizeof *list, by_time);
    const spryi_estimate *taken = list;
    for (int k = 1; k < count; k++)
        if (total_us(&list[k], calls) < total_us(taken, calls)) taken = &list[k];
    tell_estimates(choice, taken, list, count, calls);
    if (strcmp(taken->format, "bsr") == 0) choice->parameters[0] = features.blocks.block;
    if (strcmp(taken->format, "csr") == 0) choice->kernel = spryi_csr_kernel_on_gpu(&csr, csr.value_type, &rows);
done:
    spryi_matrix_release(structure);
    return status;
}
