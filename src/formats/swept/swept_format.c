/* The format swept: its descriptor, and its arrays for devices. */
#include "base/memory.h"
#include "formats/swept/swept_layout.h"

/* For the reference kernel: sums of rows, or of columns, and the rows of a block's sums. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_swept_sizes *h = &((const spryi_swept *)storage)->sizes;
    return (h->rows > h->cols ? h->rows : h->cols) * (int64_t)spry_type_bytes(vector_type) +
           h->most_sums * (int64_t)sizeof(int32_t);
}

static const spryi_parameter parameters[] = {
    {"blocks", 1, 1 << 20, "row blocks"},
    {"sums", 2, SPRYI_SWEPT_MOST_SUMS, "most sums of a block"},
    {.name = NULL},
};

const spryi_format spryi_format_swept = {
    .name = "swept",
    .title = "swept row blocks: SCOO for a GPU's shared memory",
    .storage = "slots values + slots indices of 32 bits + batches bases + a bit a row",
    .best_for = "scattered columns on GPUs, where each x serves few entries",
    .parameters = parameters,
    .parameter_text = "blocks=NUMBER (of rows; default: one a multiprocessor); sums=NUMBER (most of a block; default: "
                      "what the shared memory holds)",
    .predict = spryi_swept_predict,
    .build = spryi_swept_build,
    .workspace_bytes = workspace_bytes,
    .to_csr = spryi_swept_to_csr,
    .storage_size = sizeof(spryi_swept),
    .device_sections = spryi_swept_arrays, /* containers keep CSR: a cut suits the GPU that it was made for */
    .estimator = &spryi_swept_estimator,
};
