/* Part of seeds_cpu.c: the symbolic phases. */
#include "spgemm/seeds_list.tmpl.c"

/* Entries of row i of A that meet one of column j of B. */
static int64_t SPRY_FN(meetings)(const spryi_spgemm_job *job, int64_t i, int64_t j)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b_columns.offsets;
    const SPRY_J *Aj = job->a.indices, *Bi = job->b_columns.indices;
    int64_t meetings = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[j]; t < Bp[j + 1]; t++) meetings += Aj[k] == Bi[t];
    return meetings;
}

static void SPRY_FN(dot_count)(spryi_spgemm_job *job)
{
    for (int64_t i = 0; i < job->a.rows; i++) {
        job->offsets[i + 1] = 0;
        for (int64_t j = 0; j < job->b.cols; j++) job->offsets[i + 1] += SPRY_FN(meetings)(job, i, j) > 0;
    }
}

static void SPRY_FN(dense_count)(spryi_spgemm_job *job)
{
    const SPRY_P *Ap = job->a.offsets, *Bp = job->b.offsets;
    const SPRY_J *Aj = job->a.indices, *Bj = job->b.indices;
    unsigned char *met = job->workspace;
    for (int64_t i = 0; i < job->a.rows; i++) {
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
            for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) met[Bj[t]] = 1;
        job->offsets[i + 1] = 0;
        for (int64_t j = 0; j < job->b.cols; j++) {
            job->offsets[i + 1] += met[j];
            met[j] = 0;
        }
    }
}

static void SPRY_FN(smmp_count)(spryi_spgemm_job *job)
{
    int64_t *next = job->workspace, head;
    for (int64_t i = 0; i < job->a.rows; i++) {
        job->offsets[i + 1] = SPRY_FN(thread_row)(job, i, next, &head);
        while (head != 1) {
            const int64_t j = head - 2;
            head = next[j];
            next[j] = 0;
        }
    }
}
