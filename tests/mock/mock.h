/*
 * A device for tests: host memory that counts as another device's. The host that touches it dies of it; work runs as
 * late as the interface allows; allocations fail on demand. Tests that are linked with this folder have it as device 1,
 * "mock"; drivers.c is their list of devices.
 */
#pragma once

#include "core/device.h"

/* Counters, and the failures that are asked for. Tests may set and clear all of it. */
typedef struct mock_state {
    int64_t allocations, fail_at; /* the call that is refused, from 1; 0: none */
    int64_t blocks;               /* that are held */
    int64_t copies_back, products, maps, conversions;
    int64_t looks;             /* at entries and sums, by the set-up of PageRank */
    int64_t gathers, gathered; /* calls, and pieces that they brought */
    int64_t stream_waits;      /* for a stream that is not the default one */
    void *stream;              /* where a test expects work; what comes in others: */
    int64_t stray_copies, stray_work;
    int64_t spgemm_bytes; /* of workspace that a sparse product takes beside its own */
    int spgemm_fails;     /* 1: its numeric phase fails */
    int converts;         /* 1: storages of formats are made on the device where that can be */
    int absent;           /* 1: a context that looks for it finds none */
    int records;          /* 1: it records rounds of an iteration ... */
} mock_state;
extern mock_state mock;

extern spryi_driver mock_driver; /* its start_us may be changed */
extern const spryi_device_ops mock_ops;
extern const struct spryi_spgemm_functions mock_spgemm;
extern const spryi_matrix_functions mock_matrix;
extern const struct spryi_spgemm_device_phases mock_spgemm_phases;
extern const spryi_kernel mock_spgemm_kernel;
struct spryi_vector_ops;
const struct spryi_vector_ops *mock_vector_ops(const spryi_device *device);

/* The device's kernel of a format; NULL: it has none. */
const spryi_kernel *mock_kernel_of(const char *format);

/* Storages are decoded with the memory of this context. */
void mock_use(spry_context *context);

extern _Thread_local int mock_entered; /* how often this thread has made the device current, and not left it */

/* Between them device memory can be touched; they nest. */
void mock_open_memory(void);
void mock_close_memory(void);

/* Has `bytes` of args copied and run(copy) called later, with the memory open. */
void mock_enqueue(void (*run)(void *args), const void *args, size_t bytes);

/* Counts what is not in the stream that a test expects it in, if it does. */
void mock_note(void *stream, int64_t *strays);

/* Tasks that are waiting. */
int mock_waits(void);

/* Runs all that is waiting. */
void mock_finish(void);
