/* How a transposed product is cut: as many parts as their sums of y are worth. */
#include "core/matrix.h"
#include "formats/bsr/bsr.h"

/* The block columns that block rows begin .. end - 1 meet. */
static void window(const spryi_bsr *s, int64_t begin, int64_t end, int64_t *first, int64_t *last)
{
    *first = *last = 0;
    for (int64_t I = begin, any = 0; I < end; I++) {
        int64_t b = spryi_index_at(s->offsets, s->types.offset_type, I);
        int64_t stop = spryi_index_at(s->offsets, s->types.offset_type, I + 1);
        if (b == stop) continue;
        int64_t left = spryi_index_at(s->columns, s->types.index_type, b);
        int64_t right = spryi_index_at(s->columns, s->types.index_type, stop - 1) + 1;
        if (!any || left < *first) *first = left;
        if (!any || right > *last) *last = right;
        any = 1;
    }
}

/* The finest windows are found once; those of half as many parts are theirs, two by two, since cuts coincide. */
static void merge(spryi_bsr_head *h)
{
    h->parts /= 2;
    for (int p = 0; p < h->parts; p++) {
        const int64_t first = h->window_begin[2 * p], last = h->window_end[2 * p];
        const int64_t next = h->window_begin[2 * p + 1], next_last = h->window_end[2 * p + 1];
        const int empty = first == last, next_empty = next == next_last;
        h->window_begin[p] = empty ? next : next_empty || first < next ? first : next;
        h->window_end[p] = empty ? next_last : next_empty || last > next_last ? last : next_last;
    }
    for (int p = h->parts; p < 2 * h->parts; p++) h->window_begin[p] = h->window_end[p] = 0;
}

/* Halved until the sums are at most a quarter of the stored values, and parts large enough to start. */
void spryi_bsr_find_windows(spryi_bsr *s, int threads)
{
    enum { LEAST_VALUES = 4096, SHARE = 4 };
    spryi_bsr_head *h = &s->head;
    const int64_t values = h->blocks * h->block * h->block;
    h->parts = SPRYI_BSR_PARTS;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int p = 0; p < SPRYI_BSR_PARTS; p++)
        window(s, spryi_bsr_cut(s, p, SPRYI_BSR_PARTS), spryi_bsr_cut(s, p + 1, SPRYI_BSR_PARTS), &h->window_begin[p],
               &h->window_end[p]);
    for (; h->parts > 1; merge(h)) {
        int64_t sums = 0;
        for (int p = 0; p < h->parts; p++) sums += (h->window_end[p] - h->window_begin[p]) * h->block;
        if (values / h->parts >= LEAST_VALUES && (sums <= values / SHARE || h->parts == 2)) return;
    }
}
