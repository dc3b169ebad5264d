/* The work of a product on a CPU: a thread goes by rows, and by as many entries or rows at once as a register has. */
#include "choose/cost.h"

#include <math.h>
#include <string.h>

static double vector_bytes(const spryi_features *f)
{
    return (double)(f->rows + f->cols) * f->number_bytes;
}

/*
 * Columns that repeat those of the row before, or are one further, are not read; x is gathered for the first of such
 * rows alone.
 */
static spryi_work work_of_csr(const spryi_features *f)
{
    const double n = (double)f->nnz, own = 1 - f->relations.repeated;
    return (spryi_work){.bytes = n * (f->value_bytes + f->index_bytes * own) + (double)f->rows * f->offset_bytes +
                                 vector_bytes(f),
                        .sectors = f->slot_sectors * n * own,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * own * (1 - f->relations.adjacent),
                        .columns = n,
                        .slices = (double)f->rows,
                        .blocks = (double)f->rows * f->lengths.body_deviation};
}

static spryi_work work_of_sell(const spryi_features *f)
{
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * f->slots * (f->value_bytes + f->index_bytes) + 8.0 * (double)f->rows +
                                 vector_bytes(f),
                        .sectors = f->slot_sectors * n,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * f->slots,
                        .chain = f->lengths.longest,
                        .slices = (double)f->rows};
}

static spryi_work work_of_bsr(const spryi_features *f)
{
    const double n = (double)f->nnz, b = (double)f->blocks.block, an_entry = f->blocks.bytes / n;
    const double index = f->index_bytes / (b * b), row = f->offset_bytes / (b * f->lengths.mean);
    const double stored = n * an_entry / (f->stored_bytes + index);
    const int has_holes = an_entry > 1.02 * (f->stored_bytes + index + row);
    return (spryi_work){.bytes = f->blocks.bytes + vector_bytes(f),
                        .sectors = f->slot_sectors * n / b,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = stored,
                        .columns = has_holes ? stored : 0,
                        .slices = (double)f->rows / b,
                        .blocks = stored / (b * b)};
}

static spryi_work work_of_packed(const spryi_features *f)
{
    const double n = (double)f->nnz, b = (double)f->packed.block, gathered = 1 - f->packed.strided;
    return (spryi_work){.bytes = n * (f->packed.bytes - f->packed.shared) + vector_bytes(f),
                        .sectors = f->slot_sectors * n * gathered / b,
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n * f->slots * gathered / b,
                        .columns = n * f->slots,
                        .slices = (double)f->rows,
                        .blocks = n * f->slots * (b - 1) / b};
}

static spryi_work work_of_ell(const spryi_features *f)
{
    const double rows = (double)f->rows, slots = rows * f->lengths.longest;
    return (spryi_work){.bytes = slots * (f->value_bytes + f->index_bytes) + 4 * rows + vector_bytes(f),
                        .sectors = f->slot_sectors * (double)f->nnz,
                        .near = f->near_sectors * (double)f->nnz,
                        .far = f->far_sectors * (double)f->nnz,
                        .steps = slots,
                        .chain = f->lengths.longest,
                        .slices = rows};
}

static spryi_work work_of_hyb(const spryi_features *f)
{
    const double rows = (double)f->rows, slots = rows * floor(f->lengths.mean + 0.5), rest = f->lengths.beyond_mean;
    return (spryi_work){.bytes = slots * (f->value_bytes + f->index_bytes) + 4 * rows +
                                 rest * (f->value_bytes + 2 * f->index_bytes) + vector_bytes(f),
                        .sectors = f->slot_sectors * (double)f->nnz,
                        .near = f->near_sectors * (double)f->nnz,
                        .far = f->far_sectors * (double)f->nnz,
                        .steps = slots,
                        .columns = rest,
                        .slices = rows};
}

/* Slices sweep x: no entry gathers by itself. A row is one thread's. */
static spryi_work work_of_scoo(const spryi_features *f)
{
    enum { LOCAL_ROW = 2 /* bytes */ };
    const double n = (double)f->nnz;
    return (spryi_work){.bytes = n * (f->stored_bytes + f->index_bytes + LOCAL_ROW) + vector_bytes(f),
                        .near = f->near_sectors * n,
                        .far = f->far_sectors * n,
                        .steps = n,
                        .chain = f->lengths.longest,
                        .slices = (double)f->rows};
}

static spryi_work work_of_windowed(const spryi_features *f)
{
    static const double OF_CELLS = 1.45, SECTORS_OF_CELLS = 1.42; /* columns over those of balls of rows */
    static const double MOST = 4096, OF_ROW = 4.7;                /* numbers of x of a window; bytes */
    const spryi_windowed_guess *g = &f->windowed;
    const double n = (double)f->nnz, run = (double)g->run, more = g->cells ? OF_CELLS : 1;
    const double cut = sqrt(fmax(1, more * g->staged / MOST)), columns = more * g->columns * cut;
    const double index = run > 1 ? 2 / (run * (double)g->group) : 1.5 / (double)g->group;
    return (spryi_work){.bytes = n * (f->value_bytes + index + 2 * columns / run) + OF_ROW * (double)f->rows +
                                 vector_bytes(f),
                        .sectors = (g->cells ? SECTORS_OF_CELLS : 1) * g->sectors * n * cut,
                        .steps = n,
                        .columns = columns * n,
                        .slices = (double)f->rows,
                        .blocks = 32 * g->ragged * n};
}

/* Entries by themselves: row and column are read of each. */
static spryi_work work_of_coo(const spryi_features *f)
{
    const double n = (double)f->nnz;
    spryi_work w = work_of_csr(f);
    w.bytes = n * (f->stored_bytes + 2 * f->index_bytes) + vector_bytes(f);
    w.sectors = f->slot_sectors * n;
    w.steps = n;
    return w;
}

spryi_work spryi_work_on_cpu(const spryi_format_rates *r, const spryi_features *f)
{
    static const struct {
        const char *format;
        spryi_work (*work)(const spryi_features *f);
    } works[] = {{"sell", work_of_sell}, {"bsr", work_of_bsr},  {"packed", work_of_packed},
                 {"ell", work_of_ell},   {"hyb", work_of_hyb},  {"windowed", work_of_windowed},
                 {"coo", work_of_coo},   {"scoo", work_of_scoo}};
    for (size_t n = 0; n < sizeof works / sizeof *works; n++)
        if (strcmp(r->format, works[n].format) == 0) return works[n].work(f);
    return work_of_csr(f);
}
