/*
 * The format for a GPU, from what each would store and from how well its kernel fills the machine.
 *
 *     scattered?                          yes: swept    neighbouring entries gather x from all over
 *     blocks of 3 and more, or of 2 in    yes: packed where it stores as little and has slices enough, else bsr
 *     long rows?
 *     packed stores clearly less than csr, and its slices step or are enough?           packed
 *     rows uniform, and slices enough or even?                                          sell
 *     else                                                                              csr, cut by entries
 *
 * A warp of packed or sell takes slices of 32 rows. Matrices whose slices are all resident at once wait for the widest,
 * so that with few slices of unequal widths csr, whose kernel cuts by entries, is faster, whatever it stores; but for
 * f64 where rows gather x from near each other.
 * Measured on an H200: docs/results/h200-choice-2026-11-22.md.
 */
#include "choose/choose_gpu.h"

#include "choose/blocks.h"
#include "core/assemble.h"
#include "core/error.h"
#include "formats/packed/packed.h"

#include <string.h>

/* ---- scattered columns ----------------------------------------------------------------------------- */

/*
 * Whether a matrix is scattered: neighbouring entries gather x from all over, so that each takes a sector of its own
 * from the second-level cache, and kernels by rows are bound by that. Then row blocks that sweep x are faster, whatever
 * the lengths of the rows. Judged by a sample: tiles of consecutive entries, as a block of threads takes them, and the
 * share of distinct sectors of x among their entries. On the lists of docs/performance.md it is 0.86 and more for
 * R-MAT, random and shuffled matrices, 0.35 and less for all others. Where only the entries that a warp takes at once
 * gather so, row blocks are still ahead of csr for large matrices of f32, half of whose bytes are columns.
 */
static const double SCATTERED = 0.5, SCATTERED_WARPS = 0.65;
enum {
    TILES = 64,
    TILE = 2048, /* entries */
    WARP = 32,
    SLOTS_BITS = 12,
    SECTOR = 32,              /* bytes */
    LEAST_ENTRIES = 3 << 19,  /* fewer leave multiprocessors without a batch or two */
    LEAST_BY_WARPS = 1 << 23, /* entries */
    LEAST_X_BYTES = 1 << 19,  /* what first-level caches hold for long is not scattered */
};

/* How many of the entries' columns lie in sectors of x that no entry before them had. */
static int64_t distinct_sectors(const spry_arrays *a, int64_t begin, int64_t end, int64_t per_sector)
{
    uint16_t met[1 << SLOTS_BITS]; /* entry, counted from begin, and 1: the first of the slot's sector; 0: none */
    int64_t distinct = 0;
    memset(met, 0, sizeof met);
    for (int64_t k = begin; k < end; k++) {
        const int64_t sector = spryi_index_at(a->indices, a->index_type, k) / per_sector;
        uint64_t at = (uint64_t)sector * 0x9E3779B97F4A7C15u >> (64 - SLOTS_BITS);
        while (met[at] && spryi_index_at(a->indices, a->index_type, begin + met[at] - 1) / per_sector != sector)
            at = (at + 1) % (1 << SLOTS_BITS);
        distinct += met[at] == 0;
        if (met[at] == 0) met[at] = (uint16_t)(k - begin + 1);
    }
    return distinct;
}

/* Share of distinct sectors among `entries` consecutive entries, by the sample. */
static double scattered_share(const spry_arrays *a, int64_t entries)
{
    const int64_t size = (int64_t)spry_type_bytes(a->value_type);
    int64_t distinct = 0;
    if (a->nnz < TILE) return 0;
    for (int64_t t = 0; t < TILES; t++) {
        const int64_t tile = (a->nnz - TILE) / (TILES - 1) * t;
        for (int64_t begin = tile; begin < tile + TILE; begin += entries)
            distinct += distinct_sectors(a, begin, begin + entries, SECTOR / size);
    }
    return (double)distinct / ((double)TILES * TILE);
}

/* ---- the choice ------------------------------------------------------------------------------------ */

static const double CLEARLY_LESS = 0.9; /* bytes of packed or bsr, as a share of csr's */
static const double AS_LITTLE = 1.03;   /* bytes of packed, as a share of bsr's or csr's */
static const double STEPPED = 0.8;      /* slices of packed without an index an entry, */
static const double LITTLE = 1;         /* and bytes an entry beside the values: for it to be fast with few slices */
static const double LONG_ROWS = 16;     /* entries of the mean row, from which on blocks of 2 are worth it */
static const double MOST_LONGEST = 8;   /* times the mean row, in slices */
static const double EVEN = 2;           /* the same, where all slices of sell are resident at once, */
static const double SHORT = 12;         /* or entries of the longest row */
enum {
    LEAST_BLOCK = 3,
    LEAST_STEPPED = 1 << 20,     /* entries, of packed whose slices step */
    LEAST_SLICES = 16384,        /* of packed: two for each place that an H200 has for a warp; of b x b, one b-th */
    LEAST_STEPPED_SLICES = 1024, /* of blocks that step */
    RESIDENT_SLICES = 8192,      /* of sell */
    LEAST_ROWS = 32768,          /* of sell */
    LEAST_LOCAL = 1 << 20,       /* entries, of uneven rows in sell: fewer are bound by their launch */
};

/* What the choice is made of. Bytes are an entry's. */
typedef struct gpu_view {
    const spryi_row_profile *rows;
    const spry_arrays *a;
    double csr_bytes, bsr_bytes;
    int64_t block;
    spryi_packed_guess packed;
    int uniform; /* rows, but for few that are longer */
    int slices;  /* 1: none is so long that a slice would have to be as wide */
} gpu_view;

static int choose_swept(spryi_choice *choice, const spry_arrays *a, const spryi_row_profile *rows)
{
    const int slices = rows->longest <= MOST_LONGEST * rows->mean;
    const int by_warps = a->value_type == SPRY_F32 && !slices && a->nnz >= LEAST_BY_WARPS;
    const int64_t x_bytes = a->cols * (int64_t)spry_type_bytes(a->value_type);
    if (a->nnz < LEAST_ENTRIES || x_bytes < LEAST_X_BYTES || a->layout == SPRY_CSC) return 0;
    double share = scattered_share(a, TILE);
    if (share < SCATTERED) {
        share = by_warps ? scattered_share(a, WARP) : 0;
        if (share < SCATTERED_WARPS) return 0;
    }
    spryi_choose(choice, "swept", SPRY_REASON_SCATTERED,
                 "neighbouring entries gather x from all over (%.0f %% from sectors of their own), which a GPU's row "
                 "blocks sweep in order",
                 100 * share);
    return 1;
}

static int choose_by_blocks(spryi_choice *choice, const gpu_view *v)
{
    const int least = v->packed.strided >= STEPPED ? LEAST_STEPPED_SLICES : LEAST_SLICES / (int)v->block;
    const int enough = v->packed.slices >= least;
    const int worth = v->block >= LEAST_BLOCK || (v->block == 2 && v->rows->mean >= LONG_ROWS);
    if (!worth || v->bsr_bytes > CLEARLY_LESS * v->csr_bytes) return 0;
    const int packed = v->packed.bytes <= AS_LITTLE * v->bsr_bytes && enough;
    spryi_choose(choice, packed ? "packed" : "bsr", SPRY_REASON_BLOCKS,
                 "a sample finds blocks of %d x %d, which store %.1f bytes an entry in bsr, %.1f in packed, %.1f in "
                 "csr%s",
                 (int)v->block, (int)v->block, v->bsr_bytes, v->packed.bytes, v->csr_bytes,
                 packed || enough ? "" : ", with too few slices to fill a GPU");
    if (!packed) choice->parameters[0] = v->block;
    return 1;
}

static int choose_packed(spryi_choice *choice, const gpu_view *v)
{
    const double beside_values = v->packed.bytes - (double)spry_type_bytes(v->a->value_type);
    const int steps = v->packed.strided >= STEPPED && beside_values <= LITTLE && v->a->nnz >= LEAST_STEPPED &&
                      (v->packed.block == 1 || v->packed.slices >= LEAST_STEPPED_SLICES);
    const int many = v->packed.slices >= LEAST_SLICES;
    const int less = v->packed.bytes <= CLEARLY_LESS * v->csr_bytes;
    /* long rows lie apart in packed: sell cannot, and csr's kernel for f64 is no faster */
    const int apart = !v->slices && many && v->a->value_type == SPRY_F64 && v->packed.bytes <= AS_LITTLE * v->csr_bytes;
    if (!v->uniform || !((v->slices && less && (steps || many)) || apart)) return 0;
    spryi_choose(choice, "packed", SPRY_REASON_FEWER_BYTES,
                 "rows are uniform (deviation %.2f of the mean without the longest 1 %%; longest %.0f, mean %.1f), and "
                 "it stores %.1f bytes an entry, csr %.1f%s",
                 v->rows->body_deviation, v->rows->longest, v->rows->mean, v->packed.bytes, v->csr_bytes,
                 v->slices ? "" : ", with its long rows apart");
    return 1;
}

static void choose_by_rows(spryi_choice *choice, const gpu_view *v)
{
    if (!v->uniform || !v->slices) {
        spryi_choose(choice, "csr", SPRY_REASON_IRREGULAR_ROWS,
                     "row lengths vary (deviation %.2f of the mean without the longest 1 %%; longest %.0f, mean %.1f), "
                     "and a GPU's kernels cut csr by entries",
                     v->rows->body_deviation, v->rows->longest, v->rows->mean);
        return;
    }
    const int resident = v->a->rows < (int64_t)RESIDENT_SLICES * SPRYI_PACKED_LANES;
    const int even = v->rows->longest < EVEN * v->rows->mean || v->rows->longest <= SHORT;
    const int local = v->a->value_type == SPRY_F64 && v->a->nnz >= LEAST_LOCAL &&
                      scattered_share(v->a, WARP) < SCATTERED;
    if (v->a->rows < LEAST_ROWS || (resident && !even && !local)) {
        spryi_choose(choice, "csr", SPRY_REASON_FEW_ROWS,
                     "%lld rows (longest %.0f, mean %.1f) are too few for a GPU to go by rows, so entries are cut "
                     "evenly",
                     (long long)v->a->rows, v->rows->longest, v->rows->mean);
        return;
    }
    spryi_choose(choice, "sell", SPRY_REASON_UNIFORM_ROWS,
                 "rows are uniform (deviation %.2f of the mean without the longest 1 %%; longest %.0f, mean %.1f), and "
                 "packed would store %.1f bytes an entry, csr %.1f: not clearly less, or too few slices",
                 v->rows->body_deviation, v->rows->longest, v->rows->mean, v->packed.bytes, v->csr_bytes);
}

spry_status spryi_choose_on_gpu(spryi_choice *choice, const spry_matrix *A, const spryi_row_profile *rows,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *csr = NULL;
    if (choose_swept(choice, &A->a, rows)) return SPRY_OK;
    SPRYI_TRY(spryi_matrix_as_csr(A->context, &csr, A, A->a.value_type, err));
    spryi_bsr_guess blocks;
    SPRYI_TRY(spryi_find_blocks(&csr->a, A->context, &blocks, err));
    const gpu_view view = {
        .rows = rows,
        .a = &csr->a,
        .csr_bytes = spryi_csr_entry_bytes(&csr->a),
        .bsr_bytes = blocks.bytes / (double)csr->a.nnz,
        .block = blocks.block,
        .packed = spryi_packed_guess_of(&csr->a),
        .uniform = spryi_rows_are_uniform(rows),
        .slices = rows->longest <= MOST_LONGEST * rows->mean,
    };
    if (!choose_by_blocks(choice, &view) && !choose_packed(choice, &view)) choose_by_rows(choice, &view);
done:
    spryi_matrix_release(csr);
    return status;
}
