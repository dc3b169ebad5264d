/* Recorded rounds of the mock device: what a method starts is started again, and the state copied behind it. */
#include "mock/mock.h"

#include "device/vector_ops.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 2 };

typedef struct recorded {
    spryi_start_fn start;
    void *user;
    int64_t started, seen;
    char copies[LOOKS][SPRYI_STATE_BYTES];
} recorded;

typedef struct look_task {
    const void *state;
    char *copy;
} look_task;

static void run_look(void *args)
{
    const look_task *t = args;
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
    if (r->started - r->seen == LOOKS) abort(); /* a copy that nobody has seen would be lost */
    const look_task look = {w->state.data, r->copies[r->started++ % LOOKS]};
    const spry_status status = r->start(r->user, w->stream, err);
    mock_enqueue(run_look, &look, sizeof look);
    return status;
}

static spry_status see(void *rounds, void *state, size_t bytes, spry_error *err)
{
    (void)err;
    recorded *r = rounds;
    if (r->started == r->seen) abort();
    mock_finish();
    memcpy(state, r->copies[r->seen++ % LOOKS], bytes);
    return SPRY_OK;
}

static void forget(void *rounds)
{
    mock_finish();
    free(rounds);
}

void mock_record_rounds(spryi_vector_ops *ops)
{
    ops->record = record;
    ops->replay = replay;
    ops->see = see;
    ops->forget = forget;
}
