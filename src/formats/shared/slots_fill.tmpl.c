/*
 * Copies rows of CSR to slots: entry s of lane l, which is a row, goes to index s*stride + l. ELL, whose stride is the
 * number of rows, and SELL use this.
 *
 * Up to SPRYI_TILE_SLOTS slots are filled together: about one cache line of each row is read and distributed to these
 * slots. The cache lines being written remain in the cache. If slots were filled one by one, each row would be read
 * once per slot.
 */

typedef struct SPRY_FN(lanes) {
    const SPRY_J *Aj;
    const SPRY_B *Ax;       /* NULL: a pattern */
    const SPRY_P *first;    /* first entry of each lane in Aj and Ax; any valid index for an empty lane */
    const int32_t *lengths; /* length of each lane */
    int64_t count;
    SPRY_J *columns; /* slot 0 of lane 0 */
    SPRY_B *values;
    int64_t stride;
} SPRY_FN(lanes);

/* Fills `n` slots from `slot` on; all lanes have an entry in each. n is a constant when inlined. */
SPRYI_INLINE void SPRY_FN(fill_tile)(const SPRY_FN(lanes) * t, int64_t slot, const int n)
{
    const int64_t stride = t->stride;
    SPRY_J *columns = t->columns + slot * stride;
    for (int64_t l = 0; l < t->count; l++) {
        const SPRY_J *Aj = t->Aj + t->first[l] + slot;
        for (int q = 0; q < n; q++) columns[q * stride + l] = Aj[q];
    }
    if (!t->Ax) return;
    SPRY_B *values = t->values + slot * stride;
    for (int64_t l = 0; l < t->count; l++) {
        const SPRY_B *Ax = t->Ax + t->first[l] + slot;
        for (int q = 0; q < n; q++) values[q * stride + l] = Ax[q];
    }
}

/* Fills slots in which some lanes have no entry. Padding has the column of the lane's last entry and the value 0. */
static void SPRY_FN(fill_ragged)(const SPRY_FN(lanes) * t, int64_t slot, int64_t n, SPRY_J no_column)
{
    const int64_t stride = t->stride;
    for (int64_t l = 0; l < t->count; l++) {
        const int64_t length = t->lengths[l], left = length - slot, whole = left < 0 ? 0 : left < n ? left : n;
        const SPRY_J *Aj = t->Aj + t->first[l];
        const SPRY_J padding = length > 0 ? Aj[length - 1] : no_column;
        SPRY_J *columns = t->columns + slot * stride + l;
        for (int64_t q = 0; q < whole; q++) columns[q * stride] = Aj[slot + q];
        for (int64_t q = whole; q < n; q++) columns[q * stride] = padding;
        if (!t->Ax) continue;
        const SPRY_B *Ax = t->Ax + t->first[l] + slot;
        SPRY_B *values = t->values + slot * stride + l;
        for (int64_t q = 0; q < whole; q++) values[q * stride] = Ax[q];
        for (int64_t q = whole; q < n; q++) values[q * stride] = 0;
    }
}

/* Fills all `slots` slots. Each lane has at least `least` entries. no_column: column of padding in empty lanes. */
static void SPRY_FN(fill_lanes)(const SPRY_FN(lanes) * t, int64_t slots, int64_t least, SPRY_J no_column)
{
    for (int64_t slot = 0, n; slot < slots; slot += n) {
        n = slots - slot < SPRYI_TILE_SLOTS ? slots - slot : SPRYI_TILE_SLOTS;
        if (slot < least && slot + n > least) n = least - slot;
        if (slot >= least) {
            SPRY_FN(fill_ragged)(t, slot, n, no_column);
            continue;
        }
        switch (n) {
        case 1: SPRY_FN(fill_tile)(t, slot, 1); break;
        case 2: SPRY_FN(fill_tile)(t, slot, 2); break;
        case 3: SPRY_FN(fill_tile)(t, slot, 3); break;
        case 4: SPRY_FN(fill_tile)(t, slot, 4); break;
        case 5: SPRY_FN(fill_tile)(t, slot, 5); break;
        case 6: SPRY_FN(fill_tile)(t, slot, 6); break;
        case 7: SPRY_FN(fill_tile)(t, slot, 7); break;
        default: SPRY_FN(fill_tile)(t, slot, SPRYI_TILE_SLOTS); break;
        }
    }
}
