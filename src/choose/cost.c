/*
 * The time of a product: each kind of its work at its own rate would take a time; together they take
 *
 *     launch + (sum of times^sharp)^(1/sharp), times what uneven rows and heavy windows add
 *
 * from the longest of them where they overlap well (a large `sharp`) to their sum (1). Threads of a CPU share all of
 * it, and the bandwidth of memory beyond what one of them can have.
 */
#include "choose/cost.h"

#include "formats/windowed/windowed.h"

#include <math.h>
#include <string.h>

enum { SECTOR = 32 };

static double time_of(const spryi_format_rates *r, const spryi_work *w, const spryi_device_class *c, double threads)
{
    const double cache = c->cache_bytes * threads, memory = fmin(r->memory * threads, c->most_memory);
    const double cached = fmin(fmax(2 - w->bytes / cache, 0), 1), ahead = w->ahead ? r->ahead : 0;
    const double stream = w->bytes * (cached / (r->cached * threads) + (1 - cached) / memory) * (1 - ahead);
    const double gather = r->gather > 0 ? SECTOR * w->sectors / (r->gather * threads) : 0;
    const double near = r->near > 0 ? SECTOR * w->near / (r->near * threads) : 0;
    const double steps = (w->steps * r->step + w->slices * r->slice + w->blocks * r->block + w->ragged * r->ragged +
                          w->columns * r->column) *
                         (1 + w->longest * r->longest) / threads;
    const double sum = pow(stream, r->sharp) + pow(gather, r->sharp) + pow(near, r->sharp) + pow(steps, r->sharp);
    const double more = (1 + w->uneven * r->uneven) * (1 + w->holes * r->holes) * (1 + w->heaviest * r->heaviest);
    return r->launch + pow(sum, 1 / r->sharp) * more + w->chain * r->chain;
}

static double setup_of(const spryi_format_rates *r, const spryi_features *f, double threads)
{
    const double values = (double)f->nnz * f->value_bytes;
    const double us = r->setup_entry * (double)f->nnz + r->setup_row * (double)f->rows + r->setup_value * values;
    return r->setup + 1e-6 * us / threads;
}

/* Why a format is not to be taken; NULL: it may be, and times of such matrices are known. */
static const char *why_refused(const char *format, const spryi_features *f, int on_gpu)
{
    enum { LEAST_WINDOWED = 1 << 19, LEAST_SWEPT = 3 << 19 /* entries */, LEAST_PACKED = 1 << 17 /* rows */ };
    static const double PADDED = 1.5; /* slots of ell an entry */
    const int windowed = strcmp(format, "windowed") == 0;
    if (strcmp(format, "bsr") == 0 && f->blocks.block <= 1) return "a sample finds no blocks that save bytes";
    if (windowed && f->windowed.columns <= 0) return "its windows cannot be told by a sample";
    if (windowed && f->lengths.longest > SPRYI_WINDOWED_LONG) return "a row is longer than its windows take whole";
    if (strcmp(format, "ell") == 0 && f->lengths.longest > PADDED * f->lengths.mean)
        return "its longest row is over 1.5 times the mean: padding";
    if (!on_gpu) return NULL;
    if (strcmp(format, "packed") == 0 && f->rows < LEAST_PACKED) return "fewer than 131072 rows are too few slices";
    if (strcmp(format, "swept") == 0 && f->nnz < LEAST_SWEPT) return "fewer than 1572864 entries are too few blocks";
    if (strcmp(format, "swept") == 0 && !f->scattered) return "columns are not scattered";
    return windowed && f->nnz < LEAST_WINDOWED ? "fewer than 524288 entries are too few windows" : NULL;
}

int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *c, const spryi_features *f, int threads)
{
    const int on_gpu = strcmp(c->driver, "cpu") != 0, compared = on_gpu ? 1 : SPRYI_COMPARED_THREADS;
    double share = 1; /* of a time by the threads that are compared */
    for (int k = 0; k < c->formats; k++) {
        const spryi_format_rates *r = &c->rates[k];
        list[k] = (spryi_estimate){.format = r->format, .refused = why_refused(r->format, f, on_gpu)};
        if (strcmp(r->format, "bsr") == 0 && f->blocks.block <= 1) continue;
        if (strcmp(r->format, "windowed") == 0 && f->windowed.columns <= 0) continue;
        const spryi_work w = on_gpu ? spryi_work_on_gpu(r->format, f, c->cache_bytes) : spryi_work_on_cpu(r->format, f);
        const double us = time_of(r, &w, c, compared);
        if (k == 0 && !on_gpu) share = time_of(r, &w, c, threads) / us; /* csr */
        list[k].us = share * us;
        list[k].setup_us = share * setup_of(r, f, compared);
        list[k].bytes = w.bytes;
    }
    return c->formats;
}
