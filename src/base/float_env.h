/*
 * The floating-point environment, of which every thread has its own. First, rounding to nearest, with denormal numbers,
 * whatever the caller's is: a function or a parallel region whose results must not depend on it begins with
 * SPRYI_DEFAULT_FLOATS, and the thread's environment is back, flags included, when that block is left.
 */
#pragma once

#include <fenv.h>
#include <stdint.h>

static inline fenv_t spryi_enter_default_floats(void)
{
    fenv_t kept;
    (void)fegetenv(&kept);
    (void)fesetenv(FE_DFL_ENV); /* on x86 FTZ and DAZ are cleared too */
    return kept;
}

static inline void spryi_leave_default_floats(const fenv_t *kept)
{
    (void)fesetenv(kept);
}

#define SPRYI_DEFAULT_FLOATS                                                                                           \
    __attribute__((cleanup(spryi_leave_default_floats), unused))                                                       \
    const fenv_t callers_floats = spryi_enter_default_floats()

/*
 * Second, that of the thread that called for those that help it: how they round and what they do with denormal numbers.
 * Reading it takes some cycles, setting it some tens, so it is set where it differs alone. Exceptions stay a thread's
 * own: their flags and what they do.
 */
typedef uint64_t spryi_float_controls;

#if defined(__SSE__)
enum { SPRYI_FLOAT_CONTROLS = 0xe040 }; /* of MXCSR: FTZ, rounding, DAZ */
#elif defined(__aarch64__)
enum { SPRYI_FLOAT_CONTROLS = 0x1c80000 }; /* of FPCR: FZ, rounding, FZ16 */
#endif

static inline spryi_float_controls spryi_get_float_controls(void)
{
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr() & SPRYI_FLOAT_CONTROLS;
#elif defined(__aarch64__)
    uint64_t all;
    __asm__ volatile("mrs %0, fpcr" : "=r"(all));
    return all & SPRYI_FLOAT_CONTROLS;
#else
    return (spryi_float_controls)fegetround();
#endif
}

static inline void spryi_set_float_controls(spryi_float_controls controls)
{
    if (spryi_get_float_controls() == controls) return;
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~(unsigned)SPRYI_FLOAT_CONTROLS) | (unsigned)controls);
#elif defined(__aarch64__)
    uint64_t all;
    __asm__ volatile("mrs %0, fpcr" : "=r"(all));
    __asm__ volatile("msr fpcr, %0" : : "r"((all & ~(uint64_t)SPRYI_FLOAT_CONTROLS) | controls));
#else
    (void)fesetround((int)controls);
#endif
}

static inline spryi_float_controls spryi_enter_floats(spryi_float_controls controls)
{
    const spryi_float_controls kept = spryi_get_float_controls();
    spryi_set_float_controls(controls);
    return kept;
}

static inline void spryi_leave_floats(const spryi_float_controls *kept)
{
    spryi_set_float_controls(*kept);
}

/* For threads of the program: their own environment is back when the block is left. */
#define SPRYI_FLOATS_OF(controls)                                                                                      \
    __attribute__((cleanup(spryi_leave_floats), unused))                                                               \
    const spryi_float_controls threads_floats = spryi_enter_floats(controls)
