/* From CSR to the slices of one super-super-row; counted first, then filled in by the same steps. */

/* Lanes of `count` rows, or block rows, from `row` on. */
static void SPRY_FN(take_lanes)(const spryi_packed_walk *w, spryi_packed_lanes *n, int64_t row, int b, int count)
{
    const SPRY_P *Ap = w->csr->offsets;
    SPRY_P length[SPRYI_PACKED_LANES], longest = 0, differs = 0;
    n->row = row;
    n->b = b;
    n->count = count;
    n->outside = 0;
    n->entries = 0;
    n->longest = 0;
    n->sorted = w->sorted;
    if (b == 1 && !w->sorted) {
        for (int l = 0; l < count; l++) n->begin[l] = Ap[row + l];
        for (int l = 0; l < count; l++) length[l] = Ap[row + l + 1] - Ap[row + l];
    } else {
        for (int l = 0; l < count; l++) {
            const int64_t i = w->sorted ? w->begin + w->order[row - w->begin + l] : row + (int64_t)l * b;
            n->begin[l] = Ap[i];
            length[l] = Ap[i + 1] - Ap[i];
        }
    }
    for (int l = 0; l < count; l++) longest = length[l] > longest ? length[l] : longest;
    for (int l = 0; l < count && longest > w->long_over; l++) {
        const int is_long = length[l] > w->long_over;
        n->outside |= (uint32_t)is_long << l;
        if (is_long) length[l] = 0;
    }
    if (b > 1)
        for (int l = 0; l < count; l++) length[l] /= (SPRY_P)b;
    for (int l = 0; l < count; l++) {
        n->length[l] = (int32_t)length[l];
        n->entries += length[l];
        n->longest = n->length[l] > n->longest ? n->length[l] : n->longest;
        differs |= length[l] ^ length[0];
    }
    for (int l = count; l < SPRYI_PACKED_LANES; l++) n->begin[l] = n->length[l] = 0;
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

/* Whether lane l has the columns of the lane before plus one. */
static inline int SPRY_FN(steps_on)(const spryi_packed_walk *w, const spryi_packed_lanes *n, int l)
{
    const SPRY_J *before = (const SPRY_J *)w->csr->indices + n->begin[l - 1];
    const SPRY_J *own = (const SPRY_J *)w->csr->indices + n->begin[l];
    const int64_t end = (int64_t)n->length[l] * n->b;
    if (n->length[l] != n->length[l - 1]) return 0;
    for (int64_t k = 0; k < end; k += n->b)
        if (own[k] - before[k] != n->b) return 0;
    return 1;
}

/*
 * The distances of all lanes, rising; -1 where they are more than `most` or those of a lane do not rise. Few are looked
 * through at once, since where in the list one is cannot be guessed; what follows them there repeats one.
 */
static int SPRY_FN(find_distances)(const spryi_packed_walk *w, spryi_packed_lanes *n, int most)
{
    int found = 0, steps = 0;
    const int lanes = n->even && SPRY_FN(all_step)(w, n) ? 1 : n->count;
    for (int l = 0; l < lanes; l++) {
        const int64_t own = n->row / n->b + l;
        int64_t before = INT64_MIN;
        steps = l > 0 && (steps || l % 4 == 0) && SPRY_FN(steps_on)(w, n, l); /* as its neighbours do, mostly */
        if (steps) continue;
        for (int32_t k = 0, d = 0; k < n->length[l]; k++, d++) {
            const int64_t distance = SPRY_FN(column)(w, n, l, k) - own;
            const int32_t short_one = (int32_t)distance;
            if (distance <= before || distance != short_one) return -1;
            before = distance;
            if (found > 0 && is_among(n->distances, short_one)) continue;
            while (d < found && n->distances[d] < distance) d++;
            if (d < found && n->distances[d] == distance) continue;
            if (found == most) return -1;
            for (int q = 0; q < FEW && found == 0; q++) n->distances[q] = short_one;
            for (int q = found++; q > d; q--) n->distances[q] = n->distances[q - 1];
            n->distances[d] = short_one;
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
    const int rising = w->csr->sorted == SPRY_KNOWN_YES;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + n->begin[l];
        const int64_t last = ((int64_t)n->length[l] - 1) * n->b;
        for (int64_t k = 0; k <= last; k += rising && k < last ? last : n->b) {
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

/* Slot d of the lanes from `first` on that make a line. */
static inline __attribute__((always_inline)) void SPRY_FN(put_lines)(const spryi_packed_walk *w, SPRY_V *Vx,
                                                                     const SPRY_V *line, int d, int first, const int b)
{
    enum { LINE = 64 / sizeof(SPRY_V) };
    for (int e = 0; Vx && e < b * b; e++)
        put_line(Vx + ((int64_t)d * b * b + e) * SPRYI_PACKED_LANES + first, line + e * LINE, w->stream);
}

/*
 * Values of a slice whose slots have room for all lanes: number e of the block in slot d of lane l is value
 * 32*(d*b*b + e) + l. As many lanes at a time as make a cache line, which is written whole, while what later slices are
 * made of is fetched line by line. b is a constant; masks: of the lanes, where they tell who has a slot.
 */
static inline __attribute__((always_inline)) void
SPRY_FN(fill_room)(const spryi_packed_walk *w, const spryi_packed_lanes *n, SPRY_V *Vx, uint32_t *masks, const int b)
{
    enum { LANES = SPRYI_PACKED_LANES, LINE = 64 / sizeof(SPRY_V), MOST = SPRYI_PACKED_MOST_BLOCK };
    const SPRY_J *Aj = w->csr->indices;
    const SPRY_V *Ax = w->csr->values;
    _Alignas(64) SPRY_V line[MOST * MOST * LINE];
    spryi_packed_ahead ahead = w->ahead;
    for (int first = 0; first < LANES; first += LINE) {
        int64_t next[LINE] = {0}; /* entry of each lane */
        int32_t least = n->width; /* slots that all of these lanes have, the first ones */
        for (int q = 0; q < LINE; q++) least = n->length[first + q] < least ? n->length[first + q] : least;
        if (masks && least < n->width) least = 0;
        for (int d = 0; d < least; d++) {
            fetch(&ahead, b);
            for (int r = 0; Vx && r < b; r++)
                for (int c = 0; c < b; c++)
                    for (int q = 0; q < LINE; q++)
                        line[(r * b + c) * LINE + q] =
                            Ax[n->begin[first + q] + ((int64_t)r * n->length[first + q] + d) * b + c];
            SPRY_FN(put_lines)(w, Vx, line, d, first, b);
        }
        for (int q = 0; q < LINE; q++) {
            next[q] = least;
            if (masks) masks[first + q] = first_bits(least);
        }
        for (int d = least; d < n->width; d++) {
            fetch(&ahead, b);
            for (int q = 0; q < LINE; q++) {
                const int l = first + q;
                const int64_t k = next[q], length = n->length[l], at = n->begin[l] + k * b;
                const int has = k < length && (!masks || Aj[at] / b - (n->row / b + l) == n->distances[d]);
                if (masks) masks[l] |= (uint32_t)has << d;
                next[q] += has;
                for (int r = 0; Vx && r < b; r++)
                    for (int c = 0; c < b; c++) line[(r * b + c) * LINE + q] = has ? Ax[at + r * length * b + c] : 0;
            }
            SPRY_FN(put_lines)(w, Vx, line, d, first, b);
        }
    }
}

/* Their indices, if they have any. kind is a constant. */
static inline __attribute__((always_inline)) void
SPRY_FN(fill_indices)(const spryi_packed_walk *w, const spryi_packed_lanes *n, void *indices, const int kind)
{
    const int b = n->b;
    const SPRY_J low = (SPRY_J)n->low;
    for (int l = 0; l < n->count; l++) {
        const SPRY_J *Aj = (const SPRY_J *)w->csr->indices + n->begin[l];
        uint16_t *offsets = (uint16_t *)indices + l;
        SPRY_J *columns = (SPRY_J *)indices + l;
        for (int32_t k = 0; k < n->length[l]; k++)
            if (kind == SPRYI_PACKED_OFFSETS)
                offsets[SPRYI_PACKED_LANES * k] = (uint16_t)((b == 1 ? Aj[k] : Aj[k * b] / b) - low);
            else
                columns[SPRYI_PACKED_LANES * k] = b == 1 ? Aj[k] : Aj[k * b] / b;
    }
}

static void SPRY_FN(fill)(const spryi_packed_walk *w, const spryi_packed_lanes *n, SPRY_V *Vx, uint8_t *masks,
                          void *indices)
{
    if (!n->full && !n->padded) {
        SPRY_FN(fill_slots)(w, n, Vx, masks, indices);
        return;
    }
    uint32_t mask[SPRYI_PACKED_LANES] = {0}, *holes = masks ? mask : NULL;
    switch (n->b) {
    case 1:
        if (holes)
            SPRY_FN(fill_room)(w, n, Vx, holes, 1);
        else
            SPRY_FN(fill_room)(w, n, Vx, NULL, 1);
        break;
    case 2: SPRY_FN(fill_room)(w, n, Vx, holes, 2); break;
    case 3: SPRY_FN(fill_room)(w, n, Vx, holes, 3); break;
    case 4: SPRY_FN(fill_room)(w, n, Vx, holes, 4); break;
    default: SPRY_FN(fill_room)(w, n, Vx, holes, 5); break;
    }
    const int bytes = spryi_packed_mask_bytes(n->width);
    for (int l = 0; holes && l < n->count; l++) memcpy(masks + l * bytes, &mask[l], (size_t)bytes);
    if (n->kind == SPRYI_PACKED_OFFSETS)
        SPRY_FN(fill_indices)(w, n, indices, SPRYI_PACKED_OFFSETS);
    else if (n->kind == SPRYI_PACKED_WIDE)
        SPRY_FN(fill_indices)(w, n, indices, SPRYI_PACKED_WIDE);
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

/*
 * Where the entries of the slice after this one begin; of a super-super-row later where rows are sorted. The survey
 * fetches the columns there.
 */
static inline void SPRY_FN(look_ahead)(spryi_packed_walk *w, const spryi_packed_lanes *n)
{
    enum { MOST = 1 << 14 };
    const SPRY_P *Ap = w->csr->offsets;
    const int64_t rows = (int64_t)SPRYI_PACKED_LANES * n->b;
    const int64_t row = n->row + (n->sorted || !w->s ? SPRYI_PACKED_GROUP : rows);
    w->ahead = (spryi_packed_ahead){0};
    if (row + rows > w->csr->rows) return;
    const uintptr_t columns = (uintptr_t)((const SPRY_J *)w->csr->indices + Ap[row]);
    if (w->s) {
        if (w->s->values) w->ahead.values = (uintptr_t)((const SPRY_V *)w->csr->values + Ap[row]);
        if (n->b == 1 && !(n->kind == SPRYI_PACKED_STEPPED && n->full)) w->ahead.columns = columns;
        w->ahead.column_bytes = 64 / sizeof(SPRY_V) * sizeof(SPRY_J);
        return;
    }
    const size_t bytes = (size_t)(Ap[row + rows] - Ap[row]) * sizeof(SPRY_J);
    for (size_t q = 0; q < bytes && q < MOST; q += 64) __builtin_prefetch((const void *)(columns + q), 0, 2);
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
    SPRY_FN(look_ahead)(w, &n);
    const spryi_packed_part before = w->at;
    const spryi_packed_place place = spryi_packed_take_place(&w->at, &w->list_at, &n, (int64_t)sizeof(SPRY_J));
    if (n.kind == SPRYI_PACKED_STEPPED && !n.shared) {
        w->list = n.width;
        memcpy(w->distances, n.distances, (size_t)n.width * sizeof *n.distances);
    }
    if (!w->s) return;
    clear_values(w->s, before.slots, place.values);
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

/* Sorts the rows where that pays; a look at the lengths tells mostly that it cannot. */
static void SPRY_FN(sort)(spryi_packed_walk *w)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const SPRY_P *Ap = (const SPRY_P *)w->csr->offsets + w->begin;
    const int rows = (int)(w->end - w->begin);
    const int64_t slices = (rows + LANES - 1) / LANES;
    uint8_t length[SPRYI_PACKED_GROUP];
    int64_t unsorted = 0, entries = 0;
    if (w->s && !w->surveyed->sorted) return;
    for (int i = 0; i < rows; i += LANES) {
        SPRY_P longest = 0;
        for (int l = i; l < rows && l < i + LANES; l++) {
            const SPRY_P own = Ap[l + 1] - Ap[l], counted = own > w->long_over ? 0 : own;
            length[l] = (uint8_t)counted;
            entries += counted;
            longest = longest > counted ? longest : counted;
        }
        unsorted += longest;
    }
    if (!w->s && !spryi_packed_sort_pays(unsorted, (entries + LANES - 1) / LANES, slices)) {
        w->surveyed->sorted = 0;
        return;
    }
    const int64_t sorted = SPRY_FN(order_rows)(length, w->order, rows);
    if (w->s)
        w->sorted = 1;
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
    if (w->stream) after_lines();
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
