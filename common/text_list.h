/* A list of words. */
#pragma once

#include <string.h>

typedef struct text_list {
    char **items;
    int count;
} text_list;

static inline int text_list_has(const text_list *list, const char *item)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) == 0) return 1;
    return 0;
}

/* 1: the text is the name of that format or kernel, with parameters behind it or without. */
static inline int text_is_named(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

/* 1: one of that name is in the list. */
static inline int text_list_names(const text_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (text_is_named(list->items[i], name)) return 1;
    return 0;
}
