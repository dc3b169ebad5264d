/*
 * The floating-point environment of a thread.
 *
 * SPRYI_DEFAULT_FLOATS sets rounding to nearest and enables denormal numbers for the rest of a C block. Leaving the
 * block restores the thread's environment, including the exception flags. Functions and parallel regions use the macro
 * if their results must not depend on the caller's environment.
 */
#pragma once

#include <fenv.h>
#include <stdint.h>

static inline fenv_t spryi_enter_default_floats(void)
{
    fenv_t kept;
    (void)fegetenv(&kept);
    (void)fesetenv(FE_DFL_ENV); /* on x86, this also clears FTZ and DAZ */
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
 * Rounding mode and treatment of denormal numbers. A thread that helps with a call uses the controls of the thread that
 * called. Reading the controls takes some cycles and setting them takes tens of cycles, so they are set only if they
 * differ. Each thread keeps its own exception flags and traps.
 */
typedef uint64_t spryi_float_controls;

#if defined(__SSE__)
enum { SPRYI_FLOAT_CONTROLS = 0xe040 }; /* bits of MXCSR: FTZ, rounding, DAZ */
#elif defined(__aarch64__)
enum { SPRYI_FLOAT_CONTROLS = 0x1c80000 }; /* bits of FPCR: FZ, rounding, FZ16 */
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

/*
 * Sets `controls` for the rest of a C block. Leaving the block restores the thread's controls. Threads of the user's
 * executor use the macro.
 */
#define SPRYI_FLOATS_OF(controls)                                                                                      \
    __attribute__((cleanup(spryi_leave_floats), unused))                                                               \
    const spryi_float_controls threads_floats = spryi_enter_floats(controls)
