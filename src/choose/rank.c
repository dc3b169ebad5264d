#include "choose/rank.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "core/device.h"
#include "core/kernel.h"
#include "matrix/row_lengths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a look reads --------------------------------------------------------------------------------- */

spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    spry_status status = SPRY_OK;
    spry_matrix *pattern = NULL, *here = NULL;
    *structure = NULL;
    if (A->a.device == 0 && op == SPRY_NO_TRANSPOSE)
        return spryi_matrix_as_csr(A->context, structure, A, A->a.value_type, err);
    SPRYI_TRY(spryi_matrix_without_values(&pattern, A, err));
    if (A->a.device > 0)
        SPRYI_TRY(spryi_matrix_fetch(d, &here, pattern, err));
    else
        here = spryi_matrix_retain(pattern);
    if (op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_transposed(A->context, structure, here, err));
    else
        *structure = spryi_matrix_retain(here);
done:
    spryi_matrix_release(pattern);
    spryi_matrix_release(here);
    return status;
}

/* What a look reads: entries as above, but that columns which lie on a device stay there, for readers to fetch. */
typedef struct looked_at {
    spry_arrays csr;                   /* values may not be there; with `device` the offsets are a copy of its own */
    const struct spryi_device *device; /* where csr's columns lie; NULL: in host memory */
    spry_matrix *whole;                /* the copy or conversion; NULL: there is none */
    spry_context *context;
} looked_at;

static int64_t columns_bytes(const spry_arrays *a)
{
    return a->nnz * (int64_t)spry_index_type_bytes(a->index_type);
}

/* Entries that a look fetches, about: samples of so many entries, and of so many rows. */
static double sampled_entries(const spry_arrays *a, spryi_effort effort)
{
    static const struct {
        double entries, rows;
    } samples[] = {[SPRYI_QUICK] = {90e3, 2e3}, [SPRYI_FULL] = {600e3, 70e3}};
    return samples[effort].entries + samples[effort].rows * (double)a->nnz / (double)a->rows;
}

/* 1: A's columns are sampled where they are: all of them would take longer to copy. */
static int is_sampled(const spry_arrays *a, spry_op op, spryi_effort effort)
{
    enum { WHOLE_BYTES = 2 << 20 };
    return a->device > 0 && op == SPRY_NO_TRANSPOSE && columns_bytes(a) > WHOLE_BYTES &&
           2 * sampled_entries(a, effort) < (double)a->nnz;
}

static spry_status open_sampled(looked_at *at, const spry_matrix *A, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    at->csr = A->a;
    at->csr.device = 0;
    at->device = d;
    const spry_status status =
        spryi_fetch_array(d, &at->csr.offsets, A->a.rows + 1, spry_index_type_bytes(A->a.offset_type), err);
    return status == SPRY_OK ? d->ops->synchronize(d, NULL, err) : status;
}

static void close_look(looked_at *at)
{
    if (at->device) spryi_release(at->context, (void *)(uintptr_t)at->csr.offsets);
    spryi_matrix_release(at->whole);
    *at = (looked_at){0};
}

/* Where a look would fetch nearly all columns they are copied. The caller closes what has been opened. */
static spry_status open_look(looked_at *at, const spry_matrix *A, spry_op op, spryi_effort effort, spry_error *err)
{
    *at = (looked_at){.context = A->context};
    if (is_sampled(&A->a, op, effort)) {
        const spry_status status = open_sampled(at, A, err);
        if (status != SPRY_OK) close_look(at);
        return status;
    }
    SPRYI_OK_OR_RETURN(spryi_structure_of(&at->whole, A, op, err));
    at->csr = at->whole->a;
    return SPRY_OK;
}

/* ---- products too few for a look ----------------------------------------------------------------------- */

/*
 * Kernels of csr differ by what they prepare (on a GPU from 10 us to some hundreds) and by how they bear long rows.
 * Rows at equal distances tell how long rows are, and one of the longest; where the offsets lie on a device, all
 * rows do. What columns would tell is set to what most matrices have.
 */

/* Of CSR in host memory, by rows at equal distances with some behind them, and by one of the longest. */
static spryi_row_look sample_rows(const spry_arrays *csr)
{
    enum { PLACES = 64, ROWS = 7 /* whose offsets share a line of the cache */ };
    const int64_t places = csr->rows < PLACES ? csr->rows : PLACES;
    spryi_row_look look = {.longest = (double)spryi_row_length(csr, spryi_long_row(csr, PLACES))};
    double seen = 0;
    for (int64_t n = 0; n < places; n++) {
        const int64_t first = spryi_range_of_rows(csr->rows, n, places);
        const int64_t end = first + ROWS < csr->rows ? first + ROWS : csr->rows;
        for (int64_t i = first; i < end; i++) {
            const double length = (double)spryi_row_length(csr, i);
            look.longest = fmax(look.longest, length);
            look.squares += length * length;
        }
        seen += (double)(end - first);
    }
    look.squares *= (double)csr->rows / seen;
    return look;
}

/* Of all rows where the arrays lie on a device, which takes one pass over the offsets, if none was made before. */
static spry_status find_rows(spryi_row_profile *rows, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    const double mean = rows->mean;
    spryi_row_look look;
    if (a->device == 0)
        look = sample_rows(a);
    else
        SPRYI_OK_OR_RETURN(spryi_matrix_look(&look, A, 0, NULL));
    rows->longest = look.longest;
    rows->deviation = sqrt(fmax(look.squares / ((double)a->rows * mean * mean) - 1, 0));
    rows->body_deviation = rows->deviation * fmin(mean, 1); /* rows that are empty keep nobody waiting */
    return SPRY_OK;
}

/* Of CSR with rows that nobody has looked at: sizes, the mean row, and what gathers most matrices have. */
static spryi_features unseen_features(const spry_arrays *csr, spry_type vector_type)
{
    static const double WARP = 0.4, SLOTS = 0.6, NEAR = 0.2; /* an entry, as meshes have them in the mean */
    const double mean = (double)csr->nnz / (double)csr->rows;
    spryi_features f = spryi_sizes_as_features(csr, vector_type);
    f.lengths = (spryi_row_profile){.mean = mean, .longest = mean};
    f.slots = 1;
    f.slot_sectors = SLOTS;
    f.warp_sectors = WARP;
    f.near_sectors = NEAR;
    return f;
}

/* Returns the time of set-up and `calls` products in us. The first of csr's kernels reads all entries at set-up. */
static double cost_of(const spryi_format_rates *rates, const spryi_device_class *device, const spryi_features *f,
                      int64_t calls)
{
    const spryi_work w = spryi_work_of(rates, device, f, 1);
    const int unlooked = rates == &device->rates[0] && calls < spryi_estimated_at(0)->choice.estimator->setup_calls;
    const double setup = unlooked ? rates->setup.us : spryi_setup_of(rates, f, 1);
    return setup + (double)calls * spryi_time_of(rates, &w, device, 1);
}

/* The least of csr's kernels; NULL: all would wait for long rows. */
static const spryi_format_rates *least_of(const spryi_device_class *device, const spryi_features *f, int64_t calls,
                                          double *us)
{
    const spryi_format_rates *best = NULL;
    *us = INFINITY;
    for (int r = 0; r < device->formats; r++) {
        const spryi_format_rates *rates = &device->rates[r];
        if (strcmp(rates->format, SPRYI_BASELINE) != 0 || !rates->kernel) continue;
        if (spryi_why_refused(rates, device, f, true)) continue;
        const double cost = cost_of(rates, device, f, calls);
        if (cost < *us) best = rates;
        if (cost < *us) *us = cost;
    }
    return best;
}

const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls)
{
    static const double SUMS = 10; /* us that sums of rows take on a device */
    double us;
    if (A->a.layout != SPRY_CSR || !device->rates[0].kernel) return NULL;
    if (spryi_is_mixed(A->a.value_type, vector_type)) return NULL; /* one kernel has them */
    spryi_features f = unseen_features(&A->a, vector_type);
    if (A->a.device > 0) { /* is there anything to gain, were the rows alike? */
        (void)least_of(device, &f, calls, &us);
        if (cost_of(&device->rates[0], device, &f, calls) - us < SUMS) return NULL;
    }
    if (find_rows(&f.lengths, A) != SPRY_OK) return NULL;
    const spryi_format_rates *best = least_of(device, &f, calls, &us);
    return best ? best->kernel : NULL;
}

/* us that a look takes, about, of each effort: by itself, and for each of the first entries and rows. */
static double look_us(const spry_arrays *a, spryi_effort effort)
{
    static const struct {
        double look, entry, most, row;
    } costs[] = {[SPRYI_QUICK] = {70, 0.004, 1 << 16, 0}, [SPRYI_FULL] = {150, 0.004, 1 << 20, 0.0005}};
    return costs[effort].look + costs[effort].entry * fmin((double)a->nnz, costs[effort].most) +
           costs[effort].row * (double)a->rows;
}

/* us to bring to the host what a look reads: its bytes, about, in some copies. */
static double fetch_us(const spry_arrays *a, spry_op op, spryi_effort effort)
{
    static const double BYTES = 10000, COPY = 12; /* a us; us */
    static const double COPIES[] = {[SPRYI_QUICK] = 12, [SPRYI_FULL] = 16};
    const double columns = (double)columns_bytes(a);
    const double offsets = (double)((a->rows + 1) * (int64_t)spry_index_type_bytes(a->offset_type));
    if (a->device == 0) return op == SPRY_TRANSPOSE ? columns / BYTES : 0; /* A^T is made there */
    if (!is_sampled(a, op, effort)) return (offsets + columns) / BYTES + COPY * 2;
    return (offsets + columns * sampled_entries(a, effort) / (double)a->nnz) / BYTES + COPY * (1 + COPIES[effort]);
}

/* us of a product of csr, by what is known of A without a look; one thread of a CPU has no others to wake. */
static double csr_us(const spry_arrays *a, const spryi_device_class *c)
{
    const spryi_format_rates *csr = &c->rates[0];
    const spryi_features f = unseen_features(a, spryi_usual_vectors(a->value_type));
    const int on_cpu = spryi_class_is_cpu(c);
    const double threads = on_cpu ? SPRYI_COMPARED_THREADS : 1;
    const spryi_work w = spryi_work_of(csr, c, &f, threads);
    return spryi_time_of(csr, &w, c, threads) - (on_cpu ? csr->launch : 0);
}

int spryi_looking_pays(spryi_effort *effort, const spry_arrays *a, spry_op op, const spryi_device_class *c,
                       int64_t calls)
{
    static const double SHARE = 0.03, AT_LEAST = 30; /* us */
    const int is_transposed = op == SPRY_TRANSPOSE;
    spry_arrays looked_at = *a;
    if (is_transposed) {
        looked_at.rows = a->cols;
        looked_at.cols = a->rows;
    }
    const double all = fmax(SHARE * (double)calls * csr_us(&looked_at, c), AT_LEAST);
    const double fetch = spryi_class_is_cpu(c) ? 0 : fetch_us(a, op, SPRYI_QUICK);
    if (look_us(&looked_at, SPRYI_QUICK) + fetch > all) return 0;
    /* A^T is looked at when it has been made, as any matrix */
    const double fetch_more = is_transposed || spryi_class_is_cpu(c) ? 0 : fetch_us(a, op, SPRYI_FULL);
    *effort = look_us(&looked_at, SPRYI_FULL) + fetch_more <= all ? SPRYI_FULL : SPRYI_QUICK;
    return 1;
}

static int by_time(const void *a, const void *b)
{
    const spryi_estimate *one = a, *other = b;
    if (!one->refused != !other->refused) return one->refused ? 1 : -1;
    return one->us < other->us ? -1 : one->us > other->us;
}

/* 1: the kernel is one of an estimate on a kind of device. */
static int is_of(const spryi_kernel *kernel, const spryi_estimate *e, const char *device)
{
    return strcmp(kernel->format, e->format) == 0 && strcmp(kernel->device, device) == 0 &&
           (!e->kernel || strcmp(kernel->name, e->kernel) == 0);
}

static const spryi_estimator *estimator_of(const spryi_estimate *e)
{
    return spryi_estimated_at(e->index >= 0 ? e->index : 0)->choice.estimator;
}

static spryi_product product_of(const spryi_estimate *e, const spryi_ranking *r)
{
    return spryi_product_of(e->index >= 0 ? e->index : 0, e->kernel, r->device, &r->features, true);
}

/* Returns how the kernels of an estimate multiply multiple vectors. */
static spryi_vectors_way vectors_way(const spryi_estimate *e, const spryi_ranking *r)
{
    const char *device = spryi_class_is_cpu(r->device) ? "cpu" : "cuda";
    const spryi_kernel *kernel;
    const spryi_product product = product_of(e, r);
    spryi_vectors_way way = SPRYI_ONE_BY_ONE;
    for (int k = 0; (kernel = spryi_kernel_at(k)) != NULL; k++) {
        if (!is_of(kernel, e, device)) continue;
        if ((kernel->several & SPRYI_OP_SPMV) != 0 && way == SPRYI_ONE_BY_ONE) way = SPRYI_ROW_MAJOR;
        if ((kernel->several_apart & SPRYI_OP_SPMV) != 0) way = SPRYI_ANY_LAYOUT;
    }
    return way == SPRYI_ANY_LAYOUT && estimator_of(e)->limit_way ? estimator_of(e)->limit_way(&product) : way;
}

/*
 * Counts multiple vectors on a CPU. Kernels that multiply vectors together read the matrix once, or once for each
 * vectors_in_place column-major vectors. On two cores of a Zen 3, 8 vectors took 0.8 to 1.2 of the time of the bytes
 * with csr on grids, finite elements and random geometric graphs, 1.1 to 1.4 IN_PLACE; sell took 1.3 to 1.7 times as
 * long as csr, bsr 0.6 to 1.8 and packed 1.7 to 3 times. With 2 to 16 row-major vectors packed took 1.5 to 3.6 times
 * as long as csr on one thread of a Zen 3 and of a Xeon with AVX-512.
 */
static void count_on_cpu(spryi_estimate *e, spryi_vectors_way way, const spryi_rank_request *q, double vectors,
                         double moved)
{
    static const double IN_PLACE = 1.35;
    const spryi_estimator *own = estimator_of(e);
    const double columns = (double)q->columns, matrix = fmax(e->bytes - vectors, 0);
    const int in_place = way == SPRYI_ANY_LAYOUT && !q->row_major;
    const double passes = in_place ? ceil(columns / own->vectors_in_place) : 1;
    const double factor = own->cpu_vectors_factor > 0 ? own->cpu_vectors_factor : in_place ? IN_PLACE : 1;
    const int one_by_one = !own->always_together || !q->row_major;
    const double bytes = matrix * passes / columns + vectors;
    const double us = e->us * (factor * bytes + moved) / (matrix + vectors);
    e->us = columns * (one_by_one ? fmin(e->us, us) : us);
    e->bytes = columns * (bytes + moved);
}

/*
 * Counts multiple vectors on a GPU, for a kernel that multiplies them together. The rates were fitted to a grid, finite
 * elements, a random geometric graph and a road network with 2 to 64 vectors, f32 and f64: measured times are 0.8 to
 * 1.4 of these, most 0.9 to 1.15.
 */
static void count_on_gpu(spryi_estimate *e, const spryi_rank_request *q, const spryi_ranking *ranking, double vectors,
                         double moved)
{
    static const double MEMORY = 4.1e6, CSR_THERE = 3.023e6; /* of a H200, bytes a us, copied and of csr */
    static const double SECTOR = 32;                         /* bytes */
    const spryi_features *f = &ranking->features;
    const spryi_product product = product_of(e, ranking);
    const spryi_vectors_rates r = estimator_of(e)->vectors_rates(&product);
    const double faster = q->device->rates[0].memory / CSR_THERE, columns = (double)q->columns;
    const double n = (double)f->nnz, x_bytes = columns * (double)f->number_bytes, matrix = fmax(e->bytes - vectors, 0);
    const int is_odd = q->columns != 2 && q->columns * f->number_bytes % 16 != 0;
    const double each = 1e-6 * (r.entry * n + r.row * (double)f->rows);
    double near = n * x_bytes / r.x, entries = each + r.matrix * matrix / MEMORY;
    if (f->scattered) near = fmax(near, 1e-6 * n * ceil(x_bytes / SECTOR) * r.sector);
    if (f->scattered) entries = hypot(entries, near) - near; /* they overlap there */
    const double us = entries + near + (r.vectors * vectors + moved) * columns / MEMORY;
    e->us = fmax((is_odd ? r.odd : 1) * us, r.step * f->lengths.longest) / faster + q->device->rates[0].launch;
    e->bytes = matrix + columns * (vectors + moved);
}

/*
 * Times and bytes of several columns, first as of one, then as of all. Kernels that take rows alone have columns that
 * lie apart brought into such and back; others take each column out of rows of x and put it into those of y. Those
 * pass over vectors at the rate of csr.
 */
static void count_columns(spryi_ranking *r, const spryi_rank_request *q)
{
    const int on_cpu = spryi_class_is_cpu(q->device);
    const double INTO_ROWS = on_cpu ? 3 : 2, OUT_OF_ROWS = on_cpu ? 4 : 8;
    const double vectors = (double)(q->A->a.rows + q->A->a.cols) * (double)spry_type_bytes(q->vector_type);
    const double csr_rate = r->list[0].bytes / r->list[0].us;
    for (int k = 0; k < r->count; k++) {
        spryi_estimate *e = &r->list[k];
        if (!(e->us > 0)) continue; /* refused without a prediction */
        const spryi_vectors_way way = vectors_way(e, r);
        double moved = 0; /* vectors, beside x and y */
        if (way == SPRYI_ONE_BY_ONE && q->row_major) moved = OUT_OF_ROWS * vectors;
        if (way == SPRYI_ROW_MAJOR && !q->row_major) moved = INTO_ROWS * vectors;
        if (way == SPRYI_ONE_BY_ONE) {
            e->us = (double)q->columns * (e->us + moved / csr_rate);
            e->bytes = (double)q->columns * (e->bytes + moved);
        } else if (on_cpu) {
            count_on_cpu(e, way, q, vectors, moved);
        } else {
            count_on_gpu(e, q, r, vectors, moved);
        }
    }
}

/* Refuses what has no kernel for the types of values and vectors. */
static void refuse_types(spryi_ranking *r, const spryi_rank_request *q)
{
    const int row = spryi_value_row(q->A->a.value_type, q->vector_type);
    const char *device = spryi_class_is_cpu(q->device) ? "cpu" : "cuda";
    for (int k = 0; k < r->count; k++) {
        spryi_estimate *e = &r->list[k];
        const spryi_kernel *kernel;
        int takes = 0;
        for (int n = 0; (kernel = spryi_kernel_at(n)) != NULL; n++)
            takes |= is_of(kernel, e, device) && spryi_kernel_takes(kernel, SPRYI_OP_SPMV, row);
        if (!takes && !e->refused) e->refused = "it has no kernel for these types of values and vectors";
    }
}

static void find_least(spryi_ranking *r)
{
    double least = INFINITY, least_csr = INFINITY;
    for (int k = 0; k < r->allowed; k++) {
        const double total = r->list[k].setup_us + (double)r->calls * r->list[k].us;
        const int is_csr = strcmp(r->list[k].format, SPRYI_BASELINE) == 0;
        if (is_csr && total < least_csr) r->csr = k;
        if (is_csr && total < least_csr) least_csr = total;
        if (total < least) r->taken = k;
        if (total < least) least = total;
    }
}

spry_status spryi_rank(spryi_ranking *r, const spryi_rank_request *request, spry_error *err)
{
    spry_status status = SPRY_OK;
    looked_at at = {0};
    spryi_row_profile rows;
    const spry_matrix *A = request->A;
    const spryi_look look = {.vector_type = request->vector_type,
                             .on_gpu = !spryi_class_is_cpu(request->device),
                             .effort = request->effort};
    *r = (spryi_ranking){.device = request->device,
                         .threads = request->threads,
                         .calls = request->calls,
                         .columns = request->columns > 1 ? request->columns : 1};
    r->features.guesses = r->guesses;
    SPRYI_TRY(open_look(&at, A, request->op, request->effort, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &at.csr, request->effort, err));
    at.csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &r->features, &at.csr, at.device, &rows, &look, err));
    r->count = spryi_estimate_all(r->list, r->device, &r->features, r->threads, A->context->simd > SPRYI_PORTABLE);
    if (request->columns > 1) count_columns(r, request);
    if (spryi_is_mixed(A->a.value_type, request->vector_type)) refuse_types(r, request);
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_time);
    while (r->allowed < r->count && !r->list[r->allowed].refused) r->allowed++;
    find_least(r);
done:
    close_look(&at);
    return status;
}
