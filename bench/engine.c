/* Runs the benchmark over matrices, types and orderings, and emits their records. */
#include "bench/internal.h"
#include "spry/io.h"
#include "spry/matrix.h"

#include "common/copy_bandwidth.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const bench_types bench_all_types[BENCH_TYPES] = {
    {SPRY_F64, SPRY_F64, "f64"},       {SPRY_F32, SPRY_F32, "f32"},     {SPRY_F32, SPRY_F64, "f32:f64"},
    {SPRY_BF16, SPRY_F32, "bf16:f32"}, {SPRY_F16, SPRY_F32, "f16:f32"},
};

/* ---- orderings ---------------------------------------------------------------------------------- */

/* An ordering of a matrix. It is computed once and used for all types. */
typedef struct numbering {
    bench_subject subject; /* subject.A: the matrix in the current type */
    spry_ordering *handle; /* NULL if the matrix keeps its order, or until the ordering is computed */
    double us;             /* time of computing the ordering */
    spry_status status;    /* status and error of computing the ordering */
    spry_error fault;
} numbering;
enum { MOST_NUMBERINGS = 8 };

/* A matrix that was read, and its orderings. */
typedef struct prepared {
    const bench_source *source;
    spry_matrix *A;
    numbering list[MOST_NUMBERINGS];
    int count;
    spry_status status; /* status and error of reading and ordering */
    spry_error fault;
    bool reading; /* the error occurred during reading */
} prepared;

static bool keeps_order(const numbering *n)
{
    return n->subject.plan_ordering || strcmp(n->subject.ordering, "none") == 0;
}

/* Returns true for bandk, bandk2, bandk3 and bandk4. */
static bool is_bandk(const char *ordering)
{
    return strncmp(ordering, "bandk", 5) == 0;
}

static void add_numbering(prepared *p, const char *ordering, bench_part part, const char *device)
{
    if (p->count == MOST_NUMBERINGS) return;
    numbering *n = &p->list[p->count++];
    *n = (numbering){.subject = {.source = p->source, .ordering = ordering, .part = part, .device = device}};
    if (strncmp(ordering, "plan-", 5) == 0) n->subject.plan_ordering = ordering + 5;
    if (is_bandk(ordering) && ordering[5]) n->subject.k = ordering[5] - '0';
}

bool bench_asks_for(const bench_options *o, const char *format)
{
    bool named = o->candidates.all_kernels || text_list_names(&o->candidates.formats, format);
    for (int i = 0; i < o->candidates.kernels.count; i++)
        named = named ||
                (strncmp(o->candidates.kernels.items[i], format, 4) == 0 && o->candidates.kernels.items[i][4] == '_');
    return named;
}

/*
 * Adds the orderings "none" for all formats, Band-k for csr2 and csr3 on each device, "bandk4" for csr4, and RCM for
 * other formats.
 */
static void add_numberings_by_format(prepared *p, const bench_session *session)
{
    const bench_options *o = session->options;
    const bool both = strcmp(o->candidates.device, "all") == 0 && bench_has_device(session, "cuda");
    const bool csrk = bench_asks_for(o, "csr2") || bench_asks_for(o, "csr3");
    add_numbering(p, "none", ALL_FORMATS, o->candidates.device);
    add_numbering(p, "rcm", EXCEPT_CSRK, o->candidates.device);
    if (csrk) add_numbering(p, "bandk", ONLY_CSRK, both ? "cpu" : o->candidates.device);
    if (csrk && both) add_numbering(p, "bandk", ONLY_CSRK, "cuda");
    if (bench_asks_for(o, "csr4") && strcmp(o->candidates.device, "cuda") != 0)
        add_numbering(p, "bandk4", ALL_FORMATS, "cpu");
}

/* Adds the orderings "none" for all formats, Band-k with k levels for csr2, csr3 and csr4, and RCM for the others. */
static void add_numberings_by_k(prepared *p, const bench_session *session)
{
    static const char *const formats[] = {"csr2", "csr3", "csr4"}, *const orderings[] = {"bandk2", "bandk3", "bandk4"};
    const bench_options *o = session->options;
    const bool on_gpu = strcmp(o->candidates.device, "cuda") == 0;
    add_numbering(p, "none", ALL_FORMATS, o->candidates.device);
    add_numbering(p, "rcm", EXCEPT_CSRK, o->candidates.device);
    for (int f = 0; f < (on_gpu ? 2 : 3); f++)
        if (bench_asks_for(o, formats[f])) add_numbering(p, orderings[f], ALL_FORMATS, on_gpu ? "cuda" : "cpu");
}

static void add_numberings(prepared *p, const bench_session *session)
{
    const text_list *orderings = &session->options->candidates.orderings;
    for (int i = 0; i < orderings->count; i++)
        if (strcmp(orderings->items[i], "by-format") == 0)
            add_numberings_by_format(p, session);
        else if (strcmp(orderings->items[i], "by-k") == 0)
            add_numberings_by_k(p, session);
        else
            add_numbering(p, orderings->items[i], ALL_FORMATS, session->options->candidates.device);
}

/*
 * Returns the preset for sizes of Band-k's groups on the first GPU, the same as csr3 chooses without a table of sizes.
 */
static const char *tuning_for_gpu(spry_context *context)
{
    spry_device_info device = SPRY_INIT(spry_device_info);
    if (spry_device_get_info(context, &device, 1, NULL) != SPRY_OK || !device.available) return "ampere";
    if (device.compute_capability >= 90) return "hopper";
    return device.compute_capability >= 80 ? "ampere" : "volta";
}

/*
 * Computes an ordering. For a GPU, sizes of Band-k's groups come from the context's table of tuned sizes, else from the
 * preset of tuning_for_gpu.
 */
static spry_status find_ordering(spry_context *context, const spry_matrix *A, numbering *n, spry_error *err)
{
    const double start = now_us();
    const bool bandk = is_bandk(n->subject.ordering), for_gpu = bandk && strcmp(n->subject.device, "cuda") == 0;
    spry_ordering_options options = SPRY_INIT(spry_ordering_options);
    options.method = bandk ? "bandk" : n->subject.ordering;
    options.k = n->subject.k;
    options.tuning = for_gpu ? "table" : NULL;
    spry_status status = spry_ordering_create(context, &n->handle, A, &options, err);
    if (for_gpu && status == SPRY_INVALID_ARGUMENT) {
        options.tuning = tuning_for_gpu(context);
        status = spry_ordering_create(context, &n->handle, A, &options, err);
    }
    if (bandk) {
        n->subject.groups = n->handle;
        n->subject.groups_device = for_gpu ? "cuda" : "cpu";
    }
    n->us = now_us() - start;
    return status;
}

static spry_status measure_subject(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *o = session->options;
    const bench_factor factor = bench_factor_of(o->operation.op);
    spry_status status = SPRY_OK;
    if (factor == BY_A_MATRIX) return bench_spgemm(session, subject, err);
    if (factor == BY_A_VECTOR) return bench_spmv(session, subject, err);
    if (bench_iterates(o->operation.op)) return bench_solvers(session, subject, err);
    for (int c = 0; status == SPRY_OK && c < o->operation.counts_length; c++) {
        bench_subject with_count = *subject;
        with_count.count = o->operation.counts[c];
        status = bench_spmv(session, &with_count, err);
    }
    return status;
}

/* Measures A under one ordering. Set-up times include computing the ordering and moving the entries. */
static spry_status measure_numbering(bench_session *session, const spry_matrix *A, numbering *n, spry_error *err)
{
    n->subject.A = A;
    if (keeps_order(n)) return measure_subject(session, &n->subject, err);
    spry_matrix *B = NULL;
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    spry_selection rows = SPRY_INIT(spry_selection), columns = SPRY_INIT(spry_selection);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    const double start = now_us();
    spry_status status = spry_ordering_get_info(n->handle, &info, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(A, &arrays, err);
    rows.list = info.row_perm;
    rows.count = info.rows;
    columns.list = info.column_perm;
    columns.count = info.column_perm ? info.columns : 0;
    options.offset_type = arrays.offset_type;
    options.keep_duplicates = true;
    if (status == SPRY_OK) status = spry_matrix_extract(session->context, &B, A, &rows, &columns, &options, err);
    n->subject.A = B;
    n->subject.reorder_us = n->us + now_us() - start;
    if (status == SPRY_OK) status = measure_subject(session, &n->subject, err);
    spry_matrix_destroy(B);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/*
 * Returns the time of reading the file, a stage that study 002 measures. If reading is short, it is the median of five
 * readings, else the time of the first reading. NaN if other matrices are read at the same time, or if there is no file
 * to read again.
 */
static double reading_time(const prepared *p, spry_context *context, const spry_read_options *options, double first_us,
                           bool alone)
{
    enum { TIMES = 5 };
    static const double short_us = 200000;
    const char *path = p->source->path;
    double us[TIMES] = {first_us};
    int times = 1;
    if (!alone || strncmp(path, "gen:", 4) == 0 || strcmp(path, "-") == 0) return NAN;
    while (times < TIMES && first_us < short_us) {
        spry_matrix *A = NULL;
        const double start = now_us();
        if (read_csr(context, &A, path, options, NULL) != SPRY_OK) break;
        us[times++] = now_us() - start;
        spry_matrix_destroy(A);
    }
    return bench_summarise(us, times).median;
}

/* Returns the type in which matrices are read. Other types are converted from it, so that values are rounded once. */
static spry_type widest_type(const bench_options *o)
{
    bool only_f32 = true;
    for (int t = 0; t < o->operation.type_count; t++)
        only_f32 = only_f32 && o->operation.types[t].stored == SPRY_F32 && o->operation.types[t].vectors == SPRY_F32;
    return only_f32 ? SPRY_F32 : SPRY_F64;
}

/* Reads the matrix of a source, once for all types. */
static void read_source(prepared *p, spry_context *context, const bench_session *session)
{
    const bench_options *o = session->options;
    spry_read_options options = o->input.reading;
    options.struct_size = sizeof options;
    options.value_type = widest_type(o);
    options.offset_type = o->input.index[0];
    options.index_type = o->input.index[1];
    p->status = SPRY_OK;
    if (!p->source->path[0]) return;
    add_numberings(p, session);
    const double start = now_us();
    p->status = read_csr(context, &p->A, p->source->path, &options, &p->fault);
    const double took = now_us() - start;
    p->reading = p->status != SPRY_OK;
    const bool squares = strcmp(o->operation.op, "spgemm") == 0 && p->status == SPRY_OK;
    const double us = squares ? reading_time(p, context, &options, took, o->input.at_once <= 1) : NAN;
    for (int n = 0; n < p->count; n++) p->list[n].subject.read_us = us;
}

/* Computes ordering n. Stores its error separately, because threads may compute orderings of p in parallel. */
static void find_numbering(prepared *p, int n, spry_context *context)
{
    if (n < p->count && p->status == SPRY_OK && !keeps_order(&p->list[n]))
        p->list[n].status = find_ordering(context, p->A, &p->list[n], &p->list[n].fault);
}

/* Copies the error of the first failed ordering: the matrix is measured only if all orderings succeed. */
static void close_preparation(prepared *p)
{
    for (int n = 0; n < p->count && p->status == SPRY_OK; n++) {
        p->status = p->list[n].status;
        p->fault = p->list[n].fault;
    }
}

static void release(prepared *p)
{
    for (int n = 0; n < p->count; n++) spry_ordering_destroy(p->list[n].handle);
    spry_matrix_destroy(p->A);
    *p = (prepared){0};
}

typedef struct preparation {
    prepared *batch;
    int count;
    const bench_session *session;
    atomic_int next; /* next matrix or ordering */
} preparation;

/*
 * Runs on each thread. Takes matrices from a shared counter and reads them until none is left. find_numberings computes
 * orderings in the same way.
 */
static void read_sources(void *job, int64_t begin, int64_t end)
{
    preparation *p = job;
    (void)begin, (void)end;
    for (int b; (b = atomic_fetch_add(&p->next, 1)) < p->count;)
        read_source(&p->batch[p->count - 1 - b], p->session->options->input.preparer, p->session);
}

static void find_numberings(void *job, int64_t begin, int64_t end)
{
    preparation *p = job;
    (void)begin, (void)end;
    for (int k; (k = atomic_fetch_add(&p->next, 1)) < p->count * MOST_NUMBERINGS;)
        find_numbering(&p->batch[p->count - 1 - k / MOST_NUMBERINGS], k % MOST_NUMBERINGS,
                       p->session->options->input.preparer);
}

/*
 * Reads matrices, then computes orderings. If at_once is more than 1, each matrix and each ordering gets one thread,
 * because most orderings and generators use only one. Starts with the last matrices, which are the largest, to avoid
 * imbalance at the end.
 */
static void prepare_batch(prepared *batch, int count, const bench_session *session)
{
    const bench_options *o = session->options;
    char text[320];
    snprintf(text, sizeof text, "%s%s: reading and reordering", batch[0].source->name, count > 1 ? " and others" : "");
    o->receiver.progress(text);
    if (o->input.at_once <= 1) {
        read_source(&batch[0], session->context, session);
        for (int n = 0; n < batch[0].count; n++) find_numbering(&batch[0], n, session->context);
    } else {
        preparation p = {.batch = batch, .count = count, .session = session};
        run_shares((int)o->input.at_once, o->input.at_once, read_sources, &p);
        p.next = 0;
        run_shares((int)o->input.at_once, o->input.at_once, find_numberings, &p);
    }
    for (int b = 0; b < count; b++) close_preparation(&batch[b]);
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* Emits one record for a matrix without cases. */
static spry_status emit_without_matrix(bench_session *session, const bench_source *source, const char *type,
                                       record_status status, const char *reason, spry_error *err)
{
    record r;
    bench_begin_record(session, &r, source);
    r.input.type = type ? type : session->options->operation.types[0].name;
    record_fail(&r, status, "%s", reason);
    return bench_emit_records(session, &r, 1, err);
}

/*
 * Emits a note such as "grid7: 1204 of 6940000 values were rounded to bf16, by at most 0.0039 of their size", or a note
 * on values that overflowed.
 */
static void note_rounding(const bench_session *session, const bench_types *types, const char *name,
                          const spry_matrix *A, const spry_rounding *r)
{
    const int base = index_base_of(A);
    const int64_t nnz = spry_matrix_nnz(A);
    char text[640];
    if (r->overflowed > 0)
        snprintf(text, sizeof text,
                 "%s: %lld of %lld values were rounded to %s, and %lld overflowed, the first in row %lld and column "
                 "%lld (counted from %d)",
                 name, (long long)r->rounded, (long long)nnz, spry_type_name(types->stored), (long long)r->overflowed,
                 (long long)r->overflowed_row + base, (long long)r->overflowed_column + base, base);
    else
        snprintf(text, sizeof text, "%s: %lld of %lld values were rounded to %s, by at most %.2g of their size", name,
                 (long long)r->rounded, (long long)nnz, spry_type_name(types->stored), r->largest);
    session->options->receiver.note(text);
}

/* Converts the matrix to the stored type. Emits a note on the rounding if vectors have another type. */
static spry_status convert_to(const bench_session *session, const prepared *p, spry_matrix **B,
                              const bench_types *types, spry_error *err)
{
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_rounding rounding = SPRY_INIT(spry_rounding);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    spry_status status = spry_matrix_get_arrays(p->A, &arrays, err);
    options.value_type = types->stored;
    options.offset_type = arrays.offset_type;
    spry_rounding *noted = types->stored != types->vectors ? &rounding : NULL;
    if (status == SPRY_OK) status = spry_matrix_convert(session->context, B, noted, p->A, &options, err);
    if (status == SPRY_OK && noted && session->options->receiver.note)
        note_rounding(session, types, p->source->name, p->A, &rounding);
    return status;
}

static spry_status measure_type(bench_session *session, prepared *p, const bench_types *types, spry_error *err)
{
    spry_matrix *converted = NULL;
    spry_status status = SPRY_OK;
    const bool is_last = types == session->options->operation.types + session->options->operation.type_count - 1;
    if (types->stored != widest_type(session->options)) status = convert_to(session, p, &converted, types, err);
    if (status == SPRY_OK && converted && is_last) { /* the matrix as read is not needed again */
        spry_matrix_destroy(p->A);
        p->A = converted;
        converted = NULL;
    }
    for (int n = 0; status == SPRY_OK && n < p->count; n++) {
        p->list[n].subject.types = types;
        status = measure_numbering(session, converted ? converted : p->A, &p->list[n], err);
    }
    spry_matrix_destroy(converted);
    return status;
}

static spry_status measure(bench_session *session, prepared *p, spry_error *err)
{
    const bench_options *o = session->options;
    const char *type = NULL;
    spry_status status = p->status;
    if (!p->source->path[0])
        return emit_without_matrix(session, p->source, NULL, RECORD_SKIPPED, p->source->reason, err);
    for (int t = 0; status == SPRY_OK && t < o->operation.type_count; t++) {
        type = o->operation.types[t].name;
        status = measure_type(session, p, &o->operation.types[t], &p->fault);
    }
    if (status == SPRY_OK) return SPRY_OK;
    if (session->stopped) {
        if (err) *err = p->fault;
        return status;
    }
    o->receiver.complain(o->receiver.user, &p->fault, p->reading); /* the run continues with other matrices */
    return emit_without_matrix(session, p->source, type, RECORD_FAILED, p->fault.message, err);
}

/* Skips a matrix after the time limit. Returns 1 if skipped. */
static int skip_late(bench_session *session, const bench_source *source, double start_us, spry_status *status,
                     spry_error *err)
{
    const int64_t seconds = session->options->protocol.seconds;
    char reason[80];
    if (seconds <= 0 || now_us() - start_us <= 1e6 * (double)seconds) return 0;
    snprintf(reason, sizeof reason, "the time limit of %lld s was reached", (long long)seconds);
    *status = emit_without_matrix(session, source, NULL, RECORD_SKIPPED, reason, err);
    return 1;
}

static spry_status run_batches(bench_session *session, spry_error *err)
{
    const bench_options *o = session->options;
    const double start = now_us();
    const int64_t most = o->input.at_once > 1 ? o->input.at_once : 1;
    spry_status status = SPRY_OK;
    prepared *batch = calloc((size_t)most, sizeof *batch);
    if (!batch) return bench_out_of_memory(err);
    for (int s = 0; status == SPRY_OK && s < o->input.source_count;) {
        int chosen = 0;
        for (; s < o->input.source_count && chosen < most && status == SPRY_OK; s++)
            if (!skip_late(session, &o->input.sources[s], start, &status, err))
                batch[chosen++] = (prepared){.source = &o->input.sources[s], .fault = {0}};
        if (chosen > 0) prepare_batch(batch, chosen, session);
        for (int b = 0; b < chosen; b++) {
            if (status == SPRY_OK && !skip_late(session, batch[b].source, start, &status, err))
                status = measure(session, &batch[b], err);
            release(&batch[b]);
        }
    }
    free(batch);
    return status;
}

/*
 * Measures the copy bandwidth and allocates the flush buffer for cold runs. Returns 0 if memory for the buffer is
 * short.
 */
static int open_session(bench_session *session, const bench_options *options)
{
    *session = (bench_session){.options = options, .context = options->context, .copy_gbps = NAN};
    if (!options->protocol.skip_bandwidth) {
        char text[320];
        options->receiver.progress("measuring the copy bandwidth");
        const copy_bandwidth copy = measure_copy_bandwidth(options->context, false);
        session->copy_gbps = copy.gbps;
        snprintf(text, sizeof text, "the copy bandwidth is %s", copy.note);
        if (copy.note[0] && options->receiver.note) options->receiver.note(text);
    }
    if (!options->protocol.cold) return 1;
    session->flush_bytes = cache_flush_bytes(options->context);
    if (session->flush_bytes > 0) session->flush = allocate_pages((size_t)session->flush_bytes);
    if (session->flush) memset(session->flush, 1, (size_t)session->flush_bytes);
    return session->flush != NULL;
}

spry_status bench_run(const bench_options *options, spry_error *err)
{
    bench_session session;
    if (!open_session(&session, options))
        return bench_fail(err, SPRY_OUT_OF_MEMORY, "out of memory for the buffer of --cold, which flushes the caches");
    spry_status status = run_batches(&session, err);
    free(session.flush);
    return status;
}
