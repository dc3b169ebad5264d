/* What io/mtx_to_csr.c hands to the instances of io/mtx_to_csr.tmpl.c. */
#ifndef SPRYI_MTX_TO_CSR_JOB_H
#define SPRYI_MTX_TO_CSR_JOB_H

#include "io/mtx.h"

typedef struct csr_job {
    spry_context *context;
    int64_t m, nnz; /* nnz: with mirror images; smaller once duplicates are summed */
    spry_symmetry symmetry;
    int threads;
    const spryi_mtx_entries *from;
    void *Ap, *Aj, *Ax;
} csr_job;

/* One set of functions for each triple of offset, index and value type. */
typedef struct csr_functions {
    size_t offset_bytes;
    /* Ap of entries whose rows never fall; Aj and Ax are the entries' own. */
    void (*offsets_of_sorted)(const csr_job *job);
    /* Ap, Aj and Ax by a stable counting sort. counts: threads * m offsets. */
    void (*sort_by_row)(const csr_job *job, void *counts);
    /* Rows that do not rise strictly: how many, the longest, and repeated neighbours in all rows. */
    void (*inspect)(const csr_job *job, int64_t *unsorted, int64_t *longest, int64_t *repeated);
    /* Sorts those rows, stable; each thread has scratch for `longest` indices and values. */
    void (*sort_rows)(const csr_job *job, int threads, int64_t longest, void *indices, void *values);
    void (*sum_repeated)(csr_job *job);
} csr_functions;

/* Rows are dealt out to threads in this many pieces of about as many entries. */
enum { CSR_PIECES = 64 };

#endif
