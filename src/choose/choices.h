/*
 * Choices that plans with the policy "measure" made. A context remembers the choices in memory. If the user named a
 * file, they are also written to the file. plan/policy_measure.c reads and adds choices.
 */
#pragma once

#include "spry/io.h"
#include "spry/tune.h"

#include <pthread.h>
#include <stdbool.h>

enum { SPRYI_MOST_CHOICES = 4096 };

/* Choices, oldest first. */
typedef struct spryi_choice_list {
    spry_choice_info *list;
    int count, room;
} spryi_choice_list;

typedef struct spryi_choices {
    pthread_mutex_t lock;      /* guards known */
    pthread_mutex_t measuring; /* held by a plan that times formats, since two plans would disturb each other */
    spryi_choice_list known;
    char *path; /* path of the file; NULL: no file */
} spryi_choices;

/* Adds a choice as the newest. It replaces a choice with the same fingerprint, or the oldest if the list is full. */
spry_status spryi_choice_put(spry_context *context, spryi_choice_list *to, const spry_choice_info *choice,
                             spry_error *err);

void spryi_choices_open(spryi_choices *choices);
void spryi_choices_close(spry_context *context, spryi_choices *choices);

/* Returns true and fills *asked if a choice with the fingerprint and sizes of *asked is known. */
bool spryi_choice_find(spryi_choices *choices, spry_choice_info *asked);

/* Remembers a choice and writes it to the file. If writing fails, the choice is remembered nevertheless. */
spry_status spryi_choice_keep(spry_context *context, const spry_choice_info *choice, spry_error *err);
