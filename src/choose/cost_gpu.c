/*
 * A product's time on a GPU. Each format has its work: bytes streamed, sectors of x gathered, steps of warps. Each kind
 * of work at its own rate would take a time; together they take
 *
 *     launch + (sum of times^sharp)^(1/sharp), times what uneven rows and heavy windows add
 *
 * from the longest of them where they overlap well (a large `sharp`) to their sum (1).
 *
 * The rates are fitted, by least squares of the logarithms, to times on an H200: half of *unstructured*, *mesh*,
 * *scattered*, *shuffled* and 17 real matrices, docs/results/h200-unstructured-2026-11-23.md and
 * docs/results/h200-choice-2026-11-22.md; table of 2026-11-23. docs/choosing.md tells how far they are off.
 */
#include "choose/cost_gpu.h"

#include "formats/windowed/windowed.h"

#include <math.h>
#include <string.h>

/* us, and bytes a us. */
typedef struct format_rates {
    const char *format;
    double launch, sharp;
    double cached, memory;     /* bytes streamed from the second-level cache, and from memory */
    double gather, near;       /* bytes of sectors that warps, and that neighbouring rows together, gather */
    double step, slice;        /* us of a step of a warp, and of 32 rows */
    double ragged, column;     /* us of a slot that not all rows of a slice have, and of a number of x staged */
    double chain;              /* us of an entry of the longest row */
    double uneven, holes;      /* shares added by the deviation of row lengths, and by blocks with holes */
    double longest, heaviest;  /* shares added by the steps and the work of the heaviest window */
    double ahead;              /* share of the streaming that asking ahead spares */
    double setup, setup_entry; /* us, and us a million: entries, */
    double setup_row;          /* rows, */
    double setup_value;        /* and bytes of values */
} format_rates;

static const format_rates rates[] = {
    {.format = "csr",
     .launch = 4.075,
     .sharp = 1.811,
     .cached = 3.581e6,
     .memory = 3.982e6,
     .gather = 1.712e7,
     .near = 5.041e6,
     .step = 2.071e-6,
     .slice = 3.604e-6,
     .uneven = 0.05867,
     .setup = 117},
    {.format = "sell",
     .launch = 2.444,
     .sharp = 2.515,
     .cached = 5.646e6,
     .memory = 5.148e6,
     .gather = 1.456e7,
     .near = 4.521e6,
     .step = 2.884e-6,
     .slice = 6.981e-6,
     .chain = 0.08574,
     .uneven = 0.1624,
     .setup = 280,
     .setup_entry = 9.5,
     .setup_row = 196,
     .setup_value = 3.6},
    {.format = "bsr",
     .launch = 3.243,
     .sharp = 1.401,
     .cached = 4.67e6,
     .memory = 5.373e6,
     .gather = 9.051e6,
     .near = 5.195e7,
     .step = 1.955e-5,
     .slice = 1.037e-6,
     .chain = 2.539e-4,
     .uneven = 0.006531,
     .holes = 0.1156,
     .setup = 2097,
     .setup_entry = 104,
     .setup_row = 145,
     .setup_value = 9.8},
    {.format = "packed",
     .launch = 2.979,
     .sharp = 2.647,
     .cached = 3.896e6,
     .memory = 4.556e6,
     .gather = 1.078e7,
     .near = 4.352e6,
     .step = 1.597e-5,
     .slice = 2.043e-6,
     .chain = 0.06982,
     .uneven = 0.06199,
     .setup = 301,
     .setup_entry = 18.4,
     .setup_value = 3.4},
    {.format = "windowed",
     .launch = 4.987,
     .sharp = 1.963,
     .cached = 4.519e6,
     .memory = 4.307e6,
     .gather = 2.953e6,
     .step = 4.688e-5,
     .slice = 2.776e-4,
     .ragged = 1.82e-4,
     .column = 2.059e-6,
     .longest = 0.02667,
     .heaviest = 0.4292,
     .ahead = 0.2598,
     .setup = 466,
     .setup_entry = 12.2,
     .setup_row = 729,
     .setup_value = 2.25},
    {.format = "swept",
     .launch = 12.29,
     .sharp = 3.706,
     .cached = 3.517e6,
     .memory = 3.576e6,
     .gather = 6.088e6,
     .step = 8.268e-6,
     .slice = 9.36e-6,
     .setup = 466,
     .setup_entry = 60,
     .setup_row = 100,
     .setup_value = 4},
};

static const double CACHE = 62.9e6; /* bytes of an H200's second-level cache */
enum { SECTOR = 32, LANES = 32 };

/* What a product does in a format: bytes, sectors, and the counts of the rates of the same names. */
typedef struct work {
    double bytes, sectors, near, steps, slices, ragged, columns, chain, uneven, holes, longest, heaviest;
    int ahead;
} work;

/* ---- the work of formats ------------------------------------------------------------------------------- */

static double vector_bytes(const spryi_features *f)
{
    return (double)(f->rows + f->cols) * f->number_bytes;
}

static work work_of_rows(const spryi_features *f)
{
    const double n = (double)f->nnz;
    return (work){.near = f->near_sectors * n,
                  .steps = n / LANES,
                  .slices = (double)f->rows / LANES,
                  .uneven = f->lengths.body_deviation};
}

static work work_of_csr(const spryi_features *f)
{
    const double n = (double)f->nnz;
    work w = work_of_rows(f);
    w.bytes = n * (f->value_bytes + f->index_bytes) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = f->warp_sectors * n;
    return w;
}

static work work_of_sell(const spryi_features *f)
{
    const double n = (double)f->nnz;
    work w = work_of_rows(f);
    w.bytes = n * f->slots * (f->value_bytes + f->index_bytes) + 8.0 * (double)f->rows + vector_bytes(f);
    w.sectors = f->slot_sectors * n;
    w.steps *= f->slots;
    w.chain = f->lengths.longest;
    return w;
}

static work work_of_bsr(const spryi_features *f)
{
    static const double WIDE = 3; /* steps, of blocks of 6 and more */
    const double n = (double)f->nnz, b = (double)f->blocks.block, an_entry = f->blocks.bytes / n;
    const double index = f->index_bytes / (b * b), row = f->offset_bytes / (b * f->lengths.mean);
    work w = work_of_rows(f);
    w.bytes = f->blocks.bytes + vector_bytes(f);
    w.sectors = f->warp_sectors * n / b;
    w.steps *= an_entry / (f->number_bytes + index) * (f->blocks.block > 5 ? WIDE : 1);
    w.slices = (double)f->rows / b * 8;
    w.chain = f->lengths.longest;
    w.holes = an_entry > 1.02 * (f->number_bytes + index + row);
    return w;
}

/* Warps that take a slice of packed together. */
static double packed_warps(double slices)
{
    static const double ALL = 8448; /* slices, for as many warps as an H200 runs */
    return slices >= ALL ? 1 : slices >= ALL / 2 ? 2 : slices >= ALL / 4 ? 4 : 8;
}

static work work_of_packed(const spryi_features *f)
{
    static const double STEPPED = 0.8, OF_STEPPED = 0.3; /* slices of diagonals: most; their share of the gathers */
    enum { LONG = 512 };                                 /* entries; longer rows lie apart */
    const double n = (double)f->nnz, share = f->packed.strided > STEPPED ? OF_STEPPED : 1;
    work w = work_of_rows(f);
    w.bytes = n * f->packed.bytes + vector_bytes(f);
    w.sectors = share * f->slot_sectors * n / (double)f->packed.block;
    w.near *= share;
    w.steps *= f->slots;
    w.slices = f->packed.slices;
    w.chain = fmin(f->lengths.longest, LONG) / packed_warps(f->packed.slices);
    return w;
}

static work work_of_windowed(const spryi_features *f)
{
    static const double OF_CELLS = 1.45, SECTORS_OF_CELLS = 1.42; /* columns over those of balls of rows */
    static const double MOST = 4096, AT_ONCE = 528;               /* numbers of x of a window; windows of a GPU */
    static const double OF_ROW = 4.7;                             /* bytes */
    const spryi_windowed_guess *g = &f->windowed;
    const double n = (double)f->nnz, run = (double)g->run, more = g->cells ? OF_CELLS : 1;
    const double cut = fmax(1, more * g->staged / MOST), columns = more * g->columns * sqrt(cut);
    const double index = run > 1 ? 2 / (run * (double)g->group) : 1.5 / (double)g->group;
    const double rounds = fmax(1, g->windows * cut / AT_ONCE);
    work w = {.sectors = (g->cells ? SECTORS_OF_CELLS : 1) * g->sectors * n * sqrt(cut),
              .steps = g->steps * n,
              .slices = (double)f->rows / LANES,
              .ragged = g->ragged * n,
              .columns = columns * n,
              .longest = (g->longest - 1) / rounds,
              .heaviest = (g->heaviest - 1) / rounds};
    w.bytes = n * (f->value_bytes + index + 2 * columns / run) + OF_ROW * (double)f->rows + vector_bytes(f);
    w.ahead = w.bytes >= CACHE / 3 && w.bytes <= CACHE * 15 / 16;
    return w;
}

static work work_of_swept(const spryi_features *f)
{
    static const double INDEX = 5.2; /* bytes an entry */
    const double n = (double)f->nnz;
    work w = work_of_rows(f);
    w.bytes = n * (f->number_bytes + INDEX) + (double)f->rows * f->offset_bytes + vector_bytes(f);
    w.sectors = n / LANES;
    w.near = 0;
    return w;
}

/* ---- times --------------------------------------------------------------------------------------------- */

static double time_of(const format_rates *r, const work *w)
{
    const double cached = fmin(fmax(2 - w->bytes / CACHE, 0), 1);
    const double stream = w->bytes * (cached / r->cached + (1 - cached) / r->memory) * (1 - (w->ahead ? r->ahead : 0));
    const double gather = SECTOR * w->sectors / r->gather, near = r->near > 0 ? SECTOR * w->near / r->near : 0;
    const double steps = (w->steps * r->step + w->slices * r->slice + w->ragged * r->ragged + w->columns * r->column) *
                         (1 + w->longest * r->longest);
    const double sum = pow(stream, r->sharp) + pow(gather, r->sharp) + pow(near, r->sharp) + pow(steps, r->sharp);
    const double more = (1 + w->uneven * r->uneven) * (1 + w->holes * r->holes) * (1 + w->heaviest * r->heaviest);
    return r->launch + pow(sum, 1 / r->sharp) * more + w->chain * r->chain;
}

static double setup_of(const format_rates *r, const spryi_features *f)
{
    const double values = (double)f->nnz * f->value_bytes;
    return r->setup +
           1e-6 * (r->setup_entry * (double)f->nnz + r->setup_row * (double)f->rows + r->setup_value * values);
}

/* 1: the format can be taken, and times of such matrices are known. */
static int may_take(const char *format, const spryi_features *f)
{
    enum { LEAST_WINDOWED = 1 << 19, LEAST_SWEPT = 3 << 19 /* entries */, LEAST_PACKED = 1 << 17 /* rows */ };
    if (strcmp(format, "bsr") == 0) return f->blocks.block > 1;
    if (strcmp(format, "packed") == 0) return f->rows >= LEAST_PACKED;
    if (strcmp(format, "swept") == 0) return f->nnz >= LEAST_SWEPT;
    if (strcmp(format, "windowed") != 0) return 1;
    return f->windowed.columns > 0 && f->nnz >= LEAST_WINDOWED && f->lengths.longest <= SPRYI_WINDOWED_LONG;
}

int spryi_estimate_on_gpu(spryi_estimate *list, const spryi_features *f)
{
    static work (*const work_of[])(const spryi_features *) = {work_of_csr,    work_of_sell,     work_of_bsr,
                                                              work_of_packed, work_of_windowed, work_of_swept};
    int count = 0;
    for (int k = 0; k < SPRYI_GPU_FORMATS; k++) {
        if (!may_take(rates[k].format, f)) continue;
        const work w = work_of[k](f);
        list[count++] = (spryi_estimate){.format = rates[k].format,
                                         .us = time_of(&rates[k], &w),
                                         .setup_us = setup_of(&rates[k], f)};
    }
    return count;
}
