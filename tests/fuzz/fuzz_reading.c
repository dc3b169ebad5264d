/*
 * Three libFuzzer targets that read a matrix, each with its own options:
 * fuzz_mtx    Matrix Market text, gzip of the text, and any other kind of file
 * fuzz_edges  lists of edges, plain or gzip
 * fuzz_npz    archives of scipy.sparse.save_npz. Checksums are compared at the end of each array.
 *
 * For any bytes, the reader returns a documented status, keeps no memory, and gives the same result with 1 and 3
 * threads. A matrix that the reader accepts is sound.
 *
 *     clang -DFUZZ_mtx -fsanitize=fuzzer,address,undefined ...
 *     tests/fuzz/seeds.sh seeds && ./fuzz_mtx -dict=tests/fuzz/mtx.dict corpus seeds/mtx
 */
#include "limits.h"
#include "matrix/matrix.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_matrix(const spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    require(spry_matrix_get_arrays(A, &a, NULL) == SPRY_OK, "arrays");
    require(spryi_index_at(a.offsets, a.offset_type, 0) == 0, "first offset");
    require(spryi_index_at(a.offsets, a.offset_type, a.rows) == a.nnz, "last offset");
    for (int64_t i = 0; i < a.rows; i++) {
        int64_t end = spryi_index_at(a.offsets, a.offset_type, i + 1), before = -1;
        for (int64_t k = spryi_index_at(a.offsets, a.offset_type, i); k < end; k++) {
            int64_t j = spryi_index_at(a.indices, a.index_type, k);
            require(j > before && j < a.columns, "columns that rise within the matrix");
            before = j;
        }
    }
}

static spry_status read_with(int threads, const uint8_t *data, size_t bytes, const char *name,
                             const spry_read_options *options, spry_error *err)
{
    spry_context_options context_options = SPRY_INIT(spry_context_options);
    context_options.allocate = allocate;
    context_options.release = release;
    context_options.threads = threads;
    spry_context *context = NULL;
    require(spry_context_create(&context, &context_options, NULL) == SPRY_OK, "context");
    spry_matrix *A = NULL;
    spry_status status = spry_matrix_read_memory(context, &A, data, bytes, name, options, err);
    /* If the bytes are another kind of file, an option of edge lists is the caller's mistake. */
    const int has_option = options->index_base || options->undirected || options->drop_duplicates || options->input;
    require(status == SPRY_OK || status == SPRY_BAD_FILE || status == SPRY_UNSUPPORTED ||
                status == SPRY_OUT_OF_MEMORY || (status == SPRY_INVALID_ARGUMENT && has_option),
            "an unexpected status");
    require((status == SPRY_OK) == (A != NULL), "a matrix without success, or the reverse");
    require(status == SPRY_OK || err->status == status, "no error told");
    if (A) check_matrix(A);
    spry_matrix_destroy(A);
    spry_context_info info = SPRY_INIT(spry_context_info);
    require(spry_context_get_info(context, &info, NULL) == SPRY_OK && info.bytes == 0, "memory kept");
    spry_context_destroy(context);
    require(atomic_load(&live) == 0, "memory not released");
    return status;
}

/* Reads the bytes as a file of that name, with 1 and with 3 threads. */
static void read_twice(const uint8_t *data, size_t bytes, const char *name, const spry_read_options *options)
{
    spry_error one = {0}, three = {0};
    spry_status status = read_with(1, data, bytes, name, options, &one);
    require(read_with(3, data, bytes, name, options, &three) == status, "the status depends on the threads");
    if (status != SPRY_OK && status != SPRY_OUT_OF_MEMORY)
        require(strcmp(one.message, three.message) == 0, "the message depends on the threads");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    const char *name = "fuzz";
    options.value_type = (spry_type)(bytes % 4); /* default, f32, f64 or pattern, chosen by the length */
#ifdef FUZZ_edges
    name = "fuzz.csv";
    options.index_base = (int)(bytes / 4 % 2);
    options.drop_duplicates = (int)(bytes / 8 % 2);
    options.undirected = (int)(bytes / 16 % 2);
    options.input = bytes / 32 % 2 ? "edges" : NULL;
#elif defined FUZZ_npz
    name = "fuzz.npz";
    options.drop_duplicates = (int)(bytes / 4 % 2);
#endif
    read_twice(data, bytes, name, &options);
    return 0;
}
