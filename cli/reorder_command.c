/* spry reorder: reorders rows and columns. */
#include "cli/cli.h"
#include "cli/json.h"
#include "common/density.h"
#include "common/disturbance.h"
#include "common/input.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/study.h"
#include "spry/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pictures as PNG, by libpng's simplified interface (optional) -------------------------------------- */

#if SPRY_HAVE_PNG
#include <png.h>

enum { WIDTH = 1024, MARGIN = 16, PANEL = (WIDTH - 3 * MARGIN) / 2, LEAST_HEIGHT = 32 };
enum { WHITE = 255, FRAME = 96, FAINT = 176 }; /* FAINT: shade of a cell with one entry, still visible */

/* Returns the height that keeps the matrix's proportions, between LEAST_HEIGHT and PANEL. */
static int panel_height(const spry_arrays *a)
{
    double height = a->columns > 0 ? PANEL * ((double)a->rows / (double)a->columns) : LEAST_HEIGHT;
    return height < LEAST_HEIGHT ? LEAST_HEIGHT : height > PANEL ? PANEL : (int)(height + 0.5);
}

/*
 * Draws a matrix. The shade of a cell depends on the logarithm of its number of entries, so that a full band does not
 * hide single entries. Returns false if memory is short or after an error.
 */
static bool draw_panel(unsigned char *image, int left, int height, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    if (spry_matrix_get_arrays(A, &a, err) != SPRY_OK) return false;
    const int rows = a.rows < height ? (int)a.rows : height, columns = a.columns < PANEL ? (int)a.columns : PANEL;
    int64_t *counts = calloc((size_t)rows * (size_t)columns + 1, sizeof *counts), most = 1;
    if (!counts || (rows > 0 && columns > 0 && count_density(A, counts, rows, columns, err) != SPRY_OK)) {
        free(counts);
        return false;
    }
    for (int c = 0; c < rows * columns; c++)
        if (counts[c] > most) most = counts[c];
    for (int y = -1; y <= height; y++)
        for (int x = -1; x <= PANEL; x++) {
            unsigned char *pixel = image + (size_t)(MARGIN + y) * WIDTH + (size_t)(left + x);
            const bool frame = y < 0 || y == height || x < 0 || x == PANEL;
            const int64_t count = frame || rows == 0 || columns == 0
                                      ? 0
                                      : counts[(int64_t)y * rows / height * columns + (int64_t)x * columns / PANEL];
            if (frame) *pixel = FRAME;
            if (count > 0) *pixel = (unsigned char)(FAINT - FAINT * log2((double)count) / log2((double)most + 1));
        }
    free(counts);
    return true;
}

/* Draws both matrices in one picture, 1024 pixels wide, dark on white. Returns CLI_GO_ON, or an exit status. */
static int write_pictures(const char *path, const spry_matrix *before, const spry_matrix *after)
{
    spry_error err = {0};
    spry_arrays a = SPRY_INIT(spry_arrays);
    if (spry_matrix_get_arrays(before, &a, &err) != SPRY_OK) return cli_fail(&err);
    const int height = panel_height(&a);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = WIDTH,
                       .height = (png_uint_32)(height + 2 * MARGIN),
                       .format = PNG_FORMAT_GRAY};
    unsigned char *pixels = malloc(PNG_IMAGE_SIZE(image));
    int status = CLI_UNSUCCESSFUL;
    cli_output output;
    if (!pixels) {
        cli_message("out of memory for the picture");
        return status;
    }
    memset(pixels, WHITE, PNG_IMAGE_SIZE(image));
    if (!draw_panel(pixels, MARGIN, height, before, &err) ||
        !draw_panel(pixels, 2 * MARGIN + PANEL, height, after, &err)) {
        if (err.status != SPRY_OK)
            status = cli_fail(&err);
        else
            cli_message("out of memory for the picture");
        goto done;
    }
    status = cli_output_open(&output, path);
    if (status != CLI_GO_ON) goto done;
    const int written = png_image_write_to_stdio(&image, output.stream, 0, pixels, 0, NULL);
    if (!written) cli_message("%s: cannot be written as PNG: %s", path, image.message);
    status = cli_output_close(&output, written ? CLI_OK : CLI_UNSUCCESSFUL);
    if (status == CLI_OK) status = CLI_GO_ON;
done:
    png_image_free(&image);
    free(pixels);
    return status;
}

#else

static int write_pictures(const char *path, const spry_matrix *before, const spry_matrix *after)
{
    (void)before;
    (void)after;
    cli_message("%s: this program was built without libpng, which pictures need: install libpng-dev and build again",
                path);
    return CLI_UNSUCCESSFUL;
}

#endif

typedef struct arguments {
    const char *method, *out, *perm, *groups, *spy, *tuning;
    int64_t k, srs, ssrs, sssrs, threads;
    cli_json json;
} arguments;

typedef struct facts {
    cli_input input;
    spry_ordering_info ordering;
    spry_ordering_stats figures;
    double disturbance; /* share of the processors that other programs used while products were measured */
    double permute_us, product_before_us, product_after_us; /* products: NaN if not measured */
} facts;

static const cli_option options[] = {
    {"method", 0, "rcm|bandk|degree|bfs",
     "reverse Cuthill-McKee, Band-k, longest rows first, or breadth first:\n"
     "similar to rcm, but faster (default: rcm)",
     CLI_WORD, CLI_AT(method)},
    {"out", 'o', "OUT",
     "write the reordered matrix: .mtx, .csv, .mtx.gz, .spry; '-' is\n"
     "standard output",
     CLI_TEXT, CLI_AT(out)},
    {"perm", 0, "P",
     "write the permutation as a Matrix Market array: line i has the number\n"
     "of the row of FILE that is now row i, counted from 1; or as .csv, with\n"
     "rows numbered as in FILE",
     CLI_TEXT, CLI_AT(perm)},
    {"groups", 0, "G",
     "bandk: write the offsets of its groups, one line per level: sr_ptr,\n"
     "then ssr_ptr and sssr_ptr",
     CLI_TEXT, CLI_AT(groups)},
    {"spy", 0, "PNG", "draw the matrix before and after", CLI_TEXT, CLI_AT(spy)},
    {"k", 0, "2|3|4", "bandk: levels: super-rows; also super-super-rows; also groups of those (default: 3)",
     CLI_INTEGER, CLI_AT(k), 2, 4},
    {"srs", 0, "N", "bandk: rows per super-row (default: from --tuning)", CLI_INTEGER, CLI_AT(srs), 1, 32768},
    {"ssrs", 0, "N", "bandk: super-rows per super-super-row (default: from --tuning)", CLI_INTEGER, CLI_AT(ssrs), 1,
     32768},
    {"sssrs", 0, "N", "bandk with --k 4: super-super-rows per group (default: 8)", CLI_INTEGER, CLI_AT(sssrs), 1,
     32768},
    {"tuning", 0, "cpu|volta|ampere|hopper|table|volta-ssrs|ampere-ssrs",
     "bandk: rule for the sizes of groups, as in format csr3 (default: cpu)", CLI_WORD, CLI_AT(tuning)},
    CLI_THREADS_OPTION("threads"),
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("one JSON object"),
    CLI_END_OF_OPTIONS,
};

/* ---- report ------------------------------------------------------------------------------------- */

static void print_facts(FILE *out, const facts *f)
{
    const spry_arrays *a = &f->input.arrays;
    const spry_ordering_info *o = &f->ordering;
    const spry_ordering_stats *b = &f->figures;
    fprintf(out, "%s: %s x %s, %s entries, reordered by %s\n", f->input.name, cli_count(a->rows).s,
            cli_count(a->columns).s, cli_count(a->nnz).s, o->method);
    fprintf(out, "  %-14s %20s %20s\n", "", "before", "after");
    fprintf(out, "  %-14s %20s %20s\n", "bandwidth", cli_count(b->bandwidth_before).s, cli_count(b->bandwidth_after).s);
    fprintf(out, "  %-14s %20s %20s\n", "profile", cli_count(b->profile_before).s, cli_count(b->profile_after).s);
    fprintf(out, "  %-14s %20.3f %20.3f   of x an entry: 4 numbers of it, once in 32 rows\n", "sectors",
            b->sectors_before, b->sectors_after);
    if (!isnan(f->product_before_us))
        fprintf(out, "  %-14s %20s %20s\n", "a product", cli_time(f->product_before_us).s,
                cli_time(f->product_after_us).s);
    if (f->disturbance >= DISTURBED_SHARE)
        fprintf(out, "  %-14s other programs used %.0f %% of the processors: the times of products are not reliable\n",
                "disturbed", 100 * f->disturbance);
    fprintf(out, "  the ordering took %s, moving the entries %s\n", cli_time(o->setup_us).s, cli_time(f->permute_us).s);
    if (o->components > 0) fprintf(out, "  connected components: %s\n", cli_count(o->components).s);
    if (o->groups->sr_ptr)
        fprintf(out, "  super-rows: %s of about %lld rows\n", cli_count(o->groups->sr_count).s,
                (long long)o->groups->srs);
    if (o->groups->ssr_ptr)
        fprintf(out, "  super-super-rows: %s of about %lld super-rows\n", cli_count(o->groups->ssr_count).s,
                (long long)o->groups->ssrs);
    if (o->groups->sssr_ptr)
        fprintf(out, "  groups of super-super-rows: %s of about %lld\n", cli_count(o->groups->sssr_count).s,
                (long long)o->groups->sssrs);
    if (a->rows != a->columns) fprintf(out, "  not square: only rows were reordered\n");
}

static int json_facts(cJSON *o, const facts *f)
{
    const spry_arrays *a = &f->input.arrays;
    const spry_ordering_info *i = &f->ordering;
    const spry_ordering_stats *b = &f->figures;
    return cli_json_begin(o, f->input.name, RECORD_OK, NULL) && cli_json_integer(o, "rows", a->rows) &&
           cli_json_integer(o, "columns", a->columns) && cli_json_integer(o, "nnz", a->nnz) &&
           cli_json_integer(o, "index_base", f->input.base) && cli_json_text(o, "method", i->method) &&
           cli_json_integer(o, "threads", pool_threads(f->input.context)) &&
           cli_json_integer(o, "bandwidth_before", b->bandwidth_before) &&
           cli_json_integer(o, "bandwidth_after", b->bandwidth_after) &&
           cli_json_integer(o, "profile_before", b->profile_before) &&
           cli_json_integer(o, "profile_after", b->profile_after) &&
           cli_json_number(o, "sectors_before", b->sectors_before) &&
           cli_json_number(o, "sectors_after", b->sectors_after) && cli_json_number(o, "reorder_us", i->setup_us) &&
           cli_json_number(o, "permute_us", f->permute_us) &&
           cli_json_number(o, "product_before_us", f->product_before_us) &&
           cli_json_number(o, "product_after_us", f->product_after_us) &&
           cli_json_flag(o, "disturbed", f->disturbance >= DISTURBED_SHARE) &&
           cli_json_integer(o, "components", i->components > 0 ? i->components : -1) &&
           cli_json_integer(o, "super_rows", i->groups->sr_ptr ? i->groups->sr_count : -1) &&
           cli_json_integer(o, "super_super_rows", i->groups->ssr_ptr ? i->groups->ssr_count : -1) &&
           cli_json_integer(o, "srs", i->groups->sr_ptr ? i->groups->srs : -1) &&
           cli_json_integer(o, "ssrs", i->groups->ssr_ptr ? i->groups->ssrs : -1) &&
           cli_json_integer(o, "super_super_super_rows", i->groups->sssr_ptr ? i->groups->sssr_count : -1) &&
           cli_json_integer(o, "sssrs", i->groups->sssr_ptr ? i->groups->sssrs : -1);
}

static int report(arguments *a, const facts *f)
{
    int status = cli_json_open(&a->json), good = 1;
    if (status != CLI_GO_ON) return status;
    if (a->json.wanted) {
        cJSON *o = cJSON_CreateObject();
        good = cli_json_line(&a->json, o, json_facts(o, f));
    }
    FILE *out = cli_is_dash(a->out) ? stderr : stdout;
    if (good && cli_for_people(&a->json)) {
        print_facts(out, f);
        const char *const paths[] = {cli_is_dash(a->out) ? NULL : a->out, a->perm, a->groups, a->spy};
        static const char *const titles[] = {"the matrix", "the permutation", "the groups", "the picture"};
        for (int p = 0; p < 4; p++)
            if (paths[p]) fprintf(out, "  %s is in %s\n", titles[p], paths[p]);
    }
    return cli_json_close(&a->json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

/* ---- reordering --------------------------------------------------------------------------------- */

/* Writes the permutation as a Matrix Market array, counted from 1, or as CSV, counted from the base of the input. */
static int write_permutation(const char *path, const facts *f)
{
    cli_output output;
    int status = cli_output_open(&output, path);
    if (status != CLI_GO_ON) return status;
    const int csv = cli_is_csv(path), base = csv ? f->input.base : 1;
    if (csv)
        fprintf(output.stream, "row,before\n");
    else
        fprintf(output.stream,
                "%%%%MatrixMarket matrix array integer general\n"
                "%% row i of the matrix reordered by %s is row perm(i) of the matrix before, both counted from 1\n%lld "
                "1\n",
                f->ordering.method, (long long)f->ordering.rows);
    for (int64_t i = 0; i < f->ordering.rows; i++) {
        if (csv) fprintf(output.stream, "%lld,", (long long)(i + base));
        fprintf(output.stream, "%lld\n", (long long)(f->ordering.row_perm[i] + base));
    }
    status = cli_output_close(&output, CLI_OK);
    return status == CLI_OK ? CLI_GO_ON : status;
}

static void write_level(FILE *out, const char *name, const int64_t *ptr, int64_t count)
{
    if (!ptr) return;
    fprintf(out, "%s", name);
    for (int64_t g = 0; g <= count; g++) fprintf(out, " %lld", (long long)ptr[g]);
    fprintf(out, "\n");
}

static int write_groups(const char *path, const spry_ordering_info *o)
{
    cli_output output;
    int status = cli_output_open(&output, path);
    if (status != CLI_GO_ON) return status;
    write_level(output.stream, "sr_ptr", o->groups->sr_ptr, o->groups->sr_count);
    write_level(output.stream, "ssr_ptr", o->groups->ssr_ptr, o->groups->ssr_count);
    write_level(output.stream, "sssr_ptr", o->groups->sssr_ptr, o->groups->sssr_count);
    status = cli_output_close(&output, CLI_OK);
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Measures a product with the best CSR kernel. *us: microseconds; NaN if the matrix has no entries. */
static spry_status time_product(const cli_input *input, double *us, const spry_matrix *A, spry_error *err)
{
    *us = (double)NAN;
    if (input->arrays.nnz == 0) return SPRY_OK;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options_of_plan = SPRY_INIT(spry_spmv_options);
    spry_measurement measured = SPRY_INIT(spry_measurement);
    options_of_plan.format = "csr";
    spry_status status = spry_spmv_plan_create(input->context, &plan, A, &options_of_plan, err);
    if (status == SPRY_OK) status = spry_spmv_plan_measure(plan, &measured, err);
    if (status == SPRY_OK) *us = measured.median_us;
    spry_spmv_plan_destroy(plan);
    return status;
}

static int write_files(const arguments *a, const spry_matrix *A, const spry_matrix *B, const facts *f)
{
    spry_error err = {0};
    if (a->out) {
        cli_progress_writing(a->out);
        if (spry_matrix_write(B, a->out, NULL, &err) != SPRY_OK) return cli_fail(&err);
    }
    if (a->perm) {
        int status = write_permutation(a->perm, f);
        if (status != CLI_GO_ON) return status;
    }
    if (a->groups) {
        int status = write_groups(a->groups, &f->ordering);
        if (status != CLI_GO_ON) return status;
    }
    return a->spy ? write_pictures(a->spy, A, B) : CLI_GO_ON;
}

/* Creates B, which is A in the order of f->ordering. Keeps duplicates. */
static spry_status permute(const facts *f, spry_matrix **B, const spry_matrix *A, spry_error *err)
{
    spry_selection rows = SPRY_INIT(spry_selection), columns = SPRY_INIT(spry_selection);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    rows.list = f->ordering.row_perm;
    rows.count = f->ordering.rows;
    columns.list = f->ordering.column_perm;
    columns.count = columns.list ? f->ordering.columns : 0;
    options.keep_duplicates = true;
    return spry_matrix_extract(f->input.context, B, A, &rows, &columns, &options, err);
}

static int reorder(facts *f, arguments *a)
{
    spry_error err = {0};
    spry_matrix *A = f->input.A, *B = NULL;
    spry_ordering *ordering = NULL;
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    how.method = a->method;
    how.k = (int)a->k;
    how.srs = a->srs;
    how.ssrs = a->ssrs;
    how.sssrs = a->sssrs;
    how.tuning = a->tuning;
    cli_progress("reordering");
    spry_status result = spry_ordering_create(f->input.context, &ordering, A, &how, &err);
    if (result == SPRY_OK) result = spry_ordering_get_info(ordering, &f->ordering, &err);
    if (result == SPRY_OK) result = spry_ordering_get_stats(ordering, &f->figures, A, &err);
    f->permute_us = now_us();
    if (result == SPRY_OK) result = permute(f, &B, A, &err);
    f->permute_us = now_us() - f->permute_us;
    cli_progress("multiplying");
    const processor_time before = read_processor_time();
    if (result == SPRY_OK) result = time_product(&f->input, &f->product_before_us, A, &err);
    if (result == SPRY_OK) result = time_product(&f->input, &f->product_after_us, B, &err);
    f->disturbance = disturbance_since(before, 0);
    int status = result == SPRY_OK ? write_files(a, A, B, f) : cli_fail(&err);
    if (status == CLI_GO_ON) status = report(a, f);
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(B);
    return status;
}

static int check_arguments(const arguments *a, const char *path)
{
    if (a->spy && !cli_ends_with(a->spy, ".png"))
        return cli_usage_error("--spy is '%s', expected a name that ends in .png", a->spy);
    const struct {
        const char *option, *path;
    } outputs[] = {{"out", a->out}, {"perm", a->perm}, {"groups", a->groups}, {"spy", a->spy}, {"json", a->json.path}};
    int status = CLI_GO_ON;
    for (int o = 0; o < 5 && status == CLI_GO_ON; o++)
        status = cli_check_output(outputs[o].option, outputs[o].path, path);
    for (int o = 0; o < 5 && status == CLI_GO_ON; o++)
        for (int p = 0; p < o && status == CLI_GO_ON; p++)
            if (outputs[o].path && outputs[p].path && strcmp(outputs[o].path, outputs[p].path) == 0)
                status = cli_usage_error("--%s and --%s both write '%s'", outputs[p].option, outputs[o].option,
                                         outputs[o].path);
    if (status == CLI_GO_ON) status = cli_check_matrix_name(a->out);
    if (status == CLI_GO_ON) status = cli_check_vector_name("perm", a->perm);
    if (status != CLI_GO_ON) return status;
    const char *method = a->method ? a->method : "rcm";
    if (strcmp(method, "bandk") != 0 && (a->k || a->srs || a->ssrs || a->sssrs || a->tuning || a->groups))
        return cli_usage_error(
            "--k, --srs, --ssrs, --sssrs, --tuning and --groups require --method bandk; %s has no groups", method);
    if (a->k == 2 && a->ssrs) return cli_usage_error("--ssrs requires --k 3 or 4: --k 2 has no super-super-rows");
    if (a->k < 4 && a->sssrs) return cli_usage_error("--sssrs requires --k 4, which has groups of super-super-rows");
    if (cli_is_dash(a->out) && a->json.wanted && !a->json.path)
        return cli_usage_error("-o - and --json both write to standard output; use --json=FILE");
    return CLI_GO_ON;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    facts f = {.ordering = SPRY_INIT(spry_ordering_info), .figures = SPRY_INIT(spry_ordering_stats)};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = check_arguments(&a, argv[0]);
    if (status != CLI_GO_ON) return status;
    status = cli_open_input(&f.input, argv[0], (spry_type)0, a.threads);
    if (status == CLI_GO_ON) status = reorder(&f, &a);
    cli_close_input(&f.input);
    return status;
}

const cli_command cli_reorder =
    {.name = "reorder",
     .summary = "reorder rows and columns so that entries are close to each other",
     .usage = "FILE --method rcm|bandk|degree|bfs [-o OUT] [OPTIONS]",
     .about = "Applies one order to rows and columns (only to rows if the matrix is not square). Reports the\n"
              "bandwidth, the profile, the sectors of x and the time of a product before and after. The written\n"
              "matrix keeps its field and symmetry.",
     .examples = "  spry reorder matrix.mtx.gz --method rcm -o narrow.mtx.gz --perm order.mtx\n"
                 "  spry reorder gen:grid5,x=300,y=300,shuffle=1 --method bandk --spy before-after.png\n",
     .options = options,
     .run = run};
