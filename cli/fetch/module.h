/*
 * What `spry fetch` has of libcurl and libarchive, in a module of its own: with their libraries the program would start
 * 12 ms later, whatever it is asked for (docs/decisions.md, 21).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FETCH_ABI = 1 };

typedef enum fetch_result {
    FETCH_DONE,
    FETCH_FAILED,    /* the reason tells why; what has come is kept */
    FETCH_NOT_THERE, /* the server has no such file */
    FETCH_STOPPED,   /* the hook wanted that */
    FETCH_BAD_DATA   /* what has come is not what was asked for, and is of no use */
} fetch_result;

/* While something goes on, some times a second; total -1: not known. Not 0 stops it. */
typedef struct fetch_hook {
    int (*progress)(void *user, int64_t done, int64_t total);
    void *user;
} fetch_hook;

typedef struct fetch_source {
    const char *url;
    int fd;             /* of the file that keeps what has come; what it has already is continued */
    const char *tag;    /* path of a file that tells which version of the url that is */
    long stall_seconds; /* without a byte for so long it is given up */
    int may_be_file;    /* file:// is allowed, too */
} fetch_source;

/* reason: a line for people, where it is not FETCH_DONE. */
typedef struct fetch_module {
    int abi;
    fetch_result (*download)(const fetch_source *source, const fetch_hook *hook, char *reason, size_t size);
    /* Of the tar.gz in fd NAME.mtx, to out as gzip. All of it is read, so that its check sum is compared. */
    fetch_result (*unpack)(int fd, const char *name, int out, const fetch_hook *hook, char *reason, size_t size);
} fetch_module;

typedef const fetch_module *(*fetch_module_fn)(void);
#define FETCH_ENTRY "spry_fetch_module"
