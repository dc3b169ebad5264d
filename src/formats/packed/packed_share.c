/*
 * Values that slices of a group share (packed.h): while a group is stored, each slice's are compared with the last few
 * that it kept, and those found again are given up; then the groups move together.
 *
 * Cost: a slice is compared only with those whose first entry it has, so that values that do not repeat are not looked
 * at twice. Source: this library.
 */
#include "base/memory.h"
#include "formats/packed/packed_group.h"
#include "matrix/columns.h"

#include <math.h>
#include <string.h>

int spryi_packed_may_share(spryi_packed_group *g, const spryi_packed_draft *n, const spryi_packed_location *at)
{
    const size_t size = spry_type_bytes(g->s->a.value_type);
    spryi_packed_kept *now = &g->kept[g->kept_count % SPRYI_PACKED_KEPT];
    int l = 0, may = 0;
    if (!g->share || n->entries == 0) return 0;
    while (n->length[l] == 0) l++;
    *now = (spryi_packed_kept){at->values, spryi_packed_room(n) * n->b * n->b, 0};
    memcpy(&now->first, (const char *)g->csr->values + (size_t)n->begin[l] * size, size);
    for (int q = 0; q < g->kept_count && q < SPRYI_PACKED_KEPT; q++)
        may |= &g->kept[q] != now && g->kept[q].first == now->first;
    g->kept_count++;
    return may && g->alone <= g->shared + SPRYI_PACKED_KEPT;
}

int spryi_packed_share_values(spryi_packed_group *g, const spryi_packed_draft *n, spryi_packed_location *at)
{
    const size_t size = spry_type_bytes(g->s->a.value_type);
    const int unaligned = n->full || n->padded ? SPRYI_PACKED_LANES - 1 : 0;
    const spryi_packed_kept now = g->kept[(g->kept_count - 1) % SPRYI_PACKED_KEPT];
    const char *values = g->s->values;
    for (int q = 0; q < g->kept_count - 1 && q < SPRYI_PACKED_KEPT; q++) {
        const spryi_packed_kept old = g->kept[q];
        if (old.at == now.at || old.first != now.first || old.count < now.count || old.at & unaligned ||
            memcmp(values + (size_t)old.at * size, values + (size_t)now.at * size, (size_t)now.count * size) != 0)
            continue;
        at->values = old.at;
        g->shared++;
        g->kept_count--;
        return 1;
    }
    g->alone++;
    return 0;
}

/* Numbers that the groups take of the values, each from a multiple of the lanes on. */
static int64_t numbers_taken(const spryi_packed_plan *plans, int64_t groups)
{
    int64_t sum = 0;
    for (int64_t n = 0; n < groups; n++) sum += plans[n].numbers;
    return sum;
}

void spryi_packed_close_gaps(spry_context *context, spryi_packed *s, const spryi_packed_plan *plans, int64_t groups)
{
    enum { PART = 2 }; /* of the values that have to be there for it to pay */
    const size_t size = spry_type_bytes(s->a.value_type);
    const int64_t taken = numbers_taken(plans, groups);
    void *values = NULL;
    if (s->slots == 0 || taken > s->slots / PART ||
        spryi_allocate(context, &values, taken, size, "values", NULL) != SPRY_OK)
        return;
    int64_t to = 0;
    for (int64_t n = 0; n < groups; n++) {
        const int64_t from = plans[n].at.slots;
        memcpy((char *)values + (size_t)to * size, (const char *)s->values + (size_t)from * size,
               (size_t)plans[n].numbers * size);
        for (int64_t k = plans[n].at.slices; k < plans[n + 1].at.slices; k++)
            spryi_packed_set_values_at(&s->slices[k], spryi_packed_values_at(&s->slices[k]) - from + to);
        to += plans[n].numbers;
    }
    spryi_release(context, s->values);
    s->values = values;
    s->slots = taken;
}

void spryi_packed_count_pairs(const spry_arrays *csr, int64_t begin, int64_t end, spryi_packed_pairs *pairs)
{
    const size_t size = spry_type_bytes(csr->value_type);
    for (int64_t i = begin; i + 1 < end; i++) {
        const int64_t at = spryi_offset_of(csr, i), next = spryi_offset_of(csr, i + 1);
        const int64_t length = next - at, other = spryi_offset_of(csr, i + 2) - next;
        const char *values = csr->values;
        if (length == 0 || other == 0) continue;
        const int same = memcmp(values + (size_t)at * size, values + (size_t)next * size,
                                (size_t)(length < other ? length : other) * size) == 0;
        pairs->seen += same || length == other;
        pairs->same += same;
    }
}

double spryi_packed_shared_slices(const spryi_packed_pairs *pairs)
{
    if (pairs->seen == 0) return 0;
    return pow((double)pairs->same / (double)pairs->seen, SPRYI_PACKED_LANES - 1);
}
