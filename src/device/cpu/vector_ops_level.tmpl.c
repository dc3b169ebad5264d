/*
 * Vector passes on the CPU. The including file defines TABLE, the table's name, and is compiled for a processor level.
 * At no level is a*b + c compiled to a fused multiply-add, so all levels give the same bits.
 * Idea: a pass streams its vectors once. A pass that follows a pass over the same vectors runs in the opposite
 * direction and reuses the data that the earlier pass left in the cache (dots run backwards, steps forwards). Within a
 * block, LANES separate sums let compilers vectorize without reordering additions.
 * Work distribution: threads start with equal numbers of blocks.
 * Cost: the bytes of the vectors, at memory bandwidth.
 */
#include "base/context.h"
#include "device/vector_ops.h"
#include "spry/solve.h"

#include <string.h>

enum { BLOCK = 2048 };
enum { LANES = 8, RANK_LANES = 4 /* lanes of each of PageRank's four sums, which fit in registers */ };

/* PageRank's sums by lane, as doubles and as bits. The types are vector extensions of the compiler. */
typedef double rank_wide __attribute__((vector_size(RANK_LANES * sizeof(double))));
typedef int64_t rank_bits __attribute__((vector_size(RANK_LANES * sizeof(int64_t))));

/* Operands of a pass. Unused operands are NULL or 0. */
typedef struct vector_pass {
    const spryi_vector_work *w;
    void *x, *r, *p;
    const void *b, *q, *D;
    double alpha, beta, shift;
    spry_norm norm;
    const void *argument;
    const void *v; /* the vector v of PageRank's passes */
    double alpha_before;
} vector_pass;

static void run_pass(vector_pass pass, spryi_range_fn blocks)
{
    spryi_parallel_blocks(&pass.w->context->pool, pass.w->threads, pass.w->blocks, blocks, &pass);
}

static void run_pass_backwards(vector_pass pass, spryi_range_fn blocks)
{
    spryi_parallel_blocks_backwards(&pass.w->context->pool, pass.w->threads, pass.w->blocks, blocks, &pass);
}

static inline int64_t length_of(const spryi_vector_work *w, int64_t block)
{
    int64_t left = w->n - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

/* Returns the end of the elements of the blocks before `last`. */
static inline int64_t end_of(const spryi_vector_work *w, int64_t last)
{
    return last * BLOCK < w->n ? last * BLOCK : w->n;
}

static inline double add_lanes(const double *lanes)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    return sum;
}

/* Sets sums[s] to the sum of the blocks' s-th sums, in the order of the blocks. count: number of sums. */
static void add_blocks(const spryi_vector_work *w, int count, double *sums)
{
    const double *partials = w->partials.data;
    for (int s = 0; s < count; s++) sums[s] = 0;
    for (int64_t b = 0; b < w->blocks; b++)
        for (int s = 0; s < count; s++) sums[s] += partials[b * SPRYI_MOST_SUMS + s];
}

#define SPRYI_TEMPLATE "device/cpu/vector_ops_cpu.tmpl.c"
#include "base/instantiate_types.h"

/* ---- functions of the table: select the type, update the state ------------------------------------ */

/* ---- Conjugate Gradient: each column is a separate system ---- */

typedef void (*column_pass)(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument);

static void *column_of(const spryi_vector_work *w, const void *vectors, int64_t column)
{
    return vectors ? (char *)(uintptr_t)vectors + (size_t)(column * w->n) * spry_type_bytes(w->type) : NULL;
}

static spry_status each_column(const spryi_vector_work *w, const spryi_cg_vectors *v, column_pass pass,
                               const void *argument)
{
    for (int64_t c = 0; c < w->columns; c++) {
        spryi_vector_work one = *w;
        one.columns = 1;
        one.state.data = (spryi_cg_state *)w->state.data + c;
        const spryi_cg_vectors of = {column_of(w, v->x, c), column_of(w, v->r, c), column_of(w, v->p, c),
                                     column_of(w, v->q, c), column_of(w, v->z, c), column_of(w, v->z_before, c),
                                     column_of(w, v->b, c), v->b_is_f64,           v->D};
        pass(&one, &of, argument);
    }
    return SPRY_OK;
}

static void start_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    double sums[3];
    const vector_pass pass = {w,
                              .r = v->r,
                              .p = v->p,
                              .b = v->b_is_f64 ? NULL : v->b,
                              .q = v->q,
                              .D = v->D,
                              .argument = v->b_is_f64 ? v->b : NULL};
    SPRYI_BY_TYPE(w->type, start, (pass));
    add_blocks(w, 3, sums);
    spryi_cg_started(w->state.data, sums);
}

static void dots_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    spryi_cg_state *state = w->state.data;
    double sums[2] = {0};
    if (!state->stop) {
        SPRYI_BY_TYPE(w->type, dots, ((vector_pass){w, .b = v->p, .q = v->q, .D = v->D}));
        add_blocks(w, 2, sums);
    }
    spryi_cg_dotted(state, sums);
}

static vector_pass pass_of(const spryi_vector_work *w, const spryi_cg_vectors *v)
{
    const spryi_cg_state *state = w->state.data;
    return (vector_pass){w, v->x, v->r, v->p, .q = v->q, .D = v->D, .alpha = state->alpha, .beta = state->beta};
}

static void step_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    spryi_cg_state *state = w->state.data;
    double sums[2];
    if (state->stop) return;
    if (state->in_halves)
        SPRYI_BY_TYPE(w->type, first_half, (pass_of(w, v)));
    else
        SPRYI_BY_TYPE(w->type, step, (pass_of(w, v)));
    add_blocks(w, 2, sums);
    spryi_cg_stepped(state, sums);
}

static void next_direction_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    const spryi_cg_state *state = w->state.data;
    const vector_pass pass =
        {w, .x = v->x, .p = v->p, .b = v->r, .D = v->D, .alpha = state->alpha, .beta = state->beta};
    if (state->in_halves) SPRYI_BY_TYPE(w->type, next_direction, (pass));
}

static void shrink_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    spryi_cg_state *state = w->state.data;
    double sums[1];
    if (state->stop) return;
    SPRYI_BY_TYPE(w->type, shrink, (pass_of(w, v)));
    add_blocks(w, 1, sums);
    spryi_cg_shrunk(state, sums);
}

static void weigh_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    spryi_cg_state *state = w->state.data;
    double sums[1];
    if (state->stop) return;
    SPRYI_BY_TYPE(w->type, weigh, ((vector_pass){w, .x = v->z, .r = v->r}));
    add_blocks(w, 1, sums);
    spryi_cg_weighed(state, sums);
}

static void blocks_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    spryi_cg_state *state = w->state.data;
    double sums[1];
    if (state->stop) return;
    SPRYI_BY_TYPE(w->type, blocks, ((vector_pass){w, .x = v->z, .r = v->r, .argument = argument}));
    add_blocks(w, 1, sums);
    spryi_cg_weighed(state, sums);
}

static void polynomial_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    spryi_cg_state *state = w->state.data;
    const spryi_cg_polynomial_step *step = argument;
    double sums[1];
    if (state->stop) return;
    SPRYI_BY_TYPE(w->type, polynomial,
                  ((vector_pass){w, .x = v->z_before, .r = v->r, .p = v->z, .q = v->q, .D = v->D, .argument = step}));
    if (!step->is_last) return;
    add_blocks(w, 1, sums);
    spryi_cg_weighed(state, sums);
}

static void set_direction_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    const spryi_cg_state *state = w->state.data;
    if (!state->stop)
        SPRYI_BY_TYPE(w->type, set_direction, ((vector_pass){w, .p = v->p, .q = v->z, .beta = state->beta}));
}

/* Computes state.distance from v->b and v->q. Uses no other vectors. */
static void distance_one(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *argument)
{
    (void)argument;
    spryi_cg_state *state = w->state.data;
    SPRYI_BY_TYPE(w->type, distance, ((vector_pass){w, .b = v->b, .q = v->q}));
    add_blocks(w, 1, &state->distance);
}

#define PASS(name)                                                                                                     \
    static spry_status name(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)                    \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        return each_column(w, v, name##_one, NULL);                                                                    \
    }
PASS(start)
PASS(dots)
PASS(step)
PASS(next_direction)
PASS(shrink)
PASS(weigh)
PASS(set_direction)
#undef PASS

static spry_status blocks(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                          spry_error *err)
{
    (void)err;
    return each_column(w, v, blocks_one, M);
}

static spry_status polynomial(const spryi_vector_work *w, const spryi_cg_vectors *v,
                              const spryi_cg_polynomial_step *polynomial_step, spry_error *err)
{
    (void)err;
    return each_column(w, v, polynomial_one, polynomial_step);
}

static spry_status distance(const spryi_vector_work *w, const void *b, const void *q, spry_error *err)
{
    (void)err;
    return each_column(w, &(spryi_cg_vectors){.b = b, .q = (void *)(uintptr_t)q}, distance_one, NULL);
}

static spry_status clear(const spryi_vector_work *w, void *x, spry_error *err)
{
    (void)err;
    for (int64_t c = 0; c < w->columns; c++) SPRYI_BY_TYPE(w->type, clear, ((vector_pass){w, .x = column_of(w, x, c)}));
    return SPRY_OK;
}

static spry_status collect(const spryi_vector_work *w, void *y, void *x, spry_error *err)
{
    (void)err;
    SPRYI_BY_TYPE(w->type, collect, ((vector_pass){w, .x = x, .r = y}));
    return SPRY_OK;
}

static spry_status replace(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *b, const void *q,
                           spry_error *err)
{
    (void)err;
    spryi_cg_state *state = w->state.data;
    double sums[2];
    void *p = state->rules.separate_M ? NULL : v->p;
    SPRYI_BY_TYPE(w->type, replace, ((vector_pass){w, .r = v->r, .p = p, .b = b, .q = q, .D = v->D}));
    add_blocks(w, 2, sums);
    spryi_cg_replaced(state, sums);
    return SPRY_OK;
}

/* ---- PageRank ---- */

static spry_status rank_weigh(const spryi_vector_work *w, const void *v, spry_error *err)
{
    (void)err;
    spryi_rank_state *state = w->state.data;
    const double *partials = w->partials.data;
    SPRYI_BY_TYPE(w->type, rank_weigh, ((vector_pass){w, .b = v}));
    add_blocks(w, 1, &state->weight);
    for (int64_t b = w->blocks - 1; b >= 0; b--) {
        const double bad = partials[b * SPRYI_MOST_SUMS + 1];
        if (bad >= 0) state->bad = b * BLOCK + (int64_t)bad;
    }
    return SPRY_OK;
}

static spry_status rank_divide(const spryi_vector_work *w, void *v, spry_error *err)
{
    (void)err;
    const spryi_rank_state *state = w->state.data;
    SPRYI_BY_TYPE(w->type, rank_divide, ((vector_pass){w, .x = v, .alpha = state->weight}));
    return SPRY_OK;
}

static spry_status rank_start(const spryi_vector_work *w, void *z, void *y, const void *x, const void *s, const void *v,
                              spry_error *err)
{
    (void)err;
    spryi_rank_state *state = w->state.data;
    const vector_pass pass =
        {w, .x = z, .r = y, .b = x, .D = s, .v = v, .alpha = state->weight, .shift = state->shift_before};
    SPRYI_BY_TYPE(w->type, rank_start, (pass));
    add_blocks(w, 1, &state->dangling_mass);
    return SPRY_OK;
}

static spry_status rank_finish(const spryi_vector_work *w, void *x, const void *y, const void *v, spry_error *err)
{
    (void)err;
    const spryi_rank_state *state = w->state.data;
    const vector_pass pass = {w, .x = x, .b = y, .v = v, .alpha = state->alpha_before, .shift = state->shift_before};
    SPRYI_BY_TYPE(w->type, rank_finish, (pass));
    return SPRY_OK;
}

static spry_status rank_step(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                             const void *v, spry_norm norm, spry_error *err)
{
    spryi_rank_state *state = w->state.data;
    const double *partials = w->partials.data;
    double sums[4] = {0}, most = 0;
    if (state->stop) {
        if (!state->finished) rank_finish(w, z, y_before, v, err);
    } else {
        const vector_pass pass = {w,
                                  .x = y_before,
                                  .b = y,
                                  .D = s,
                                  .v = v,
                                  .alpha = state->alpha,
                                  .alpha_before = state->alpha_before,
                                  .beta = state->shift_before,
                                  .shift = spryi_rank_shift(state),
                                  .norm = norm};
        SPRYI_BY_TYPE(w->type, rank_step, (pass));
        /* storing z over y_before costs no memory traffic; only tests use another z */
        if (z != y_before) memcpy(z, y_before, (size_t)w->n * spry_type_bytes(w->type));
        add_blocks(w, 4, sums);
        for (int64_t b = 0; b < w->blocks && norm == SPRY_NORM_INF; b++)
            if (partials[b * SPRYI_MOST_SUMS + 1] > most) most = partials[b * SPRYI_MOST_SUMS + 1];
        if (norm == SPRY_NORM_INF) sums[1] = most;
    }
    spryi_rank_stepped(state, sums);
    return SPRY_OK;
}

static const spryi_cg_passes cg_passes = {.start = start,
                                          .dots = dots,
                                          .step = step,
                                          .next_direction = next_direction,
                                          .shrink = shrink,
                                          .weigh = weigh,
                                          .blocks = blocks,
                                          .polynomial = polynomial,
                                          .set_direction = set_direction,
                                          .clear = clear,
                                          .distance = distance,
                                          .collect = collect,
                                          .replace = replace};
static const spryi_rank_passes rank_passes = {.weigh = rank_weigh,
                                              .divide = rank_divide,
                                              .start = rank_start,
                                              .step = rank_step,
                                              .finish = rank_finish};

const spryi_vector_ops TABLE = {.block = BLOCK,
                                .most_blocks = INT64_MAX,
                                .ahead = 1,
                                .cg = &cg_passes,
                                .rank = &rank_passes};
