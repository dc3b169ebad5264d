/* windowed back to CSR: rows are counted, then entries are stored where their run and column of the run tell. */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/shared/long_rows.h"
#include "formats/shared/owned_arrays.h"
#include "formats/windowed/windowed_reader.h"

#include <string.h>

/* offsets[i + 1] = the entries of row i of the slice. */
static void count_rows(const spryi_windowed_view *v, int64_t *offsets)
{
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++)
        if (v->rows[l] != SPRYI_WINDOWED_NO_ROW)
            offsets[v->rows[l] + 1] = (int64_t)v->run * v->length[spryi_windowed_group(v, l)];
}

/* SPRY_BAD_FILE where rows of a file are not each there once, so that entries do not add up. */
static spry_status check_offsets(const spryi_compressed *c, spry_error *err)
{
    if (c->offsets[c->majors] == c->nnz) return SPRY_OK;
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, c->offsets[c->majors], c->nnz,
                            "windowed: %lld entries in its rows, expected %lld", (long long)c->offsets[c->majors],
                            (long long)c->nnz);
}

/* Which entry of its row entry c of run t of a lane is. */
static int64_t entry_at(const spryi_windowed_view *v, int lane, int t, int c)
{
    return v->stride == 1 ? (int64_t)t * v->run + c : (int64_t)c * v->length[spryi_windowed_group(v, lane)] + t;
}

static void copy_slice(const spryi_windowed *s, const spryi_windowed_window *w, const spryi_windowed_view *v,
                       const spryi_compressed *to)
{
    spryi_windowed_reader r;
    int64_t at = v->values;
    spryi_windowed_open(&r, v);
    for (int t = 0; spryi_windowed_next(&r); t++) {
        const int lanes = spryi_windowed_lanes(v, t);
        for (int c = 0; c < v->run; c++)
            for (int l = 0; l < lanes; l++, at++) {
                const int64_t k = to->offsets[v->rows[l]] + entry_at(v, l, t, c);
                const int64_t column = spryi_windowed_column(s, w, r.number[spryi_windowed_group(v, l)]);
                if (k >= to->offsets[v->rows[l] + 1]) continue; /* the row is there twice, in a file */
                spryi_set_index(to->indices, to->index_type, k, column + c * v->stride);
                if (to->values) spryi_move_value(to->values, k, s->values, at, to->value_type);
            }
    }
}

typedef struct window_job {
    const spryi_windowed *s;
    const spryi_compressed *c;
} window_job;

static void count_windows(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (int64_t w = begin; w < end; w++)
        for (int64_t k = j->s->windows[w].slice; k < j->s->windows[w + 1].slice; k++) {
            const spryi_windowed_view v = spryi_windowed_view_of(j->s, &j->s->windows[w], k);
            count_rows(&v, j->c->offsets);
        }
}

static void copy_windows(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (int64_t w = begin; w < end; w++)
        for (int64_t k = j->s->windows[w].slice; k < j->s->windows[w + 1].slice; k++) {
            const spryi_windowed_view v = spryi_windowed_view_of(j->s, &j->s->windows[w], k);
            copy_slice(j->s, &j->s->windows[w], &v, j->c);
        }
}

spry_status spryi_windowed_to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_windowed *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    memset(c.offsets, 0, (size_t)(s->a.rows + 1) * sizeof *c.offsets);
    const int threads = spryi_threads(context, s->a.nnz + s->a.rows);
    window_job j = {s, &c};
    spryi_loop(context, threads, s->window_count, 4, count_windows, &j);
    for (int64_t n = 0; n < s->long_count; n++)
        c.offsets[s->long_rows[n] + 1] = s->pieces[s->long_first[n + 1]] - s->pieces[s->long_first[n]];
    spryi_scan(c.offsets, s->a.rows);
    SPRYI_TRY(check_offsets(&c, err));
    spryi_loop(context, threads, s->window_count, 4, copy_windows, &j);
    spryi_copy_long_rows(&SPRYI_LONG_ROWS_OF(s), &s->a, &c);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}
