/* Records from samples: statistics, disturbance, hashes of results, and output of records. */
#include "bench/internal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void bench_begin_record(const bench_session *session, record *r, const bench_source *source)
{
    record_init(r);
    r->op = session->options->operation.op;
    if (bench_factor_of(r->op) == BY_COLUMNS) r->layout = session->options->operation.row_major ? "row" : "column";
    r->time.state = session->options->protocol.cold ? "cold" : "warm";
    r->rates.copy_gbps = session->copy_gbps;
    RECORD_TEXT(r->input.name, source->name);
    r->input.path = source->path;
}

spry_status bench_describe(const bench_session *session, record *r, const bench_subject *subject, spry_error *err)
{
    bench_begin_record(session, r, subject->source);
    if (subject->count > 0) r->count = subject->count;
    r->input.twin = strncmp(subject->source->path, "gen:twin,", 9) == 0;
    r->method.peer = 0;
    return record_describe(r, subject->A, err);
}

spry_status bench_leave_out_values(const bench_session *session, spry_arrays *a, spry_matrix **pattern, void **ones,
                                   record *common, spry_error *err)
{
    spry_arrays structure = *a;
    structure.value_type = SPRY_PATTERN;
    structure.values = NULL;
    structure.ownership = SPRY_BORROW;
    const spry_status status = spry_matrix_create(session->context, pattern, &structure, err);
    if (status != SPRY_OK) return status;
    common->input.type = a->value_type == SPRY_F32 ? "pattern:f32" : "pattern:f64";
    a->values = *ones = allocate_pages((size_t)csr_part_bytes(a, 2));
    if (!*ones) return bench_out_of_memory(err);
    fill_constant(*ones, a->nnz, a->value_type, 1, pool_threads(session->context));
    return SPRY_OK;
}

/* ---- statistics --------------------------------------------------------------------------------- */

/* Returns a quantile of sorted values by linear interpolation. share: 0 to 1. */
static double quantile(const double *sorted, int count, double share)
{
    double position = share * (double)(count - 1);
    int below = (int)position;
    if (below >= count - 1) return sorted[count - 1];
    double part = position - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

bench_summary bench_summarise(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    double sum = 0;
    for (int s = 0; s < count; s++) sum += values[s];
    return (bench_summary){.median = quantile(values, count, 0.5),
                           .mean = sum / count,
                           .min = values[0],
                           .spread = quantile(values, count, 0.75) - quantile(values, count, 0.25)};
}

void bench_fill_times(record *r, double *samples, int count, double operations, double bytes)
{
    if (r->status != RECORD_OK || count == 0) return;
    const bench_summary s = bench_summarise(samples, count);
    r->time.median_us = s.median;
    r->time.mean_us = s.mean;
    r->time.min_us = s.min;
    r->time.spread_us = s.spread;
    r->rates.gflops = 1e-3 * operations / s.median;
    r->rates.gbps = 1e-3 * bytes / s.median;
    r->rates.roof = r->rates.gbps / r->rates.copy_gbps;
}

enum { PIECE = 1 << 20 };

typedef struct hashing {
    const char *data;
    size_t bytes;
    atomic_ullong hash;
} hashing;

static void hash_pieces(void *job, int64_t begin, int64_t end)
{
    hashing *h = job;
    for (int64_t k = begin; k < end; k++) {
        const size_t from = (size_t)k * PIECE, length = h->bytes - from < PIECE ? h->bytes - from : PIECE;
        h->hash += XXH3_64bits_withSeed(h->data + from, length, (XXH64_hash_t)k);
    }
}

/* Hashes blocks of a fixed size in parallel and adds the hashes, so that the number of threads does not matter. */
uint64_t bench_hash_bytes(const void *data, size_t bytes, int threads)
{
    hashing h = {.data = data, .bytes = bytes};
    run_shares(threads, (int64_t)((bytes + PIECE - 1) / PIECE), hash_pieces, &h);
    return h.hash;
}

/* ---- disturbance -------------------------------------------------------------------------------- */

/* Adds a note on disturbance to the reason of a successful record. */
static void note_disturbance(record *r, double disturbance)
{
    size_t used = strlen(r->reason);
    if (r->status == RECORD_OK)
        snprintf(r->reason + used, sizeof r->reason - used,
                 "%sdisturbed: other programs used %.0f %% of the processors", used ? "; " : "", 100 * disturbance);
}

/* ---- output of records -------------------------------------------------------------------------- */

spry_status bench_fail(spry_error *err, spry_status status, const char *message)
{
    if (err) {
        *err = (spry_error){.status = status};
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return status;
}

spry_status bench_out_of_memory(spry_error *err)
{
    return bench_fail(err, SPRY_OUT_OF_MEMORY, "out of memory in the benchmark");
}

spry_status bench_emit_records(bench_session *session, const record *records, int count, spry_error *err)
{
    if (session->options->receiver.emit(session->options->receiver.user, records, count) == 0) return SPRY_OK;
    session->stopped = true;
    return bench_fail(err, SPRY_FILE_ERROR, "the records cannot be written");
}

spry_status bench_emit(bench_session *session, const bench_subject *subject, void *cases, size_t stride, int count,
                       double disturbance, spry_error *err)
{
    const bench_options *options = session->options;
    record *records = malloc((size_t)(count + 1) * sizeof *records);
    if (!records) return bench_out_of_memory(err);
    for (int i = 0; i < count; i++) {
        memcpy(&records[i], (char *)cases + (size_t)i * stride, sizeof *records);
        RECORD_TEXT(records[i].method.ordering, subject->ordering);
        records[i].cost.setup_us += subject->reorder_us; /* NaN remains NaN */
        if (records[i].cost.break_even > 0 && subject->reorder_us > 0)
            records[i].cost.break_even =
                (int64_t)ceil(records[i].cost.setup_us / (records[i].cost.baseline_us - records[i].cost.predicted_us));
        if (records[i].time.median_us > 0) records[i].time.disturbed = disturbance >= DISTURBED_SHARE;
        if (disturbance >= DISTURBED_SHARE) note_disturbance(&records[i], disturbance);
    }
    if (disturbance >= DISTURBED_SHARE && options->receiver.note) {
        char text[400];
        snprintf(text, sizeof text, "%s: other programs used %.0f %% of the processors: its times are not reliable",
                 subject->source->name, 100 * disturbance);
        options->receiver.note(text);
    }
    spry_status status = bench_emit_records(session, records, count, err);
    free(records);
    return status;
}
