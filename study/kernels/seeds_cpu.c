/* Three sequential algorithms for sparse products, for reading and comparison (seeds.h). */
#ifdef SPRY_V

/*
 * Computes row i of A times column j of B. Sets *has_entry to whether they share an index. For each entry of A, the
 * column is searched from its start until an entry of B has the same index, as in the listing. Duplicates of an entry
 * of B follow the entry, and all of them are added.
 */
static SPRY_V SPRY_FN(dot)(const spryi_spgemm_job *job, int64_t i, int64_t j, bool *has_entry)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b_columns.offsets;
    const SPRY_J *Aj = job->a.indices, *Bi = job->b_columns.indices;
    const SPRY_V *Ax = job->a.values, *Bx = job->b_columns.values;
    SPRY_V sum = 0;
    *has_entry = false;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[j]; t < Bp[j + 1]; t++) {
            if (Aj[k] != Bi[t]) continue;
            for (; t < Bp[j + 1] && Bi[t] == Aj[k]; t++) sum += Ax[k] * Bx[t];
            *has_entry = true;
            break;
        }
    return sum;
}

/*
 * Builds the linked list of the columns of row i of C and returns its length. next[j]: 0 if column j is not in the
 * list, 1 if it is the last, else the next column + 2.
 */
static inline int64_t SPRY_FN(link_row)(const spryi_spgemm_job *job, int64_t i, int64_t *next, int64_t *head)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Bj = job->b.indices;
    int64_t length = 0;
    *head = 1;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            if (next[Bj[t]] != 0) continue;
            next[Bj[t]] = *head;
            *head = (int64_t)Bj[t] + 2;
            length++;
        }
    return length;
}

/* ---- symbolic ----------------------------------------------------------------------------------------------- */

static void SPRY_FN(dense_count)(spryi_spgemm_job *job)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Bj = job->b.indices;
    unsigned char *used = job->workspace;
    for (int64_t i = 0; i < job->a.rows; i++) {
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
            for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) used[Bj[t]] = 1;
        job->offsets[i + 1] = 0;
        for (int64_t j = 0; j < job->b.columns; j++) {
            job->offsets[i + 1] += used[j];
            used[j] = 0;
        }
    }
}

static void SPRY_FN(smmp_count)(spryi_spgemm_job *job)
{
    int64_t *next = job->workspace, head;
    for (int64_t i = 0; i < job->a.rows; i++) {
        job->offsets[i + 1] = SPRY_FN(link_row)(job, i, next, &head);
        while (head != 1) {
            const int64_t j = head - 2;
            head = next[j];
            next[j] = 0;
        }
    }
}

/* ---- numeric ------------------------------------------------------------------------------------------------ */

/* Runs one of the two phases: counts the entries of rows if job->columns is NULL, else writes columns and values. */
static void SPRY_FN(dot_rows)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values;
    const SPRY_V alpha = *(const SPRY_V *)job->alpha;
    for (int64_t i = 0, at = 0; i < job->a.rows; i++) {
        const int64_t begin = at;
        for (int64_t j = 0; j < job->b.columns; j++) {
            bool has_entry;
            const SPRY_V sum = SPRY_FN(dot)(job, i, j, &has_entry);
            if (has_entry && Cj) {
                Cj[at] = (SPRY_J)j;
                Cx[at] = alpha * sum;
            }
            at += has_entry;
        }
        if (!Cj) job->offsets[i + 1] = at - begin;
    }
    job->sort_us = 0;
}

/* Adds the products of row i to sums. Sets used[j] for each of their columns j, unless used is NULL. */
static void SPRY_FN(add_row)(const spryi_spgemm_job *job, int64_t i, SPRY_V *sums, unsigned char *used)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Bj = job->b.indices;
    const SPRY_V *Ax = job->a.values, *Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            sums[Bj[t]] += Ax[k] * Bx[t];
            if (used) used[Bj[t]] = 1;
        }
}

static void SPRY_FN(dense_fill)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values, *sums = job->workspace;
    const SPRY_V alpha = *(const SPRY_V *)job->alpha;
    unsigned char *used = (unsigned char *)(sums + job->b.columns);
    int64_t at = 0;
    for (int64_t i = 0; i < job->a.rows; i++) {
        SPRY_FN(add_row)(job, i, sums, used);
        for (int64_t j = 0; j < job->b.columns; j++) {
            if (used[j]) {
                Cj[at] = (SPRY_J)j;
                Cx[at++] = alpha * sums[j];
            }
            sums[j] = 0;
            used[j] = 0;
        }
    }
    job->sort_us = 0;
}

/* Sorts a row by binary insertion. Columns that are already in increasing order are not moved. */
static void SPRY_FN(sort_row)(SPRY_J *list, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        const SPRY_J x = list[k];
        if (x > list[k - 1]) continue;
        int64_t low;
        SPRYI_BISECT(low, 0, k, list[low] < x);
        memmove(list + low + 1, list + low, (size_t)(k - low) * sizeof *list);
        list[low] = x;
    }
}

/*
 * Writes columns of all rows, sorts all rows, then computes values. The sort, which SMMP does not have, runs over all
 * rows together, so that its time can be measured separately.
 */
static void SPRY_FN(smmp_fill)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values, *sums = (SPRY_V *)((int64_t *)job->workspace + job->b.columns);
    const SPRY_V alpha = *(const SPRY_V *)job->alpha;
    int64_t *next = job->workspace, head;
    for (int64_t i = 0; i < job->a.rows; i++) {
        const int64_t at = job->offsets[i], n = SPRY_FN(link_row)(job, i, next, &head);
        for (int64_t k = n - 1; k >= 0; k--) {
            const int64_t j = head - 2;
            Cj[at + k] = (SPRY_J)j;
            head = next[j];
            next[j] = 0;
        }
    }
    const double start = spryi_now_us();
    for (int64_t i = 0; i < job->a.rows; i++)
        SPRY_FN(sort_row)(Cj + job->offsets[i], job->offsets[i + 1] - job->offsets[i]);
    job->sort_us = spryi_now_us() - start;
    for (int64_t i = 0; i < job->a.rows; i++) {
        SPRY_FN(add_row)(job, i, sums, NULL);
        for (int64_t k = job->offsets[i]; k < job->offsets[i + 1]; k++) {
            Cx[k] = alpha * sums[Cj[k]];
            sums[Cj[k]] = 0;
        }
    }
}

#else
#include "study/kernels/seeds.h"

#include "base/bisect.h"
#include "base/clock.h"

#include <string.h>

#define SPRYI_TEMPLATE "study/kernels/seeds_cpu.c"
#include "base/instantiate.h"

static const spryi_spgemm_table dot_table = SPRYI_TABLE(dot_rows);
static const spryi_spgemm_table dense_counts = SPRYI_TABLE(dense_count), dense_fills = SPRYI_TABLE(dense_fill);
static const spryi_spgemm_table smmp_counts = SPRYI_TABLE(smmp_count), smmp_fills = SPRYI_TABLE(smmp_fill);

/*
 * Workspace of an algorithm on one thread: column_bytes per column of C. If `values`, the numeric phase also needs one
 * value per column.
 */
#define SIZES(way, column_bytes, values)                                                                               \
    static spryi_spgemm_sizes way##_sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes)   \
    {                                                                                                                  \
        (void)most_bytes;                                                                                              \
        const int64_t value = (values) && phase == SPRYI_FILL ? (int64_t)spry_type_bytes(job->type) : 0;               \
        return (spryi_spgemm_sizes){.threads = 1, .bytes = job->b.columns * ((int64_t)(column_bytes) + value)};        \
    }
SIZES(dot, 0, 0)
SIZES(dense, 1, 1)
SIZES(smmp, sizeof(int64_t), 1)

#define KERNEL(name_, way, count_, fill_, needs_csc_, idea_, source_)                                                  \
    static const spryi_spgemm_host_phases way##_phases = {.sequential = 1,                                             \
                                                          .needs_csc = needs_csc_,                                     \
                                                          .sizes = way##_sizes,                                        \
                                                          .count = &count_,                                            \
                                                          .fill = &fill_,                                              \
                                                          .columns = &fill_,                                           \
                                                          .refill = &fill_};                                           \
    const spryi_kernel spryi_##name_ = {.name = #name_,                                                                \
                                        .format = "csr",                                                               \
                                        .device = "cpu",                                                               \
                                        .idea = idea_,                                                                 \
                                        .source = source_,                                                             \
                                        .study = 1,                                                                    \
                                        .pattern = 1,                                                                  \
                                        .spgemm = &way##_phases};
#define SEED "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013, section "
KERNEL(spgemm_seed_dot_cpu, dot, dot_table, dot_table, 1,
       "each row of A times each column of B, which is converted to CSC: the paper's sequential listing", SEED "2.2")
KERNEL(spgemm_seed_dense_cpu, dense, dense_counts, dense_fills, 0,
       "sums each row in an array of all columns, which is reset and searched for each row", SEED "3.3")
KERNEL(spgemm_smmp_cpu, smmp, smmp_counts, smmp_fills, 0,
       "two passes on one thread; a linked list in one array holds the columns of a row, which are sorted at the end",
       "R. E. Bank, C. C. Douglas, Sparse Matrix Multiplication Package (SMMP), 1993")
#endif
