#include "bench/peers/sell.h"

#include <string.h>

/* Padding that SELL may have: the library refuses its own from there. */
enum { MOST_PADDING = 2, SMALL_PADDING = 4096 };

void peer_sell_release(peer_sell *sell)
{
    free(sell->offsets);
    free(sell->columns);
    free(sell->values);
}

/* 0: out of memory. slots is resolved even where there are too many of them for the offsets. */
static int sell_offsets(const spry_peer_matrix *a, peer_sell *sell)
{
    sell->slices = (a->rows + PEER_SELL_SLICE - 1) / PEER_SELL_SLICE;
    sell->slots = 0;
    sell->offsets = malloc((size_t)(sell->slices + 1) * (size_t)a->offset_bytes);
    if (!sell->offsets) return 0;
    for (int64_t s = 0; s <= sell->slices; s++) {
        spry_peer_put_index(a->offset_bytes, sell->offsets, s, sell->slots);
        int64_t end = (s + 1) * PEER_SELL_SLICE < a->rows ? (s + 1) * PEER_SELL_SLICE : a->rows, widest = 0;
        for (int64_t i = s * PEER_SELL_SLICE; i < end; i++) {
            int64_t width = spry_peer_offset(a, i + 1) - spry_peer_offset(a, i);
            if (width > widest) widest = width;
        }
        sell->slots += widest * PEER_SELL_SLICE;
    }
    return 1;
}

/* count items of 4 or 8 bytes, PEER_SELL_SLICE places apart in to. */
static void spread(char *to, const char *from, int64_t count, int bytes)
{
    if (bytes == 8)
        for (int64_t k = 0; k < count; k++) memcpy(to + k * PEER_SELL_SLICE * 8, from + k * 8, 8);
    else
        for (int64_t k = 0; k < count; k++) memcpy(to + k * PEER_SELL_SLICE * 4, from + k * 4, 4);
}

/* 0: out of memory. */
static int sell_fill(const spry_peer_matrix *a, peer_sell *sell, int threads)
{
    size_t column_bytes = (size_t)a->index_bytes * PEER_SELL_SLICE,
           value_bytes = (size_t)a->value_bytes * PEER_SELL_SLICE;
    sell->columns = malloc((size_t)sell->slots * (size_t)a->index_bytes + 1);
    sell->values = malloc((size_t)sell->slots * (size_t)a->value_bytes + 1);
    if (!sell->columns || !sell->values) return 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
    for (int64_t s = 0; s < sell->slices; s++) {
        int64_t start = spry_peer_index(a->offset_bytes, sell->offsets, s);
        size_t width = (size_t)(spry_peer_index(a->offset_bytes, sell->offsets, s + 1) - start) / PEER_SELL_SLICE;
        char *columns = sell->columns + start * a->index_bytes, *values = sell->values + start * a->value_bytes;
        memset(columns, 0xff, width * column_bytes);
        memset(values, 0, width * value_bytes);
        for (int64_t i = s * PEER_SELL_SLICE; i < (s + 1) * PEER_SELL_SLICE && i < a->rows; i++) {
            int64_t first = spry_peer_offset(a, i), count = spry_peer_offset(a, i + 1) - first,
                    lane = i % PEER_SELL_SLICE;
            spread(columns + lane * a->index_bytes, (const char *)a->columns + first * a->index_bytes, count,
                   a->index_bytes);
            spread(values + lane * a->value_bytes, (const char *)a->values + first * a->value_bytes, count,
                   a->value_bytes);
        }
    }
    return 1;
}

int peer_sell_build(peer_sell *sell, const spry_peer_matrix *a, int threads, spry_peer_error *error)
{
    *sell = (peer_sell){0};
    const int made = sell_offsets(a, sell);
    if (made && a->offset_bytes == 4 && sell->slots > INT32_MAX)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "32-bit offsets cannot tell so many slots of SELL");
    if (made && sell->slots - a->nnz > MOST_PADDING * a->nnz + SMALL_PADDING)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "slices of %d rows would store %lld zeros beside %lld entries, over %d each",
                              PEER_SELL_SLICE, (long long)(sell->slots - a->nnz), (long long)a->nnz, MOST_PADDING);
    if (made && sell_fill(a, sell, threads)) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for sliced ELL with %lld slots",
                          (long long)sell->slots);
}
