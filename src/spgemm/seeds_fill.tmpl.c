/* Part of seeds_cpu.c: the numeric phases. */
#include "spgemm/seeds_list.tmpl.c"

/* Row i of A times column j of B; *met: a product fell. */
static SPRY_V SPRY_FN(dot)(const spryi_spgemm_job *job, int64_t i, int64_t j, int *met)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b_columns.offsets;
    const SPRY_J *Aj = job->a.indices, *Bi = job->b_columns.indices;
    const SPRY_V *Ax = job->a.values, *Bx = job->b_columns.values;
    SPRY_V sum = 0;
    *met = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[j]; t < Bp[j + 1]; t++)
            if (Aj[k] == Bi[t]) {
                sum += Ax[k] * Bx[t];
                *met = 1;
            }
    return sum;
}

static void SPRY_FN(dot_fill)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values;
    int64_t at = 0;
    for (int64_t i = 0; i < job->a.rows; i++)
        for (int64_t j = 0; j < job->b.cols; j++) {
            int met;
            const SPRY_V sum = SPRY_FN(dot)(job, i, j, &met);
            if (!met) continue;
            Cj[at] = (SPRY_J)j;
            Cx[at++] = (SPRY_V)job->alpha * sum;
        }
}

/* sums[j] and met[j] of row i. */
static void SPRY_FN(add_row)(const spryi_spgemm_job *job, int64_t i, SPRY_V *sums, unsigned char *met)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Bj = job->b.indices;
    const SPRY_V *Ax = job->a.values, *Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            sums[Bj[t]] += Ax[k] * Bx[t];
            if (met) met[Bj[t]] = 1;
        }
}

static void SPRY_FN(dense_fill)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values, *sums = job->workspace;
    unsigned char *met = (unsigned char *)(sums + job->b.cols);
    int64_t at = 0;
    for (int64_t i = 0; i < job->a.rows; i++) {
        SPRY_FN(add_row)(job, i, sums, met);
        for (int64_t j = 0; j < job->b.cols; j++) {
            if (met[j]) {
                Cj[at] = (SPRY_J)j;
                Cx[at++] = (SPRY_V)job->alpha * sums[j];
            }
            sums[j] = 0;
            met[j] = 0;
        }
    }
}

/* By insertion where a search says; lists of rising columns, which SMMP's are once turned around, move nothing. */
static void SPRY_FN(sort_row)(SPRY_J *list, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        const SPRY_J x = list[k];
        if (x > list[k - 1]) continue;
        int64_t low = 0, high = k;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (list[middle] < x)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(list + low + 1, list + low, (size_t)(k - low) * sizeof *list);
        list[low] = x;
    }
}

static void SPRY_FN(smmp_fill)(spryi_spgemm_job *job)
{
    SPRY_J *Cj = job->columns;
    SPRY_V *Cx = job->values, *sums = (SPRY_V *)((int64_t *)job->workspace + job->b.cols);
    int64_t *next = job->workspace, head;
    for (int64_t i = 0; i < job->a.rows; i++) {
        const int64_t at = job->offsets[i], n = SPRY_FN(thread_row)(job, i, next, &head);
        for (int64_t k = n - 1; k >= 0; k--) {
            const int64_t j = head - 2;
            Cj[at + k] = (SPRY_J)j;
            head = next[j];
            next[j] = 0;
        }
        SPRY_FN(sort_row)(Cj + at, n);
        SPRY_FN(add_row)(job, i, sums, NULL);
        for (int64_t k = at; k < at + n; k++) {
            Cx[k] = (SPRY_V)job->alpha * sums[Cj[k]];
            sums[Cj[k]] = 0;
        }
    }
}
