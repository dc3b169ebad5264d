/* The work of sell's products and their rates. */
#include "core/estimate.h"
#include "formats/sell/sell.h"

static const spryi_rates_row rates[] = {
    {"hopper",
     {.format = "sell",
      .launch = 2.22,
      .sharp = 2.118,
      .cached = 7.412e6,
      .memory = 4.1e6,
      .gather = 1.165e7,
      .near = 4.624e6,
      .step = 2.832e-6,
      .slice = 6.907e-6,
      .chain = 0.08188,
      .uneven = 0.2999,
      .holes = 3.074,
      .setup = 190,
      .setup_entry = 9.925,
      .setup_row = 243.9,
      .setup_value = 5.825}},
    {"avx512",
     {.format = "sell",
      .launch = 1.747,
      .sharp = 1,
      .cached = 3.616e4,
      .memory = 6.087e4,
      .gather = 7.487e4,
      .near = 2.827e5,
      .far = 2.237e4,
      .step = 7.94e-5,
      .slice = 0.001338,
      .chain = 0.004688,
      .setup = 58.92,
      .setup_entry = 1893,
      .setup_row = 1.246e4,
      .setup_value = 363.3}},
    {"avx2",
     {.format = "sell",
      .launch = 9.173,
      .sharp = 1.009,
      .cached = 1.782e5,
      .memory = 4.217e4,
      .gather = 2.629e4,
      .near = 7.168e5,
      .far = 6585,
      .step = 0.0007571,
      .slice = 0.003134,
      .setup = 29.77,
      .setup_entry = 6042,
      .setup_row = 1.921e4,
      .setup_value = 143.2}},
    {"avx512_amd",
     {.format = "sell",
      .launch = 1.862,
      .sharp = 1,
      .cached = 1.613e5,
      .memory = 7.531e4,
      .gather = 1.318e5,
      .near = 9.45e4,
      .far = 3.872e4,
      .step = 7.366e-5,
      .slice = 0.0009739,
      .chain = 0.01074,
      .setup = 33.36,
      .setup_entry = 1026,
      .setup_row = 5923,
      .setup_value = 305}},
    {"avx2_amd",
     {.format = "sell",
      .launch = 7.418,
      .sharp = 1,
      .cached = 1.472e5,
      .memory = 5.058e4,
      .gather = 9926,
      .near = 5.961e5,
      .far = 1.335e4,
      .step = 0.0003221,
      .slice = 0.004938,
      .chain = 0.001646,
      .setup = 171.3,
      .setup_entry = 4854,
      .setup_row = 1.543e4,
      .setup_value = 532}},
    {NULL, {NULL}},
};

static double bytes_of(const spryi_features *f)
{
    return (double)f->nnz * f->slots * (f->value_bytes + f->index_bytes) + 8.0 * (double)f->rows +
           spryi_vector_bytes(f);
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = bytes_of(f),
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
    w.bytes = bytes_of(f);
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
    (void)p;
    return (spryi_vectors_rates){.matrix = 1,
                                 .row = 4.9,
                                 .vectors = 1.06,
                                 .x = 2e7,
                                 .sector = 6.5,
                                 .odd = 1.25,
                                 .step = SPRYI_VECTORS_STEP_US};
}

const spryi_estimator spryi_sell_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .cpu_vectors_factor = 1.5,
    .vectors_rates = vectors_rates,
};
