/* Reports of benchmark runs: one HTML file, drawn by the Python program in report/. That program may be missing. */
#pragma once

#include "cli/cli.h"

/*
 * Checks that Python with Matplotlib, the renderer and the folder of `html` exist. The benchmark calls this before any
 * measurement. Returns CLI_GO_ON, or CLI_USAGE after a message that says how to get the missing part.
 */
int cli_report_check(const char *html);

/*
 * Draws the JSON lines of the file `records` as the file `html`, which appears when it is complete. The report names
 * this machine. matrices: folder of matrix files; NULL: SPRY_MATRIX_DIR. Returns CLI_OK, or an exit status after a
 * message.
 */
int cli_report_write(const char *html, const char *records, const char *matrices);

/* Draws JSON lines in memory. */
int cli_report_write_text(const char *html, const char *lines, const char *matrices);
