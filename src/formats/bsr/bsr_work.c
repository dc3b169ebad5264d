/* Work of bsr's products, rates, and the block size. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number_set.h"
#include "core/estimate.h"
#include "formats/bsr/bsr.h"

/*
 * In the row avx512-amd, the launch time is that of format csr. The fitted launch time was 2.6 us, but products of
 * small matrices take 1.6 us in total. In avx2-amd, setup was set by hand: plans of "auto" know the block size, which
 * the fitted set-ups had to find.
 */
/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near     far   step       slice     block
        ragged column    chain    uneven    holes    longest heaviest ahead setup entry    row      value */
    {"hopper", {NULL, NULL,     2.453, 1.309, 4.55e6,  3.927e6, 0,       1.603e7, 0,    1.836e-5,  8.495e-7, 0,
        0,     0,        0.03316, {0.003959, 0.04616, 0,      0,       0},    {2097, 135.2,   145,     10.7}}},
    {"avx512", {NULL, NULL,     1.67,  1.074, 3.119e4, 4.287e4, 1.361e5, 1.499e5, 0,    1.014e-5,  0.001177, 0.001887,
        0,     2.851e-6, 0,       {0,        0,       0,      0,       0},    {5185, 9114,    1.19e4,  399.5}}},
    {"avx2", {NULL, NULL,       1.746, 1.179, 1.601e4, 3.564e4, 9.763e4, 3.378e4, 1e12, 0.0001624, 0.008422, 0.0005184,
        0,     8.858e-6, 0,       {0,        0,       0,      0,       0},    {6205, 1.494e4, 6296,    496.7}}},
    {"avx512-amd", {NULL, NULL, 1.158, 1.798, 5.617e4, 5.001e4, 1.39e5,  1.521e5, 0,    1.5e-5,    0.004262, 0.0006358,
        0,     2.635e-6, 0,       {0,        0,       0,      0,       0},    {2575, 4332,    1.139e4, 366}}},
    {"avx2-amd", {NULL, NULL,   3.864, 1.361, 5.937e4, 2.498e4, 9.859e4, 5.694e4, 1e12, 5.443e-5,  0.01433,  0.0003053,
        0,     1.059e-5, 0,       {0,        0,       0,      0,       0},    {1670, 1500,    1.019e4, 198.1}}},
    {0},
};
/* clang-format on */

/* ---- block size ------------------------------------------------------------------------------------------ */

typedef struct found_blocks {
    spryi_bsr_guess blocks;
    double longest; /* number of blocks of the block row that contains the longest row */
} found_blocks;
_Static_assert(sizeof(found_blocks) <= sizeof(spryi_guess), "a guess holds it");

static double csr_entry_bytes(const spry_arrays *csr)
{
    return (double)spry_type_bytes(csr->value_type) + (double)spryi_index_type_bytes(csr->index_type) +
           (double)spryi_index_type_bytes(csr->offset_type) * (double)csr->rows / (double)csr->nnz;
}

/* Counts the blocks of the block row that has the longest row. */
static spry_status count_longest(spry_context *context, found_blocks *found, const spryi_features *f,
                                 spryi_column_reader *reader, spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const bool is_full = f->effort == SPRYI_FULL;
    const int64_t block = found->blocks.block, most = is_full ? 1 << 13 : 1 << 10;
    const int64_t first = f->lengths.longest_row / block * block;
    const int64_t rows_end = first + block < csr->rows ? first + block : csr->rows;
    const int64_t begin = spryi_offset_of(csr, first), all = spryi_offset_of(csr, rows_end) - begin;
    const int64_t end = begin + (all < most ? all : most);
    const int64_t range = spryi_want_entries(reader, begin, end);
    spryi_number_set set;
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &set, is_full ? 14 : 12, "a sample of columns", err));
    spryi_number_set_empty(&set);
    for (int64_t k = begin; k < end; k++)
        found->longest += spryi_number_set_add(&set, spryi_column_at(reader, range, k) / block);
    spryi_release(context, set.slots);
    return SPRY_OK;
}

static spry_status guess_blocks(spry_context *context, void *guess, const spryi_features *f,
                                spryi_column_reader *reader, spry_error *err)
{
    /*
     * Least share of entries that have an entry in the next column, if the matrix has blocks. Blocks of size 2 have a
     * share of 0.5, or 0.43 if an eighth of their values is fill.
     */
    static const double ADJACENT = 0.4;
    found_blocks *found = guess;
    found->blocks = (spryi_bsr_guess){.block = 1, .bytes = csr_entry_bytes(reader->csr) * (double)reader->csr->nnz};
    if (f->relations.adjacent < ADJACENT) return SPRY_OK;
    const int64_t longest = (int64_t)f->lengths.longest;
    SPRYI_OK_OR_RETURN(spryi_bsr_guess_of(context, &found->blocks, reader, longest, f->effort, err));
    return found->blocks.block > 1 ? count_longest(context, found, f, reader, err) : SPRY_OK;
}

static void set_parameters(int64_t *parameters, const void *guess)
{
    const found_blocks *found = guess;
    parameters[0] = found->blocks.block;
}

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    const spryi_bsr_guess *blocks = &((const found_blocks *)guess)->blocks;
    list[0] = (spryi_feature_value){"block", "size of the blocks found in a sample; 1: no size saves bytes",
                                    (double)blocks->block};
    list[1] = (spryi_feature_value){"block_bytes", "bytes per entry of bsr with these blocks",
                                    blocks->bytes / (double)f->nnz};
    return 2;
}

/* ---- work ----------------------------------------------------------------------------------------------- */

/* Returns the bytes of an entry: its value and its share of the block's column index. *has_holes: blocks have fill. */
static double stored_bytes(const spryi_features *f, const spryi_bsr_guess *g, bool *has_holes)
{
    const double b = (double)g->block, stored = spryi_bytes_with_ones(f) + f->index_bytes / (b * b);
    *has_holes = g->bytes / (double)f->nnz > 1.02 * (stored + f->offset_bytes / (b * f->lengths.mean));
    return stored;
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const spryi_bsr_guess *g = &((const found_blocks *)p->guess)->blocks;
    const double n = (double)f->nnz, b = (double)g->block;
    bool has_holes;
    const double a_slot = stored_bytes(f, g, &has_holes), stored = n * (g->bytes / n) / a_slot;
    return (spryi_work){.bytes = g->bytes - stored * spryi_narrowing(p) + spryi_vector_bytes(f),
                        .sectors = f->slot_sectors * n / b,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = stored,
                        .columns = has_holes ? stored : 0,
                        .slices = (double)f->rows / b,
                        .blocks = stored / (b * b),
                        .unknown = g->block <= 1};
}

static spryi_work gpu_work(const spryi_product *p)
{
    static const double WIDE = 3; /* time of a step for blocks of 6 and more, divided by that for smaller blocks */
    const spryi_features *f = p->features;
    const found_blocks *found = p->guess;
    const spryi_bsr_guess *g = &found->blocks;
    const double n = (double)f->nnz, b = (double)g->block;
    bool has_holes;
    spryi_work w = spryi_gpu_row_work(f);
    const double slots = g->bytes / n / stored_bytes(f, g, &has_holes); /* stored values per entry */
    w.bytes = g->bytes - n * slots * spryi_narrowing(p) + spryi_vector_bytes(f);
    w.sectors = f->warp_sectors * n / b;
    w.steps *= slots * (g->block > 5 ? WIDE : 1);
    w.slices = (double)f->rows / b * 8;
    w.chain = found->longest;
    w.holes = has_holes;
    w.unknown = g->block <= 1;
    return w;
}

static const char *why_not(const spryi_product *p)
{
    const found_blocks *found = p->guess;
    return found->blocks.block <= 1 ? "a sample finds no blocks that save bytes" : NULL;
}

static spryi_vectors_rates vectors_rates(const spryi_product *p)
{
    (void)p;
    return (spryi_vectors_rates){.matrix = 1.2,
                                 .row = 4.9,
                                 .vectors = 1,
                                 .x = 1.4e7,
                                 .sector = 9,
                                 .odd = 1.5,
                                 .step = SPRYI_VECTORS_STEP_US};
}

const spryi_estimator spryi_bsr_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .guess = guess_blocks,
    .guess_stores_ones = true,
    .guess_needs_relations = true,
    .set_parameters = set_parameters,
    .report = report,
    .cpu_vectors_factor = 1.5,
    .vectors_rates = vectors_rates,
};
