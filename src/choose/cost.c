/*
 * The time of a product: each kind of its work at its own rate would take a time; together they take
 *
 *     launch + (sum of times^sharp)^(1/sharp), times what uneven rows and heavy windows add
 *
 * from the longest of them where they overlap well (a large `sharp`) to their sum (1). Threads of a CPU share all of
 * it, and the bandwidth of memory beyond what one of them can have.
 */
#include "choose/cost.h"

#include "core/assemble.h"
#include "formats/windowed/windowed.h"

#include <math.h>
#include <string.h>

enum { SECTOR = 32 };

/*
 * Sectors of x far from the diagonal come from the last cache, or from memory where x is larger than the cache: they
 * take so many times as long there.
 */
static double far_factor(const spryi_features *f, double cache)
{
    static const double FROM_MEMORY = 3;
    const double share = fmin(fmax(2 * (double)f->cols * f->number_bytes / cache - 1, 0), 1);
    return 1 + (FROM_MEMORY - 1) * share;
}

spryi_work spryi_work_of(const spryi_format_rates *r, const spryi_device_class *c, const spryi_features *f,
                         double threads)
{
    spryi_work w = spryi_class_is_cpu(c) ? spryi_work_on_cpu(r, f) : spryi_work_on_gpu(r, f, c->cache_bytes);
    w.far *= far_factor(f, c->cache_bytes * threads);
    return w;
}

/*
 * Share of a product's bytes that are still in the last cache from the product before. GPUs keep all of what fits with
 * some room beside it, and of more about half as much as would be left: lines that are needed soon are thrown out.
 */
static double share_in_cache(double bytes, double cache, int on_gpu)
{
    static const double ROOM = 0.07, KEPT = 0.5;
    if (on_gpu && bytes <= (1 - ROOM) * cache) return 1;
    return (on_gpu ? KEPT : 1) * fmin(fmax(2 - bytes / cache, 0), 1);
}

double spryi_time_of(const spryi_format_rates *r, const spryi_work *w, const spryi_device_class *c, double threads)
{
    const double faster = c->faster_memory > 0 ? c->faster_memory : 1, cache = c->cache_bytes * threads;
    const double memory = fmin(r->memory * faster * threads, c->most_memory);
    const double cached = share_in_cache(w->bytes, cache, !spryi_class_is_cpu(c)), ahead = w->ahead ? r->ahead : 0;
    const double stream = w->bytes * (cached / (r->cached * threads) + (1 - cached) / memory) * (1 - ahead);
    const double gather = r->gather > 0 ? SECTOR * w->sectors / (r->gather * threads) : 0;
    const double near = r->near > 0 ? SECTOR * w->near / (r->near * threads) : 0;
    const double far = r->far > 0 ? SECTOR * w->far / (r->far * threads) : 0;
    const double steps = (w->steps * r->step + w->slices * r->slice + w->blocks * r->block + w->ragged * r->ragged +
                          w->columns * r->column) *
                         (1 + w->longest * r->longest) / threads;
    const double sum = pow(stream, r->sharp) + pow(gather, r->sharp) + pow(near + far, r->sharp) + pow(steps, r->sharp);
    const double more = (1 + w->uneven * r->uneven) * (1 + w->holes * r->holes) * (1 + w->heaviest * r->heaviest);
    return r->launch + pow(sum, 1 / r->sharp) * more + w->chain * r->chain;
}

static int is_for_one_thread(const spryi_device_class *c, const spryi_features *f)
{
    enum { BYTES = 2 * SPRYI_BYTES_A_THREAD };
    const double entry = f->value_bytes + f->index_bytes, row = f->offset_bytes;
    return spryi_class_is_cpu(c) && (double)f->nnz * entry + (double)f->rows * row < BYTES;
}

int spryi_threads_of(const spryi_device_class *c, const spryi_features *f, int threads)
{
    return is_for_one_thread(c, f) ? 1 : threads;
}

double spryi_product_us(const spryi_format_rates *r, const spryi_work *w, const spryi_device_class *c,
                        const spryi_features *f, int threads)
{
    const int alone = is_for_one_thread(c, f);
    return spryi_time_of(r, w, c, alone ? 1 : threads) - (alone ? r->launch : 0);
}

double spryi_setup_of(const spryi_format_rates *r, const spryi_features *f, double threads)
{
    const double values = (double)f->nnz * f->value_bytes;
    const double us = r->setup_entry * (double)f->nnz + r->setup_row * (double)f->rows + r->setup_value * values;
    return r->setup + 1e-6 * us / threads;
}

/* ---- what is not to be taken ---------------------------------------------------------------------------- */

/* Slots an entry of a format that pads; 1 where it does not. The padding guard refuses 3 and more. */
static double padding_of(const char *format, const spryi_features *f)
{
    if (strcmp(format, "ell") == 0) return (double)f->rows * f->lengths.longest / (double)f->nnz;
    return strcmp(format, "sell") == 0 ? f->slots : 1;
}

static int is(const spryi_format_rates *r, const char *format)
{
    return strcmp(r->format, format) == 0;
}

static const char *why_refused_on_gpu(const spryi_format_rates *r, const spryi_features *f)
{
    enum { LEAST_WINDOWED = 1 << 19, LEAST_SWEPT = 3 << 19 /* entries */, LEAST_PACKED = 1 << 17 /* rows */ };
    if (spryi_waits_for_rows(r, &f->lengths)) return "a row takes its lanes so many steps that the others wait";
    if (is(r, "windowed") && f->lengths.longest > SPRYI_WINDOWED_LONG)
        return "a row is longer than its windows take whole";
    if (is(r, "packed") && f->rows < LEAST_PACKED) return "fewer than 131072 rows are too few slices";
    if (is(r, "swept") && f->nnz < LEAST_SWEPT) return "fewer than 1572864 entries are too few blocks";
    if (is(r, "swept") && !f->scattered) return "columns are not scattered";
    return is(r, "windowed") && f->nnz < LEAST_WINDOWED ? "fewer than 524288 entries are too few windows" : NULL;
}

/* 1: the features tell the work of the format on such a device; a table of a user's may have rates of others. */
static int is_ranked(const char *format, int on_gpu)
{
    static const char *const everywhere[] = {"csr", "sell", "bsr", "packed", "windowed"};
    static const char *const on_cpus[] = {"ell", "hyb", "coo", "scoo"};
    for (size_t n = 0; n < sizeof everywhere / sizeof *everywhere; n++)
        if (strcmp(format, everywhere[n]) == 0) return 1;
    if (on_gpu) return strcmp(format, "swept") == 0;
    for (size_t n = 0; n < sizeof on_cpus / sizeof *on_cpus; n++)
        if (strcmp(format, on_cpus[n]) == 0) return 1;
    return 0;
}

/* Why a format is not to be taken; NULL: it may be, and times of such matrices are known. */
static const char *why_refused(const spryi_format_rates *r, const spryi_features *f, int on_gpu)
{
    static const double PADDED = 2.5;
    if (!is_ranked(r->format, on_gpu)) return "it is not ranked on such a device";
    if (is(r, "bsr") && f->blocks.block <= 1) return "a sample finds no blocks that save bytes";
    if (is(r, "windowed") && f->windowed.columns <= 0) return "its windows cannot be told by a sample";
    if (padding_of(r->format, f) > PADDED) return "over 2.5 slots an entry: padding";
    return on_gpu ? why_refused_on_gpu(r, f) : NULL;
}

/* 0: the features do not tell its work. */
static int has_work(const spryi_format_rates *r, const spryi_features *f)
{
    if (is(r, "bsr")) return f->blocks.block > 1;
    return !is(r, "windowed") || f->windowed.columns > 0;
}

/* A time that can be compared, whatever a table says. */
static double time_within_reason(double us)
{
    static const double LEAST = 1e-3, MOST = 1e15;
    return us >= LEAST && us <= MOST ? us : us < LEAST ? LEAST : MOST;
}

int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *c, const spryi_features *f, int threads)
{
    const int on_gpu = !spryi_class_is_cpu(c), alone = is_for_one_thread(c, f);
    const int compared = on_gpu ? 1 : spryi_threads_of(c, f, SPRYI_COMPARED_THREADS);
    double share = 1; /* of a time by the threads that are compared */
    for (int k = 0; k < c->formats; k++) {
        const spryi_format_rates *r = &c->rates[k];
        list[k] = (spryi_estimate){.format = r->format, .kernel = r->kernel, .refused = why_refused(r, f, on_gpu)};
        if (!has_work(r, f)) continue;
        const spryi_work w = spryi_work_of(r, c, f, compared);
        const double us = time_within_reason(spryi_product_us(r, &w, c, f, compared));
        if (k == 0 && !on_gpu && !alone) share = time_within_reason(spryi_time_of(r, &w, c, threads)) / us; /* csr */
        list[k].us = share * us;
        list[k].setup_us = share * time_within_reason(spryi_setup_of(r, f, compared));
        list[k].bytes = w.bytes;
    }
    return c->formats;
}
