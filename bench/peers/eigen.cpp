/* eigen_csr: Eigen's sparse matrix times vector, on the caller's arrays, with its OpenMP product. */
#include "bench/peer.h"

#include <Eigen/SparseCore>

#include <cstdio>
#include <exception>

namespace {

struct product {
    int threads = 1;
    virtual ~product() = default;
    virtual void run(double alpha, const void *x, double beta, void *y) const = 0;
};

template <typename V, typename I> struct typed_product final : product {
    using matrix = Eigen::SparseMatrix<V, Eigen::RowMajor, I>;
    using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
    Eigen::Map<const matrix> a;
    bool transpose;

    explicit typed_product(const spry_peer_request &r)
        : a(r.matrix.rows, r.matrix.cols, r.matrix.nnz, static_cast<const I *>(r.matrix.offsets),
            static_cast<const I *>(r.matrix.columns), static_cast<const V *>(r.matrix.values)),
          transpose(r.transpose != 0)
    {
        threads = r.threads;
    }

    template <typename A> static void apply(const A &op, V alpha, const void *x, V beta, void *y)
    {
        Eigen::Map<const vector> xs(static_cast<const V *>(x), op.cols());
        Eigen::Map<vector> ys(static_cast<V *>(y), op.rows());
        if (beta == V(0))
            ys.setZero(); /* what noalias() = does first as well */
        else if (beta != V(1))
            ys *= beta;
        if (alpha == V(1))
            ys.noalias() += op * xs;
        else
            ys.noalias() += alpha * (op * xs);
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

int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, char *error, size_t error_size)
{
    const spry_peer_matrix &m = request->matrix;
    if (m.offset_bytes != m.index_bytes) {
        std::snprintf(error, error_size, "Eigen has one index type: 64-bit offsets with 32-bit columns do not fit it");
        return SPRY_PEER_UNSUPPORTED;
    }
    try {
        product *made;
        if (m.value_bytes == 8 && m.index_bytes == 4)
            made = new typed_product<double, std::int32_t>(*request);
        else if (m.value_bytes == 8)
            made = new typed_product<double, std::int64_t>(*request);
        else if (m.index_bytes == 4)
            made = new typed_product<float, std::int32_t>(*request);
        else
            made = new typed_product<float, std::int64_t>(*request);
        *state = made;
    } catch (const std::exception &failure) {
        std::snprintf(error, error_size, "Eigen: %s", failure.what());
        return SPRY_PEER_FAILED;
    }
    cost->bytes = m.nnz * (m.value_bytes + m.index_bytes) + (m.rows + 1) * m.offset_bytes;
    cost->threads = request->transpose ? 1 : request->threads;
    return SPRY_PEER_OK;
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
    {"eigen_csr", "csr", "cpu", "Eigen's row-major SparseMatrix, OpenMP", 1, prepare, run, destroy}};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const spry_peer_module module = {SPRY_PEER_ABI, "eigen",
                                 TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(EIGEN_MINOR_VERSION),
                                 1, kernels};

} // namespace

extern "C" const spry_peer_module *spry_peer_get(char *, size_t)
{
    return &module;
}
