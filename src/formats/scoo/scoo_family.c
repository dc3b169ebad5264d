/* Lists the formats and kernels of family scoo. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/scoo/scoo.h"

static const spryi_parameter parameters[] = {{"lanes", 0, 0, "sums per row"}, {0}};
static const char *const lane_counts[] = {"1", "2", "4", "8", "16", "32", NULL};

const spryi_kernel spryi_scoo_shared_cuda = {
    SPRYI_KERNEL_OF("scoo", "shared", "cuda"),
    .idea = "one block per slice, sums in shared memory, multiple lanes per row in low slices",
    .source = "Evtushenko 2019, SCOO; Dang and Schmidt 2012; this library",
    .nondeterministic = 1,
    .operations = SPRYI_OP_SPMV,
    .parameters.list = parameters,
    .parameters.words = {[SPRYI_SCOO_LANES] = lane_counts},
    .parameters.text = "lanes=1|2|4|8|16|32 (sums per row in shared memory; slices are low enough unless their "
                       "height is given; default: up to a quarter of the mean row, as many as fit)",
};

/* clang-format off */
const spryi_family spryi_family_scoo = {
    .name = "scoo",
    .formats = {&spryi_format_scoo},
    .kernels = {
        &spryi_scoo_portable_cpu,
        &spryi_scoo_shared_cuda,
    },
};
/* clang-format on */
