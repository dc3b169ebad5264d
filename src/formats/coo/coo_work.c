/* The work of coo's products and their rates. */
#include "core/estimate.h"
#include "formats/coo/coo.h"

static const spryi_rates_row rates[] = {
    {"avx512",
     {.format = "coo",
      .launch = 1.628,
      .sharp = 1.24,
      .cached = 3.047e4,
      .memory = 1.692e4,
      .gather = 3.038e5,
      .near = 6.475e4,
      .far = 2.086e4,
      .step = 0.0009575,
      .slice = 0.005366,
      .block = 0.0003856,
      .column = 5.735e-6,
      .setup = 5.762,
      .setup_entry = 1798,
      .setup_row = 7757,
      .setup_value = 8.3}},
    {"avx512_amd",
     {.format = "coo",
      .launch = 1.543,
      .sharp = 1.051,
      .cached = 5.531e4,
      .memory = 3.854e4,
      .gather = 1.182e5,
      .near = 5.627e4,
      .far = 5.843e4,
      .step = 0.000604,
      .slice = 0.000763,
      .block = 0.0003092,
      .column = 5.729e-6,
      .setup = 6.289,
      .setup_entry = 528.1,
      .setup_row = 6803,
      .setup_value = 10.33}},
    {"avx2_amd",
     {.format = "coo",
      .launch = 1.196,
      .sharp = 1.022,
      .cached = 5.169e4,
      .memory = 3.362e4,
      .gather = 5.092e5,
      .near = 1.638e4,
      .far = 3.631e4,
      .step = 0.002194,
      .slice = 0.0002087,
      .block = 0.001326,
      .column = 1.264e-5,
      .setup = 32.38,
      .setup_entry = 2738,
      .setup_row = 1.135e4,
      .setup_value = 6.585}},
    {NULL, {NULL}},
};

/* Row and column of each entry are read. */
static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * (f->stored_bytes + 2 * f->index_bytes) + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * n,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n,
                        .columns = n,
                        .slices = (double)f->rows,
                        .blocks = (double)f->rows * f->lengths.body_deviation};
}

const spryi_estimator spryi_coo_estimator = {.rates = rates, .work = {cpu_work}};
