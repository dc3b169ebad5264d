#include "formats/packed/packed_reader.h"

uint32_t spryi_packed_row_mask(const spryi_packed_view *v)
{
    uint32_t lanes = v->lanes == SPRYI_PACKED_LANES ? UINT32_MAX : (1u << v->lanes) - 1;
    for (int l = 0; v->lengths && l < v->lanes; l++)
        if (v->lengths[l] == SPRYI_PACKED_LONG_ROW) lanes &= ~(1u << l);
    return lanes;
}

uint32_t spryi_packed_slot_mask(const spryi_packed_view *v, int k)
{
    if (v->full) return UINT32_MAX;
    const int bytes = spryi_packed_mask_bytes(v->width);
    uint32_t mask = 0;
    for (int l = 0; v->masks && l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(v->masks[l * bytes + k / 8] >> k % 8 & 1) << l;
    for (int l = 0; v->lengths && l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(v->lengths[l] > k && v->lengths[l] != SPRYI_PACKED_LONG_ROW) << l;
    return mask;
}

void spryi_packed_open(spryi_packed_reader *r, const spryi_packed *s, int64_t slice)
{
    r->s = s;
    r->v = spryi_packed_view_of(s, slice);
    r->before = r->count = 0;
    r->slot = -1;
}

int spryi_packed_next(spryi_packed_reader *r)
{
    const spryi_packed_view *v = &r->v;
    r->before += r->count;
    if (++r->slot >= v->width) return 0;
    const int64_t first = v->dense ? r->slot * (int64_t)SPRYI_PACKED_LANES : r->before; /* entry or block */
    r->mask = spryi_packed_slot_mask(v, r->slot);
    r->at = v->values + first * v->b * v->b;
    r->count = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(r->mask >> l & 1)) continue;
        r->rank[l] = v->dense ? l : r->count;
        r->count++;
        const int64_t k = first + r->rank[l];
        if (v->kind == SPRYI_PACKED_DIAGONALS)
            r->column[l] = v->row / v->b + l + v->distances[r->slot];
        else if (v->kind == SPRYI_PACKED_OFFSETS)
            r->column[l] = v->first + ((const uint16_t *)v->columns)[k];
        else
            r->column[l] = spryi_index_at(v->columns, r->s->a.index_type, k);
    }
    r->stride = v->dense ? SPRYI_PACKED_LANES : r->count;
    return 1;
}
