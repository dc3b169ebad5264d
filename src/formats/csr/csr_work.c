/* Work of products with format csr for each kernel, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/csr/csr.h"

#include <math.h>
#include <string.h>

/*
 * Some rates were set by hand. `chain` of csr_merge_cuda is from a matrix with 400 000 rows of which 600 have entries.
 * A fit would give little weight to that case, in which the kernel is five times slower than others. Set-up times of
 * csr_merge_cuda, csr_vector_cuda and csr_scalar_cuda are those that plans took.
 */
/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                                     launch  sharp  cached   memory   gather   near     far      step
        slice     block      ragged column    chain    uneven   holes longest
        heaviest ahead setup  entry   row        value */
    {"hopper", {NULL, "csr_merge_cuda",    2.89,   1.982, 3.15e6,  3.023e6, 1.502e7, 4.48e6,  0,       2.071e-6,
        3.508e-6, 0,         0,     0,        0.35,    {0.05059, 0,    0,
        0,       0},    {20,    0,      0,         0}}},
    {"hopper", {NULL, "csr_adaptive_cuda", 3.98,   1.627, 2.882e6, 3.213e6, 1.942e7, 4.273e6, 0,       2.075e-6,
        3.588e-6, 0,         0,     0,        0,       {0.2195,  0,    0,
        0,       0},    {35,    58.76,  743.2,     0}}},
    {"hopper", {NULL, "csr_vector_cuda",   2.5,    1.935, 6.752e6, 2e6,     1.6e7,   6.579e6, 0,       2.343e-6,
        8.052e-5, 0,         0,     0,        0.4,     {0.6119,  0,    0,
        0,       0},    {2,     0,      0,         0}}},
    {"hopper", {NULL, "csr_scalar_cuda",   3.299,  1.271, 8.217e6, 3.119e6, 1.545e7, 4.901e6, 0,       2.115e-6,
        3.539e-6, 0,         0,     1.636e-6, 0.04594, {0.7201,  0,    0,
        0,       0},    {2,     0,      0,         0}}},
    {"avx512", {NULL, NULL,                1.198,  1.084, 2.004e4, 3.9e4,   1.551e5, 1.293e5, 1.95e4,  0.000462,
        0.001324, 0.0002987, 0,     7.21e-6,  0,       {0,       0,    0,
        0,       0},    {6.57,  1267,   9241,      9.059}}},
    {"avx2", {NULL, NULL,                  0.9626, 1.252, 1.029e4, 1.659e4, 5.771e5, 3.597e5, 6188,    0.001952,
        0.005016, 0.002309,  0,     1.309e-5, 0,       {0,       0,    0,
        0,       0},    {33.83, 17.88,  1517,      1.852}}},
    {"avx512-amd", {NULL, NULL,            1.158,  1.129, 5.486e4, 3.008e4, 6.228e5, 9.205e4, 3.987e4, 0.0002734,
        0.001324, 0.0004107, 0,     7.339e-6, 0,       {0,       0,    0,
        0,       0},    {128.7, 274,    2598,      9.059}}},
    {"avx2-amd", {NULL, NULL,              1.902,  3.482, 1.707e4, 1.483e4, 5.476e5, 1.032e5, 2.061e4, 0.0009789,
        0.0003346, 0.005533,  0,     1.7e-5,   0,       {0,       0,    0,
        0,       0},    {40.29, 8.877,  937.7,     1.095}}},
    {0},
};
/* clang-format on */

enum { LANES = 32 };

/*
 * The product does not read the columns of rows that have the previous row's columns, or these columns plus one. Blocks
 * are rows whose end a processor does not predict, since their lengths differ. The rate `block` was fitted to this
 * number in avx2-amd, and in the other tables to the rows times the deviation of their lengths.
 */
static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double n = (double)f->nnz, own = 1 - f->relations.repeated;
    return (spryi_work){.bytes = n * (f->value_bytes + f->index_bytes * own) + (double)f->rows * f->offset_bytes +
                                 spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * n * own,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * own * (1 - f->relations.adjacent),
                        .columns = n,
                        .slices = (double)f->rows,
                        .blocks = (double)f->rows * fmin(f->lengths.body_deviation * f->lengths.mean, 1)};
}

/*
 * Adds the work of csr_vector_cuda. In one round a lane loads SPRYI_CSR_IN_FLIGHT entries. The chain is the number of
 * rounds for the longest row. Rows that blocks add are assumed to be neighbours, which `lanes` blocks share.
 */
static void add_vector(spryi_work *w, const spryi_features *f)
{
    const spryi_row_profile *rows = &f->lengths;
    const double lanes = spryi_csr_vector_lanes(f->rows, f->nnz), warps = (double)f->rows * lanes / LANES;
    double adding = lanes, entries = rows->longest; /* lanes that add long rows, and entries that each adds in turn */
    if (entries > SPRYI_CSR_LONG_FOR_LANES && adding < LANES) adding = LANES;
    if (entries > SPRYI_CSR_LONG_FOR_WARP && adding < SPRYI_CSR_BLOCK_A_ROW) {
        const double squares = (double)f->nnz * rows->mean * (1 + rows->deviation * rows->deviation);
        const double shared = squares / (entries * lanes);
        adding = SPRYI_CSR_BLOCK_A_ROW;
        if (shared > entries) entries = shared;
    }
    const double rounds = rows->mean / (SPRYI_CSR_IN_FLIGHT * lanes) + 0.5; /* of a row */
    w->steps = warps * SPRYI_CSR_IN_FLIGHT * (rounds > 1 ? rounds : 1);
    w->slices = warps;
    w->chain = entries / (SPRYI_CSR_IN_FLIGHT * adding);
}

/*
 * Adds the work of csr_scalar_cuda, one thread per row. If the rows of a multiprocessor's threads do not fit in its L1
 * cache, sectors are read more than once. Measurements show four times as many of these additional reads for f64 as for
 * f32.
 */
static void add_scalar(spryi_work *w, const spryi_features *f)
{
    static const double THREADS = 2048, FITS = 200 << 10 /* bytes */, F64_FACTOR = 4;
    const double rows = THREADS * f->lengths.mean * (f->value_bytes + f->index_bytes);
    w->sectors = f->slot_sectors * (double)f->nnz;
    w->columns = (double)f->nnz * fmin(fmax(rows / FITS - 1, 0), 1) * (f->value_bytes > 4 ? F64_FACTOR : 1);
    w->chain = f->lengths.longest;
}

/*
 * Adds the work of csr_merge_cuda. A block has a fixed number of entries and all rows that begin among them. If most
 * rows are empty, a block has so many rows that its threads loop over them.
 */
static void add_merge(spryi_work *w, const spryi_features *f)
{
    static const double ENTRIES = 4, HIDDEN = 2; /* entries per thread; loop iterations whose time other blocks hide */
    w->chain = fmax(ENTRIES / f->lengths.mean - HIDDEN, 0);
}

static bool is_kernel(const spryi_product *p, const char *name)
{
    return p->kernel && strcmp(p->kernel, name) == 0;
}

static spryi_work gpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    spryi_work w = spryi_gpu_row_work(f);
    w.bytes = (double)f->nnz * (f->value_bytes + f->index_bytes) + (double)f->rows * f->offset_bytes +
              spryi_vector_bytes(f);
    w.sectors = f->warp_sectors * (double)f->nnz;
    if (is_kernel(p, "csr_vector_cuda")) add_vector(&w, f);
    if (is_kernel(p, "csr_scalar_cuda")) add_scalar(&w, f);
    if (is_kernel(p, "csr_merge_cuda")) add_merge(&w, f);
    return w;
}

static const char *why_not(const spryi_product *p)
{
    enum { MOST_ALONE = 64 };
    const bool imbalanced = is_kernel(p, "csr_scalar_cuda") && p->features->lengths.longest > MOST_ALONE;
    return imbalanced ? "one row takes its thread far more steps than the other rows" : NULL;
}

/* csr_column_major.c multiplies column-major vectors together only under these conditions. */
static spryi_vectors_way limit_way(const spryi_product *p)
{
    const spryi_features *f = p->features;
    return f->scattered || f->lengths.mean > SPRYI_CSR_COLUMN_MAJOR_MEAN ? SPRYI_ROW_MAJOR : SPRYI_ANY_LAYOUT;
}

static spryi_vectors_rates vectors_rates(const spryi_product *p)
{
    (void)p;
    return (spryi_vectors_rates){.entry = 6.7, .vectors = 1.05, .x = 2.3e7, .sector = 5, .odd = 1.2};
}

const spryi_estimator spryi_csr_estimator = {
    .rates = rates,
    .setup_calls = SPRYI_CSR_CALLS_FOR_RUNS,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .limit_way = limit_way,
    .vectors_in_place = SPRYI_CSR_COLUMN_MAJOR,
    .vectors_rates = vectors_rates,
};
