/*
 * Registers for products with multiple row-major vectors. An entry of the matrix is multiplied by a register of
 * elements of one row of x. Registers are as wide as the SIMD level of the file. PANEL is the register type in code
 * that is instantiated by type.
 *
 * A multiply-add is fused only by intrinsics (cmake/SpryCompiler.cmake). PANEL_FUSED is used if the product with one
 * vector also fuses. alpha*sum + beta*y is never fused.
 */
#pragma once

#include "base/element.h"
#include "base/type_row.h"
#include "core/kernel.h"

#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include "base/simd_x86.h"
#endif

enum {
    SPRYI_STREAM_BYTES = 16 << 20
}; /* minimum bytes of y for non-temporal stores, since a larger y does not remain in a cache */

/* Alignment of a register in y that is written with non-temporal stores. AVX-512 registers are written in parts. */
#ifdef __AVX512F__
#define SPRYI_STREAM_PART 16
#else
#define SPRYI_STREAM_PART 32
#endif

/*
 * Defines the register of an element type and three functions. panel_first loads `count` elements at p and sets the
 * other lanes to zero. panel_fused returns sum + a*x, rounded once with AVX2 and AVX-512. panel_stream is a
 * non-temporal store with AVX2 and AVX-512, and otherwise a plain store.
 */
#define SPRYI_PANEL_OF(tag, type, vector, first, fused, streamed)                                                      \
    typedef vector spryi_panel_##tag;                                                                                  \
    SPRYI_INLINE vector spryi_panel_first_##tag(const type *p, int count)                                              \
    {                                                                                                                  \
        return first;                                                                                                  \
    }                                                                                                                  \
    SPRYI_INLINE vector spryi_panel_fused_##tag(type a, vector x, vector sum)                                          \
    {                                                                                                                  \
        return fused;                                                                                                  \
    }                                                                                                                  \
    SPRYI_INLINE void spryi_panel_stream_##tag(type *p, vector v)                                                      \
    {                                                                                                                  \
        streamed;                                                                                                      \
    }

#if defined __AVX512F__
SPRYI_PANEL_OF(f32, float, __m512, _mm512_maskz_loadu_ps((__mmask16)_bzhi_u32(0xffff, (unsigned)count), p),
               _mm512_fmadd_ps(_mm512_set1_ps(a), x, sum), _mm512_stream_ps(p, v))
SPRYI_PANEL_OF(f64, double, __m512d, _mm512_maskz_loadu_pd((__mmask8)_bzhi_u32(0xff, (unsigned)count), p),
               _mm512_fmadd_pd(_mm512_set1_pd(a), x, sum), _mm512_stream_pd(p, v))
#elif defined __AVX2__
SPRYI_PANEL_OF(f32, float, __m256, _mm256_maskload_ps(p, spryi_first_lanes_f32(count)),
               _mm256_fmadd_ps(_mm256_set1_ps(a), x, sum), _mm256_stream_ps(p, v))
SPRYI_PANEL_OF(f64, double, __m256d, _mm256_maskload_pd(p, spryi_first_lanes_f64(count)),
               _mm256_fmadd_pd(_mm256_set1_pd(a), x, sum), _mm256_stream_pd(p, v))
#else
typedef float spryi_four_f32 __attribute__((vector_size(16)));
typedef double spryi_two_f64 __attribute__((vector_size(16)));
#define FIRST(vector)                                                                                                  \
    vector v = {0};                                                                                                    \
    if (count == (int)(sizeof v / sizeof *p))                                                                          \
        memcpy(&v, p, sizeof v);                                                                                       \
    else                                                                                                               \
        for (int l = 0; l < count; l++) v[l] = p[l];                                                                   \
    return v
SPRYI_INLINE spryi_four_f32 spryi_first_four(const float *p, int count)
{
    FIRST(spryi_four_f32);
}
SPRYI_INLINE spryi_two_f64 spryi_first_two(const double *p, int count)
{
    FIRST(spryi_two_f64);
}
#undef FIRST
SPRYI_PANEL_OF(f32, float, spryi_four_f32, spryi_first_four(p, count), sum + a * x, memcpy(p, &v, sizeof v))
SPRYI_PANEL_OF(f64, double, spryi_two_f64, spryi_first_two(p, count), sum + a * x, memcpy(p, &v, sizeof v))
#endif

/* In which order the rows of y may be written with non-temporal stores. */
typedef enum spryi_streams { SPRYI_STREAMS_NOTHING, SPRYI_STREAMS_IN_ORDER, SPRYI_STREAMS_ANY_ORDER } spryi_streams;

/*
 * Returns how to write y, which has `rows` rows. part: SPRYI_STREAM_PART of the kernel's file. Non-temporal stores must
 * fill cache lines: a line that is filled in part is written to memory for each store, which can take ten times as
 * long.
 */
static __attribute__((noinline, unused)) spryi_streams spryi_panels_stream(const spryi_run_args *args, int64_t rows,
                                                                           int part)
{
    const int64_t size = (int64_t)spry_type_bytes(args->vector_type), row = args->columns * size;
    const uintptr_t places = (uintptr_t)args->y | (uintptr_t)row;
    if (spryi_value_at(args->beta, args->vector_type, 0) != 0 || rows * row < SPRYI_STREAM_BYTES)
        return SPRYI_STREAMS_NOTHING;
    if ((places | (uintptr_t)(args->y_stride * size)) % 64 == 0) return SPRYI_STREAMS_ANY_ORDER;
    return args->y_stride == args->columns && places % (row <= 16 ? 16 : (uintptr_t)part) == 0 ? SPRYI_STREAMS_IN_ORDER
                                                                                               : SPRYI_STREAMS_NOTHING;
}

/* The portable kernels, which are seldom used, have panel_put as a function of its own. */
#ifdef __AVX2__
#define SPRYI_PANEL_PUT SPRYI_INLINE
#else
#define SPRYI_PANEL_PUT static __attribute__((noinline, unused))
#endif

#define PANEL SPRYI_JOIN(spryi_panel, SPRYI_VECTOR_TAG)
#define PANEL_LANES ((int)(sizeof(PANEL) / sizeof(SPRY_V)))
#define PANEL_LOAD(p, count) SPRYI_JOIN(spryi_panel_first, SPRYI_VECTOR_TAG)(p, count)
#define PANEL_FUSED(a, x, sum) SPRYI_JOIN(spryi_panel_fused, SPRYI_VECTOR_TAG)(a, x, sum)
#define PANEL_STREAM(p, v) SPRYI_JOIN(spryi_panel_stream, SPRYI_VECTOR_TAG)(p, v)

/*
 * Copies the first `bytes` bytes of a register, at `from`, to y. With `stream`, `bytes` is a multiple of 16, and stores
 * are non-temporal. Otherwise stores 32, 16, 8 and 4 bytes, because masked stores are slow on some processors, and a
 * loop over elements becomes a call of memcpy.
 */
SPRYI_INLINE void spryi_panel_copy(void *y, const void *from, size_t bytes, int stream)
{
    char *to = y;
    const char *part = from;
#ifdef __AVX2__
    for (size_t b = 0; stream && b < bytes; b += 16)
        _mm_stream_si128((__m128i *)(void *)(to + b), _mm_loadu_si128((const __m128i *)(const void *)(part + b)));
    if (stream) return;
#else
    (void)stream;
#endif
    for (size_t n = 32; n >= 4; n /= 2)
        if ((bytes & n) != 0) {
            memcpy(to, part, n);
            to += n;
            part += n;
        }
}

/* The same as a function of its own. */
static __attribute__((noinline, unused)) void spryi_panel_copy_part(void *y, const void *from, size_t bytes, int stream)
{
    spryi_panel_copy(y, from, bytes, stream);
}

/* Prefetches `bytes` bytes of the matrix, which begin SPRYI_AHEAD_NEAR bytes after `from`. */
SPRYI_INLINE void spryi_panels_prefetch(const void *from, int64_t bytes)
{
#ifdef __AVX2__
    for (int64_t b = 0; b < bytes; b += 64) spryi_prefetch_near(from, b + SPRYI_AHEAD_NEAR);
#else
    (void)from, (void)bytes;
#endif
}

/* Makes non-temporal stores visible to other threads. streamed: 1 if there were any. */
SPRYI_INLINE void spryi_panels_done(int streamed)
{
#ifdef __AVX2__
    if (streamed) _mm_sfence();
#else
    (void)streamed;
#endif
}
