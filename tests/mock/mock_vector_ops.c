/* Vector work of the mock device: the CPU's, later. */
#include "mock/mock.h"

#include "device/vector_ops.h"

#include <stdlib.h>

typedef struct pass_task {
    spry_status (*run)(const struct pass_task *p);
    const spryi_vector_work *w;
    void *out[3];
    const void *in[3];
} pass_task;

/* As it waits: the caller's work may be gone by then. */
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

PASS(start, CG start(p->w, p->out[0], p->out[1], p->in[0], p->in[1], p->in[2], NULL), const spryi_vector_work *w,
     void *r, void *p, const void *b, const void *q, const void *D)
{
    (void)err;
    return later((pass_task){start_now, w, {r, p}, {b, q, D}});
}
PASS(dots, CG dots(p->w, p->in[0], p->in[1], p->in[2], NULL), const spryi_vector_work *w, const void *p, const void *q,
     const void *D)
{
    (void)err;
    return later((pass_task){dots_now, w, {NULL}, {p, q, D}});
}
PASS(step, CG step(p->w, p->out[0], p->out[1], p->out[2], p->in[0], p->in[1], NULL), const spryi_vector_work *w,
     void *x, void *r, void *p, const void *q, const void *D)
{
    (void)err;
    return later((pass_task){step_now, w, {x, r, p}, {q, D}});
}
PASS(next_direction, CG next_direction(p->w, p->out[0], p->out[1], p->in[0], p->in[1], NULL),
     const spryi_vector_work *w, void *x, void *p, const void *r, const void *D)
{
    (void)err;
    return later((pass_task){next_direction_now, w, {x, p}, {r, D}});
}
PASS(clear, CG clear(p->w, p->out[0], NULL), const spryi_vector_work *w, void *x)
{
    (void)err;
    return later((pass_task){clear_now, w, {x}, {NULL}});
}
PASS(distance, CG distance(p->w, p->in[0], p->in[1], NULL), const spryi_vector_work *w, const void *b, const void *q)
{
    (void)err;
    return later((pass_task){distance_now, w, {NULL}, {b, q}});
}
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
                                       .clear = clear,
                                       .distance = distance};
    static const spryi_rank_passes rank = {.weigh = rank_weigh,
                                           .divide = rank_divide,
                                           .start = rank_start,
                                           .step = rank_step,
                                           .finish = rank_finish};
    static spryi_vector_ops ahead = {.ahead = SPRYI_MOST_AHEAD, .cg = &cg, .rank = &rank, .links = &mock_links_passes};
    static spryi_vector_ops recording;
    (void)device;
    ahead.block = spryi_vector_ops_cpu.block;
    ahead.most_blocks = spryi_vector_ops_cpu.most_blocks;
    recording = ahead;
    mock_record_rounds(&recording);
    return mock.records ? &recording : &ahead;
}
