/* A list of words. */
#ifndef SPRY_COMMON_TEXT_LIST_H
#define SPRY_COMMON_TEXT_LIST_H

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

#endif
