/*
 * Lists columns of C while rows are counted, for each value type and index pair. A single thread writes the columns
 * directly into C. With more threads, the columns of a piece are stored in job->listed, after room for all products of
 * the pieces before it.
 */

/* Lists the marked columns of `words` words, starting at word `low`, in order. Leaves the words zero. */
static inline SPRY_J *SPRY_FN(list_marked)(uint64_t *restrict mask, int64_t low, int64_t words, SPRY_J *restrict Cj)
{
    for (int64_t word = low; word < low + words; word++) {
        if (mask[word] == 0) continue;
        Cj = SPRY_FN(emit_bits)(mask[word], 64 * word, Cj);
        mask[word] = 0;
    }
    return Cj;
}

/*
 * Copies the columns of row i's products, with duplicates, and appends zeros. Returns the number of products, or -1 if
 * it exceeds SPRYI_FEW_PRODUCTS. For a row of B with at most eight columns, copies eight columns, so that the size of
 * the copy is a constant. The last rows of B are an exception.
 */
static inline int64_t SPRY_FN(copy_few)(const spryi_spgemm_job *job, int64_t i, SPRY_J *restrict met)
{
    enum { AT_ONCE = SPRYI_BEYOND_FEW };
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets, end = Bp[job->b.rows];
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int64_t n = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P from = Bp[Aj[k]];
        const int64_t length = (int64_t)(Bp[Aj[k] + 1] - from);
        if (n + length > SPRYI_FEW_PRODUCTS) return -1;
        if (length <= AT_ONCE && from + AT_ONCE <= end)
            memcpy(met + n, Bj + from, AT_ONCE * sizeof *met);
        else
            memcpy(met + n, Bj + from, (size_t)length * sizeof *met);
        n += length;
    }
    memset(met + n, 0, AT_ONCE * sizeof *met); /* list_few compares these elements */
    return n;
}

/*
 * Lists the distinct columns among n, in order. The position of a column is the number of smaller columns. No branch
 * depends on the columns.
 */
static inline SPRY_J *SPRY_FN(list_few)(const SPRY_J *restrict met, int64_t n, SPRY_J *restrict Cj)
{
    enum { STRIDE = 8 };
    SPRY_J smaller[SPRYI_FEW_PRODUCTS], sorted[SPRYI_FEW_PRODUCTS];
    for (int64_t t = 0; t < n; t += STRIDE) {
        SPRY_J smaller_of[STRIDE] = {0};
        for (int64_t k = 0; k < n; k++)
            for (int u = 0; u < STRIDE; u++) smaller_of[u] += met[k] < met[t + u];
        for (int u = 0; u < STRIDE; u++) smaller[t + u] = smaller_of[u], sorted[t + u] = -1;
    }
    for (int64_t k = 0; k < n; k++) sorted[smaller[k]] = met[k];
    for (int64_t k = 0; k < n; k++) { /* positions of duplicates remain empty */
        *Cj = sorted[k];
        Cj += sorted[k] >= 0;
    }
    return Cj;
}

/*
 * Lists the columns of row i in order. A second bit mask marks the nonzero words of the first mask. Leaves both masks
 * zero.
 */
static SPRY_J *SPRY_FN(list_words)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t i, int64_t low,
                                   int64_t words, SPRY_J *restrict Cj)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const spryi_spgemm_bitmaps *bitmaps = &job->rows_of_b.bitmaps;
    uint64_t *restrict mask = w->mask, *restrict marked = w->marked;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        if (bitmaps->count == 0)
            for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
                mask[Bj[t] >> 6] |= (uint64_t)1 << (Bj[t] & 63);
                marked[Bj[t] >> 12] |= (uint64_t)1 << (Bj[t] >> 6 & 63);
            }
        else
            for (int64_t t = bitmaps->offsets[Aj[k]]; t < bitmaps->offsets[Aj[k] + 1]; t++) {
                mask[bitmaps->index[t]] |= bitmaps->bits[t];
                marked[bitmaps->index[t] >> 6] |= (uint64_t)1 << (bitmaps->index[t] & 63);
            }
    }
    for (int64_t m = low >> 6; m <= (low + words - 1) >> 6; m++) {
        for (uint64_t bits = marked[m]; bits; bits &= bits - 1) {
            const int64_t word = 64 * m + __builtin_ctzll(bits);
            Cj = SPRY_FN(emit_bits)(mask[word], 64 * word, Cj);
            mask[word] = 0;
        }
        marked[m] = 0;
    }
    return Cj;
}

/* Lists the columns of row i, which has `products` products, starting at Cj. Returns the end of the list. */
static inline SPRY_J *SPRY_FN(list_row)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t i,
                                        int64_t first, int64_t last, int64_t products, SPRY_J *Cj)
{
    const int64_t low = first / 64, words = last / 64 + 1 - low;
    if (words > 64 && words * 4 >= products) return SPRY_FN(list_words)(job, w, i, low, words, Cj);
    if (job->rows_of_b.bitmaps.count > 0)
        (void)SPRY_FN(mark_bitmaps)(job, w->mask, i);
    else
        (void)SPRY_FN(mark)(job, w->mask, i);
    return SPRY_FN(list_marked)(w->mask, low, words, Cj);
}

/* Counts and lists row i by reading its products. Returns the end of the list. */
static inline SPRY_J *SPRY_FN(count_and_list)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t i,
                                              SPRY_J *Cj, int64_t *words)
{
    SPRY_J met[SPRYI_FEW_PRODUCTS + SPRYI_BEYOND_FEW], *behind;
    int64_t first, last, products = SPRY_FN(copy_few)(job, i, met);
    job->offsets[i + 1] = *words = 0;
    if (products == 0) return Cj;
    if (products > 0) {
        behind = SPRY_FN(list_few)(met, products, Cj);
        first = Cj[0];
        last = behind[-1];
    } else {
        products = SPRY_FN(row_products)(job, i);
        SPRY_FN(row_span)(job, i, &first, &last);
        behind = SPRY_FN(list_row)(job, w, i, first, last, products, Cj);
    }
    job->offsets[i + 1] = behind - Cj;
    *words = spryi_rows_words(first, last);
    spryi_rows_note_span(job, &w->seen, *words, products);
    return behind;
}

/* Counts the rows of a piece, lists their columns, and notes their spans as count_row does. */
static void SPRY_FN(list_rows)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    spryi_run_search search;
    int64_t *restrict counts = job->offsets + 1, words = 0;
    SPRY_J *Cj = job->listed ? (SPRY_J *)job->listed + job->pieces.products[w->piece]
                             : (SPRY_J *)job->columns + w->listed;
    SPRY_J shift;
    const bool runs = !SPRY_P_IS_64 && w->run.most_values > 0;
    if (runs) spryi_begin_search(&search, &w->run, begin);
    for (int64_t i = begin, rows = 1; i < end; i += rows) {
        const int64_t run = runs ? spryi_try_run(job, &search.run, i, end) : 0;
        rows = run > 0 ? run : 1;
        if (i > begin && SPRY_FN(repeats)(job, i, &shift)) {
            const int64_t n = counts[i] = counts[i - 1];
            for (int64_t k = 0; k < n; k++) Cj[k] = Cj[k - n] + shift;
            Cj += n;
            spryi_rows_note_repeated(&w->seen, words, shift == 0);
        } else {
            Cj = SPRY_FN(count_and_list)(job, w, i, Cj, &words);
        }
        if (run == 0) continue;
        const int64_t n = counts[i];
        SPRY_FN(repeat_run)(&search.run, Cj - n, n, run);
        Cj += (run - 1) * n;
        for (int64_t r = 1; r < run; r++) counts[i + r] = n;
        spryi_rows_note_repeated(&w->seen, words, search.run.identical > 1);
        w->seen.in_runs += run;
    }
    if (!job->listed) w->listed = Cj - (SPRY_J *)job->columns;
}

static void SPRY_FN(list)(spryi_spgemm_job *job)
{
    job->found = (spryi_spgemm_spans){0};
    if (!job->listed) job->sizes.threads = 1; /* pieces are consecutive in C */
    spryi_rows_run(job, SPRY_FN(list_rows));
}
