/* Density pictures as PNG: the matrix before and after it was reordered. libpng's simplified interface; optional. */
#include "cli/cli.h"
#include "spry/tools.h"

#include <stdlib.h>
#include <string.h>

#if SPRY_HAVE_PNG
#include <math.h>
#include <png.h>

enum { WIDTH = 1024, MARGIN = 16, PANEL = (WIDTH - 3 * MARGIN) / 2, LEAST_HEIGHT = 32 };
enum { WHITE = 255, FRAME = 96, FAINT = 176 }; /* FAINT: of a cell with one entry, so that it is still seen */

/* The matrix's proportions, but never a line or a tower. */
static int panel_height(const spry_arrays *a)
{
    double height = a->cols > 0 ? PANEL * ((double)a->rows / (double)a->cols) : LEAST_HEIGHT;
    return height < LEAST_HEIGHT ? LEAST_HEIGHT : height > PANEL ? PANEL : (int)(height + 0.5);
}

/* Shades go by the logarithm of the number of entries in a cell: a full band does not hide single ones. */
static int draw_panel(unsigned char *image, int left, int height, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    if (spry_matrix_get_arrays(A, &a, err) != SPRY_OK) return 0;
    const int rows = a.rows < height ? (int)a.rows : height, columns = a.cols < PANEL ? (int)a.cols : PANEL;
    int64_t *counts = calloc((size_t)rows * (size_t)columns + 1, sizeof *counts), most = 1;
    if (!counts || (rows > 0 && columns > 0 && spry_matrix_spy(A, counts, rows, columns, err) != SPRY_OK)) {
        free(counts);
        return 0;
    }
    for (int c = 0; c < rows * columns; c++)
        if (counts[c] > most) most = counts[c];
    for (int y = -1; y <= height; y++)
        for (int x = -1; x <= PANEL; x++) {
            unsigned char *pixel = image + (size_t)(MARGIN + y) * WIDTH + (size_t)(left + x);
            const int frame = y < 0 || y == height || x < 0 || x == PANEL;
            const int64_t count = frame || rows == 0 || columns == 0
                                      ? 0
                                      : counts[(int64_t)y * rows / height * columns + (int64_t)x * columns / PANEL];
            if (frame) *pixel = FRAME;
            if (count > 0) *pixel = (unsigned char)(FAINT - FAINT * log2((double)count) / log2((double)most + 1));
        }
    free(counts);
    return 1;
}

int cli_write_spy_png(const char *path, const spry_matrix *before, const spry_matrix *after)
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

int cli_write_spy_png(const char *path, const spry_matrix *before, const spry_matrix *after)
{
    (void)before;
    (void)after;
    cli_message("%s: pictures need libpng, which this program was built without; install libpng-dev and build again",
                path);
    return CLI_UNSUCCESSFUL;
}

#endif
