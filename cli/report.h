/* Reports of benchmark runs: one HTML file, drawn by the Python program in report/, which may be missing. */
#pragma once

#include "cli/cli.h"

/*
 * For the benchmark, before any measuring: looks for Python with Matplotlib, for the renderer and for the folder of
 * `html`. CLI_GO_ON, or CLI_USAGE after a message that says what is missing and how to get it.
 */
int cli_report_check(const char *html);

/*
 * Draws the JSON lines in the file `records` as `html`, which appears when it is complete. The records are said to be
 * of this machine. matrices: where files of matrices lie, NULL: where SPRY_MATRIX_DIR tells. CLI_OK, or an exit status
 * after a message.
 */
int cli_report_write(const char *html, const char *records, const char *matrices);

/* The same of JSON lines in memory. */
int cli_report_write_text(const char *html, const char *lines, const char *matrices);
