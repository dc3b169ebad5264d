#include "choose/rank.h"

#include "catalogue/catalogue.h"
#include "choose/few.h"
#include "choose/structure.h"
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
 * The time of one of several columns. Where the kernel takes them at once the matrix is read once for all; where it
 * takes rows alone, columns that lie apart are brought into such and back. Others take each column out of rows of x and
 * put it into those of y. These passes over vectors are at the rate of csr. AT_ONCE: what multiplying takes beside the
 * bytes: on two cores of a Zen 3 grids, finite elements and random geometric graphs of 8 columns took 0.8 to 1.2 of the
 * time of their bytes, 1.1 to 1.4 IN_PLACE, sell 1.3 to 1.7 times as long as csr; on an H200 1.4 to 1.8, and more in
 * csr of 2 columns than in packed, and less where columns are scattered. NEAR: bytes of x a us that the first-level
 * caches of a GPU deliver to csr at most, to others as much more as they are faster.
 */
static void count_columns(spryi_ranking *r, const spryi_rank_request *q)
{
    const int on_cpu = spryi_class_is_cpu(q->device);
    static const double NEAR = 2e7, IN_PLACE = 1.35, IN_SELL = 1.5;
    const double AT_ONCE = on_cpu ? 1 : 1.5, IN_CSR = on_cpu ? AT_ONCE : r->features.scattered ? 1.25 : 1.8;
    const double INTO_ROWS = on_cpu ? 3 : 2, OUT_OF_ROWS = on_cpu ? 4 : 8;
    const double columns = (double)q->columns, numbers = (double)(q->A->a.rows + q->A->a.cols);
    const double size = (double)spry_type_bytes(q->vector_type), vectors = numbers * size;
    const double csr_us = r->list[0].us, csr_rate = r->list[0].bytes / csr_us;
    for (int k = 0; k < r->count; k++) {
        spryi_estimate *e = &r->list[k];
        const double matrix = fmax(e->bytes - vectors, 0);
        const at_once taken = columns_taken(e, on_cpu ? "cpu" : "cuda", &r->features);
        if (taken == ONE_BY_ONE && q->row_major) e->us += OUT_OF_ROWS * vectors / csr_rate;
        if (taken == ONE_BY_ONE) continue;
        const int in_place = on_cpu && taken == EITHER_WAY && !q->row_major;
        const double passes = in_place ? ceil(columns / SPRYI_CSR_APART) : 1;
        const double beside = in_place                             ? IN_PLACE
                              : strcmp(e->format, "csr") == 0      ? IN_CSR
                              : strncmp(e->format, "sell", 4) == 0 ? IN_SELL
                                                                   : AT_ONCE;
        double share = beside * (matrix * passes / columns + vectors) / (matrix + vectors);
        if (taken == BY_ROWS && !q->row_major) share += INTO_ROWS * vectors / (matrix + vectors);
        const double least = on_cpu ? 0 : (double)q->A->a.nnz * size / NEAR * (e->us / csr_us);
        e->us = fmin(e->us, fmax(e->us * share, least));
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
    *r = (spryi_ranking){.device = request->device, .threads = request->threads, .calls = request->calls};
    SPRYI_TRY(spryi_open_look(&at, A, request->op, request->effort, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &at.csr, request->effort, err));
    at.csr.value_type = A->a.value_type;
    SPRYI_TRY(spryi_find_features(A->context, &r->features, &at.csr, at.device, &rows, &look, err));
    r->count = spryi_estimate_all(r->list, r->device, &r->features, r->threads);
    if (request->columns > 1) count_columns(r, request);
    if (spryi_is_mixed(A->a.value_type, request->vector_type)) refuse_types(r, request);
    qsort(r->list, (size_t)r->count, sizeof *r->list, by_time);
    while (r->allowed < r->count && !r->list[r->allowed].refused) r->allowed++;
    find_least(r);
done:
    spryi_close_look(&at);
    return status;
}
