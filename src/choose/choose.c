/*
 * The decision tree of Sparse Methods (docs/formats.md tells how its words are read), then corrections of it.
 *
 *     rows uniform?  yes: longest ~ mean?  yes: ELL     no: HYB
 *                    no:  very sparse?     yes: COO     no: CSR
 *
 *   uniform      the longest hundredth of the rows left out (a few long rows are HYB's own case), the deviation of
 *                the row lengths is at most UNIFORM of their mean
 *   longest ~    the longest row of all is at most NEAR times the mean
 *   very sparse  the mean row has fewer than SPARSE entries, or at least EMPTY of the rows have none
 *
 * After the tree: CSR in place of ELL or HYB where its product on a CPU reads clearly fewer bytes, since it reads no
 * columns of rows of constant stride (src/formats/csr/csr.h), as on grids. In place of csr then packed, where most of
 * its slices have no index an entry, so that it reads no more bytes and gathers nothing, for matrices that come from
 * memory and plans of many products, on processors with AVX-512 (docs/csr-k.md has what was measured). Then bsr,
 * where a sample finds blocks that save bytes.
 *
 * Before the tree: few calls expected for each conversion, updates counted, or a pattern on a CPU: CSR, which needs
 * none; column operations (the transposed product): CSC. On a GPU the tree is not asked: choose_gpu.c. What the padding
 * guard or the memory limit refuses becomes CSR (plan/plan.c).
 */
#include "choose/blocks.h"
#include "choose/choose_gpu.h"

#include "catalogue/catalogue.h"
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/row_lengths.h"
#include "formats/csrk/csrk.h"
#include "formats/packed/packed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double UNIFORM = 0.5, NEAR = 1.5, SPARSE = 2, EMPTY = 0.5;
static const double CLEARLY_FEWER = 0.9; /* bytes, as a share of another format's */
static const double SHORT = 8;           /* a mean row: csr in place of hyb */
static const double UNMARKED = 0.5;      /* slices of packed without an index an entry, on a CPU */
static const double WIDE_SPANS = 0.85;   /* adjacent entries: csr's spans of f32 then fill half a register and more */
enum {
    LEAST_BLOCK = 3,           /* of bsr on a CPU, */
    LEAST_BLOCKS = 3,          /* blocks of a block row, */
    LEAST_IN_BLOCKS = 1 << 17, /* and entries */
};
enum {
    FEW_CALLS = 8,           /* conversions take a few products' time and save a share of one each */
    MANY_CALLS = 256,        /* packed takes some ten, which a quarter of one each pays */
    CACHED_BYTES = 48 << 20, /* of CSR: what lies in caches was not measured */
};

/* ---- row lengths ---------------------------------------------------------------------------------- */

enum { LENGTHS = 4096 }; /* longer rows share a bin */

typedef struct length_counts {
    int64_t rows[LENGTHS + 1];
    double long_mean; /* of the lengths in the last bin */
} length_counts;

/* Mean and deviation of what is left when the longest `drop` rows are gone. */
static double deviation_without(const length_counts *c, int64_t drop)
{
    double rows = 0, sum = 0, squares = 0;
    for (int64_t bin = LENGTHS; bin >= 0; bin--) {
        int64_t dropped = c->rows[bin] < drop ? c->rows[bin] : drop;
        double kept = (double)(c->rows[bin] - dropped);
        double length = bin < LENGTHS ? (double)bin : c->long_mean;
        drop -= dropped;
        rows += kept;
        sum += kept * length;
        squares += kept * length * length;
    }
    if (sum == 0) return 0;
    double mean = sum / rows, variance = squares / rows - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

/* Row offsets of a layout whose own do not run over rows. */
static spry_status make_offsets(spry_context *context, int64_t **offsets, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, offsets, a->rows + 1, "row offsets", err));
    memset(*offsets, 0, (size_t)(a->rows + 1) * sizeof **offsets);
    const void *rows = a->layout == SPRY_COO ? a->row_indices : a->indices;
    for (int64_t k = 0; k < a->nnz; k++) (*offsets)[spryi_index_at(rows, a->index_type, k) + 1]++;
    spryi_scan(*offsets, a->rows);
    return SPRY_OK;
}

spry_status spryi_find_row_profile(spryi_row_profile *profile, const spry_matrix *A, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_arrays a = A->a;
    int64_t *made = NULL;
    length_counts *c = NULL;
    SPRYI_TRY(SPRYI_NEW(A->context, &c, 1, "row length counts", err));
    memset(c, 0, sizeof *c);
    if (a.layout != SPRY_CSR) {
        SPRYI_TRY(make_offsets(A->context, &made, &a, err));
        a.offsets = made;
        a.offset_type = SPRY_I64;
    }
    spryi_count_row_lengths(&a, c->rows, LENGTHS);
    double rows = a.rows > 0 ? (double)a.rows : 1, in_long = (double)a.nnz;
    for (int64_t bin = 0; bin < LENGTHS; bin++) in_long -= (double)(bin * c->rows[bin]);
    if (c->rows[LENGTHS] > 0) c->long_mean = in_long / (double)c->rows[LENGTHS];
    *profile = (spryi_row_profile){.mean = (double)a.nnz / rows,
                                   .longest = (double)spryi_longest_row(A->context, &a),
                                   .deviation = deviation_without(c, 0),
                                   .body_deviation = deviation_without(c, (a.rows + 99) / 100),
                                   .empty = (double)c->rows[0] / rows};
done:
    spryi_release(A->context, made);
    spryi_release(A->context, c);
    return status;
}

/* ---- the tree ------------------------------------------------------------------------------------- */

/* What csr costs this matrix; formats/csr/csr_format.c does accordingly. */
static const char *cost_of_csr(const spry_matrix *A)
{
    if (A->a.layout == SPRY_CSR) return "it needs no conversion and no copy";
    if (A->a.layout == SPRY_COO && A->a.sorted == SPRY_KNOWN_YES) return "only row offsets have to be made";
    return "converted once";
}

void spryi_choose(spryi_choice *choice, const char *format, spry_reason code, const char *reason, ...)
{
    choice->code = code;
    choice->format = spryi_find_format(format);
    const int used = snprintf(choice->reason, sizeof choice->reason, "%s: ", format);
    va_list list;
    va_start(list, reason);
    (void)spryi_write_list(choice->reason + used, sizeof choice->reason - (size_t)used, reason, list);
    va_end(list);
}

int spryi_rows_are_uniform(const spryi_row_profile *rows)
{
    return rows->body_deviation <= UNIFORM && rows->mean >= 1;
}

static void follow_tree(spryi_choice *choice, const spryi_row_profile *rows)
{
    if (spryi_rows_are_uniform(rows)) {
        int near = rows->longest <= NEAR * rows->mean;
        spryi_choose(choice, near ? "ell" : "hyb", SPRY_REASON_UNIFORM_ROWS,
                     "rows are uniform (deviation %.2f of the mean <= %.2g without the longest 1 %%) and the longest, "
                     "%.0f, is %s %.2g times the mean %.1f",
                     rows->body_deviation, UNIFORM, rows->longest, near ? "within" : "over", NEAR, rows->mean);
        return;
    }
    int sparse = rows->mean < SPARSE || rows->empty >= EMPTY;
    spryi_choose(choice, sparse ? "coo" : "csr", sparse ? SPRY_REASON_VERY_SPARSE : SPRY_REASON_IRREGULAR_ROWS,
                 "row lengths vary (deviation %.2f of the mean, uniform: <= %.2g), and the mean row %.1f (very sparse: "
                 "< %.2g), empty rows %.0f %% (>= %.0f %%) are %svery sparse",
                 rows->body_deviation, UNIFORM, rows->mean, SPARSE, 100 * rows->empty, 100 * EMPTY,
                 sparse ? "" : "not ");
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* Bytes of csr an entry that its product reads, where this share of the columns is not read. */
static double read_bytes(const spry_arrays *a, double unread)
{
    return spryi_csr_entry_bytes(a) - unread * (double)spry_index_type_bytes(a->index_type);
}

/* After the tree, on a CPU. HYB of rows that are not short loses to CSR wherever it was measured (docs/formats.md). */
static void prefer_fewer_bytes(spryi_choice *choice, const spry_matrix *A, const spryi_row_profile *rows)
{
    const spry_arrays *a = &A->a;
    const int ell = strcmp(choice->format->name, "ell") == 0, hyb = strcmp(choice->format->name, "hyb") == 0;
    if ((!ell && !hyb) || a->layout != SPRY_CSR) return;
    const double value = (double)spry_type_bytes(a->value_type), index = (double)spry_index_type_bytes(a->index_type);
    const double unread = spryi_unread_share(a, 0);
    const double csr = read_bytes(a, unread);
    const double other = (value + index) * (ell ? rows->longest / rows->mean : 1);
    const int fewer = csr <= CLEARLY_FEWER * other;
    if (!fewer && (ell || rows->mean < SHORT)) return;
    if (!fewer)
        spryi_choose(choice, "csr", SPRY_REASON_FEWER_BYTES,
                     "with %.1f entries a row (>= %.2g) its product is ahead of hyb's on a CPU", rows->mean, SHORT);
    else
        spryi_choose(choice, "csr", SPRY_REASON_FEWER_BYTES,
                     "its product reads %.1f bytes an entry, %s's at least %.1f, for %.0f %% of the columns follow "
                     "from the row before",
                     csr, ell ? "ell" : "hyb", other, 100 * unread);
}

/* After that. */
static void prefer_packed(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options)
{
    const spry_arrays *a = &A->a;
    const int many = options->expected_calls == 0 || options->expected_calls >= MANY_CALLS;
    if (strcmp(choice->format->name, "csr") != 0 || a->layout != SPRY_CSR || !many || A->context->simd < SPRYI_AVX512 ||
        spryi_arrays_bytes(a) <= CACHED_BYTES)
        return;
    const spryi_packed_guess guess = spryi_packed_guess_of(a);
    const double csr = read_bytes(a, spryi_unread_share(a, 0));
    const int behind = guess.block > 1 && a->value_type == SPRY_F32 && spryi_adjacent_share(a) >= WIDE_SPANS;
    if (guess.unmarked < UNMARKED || guess.bytes > csr || behind) return;
    spryi_choose(choice, "packed", SPRY_REASON_FEWER_BYTES,
                 "%.0f %% of its slices of 32 rows have no index an entry, so that x is not gathered, and its product "
                 "reads %.1f bytes an entry, csr's %.1f",
                 100 * guess.unmarked, guess.bytes, csr);
}

/*
 * After that: dense blocks have one index each, and x is gathered by blocks. Not where few blocks make a block row, nor
 * where csr's rows step, as in bands, nor where all lies near the processor.
 */
static spry_status prefer_blocks(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                                 const spryi_row_profile *rows, spry_error *err)
{
    const spry_arrays *a = &A->a;
    const int many = options->expected_calls == 0 || options->expected_calls >= MANY_CALLS;
    if (a->layout != SPRY_CSR || !many || strcmp(choice->format->name, "packed") == 0) return SPRY_OK;
    if (a->nnz < LEAST_IN_BLOCKS || rows->mean < LEAST_BLOCKS * LEAST_BLOCK) return SPRY_OK;
    if (a->value_type == SPRY_F32 && spryi_adjacent_share(a) >= WIDE_SPANS) return SPRY_OK;
    const double csr = read_bytes(a, spryi_unread_share(a, 1));
    if ((double)spry_type_bytes(a->value_type) > CLEARLY_FEWER * csr) return SPRY_OK;
    spryi_bsr_guess blocks;
    spry_status status = spryi_find_blocks(a, A->context, &blocks, err);
    const double bsr = status == SPRY_OK ? blocks.bytes / (double)a->nnz : 0;
    if (status != SPRY_OK || blocks.block < LEAST_BLOCK || rows->mean < LEAST_BLOCKS * (double)blocks.block ||
        bsr > CLEARLY_FEWER * csr)
        return status;
    choice->parameters[0] = blocks.block;
    spryi_choose(choice, "bsr", SPRY_REASON_BLOCKS,
                 "a sample finds blocks of %d x %d, so that its product reads %.1f bytes an entry, csr's %.1f",
                 (int)blocks.block, (int)blocks.block, bsr, csr);
    return SPRY_OK;
}

/* Cases that the tree is not asked about. 1: decided. */
static int decide_before_tree(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                              const spryi_driver *device)
{
    const int is_pattern = A->a.value_type == SPRY_PATTERN && !device->massively_parallel;
    int few = options->expected_calls > 0 && options->expected_calls < FEW_CALLS;
    if (options->op == SPRY_TRANSPOSE && !few) {
        spryi_choose(choice, "csc", SPRY_REASON_TRANSPOSED, "the transposed product works by columns");
        return 1;
    }
    if (!few && !is_pattern && A->a.nnz > 0) return 0;
    spryi_choose(choice, "csr",
                 few             ? SPRY_REASON_FEW_CALLS
                 : A->a.nnz == 0 ? SPRY_REASON_EMPTY
                                 : SPRY_REASON_PATTERN,
                 "%s; %s",
                 few             ? "too few calls expected for each conversion to pay"
                 : A->a.nnz == 0 ? "no entries"
                                 : "a pattern takes no values in it",
                 cost_of_csr(A));
    return 1;
}

/* Products that follow each conversion, of which an update is one more; 0: many. */
static int64_t calls_a_conversion(const spry_spmv_options *options)
{
    const int64_t calls = options->expected_calls, updates = options->expected_updates;
    if (calls == 0) return 0;
    return updates < calls ? calls / (1 + updates) : 1;
}

spry_status spryi_choose_format(const spry_matrix *A, const spry_spmv_options *given, const spryi_driver *device,
                                spryi_choice *choice, spry_error *err)
{
    spry_spmv_options of_each = *given;
    const spry_spmv_options *options = &of_each;
    of_each.expected_calls = calls_a_conversion(given);
    if (decide_before_tree(choice, A, options, device)) return SPRY_OK;
    if (device->massively_parallel)
        return spryi_choose_on_gpu(choice, A, options->vector_type, options->expected_calls, err);
    spryi_row_profile rows;
    SPRYI_OK_OR_RETURN(spryi_find_row_profile(&rows, A, err));
    follow_tree(choice, &rows);
    prefer_fewer_bytes(choice, A, &rows);
    prefer_packed(choice, A, options);
    return prefer_blocks(choice, A, options, &rows, err);
}

void spryi_choose_instead(spryi_choice *choice, const char *refused)
{
    spryi_choose(choice, "csr", SPRY_REASON_MEMORY, "%s would take more memory than is allowed", refused);
}

/* ---- kernels -------------------------------------------------------------------------------------- */

/* Of csr3's two kernels the paper's rule picks: up to 8 entries a row on average GPUSpMV-3, above it GPUSpMV-3.5. */
const char *spryi_choose_kernel(const spry_matrix *A, const spryi_format *format, const spryi_driver *device,
                                spry_op op)
{
    spryi_row_profile rows;
    if (!device->massively_parallel) return NULL;
    if (strcmp(format->name, "csr3") == 0)
        return spryi_csrk_case_of(A->a.rows, A->a.nnz) == SPRYI_CSRK_CASE_1 ? "csr3_gpuspmv3_cuda"
                                                                            : "csr3_gpuspmv35_cuda";
    if (strcmp(format->name, "csr") != 0 || op != SPRY_NO_TRANSPOSE) return NULL;
    if (A->a.device != 0 || A->a.value_type != SPRY_F64 || spryi_find_row_profile(&rows, A, NULL) != SPRY_OK)
        return NULL;
    return spryi_csr_kernel_on_gpu(&A->a, A->a.value_type, &rows);
}
