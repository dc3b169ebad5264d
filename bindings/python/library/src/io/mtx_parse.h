/* One block of lines to arrays, for io/mtx_entries.c. */
#ifndef SPRYI_MTX_PARSE_H
#define SPRYI_MTX_PARSE_H

#include "io/entry_order.h"
#include "io/mtx.h"

typedef struct spryi_parsed {
    void *rows, *cols, *values;
    int64_t count, lines;
    int64_t aside; /* bytes of comments and blank lines */
    spryi_entry_order order;
    const char *bad; /* start of the first bad line, NULL: none; count and lines stand before it */
} spryi_parsed;

/*
 * type is that of to->values; SPRY_PATTERN where lines have no value. The arrays have room for as many entries as
 * the block can hold.
 */
void spryi_mtx_parse(const spryi_mtx *head, const spryi_block *block, spry_index_type index_type, spry_type type,
                     spryi_parsed *to);

#endif
