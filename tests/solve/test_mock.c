/* Host side of the solvers on a device, tested with the mock device. The host cannot access the mock's memory. */
#include "device/vector_ops.h"
#include "device_tests.h"
#include "mock/mock.h"
#include "solve/solve.h"
#include "spry/matrix.h"
#include "spry/solve.h"

static spry_vector ones(spry_context *context, int64_t n)
{
    spry_vector v = create_vector(context, n, SPRY_F64, 0);
    for (int64_t i = 0; i < n; i++) ((double *)v.data)[i] = 1;
    return v;
}

/* Scalars are copied to the host only once in many iterations. Few products are computed after the last iteration. */
static void few_copies_back(void **state)
{
    spry_context *context = context_of(1);
    mock_state before = mock;
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_pagerank_options po = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result pr = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    o.device = po.device = 1;
    o.format = po.format = "csr";
    spry_matrix *A = generate_matrix(context, "laplace5,x=120,y=120,ay=0.2");
    spry_vector b = ones(context, 14400), x = ones(context, 14400);
    expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
    int64_t copies = mock.copies_back - before.copies_back, products = mock.products - before.products;
    assert_true(r.iterations > 250);
    assert_true(copies < r.iterations / 4);
    /* at most 31 products whose results are unused, one for the true residual, and 10 to measure a product's time */
    assert_true(products >= r.iterations && products <= r.iterations + 31 + 1 + 10);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    before = mock;
    A = graph_of(context, "laplace5,x=32,y=32", SPRY_F64);
    x = ones(context, 1024);
    po.alpha = 0.99;
    po.max_iterations = 5000;
    po.tolerance = 1e-15;
    expect_status(spry_pagerank(context, x, &pr, A, &po, &err), &err, SPRY_OK, "");
    copies = mock.copies_back - before.copies_back;
    products = mock.products - before.products;
    assert_true(pr.iterations > 100 && copies < pr.iterations / 2);
    assert_true(products >= pr.iterations && products <= pr.iterations + 31 + 10);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * All passes, products and copies of a solver run in the caller's stream, except the copies that build a plan. The
 * solver waits for these copies.
 */
static void in_one_stream(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *G = graph_of(context, "rmat,scale=6", SPRY_F64);
    int mark;
    spry_matrix *A = generate_matrix(context, "laplace5,x=20,y=20");
    spry_vector b = ones(context, 400), x = ones(context, 400), ranks = ones(context, 64);
    for (int method = 0; method < 4; method++) { /* 0 to 2: CG, 1 with jacobi, 2 with scaling; 3: PageRank */
        spry_error err = {0};
        spry_spmv_options po = SPRY_INIT(spry_spmv_options);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_pagerank_options ro = SPRY_INIT(spry_pagerank_options);
        o.device = ro.device = po.device = po.vector_device = 1;
        o.format = ro.format = po.format = "csr";
        o.precond = method == 1 ? SPRY_PRECOND_JACOBI : SPRY_PRECOND_NONE;
        o.start = method == 1 ? SPRY_START_X : SPRY_START_DEFAULT;
        ro.edges = SPRY_COLUMN_TO_ROW;
        ro.dangling = SPRY_DANGLING_TELEPORT;
        o.stream = ro.stream = po.stream = &mark;
        mock.stream = &mark;
        mock.stray_copies = mock.stray_work = 0;
        const int64_t waits = mock.stream_waits, passes = mock.products;
        spry_spmv_plan *plan = create_plan(context, method == 3 ? G : A, &po);
        const int64_t of_planning = mock.stray_copies;
        spry_spmv_plan_destroy(plan);
        assert_true(of_planning > 0 && mock.stream_waits > waits);
        mock.stray_copies = 0;
        for (int64_t i = 0; i < 400; i++) ((double *)b.data)[i] = method == 2 ? 0x1p-700 : 1;
        if (method < 3)
            expect_status(spry_cg(context, x, NULL, A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
        else
            expect_status(spry_pagerank(context, ranks, NULL, G, &ro, &err), &err, SPRY_OK, "");
        assert_true(mock.products > passes + 10);
        assert_int_equal(mock.stray_work, 0);
        assert_int_equal(mock.stray_copies, method == 3 ? 0 : of_planning); /* the links are already on the device */
        assert_int_equal(mock_waits(), 0);                                  /* all work has ended */
        mock.stream = NULL;
    }
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &ranks);
    spry_matrix_destroy(A);
    spry_matrix_destroy(G);
    spry_context_destroy(context);
}

/*
 * Iterations that the device records and repeats (mock.records) give the same bits as iterations that are not recorded.
 * Few products are computed after the last iteration.
 */
static void rounds_foretold(void **state)
{
    static const struct {
        const char *spec;
        int64_t n;
        double alpha;
    } graphs[] = {{"rmat,scale=10", 1024, 0.85}, {"rmat,scale=14", 16384, 0.85}, {"laplace5,x=32,y=32", 1024, 0.95}};
    enum { TIMED = 10 /* products at the end, which measure a product's time */ };
    spry_context *context = context_of(1);
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        spry_matrix *A = graph_of(context, graphs[g].spec, SPRY_F64);
        const int64_t n = graphs[g].n;
        spry_vector x = ones(context, n), usual = ones(context, n);
        for (int digits = 3; digits <= 10; digits += SAMPLED ? 3 : TEST_FULL ? 1 : 2) {
            spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
            spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
            spry_error err = {0};
            o.device = 1;
            o.format = "csr";
            o.alpha = graphs[g].alpha;
            o.max_iterations = 1000;
            o.tolerance = pow(10, -digits);
            expect_status(spry_pagerank(context, usual, NULL, A, &o, &err), &err, SPRY_OK, "");
            mock.records = 1;
            const int64_t products = mock.products;
            expect_status(spry_pagerank(context, x, &r, A, &o, &err), &err, SPRY_OK, "");
            mock.records = 0;
            assert_memory_equal(x.data, usual.data, (size_t)n * sizeof(double));
            const int64_t in_vain = mock.products - products - TIMED - r.iterations;
            assert_in_range(in_vain, 0, SPRYI_MANY_ROUNDS + SPRYI_FEW_ROUNDS);
        }
        spry_vector_destroy(context, &x);
        spry_vector_destroy(context, &usual);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* Entries and sums are inspected on the device. No entries are copied back. */
static void links_built_on_device(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = graph_of(context, "rmat,scale=9", SPRY_F64), *C = NULL;
    spry_matrix_options to = SPRY_INIT(spry_matrix_options);
    spry_vector x = ones(context, 512);
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
        for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++) {
            spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
            spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
            spry_error err = {0};
            to.layout = (spry_layout)layout;
            C = convert_matrix(context, A, &to);
            o.device = 1;
            o.format = "csr";
            o.edges = (spry_edges)edges;
            const int64_t copies = mock.inspections, blocks = mock.blocks;
            expect_status(spry_pagerank(context, x, &r, C, &o, &err), &err, SPRY_OK, "");
            assert_int_equal(mock.inspections - copies, layout == SPRY_COO ? 0 : 4);
            assert_true(r.setup_us >= r.upload_us && r.upload_us > 0);
            assert_int_equal(mock.blocks, blocks);
            spry_matrix_destroy(C);
        }
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Patterns are converted on the device, for formats that store patterns and for formats that need values of 1. */
static void patterns_converted_on_device(void **state)
{
    static const char *const formats[] = {"swept", "packed", "sell", "hyb", "coo"};
    spry_context *context = context_of(1);
    spry_matrix *A = graph_of(context, "rmat,scale=9", SPRY_PATTERN);
    spry_vector usual = {0}, x = {0};
    mock.converts = 1;
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
            spry_error err = {0};
            usual = create_vector(context, 512, (spry_type)type, 0);
            x = create_vector(context, 512, (spry_type)type, 0);
            o.tolerance = 1e-5;
            expect_status(spry_pagerank(context, usual, NULL, A, &o, &err), &err, SPRY_OK, "");
            o.device = 1;
            o.format = formats[f];
            const int64_t conversions = mock.conversions, blocks = mock.blocks;
            expect_status(spry_pagerank(context, x, NULL, A, &o, &err), &err, SPRY_OK, "");
            assert_int_equal(mock.conversions - conversions, 1);
            assert_int_equal(mock.blocks, blocks);
            for (int i = 0; i < 512; i++) assert_at_most(fabs(entry(&x, i) - entry(&usual, i)), 1e-6);
            spry_vector_destroy(context, &usual);
            spry_vector_destroy(context, &x);
        }
    mock.converts = 0;
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Host and device memory is released if a device allocation fails. */
static void every_device_allocation_refused(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "laplace5,x=6,y=5");
    spry_vector b = ones(context, 30), x = ones(context, 30);
    int64_t held = context_bytes(context);
    for (int method = 0; method < 5; method++) /* four variants of CG, and PageRank */
        for (int64_t n = 1;; n++) {
            spry_error err = {0};
            spry_cg_options o = SPRY_INIT(spry_cg_options);
            spry_pagerank_options po = SPRY_INIT(spry_pagerank_options);
            spry_matrix *G = NULL;
            spry_status status;
            int64_t blocks = mock.blocks, before = mock.allocations;
            mock.fail_at = before + n;
            if (method < 4) {
                o.device = 1;
                o.format = "csr";
                o.precond = (spry_precond)(method % 3 + 1);
                o.precision = method == 3 ? SPRY_PRECISION_F32 : SPRY_PRECISION_FULL;
                status = spry_cg(context, x, NULL, A, spry_vector_as_const(b), &o, &err);
            } else {
                po.device = 1;
                po.format = "csr";
                po.edges = SPRY_COLUMN_TO_ROW;
                po.dangling = SPRY_DANGLING_DROP;
                G = graph_of(context, "rmat,scale=4", SPRY_F64);
                spry_vector y = ones(context, 16), v = ones(context, 16);
                po.start = SPRY_START_X;
                po.personalization = spry_vector_as_const(v);
                status = spry_pagerank(context, y, NULL, G, &po, &err);
                spry_vector_destroy(context, &y);
                spry_vector_destroy(context, &v);
                spry_matrix_destroy(G);
            }
            int refused = mock.allocations - before >= n;
            mock.fail_at = 0;
            /* if device memory for the links runs out, the host inspects the links and the call can succeed */
            if (method == 0 || !refused || status != SPRY_OK)
                expect_status(status, &err, refused ? SPRY_OUT_OF_MEMORY : SPRY_OK, "out of device memory");
            assert_int_equal(mock.blocks, blocks);
            if (context_bytes(context) != held) fail_msg("method %d, allocation %d", method, (int)n);
            if (!refused) break;
            assert_true(n < 60);
        }
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Without the device, the call reports the reason and keeps x. */
static void no_device(void **state)
{
    mock.absent = 1;
    spry_context *context = context_of(1);
    const int32_t offsets[] = {0, 1, 2}, columns[] = {0, 1};
    const double values[] = {1, 1};
    double x[] = {5, 5}, b[] = {1, 1};
    spry_error err = {0};
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_pagerank_options po = SPRY_INIT(spry_pagerank_options);
    spry_matrix *A = borrow_csr(context, 2, 2, offsets, columns, values);
    o.device = po.device = 1;
    spry_vector v = spry_vector_f64(x, 2), w = spry_vector_f64(b, 2);
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_DEVICE_UNAVAILABLE,
                  "is absent");
    expect_status(spry_pagerank(context, v, NULL, A, &po, &err), &err, SPRY_DEVICE_UNAVAILABLE, "is absent");
    assert_true(x[0] == 5 && x[1] == 5);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    mock.absent = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_as_on_the_cpu),
        cmocka_unit_test(cg_verdicts),
        cmocka_unit_test(cg_stops_where_it_says),
        cmocka_unit_test(cg_guesses_and_observers),
        cmocka_unit_test(cg_of_extreme_magnitude),
        cmocka_unit_test(cg_plans_run_again),
        cmocka_unit_test(cg_columns_side_by_side),
        cmocka_unit_test(cg_with_f32_inside),
        cmocka_unit_test(cg_with_callbacks),
        cmocka_unit_test(pagerank_as_on_the_cpu),
        cmocka_unit_test(pagerank_dangling_nodes),
        cmocka_unit_test(pagerank_personalization),
        cmocka_unit_test(pagerank_bad_weights),
        cmocka_unit_test(pagerank_links),
        cmocka_unit_test(pagerank_bad_links),
        cmocka_unit_test(pagerank_stops_where_it_says),
        cmocka_unit_test(data_in_device_memory),
        cmocka_unit_test(the_same_bits_again),
        cmocka_unit_test(strided_vectors),
        cmocka_unit_test(bad_places),
        cmocka_unit_test(few_copies_back),
        cmocka_unit_test(in_one_stream),
        cmocka_unit_test(rounds_foretold),
        cmocka_unit_test(links_built_on_device),
        cmocka_unit_test(patterns_converted_on_device),
        cmocka_unit_test(every_device_allocation_refused),
        cmocka_unit_test(no_device),
    };
    tested_device = "mock";
    tested_kernel = "csr_plain_mock";
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
