/* The work of bsr's products, their rates, and the size of blocks. */
#include "core/error.h"
#include "core/estimate.h"
#include "core/memory.h"
#include "core/number_set.h"
#include "formats/bsr/bsr.h"

/* The launch of avx512_amd is csr's. The fit found 2.6 us, but products of small matrices take 1.6 us in all. */
static const spryi_rates_row rates[] = {
    {"hopper",
     {.format = "bsr",
      .launch = 2.453,
      .sharp = 1.309,
      .cached = 4.55e6,
      .memory = 3.927e6,
      .near = 1.603e7,
      .step = 1.836e-5,
      .slice = 8.495e-7,
      .chain = 0.03316,
      .uneven = 0.003959,
      .holes = 0.04616,
      .setup = 2097,
      .setup_entry = 135.2,
      .setup_row = 145,
      .setup_value = 10.7}},
    {"avx512",
     {.format = "bsr",
      .launch = 1.67,
      .sharp = 1.074,
      .cached = 3.119e4,
      .memory = 4.287e4,
      .gather = 1.361e5,
      .near = 1.499e5,
      .step = 1.014e-5,
      .slice = 0.001177,
      .block = 0.001887,
      .column = 2.851e-6,
      .setup = 5185,
      .setup_entry = 9114,
      .setup_row = 1.19e4,
      .setup_value = 399.5}},
    {"avx2",
     {.format = "bsr",
      .launch = 1.746,
      .sharp = 1.179,
      .cached = 1.601e4,
      .memory = 3.564e4,
      .gather = 9.763e4,
      .near = 3.378e4,
      .far = 1e12,
      .step = 0.0001624,
      .slice = 0.008422,
      .block = 0.0005184,
      .column = 8.858e-6,
      .setup = 6205,
      .setup_entry = 1.494e4,
      .setup_row = 6296,
      .setup_value = 496.7}},
    {"avx512_amd",
     {.format = "bsr",
      .launch = 1.158,
      .sharp = 1.798,
      .cached = 5.617e4,
      .memory = 5.001e4,
      .gather = 1.39e5,
      .near = 1.521e5,
      .step = 1.5e-5,
      .slice = 0.004262,
      .block = 0.0006358,
      .column = 2.635e-6,
      .setup = 2575,
      .setup_entry = 4332,
      .setup_row = 1.139e4,
      .setup_value = 366}},
    {"avx2_amd",
     {.format = "bsr",
      .launch = 3.619,
      .sharp = 1.238,
      .cached = 5.322e4,
      .memory = 2.498e4,
      .gather = 1.076e5,
      .near = 5.82e4,
      .far = 1e12,
      .step = 6.627e-5,
      .slice = 0.07234,
      .block = 0.0002797,
      .column = 1.208e-5,
      .setup = 8067,
      .setup_entry = 1.369e4,
      .setup_row = 7180,
      .setup_value = 306.9}},
    {NULL, {NULL}},
};

/* ---- blocks --------------------------------------------------------------------------------------------- */

typedef struct found_blocks {
    spryi_bsr_guess blocks;
    double longest; /* blocks of the block row with the longest row */
} found_blocks;
_Static_assert(sizeof(found_blocks) <= sizeof(spryi_guess), "a guess holds it");

static double csr_entry_bytes(const spry_arrays *csr)
{
    return (double)spry_type_bytes(csr->value_type) + (double)spry_index_type_bytes(csr->index_type) +
           (double)spry_index_type_bytes(csr->offset_type) * (double)csr->rows / (double)csr->nnz;
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
    static const double ADJACENT = 0.4; /* blocks of 2 have 0.5, or 0.43 if an eighth of their places is empty */
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
    list[0] = (spryi_feature_value){"block", "side of the blocks that a sample finds; 1: none that save bytes",
                                    (double)blocks->block};
    list[1] = (spryi_feature_value){"block_bytes", "bytes an entry of bsr with them", blocks->bytes / (double)f->nnz};
    return 2;
}

/* ---- work ----------------------------------------------------------------------------------------------- */

/* Bytes of an entry's value and of its share of the block's column, and 1 if blocks have holes. */
static double stored_bytes(const spryi_features *f, const spryi_bsr_guess *g, bool *has_holes)
{
    const double b = (double)g->block, stored = f->stored_bytes + f->index_bytes / (b * b);
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
    return (spryi_work){.bytes = g->bytes + spryi_vector_bytes(f),
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
    static const double WIDE = 3; /* steps of blocks of 6 and more */
    const spryi_features *f = p->features;
    const found_blocks *found = p->guess;
    const spryi_bsr_guess *g = &found->blocks;
    const double n = (double)f->nnz, b = (double)g->block;
    bool has_holes;
    spryi_work w = spryi_gpu_row_work(f);
    w.bytes = g->bytes + spryi_vector_bytes(f);
    w.sectors = f->warp_sectors * n / b;
    w.steps *= g->bytes / n / stored_bytes(f, g, &has_holes) * (g->block > 5 ? WIDE : 1);
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
