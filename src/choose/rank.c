#include "choose/rank.h"

#include "catalogue/catalogue.h"
#include "choose/few.h"
#include "choose/structure.h"
#include "core/context.h"
#include "core/error.h"
#include "formats/csr/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* us that a look takes, about, of each effort: by itself, and for each of the first entries and rows. */
static double look_us(const spry_arrays *a, spryi_effort effort)
{
    static const struct {
        double look, entry, most, row;
    } costs[] = {[SPRYI_QUICK] = {70, 0.004, 1 << 16, 0}, [SPRYI_FULL] = {150, 0.004, 1 << 20, 0.0005}};
    return costs[effort].look + costs[effort].entry * fmin((double)a->nnz, costs[effort].most) +
           costs[effort].row * (double)a->rows;
}

/* us to bring to the host what a look reads. */
static double fetch_us(const spry_arrays *a, spry_op op, spryi_effort effort)
{
    static const double BYTES = 10000, COPY = 12; /* a us; us */
    const spryi_fetched fetched = spryi_fetched_for_look(a, op, effort);
    return fetched.bytes / BYTES + COPY * fetched.copies;
}

/* us of a product of csr, by what is known of A without a look; one thread of a CPU has no others to wake. */
static double csr_us(const spry_arrays *a, const spryi_device_class *c)
{
    const spryi_format_rates *csr = &c->rates[0];
    const spryi_features f = spryi_unseen_features(a, spryi_usual_vectors(a->value_type));
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

/* How the kernels of an estimate on a kind of device take several columns at once. */
typedef enum at_once { ONE_BY_ONE, BY_ROWS, EITHER_WAY } at_once;

static at_once columns_taken(const spryi_estimate *e, const char *device, const spryi_features *f)
{
    const spryi_kernel *kernel;
    at_once most = ONE_BY_ONE;
    for (int k = 0; (kernel = spryi_kernel_at(k)) != NULL; k++) {
        if (!is_of(kernel, e, device)) continue;
        if ((kernel->several & SPRYI_OP_SPMV) != 0 && most == ONE_BY_ONE) most = BY_ROWS;
        if ((kernel->several_apart & SPRYI_OP_SPMV) != 0) most = EITHER_WAY;
    }
    if (most < EITHER_WAY) return most;
    if (strcmp(device, "cpu") == 0) /* csr, by its own rule (formats/csr/csr_apart.c) */
        return f->scattered || f->lengths.mean > SPRYI_CSR_APART_MEAN ? BY_ROWS : most;
    /* packed: rows that lie apart are read for each column, and where slices have indices it takes rows alone */
    if (f->lengths.longest > SPRYI_PACKED_MOST_WIDTH * (double)f->packed.block) return ONE_BY_ONE;
    return f->packed.block <= 1 && f->packed.unmarked < 0.99 ? BY_ROWS : most;
}

/*
 * On a CPU: where the kernel takes columns at once the matrix is read once for all, or in place for each
 * SPRYI_CSR_APART columns. On two cores of a Zen 3 grids, finite elements and random geometric graphs of 8 columns took
 * 0.8 to 1.2 of the time of their bytes, 1.1 to 1.4 IN_PLACE, sell 1.3 to 1.7 times as long as csr, bsr 0.6 to 1.8
 * times and packed 1.7 to 3 times. With 2 to 16 columns row by row packed took 1.5 to 3.6 times as long as csr on one
 * thread of a Zen 3 and of a Xeon with AVX-512, few columns longer than one by one.
 */
static void count_on_cpu(spryi_estimate *e, at_once taken, const spryi_rank_request *q, double vectors, double moved)
{
    static const double IN_PLACE = 1.35;
    static const struct {
        const char *format;
        double beside;
        int one_by_one; /* 1: rows, too, go one by one where that takes less */
    } others[] = {{"sell", 1.5, 1}, {"bsr", 1.5, 1}, {"packed", 3, 0}};
    const double columns = (double)q->columns, matrix = fmax(e->bytes - vectors, 0);
    const int in_place = taken == EITHER_WAY && !q->row_major;
    const double passes = in_place ? ceil(columns / SPRYI_CSR_APART) : 1;
    double beside = in_place ? IN_PLACE : 1;
    int one_by_one = 1;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(e->format, others[k].format) == 0) {
            beside = others[k].beside;
            one_by_one = others[k].one_by_one || !q->row_major;
        }
    const double bytes = matrix * passes / columns + vectors;
    const double us = e->us * (beside * bytes + moved) / (matrix + vectors);
    e->us = columns * (one_by_one ? fmin(e->us, us) : us);
    e->bytes = columns * (bytes + moved);
}

/*
 * Of products with several columns on an H200: what they take of the time to stream the matrix, for an entry and for a
 * row (1e-6 us), of the time to stream x and y, bytes of x a us that the first-level caches deliver, 1e-6 us a sector
 * of x where columns are scattered, and `odd`: times all of it where rows of x are not pieces of 16 bytes. Fitted to a
 * grid, finite elements, a random geometric graph and a road network with 2 to 64 columns, f32 and f64: measured times
 * are 0.8 to 1.4 of these, most 0.9 to 1.15.
 */
typedef struct columns_rates {
    const char *format;
    double matrix, entry, row, vectors, x, sector, odd;
} columns_rates;

static columns_rates rates_of_columns(const spryi_estimate *e, const spryi_features *f)
{
    static const columns_rates rates[] = {{"csr", 0, 6.7, 0, 1.05, 2.3e7, 5, 1.2},
                                          {"sell", 1, 0, 4.9, 1.06, 2e7, 6.5, 1.25},
                                          {"bsr", 1.2, 0, 4.9, 1, 1.4e7, 9, 1.5},
                                          {"packed", 0.68, 0, 10.7, 0.97, 1.8e7, 7.5, 1.5}};
    static const double INDEXED = 1.75, BLOCKS = 2.9e7, ODD_BLOCKS = 2.3; /* of packed, where it has such slices */
    size_t k = 0;
    while (k + 1 < sizeof rates / sizeof *rates && strcmp(e->format, rates[k].format) != 0) k++;
    columns_rates own = rates[k];
    if (strcmp(own.format, "packed") != 0) return own;
    if (f->packed.block > 1) {
        own.x = BLOCKS;
        own.odd = ODD_BLOCKS;
    } else {
        own.entry = INDEXED * (1 - f->packed.unmarked);
    }
    return own;
}

/* On a GPU, by a kernel that takes columns at once. */
static void count_on_gpu(spryi_estimate *e, const spryi_rank_request *q, const spryi_features *f, double vectors,
                         double moved)
{
    static const double MEMORY = 4.1e6, CSR_THERE = 3.023e6; /* of a H200, bytes a us, copied and of csr */
    static const double SECTOR = 32, A_STEP = 0.15;          /* bytes; us that an entry of a row takes its thread */
    const columns_rates r = rates_of_columns(e, f);
    const double faster = q->device->rates[0].memory / CSR_THERE, columns = (double)q->columns;
    const double n = (double)f->nnz, x_bytes = columns * (double)f->number_bytes, matrix = fmax(e->bytes - vectors, 0);
    const int is_odd = q->columns != 2 && q->columns * f->number_bytes % 16 != 0;
    const double each = 1e-6 * (r.entry * n + r.row * (double)f->rows);
    double near = n * x_bytes / r.x, entries = each + r.matrix * matrix / MEMORY;
    if (f->scattered) near = fmax(near, 1e-6 * n * ceil(x_bytes / SECTOR) * r.sector);
    if (f->scattered) entries = hypot(entries, near) - near; /* they overlap there */
    const double us = entries + near + (r.vectors * vectors + moved) * columns / MEMORY;
    const double chain = strcmp(e->format, "csr") == 0 ? 0 : A_STEP * f->lengths.longest;
    e->us = fmax((is_odd ? r.odd : 1) * us, chain) / faster + q->device->rates[0].launch;
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
        const at_once taken = columns_taken(e, on_cpu ? "cpu" : "cuda", &r->features);
        double moved = 0; /* vectors, beside x and y */
        if (taken == ONE_BY_ONE && q->row_major) moved = OUT_OF_ROWS * vectors;
        if (taken == BY_ROWS && !q->row_major) moved = INTO_ROWS * vectors;
        if (taken == ONE_BY_ONE) {
            e->us = (double)q->columns * (e->us + moved / csr_rate);
            e->bytes = (double)q->columns * (e->bytes + moved);
        } else if (on_cpu) {
            count_on_cpu(e, taken, q, vectors, moved);
        } else {
            count_on_gpu(e, q, &r->features, vectors, moved);
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

/* Rates of processors are those of kernels with vector registers; packed in plain C keeps its sums in memory. */
static void refuse_plain_c(spryi_ranking *r, const spryi_rank_request *q)
{
    if (!spryi_class_is_cpu(q->device) || q->A->context->simd > SPRYI_PORTABLE) return;
    for (int k = 0; k < r->count; k++)
        if (strcmp(r->list[k].format, "packed") == 0 && !r->list[k].refused)
            r->list[k].refused = "without AVX2 its kernel is slower than its rates tell";
}

static void find_least(spryi_ranking *r)
{
    double least = INFINITY, least_csr = INFINITY;
    for (int k = 0; k < r->allowed; k++) {
        const double total = r->list[k].setup_us + (double)r->calls * r->list[k].us;
        const int is_csr = strcmp(r->list[k].format, "csr") == 0;
        if (is_csr && total < least_csr) r->csr = k;
        if (is_csr && total < least_csr) least_csr = total;
        if (total < least) r->taken = k;
        if (total < least) least = total;
    }
}

spry_status spryi_rank(spryi_ranking *r, const spryi_rank_request *request, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_looked_at at = {0};
    spryi_row_profile rows;
    const spry_matrix *A = request->A;
    const spryi_look look = {.vector_type = request->vector_type,
                             .on_gpu = !spryi_class_is_cpu(request->device),
                             .effort = request->effort};
    *r = (spryi_ranking){.device = request->device,
                         .threads = request->threads,
                         .calls = request->calls,
                         .columns = request->columns > 1 ? request->columns : 1};
    SPRYI_TRY(spryi_open_look(&at, A, request->op, request->effort, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &at.csr, request->effort, err));
    at.csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &r->features, &at.csr, at.device, &rows, &look, err));
    r->count = spryi_estimate_all(r->list, r->device, &r->features, r->threads);
    if (request->columns > 1) count_columns(r, request);
    if (spryi_is_mixed(A->a.value_type, request->vector_type)) refuse_types(r, request);
    refuse_plain_c(r, request);
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_time);
    while (r->allowed < r->count && !r->list[r->allowed].refused) r->allowed++;
    find_least(r);
done:
    spryi_close_look(&at);
    return status;
}
