#include "choose/rank.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "core/device.h"
#include "core/kernel.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Predicted time of a product. Each kind of work takes a time at its own rate. The total is
 *
 *     launch + (sum of times^sharp)^(1/sharp), multiplied by factors for uneven rows and heavy windows
 *
 * The total is between the longest time, if the kinds of work overlap well (a large `sharp`), and the sum (sharp = 1).
 * Threads of a CPU divide all work. The bandwidth of memory grows with threads up to a limit.
 */

enum { SECTOR = 32 };

/*
 * Returns the factor of the time for sectors of x far from the diagonal. If x fits half of the last cache, the sectors
 * come from that cache and the factor is 1. If x is larger than the cache, they come from memory and the factor is
 * FROM_MEMORY. The factor grows linearly between these sizes.
 */
static double far_factor(const spryi_features *f, double cache)
{
    static const double FROM_MEMORY = 3;
    const double share = fmin(fmax(2 * (double)f->cols * f->number_bytes / cache - 1, 0), 1);
    return 1 + (FROM_MEMORY - 1) * share;
}

/* Returns how kernels of the format narrow values: on a CPU the fastest of at most level simd, on a GPU any kernel. */
static spryi_narrows narrows(const spryi_format *format, bool on_gpu, spryi_simd simd)
{
    const spryi_kernel *kernel;
    spryi_narrows found = SPRYI_NARROWS_NOTHING;
    for (int k = 0; (kernel = spryi_kernel_at(k)) != NULL; k++)
        if (strcmp(kernel->format, format->name) == 0 && (strcmp(kernel->device, "cpu") != 0) == on_gpu &&
            (on_gpu ? kernel->narrows > found : kernel->simd <= simd))
            found = kernel->narrows; /* CPU kernels: from slow to fast */
    return found;
}

/* Returns the description of a product for the estimator of format `index` (spryi_estimated_at). */
static spryi_product product_of(int index, const char *kernel, const spryi_device_class *c, const spryi_features *f)
{
    static const spryi_guess none = {0};
    const bool on_gpu = !spryi_class_is_cpu(c);
    const bool may_narrow = f->narrow.floats < f->value_bytes || f->narrow.tables < f->value_bytes;
    return (spryi_product){.features = f,
                           .guess = f->guesses ? &f->guesses[index] : &none,
                           .kernel = kernel,
                           .cache_bytes = c->cache_bytes,
                           .on_gpu = on_gpu,
                           .narrows = may_narrow ? narrows(spryi_estimated_at(index), on_gpu, f->simd)
                                                 : SPRYI_NARROWS_NOTHING};
}

/* Returns whether the format is ranked on this kind of device. A user's table may have rates of other formats. */
static bool is_ranked(int index, const spryi_device_class *c)
{
    return index >= 0 && spryi_estimated_at(index)->choice.estimator->work[!spryi_class_is_cpu(c)];
}

/* If the format is not ranked on this kind of device, returns the work of csr. */
spryi_work spryi_work_of(const spryi_format_rates *r, const spryi_device_class *c, const spryi_features *f,
                         double threads)
{
    const int own = spryi_estimated_index(r->format), index = is_ranked(own, c) ? own : 0;
    const spryi_product product = product_of(index, r->kernel, c, f);
    spryi_work w = spryi_estimated_at(index)->choice.estimator->work[product.on_gpu](&product);
    w.far *= far_factor(f, c->cache_bytes * threads);
    return w;
}

/* Returns why the format and the kernel of a row of rates are not suitable; NULL: they are suitable. */
static const char *why_refused(const spryi_format_rates *r, const spryi_device_class *c, const spryi_features *f,
                               int64_t columns)
{
    const int index = spryi_estimated_index(r->format);
    if (!is_ranked(index, c)) return "it is not ranked on this kind of device";
    spryi_product product = product_of(index, r->kernel, c, f);
    product.columns = columns;
    const spryi_estimator *e = spryi_estimated_at(index)->choice.estimator;
    return e->why_not ? e->why_not(&product) : NULL;
}

/*
 * Returns the share of a product's bytes that the last cache still has from the previous product. On a CPU, the share
 * is 1 if the bytes fit in the cache and falls linearly to 0 at twice the size of the cache. A GPU keeps all bytes if
 * they leave the share ROOM of the cache free. Otherwise a GPU keeps KEPT times the share of a CPU, because it evicts
 * lines that are needed soon.
 */
static double share_in_cache(double bytes, double cache, bool on_gpu)
{
    static const double ROOM = 0.07, KEPT = 0.5;
    if (on_gpu && bytes <= (1 - ROOM) * cache) return 1;
    return (on_gpu ? KEPT : 1) * fmin(fmax(2 - bytes / cache, 0), 1);
}

static double time_of(const spryi_format_rates *r, const spryi_work *w, const spryi_device_class *c, double threads)
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

static bool is_for_one_thread(const spryi_device_class *c, const spryi_features *f)
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
    const bool alone = is_for_one_thread(c, f);
    return time_of(r, w, c, alone ? 1 : threads) - (alone ? r->launch : 0);
}

double spryi_setup_of(const spryi_format_rates *r, const spryi_features *f, double threads)
{
    const double values = (double)f->nnz * f->value_bytes;
    const double us = r->setup.entry * (double)f->nnz + r->setup.row * (double)f->rows + r->setup.value * values;
    return r->setup.us + 1e-6 * us / threads;
}

/* Limits a time to a range in which times can be compared, even if a table has extreme rates. */
static double time_within_reason(double us)
{
    static const double LEAST = 1e-3, MOST = 1e15;
    return us >= LEAST && us <= MOST ? us : us < LEAST ? LEAST : MOST;
}

int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *c, const spryi_features *f, int threads,
                       int64_t columns)
{
    const bool on_gpu = !spryi_class_is_cpu(c), alone = is_for_one_thread(c, f);
    const int compared = on_gpu ? 1 : spryi_threads_of(c, f, SPRYI_COMPARED_THREADS);
    double share = 1; /* time of csr with `threads` threads divided by its time with `compared` threads */
    for (int k = 0; k < c->formats; k++) {
        const spryi_format_rates *r = &c->rates[k];
        const spryi_work w = spryi_work_of(r, c, f, compared);
        list[k] = (spryi_estimate){.format = r->format,
                                   .kernel = r->kernel,
                                   .index = spryi_estimated_index(r->format),
                                   .refused = why_refused(r, c, f, columns)};
        if (w.unknown) continue;
        const double us = time_within_reason(spryi_product_us(r, &w, c, f, compared));
        if (k == 0 && !on_gpu && !alone) share = time_within_reason(time_of(r, &w, c, threads)) / us; /* csr */
        list[k].us = share * us;
        list[k].setup_us = share * time_within_reason(spryi_setup_of(r, f, compared));
        list[k].bytes = w.bytes;
    }
    return c->formats;
}

/* ---- data of an inspection ---------------------------------------------------------------------------------- */

spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    spry_status status = SPRY_OK;
    spry_matrix *pattern = NULL, *on_host = NULL;
    *structure = NULL;
    if (A->a.device == 0) /* with values, since formats on CPUs may share equal ones */
        return op == SPRY_TRANSPOSE ? spryi_transposed(A->context, structure, A, err)
                                    : spryi_matrix_as_csr(A->context, structure, A, A->a.value_type, err);
    SPRYI_TRY(spryi_matrix_without_values(&pattern, A, err));
    SPRYI_TRY(spryi_matrix_fetch(d, &on_host, pattern, err));
    if (op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_transposed(A->context, structure, on_host, err));
    else
        *structure = spryi_matrix_retain(on_host);
done:
    spryi_matrix_release(pattern);
    spryi_matrix_release(on_host);
    return status;
}

/*
 * Data that an inspection reads: CSR in host memory, or CSR whose columns are on a device. Readers fetch columns from
 * the device.
 */
typedef struct inspected {
    spry_arrays csr;                   /* values may be missing; if `device` is set, the offsets are a copy */
    const struct spryi_device *device; /* device whose memory contains csr's columns; NULL: host memory */
    spry_matrix *whole;                /* copy or conversion of the matrix; NULL: none */
    spry_context *context;
} inspected;

static int64_t columns_bytes(const spry_arrays *a)
{
    return a->nnz * (int64_t)spryi_index_type_bytes(a->index_type);
}

/*
 * Returns an estimate of the number of entries that a quick inspection fetches. Some samples have a fixed number of
 * entries, the others a fixed number of rows.
 */
static double sampled_entries(const spry_arrays *a)
{
    static const double ENTRIES = 105e3, ROWS = 2e3;
    return ENTRIES + ROWS * (double)a->nnz / (double)a->rows;
}

/* Returns whether A's columns are sampled on the device, since copying all of them would take longer. */
static bool is_sampled(const spry_arrays *a, spry_op op)
{
    enum { WHOLE_BYTES = 2 << 20 };
    return a->device > 0 && op == SPRY_NO_TRANSPOSE && columns_bytes(a) > WHOLE_BYTES &&
           2 * sampled_entries(a) < (double)a->nnz;
}

static spry_status open_sampled(inspected *at, const spry_matrix *A, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    at->csr = A->a;
    at->csr.device = 0;
    at->device = d;
    const spry_status status =
        spryi_fetch_array(d, &at->csr.offsets, A->a.rows + 1, spryi_index_type_bytes(A->a.offset_type), err);
    return status == SPRY_OK ? d->ops->synchronize(d, NULL, err) : status;
}

static void close_inspected(inspected *at)
{
    if (at->device) spryi_release(at->context, (void *)(uintptr_t)at->csr.offsets);
    spryi_matrix_release(at->whole);
    *at = (inspected){0};
}

/*
 * Prepares *at. For a quick inspection, the columns remain on the device if is_sampled returns true. Otherwise *at is
 * CSR in host memory: a full inspection reads most columns. The caller closes *at.
 */
static spry_status open_inspected(inspected *at, const spry_matrix *A, spry_op op, spryi_effort effort, spry_error *err)
{
    *at = (inspected){.context = A->context};
    if (effort == SPRYI_QUICK && is_sampled(&A->a, op)) {
        const spry_status status = open_sampled(at, A, err);
        if (status != SPRY_OK) close_inspected(at);
        return status;
    }
    SPRYI_OK_OR_RETURN(spryi_structure_of(&at->whole, A, op, err));
    at->csr = at->whole->a;
    return SPRY_OK;
}

/* ---- too few products for an inspection --------------------------------------------------------------------- */

/*
 * The kernels of csr differ in the time of their preparation (on a GPU, 10 us to some hundreds of us) and in their time
 * for long rows. The choice uses a sample of row lengths: rows at equal distances, and one of the longest rows. If the
 * matrix is on a device, it uses the lengths of all rows, which are inspected once per matrix. If at most UNSEEN
 * products take less than LITTLE, rows are not inspected, and the choice is among kernels that are suitable for rows of
 * any length. Features of columns are set to typical values.
 */

/* Samples row lengths of CSR in host memory: groups of rows at equal distances, and one of the longest rows. */
static spryi_row_summary sample_rows(const spry_arrays *csr)
{
    enum { PLACES = 64, ROWS = 7 /* rows of a group; their offsets share a cache line */ };
    const int64_t places = csr->rows < PLACES ? csr->rows : PLACES;
    spryi_row_summary lengths = {.longest = (double)spryi_row_length(csr, spryi_long_row(csr, PLACES))};
    double seen = 0;
    for (int64_t n = 0; n < places; n++) {
        const int64_t first = spryi_range_of_rows(csr->rows, n, places);
        const int64_t end = first + ROWS < csr->rows ? first + ROWS : csr->rows;
        for (int64_t i = first; i < end; i++) {
            const double length = (double)spryi_row_length(csr, i);
            lengths.longest = fmax(lengths.longest, length);
            lengths.squares += length * length;
        }
        seen += (double)(end - first);
    }
    lengths.squares *= (double)csr->rows / seen;
    return lengths;
}

/*
 * Samples rows of a matrix in host memory. Inspects all rows of a matrix on a device: one pass over the offsets, once
 * per matrix.
 */
static spry_status find_rows(spryi_row_profile *rows, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    const double mean = rows->mean;
    spryi_row_summary lengths;
    if (a->device == 0)
        lengths = sample_rows(a);
    else
        SPRYI_OK_OR_RETURN(spryi_summarize_rows(&lengths, A, 0, NULL));
    rows->longest = lengths.longest;
    rows->deviation = sqrt(fmax(lengths.squares / ((double)a->rows * mean * mean) - 1, 0));
    rows->body_deviation = rows->deviation *
                           fmin(mean, 1); /* smaller if the mean is below 1: threads do not wait for empty rows */
    return SPRY_OK;
}

/* Returns features of CSR whose rows are not inspected: sizes, the mean row, and typical gathers. */
static spryi_features uninspected_features(const spry_arrays *csr, spry_type vector_type)
{
    static const double WARP = 0.4, SLOTS = 0.6, NEAR = 0.2; /* typical sectors per entry, averaged over meshes */
    const double mean = (double)csr->nnz / (double)csr->rows;
    spryi_features f = spryi_sizes_as_features(csr, vector_type);
    f.lengths = (spryi_row_profile){.mean = mean, .longest = mean};
    f.slots = 1;
    f.slot_sectors = SLOTS;
    f.warp_sectors = WARP;
    f.near_sectors = NEAR;
    return f;
}

/*
 * Returns the time of set-up and `calls` products in us. The first of csr's kernels reads all entries at set-up, unless
 * few calls are expected.
 */
static double cost_of(const spryi_format_rates *rates, const spryi_device_class *device, const spryi_features *f,
                      int64_t calls)
{
    const spryi_work w = spryi_work_of(rates, device, f, 1);
    const bool skips_entries = rates == &device->rates[0] &&
                               calls < spryi_estimated_at(0)->choice.estimator->setup_calls;
    const double setup = skips_entries ? rates->setup.us : spryi_setup_of(rates, f, 1);
    return setup + (double)calls * time_of(rates, &w, device, 1);
}

/*
 * Returns the kernel of csr with the least cost_of, and the cost in *us, among those that are suitable for the features
 * *suits. NULL: none is.
 */
static const spryi_format_rates *least_of(const spryi_device_class *device, const spryi_features *f,
                                          const spryi_features *suits, int64_t calls, double *us)
{
    const spryi_format_rates *best = NULL;
    *us = INFINITY;
    for (int r = 0; r < device->formats; r++) {
        const spryi_format_rates *rates = &device->rates[r];
        if (strcmp(rates->format, SPRYI_BASELINE) != 0 || !rates->kernel) continue;
        if (why_refused(rates, device, suits, 1)) continue; /* csr is suitable for any number of vectors */
        const double cost = cost_of(rates, device, f, calls);
        if (cost < *us) best = rates;
        if (cost < *us) *us = cost;
    }
    return best;
}

const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls)
{
    enum { UNSEEN = 2 };                              /* most products for which rows are not inspected */
    static const double SUMS = 14, LITTLE = 5 * SUMS; /* us of an inspection of the rows on a device, and of products */
    const spryi_format_rates *best;
    double us;
    if (A->a.layout != SPRY_CSR || !device->rates[0].kernel) return NULL;
    if (spryi_is_mixed(A->a.value_type, vector_type)) return NULL; /* only one kernel multiplies mixed types */
    spryi_features f = uninspected_features(&A->a, vector_type), any = f;
    if (A->a.device > 0 && !spryi_rows_are_summarized(A)) {
        any.lengths.longest = (double)A->a.columns;
        best = least_of(device, &f, calls <= UNSEEN ? &any : &f, calls, &us);
        if (calls <= UNSEEN && us < LITTLE) return best->kernel;
        if (cost_of(&device->rates[0], device, &f, calls) - us < SUMS) return device->rates[0].kernel;
    }
    if (find_rows(&f.lengths, A) != SPRY_OK) return NULL;
    best = least_of(device, &f, &f, calls, &us);
    return best ? best->kernel : NULL;
}

/*
 * Returns an estimate of the time of an inspection in us. Counts at most `most` entries. Full inspections on one thread
 * of a Zen 3 took 1.5 to 9 ms for 0.2 to 3 million entries, which is 0.4 to 2.6 times the estimate. Quick inspections
 * for an H200 took 0.2 to 0.4 ms on the host.
 */
static double inspection_us(const spry_arrays *a, spryi_effort effort)
{
    static const struct {
        double constant, entry, most, row;
    } costs[] = {[SPRYI_QUICK] = {70, 0.004, 1 << 16, 0}, [SPRYI_FULL] = {150, 0.012, 1 << 19, 0.0005}};
    return costs[effort].constant + costs[effort].entry * fmin((double)a->nnz, costs[effort].most) +
           costs[effort].row * (double)a->rows;
}

/* Returns an estimate of the time in us to copy the data of a quick inspection to the host. */
static double fetch_us(const spry_arrays *a, spry_op op)
{
    static const double BYTES = 10000, COPY = 12, COPIES = 12; /* bytes per us; us to start a copy; copies of samples */
    const double columns = (double)columns_bytes(a);
    const double offsets = (double)((a->rows + 1) * (int64_t)spryi_index_type_bytes(a->offset_type));
    if (a->device == 0)
        return op == SPRY_TRANSPOSE ? columns / BYTES : 0; /* the GPU builds A^T; then its columns are copied */
    if (!is_sampled(a, op)) return (offsets + columns) / BYTES + COPY * 2;
    return (offsets + columns * sampled_entries(a) / (double)a->nnz) / BYTES + COPY * (1 + COPIES);
}

/*
 * Returns the predicted time of a product in csr in us, from the sizes alone. On a CPU, omits the time of waking
 * threads (launch).
 */
static double csr_us(const spry_arrays *a, const spryi_device_class *c)
{
    const spryi_format_rates *csr = &c->rates[0];
    const spryi_features f = uninspected_features(a, spryi_usual_vectors(a->value_type));
    const bool on_cpu = spryi_class_is_cpu(c);
    const double threads = on_cpu ? SPRYI_COMPARED_THREADS : 1;
    const spryi_work w = spryi_work_of(csr, c, &f, threads);
    return time_of(csr, &w, c, threads) - (on_cpu ? csr->launch : 0);
}

bool spryi_inspection_pays(spryi_effort *effort, const spry_arrays *a, spry_op op, const spryi_device_class *c,
                           int64_t calls)
{
    static const double QUICK = 0.1, FULL = 0.03, AT_LEAST = 30; /* shares of the products' time; us */
    spry_arrays inspected = *a;
    if (op == SPRY_TRANSPOSE) {
        inspected.rows = a->columns;
        inspected.columns = a->rows;
    }
    const bool on_cpu = spryi_class_is_cpu(c);
    const double all = (double)calls * csr_us(&inspected, c), fetch = on_cpu ? 0 : fetch_us(a, op);
    if (inspection_us(&inspected, SPRYI_QUICK) + fetch > fmax(QUICK * all, AT_LEAST)) return false;
    const bool is_full = on_cpu && inspection_us(&inspected, SPRYI_FULL) <= fmax(FULL * all, AT_LEAST);
    *effort = is_full ? SPRYI_FULL : SPRYI_QUICK;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const spryi_estimate *p = a, *q = b;
    if (!p->refused != !q->refused) return p->refused ? 1 : -1;
    return p->us < q->us ? -1 : p->us > q->us;
}

/* Returns whether the estimate is for the kernel, on a kind of device. */
static bool is_of(const spryi_kernel *kernel, const spryi_estimate *e, const char *device)
{
    return strcmp(kernel->format, e->format) == 0 && strcmp(kernel->device, device) == 0 &&
           (!e->kernel || strcmp(kernel->name, e->kernel) == 0);
}

static const spryi_estimator *estimator_of(const spryi_estimate *e)
{
    return spryi_estimated_at(e->index >= 0 ? e->index : 0)->choice.estimator;
}

static spryi_product product_of_estimate(const spryi_estimate *e, const spryi_ranking *r)
{
    spryi_product product = product_of(e->index >= 0 ? e->index : 0, e->kernel, r->device, &r->features);
    product.columns = r->columns;
    return product;
}

/* Returns how the kernels of an estimate multiply multiple vectors. */
static spryi_vectors_way vectors_way(const spryi_estimate *e, const spryi_ranking *r)
{
    const char *device = spryi_class_is_cpu(r->device) ? "cpu" : "cuda";
    const spryi_kernel *kernel;
    const spryi_product product = product_of_estimate(e, r);
    spryi_vectors_way way = SPRYI_ONE_BY_ONE;
    for (int k = 0; (kernel = spryi_kernel_at(k)) != NULL; k++) {
        if (!is_of(kernel, e, device)) continue;
        if ((kernel->multi_row_major & SPRYI_OP_SPMV) != 0 && way == SPRYI_ONE_BY_ONE) way = SPRYI_ROW_MAJOR;
        if ((kernel->multi_column_major & SPRYI_OP_SPMV) != 0) way = SPRYI_ANY_LAYOUT;
    }
    return way == SPRYI_ANY_LAYOUT && estimator_of(e)->limit_way ? estimator_of(e)->limit_way(&product) : way;
}

/*
 * Computes time and bytes of multiple vectors on a CPU. Kernels that multiply row-major vectors together read the
 * matrix once. For column-major vectors, they read the matrix once for each group of vectors_in_place vectors, or
 * multiply by one vector after another while a part of the matrix is in a cache (later_vector).
 *
 * Measurements with 2 to 32 vectors on two cores of a Zen 3, for grids, finite elements, meshes and graphs: The time of
 * csr, divided by the time to stream the bytes, was 0.8 to 1.2 with row-major vectors and 1.1 to 1.6 with column-major
 * vectors. With row-major vectors the times of other formats, divided by the time of csr, were 1 to 3 for sell, 0.65 to
 * 1.8 for bsr and 1.6 to 4 for packed.
 */
static void count_on_cpu(spryi_estimate *e, spryi_vectors_way way, const spryi_rank_request *q,
                         const spryi_ranking *ranking, double vectors, double moved)
{
    static const double IN_PLACE = 1.6;
    const spryi_estimator *own = estimator_of(e);
    const double columns = (double)q->columns, matrix = fmax(e->bytes - vectors, 0);
    const bool in_place = way == SPRYI_ANY_LAYOUT && !q->row_major;
    const double passes = in_place && own->vectors_in_place > 0 ? ceil(columns / own->vectors_in_place) : 1;
    const double factor = own->cpu_vectors_factor > 0 ? own->cpu_vectors_factor : in_place ? IN_PLACE : 1;
    const bool one_by_one = !own->always_together || !q->row_major;
    const double bytes = matrix * passes / columns + vectors;
    const double us = e->us * (factor * bytes + moved) / (matrix + vectors);
    if (in_place && own->later_vector) {
        const spryi_product product = product_of_estimate(e, ranking);
        e->us *= 1 + (columns - 1) * own->later_vector(&product);
    } else {
        e->us = columns * (one_by_one ? fmin(e->us, us) : us);
    }
    e->bytes = columns * (bytes + moved);
}

/*
 * Computes time and bytes of multiple vectors on a GPU, for a kernel that multiplies them together. The rates were
 * fitted with 2 to 64 vectors, f32 and f64, to grids, finite elements, a random geometric graph, a road network, and
 * matrices of applications. In 120 cases, measured times of the chosen formats divided by predicted times had the
 * median 1.1; nine tenths were between 0.8 and 1.45.
 */
static void count_on_gpu(spryi_estimate *e, const spryi_rank_request *q, const spryi_ranking *ranking, double vectors,
                         double moved)
{
    static const double MEMORY = 4.1e6,
                        CSR_MEMORY = 3.023e6; /* bytes per us on an H200: of a copy, and the rate `memory` of csr */
    static const double SECTOR = 32;          /* bytes */
    const spryi_features *f = &ranking->features;
    const spryi_product product = product_of_estimate(e, ranking);
    const spryi_vectors_rates r = estimator_of(e)->vectors_rates(&product);
    const double faster = q->device->rates[0].memory / CSR_MEMORY, columns = (double)q->columns;
    const double n = (double)f->nnz, x_bytes = columns * (double)f->number_bytes, matrix = fmax(e->bytes - vectors, 0);
    const bool is_odd = moved == 0 && q->columns != 2 && q->columns * f->number_bytes % 16 != 0; /* copies have gaps */
    const double each = 1e-6 * (r.entry * n + r.row * (double)f->rows);
    double near = n * x_bytes / r.x, entries = each + r.matrix * matrix / MEMORY;
    if (f->scattered) near = fmax(near, 1e-6 * n * ceil(x_bytes / SECTOR) * r.sector);
    if (f->scattered) entries = hypot(entries, near) - near; /* reading the entries and gathering overlap */
    const double us = entries + near + (r.vectors * vectors + moved) * columns / MEMORY;
    const int launches = moved > 0 ? 2 : 1; /* with copies between layouts; fitted, since launches overlap */
    e->us = fmax((is_odd ? r.odd : 1) * us, r.step * f->lengths.longest) / faster +
            launches * q->device->rates[0].launch;
    e->bytes = matrix + columns * (vectors + moved);
}

/*
 * Converts times and bytes of one vector to those of all vectors. Kernels that need row-major vectors copy column-major
 * vectors to row-major and back. Kernels for one vector copy each column out of a row-major x and into y. These copies
 * run at the rate of csr.
 */
static void count_columns(spryi_ranking *r, const spryi_rank_request *q)
{
    const bool on_cpu = spryi_class_is_cpu(q->device);
    const double INTO_ROWS = on_cpu ? 1.5 : 2, OUT_OF_ROWS = on_cpu ? 4 : 8;
    const double vectors = (double)(q->A->a.rows + q->A->a.columns) * (double)spry_type_bytes(q->vector_type);
    const double csr_rate = r->list[0].bytes / r->list[0].us;
    for (int k = 0; k < r->count; k++) {
        spryi_estimate *e = &r->list[k];
        if (!(e->us > 0)) continue; /* refused without a prediction */
        spryi_vectors_way way = vectors_way(e, r);
        if (!on_cpu && way == SPRYI_ROW_MAJOR && !q->row_major &&
            !spryi_copies_pay((double)q->columns, e->bytes - vectors, vectors)) {
            way = SPRYI_ONE_BY_ONE;
            if (!e->refused) e->refused = why_refused(&q->device->rates[k], q->device, &r->features, 1);
        }
        double moved = 0; /* bytes per vector that are copied, in addition to x and y */
        if (way == SPRYI_ONE_BY_ONE && q->row_major) moved = OUT_OF_ROWS * vectors;
        if (way == SPRYI_ROW_MAJOR && !q->row_major) moved = INTO_ROWS * vectors;
        if (way == SPRYI_ONE_BY_ONE) {
            e->us = (double)q->columns * (e->us + moved / csr_rate);
            e->bytes = (double)q->columns * (e->bytes + moved);
        } else if (on_cpu) {
            count_on_cpu(e, way, q, r, vectors, moved);
        } else {
            count_on_gpu(e, q, r, vectors, moved);
        }
    }
}

/* Refuses formats without a kernel for the types of values and vectors. */
static void refuse_types(spryi_ranking *r, const spryi_rank_request *q)
{
    const int row = spryi_value_row(q->A->a.value_type, q->vector_type);
    const char *device = spryi_class_is_cpu(q->device) ? "cpu" : "cuda";
    for (int k = 0; k < r->count; k++) {
        spryi_estimate *e = &r->list[k];
        const spryi_kernel *kernel;
        bool takes = false;
        for (int n = 0; (kernel = spryi_kernel_at(n)) != NULL; n++)
            takes |= is_of(kernel, e, device) && spryi_kernel_takes(kernel, SPRYI_OP_SPMV, row);
        if (!takes && !e->refused) e->refused = "it has no kernel for these types of values and vectors";
    }
}

/* Set-up counts CAUTION times, since it may take longer than predicted, and csr's takes almost none. */
static void find_least(spryi_ranking *r)
{
    static const double CAUTION = 1.25;
    double least = INFINITY, least_csr = INFINITY;
    for (int k = 0; k < r->allowed; k++) {
        const double total = CAUTION * r->list[k].setup_us + (double)r->calls * r->list[k].us;
        const bool is_csr = strcmp(r->list[k].format, SPRYI_BASELINE) == 0;
        if (is_csr && total < least_csr) r->csr = k;
        if (is_csr && total < least_csr) least_csr = total;
        if (total < least) r->taken = k;
        if (total < least) least = total;
    }
}

spry_status spryi_rank(spryi_ranking *r, const spryi_rank_request *request, spry_error *err)
{
    spry_status status = SPRY_OK;
    inspected at = {0};
    spryi_row_profile rows;
    const spry_matrix *A = request->A;
    const spryi_inspection inspection = {.vector_type = request->vector_type,
                                         .on_gpu = !spryi_class_is_cpu(request->device),
                                         .effort = request->effort};
    *r = (spryi_ranking){.device = request->device,
                         .threads = request->threads,
                         .calls = request->calls,
                         .columns = request->columns > 1 ? request->columns : 1};
    r->features.guesses = r->guesses;
    SPRYI_TRY(open_inspected(&at, A, request->op, request->effort, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &at.csr, request->effort, err));
    at.csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &r->features, &at.csr, at.device, &rows, &inspection, err));
    if (!request->keeps_type && at.csr.values)
        spryi_find_narrow_bytes(&r->features, &at.csr, at.device, request->vector_type);
    else if (!request->keeps_type && A->a.values) /* in device memory: *at has only the structure */
        spryi_find_narrow_bytes(&r->features, &A->a, spryi_device_at(A->context, A->a.device), request->vector_type);
    r->count = spryi_estimate_all(r->list, r->device, &r->features, r->threads, request->columns);
    if (request->columns > 1) count_columns(r, request);
    if (spryi_is_mixed(A->a.value_type, request->vector_type)) refuse_types(r, request);
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_time);
    while (r->allowed < r->count && !r->list[r->allowed].refused) r->allowed++;
    find_least(r);
done:
    close_inspected(&at);
    return status;
}
