#include "operations_device.h"

#include "operations.h"
#include "spry/cuda.h"
#include "spry/solve.h"
#include "spry/tune.h"

mock_state *operations_mock;

enum { DEVICE = 1 };

/* ---- matrices and vectors on the device ---------------------------------------------------------------- */

/* A matrix whose arrays are on the device. */
typedef struct placed {
    spry_matrix *A;
    void *arrays[3];
} placed;

static void *copy_to_device(spry_context *context, const void *from, int64_t bytes)
{
    void *on_device = NULL;
    if (!from) return NULL;
    MUST(spry_device_allocate(context, &on_device, DEVICE, bytes + 1, err));
    MUST(spry_device_copy(context, on_device, DEVICE, from, 0, bytes, NULL, err));
    MUST(spry_device_synchronize(context, DEVICE, NULL, err));
    return on_device;
}

static void *copy_back(spry_context *context, const void *from, int64_t bytes)
{
    void *on_host = calloc((size_t)bytes + 8, 1);
    if (from && bytes > 0) MUST(spry_device_copy(context, on_host, 0, from, DEVICE, bytes, NULL, err));
    MUST(spry_device_synchronize(context, DEVICE, NULL, err));
    return on_host;
}

/* Copies a CSR matrix that stores all entries, or a BSR matrix, to the device. */
static placed place(spry_context *context, const spry_matrix *host)
{
    placed p;
    spry_arrays a = host->a;
    spryi_array list[SPRYI_ARRAYS];
    spryi_list_arrays(list, &a);
    p.arrays[0] = copy_to_device(context, a.offsets, list[SPRYI_OFFSETS].bytes);
    p.arrays[1] = copy_to_device(context, a.indices, list[SPRYI_INDICES].bytes);
    p.arrays[2] = copy_to_device(context, a.values, list[SPRYI_VALUES].bytes);
    a.offsets = p.arrays[0];
    a.indices = p.arrays[1];
    a.values = p.arrays[2];
    a.device = DEVICE;
    a.ownership = SPRY_BORROW;
    p.A = create_matrix(context, &a);
    MUST(spry_matrix_set_index_base(p.A, host->index_base, err));
    return p;
}

static void unplace(spry_context *context, placed *p)
{
    spry_matrix_destroy(p->A);
    for (int n = 0; n < 3; n++) spry_device_free(context, DEVICE, p->arrays[n]);
}

/* Fails the test unless B, on the device, equals `host`. Destroys both. */
static void expect_same(spry_context *context, spry_matrix *B, spry_matrix *host, const char *what)
{
    const spry_arrays *b = &B->a, *h = &host->a;
    if (b->device != DEVICE || b->layout != SPRY_CSR || b->index_type != SPRY_I32) fail_msg("%s: another form", what);
    if (b->rows != h->rows || b->columns != h->columns || b->nnz != h->nnz) fail_msg("%s: other sizes", what);
    if (b->value_type != h->value_type || b->offset_type != h->offset_type) fail_msg("%s: other types", what);
    if (b->sorted != h->sorted || b->unique != h->unique) fail_msg("%s: other claims", what);
    if (b->symmetry != h->symmetry) fail_msg("%s: symmetry is %d, expected %d", what, b->symmetry, h->symmetry);
    if (B->index_base != host->index_base || B->field != host->field) fail_msg("%s: another base or field", what);
    spryi_array bs[SPRYI_ARRAYS], hs[SPRYI_ARRAYS];
    spryi_list_arrays(bs, b);
    spryi_list_arrays(hs, h);
    for (int n = 0; n < SPRYI_ARRAYS; n++) {
        if (hs[n].bytes == 0) continue;
        void *on_host = copy_back(context, bs[n].data, bs[n].bytes);
        if (memcmp(on_host, hs[n].data, (size_t)hs[n].bytes) != 0) fail_msg("%s: array %d differs", what, n);
        free(on_host);
    }
    spry_matrix_destroy(B);
    spry_matrix_destroy(host);
}

static sample csr_sample(int number)
{
    static const spry_type types[] = {SPRY_F64, SPRY_F32, SPRY_PATTERN, SPRY_BF16, SPRY_F16};
    sample s = {.kind = (sample_kind)(number % 3), .rows = 40, .columns = 40, .entries = 250, .index_base = number % 2};
    if (s.kind == SAMPLE_GENERAL) s.columns = 55;
    s.form = (test_form){SPRY_CSR, types[number / 3 % 5], number / 2 % 2 ? SPRY_I64 : SPRY_I32, SPRY_I32};
    s.duplicates = number % 4 < 2;
    s.sorted = number % 8 < 4;
    s.seed = (uint64_t)(number + 7);
    if (number % 11 == 5) s.entries = 1;
    return s;
}

enum { SAMPLES = 240 };

static const char *text_of(const sample *s, const char *operation)
{
    static char text[200];
    snprintf(text, sizeof text, "%s: %s, offsets %d, kind %d, %s, %s", operation, spry_type_name(s->form.value_type),
             s->form.offset_type, s->kind, s->duplicates ? "duplicates" : "unique", s->sorted ? "sorted" : "unsorted");
    return text;
}

static spry_matrix_options options_of(int number)
{
    static const spry_index_type offsets[] = {SPRY_INDEX_DEFAULT, SPRY_I32, SPRY_I64};
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.keep_duplicates = number % 5 == 2;
    o.offset_type = offsets[number / 3 % 3];
    return o;
}

/* ---- each operation ------------------------------------------------------------------------------------- */

static void transposes(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = csr_sample(n);
        const spry_matrix_options o = options_of(n);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL, *wanted = NULL;
        placed p = place(*state, A);
        MUST(spry_matrix_transpose(*state, &wanted, A, &o, err));
        MUST(spry_matrix_transpose(*state, &B, p.A, &o, err));
        expect_same(*state, B, wanted, text_of(&s, "transpose"));
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

static void converts(void **state)
{
    static const spry_type types[] = {SPRY_TYPE_DEFAULT, SPRY_F32, SPRY_PATTERN, SPRY_BF16, SPRY_F64};
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = csr_sample(n);
        spry_matrix_options o = options_of(n);
        o.value_type = types[n / 4 % 5];
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL, *wanted = NULL;
        placed p = place(*state, A);
        MUST(spry_matrix_convert(*state, &wanted, NULL, A, &o, err));
        MUST(spry_matrix_convert(*state, &B, NULL, p.A, &o, err));
        expect_same(*state, B, wanted, text_of(&s, "convert"));
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

static void adds(void **state)
{
    const float alpha32 = 3, beta32 = -2;
    const double alpha64 = 3, beta64 = -2;
    for (int n = 0; n < SAMPLES; n++) {
        sample s = csr_sample(n), t = csr_sample(n / 2 + 3);
        if (s.form.value_type > SPRY_PATTERN) s.form.value_type = SPRY_F32;
        if (t.form.value_type > SPRY_PATTERN) t.form.value_type = SPRY_F64;
        t.kind = n % 3 ? s.kind : t.kind;
        if (s.columns != t.columns) t.columns = s.columns, t.kind = SAMPLE_GENERAL;
        spry_matrix_options o = options_of(n);
        o.keep_duplicates = false;
        spry_matrix *A = sample_matrix(*state, &s), *B = n % 7 ? sample_matrix(*state, &t) : A, *C = NULL,
                    *wanted = NULL;
        placed a = place(*state, A), b = B == A ? a : place(*state, B);
        MUST(spry_matrix_add(*state, &wanted, NULL, A, NULL, B, &o, err));
        const spry_type type = wanted->a.value_type;
        if (type != SPRY_PATTERN && n % 4) {
            const void *alpha = type == SPRY_F32 ? (const void *)&alpha32 : &alpha64;
            const void *beta = n % 4 == 1 ? NULL : type == SPRY_F32 ? (const void *)&beta32 : &beta64;
            spry_matrix_destroy(wanted);
            MUST(spry_matrix_add(*state, &wanted, alpha, A, beta, B, &o, err));
            MUST(spry_matrix_add(*state, &C, alpha, a.A, beta, b.A, &o, err));
        } else {
            MUST(spry_matrix_add(*state, &C, NULL, a.A, NULL, b.A, &o, err));
        }
        expect_same(*state, C, wanted, text_of(&s, "add"));
        unplace(*state, &a);
        if (B != A) {
            unplace(*state, &b);
            spry_matrix_destroy(B);
        }
        spry_matrix_destroy(A);
    }
}

static spry_selection selection_of(int number, int64_t *list)
{
    spry_selection s = SPRY_INIT(spry_selection);
    const int64_t counts[] = {0, 40, 25, 60, 0};
    for (int i = 0; i < 60; i++) list[i] = number % 5 == 1 ? 39 - i % 40 : (i * 17 + number) % 40;
    if (number % 5 == 0) {
        s.first = number % 40;
        s.count = number % 2 ? 0 : 40 - s.first;
    } else {
        s.list = list;
        s.count = counts[number % 5];
    }
    return s;
}

static void extracts(void **state)
{
    for (int n = 0; n < SAMPLES * 2; n++) {
        const sample s = csr_sample(n);
        const spry_matrix_options o = options_of(n / 2);
        int64_t row_list[60], column_list[60];
        const spry_selection rows = selection_of(n, row_list), columns = selection_of(n % 3 ? n / 3 : n, column_list);
        const bool all_rows = n % 6 == 1, all_columns = n % 7 == 2;
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL, *wanted = NULL;
        placed p = place(*state, A);
        MUST(spry_matrix_extract(*state, &wanted, A, all_rows ? NULL : &rows, all_columns ? NULL : &columns, &o, err));
        MUST(spry_matrix_extract(*state, &B, p.A, all_rows ? NULL : &rows, all_columns ? NULL : &columns, &o, err));
        expect_same(*state, B, wanted, text_of(&s, "extract"));
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

static spry_const_vector vector_of(spry_context *context, const double *numbers, int64_t length, spry_type type,
                                   int64_t stride, int device, void **data)
{
    spry_const_vector v = {.length = length, .row_stride = stride, .type = type, .device = device};
    void *host = calloc((size_t)(length * stride) + 1, 8);
    for (int64_t i = 0; i < length; i++) test_set(host, type, i * stride, numbers[i]);
    *data = host;
    if (device) {
        *data = copy_to_device(context, host, length * stride * (int64_t)spry_type_bytes(type));
        free(host);
    }
    v.data = *data;
    return v;
}

/* Scales matrices. The factors are not integers, so the host and the device must round products equally. */
static void scales(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        sample s = csr_sample(n);
        if (s.form.value_type > SPRY_PATTERN) s.form.value_type = SPRY_F64;
        const spry_matrix_options o = options_of(n);
        const spry_type type = n % 3 ? SPRY_F64 : SPRY_F32;
        const int64_t stride = 1 + n % 2;
        double numbers[55];
        for (int i = 0; i < 55; i++) numbers[i] = 1 / (3.0 + i);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL, *wanted = NULL;
        placed p = place(*state, A);
        void *data[4];
        spry_const_vector r = vector_of(*state, numbers, s.rows, type, stride, 0, &data[0]);
        spry_const_vector c = vector_of(*state, numbers, s.columns, type, stride, 0, &data[1]);
        spry_const_vector r_on_device = vector_of(*state, numbers, s.rows, type, stride, DEVICE, &data[2]);
        spry_const_vector c_on_device = vector_of(*state, numbers, s.columns, type, stride, DEVICE, &data[3]);
        if (n % 5 == 1) r.data = r_on_device.data = NULL;
        if (n % 5 == 2 || n % 10 == 1) c.data = c_on_device.data = NULL;
        if (n % 5 == 3 && s.rows == s.columns) c.data = r.data, c_on_device.data = r_on_device.data;
        MUST(spry_matrix_scale(*state, &wanted, A, r, c, &o, err));
        MUST(spry_matrix_scale(*state, &B, p.A, r_on_device, c_on_device, &o, err));
        expect_same(*state, B, wanted, text_of(&s, "scale"));
        for (int d = 0; d < 4; d++)
            if (d < 2)
                free(data[d]);
            else
                spry_device_free(*state, DEVICE, data[d]);
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

static void diagonals(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = csr_sample(n);
        const spry_type type = n % 2 ? SPRY_F64 : SPRY_F32;
        const int64_t stride = 1 + n % 3, bytes = 40 * stride * (int64_t)spry_type_bytes(type);
        spry_matrix *A = sample_matrix(*state, &s);
        placed p = place(*state, A);
        void *wanted = calloc(120, 8), *on_device = copy_to_device(*state, wanted, bytes);
        spry_vector v = {.data = wanted, .length = 40, .row_stride = stride, .type = type};
        MUST(spry_matrix_diagonal(A, v, err));
        v.data = on_device;
        v.device = DEVICE;
        MUST(spry_matrix_diagonal(p.A, v, err));
        void *on_host = copy_back(*state, on_device, bytes);
        assert_memory_equal(on_host, wanted, (size_t)bytes);
        free(on_host);
        free(wanted);
        spry_device_free(*state, DEVICE, on_device);
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

static void empty_ones(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {3, 3}};
    for (int n = 0; n < 4; n++) {
        const int64_t rows = sizes[n][0], columns = sizes[n][1];
        spry_matrix *A = test_matrix(*state, rows, columns, NULL, 0, test_form_number(0)), *B = NULL, *wanted = NULL;
        const spry_const_vector none = {0};
        int64_t list[1] = {0};
        spry_selection nothing = SPRY_INIT(spry_selection);
        nothing.list = list;
        placed p = place(*state, A);
        MUST(spry_matrix_transpose(*state, &wanted, A, NULL, err));
        MUST(spry_matrix_transpose(*state, &B, p.A, NULL, err));
        expect_same(*state, B, wanted, "transpose");
        MUST(spry_matrix_add(*state, &wanted, NULL, A, NULL, A, NULL, err));
        MUST(spry_matrix_add(*state, &B, NULL, p.A, NULL, p.A, NULL, err));
        expect_same(*state, B, wanted, "add");
        MUST(spry_matrix_scale(*state, &wanted, A, none, none, NULL, err));
        MUST(spry_matrix_scale(*state, &B, p.A, none, none, NULL, err));
        expect_same(*state, B, wanted, "scale");
        for (int s = 0; s < 3; s++) {
            const spry_selection *r = s ? &nothing : NULL, *c = s == 2 ? &nothing : NULL;
            MUST(spry_matrix_extract(*state, &wanted, A, r, c, NULL, err));
            MUST(spry_matrix_extract(*state, &B, p.A, r, c, NULL, err));
            expect_same(*state, B, wanted, "extract");
        }
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

/* Uses matrices that are large enough for many thread blocks. One row has a third of all entries. */
static void large(void **state)
{
    for (int n = 0; n < 4; n++) {
        sample s = {.rows = 700, .columns = 600, .entries = 60000, .duplicates = n % 2, .sorted = n / 2, .seed = 5};
        s.form = test_form_number(0);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL, *wanted = NULL;
        placed p = place(*state, A);
        int64_t list[900];
        for (int i = 0; i < 900; i++) list[i] = (i * 7) % 600;
        spry_selection selected = SPRY_INIT(spry_selection);
        selected.list = list;
        selected.count = 900;
        MUST(spry_matrix_transpose(*state, &wanted, A, NULL, err));
        MUST(spry_matrix_transpose(*state, &B, p.A, NULL, err));
        expect_same(*state, B, wanted, "transpose");
        MUST(spry_matrix_extract(*state, &wanted, A, &selected, &selected, NULL, err));
        MUST(spry_matrix_extract(*state, &B, p.A, &selected, &selected, NULL, err));
        expect_same(*state, B, wanted, "extract");
        s.seed++;
        spry_matrix *other = sample_matrix(*state, &s);
        placed q = place(*state, other);
        MUST(spry_matrix_add(*state, &wanted, NULL, A, NULL, other, NULL, err));
        MUST(spry_matrix_add(*state, &B, NULL, p.A, NULL, q.A, NULL, err));
        expect_same(*state, B, wanted, "add");
        unplace(*state, &p);
        unplace(*state, &q);
        spry_matrix_destroy(A);
        spry_matrix_destroy(other);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------------------- */

enum { SIDE = 4, BLOCKS = 3, SIDES = 8 };
static const int32_t block_offsets[] = {0, 2, 3}, block_columns[] = {0, 1, 1};
static double block_values[BLOCKS * SIDE * SIDE];

static spry_matrix *create_blocks(spry_context *context)
{
    spry_arrays a = csr_arrays(2, SIDES, block_offsets, block_columns, block_values, SPRY_F64);
    a.layout = SPRY_BSR;
    a.block_size = SIDE;
    a.rows = SIDES;
    a.nnz = BLOCKS * SIDE * SIDE;
    for (int k = 0; k < BLOCKS * SIDE * SIDE; k++) block_values[k] = (k * 7) % 11 - 5;
    return create_matrix(context, &a);
}

/* Fails the test unless y is the product of the current block_values with x_i = i - 3. */
static void expect_block_product(const double *y)
{
    double sums[SIDES] = {0};
    for (int k = 0; k < BLOCKS * SIDE * SIDE; k++) {
        const int block = k / (SIDE * SIDE), row = k % SIDE, column = k / SIDE % SIDE;
        sums[(block == 2) * SIDE + row] += block_values[k] * (block_columns[block] * SIDE + column - 3);
    }
    for (int i = 0; i < SIDES; i++) assert_true(y[i] == sums[i]);
}

static void check_block_product(spry_spmv_plan *plan)
{
    double x[SIDES], y[SIDES];
    for (int i = 0; i < SIDES; i++) x[i] = i - 3;
    multiply_f64(plan, y, SIDES, x, SIDES);
    expect_block_product(y);
}

static void change_block_values(int by)
{
    for (int k = 0; k < BLOCKS * SIDE * SIDE; k++) block_values[k] = (k * 7 + by) % 11 - 5;
}

/*
 * Multiplies on the device by a matrix of blocks in host memory. The plan copies the blocks if the device has a kernel
 * for blocks.
 */
static void blocks(void **state)
{
    spry_matrix *A = create_blocks(*state);
    spry_spmv_plan *plan;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.device = DEVICE;
    MUST(spry_spmv_plan_create(*state, &plan, A, &o, err));
    assert_string_equal("bsr", plan_info(plan).format);
    assert_false(plan_info(plan).expanded);
    assert_false(plan_info(plan).values_in_place);
    for (int pass = 0; pass < 2; pass++) {
        change_block_values(pass);
        MUST(spry_spmv_plan_update(plan, NULL, err));
        check_block_product(plan);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

/* Multiplies by a vector in host memory. The plan's matrix is on the device. */
static void check_placed_product(spry_context *context, const placed *p, const char *format, const char *ordering)
{
    const int64_t bytes = BLOCKS * SIDE * SIDE * (int64_t)sizeof(double);
    const bool reads = (!format || strcmp(format, "bsr") == 0) && !ordering;
    spry_spmv_plan *plan;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.vector_device = SPRY_CPU;
    o.format = format;
    o.ordering = ordering;
    MUST(spry_spmv_plan_create(context, &plan, p->A, &o, err));
    assert_int_equal(reads, plan_info(plan).values_in_place);
    assert_int_equal(!reads, plan_info(plan).expanded);
    assert_false(plan_info(plan).from_file);
    for (int pass = 0; pass < 2; pass++) {
        change_block_values(pass + 3);
        MUST(spry_device_copy(context, p->arrays[2], DEVICE, block_values, 0, bytes, NULL, err));
        if (!reads) MUST(spry_spmv_plan_update(plan, NULL, err));
        check_block_product(plan);
    }
    change_block_values(9);
    void *other = copy_to_device(context, block_values, bytes);
    spry_update_options update = SPRY_INIT(spry_update_options);
    update.values = other;
    MUST(spry_spmv_plan_update(plan, &update, err));
    check_block_product(plan);
    spry_spmv_plan_destroy(plan);
    spry_device_free(context, DEVICE, other);
}

/*
 * Asserts that an explanation with the storage sizes of all formats works for a matrix on the device. The library
 * computes the sizes from copies in host memory.
 */
static void explain_placed(spry_context *context, const placed *p)
{
    spry_explanation *explanation;
    spry_explain_options explain = SPRY_INIT(spry_explain_options);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    spry_candidate c = SPRY_INIT(spry_candidate);
    explain.storage_of = "all";
    explain.spmv = &o;
    for (int transposes = 0; transposes < 2; transposes++) {
        o.op = transposes ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.memory_limit_bytes = 1 << 20;
        MUST(spry_spmv_explain(context, &explanation, p->A, &explain, err));
        MUST(spry_explanation_get_info(explanation, &info, err));
        for (int k = 0; k < info.candidates; k++) {
            MUST(spry_explanation_get_candidate(explanation, &c, k, err));
            if (strcmp(c.format, "csr") == 0) assert_true(c.storage_bytes > 0);
        }
        spry_explanation_destroy(explanation);
    }
}

/* Explains a CSR matrix on the device. */
static void explains(void **state)
{
    const sample s = csr_sample(0);
    spry_matrix *A = sample_matrix(*state, &s);
    placed p = place(*state, A);
    explain_placed(*state, &p);
    unplace(*state, &p);
    spry_matrix_destroy(A);
}

/*
 * Multiplies by a matrix of blocks on the device. A plan reads the blocks in place if the device has a kernel for
 * blocks, otherwise it expands them to CSR.
 */
static void placed_blocks(void **state)
{
    spry_matrix *A = create_blocks(*state);
    placed p = place(*state, A);
    MUST(spry_matrix_check(p.A, NULL, SPRY_CHECK_STRUCTURE, err));
    check_placed_product(*state, &p, NULL, NULL);
    check_placed_product(*state, &p, "csr", NULL);
    check_placed_product(*state, &p, "csr", "rcm");
    check_placed_product(*state, &p, "bsr", NULL);
    check_placed_product(*state, &p, "bsr", "rcm");
    explain_placed(*state, &p);
    unplace(*state, &p);
    spry_matrix_destroy(A);
}

/* Asserts that every operation on blocks has the same result on the device as on the host. */
static void operates_on_blocks(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = create_blocks(context), *B, *H;
    placed p = place(context, A);
    spry_selection s = SPRY_INIT(spry_selection);
    s.first = 1;
    s.count = 5;
    MUST(spry_matrix_transpose(context, &B, p.A, NULL, err));
    MUST(spry_matrix_transpose(context, &H, A, NULL, err));
    expect_same(context, B, H, "transpose of blocks");
    MUST(spry_matrix_add(context, &B, NULL, p.A, NULL, p.A, NULL, err));
    MUST(spry_matrix_add(context, &H, NULL, A, NULL, A, NULL, err));
    expect_same(context, B, H, "sum of blocks");
    MUST(spry_matrix_extract(context, &B, p.A, &s, NULL, NULL, err));
    MUST(spry_matrix_extract(context, &H, A, &s, NULL, NULL, err));
    expect_same(context, B, H, "rows of blocks");
    MUST(spry_matrix_convert(context, &B, NULL, p.A, NULL, err));
    MUST(spry_matrix_convert(context, &H, NULL, A, NULL, err));
    expect_same(context, B, H, "CSR of blocks");
    double *on_device = copy_to_device(context, block_values, SIDES * (int64_t)sizeof(double)), on_host[SIDES];
    spry_vector d = spry_vector_f64(on_device, SIDES);
    d.device = DEVICE;
    MUST(spry_matrix_diagonal(p.A, d, err));
    MUST(spry_matrix_diagonal(A, spry_vector_f64(on_host, SIDES), err));
    void *back = copy_back(context, on_device, sizeof on_host);
    assert_memory_equal(on_host, back, sizeof on_host);
    free(back);
    spry_device_free(context, DEVICE, on_device);
    unplace(context, &p);
    spry_matrix_destroy(A);
}

/* Asserts that PageRank, CG and the verification of a product can read blocks on the device. */
static void solves_with_blocks(void **state)
{
    spry_context *context = *state;
    static const int32_t offsets[] = {0, 1, 2}, columns[] = {0, 1};
    static const double values[] = {4, 1, 1, 3, 2, 0, 0, 5};
    spry_arrays a = csr_arrays(2, 4, offsets, columns, values, SPRY_F64);
    double x[4] = {0}, on_host[4] = {0};
    const double b[] = {6, 7, 2, 5};
    a.layout = SPRY_BSR;
    a.block_size = 2;
    a.rows = 4;
    a.nnz = 8;
    spry_matrix *A = create_matrix(context, &a);
    placed p = place(context, A);
    MUST(spry_cg(context, spry_vector_f64(x, 4), NULL, p.A, spry_const_vector_f64(b, 4), NULL, err));
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    MUST(spry_spmv_verify(context, &v, p.A, SPRY_NO_TRANSPOSE, NULL, spry_const_vector_f64(x, 4), NULL,
                          (spry_const_vector){0}, spry_const_vector_f64(b, 4), err));
    for (int i = 0; i < 4; i++) assert_true(x[i] > 0.99 && x[i] < 2.01);
    MUST(spry_pagerank(context, spry_vector_f64(x, 4), NULL, p.A, NULL, err));
    MUST(spry_pagerank(context, spry_vector_f64(on_host, 4), NULL, A, NULL, err));
    for (int i = 0; i < 4; i++) assert_true(x[i] - on_host[i] < 1e-7 && on_host[i] - x[i] < 1e-7);
    unplace(context, &p);
    spry_matrix_destroy(A);
}

static void refused_blocks(void **state)
{
    static const int32_t outside[] = {0, 1, 2};
    spry_matrix *A = create_blocks(*state), *B = NULL;
    placed p = place(*state, A);
    spry_arrays a = p.A->a;
    a.ownership = SPRY_COPY;
    REFUSED(spry_matrix_create(*state, &B, &a, &err), SPRY_UNSUPPORTED, "ownership",
            "arrays in device memory must be CSR or BSR, and borrowed");
    a.ownership = SPRY_BORROW;
    void *columns = copy_to_device(*state, outside, sizeof outside);
    a.indices = columns;
    spry_matrix *outer = create_matrix(*state, &a);
    REFUSED(spry_matrix_check(outer, NULL, SPRY_CHECK_STRUCTURE, &err), SPRY_INVALID_MATRIX, "indices",
            "in CSR of the blocks: column 2 of entry 2 (row 1) is outside 0..1 (counted from 0)");
    spry_matrix_destroy(outer);
    spry_device_free(*state, DEVICE, columns);
    unplace(*state, &p);
    spry_matrix_destroy(A);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    const sample s = csr_sample(0);
    sample wide = s;
    wide.form.offset_type = wide.form.index_type = SPRY_I64;
    spry_matrix *A = sample_matrix(*state, &s), *W = sample_matrix(*state, &wide), *B = NULL;
    placed p = place(*state, A), w = place(*state, W);
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    double d[55] = {0};
    o.layout = SPRY_CSC;
    REFUSED(spry_matrix_transpose(*state, &B, p.A, &o, &err), SPRY_UNSUPPORTED, "layout",
            "transpose: layout is 3, but a result on a GPU must be SPRY_CSR");
    o = SPRY_INIT(spry_matrix_options);
    o.value_type = SPRY_F32;
    REFUSED(spry_matrix_extract(*state, &B, p.A, NULL, NULL, &o, &err), SPRY_UNSUPPORTED, "value_type",
            "extract: value_type is f32, but the result on a GPU must be f64");
    o = SPRY_INIT(spry_matrix_options);
    o.index_type = SPRY_I64;
    REFUSED(spry_matrix_add(*state, &B, NULL, p.A, NULL, p.A, &o, &err), SPRY_UNSUPPORTED, "index_type",
            "add: index_type is SPRY_I64, but a result on a GPU has 32-bit indices");
    spry_rounding rounding = SPRY_INIT(spry_rounding);
    REFUSED(spry_matrix_convert(*state, &B, &rounding, p.A, NULL, &err), SPRY_UNSUPPORTED, "rounding",
            "convert: rounding is not reported for a matrix on a GPU, expected NULL");
    REFUSED(spry_matrix_transpose(*state, &B, w.A, NULL, &err), SPRY_UNSUPPORTED, "A",
            "transpose: indices of a matrix on a GPU are of 64 bits, expected 32");
    REFUSED(spry_matrix_add(*state, &B, NULL, p.A, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT, "B",
            "add: A is on device 1 and B on device 0, expected one device");
    REFUSED(spry_matrix_scale(*state, &B, p.A, spry_const_vector_f64(d, 40), (spry_const_vector){0}, NULL, &err),
            SPRY_INVALID_ARGUMENT, "row_scaling",
            "scale: row_scaling is on device 0 and the matrix on device 1, expected one device");
    REFUSED(spry_matrix_diagonal(p.A, spry_vector_f64(d, 40), &err), SPRY_INVALID_ARGUMENT, "diagonal",
            "diagonal: diagonal is on device 0 and the matrix on device 1, expected one device");
    unplace(*state, &p);
    unplace(*state, &w);
    spry_matrix_destroy(A);
    spry_matrix_destroy(W);
}

static spry_status operate(spry_context *context, int operation, const placed *p, spry_matrix **B, spry_error *err)
{
    static const int64_t list[] = {3, 1, 3, 2};
    const spry_const_vector none = {0};
    spry_selection s = SPRY_INIT(spry_selection);
    s.list = list;
    s.count = 4;
    switch (operation) {
    case 0: return spry_matrix_transpose(context, B, p->A, NULL, err);
    case 1: return spry_matrix_add(context, B, NULL, p->A, NULL, p->A, NULL, err);
    case 2: return spry_matrix_extract(context, B, p->A, &s, &s, NULL, err);
    case 3: return spry_matrix_convert(context, B, NULL, p->A, NULL, err);
    default: return spry_matrix_scale(context, B, p->A, none, none, NULL, err);
    }
}

/* Lets each allocation on the device fail in turn. */
static void nothing_leaks(void **state)
{
    if (!operations_mock) skip();
    for (int n = 0; n < 20; n++) {
        const sample s = csr_sample(n / 5);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
        placed p = place(*state, A);
        const int64_t blocks = operations_mock->blocks, bytes = context_bytes(*state);
        spry_status status = SPRY_OUT_OF_MEMORY;
        int64_t failures = 0;
        for (; status == SPRY_OUT_OF_MEMORY; failures++) {
            spry_error err = {0};
            operations_mock->fail_at = operations_mock->allocations + failures + 1;
            status = operate(*state, n % 5, &p, &B, &err);
            if (status == SPRY_OK) break;
            assert_null(B);
            assert_int_equal(SPRY_OUT_OF_MEMORY, status);
            assert_int_equal(blocks, operations_mock->blocks);
            assert_int_equal(bytes, context_bytes(*state));
        }
        operations_mock->fail_at = 0;
        assert_int_equal(SPRY_OK, status);
        assert_true(failures >= 3 - (s.form.value_type == SPRY_PATTERN));
        spry_matrix_destroy(B);
        assert_int_equal(blocks, operations_mock->blocks);
        unplace(*state, &p);
        spry_matrix_destroy(A);
    }
}

/* Asserts that operations wait for the caller's stream before they read A. */
static void waits_for_the_stream(void **state)
{
    if (!operations_mock) skip();
    const sample s = csr_sample(0);
    spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
    placed p = place(*state, A);
    int stream = 0;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.stream = &stream;
    const int64_t before = operations_mock->stream_waits;
    MUST(spry_matrix_transpose(*state, &B, p.A, &o, err));
    assert_int_equal(before + 1, operations_mock->stream_waits);
    spry_matrix_destroy(B);
    unplace(*state, &p);
    spry_matrix_destroy(A);
}

int operations_on_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converts),
        cmocka_unit_test(transposes),
        cmocka_unit_test(adds),
        cmocka_unit_test(extracts),
        cmocka_unit_test(scales),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(large),
        cmocka_unit_test(blocks),
        cmocka_unit_test(placed_blocks),
        cmocka_unit_test(explains),
        cmocka_unit_test(operates_on_blocks),
        cmocka_unit_test(solves_with_blocks),
        cmocka_unit_test(refused_blocks),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(waits_for_the_stream),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
