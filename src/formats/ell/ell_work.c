/* The work of ell's products and their rates. */
#include "core/estimate.h"
#include "formats/ell/ell.h"

static const spryi_rates_row rates[] = {
    {"avx512",
     {.format = "ell",
      .launch = 2.755,
      .sharp = 1.276,
      .cached = 3.202e4,
      .memory = 3.681e4,
      .gather = 4.885e4,
      .near = 4.848e5,
      .far = 1.704e4,
      .step = 0.0002125,
      .slice = 2.361e-5,
      .chain = 0.07246,
      .setup_entry = 3960,
      .setup_row = 0.005047,
      .setup_value = 342.7}},
    {"avx2",
     {.format = "ell",
      .launch = 7.724,
      .sharp = 8.25,
      .cached = 1.985e5,
      .memory = 3.563e4,
      .gather = 7142,
      .near = 1.493e5,
      .far = 3053,
      .step = 0.0008436,
      .slice = 3.663e-5,
      .chain = 0.01092,
      .setup = 9.015e-5,
      .setup_entry = 9895,
      .setup_row = 7734,
      .setup_value = 128.1}},
    {"avx512_amd",
     {.format = "ell",
      .launch = 2.288,
      .sharp = 1,
      .cached = 2.511e5,
      .memory = 7.531e4,
      .gather = 7.543e4,
      .near = 2.991e5,
      .far = 2.274e4,
      .step = 0.0001665,
      .slice = 2.374e-5,
      .chain = 0.05962,
      .setup_entry = 1512,
      .setup_row = 0.02661,
      .setup_value = 579.3}},
    {"avx2_amd",
     {.format = "ell",
      .launch = 16.89,
      .sharp = 6.526,
      .cached = 2.036e5,
      .memory = 3369,
      .gather = 5182,
      .near = 1.459e5,
      .far = 1223,
      .step = 0.0002089,
      .slice = 3.65e-5,
      .chain = 0.6945,
      .setup = 0.02234,
      .setup_entry = 7612,
      .setup_row = 794.9,
      .setup_value = 366.1}},
    {NULL, {NULL}},
};

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const double rows = (double)f->rows, slots = rows * f->lengths.longest;
    return (spryi_work){.bytes = slots * (f->value_bytes + f->index_bytes) + 4 * rows + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * (double)f->nnz,
                        .near = f->near_sectors * (double)f->nnz,
                        .far = f->far_sectors * (double)f->nnz,
                        .steps = slots,
                        .chain = f->lengths.longest,
                        .slices = rows};
}

static double slots_an_entry(const spryi_features *f)
{
    return (double)f->rows * f->lengths.longest / (double)f->nnz;
}

static const char *why_not(const spryi_product *p)
{
    return spryi_why_padded(slots_an_entry(p->features));
}

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    (void)guess;
    list[0] =
        (spryi_feature_value){"ell_slots", "slots an entry of ell, all rows as long as the longest", slots_an_entry(f)};
    return 1;
}

const spryi_estimator spryi_ell_estimator = {
    .rates = rates,
    .work = {cpu_work},
    .why_not = why_not,
    .report = report,
};
