/*
 * Members of a zip archive, one at a time, by minizip (docs/decisions.md, 20). Whatever an archive claims is
 * compared with the bytes that it has before memory is asked for.
 */
#pragma once

#include "io/text.h"

typedef struct spryi_zip {
    const spryi_text *text; /* a file or memory, not a feed */
    int64_t at;             /* where minizip reads next */
    void *archive;          /* minizip's; it takes some kilobytes from malloc */
    const char *member;     /* that is open, NULL: none */
    int64_t left;           /* bytes of it that were not read yet */
    int64_t stored;         /* where they begin in the file, of a member without compression; 0: minizip reads them */
    unsigned long sum;      /* check sum of the bytes of such a member that were read ... */
    unsigned long wanted;   /* ... and of all of them */
    int number;             /* errno of a read that failed, 0: none */
} spryi_zip;

/* SPRY_UNSUPPORTED where the library was built without minizip. Close in any case. */
spry_status spryi_zip_open(spryi_zip *zip, const spryi_text *text, spry_error *err);
void spryi_zip_close(spryi_zip *zip);

/* *bytes: of the member as it was; -1: the archive has none of that name. A member that is there has to be closed. */
spry_status spryi_zip_open_member(spryi_zip *zip, const char *name, int64_t *bytes, spry_error *err);

/* The next bytes of the member; SPRY_BAD_FILE where it has less. */
spry_status spryi_zip_read(spryi_zip *zip, void *to, int64_t bytes, spry_error *err);

/* The member's check sum has to hold, once all of it was read. */
spry_status spryi_zip_close_member(spryi_zip *zip, spry_error *err);
