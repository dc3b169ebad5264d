/* The family swept: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/swept/swept.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_swept,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_swept_reference_cpu,
    &spryi_swept_barrier_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_swept = {"swept", formats, kernels};
