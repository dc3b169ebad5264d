/* Work of products with format ell, and the rates that give the time of this work (core/estimate.h). */
#include "core/estimate.h"
#include "formats/ell/ell.h"

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far      step       slice     block
        ragged column chain    uneven holes longest heaviest ahead setup     entry row       value */
    {"avx512", {NULL, NULL,     2.755, 1.276, 3.202e4, 3.681e4, 4.885e4, 4.848e5, 1.704e4, 0.0002125, 2.361e-5, 0,
        0,     0,     0.07246, {0,     0,    0,      0,       0},    {0,        3960, 0.005047, 342.7}}},
    {"avx2", {NULL, NULL,       7.724, 8.25,  1.985e5, 3.563e4, 7142,    1.493e5, 3053,    0.0008436, 3.663e-5, 0,
        0,     0,     0.01092, {0,     0,    0,      0,       0},    {9.015e-5, 9895, 7734,     128.1}}},
    {"avx512-amd", {NULL, NULL, 2.288, 1,     2.511e5, 7.531e4, 7.543e4, 2.991e5, 2.274e4, 0.0001665, 2.374e-5, 0,
        0,     0,     0.05962, {0,     0,    0,      0,       0},    {0,        1512, 0.02661,  579.3}}},
    {"avx2-amd", {NULL, NULL,   5.535, 5.44,  2.373e5, 8082,    1.652e4, 1.558e5, 3732,    0.0003165, 3.731e-5, 0,
        0,     0,     0.4894,  {0,     0,    0,      0,       0},    {0.02234,  4310, 1404,     39.32}}},
    {0},
};
/* clang-format on */

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
