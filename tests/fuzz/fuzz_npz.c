/*
 * libFuzzer target: archives of scipy.sparse.save_npz. Check sums are compared at the end of each array, so bytes
 * that were changed are looked at before.
 */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = (spry_type)(bytes % 4);
    options.drop_duplicates = (int)(bytes / 4 % 2);
    read_twice(data, bytes, "fuzz.npz", &options);
    return 0;
}
