/* Conversion of one block row between CSR and BSR, for each type. */
#ifndef SPRYI_TEMPLATE
#if defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC optimize("O2") /* -O3 makes the code 1.5 times as large and no faster: the loops wait for memory */
#endif
#include "formats/bsr/bsr.h"
#include "matrix/matrix.h"

#include <string.h>

/* Returns the first block of block row I. */
static inline int64_t block_offset(const spryi_bsr *s, int64_t I)
{
    return spryi_index_at(s->offsets, s->types.offset_type, I);
}

#define SPRYI_NO_OFFSETS
#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/bsr/bsr_blocks.c" /* the second half of this file */
#include "base/instantiate.h"

const spryi_bsr_steps *spryi_bsr_steps_of(spry_type value_type, spry_index_type offset_type, spry_index_type index_type)
{
#define STEPS(s)                                                                                                       \
    {                                                                                                                  \
        count_##s, fill_##s, lengths_##s, rows_##s, fault_##s                                                          \
    }
#define STEPS_OF_ROW(tag, s, v, c, argument) {STEPS(tag##_32_32), STEPS(tag##_32_32), STEPS(tag##_64_64)},
    static const spryi_bsr_steps steps[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = {SPRYI_PLAIN_ROWS(STEPS_OF_ROW, 0){{0}},
                                                                               SPRYI_ROW_3(STEPS_OF_ROW, 0)
                                                                                   SPRYI_ROW_4(STEPS_OF_ROW, 0)};
#undef STEPS
    return &steps[spryi_stored_row(value_type)][spryi_index_pair(offset_type, index_type)];
}

#else /* for each stored type and width of columns: base/instantiate.h */

/*
 * Returns true if all rows of a block row have the same columns, which rise. The first row then describes all rows, and
 * there are no duplicates. Most matrices with blocks have such rows.
 */
static bool SPRY_FN(rows_are_alike)(const spry_arrays *A, int64_t begin, int64_t end)
{
    const int64_t first = spryi_offset_of(A, begin), length = spryi_offset_of(A, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)A->indices + first;
    if (end - begin == 1 && A->sorted == SPRY_KNOWN_YES && A->unique == SPRY_KNOWN_YES) return true;
    for (int64_t i = begin + 1; i < end; i++) {
        if (spryi_offset_of(A, i + 1) - spryi_offset_of(A, i) != length) return false;
        if (length > 0 && memcmp(Aj, Aj + (i - begin) * length, (size_t)length * sizeof *Aj) != 0) return false;
    }
    bool falls = false;
    for (int64_t k = 1; k < length; k++) falls |= Aj[k] <= Aj[k - 1];
    return !falls;
}

static int64_t SPRY_FN(last_row)(const spry_arrays *A, int64_t block, int64_t I)
{
    return A->rows - I * block < block ? A->rows : (I + 1) * block;
}

/* Returns the slot of block column J. The slot holds J's position in the list, or -1. */
static inline SPRY_J *SPRY_FN(slot_of)(const spryi_bsr_scratch *work, int64_t J)
{
    SPRY_J *slots = work->slots;
    const SPRY_J *list = work->list;
    if (work->mask == 0) return &slots[J];
    int64_t at = J & work->mask;
    while (slots[at] >= 0 && list[slots[at]] != J) at = (at + 1) & work->mask;
    return &slots[at];
}

/* Empties the slots of the list in reverse order of insertion, so that probing still finds the earlier slots. */
static void SPRY_FN(clear_slots)(const spryi_bsr_scratch *work, int64_t blocks)
{
    for (int64_t b = blocks - 1; b >= 0; b--) *SPRY_FN(slot_of)(work, ((const SPRY_J *)work->list)[b]) = -1;
}

/*
 * Lists the block columns of rows begin .. end - 1 in order of appearance, and the masks of the blocks. Returns the
 * number of blocks.
 */
static int64_t SPRY_FN(gather)(const spry_arrays *A, int64_t block, int64_t begin, int64_t end,
                               const spryi_bsr_scratch *work, int64_t *entries)
{
    const SPRY_J *Aj = A->indices;
    SPRY_J *list = work->list;
    int64_t found = 0, new_entries = 0;
    int64_t k = spryi_offset_of(A, begin);
    for (int64_t i = begin; i < end; i++) {
        int64_t left = -block, slot = 0; /* left: first column of the last entry's block */
        for (const int64_t stop = spryi_offset_of(A, i + 1); k < stop; k++) {
            const int64_t j = Aj[k];
            if (j < left || j >= left + block) {
                const int64_t J = j / block;
                left = J * block;
                SPRY_J *at = SPRY_FN(slot_of)(work, J);
                slot = *at;
                if (slot < 0) {
                    *at = (SPRY_J)(slot = found);
                    list[found++] = (SPRY_J)J;
                    memset(work->masks + slot * block, 0, (size_t)block * sizeof *work->masks);
                }
            }
            uint16_t *mask = &work->masks[slot * block + j - left];
            const unsigned bit = 1u << (i - begin);
            new_entries += !(*mask & bit);
            *mask = (uint16_t)(*mask | bit);
        }
    }
    *entries += new_entries;
    return found;
}

static int64_t SPRY_FN(count)(const spry_arrays *A, int64_t block, int64_t I, const spryi_bsr_scratch *work,
                              int64_t *entries)
{
    const int64_t begin = I * block, end = SPRY_FN(last_row)(A, block, I);
    int64_t blocks = 0;
    if (SPRY_FN(rows_are_alike)(A, begin, end)) {
        const SPRY_J *Aj = A->indices;
        const int64_t first = spryi_offset_of(A, begin), stop = spryi_offset_of(A, begin + 1);
        *entries += spryi_offset_of(A, end) - first;
        if (block == 1) return stop - first;
        int64_t left = -block;
        for (int64_t k = first; k < stop; k++)
            if (Aj[k] >= left + block) {
                left = Aj[k] / block * block;
                blocks++;
            }
        return blocks;
    }
    blocks = SPRY_FN(gather)(A, block, begin, end, work, entries);
    SPRY_FN(clear_slots)(work, blocks);
    return blocks;
}

/* Sorts a list in rising order by heap sort. Returns early if the list is sorted. */
static void SPRY_FN(sort)(SPRY_J *list, int64_t count)
{
    int64_t sorted = 1;
    while (sorted < count && list[sorted] > list[sorted - 1]) sorted++;
    if (sorted >= count) return;
    for (int64_t root = count / 2 - 1, end = count; end > 1;) {
        if (root < 0) { /* the heap is complete: swap its largest element with the last */
            SPRY_J largest = list[0];
            list[0] = list[--end];
            list[end] = largest;
        }
        int64_t at = root < 0 ? 0 : root--;
        const SPRY_J moved = list[at];
        for (int64_t child = 2 * at + 1; child < end; at = child, child = 2 * at + 1) {
            if (child + 1 < end && list[child + 1] > list[child]) child++;
            if (list[child] <= moved) break;
            list[at] = list[child];
        }
        list[at] = moved;
    }
}

/* Copies a block row of full blocks: entries k .. k + r - 1 of each row form a block. r is constant if inlined. */
SPRYI_INLINE void SPRY_FN(copy_full)(const SPRY_B *Ax, int64_t length, SPRY_B *to, const int r)
{
    for (int64_t k = 0; k < length; k += r, to += r * r)
        for (int j = 0; j < r; j++)
            for (int i = 0; i < r; i++) to[j * r + i] = Ax[i * length + k + j];
}

static void SPRY_FN(copy)(const SPRY_B *Ax, int64_t length, SPRY_B *to, int64_t block)
{
    switch (block) {
    case 1: SPRY_FN(copy_full)(Ax, length, to, 1); break;
    case 2: SPRY_FN(copy_full)(Ax, length, to, 2); break;
    case 3: SPRY_FN(copy_full)(Ax, length, to, 3); break;
    case 4: SPRY_FN(copy_full)(Ax, length, to, 4); break;
    case 6: SPRY_FN(copy_full)(Ax, length, to, 6); break;
    default: SPRY_FN(copy_full)(Ax, length, to, (int)block); break;
    }
}

/*
 * Writes the values of a block row. Duplicates are summed in f64: in s->values if the stored type is f64, else in
 * work->sums, and then rounded once.
 */
static void SPRY_FN(scatter)(const spryi_bsr *s, const spry_arrays *A, int64_t begin, int64_t end, int64_t first,
                             int64_t blocks, const spryi_bsr_scratch *work)
{
    const SPRY_J *Aj = A->indices;
    const SPRY_S *Ax = A->values;
    const int64_t block = s->head.block, size = blocks * block * block;
    SPRY_S *values = (SPRY_S *)s->values + first * block * block;
    double *to = work->sums ? work->sums : (double *)(void *)values;
    memset(to, 0, (size_t)size * sizeof *to);
    memset(work->masks, 0, (size_t)(blocks * block) * sizeof *work->masks);
    int64_t k = spryi_offset_of(A, begin);
    for (int64_t i = begin; i < end; i++) {
        int64_t left = -block, slot = 0;
        for (const int64_t stop = spryi_offset_of(A, i + 1); k < stop; k++) {
            const int64_t j = Aj[k];
            if (j < left || j >= left + block) {
                left = j / block * block;
                slot = *SPRY_FN(slot_of)(work, j / block);
            }
            const int64_t column = slot * block + j - left;
            const unsigned bit = 1u << (i - begin);
            double *entry = &to[column * block + i - begin];
            const double value = (double)SPRY_VALUE(Ax[k]);
            *entry = work->masks[column] & bit ? *entry + value : value; /* assign the first value, since 0 + -0 is 0 */
            work->masks[column] = (uint16_t)(work->masks[column] | bit);
        }
    }
    for (int64_t v = 0; v < size && work->sums; v++) values[v] = SPRY_ROUNDED(to[v]);
}

static void SPRY_FN(fill)(const spryi_bsr *s, const spry_arrays *A, int64_t I, const spryi_bsr_scratch *work)
{
    const int64_t block = s->head.block, begin = I * block, end = SPRY_FN(last_row)(A, block, I);
    const int64_t first = block_offset(s, I), blocks = block_offset(s, I + 1) - first;
    const int64_t from = spryi_offset_of(A, begin), length = spryi_offset_of(A, begin + 1) - from;
    const bool masked = spryi_bsr_masks(s) != NULL;
    SPRY_J *columns = (SPRY_J *)s->columns + first;
    if (end - begin == block && length == blocks * block && SPRY_FN(rows_are_alike)(A, begin, end)) {
        const SPRY_J *Aj = (const SPRY_J *)A->indices + from;
        for (int64_t b = 0; b < blocks; b++) columns[b] = (SPRY_J)(Aj[b * block] / block);
        SPRY_FN(copy)
        ((const SPRY_B *)A->values + from, length, (SPRY_B *)s->values + first * block * block, block);
        for (int64_t m = first * block; masked && m < (first + blocks) * block; m++)
            spryi_bsr_set_mask(s->masks, block, m, (1u << block) - 1);
        return;
    }
    int64_t entries = 0;
    SPRY_J *list = work->list;
    SPRY_FN(gather)(A, block, begin, end, work, &entries);
    if (work->mask > 0) SPRY_FN(clear_slots)(work, blocks); /* before sorting: the hash table refers to the list */
    SPRY_FN(sort)(list, blocks);
    for (int64_t b = 0; b < blocks; b++) {
        *SPRY_FN(slot_of)(work, list[b]) = (SPRY_J)b;
        columns[b] = list[b];
    }
    SPRY_FN(scatter)(s, A, begin, end, first, blocks, work);
    for (int64_t m = 0; masked && m < blocks * block; m++)
        spryi_bsr_set_mask(s->masks, block, first * block + m, work->masks[m]);
    SPRY_FN(clear_slots)(work, blocks);
}

/* Returns the mask of a block's column, all ones if there is no fill. */
static inline unsigned SPRY_FN(mask)(const spryi_bsr *s, int64_t at)
{
    return spryi_bsr_masks(s) ? spryi_bsr_mask(s->masks, s->head.block, at) : (1u << s->head.block) - 1;
}

static void SPRY_FN(lengths)(const spryi_bsr *s, int64_t *offsets, int64_t I)
{
    const int64_t block = s->head.block;
    int64_t count[SPRYI_BSR_MOST_BLOCK] = {0};
    for (int64_t m = block_offset(s, I) * (int64_t)block; m < block_offset(s, I + 1) * (int64_t)block; m++)
        for (int i = 0; i < block; i++) count[i] += SPRY_FN(mask)(s, m) >> i & 1;
    for (int64_t i = I * block; i < (I + 1) * block && i < s->head.rows; i++) offsets[i + 1] = count[i - I * block];
}

static void SPRY_FN(rows)(const spryi_bsr *s, const int64_t *offsets, void *columns, void *values, int64_t I)
{
    const SPRY_J *Aj = s->columns;
    const SPRY_B *Ax = s->values;
    const int64_t block = s->head.block;
    int64_t at[SPRYI_BSR_MOST_BLOCK] = {0};
    for (int64_t i = I * block; i < (I + 1) * block && i < s->head.rows; i++) at[i - I * block] = offsets[i];
    for (int64_t b = block_offset(s, I), stop = block_offset(s, I + 1); b < stop; b++)
        for (int64_t j = 0; j < block; j++) {
            const unsigned mask = SPRY_FN(mask)(s, b * block + j);
            for (int i = 0; i < block; i++) {
                if (!(mask >> i & 1)) continue;
                ((SPRY_J *)columns)[at[i]] = (SPRY_J)(Aj[b] * block + j);
                ((SPRY_B *)values)[at[i]++] = Ax[(b * block + j) * block + i];
            }
        }
}

static const char *SPRY_FN(fault)(const spryi_bsr *s, int64_t I, int64_t *entries)
{
    const SPRY_J *Aj = s->columns;
    const int64_t block = s->head.block, left = s->head.rows - I * block;
    const unsigned rows = (1u << (left < block ? left : block)) - 1;
    for (int64_t b = block_offset(s, I), stop = block_offset(s, I + 1); b < stop; b++) {
        if (Aj[b] < 0 || Aj[b] >= s->head.block_cols) return "a block column is out of range";
        if (b > block_offset(s, I) && Aj[b] <= Aj[b - 1]) return "block columns do not rise";
        for (int64_t j = 0; j < block; j++) {
            const unsigned mask = SPRY_FN(mask)(s, b * block + j);
            if (mask & ~(Aj[b] * block + j < s->head.cols ? rows : 0)) return "a mask names entries past the edges";
            *entries += __builtin_popcount(mask);
            for (int i = 0; i < block; i++)
                if (!(mask >> i & 1) && SPRY_VALUE(((const SPRY_S *)s->values)[(b * block + j) * block + i]) != 0)
                    return "fill is not 0";
        }
    }
    return NULL;
}

#endif
