/* Reads slices of windowed: finds the positions of a slice's parts, and reads its dictionary indices run by run. */
#pragma once

#include "formats/windowed/windowed_layout.h"

/* A slice with the addresses of its parts. */
typedef struct spryi_windowed_view {
    int groups, width, whole, run, bits;
    int64_t stride;
    const uint32_t *rows;   /* 32 */
    const uint8_t *group;   /* group of each lane; NULL: lane l has group l */
    const uint16_t *length; /* length of each group, in runs */
    const uint32_t *words;  /* word 0 of group 0 */
    int64_t values;         /* index of the slice's first value */
} spryi_windowed_view;

static inline int spryi_windowed_group(const spryi_windowed_view *v, int lane)
{
    return v->group ? v->group[lane] : lane;
}

/* Returns the number of groups that have word q of the indices. They are the first groups. */
static inline int spryi_windowed_groups_with(const spryi_windowed_view *v, int64_t q)
{
    int count = 0;
    while (count < v->groups && (int64_t)v->length[count] * v->bits > 32 * q) count++;
    return count;
}

/* Returns the view of slice k of window w. */
static inline spryi_windowed_view spryi_windowed_view_of(const spryi_windowed *s, const spryi_windowed_window *w,
                                                         int64_t k)
{
    const spryi_windowed_slice *t = &s->slices[k];
    const uint8_t *head = s->indices + (int64_t)t->indices * SPRYI_WINDOWED_UNIT;
    spryi_windowed_view v = {
        .groups = t->groups,
        .width = t->width,
        .whole = t->whole,
        .run = w->run,
        .bits = w->bits,
        .stride = w->run > 1 ? s->stride : 1,
        .rows = s->rows + k * SPRYI_WINDOWED_LANES,
        .values = (int64_t)t->values * SPRYI_WINDOWED_ALIGN,
    };
    if (v.groups < SPRYI_WINDOWED_LANES) {
        v.group = head;
        head += SPRYI_WINDOWED_LANES;
    }
    v.length = (const uint16_t *)(const void *)head;
    v.words = (const uint32_t *)(const void *)(head + (v.groups + 1) / 2 * 4);
    return v;
}

/* Reads a slice run by run. */
typedef struct spryi_windowed_reader {
    spryi_windowed_view v;
    int t;                /* next run */
    const uint32_t *word; /* word q of group 0; the index of run t begins in word q */
    int64_t q;
    int groups_with, groups_next;          /* number of groups that have word q, and that have word q + 1 */
    uint16_t number[SPRYI_WINDOWED_LANES]; /* dictionary index of each group that has the run */
} spryi_windowed_reader;

static inline void spryi_windowed_open(spryi_windowed_reader *r, const spryi_windowed_view *v)
{
    r->v = *v;
    r->t = 0;
    r->word = v->words;
    r->q = 0;
    r->groups_with = spryi_windowed_groups_with(v, 0);
    r->groups_next = spryi_windowed_groups_with(v, 1);
}

/* Reads the dictionary indices of the next run, for the groups that have it. Returns 0 after the last run. */
static inline int spryi_windowed_next(spryi_windowed_reader *r)
{
    const spryi_windowed_view *v = &r->v;
    if (r->t >= v->width) return 0;
    const int bit = r->t * v->bits;
    for (; r->q < bit / 32; r->q++) {
        r->word += r->groups_with;
        r->groups_with = r->groups_next;
        r->groups_next = spryi_windowed_groups_with(v, r->q + 2);
    }
    const uint32_t mask = (1u << v->bits) - 1;
    for (int g = 0; g < v->groups && v->length[g] > r->t; g++) {
        uint64_t both = r->word[g];
        if (bit % 32 + v->bits > 32) both |= (uint64_t)r->word[r->groups_with + g] << 32;
        r->number[g] = (uint16_t)(both >> bit % 32 & mask);
    }
    r->t++;
    return 1;
}

/* Returns the number of lanes that have run t of a slice. They are the first lanes. */
static inline int spryi_windowed_lanes(const spryi_windowed_view *v, int t)
{
    int lanes = 0;
    while (lanes < SPRYI_WINDOWED_LANES && v->length[spryi_windowed_group(v, lanes)] > t) lanes++;
    return lanes;
}

/* Returns the column at index d of a window's dictionary. */
static inline int64_t spryi_windowed_column(const spryi_windowed *s, const spryi_windowed_window *w, int64_t d)
{
    int64_t page = w->page;
    while (page + 1 < w[1].page && s->pages[page + 1].first <= d) page++;
    return (int64_t)s->pages[page].high << SPRYI_WINDOWED_PAGE_BITS |
           s->dictionary[(int64_t)w->dictionary * SPRYI_WINDOWED_DICTIONARY + d];
}
