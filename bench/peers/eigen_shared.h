/* Shared header of the module eigen. */
#pragma once

#include "bench/peer.h"

#include <Eigen/SparseCore>

#include <exception>

template <typename V, typename I> using csr = Eigen::SparseMatrix<V, Eigen::RowMajor, I>;

/* Returns a view of the caller's arrays. */
template <typename V, typename I> Eigen::Map<const csr<V, I>> view(const spry_peer_matrix &m)
{
    const I *offsets = static_cast<const I *>(m.offsets), *columns = static_cast<const I *>(m.columns);
    return {m.rows, m.cols, m.nnz, offsets, columns, static_cast<const V *>(m.values)};
}

/* Runs an action and converts an exception, such as std::bad_alloc, to an error. */
template <typename F> int guarded(spry_peer_error *error, F action)
{
    try {
        action();
    } catch (const std::exception &failure) {
        return spry_peer_fail(error, SPRY_PEER_FAILED, "Eigen: %s", failure.what());
    }
    return SPRY_PEER_OK;
}

/* Creates a typed<V, I> for the types of the matrix and stores it as `base` in *state. */
template <typename base, template <typename, typename> class typed, typename request_type>
int make(void **state, const spry_peer_matrix &m, const request_type &request, spry_peer_error *error)
{
    if (m.offset_bytes != m.index_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "Eigen has one index type for offsets and columns: expected indices 32/32 or 64/64");
    return guarded(error, [&] {
        base *made;
        if (m.value_bytes == 8 && m.index_bytes == 4)
            made = new typed<double, std::int32_t>(request);
        else if (m.value_bytes == 8)
            made = new typed<double, std::int64_t>(request);
        else if (m.index_bytes == 4)
            made = new typed<float, std::int32_t>(request);
        else
            made = new typed<float, std::int64_t>(request);
        *state = made;
    });
}

extern const spry_peer_solver eigen_solvers[]; /* in eigen_cg.cpp, EIGEN_SOLVERS elements */
enum { EIGEN_SOLVERS = 1 };
