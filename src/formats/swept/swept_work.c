/* Work of swept's products, and rates. */
#include "core/estimate.h"
#include "formats/swept/swept.h"

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                      launch sharp  cached   memory   gather   near far step      slice    block
        ragged column chain uneven holes longest heaviest ahead setup  entry  row    value */
    {"hopper", {NULL, NULL, 9.456, 3.708, 2.535e6, 2.913e6, 6.088e6, 0,   0,  8.266e-6, 9.36e-6, 0,
        0,     0,     0,    {0,     0,    0,      0,       0},    {486.8, 222.9, 109.1, 5.676}}},
    {0},
};
/* clang-format on */

static spryi_work gpu_work(const spryi_product *p)
{
    enum { LANES = 32 };
    static const double INDEX = 5.2; /* bytes of an entry in addition to its value */
    const spryi_features *f = p->features;
    const double n = (double)f->nnz;
    spryi_work w = spryi_gpu_row_work(f);
    w.bytes = n * (spryi_bytes_with_ones(f) + INDEX) + (double)f->rows * f->offset_bytes + spryi_vector_bytes(f);
    w.sectors = n / LANES;
    w.near = 0;
    return w;
}

static const char *why_not(const spryi_product *p)
{
    enum { LEAST_ENTRIES = 3 << 19 };
    if (p->features->nnz < LEAST_ENTRIES) return "fewer than 1572864 entries are too few blocks";
    return p->features->scattered ? NULL : "columns are not scattered";
}

const spryi_estimator spryi_swept_estimator = {
    .rates = rates,
    .work = {[SPRYI_GPU] = gpu_work},
    .why_not = why_not,
};
