/* eigen_cg: Eigen's ConjugateGradient without preconditioner on the caller's CSR, with OpenMP in its products. */
#include "bench/peers/eigen_shared.h"

#include <Eigen/IterativeLinearSolvers>

namespace {

struct system_of {
    int threads = 1;
    virtual ~system_of() = default;
    virtual void solve(void *x, const void *b, spry_peer_solution *solution) = 0;
};

/* Uses both triangles of a row-major matrix, because only then Eigen's products in CG use threads. */
template <typename V, typename I> struct typed_system final : system_of {
    using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
    using method = Eigen::ConjugateGradient<csr<V, I>, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner>;
    Eigen::Map<const csr<V, I>> a;
    method cg;

    explicit typed_system(const spry_peer_solver_request &r) : a(view<V, I>(r.matrix))
    {
        threads = r.threads;
        cg.setTolerance(static_cast<V>(r.tolerance));
        cg.setMaxIterations(r.max_iterations);
        cg.compute(a);
    }

    void solve(void *x, const void *b, spry_peer_solution *solution) override
    {
        Eigen::Map<vector> xs(static_cast<V *>(x), a.rows());
        xs = cg.solve(Eigen::Map<const vector>(static_cast<const V *>(b), a.rows()));
        solution->iterations = cg.iterations();
        solution->residual = static_cast<double>(cg.error());
    }
};

int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix &m = request->matrix;
    cost->bytes = m.nnz * (m.value_bytes + m.index_bytes) + (m.rows + 1) * m.offset_bytes;
    return make<system_of, typed_system>(state, m, *request, error);
}

int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    system_of *s = static_cast<system_of *>(state);
    Eigen::setNbThreads(s->threads);
    return guarded(error, [&] { s->solve(x, b, solution); });
}

void destroy(void *state)
{
    delete static_cast<system_of *>(state);
}

} // namespace

const spry_peer_solver eigen_solvers[EIGEN_SOLVERS] = {
    {"eigen_cg", "cpu", "Eigen's ConjugateGradient, row-major, without preconditioner, OpenMP in its products",
     SPRY_PEER_CG, 1, prepare, solve, destroy, 0}};
