/*
 * Eigen's products of the caller's arrays:
 *   eigen_csr     sparse matrix times vector, with Eigen's OpenMP product
 *   eigen_spmm    sparse matrix times row-major or column-major dense matrix, with Eigen's OpenMP product
 *   eigen_spgemm  sparse times sparse on one thread; rows of the result are sorted
 *   eigen_cg      eigen_cg.cpp
 */
#include "bench/peers/eigen_shared.h"

#include <cstdio>
#include <memory>

namespace {

/* Computes ys = alpha*op*xs + beta*ys for vectors or multiple columns. */
template <typename V, typename A, typename X, typename Y>
void multiply(const A &op, V alpha, const X &xs, V beta, Y &ys)
{
    if (beta == V(0))
        ys.setZero(); /* no extra work: an assignment to noalias() also clears ys first */
    else if (beta != V(1))
        ys *= beta;
    if (alpha == V(1))
        ys.noalias() += op * xs;
    else
        ys.noalias() += alpha * (op * xs);
}

struct product {
    int threads = 1;
    virtual ~product() = default;
    virtual void run(double alpha, const void *x, double beta, void *y) const = 0;
};

template <typename V, typename I> struct typed_product final : product {
    using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
    Eigen::Map<const csr<V, I>> a;
    bool transpose;

    explicit typed_product(const spry_peer_request &r) : a(view<V, I>(r.matrix)), transpose(r.transpose != 0)
    {
        threads = r.threads;
    }

    template <typename A> static void apply(const A &op, V alpha, const void *x, V beta, void *y)
    {
        Eigen::Map<const vector> xs(static_cast<const V *>(x), op.cols());
        Eigen::Map<vector> ys(static_cast<V *>(y), op.rows());
        multiply(op, alpha, xs, beta, ys);
    }

    void run(double alpha, const void *x, double beta, void *y) const override
    {
        if (transpose) {
            apply(a.transpose(), V(alpha), x, V(beta), y);
        } else if (alpha == 1 && beta == 0) {
            Eigen::Map<const vector> xs(static_cast<const V *>(x), a.cols());
            Eigen::Map<vector> ys(static_cast<V *>(y), a.rows());
            ys.noalias() = a * xs;
        } else {
            apply(a, V(alpha), x, V(beta), y);
        }
    }
};

/* Multiple columns, row-major or column-major. */
template <typename V, typename I> struct typed_columns final : product {
    Eigen::Map<const csr<V, I>> a;
    Eigen::Index columns;
    bool transpose, row_major;

    explicit typed_columns(const spry_peer_request &r)
        : a(view<V, I>(r.matrix)), columns(r.columns), transpose(r.transpose != 0), row_major(r.row_major != 0)
    {
        threads = r.threads;
    }

    template <int order, typename A> void apply(const A &op, V alpha, const void *x, V beta, void *y) const
    {
        using dense = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, order>;
        Eigen::Map<const dense> xs(static_cast<const V *>(x), op.cols(), columns);
        Eigen::Map<dense> ys(static_cast<V *>(y), op.rows(), columns);
        multiply(op, alpha, xs, beta, ys);
    }

    template <int order> void run_in(V alpha, const void *x, V beta, void *y) const
    {
        if (transpose)
            apply<order>(a.transpose(), alpha, x, beta, y);
        else
            apply<order>(a, alpha, x, beta, y);
    }

    void run(double alpha, const void *x, double beta, void *y) const override
    {
        if (row_major)
            run_in<Eigen::RowMajor>(V(alpha), x, V(beta), y);
        else
            run_in<Eigen::ColMajor>(V(alpha), x, V(beta), y);
    }
};

template <template <typename, typename> class typed>
int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix &m = request->matrix;
    cost->bytes = m.nnz * (m.value_bytes + m.index_bytes) + (m.rows + 1) * m.offset_bytes;
    cost->threads = request->transpose ? 1 : request->threads;
    return make<product, typed>(state, m, *request, error);
}

int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const product *p = static_cast<const product *>(state);
    Eigen::setNbThreads(p->threads);
    p->run(alpha, x, beta, y);
    return SPRY_PEER_OK;
}

void destroy(void *state)
{
    delete static_cast<product *>(state);
}

const spry_peer_kernel kernels[] = {
    {"eigen_csr", "csr", "cpu", "Eigen's row-major SparseMatrix, OpenMP", 1, prepare<typed_product>, run, destroy, 0}};
const spry_peer_kernel spmm[] = {{"eigen_spmm", "csr", "cpu", "Eigen's row-major SparseMatrix times Matrix, OpenMP", 1,
                                  prepare<typed_columns>, run, destroy, 0}};

/* ---- sparse times sparse ------------------------------------------------------------------------ */

struct square {
    virtual ~square() = default;
    virtual void run() = 0;
    virtual void release() = 0;
    virtual spry_peer_matrix show() const = 0;
};

template <typename V, typename I> struct typed_square final : square {
    using matrix = csr<V, I>;
    Eigen::Map<const matrix> a, b;
    std::unique_ptr<matrix> c;

    explicit typed_square(const spry_peer_spgemm_request &r) : a(view<V, I>(r.a)), b(view<V, I>(r.b))
    {
    }

    void run() override
    {
        c = std::make_unique<matrix>(a * b);
    }
    void release() override
    {
        c.reset();
    }
    spry_peer_matrix show() const override
    {
        return {c->rows(),
                c->cols(),
                c->nonZeros(),
                static_cast<int>(sizeof(V)),
                static_cast<int>(sizeof(I)),
                static_cast<int>(sizeof(I)),
                c->outerIndexPtr(),
                c->innerIndexPtr(),
                c->valuePtr()};
    }
};

int square_prepare(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    cost->threads = 1;
    return make<square, typed_square>(state, request->a, *request, error);
}

int square_run(void *state, spry_peer_product *, spry_peer_error *error)
{
    return guarded(error, [&] { static_cast<square *>(state)->run(); });
}

int square_fetch(void *state, spry_peer_matrix *c, spry_peer_error *)
{
    *c = static_cast<const square *>(state)->show();
    return SPRY_PEER_OK;
}

void square_release(void *state)
{
    static_cast<square *>(state)->release();
}

void square_destroy(void *state)
{
    delete static_cast<square *>(state);
}

const spry_peer_spgemm products[] = {{"eigen_spgemm", "cpu", "Eigen's product of row-major SparseMatrix, one thread", 1,
                                      square_prepare, square_run, square_fetch, square_release, square_destroy, 0}};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const spry_peer_module module = {SPRY_PEER_ABI,
                                 "eigen",
                                 TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(EIGEN_MINOR_VERSION),
                                 1,
                                 kernels,
                                 1,
                                 products,
                                 1,
                                 spmm,
                                 EIGEN_SOLVERS,
                                 eigen_solvers};

} // namespace

extern "C" const spry_peer_module *spry_peer_get(spry_peer_error *)
{
    return &module;
}
