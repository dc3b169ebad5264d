/* Estimates of packed for the choice "auto": a guess from sampled groups, the work of its products, and rates. */
#include "base/error.h"
#include "core/estimate.h"
#include "formats/packed/packed_group.h"
#include "matrix/columns.h"

#include <math.h>
#include <string.h>

_Static_assert(sizeof(spryi_packed_guess) <= sizeof(spryi_guess), "a guess holds it");

/* ---- guess --------------------------------------------------------------------------------------------- */

/*
 * Returns sampled group n of `samples`, limited to the rows to measure. If a group has more than ENOUGH entries, a
 * quick guess measures only the first slices of the group. These slices have about ENOUGH entries in total. At least
 * SLICES slices are measured.
 */
static spryi_packed_group sampled_group(const spry_arrays *csr, int64_t block, int64_t n, int64_t samples,
                                        spryi_effort effort)
{
    enum { ENOUGH = 1 << 14, SLICES = 4 /* minimum */ };
    spryi_packed_group g = spryi_packed_group_of(csr, block, spryi_packed_group_count(csr, block) * n / samples);
    const int64_t slice = (int64_t)SPRYI_PACKED_LANES * g.b, rows = g.end - g.begin;
    const int64_t entries = spryi_offset_of(csr, g.end) - spryi_offset_of(csr, g.begin);
    if (effort == SPRYI_FULL || entries <= ENOUGH) return g;
    const int64_t slices = ENOUGH * rows / (entries * slice), taken = (slices > SLICES ? slices : SLICES) * slice;
    if (taken < rows) g.end = g.begin + taken;
    return g;
}

/* Counts of a sample. */
typedef struct sample_sums {
    int64_t rows, entries;
    int64_t slices, slots, units, long_nnz;
    int64_t marked, diagonals; /* marked: slices with an index per entry; diagonals: slices with DIAGONALS */
    /* pairs of consecutive rows. pairs: with equal lengths or equal values. pairs_same: with equal values. */
    int64_t pairs, pairs_same;
} sample_sums;

/*
 * Counts the pairs of sample_sums. csr->values is in host memory. Two rows have equal values if the values agree up to
 * the shorter row's length.
 */
static void count_pairs(const spry_arrays *csr, const spryi_packed_group *g, sample_sums *sums)
{
    const size_t size = spry_type_bytes(csr->value_type);
    const char *values = csr->values;
    for (int64_t i = g->begin; i + 1 < g->end; i++) {
        const int64_t at = spryi_offset_of(csr, i), next = spryi_offset_of(csr, i + 1);
        const int64_t length = next - at, other = spryi_offset_of(csr, i + 2) - next;
        if (length == 0 || other == 0) continue;
        const bool same = memcmp(values + (size_t)at * size, values + (size_t)next * size,
                                 (size_t)(length < other ? length : other) * size) == 0;
        sums->pairs += same || length == other;
        sums->pairs_same += same;
    }
}

static void add_group(sample_sums *sums, const spryi_packed_group *g)
{
    spryi_packed_choices choices;
    const spryi_packed_counts counts = spryi_packed_measure(g, &choices);
    sums->rows += g->end - g->begin;
    sums->entries += spryi_offset_of(g->csr, g->end) - spryi_offset_of(g->csr, g->begin);
    sums->slices += counts.slices;
    sums->slots += counts.slots;
    sums->units += counts.units;
    sums->long_nnz += counts.long_nnz;
    for (int64_t n = 0; n < counts.slices; n++) {
        const bool is_diagonals = choices.slice[n].kind == SPRYI_PACKED_DIAGONALS;
        sums->marked += choices.slice[n].b == 1 && !is_diagonals;
        sums->diagonals += is_diagonals;
    }
}

/* Estimates the share of slices that need no values of their own: slices in which all 32 rows have equal values. */
static double shared_slices(const sample_sums *sums)
{
    if (sums->pairs == 0) return 0;
    return pow((double)sums->pairs_same / (double)sums->pairs, SPRYI_PACKED_LANES - 1);
}

static spryi_packed_guess guess_of(const sample_sums *sums, const spry_arrays *csr, int64_t block)
{
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(csr->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(csr->value_type);
    const int64_t bytes = (sums->slots + sums->long_nnz) * value_bytes + sums->units * SPRYI_PACKED_INDEX_UNIT +
                          sums->long_nnz * index_bytes +
                          sums->slices * (int64_t)(sizeof(spryi_packed_slice) + sizeof(int32_t));
    const double entries = (double)sums->entries;
    const double slices = sums->slices > 0 ? (double)sums->slices : 1; /* sums->slices is 0 if all rows are long */
    return (spryi_packed_guess){.bytes = (double)bytes / entries,
                                .slots = (double)(sums->slots + sums->long_nnz) / entries,
                                .shared = shared_slices(sums) * (double)sums->slots / entries,
                                .block = block,
                                .unmarked = 1 - (double)sums->marked / slices,
                                .strided = (double)sums->diagonals / slices,
                                .slices = (double)sums->slices * (double)csr->rows / (double)sums->rows};
}

static spry_status guess_slices(spry_context *context, void *guess, const spryi_features *f,
                                spryi_column_reader *reader, spry_error *err)
{
    (void)context;
    const spry_arrays *csr = reader->csr;
    const int64_t most = f->effort == SPRYI_QUICK ? 2 : 32;
    const bool has_values = !reader->device && csr->values && csr->value_type != SPRY_PATTERN;
    sample_sums sums = {0};
    int64_t block;
    *(spryi_packed_guess *)guess = (spryi_packed_guess){0};
    SPRYI_OK_OR_RETURN(spryi_packed_find_block(reader, &block, err));
    const int64_t groups = spryi_packed_group_count(csr, block), samples = groups < most ? groups : most;
    const int64_t range = reader->count;
    for (int64_t p = 0; p < samples; p++) {
        const spryi_packed_group g = sampled_group(csr, block, p, samples, f->effort);
        (void)spryi_want_rows(reader, g.begin, g.end);
    }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t p = 0; p < samples; p++) {
        const spry_arrays view = spryi_range_at(reader, range + p);
        const spryi_packed_group g = sampled_group(&view, block, p, samples, f->effort);
        add_group(&sums, &g);
        if (has_values && block == 1) count_pairs(csr, &g, &sums); /* zero padding of blocks prevents sharing */
    }
    if (sums.entries > 0) *(spryi_packed_guess *)guess = guess_of(&sums, csr, block);
    return SPRY_OK;
}

/* ---- work and rates ------------------------------------------------------------------------------------ */

/*
 * In the row avx512-amd, the launch time is that of format csr. The fitted launch time was 3.9 us, but products of
 * small matrices take 2.4 us in total.
 */
/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far      step      slice
        block      ragged column    chain  uneven   holes longest heaviest ahead setup  entry row      value */
    {"hopper", {NULL, NULL,     3.005, 3.077, 4.638e6, 3.396e6, 1.177e7, 4.089e6, 0,       1.154e-5, 2.05e-6,
        0,         0,     0,        0.174, {0.07773, 2.43, 0,      0,       0},    {230,   28.5, 0,       7.473}}},
    {"avx512", {NULL, NULL,     23.88, 1.371, 2.102e4, 2.571e4, 6.771e4, 5.717e4, 1.656e4, 1.129e-5, 0.0006083,
        0.0003201, 0,     2.248e-6, 0,     {0,       0,    0,      0,       0},    {133,   3207, 3.875e4, 235.5}}},
    {"avx2", {NULL, NULL,       2.246, 1.045, 1.395e4, 1.55e4,  3.913e4, 9.66e4,  9312,    1.517e-5, 0.0006479,
        0.001873,  0,     8.317e-6, 0,     {0,       0,    0,      0,       0},    {56.62, 5744, 5.572e4, 155.1}}},
    {"avx512-amd", {NULL, NULL, 1.158, 1.482, 6.292e4, 2.636e4, 6.464e4, 1.119e5, 2.494e4, 1.163e-5, 0.0009462,
        0.0001811, 0,     2.064e-6, 0,     {0,       0,    0,      0,       0},    {66.07, 1459, 2.292e4, 293}}},
    {"avx2-amd", {NULL, NULL,   4.467, 2.891, 2.66e4,  2.404e4, 3.78e4,  6.781e4, 1.697e4, 7.779e-6, 0.001486,
        0.0003751, 0,     6.88e-6,  0,     {0,       0,    0,      0,       0},    {24.66, 1138, 2.89e4,  273.7}}},
    {0},
};
/* clang-format on */

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    const spryi_packed_guess *g = guess;
    (void)f;
    list[0] = (spryi_feature_value){"packed_bytes", "bytes per entry of packed", g->bytes};
    list[1] = (spryi_feature_value){"packed_strided", "share of packed's slices of kind diagonals", g->strided};
    return 2;
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const spryi_packed_guess *g = p->guess;
    const double n = (double)f->nnz, b = (double)g->block, gathered = 1 - g->strided;
    const double saved = g->shared * f->value_bytes + (g->slots - g->shared) * spryi_narrowing(p);
    return (spryi_work){.bytes = n * (g->bytes - saved) + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * n * gathered / b,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * f->slots * gathered / b,
                        .columns = n * f->slots,
                        .slices = (double)f->rows,
                        .blocks = n * f->slots * (b - 1) / b};
}

/* Returns an estimate of the number of warps for each slice. */
static double warps_of(double slices)
{
    static const double ALL = 8448; /* number of slices with one warp each that an H200 runs at a time */
    return slices >= ALL ? 1 : slices >= ALL / 2 ? 2 : slices >= ALL / 4 ? 4 : 8;
}

static spryi_work gpu_work(const spryi_product *p)
{
    static const double STRIDED = 0.3; /* gathers of x in slices of DIAGONALS, divided by those in other slices */
    const spryi_features *f = p->features;
    const spryi_packed_guess *g = p->guess;
    const double share = 1 - (1 - STRIDED) * g->strided;
    /* most entries of a row that is not long */
    const double longest = fmax(SPRYI_PACKED_LONG_LEAST, SPRYI_PACKED_LONG_MEANS * f->lengths.mean);
    double saved = spryi_narrowing(p);
    /* Blocks with indices: the gain is limited to that of narrower floating-point types. */
    if (g->block > 1) saved = g->strided * saved + (1 - g->strided) * fmin(saved, f->value_bytes - f->narrow.floats);
    spryi_work w = spryi_gpu_row_work(f);
    w.bytes = (double)f->nnz * (g->bytes - g->slots * saved) + spryi_vector_bytes(f);
    w.sectors = share * f->slot_sectors * (double)f->nnz / (double)g->block;
    w.near *= share;
    w.steps *= f->slots;
    w.slices = g->slices;
    w.chain = (1 - g->strided) * fmin(f->lengths.longest, longest) / warps_of(g->slices);
    w.holes = f->lengths.empty;
    return w;
}

/*
 * On a GPU, long rows are read once for each vector. Whether column-major vectors are read in place is estimated as in
 * reads_column_major (packed_slices_cuda.cu).
 */
static spryi_vectors_way limit_way(const spryi_product *p)
{
    const spryi_packed_guess *g = p->guess;
    if (!p->on_gpu) return SPRYI_ANY_LAYOUT;
    if (p->features->lengths.longest > SPRYI_PACKED_MOST_WIDTH * (double)g->block) return SPRYI_ONE_BY_ONE;
    const bool in_place = g->block > 1 ? p->columns <= SPRYI_PACKED_MOST_IN_PLACE || g->strided >= 0.5
                                       : g->unmarked >= 0.99;
    return in_place ? SPRYI_ANY_LAYOUT : SPRYI_ROW_MAJOR;
}

/*
 * Time of another vector divided by the time of the first. Measured with 2 threads of a Zen 3 and 2 to 8 vectors on ten
 * matrices: 0.6 to 0.8 if half of the slices are on diagonals, else 0.7 to 1.2.
 */
static double later_vector(const spryi_product *p)
{
    static const double STRIDED = 0.6, INDEXED = 0.95;
    const spryi_packed_guess *g = p->guess;
    const double strided = fmin(2 * g->strided, 1); /* a slice on diagonals is twice as fast as other slices */
    return STRIDED * strided + INDEXED * (1 - strided);
}

static const char *why_not(const spryi_product *p)
{
    enum { LEAST_ROWS = 1 << 17, LEAST_ROWS_TOGETHER = 1 << 15 };
    if (!p->on_gpu)
        return p->features->simd > SPRYI_PORTABLE ? NULL : "without AVX2 its kernel is slower than its rates predict";
    if (p->columns > 1 && limit_way(p) != SPRYI_ONE_BY_ONE) /* a slice has more warps */
        return p->features->rows < LEAST_ROWS_TOGETHER ? "fewer than 32768 rows are too few slices" : NULL;
    return p->features->rows < LEAST_ROWS ? "fewer than 131072 rows are too few slices" : NULL;
}

static spryi_vectors_rates vectors_rates(const spryi_product *p)
{
    static const double INDEXED = 1.75;               /* 1e-6 us per entry of a slice with indices */
    static const double X = 2.1e7, X_INDEXED = 1.3e7; /* as `x`, for slices without and with an index per entry */
    const spryi_packed_guess *g = p->guess;
    spryi_vectors_rates r = {.matrix = 0.68, .row = 8, .vectors = 0.97, .sector = 7.5, .odd = 1.5};
    r.step = SPRYI_VECTORS_STEP_US;
    if (g->block > 1) {
        r.x = 2.9e7;
        r.odd = 2.3;
    } else {
        r.x = 1 / (g->unmarked / X + (1 - g->unmarked) / X_INDEXED);
        r.entry = INDEXED * (1 - g->unmarked);
    }
    return r;
}

const spryi_estimator spryi_packed_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .guess = guess_slices,
    .report = report,
    .limit_way = limit_way,
    .later_vector = later_vector,
    .cpu_vectors_factor = 3,
    .always_together = true,
    .vectors_rates = vectors_rates,
};
