/* The work of a product on a GPU: kernels go by warps, which gather sectors of x together. */
#include "choose/cost.h"

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

/* By entries. */
static spryi_work work_of_csr(const spryi_features *f)
{
    spryi_work w = work_of_rows(f);
    w.bytes = (double)f->nnz * (f->value_bytes + f->index_bytes) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = f->warp_sectors * (double)f->nnz;
    return w;
}

/* A block has the rows of so many entries, however many they are: of mostly empty rows its threads take many turns. */
static spryi_work work_of_merge(const spryi_features *f)
{
    static const double ENTRIES = 4, HIDDEN = 2; /* of a block, a thread; turns that other blocks hide */
    spryi_work w = work_of_csr(f);
    w.chain = fmax(ENTRIES / f->lengths.mean - HIDDEN, 0);
    return w;
}

/* Lanes of a row: as csr_vector_cuda has them, as many as the mean row needs. */
static double lanes_of(const spryi_row_profile *rows)
{
    double lanes = 2;
    while (lanes < LANES && lanes < rows->mean) lanes *= 2;
    return lanes;
}

int spryi_waits_for_rows(const spryi_format_rates *r, const spryi_row_profile *rows)
{
    enum { MOST_STEPS = 192, MOST_ALONE = 64 };
    if (r->kernel && strcmp(r->kernel, "csr_scalar_cuda") == 0) return rows->longest > MOST_ALONE;
    if (r->kernel && strcmp(r->kernel, "csr_vector_cuda") == 0) return rows->longest > MOST_STEPS * lanes_of(rows);
    return 0;
}

/* A few lanes a row, of whose last step a half is idle on average; what is done once a row takes each of its lanes. */
static spryi_work work_of_vector(const spryi_features *f)
{
    const double lanes = lanes_of(&f->lengths);
    spryi_work w = work_of_csr(f);
    w.steps = (double)f->rows * (f->lengths.mean + lanes / 2) / LANES;
    w.slices = (double)f->rows * lanes / LANES;
    w.chain = f->lengths.longest / lanes;
    return w;
}

/*
 * A thread a row: lanes read apart, each from its row. Where the rows of all threads of a processor do not fit in its
 * first-level cache, sectors are read again and again: of f64 several times as often, as measured.
 */
static spryi_work work_of_scalar(const spryi_features *f)
{
    static const double THREADS = 2048, FITS = 200 << 10 /* bytes */, OF_F64 = 4;
    const double rows = THREADS * f->lengths.mean * (f->value_bytes + f->index_bytes);
    spryi_work w = work_of_csr(f);
    w.sectors = f->slot_sectors * (double)f->nnz;
    w.columns = (double)f->nnz * fmin(fmax(rows / FITS - 1, 0), 1) * (f->value_bytes > 4 ? OF_F64 : 1);
    w.chain = f->lengths.longest;
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
    w.holes = f->lengths.empty;
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
    w.steps *= an_entry / (f->stored_bytes + index) * (f->blocks.block > 5 ? WIDE : 1);
    w.slices = (double)f->rows / b * 8;
    w.chain = f->longest_blocks;
    w.holes = an_entry > 1.02 * (f->stored_bytes + index + row);
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
    static const double OF_STRIDED = 0.3; /* of the gathers, where lanes of slices of diagonals read side by side */
    const double mean = f->lengths.mean, strided = f->packed.strided, share = 1 - (1 - OF_STRIDED) * strided;
    const double apart = fmax(SPRYI_PACKED_LONG_LEAST, SPRYI_PACKED_LONG_MEANS * mean); /* entries; longer rows are */
    spryi_work w = work_of_rows(f);
    w.bytes = (double)f->nnz * f->packed.bytes + vector_bytes(f);
    w.sectors = share * f->slot_sectors * (double)f->nnz / (double)f->packed.block;
    w.near *= share;
    w.steps *= f->slots;
    w.slices = f->packed.slices;
    w.chain = (1 - strided) * fmin(f->lengths.longest, apart) / packed_warps(f->packed.slices);
    w.holes = f->lengths.empty;
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
    const double windows = g->windows * cut, rounds = fmax(1, windows / AT_ONCE);
    const double idle = fmax(1, AT_ONCE / windows); /* fewer windows than there is room for */
    spryi_work w = {.sectors = (g->cells ? SECTORS_OF_CELLS : 1) * g->sectors * n * sqrt(cut),
                    .steps = g->steps * n * idle,
                    .slices = (double)f->rows / LANES * idle,
                    .ragged = g->ragged * n * idle,
                    .columns = columns * n * idle,
                    .holes = f->lengths.empty,
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
    w.bytes = n * (f->stored_bytes + INDEX) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = n / LANES;
    w.near = 0;
    return w;
}

static spryi_work work_of_kernel(const spryi_format_rates *r, const spryi_features *f)
{
    if (r->kernel && strcmp(r->kernel, "csr_vector_cuda") == 0) return work_of_vector(f);
    if (r->kernel && strcmp(r->kernel, "csr_scalar_cuda") == 0) return work_of_scalar(f);
    if (r->kernel && strcmp(r->kernel, "csr_merge_cuda") == 0) return work_of_merge(f);
    return work_of_csr(f);
}

spryi_work spryi_work_on_gpu(const spryi_format_rates *r, const spryi_features *f, double cache_bytes)
{
    static const struct {
        const char *format;
        spryi_work (*work)(const spryi_features *f);
    } works[] = {{"sell", work_of_sell}, {"bsr", work_of_bsr}, {"packed", work_of_packed}, {"swept", work_of_swept}};
    if (strcmp(r->format, "windowed") == 0) return work_of_windowed(f, cache_bytes);
    for (size_t n = 0; n < sizeof works / sizeof *works; n++)
        if (strcmp(r->format, works[n].format) == 0) return works[n].work(f);
    return work_of_kernel(r, f);
}
