/*
 * The functions of `spry fetch` that need libcurl and libarchive. They are a separate module, because these libraries
 * would delay the start of every command by 12 ms (docs/decisions.md, 21).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FETCH_ABI = 2 };

typedef enum fetch_result {
    FETCH_DONE,
    FETCH_FAILED,    /* failed for the given reason; received data is kept */
    FETCH_NOT_FOUND, /* the server has no such file */
    FETCH_STOPPED,   /* stopped by the hook */
    FETCH_BAD_DATA   /* the received data is not the requested file, and useless */
} fetch_result;

/*
 * progress is called multiple times a second. done, total: bytes; total is -1 if it is not known. A result other than 0
 * stops the work.
 */
typedef struct fetch_hook {
    int (*progress)(void *user, int64_t done, int64_t total);
    void *user;
} fetch_hook;

typedef struct fetch_source {
    const char *url;
    int fd;             /* file of received data; a partial file is continued */
    const char *tag;    /* path of a file with the version (ETag or date) of the received data */
    long stall_seconds; /* gives up after this time without a byte */
    bool may_be_file;   /* addresses with file:// are also allowed */
} fetch_source;

/* reason: receives a line for people if the result is not FETCH_DONE. */
typedef struct fetch_module {
    int abi;
    fetch_result (*download)(const fetch_source *source, const fetch_hook *hook, char *reason, size_t size);
    /* Copies NAME.mtx from the tar.gz in fd to out, as gzip. Reads all of fd, so that its checksum is compared. */
    fetch_result (*unpack)(int fd, const char *name, int out, const fetch_hook *hook, char *reason, size_t size);
} fetch_module;

typedef const fetch_module *(*fetch_module_fn)(void);
#define FETCH_ENTRY "spry_fetch_module"
