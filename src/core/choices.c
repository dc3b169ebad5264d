#include "core/choices.h"

#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

static int place_of(const spryi_choice_list *list, const char *fingerprint)
{
    for (int c = list->count - 1; c >= 0; c--)
        if (strcmp(list->list[c].fingerprint, fingerprint) == 0) return c;
    return -1;
}

/* Room for one more. */
static spry_status make_room(spry_context *context, spryi_choice_list *list, spry_error *err)
{
    spry_choice_info *larger = NULL;
    const int room = list->room > 0 ? 2 * list->room : 8;
    if (list->count < list->room) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &larger, room, "choices that were measured", err));
    if (list->count > 0) memcpy(larger, list->list, (size_t)list->count * sizeof *larger);
    spryi_release(context, list->list);
    list->list = larger;
    list->room = room;
    return SPRY_OK;
}

static void take_out(spryi_choice_list *list, int place)
{
    list->count--;
    memmove(list->list + place, list->list + place + 1, (size_t)(list->count - place) * sizeof *list->list);
}

spry_status spryi_choice_put(spry_context *context, spryi_choice_list *to, const spry_choice_info *made,
                             spry_error *err)
{
    const int same = place_of(to, made->fingerprint);
    if (same >= 0) take_out(to, same);
    if (to->count == SPRYI_MOST_CHOICES) take_out(to, 0);
    SPRYI_OK_OR_RETURN(make_room(context, to, err));
    to->list[to->count++] = *made;
    return SPRY_OK;
}

void spryi_choice_list_clear(spry_context *context, spryi_choice_list *list)
{
    spryi_release(context, list->list);
    *list = (spryi_choice_list){0};
}

void spryi_choices_open(spryi_choices *choices)
{
    pthread_mutex_init(&choices->lock, NULL); /* cannot fail with default attributes where we build for */
    pthread_mutex_init(&choices->measuring, NULL);
}

void spryi_choices_close(spry_context *context)
{
    spryi_choices *choices = &context->choices;
    spryi_choice_list_clear(context, &choices->known);
    spryi_release(context, choices->path);
    pthread_mutex_destroy(&choices->lock);
    pthread_mutex_destroy(&choices->measuring);
}

int spryi_choice_find(spry_context *context, spry_choice_info *asked)
{
    spryi_choices *choices = &context->choices;
    pthread_mutex_lock(&choices->lock);
    const int place = place_of(&choices->known, asked->fingerprint);
    const spry_choice_info *found = place >= 0 ? &choices->known.list[place] : NULL;
    const int same = found && found->rows == asked->rows && found->cols == asked->cols && found->nnz == asked->nnz;
    if (same) *asked = *found;
    pthread_mutex_unlock(&choices->lock);
    return same;
}

spry_status spryi_choice_keep(spry_context *context, const spry_choice_info *made, spry_error *err)
{
    spryi_choices *choices = &context->choices;
    pthread_mutex_lock(&choices->lock);
    const spry_status status = spryi_choice_put(context, &choices->known, made, err);
    pthread_mutex_unlock(&choices->lock);
    return status == SPRY_OK && choices->path ? choices->write(context, made, err) : status;
}
