/*
 * Writes a matrix as text: as Matrix Market, or as CSV with one line for each entry. Entries are written in stored
 * order. A Matrix Market file counts rows and columns from 1 and contains the lower triangle of a symmetric matrix. A
 * CSV file counts from the matrix's index base and contains all entries. Threads format pieces of PIECE_ENTRIES entries
 * at the same time and write the pieces in order. If the name ends in ".gz", each piece is a gzip member; gzip and zlib
 * read all members as one file. The bytes do not depend on the number of threads.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/container.h"
#include "io/decimal.h"
#include "io/gzip.h"
#include "io/output.h"
#include "io/readers.h"
#include "spry/io.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_ENTRIES = 32768, MOST_LINE = 20 + 1 + 20 + 1 + SPRYI_NUMBER_CHARS + 1 };

/* Buffers of one thread, which formats and compresses pieces. */
typedef struct press {
    char *text;
    unsigned char *packed; /* compressed text; NULL: text is written uncompressed */
    size_t compressed_bytes;
    z_stream z;
} press;

typedef struct writing {
    const spry_matrix *A;
    spryi_field field;
    bool lower; /* entries above the diagonal are omitted */
    bool csv;
    char divider;
    int base;
    spryi_output output;
    int64_t pieces;
    _Atomic int64_t next; /* next piece to format */
    _Atomic int64_t next_to_write;
    press *presses;
    /* used only by the thread that writes piece next_to_write */
    spry_status status;
    spry_error error;
} writing;

/* ---- entries ----------------------------------------------------------------------------------- */

/* Position among the entries, in stored order. */
typedef struct walk {
    const spry_arrays *a;
    int64_t major, majors, k, i, j;
} walk;

static walk start_walk(const spry_arrays *a, int64_t k)
{
    walk w = {.a = a, .k = k, .majors = a->layout == SPRY_CSR ? a->rows : a->columns};
    if (a->layout != SPRY_COO && k < a->nnz) w.major = spryi_major_of(a, k);
    return w;
}

/* Sets w->i and w->j to row and column of entry w->k. Returns 0 if they are outside the matrix. */
static inline int step(walk *w)
{
    const spry_arrays *a = w->a;
    int64_t minor = spryi_index_at(a->indices, a->index_type, w->k);
    if (a->layout == SPRY_COO) {
        w->i = spryi_index_at(a->row_indices, a->index_type, w->k);
        w->j = minor;
    } else {
        while (w->major + 1 < w->majors && spryi_index_at(a->offsets, a->offset_type, w->major + 1) <= w->k) w->major++;
        w->i = a->layout == SPRY_CSR ? w->major : minor;
        w->j = a->layout == SPRY_CSR ? minor : w->major;
    }
    w->k++;
    return w->i >= 0 && w->i < a->rows && w->j >= 0 && w->j < a->columns;
}

static int64_t piece_end(const spry_arrays *a, int64_t piece)
{
    return (piece + 1) * PIECE_ENTRIES < a->nnz ? (piece + 1) * PIECE_ENTRIES : a->nnz;
}

/* ---- the banner ------------------------------------------------------------------------------ */

typedef struct value_job {
    const writing *w;
    atomic_int not_whole, not_one;
    atomic_llong entries;
} value_job;

static void inspect_values(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    value_job *j = job;
    const spry_arrays *a = &j->w->A->a;
    int all_whole = 1, all_ones = 1;
    for (int64_t k = begin; k < end; k++) {
        double x = spryi_value_of(a, k);
        all_whole = all_whole && x == trunc(x) && fabs(x) < 0x1p63;
        all_ones = all_ones && x == 1;
    }
    if (!all_whole) atomic_store(&j->not_whole, 1);
    if (!all_ones) atomic_store(&j->not_one, 1);
}

static void count_in_pieces(void *job, int64_t begin, int64_t end)
{
    value_job *j = job;
    const spry_arrays *a = &j->w->A->a;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t count = 0;
        walk at = start_walk(a, piece * PIECE_ENTRIES);
        while (at.k < piece_end(a, piece)) {
            (void)step(&at);
            count += at.i >= at.j;
        }
        atomic_fetch_add(&j->entries, count);
    }
}

/*
 * Returns the field to write: the field of the file that A was read from, or SPRYI_REAL if that field cannot express
 * A's values.
 */
static spryi_field resolve_field(const writing *w, int threads)
{
    const spry_matrix *A = w->A;
    const spry_arrays *a = &A->a;
    if (a->value_type == SPRY_PATTERN) return SPRYI_FIELD_PATTERN;
    if (A->field == SPRYI_REAL) return SPRYI_REAL;
    value_job j = {.w = w};
    spryi_loop(A->context, threads, a->nnz, 0, inspect_values, &j);
    if (A->field == SPRYI_FIELD_PATTERN && !j.not_one) return SPRYI_FIELD_PATTERN;
    return A->field == SPRYI_INTEGER && !j.not_whole ? SPRYI_INTEGER : SPRYI_REAL;
}

static int64_t count_entries(const writing *w, int threads)
{
    value_job j = {.w = w};
    if (!w->lower) return w->A->a.nnz;
    spryi_loop(w->A->context, threads, w->pieces, 1, count_in_pieces, &j);
    return j.entries;
}

/* Allocates *text and writes the lines before the entries to it. *bytes: their length. */
static spry_status build_head(const writing *w, const char *comment, int threads, char **text, size_t *bytes,
                              spry_error *err)
{
    static const char *const fields[] = {"real", "integer", "pattern"};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const spry_arrays *a = &w->A->a;
    size_t capacity = spryi_mtx_comment(NULL, comment) + 256;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(w->A->context, text, (int64_t)capacity, "head of the file", err));
    if (w->csv) {
        const char *const weight = w->field == SPRYI_FIELD_PATTERN ? "" : ",weight";
        *bytes = (size_t)snprintf(*text, capacity, "source,target%s\n", weight);
        return SPRY_OK;
    }
    char *to = *text + snprintf(*text, capacity, "%%%%MatrixMarket matrix coordinate %s %s\n", fields[w->field],
                                symmetries[w->lower ? a->symmetry : SPRY_GENERAL]);
    to += spryi_mtx_comment(to, comment);
    to += snprintf(to, capacity - (size_t)(to - *text), "%lld %lld %lld\n", (long long)a->rows, (long long)a->columns,
                   (long long)count_entries(w, threads));
    *bytes = (size_t)(to - *text);
    return SPRY_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------ */

static spry_status format_piece(const writing *w, int64_t piece, char *text, size_t *bytes, spry_error *err)
{
    const spry_arrays *a = &w->A->a;
    char *to = text;
    walk at = start_walk(a, piece * PIECE_ENTRIES);
    while (at.k < piece_end(a, piece)) {
        int64_t k = at.k;
        if (!step(&at))
            return spryi_fail_value(err, SPRY_INVALID_MATRIX, "indices", k, a->nnz,
                                    "entry %lld is at row %lld, column %lld (counted from %d), outside the %lld x %lld "
                                    "matrix",
                                    spryi_in_base(w->A, k), spryi_in_base(w->A, at.i), spryi_in_base(w->A, at.j),
                                    w->A->index_base, (long long)a->rows, (long long)a->columns);
        if (w->lower && at.i < at.j) continue;
        to = spryi_decimal_write_i64(to, at.i + w->base);
        *to++ = w->divider;
        to = spryi_decimal_write_i64(to, at.j + w->base);
        if (w->field != SPRYI_FIELD_PATTERN) {
            *to++ = w->divider;
            if (w->field == SPRYI_INTEGER) {
                double x = spryi_value_of(a, k);
                if (x == 0 && signbit(x)) *to++ = '-';
                to = spryi_decimal_write_i64(to, (int64_t)x);
            } else {
                to = spryi_decimal_write_value(to, a->values, a->value_type, k);
            }
        }
        *to++ = '\n';
    }
    *bytes = (size_t)(to - text);
    return SPRY_OK;
}

/* Compresses the text as a gzip member to p->packed, which is large enough. Returns the number of compressed bytes. */
static size_t pack(press *p, const char *text, size_t bytes)
{
    (void)deflateReset(&p->z);
    p->z.next_in = (Bytef *)(uintptr_t)text; /* zlib only reads the text, but older headers lack the const */
    p->z.avail_in = (uInt)bytes;
    p->z.next_out = p->packed;
    p->z.avail_out = (uInt)p->compressed_bytes;
    (void)deflate(&p->z, Z_FINISH);
    return (size_t)(p->z.next_out - p->packed);
}

/*
 * Formats and writes pieces of the text. Also increments next_to_write for the thread's pieces after a failure, so that
 * no other thread waits forever.
 */
static void write_pieces(writing *w, press *p)
{
    for (;;) {
        int64_t piece = atomic_fetch_add(&w->next, 1);
        if (piece >= w->pieces) return;
        spry_error error = {0};
        size_t bytes = 0;
        spry_status status = format_piece(w, piece, p->text, &bytes, &error);
        const void *data = p->text;
        if (status == SPRY_OK && p->packed && bytes > 0) {
            bytes = pack(p, p->text, bytes);
            data = p->packed;
        }
        spryi_handover_wait(&w->next_to_write, piece);
        if (w->status == SPRY_OK) {
            if (status == SPRY_OK) status = spryi_output_write(&w->output, data, bytes, &error);
            if (status != SPRY_OK) {
                w->status = status;
                w->error = error;
            }
        }
        int stop = w->status != SPRY_OK;
        spryi_handover_done(&w->next_to_write, piece);
        if (stop) return;
    }
}

static void write_with_presses(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    writing *w = job;
    for (int64_t p = begin; p < end; p++) write_pieces(w, &w->presses[p]);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static void destroy_press(spry_context *context, press *p)
{
    if (p->packed) (void)deflateEnd(&p->z);
    spryi_release(context, p->packed);
    spryi_release(context, p->text);
}

/* Allocates `bytes` for text, and memory for the compressed text. */
static spry_status create_press(spry_context *context, press *p, size_t bytes, int gzip, spry_error *err)
{
    memset(p, 0, sizeof *p);
    spry_status status = SPRYI_NEW(context, &p->text, (int64_t)bytes, "text to write", err);
    if (status != SPRY_OK || !gzip) return status;
    spryi_gzip_allocate_with(&p->z, context);
    int result = deflateInit2(&p->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    if (result != Z_OK) SPRYI_TRY(spryi_gzip_fail(result, err));
    p->compressed_bytes = deflateBound(&p->z, (uLong)bytes);
    status = SPRYI_NEW(context, &p->packed, (int64_t)p->compressed_bytes, "gzip to write", err);
    if (status != SPRY_OK) (void)deflateEnd(&p->z);
done:
    if (status != SPRY_OK) {
        spryi_release(context, p->text);
        p->text = NULL;
    }
    return status;
}

static spry_status write_head(writing *w, const char *text, size_t bytes, int gzip, spry_error *err)
{
    if (!gzip) return spryi_output_write(&w->output, text, bytes, err);
    press p;
    SPRYI_OK_OR_RETURN(create_press(w->A->context, &p, bytes, 1, err));
    size_t packed = pack(&p, text, bytes);
    spry_status status = spryi_output_write(&w->output, p.packed, packed, err);
    destroy_press(w->A->context, &p);
    return status;
}

static spry_status write_all(writing *w, int gzip, int threads, spry_error *err)
{
    spry_context *context = w->A->context;
    int ready = 0;
    press *presses = NULL;
    if (threads > w->pieces) threads = (int)w->pieces;
    if (threads == 0) return SPRY_OK;
    spry_status status = SPRYI_NEW(context, &presses, threads, "writers", err);
    if (status != SPRY_OK) return status;
    int64_t largest = w->A->a.nnz < PIECE_ENTRIES ? w->A->a.nnz : PIECE_ENTRIES;
    for (; ready < threads; ready++)
        SPRYI_TRY(create_press(context, &presses[ready], (size_t)largest * MOST_LINE, gzip, err));
    w->presses = presses;
    spryi_loop(context, threads, threads, 1, write_with_presses, w);
    status = w->status;
    if (status != SPRY_OK && err) *err = w->error;
done:
    while (ready > 0) destroy_press(context, &presses[--ready]);
    spryi_release(context, presses);
    return status;
}

/* Writes the text file of A, whose arrays contain all entries. */
static spry_status write_text(const spry_matrix *A, const char *path, bool csv, bool gzip,
                              const spry_write_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    int threads = A->a.nnz < PIECE_ENTRIES ? 1 : spryi_team(A->context->threads);
    char *head = NULL;
    size_t head_bytes = 0;
    writing w = {.A = A,
                 .csv = csv,
                 .divider = csv ? ',' : ' ',
                 .base = csv ? A->index_base : 1,
                 .output.fd = -1,
                 .pieces = (A->a.nnz + PIECE_ENTRIES - 1) / PIECE_ENTRIES};
    w.field = resolve_field(&w, threads);
    /* No banner exists for a skew-symmetric pattern, which can only be empty. It is written as general. */
    int lower = !csv && A->a.symmetry != SPRY_GENERAL && !(options && options->full);
    if (lower) SPRYI_TRY(spryi_check_symmetry(A, err));
    w.lower = lower && !(w.field == SPRYI_FIELD_PATTERN && A->a.symmetry == SPRY_SKEW_SYMMETRIC);
    SPRYI_TRY(build_head(&w, options ? options->comment : NULL, threads, &head, &head_bytes, err));
    SPRYI_TRY(spryi_output_open(&w.output, path, err));
    SPRYI_TRY(write_head(&w, head, head_bytes, gzip, err));
    SPRYI_TRY(write_all(&w, gzip, threads, err));
done:
    if (status == SPRY_OUT_OF_MEMORY) status = spryi_name_file(err, status, path);
    spryi_release(A->context, head);
    return spryi_output_close(&w.output, status, err);
}

spry_status spry_matrix_write(const spry_matrix *A, const char *path, const spry_write_options *options,
                              spry_error *err)
{
    if (!A || !path)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !A ? "A" : "path", "write: %s is NULL", !A ? "A" : "path");
    if (!path[0]) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "path", "write: path is empty, expected a file's name");
    SPRYI_DEFAULT_FLOATS;
    spry_write_options o;
    spry_status status = SPRYI_TAKE(&o, options, err);
    if (status != SPRY_OK) return status;
    options = &o;
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "write: the matrix is in device memory, expected host memory");
    spryi_output_kind kind;
    bool gzip;
    SPRYI_OK_OR_RETURN(spryi_output_kind_of(path, &kind, &gzip, err));
    SPRYI_OK_OR_RETURN(spryi_check_write_options(options, path, kind, false, err));
    if (kind == SPRYI_OUTPUT_CONTAINER) return spryi_container_write(A, path, options, err);
    spry_matrix *entries;
    status = spryi_matrix_entries(A, &entries, err);
    if (status == SPRY_OUT_OF_MEMORY) return spryi_name_file(err, status, path);
    if (status != SPRY_OK) return status;
    status = write_text(entries, path, kind == SPRYI_OUTPUT_CSV, gzip, options, err);
    spryi_matrix_release(entries);
    return status;
}
