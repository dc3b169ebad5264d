#include "core/assemble.h"
#include "formats/scoo/scoo.h"

#include <string.h>

/* y_i = alpha*t_i + beta*y_i; t may be y itself where beta is 0. */
static void finish_f32(float *y, const float *t, int64_t begin, int64_t end, float alpha, float beta)
{
    for (int64_t i = begin; i < end; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

static void finish_f64(double *y, const double *t, int64_t begin, int64_t end, double alpha, double beta)
{
    for (int64_t i = begin; i < end; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

/* What both products share: sums are made in y itself where beta is 0, else in the workspace. */
typedef struct sums {
    void *y, *t;
    spry_type type;
    size_t size;
    double alpha, beta;
} sums;

static sums sums_of(const spryi_run_args *args)
{
    sums s = {
        .y = args->y,
        .type = args->vector_type,
        .size = spry_type_bytes(args->vector_type),
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    s.t = s.beta == 0 ? args->y : args->workspace;
    return s;
}

static void start(const sums *s, int64_t begin, int64_t end)
{
    if (end > begin) memset((char *)s->t + (size_t)begin * s->size, 0, (size_t)(end - begin) * s->size);
}

static void finish(const sums *s, int64_t begin, int64_t end)
{
    if (s->beta == 0 && s->alpha == 1) return;
    if (s->type == SPRY_F64)
        finish_f64(s->y, s->t, begin, end, s->alpha, s->beta);
    else
        finish_f32(s->y, s->t, begin, end, (float)s->alpha, (float)s->beta);
}

static spryi_scoo_job job_of(const spryi_scoo *s, const spryi_run_args *args)
{
    return (spryi_scoo_job){
        .offsets = s->offsets,
        .columns = s->columns,
        .rows = s->rows,
        .values = s->values,
        .x = args->x,
        .height = s->head.height,
    };
}

spry_status spryi_scoo_drive(const spryi_run_args *args, const spryi_scoo_leaves *leaves)
{
    const spryi_scoo *s = args->storage;
    const spryi_scoo_head *h = &s->head;
    const spryi_scoo_job job = job_of(s, args);
    const sums sum = sums_of(args);
    int threads = args->threads < h->slices ? args->threads : (int)(h->slices > 0 ? h->slices : 1);
    /* dynamic: slices of few rows may hold most entries; each is summed alike whoever takes it */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t b = 0; b < h->slices; b++) {
        int64_t begin = b * h->height, end = b + 1 < h->slices ? begin + h->height : h->rows;
        start(&sum, begin, end);
        leaves->slice(&job, spryi_index_at(s->offsets, h->offset_type, b),
                      spryi_index_at(s->offsets, h->offset_type, b + 1), (char *)sum.t + (size_t)begin * sum.size);
        finish(&sum, begin, end);
    }
    return SPRY_OK;
}

/* Ranges of columns, cut by the matrix alone. */
static int64_t range_count(const spryi_scoo_head *h)
{
    enum { LEAST_COLUMNS = 64 };
    int64_t ranges = h->slices > 0 ? h->nnz / h->slices / SPRYI_SCOO_MEETING : 1;
    if (ranges < SPRYI_SCOO_LEAST_RANGES) ranges = SPRYI_SCOO_LEAST_RANGES;
    if (ranges > SPRYI_SCOO_MOST_RANGES) ranges = SPRYI_SCOO_MOST_RANGES;
    int64_t most = h->cols / LEAST_COLUMNS + 1;
    return ranges < most ? ranges : most;
}

/* A range of y belongs to one thread, which meets all slices in it, in order: columns are sorted, so it finds them. */
spry_status spryi_scoo_drive_transposed(const spryi_run_args *args, const spryi_scoo_leaves *leaves)
{
    const spryi_scoo *s = args->storage;
    const spryi_scoo_head *h = &s->head;
    const spryi_scoo_job job = job_of(s, args);
    const sums sum = sums_of(args);
    int64_t ranges = range_count(h), width = h->cols / ranges, wider = h->cols % ranges;
    int threads = args->threads < ranges ? args->threads : (int)ranges;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t r = 0; r < ranges; r++) {
        int64_t left = r * width + (r < wider ? r : wider), right = left + width + (r < wider);
        start(&sum, left, right);
        for (int64_t b = 0; b < h->slices; b++) leaves->range(&job, b, left, right, sum.t);
        finish(&sum, left, right);
    }
    return SPRY_OK;
}
