/* The work of hyb's products and their rates. */
#include "core/estimate.h"
#include "formats/hyb/hyb.h"

#include <math.h>

static const spryi_rates_row rates[] = {
    {"avx512",
     {.format = "hyb",
      .launch = 6.747,
      .sharp = 1.006,
      .cached = 2.863e4,
      .memory = 3.638e4,
      .gather = 3.764e4,
      .near = 1.533e6,
      .far = 1.894e4,
      .step = 2.977e-5,
      .slice = 0.0005494,
      .column = 0.0007978,
      .setup_entry = 4174,
      .setup_row = 5130,
      .setup_value = 266.3}},
    {"avx2",
     {.format = "hyb",
      .launch = 5.416,
      .sharp = 1,
      .cached = 3.061e5,
      .memory = 2.472e4,
      .gather = 7260,
      .near = 1.204e6,
      .far = 6444,
      .step = 8.299e-5,
      .slice = 3.6e-5,
      .column = 0.006911,
      .setup = 0.01016,
      .setup_entry = 7552,
      .setup_row = 1.549e4,
      .setup_value = 182.4}},
    {"avx512_amd",
     {.format = "hyb",
      .launch = 2.921,
      .sharp = 1.22,
      .cached = 7.92e4,
      .memory = 2.252e4,
      .gather = 5.16e4,
      .near = 1.444e6,
      .far = 1.591e4,
      .step = 2.799e-5,
      .slice = 0.0004673,
      .column = 0.001296,
      .setup_entry = 1818,
      .setup_row = 5850,
      .setup_value = 254.9}},
    {"avx2_amd",
     {.format = "hyb",
      .launch = 11.31,
      .sharp = 1,
      .cached = 2.061e5,
      .memory = 1.472e4,
      .gather = 6631,
      .near = 1.231e6,
      .far = 1607,
      .step = 8.762e-5,
      .slice = 4.223e-5,
      .column = 0.00627,
      .setup = 0.09058,
      .setup_entry = 9818,
      .setup_row = 3990,
      .setup_value = 308.2}},
    {NULL, {NULL}},
};

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
