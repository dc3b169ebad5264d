/*
 * Included by vector_ops_cpu.c once per type SPRY_V. The passes of vector_ops.h, factors handed in; their sums go to
 * w->partials. A *_block does one block, of `length` entries from the start of each pointer; `scaled` is a constant
 * where it is called, so that each has a loop without D (s) and one with it.
 */

/* ---- Conjugate Gradient ------------------------------------------------------------------------- */

static inline void SPRY_FN(start_block)(int64_t length, SPRY_V *restrict r, SPRY_V *restrict p,
                                        const SPRY_V *restrict b, const SPRY_V *restrict q, const SPRY_V *restrict D,
                                        double *sums)
{
    double rr[LANES] = {0}, rz[LANES] = {0}, bb[LANES] = {0};
    for (int64_t i = 0; i < length; i++) {
        SPRY_V residual = q ? b[i] - q[i] : b[i], z = D ? D[i] * residual : residual;
        r[i] = residual;
        p[i] = z;
        rr[i % LANES] += (double)residual * (double)residual;
        rz[i % LANES] += (double)residual * (double)z;
        bb[i % LANES] += (double)b[i] * (double)b[i];
    }
    sums[0] = add_lanes(rr);
    sums[1] = add_lanes(rz);
    sums[2] = add_lanes(bb);
}

static inline void SPRY_FN(dots_block)(int64_t length, const SPRY_V *restrict p, const SPRY_V *restrict q,
                                       const SPRY_V *restrict D, int scaled, double *sums)
{
    double pq[LANES] = {0}, qq[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= length; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double at = (double)q[i + l];
            pq[l] += (double)p[i + l] * at;
            qq[l] += scaled ? (double)D[i + l] * at * at : at * at;
        }
    for (int l = 0; i < length; i++, l++) {
        double at = (double)q[i];
        pq[l] += (double)p[i] * at;
        qq[l] += scaled ? (double)D[i] * at * at : at * at;
    }
    sums[0] = add_lanes(pq);
    sums[1] = add_lanes(qq);
}

static inline void SPRY_FN(step_block)(int64_t length, SPRY_V *restrict x, SPRY_V *restrict r, SPRY_V *restrict p,
                                       const SPRY_V *restrict q, const SPRY_V *restrict D, int scaled, SPRY_V alpha,
                                       SPRY_V beta, double *sums)
{
    double rr[LANES] = {0}, rz[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= length; i += LANES)
        for (int l = 0; l < LANES; l++) {
            SPRY_V direction = p[i + l], residual = r[i + l] - alpha * q[i + l];
            SPRY_V z = scaled ? D[i + l] * residual : residual;
            x[i + l] += alpha * direction;
            r[i + l] = residual;
            p[i + l] = z + beta * direction;
            rr[l] += (double)residual * (double)residual;
            if (scaled) rz[l] += (double)residual * (double)z;
        }
    for (int l = 0; i < length; i++, l++) {
        SPRY_V direction = p[i], residual = r[i] - alpha * q[i], z = scaled ? D[i] * residual : residual;
        x[i] += alpha * direction;
        r[i] = residual;
        p[i] = z + beta * direction;
        rr[l] += (double)residual * (double)residual;
        if (scaled) rz[l] += (double)residual * (double)z;
    }
    sums[0] = add_lanes(rr);
    sums[1] = scaled ? add_lanes(rz) : sums[0];
}

static inline void SPRY_FN(shrink_block)(int64_t length, SPRY_V *restrict r, const SPRY_V *restrict q,
                                         const SPRY_V *restrict D, SPRY_V alpha, double *sums)
{
    double rr[LANES] = {0}, rz[LANES] = {0};
    for (int64_t i = 0; i < length; i++) {
        SPRY_V residual = r[i] - alpha * q[i], z = D ? D[i] * residual : residual;
        r[i] = residual;
        rr[i % LANES] += (double)residual * (double)residual;
        rz[i % LANES] += (double)residual * (double)z;
    }
    sums[0] = add_lanes(rr);
    sums[1] = add_lanes(rz);
}

/* Sums of block b; pointers of it. */
#define SUMS(b) ((double *)w->partials.data + (b)*SPRYI_MOST_SUMS)
#define AT(v, b) ((v) ? (SPRY_V *)(uintptr_t)(v) + (b)*BLOCK : NULL)

static void SPRY_FN(start)(const spryi_vector_work *w, void *r, void *p, const void *b, const void *q, const void *D)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.first++) SPRY_FN(start_block)
    (length_of(w, k.first), AT(r, k.first), AT(p, k.first), AT(b, k.first), AT(q, k.first), AT(D, k.first),
     SUMS(k.first));
}

/* Backwards: the product before it wrote the end of q last. */
static void SPRY_FN(dots)(const spryi_vector_work *w, const void *p, const void *q, const void *D)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.end--) {
        int64_t b = k.end - 1;
        if (D)
            SPRY_FN(dots_block)(length_of(w, b), AT(p, b), AT(q, b), AT(D, b), 1, SUMS(b));
        else
            SPRY_FN(dots_block)(length_of(w, b), AT(p, b), AT(q, b), NULL, 0, SUMS(b));
    }
}

static void SPRY_FN(step)(const spryi_vector_work *w, void *x, void *r, void *p, const void *q, const void *D,
                          double alpha, double beta)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.first++) {
        int64_t b = k.first, length = length_of(w, b);
        if (D) SPRY_FN(step_block)
        (length, AT(x, b), AT(r, b), AT(p, b), AT(q, b), AT(D, b), 1, (SPRY_V)alpha, (SPRY_V)beta, SUMS(b));
        else SPRY_FN(step_block)(length, AT(x, b), AT(r, b), AT(p, b), AT(q, b), NULL, 0, (SPRY_V)alpha, (SPRY_V)beta,
                                 SUMS(b));
    }
}

static void SPRY_FN(shrink)(const spryi_vector_work *w, void *r, const void *q, const void *D, double alpha)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.first++) SPRY_FN(shrink_block)
    (length_of(w, k.first), AT(r, k.first), AT(q, k.first), AT(D, k.first), (SPRY_V)alpha, SUMS(k.first));
}

static void SPRY_FN(next_direction)(const spryi_vector_work *w, void *x_, void *p_, const void *r_, const void *D_,
                                    double alpha, double beta)
{
    SPRY_V *x = x_, *p = p_, a = (SPRY_V)alpha, c = (SPRY_V)beta;
    const SPRY_V *r = r_, *D = D_;
#pragma omp parallel for num_threads(w->threads)
    for (int64_t i = 0; i < w->n; i++) {
        SPRY_V direction = p[i];
        x[i] += a * direction;
        p[i] = (D ? D[i] * r[i] : r[i]) + c * direction;
    }
}

static void SPRY_FN(clear)(const spryi_vector_work *w, void *x_)
{
    SPRY_V *x = x_;
#pragma omp parallel for num_threads(w->threads)
    for (int64_t i = 0; i < w->n; i++) x[i] = 0;
}

static void SPRY_FN(distance)(const spryi_vector_work *w, const void *b_, const void *q_)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.first++) {
        const SPRY_V *b = AT(b_, k.first), *q = AT(q_, k.first);
        double lanes[LANES] = {0};
        for (int64_t i = 0, length = length_of(w, k.first); i < length; i++) {
            double d = (double)b[i] - (double)q[i];
            lanes[i % LANES] += d * d;
        }
        *SUMS(k.first) = add_lanes(lanes);
    }
}

/* ---- PageRank ----------------------------------------------------------------------------------- */

static void SPRY_FN(rank_start)(const spryi_vector_work *w, void *z_, void *y_, const void *s_, double value)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.first++) {
        SPRY_V *z = AT(z_, k.first), *y = AT(y_, k.first), x = (SPRY_V)value;
        const SPRY_V *s = AT(s_, k.first);
        double zero_mass = 0;
        for (int64_t i = 0, length = length_of(w, k.first); i < length; i++) {
            y[i] = 0;
            z[i] = s ? s[i] * x : x;
            zero_mass += s && s[i] == 0 ? (double)x : 0;
        }
        *SUMS(k.first) = zero_mass;
    }
}

static inline void SPRY_FN(rank_block)(int64_t length, SPRY_V *restrict before, const SPRY_V *restrict y,
                                       const SPRY_V *restrict s, int scaled, spry_norm norm, SPRY_V alpha, SPRY_V shift,
                                       SPRY_V shift_before, double *sums)
{
    double d1[RANK_LANES] = {0}, dn[RANK_LANES] = {0}, mass[RANK_LANES] = {0}, zero[RANK_LANES] = {0};
    int64_t i = 0;
#define RANK_ENTRY(i, l)                                                                                               \
    do {                                                                                                               \
        SPRY_V x = alpha * y[i] + shift, x_before = alpha * before[i] + shift_before, factor = scaled ? s[i] : 1;      \
        double d = fabs((double)x - (double)x_before), at = (double)x;                                                 \
        before[i] = factor * x;                                                                                        \
        d1[l] += d;                                                                                                    \
        if (norm == SPRY_NORM_2) dn[l] += d * d;                                                                       \
        if (norm == SPRY_NORM_INF) dn[l] = d > dn[l] ? d : dn[l]; /* NaN shows in d1 */                                \
        mass[l] += at;                                                                                                 \
        if (scaled) zero[l] += factor == 0 ? at : 0;                                                                   \
    } while (0)
    for (; i + RANK_LANES <= length; i += RANK_LANES)
        for (int l = 0; l < RANK_LANES; l++) RANK_ENTRY(i + l, l);
    for (int l = 0; i < length; i++, l++) RANK_ENTRY(i, l);
#undef RANK_ENTRY
    for (int e = 0; e < 4; e++) sums[e] = 0;
    for (int l = 0; l < RANK_LANES; l++) {
        sums[0] += d1[l];
        sums[1] = norm == SPRY_NORM_INF ? (dn[l] > sums[1] ? dn[l] : sums[1]) : sums[1] + dn[l];
        sums[2] += mass[l];
        sums[3] += zero[l];
    }
}

/* A loop for each norm, with and without s. */
static void SPRY_FN(rank_any)(int64_t length, SPRY_V *before, const SPRY_V *y, const SPRY_V *s, spry_norm norm,
                              SPRY_V alpha, SPRY_V shift, SPRY_V shift_before, double *sums)
{
#define RANK_CASE(norm)                                                                                                \
    (s ? SPRY_FN(rank_block)(length, before, y, s, 1, norm, alpha, shift, shift_before, sums)                          \
       : SPRY_FN(rank_block)(length, before, y, NULL, 0, norm, alpha, shift, shift_before, sums))
    if (norm == SPRY_NORM_2)
        RANK_CASE(SPRY_NORM_2);
    else if (norm == SPRY_NORM_INF)
        RANK_CASE(SPRY_NORM_INF);
    else
        RANK_CASE(SPRY_NORM_1);
#undef RANK_CASE
}

static void SPRY_FN(rank_step)(const spryi_vector_work *w, void *before, const void *y, const void *s, spry_norm norm,
                               double alpha, double shift, double shift_before)
{
#pragma omp parallel num_threads(w->threads)
    for (block_range k = own_blocks(w); k.first < k.end; k.end--) {
        int64_t b = k.end - 1;
        SPRY_FN(rank_any)
        (length_of(w, b), AT(before, b), AT(y, b), AT(s, b), norm, (SPRY_V)alpha, (SPRY_V)shift, (SPRY_V)shift_before,
         SUMS(b));
    }
}

static void SPRY_FN(rank_finish)(const spryi_vector_work *w, void *x_, const void *y_, double alpha, double shift)
{
    SPRY_V *x = x_, a = (SPRY_V)alpha, c = (SPRY_V)shift;
    const SPRY_V *y = y_;
#pragma omp parallel for num_threads(w->threads)
    for (int64_t i = 0; i < w->n; i++) x[i] = a * y[i] + c;
}

#undef SUMS
#undef AT
