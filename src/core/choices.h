/*
 * What plans of policy "measure" took, as a context remembers it: in memory, and in a file where it was given one.
 * plan/policy_measure.c asks and adds; io/choices_file.c reads and writes the file.
 */
#pragma once

#include "spry/io.h"

#include <pthread.h>

enum { SPRYI_MOST_CHOICES = 4096 };

/* The oldest first. */
typedef struct spryi_choice_list {
    spry_choice_info *list;
    int count, room;
} spryi_choice_list;

typedef struct spryi_choices {
    pthread_mutex_t lock;      /* of known */
    pthread_mutex_t measuring; /* held by the plan that times formats: two would disturb each other */
    spryi_choice_list known;
    char *path; /* of the file; NULL: none */
    /* Puts a choice into the file. */
    spry_status (*write)(spry_context *context, const spry_choice_info *made, spry_error *err);
} spryi_choices;

/* As the newest, in place of one of the same fingerprint; the oldest makes way where there are too many. */
spry_status spryi_choice_put(spry_context *context, spryi_choice_list *to, const spry_choice_info *made,
                             spry_error *err);
void spryi_choice_list_clear(spry_context *context, spryi_choice_list *list);

/* Of a context that is made, and that ends. */
void spryi_choices_open(spryi_choices *choices);
void spryi_choices_close(spry_context *context);

/* 1: the context remembers a choice with the fingerprint and the sizes of `asked`, which is filled with it. */
int spryi_choice_find(spry_context *context, spry_choice_info *asked);

/* Remembers a choice and writes it into the context's file, where it has one; it is remembered if that fails, too. */
spry_status spryi_choice_keep(spry_context *context, const spry_choice_info *made, spry_error *err);
