#include "io/inflater.h"

#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BYTES = 128 << 10, CARRY_BYTES = 1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES };

typedef enum stage { IN_MEMBER, BETWEEN_MEMBERS, AT_END, BROKEN } stage;

struct spryi_inflater {
    z_stream z;
    stage stage;
    int64_t taken;      /* bytes of the input given to zlib so far */
    int64_t carried;    /* bytes of carry that come first next time */
    char fault[160];    /* BROKEN: why */
    spry_status status; /* BROKEN: and what that is */
    char input[INPUT_BYTES];
    char carry[CARRY_BYTES];
};

static void *allocate_for_zlib(void *context, unsigned count, unsigned size)
{
    void *pointer = NULL;
    return spryi_allocate(context, &pointer, count, size, "gzip window", NULL) == SPRY_OK ? pointer : NULL;
}

static void release_for_zlib(void *context, void *pointer)
{
    spryi_release(context, pointer);
}

spry_status spryi_inflater_create(spry_context *context, spryi_inflater **inflater, spry_error *err)
{
    spryi_inflater *made = NULL;
    spry_status status = SPRYI_NEW(context, &made, 1, "gzip buffers", err);
    if (status != SPRY_OK) return status;
    memset(&made->z, 0, sizeof made->z);
    made->stage = IN_MEMBER;
    made->taken = made->carried = 0;
    made->z.zalloc = allocate_for_zlib;
    made->z.zfree = release_for_zlib;
    made->z.opaque = context;
    int result = inflateInit2(&made->z, 15 + 16); /* the largest window, gzip head and check sum */
    if (result == Z_OK) {
        *inflater = made;
        return SPRY_OK;
    }
    spryi_release(context, made);
    if (result == Z_MEM_ERROR) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: the gzip window");
    return spryi_fail(err, SPRY_INTERNAL, NULL, "zlib refused to start: error %d", result);
}

void spryi_inflater_destroy(spry_context *context, spryi_inflater *inflater)
{
    if (!inflater) return;
    (void)inflateEnd(&inflater->z);
    spryi_release(context, inflater);
}

int64_t spryi_inflater_most_left(const spryi_inflater *inflater, int64_t compressed_bytes)
{
    return inflater->carried + (compressed_bytes < INT64_MAX / 2048 ? compressed_bytes * 1032 : INT64_MAX / 2);
}

static void broken(spryi_inflater *in, spry_status status, const char *fault)
{
    in->stage = BROKEN;
    in->status = status;
    snprintf(in->fault, sizeof in->fault, "%s", fault);
}

/* More compressed bytes. At the end of the input avail_in stays 0. */
static void refill(const spryi_text *text, spryi_inflater *in)
{
    if (in->z.avail_in > 0) return;
    int64_t left = text->bytes - in->taken;
    if (left > INPUT_BYTES) left = INPUT_BYTES;
    if (text->memory) {
        /* zlib does not write to its input; older headers lack the const. */
        in->z.next_in = (Bytef *)(uintptr_t)(text->memory + in->taken);
    } else if (left > 0) {
        ssize_t got;
        do got = pread(text->fd, in->input, (size_t)left, in->taken);
        while (got < 0 && errno == EINTR);
        if (got < 0) broken(in, SPRY_FILE_ERROR, "cannot be read: input/output error");
        left = got > 0 ? got : 0;
        in->z.next_in = (Bytef *)in->input;
    }
    in->z.avail_in = (uInt)left;
    in->taken += left;
}

/* Another member, zeros as some tapes and archives append, or the end. */
static void look_for_member(const spryi_text *text, spryi_inflater *in)
{
    while (in->stage == BETWEEN_MEMBERS) {
        refill(text, in);
        if (in->stage == BROKEN) return;
        if (in->z.avail_in == 0) {
            in->stage = AT_END;
        } else if (*in->z.next_in == 0) {
            in->z.next_in++;
            in->z.avail_in--;
        } else if (*in->z.next_in != 0x1f) {
            broken(in, SPRY_BAD_FILE, "bytes that are no gzip follow the end of the gzip data");
        } else {
            (void)inflateReset(&in->z);
            in->stage = IN_MEMBER;
        }
    }
}

/* Inflates until buffer holds `want` bytes, or to the end or the first fault. */
static int64_t inflate_up_to(const spryi_text *text, spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want) {
        if (in->stage == BETWEEN_MEMBERS) look_for_member(text, in);
        if (in->stage != IN_MEMBER) break;
        refill(text, in);
        if (in->stage == BROKEN) break;
        in->z.next_out = (Bytef *)buffer + have;
        in->z.avail_out = (uInt)(want - have);
        int at_end = in->z.avail_in == 0;
        int result = inflate(&in->z, Z_NO_FLUSH);
        have = (char *)in->z.next_out - buffer;
        if (result == Z_STREAM_END) {
            in->stage = BETWEEN_MEMBERS;
        } else if (result == Z_MEM_ERROR) {
            broken(in, SPRY_OUT_OF_MEMORY, "out of memory: the gzip window");
        } else if (result == Z_BUF_ERROR && at_end) {
            broken(in, SPRY_BAD_FILE, "the gzip data end too early: the file was cut short");
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            char fault[120];
            snprintf(fault, sizeof fault, "the gzip data are damaged: %s", in->z.msg ? in->z.msg : "unknown fault");
            broken(in, SPRY_BAD_FILE, fault);
        }
    }
    return have;
}

spry_status spryi_inflater_next(spryi_text *text, char *buffer, int64_t capacity, int64_t *have, spry_error *err)
{
    spryi_inflater *in = text->inflater;
    int64_t filled = in->carried;
    memcpy(buffer, in->carry, (size_t)filled);
    in->carried = 0;
    const char *newline = NULL;
    for (int64_t want = SPRYI_BLOCK_BYTES;; want = capacity) {
        filled = inflate_up_to(text, in, buffer, filled, want);
        newline = filled > 0 ? memrchr(buffer, '\n', (size_t)filled) : NULL;
        if (newline || want == capacity || in->stage == AT_END || in->stage == BROKEN) break;
    }
    int64_t whole = newline ? newline + 1 - buffer : 0;
    if (in->stage == AT_END || (whole == 0 && in->stage != BROKEN)) whole = filled; /* the last line, or one too long */
    *have = whole;
    if (whole == 0 && in->stage == BROKEN)
        return in->status == SPRY_OUT_OF_MEMORY ? spryi_fail(err, in->status, NULL, "%s", in->fault)
                                                : spryi_fail_file(err, in->status, text->name, 0, "%s", in->fault);
    if (in->stage != BROKEN) spryi_inflater_put_back(in, buffer + whole, filled - whole);
    return SPRY_OK;
}

void spryi_inflater_put_back(spryi_inflater *inflater, const char *from, int64_t bytes)
{
    /* Only what was just handed out comes back, in front of what is carried: the whole never passes a buffer. */
    memmove(inflater->carry + bytes, inflater->carry, (size_t)inflater->carried);
    memcpy(inflater->carry, from, (size_t)bytes);
    inflater->carried += bytes;
}
