#include "spgemm/rows.h"

/*
 * The widest dense window, 2^16 words of 64 columns: 32 MB of f64 a thread, about what the last cache holds. Rows that
 * span more are summed in the hash table. A memory limit makes the window narrower. Twins are summed together where
 * their sums stay in the second-level cache or about; rows that repeat the one before are looked through nowhere, so
 * they are summed densely however few their products.
 */
enum { WIDEST_BIN = 16, WIDEST_TWINS = 2048, WIDEST_REPEATED = 8192 };

void spryi_rows_merge_spans(spryi_spgemm_job *job, const spryi_spgemm_spans *seen, int64_t longest)
{
    spryi_spgemm_spans *all = &job->spans;
    for (int b = 0; b < SPRYI_SPAN_BINS; b++) {
        if (seen->widest[b] > all->widest[b]) all->widest[b] = seen->widest[b];
        if (seen->busiest[b] > all->busiest[b]) all->busiest[b] = seen->busiest[b];
    }
    if (seen->twins > all->twins) all->twins = seen->twins;
    if (seen->repeated > all->repeated) all->repeated = seen->repeated;
    if (seen->scattered > all->scattered) all->scattered = seen->scattered;
    if (longest > job->longest) job->longest = longest;
}

int64_t spryi_rows_count_bytes(spryi_spgemm_job *job)
{
    const int64_t bytes = spryi_rows_mask_words(job) * 8;
    if (bytes > INT64_MAX / 2 / job->threads) return INT64_MAX / 2; /* past any memory; the product would overflow */
    while (job->threads > 1 && job->most_bytes > 0 && bytes * job->threads > job->most_bytes) job->threads--;
    return bytes * job->threads;
}

/* Sets windows and slots so that spans up to `bin` are summed densely; bytes of a thread's part. */
static int64_t settle(spryi_spgemm_job *job, int bin)
{
    int64_t widest = 0, busiest = job->spans.scattered;
    for (int b = 0; b < SPRYI_SPAN_BINS; b++) {
        const int64_t words = job->spans.widest[b], products = job->spans.busiest[b];
        if (b <= bin && words > widest) widest = words;
        if (b > bin && products > busiest) busiest = products;
    }
    if (bin == WIDEST_BIN && job->spans.twins <= WIDEST_TWINS && SPRYI_TWINS * job->spans.twins > widest)
        widest = SPRYI_TWINS * job->spans.twins;
    if (bin == WIDEST_BIN && job->spans.repeated <= WIDEST_REPEATED && job->spans.repeated > widest)
        widest = job->spans.repeated;
    job->windows = (widest + 63) / 64 * 64; /* looked through 64 words at a time */
    job->slots = spryi_rows_slots(busiest, job->b.cols);
    if (job->slots > 0 && job->slots < 64) job->slots = 64;
    return spryi_rows_lane_bytes(job);
}

int64_t spryi_rows_fill_bytes(spryi_spgemm_job *job)
{
    int64_t bytes = settle(job, WIDEST_BIN);
    if (job->most_bytes > 0 && bytes * job->threads > job->most_bytes) {
        int best = WIDEST_BIN;
        for (int bin = WIDEST_BIN - 1; bin >= 0; bin--) {
            const int64_t less = settle(job, bin);
            if (less < bytes) best = bin;
            if (less < bytes) bytes = less;
        }
        bytes = settle(job, best);
        while (job->threads > 1 && bytes * job->threads > job->most_bytes) job->threads--;
    }
    return bytes * job->threads;
}

int64_t spryi_rows_run_bytes(const spryi_spgemm_job *job)
{
    const int64_t value = (int64_t)spry_type_bytes(job->type), products = job->run_products + 16;
    if (job->run_products == 0) return 0;
    return SPRYI_ONCE_PAD(value * job->run_values) + SPRYI_ONCE_PAD(8 * job->run_products) +
           3 * SPRYI_ONCE_PAD(4 * products) + SPRYI_ONCE_PAD(2 * products) +
           SPRYI_ONCE_PAD(value * (job->run_staged + 16)) + SPRYI_ONCE_PAD(4 * (job->run_staged + 16)) +
           4 * SPRYI_ONCE_PAD(4 * SPRYI_RUN_LENGTH) +
           SPRYI_ONCE_PAD(SPRYI_RUN_TRACKS * (int64_t)sizeof(spryi_run_track));
}

/* 1: of A's rows that were looked at, some are the row before moved by a constant, or it. */
static int has_moved_rows(const spry_arrays *a)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    const int32_t *offsets = a->offsets, *columns = a->indices;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int32_t *before = columns + offsets[i - 1], *row = columns + offsets[i];
            const int64_t n = offsets[i] - offsets[i - 1];
            if (n < 2 || offsets[i + 1] - offsets[i] != n || row[0] < before[0]) continue;
            if ((int64_t)row[n - 1] - before[n - 1] == (int64_t)row[0] - before[0]) return 1;
        }
    return 0;
}

/* In a small product clearing the room would cost more than runs bring. */
void spryi_rows_look_for_runs(spryi_spgemm_job *job, int64_t staged)
{
    enum { LEAST_PRODUCTS = 1024 };
    job->run_products = job->run_values = job->run_staged = 0;
    if (job->products < LEAST_PRODUCTS || spryi_index_pair(job->a.offset_type, job->a.index_type) != 0) return;
    if (!has_moved_rows(&job->a)) return;
    job->run_products = job->products < SPRYI_RUN_PRODUCTS ? job->products : SPRYI_RUN_PRODUCTS;
    job->run_values = job->products < SPRYI_RUN_VALUES / 8 ? 8 * job->products : SPRYI_RUN_VALUES;
    job->run_staged = job->products < staged ? job->products : staged;
}

int64_t spryi_rows_fill_runs_bytes(spryi_spgemm_job *job)
{
    spryi_rows_look_for_runs(job, SPRYI_RUN_STAGED);
    spryi_spgemm_job unlimited = *job;
    unlimited.most_bytes = 0;
    if (job->most_bytes > 0 && spryi_rows_fill_bytes(&unlimited) > job->most_bytes) job->run_products = 0;
    return spryi_rows_fill_bytes(job);
}

int64_t spryi_rows_once_bytes(const spryi_spgemm_job *job)
{
    const int64_t value = (int64_t)spry_type_bytes(job->type), words = spryi_rows_mask_words(job);
    const int64_t list = job->listed + 16, entries = job->entries + 64;
    return SPRYI_ONCE_PAD(job->ring * (8 * value + 1)) + SPRYI_ONCE_PAD(job->ring / 64) +
           SPRYI_ONCE_PAD(64 * job->windows * value) + SPRYI_ONCE_PAD(8 * job->windows) +
           SPRYI_ONCE_PAD(64 * job->windows) + SPRYI_ONCE_PAD(128 * job->windows) + SPRYI_ONCE_PAD(8 * words) +
           SPRYI_ONCE_PAD(4 * words) + SPRYI_ONCE_PAD(words + 64) + 2 * SPRYI_ONCE_PAD(4 * list) +
           SPRYI_ONCE_PAD(value * list) + SPRYI_ONCE_PAD(2 * list) + spryi_rows_run_bytes(job) +
           spryi_rows_once_buffers(job) *
               (SPRYI_ONCE_PAD(4 * job->entries) + SPRYI_ONCE_PAD(4 * entries) + SPRYI_ONCE_PAD(value * entries));
}

/* Small products take little, and threads share them in some pieces each; lists are read 32 columns at once. */
int64_t spryi_rows_once_workspace(spryi_spgemm_job *job)
{
    enum { PIECES = 8, LEAST_ENTRIES = 4096 };
    const int64_t share = job->products / PIECES / job->threads;
    const int64_t words = spryi_rows_mask_words(job);
    job->windows = words < SPRYI_ONCE_WINDOWS ? words : SPRYI_ONCE_WINDOWS;
    job->listed = job->products < SPRYI_ONCE_LIST - 32 ? job->products + 32 : SPRYI_ONCE_LIST;
    job->entries = job->threads == 1 || share > SPRYI_ONCE_ENTRIES ? SPRYI_ONCE_ENTRIES
                   : share > LEAST_ENTRIES                         ? share
                                                                   : LEAST_ENTRIES;
    job->ring = job->grouped ? SPRYI_ONCE_RING_LEAST : 0;
    while (job->ring > 0 && job->ring < SPRYI_ONCE_RING && job->ring * 8 < job->b.cols) job->ring *= 2;
    if (job->products < job->entries && job->a.rows < job->entries - job->products)
        job->entries = job->products + job->a.rows;
    spryi_rows_look_for_runs(job, 0);
    return spryi_rows_once_bytes(job) * job->threads;
}
