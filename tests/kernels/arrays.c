#include "arrays.h"
#include "base/types.h"

#include "reference.h"

#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xa5, AROUND = INSTRUMENTED ? 0 : 128 };

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

guarded guarded_make(size_t bytes, placement place)
{
    guarded g = {.bytes = bytes, .place = place};
    if (place == ON_HEAP) {
        g.block_bytes = bytes + 2 * AROUND;
        g.block = malloc(g.block_bytes > 0 ? g.block_bytes : 1);
        if (!g.block) abort();
        memset(g.block, CANARY, g.block_bytes);
        g.data = g.block + AROUND;
        return g;
    }
    size_t page = page_bytes(), body = (bytes + page - 1) / page * page;
    g.block_bytes = body + page;
    g.block = mmap(NULL, g.block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.block == MAP_FAILED) abort();
    unsigned char *closed = place == AT_END ? g.block + body : g.block;
    unsigned char *open = place == AT_END ? g.block : g.block + page;
    memset(open, CANARY, body);
    if (mprotect(closed, page, PROT_NONE) != 0) abort();
    g.data = place == AT_END ? closed - bytes : open;
    return g;
}

void guarded_free(guarded *g)
{
    if (g->block && g->place == ON_HEAP) free(g->block);
    if (g->block && g->place != ON_HEAP) munmap(g->block, g->block_bytes);
    memset(g, 0, sizeof *g);
}

static int holds_canaries(const unsigned char *from, const unsigned char *to)
{
    size_t count = (size_t)(to - from);
    return count == 0 || (from[0] == CANARY && memcmp(from, from + 1, count - 1) == 0);
}

int guarded_intact(const guarded *g)
{
    if (!g->block) return 1;
    const unsigned char *begin = g->data, *end = begin + g->bytes, *stop = g->block + g->block_bytes;
    if (g->place == AT_END) return holds_canaries(g->block, begin);
    if (g->place == AT_START) return holds_canaries(end, stop);
    return holds_canaries(g->block, begin) && holds_canaries(end, stop);
}

void guarded_read_only(const guarded *g)
{
    if (!g->block || g->place == ON_HEAP || g->bytes == 0) return;
    size_t page = page_bytes();
    unsigned char *open = g->place == AT_END ? g->block : g->block + page;
    if (mprotect(open, g->block_bytes - page, PROT_READ) != 0) abort();
}

const char *const pair_names[3] = {"32/32", "64/32", "64/64"};

spry_index_type pair_offset_type(int pair)
{
    return pair == 0 ? SPRY_I32 : SPRY_I64;
}

spry_index_type pair_index_type(int pair)
{
    return pair == 2 ? SPRY_I64 : SPRY_I32;
}

/* Rounds the value to the number of significant bits of the type. */
static double rounded_to(double value, spry_type type)
{
    int exponent;
    const double bits = type == SPRY_BF16 ? 256 : 2048, part = frexp(value, &exponent);
    if (type == SPRY_F64) return value;
    return type == SPRY_F32 ? (double)(float)value : ldexp(rint(part * bits) / bits, exponent);
}

double *random_numbers(int64_t count, spry_type type, uint64_t seed)
{
    double *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
    if (!numbers) abort();
    for (int64_t k = 0; k < count; k++) {
        uint64_t bits = family_random(&seed);
        double size = (double)(1u << (bits & 7)) / 16;
        double value = ((double)(bits >> 12) * 0x1p-52 + 1e-3) * size * (bits & 8 ? 1 : -1);
        numbers[k] = rounded_to(value, type);
    }
    return numbers;
}

guarded vector_make(const double *numbers, int64_t count, spry_type type, placement place)
{
    guarded g = guarded_make((size_t)count * spry_type_bytes(type), place);
    for (int64_t i = 0; i < count; i++) set_number(g.data, type, i, numbers[i]);
    return g;
}

/* ---- matrices ------------------------------------------------------------------------------------ */

static guarded indices_make(const int64_t *from, int64_t count, spry_index_type type, placement place)
{
    guarded g = guarded_make((size_t)count * spryi_index_type_bytes(type), place);
    for (int64_t k = 0; k < count; k++) {
        if (type == SPRY_I32)
            ((int32_t *)g.data)[k] = (int32_t)from[k];
        else
            ((int64_t *)g.data)[k] = from[k];
    }
    guarded_read_only(&g);
    return g;
}

/* The family's entries in the order of the layout. */
typedef struct listing {
    int64_t *rows, *columns, *source; /* source: index of the entry in the family */
    int64_t *offsets;                 /* column offsets, only for CSC */
} listing;

static listing list_entries(const family *f, const form *how)
{
    size_t room = (size_t)f->nnz + 1;
    listing l = {malloc(room * 8), malloc(room * 8), malloc(room * 8), calloc((size_t)f->cols + 2, 8)};
    int64_t *row_of = malloc(room * 8);
    if (!l.rows || !l.columns || !l.source || !l.offsets || !row_of) abort();
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = f->offsets[i]; k < f->offsets[i + 1]; k++) row_of[k] = i;
    for (int64_t k = 0; k < f->nnz; k++) l.source[k] = k;
    if (how->layout == SPRY_CSC) {
        for (int64_t k = 0; k < f->nnz; k++) l.offsets[f->columns[k] + 2]++;
        for (int64_t j = 2; j <= f->cols; j++) l.offsets[j] += l.offsets[j - 1];
        for (int64_t k = 0; k < f->nnz; k++) l.source[l.offsets[f->columns[k] + 1]++] = k;
    } else if (how->layout == SPRY_COO && how->sorted == SPRY_KNOWN_NO) {
        uint64_t state = 5;
        for (int64_t k = f->nnz - 1; k > 0; k--) {
            int64_t other = (int64_t)(family_random(&state) % (uint64_t)(k + 1)), kept = l.source[k];
            l.source[k] = l.source[other];
            l.source[other] = kept;
        }
    }
    for (int64_t k = 0; k < f->nnz; k++) {
        l.rows[k] = row_of[l.source[k]];
        l.columns[k] = f->columns[l.source[k]];
    }
    free(row_of);
    return l;
}

given given_make(const family *f, const double *values, const form *how, spry_type type, int pair)
{
    given g = {0};
    listing l = list_entries(f, how);
    spry_index_type offset_type = pair_offset_type(pair), index_type = pair_index_type(pair);
    g.a = SPRY_INIT(spry_arrays);
    g.a.layout = how->layout;
    g.a.rows = f->rows;
    g.a.columns = f->cols;
    g.a.nnz = f->nnz;
    g.a.index_type = index_type;
    g.a.value_type = how->pattern ? SPRY_PATTERN : type;
    g.a.sorted = how->sorted == SPRY_KNOWN_YES && !f->sorted ? SPRY_KNOWN_NO : how->sorted;
    if (how->layout == SPRY_COO) {
        g.rows = indices_make(l.rows, f->nnz, index_type, how->place);
        g.a.row_indices = g.rows.data;
    } else {
        int csr = how->layout == SPRY_CSR;
        g.a.offset_type = offset_type;
        g.offsets = indices_make(csr ? f->offsets : l.offsets, (csr ? f->rows : f->cols) + 1, offset_type, how->place);
        g.a.offsets = g.offsets.data;
    }
    g.indices = indices_make(how->layout == SPRY_CSC ? l.rows : l.columns, f->nnz, index_type, how->place);
    g.a.indices = g.indices.data;
    if (!how->pattern) {
        double *ordered = malloc((size_t)(f->nnz + 1) * sizeof *ordered);
        if (!ordered) abort();
        for (int64_t k = 0; k < f->nnz; k++) ordered[k] = values[l.source[k]];
        g.values = vector_make(ordered, f->nnz, type, how->place);
        guarded_read_only(&g.values);
        g.a.values = g.values.data;
        free(ordered);
    }
    free(l.rows);
    free(l.columns);
    free(l.source);
    free(l.offsets);
    return g;
}

void given_free(given *g)
{
    guarded_free(&g->offsets);
    guarded_free(&g->rows);
    guarded_free(&g->indices);
    guarded_free(&g->values);
}

int given_intact(const given *g)
{
    return guarded_intact(&g->offsets) && guarded_intact(&g->rows) && guarded_intact(&g->indices) &&
           guarded_intact(&g->values);
}
