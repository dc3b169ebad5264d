// The same calls from C++: handles in unique_ptr, a failure as an exception.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <spry/spry.h>
#include <stdexcept>
#include <vector>

namespace {

struct destroy {
    void operator()(spry_context *context) const
    {
        spry_context_destroy(context);
    }
    void operator()(spry_matrix *A) const
    {
        spry_matrix_destroy(A);
    }
    void operator()(spry_spmv_plan *plan) const
    {
        spry_spmv_plan_destroy(plan);
    }
};
template <typename T> using handle = std::unique_ptr<T, destroy>;

// make(&pointer, &err) as a handle.
template <typename T, typename Make> handle<T> made(Make make)
{
    T *pointer = nullptr;
    spry_error err = SPRY_ERROR_INIT;
    if (make(&pointer, &err) != SPRY_OK) throw std::runtime_error(err.message);
    return handle<T>(pointer);
}

} // namespace

int main()
{
    const std::vector<std::int32_t> offsets{0, 2, 3, 5}, columns{0, 2, 1, 0, 2};
    const std::vector<double> x{1, 2, 3};
    std::vector<double> values{4, 1, 3, 1, 2}, y(3);
    try {
        const auto context = made<spry_context>(
            [](spry_context **made, spry_error *err) { return spry_context_create(made, nullptr, err); });
        const auto A = made<spry_matrix>([&](spry_matrix **made, spry_error *err) {
            return spry_matrix_borrow_csr_f64(context.get(), made, 3, 3, offsets.data(), columns.data(), values.data(),
                                              err);
        });
        auto options = SPRY_INIT(spry_spmv_options);
        options.expected_calls = 2;
        const auto plan = made<spry_spmv_plan>([&](spry_spmv_plan **made, spry_error *err) {
            return spry_spmv_plan_create(context.get(), made, A.get(), &options, err);
        });
        for (int step = 0; step < 2; step++) {
            spry_error err = SPRY_ERROR_INIT;
            if (spry_spmv_plan_update(plan.get(), nullptr, &err) != SPRY_OK ||
                spry_spmv_plan_run(plan.get(), spry_vector_f64(y.data(), 3), nullptr,
                                   spry_const_vector_f64(x.data(), 3), nullptr, nullptr, &err) != SPRY_OK)
                throw std::runtime_error(err.message);
            std::printf("%g %g %g\n", y[0], y[1], y[2]);
            values[0] = 400;
        }
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
