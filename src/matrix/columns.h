/*
 * Samples of the columns of CSR. In host memory all columns can be read. If the columns are on a device, a reader
 * requests ranges, as many as possible, and fetches them together. Offsets are always in host memory.
 */
#pragma once

#include "base/element.h"
#include "matrix/matrix.h"

struct spryi_device;
struct spryi_columns_batch;

/* Entries begin .. end - 1; the column of entry k is where it would be if `base` were csr->indices. */
typedef struct spryi_range {
    int64_t begin, end;
    uintptr_t base;
} spryi_range;

/* Of one thread. */
typedef struct spryi_column_reader {
    const spry_arrays *csr;            /* offsets in host memory; values, if any, where columns are */
    const struct spryi_device *device; /* where its columns lie; NULL: in host memory */
    spryi_range *ranges;               /* those before `fetched` are here */
    int64_t count, fetched, room;
    struct spryi_columns_batch *batches; /* what has been fetched */
    int out_of_memory;                   /* 1: there was no room for a range */
} spryi_column_reader;

/* Returns a reader of csr in host memory, which needs no closing, or of csr whose columns are on a device. */
static inline spryi_column_reader spryi_reader_of(const spry_arrays *csr)
{
    return (spryi_column_reader){.csr = csr};
}
static inline spryi_column_reader spryi_reader_on(const struct spryi_device *device, const spry_arrays *csr)
{
    return (spryi_column_reader){.csr = csr, .device = device};
}
void spryi_reader_close(spryi_column_reader *reader);

/* Entries begin .. end - 1 will be read after the next fetch. The number of their range. */
int64_t spryi_want_range(spryi_column_reader *reader, int64_t begin, int64_t end);
static inline int64_t spryi_want_entries(spryi_column_reader *reader, int64_t begin, int64_t end)
{
    return reader->device ? spryi_want_range(reader, begin, end) : 0;
}

/* The entries of rows first .. end - 1. */
static inline int64_t spryi_want_rows(spryi_column_reader *reader, int64_t first, int64_t end)
{
    return spryi_want_entries(reader, spryi_offset_of(reader->csr, first), spryi_offset_of(reader->csr, end));
}

/* Brings all ranges that are wanted in one copy. */
spry_status spryi_fetch_wanted(spryi_column_reader *reader, spry_error *err);

/* csr with the columns of a range that has been fetched, and no others; they stay until the reader is closed. */
static inline spry_arrays spryi_range_at(const spryi_column_reader *reader, int64_t range)
{
    spry_arrays view = *reader->csr;
    if (reader->device) view.indices = (const void *)reader->ranges[range].base;
    return view;
}

/* The column of entry k of that range. */
static inline int64_t spryi_column_at(const spryi_column_reader *reader, int64_t range, int64_t k)
{
    const void *columns = reader->device ? (const void *)reader->ranges[range].base : reader->csr->indices;
    return spryi_index_at(columns, reader->csr->index_type, k);
}
