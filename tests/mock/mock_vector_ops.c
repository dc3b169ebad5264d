/* Vector operations of the mock device. */
#include "base/element.h"
#include "device/vector_ops.h"
#include "mock/mock.h"
#include "spry/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- set-up of PageRank: plain loops, run immediately ---------------------------------------- */

static void open_all(void)
{
    mock_finish();
    mock_open_memory();
    mock.inspections++;
}

static double value_of(const spry_arrays *a, int64_t k)
{
    return a->value_type == SPRY_PATTERN ? 1 : spryi_value_at(a->values, a->value_type, k);
}

static spry_status inspect(const spryi_device *device, spryi_entry_facts *facts, const spry_arrays *csr,
                           spry_error *err)
{
    (void)device, (void)err;
    *facts = (spryi_entry_facts){.bad = -1, .all_ones = 1};
    open_all();
    for (int64_t k = csr->nnz - 1; k >= 0; k--) {
        const double value = value_of(csr, k);
        if (value != 1) facts->all_ones = 0;
        if (value >= 0 && isfinite(value)) continue;
        facts->bad = k;
        facts->bad_value = value;
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status add(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err)
{
    (void)device, (void)err;
    open_all();
    for (int64_t i = 0; i < csr->rows; i++) {
        sums[i] = 0;
        for (int64_t k = spryi_offset_of(csr, i); k < spryi_offset_of(csr, i + 1); k++) sums[i] += value_of(csr, k);
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status invert(const spryi_device *device, spryi_sum_facts *facts, void *factors, spry_type type,
                          const double *sums, int64_t n, spry_error *err)
{
    (void)device, (void)err;
    facts->sums_are_one = 1;
    facts->zeros = 0;
    facts->first_zero = facts->bad = -1;
    open_all();
    for (int64_t j = n - 1; j >= 0; j--) {
        const double factor = sums[j] == 0 ? 0 : 1 / sums[j];
        if (!(fabs(sums[j] - 1) <= facts->slack)) facts->sums_are_one = 0;
        spryi_set_value(factors, type, j, factor);
        if (sums[j] == 0) {
            facts->zeros++;
            facts->first_zero = j;
        } else if (!(factor >= facts->least && factor <= facts->largest)) {
            facts->bad = j;
            facts->bad_sum = sums[j];
        }
    }
    mock_close_memory();
    return SPRY_OK;
}

static void set_index(void *array, spry_index_type type, int64_t k, int64_t value)
{
    if (type == SPRY_I64)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

static spry_status transpose(const spryi_device *device, void *offsets, void *indices, void *values,
                             const spry_arrays *csr, spry_error *err)
{
    (void)device, (void)err;
    int64_t *next = calloc((size_t)csr->columns + 1, sizeof *next), begin = 0;
    if (!next) abort();
    open_all();
    for (int64_t k = 0; k < csr->nnz; k++) next[spryi_index_at(csr->indices, csr->index_type, k)]++;
    for (int64_t j = 0; j <= csr->columns; j++) {
        const int64_t count = next[j];
        set_index(offsets, csr->offset_type, j, begin);
        next[j] = begin;
        begin += count;
    }
    for (int64_t i = 0; i < csr->rows; i++)
        for (int64_t k = spryi_offset_of(csr, i); k < spryi_offset_of(csr, i + 1); k++) {
            const int64_t p = next[spryi_index_at(csr->indices, csr->index_type, k)]++;
            set_index(indices, csr->index_type, p, i);
            if (values) spryi_set_value(values, csr->value_type, p, value_of(csr, k));
        }
    mock_close_memory();
    free(next);
    return SPRY_OK;
}

static const spryi_links_passes links_passes = {.inspect = inspect,
                                                .add = add,
                                                .invert = invert,
                                                .transpose = transpose};

/* ---- recorded rounds: repeat the start of a method and copy its state ------------------------ */

enum { COPIES = 2 };

typedef struct recorded {
    spryi_start_fn start;
    void *user;
    int64_t started, seen;
    char copies[COPIES][SPRYI_STATE_BYTES];
} recorded;

typedef struct copy_task {
    const void *state;
    char *copy;
} copy_task;

static void run_copy(void *args)
{
    const copy_task *t = args;
    memcpy(t->copy, t->state, SPRYI_STATE_BYTES);
}

static spry_status record(const spryi_vector_work *w, spryi_start_fn start, void *user, void **rounds, spry_error *err)
{
    (void)w, (void)err;
    recorded *r = calloc(1, sizeof *r);
    if (!r) abort();
    r->start = start;
    r->user = user;
    *rounds = r;
    return SPRY_OK;
}

static spry_status replay(const spryi_vector_work *w, void *rounds, spry_error *err)
{
    recorded *r = rounds;
    if (r->started - r->seen == COPIES) abort(); /* the next copy would overwrite a copy that was not read */
    const copy_task work = {w->state.data, r->copies[r->started++ % COPIES]};
    const spry_status status = r->start(r->user, w->stream, err);
    mock_enqueue(run_copy, &work, sizeof work);
    return status;
}

static spry_status see(void *rounds, void *state, size_t bytes, spry_error *err)
{
    (void)err;
    recorded *r = rounds;
    if (r->started == r->seen) abort();
    mock_finish();
    memcpy(state, r->copies[r->seen++ % COPIES], bytes);
    return SPRY_OK;
}

static void forget(void *rounds)
{
    mock_finish();
    free(rounds);
}

static void record_rounds(spryi_vector_ops *ops)
{
    ops->record = record;
    ops->replay = replay;
    ops->see = see;
    ops->forget = forget;
}

/* ---- passes: the CPU's functions, which run later from the queue -------------------------------- */

typedef struct pass_task {
    spry_status (*run)(const struct pass_task *p);
    const spryi_vector_work *w;
    void *out[3];
    const void *in[3];
} pass_task;

/* A queued pass with a copy of its work: the caller's work may no longer exist when the pass runs. */
typedef struct waiting_pass {
    pass_task task;
    spryi_vector_work work;
} waiting_pass;

static void run_pass(void *args)
{
    waiting_pass *p = args;
    p->task.w = &p->work;
    if (p->task.run(&p->task) != SPRY_OK) abort();
}

static spry_status later(pass_task p)
{
    const waiting_pass waiting = {p, *p.w};
    mock_note(p.w->stream, &mock.stray_work);
    mock_enqueue(run_pass, &waiting, sizeof waiting);
    return SPRY_OK;
}

#define CG spryi_vector_ops_cpu.cg->
#define RANK spryi_vector_ops_cpu.rank->
#define PASS(name, call, ...)                                                                                          \
    static spry_status name##_now(const pass_task *p)                                                                  \
    {                                                                                                                  \
        return call;                                                                                                   \
    }                                                                                                                  \
    static spry_status name(__VA_ARGS__, spry_error *err)

/* ---- Conjugate Gradient ---- */

typedef struct cg_task {
    spry_status (*run)(const struct cg_task *t);
    spryi_vector_work w;
    spryi_cg_vectors v;
    spryi_cg_blocks M;
    spryi_cg_polynomial_step step;
    void *y, *x;
    const void *b, *q;
} cg_task;

static void run_task(void *args)
{
    const cg_task *t = args;
    if (t->run(t) != SPRY_OK) abort();
}

static spry_status start_later(cg_task t)
{
    mock_note(t.w.stream, &mock.stray_work);
    mock_enqueue(run_task, &t, sizeof t);
    return SPRY_OK;
}

#define CG_PASS(name)                                                                                                  \
    static spry_status name##_now(const cg_task *t)                                                                    \
    {                                                                                                                  \
        return CG name(&t->w, &t->v, NULL);                                                                            \
    }                                                                                                                  \
    static spry_status name(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)                    \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        return start_later((cg_task){.run = name##_now, .w = *w, .v = *v});                                            \
    }
CG_PASS(start)
CG_PASS(dots)
CG_PASS(step)
CG_PASS(next_direction)
CG_PASS(shrink)
CG_PASS(weigh)
CG_PASS(set_direction)
#undef CG_PASS

static spry_status blocks_now(const cg_task *t)
{
    return CG blocks(&t->w, &t->v, &t->M, NULL);
}
static spry_status blocks(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                          spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = blocks_now, .w = *w, .v = *v, .M = *M});
}

static spry_status polynomial_now(const cg_task *t)
{
    return CG polynomial(&t->w, &t->v, &t->step, NULL);
}
static spry_status polynomial(const spryi_vector_work *w, const spryi_cg_vectors *v,
                              const spryi_cg_polynomial_step *polynomial_step, spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = polynomial_now, .w = *w, .v = *v, .step = *polynomial_step});
}

static spry_status clear_now(const cg_task *t)
{
    return CG clear(&t->w, t->x, NULL);
}
static spry_status clear(const spryi_vector_work *w, void *x, spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = clear_now, .w = *w, .x = x});
}

static spry_status distance_now(const cg_task *t)
{
    return CG distance(&t->w, t->b, t->q, NULL);
}
static spry_status distance(const spryi_vector_work *w, const void *b, const void *q, spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = distance_now, .w = *w, .b = b, .q = q});
}

static spry_status collect_now(const cg_task *t)
{
    return CG collect(&t->w, t->y, t->x, NULL);
}
static spry_status collect(const spryi_vector_work *w, void *y, void *x, spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = collect_now, .w = *w, .y = y, .x = x});
}

static spry_status replace_now(const cg_task *t)
{
    return CG replace(&t->w, &t->v, t->b, t->q, NULL);
}
static spry_status replace(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *b, const void *q,
                           spry_error *err)
{
    (void)err;
    return start_later((cg_task){.run = replace_now, .w = *w, .v = *v, .b = b, .q = q});
}

/* ---- PageRank ---- */

PASS(rank_weigh, RANK weigh(p->w, p->in[0], NULL), const spryi_vector_work *w, const void *v)
{
    (void)err;
    return later((pass_task){rank_weigh_now, w, {NULL}, {v}});
}
PASS(rank_divide, RANK divide(p->w, p->out[0], NULL), const spryi_vector_work *w, void *v)
{
    (void)err;
    return later((pass_task){rank_divide_now, w, {v}, {NULL}});
}
PASS(rank_start, RANK start(p->w, p->out[0], p->out[1], p->in[0], p->in[1], p->in[2], NULL), const spryi_vector_work *w,
     void *z, void *y, const void *x, const void *s, const void *v)
{
    (void)err;
    return later((pass_task){rank_start_now, w, {z, y}, {x, s, v}});
}
PASS(rank_step,
     RANK step(p->w, p->out[0], p->out[1], p->in[0], p->in[1], p->in[2],
               ((const spryi_rank_state *)p->w->state.data)->norm, NULL),
     const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s, const void *v, spry_norm norm)
{
    (void)err, (void)norm;
    return later((pass_task){rank_step_now, w, {z, y_before}, {y, s, v}});
}
PASS(rank_finish, RANK finish(p->w, p->out[0], p->in[0], p->in[1], NULL), const spryi_vector_work *w, void *x,
     const void *y, const void *v)
{
    (void)err;
    return later((pass_task){rank_finish_now, w, {x}, {y, v}});
}

const spryi_vector_ops *mock_vector_ops(const spryi_device *device)
{
    static const spryi_cg_passes cg = {.start = start,
                                       .dots = dots,
                                       .step = step,
                                       .next_direction = next_direction,
                                       .shrink = shrink,
                                       .weigh = weigh,
                                       .blocks = blocks,
                                       .polynomial = polynomial,
                                       .set_direction = set_direction,
                                       .clear = clear,
                                       .distance = distance,
                                       .collect = collect,
                                       .replace = replace};
    static const spryi_rank_passes rank = {.weigh = rank_weigh,
                                           .divide = rank_divide,
                                           .start = rank_start,
                                           .step = rank_step,
                                           .finish = rank_finish};
    static spryi_vector_ops ahead = {.ahead = SPRYI_MOST_AHEAD, .cg = &cg, .rank = &rank, .links = &links_passes};
    static spryi_vector_ops recording;
    (void)device;
    ahead.block = spryi_vector_ops_cpu.block;
    ahead.most_blocks = spryi_vector_ops_cpu.most_blocks;
    recording = ahead;
    record_rounds(&recording);
    return mock.records ? &recording : &ahead;
}
