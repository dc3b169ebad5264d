/* A family of storage layouts: its formats, and the kernels of every device that work on them. */
#ifndef SPRYI_FAMILY_H
#define SPRYI_FAMILY_H

#include "core/kernel.h"

typedef struct spryi_family {
    const char *name;                   /* as its folder's */
    const spryi_format *const *formats; /* ends with NULL. NULL: none of its own */
    const spryi_kernel *const *kernels; /* within a format and device from slow to fast; ends with NULL */
} spryi_family;

/* A list's line for a kernel that x86 processors alone have. */
#ifdef SPRY_HAVE_X86
#define SPRYI_X86(kernel) &kernel,
#else
#define SPRYI_X86(kernel)
#endif

#endif
