/*
 * The list of families. A new family is a folder and a line here: FAMILY(NAME) stands for spryi_family_NAME.
 * <name>_family.c lists the formats and kernels of a family. Kernels of a format are listed from slow to fast, so the
 * study kernels (study/kernels/) come first.
 */
#pragma once

#include "core/kernel.h"

#ifdef SPRY_STUDIES
#define SPRYI_STUDY_FAMILY(FAMILY) FAMILY(study)
#else
#define SPRYI_STUDY_FAMILY(FAMILY)
#endif

/* clang-format off */
#define SPRYI_FAMILIES(FAMILY)                                                                                         \
    SPRYI_STUDY_FAMILY(FAMILY)                                                                                         \
    FAMILY(csr)                                                                                                        \
    FAMILY(csc)                                                                                                        \
    FAMILY(coo)                                                                                                        \
    FAMILY(ell)                                                                                                        \
    FAMILY(sell)                                                                                                       \
    FAMILY(hyb)                                                                                                        \
    FAMILY(scoo)                                                                                                       \
    FAMILY(swept)                                                                                                      \
    FAMILY(bsr)                                                                                                        \
    FAMILY(csrk)                                                                                                       \
    FAMILY(windowed)                                                                                                   \
    FAMILY(packed)                                                                                                     \
    FAMILY(spgemm)
/* clang-format on */

#define SPRYI_DECLARE_FAMILY(name) extern const spryi_family spryi_family_##name;
SPRYI_FAMILIES(SPRYI_DECLARE_FAMILY)
#undef SPRYI_DECLARE_FAMILY
