/* The work of a product on a GPU: kernels go by warps, which gather sectors of x together. */
#include "choose/cost.h"

#include "formats/windowed/windowed.h"

#include <math.h>
#include <string.h>

enum { LANES = 32 };

static double vector_bytes(const spryi_features *f)
{
    return (double)(f->rows + f->cols) * f->number_bytes;
}

static spryi_work work_of_rows(const spryi_features *f)
{
    const double n = (double)f->nnz;
    return (spryi_work){.near = f->near_sectors * n,
                        .steps = n / LANES,
                        .slices = (double)f->rows / LANES,
                        .uneven = f->lengths.body_deviation};
}

static spryi_work work_of_csr(const spryi_features *f)
{
    const double n = (double)f->nnz;
    spryi_work w = work_of_rows(f);
    w.bytes = n * (f->value_bytes + f->index_bytes) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = f->warp_sectors * n;
    return w;
}

static spryi_work work_of_sell(const spryi_features *f)
{
    const double n = (double)f->nnz;
    spryi_work w = work_of_rows(f);
    w.bytes = n * f->slots * (f->value_bytes + f->index_bytes) + 8.0 * (double)f->rows + vector_bytes(f);
    w.sectors = f->slot_sectors * n;
    w.steps *= f->slots;
    w.chain = f->lengths.longest;
    return w;
}

static spryi_work work_of_bsr(const spryi_features *f)
{
    static const double WIDE = 3; /* steps, of blocks of 6 and more */
    const double n = (double)f->nnz, b = (double)f->blocks.block, an_entry = f->blocks.bytes / n;
    const double index = f->index_bytes / (b * b), row = f->offset_bytes / (b * f->lengths.mean);
    spryi_work w = work_of_rows(f);
    w.bytes = f->blocks.bytes + vector_bytes(f);
    w.sectors = f->warp_sectors * n / b;
    w.steps *= an_entry / (f->number_bytes + index) * (f->blocks.block > 5 ? WIDE : 1);
    w.slices = (double)f->rows / b * 8;
    w.chain = f->longest_blocks;
    w.holes = an_entry > 1.02 * (f->number_bytes + index + row);
    return w;
}

/* Warps that take a slice of packed together. */
static double packed_warps(double slices)
{
    static const double ALL = 8448; /* slices, for as many warps as an H200 runs */
    return slices >= ALL ? 1 : slices >= ALL / 2 ? 2 : slices >= ALL / 4 ? 4 : 8;
}

static spryi_work work_of_packed(const spryi_features *f)
{
    static const double STEPPED = 0.8, OF_STEPPED = 0.3; /* slices of diagonals: most; their share of the gathers */
    enum { LONG = 512 };                                 /* entries; longer rows lie apart */
    const double n = (double)f->nnz, share = f->packed.strided > STEPPED ? OF_STEPPED : 1;
    spryi_work w = work_of_rows(f);
    w.bytes = n * f->packed.bytes + vector_bytes(f);
    w.sectors = share * f->slot_sectors * n / (double)f->packed.block;
    w.near *= share;
    w.steps *= f->slots;
    w.slices = f->packed.slices;
    w.chain = fmin(f->lengths.longest, LONG) / packed_warps(f->packed.slices);
    return w;
}

static spryi_work work_of_windowed(const spryi_features *f, double cache_bytes)
{
    static const double OF_CELLS = 1.45, SECTORS_OF_CELLS = 1.42; /* columns over those of balls of rows */
    static const double MOST = 4096, AT_ONCE = 528;               /* numbers of x of a window; windows of a GPU */
    static const double OF_ROW = 4.7;                             /* bytes */
    const spryi_windowed_guess *g = &f->windowed;
    const double n = (double)f->nnz, run = (double)g->run, more = g->cells ? OF_CELLS : 1;
    const double cut = fmax(1, more * g->staged / MOST), columns = more * g->columns * sqrt(cut);
    const double index = run > 1 ? 2 / (run * (double)g->group) : 1.5 / (double)g->group;
    const double rounds = fmax(1, g->windows * cut / AT_ONCE);
    spryi_work w = {.sectors = (g->cells ? SECTORS_OF_CELLS : 1) * g->sectors * n * sqrt(cut),
                    .steps = g->steps * n,
                    .slices = (double)f->rows / LANES,
                    .ragged = g->ragged * n,
                    .columns = columns * n,
                    .longest = (g->longest - 1) / rounds,
                    .heaviest = (g->heaviest - 1) / rounds};
    w.bytes = n * (f->value_bytes + index + 2 * columns / run) + OF_ROW * (double)f->rows + vector_bytes(f);
    w.ahead = w.bytes >= cache_bytes / 3 && w.bytes <= cache_bytes * 15 / 16;
    return w;
}

static spryi_work work_of_swept(const spryi_features *f)
{
    static const double INDEX = 5.2; /* bytes an entry */
    const double n = (double)f->nnz;
    spryi_work w = work_of_rows(f);
    w.bytes = n * (f->number_bytes + INDEX) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = n / LANES;
    w.near = 0;
    return w;
}

spryi_work spryi_work_on_gpu(const char *format, const spryi_features *f, double cache_bytes)
{
    if (strcmp(format, "sell") == 0) return work_of_sell(f);
    if (strcmp(format, "bsr") == 0) return work_of_bsr(f);
    if (strcmp(format, "packed") == 0) return work_of_packed(f);
    if (strcmp(format, "windowed") == 0) return work_of_windowed(f, cache_bytes);
    return strcmp(format, "swept") == 0 ? work_of_swept(f) : work_of_csr(f);
}
