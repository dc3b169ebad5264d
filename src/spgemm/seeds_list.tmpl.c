/* Part of seeds_count.tmpl.c and seeds_fill.tmpl.c: SMMP's list. */

/* next[j] == 0: column j is not in the list; else next column + 2, or 1 at the end. */
static inline int64_t SPRY_FN(thread_row)(const spryi_spgemm_job *job, int64_t i, int64_t *next, int64_t *head)
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
