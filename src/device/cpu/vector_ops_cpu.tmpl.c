/*
 * Passes of vector_ops.h for vectors of type SPRY_V, included by vector_ops_level.tmpl.c once per type. Callers pass
 * the factors; sums are stored in w->partials. A function *_block processes one block of `length` elements. `scaled` is
 * a constant in every call, so that the loops with and without D (for PageRank: s) are separate.
 */

/* ---- Conjugate Gradient ------------------------------------------------------------------------- */

static inline void SPRY_FN(start_block)(int64_t length, SPRY_V *restrict r, SPRY_V *restrict p,
                                        const SPRY_V *restrict b, const double *restrict wide, const SPRY_V *restrict q,
                                        const SPRY_V *restrict D, double *sums)
{
    double rr[LANES] = {0}, rz[LANES] = {0}, bb[LANES] = {0};
    for (int64_t i = 0; i < length; i++) {
        const double at = wide ? wide[i] : (double)b[i];
        SPRY_V residual = q ? (SPRY_V)at - q[i] : (SPRY_V)at, z = D ? D[i] * residual : residual;
        r[i] = residual;
        p[i] = z;
        rr[i % LANES] += (double)residual * (double)residual;
        rz[i % LANES] += (double)residual * (double)z;
        bb[i % LANES] += at * at;
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

static inline void SPRY_FN(first_half_block)(int64_t length, SPRY_V *restrict r, const SPRY_V *restrict q,
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

/* SUMS(b) points to the sums of block b. AT(v, b) points to the elements of v in block b; NULL if v is NULL. */
#define SUMS(b) ((double *)g->w->partials.data + (b)*SPRYI_MOST_SUMS)
#define AT(v, b) ((v) ? (SPRY_V *)(uintptr_t)(v) + (b)*BLOCK : NULL)

/* vector_pass.argument is b in f64, or NULL if b has the vectors' type. */
static void SPRY_FN(start_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = first; b < end; b++) {
        const double *wide = g->argument ? (const double *)g->argument + b * BLOCK : NULL;
        SPRY_FN(start_block)
        (length_of(g->w, b), AT(g->r, b), AT(g->p, b), AT(g->b, b), wide, AT(g->q, b), AT(g->D, b), SUMS(b));
    }
}

/* vector_pass.b is the vector p. */
static void SPRY_FN(dots_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = end - 1; b >= first; b--)
        if (g->D)
            SPRY_FN(dots_block)(length_of(g->w, b), AT(g->b, b), AT(g->q, b), AT(g->D, b), 1, SUMS(b));
        else
            SPRY_FN(dots_block)(length_of(g->w, b), AT(g->b, b), AT(g->q, b), NULL, 0, SUMS(b));
}

static void SPRY_FN(step_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    const SPRY_V alpha = (SPRY_V)g->alpha, beta = (SPRY_V)g->beta;
    for (int64_t b = first; b < end; b++) {
        SPRY_V *x = AT(g->x, b), *r = AT(g->r, b), *p = AT(g->p, b);
        const int64_t length = length_of(g->w, b);
        if (g->D)
            SPRY_FN(step_block)(length, x, r, p, AT(g->q, b), AT(g->D, b), 1, alpha, beta, SUMS(b));
        else
            SPRY_FN(step_block)(length, x, r, p, AT(g->q, b), NULL, 0, alpha, beta, SUMS(b));
    }
}

static void SPRY_FN(first_half_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = first; b < end; b++)
        SPRY_FN(first_half_block)(length_of(g->w, b), AT(g->r, b), AT(g->q, b), AT(g->D, b), (SPRY_V)g->alpha, SUMS(b));
}

/* vector_pass.b is the vector r. */
static void SPRY_FN(next_direction_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    SPRY_V *x = g->x, *p = g->p, a = (SPRY_V)g->alpha, c = (SPRY_V)g->beta;
    const SPRY_V *r = g->b, *D = g->D;
    for (int64_t i = first * BLOCK, end = end_of(g->w, last); i < end; i++) {
        SPRY_V direction = p[i];
        x[i] += a * direction;
        p[i] = (D ? D[i] * r[i] : r[i]) + c * direction;
    }
}

static void SPRY_FN(clear_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    memset((SPRY_V *)g->x + first * BLOCK, 0, (size_t)(end_of(g->w, last) - first * BLOCK) * sizeof(SPRY_V));
}

static void SPRY_FN(distance_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t block = first; block < end; block++) {
        const SPRY_V *b = AT(g->b, block), *q = AT(g->q, block);
        double lanes[LANES] = {0};
        for (int64_t i = 0, length = length_of(g->w, block); i < length; i++) {
            double d = (double)b[i] - (double)q[i];
            lanes[i % LANES] += d * d;
        }
        *SUMS(block) = add_lanes(lanes);
    }
}

/* ---- separate M --------------------------------------------------------------------------------- */

static void SPRY_FN(shrink_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    const SPRY_V alpha = (SPRY_V)g->alpha;
    for (int64_t b = first; b < end; b++) {
        SPRY_V *restrict x = AT(g->x, b), *restrict r = AT(g->r, b);
        const SPRY_V *restrict p = AT(g->p, b), *restrict q = AT(g->q, b);
        double rr[LANES] = {0};
        const int64_t length = length_of(g->w, b);
        for (int64_t i = 0; i < length; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rr[i % LANES] += (double)r[i] * (double)r[i];
        }
        *SUMS(b) = add_lanes(rr);
    }
}

/* vector_pass.x is the vector z. */
static void SPRY_FN(weigh_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = end - 1; b >= first; b--) {
        const SPRY_V *r = AT(g->r, b), *z = AT(g->x, b);
        double rz[LANES] = {0};
        for (int64_t i = 0, length = length_of(g->w, b); i < length; i++) rz[i % LANES] += (double)r[i] * (double)z[i];
        *SUMS(b) = add_lanes(rz);
    }
}

/* Multiplies row i of M's block t by r. r starts at the block's first row; rows: number of rows in the block. */
static inline SPRY_V SPRY_FN(row_of_block)(const spryi_cg_blocks *M, int64_t t, int i, int rows, const SPRY_V *r)
{
    const SPRY_V *entries = (const SPRY_V *)M->entries + t;
    SPRY_V sum = 0;
    int64_t e = (int64_t)i * (i + 1) / 2;
    for (int j = 0; j < rows; j++) {
        sum += entries[e * M->count] * r[j];
        e += j < i ? 1 : j + 1; /* continues along row i of the lower triangle, then down column i */
    }
    return sum;
}

/* vector_pass.x is the vector z, vector_pass.argument is M. */
static void SPRY_FN(blocks_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    const spryi_cg_blocks *M = g->argument;
    const SPRY_V *r = g->r;
    SPRY_V *z = g->x;
    for (int64_t b = first; b < end; b++) {
        double rz[LANES] = {0};
        for (int64_t i = b * BLOCK, last = end_of(g->w, b + 1); i < last; i++) {
            const int64_t t = i / M->size, from = t * M->size, left = g->w->n - from;
            const int rows = left < M->size ? (int)left : M->size;
            z[i] = SPRY_FN(row_of_block)(M, t, (int)(i - from), rows, r + from);
            rz[i % LANES] += (double)r[i] * (double)z[i];
        }
        *SUMS(b) = add_lanes(rz);
    }
}

/* In vector_pass, x is the vector z_before, p is z, and argument is the step. */
static void SPRY_FN(polynomial_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    const spryi_cg_polynomial_step *step = g->argument;
    const SPRY_V keep = (SPRY_V)step->keep, add = (SPRY_V)step->add;
    for (int64_t b = first; b < end; b++) {
        SPRY_V *restrict before = AT(g->x, b);
        const SPRY_V *restrict z = AT(g->p, b), *restrict r = AT(g->r, b), *restrict q = AT(g->q, b);
        const SPRY_V *restrict D = AT(g->D, b);
        const int64_t length = length_of(g->w, b);
        double rz[LANES] = {0};
        if (!z)
            for (int64_t i = 0; i < length; i++) before[i] = add * D[i] * r[i];
        else if (!step->has_before)
            for (int64_t i = 0; i < length; i++) before[i] = z[i] + keep * z[i] + add * D[i] * (r[i] - q[i]);
        else
            for (int64_t i = 0; i < length; i++)
                before[i] = z[i] + keep * (z[i] - before[i]) + add * D[i] * (r[i] - q[i]);
        for (int64_t i = 0; i < length && step->is_last; i++) rz[i % LANES] += (double)r[i] * (double)before[i];
        *SUMS(b) = add_lanes(rz);
    }
}

/* vector_pass.q is the vector z. */
static void SPRY_FN(set_direction_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    SPRY_V *restrict p = g->p;
    const SPRY_V *restrict z = g->q, beta = (SPRY_V)g->beta;
    for (int64_t i = first * BLOCK, end = end_of(g->w, last); i < end; i++) p[i] = z[i] + beta * p[i];
}

/* ---- f64 residuals of narrower vectors ---------------------------------------------------------------- */

/* vector_pass.r is the vector y. */
static void SPRY_FN(collect_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    double *y = g->r;
    SPRY_V *x = g->x;
    for (int64_t i = first * BLOCK, end = end_of(g->w, last); i < end; i++) {
        y[i] += (double)x[i];
        x[i] = 0;
    }
}

/* vector_pass.p is NULL for a separate M. */
static void SPRY_FN(replace_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t block = first; block < end; block++) {
        const double *b = (const double *)g->b + block * BLOCK, *q = (const double *)g->q + block * BLOCK;
        SPRY_V *r = AT(g->r, block), *p = AT(g->p, block);
        const SPRY_V *D = AT(g->D, block);
        double rr[LANES] = {0}, rz[LANES] = {0};
        for (int64_t i = 0, length = length_of(g->w, block); i < length; i++) {
            const SPRY_V residual = (SPRY_V)(b[i] - q[i]), z = D ? D[i] * residual : residual;
            if (p) p[i] += z - (D ? D[i] * r[i] : r[i]);
            r[i] = residual;
            rr[i % LANES] += (double)residual * (double)residual;
            rz[i % LANES] += (double)residual * (double)z;
        }
        SUMS(block)[0] = add_lanes(rr);
        SUMS(block)[1] = add_lanes(rz);
    }
}

/* ---- PageRank ----------------------------------------------------------------------------------- */

/* Returns whether a vector's element is valid: finite and not negative. */
static inline bool SPRY_FN(is_weight)(SPRY_V value)
{
    return value >= 0 && value - value == 0;
}

/*
 * vector_pass.b is the vector v. The second sum is the index of the first invalid element within the block; -1: none.
 */
static void SPRY_FN(rank_weigh_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = first; b < end; b++) {
        const SPRY_V *v = AT(g->b, b);
        const int64_t length = length_of(g->w, b);
        double lanes[LANES] = {0};
        bool good = true;
        int64_t bad = 0;
        for (int64_t i = 0; i < length; i++) {
            lanes[i % LANES] += (double)v[i];
            good &= SPRY_FN(is_weight)(v[i]);
        }
        while (!good && SPRY_FN(is_weight)(v[bad])) bad++;
        SUMS(b)[0] = add_lanes(lanes);
        SUMS(b)[1] = good ? -1 : (double)bad;
    }
}

/* vector_pass.x is the vector v, vector_pass.alpha is the divisor. */
static void SPRY_FN(rank_divide_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    SPRY_V *v = g->x;
    for (int64_t i = first * BLOCK, end = end_of(g->w, last); i < end; i++) v[i] = (SPRY_V)((double)v[i] / g->alpha);
}

/* In vector_pass, x, r, b and D are the vectors z, y, x and s, and alpha is the weight. */
static void SPRY_FN(rank_start_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    for (int64_t b = first; b < end; b++) {
        SPRY_V *z = AT(g->x, b), *y = AT(g->r, b), shift = (SPRY_V)g->shift;
        const SPRY_V *given = AT(g->b, b), *s = AT(g->D, b), *v = AT(g->v, b);
        double dangling_mass = 0;
        for (int64_t i = 0, length = length_of(g->w, b); i < length; i++) {
            SPRY_V x = given ? (SPRY_V)((double)given[i] / g->alpha) : v ? shift * v[i] : shift;
            y[i] = given ? x : 0;
            z[i] = s ? s[i] * x : x;
            dangling_mass += s && s[i] == 0 ? (double)x : 0;
        }
        *SUMS(b) = dangling_mass;
    }
}

/* Factors that all elements of a step share. */
typedef struct SPRY_FN(rank_scalars) {
    SPRY_V alpha, shift, alpha_before, shift_before;
} SPRY_FN(rank_scalars);

/* A vector of RANK_LANES elements. */
typedef SPRY_V SPRY_FN(rank_piece) __attribute__((vector_size(RANK_LANES * sizeof(SPRY_V))));

/*
 * Processes the elements of a block in groups of RANK_LANES. Returns the number of processed elements; the rest is less
 * than a group. Stores the sums by lane. The loop uses vector types, because compilers vectorize the equivalent loop
 * over scalars across the lanes, with shuffles.
 */
static inline int64_t SPRY_FN(rank_lanes)(int64_t length, SPRY_V *restrict before, const SPRY_V *restrict y,
                                          const SPRY_V *restrict s, int scaled, const SPRY_V *restrict v, int personal,
                                          spry_norm norm, SPRY_FN(rank_scalars) c, double *d1, double *dn, double *mass,
                                          double *zero)
{
#define ALL(value)                                                                                                     \
    {                                                                                                                  \
        value, value, value, value                                                                                     \
    }
    typedef SPRY_FN(rank_piece) piece;
    const piece alpha = ALL(c.alpha), shift = ALL(c.shift), alpha_before = ALL(c.alpha_before);
    const piece shift_before = ALL(c.shift_before), none = ALL(0);
    const rank_bits no_sign = ALL(INT64_MAX);
    rank_wide d1s = ALL(0), dns = ALL(0), masses = ALL(0), zeros = ALL(0);
    int64_t i = 0;
#undef ALL
    for (; i + RANK_LANES <= length; i += RANK_LANES) {
        piece ys, befores, factors = none, vs;
        memcpy(&ys, y + i, sizeof ys);
        memcpy(&befores, before + i, sizeof befores);
        if (scaled) memcpy(&factors, s + i, sizeof factors);
        if (personal) memcpy(&vs, v + i, sizeof vs);
        const piece x = alpha * ys + (personal ? shift * vs : shift);
        const piece x_before = alpha_before * befores + (personal ? shift_before * vs : shift_before);
        const rank_wide at = __builtin_convertvector(x, rank_wide);
        const rank_wide d = (rank_wide)((rank_bits)(at - __builtin_convertvector(x_before, rank_wide)) & no_sign);
        const piece z = scaled ? factors * x : x;
        memcpy(before + i, &z, sizeof z);
        d1s += d;
        if (norm == SPRY_NORM_2) dns += d * d;
        if (norm == SPRY_NORM_INF) {
            const rank_bits is_larger = d > dns;
            dns = (rank_wide)(((rank_bits)d & is_larger) | ((rank_bits)dns & ~is_larger));
        }
        masses += at;
        if (scaled) zeros += (rank_wide)((rank_bits)at & __builtin_convertvector(factors == none, rank_bits));
    }
    memcpy(d1, &d1s, sizeof d1s);
    memcpy(dn, &dns, sizeof dns);
    memcpy(mass, &masses, sizeof masses);
    memcpy(zero, &zeros, sizeof zeros);
    return i;
}

static inline void SPRY_FN(rank_block)(int64_t length, SPRY_V *restrict before, const SPRY_V *restrict y,
                                       const SPRY_V *restrict s, int scaled, const SPRY_V *restrict v, int personal,
                                       spry_norm norm, SPRY_FN(rank_scalars) c, double *sums)
{
    double d1[RANK_LANES] = {0}, dn[RANK_LANES] = {0}, mass[RANK_LANES] = {0}, zero[RANK_LANES] = {0};
    int64_t i = SPRY_FN(rank_lanes)(length, before, y, s, scaled, v, personal, norm, c, d1, dn, mass, zero);
    for (int l = 0; i < length; i++, l++) {
        SPRY_V x = c.alpha * y[i] + (personal ? c.shift * v[i] : c.shift), factor = scaled ? s[i] : 1;
        SPRY_V x_before = c.alpha_before * before[i] + (personal ? c.shift_before * v[i] : c.shift_before);
        double d = fabs((double)x - (double)x_before), at = (double)x;
        before[i] = factor * x;
        d1[l] += d;
        if (norm == SPRY_NORM_2) dn[l] += d * d;
        if (norm == SPRY_NORM_INF) dn[l] = d > dn[l] ? d : dn[l]; /* ignores a NaN, since d1 becomes NaN */
        mass[l] += at;
        if (scaled) zero[l] += factor == 0 ? at : 0;
    }
    for (int e = 0; e < 4; e++) sums[e] = 0;
    for (int l = 0; l < RANK_LANES; l++) {
        sums[0] += d1[l];
        sums[1] = norm == SPRY_NORM_INF ? (dn[l] > sums[1] ? dn[l] : sums[1]) : sums[1] + dn[l];
        sums[2] += mass[l];
        sums[3] += zero[l];
    }
}

/* Selects a loop by norm, and with or without s and v. */
static void SPRY_FN(rank_any)(int64_t length, SPRY_V *before, const SPRY_V *y, const SPRY_V *s, const SPRY_V *v,
                              spry_norm norm, SPRY_FN(rank_scalars) c, double *sums)
{
#define RANK_OF(scaled, personal, norm)                                                                                \
    SPRY_FN(rank_block)(length, before, y, (scaled) ? s : NULL, scaled, (personal) ? v : NULL, personal, norm, c, sums)
#define RANK_CASE(norm)                                                                                                \
    (s ? (v ? RANK_OF(1, 1, norm) : RANK_OF(1, 0, norm)) : (v ? RANK_OF(0, 1, norm) : RANK_OF(0, 0, norm)))
    if (norm == SPRY_NORM_2)
        RANK_CASE(SPRY_NORM_2);
    else if (norm == SPRY_NORM_INF)
        RANK_CASE(SPRY_NORM_INF);
    else
        RANK_CASE(SPRY_NORM_1);
#undef RANK_CASE
#undef RANK_OF
}

/* In vector_pass, x, b and D are the vectors y_before, y and s, and beta is the shift before. */
static void SPRY_FN(rank_step_blocks)(const void *argument, int64_t first, int64_t end)
{
    const vector_pass *g = argument;
    const SPRY_FN(rank_scalars) c = {(SPRY_V)g->alpha, (SPRY_V)g->shift, (SPRY_V)g->alpha_before, (SPRY_V)g->beta};
    for (int64_t b = end - 1; b >= first; b--) SPRY_FN(rank_any)
    (length_of(g->w, b), AT(g->x, b), AT(g->b, b), AT(g->D, b), AT(g->v, b), g->norm, c, SUMS(b));
}

/* vector_pass.b is the vector y. */
static void SPRY_FN(rank_finish_blocks)(const void *argument, int64_t first, int64_t last)
{
    const vector_pass *g = argument;
    SPRY_V *x = g->x, a = (SPRY_V)g->alpha, c = (SPRY_V)g->shift;
    const SPRY_V *y = g->b, *v = g->v;
    for (int64_t i = first * BLOCK, end = end_of(g->w, last); i < end; i++) x[i] = a * y[i] + (v ? c * v[i] : c);
}

/* ---- passes on all threads. Backward passes start where the product before wrote last --------------------- */

#define PASS(name, run)                                                                                                \
    static void SPRY_FN(name)(vector_pass pass)                                                                        \
    {                                                                                                                  \
        run(pass, SPRY_FN(name##_blocks));                                                                             \
    }
PASS(start, run_pass)
PASS(dots, run_pass_backwards)
PASS(step, run_pass)
PASS(first_half, run_pass)
PASS(shrink, run_pass)
PASS(weigh, run_pass_backwards)
PASS(blocks, run_pass)
PASS(polynomial, run_pass)
PASS(set_direction, run_pass)
PASS(collect, run_pass)
PASS(replace, run_pass)
PASS(next_direction, run_pass)
PASS(clear, run_pass)
PASS(distance, run_pass)
PASS(rank_weigh, run_pass)
PASS(rank_divide, run_pass)
PASS(rank_start, run_pass)
PASS(rank_step, run_pass_backwards)
PASS(rank_finish, run_pass)
#undef PASS
#undef SUMS
#undef AT
