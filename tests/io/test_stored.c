/*
 * Tests of containers in a format. Plans in this format use the memory-mapped arrays. All other functions use CSR built
 * from these arrays.
 */
#include "catalogue/catalogue.h"
#include "files.h"
#include "io/container.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

#include <pthread.h>
#include <unistd.h>

/* Formats with parameters that are no defaults. */
static const char *const formats[] = {"ell",         "sell:c=4:sigma=16", "sell:c=8:sigma=1",
                                      "hyb:width=3", "scoo:height=48",    "bsr:block=3",
                                      "packed"};
enum { FORMATS = sizeof formats / sizeof *formats };

static spry_matrix *generate(spry_context *context, const char *spec, spry_type type, int pair)
{
    spry_matrix *A = NULL;
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = type;
    options.offset_type = pair == 0 ? SPRY_I32 : SPRY_I64;
    options.index_type = pair == 2 ? SPRY_I64 : SPRY_I32;
    MUST(spry_matrix_generate(context, &A, spec, &options, err));
    return A;
}

/* Writes A in the format and reads the file. The file is then removed, since its memory mapping remains. */
static spry_matrix *stored(spry_context *context, const spry_matrix *A, const char *format)
{
    const char *path = temporary_path("stored.spry");
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.format = format;
    MUST(spry_matrix_write(A, path, &options, err));
    spry_matrix *B = read_matrix(context, path, NULL);
    assert_int_equal(0, unlink(path));
    return B;
}

static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, const char *format, spry_op op)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    options.op = op;
    options.memory_limit_bytes = INT64_MAX;
    return create_plan(context, A, &options);
}

/* Computes y = op(A)*x. x depends only on the position. */
static void product(spry_context *context, const spry_spmv_plan *plan, spry_vector *y, int64_t m, int64_t n,
                    spry_type type)
{
    spry_vector x = create_vector(context, n, type, 0);
    MUST(spry_vector_create(context, y, m, type, 0, err));
    for (int64_t j = 0; j < n; j++) {
        const double value = 0.3 + 0.01 * (double)(j % 17);
        if (type == SPRY_F32)
            ((float *)x.data)[j] = (float)value;
        else
            ((double *)x.data)[j] = value;
    }
    MUST(spry_spmv_plan_run(plan, *y, NULL, spry_vector_as_const(x), NULL, NULL, err));
    spry_vector_destroy(context, &x);
}

static void assert_same_product(spry_context *context, const spry_matrix *A, const spry_spmv_plan *plan,
                                const char *format, spry_op op)
{
    const spry_type type = A->a.value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
    const int64_t m = op == SPRY_TRANSPOSE ? A->a.columns : A->a.rows,
                  n = op == SPRY_TRANSPOSE ? A->a.rows : A->a.columns;
    spry_vector y = {0}, expected = {0};
    spry_spmv_plan *converted = plan_of(context, A, format, op);
    product(context, converted, &expected, m, n, type);
    product(context, plan, &y, m, n, type);
    assert_memory_equal(expected.data, y.data, (size_t)m * spry_type_bytes(type));
    spry_spmv_plan_destroy(converted);
    spry_vector_destroy(context, &y);
    spry_vector_destroy(context, &expected);
}

/*
 * Tests every format, value type and pair of index types. The plan must own only its workspace, and its products must
 * equal those of a plan built from CSR.
 */
static void test_plans_in_place(void **state)
{
    for (int f = 0; f < FORMATS; f++)
        for (int t = SPRY_F32; t <= SPRY_F64; t++)
            for (int pair = 0; pair < 3; pair++) {
                spry_context *context = context_of(2);
                spry_matrix *A = generate(context, "fem3,x=9,y=8,z=7", (spry_type)t, pair);
                spry_matrix *B = stored(context, A, formats[f]);
                char name[32];
                snprintf(name, sizeof name, "%.*s", (int)strcspn(formats[f], ":"), formats[f]);
                const char *const asked[] = {NULL, "auto", name, formats[f]};
                for (size_t a = 0; a < sizeof asked / sizeof *asked; a++) {
                    spry_spmv_plan *plan = plan_of(context, B, asked[a], SPRY_NO_TRANSPOSE);
                    const spry_spmv_plan_info info = plan_info(plan);
                    assert_string_equal(name, info.format);
                    assert_int_equal(a < 2 ? SPRY_REASON_STORED : SPRY_REASON_NAMED, info.reason_code);
                    if (a < 2) assert_non_null(strstr(info.reason, "the container holds format"));
                    if (strchr(formats[f], ':')) assert_string_equal(strchr(formats[f], ':') + 1, info.parameters);
                    assert_int_equal(1, info.from_file);
                    assert_int_equal(info.workspace_bytes, info.owned_bytes);
                    assert_true(info.storage_bytes > A->a.nnz * (int64_t)spry_type_bytes((spry_type)t));
                    assert_same_product(context, A, plan, formats[f], SPRY_NO_TRANSPOSE);
                    spry_spmv_plan_destroy(plan);
                }
                assert_null(B->stored->csr); /* no function has requested CSR */
                spryi_storage reported = {0};
                spry_spmv_options limited = SPRY_INIT(spry_spmv_options);
                limited.memory_limit_bytes = 1;
                MUST(spryi_predict_storage(context, &reported, B, &limited, err));
                assert_string_equal(name, reported.format);
                assert_true(reported.owned_bytes == 0 && !reported.refused &&
                            strstr(reported.reason, "the container holds"));
                spry_matrix_destroy(A);
                spry_matrix_destroy(B);
                assert_int_equal(0, context_bytes(context));
                spry_context_destroy(context);
            }
}

/* A plan of a large container holds few bytes, and outlives the matrix and the file. */
static void test_bytes(void **state)
{
    enum { FEW = 16 << 10 };
    spry_context *context = context_of(1), *other = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=300,y=200", SPRY_F64, 0), *B = stored(other, A, "sell:c=16:sigma=32");
    assert_int_equal(A->a.nnz, spry_matrix_nnz(B));
    assert_int_equal(A->a.rows, spry_matrix_rows(B));
    assert_int_equal(A->a.columns, spry_matrix_columns(B));
    spry_spmv_plan *plan = plan_of(other, B, NULL, SPRY_NO_TRANSPOSE);
    assert_true(context_peak_bytes(other) < FEW); /* the file has 3.6 MB; the peak includes hashes of its chunks */
    MUST(spry_spmv_plan_update(plan, NULL, err));
    spry_update_options update = SPRY_INIT(spry_update_options);
    spry_error reported = SPRY_ERROR_INIT;
    update.values = A->a.values;
    assert_int_equal(SPRY_UNSUPPORTED, spry_spmv_plan_update(plan, &update, &reported));
    assert_string_equal("values", reported.argument);
    assert_true(context_peak_bytes(other) < FEW);
    spry_matrix_destroy(B);
    assert_same_product(context, A, plan, "sell:c=16:sigma=32", SPRY_NO_TRANSPOSE);
    spry_spmv_plan_destroy(plan);
    assert_int_equal(0, context_bytes(other));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    spry_context_destroy(other);
}

/*
 * Tests plans that cannot use the storage and are built from CSR: other formats or parameters, orderings, and
 * transposed products in formats that store rows in slots.
 */
static void test_conversions(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "fem3,x=5,y=4,z=4", SPRY_F64, 0);
    static const struct {
        const char *stored, *format, *ordering;
        spry_op op;
        int in_place;
    } cases[] = {
        {"sell:c=4:sigma=16", "sell:c=8", NULL, SPRY_NO_TRANSPOSE, 0},
        {"sell:c=4:sigma=16", "sell:c=4", NULL, SPRY_NO_TRANSPOSE, 1},
        {"sell:c=4:sigma=16", "csr", "none", SPRY_NO_TRANSPOSE, 0},
        {"sell:c=4:sigma=16", "sell:c=4:sigma=16", "none", SPRY_NO_TRANSPOSE, 1},
        {"sell:c=4:sigma=16", "sell:c=4:sigma=16", "rcm", SPRY_NO_TRANSPOSE, 0},
        {"sell:c=4:sigma=16", "sell:c=4:sigma=16", NULL, SPRY_TRANSPOSE, 0},
        {"ell", "ell", NULL, SPRY_TRANSPOSE, 0},
        {"hyb:width=3", "hyb:width=3", NULL, SPRY_TRANSPOSE, 0},
        {"packed", "packed", NULL, SPRY_TRANSPOSE, 0},
        {"bsr:block=3", "bsr", NULL, SPRY_TRANSPOSE, 1},
        {"scoo:height=48", "scoo", NULL, SPRY_TRANSPOSE, 1},
        {"bsr:block=3", NULL, NULL, SPRY_TRANSPOSE, 1},
        {"ell", NULL, NULL, SPRY_TRANSPOSE, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *B = stored(context, A, cases[c].stored);
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = cases[c].format;
        options.ordering = cases[c].ordering;
        options.op = cases[c].op;
        options.memory_limit_bytes = INT64_MAX;
        spry_spmv_plan *plan = create_plan(context, B, &options);
        const spry_spmv_plan_info info = plan_info(plan);
        if (info.from_file != cases[c].in_place) fail_msg("case %zu: from_file is %d", c, info.from_file);
        assert_int_equal(!cases[c].in_place, B->stored->csr != NULL);
        if (!cases[c].ordering) {
            char format[80];
            snprintf(format, sizeof format, "%s%s%s", info.format, info.parameters[0] ? ":" : "", info.parameters);
            assert_same_product(context, A, plan, format, cases[c].op);
        }
        MUST(spry_spmv_plan_update(plan, NULL, err));
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Tests a kernel of the container's format, a kernel of another format, and vectors of a type that the values do not
 * support.
 */
static void test_kernels(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=9,y=7", SPRY_F64, 0), *B = stored(context, A, "ell");
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = "ell_portable_cpu";
    spry_spmv_plan *plan = create_plan(context, B, &options);
    assert_int_equal(1, plan_info(plan).from_file);
    assert_int_equal(SPRY_REASON_NAMED, plan_info(plan).reason_code);
    spry_spmv_plan_destroy(plan);
    options.kernel = "csr_portable_cpu";
    plan = create_plan(context, B, &options);
    assert_int_equal(0, plan_info(plan).from_file);
    assert_string_equal("csr", plan_info(plan).format);
    spry_spmv_plan_destroy(plan);
    options.kernel = NULL;
    options.vector_type = SPRY_F32;
    assert_int_equal(SPRY_UNSUPPORTED, spry_spmv_plan_create(context, &plan, B, &options, NULL));
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

/* sell stores a pattern without values, for vectors of both types. ell stores ones, which reading removes. */
static void check_pattern(spry_context *context, const spry_matrix *A, const char *format)
{
    spry_matrix *kept = stored(context, A, format);
    assert_non_null(kept->stored);
    for (int t = SPRY_F32; t <= SPRY_F64; t++) {
        spry_vector y = {0}, expected = {0};
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.vector_type = (spry_type)t;
        spry_spmv_plan *plan = create_plan(context, kept, &options);
        assert_int_equal(1, plan_info(plan).from_file);
        product(context, plan, &y, A->a.rows, A->a.columns, (spry_type)t);
        options.format = format;
        spry_spmv_plan *whole = create_plan(context, A, &options);
        product(context, whole, &expected, A->a.rows, A->a.columns, (spry_type)t);
        assert_memory_equal(expected.data, y.data, (size_t)A->a.rows * spry_type_bytes((spry_type)t));
        spry_spmv_plan_destroy(whole);
        spry_vector_destroy(context, &expected);
        spry_vector_destroy(context, &y);
        MUST(spry_spmv_plan_update(plan, NULL, err));
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(kept);
}

static void test_patterns(void **state)
{
    static const char *const specs[] = {"grid5,x=9,y=7", "fem3,x=3,y=2,z=2", "arrow,rows=900"};
    spry_context *context = context_of(1);
    for (int n = 0; n < 3; n++) {
        spry_matrix *A = generate(context, specs[n], SPRY_PATTERN, n == 2 ? 2 : 0);
        spry_matrix *ell = n < 2 ? stored(context, A, "ell") : NULL;
        if (n < 2) check_pattern(context, A, "sell");
        check_pattern(context, A, "packed");
        if (ell) {
            assert_null(ell->stored);
            assert_same_matrix(A, ell);
        }
        spry_matrix_destroy(A);
        spry_matrix_destroy(ell);
    }
    spry_context_destroy(context);
}

/* Calls every function that reads entries, each on a new container whose CSR has not been built. */
static void test_functions(void **state)
{
    enum { CALLS = 12 };
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "laplace5,x=8,y=6", SPRY_F64, 0);
    const int64_t n = A->a.rows;
    spry_matrix_stats wanted = SPRY_INIT(spry_matrix_stats), stats = SPRY_INIT(spry_matrix_stats);
    double diagonals[2][64] = {{0}}, ones[64], sums[64];
    for (int k = 0; k < 64; k++) ones[k] = 1;
    MUST(spry_matrix_get_stats(A, &wanted, err));
    MUST(spry_matrix_diagonal(A, spry_vector_f64(diagonals[0], n), err));
    for (int call = 0; call < CALLS; call++) {
        spry_matrix *B = stored(context, A, "ell"), *C = NULL, *wanted_C = NULL;
        spry_ordering *ordering = NULL;
        spryi_storage storage = {0};
        spry_cg_result solved = SPRY_INIT(spry_cg_result);
        spry_spmv_verification spmv = SPRY_INIT(spry_spmv_verification);
        spry_spgemm_verification spgemm = SPRY_INIT(spry_spgemm_verification);
        spry_spgemm_options any = SPRY_INIT(spry_spgemm_options);
        spry_matrix_options coo = SPRY_INIT(spry_matrix_options);
        spry_ordering_options rcm = SPRY_INIT(spry_ordering_options);
        spry_spmv_options csr = SPRY_INIT(spry_spmv_options);
        coo.layout = SPRY_COO;
        rcm.method = "rcm";
        csr.format = "csr";
        const spry_const_vector x = spry_const_vector_f64(ones, n);
        const spry_vector y = spry_vector_f64(sums, n);
        switch (call) {
        case 0:
            MUST(spry_matrix_get_stats(B, &stats, err));
            assert_memory_equal(&wanted, &stats, sizeof stats);
            break;
        case 1: assert_true(arrays_of(B).indices != NULL); break;
        case 2:
            MUST(spry_matrix_diagonal(B, spry_vector_f64(diagonals[1], n), err));
            assert_memory_equal(diagonals[0], diagonals[1], sizeof diagonals[0]);
            break;
        case 3:
            MUST(spry_matrix_convert(context, &C, NULL, B, &coo, err));
            wanted_C = convert_matrix(context, A, &coo);
            assert_same_matrix(wanted_C, C);
            break;
        case 4:
            MUST(permute_matrix(context, &C, B, NULL, NULL, err));
            assert_same_matrix(A, C);
            break;
        case 5: MUST(spry_ordering_create(context, &ordering, B, &rcm, err)); break;
        case 6:
            MUST(spryi_predict_storage(context, &storage, B, &csr, err));
            assert_int_equal(storage.bytes, spryi_arrays_bytes(&A->a));
            break;
        case 7:
            any.device = SPRY_DEVICE_AUTO;
            MUST(spry_spgemm(context, &C, NULL, B, B, &any, err));
            wanted_C = multiply_matrices(context, A, A, NULL);
            assert_same_matrix(wanted_C, C);
            break;
        case 8:
            MUST(spry_spgemm(context, &C, NULL, A, A, NULL, err));
            MUST(spry_spgemm_verify(context, &spgemm, C, B, B, NULL, SPRY_VERIFY_EXACT, err));
            assert_int_equal(0, spgemm.wrong_rows);
            break;
        case 9:
            MUST(spry_spmv(context, y, NULL, A, x, NULL, err));
            MUST(spry_spmv_verify(context, &spmv, B, SPRY_NO_TRANSPOSE, NULL, x, NULL, (spry_const_vector){0},
                                  spry_vector_as_const(y), err));
            assert_int_equal(0, spmv.wrong_rows);
            break;
        case 10:
            memset(sums, 0, sizeof sums);
            MUST(spry_cg(context, y, &solved, B, x, NULL, err));
            assert_true(solved.residual < 1e-4);
            break;
        case 11: MUST(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, err)); break;
        default: fail();
        }
        assert_non_null(B->stored->csr);
        const spry_arrays *made = &B->stored->csr->a;
        const int64_t bytes = context_bytes(context);
        spry_arrays shown = arrays_of(B);
        assert_ptr_equal(made->indices, shown.indices); /* built once */
        assert_int_equal(bytes, context_bytes(context));
        assert_int_equal(SPRY_BORROW, shown.ownership); /* the values cannot be written */
        assert_int_equal(SPRY_KNOWN_YES, shown.sorted);
        assert_same_matrix(A, B->stored->csr);
        void *values = NULL;
        assert_int_equal(SPRY_UNSUPPORTED, spry_matrix_get_values(B, &values, NULL));
        assert_int_equal(SPRY_OK, spry_matrix_check(B, NULL, SPRY_CHECK_STRUCTURE, NULL));
        spry_ordering_destroy(ordering);
        spry_matrix_destroy(B);
        spry_matrix_destroy(C);
        spry_matrix_destroy(wanted_C);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void *show(void *A)
{
    spry_arrays shown = SPRY_INIT(spry_arrays);
    return spry_matrix_get_arrays(A, &shown, NULL) == SPRY_OK ? (void *)(uintptr_t)shown.indices : NULL;
}

/* Lets multiple threads request CSR at the same time. All must get the same arrays. */
static void test_threads(void **state)
{
    enum { THREADS = 4 };
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=90,y=70", SPRY_F64, 0), *B = stored(context, A, "ell");
    pthread_t threads[THREADS];
    void *indices[THREADS];
    for (int t = 0; t < THREADS; t++) assert_int_equal(0, pthread_create(&threads[t], NULL, show, B));
    for (int t = 0; t < THREADS; t++) assert_int_equal(0, pthread_join(threads[t], &indices[t]));
    for (int t = 0; t < THREADS; t++) assert_ptr_equal(B->stored->csr->a.indices, indices[t]);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Writes B, a matrix from a container. If the file has the container's format, B's arrays are copied. Other formats are
 * built from CSR. The files must equal those that are written from A.
 */
static void test_writing(void **state)
{
    static const char *const wanted[] = {"sell", "sell:c=4:sigma=16", "sell:c=8", "bsr:block=2", "csc", NULL};
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=9,y=7", SPRY_F64, 0);
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        spry_matrix *B = stored(context, A, "sell:c=4:sigma=16");
        spry_write_options options = SPRY_INIT(spry_write_options);
        const char *of_A = temporary_path("a.spry"), *of_B = temporary_path("b.spry");
        options.format = w == 0 ? wanted[1] : wanted[w];
        MUST(spry_matrix_write(A, of_A, &options, err));
        options.format = wanted[w];
        MUST(spry_matrix_write(B, of_B, &options, err));
        assert_int_equal(w >= 2, B->stored->csr != NULL);
        size_t bytes[2];
        char *contents[] = {content_of(of_A, &bytes[0]), content_of(of_B, &bytes[1])};
        assert_int_equal(bytes[0], bytes[1]);
        assert_memory_equal(contents[0], contents[1], bytes[0]);
        free(contents[0]);
        free(contents[1]);
        spry_matrix_destroy(B);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Reads a container with another value type than the file's. The matrix is then converted to CSR, as for other
 * containers.
 */
static void test_read_options(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=9,y=7", SPRY_F64, 0);
    const char *path = temporary_path("types.spry");
    spry_write_options write = SPRY_INIT(spry_write_options);
    spry_read_options read = SPRY_INIT(spry_read_options);
    write.format = "ell";
    MUST(spry_matrix_write(A, path, &write, err));
    read.value_type = SPRY_F64;
    spry_matrix *B = read_matrix(context, path, &read);
    assert_non_null(B->stored);
    spry_matrix_destroy(B);
    read.value_type = SPRY_F32;
    B = read_matrix(context, path, &read);
    assert_null(B->stored);
    assert_int_equal(SPRY_F32, B->a.value_type);
    assert_int_equal(A->a.nnz, B->a.nnz);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Damages the format's parameters in the head. Only plans that request no parameters may then use the storage. */
static void test_strange_parameters(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate(context, "grid5,x=9,y=7", SPRY_F64, 0), *B = NULL;
    const char *path = temporary_path("strange.spry");
    spry_write_options write = SPRY_INIT(spry_write_options);
    write.format = "sell:c=4:sigma=16";
    MUST(spry_matrix_write(A, path, &write, err));
    size_t bytes;
    char *data = content_of(path, &bytes);
    spryi_container_head head;
    memcpy(&head, data, sizeof head);
    head.parameters[0] = 'd';
    head.checksum = spryi_container_checksum(&head);
    memcpy(data, &head, sizeof head);
    MUST(spry_matrix_read_memory(context, &B, data, bytes, "x", NULL, err));
    free(data);
    const char *const asked[] = {"sell", "sell:c=4:sigma=16"};
    for (int a = 0; a < 2; a++) {
        spry_spmv_plan *plan = plan_of(context, B, asked[a], SPRY_NO_TRANSPOSE);
        assert_int_equal(a == 0, plan_info(plan).from_file);
        assert_same_product(context, A, plan, "sell:c=4:sigma=16", SPRY_NO_TRANSPOSE);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

/* ---- out of memory ------------------------------------------------------------------------------- */

/*
 * Lets each allocation fail in turn: in reading, in a plan on the storage, in a plan of CSR and in access to CSR. The
 * failing call must report the failure, and the next call must succeed.
 */
static void test_out_of_memory(void **state)
{
    spry_context *plain = context_of(1);
    spry_matrix *A = generate(plain, "grid5,x=9,y=7", SPRY_F64, 0);
    const char *path = temporary_path("memory.spry");
    spry_write_options write = SPRY_INIT(spry_write_options);
    write.format = "ell";
    MUST(spry_matrix_write(A, path, &write, err));
    for (int n = 1, done = 0; !done; n++) {
        test_memory m = {0};
        spry_context *context = counted_context(&m, 1);
        fail_call(&m, n, 0);
        spry_matrix *B = NULL;
        spry_spmv_plan *plans[2] = {NULL, NULL};
        spry_spmv_options csr = SPRY_INIT(spry_spmv_options);
        int failures = 0;
        csr.format = "csr";
        if (spry_matrix_read(context, &B, path, NULL, NULL) != SPRY_OK) {
            failures++;
            B = read_matrix(context, path, NULL);
        }
        for (int p = 0; p < 2; p++) {
            spry_status status = spry_spmv_plan_create(context, &plans[p], B, p ? &csr : NULL, NULL);
            if (status == SPRY_OK) continue;
            assert_int_equal(SPRY_OUT_OF_MEMORY, status);
            failures++;
            MUST(spry_spmv_plan_create(context, &plans[p], B, p ? &csr : NULL, err));
        }
        (void)arrays_of(B);
        done = !call_failed(&m);
        assert_int_equal(!done, failures);
        spry_spmv_plan_destroy(plans[0]);
        spry_spmv_plan_destroy(plans[1]);
        spry_matrix_destroy(B);
        spry_context_destroy(context);
        assert_int_equal(0, m.bytes);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_in_place), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_conversions),    cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_patterns),       cmocka_unit_test(test_functions),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_read_options),   cmocka_unit_test(test_strange_parameters),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
