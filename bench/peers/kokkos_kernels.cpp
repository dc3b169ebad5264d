/*
 * kokkos_kernels: KokkosSparse::spmv of Kokkos Kernels (Apache 2.0 with LLVM exception), which scripts/rivals.sh gets.
 * The algorithm is its own, SPMV_NATIVE. SPMV_DEFAULT is equal in this build, which has no libraries of vendors.
 *
 *   kokkos_kernels_cpu    OpenMP, on the caller's arrays (this file)
 *   kokkos_kernels_cuda   CUDA, on uploaded arrays (kokkos_kernels_cuda.cu compiles this file)
 */
#include "bench/peer.h"
#include "common/wall_clock.h"

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>

#include <exception>
#include <stdint.h>
#include <stdlib.h>

namespace {

#ifdef KOKKOS_ENABLE_CUDA
using space = Kokkos::Cuda;
constexpr bool on_gpu = true;
#define NAME "kokkos_kernels_cuda"
#define DEVICE "cuda"
#define TITLE "Kokkos Kernels SPMV_NATIVE, CUDA"

space *shared_instance; /* works in the default stream */

space space_for(int)
{
    return *shared_instance;
}

void start_instance()
{
    shared_instance = new space(static_cast<cudaStream_t>(nullptr));
}

void end_kokkos()
{
    delete shared_instance;
    Kokkos::finalize();
}
#else
using space = Kokkos::OpenMP;
constexpr bool on_gpu = false;
#define NAME "kokkos_kernels_cpu"
#define DEVICE "cpu"
#define TITLE "Kokkos Kernels SPMV_NATIVE, OpenMP"

/* Returns an instance with this number of threads. */
space space_for(int threads)
{
    return space(threads);
}

void start_instance()
{
}

void end_kokkos()
{
    Kokkos::finalize();
}
#endif

using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <typename T> using array = Kokkos::View<T *, space::device_type>;

/* Returns the caller's array, or a copy in GPU memory. */
template <typename T> array<T> in_space(const void *host, int64_t count)
{
    T *items = static_cast<T *>(const_cast<void *>(host));
    const size_t n = static_cast<size_t>(count);
    if constexpr (!on_gpu) {
        return array<T>(items, n);
    } else {
        array<T> copy(Kokkos::view_alloc("peer", Kokkos::WithoutInitializing), n);
        Kokkos::deep_copy(copy, Kokkos::View<T *, Kokkos::HostSpace, unmanaged>(items, n));
        return copy;
    }
}

struct product {
    virtual ~product() = default;
    virtual void run(double alpha, const void *x, double beta, void *y) = 0;
};

template <typename V> struct typed_product final : product {
    using matrix = KokkosSparse::CrsMatrix<V, int32_t, space::device_type, void, int32_t>;
    using input = Kokkos::View<const V *, space::device_type, unmanaged>;
    using output = Kokkos::View<V *, space::device_type, unmanaged>;
    space instance;
    matrix a;
    KokkosSparse::SPMVHandle<space, matrix, input, output> handle{KokkosSparse::SPMV_NATIVE};
    const char *mode;
    size_t x_length, y_length;

    explicit typed_product(const spry_peer_request &r)
        : instance(space_for(r.threads)),
          a("peer", static_cast<int32_t>(r.matrix.rows), static_cast<int32_t>(r.matrix.cols),
            static_cast<int32_t>(r.matrix.nnz), in_space<V>(r.matrix.values, r.matrix.nnz),
            in_space<int32_t>(r.matrix.offsets, r.matrix.rows + 1), in_space<int32_t>(r.matrix.columns, r.matrix.nnz)),
          mode(r.transpose ? KokkosSparse::Transpose : KokkosSparse::NoTranspose),
          x_length(static_cast<size_t>(r.transpose ? r.matrix.rows : r.matrix.cols)),
          y_length(static_cast<size_t>(r.transpose ? r.matrix.cols : r.matrix.rows))
    {
    }

    void run(double alpha, const void *x, double beta, void *y) override
    {
        KokkosSparse::spmv(instance, &handle, mode, static_cast<V>(alpha), a,
                           input(static_cast<const V *>(x), x_length), static_cast<V>(beta),
                           output(static_cast<V *>(y), y_length));
    }
};

/* Kokkos starts once per process and ends with it. */
void start_kokkos(spry_peer_cost *cost)
{
    if (Kokkos::is_initialized()) return;
    const double start = now_us();
    Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
    start_instance();
    atexit(end_kokkos);
    cost->startup_us = now_us() - start;
}

int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix &a = request->matrix;
    if (a.offset_bytes != 4 || a.index_bytes != 4)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this build of Kokkos Kernels expects indices 32/32");
    try {
        start_kokkos(cost);
        const double start = now_us();
        product *made;
        if (a.value_bytes == 8)
            made = new typed_product<double>(*request);
        else
            made = new typed_product<float>(*request);
        *state = made;
        Kokkos::fence();
        if (on_gpu) cost->upload_us = now_us() - start;
    } catch (const std::exception &failure) {
        return spry_peer_fail(error, SPRY_PEER_FAILED, "Kokkos Kernels: %s", failure.what());
    }
    cost->bytes = a.nnz * (a.value_bytes + a.index_bytes) + (a.rows + 1) * a.offset_bytes;
    if (on_gpu) cost->threads = 0;
    if (request->transpose) cost->deterministic = 0; /* additions are atomic */
    return SPRY_PEER_OK;
}

int run(void *state, double alpha, const void *x, double beta, void *y)
{
    try {
        static_cast<product *>(state)->run(alpha, x, beta, y);
    } catch (const std::exception &) {
        return SPRY_PEER_FAILED;
    }
    return SPRY_PEER_OK;
}

void destroy(void *state)
{
    Kokkos::fence();
    delete static_cast<product *>(state);
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const spry_peer_kernel kernels[] = {{NAME, "csr", DEVICE, TITLE, -1, prepare, run, destroy, 0}};
const spry_peer_module module = {SPRY_PEER_ABI,
                                 "kokkos_kernels",
                                 TEXT(KOKKOSKERNELS_VERSION_MAJOR) "." TEXT(KOKKOSKERNELS_VERSION_MINOR) "." TEXT(
                                     KOKKOSKERNELS_VERSION_PATCH),
                                 1,
                                 kernels,
                                 0,
                                 nullptr,
                                 0,
                                 nullptr,
                                 0,
                                 nullptr};

} // namespace

extern "C" const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
#ifdef KOKKOS_ENABLE_CUDA
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        (void)cudaGetLastError();
        spry_peer_fail(error, SPRY_PEER_FAILED, "Kokkos Kernels for CUDA needs a GPU: %s",
                       code == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(code));
        return nullptr;
    }
#else
    (void)error;
#endif
    return &module;
}
