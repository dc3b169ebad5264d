/* The work of scoo's products and their rates. */
#include "core/estimate.h"
#include "formats/scoo/scoo.h"

static const spryi_rates_row rates[] = {
    {"avx512",
     {.format = "scoo",
      .launch = 4.256,
      .sharp = 1.475,
      .cached = 1.618e4,
      .memory = 1.111e4,
      .near = 5.561e4,
      .far = 1.983e5,
      .step = 0.0007548,
      .slice = 9.72e-5,
      .chain = 0.002001,
      .setup_entry = 1.717e4,
      .setup_row = 6968,
      .setup_value = 668.4}},
    {"avx2",
     {.format = "scoo",
      .launch = 12.88,
      .sharp = 1.002,
      .cached = 1.107e5,
      .memory = 3.269e4,
      .gather = 1e12,
      .near = 4.621e4,
      .far = 2.99e4,
      .step = 0.001623,
      .slice = 0.0001846,
      .chain = 0.001725,
      .setup = 0.0002163,
      .setup_entry = 1.038e4,
      .setup_row = 4686,
      .setup_value = 2526}},
    {"avx512_amd",
     {.format = "scoo",
      .launch = 2.489,
      .sharp = 1.966,
      .cached = 3.053e4,
      .memory = 1.991e4,
      .near = 5.536e4,
      .far = 8.117e4,
      .step = 0.0005319,
      .slice = 0.0002859,
      .chain = 0.006038,
      .setup_entry = 6853,
      .setup_row = 6968,
      .setup_value = 612.4}},
    {"avx2_amd",
     {.format = "scoo",
      .launch = 58.37,
      .sharp = 1.124,
      .cached = 1.587e5,
      .memory = 3.505e4,
      .gather = 1e12,
      .near = 2.857e4,
      .far = 5.224e4,
      .step = 0.001993,
      .slice = 4.616e-5,
      .chain = 0.005249,
      .setup = 2.426e-5,
      .setup_entry = 2.602e4,
      .setup_row = 2430,
      .setup_value = 323.3}},
    {NULL, {NULL}},
};

/* Slices sweep x, so that no entry gathers alone. A row belongs to one thread. */
static spryi_work cpu_work(const spryi_product *p)
{
    enum { LOCAL_ROW = 2 /* bytes */ };
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * (f->stored_bytes + f->index_bytes + LOCAL_ROW) + spryi_vector_bytes(f),
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n,
                        .chain = f->lengths.longest,
                        .slices = (double)f->rows};
}

const spryi_estimator spryi_scoo_estimator = {.rates = rates, .work = {cpu_work}};
