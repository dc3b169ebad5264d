/* libFuzzer target: lists of edges, plain or gzip, with the options that they have. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = (spry_type)(bytes % 4);
    options.index_base = (int)(bytes / 4 % 2);
    options.drop_duplicates = (int)(bytes / 8 % 2);
    options.undirected = (int)(bytes / 16 % 2);
    options.input = bytes / 32 % 2 ? "edges" : NULL;
    read_twice(data, bytes, "fuzz.csv", &options);
    return 0;
}
