/* Data of a context for choices: loaded tuning tables and measured choices. The first write creates the struct. */
#pragma once

#include "base/context.h"
#include "choose/choices.h"
#include "choose/rates.h"
#include "matrix/group_sizes.h"

typedef struct spryi_choose_state {
    spryi_attached attached;                                   /* must be first */
    const spryi_device_class *classes[SPRYI_MOST_OWN_CLASSES]; /* replace the library's classes of the same names */
    int class_count;
    spryi_group_table groups;
    spryi_choices choices;
} spryi_choose_state;

/* Returns the state of a context; NULL if the context has none. */
static inline spryi_choose_state *spryi_choose_state_of(const spry_context *context)
{
    return (spryi_choose_state *)atomic_load(&context->choose);
}

/* Returns the state, and creates it if there is none. Thread-safe. */
spry_status spryi_choose_state_get(spry_context *context, spryi_choose_state **state, spry_error *err);

/* Releases the state if it holds nothing. No other thread may use the context during the call. */
void spryi_choose_state_release_empty(spry_context *context);

/* Returns the sizes of CSR-k's groups that were loaded, or zeros if none were loaded; NULL if there is no state. */
static inline const spryi_group_table *spryi_loaded_groups(const spry_context *context)
{
    const spryi_choose_state *state = spryi_choose_state_of(context);
    return state ? &state->groups : NULL;
}
