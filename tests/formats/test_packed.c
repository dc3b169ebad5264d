/*
 * Tests of the kinds of slices in the packed format (see packed.h): strided rows, also with missing entries, columns
 * stored as 16-bit offsets, blocks, long rows, and rows sorted by length.
 */
#include "support.h"

#include "base/context.h"
#include "catalogue/catalogue.h"
#include "core/estimate.h"
#include "formats/packed/packed_reader.h"
#include "matrix/columns.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/tune.h"

/* A plan of the sketch and its storage. */
typedef struct packed_plan {
    spry_context *context;
    spry_matrix *A;
    spry_spmv_plan *plan;
    const spryi_packed *s;
} packed_plan;

static packed_plan plan_of(const sketch *k, const char *kernel)
{
    packed_plan p = {0};
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    options.format = "packed";
    options.kernel = kernel;
    p.context = context_of(0);
    assert_int_equal(spry_matrix_borrow_csr_f64(p.context, &p.A, k->rows, k->cols, k->Ap, k->Aj, k->Ax, &err), SPRY_OK);
    MUST(spry_spmv_plan_create(p.context, &p.plan, p.A, &options, err));
    p.s = p.plan->forward.stored.storage;
    return p;
}

static void plan_free(packed_plan *p)
{
    spry_spmv_plan_destroy(p->plan);
    spry_matrix_destroy(p->A);
    spry_context_destroy(p->context);
}

/* Builds the storage for a file, in which slices do not share values, and asserts that the format's check succeeds. */
static void check_alone(const sketch *k, const packed_plan *p)
{
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    const spryi_build_request alone = {.A = p->A, .csr = p->A, .options = &options, .value_type = SPRY_F64};
    void *storage = NULL;
    options.vector_type = SPRY_F64;
    if (spryi_storage_build(p->context, &spryi_format_packed, &storage, &alone, &err) != SPRY_OK)
        fail_msg("%s", err.message);
    assert_true(((const spryi_packed *)storage)->slots + ((const spryi_packed *)storage)->long_rows.nnz >= k->nnz);
    if (spryi_format_packed.check(p->context, storage, &err) != SPRY_OK) fail_msg("%s", err.message);
    spryi_storage_destroy(p->context, &spryi_format_packed, storage);
}

/*
 * Compares y of all kernels with CSR, and converts the storage back to CSR. All values are small integers, so y is
 * exact. x is NaN in columns without entries.
 */
static void multiply(const sketch *k)
{
    static const char *const kernels[] = {"packed_portable_cpu", "packed_avx2_cpu", "packed_avx512_cpu"};
    double *x = sketch_x(k), *y = malloc((size_t)(k->rows + 1) * 8);
    assert_non_null(y);
    for (size_t n = 0; n < sizeof kernels / sizeof *kernels && kernel_is_here(kernels[n]); n++) {
        packed_plan p = plan_of(k, kernels[n]);
        check_alone(k, &p);
        multiply_f64(p.plan, y, k->rows, x, k->cols);
        check_sketch_product(k, x, y, kernels[n]);
        spry_matrix *back = NULL;
        assert_int_equal(spryi_format_packed.to_csr(p.context, &back, p.s, NULL), SPRY_OK);
        check_sketch(k, back);
        plan_free(&p);
    }
    free(x);
    free(y);
}

/* Checks that slice n has the kind and the flags FULL and SORTED of kinds[n]. */
static void expect_kinds(const sketch *k, int64_t count, const uint32_t *kinds)
{
    packed_plan p = plan_of(k, "packed_portable_cpu");
    assert_int_equal(p.s->slice_count, count);
    for (int64_t n = 0; n < count; n++)
        if ((p.s->slices[n].info & 15) != kinds[n])
            fail_msg("slice %lld: kind %u, expected %u", (long long)n, p.s->slices[n].info & 15, kinds[n]);
    plan_free(&p);
    multiply(k);
}

/* The matrix drawn in packed.h. */
static void layout(void **state)
{
    static const int32_t distances[] = {-1, 0, 1};
    static const uint8_t masks[32] = {6, 7, 7, 7};
    static const double values[] = {3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};
    sketch k = sketch_of(4, 5);
    for (int i = 0; i < 4; i++)
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1; j++) sketch_put(&k, i, j);
    sketch_finish(&k);
    packed_plan p = plan_of(&k, "packed_portable_cpu");
    spryi_packed *s = p.plan->forward.stored.storage;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(s->slice_count, 1);
    assert_int_equal(s->slices[0].info & 15, SPRYI_PACKED_DIAGONALS);
    assert_memory_equal(s->indices, distances, sizeof distances);
    assert_memory_equal(s->indices + s->extras[0] * SPRYI_PACKED_INDEX_UNIT, masks, sizeof masks);
    assert_memory_equal(s->values, values, sizeof values);
    int32_t *d = (int32_t *)(void *)s->indices;
#define REFUSE(place, value)                                                                                           \
    do {                                                                                                               \
        __typeof__(place) kept = (place);                                                                              \
        assert_int_equal(spryi_format_packed.check(p.context, s, &err), SPRY_OK);                                      \
        (place) = (value);                                                                                             \
        assert_int_equal(spryi_format_packed.check(p.context, s, &err), SPRY_BAD_FILE);                                \
        (place) = kept;                                                                                                \
    } while (0)
    REFUSE(d[0], -2);
    REFUSE(d[2], 2);
    REFUSE(d[1], -1);
    REFUSE(s->indices[16], 7);
    REFUSE(s->indices[20], 1);
    REFUSE(s->extras[0], 7);
    REFUSE(s->slices[0].indices, 9u);
    REFUSE(s->slices[0].row, 1u);
    REFUSE(s->slices[0].values, 32u);
    REFUSE(s->slices[0].info, s->slices[0].info | SPRYI_PACKED_FULL);
    REFUSE(s->slices[0].info, s->slices[0].info | SPRYI_PACKED_PADDED);
    REFUSE(s->indexed, 1);
    REFUSE(s->slices[0].info, s->slices[0].info | 3u);
    REFUSE(s->slices[0].info, s->slices[0].info & ~(15u << SPRYI_PACKED_BLOCK_SHIFT));
    REFUSE(s->slices[1].row, 0u);
    REFUSE(s->block, 9);
    REFUSE(s->a.nnz, 10);
    REFUSE(s->long_rows.pieces[0], 1);
    plan_free(&p);
    sketch_free(&k);
}

/*
 * Tests 32 rows that are not strided. If their columns span at most 65 535, offsets of 16 bits suffice, otherwise
 * columns are stored.
 */
static void edge_of_16_bits(void **state)
{
    for (int64_t span = 65534; span <= 65537; span++) {
        sketch k = sketch_of(64, 3 + span);
        for (int64_t i = 0; i < 32; i++) {
            sketch_put(&k, i, 1 + i * i % 37 + (i == 0 ? 0 : 1));
            sketch_put(&k, i, i == 31 ? 1 + span : 1000 + i * i * i % 101);
        }
        const uint32_t kind = span <= 65535 ? SPRYI_PACKED_OFFSETS : SPRYI_PACKED_COLUMNS;
        const uint32_t kinds[] = {kind | SPRYI_PACKED_FULL, SPRYI_PACKED_DIAGONALS | SPRYI_PACKED_FULL};
        sketch_finish(&k);
        expect_kinds(&k, 2, kinds);
        sketch_free(&k);
    }
}

/*
 * Checks the kinds of the first and the last slice of a band with `rows` rows. hole: index of an entry that is omitted.
 */
static void check_band(int64_t rows, int64_t hole, uint32_t first, uint32_t last)
{
    sketch k = sketch_of(rows, rows + 2);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t d = 0; d < 3; d++)
            if (3 * i + d != hole) sketch_put(&k, i, i + d);
    sketch_finish(&k);
    packed_plan p = plan_of(&k, "packed_portable_cpu");
    const uint32_t bits = 15 | SPRYI_PACKED_PADDED;
    assert_int_equal(p.s->slices[0].info & bits, first);
    assert_int_equal(p.s->slices[p.s->slice_count - 1].info & bits, last);
    /* all slices of a group share the list of distances */
    for (int64_t n = 0; n < p.s->slice_count; n++) assert_int_equal(p.s->slices[n].indices, 0);
    plan_free(&p);
    multiply(&k);
    sketch_free(&k);
}

static void steps_and_holes(void **state)
{
    const uint32_t full = SPRYI_PACKED_DIAGONALS | SPRYI_PACKED_FULL, holes = SPRYI_PACKED_DIAGONALS;
    const uint32_t padded = SPRYI_PACKED_DIAGONALS | SPRYI_PACKED_PADDED;
    check_band(96, -1, full, full);
    check_band(96, 3 * 40 + 1, full, full); /* the missing entry is in the middle slice */
    check_band(96, 4, padded, full);
    check_band(96, 3 * 95 + 1, full, padded);
    check_band(97, -1, full, holes);   /* the last slice has one row */
    check_band(127, -1, full, padded); /* the last slice has 31 rows */
    check_band(105, -1, full, holes);
}

/*
 * Asserts that rows of 4 entries are stored as strided if they use 6 distances between column and row in all. With 7
 * distances they would need too many slots.
 */
static void too_many_steps(void **state)
{
    for (int64_t more = 3; more <= 4; more++) {
        sketch k = sketch_of(32, 40);
        for (int64_t i = 0; i < 32; i++) {
            for (int64_t d = 0; d < 3; d++) sketch_put(&k, i, i + d);
            sketch_put(&k, i, i + 3 + i % more);
        }
        const uint32_t kind = more == 3 ? SPRYI_PACKED_DIAGONALS : SPRYI_PACKED_OFFSETS | SPRYI_PACKED_FULL;
        sketch_finish(&k);
        expect_kinds(&k, 1, &kind);
        sketch_free(&k);
    }
}

/*
 * Checks b x b blocks in `count` block rows. Block row I has three blocks, in the block columns I + J * (1 + I*I % 5)
 * for J = 0, 1, 2. If `broken`, the last block lacks one entry.
 */
static void check_blocks(int b, int64_t count, int broken, int64_t expected)
{
    sketch k = sketch_of(count * b, (count + 64) * b);
    for (int64_t i = 0; i < count * b; i++)
        for (int64_t J = 0; J < 3; J++)
            for (int c = 0; c < b; c++) {
                const int64_t I = i / b;
                if (broken && i == count * b - 1 && J == 2 && c == b - 1) continue;
                sketch_put(&k, i, (I + J * (1 + I * I % 5)) * b + c);
            }
    sketch_finish(&k);
    packed_plan p = plan_of(&k, "packed_portable_cpu");
    assert_int_equal(p.s->block, expected);
    if (expected > 1) {
        assert_int_equal(spryi_packed_b(&p.s->slices[0]), expected);
        assert_int_equal(spryi_packed_b(&p.s->slices[p.s->slice_count - 1]), broken ? 1 : expected);
    }
    plan_free(&p);
    multiply(&k);
    sketch_free(&k);
}

static void blocks(void **state)
{
    static const int found[] = {0, 1, 2, 3, 4, 5, 3, 1, 4};
    for (int b = 2; b <= 8; b++) {
        check_blocks(b, 32, 0, found[b]);
        check_blocks(b, 75, 0, found[b]);
        check_blocks(b, 75, 1, found[b]); /* the last rows are stored as single rows */
    }
    check_blocks(3, 1, 1, 1);
    check_blocks(1, 70, 0, 1);
}

static void long_rows(void **state)
{
    static const int64_t lengths[] = {64, 65, 254, 255, 1024, 1025, 5000};
    for (int n = 0; n < 7; n++) {
        sketch k = sketch_of(100, 6000);
        for (int64_t i = 0; i < 100; i++)
            for (int64_t j = 0; j < (i == 37 || i == 99 ? lengths[n] : 2); j++) sketch_put(&k, i, (i + j) % 6000);
        sketch_finish(&k);
        packed_plan p = plan_of(&k, "packed_portable_cpu");
        assert_int_equal(p.s->long_rows.count, lengths[n] > 64 ? 2 : 0);
        assert_int_equal(p.s->long_rows.piece_count, p.s->long_rows.count * ((lengths[n] + 1023) / 1024));
        plan_free(&p);
        multiply(&k);
        sketch_free(&k);
    }
}

/*
 * Tests rows of which every third has 20 entries and the others one entry. The rows are sorted by length unless they
 * are strided.
 */
static void sorting(void **state)
{
    for (int steps = 0; steps < 2; steps++) {
        sketch k = sketch_of(1100, 5000);
        for (int64_t i = 0; i < 1100; i++)
            for (int64_t j = 0; j < (i % 3 ? 1 : 20); j++) sketch_put(&k, i, steps ? i + j : (i * 37 + j * j) % 4000);
        sketch_finish(&k);
        packed_plan p = plan_of(&k, "packed_portable_cpu");
        assert_int_equal((p.s->slices[0].info & SPRYI_PACKED_SORTED) != 0, !steps);
        if (!steps) { /* the first short row follows all long rows */
            spry_error err = SPRY_ERROR_INIT;
            assert_int_equal(spryi_packed_view_of(p.s, 1).rows[0], 96);
            spryi_packed *s = p.plan->forward.stored.storage;
            REFUSE(s->slices[3].info, s->slices[3].info & ~8u);
#undef REFUSE
            uint16_t *rows = (uint16_t *)(uintptr_t)spryi_packed_view_of(p.s, 1).rows;
            rows[1] = rows[0];
            assert_int_equal(spryi_format_packed.check(p.context, p.s, &err), SPRY_BAD_FILE);
        }
        plan_free(&p);
        multiply(&k);
        sketch_free(&k);
    }
}

static void empty(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {2000, 3}, {2000, 3}};
    for (int n = 0; n < 6; n++) {
        sketch k = sketch_of(sizes[n][0], sizes[n][1]);
        if (n == 5) sketch_put(&k, 700, 2);
        sketch_finish(&k);
        multiply(&k);
        sketch_free(&k);
    }
}

/* Asserts limits for the bytes per entry of grids and finite elements. */
static void bytes(void **state)
{
    static const char *const names[] = {"grid5,x=400,y=300", "grid7,x=60,y=50,z=40", "grid27,x=40,y=40,z=40",
                                        "fem3,x=24,y=24,z=24"};
    spry_context *context = context_of(0);
    for (int n = 0; n < 4; n++)
        for (int f64 = 0; f64 < 2; f64++) {
            spry_error err = SPRY_ERROR_INIT;
            spry_matrix_options as = SPRY_INIT(spry_matrix_options);
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.keep_value_type = true;
            spryi_storage figure = {0};
            as.value_type = f64 ? SPRY_F64 : SPRY_F32;
            options.format = "packed";
            spry_matrix *made = generate_matrix(context, names[n]);
            spry_matrix *A = convert_matrix(context, made, &as);
            assert_int_equal(spryi_predict_storage(context, &figure, A, &options, &err), SPRY_OK);
            const double each = (double)figure.bytes / (double)A->a.nnz;
            if (each > (f64 ? 8.5 : 4.4)) fail_msg("%s: %.2f bytes an entry", names[n], each);
            spry_matrix_destroy(A);
            spry_matrix_destroy(made);
        }
    spry_context_destroy(context);
}

/*
 * "auto" chooses packed for large grids if the processor has AVX-512 and enough calls are expected for an inspection.
 */
static void automatic(void **state)
{
    static const char *const names[] = {"grid5,x=1000,y=1000", "rgg21,scale=14", "grid5,x=300,y=300"};
    static const int64_t calls[] = {0, 3, 256};
    spry_context *context = context_of(0);
    for (int n = 0; n < 3; n++) {
        spry_error err = SPRY_ERROR_INIT;
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.keep_value_type = true;
        spryi_storage figure = {0};
        spry_matrix *A = generate_matrix(context, names[n]);
        options.format = "packed";
        assert_int_equal(spryi_predict_storage(context, &figure, A, &options, &err), SPRY_OK);
        spryi_column_reader reader = spryi_reader_of(&A->a);
        spryi_packed_guess guess;
        const spryi_features features = {.effort = SPRYI_FULL};
        assert_int_equal(spryi_packed_estimator.guess(context, &guess, &features, &reader, &err), SPRY_OK);
        const double bytes = (double)figure.bytes / (double)A->a.nnz;
        if (fabs(guess.bytes - bytes) > 0.05 * bytes) fail_msg("%s: %g bytes of %g", names[n], guess.bytes, bytes);
        assert_true(n == 1 ? guess.unmarked < 0.1 : guess.unmarked > 0.9);
        options.format = NULL;
        for (int c = 0; c < 3; c++) {
            options.expected_calls = calls[c];
            spry_spmv_plan *plan = create_plan(context, A, &options);
            spry_spmv_plan_info info = plan_info(plan);
            const int packed = n == 0 && calls[c] != 3 && context->simd >= SPRYI_AVX2;
            if (n == 0) assert_int_equal(strcmp(info.format, "packed") == 0, packed);
            if (packed) assert_non_null(strstr(info.reason, "of csr's time a product"));
            spry_spmv_plan_destroy(plan);
        }
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* Changes values at unchanged positions. */
static void new_values(void **state)
{
    sketch k = sketch_of(70, 80);
    for (int64_t i = 0; i < 70; i++)
        for (int64_t j = 0; j < 4 + i % 3; j++) sketch_put(&k, i, i + j * (1 + (i == 5)));
    sketch_finish(&k);
    packed_plan p = plan_of(&k, "packed_portable_cpu");
    double x[80], y[70];
    for (int j = 0; j < 80; j++) x[j] = j % 5 - 2;
    for (int64_t e = 0; e < k.nnz; e++) k.Ax[e] = -2 * k.Ax[e] + 1;
    assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
    multiply_f64(p.plan, y, 70, x, 80);
    for (int i = 0; i < 70; i++) {
        double sum = 0;
        for (int32_t e = k.Ap[i]; e < k.Ap[i + 1]; e++) sum += k.Ax[e] * x[k.Aj[e]];
        assert_true(y[i] == sum);
    }
    plan_free(&p);
    sketch_free(&k);
}

/*
 * If near: builds rows of five diagonals with holes, and some rows of nine diagonals. One column in 11 has no entry. If
 * !near: builds rows of 1 to 7 columns that are far apart.
 */
static sketch repeating(int64_t rows, int near)
{
    sketch k = sketch_of(rows, 70000);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t wide = i / 700 == 1 ? 4 : 2;
        for (int64_t d = -wide; near && d <= wide; d++)
            if ((i + d) % 11 != 0 && i + d >= 0 && (i % 50 != 0 || d != -1)) {
                sketch_put(&k, i, i + d);
                k.Ax[k.nnz - 1] = d == 0 ? 6 : -1;
            }
        for (int64_t e = 0; !near && e < 1 + i * 5 % 7; e++) {
            sketch_put(&k, i, (i * 37 + e * 9001) % 70000 / 11 * 11 + 1 + e);
            k.Ax[k.nnz - 1] = 3;
        }
    }
    sketch_finish(&k);
    return k;
}

/* Checks y for three columns and for the transposed product. All values are integers, so y is exact. */
static void multiply_more(const sketch *k, packed_plan *p)
{
    enum { COLUMNS = 3 };
    const size_t most = (size_t)(k->rows > k->cols ? k->rows : k->cols) * COLUMNS;
    double *x = malloc(most * 8), *y = malloc(most * 8), *expected = calloc(most, 8);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    assert_true(x && y && expected);
    for (size_t n = 0; n < most; n++) x[n] = (double)(n % 13) - 5;
    const spry_vector out = {.data = y, .length = k->rows, .type = SPRY_F64, .count = COLUMNS};
    const spry_const_vector in = {.data = x, .length = k->cols, .type = SPRY_F64, .count = COLUMNS};
    assert_int_equal(spry_spmv_plan_run(p->plan, out, NULL, in, NULL, NULL, NULL), SPRY_OK);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < k->rows; i++) {
            double sum = 0;
            for (int32_t e = k->Ap[i]; e < k->Ap[i + 1]; e++) sum += k->Ax[e] * x[k->Aj[e] + c * k->cols];
            if (y[i + c * k->rows] != sum)
                fail_msg("column %d, row %lld: %g", (int)c, (long long)i, y[i + c * k->rows]);
        }
    options.format = "packed";
    options.op = SPRY_TRANSPOSE;
    spry_spmv_plan *back = create_plan(p->context, p->A, &options);
    multiply_f64(back, y, k->cols, x, k->rows);
    for (int64_t i = 0; i < k->rows; i++)
        for (int32_t e = k->Ap[i]; e < k->Ap[i + 1]; e++) expected[k->Aj[e]] += k->Ax[e] * x[i];
    assert_memory_equal(y, expected, (size_t)k->cols * 8);
    spry_spmv_plan_destroy(back);
    free(x);
    free(y);
    free(expected);
}

/*
 * Slices share values if coefficients are constant or the matrix has no weights. Updates with distinct values end the
 * sharing. Storages built for a file or a device share nothing.
 */
static void shared_values(void **state)
{
    for (int near = 0; near < 2; near++) {
        sketch k = repeating(3000, near);
        double *old = malloc((size_t)k.nnz * 8);
        assert_non_null(old);
        memcpy(old, k.Ax, (size_t)k.nnz * 8);
        packed_plan p = plan_of(&k, NULL);
        if (p.s->slots > k.nnz / 4) fail_msg("near %d: %lld of %lld", near, (long long)p.s->slots, (long long)k.nnz);
        spry_spmv_plan_info few = plan_info(p.plan);
        multiply(&k);
        multiply_more(&k, &p);
        for (int64_t e = 0; e < k.nnz; e++) k.Ax[e] = e % 5 == 0 ? old[e] : (double)(e % 1021);
        assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
        spry_spmv_plan_info all = plan_info(p.plan);
        p.s = p.plan->forward.stored.storage;
        assert_true(p.s->slots >= k.nnz && few.storage_bytes + 6 * k.nnz < all.storage_bytes);
        multiply(&k);
        multiply_more(&k, &p);
        memcpy(k.Ax, old, (size_t)k.nnz * 8);
        assert_int_equal(spry_spmv_plan_update(p.plan, NULL, NULL), SPRY_OK);
        all = plan_info(p.plan);
        assert_int_equal(all.storage_bytes, few.storage_bytes);
        multiply_more(&k, &p);
        plan_free(&p);
        free(old);
        sketch_free(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),    cmocka_unit_test(edge_of_16_bits), cmocka_unit_test(steps_and_holes),
        cmocka_unit_test(blocks),    cmocka_unit_test(long_rows),       cmocka_unit_test(sorting),
        cmocka_unit_test(empty),     cmocka_unit_test(bytes),           cmocka_unit_test(new_values),
        cmocka_unit_test(automatic), cmocka_unit_test(too_many_steps),  cmocka_unit_test(shared_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
