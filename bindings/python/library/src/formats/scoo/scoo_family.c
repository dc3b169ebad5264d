/* The family scoo: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/scoo/scoo.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_scoo,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_scoo_portable_cpu,
    &spryi_scoo_shared_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_scoo = {"scoo", formats, kernels};
