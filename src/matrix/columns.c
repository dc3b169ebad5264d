/*
 * Fetches ranges of columns as pieces of SPRYI_PIECE_BYTES bytes of the array. The device gathers the pieces that
 * contain the ranges, and one copy transfers them. The pieces of a range are consecutive in the copy, as in the array.
 */
#include "matrix/columns.h"

#include "base/error.h"
#include "base/memory.h"
#include "core/device.h"

#include <string.h>

enum { PIECE = SPRYI_PIECE_BYTES };

/* Head of the memory block that contains the pieces of one fetch. The blocks form a list. */
typedef struct spryi_columns_batch {
    struct spryi_columns_batch *before;
} spryi_columns_batch;

void spryi_reader_close(spryi_column_reader *reader)
{
    if (!reader->device) return;
    while (reader->batches) {
        spryi_columns_batch *batch = reader->batches;
        reader->batches = batch->before;
        spryi_release(reader->device->context, batch);
    }
    spryi_release(reader->device->context, reader->ranges);
    reader->ranges = NULL;
}

static bool grow(spryi_column_reader *reader)
{
    spryi_range *ranges = NULL;
    const int64_t room = reader->room > 0 ? 2 * reader->room : 256;
    if (SPRYI_NEW(reader->device->context, &ranges, room, "ranges of columns", NULL) != SPRY_OK) return 0;
    if (reader->count > 0) memcpy(ranges, reader->ranges, (size_t)reader->count * sizeof *ranges);
    spryi_release(reader->device->context, reader->ranges);
    reader->ranges = ranges;
    reader->room = room;
    return 1;
}

int64_t spryi_want_range(spryi_column_reader *reader, int64_t begin, int64_t end)
{
    if (reader->count == reader->room && !grow(reader)) {
        reader->out_of_memory = true; /* the next fetch reports the failure */
        return 0;
    }
    reader->ranges[reader->count] = (spryi_range){.begin = begin, .end = end};
    return reader->count++;
}

/* Returns the number of pieces that a range touches, and the first of them. */
static int64_t pieces_of(const spryi_column_reader *reader, const spryi_range *range, int64_t *first)
{
    const int64_t size = (int64_t)spryi_index_type_bytes(reader->csr->index_type);
    *first = range->begin * size / PIECE;
    return range->begin < range->end ? (range->end * size - 1) / PIECE - *first + 1 : 0;
}

/* Lists the pieces of all requested ranges; list may be NULL. Returns the number of pieces. */
static int64_t list_pieces(const spryi_column_reader *reader, int64_t *list)
{
    int64_t count = 0;
    for (int64_t r = reader->fetched; r < reader->count; r++) {
        int64_t first;
        const int64_t pieces = pieces_of(reader, &reader->ranges[r], &first);
        for (int64_t p = 0; p < pieces && list; p++) list[count + p] = first + p;
        count += pieces;
    }
    return count;
}

/* Sets the bases of the ranges, whose pieces are consecutive from `at`. */
static void place_ranges(spryi_column_reader *reader, uintptr_t at)
{
    for (; reader->fetched < reader->count; reader->fetched++) {
        spryi_range *range = &reader->ranges[reader->fetched];
        int64_t first;
        const int64_t pieces = pieces_of(reader, range, &first);
        range->base = at - (uintptr_t)(first * PIECE);
        at += (uintptr_t)(pieces * PIECE);
    }
}

spry_status spryi_fetch_wanted(spryi_column_reader *reader, spry_error *err)
{
    const char *what = "samples of columns";
    const spryi_device *d = reader->device;
    const int64_t size = (int64_t)spryi_index_type_bytes(reader->csr->index_type);
    int64_t *list = NULL;
    spryi_columns_batch *batch = NULL;
    spry_status status = SPRY_OK;
    if (reader->out_of_memory) return spryi_fail(err, SPRY_OUT_OF_MEMORY, what, "out of memory: %s", what);
    if (!d || reader->fetched == reader->count) return SPRY_OK;
    const int64_t count = list_pieces(reader, NULL);
    SPRYI_TRY(SPRYI_NEW(d->context, &list, count, what, err));
    SPRYI_TRY(
        spryi_allocate(d->context, (void **)&batch, (int64_t)sizeof *batch + count * PIECE, sizeof(char), what, err));
    batch->before = reader->batches;
    reader->batches = batch;
    (void)list_pieces(reader, list);
    const spryi_gather request = {.to = batch + 1,
                                  .from = reader->csr->indices,
                                  .bytes = reader->csr->nnz * size,
                                  .pieces = list,
                                  .count = count};
    if (count > 0) SPRYI_TRY(d->ops->gather(d, &request, err));
    place_ranges(reader, (uintptr_t)(batch + 1));
done:
    spryi_release(d->context, list);
    return status;
}
