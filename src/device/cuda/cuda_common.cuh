/*
 * Common parts of all CUDA files of the plug-in: C headers of the library, launches, scalars, small device functions.
 * The code is C-like CUDA C++. Templates have only value type V, offset type P, column type J and tile constants as
 * parameters.
 */
#pragma once

extern "C" {
#include "base/error.h"
#include "core/device.h"
}
#include "base/types.h"
#include "device/cuda/kernels.h"

#include <cuda_runtime.h>
#include <type_traits>

/* alpha or beta: a value, or its device address. */
template <typename V> struct scalar {
    V value;
    const V *address;
    __device__ V get() const
    {
        return address ? *address : value;
    }
};

template <typename V> static inline scalar<V> scalar_of(const void *pointer, int on_device)
{
    scalar<V> s = {};
    if (on_device)
        s.address = (const V *)pointer;
    else
        s.value = *(const V *)pointer;
    return s;
}
#define SPRY_ALPHA(V, args) scalar_of<V>((args)->alpha, (args)->scalars_on_device)
#define SPRY_BETA(V, args) scalar_of<V>((args)->beta, (args)->scalars_on_device)

/* Stores y_i = alpha*sum + beta*y_i by the rules of the BLAS: if a factor is zero, its operand is not used. */
template <typename V> static __device__ __forceinline__ void put(V *y, int64_t i, V sum, V alpha, V beta)
{
    V result = alpha == 0 ? V(0) : alpha * sum;
    y[i] = beta == 0 ? result : result + beta * y[i];
}

/*
 * Reports CUDA's message with SPRY_DEVICE_FAILED, or SPRY_OUT_OF_MEMORY if CUDA says so. Clears CUDA's last error,
 * which the check of the thread's next launch would otherwise find.
 */
spry_status spry_cuda_fail(spry_error *err, cudaError_t code, const char *what);

/* Ignores a failure that has no consequences, and clears CUDA's last error. */
static inline void spry_cuda_ignore(cudaError_t code)
{
    if (code != cudaSuccess) (void)cudaGetLastError();
}

/* Waits for all work of the current device, but not while another thread captures a graph (vector_ops_cuda.cu). */
cudaError_t spry_cuda_wait_for_device(void);

/*
 * Kernels launched by launch_early start before the previous kernel in the stream has ended. An early start saves about
 * a microsecond per product. Every thread of such a kernel calls wait_for_previous_kernel first, even if the thread has
 * no work: later kernels rely on that wait.
 */
static __device__ __forceinline__ void wait_for_previous_kernel(void)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/*
 * Returns whether the device and the compiled code support early launches (plugin.cu). `device` is CUDA's ordinal and
 * current.
 */
bool spry_cuda_launches_early(int device);

/* Returns a launch configuration. The launch starts early if the caller sets numAttrs to 1, which activates *early. */
static inline cudaLaunchConfig_t early_launch(cudaLaunchAttribute *early, int64_t blocks, int threads, int64_t shared,
                                              void *stream)
{
    early->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early->val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared;
    config.stream = (cudaStream_t)stream;
    config.attrs = early;
    return config;
}

/*
 * Launches kernel<<<blocks, threads, shared, the run's stream>>>(a...), early if supported. launched() reports errors.
 */
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline void launch_early(const spryi_run_args *args, void (*kernel)(PARAMETERS...), int64_t blocks, int threads,
                                int64_t shared, ARGUMENTS... a)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = early_launch(&early, blocks, threads, shared, args->stream);
    config.numAttrs = spry_cuda_launches_early(args->device) ? 1 : 0;
    (void)cudaLaunchKernelEx(&config, kernel, PARAMETERS(a)...);
}

/* Returns the status of the last launch. */
static inline spry_status launched(spry_error *err, const char *kernel)
{
    cudaError_t code = cudaPeekAtLastError();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, kernel);
}

static inline cudaStream_t stream_of(const spryi_run_args *args)
{
    return (cudaStream_t)args->stream;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* load_once bypasses the L1 cache: matrix entries are read once and must not evict x from the cache. */
#define SPRY_CUDA_LOAD_ONCE(T, width, place)                                                                           \
    static __device__ __forceinline__ T load_once(const T *p)                                                          \
    {                                                                                                                  \
        T v;                                                                                                           \
        asm("ld.global.nc.L1::no_allocate." width " %0, [%1];" : place(v) : "l"(p));                                   \
        return v;                                                                                                      \
    }
SPRY_CUDA_LOAD_ONCE(int32_t, "b32", "=r")
SPRY_CUDA_LOAD_ONCE(float, "f32", "=f")
SPRY_CUDA_LOAD_ONCE(double, "f64", "=d")
SPRY_CUDA_LOAD_ONCE(uint16_t, "u16", "=h")
#undef SPRY_CUDA_LOAD_ONCE

/*
 * Loads a stored value as type V, without rounding, since S is V or a narrower type (base/types.h). element_at uses
 * load_once. element_kept keeps the value in the L1 cache.
 */
template <typename S> static __device__ __forceinline__ S load_once(const S *p)
{
    static_assert(sizeof(S) <= sizeof(uint16_t), "other types have a load_once of their own");
    if constexpr (sizeof(S) == sizeof(uint16_t)) {
        const S v = {load_once((const uint16_t *)p)};
        return v;
    } else {
        uint16_t bits;
        asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(bits) : "l"(p));
        const S v = {(uint8_t)bits};
        return v;
    }
}
template <typename V> static __device__ __forceinline__ V widened(V v)
{
    return v;
}
static __device__ __forceinline__ float widened(spryi_bf16 v)
{
    return spryi_widen_bf16(v);
}
static __device__ __forceinline__ float widened(spryi_f16 v)
{
    return spryi_widen_f16(v);
}
/*
 * Values that are indices into a table are read in two ways. With the stored type S, each block copies the table to
 * shared memory. With cached<S>, lanes read the table through the L1 cache, in kernels with few values per block.
 * A warp reads f64 from shared memory in two groups of 16 lanes. A table of 256 values has 16 copies, one for each lane
 * of a group, so that the lanes read different banks. All threads of a block call open_table before they widen values.
 * s: the storage.
 */
template <typename S> struct cached {
    S stored;
};
template <typename S> struct table_traits {
    static const bool has_table = false;
    typedef S cached_type;
};
template <typename S> struct index_traits {
    static const bool has_table = true;
    static const int copies = sizeof(S) == 1 ? 16 : 1; /* in shared memory */
    typedef cached<S> cached_type;
};
template <> struct table_traits<spryi_table8> : index_traits<spryi_table8> {
};
template <> struct table_traits<spryi_table16> : index_traits<spryi_table16> {
};
template <typename S> using cached_of = typename table_traits<S>::cached_type;

static __device__ __forceinline__ double *shared_table()
{
    __shared__ double table[SPRYI_TABLE16_VALUES];
    return table;
}
static __device__ __forceinline__ const double **cached_table()
{
    __shared__ const double *table;
    return &table;
}
template <typename S> static __device__ __forceinline__ double table_value(S v)
{
    constexpr int copies = table_traits<S>::copies;
    return shared_table()[v.index * copies + threadIdx.x % copies];
}
static __device__ __forceinline__ double widened(spryi_table8 v)
{
    return table_value(v);
}
static __device__ __forceinline__ double widened(spryi_table16 v)
{
    return table_value(v);
}
template <typename S> static __device__ __forceinline__ double widened(cached<S> v)
{
    return __ldg(*cached_table() + v.stored.index);
}
template <typename S, typename T> static __device__ __forceinline__ void open_table(const T &s)
{
    if constexpr (table_traits<S>::has_table) {
        for (int n = threadIdx.x; n < SPRYI_TABLE16_VALUES; n += blockDim.x)
            shared_table()[n] = __ldg((const double *)s.table + n / table_traits<S>::copies);
        __syncthreads();
    } else if constexpr (std::is_same_v<S, cached<spryi_table8>> || std::is_same_v<S, cached<spryi_table16>>) {
        if (threadIdx.x == 0) *cached_table() = (const double *)s.table;
        __syncthreads();
    }
}
template <typename V, typename S> static __device__ __forceinline__ V element_at(const S *p)
{
    return V(widened(load_once(p)));
}
static __device__ __forceinline__ float load_kept(const float *p)
{
    return __ldg(p);
}
static __device__ __forceinline__ double load_kept(const double *p)
{
    return __ldg(p);
}
template <typename S> static __device__ __forceinline__ S load_kept(const S *p)
{
    if constexpr (sizeof(S) == sizeof(uint8_t)) {
        const S v = {__ldg((const uint8_t *)p)};
        return v;
    } else {
        const S v = {__ldg((const uint16_t *)p)};
        return v;
    }
}
template <typename V, typename S> static __device__ __forceinline__ V element_kept(const S *p)
{
    return V(widened(load_kept(p)));
}

/* Converts to a stored type with one rounding. */
template <typename V> static __device__ __forceinline__ void round_to(V *to, double value)
{
    *to = (V)value;
}
static __device__ __forceinline__ void round_to(spryi_bf16 *to, double value)
{
    *to = spryi_narrow_bf16(value);
}
static __device__ __forceinline__ void round_to(spryi_f16 *to, double value)
{
    *to = spryi_narrow_f16(value);
}

/* Makes `device` current, and restores the caller's device at the end of the scope. */
struct device_scope {
    int previous;
    cudaError_t code;
    explicit device_scope(int device) : previous(-1)
    {
        code = cudaGetDevice(&previous);
        if (code == cudaSuccess && previous != device) code = cudaSetDevice(device);
    }
    ~device_scope()
    {
        if (previous >= 0) (void)cudaSetDevice(previous);
    }
};

/* Allocates device memory from the context's pool or hooks, for a kernel's auxiliary data or scratch. */
static inline spry_status spry_cuda_new(const spryi_device *device, void **made, int64_t bytes, const char *what,
                                        spry_error *err)
{
    return device->ops->allocate(device, made, bytes, what, err);
}

/* Frees device memory after the device's work is done. pointer may be NULL. */
static inline void spry_cuda_free(const spryi_device *device, void *pointer)
{
    device->ops->release(device, pointer);
}

/* Permits launches of the kernel with up to `bytes` of dynamic shared memory. */
template <typename KERNEL> static inline cudaError_t allow_shared_memory(KERNEL kernel, int bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/* The run table of a host function template `run<V, P, J>`, for 32/32 and 64/32 indices. */
#define SPRY_CUDA_ROW(tag, s, v, c, run) {run<spryi_##v, int32_t, int32_t>, run<spryi_##v, int64_t, int32_t>, NULL},
#define SPRY_CUDA_TABLE(run)                                                                                           \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRY_CUDA_ROW, run)                                                                           \
    }

/*
 * SPRY_CUDA_SELDOM precedes explicit instantiations that are seldom used. In the source's own module it is `extern`. A
 * second module (cmake/SpryCuda.cmake) compiles the source with SPRY_SELDOM_MODULE and has these instances. A GPU loads
 * a module when one of its kernels is first launched.
 */
#ifdef SPRY_SELDOM_MODULE
#define SPRY_CUDA_SELDOM
#else
#define SPRY_CUDA_SELDOM extern
#endif

/* The run table of a template `run<S, V, P, J>` with stored and vector type, including mixed types. */
#define SPRY_CUDA_MIXED_ROW(tag, s, v, c, run)                                                                         \
    {run<spryi_##s, spryi_##v, int32_t, int32_t>, run<spryi_##s, spryi_##v, int64_t, int32_t>, NULL},
#define SPRY_CUDA_MIXED_TABLE(run)                                                                                     \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRY_CUDA_MIXED_ROW, run) SPRYI_MIXED_ROWS(SPRY_CUDA_MIXED_ROW, run)                          \
    }
/* SPRY_CUDA_MIXED_TABLE, also with the rows of SPRYI_TABLE_ROWS. */
#define SPRY_CUDA_ALL_ROWS(run)                                                                                        \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRY_CUDA_MIXED_ROW, run) SPRYI_MIXED_ROWS(SPRY_CUDA_MIXED_ROW, run)                          \
            SPRYI_TABLE_ROWS(SPRY_CUDA_MIXED_ROW, run)                                                                 \
    }

/*
 * SPRY_BY_TYPE(type, V, expression) evaluates the expression with V as the C type of a value type or index type.
 * Patterns use f32.
 */
#define SPRY_BY_TYPE(type_number, V, ...)                                                                              \
    call_with_type(type_number, [&](auto of_type) {                                                                    \
        typedef decltype(of_type) V;                                                                                   \
        return __VA_ARGS__;                                                                                            \
    })
#define SPRY_CALL_IF(tag, s, v, c, call)                                                                               \
    if ((int)type == (int)spryi_type_##v) return call(spryi_##v());
template <typename F> static inline auto call_with_type(spry_type type, F call)
{
    SPRYI_PLAIN_ROWS(SPRY_CALL_IF, call)
    return call(spryi_f32());
}
/* SPRY_BY_STORED(type, S, expression) evaluates the expression with S as the C type of a stored type. */
#define SPRY_BY_STORED(type_number, S, ...)                                                                            \
    call_with_stored(type_number, [&](auto of_type) {                                                                  \
        typedef decltype(of_type) S;                                                                                   \
        return __VA_ARGS__;                                                                                            \
    })
#define SPRY_CALL_IF_STORED(tag, s, v, c, call)                                                                        \
    if ((int)type == (int)spryi_type_##s) return call(spryi_##s());
template <typename F> static inline auto call_with_stored(spry_type type, F call)
{
    SPRYI_PLAIN_ROWS(SPRY_CALL_IF_STORED, call)
    SPRYI_MIXED_ROWS(SPRY_CALL_IF_STORED, call)
    return call(spryi_f32());
}
template <typename F> static inline auto call_with_type(spry_index_type type, F call)
{
    return type == SPRY_I32 ? call(int32_t()) : call(int64_t());
}
