/*
 * Spry for C++17: handles that destroy themselves, spans, and exceptions. Header only; link with libspry.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     spry::context context;
 *     auto A = spry::matrix::borrow_csr(context, rows, columns, offsets, indices, values); // std::vectors
 *     spry::spmv_plan plan(context, A);
 *     plan.run(y, x); // y = A*x
 *
 * Each class owns one handle of the C interface, which get() returns. spry::call(function, arguments) makes calls that
 * this header does not wrap. Handles can be moved, not copied. Options and results are the structs of C. A failure
 * throws spry::error. The rules and contracts of the C headers hold: borrowed arrays must outlive the matrix and its
 * plans. Callbacks must not throw.
 */
#ifndef SPRY_SPRY_HPP
#define SPRY_SPRY_HPP

#include <spry/io.h>
#include <spry/matrix.h>
#include <spry/solve.h>
#include <spry/spgemm.h>
#include <spry/spry.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace spry {

/* A spry_error. what() is its message. */
class error : public std::runtime_error {
public:
    explicit error(const spry_error &e) : std::runtime_error(e.message), error_(std::make_shared<spry_error>(e)) {}
    error(const error &) = default; /* a move copies, so that a moved-from error keeps its fields */
    spry_status status() const noexcept { return error_->status; }
    const char *argument() const noexcept { return error_->argument; } /* or "" */
    std::int64_t value() const noexcept { return error_->value; }
    std::int64_t limit() const noexcept { return error_->limit; }
    const char *file() const noexcept { return error_->file; } /* or "" */
    std::int64_t line() const noexcept { return error_->line; }

private:
    std::shared_ptr<const spry_error> error_; /* copies of an exception must not throw */
};

/* Calls a function of the C interface, without its last argument, the error. Throws if the call fails. */
template <class Function, class... Arguments> void call(Function function, Arguments &&...arguments)
{
    spry_error err = SPRY_ERROR_INIT;
    if (function(std::forward<Arguments>(arguments)..., &err) != SPRY_OK) throw error(err);
}

namespace detail {

/* A handle of the C interface, which Destroy frees. */
template <auto Destroy> struct destroyer {
    template <class T> void operator()(T *handle) const noexcept { Destroy(handle); }
};
template <class T, auto Destroy> using handle = std::unique_ptr<T, destroyer<Destroy>>;

template <class T> constexpr spry_type type_of()
{
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "values are float or double");
    return std::is_same_v<T, float> ? SPRY_F32 : SPRY_F64;
}

template <class I> constexpr spry_index_type index_type_of()
{
    static_assert(std::is_integral_v<I> && std::is_signed_v<I> && (sizeof(I) == 4 || sizeof(I) == 8),
                  "indices have 32 or 64 bits and a sign");
    return sizeof(I) == 8 ? SPRY_I64 : SPRY_I32;
}

[[noreturn]] inline void refuse_size(const char *argument, std::int64_t size, std::int64_t expected)
{
    spry_error err = SPRY_ERROR_INIT;
    const std::string text = std::string(argument) + " has " + std::to_string(size) + " elements, expected " +
                             std::to_string(expected);
    err.status = SPRY_INVALID_SIZE;
    text.copy(err.message, sizeof err.message - 1);
    std::string(argument).copy(err.argument, sizeof err.argument - 1);
    err.value = size;
    err.limit = expected;
    throw error(err);
}

template <class C> std::int64_t size_of(const C &container) { return static_cast<std::int64_t>(container.size()); }

/*
 * Type of a container's elements, with const if they are const. No type if the container is a temporary that owns its
 * elements. Temporary views, such as std::span, are accepted.
 */
template <class C, class Element = std::remove_pointer_t<decltype(std::declval<C &>().data())>>
using lasting = std::enable_if_t<
    std::is_lvalue_reference_v<C> ||
        (std::is_trivially_copyable_v<C> && std::is_constructible_v<C, Element *, std::size_t>),
    Element>;

} // namespace detail

/* Borrowed elements, for vector and borrow_csr: a pointer and a size, or a container that is no temporary. */
template <class T> class span {
public:
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = std::enable_if_t<std::is_convertible_v<detail::lasting<C> (*)[], T (*)[]>>>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }

private:
    T *data_;
    std::size_t size_;
};

/*
 * Describes one vector in host memory: a pointer and a size, or a container that is no temporary. Const elements give
 * a spry_const_vector, see std::as_const.
 */
inline spry_vector vector(double *data, std::int64_t size) { return spry_vector_f64(data, size); }
inline spry_vector vector(float *data, std::int64_t size) { return spry_vector_f32(data, size); }
inline spry_const_vector vector(const double *data, std::int64_t size) { return spry_const_vector_f64(data, size); }
inline spry_const_vector vector(const float *data, std::int64_t size) { return spry_const_vector_f32(data, size); }
template <class C, class Element = detail::lasting<C>>
auto vector(C &&container) -> decltype(vector(static_cast<Element *>(nullptr), 0))
{
    return vector(container.data(), detail::size_of(container));
}

/* Argument that a call writes: a container of double or float, or a spry_vector (blocks, strides, memory of a GPU). */
struct output {
    spry_vector v;
    output(const spry_vector &described) : v(described) {}
    template <class C, class = std::enable_if_t<std::is_same_v<decltype(vector(std::declval<C>())), spry_vector>>>
    output(C &&container) : v(vector(container)) {}
};

/* Argument that a call only reads: as output, or const, or a temporary. */
struct input {
    spry_const_vector v;
    input(const spry_const_vector &described) : v(described) {}
    input(const spry_vector &described) : v(spry_vector_as_const(described)) {}
    template <class C, class = decltype(vector(std::declval<const C &>()))>
    input(const C &container) : input(vector(container)) {}
};

/* A struct of options or results, cleared, with its size set. */
template <class Struct> Struct init() { return SPRY_INIT(Struct); }

/* Result of a solver. An iteration that does not converge throws nothing, as in most solvers: check verdict. */
template <class Result> struct [[nodiscard]] outcome : Result {
    std::string message; /* why the iteration did not converge, or "" */
};

namespace detail {

template <class Result, class Function, class Handle, class... Arguments>
outcome<Result> solve(Function function, Handle *handle, const output &x, Arguments... arguments)
{
    outcome<Result> result{init<Result>(), {}};
    spry_error err = SPRY_ERROR_INIT;
    const spry_status status = function(handle, x.v, &result, arguments..., &err);
    if (status != SPRY_OK && result.verdict == SPRY_VERDICT_NONE) throw error(err);
    result.message = err.message;
    return result;
}

} // namespace detail

class context {
public:
    explicit context(const spry_context_options &options) { create(options); }
    explicit context(int threads = 0)
    {
        auto options = init<spry_context_options>();
        options.threads = threads;
        create(options);
    }
    spry_context *get() const noexcept { return handle_.get(); }
    spry_context_info info() const
    {
        auto info = init<spry_context_info>();
        call(spry_context_get_info, get(), &info);
        return info;
    }
    /* Finds a device by its name, "cuda". */
    int device(const char *name) const
    {
        int device = 0;
        call(spry_device_find, get(), &device, name);
        return device;
    }

private:
    void create(const spry_context_options &options)
    {
        spry_context *made = nullptr;
        call(spry_context_create, &made, &options);
        handle_.reset(made);
    }
    detail::handle<spry_context, spry_context_destroy> handle_;
};

class matrix {
public:
    /* Takes over a handle of the C interface. */
    explicit matrix(spry_matrix *handle) noexcept : handle_(handle) {}
    matrix(const context &c, const spry_arrays &arrays)
    {
        spry_matrix *made = nullptr;
        call(spry_matrix_create, c.get(), &made, &arrays);
        handle_.reset(made);
    }
    /* Borrows CSR arrays in containers. Use spry_arrays for other layouts, for device memory and for copies. */
    template <class Offsets, class Indices, class Values, class I = detail::lasting<Offsets>,
              class J = detail::lasting<Indices>, class T = detail::lasting<Values>>
    static matrix borrow_csr(const context &c, std::int64_t rows, std::int64_t columns, Offsets &&offsets,
                             Indices &&indices, Values &&values)
    {
        const std::int64_t size = detail::size_of(offsets), nnz = detail::size_of(indices);
        if (rows >= 0 && size - 1 != rows) detail::refuse_size("offsets", size, rows < INT64_MAX ? rows + 1 : rows);
        if (detail::size_of(values) != nnz) detail::refuse_size("values", detail::size_of(values), nnz);
        auto arrays = init<spry_arrays>();
        arrays.layout = SPRY_CSR;
        arrays.rows = rows;
        arrays.columns = columns;
        arrays.nnz = nnz;
        arrays.offset_type = detail::index_type_of<I>();
        arrays.index_type = detail::index_type_of<J>();
        arrays.value_type = detail::type_of<std::remove_const_t<T>>();
        arrays.offsets = offsets.data();
        arrays.indices = indices.data();
        arrays.values = values.data();
        return matrix(c, arrays);
    }
    /* Refuses temporary containers: the matrix would outlive them. */
    template <class... Arrays>
    static matrix borrow_csr(const context &, std::int64_t rows, std::int64_t columns, Arrays &&...) = delete;
    static matrix read(const context &c, const char *path, const spry_read_options &options = init<spry_read_options>())
    {
        spry_matrix *made = nullptr;
        call(spry_matrix_read, c.get(), &made, path, &options);
        return matrix(made);
    }
    static matrix generate(const context &c, const char *spec,
                           const spry_read_options &options = init<spry_read_options>())
    {
        spry_matrix *made = nullptr;
        call(spry_matrix_generate, c.get(), &made, spec, &options);
        return matrix(made);
    }
    void write(const char *path, const spry_write_options &options = init<spry_write_options>()) const
    {
        call(spry_matrix_write, get(), path, &options);
    }
    spry_matrix *get() const noexcept { return handle_.get(); }
    std::int64_t rows() const noexcept { return spry_matrix_rows(get()); }
    std::int64_t columns() const noexcept { return spry_matrix_columns(get()); }
    std::int64_t nnz() const noexcept { return spry_matrix_nnz(get()); }
    spry_arrays arrays() const
    {
        auto arrays = init<spry_arrays>();
        call(spry_matrix_get_arrays, get(), &arrays);
        return arrays;
    }
    void check(spry_check how = SPRY_CHECK_STRUCTURE)
    {
        call(spry_matrix_check, get(), static_cast<spry_matrix_report *>(nullptr), how);
    }
    /* Updates all plans after values were changed in place. */
    void values_changed(const spry_update_options &options = init<spry_update_options>())
    {
        call(spry_matrix_values_changed, get(), &options);
    }

private:
    detail::handle<spry_matrix, spry_matrix_destroy> handle_;
};

class spmv_plan {
public:
    spmv_plan(const context &c, const matrix &A, const spry_spmv_options &options = init<spry_spmv_options>())
    {
        spry_spmv_plan *made = nullptr;
        call(spry_spmv_plan_create, c.get(), &made, A.get(), &options);
        handle_.reset(made);
    }
    spry_spmv_plan *get() const noexcept { return handle_.get(); }
    /* y = alpha*op(A)*x + beta*y. */
    void run(output y, input x, double alpha = 1, double beta = 0) const
    {
        if (y.v.type != SPRY_F32) return run(y, &alpha, x, &beta);
        const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
        run(y, &alpha32, x, &beta32);
    }
    /* alpha and beta point to the type of y and x, or are NULL: 1 and 0. */
    void run(output y, const void *alpha, input x, const void *beta,
             const spry_spmv_run_options &options = init<spry_spmv_run_options>()) const
    {
        call(spry_spmv_plan_run, get(), y.v, alpha, x.v, beta, &options);
    }
    void update(const spry_update_options &options = init<spry_update_options>())
    {
        call(spry_spmv_plan_update, get(), &options);
    }
    /* Strings in the result live as long as the plan. */
    spry_spmv_plan_info info() const
    {
        auto info = init<spry_spmv_plan_info>();
        call(spry_spmv_plan_get_info, get(), &info);
        return info;
    }

private:
    detail::handle<spry_spmv_plan, spry_spmv_plan_destroy> handle_;
};

/* C = alpha*op(A)*op(B). */
inline matrix spgemm(const context &c, const matrix &A, const matrix &B,
                     const spry_spgemm_options &options = init<spry_spgemm_options>())
{
    spry_matrix *made = nullptr;
    call(spry_spgemm, c.get(), &made, static_cast<spry_spgemm_info *>(nullptr), A.get(), B.get(), &options);
    return matrix(made);
}

/* A product that is repeated with new values. */
class spgemm_plan {
public:
    explicit spgemm_plan(spry_spgemm_plan *handle) noexcept : handle_(handle) {} /* takes over a handle */
    spgemm_plan(const context &c, const matrix &A, const matrix &B,
                const spry_spgemm_options &options = init<spry_spgemm_options>())
    {
        spry_spgemm_plan *made = nullptr;
        call(spry_spgemm_plan_create, c.get(), &made, A.get(), B.get(), &options);
        handle_.reset(made);
    }
    spry_spgemm_plan *get() const noexcept { return handle_.get(); }
    void run() { call(spry_spgemm_plan_run, get(), static_cast<void *>(nullptr), nullptr); }
    /* C after the first run. Later runs change its values. */
    matrix result() const
    {
        spry_matrix *C = nullptr;
        call(spry_spgemm_plan_get_result, get(), &C);
        return matrix(C);
    }

private:
    detail::handle<spry_spgemm_plan, spry_spgemm_plan_destroy> handle_;
};

/* A of a system A*x = b: a matrix, or a struct with the function that multiplies by A. */
struct system_matrix {
    const spry_matrix *A = nullptr;
    const spry_operator *products = nullptr;
    system_matrix(const matrix &described) : A(described.get()) {}
    system_matrix(const spry_operator &described) : products(&described) {}
};

/* Solves A*x = b. */
inline outcome<spry_cg_result> cg(const context &c, output x, system_matrix A, input b,
                                  spry_cg_options options = init<spry_cg_options>())
{
    if (A.products) options.products = A.products;
    return detail::solve<spry_cg_result>(spry_cg, c.get(), x, A.A, b.v, &options);
}

/* A system that is solved for several b. The constructor and update throw SPRY_NOT_CONVERGED if they refuse A. */
class cg_plan {
public:
    cg_plan(const context &c, system_matrix A, spry_cg_options options = init<spry_cg_options>())
    {
        spry_cg_plan *made = nullptr;
        if (A.products) options.products = A.products;
        call(spry_cg_plan_create, c.get(), &made, static_cast<spry_cg_result *>(nullptr), A.A, &options);
        handle_.reset(made);
    }
    spry_cg_plan *get() const noexcept { return handle_.get(); }
    outcome<spry_cg_result> run(output x, input b, const spry_cg_run_options &options = init<spry_cg_run_options>())
    {
        return detail::solve<spry_cg_result>(spry_cg_plan_run, get(), x, b.v, &options);
    }
    void update() { call(spry_cg_plan_update, get(), static_cast<spry_cg_result *>(nullptr)); }

private:
    detail::handle<spry_cg_plan, spry_cg_plan_destroy> handle_;
};

inline outcome<spry_pagerank_result> pagerank(const context &c, output x, const matrix &A,
                                              const spry_pagerank_options &options = init<spry_pagerank_options>())
{
    return detail::solve<spry_pagerank_result>(spry_pagerank, c.get(), x, A.get(), &options);
}

} // namespace spry

#endif
