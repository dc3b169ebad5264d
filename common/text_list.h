/* A list of words. */
#pragma once

#include <stdbool.h>
#include <string.h>

typedef struct text_list {
    char **items;
    int count;
} text_list;

static inline bool text_list_has(const text_list *list, const char *item)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) == 0) return true;
    return false;
}

/* Returns true if the text is the format or kernel of this name, with or without parameters. */
static inline bool text_is_named(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

/* Returns true if the list has the format or kernel of this name, with or without parameters. */
static inline bool text_list_names(const text_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (text_is_named(list->items[i], name)) return true;
    return false;
}
