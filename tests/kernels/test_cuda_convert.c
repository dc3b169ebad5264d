/*
 * Storages built on the device are bitwise equal to the upload of the host's build, and refusals have equal messages.
 * Needs the CUDA run-time. Skipped without a GPU.
 */
#include "arrays.h"
#include "catalogue/catalogue.h"
#include "cuda_support.h"
#include "families.h"
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "trials.h"

#include <cuda_runtime_api.h>

/* Formats with parameters, and the product of each format on GPUs. */
static const struct {
    const char *format;
    spry_op op;
} cases[] = {
    {"sell", SPRY_NO_TRANSPOSE},
    {"sell:c=8", SPRY_NO_TRANSPOSE},
    {"sell:c=4:sigma=64", SPRY_NO_TRANSPOSE},
    {"sell:c=32:sigma=1", SPRY_NO_TRANSPOSE},
    {"sell:c=1:sigma=65536", SPRY_NO_TRANSPOSE},
    {"sell:c=256:sigma=512", SPRY_NO_TRANSPOSE},
    {"sell:c=5:sigma=7", SPRY_NO_TRANSPOSE},
    {"csc", SPRY_TRANSPOSE},
    {"swept", SPRY_NO_TRANSPOSE},
    {"swept:blocks=1", SPRY_NO_TRANSPOSE},
    {"swept:blocks=7", SPRY_NO_TRANSPOSE},
    {"swept:blocks=2:sums=2000", SPRY_NO_TRANSPOSE},
    {"swept:blocks=40:sums=64", SPRY_NO_TRANSPOSE},
    {"swept:blocks=30:sums=9", SPRY_NO_TRANSPOSE},
    {"bsr", SPRY_NO_TRANSPOSE},
    {"bsr:block=1", SPRY_NO_TRANSPOSE},
    {"bsr:block=3", SPRY_NO_TRANSPOSE},
    {"bsr:block=8", SPRY_NO_TRANSPOSE},
    {"bsr:block=13", SPRY_NO_TRANSPOSE},
    {"packed", SPRY_NO_TRANSPOSE},
    {"windowed", SPRY_NO_TRANSPOSE},
    {"windowed:window=32", SPRY_NO_TRANSPOSE},
    {"windowed:window=96:order=cells", SPRY_NO_TRANSPOSE},
    {"windowed:window=1000:order=natural", SPRY_NO_TRANSPOSE},
    {"windowed:order=cells", SPRY_NO_TRANSPOSE},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Formats that store no values for a pattern on GPUs. */
static int takes_patterns(const char *format)
{
    return strncmp(format, "sell", 4) == 0 || strcmp(format, "packed") == 0 || strncmp(format, "windowed", 8) == 0;
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(code_));                                \
    } while (0)

static const void *upload(const void *host, int64_t bytes)
{
    void *made = NULL;
    OK(cudaMalloc(&made, (size_t)bytes + 1));
    if (bytes > 0) OK(cudaMemcpy(made, host, (size_t)bytes, cudaMemcpyHostToDevice));
    return made;
}

static void discard(const void *device)
{
    OK(cudaFree((void *)(uintptr_t)device));
}

/* Builds the storage of A on the host, as for the present GPU. */
static spry_status build_on_host(spry_context *context, void **storage, const spryi_format **format, spryi_cost *cost,
                                 const spry_matrix *A, const spry_spmv_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_build_request request = {.A = A,
                                   .options = options,
                                   .value_type = A->a.value_type,
                                   .massively_parallel = 1,
                                   .cost = cost};
    OK(cudaDeviceGetAttribute(&request.compute_major, cudaDevAttrComputeCapabilityMajor, 0));
    OK(cudaDeviceGetAttribute(&request.units, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetAttribute(&request.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    status = spryi_parse_format(format, request.parameters, options->format, err);
    if (status == SPRY_OK) status = spryi_complete_request(context, &request, *format, err);
    if (status == SPRY_OK) status = spryi_storage_build(context, *format, storage, &request, err);
    spryi_matrix_release(request.csr);
    return status;
}

/* Compares the sections on the device with the sections on the host. */
static void compare(const char *what, const spry_spmv_plan *plan, void *host)
{
    spryi_section ours[SPRYI_MOST_SECTIONS], theirs[SPRYI_MOST_SECTIONS];
    int count = spryi_storage_device_sections(plan->forward.target.format, plan->forward.stored.storage, ours);
    assert_int_equal(spryi_storage_device_sections(plan->forward.target.format, host, theirs), count);
    for (int s = 0; s < count; s++) {
        assert_string_equal(ours[s].name, theirs[s].name);
        assert_int_equal(ours[s].item_bytes, theirs[s].item_bytes);
        if (ours[s].count != theirs[s].count)
            fail_msg("%s: %s has %lld entries, on the host %lld", what, ours[s].name, (long long)ours[s].count,
                     (long long)theirs[s].count);
        size_t bytes = (size_t)(ours[s].count * ours[s].item_bytes);
        unsigned char *got = malloc(bytes + 1);
        if (!got) abort();
        if (!ours[s].array)
            memcpy(got, ours[s].inside, bytes); /* a field of the storage struct, which is on the host */
        else if (bytes > 0)
            OK(cudaMemcpy(got, *ours[s].array, bytes, cudaMemcpyDeviceToHost));
        const unsigned char *wanted = ours[s].array ? *theirs[s].array : theirs[s].inside;
        for (size_t b = 0; b < bytes; b++)
            if (got[b] != wanted[b])
                fail_msg("%s: %s differs at entry %zu of %lld", what, ours[s].name, b / (size_t)ours[s].item_bytes,
                         (long long)ours[s].count);
        free(got);
    }
    assert_int_equal(spryi_storage_bytes(plan->forward.target.format, plan->forward.stored.storage),
                     spryi_storage_bytes(plan->forward.target.format, host));
    const spry_arrays *a = spryi_storage_arrays(plan->forward.stored.storage), *b = spryi_storage_arrays(host);
    assert_true(a->rows == b->rows && a->columns == b->columns && a->nnz == b->nnz && a->layout == b->layout);
    assert_true(a->index_type == b->index_type && a->offset_type == b->offset_type && a->value_type == b->value_type);
}

/*
 * Returns whether two refusals are equal. Their messages must be equal, except if the memory limit is exceeded. Then
 * only the limits must be equal: the plan of a GPU counts more bytes than the storage, and may stop before it counts
 * blocks.
 */
static int is_same_refusal(const spry_error *err, const spry_error *expected)
{
    if (strcmp(expected->argument, "memory_limit_bytes") != 0) return strcmp(err->message, expected->message) == 0;
    return strcmp(err->argument, "memory_limit_bytes") == 0 && err->limit == expected->limit && err->value > err->limit;
}

/*
 * Converts A, which is on the host or on the device, to one format. Expects a storage equal to a build of `on_host` on
 * the host, or an equal refusal.
 */
static void try_format(spry_context *context, const char *what, const spry_matrix *A, const spry_matrix *on_host, int n,
                       int64_t limit)
{
    spry_spmv_options options = gpu_options(NULL, cases[n].op, 1);
    options.format = cases[n].format;
    options.memory_limit_bytes = limit;
    options.vector_type = on_host->a.value_type == SPRY_PATTERN ? SPRY_F64 : on_host->a.value_type;
    const spryi_format *format = NULL;
    spry_spmv_plan *plan = NULL;
    void *host = NULL;
    spry_error expected = SPRY_ERROR_INIT, err = SPRY_ERROR_INIT;
    spryi_cost cost = {0};
    spry_status wanted = build_on_host(context, &host, &format, &cost, on_host, &options, &expected);
    spry_status got = spry_spmv_plan_create(context, &plan, A, &options, &err);
    if (got != wanted || !is_same_refusal(&err, &expected))
        fail_msg("%s: \"%s\", on the host \"%s\"", what, err.message, expected.message);
    if (plan) {
        if (!plan->forward.stored.built_on_device) fail_msg("%s: was made on the host", what);
        if (strcmp(plan->forward.stored.parameters, cost.parameters) != 0)
            fail_msg("%s: made with %s, on the host %s", what, plan->forward.stored.parameters, cost.parameters);
        compare(what, plan, host);
        spryi_storage_destroy(context, format, host);
    }
    spry_spmv_plan_destroy(plan);
}

/* Tries all formats of `cases`. If `only` is not NULL, tries only this format, with each of its parameters. */
static void try_matrix(spry_context *context, const char *name, const spry_arrays *a, int64_t limit, int rotation,
                       int plain_only, const char *only)
{
    spry_arrays on_device = *a;
    const size_t offset_bytes = spryi_index_type_bytes(a->offset_type);
    on_device.offsets = upload(a->offsets, (a->rows + 1) * (int64_t)offset_bytes);
    on_device.indices = upload(a->indices, a->nnz * 4);
    if (a->values) on_device.values = upload(a->values, a->nnz * (int64_t)spry_type_bytes(a->value_type));
    on_device.device = 1;
    spry_matrix *A = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *checked = create_matrix(context, a); /* A does not record its order */
    if (spry_matrix_check(checked, NULL, SPRY_CHECK_ALL, &err) != SPRY_OK) fail_msg("%s: %s", name, err.message);
    spry_matrix_destroy(checked);
    A = create_matrix(context, a);
    spry_matrix *B = create_matrix(context, &on_device);
    for (int n = 0; n < CASES; n++) {
        char what[256];
        if (a->value_type == SPRY_PATTERN && !takes_patterns(cases[n].format)) continue;
        if (only && strncmp(cases[n].format, only, strlen(only)) != 0) continue;
        const int with_parameters = strchr(cases[n].format, ':') != NULL;
        if (plain_only && with_parameters) continue;
        for (int device = 0; device < 2; device++) {
            /* A format with parameters is tested with A in only one of the two memories. */
            if (with_parameters && (n + rotation) % 2 != device) continue;
            snprintf(what, sizeof what, "%s, %s, %s, %s offsets, in %s memory", cases[n].format, name,
                     spry_type_name(a->value_type), a->offset_type == SPRY_I32 ? "32-bit" : "64-bit",
                     device ? "device" : "host");
            try_format(context, what, device ? B : A, A, n, limit);
        }
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    discard(on_device.offsets);
    discard(on_device.indices);
    discard(on_device.values);
}

/* Runs one of six variants: value types, offset types, and patterns. */
static void try_family(spry_context *context, const family *f, int variant, int64_t limit, int rotation,
                       const char *only)
{
    const spry_type type = variant % 2 ? SPRY_F32 : SPRY_F64;
    double *values = random_numbers(f->nnz, type, 9);
    form how = {.layout = SPRY_CSR, .place = ON_HEAP, .pattern = variant >= 4};
    given g = given_make(f, values, &how, type, variant / 2 % 2);
    try_matrix(context, f->name, &g.a, limit, rotation, 0, only);
    given_free(&g);
    free(values);
}

/* Runs two of the six variants of each family, by rotation: all would take minutes. */
static void every_family(void **state)
{
    spry_context *context = context_of(2);
    for (int number = 0, rotation = 0; number < family_count(); number = family_next(number, 1), rotation++) {
        family f = family_make(number);
        for (int variant = rotation % 3; variant < 6; variant += 3) {
            try_family(context, &f, variant, 0, rotation, NULL); /* the padding guard refuses some formats */
            try_family(context, &f, variant, (int64_t)64 << 20, rotation + 1, NULL); /* 64 MB replaces the guard */
        }
        family_free(&f);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- packed -------------------------------------------------------------------------------------------- */

/* Kind of rows in a stretch, that is, in STRETCH consecutive rows. A super-super-row of packed has 1024 rows. */
typedef enum stretch {
    STEPS,      /* column - row is equal for the k-th entry of all rows */
    HOLES,      /* STEPS, but one in eight entries is missing, or five in eight */
    BLOCKS,     /* dense blocks of b rows and columns, at equal distances in all block rows or not */
    BROKEN,     /* BLOCKS, but one row in 97 has columns anywhere */
    NEAR,       /* columns within a range of 60 000 */
    FAR,        /* columns anywhere */
    UNEVEN,     /* lengths from 0 to 39, so packed sorts the rows by length */
    HEAVY,      /* a few rows have very many entries */
    DISORDERED, /* unsorted, with repeated positions */
    STRETCHES
} stretch;

enum { STRETCH = 480, ROWS = 4 * 1024 + 77, COLS = 200000 };

static int64_t draw(uint64_t *state, int64_t below)
{
    return (int64_t)(family_random(state) % (uint64_t)below);
}

/* Writes at most `room` entries of row i to columns. b: size of blocks. */
static int64_t draw_row(stretch kind, uint64_t *state, int64_t i, int64_t b, uint64_t seed, int64_t *columns)
{
    uint64_t own = seed + (uint64_t)(i / STRETCH) * 977, of_block = seed * 31 + (uint64_t)(i / b);
    const int64_t odd = i / STRETCH % 2, missing = odd ? 5 : 1;
    int64_t width = 1 + draw(&own, kind == HEAVY ? 3 : 30), n = 0;
    const int is_blocks = kind == BLOCKS || (kind == BROKEN && i % 97 != 5);
    if (kind == UNEVEN) width = draw(state, 40);
    if (kind == HEAVY && draw(state, 60) == 0) width = 300 + draw(state, 4000);
    if (is_blocks) width = 1 + width / b;
    for (int64_t k = 0; k < width; k++) {
        int64_t j = draw(state, COLS);
        if (kind == STEPS || kind == HOLES) j = i + 40 + k * k * (1 + draw(&own, 2));
        if (kind == NEAR || kind == UNEVEN) j = (i / 1024 * 9000 + k * 1900 + draw(state, 1900)) % COLS;
        if (kind == DISORDERED) j = draw(state, 30) + i;
        if (is_blocks) j = (i / b + k * 7 + draw(odd ? &own : &of_block, 7)) * b;
        if (kind == HOLES && draw(state, 8) < missing) continue;
        for (int64_t c = 0; c < (is_blocks ? b : 1); c++) columns[n++] = j + c;
    }
    return n;
}

/* Draws stretches in a random order. b: size of blocks; if b is not 1, most stretches are BLOCKS. */
static family draw_family(uint64_t seed, int64_t b)
{
    uint64_t state = seed;
    family f = {.rows = ROWS, .cols = COLS, .offsets = calloc(ROWS + 1, 8), .columns = malloc((size_t)ROWS * 64 * 8)};
    int64_t *row = malloc(4400 * 8);
    assert_true(f.offsets && f.columns && row);
    snprintf(f.name, sizeof f.name, "drawn %d, blocks of %d", (int)seed, (int)b);
    for (int64_t i = 0; i < ROWS; i++) {
        uint64_t own = seed * 77 + (uint64_t)(i / STRETCH);
        stretch kind = (stretch)draw(&own, STRETCHES);
        if (b > 1 && draw(&own, 8) != 0) kind = BLOCKS;
        int64_t n = draw_row(kind, &state, i, b, seed, row);
        if (f.nnz + n > ROWS * 64) n = 0;
        memcpy(f.columns + f.nnz, row, (size_t)n * 8);
        f.nnz += n;
        f.offsets[i + 1] = f.nnz;
    }
    free(row);
    return f;
}

/*
 * Tests matrices whose slices change their kind within and between super-super-rows, slices that share or do not share
 * lists of distances, and long rows.
 */
static void packed_slices(void **state)
{
    spry_context *context = context_of(2);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        family f = draw_family(seed, 1 + (int64_t)seed % 6);
        for (int variant = 0; variant < 6; variant++) {
            if ((variant + (int)seed) % 3 == 2) continue;
            try_family(context, &f, variant, 0, 0, "packed");
        }
        family_free(&f);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- swept --------------------------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/*
 * Draws empty rows, short rows, rows with neighbouring columns, rows that repeat a column, and rows longer than a
 * block.
 */
static family draw_uneven(uint64_t seed)
{
    enum { COUNT = 3001, LONGEST = 30000 };
    uint64_t state = seed;
    /*
     * 2^30 columns: the column and the block of an entry do not fit into one sort key. 2^23: columns of a batch may be
     * too far from each other for the offsets of its slots. 5000: neither.
     */
    const int64_t cols = seed % 4 == 1 ? (int64_t)1 << 30 : seed % 2 ? (int64_t)1 << 23 : 5000;
    family f = {.rows = COUNT, .cols = cols, .offsets = calloc(COUNT + 1, 8), .columns = malloc((size_t)COUNT * 800)};
    assert_true(f.offsets && f.columns);
    snprintf(f.name, sizeof f.name, "uneven %d", (int)seed);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t kind = draw(&state, 4), center = draw(&state, cols - 600);
        int64_t n = kind == 0 ? 0 : draw(&state, kind == 2 ? 90 : 30), *row = f.columns + f.nnz;
        const int is_long = draw(&state, 1000) == 0;
        if (is_long) n = 3000 + draw(&state, LONGEST - 3000);
        if (f.nnz + n > COUNT * 100) n = 0;
        for (int64_t k = 0; k < n; k++) {
            row[k] = center;
            if (kind == 1 || is_long)
                row[k] = draw(&state, cols);
            else if (kind == 2)
                row[k] += draw(&state, 600);
        }
        if (seed % 3) qsort(row, (size_t)n, sizeof *row, compare_columns);
        f.nnz += n;
        f.offsets[i + 1] = f.nnz;
    }
    return f;
}

/*
 * Tests blocks that begin within a row, rows with multiple sums, entries that swept assigns to a later group, columns
 * that are far from each other, and unsorted rows.
 */
static void swept_blocks(void **state)
{
    spry_context *context = context_of(2);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        family f = draw_uneven(seed);
        for (int variant = 0; variant < 4; variant++) {
            try_family(context, &f, variant, (int64_t)256 << 20, variant, "swept");
        }
        family_free(&f);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- windowed ------------------------------------------------------------------------------------------ */

enum { NX = 37, NY = 41, NODES = NX * NY };

/* Lists a node and its neighbours in ascending order. node[] is a permutation of the grid, number[] its inverse. */
static int64_t around(const int64_t *node, const int64_t *number, int64_t n, int64_t *found)
{
    int64_t count = 0;
    for (int64_t y = node[n] / NX - 1; y <= node[n] / NX + 1; y++)
        for (int64_t x = node[n] % NX - 1; x <= node[n] % NX + 1; x++)
            if (x >= 0 && x < NX && y >= 0 && y < NY) found[count++] = number[y * NX + x];
    qsort(found, (size_t)count, sizeof *found, compare_columns);
    return count;
}

/*
 * Draws the matrix of a grid with 1 to 5 unknowns per node. The seed decides if the unknowns of a node are adjacent
 * and if the nodes are shuffled. Some rows lack an entry, some rows are long.
 */
static family draw_mesh(uint64_t seed)
{
    enum { LONGEST = 3000 };
    const int64_t u = 1 + (int64_t)seed % 5, is_distant = (int64_t)seed / 5 % 2, rows = NODES * u;
    uint64_t state = seed;
    int64_t node[NODES], number[NODES], near[9];
    family f = {.rows = rows,
                .cols = rows,
                .offsets = calloc(NODES * 5 + 1, 8),
                .columns = malloc(NODES * 5 * 100 * 8)};
    assert_true(f.offsets && f.columns);
    snprintf(f.name, sizeof f.name, "mesh %d, %d unknowns", (int)seed, (int)u);
    for (int64_t n = 0; n < NODES; n++) node[n] = n;
    for (int64_t n = NODES - 1; seed % 2 && n > 0; n--) {
        const int64_t other = draw(&state, n + 1), swap = node[n];
        node[n] = node[other];
        node[other] = swap;
    }
    for (int64_t n = 0; n < NODES; n++) number[node[n]] = n;
    for (int64_t i = 0; i < rows; i++) {
        int64_t *row = f.columns + f.nnz, n = 0;
        const int64_t count = around(node, number, is_distant ? i % NODES : i / u, near);
        for (int64_t e = 0; e < count * u; e++)
            row[n++] = is_distant ? e / count * NODES + near[e % count] : near[e / u] * u + e % u;
        if (seed % 3 && draw(&state, 40) == 0) {
            n--;
            row[draw(&state, n)] = row[n];
        }
        if (draw(&state, 900) == 0 && f.nnz + LONGEST < NODES * 5 * 50) {
            n = 500 + draw(&state, LONGEST - 500);
            for (int64_t e = 0; e < n; e++) row[e] = draw(&state, rows);
        }
        f.nnz += n;
        f.offsets[i + 1] = f.nnz;
    }
    return f;
}

/*
 * Draws rows of up to 512 columns: runs of 1 to 3 adjacent columns, far from each other. Even 32 rows, the smallest
 * window, have more columns than a larger window may have. Every third row equals the row before it.
 */
static family draw_wide(uint64_t seed)
{
    enum { COUNT = 330, WIDEST = 512 };
    const int64_t run = 1 + (int64_t)seed % 3, cols = (int64_t)1 << (16 + seed % 8);
    uint64_t state = seed;
    family f = {.rows = COUNT, .cols = cols, .offsets = calloc(COUNT + 1, 8), .columns = malloc(COUNT * WIDEST * 8)};
    assert_true(f.offsets && f.columns);
    snprintf(f.name, sizeof f.name, "wide %d", (int)seed);
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t *row = f.columns + f.nnz, n = (WIDEST - draw(&state, seed % 4 ? 40 : 500)) / run * run;
        for (int64_t e = 0; e < n; e++) row[e] = e % run ? row[e - 1] + 1 : draw(&state, cols - run);
        if (i % 3 == 2) {
            n = f.offsets[i] - f.offsets[i - 1];
            memcpy(row, f.columns + f.offsets[i - 1], (size_t)n * sizeof *row);
        }
        f.nnz += n;
        f.offsets[i + 1] = f.nnz;
    }
    return f;
}

/* Draws windows of 64 or 32 rows with exactly the permitted number of columns. One window has one column more. */
static family draw_full(uint64_t seed)
{
    enum { COUNT = 256 };
    const int64_t width = seed % 2 ? 128 : 64;
    family f = {.rows = COUNT,
                .cols = COUNT * 129,
                .offsets = calloc(COUNT + 1, 8),
                .columns = malloc(COUNT * 129 * 8)};
    assert_true(f.offsets && f.columns);
    snprintf(f.name, sizeof f.name, "full %d", (int)seed);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t n = width + (i == 200);
        for (int64_t e = 0; e < n; e++) f.columns[f.nnz++] = i * 129 + e;
        f.offsets[i + 1] = f.nnz;
    }
    return f;
}

/*
 * Tests groups, runs with stride 1 and with stride cols/run, cells, windows that are halved, windows of one slice with
 * many columns, and long rows. windowed.h explains these words.
 */
static void windowed_windows(void **state)
{
    spry_context *context = context_of(2);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        family f = seed <= 20 ? draw_mesh(seed) : seed <= 28 ? draw_wide(seed) : draw_full(seed);
        for (int variant = 0; variant < 6; variant++) {
            if ((variant + (int)seed) % 3 == 2) continue;
            try_family(context, &f, variant, 0, variant, "windowed");
        }
        family_free(&f);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- large --------------------------------------------------------------------------------------------- */

/* Tests matrices of up to a few million entries. Prints the time of each conversion and of the upload of CSR. */
static void large_matrices(void **state)
{
    static const char *const specs[] = {"grid7,x=80,y=80,z=80", "rmat,scale=17,edges=16,seed=11", "circuit,rows=60000",
                                        "uniform,rows=150000,degree=18,seed=13"};
    for (int n = 0; n < 4; n++) {
        spry_context *context = context_of(2);
        spry_matrix *A = NULL;
        spry_error err = SPRY_ERROR_INIT;
        if (spry_matrix_generate(context, &A, specs[n], NULL, &err) != SPRY_OK) {
            printf("%s: %s\n", specs[n], err.message);
            spry_context_destroy(context);
            continue;
        }
        spry_arrays arrays = arrays_of(A);
        arrays.ownership = SPRY_BORROW; /* a device's arrays cannot be copied */
        try_matrix(context, specs[n], &arrays, 0, 0, 1, NULL);
        for (int c = 0; c < CASES; c++) {
            spry_spmv_options options = gpu_options(NULL, cases[c].op, 1);
            spry_spmv_plan *plan = NULL;
            options.format = cases[c].format;
            options.memory_limit_bytes = 0;
            if (strchr(cases[c].format, ':')) continue;
            if (spry_spmv_plan_create(context, &plan, A, &options, NULL) != SPRY_OK) continue;
            spry_spmv_plan_info info = plan_info(plan);
            printf("%-22s %-22s set-up %9.0f us, upload %9.0f us, storage %lld bytes\n", specs[n], cases[c].format,
                   info.setup_us, info.upload_us, (long long)info.storage_bytes);
            spry_spmv_plan_destroy(plan);
        }
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family),     cmocka_unit_test(packed_slices),  cmocka_unit_test(swept_blocks),
        cmocka_unit_test(windowed_windows), cmocka_unit_test(large_matrices),
    };
    if (!has_gpu()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
