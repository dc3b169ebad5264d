/*
 * Reads samples of the columns of CSR. In host memory all columns can be read. If the columns are on a device, a caller
 * first requests as many ranges of entries as possible, and the reader then fetches their columns together. Offsets are
 * always in host memory.
 */
#pragma once

#include "base/element.h"
#include "matrix/matrix.h"

struct spryi_device;
struct spryi_columns_batch;

/*
 * A range of entries, begin .. end - 1. base: address of an array in which the column of entry k has index k, as in
 * csr->indices. Only the columns of the range exist in the array.
 */
typedef struct spryi_range {
    int64_t begin, end;
    uintptr_t base;
} spryi_range;

/* A reader of columns, for one thread. */
typedef struct spryi_column_reader {
    const spry_arrays *csr;            /* offsets are in host memory; values, if any, are where the columns are */
    const struct spryi_device *device; /* device with the columns; NULL: columns are in host memory */
    spryi_range *ranges;               /* ranges before `fetched` are in host memory */
    int64_t count, fetched, room;
    struct spryi_columns_batch *batches; /* list of all fetches, with the fetched columns */
    bool out_of_memory;                  /* a range could not be recorded */
} spryi_column_reader;

/*
 * spryi_reader_of returns a reader of csr in host memory, which need not be closed. spryi_reader_on returns a reader of
 * csr whose columns are on a device.
 */
static inline spryi_column_reader spryi_reader_of(const spry_arrays *csr)
{
    return (spryi_column_reader){.csr = csr};
}
static inline spryi_column_reader spryi_reader_on(const struct spryi_device *device, const spry_arrays *csr)
{
    return (spryi_column_reader){.csr = csr, .device = device};
}
void spryi_reader_close(spryi_column_reader *reader);

/* Requests entries begin .. end - 1 for the next fetch. Returns the index of the range. */
int64_t spryi_want_range(spryi_column_reader *reader, int64_t begin, int64_t end);
static inline int64_t spryi_want_entries(spryi_column_reader *reader, int64_t begin, int64_t end)
{
    return reader->device ? spryi_want_range(reader, begin, end) : 0;
}

/* Requests the entries of rows first .. end - 1. */
static inline int64_t spryi_want_rows(spryi_column_reader *reader, int64_t first, int64_t end)
{
    return spryi_want_entries(reader, spryi_offset_of(reader->csr, first), spryi_offset_of(reader->csr, end));
}

/* Fetches all requested ranges in one copy. */
spry_status spryi_fetch_wanted(spryi_column_reader *reader, spry_error *err);

/*
 * Returns csr as arrays in which only the columns of a fetched range may be read. The arrays are valid until the reader
 * is closed.
 */
static inline spry_arrays spryi_range_at(const spryi_column_reader *reader, int64_t range)
{
    spry_arrays view = *reader->csr;
    if (reader->device) view.indices = (const void *)reader->ranges[range].base;
    return view;
}

/* Returns the column of entry k of the range. */
static inline int64_t spryi_column_at(const spryi_column_reader *reader, int64_t range, int64_t k)
{
    const void *columns = reader->device ? (const void *)reader->ranges[range].base : reader->csr->indices;
    return spryi_index_at(columns, reader->csr->index_type, k);
}
