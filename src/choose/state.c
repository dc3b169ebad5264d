#include "choose/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static void close_state(spry_context *context, spryi_attached *attached)
{
    spryi_choose_state *state = (spryi_choose_state *)attached;
    for (int n = 0; n < state->class_count; n++) spryi_release(context, (void *)(uintptr_t)state->classes[n]);
    spryi_choices_close(context, &state->choices);
    spryi_release(context, state);
}

spry_status spryi_choose_state_get(spry_context *context, spryi_choose_state **state, spry_error *err)
{
    *state = spryi_choose_state_of(context);
    if (*state) return SPRY_OK;
    spryi_choose_state *created = NULL;
    spryi_attached *existing = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &created, 1, "state of the choice among formats", err));
    memset(created, 0, sizeof *created);
    created->attached.close = close_state;
    spryi_choices_open(&created->choices);
    *state = created;
    if (atomic_compare_exchange_strong(&context->choose, &existing, &created->attached)) return SPRY_OK;
    close_state(context, &created->attached); /* another thread was first */
    *state = (spryi_choose_state *)existing;
    return SPRY_OK;
}

void spryi_choose_state_release_empty(spry_context *context)
{
    static const spryi_group_table none = {0};
    spryi_choose_state *state = spryi_choose_state_of(context);
    if (!state || state->class_count > 0 || state->choices.path || state->choices.known.count > 0 ||
        memcmp(&state->groups, &none, sizeof none) != 0)
        return;
    atomic_store(&context->choose, NULL);
    close_state(context, &state->attached);
}
