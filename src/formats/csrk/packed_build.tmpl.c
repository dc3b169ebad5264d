/* From CSR to the slices of one super-super-row; counted first, then filled in by the same steps. */

/* Lanes of `count` rows, or block rows, from `row` on. */
static void SPRY_FN(take_lanes)(const spryi_packed_walk *w, spryi_packed_lanes *n, int64_t row, int b, int count)
{
    const SPRY_P *Ap = w->csr->offsets;
    n->row = row;
    n->b = b;
    n->count = count;
    n->outside = 0;
    n->entries = 0;
    n->longest = 0;
    n->sorted = w->sorted;
    int32_t differs = 0;
    for (int l = 0; l < count; l++) {
        const int64_t i = w->sorted ? w->begin + w->order[row - w->begin + l] : row + (int64_t)l * b;
        const int64_t length = Ap[i + 1] - Ap[i];
        const int is_long = length > w->long_over;
        n->begin[l] = Ap[i];
        n->length[l] = is_long ? 0 : (int32_t)length / b;
        n->outside |= (uint32_t)is_long << l;
        n->entries += n->length[l];
        n->longest = n->length[l] > n->longest ? n->length[l] : n->longest;
        differs |= n->length[l] ^ n->length[0];
    }
    for (int l = count; l < SPRYI_PACKED_LANES; l++) n->length[l] = 0;
    n->even = count == SPRYI_PACKED_LANES && !differs && !n->outside;
}

/* Whether `rows` rows from `row` on, a multiple of b, are dense b x b blocks at multiples of b. */
static int SPRY_FN(has_blocks)(const spryi_packed_walk *w, int64_t row, int64_t rows, int b)
{
    const SPRY_P *Ap = w->csr->offsets;
    for (int64_t i = row; i < row + rows; i += b) {
        const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + Ap[i];
        const int64_t length = Ap[i + 1] - Ap[i];
        if (length % b != 0 || length > (int64_t)SPRYI_PACKED_MOST_WIDTH * b || length > w->long_over) return 0;
        for (int r = 1; r < b; r++)
            if (Ap[i + r + 1] - Ap[i + r] != length || memcmp(Aj, Aj + r * length, (size_t)length * sizeof *Aj) != 0)
                return 0;
        for (int64_t k = 0; k < length; k += b) {
            if (Aj[k] % b != 0) return 0;
            for (int c = 1; c < b; c++)
                if (Aj[k + c] != Aj[k] + c) return 0;
        }
    }
    return 1;
}

static inline int64_t SPRY_FN(column)(const spryi_packed_walk *w, const spryi_packed_lanes *n, int l, int64_t k)
{
    const SPRY_J *Aj = w->csr->indices;
    return n->b == 1 ? Aj[n->begin[l] + k] : Aj[n->begin[l] + k * n->b] / n->b;
}

/* 1 if all lanes, of one length, have the columns of the one before plus one. */
static int SPRY_FN(all_step)(const spryi_packed_walk *w, const spryi_packed_lanes *n)
{
    const int b = n->b;
    const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + n->begin[0];
    const int64_t length = n->length[0];
    SPRY_J other = 0;
    if (b == 1 && !n->sorted) {
        for (int64_t k = length; k < SPRYI_PACKED_LANES * length; k++) other |= (Aj[k] - Aj[k - length]) ^ 1;
        return other == 0;
    }
    for (int l = 1; l < SPRYI_PACKED_LANES && other == 0; l++) {
        const SPRY_J *before = (const SPRY_J *)w->csr->indices + n->begin[l - 1];
        const SPRY_J *own = (const SPRY_J *)w->csr->indices + n->begin[l];
        for (int64_t k = 0; k < length * b; k += b) other |= (own[k] - before[k]) ^ (SPRY_J)b;
    }
    return other == 0;
}

/* The distances of all lanes, rising; -1 where they are more than `most` or those of a lane do not rise. */
static int SPRY_FN(find_distances)(const spryi_packed_walk *w, spryi_packed_lanes *n, int most)
{
    int found = 0;
    const int lanes = n->even && SPRY_FN(all_step)(w, n) ? 1 : n->count;
    for (int l = 0; l < lanes; l++) {
        const int64_t own = n->row / n->b + l;
        int64_t before = INT64_MIN;
        for (int32_t k = 0, d = 0; k < n->length[l]; k++, d++) {
            const int64_t distance = SPRY_FN(column)(w, n, l, k) - own;
            if (distance <= before || distance != (int32_t)distance) return -1;
            before = distance;
            while (d < found && n->distances[d] < distance) d++;
            if (d < found && n->distances[d] == distance) continue;
            if (found == most) return -1;
            for (int q = found++; q > d; q--) n->distances[q] = n->distances[q - 1];
            n->distances[d] = (int32_t)distance;
        }
    }
    return found;
}

/* Settles all of it if the slice is best STEPPED. */
static int SPRY_FN(settle_steps)(const spryi_packed_walk *w, spryi_packed_lanes *n)
{
    const int most = spryi_packed_most_steps(n), steps = most >= 0 ? SPRY_FN(find_distances)(w, n, most) : -1;
    const int listed = steps == w->list && memcmp(n->distances, w->distances, (size_t)steps * 4) == 0;
    if (!spryi_packed_steps_pay(n, steps, listed)) return 0;
    spryi_packed_settle_stepped(n, steps, listed);
    return 1;
}

/* Settles kind, full, width, shared, padded and low: what costs the fewest bytes. */
static void SPRY_FN(settle)(const spryi_packed_walk *w, spryi_packed_lanes *n)
{
    if (SPRY_FN(settle_steps)(w, n)) return;
    int64_t low = INT64_MAX, high = -1;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + n->begin[l];
        for (int64_t k = 0, end = (int64_t)n->length[l] * n->b; k < end; k += n->b) {
            low = Aj[k] < low ? Aj[k] : low;
            high = Aj[k] > high ? Aj[k] : high;
        }
    }
    spryi_packed_settle_indexed(n, low / n->b, high < 0 ? high : high / n->b);
}

/* As the survey settled it. */
static void SPRY_FN(recall)(const spryi_packed_walk *w, spryi_packed_lanes *n, const spryi_packed_settled *r)
{
    recall(n, r);
    if (n->kind != SPRYI_PACKED_STEPPED) return;
    if (n->shared)
        memcpy(n->distances, w->distances, (size_t)n->width * sizeof *n->distances);
    else
        SPRY_FN(find_distances)(w, n, spryi_packed_most_steps(n));
}

/* The lanes that have slot k, in order, and how many they are; next[l]: entries of lane l that were taken. */
static int SPRY_FN(slot)(const spryi_packed_walk *w, const spryi_packed_lanes *n, int k, const int32_t *next, int *lane)
{
    int count = 0;
    for (int l = 0; l < n->count; l++) {
        if (next[l] == n->length[l]) continue;
        if (n->kind == SPRYI_PACKED_STEPPED && !n->full &&
            SPRY_FN(column)(w, n, l, next[l]) - (n->row / n->b + l) != n->distances[k])
            continue;
        lane[count++] = l;
    }
    return count;
}

/* Values and indices of a slice whose lanes lie side by side in each slot. */
static void SPRY_FN(fill_slots)(const spryi_packed_walk *w, const spryi_packed_lanes *n, SPRY_V *Vx, uint8_t *masks,
                                void *indices)
{
    const SPRY_V *Ax = w->csr->values;
    const int b = n->b;
    int32_t next[SPRYI_PACKED_LANES] = {0};
    int lane[SPRYI_PACKED_LANES];
    int64_t before = 0;
    for (int k = 0; k < n->width; k++) {
        const int count = SPRY_FN(slot)(w, n, k, next, lane);
        for (int r = 0; Ax && r < b; r++)
            for (int c = 0; c < b; c++)
                for (int q = 0; q < count; q++) {
                    const int l = lane[q];
                    Vx[((int64_t)r * b + c) * count + q] =
                        Ax[n->begin[l] + ((int64_t)r * n->length[l] + next[l]) * b + c];
                }
        if (Ax) Vx += (int64_t)b * b * count;
        for (int q = 0; q < count; q++) {
            const int64_t j = SPRY_FN(column)(w, n, lane[q], next[lane[q]]);
            if (n->kind == SPRYI_PACKED_OFFSETS)
                ((uint16_t *)indices)[before + q] = (uint16_t)(j - n->low);
            else if (n->kind == SPRYI_PACKED_WIDE)
                ((SPRY_J *)indices)[before + q] = (SPRY_J)j;
            else if (masks)
                set_bit(masks, spryi_packed_mask_bytes(n->width), lane[q], k);
            next[lane[q]]++;
        }
        before += count;
    }
}

/*
 * Values and indices of a slice whose slots have room for all lanes: number e of the block in slot d of lane l is value
 * 32*(d*b*b + e) + l. kind and b are constants.
 */
static inline __attribute__((always_inline)) void SPRY_FN(fill_room)(const spryi_packed_walk *w,
                                                                     const spryi_packed_lanes *n, SPRY_V *Vx,
                                                                     uint8_t *masks, void *indices, const int kind,
                                                                     const int b)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const int stepped = kind == SPRYI_PACKED_STEPPED, holes = stepped && !n->full;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + n->begin[l];
        const SPRY_V *Ax = Vx ? (const SPRY_V *)w->csr->values + n->begin[l] : NULL;
        const int64_t own = n->row / n->b + l, length = n->length[l];
        uint32_t mask = 0;
        for (int64_t k = 0, d = 0; k < length; k++, d++) {
            if (holes) {
                while (n->distances[d] != Aj[k * b] / b - own) d++;
                mask |= 1u << d;
            } else if (kind == SPRYI_PACKED_OFFSETS) {
                ((uint16_t *)indices)[LANES * k + l] = (uint16_t)(Aj[k * b] / b - (SPRY_J)n->low);
            } else if (kind == SPRYI_PACKED_WIDE) {
                ((SPRY_J *)indices)[LANES * k + l] = Aj[k * b] / b;
            }
            for (int r = 0; Ax && r < b; r++)
                for (int c = 0; c < b; c++) Vx[((d * b + r) * b + c) * LANES + l] = Ax[(r * length + k) * b + c];
        }
        if (holes) {
            const int bytes = spryi_packed_mask_bytes(n->width);
            for (int q = 0; q < bytes; q++) masks[l * bytes + q] = (uint8_t)(mask >> 8 * q);
        }
    }
}

static void SPRY_FN(fill)(const spryi_packed_walk *w, const spryi_packed_lanes *n, SPRY_V *Vx, uint8_t *masks,
                          void *indices)
{
    if (!n->full && !n->padded) {
        SPRY_FN(fill_slots)(w, n, Vx, masks, indices);
        return;
    }
    switch (n->b) {
    case 1: break;
    case 2: SPRY_FN(fill_room)(w, n, Vx, masks, indices, n->kind, 2); return;
    case 3: SPRY_FN(fill_room)(w, n, Vx, masks, indices, n->kind, 3); return;
    case 4: SPRY_FN(fill_room)(w, n, Vx, masks, indices, n->kind, 4); return;
    default: SPRY_FN(fill_room)(w, n, Vx, masks, indices, n->kind, 5); return;
    }
    if (n->kind == SPRYI_PACKED_STEPPED)
        SPRY_FN(fill_room)(w, n, Vx, masks, indices, SPRYI_PACKED_STEPPED, 1);
    else if (n->kind == SPRYI_PACKED_OFFSETS)
        SPRY_FN(fill_room)(w, n, Vx, masks, indices, SPRYI_PACKED_OFFSETS, 1);
    else
        SPRY_FN(fill_room)(w, n, Vx, masks, indices, SPRYI_PACKED_WIDE, 1);
}

/* Writes slice k, at its place. */
static void SPRY_FN(put_slice)(const spryi_packed_walk *w, const spryi_packed_lanes *n, int64_t k,
                               const spryi_packed_place *place)
{
    spryi_packed *s = w->s;
    uint8_t *indices = s->indices + place->indices * SPRYI_PACKED_UNIT;
    const int stepped = n->kind == SPRYI_PACKED_STEPPED;
    s->slices[k] = spryi_packed_record(n, place);
    s->extras[k] = spryi_packed_extra(n, place);
    if (stepped && !n->shared) memcpy(indices, n->distances, (size_t)n->width * sizeof *n->distances);
    if (!stepped && !n->full) {
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            indices[l] = (uint8_t)(n->outside >> l & 1 ? SPRYI_PACKED_OUTSIDE : n->length[l]);
        indices += SPRYI_PACKED_LANES;
    }
    if (n->sorted) {
        memcpy(indices, w->order + (n->row - w->begin), (size_t)n->count * sizeof *w->order);
        indices += SPRYI_PACKED_LANES * sizeof *w->order;
    }
    SPRY_V *Vx = s->values ? (SPRY_V *)s->values + place->values : NULL;
    SPRY_FN(fill)(w, n, Vx, stepped && !n->full ? s->indices + place->masks * SPRYI_PACKED_UNIT : NULL, indices);
}

/* Counts the slice, whose list, if it has one of its own, becomes the last, and writes it where there is room. */
static void SPRY_FN(add_slice)(spryi_packed_walk *w, int64_t row, int b, int count)
{
    spryi_packed_lanes n;
    spryi_packed_settled *settled = &w->surveyed->settled[w->taken++];
    SPRY_FN(take_lanes)(w, &n, row, b, count);
    if (w->s) {
        SPRY_FN(recall)(w, &n, settled);
    } else {
        SPRY_FN(settle)(w, &n);
        *settled = settled_of(&n);
    }
    const spryi_packed_part before = w->at;
    const spryi_packed_place place = spryi_packed_take_place(&w->at, &w->list_at, &n, (int64_t)sizeof(SPRY_J));
    if (n.kind == SPRYI_PACKED_STEPPED && !n.shared) {
        w->list = n.width;
        memcpy(w->distances, n.distances, (size_t)n.width * sizeof *n.distances);
    }
    if (!w->s) return;
    clear_values(w->s, before.slots, n.full ? place.values : w->at.slots);
    memset(w->s->indices + before.units * SPRYI_PACKED_UNIT, 0,
           (size_t)(w->at.units - before.units) * SPRYI_PACKED_UNIT);
    SPRY_FN(put_slice)(w, &n, w->at.slices - 1, &place);
}

static void SPRY_FN(add_long_row)(spryi_packed_walk *w, int64_t row, int64_t from, int64_t length)
{
    spryi_packed *s = w->s;
    const int64_t pieces = (length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE, to = w->at.long_nnz;
    if (s) {
        s->long_rows[w->at.long_rows] = row;
        s->long_first[w->at.long_rows] = w->at.pieces;
        for (int64_t p = 0; p < pieces; p++) s->pieces[w->at.pieces + p] = to + p * SPRYI_PACKED_PIECE;
        memcpy((SPRY_J *)s->long_columns + to, (const SPRY_J *)w->csr->indices + from, (size_t)length * sizeof(SPRY_J));
        if (s->long_values)
            memcpy((SPRY_V *)s->long_values + to, (const SPRY_V *)w->csr->values + from,
                   (size_t)length * sizeof(SPRY_V));
    }
    w->at.long_rows++;
    w->at.pieces += pieces;
    w->at.long_nnz += length;
}

/* Whether at least half of the slices, rows in their order, are stepped. */
static int SPRY_FN(mostly_steps)(const spryi_packed_walk *w)
{
    spryi_packed_lanes n;
    const int64_t slices = (w->end - w->begin + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES;
    int64_t stepped = 0, left = slices;
    for (int64_t i = w->begin; i < w->end && 2 * stepped < slices; i += SPRYI_PACKED_LANES) {
        if (2 * (stepped + left--) < slices) return 0;
        SPRY_FN(take_lanes)
        (w, &n, i, 1, (int)(w->end - i < SPRYI_PACKED_LANES ? w->end - i : SPRYI_PACKED_LANES));
        stepped += SPRY_FN(settle_steps)(w, &n);
    }
    return 2 * stepped >= slices;
}

/* order = rows by falling length, stably; returns the slots of the slices that they make. */
static int64_t SPRY_FN(order_rows)(const uint8_t *length, uint16_t *order, int rows)
{
    int32_t at[SPRYI_PACKED_MOST_WIDTH + 2] = {0}; /* where rows of length MOST_WIDTH - n begin */
    int64_t slots = 0;
    for (int i = 0; i < rows; i++) at[SPRYI_PACKED_MOST_WIDTH - length[i] + 1]++;
    for (int n = 0; n <= SPRYI_PACKED_MOST_WIDTH; n++) at[n + 1] += at[n];
    for (int i = 0; i < rows; i++) order[at[SPRYI_PACKED_MOST_WIDTH - length[i]]++] = (uint16_t)i;
    for (int i = 0; i < rows; i += SPRYI_PACKED_LANES) slots += length[order[i]];
    return slots;
}

/* Sorts the rows where that pays. */
static void SPRY_FN(sort)(spryi_packed_walk *w)
{
    const SPRY_P *Ap = (const SPRY_P *)w->csr->offsets + w->begin;
    const int rows = (int)(w->end - w->begin);
    uint8_t length[SPRYI_PACKED_GROUP];
    int64_t unsorted = 0, sorted, longest = 0;
    for (int i = 0; i < rows; i++) {
        const int64_t l = Ap[i + 1] - Ap[i];
        length[i] = (uint8_t)(l > w->long_over ? 0 : l);
        longest = i % SPRYI_PACKED_LANES > 0 && longest > length[i] ? longest : length[i];
        if (i % SPRYI_PACKED_LANES == SPRYI_PACKED_LANES - 1 || i == rows - 1) unsorted += longest;
    }
    sorted = SPRY_FN(order_rows)(length, w->order, rows);
    const int64_t slices = (rows + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES;
    if (w->s)
        w->sorted = w->surveyed->sorted;
    else
        w->surveyed->sorted = w->sorted = spryi_packed_sort_pays(unsorted, sorted, slices) && !SPRY_FN(mostly_steps)(w);
}

/* Rows w->begin .. w->end - 1. */
static void SPRY_FN(walk)(spryi_packed_walk *w)
{
    const SPRY_P *Ap = w->csr->offsets;
    const int64_t unit = (int64_t)SPRYI_PACKED_LANES * w->b;
    const int64_t over = spryi_packed_blocks_over(Ap[w->end] - Ap[w->begin], w->end - w->begin);
    const int64_t row_over = spryi_packed_rows_over(over);
    w->list = 0;
    w->list_at = w->at.units;
    w->long_over = row_over;
    if (w->b == 1) SPRY_FN(sort)(w);
    for (int64_t row = w->begin; row < w->end; row += unit) {
        const int64_t end = row + unit < w->end ? row + unit : w->end;
        w->long_over = over * w->b;
        if (w->b > 1 && (w->s ? w->surveyed->settled[w->taken].b > 1
                              : (end - row) % w->b == 0 && SPRY_FN(has_blocks)(w, row, end - row, w->b))) {
            SPRY_FN(add_slice)(w, row, w->b, (int)((end - row) / w->b));
            continue;
        }
        w->long_over = row_over;
        for (int64_t i = row; i < end; i++)
            if (Ap[i + 1] - Ap[i] > w->long_over) SPRY_FN(add_long_row)(w, i, Ap[i], Ap[i + 1] - Ap[i]);
        for (int64_t i = row; i < end; i += SPRYI_PACKED_LANES)
            SPRY_FN(add_slice)(w, i, 1, (int)(end - i < SPRYI_PACKED_LANES ? end - i : SPRYI_PACKED_LANES));
    }
    const int64_t slots = w->at.slots;
    w->at.slots = spryi_packed_align(slots);
    if (w->s) clear_values(w->s, slots, w->at.slots);
}

/* Lanes of a slot to where offsets say: entries that next[l] already holds come before. */
static void SPRY_FN(take_slot)(const spryi_packed_cursor *c, const int64_t *offsets, int32_t *next, void *columns,
                               void *values)
{
    const SPRY_V *Vx = c->s->values;
    for (int l = 0, q = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(c->mask >> l & 1)) continue;
        for (int r = 0; r < c->b; r++)
            for (int e = 0; e < c->b; e++) {
                const int64_t to = offsets[spryi_packed_row(c, l) + r] + (int64_t)next[l] * c->b + e;
                const int64_t from = c->at + (int64_t)(r * c->b + e) * c->stride + (c->dense ? l : q);
                ((SPRY_J *)columns)[to] = (SPRY_J)(c->column[l] * c->b + e);
                if (values) ((SPRY_V *)values)[to] = Vx[from];
            }
        next[l]++;
        q++;
    }
}
