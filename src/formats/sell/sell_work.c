/* Work of products with format sell, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/sell/sell.h"

/* In avx2-amd, setup is 1.4 times the fitted one, as on matrices larger than the caches. */
/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far      step       slice      block
        ragged column chain     uneven  holes  longest heaviest ahead setup  entry  row      value */
    {"hopper", {NULL, NULL,     2.22,  2.118, 7.412e6, 4.1e6,   1.165e7, 4.624e6, 0,       2.832e-6,  6.907e-6,  0,
        0,     0,     0.08188,  {0.2999, 3.074, 0,      0,       0},    {190,   9.925, 243.9,   5.825}}},
    {"avx512", {NULL, NULL,     1.747, 1,     3.616e4, 6.087e4, 7.487e4, 2.827e5, 2.237e4, 7.94e-5,   0.001338,  0,
        0,     0,     0.004688, {0,      0,     0,      0,       0},    {58.92, 1893,  1.246e4, 363.3}}},
    {"avx2", {NULL, NULL,       9.173, 1.009, 1.782e5, 4.217e4, 2.629e4, 7.168e5, 6585,    0.0007571, 0.003134,  0,
        0,     0,     0,        {0,      0,     0,      0,       0},    {29.77, 6042,  1.921e4, 143.2}}},
    {"avx512-amd", {NULL, NULL, 1.862, 1,     1.613e5, 7.531e4, 1.318e5, 9.45e4,  3.872e4, 7.366e-5,  0.0009739, 0,
        0,     0,     0.01074,  {0,      0,     0,      0,       0},    {33.36, 1026,  5923,    305}}},
    {"avx2-amd", {NULL, NULL,   5.582, 1,     6.003e4, 5.058e4, 5.967e4, 5.115e5, 2.41e4,  0.0001372, 0.00114,   0,
        0,     0,     0.001682, {0,      0,     0,      0,       0},    {57.38, 1082,  1.073e4, 238.8}}},
    {0},
};
/* clang-format on */

static double bytes_of(const spryi_product *p)
{
    const spryi_features *f = p->features;
    return (double)f->nnz * f->slots * (f->value_bytes - spryi_narrowing(p) + f->index_bytes) + 8.0 * (double)f->rows +
           spryi_vector_bytes(f);
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = bytes_of(p),
                        .sectors = f->slot_sectors * n,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * f->slots,
                        .chain = f->lengths.longest,
                        .slices = (double)f->rows};
}

static spryi_work gpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    spryi_work w = spryi_gpu_row_work(f);
    w.bytes = bytes_of(p);
    w.sectors = f->slot_sectors * (double)f->nnz;
    w.steps *= f->slots;
    w.chain = f->lengths.longest;
    w.holes = f->lengths.empty;
    return w;
}

static const char *why_not(const spryi_product *p)
{
    return spryi_why_padded(p->features->slots);
}

static spryi_vectors_rates vectors_rates(const spryi_product *p)
{
    /* us per entry of the longest row; cnr-2000: 0.13 (f32, 2 vectors) to 0.55 (f64, 32 vectors) */
    static const double STEP_US = 0.2;
    (void)p;
    return (spryi_vectors_rates){.matrix = 1,
                                 .row = 4.9,
                                 .vectors = 1.06,
                                 .x = 2e7,
                                 .sector = 6.5,
                                 .odd = 1.25,
                                 .step = STEP_US};
}

const spryi_estimator spryi_sell_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .cpu_vectors_factor = 2.2,
    .vectors_rates = vectors_rates,
};
