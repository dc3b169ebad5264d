/*
 * Mock device for tests: host memory that acts as the memory of a device. A host access to this memory crashes the
 * process. Work runs as late as the interface allows. Allocations fail on request. Tests that are linked with this
 * folder have the mock as device 1, "mock". drivers.c is their list of devices.
 */
#pragma once

#include "core/device.h"

/* Counters, and requested failures. Tests may set and clear every field. */
typedef struct mock_state {
    int64_t allocations, fail_at; /* index of the call that fails, from 1; 0: none */
    int64_t blocks;               /* blocks held */
    int64_t copies_back, products, maps, conversions;
    int64_t inspections;       /* inspections of entries and sums, during the set-up of PageRank */
    int64_t gathers, gathered; /* calls of gather, and pieces of SPRYI_PIECE_BYTES that the calls copied */
    int64_t stream_waits;      /* waits for a stream other than the default stream */
    void *stream; /* stream in which a test expects all work; the next two fields count work in other streams */
    int64_t stray_copies, stray_work;
    int64_t spgemm_bytes; /* bytes added to the workspace of each sparse product */
    int spgemm_fails;     /* 1: the numeric phase of sparse products fails */
    int converts;         /* 1: storages of formats are built on the device if possible */
    int captures;         /* 1: all streams capture graphs */
    int absent;           /* 1: a new context finds no mock device */
    int records;          /* 1: the device can record iterations of a solver and repeat them */
} mock_state;
extern mock_state mock;

extern spryi_driver mock_driver; /* tests may change its start_us */
extern const spryi_device_ops mock_ops;
spry_status mock_summarize_rows(const spryi_device *device, spryi_row_summary *summary, const spry_arrays *csr,
                                int checked, spry_error *err);
extern const struct spryi_spgemm_functions mock_spgemm;
extern const spryi_matrix_functions mock_matrix;
extern const struct spryi_spgemm_device_phases mock_spgemm_phases;
extern const spryi_kernel mock_spgemm_kernel;
struct spryi_vector_ops;
const struct spryi_vector_ops *mock_vector_ops(const spryi_device *device);

/* Returns the device's kernel for a format, or NULL. */
const spryi_kernel *mock_kernel_of(const char *format);

/* Sets the context that allocates memory when the mock decodes storages. */
void mock_use(spry_context *context);

extern _Thread_local int mock_entered; /* depth of nested uses of the device by this thread */

/* Open and close device memory for host access. Calls nest. */
void mock_open_memory(void);
void mock_close_memory(void);

/* Copies `bytes` of args and queues run(copy). run is called later, with the device memory open. */
void mock_enqueue(void (*run)(void *args), const void *args, size_t bytes);

/* Adds 1 to *strays if the test expects a stream and `stream` is another stream. */
void mock_note(void *stream, int64_t *strays);

/* Returns the number of queued tasks. */
int mock_waits(void);

/* Runs all queued tasks. */
void mock_finish(void);
