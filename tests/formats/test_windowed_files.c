/* Tests of damaged storages of the format "windowed", as files may contain them. */
#include "testing.h"

#include "base/context.h"
#include "catalogue/catalogue.h"
#include "formats/windowed/windowed_reader.h"
#include "plan/plan.h"
#include "spry/matrix.h"

enum { NODES = 60, MOST_RUN = 3, MOST_ROWS = NODES * MOST_RUN, MOST_ENTRIES = MOST_ROWS * 6 * MOST_RUN + 600 };

/*
 * CSR matrix of nodes with `run` unknowns each, which are adjacent or separate. A row has entries for up to six nodes.
 */
typedef struct blocks {
    int64_t rows;
    int32_t Ap[MOST_ROWS + 1], Aj[MOST_ENTRIES];
    double Ax[MOST_ENTRIES];
    spry_context *context;
    spry_matrix *A;
    spry_spmv_plan *plan;
    spryi_windowed *s;
} blocks;

static blocks *blocks_of(int64_t run, int by_component, int long_row)
{
    blocks *b = malloc(sizeof *b);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_error err = SPRY_ERROR_INIT;
    int32_t nnz = 0;
    assert_non_null(b);
    b->rows = NODES * run;
    b->Ap[0] = 0;
    for (int64_t i = 0; i < b->rows; i++) {
        const int64_t node = by_component ? i % NODES : i / run, others = 1 + node % 6;
        for (int64_t e = 0; long_row && i == 7 && e < 600; e++) b->Aj[nnz++] = (int32_t)(e % b->rows);
        for (int64_t e = 0; !(long_row && i == 7) && e < others * run; e++) {
            const int64_t t = by_component ? e % others : e / run, c = by_component ? e / others : e % run;
            const int64_t met = node / 2 + 4 * t;
            b->Aj[nnz++] = (int32_t)(by_component ? c * NODES + met : met * run + c);
        }
        b->Ap[i + 1] = nnz;
    }
    for (int32_t e = 0; e < nnz; e++) b->Ax[e] = e + 1;
    options.format = "windowed:window=64:order=natural";
    b->context = context_of(0);
    assert_int_equal(spry_matrix_borrow_csr_f64(b->context, &b->A, b->rows, b->rows, b->Ap, b->Aj, b->Ax, &err), 0);
    MUST(spry_spmv_plan_create(b->context, &b->plan, b->A, &options, err));
    b->s = b->plan->forward.stored.storage;
    assert_int_equal(b->s->run, run);
    assert_true(run == 1 || by_component == (b->s->stride > 1));
    return b;
}

static void blocks_free(blocks *b)
{
    spry_spmv_plan_destroy(b->plan);
    spry_matrix_destroy(b->A);
    spry_context_destroy(b->context);
    free(b);
}

static const char *const kernels[] = {"windowed_portable_cpu", "windowed_avx2_cpu", "windowed_avx512_cpu"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Computes y = A*x with kernel n. Returns 0 if this processor lacks the kernel. */
static int run(spry_context *context, const spryi_windowed *s, int n, const double *x, double *y)
{
    const double one = 1, zero = 0;
    const char *reason;
    const spryi_kernel *kernel = spryi_find_kernel(kernels[n]);
    if (!kernel || !spryi_kernel_available(context, kernel, &reason)) return 0;
    const size_t bytes = ((size_t)spryi_format_windowed.workspace_bytes(s, SPRY_F64) + 127) / 64 * 64;
    void *workspace = aligned_alloc(64, bytes);
    assert_non_null(workspace);
    const spryi_run_args args = {.storage = s,
                                 .alpha = &one,
                                 .beta = &zero,
                                 .x = x,
                                 .y = y,
                                 .workspace = workspace,
                                 .vector_type = SPRY_F64,
                                 .threads = 1};
    assert_int_equal((*kernel->spmv)[spryi_value_slot(SPRY_F64)][0](&args, NULL), SPRY_OK);
    free(workspace);
    return 1;
}

/* ---- damage --------------------------------------------------------------------------------------------- */

#define DAMAGED(what, with)                                                                                            \
    do {                                                                                                               \
        __typeof__(what) kept_ = (what);                                                                               \
        (what) = (with);                                                                                               \
        assert_int_equal(spryi_format_windowed.check(b->context, s, &err), SPRY_BAD_FILE);                             \
        (what) = kept_;                                                                                                \
    } while (0)

static void damage_is_seen(void **state)
{
    blocks *b = blocks_of(1, 0, 1);
    spryi_windowed *s = b->s;
    spry_error err = SPRY_ERROR_INIT;
    const spryi_windowed_view v = spryi_windowed_view_of(s, s->windows, 1); /* the last slice has lanes without a row */
    uint8_t *group = s->indices + (int64_t)s->slices[1].indices * SPRYI_WINDOWED_UNIT;
    uint16_t *length = (uint16_t *)(void *)(s->indices + ((const uint8_t *)v.length - s->indices));
    uint32_t *word = (uint32_t *)(void *)(s->indices + ((const uint8_t *)v.words - s->indices));
    assert_true(s->long_rows.count == 1 && s->page_count == 1 && s->slice_count == 2 && v.group == group);
    DAMAGED(s->a.rows, s->a.rows + 1);
    DAMAGED(s->a.rows, INT64_MAX);
    DAMAGED(s->a.columns, s->a.columns - 40);
    DAMAGED(s->a.columns, INT64_MAX);
    DAMAGED(s->a.nnz, s->a.nnz + 1);
    DAMAGED(s->run, 0);
    DAMAGED(s->run, 6);
    DAMAGED(s->stride, 0);
    DAMAGED(s->stride, s->a.columns + 2);
    DAMAGED(s->staged, s->staged - 1);
    DAMAGED(s->windows[0].slice, 1);
    DAMAGED(s->windows[1].slice, UINT32_MAX);
    DAMAGED(s->windows[0].dictionary, UINT32_MAX);
    DAMAGED(s->windows[0].page, 2);
    DAMAGED(s->windows[0].columns, 0);
    DAMAGED(s->windows[0].columns, UINT16_MAX);
    DAMAGED(s->windows[0].run, 2);
    DAMAGED(s->windows[0].bits, 16);
    DAMAGED(s->pages[0].first, 1);
    DAMAGED(s->pages[0].high, 1);
    DAMAGED(s->dictionary[1], s->dictionary[0]);
    DAMAGED(s->slices[0].values, 1);
    DAMAGED(s->slices[1].values, 0);
    DAMAGED(s->slices[1].indices, UINT32_MAX);
    DAMAGED(s->slices[1].indices, 0);
    DAMAGED(s->slices[1].groups, 0);
    DAMAGED(s->slices[1].groups, 33);
    DAMAGED(s->slices[1].width, (uint16_t)(v.width + 1));
    DAMAGED(s->slices[1].whole, (uint16_t)(v.whole + 1));
    DAMAGED(s->slices[1].zero[0], 1);
    DAMAGED(s->rows[0], s->rows[1]);
    DAMAGED(s->rows[0], (uint32_t)s->a.rows);
    DAMAGED(s->rows[0], SPRYI_WINDOWED_NO_ROW);
    DAMAGED(s->rows[0], 7);  /* row 7 is the long row */
    DAMAGED(s->rows[63], 7); /* next to another row */
    DAMAGED(group[0], 1);
    DAMAGED(group[31], 31);
    DAMAGED(length[0], (uint16_t)(length[0] + 1));
    DAMAGED(length[v.groups - 1], (uint16_t)(length[0] + 1));
    DAMAGED(word[0], UINT32_MAX);
    DAMAGED(s->long_rows.rows[0], -1);
    DAMAGED(s->long_rows.rows[0], 8);
    DAMAGED(s->long_rows.first[1], 0);
    DAMAGED(s->long_rows.pieces[1], s->long_rows.nnz - 1);
    DAMAGED(((int32_t *)s->long_rows.columns)[5], (int32_t)s->a.columns);
    assert_int_equal(spryi_format_windowed.check(b->context, s, &err), SPRY_OK);
    blocks_free(b);
}

/*
 * Flips each bit of `bytes`, a part of the indices. Either the check refuses the storage, or products and to_csr
 * succeed under a sanitizer.
 */
static void flip(const blocks *b, const spryi_windowed *s, uint8_t *bytes, int64_t count)
{
    double x[MOST_ROWS] = {0}, y[MOST_ROWS];
    for (int64_t bit = 0; bit < 8 * count; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (spryi_format_windowed.check(b->context, s, NULL) == SPRY_OK) {
            spry_matrix *back = NULL;
            for (int n = 0; n < KERNELS && run(b->context, s, n, x, y); n++) continue;
            if (spryi_format_windowed.to_csr(b->context, &back, s, NULL) == SPRY_OK)
                assert_int_equal(spry_matrix_check(back, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
            spry_matrix_destroy(back);
        }
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void flipped_bits(void **state)
{
    for (int64_t width = 1; width <= 2; width++) {
        blocks *b = blocks_of(width, 1, width == 1);
        spryi_section list[SPRYI_WINDOWED_ARRAYS];
        for (int n = spryi_windowed_arrays(b->s, list) - 1; n >= 0; n--)
            if (list[n].array != &b->s->values && list[n].array != &b->s->long_rows.values && list[n].count > 0)
                flip(b, b->s, *list[n].array, list[n].count * list[n].item_bytes);
        blocks_free(b);
    }
}

/* Stores one row twice and leaves out another row. check and to_csr must refuse the storage. */
static void rows_named_twice(void **state)
{
    blocks *b = blocks_of(1, 0, 0);
    spryi_windowed *s = b->s;
    spry_matrix *back = NULL;
    const uint32_t kept = s->rows[0];
    s->rows[0] = s->rows[31]; /* a row of another length */
    assert_int_equal(spryi_format_windowed.check(b->context, s, NULL), SPRY_BAD_FILE);
    assert_int_equal(spryi_format_windowed.to_csr(b->context, &back, s, NULL), SPRY_BAD_FILE);
    assert_null(back);
    s->rows[0] = kept;
    blocks_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(rows_named_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
