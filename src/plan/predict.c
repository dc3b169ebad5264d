/*
 * Predicts the time of a run. The predicted time of the product is the time by which formats are ranked
 * (choose/rank.c). The rates of that ranking serve to compare formats, and their absolute times may be too short for
 * this machine. On a CPU, the measured bandwidth therefore gives a lower bound for csr's time, and the times of all
 * formats are multiplied by the same factor as csr's time. The time of a format that is not ranked is its bytes divided
 * by the bandwidth of the memory that contains them. docs/choosing.md describes the model.
 *
 * The bandwidths are measured once per process and device, on the first query. Plans without a query pay nothing. The
 * bandwidths of a CPU are measured for one thread and for the context's threads, in the last-level cache and in memory.
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "choose/choose.h"
#include "matrix/assemble.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Bytes per microsecond. */
typedef struct memory_rates {
    double cache, memory;
} memory_rates;

typedef struct device_rates {
    const spryi_driver *driver; /* NULL: unused */
    int ordinal;
    int threads; /* number for which `all` was measured. 1: `all` equals `one`, as on GPUs; 0: not measured */
    memory_rates one, all;
    double cache_bytes;
    double run_us, all_run_us;     /* time of an empty run: by one thread (on a GPU, one launch), and by all threads */
    bool has_bus;                  /* the next three members are measured; only for devices with their own memory */
    double to_device, from_device; /* bytes per microsecond */
    double bus_us;                 /* latency: time of the two copies of a run if each is one cache line */
} device_rates;

enum { MOST_DEVICES = 24 };
static device_rates known[MOST_DEVICES];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- reading in host memory ----------------------------------------------------------------------------- */

enum {
    BLOCK = 1 << 16,
    LINE = 64,
    ARRAY_BYTES = 8 << 20,
    MEMORY_A_THREAD = 2 << 20, /* bytes of the array that a thread reads from memory; flushing takes milliseconds */
    CACHED_A_THREAD = 4 << 20, /* bytes of the array that a thread reads from the caches */
    LEAST_CACHED = 1 << 18,    /* least number of bytes that are read from the caches */
    CACHE_A_THREAD = 24 << 20, /* most cache counted per thread; larger caches are shared with other programs */
};

static void write_blocks(const void *argument, int64_t begin, int64_t end)
{
    char *array = (char *)(uintptr_t)argument;
    memset(array + begin * BLOCK, 1, (size_t)((end - begin) * BLOCK));
}

static void read_blocks(const void *argument, int64_t begin, int64_t end)
{
    const uint64_t *number = (const uint64_t *)((const char *)argument + begin * BLOCK);
    const int64_t count = (end - begin) * BLOCK / (int64_t)sizeof *number;
    uint64_t sums[8] = {0};
    for (int64_t k = 0; k < count; k += 8)
        for (int s = 0; s < 8; s++) sums[s] += number[k + s];
    volatile uint64_t sink = sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
    (void)sink;
}

/* Evicts the blocks from the cache. Only on x86-64: elsewhere the array may still be cached when it is read. */
static void flush_blocks(const void *argument, int64_t begin, int64_t end)
{
#if defined(__x86_64__)
    const char *array = argument;
    for (int64_t at = begin * BLOCK; at < end * BLOCK; at += LINE) _mm_clflush(array + at);
    _mm_mfence();
#else
    (void)argument, (void)begin, (void)end;
#endif
}

/*
 * Returns the highest rate of some tries, in bytes per microsecond. cached: reads the array from the caches. Otherwise
 * reads the array from memory, after `all` threads have flushed it from the caches.
 */
static double read_rate(spry_context *context, int threads, int all, const char *array, int64_t bytes, bool cached)
{
    enum { TRIES = 4, CACHED_TRIES = 6 };
    double best = 0;
    for (int t = 0; t < (cached ? CACHED_TRIES : TRIES); t++) {
        if (!cached) spryi_parallel_blocks(&context->pool, all, bytes / BLOCK, flush_blocks, array);
        const double start = spryi_now_us();
        spryi_parallel_blocks(&context->pool, threads, bytes / BLOCK, read_blocks, array);
        const double rate = (double)bytes / (spryi_now_us() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static void do_nothing(void *argument, int index)
{
    (void)argument, (void)index;
}

/* Returns the time of an empty parallel call in a sequence of calls: the least of some tries. */
static double call_us(spry_context *context, int threads)
{
    enum { TRIES = 5, CALLS = 20 };
    double least = INFINITY;
    for (int t = 0; t < TRIES; t++) {
        const double start = spryi_now_us();
        for (int c = 0; c < CALLS; c++) spryi_parallel(&context->pool, threads, do_nothing, NULL);
        const double us = (spryi_now_us() - start) / CALLS;
        if (us < least) least = us;
    }
    return least;
}

/* Returns the bytes of the array that `threads` can keep in the cache. */
static int64_t cached_bytes(int64_t cache, int threads)
{
    int64_t bytes = threads < ARRAY_BYTES / CACHED_A_THREAD ? threads * (int64_t)CACHED_A_THREAD : ARRAY_BYTES;
    if (bytes > cache / 4) bytes = cache / 4;
    return bytes > LEAST_CACHED ? bytes : LEAST_CACHED;
}

static spry_status measure_host(device_rates *r, const spryi_device *device, int threads)
{
    static const double one_run_us = 0.05; /* time of the call */
    spry_context *context = device->context;
    const int64_t most = threads * (int64_t)CACHE_A_THREAD;
    const int64_t cache = device->cache_bytes > 0 && device->cache_bytes < most ? device->cache_bytes : most;
    const bool few = threads < ARRAY_BYTES / MEMORY_A_THREAD;
    const int64_t bytes = few ? threads * (int64_t)MEMORY_A_THREAD : ARRAY_BYTES;
    char *array = NULL;
    SPRYI_OK_OR_RETURN(spryi_allocate(context, (void **)&array, ARRAY_BYTES, 1, "measuring the bandwidth", NULL));
    spryi_parallel_blocks(&context->pool, threads, ARRAY_BYTES / BLOCK, write_blocks, array);
    r->one.memory = read_rate(context, 1, threads, array, bytes, 0);
    r->one.cache = read_rate(context, 1, threads, array, cached_bytes(cache, 1), 1);
    r->all = r->one;
    r->run_us = r->all_run_us = one_run_us;
    if (threads > 1) {
        r->all.memory = read_rate(context, threads, threads, array, bytes, 0);
        r->all.cache = read_rate(context, threads, threads, array, cached_bytes(cache, threads), 1);
        r->all_run_us = one_run_us + call_us(context, threads);
    }
    spryi_release(context, array);
    r->cache_bytes = (double)cache;
    r->threads = threads;
    return SPRY_OK;
}

/* ---- devices with memory of their own ------------------------------------------------------------------- */

/*
 * Measures the rate of copies within the device, in bytes read and written per microsecond: the highest of some tries.
 */
static spry_status copy_rate(double *rate, const spryi_device *d, void *to, const void *from, int64_t bytes)
{
    enum { TRIES = 3, COPIES = 8 };
    *rate = 0;
    for (int t = -1; t < TRIES; t++) { /* -1 warms up */
        const double start = spryi_now_us();
        for (int c = 0; c < COPIES; c++)
            SPRYI_OK_OR_RETURN(d->ops->copy(d, to, from, bytes, SPRYI_WITHIN_DEVICE, NULL, NULL));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, NULL));
        const double found = 2.0 * COPIES * (double)bytes / (spryi_now_us() - start);
        if (t >= 0 && found > *rate) *rate = found;
    }
    return SPRY_OK;
}

/* Measures the time per kernel in a sequence of launches: the least of some tries. */
static spry_status launch_us(double *us, const spryi_device *d, void *number)
{
    enum { TRIES = 5, LAUNCHES = 20 };
    static const double zero = 0;
    *us = INFINITY;
    for (int t = 0; t < TRIES; t++) {
        const double start = spryi_now_us();
        for (int n = 0; n < LAUNCHES; n++) SPRYI_OK_OR_RETURN(d->ops->scale(d, number, SPRY_F64, 1, &zero, NULL, NULL));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, NULL));
        *us = fmin(*us, (spryi_now_us() - start) / LAUNCHES);
    }
    return SPRY_OK;
}

static spry_status measure_device(device_rates *r, const spryi_device *d)
{
    enum { SMALLEST = 1 << 20, LARGEST = 256 << 20 };
    const int64_t cache = d->cache_bytes > 0 ? d->cache_bytes : SMALLEST;
    int64_t bytes = 4 * cache; /* both arrays exceed the cache */
    void *from = NULL, *to = NULL;
    spry_status status = SPRY_OK;
    if (bytes > LARGEST) bytes = LARGEST;
    SPRYI_TRY(d->ops->allocate(d, &from, bytes, "measuring the bandwidth", NULL));
    SPRYI_TRY(d->ops->allocate(d, &to, bytes, "measuring the bandwidth", NULL));
    SPRYI_TRY(d->ops->clear(d, from, bytes, NULL));
    SPRYI_TRY(copy_rate(&r->one.memory, d, to, from, bytes));
    SPRYI_TRY(copy_rate(&r->one.cache, d, to, from, cache / 4));
    SPRYI_TRY(launch_us(&r->run_us, d, to));
    if (r->one.cache < r->one.memory) r->one.cache = r->one.memory; /* launches make short copies slow */
    r->all = r->one;
    r->all_run_us = r->run_us;
    r->cache_bytes = (double)cache;
    r->threads = 1;
done:
    d->ops->release(d, from);
    d->ops->release(d, to);
    return status;
}

/* Measures the times of a copy to the device and a copy back, each including the wait: the least of some tries. */
static spry_status bus_us(double *to_us, double *from_us, const spryi_device *d, void *at, void *host, int64_t bytes)
{
    enum { TRIES = 4 };
    *to_us = *from_us = INFINITY;
    for (int t = 0; t < TRIES; t++) {
        const double start = spryi_now_us();
        SPRYI_OK_OR_RETURN(d->ops->copy(d, at, host, bytes, SPRYI_TO_DEVICE, NULL, NULL));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, NULL));
        const double arrived = spryi_now_us();
        SPRYI_OK_OR_RETURN(d->ops->copy(d, host, at, bytes, SPRYI_FROM_DEVICE, NULL, NULL));
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, NULL));
        *to_us = fmin(*to_us, arrived - start);
        *from_us = fmin(*from_us, spryi_now_us() - arrived);
    }
    return SPRY_OK;
}

static spry_status measure_bus(device_rates *r, const spryi_device *d)
{
    enum { BYTES = 4 << 20 };
    void *at = NULL, *host = NULL;
    double to_us, from_us, short_to_us, short_from_us;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_allocate(d->context, &host, BYTES, 1, "measuring the bus", NULL));
    memset(host, 1, BYTES);
    SPRYI_TRY(d->ops->allocate(d, &at, BYTES, "measuring the bus", NULL));
    SPRYI_TRY(bus_us(&to_us, &from_us, d, at, host, BYTES));
    SPRYI_TRY(bus_us(&short_to_us, &short_from_us, d, at, host, LINE));
    r->to_device = BYTES / to_us;
    r->from_device = BYTES / from_us;
    r->bus_us = short_to_us + short_from_us;
    r->has_bus = true;
done:
    d->ops->release(d, at);
    spryi_release(d->context, host);
    return status;
}

/* Finds the rates for up to `threads` threads. Returns false if they cannot be measured, usually for lack of memory. */
static bool find_rates(device_rates *rates, const spryi_device *d, int threads, bool bus)
{
    const bool host = d->driver->host_memory;
    spry_status status = SPRY_OK;
    device_rates *r = known;
    pthread_mutex_lock(&known_lock);
    while (r < known + MOST_DEVICES - 1 && r->driver && (r->driver != d->driver || r->ordinal != d->ordinal)) r++;
    r->driver = d->driver;
    r->ordinal = d->ordinal;
    if (r->threads < (host ? threads : 1)) status = host ? measure_host(r, d, threads) : measure_device(r, d);
    if (status == SPRY_OK && bus && !r->has_bus) status = measure_bus(r, d);
    *rates = *r;
    pthread_mutex_unlock(&known_lock);
    return status == SPRY_OK;
}

/* ---- the model ------------------------------------------------------------------------------------------- */

/* Interpolates linearly between the rates of one thread and of `most` threads. */
static double between(double one, double all, int threads, int most)
{
    if (threads <= 1 || most <= 1) return one;
    return threads >= most ? all : one + (all - one) * (threads - 1) / (most - 1);
}

/*
 * Returns the time of moving the bytes. If `bytes` is at most the cache's size, all bytes come from the cache. If
 * `bytes` is twice that size or more, all bytes come from memory.
 */
static double move_us(const device_rates *r, double bytes, int threads)
{
    const double share = r->cache_bytes > 0 ? fmin(fmax(2 - bytes / r->cache_bytes, 0), 1) : 0;
    const double cache = between(r->one.cache, r->all.cache, threads, r->threads);
    const double memory = between(r->one.memory, r->all.memory, threads, r->threads);
    return bytes * (share / cache + (1 - share) / memory) + between(r->run_us, r->all_run_us, threads, r->threads);
}

double spryi_csr_bytes(const spry_arrays *given, int64_t nnz)
{
    spry_arrays csr = *given;
    csr.nnz = nnz;
    if (csr.layout == SPRY_COO) csr.offset_type = csr.nnz <= INT32_MAX ? csr.index_type : SPRY_I64;
    csr.layout = SPRY_CSR;
    return (double)spryi_arrays_bytes(&csr);
}

/*
 * Returns the time of a run of all columns. product: predicted time of the product for one column. If it is 0, the time
 * is unknown, and the bytes of storage and vectors determine the time. Orderings and scalings are separate passes.
 */
static double run_us(const spryi_plan *plan, const device_rates *r, double storage, int threads,
                     const spryi_plan_map *map, double product)
{
    const spry_spmv_options *o = &plan->request.options;
    const double columns = (double)(o->count > 1 ? o->count : 1);
    const bool at_once = columns > 1 && spryi_takes_columns(plan, map, o->row_major);
    const bool spread = o->row_major && product == 0; /* else `product` includes gathering columns from rows */
    const bool maps_x = !at_once && spryi_maps_x(plan, map) && (spread || spryi_changes_x(map));
    const bool maps_y = !at_once && spryi_maps_y(plan, map) && (spread || spryi_changes_y(map));
    const double size = (double)plan->request.element_bytes, rows = (double)plan->A->a.rows,
                 cols = (double)plan->A->a.columns;
    const double x = size * (double)plan->request.x_length, y = size * (double)plan->request.y_length;
    const bool host = plan->request.device->driver->host_memory;
    const bool joined = at_once && !o->row_major && plan->work.joined > 0;
    const double together = !at_once ? 1 : joined ? fmin(columns, (double)plan->work.joined) : columns;
    double bytes = product > 0 ? 0 : storage / together + x + y;
    if (joined && product == 0) bytes += 2 * (x + y); /* row-major copies are written and read */
    if (maps_x) bytes += 2 * x;                       /* a copy is written and read */
    if (maps_y) bytes += 2 * y;
    if (o->row_scaling) bytes += size * rows;
    if (o->column_scaling) bytes += size * cols;
    double us = product + (bytes == 0 ? 0 : move_us(r, bytes, host ? spryi_team(threads) : 1));
    if (!host) us += (maps_x + maps_y) * r->run_us;
    if (o->vector_device != plan->request.device->number) us += r->bus_us + x / r->to_device + y / r->from_device;
    return us * columns;
}

/*
 * Returns the time of a product in csr for one column. If vectors are row-major, csr reads its matrix once for all
 * columns, else once for each group of columns whose elements of one row take 64 bytes. ranked: the time of all columns
 * that the rates of the device's class predict; 0: unknown. On a CPU, the measured bandwidth gives a lower bound of the
 * time.
 */
static double csr_us(const device_rates *r, const spryi_device *d, const spry_spmv_options *o, const spry_arrays *a,
                     double bytes, double ranked)
{
    const bool host = d->driver->host_memory;
    const double size = (double)spry_type_bytes(o->vector_type), columns = o->count > 1 ? (double)o->count : 1;
    const double together = o->row_major ? columns : fmin(columns, 64 / size);
    const int threads = spryi_threads_for(d->context, (int64_t)bytes, o->threads);
    if (!host && ranked > 0) return ranked / columns;
    bytes = bytes / together + size * (double)(a->rows + a->columns);
    return fmax(ranked / columns, move_us(r, bytes, host ? spryi_team(threads) : 1));
}

double spryi_measured_csr_us(const spryi_device *d, const spry_spmv_options *o, const spry_arrays *a, double ranked)
{
    const double bytes = spryi_csr_bytes(a, a->nnz);
    const int threads = spryi_threads_for(d->context, (int64_t)bytes, o->threads);
    device_rates r;
    if (!find_rates(&r, d, spryi_team(threads > d->context->threads ? threads : d->context->threads), 0)) return 0;
    return (o->count > 1 ? (double)o->count : 1) * csr_us(&r, d, o, a, bytes, ranked);
}

/* ---- predicted products ---------------------------------------------------------------------------------- */

/* Times of a product with all columns, as spry_spmv_explain ranks them; 0: unknown. */
typedef struct ranked_times {
    double us, csr_us;
} ranked_times;

/* Returns the plan's time in the ranking; 0: not ranked. csc is ranked as csr of the transposed matrix. */
static double ranked_us(const spryi_ranking *ranking, const spryi_plan *plan)
{
    const bool by_columns = plan->request.op == SPRY_TRANSPOSE && strcmp(plan->target.format->name, "csc") == 0;
    const char *format = by_columns ? "csr" : plan->target.format->name;
    for (int k = 0; k < ranking->count; k++) {
        const spryi_estimate *e = &ranking->list[k];
        if (strcmp(e->format, format) == 0 && (!e->kernel || strcmp(e->kernel, plan->target.kernel->name) == 0))
            return e->us;
    }
    return 0;
}

/* Ranks the formats for the caller's matrix. Leaves *t unchanged for a container, which would have to be converted. */
static void rank(const spry_spmv_plan *of, ranked_times *t)
{
    const spryi_plan *plan = &of->forward;
    const spry_matrix *A = of->as_given ? of->as_given : plan->map.given;
    spry_spmv_options o = plan->request.options;
    spry_matrix *entries = NULL;
    spryi_ranking ranking;
    o.op = plan->request.op;
    if (A->stored || spryi_reads_blocks(plan) || A->a.nnz == 0 || spryi_matrix_entries(A, &entries, NULL) != SPRY_OK)
        return;
    if (spryi_rank_for(&ranking, entries, &o, spryi_class_of(plan->request.device), NULL) == SPRY_OK) {
        t->us = ranked_us(&ranking, plan);
        t->csr_us = ranking.list[ranking.csr].us;
    }
    spryi_matrix_release(entries);
}

/* Returns the times that planning or an earlier query has found. If there are none, finds and keeps them. */
static ranked_times times_of(const spry_spmv_plan *of)
{
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    spryi_plan_target *kept = (spryi_plan_target *)(uintptr_t)&of->forward.target;
    pthread_mutex_lock(&asking);
    ranked_times t = {kept->us, kept->csr_us};
    if (t.csr_us == 0) rank(of, &t);
    kept->us = t.us;
    kept->csr_us = t.csr_us;
    pthread_mutex_unlock(&asking);
    return t;
}

void spryi_predict_times(const spry_spmv_plan *of, spry_spmv_plan_info *info)
{
    const spryi_plan *plan = &of->forward;
    const spryi_device *d = plan->request.device;
    const spry_spmv_options *o = &plan->request.options;
    const spry_arrays *given = &plan->map.given->a;
    const bool reorders = plan->map.x_from || plan->map.y_from || plan->map.is_transposed;
    const spryi_plan_map without_order = {.x_scaling = plan->map.x_scaling, .y_scaling = plan->map.y_scaling};
    const bool is_baseline = !reorders && strcmp(plan->target.format->name, "csr") == 0;
    const int most = plan->product.threads > plan->context->threads ? plan->product.threads : plan->context->threads;
    device_rates r;
    info->baseline = "csr";
    info->break_even_calls = is_baseline ? 0 : SPRY_NEVER;
    if (!find_rates(&r, d, spryi_team(most), o->vector_device != d->number)) return;
    const ranked_times ranked = times_of(of);
    const double csr = spryi_csr_bytes(given, plan->map.nnz), stored = (double)info->storage_bytes;
    const int csr_threads = spryi_threads_for(plan->context, (int64_t)csr, o->threads);
    const double of_csr = csr_us(&r, d, o, given, csr, ranked.csr_us);
    const double product = ranked.us > 0 ? of_csr * ranked.us / ranked.csr_us : 0;
    info->predicted_us = run_us(plan, &r, stored, plan->product.threads, &plan->map, product);
    info->baseline_us = is_baseline ? info->predicted_us : run_us(plan, &r, csr, csr_threads, &without_order, of_csr);
    if (is_baseline || info->predicted_us >= info->baseline_us) return;
    const double calls = ceil(plan->times.setup_us / (info->baseline_us - info->predicted_us));
    info->break_even_calls = calls < 9e18 ? (int64_t)calls : INT64_MAX;
}
