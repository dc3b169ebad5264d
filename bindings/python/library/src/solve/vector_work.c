#include "device/vector_ops.h"

#include "core/device.h"
#include "solve/solve.h"

#include <math.h>
#include <string.h>

static const spryi_vector_ops *ops_of(const spry_context *context, int number)
{
    const spryi_device *device = spryi_device_at(context, number);
    return device && device->ops && device->ops->vector_ops ? device->ops->vector_ops(device) : NULL;
}

spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, int device, void *stream, int64_t n,
                                   int64_t columns, spry_type type, spry_error *err)
{
    *w = (spryi_vector_work){.ops = ops_of(context, device),
                             .context = context,
                             .device = device,
                             .stream = stream,
                             .type = type,
                             .n = n,
                             .columns = columns};
    if (w->ops) w->ordinal = spryi_device_at(context, device)->ordinal;
    if (!w->ops)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", device, 0, "no vector work for device %d", device);
    w->blocks = (n + w->ops->block - 1) / w->ops->block;
    if (w->blocks > w->ops->most_blocks) w->blocks = w->ops->most_blocks;
    w->threads = spry_context_threads(context);
    if (w->threads > w->blocks / 4) w->threads = w->blocks < 8 ? 1 : (int)(w->blocks / 4);
    const int64_t blocks = w->blocks > 0 ? w->blocks : 1; /* a GPU starts one of nothing, too */
    const int64_t partials = columns * blocks * SPRYI_MOST_SUMS, states = columns * ((SPRYI_STATE_BYTES + 7) / 8);
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &w->partials, partials, SPRY_F64, device, err));
    return spry_vector_create(context, &w->state, states, SPRY_F64, device, err);
}

void spryi_vector_work_clear(spryi_vector_work *w)
{
    spry_vector_destroy(w->context, &w->partials);
    spry_vector_destroy(w->context, &w->state);
}

spry_status spryi_vector_put(const spryi_vector_work *w, const void *state, size_t bytes, spry_error *err)
{
    if (w->device > 0)
        return spry_device_copy(w->context, w->state.data, w->device, state, 0, (int64_t)bytes, w->stream, err);
    memcpy(w->state.data, state, bytes);
    return SPRY_OK;
}

spry_status spryi_vector_look(const spryi_vector_work *w, void *state, size_t bytes, spry_error *err)
{
    if (w->device == 0) {
        memcpy(state, w->state.data, bytes);
        return SPRY_OK;
    }
    spry_status status =
        spry_device_copy(w->context, state, 0, w->state.data, w->device, (int64_t)bytes, w->stream, err);
    return status == SPRY_OK ? spry_device_synchronize(w->context, w->device, w->stream, err) : status;
}

int64_t spryi_vector_ahead(const spryi_vector_work *w, int64_t iterations)
{
    int64_t ahead = iterations / 8 < 1 ? 1 : iterations / 8;
    return ahead > w->ops->ahead ? w->ops->ahead : ahead;
}

int64_t spryi_vector_left(double residual, double before, int64_t back, double goal, int64_t most)
{
    if (back < 1) return most < SPRYI_FEW_ROUNDS ? most : SPRYI_FEW_ROUNDS; /* nothing is known yet */
    const double ratio = residual / before, left = (double)back * log(goal / residual) / log(ratio);
    if (!(ratio < 1 && left < (double)most)) return most;
    return left > 1 ? (int64_t)ceil(left) : 1;
}

/* ---- recorded rounds ---- */

static spry_status start_recording(void *user, void *stream, spry_error *err)
{
    const spryi_recording *r = user;
    return r->start(r->user, r->count, stream, err);
}

spry_status spryi_vector_record(const spryi_vector_work *w, spryi_recorded *recorded, spryi_start_rounds_fn start,
                                void *user, spry_error *err)
{
    for (int k = 0; k < 2; k++) {
        spryi_recording *of = &recorded->of[k];
        *of = (spryi_recording){start, user, k == 0 ? SPRYI_MANY_ROUNDS : SPRYI_FEW_ROUNDS, NULL};
        SPRYI_OK_OR_RETURN(w->ops->record(w, start_recording, of, &of->rounds, err));
    }
    return SPRY_OK;
}

static spry_status see(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                       spry_error *err)
{
    const int which = recorded->on_way[recorded->seen++ % 2];
    return w->ops->see(recorded->of[which].rounds, states, bytes, err);
}

spry_status spryi_vector_advance(const spryi_vector_work *w, spryi_recorded *recorded, int64_t left, void *states,
                                 size_t bytes, int (*have_stopped)(const void *states, int64_t columns),
                                 spry_error *err)
{
    for (int64_t k = recorded->seen; k < recorded->started; k++) left -= recorded->of[recorded->on_way[k % 2]].count;
    while (recorded->started - recorded->seen < 2 && (left > 0 || recorded->started == recorded->seen)) {
        const int which = left >= SPRYI_MANY_ROUNDS ? 0 : 1;
        SPRYI_OK_OR_RETURN(w->ops->replay(w, recorded->of[which].rounds, err));
        recorded->on_way[recorded->started++ % 2] = which;
        left -= recorded->of[which].count;
    }
    SPRYI_OK_OR_RETURN(see(w, recorded, states, bytes, err));
    return have_stopped(states, w->columns) ? spryi_vector_drain(w, recorded, states, bytes, err) : SPRY_OK;
}

spry_status spryi_vector_drain(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                               spry_error *err)
{
    while (recorded->seen < recorded->started) SPRYI_OK_OR_RETURN(see(w, recorded, states, bytes, err));
    return SPRY_OK;
}

void spryi_vector_forget(const spryi_vector_work *w, spryi_recorded *recorded)
{
    for (int k = 0; k < 2; k++)
        if (recorded->of[k].rounds) w->ops->forget(recorded->of[k].rounds);
    *recorded = (spryi_recorded){.started = 0};
}
