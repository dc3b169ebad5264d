/*
 * The time of a product: each kind of its work at its own rate would take a time; together they take
 *
 *     launch + (sum of times^sharp)^(1/sharp), times what uneven rows and heavy windows add
 *
 * from the longest of them where they overlap well (a large `sharp`) to their sum (1). Threads of a CPU share all of
 * it, and the bandwidth of memory beyond what one of them can have.
 */
#include "choose/cost.h"

#include "catalogue/catalogue.h"
#include "matrix/assemble.h"

#include <math.h>

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

spryi_product spryi_product_of(int index, const char *kernel, const spryi_device_class *c, const spryi_features *f,
                               bool vectorized)
{
    static const spryi_guess none = {0};
    return (spryi_product){.features = f,
                           .guess = f->guesses ? &f->guesses[index] : &none,
                           .kernel = kernel,
                           .cache_bytes = c->cache_bytes,
                           .on_gpu = !spryi_class_is_cpu(c),
                           .vectorized = vectorized};
}

/* Returns whether the format is ranked on such devices. A user's table may have rates of other formats. */
static bool is_ranked(int index, const spryi_device_class *c)
{
    return index >= 0 && spryi_estimated_at(index)->choice.estimator->work[!spryi_class_is_cpu(c)];
}

/* The work of a format that is not ranked is replaced by the baseline's. */
spryi_work spryi_work_of(const spryi_format_rates *r, const spryi_device_class *c, const spryi_features *f,
                         double threads)
{
    const int own = spryi_estimated_index(r->format), index = is_ranked(own, c) ? own : 0;
    const spryi_product product = spryi_product_of(index, r->kernel, c, f, true);
    spryi_work w = spryi_estimated_at(index)->choice.estimator->work[product.on_gpu](&product);
    w.far *= far_factor(f, c->cache_bytes * threads);
    return w;
}

const char *spryi_why_refused(const spryi_format_rates *r, const spryi_device_class *c, const spryi_features *f,
                              bool vectorized)
{
    const int index = spryi_estimated_index(r->format);
    if (!is_ranked(index, c)) return "it is not ranked on such a device";
    const spryi_product product = spryi_product_of(index, r->kernel, c, f, vectorized);
    const spryi_estimator *e = spryi_estimated_at(index)->choice.estimator;
    return e->why_not ? e->why_not(&product) : NULL;
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
    const double cached = share_in_cache(w->bytes, cache, !spryi_class_is_cpu(c)),
                 ahead = w->ahead ? r->shares.ahead : 0;
    const double stream = w->bytes * (cached / (r->cached * threads) + (1 - cached) / memory) * (1 - ahead);
    const double gather = r->gather > 0 ? SECTOR * w->sectors / (r->gather * threads) : 0;
    const double near = r->near > 0 ? SECTOR * w->near / (r->near * threads) : 0;
    const double far = r->far > 0 ? SECTOR * w->far / (r->far * threads) : 0;
    const double steps = (w->steps * r->step + w->slices * r->slice + w->blocks * r->block + w->ragged * r->ragged +
                          w->columns * r->column) *
                         (1 + w->longest * r->shares.longest) / threads;
    const double sum = pow(stream, r->sharp) + pow(gather, r->sharp) + pow(near + far, r->sharp) + pow(steps, r->sharp);
    const double more = (1 + w->uneven * r->shares.uneven) * (1 + w->holes * r->shares.holes) *
                        (1 + w->heaviest * r->shares.heaviest);
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
    const double us = r->setup.entry * (double)f->nnz + r->setup.row * (double)f->rows + r->setup.value * values;
    return r->setup.us + 1e-6 * us / threads;
}

/* A time that can be compared, whatever a table says. */
static double time_within_reason(double us)
{
    static const double LEAST = 1e-3, MOST = 1e15;
    return us >= LEAST && us <= MOST ? us : us < LEAST ? LEAST : MOST;
}

int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *c, const spryi_features *f, int threads,
                       bool vectorized)
{
    const int on_gpu = !spryi_class_is_cpu(c), alone = is_for_one_thread(c, f);
    const int compared = on_gpu ? 1 : spryi_threads_of(c, f, SPRYI_COMPARED_THREADS);
    double share = 1; /* of a time by the threads that are compared */
    for (int k = 0; k < c->formats; k++) {
        const spryi_format_rates *r = &c->rates[k];
        const spryi_work w = spryi_work_of(r, c, f, compared);
        list[k] = (spryi_estimate){.format = r->format,
                                   .kernel = r->kernel,
                                   .index = spryi_estimated_index(r->format),
                                   .refused = spryi_why_refused(r, c, f, vectorized)};
        if (w.unknown) continue;
        const double us = time_within_reason(spryi_product_us(r, &w, c, f, compared));
        if (k == 0 && !on_gpu && !alone) share = time_within_reason(spryi_time_of(r, &w, c, threads)) / us; /* csr */
        list[k].us = share * us;
        list[k].setup_us = share * time_within_reason(spryi_setup_of(r, f, compared));
        list[k].bytes = w.bytes;
    }
    return c->formats;
}
