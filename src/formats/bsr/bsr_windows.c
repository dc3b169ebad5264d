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

/* Halved until the sums are at most a quarter of the stored values, and parts large enough to start. */
void spryi_bsr_find_windows(spryi_bsr *s, int threads)
{
    enum { LEAST_VALUES = 4096, SHARE = 4 };
    spryi_bsr_head *h = &s->head;
    const int64_t values = h->blocks * h->block * h->block;
    for (h->parts = SPRYI_BSR_PARTS; h->parts > 1; h->parts /= 2) {
        if (values / h->parts < LEAST_VALUES) continue;
        int64_t sums = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sums)
        for (int p = 0; p < h->parts; p++) {
            window(s, spryi_bsr_cut(s, p, h->parts), spryi_bsr_cut(s, p + 1, h->parts), &h->window_begin[p],
                   &h->window_end[p]);
            sums += (h->window_end[p] - h->window_begin[p]) * h->block;
        }
        if (sums <= values / SHARE || h->parts == 2) return;
    }
    window(s, 0, h->block_rows, &h->window_begin[0], &h->window_end[0]);
}
