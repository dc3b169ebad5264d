/*
 * Tests of the public functions of matrices, plans and lists: every bad argument, and the documented results of good
 * arguments.
 */
#include "base/types.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "support.h"

static spry_context *context;
static sample small;

/* Initial value of outputs that a failed call must not write. */
static void *const mark = (void *)(uintptr_t)1;

static int set_up(void **state)
{
    context = context_of(2);
    small = sample_make(40, 30);
    return 0;
}

static int tear_down(void **state)
{
    int leaked = context_bytes(context) != 0;
    spry_context_destroy(context);
    sample_free(&small);
    return leaked;
}

/* ---- versions, types, texts --------------------------------------------------------------------------- */

static void texts_and_sizes(void **state)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", SPRY_VERSION_MAJOR, SPRY_VERSION_MINOR, SPRY_VERSION_PATCH);
    assert_string_equal(spry_version(), version);
    const int all[] = {0, 10, 11, 12, 13, 20, 21, 30, 31, 40, 41, 50, 51, 90};
    for (size_t s = 0; s < sizeof all / sizeof *all; s++) {
        assert_true(strlen(spry_status_text((spry_status)all[s])) > 1);
        assert_string_not_equal(spry_status_text((spry_status)all[s]), spry_status_text((spry_status)77));
        for (size_t t = 0; t < s; t++)
            assert_string_not_equal(spry_status_text((spry_status)all[s]), spry_status_text((spry_status)all[t]));
    }
    assert_int_equal(spry_type_bytes(SPRY_F32), 4);
    assert_int_equal(spry_type_bytes(SPRY_F64), 8);
    assert_int_equal(spry_type_bytes(SPRY_PATTERN), 0);
    assert_int_equal(spry_type_bytes((spry_type)9), 0);
    assert_string_equal(spry_type_name(SPRY_F32), "f32");
    assert_string_equal(spry_type_name(SPRY_F64), "f64");
    assert_string_equal(spry_type_name(SPRY_PATTERN), "pattern");
    assert_non_null(spry_type_name((spry_type)9));
    assert_int_equal(spryi_index_type_bytes(SPRY_I32), 4);
    assert_int_equal(spryi_index_type_bytes(SPRY_I64), 8);
    assert_int_equal(spryi_index_type_bytes((spry_index_type)9), 0);
}

/* ---- context ------------------------------------------------------------------------------------------ */

static void *some_allocate(void *user, size_t bytes, size_t alignment)
{
    return NULL;
}
static void some_release(void *user, void *pointer, size_t bytes)
{
}

static void contexts(void **state)
{
    spry_context_options o = SPRY_INIT(spry_context_options);
    spry_context *made = mark;
    expect_error(spry_context_create(NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "context");
    o.struct_size = 0;
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    o.struct_size = sizeof(size_t);
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    o.struct_size = sizeof(size_t) + 4; /* ends within a pointer */
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    o.struct_size = sizeof o;
    o.threads = -1;
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "threads");
    o.threads = 1 << 20;
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "threads");
    o.threads = 3;
    o.allocate = some_allocate;
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "allocate");
    o.allocate = NULL;
    o.release = some_release;
    expect_error(spry_context_create(&made, &o, &err), SPRY_INVALID_ARGUMENT, "allocate");
    assert_ptr_equal(made, mark);
    assert_int_equal(spry_context_create(&made, NULL, NULL), SPRY_OK);
    assert_true(context_threads(made) >= 1);
    spry_context_destroy(made);
    o.release = NULL;
    assert_int_equal(spry_context_create(&made, &o, NULL), SPRY_OK);
    assert_int_equal(context_threads(made), 3);
    assert_int_equal(context_bytes(made), 0);
    assert_int_equal(context_peak_bytes(made), 0);
    spry_context_destroy(made);
    spry_context_destroy(NULL);
    spry_context_info info = SPRY_INIT(spry_context_info);
    expect_error(spry_context_get_info(NULL, &info, &err), SPRY_INVALID_ARGUMENT, "context");
}

/* ---- matrices ----------------------------------------------------------------------------------------- */

/* Asserts that `bad` is refused and that no matrix is created. */
static void refuse_matrix(spry_arrays bad, spry_status wanted, const char *argument)
{
    spry_matrix *A = mark;
    int64_t held = context_bytes(context);
    expect_error(spry_matrix_create(context, &A, &bad, &err), wanted, argument);
    assert_int_equal(spry_matrix_create(context, &A, &bad, NULL), wanted); /* also without an error struct */
    assert_ptr_equal(A, mark);
    assert_int_equal(context_bytes(context), held);
}

static void bad_arrays(void **state)
{
    const spry_arrays csr = sample_arrays(&small, 0), coo = sample_arrays(&small, 1), csc = sample_arrays(&small, 3);
    spry_matrix *A = mark;
    spry_arrays a = csr;
    expect_error(spry_matrix_create(NULL, &A, &a, &err), SPRY_INVALID_ARGUMENT, "context");
    expect_error(spry_matrix_create(context, NULL, &a, &err), SPRY_INVALID_ARGUMENT, "A");
    expect_error(spry_matrix_create(context, &A, NULL, &err), SPRY_INVALID_ARGUMENT, "arrays");
    assert_ptr_equal(A, mark);
#define REFUSE(from, change, status, argument)                                                                         \
    do {                                                                                                               \
        a = (from);                                                                                                    \
        change;                                                                                                        \
        refuse_matrix(a, (status), (argument));                                                                        \
    } while (0)
    REFUSE(csr, a.struct_size = 0, SPRY_INVALID_ARGUMENT, "struct_size");
    REFUSE(csr, a.struct_size = 8, SPRY_INVALID_ARGUMENT, "struct_size");
    REFUSE(csr, a.layout = SPRY_LAYOUT_DEFAULT, SPRY_INVALID_ARGUMENT, "layout");
    REFUSE(csr, a.layout = (spry_layout)5, SPRY_INVALID_ARGUMENT, "layout");
    REFUSE(csr, a.rows = -1, SPRY_INVALID_SIZE, "rows");
    REFUSE(csr, a.columns = -1, SPRY_INVALID_SIZE, "cols");
    REFUSE(csr, a.nnz = -1, SPRY_INVALID_SIZE, "nnz");
    REFUSE(coo, a.nnz = INT64_MAX, SPRY_INVALID_SIZE, "nnz");
    REFUSE(coo, a.columns = 0, SPRY_INVALID_SIZE, "nnz");
    REFUSE(csr, a.rows = INT64_MAX, SPRY_INVALID_SIZE, "rows");
    REFUSE(csr, a.columns = (int64_t)INT32_MAX + 1, SPRY_TOO_LARGE, "index_type");
    REFUSE(coo, a.rows = (int64_t)INT32_MAX + 1, SPRY_TOO_LARGE, "index_type");
    REFUSE(csr, a.nnz = (int64_t)INT32_MAX + 1, SPRY_TOO_LARGE, "offset_type");
    REFUSE(csr, a.offset_type = SPRY_INDEX_DEFAULT, SPRY_INVALID_ARGUMENT, "offset_type");
    REFUSE(csr, a.index_type = SPRY_I64, SPRY_INVALID_ARGUMENT, "offset_type");
    REFUSE(csr, a.index_type = SPRY_INDEX_DEFAULT, SPRY_INVALID_ARGUMENT, "offset_type");
    REFUSE(coo, a.index_type = (spry_index_type)3, SPRY_INVALID_ARGUMENT, "index_type");
    REFUSE(csr, a.index_type = (spry_index_type)9, SPRY_INVALID_ARGUMENT, "index_type");
    REFUSE(csr, a.offset_type = (spry_index_type)-1, SPRY_INVALID_ARGUMENT, "offset_type");
    REFUSE(csr, a.value_type = SPRY_TYPE_DEFAULT, SPRY_INVALID_ARGUMENT, "value_type");
    REFUSE(csr, a.value_type = (spry_type)6, SPRY_INVALID_ARGUMENT, "value_type");
    REFUSE(csr, a.value_type = SPRY_PATTERN, SPRY_INVALID_ARGUMENT, "values");
    REFUSE(csr, a.offsets = NULL, SPRY_INVALID_ARGUMENT, "offsets");
    REFUSE(csc, a.offsets = NULL, SPRY_INVALID_ARGUMENT, "offsets");
    REFUSE(csr, a.indices = NULL, SPRY_INVALID_ARGUMENT, "indices");
    REFUSE(csr, a.values = NULL, SPRY_INVALID_ARGUMENT, "values");
    REFUSE(coo, a.row_indices = NULL, SPRY_INVALID_ARGUMENT, "row_indices");
    REFUSE(csr, a.offsets = (const char *)a.offsets + 2, SPRY_INVALID_ARGUMENT, "offsets");
    REFUSE(csr, a.indices = (const char *)a.indices + 1, SPRY_INVALID_ARGUMENT, "indices");
    REFUSE(csr, a.values = (const char *)a.values + 4, SPRY_INVALID_ARGUMENT, "values");
    REFUSE(coo, a.row_indices = (const char *)a.row_indices + 2, SPRY_INVALID_ARGUMENT, "row_indices");
    REFUSE(csr, a.device = -2, SPRY_INVALID_ARGUMENT, "device");
    REFUSE(csr, a.device = 1; a.ownership = SPRY_COPY, SPRY_UNSUPPORTED, "ownership");
    REFUSE(coo, a.device = 1, SPRY_UNSUPPORTED, "layout");
    spry_device_info gpu = SPRY_INIT(spry_device_info);
    assert_int_equal(spry_device_get_info(context, &gpu, 1, NULL), SPRY_OK);
    if (!gpu.available) REFUSE(csr, a.device = 1, SPRY_DEVICE_UNAVAILABLE, "device");
    if (gpu.available) REFUSE(csr, a.device = spry_device_count(context), SPRY_INVALID_ARGUMENT, "device");
    REFUSE(csr, a.sorted = (spry_known)9, SPRY_INVALID_ARGUMENT, "sorted");
    REFUSE(coo, a.sorted = (spry_known)-1, SPRY_INVALID_ARGUMENT, "sorted");
    REFUSE(csr, a.unique = (spry_known)3, SPRY_INVALID_ARGUMENT, "unique");
    REFUSE(csr, a.ownership = (spry_ownership)2, SPRY_INVALID_ARGUMENT, "ownership");
    REFUSE(csr, a.symmetry = (spry_symmetry)3, SPRY_INVALID_ARGUMENT, "symmetry");
    REFUSE(csr, a.symmetry = SPRY_SYMMETRIC, SPRY_INVALID_SIZE, "symmetry");
    REFUSE(csr, a.nnz -= 1, SPRY_INVALID_MATRIX, "offsets");
    REFUSE(csr, a.offsets = small.offsets + 1; a.rows -= 1, SPRY_INVALID_MATRIX, "offsets");
#undef REFUSE
}

static void bad_one_liners(void **state)
{
    const int32_t offsets[] = {0, 1, 2}, columns[] = {0, 1}, late[] = {1, 1, 2};
    const double f64[] = {2, 3};
    const float f32[] = {2, 3};
    spry_matrix *A = mark;
    expect_error(spry_matrix_borrow_csr_f64(NULL, &A, 2, 2, offsets, columns, f64, &err), SPRY_INVALID_ARGUMENT,
                 "context");
    expect_error(spry_matrix_borrow_csr_f64(context, NULL, 2, 2, offsets, columns, f64, &err), SPRY_INVALID_ARGUMENT,
                 "A");
    expect_error(spry_matrix_borrow_csr_f64(context, &A, -1, 2, offsets, columns, f64, &err), SPRY_INVALID_SIZE,
                 "rows");
    expect_error(spry_matrix_borrow_csr_f64(context, &A, 2, -2, offsets, columns, f64, &err), SPRY_INVALID_SIZE,
                 "cols");
    expect_error(spry_matrix_borrow_csr_f64(context, &A, 2, 2, NULL, columns, f64, &err), SPRY_INVALID_ARGUMENT,
                 "offsets");
    expect_error(spry_matrix_borrow_csr_f32(context, &A, 2, 2, offsets, NULL, f32, &err), SPRY_INVALID_ARGUMENT,
                 "indices");
    expect_error(spry_matrix_borrow_csr_f32(context, &A, 2, 2, offsets, columns, NULL, &err), SPRY_INVALID_ARGUMENT,
                 "values");
    expect_error(spry_matrix_borrow_csr_f32(context, &A, 2, 2, late, columns, f32, &err), SPRY_INVALID_MATRIX,
                 "offsets");
    expect_error(spry_matrix_borrow_csr_f64(context, &A, INT64_MAX / 2, 2, offsets, columns, f64, &err),
                 SPRY_INVALID_SIZE, "rows");
    assert_ptr_equal(A, mark);
}

static spry_status create_csr(spry_layout layout, const void *offsets, spry_index_type type, int64_t lines, int64_t nnz,
                              int base)
{
    static const int32_t indices[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    spry_matrix *A = NULL;
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = layout;
    a.rows = a.columns = lines;
    a.nnz = nnz;
    a.offset_type = type;
    a.index_type = SPRY_I32;
    a.value_type = SPRY_PATTERN;
    a.offsets = offsets;
    a.indices = indices;
    a.index_base = base;
    const spry_status status = spry_matrix_create(context, &A, &a, NULL);
    spry_matrix_destroy(A);
    return status;
}

/*
 * Asserts that offsets declared with the wrong width (64-bit offsets as 32 bits, 32-bit offsets as 64 bits) are
 * refused, and that the library does not read past the array.
 */
static void offsets_of_another_width(void **state)
{
    static const double values[16] = {0};
    static const int32_t columns[16] = {0};
    for (int64_t lines = 1; lines <= 9; lines++)
        for (int base = 0; base <= 1; base++)
            for (int empty = 0; empty <= 1; empty++) { /* 1: the first row is empty */
                int64_t *wide = calloc((size_t)lines + 1, sizeof *wide);
                int32_t *narrow = calloc((size_t)lines + 1, sizeof *narrow); /* checked by AddressSanitizer */
                assert_true(wide && narrow);
                for (int64_t i = 0; i <= lines; i++) wide[i] = base + (empty ? (i > 0) * (i - 1) : i);
                for (int64_t i = 0; i <= lines; i++) narrow[i] = (int32_t)wide[i];
                const int64_t nnz = wide[lines] - base;
                const void *as_narrow = wide;
                for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout += SPRY_CSC - SPRY_CSR) {
                    assert_int_equal(create_csr((spry_layout)layout, narrow, SPRY_I32, lines, nnz, base), SPRY_OK);
                    assert_int_equal(create_csr((spry_layout)layout, wide, SPRY_I64, lines, nnz, base), SPRY_OK);
                    if (nnz == 0 || (empty && lines == 2)) continue; /* with the wrong width the matrix is also valid */
                    assert_int_equal(create_csr((spry_layout)layout, narrow, SPRY_I64, lines, nnz, base),
                                     SPRY_INVALID_MATRIX);
                    assert_int_equal(create_csr((spry_layout)layout, wide, SPRY_I32, lines, nnz, base),
                                     SPRY_INVALID_MATRIX);
                }
                if (base == 0 && lines >= 3 + 2 * empty) {
                    spry_matrix *A = mark;
                    spry_error why = SPRY_ERROR_INIT;
                    assert_int_equal(spry_matrix_borrow_csr_f64(context, &A, lines, lines, as_narrow, columns, values,
                                                                &why),
                                     SPRY_INVALID_MATRIX);
                    assert_string_equal(why.argument, "offsets");
                    assert_non_null(strstr(why.message, "seem to be of 64 bits"));
                }
                free(narrow);
                free(wide);
            }
    static const int32_t last[] = {0, 0, 0, 0, 3}; /* all entries are in the last row */
    assert_int_equal(create_csr(SPRY_CSR, last, SPRY_I32, 4, 3, 0), SPRY_OK);
}

static void arrays_are_shown(void **state)
{
    for (int input = 0; input < INPUTS; input++)
        for (int ownership = SPRY_BORROW; ownership <= SPRY_COPY; ownership++) {
            spry_arrays a = sample_arrays(&small, input);
            a.ownership = (spry_ownership)ownership;
            spry_matrix *A = create_matrix(context, &a);
            spry_arrays shown = arrays_of(A);
            assert_int_equal(shown.struct_size, sizeof shown);
            assert_int_equal(shown.layout, a.layout);
            assert_int_equal(shown.nnz, a.nnz);
            assert_int_equal(shown.value_type, a.value_type);
            assert_int_equal(shown.ownership, ownership);
            assert_int_equal(shown.sorted, a.sorted);
            assert_int_equal(shown.indices == a.indices, ownership == SPRY_BORROW);
            assert_memory_equal(shown.indices, a.indices, (size_t)a.nnz * 4);
            if (a.values) assert_memory_equal(shown.values, a.values, (size_t)a.nnz * 8);
            if (!a.values) assert_null(shown.values);
            assert_int_equal(shown.offsets == NULL, a.layout == SPRY_COO);
            spry_matrix_destroy(A);
        }
    spry_matrix *A = sample_matrix(context, &small, 0);
    spry_arrays shown = SPRY_INIT(spry_arrays);
    shown.nnz = 77;
    expect_error(spry_matrix_get_arrays(NULL, &shown, &err), SPRY_INVALID_ARGUMENT, "A");
    expect_error(spry_matrix_get_arrays(A, NULL, &err), SPRY_INVALID_ARGUMENT, "arrays");
    shown.struct_size = 3;
    expect_error(spry_matrix_get_arrays(A, &shown, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    assert_int_equal(shown.nnz, 77);
    spry_matrix_destroy(A);
    spry_matrix_destroy(NULL);
}

/* ---- lifetimes --------------------------------------------------------------------------------------- */

/* Destroys handles in any order, always the context first. The last handle frees the context. */
static void handles_in_any_order(void **state)
{
    for (int order = 0; order < 8; order++) {
        test_memory h = {0};
        spry_context *own = counted_context(&h, 1);
        spry_matrix *S = sample_matrix(own, &small, 0);
        spry_ordering *degree = NULL;
        spry_ordering_options by = SPRY_INIT(spry_ordering_options);
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        double y[64];
        by.method = "degree";
        o.op_b = SPRY_TRANSPOSE;
        assert_true(small.rows <= 64);
        spry_spmv_plan *plan = create_plan(own, S, NULL);
        spry_spgemm_plan *product = create_spgemm_plan(own, S, S, &o);
        degree = create_ordering(own, S, &by);
        spry_context_destroy(own);
        spry_matrix *C = multiply_matrices(own, S, S, &o); /* the destroyed context still works, since handles use it */
        multiply_f64(plan, y, small.rows, small.x, small.cols);
        assert_true(is_product(&small, 0, y));
        for (int step = 0; step < 4; step++) /* starts with each handle in turn, in increasing and decreasing order */
            switch ((order + step * (order < 4 ? 1 : 3)) % 4) {
            case 0: spry_matrix_destroy(S); break;
            case 1: spry_spmv_plan_destroy(plan); break;
            case 2: spry_spgemm_plan_destroy(product); break;
            default: spry_ordering_destroy(degree); break;
            }
        assert_true(atomic_load(&h.blocks) > 0);
        spry_matrix_destroy(C);
        assert_int_equal(atomic_load(&h.blocks), 0);
        assert_int_equal(atomic_load(&h.bytes), 0);
    }
}

/* ---- lists -------------------------------------------------------------------------------------------- */

#define REFUSE_LISTED(type, count, function, ...)                                                                      \
    do {                                                                                                               \
        type info = SPRY_INIT(type);                                                                                   \
        info.name = mark;                                                                                              \
        expect_error(function(__VA_ARGS__ &info, -2, &err), SPRY_UNKNOWN_NAME, NULL);                                  \
        expect_error(function(__VA_ARGS__ &info, count, &err), SPRY_UNKNOWN_NAME, NULL);                               \
        expect_error(function(__VA_ARGS__ NULL, 0, &err), SPRY_INVALID_ARGUMENT, "info");                              \
        info.struct_size = 0;                                                                                          \
        expect_error(function(__VA_ARGS__ &info, 0, &err), SPRY_INVALID_ARGUMENT, "struct_size");                      \
        assert_ptr_equal(info.name, mark);                                                                             \
    } while (0)

static void is_sentence(const char *text)
{
    assert_non_null(text);
    if (strlen(text) < 8 || strchr(text, '\n')) fail_msg("\"%s\" tells nobody anything", text);
}

static void devices(void **state)
{
    assert_int_equal(spry_device_count(NULL), 0);
    int count = spry_device_count(context);
    assert_true(count >= 1);
    for (int d = 0; d < count; d++) {
        spry_device_info info = SPRY_INIT(spry_device_info);
        assert_int_equal(spry_device_get_info(context, &info, d, NULL), SPRY_OK);
        assert_true(strlen(info.name) >= 3 && strlen(info.description) > 0);
        assert_int_equal(info.available, strlen(info.reason) == 0);
        if (d > 0) continue;
        assert_string_equal(info.name, "cpu");
        assert_true(info.available && info.units >= 1 && info.memory_bytes > 1 << 20);
        assert_true(strstr("portable avx2 avx512", info.simd) != NULL);
    }
    REFUSE_LISTED(spry_device_info, count, spry_device_get_info, context, );
    spry_device_info info = SPRY_INIT(spry_device_info);
    expect_error(spry_device_get_info(NULL, &info, 0, &err), SPRY_INVALID_ARGUMENT, "context");
}

static void formats(void **state)
{
    int count = format_count(), kernels = 0;
    for (int f = 0; f < count; f++) {
        spry_format_info info = format_info(f);
        assert_true(strlen(info.name) >= 3 && info.kernels >= 1);
        is_sentence(info.title);
        is_sentence(info.storage);
        is_sentence(info.best_for);
        kernels += info.kernels;
    }
    assert_true(count >= 2);
    assert_int_equal(kernels, spmv_kernel_count());
    REFUSE_LISTED(spry_format_info, count, spry_format_get_info, );
}

static void kernels(void **state)
{
    int count = spmv_kernel_count();
    for (int k = 0; k < count; k++) {
        spry_kernel_info info = kernel_info(context, k);
        /* name: <format>_<method>_<device> */
        size_t name = strlen(info.name), format = strlen(info.format), device = strlen(info.device_kind);
        assert_true(name > format + device + 2);
        assert_memory_equal(info.name, info.format, format);
        assert_string_equal(info.name + name - device, info.device_kind);
        is_sentence(info.idea);
        is_sentence(info.source);
        assert_null(strstr(info.source, "seed")); /* a source is a title or an author, which can be looked up */
        assert_non_null(strstr(info.operations, "spmv"));
        assert_non_null(strstr(info.types, "f64"));
        assert_non_null(strstr(info.indices, "32/32"));
        assert_int_equal(info.available, strlen(info.reason) == 0);
        if (!info.available) is_sentence(info.reason);
        for (int other = 0; other < k; other++) {
            spry_kernel_info earlier = kernel_info(context, other);
            assert_string_not_equal(earlier.name, info.name);
        }
    }
    REFUSE_LISTED(spry_kernel_info, count + spgemm_kernel_count(), spry_kernel_get_info, context, );
    spry_kernel_info info = kernel_info(context, count);
    assert_string_equal(info.operations, "spgemm");
    expect_error(spry_kernel_get_info(NULL, &info, 0, &err), SPRY_INVALID_ARGUMENT, "context");
}

/*
 * Asserts that kernels above the level of SPRY_SIMD are listed as unavailable with a reason. A plan that names such a
 * kernel must be refused.
 */
static void kernels_above_the_level(void **state)
{
    assert_int_equal(setenv("SPRY_SIMD", "portable", 1), 0);
    spry_context *portable = context_of(1);
    assert_int_equal(unsetenv("SPRY_SIMD"), 0);
    spry_matrix *A = sample_matrix(portable, &small, 0);
    int refused = 0;
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info info = kernel_info(portable, k);
        if (strcmp(info.device_kind, "cpu") != 0) continue;
        int vector = strstr(info.name, "avx") != NULL;
        assert_int_equal(info.available, !vector);
        if (!vector) continue;
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.kernel = info.name;
        spry_spmv_plan *plan = mark;
        spry_error err = {0};
        spry_status status = spry_spmv_plan_create(portable, &plan, A, &o, &err);
        check_error(status, &err, SPRY_DEVICE_UNAVAILABLE, "kernel", __FILE__, __LINE__);
        assert_non_null(strstr(err.message, info.reason));
        assert_ptr_equal(plan, mark);
        refused++;
    }
#ifdef SPRY_HAVE_X86
    assert_true(refused >= 3);
#endif
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(portable), 0);
    spry_context_destroy(portable);
    assert_int_equal(setenv("SPRY_SIMD", "nonsense", 1), 0);
    spry_context *other = NULL;
    expect_error(spry_context_create(&other, NULL, &err), SPRY_UNKNOWN_NAME, "SPRY_SIMD");
    assert_null(other);
    assert_int_equal(unsetenv("SPRY_SIMD"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_sizes),
        cmocka_unit_test(contexts),
        cmocka_unit_test(bad_arrays),
        cmocka_unit_test(bad_one_liners),
        cmocka_unit_test(offsets_of_another_width),
        cmocka_unit_test(arrays_are_shown),
        cmocka_unit_test(handles_in_any_order),
        cmocka_unit_test(devices),
        cmocka_unit_test(formats),
        cmocka_unit_test(kernels),
        cmocka_unit_test(kernels_above_the_level),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
