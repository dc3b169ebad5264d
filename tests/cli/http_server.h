/* A server of files on this machine, which goes wrong in the way that a path's first word asks for. */
#pragma once

/*
 * Serves the files in `root` at http://127.0.0.1:PORT/MODE/..., in a process of its own, and returns PORT. MODE:
 *   plain     with ranges, and ETag "v1"
 *   other     the same with ETag "v2": another version of the file
 *   redirect  to plain
 *   cut       the first half alone, where all is asked for, then as plain
 *   deaf      all of it, whatever range is asked for
 *   wrong     a range that begins elsewhere, where one is asked for
 *   stall     some bytes, then nothing more
 *   busy      503
 *   page      a web page in place of the file
 * Each request is a line in the file `log`: "MODE/PATH RANGE IF-RANGE", with "-" where there is none.
 */
int start_server(const char *root, const char *log);
void stop_server(void);
