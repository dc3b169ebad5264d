/*
 * Rounding to nearest, with denormal numbers, whatever the caller's floating-point environment is. Every thread has its
 * own: a function or a parallel region whose results must not depend on it begins with SPRYI_DEFAULT_FLOATS, and the
 * thread's environment is back, flags included, when that block is left.
 */
#ifndef SPRYI_FLOAT_ENV_H
#define SPRYI_FLOAT_ENV_H

#include <fenv.h>

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

#endif
