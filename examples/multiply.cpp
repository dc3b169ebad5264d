// Products from C++17 with spry.hpp: handles are destroyed automatically, and failures are exceptions.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <spry/spry.hpp>
#include <vector>

int main()
{
    const std::vector<std::int32_t> offsets{0, 2, 3, 5}, columns{0, 2, 1, 0, 2};
    const std::vector<double> x{1, 2, 3};
    std::vector<double> values{4, 1, 3, 1, 2}, y(3);
    try {
        const spry::context context;
        const auto A = spry::matrix::borrow_csr(context, 3, 3, offsets, columns, values);
        auto options = spry::init<spry_spmv_options>();
        options.expected_calls = 2;
        spry::spmv_plan plan(context, A, options);
        for (int step = 0; step < 2; step++) {
            plan.update();
            plan.run(y, x);
            std::printf("%g %g %g\n", y[0], y[1], y[2]);
            values[0] = 400;
        }
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
