/*
 * libFuzzer target: Matrix Market text, gzip of it, and whatever else a file may begin with.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...
 *     ./fuzz_mtx -dict=tests/fuzz/mtx.dict corpus tests/fuzz/corpus/mtx
 */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = (spry_type)(bytes % 4); /* default, f32, f64, pattern: as the length falls */
    read_twice(data, bytes, "fuzz", &options);
    return 0;
}
