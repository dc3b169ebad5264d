/* Work of products with format scoo, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/scoo/scoo.h"

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather near     far      step       slice      block
        ragged column chain     uneven holes longest heaviest ahead setup      entry    row   value */
    {"avx512", {NULL, NULL,     4.256, 1.475, 1.618e4, 1.111e4, 0,     5.561e4, 1.983e5, 0.0007548, 9.72e-5,   0,
        0,     0,     0.002001, {0,     0,    0,      0,       0},    {0,         1.717e4, 6968, 668.4}}},
    {"avx2", {NULL, NULL,       12.88, 1.002, 1.107e5, 3.269e4, 1e12,  4.621e4, 2.99e4,  0.001623,  0.0001846, 0,
        0,     0,     0.001725, {0,     0,    0,      0,       0},    {0.0002163, 1.038e4, 4686, 2526}}},
    {"avx512-amd", {NULL, NULL, 2.489, 1.966, 3.053e4, 1.991e4, 0,     5.536e4, 8.117e4, 0.0005319, 0.0002859, 0,
        0,     0,     0.006038, {0,     0,    0,      0,       0},    {0,         6853,    6968, 612.4}}},
    {"avx2-amd", {NULL, NULL,   13.19, 1.525, 1.362e5, 2.364e4, 1e12,  7.646e4, 2.77e4,  0.0006974, 4.323e-5,  0,
        0,     0,     0.006391, {0,     0,    0,      0,       0},    {2.426e-5,  1.038e4, 9029, 64.06}}},
    {0},
};
/* clang-format on */

/* Slices read x in order, so entries cause no separate gathers. A row belongs to one thread. */
static spryi_work cpu_work(const spryi_product *p)
{
    enum { LOCAL_ROW = 2 /* bytes */ };
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * (spryi_bytes_with_ones(f) + f->index_bytes + LOCAL_ROW) + spryi_vector_bytes(f),
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n,
                        .chain = f->lengths.longest,
                        .slices = (double)f->rows};
}

const spryi_estimator spryi_scoo_estimator = {.rates = rates, .work = {cpu_work}};
