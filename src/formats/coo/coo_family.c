/* The family coo: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/coo/coo.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_coo,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_coo_portable_cpu,
    &spryi_coo_segmented_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_coo = {"coo", formats, kernels};
