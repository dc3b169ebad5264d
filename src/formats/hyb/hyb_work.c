/* Work of products with format hyb, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/hyb/hyb.h"

#include <math.h>

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far      step      slice      block
        ragged column     chain uneven holes longest heaviest ahead setup    entry row      value */
    {"avx512", {NULL, NULL,     6.747, 1.006, 2.863e4, 3.638e4, 3.764e4, 1.533e6, 1.894e4, 2.977e-5, 0.0005494, 0,
        0,     0.0007978, 0,    {0,     0,    0,      0,       0},    {0,       4174, 5130,    266.3}}},
    {"avx2", {NULL, NULL,       5.416, 1,     3.061e5, 2.472e4, 7260,    1.204e6, 6444,    8.299e-5, 3.6e-5,    0,
        0,     0.006911,  0,    {0,     0,    0,      0,       0},    {0.01016, 7552, 1.549e4, 182.4}}},
    {"avx512-amd", {NULL, NULL, 2.921, 1.22,  7.92e4,  2.252e4, 5.16e4,  1.444e6, 1.591e4, 2.799e-5, 0.0004673, 0,
        0,     0.001296,  0,    {0,     0,    0,      0,       0},    {0,       1818, 5850,    254.9}}},
    {"avx2-amd", {NULL, NULL,   7.144, 1,     2.061e5, 1.956e4, 2.748e4, 1.258e6, 4694,    0.000109, 4.223e-5,  0,
        0,     0.008332,  0,    {0,     0,    0,      0,       0},    {0.09058, 3013, 7691,    23.32}}},
    {0},
};
/* clang-format on */

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double rows = (double)f->rows, slots = rows * floor(f->lengths.mean + 0.5), rest = f->lengths.beyond_mean;
    return (spryi_work){.bytes = slots * (f->value_bytes + f->index_bytes) + 4 * rows +
                                 rest * (f->value_bytes + 2 * f->index_bytes) + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * (double)f->nnz,
                        .near = f->near_sectors * (double)f->nnz,
                        .far = f->far_sectors * (double)f->nnz,
                        .steps = slots,
                        .columns = rest,
                        .slices = rows};
}

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    (void)guess;
    list[0] = (spryi_feature_value){"hyb_rest", "share of entries beyond the mean row, which hyb keeps as coo",
                                    f->lengths.beyond_mean / (double)f->nnz};
    return 1;
}

const spryi_estimator spryi_hyb_estimator = {
    .rates = rates,
    .work = {cpu_work},
    .report = report,
};
