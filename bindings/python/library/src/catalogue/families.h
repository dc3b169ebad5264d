/*
 * The families that there are. A new one is a folder and a line here: FAMILY(NAME) stands for spryi_family_NAME.
 * A format's kernels are listed from slow to fast, so the studies' come first.
 */
#ifndef SPRYI_FAMILIES_H
#define SPRYI_FAMILIES_H

#include "core/family.h"

/* clang-format off */
#define SPRYI_FAMILIES(FAMILY)                                                                                         \
    FAMILY(study_kernels)                                                                                              \
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
    FAMILY(spgemm_study)                                                                                               \
    FAMILY(spgemm)
/* clang-format on */

#define SPRYI_DECLARE_FAMILY(name) extern const spryi_family spryi_family_##name;
SPRYI_FAMILIES(SPRYI_DECLARE_FAMILY)
#undef SPRYI_DECLARE_FAMILY

#endif
