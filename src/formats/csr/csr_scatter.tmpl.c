/*
 * The inner functions of the transposed product; see csr.h for what each is given. The file that includes this gives
 *   FETCH(Ax, Aj, k)   what is to be fetched ahead with entry k
 *   TERM(a, x)         a*x, or x alone where the entries of A are ones without values
 *   LEAF(name)         the functions' names
 */

static inline void LEAF(scatter)(const SPRY_V *Ax, const SPRY_J *Aj, SPRY_V x, SPRY_V *y, int64_t k, int64_t end)
{
    for (; k + 8 <= end; k += 8) {
        FETCH(Ax, Aj, k);
        for (int q = 0; q < 8; q++) y[Aj[k + q]] += TERM(Ax[k + q], x);
    }
    FETCH(Ax, Aj, k); /* needed or not: no branch */
    for (; k < end; k++) y[Aj[k]] += TERM(Ax[k], x);
}

#ifndef OWN_ROWS
static void LEAF(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i++) LEAF(scatter)(job->values, job->columns, x[i], job->y, Ap[i], Ap[i + 1]);
}
#endif

static void LEAF(piece)(const spryi_csr_job *job, int64_t row, int64_t begin, int64_t end)
{
    LEAF(scatter)(job->values, job->columns, ((const SPRY_V *)job->x)[row], job->y, begin, end);
}

#ifndef OWN_STEPPED
/* Of the columns only those of the run's first row are read. */
static void LEAF(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + Ap[begin];
    const SPRY_V *Ax = job->values, *x = job->x;
    const int64_t length = Ap[begin + 1] - Ap[begin];
    SPRY_V *y = job->y;
    for (int64_t i = begin, k = Ap[begin]; i < end; i++, k += length)
        for (int64_t j = 0; j < length; j++) {
            if (j % 8 == 0) FETCH_STEPPED(Ax, k + j);
            y[Aj[j] + (i - begin)] += TERM(Ax[k + j], x[i]);
        }
    (void)Ax;
}
#endif

/* A group's rows are added before they are scattered: one reading of the columns, one change of y. */
static inline __attribute__((always_inline)) void LEAF(shared_groups)(const spryi_csr_job *job, int64_t begin,
                                                                      int64_t end, const int group)
{
    enum { STEP = 8 };
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *Ax = job->values, *x = job->x;
    SPRY_V *y = job->y;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = Ap[i], length = Ap[i + 1] - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        int64_t j = 0;
        for (; j + STEP <= length; j += STEP) {
            SPRY_V sum[STEP] = {0};
            FETCH(Ax, Aj, j);
            for (int r = 0; r < group; r++) {
                FETCH_STEPPED(Ax, first + r * length + j);
                for (int q = 0; q < STEP; q++) sum[q] += TERM(Ax[first + r * length + j + q], x[i + r]);
            }
            for (int q = 0; q < STEP; q++) y[Aj[j + q]] += sum[q];
        }
        for (; j < length; j++) {
            SPRY_V sum = 0;
            for (int r = 0; r < group; r++) sum += TERM(Ax[first + r * length + j], x[i + r]);
            y[Aj[j]] += sum;
        }
    }
    (void)Ax;
}

static void LEAF(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    switch (group) {
    case 2: LEAF(shared_groups)(job, begin, end, 2); break;
    case 3: LEAF(shared_groups)(job, begin, end, 3); break;
    case 4: LEAF(shared_groups)(job, begin, end, 4); break;
    case 5: LEAF(shared_groups)(job, begin, end, 5); break;
    case 6: LEAF(shared_groups)(job, begin, end, 6); break;
    case 7: LEAF(shared_groups)(job, begin, end, 7); break;
    default: LEAF(shared_groups)(job, begin, end, 8); break;
    }
}
