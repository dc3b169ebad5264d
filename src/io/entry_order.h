/* In which order the entries of a file stand, found block by block while it is read. */
#pragma once

#include "base/element.h"

typedef struct spryi_entry_order {
    int strict;            /* by row, then by column, each position once */
    int by_row, by_column; /* by row, then by column, and the reverse; a position may come again */
} spryi_entry_order;

#define SPRYI_ALL_ORDERS ((spryi_entry_order){1, 1, 1})

/* One more entry (i, j) behind (before, beside). */
SPRYI_INLINE void spryi_order_add(spryi_entry_order *order, int64_t before, int64_t beside, int64_t i, int64_t j)
{
    order->strict &= (i > before) | ((i == before) & (j > beside));
    order->by_row &= (i > before) | ((i == before) & (j >= beside));
    order->by_column &= (j > beside) | ((j == beside) & (i >= before));
}

/* The order of a block. type is a constant where it is inlined. */
SPRYI_INLINE spryi_entry_order spryi_order_of(const void *rows, const void *cols, spry_index_type type, int64_t count)
{
    spryi_entry_order order = SPRYI_ALL_ORDERS;
    for (int64_t k = 1; k < count; k++)
        spryi_order_add(&order, spryi_index_at(rows, type, k - 1), spryi_index_at(cols, type, k - 1),
                        spryi_index_at(rows, type, k), spryi_index_at(cols, type, k));
    return order;
}

/* *all becomes the order of what was there, whose last entry is (before, beside), and a block that starts at (i, j). */
static inline void spryi_order_join(spryi_entry_order *all, const spryi_entry_order *block, int64_t before,
                                    int64_t beside, int64_t i, int64_t j)
{
    all->strict &= block->strict;
    all->by_row &= block->by_row;
    all->by_column &= block->by_column;
    spryi_order_add(all, before, beside, i, j);
}
