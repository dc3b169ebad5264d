// spry.hpp: results, lifetimes and exceptions of each class.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <spry/spry.hpp>
#include <type_traits>
#include <utility>
#include <vector>

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
    EXPECT(spry::cg(context, x, A, b).verdict == SPRY_VERDICT_CONVERGED);
    spry::cg_plan plan(context, A);
    EXPECT(plan.run(y, b).iterations > 0 && std::fabs(x[7] - y[7]) < 1e-6);
    auto few = spry::init<spry_cg_options>();
    few.max_iterations = 1;
    EXPECT(error_of([&] { (void)spry::cg(context, x, A, b, few); }).status == SPRY_NOT_CONVERGED);
    const auto graph = spry::matrix::generate(context, "rmat,scale=6");
    std::vector<double> ranks(64);
    EXPECT(std::fabs(spry::pagerank(context, ranks, graph).mass - 1) < 1e-9);
}

void refusals(const spry::context &context)
{
    const std::vector<double> x{1, 2}, few{1};
    std::vector<double> y(3);
    const auto A = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, values);
    const spry::spmv_plan plan(context, A);
    spry_error err = error_of([&] { plan.run(y, x); });
    EXPECT(err.status == SPRY_INVALID_SIZE && std::strcmp(err.argument, "x") == 0 && err.value == 2 && err.limit == 3);
    err = error_of([&] { (void)spry::matrix::borrow_csr(context, 4, 3, offsets, columns, values); });
    EXPECT(err.status == SPRY_INVALID_SIZE && std::strcmp(err.argument, "offsets") == 0 && err.limit == 5);
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

int main()
{
    const spry::context context(2);
    EXPECT(context.info().threads == 2);
    products(context);
    sparse_products(context);
    solvers(context);
    refusals(context);
    EXPECT(context.info().bytes == 0);
    return failures > 0;
}
