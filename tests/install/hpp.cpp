// spry.hpp: results, lifetimes and exceptions of each class.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <spry/spry.hpp>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

int failures = 0;

void expect(bool good, const char *what, int line)
{
    if (good) return;
    std::printf("line %d: %s\n", line, what);
    failures++;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

// Returns the error that work throws. Without an exception the status is SPRY_OK.
template <class Work> spry_error error_of(Work work)
{
    spry_error err = SPRY_ERROR_INIT;
    try {
        work();
    } catch (const spry::error &thrown) {
        const spry::error copied = thrown;
        err.status = copied.status();
        err.value = copied.value();
        err.limit = copied.limit();
        std::strncpy(err.argument, copied.argument(), sizeof err.argument - 1);
        std::strncpy(err.message, copied.what(), sizeof err.message - 1);
        EXPECT(copied.file() != nullptr && copied.line() >= 0);
    }
    return err;
}

const std::vector<std::int32_t> offsets{0, 2, 3, 5}, columns{0, 2, 1, 0, 2};
const std::vector<double> values{4, 1, 3, 1, 2};

void products(const spry::context &context)
{
    const std::vector<double> x{1, 2, 3};
    std::vector<double> y(3), changing = values;
    auto A = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, changing);
    EXPECT(A.rows() == 3 && A.columns() == 3 && A.nnz() == 5);
    A.check();
    spry::spmv_plan plan(context, A);
    plan.run(y, x);
    EXPECT(y[0] == 7 && y[1] == 6 && y[2] == 7);
    plan.run(y, x, 2, -1);
    EXPECT(y[0] == 7 && y[1] == 6 && y[2] == 7);
    changing[0] = 400;
    A.values_changed();
    plan.run(y, x);
    EXPECT(y[0] == 403);
    EXPECT(std::strcmp(plan.info().device_name, "cpu") == 0);

    // A moved plan works without the handle of its matrix.
    const spry::matrix gone = std::move(A);
    EXPECT(A.get() == nullptr && gone.rows() == 3);
    spry::spmv_plan moved = std::move(plan);
    moved.run(y, x);
    EXPECT(plan.get() == nullptr && y[0] == 403);

    const std::array<std::int64_t, 2> wide_offsets{0, 1};
    const std::array<std::int32_t, 1> wide_columns{0};
    const std::array<float, 1> narrow{2}, in{3};
    std::array<float, 1> out{};
    const auto B = spry::matrix::borrow_csr(context, 1, 1, wide_offsets, wide_columns, narrow);
    spry::spmv_plan(context, B).run(out, in);
    EXPECT(out[0] == 6);
    spry::spmv_plan(context, B).run(out, in, 0.5F, 2);
    EXPECT(out[0] == 15);
}

// Operands: temporaries, pointers, options, and blocks of vectors.
void operands(const spry::context &context)
{
    using spry::span;
    const std::array<double, 5> unequal{4, 1, 3, 5, 2};
    const auto A = spry::matrix::borrow_csr(context, 3, 3, span(offsets.data(), 4), span(columns.data(), 5),
                                            span(unequal.data(), 5));
    auto both = spry::init<spry_spmv_options>();
    both.both_directions = true;
    const spry::spmv_plan plan(context, A, both);
    std::vector<double> x{1, 2, 3}, y(3);
    plan.run(y, std::vector<double>{1, 2, 3});
    EXPECT(y[0] == 7 && y[1] == 6 && y[2] == 11);
    plan.run(spry::vector(y.data(), 3), spry::vector(x), 2);
    EXPECT(y[0] == 14 && y[1] == 12 && y[2] == 22);
    plan.run(span(y.data(), 3), span(std::as_const(x).data(), 3));
    EXPECT(y[0] == 7 && y[1] == 6 && y[2] == 11);

    auto transposed = spry::init<spry_spmv_run_options>();
    transposed.transpose = true;
    plan.run(y, nullptr, x, nullptr, transposed);
    EXPECT(y[0] == 19 && y[1] == 6 && y[2] == 7);
    const double two = 2;
    plan.run(y, &two, std::vector<double>{0, 0, 1}, nullptr);
    EXPECT(y[0] == 2 && y[1] == 0 && y[2] == 4);

    std::vector<double> in{1, 2, 3, 2, 4, 6}, out(6);
    spry_vector block = spry::vector(out.data(), 3), read = spry::vector(in.data(), 3);
    block.count = read.count = 2;
    plan.run(block, read);
    EXPECT(out[0] == 7 && out[1] == 6 && out[2] == 11 && out[3] == 14 && out[4] == 12 && out[5] == 22);
}

void sparse_products(const spry::context &context)
{
    const auto A = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, values);
    const auto C = spry::spgemm(context, A, A);
    EXPECT(C.nnz() == 5 && static_cast<const double *>(C.arrays().values)[0] == 17);
    spry::spgemm_plan plan(context, A, A);
    plan.run();
    EXPECT(static_cast<const double *>(plan.result().arrays().values)[0] == 17);
}

void solvers(const spry::context &context)
{
    const auto A = spry::matrix::generate(context, "laplace5,x=20,y=20");
    std::vector<double> x(400), b(400, 1), y(400);
    const auto result = spry::cg(context, x, A, b);
    EXPECT(result.verdict == SPRY_VERDICT_CONVERGED && result.message.empty());
    spry::cg_plan plan(context, A);
    EXPECT(plan.run(y, std::vector<double>(400, 1)).iterations > 0 && std::fabs(x[7] - y[7]) < 1e-6);
    const auto graph = spry::matrix::generate(context, "rmat,scale=6");
    std::vector<double> ranks(64);
    EXPECT(std::fabs(spry::pagerank(context, ranks, graph).mass - 1) < 1e-9);

    // A block of two b.
    std::vector<double> xs(800), bs(800, 1);
    spry_vector multiple_x = spry::vector(xs.data(), 400), multiple_b = spry::vector(bs.data(), 400);
    multiple_x.count = multiple_b.count = 2;
    EXPECT(spry::cg(context, multiple_x, A, multiple_b).converged == 2 && std::fabs(xs[407] - x[7]) < 1e-6);
}

// An iteration that does not converge is a result. Other failures are exceptions.
void unconverged(const spry::context &context)
{
    const auto A = spry::matrix::generate(context, "laplace5,x=20,y=20");
    std::vector<double> x(400), b(400, 1);
    auto few = spry::init<spry_cg_options>();
    few.max_iterations = 3;
    auto result = spry::cg(context, x, A, b, few);
    EXPECT(result.verdict == SPRY_VERDICT_ITERATION_LIMIT && result.iterations == 3 && result.residual > 0);
    EXPECT(!result.message.empty());
    spry::cg_plan plan(context, A);
    auto fewer = spry::init<spry_cg_run_options>();
    fewer.max_iterations = 2;
    result = plan.run(x, b, fewer);
    EXPECT(result.verdict == SPRY_VERDICT_ITERATION_LIMIT && result.iterations == 2);
    const auto graph = spry::matrix::generate(context, "rmat,scale=6");
    std::vector<double> ranks(64);
    auto once = spry::init<spry_pagerank_options>();
    once.max_iterations = 1;
    const auto ranked = spry::pagerank(context, ranks, graph, once);
    EXPECT(ranked.verdict == SPRY_VERDICT_ITERATION_LIMIT && ranked.iterations == 1 && !ranked.message.empty());

    const std::vector<double> unequal{4, 1, 3, 7, 2};
    const auto B = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, unequal);
    std::vector<double> y(3);
    result = spry::cg(context, y, B, std::vector<double>(3, 1));
    EXPECT(result.verdict == SPRY_VERDICT_NOT_SYMMETRIC && !result.message.empty());
    EXPECT(error_of([&] { spry::cg_plan(context, B); }).status == SPRY_NOT_CONVERGED);
    EXPECT(error_of([&] { (void)spry::cg(context, y, A, b); }).status == SPRY_INVALID_SIZE);
}

// Computes y = 2*x in f32. user counts the calls; a negative count is a failure.
spry_status twice(void *user, spry_vector y, spry_const_vector x, void *, spry_error *)
{
    int &calls = *static_cast<int *>(user);
    if (calls < 0) return SPRY_OUT_OF_MEMORY;
    for (std::int64_t i = 0; i < x.length; i++)
        static_cast<float *>(y.data)[i] = 2 * static_cast<const float *>(x.data)[i];
    calls++;
    return SPRY_OK;
}

// A system in f32, given by its product callback.
void operators(const spry::context &context)
{
    int calls = 0;
    auto A = spry::init<spry_operator>();
    A.n = 4;
    A.type = SPRY_F32;
    A.apply = twice;
    A.user = &calls;
    std::vector<float> x(4), b{2, 4, 6, 8};
    EXPECT(spry::cg(context, x, A, b).verdict == SPRY_VERDICT_CONVERGED && calls > 0);
    EXPECT(std::fabs(x[3] - 4) < 1e-3F);
    spry::cg_plan plan(context, A);
    EXPECT(plan.run(x, std::vector<float>{4, 4, 4, 4}).verdict == SPRY_VERDICT_CONVERGED);
    EXPECT(std::fabs(x[3] - 2) < 1e-3F);
    calls = -1;
    EXPECT(error_of([&] { (void)plan.run(x, b); }).status == SPRY_OUT_OF_MEMORY);
}

void refusals(const spry::context &context)
{
    const std::vector<double> x{1, 2}, few{1};
    std::vector<double> y(3);
    const auto A = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, values);
    const spry::spmv_plan plan(context, A);
    spry_error err = error_of([&] { plan.run(y, x); });
    EXPECT(err.status == SPRY_INVALID_SIZE && std::strcmp(err.argument, "x") == 0 && err.value == 2 && err.limit == 3);
    err = error_of([&] { plan.run(y, std::vector<float>(3)); });
    EXPECT(err.status == SPRY_INVALID_ARGUMENT && std::strcmp(err.argument, "x") == 0);
    err = error_of([&] { (void)spry::matrix::borrow_csr(context, 4, 3, offsets, columns, values); });
    EXPECT(err.status == SPRY_INVALID_SIZE && std::strcmp(err.argument, "offsets") == 0 && err.limit == 5);
    err = error_of([&] { (void)spry::matrix::borrow_csr(context, INT64_MAX, 3, offsets, columns, values); });
    EXPECT(err.status == SPRY_INVALID_SIZE && err.limit == INT64_MAX);
    spry::error given(err);
    const spry::error taken = std::move(given);
    EXPECT(given.status() == SPRY_INVALID_SIZE && taken.status() == SPRY_INVALID_SIZE); // NOLINT: a move copies
    err = error_of([&] { (void)spry::matrix::borrow_csr(context, 3, 3, offsets, columns, few); });
    EXPECT(err.status == SPRY_INVALID_SIZE && std::strcmp(err.argument, "values") == 0);
    auto options = spry::init<spry_spmv_options>();
    options.format = "CSR";
    err = error_of([&] { spry::spmv_plan(context, A, options); });
    EXPECT(err.status == SPRY_UNKNOWN_NAME && std::strstr(err.message, "sell"));
    err = error_of([&] { (void)spry::matrix::read(context, "/no/such/file.mtx"); });
    EXPECT(err.status == SPRY_FILE_ERROR);
    err = error_of([&] { spry::context(-1); });
    EXPECT(err.status == SPRY_INVALID_ARGUMENT);
}

} // namespace

static_assert(!std::is_copy_constructible_v<spry::matrix> && std::is_nothrow_move_constructible_v<spry::matrix>);
static_assert(std::is_nothrow_copy_constructible_v<spry::error>);

// Arguments that calls write (output) or read (input). T stands for a temporary, T & for an object with a name.
using vector = std::vector<double>;
template <class T> constexpr bool is_output = std::is_convertible_v<T, spry::output>;
template <class T> constexpr bool is_input = std::is_convertible_v<T, spry::input>;
static_assert(is_output<vector &> && is_output<std::array<float, 2> &> && is_output<spry_vector>);
static_assert(is_output<spry::span<double>> && is_output<const spry::span<double>>);
static_assert(!is_output<vector> && !is_output<const vector &> && !is_output<std::array<float, 2>>);
static_assert(!is_output<spry_const_vector> && !is_output<spry::span<const double>> && !is_output<double *>);
static_assert(is_input<vector &> && is_input<const vector &> && is_input<vector> && is_input<std::array<float, 2>>);
static_assert(is_input<spry_vector> && is_input<spry_const_vector> && is_input<spry::span<const double>>);
static_assert(!is_input<std::vector<int>> && !is_output<std::vector<int> &> && !is_input<std::nullptr_t>);

// spry::vector accepts views and objects with a name. It refuses temporaries, which end with the expression.
template <class T, class = void> struct described {
    using type = void;
};
template <class T> struct described<T, std::void_t<decltype(spry::vector(std::declval<T>()))>> {
    using type = decltype(spry::vector(std::declval<T>()));
};
template <class T, class Expected> constexpr bool gives = std::is_same_v<typename described<T>::type, Expected>;
static_assert(gives<vector &, spry_vector> && gives<const vector &, spry_const_vector>);
static_assert(gives<std::vector<float> &, spry_vector> && gives<spry::span<const float>, spry_const_vector>);
static_assert(gives<vector, void> && gives<const vector, void> && gives<std::array<double, 2>, void>);
static_assert(gives<std::vector<int> &, void> && gives<int, void>);

using reading = spry::span<const double>;
static_assert(std::is_constructible_v<reading, vector &> && std::is_constructible_v<reading, spry::span<double>>);
static_assert(!std::is_constructible_v<reading, vector> && !std::is_constructible_v<reading, std::vector<int> &>);
static_assert(!std::is_constructible_v<spry::span<double>, const vector &>);

// borrow_csr refuses each array that is a temporary.
template <class Offsets, class Indices, class Values, class = void> constexpr bool borrows = false;
template <class Offsets, class Indices, class Values> constexpr bool borrows<
    Offsets, Indices, Values,
    std::void_t<decltype(spry::matrix::borrow_csr(std::declval<spry::context &>(), 0, 0, std::declval<Offsets>(),
                                                  std::declval<Indices>(), std::declval<Values>()))>> = true;
using integers = std::vector<std::int32_t>;
static_assert(borrows<integers &, const integers &, vector &> && borrows<integers &, integers &, const vector &>);
static_assert(borrows<spry::span<const std::int64_t>, integers &, spry::span<float>>);
static_assert(!borrows<integers, integers &, vector &> && !borrows<integers &, integers, vector &>);
static_assert(!borrows<integers &, integers &, vector> && !borrows<integers &, integers &, const vector>);
static_assert(!borrows<integers &, integers &, std::array<double, 5>>);

#if __cplusplus >= 202002L
static_assert(is_output<std::span<double>> && is_input<std::span<double>> && !is_output<std::span<const double>>);
static_assert(gives<std::span<double, 3>, spry_vector> && gives<std::span<const double>, spry_const_vector>);
static_assert(borrows<integers &, std::span<const std::int32_t>, std::span<double>>);
#endif

int main()
{
    const spry::context context(2);
    EXPECT(context.info().threads == 2);
    products(context);
    operands(context);
    sparse_products(context);
    solvers(context);
    unconverged(context);
    operators(context);
    refusals(context);
    EXPECT(context.info().bytes == 0);
    return failures > 0;
}
