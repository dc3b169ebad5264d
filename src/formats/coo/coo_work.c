/* Work of products with format coo, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/coo/coo.h"

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far      step       slice
        block      ragged column    chain uneven holes longest heaviest ahead setup  entry  row      value */
    {"avx512", {NULL, NULL,     1.628, 1.24,  3.047e4, 1.692e4, 3.038e5, 6.475e4, 2.086e4, 0.0009575, 0.005366,
        0.0003856, 0,     5.735e-6, 0,    {0,     0,    0,      0,       0},    {5.762, 1798,  7757,    8.3}}},
    {"avx512-amd", {NULL, NULL, 1.543, 1.051, 5.531e4, 3.854e4, 1.182e5, 5.627e4, 5.843e4, 0.000604,  0.000763,
        0.0003092, 0,     5.729e-6, 0,    {0,     0,    0,      0,       0},    {6.289, 528.1, 6803,    10.33}}},
    {"avx2-amd", {NULL, NULL,   1.196, 2.287, 5.4e4,   3.669e4, 5.092e5, 3.227e4, 2.449e4, 0.001066,  0.0002042,
        0.001355,  0,     1.237e-5, 0,    {0,     0,    0,      0,       0},    {17.55, 475.8, 6152,    2.304}}},
    {0},
};
/* clang-format on */

/* The product reads the row and the column of each entry. */
static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * (spryi_bytes_with_ones(f) + 2 * f->index_bytes) + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * n,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n,
                        .columns = n,
                        .slices = (double)f->rows,
                        .blocks = (double)f->rows * f->lengths.body_deviation};
}

const spryi_estimator spryi_coo_estimator = {.rates = rates, .work = {cpu_work}};
