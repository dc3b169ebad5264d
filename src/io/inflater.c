#include "io/inflater.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/gzip.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES = 128 << 10, CARRY_BYTES = 1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES };

/* Text as it is has one member. */
typedef enum stage { IN_MEMBER, BETWEEN_MEMBERS, AT_END, BROKEN } stage;

struct spryi_inflater {
    z_stream z;
    stage stage;
    spryi_text *text;
    spryi_packing packing; /* SPRYI_PLAIN: the input is the text. z is used by SPRYI_GZIP, its input by all packings */
    spryi_unpacker *unpacker; /* of other packings */
    int begun;                /* text was handed out */
    int in_long_line;         /* what comes next belongs to a line whose beginning was handed out */
    int64_t taken;            /* bytes of the input given to zlib so far */
    int64_t carried;          /* bytes of carry that come first next time */
    int64_t barren;           /* bytes of the input since the latest that brought text */
    int64_t left_out;         /* bytes of long lines in all */
    char fault[160];          /* BROKEN: why */
    spry_status status;       /* BROKEN: and what that is */
    char input[INPUT_BYTES];
    char carry[CARRY_BYTES];
};

static int64_t compressed_bytes(void *user, const char **data);

spry_status spryi_inflater_create(spryi_text *text, spryi_inflater **inflater, spry_error *err)
{
    spry_context *context = text->context;
    spryi_inflater *made = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &made, 1, "gzip buffers", err));
    memset(made, 0, offsetof(spryi_inflater, input));
    made->stage = IN_MEMBER;
    made->text = text;
    made->packing = text->packing;
    spryi_gzip_allocate_with(&made->z, context);
    spry_status status = SPRY_OK;
    if (made->packing == SPRYI_GZIP) {
        const int result = inflateInit2(&made->z, 15 + 16); /* the largest window, gzip head and check sum */
        if (result != Z_OK) status = spryi_gzip_fail(result, err);
    } else if (made->packing != SPRYI_PLAIN) {
        status =
            spryi_unpacker_create(context, &made->unpacker, made->packing, text->name, compressed_bytes, made, err);
    }
    if (status == SPRY_OK)
        *inflater = made;
    else
        spryi_release(context, made);
    return status;
}

void spryi_inflater_destroy(spry_context *context, spryi_inflater *inflater)
{
    if (!inflater) return;
    if (inflater->packing == SPRYI_GZIP) (void)inflateEnd(&inflater->z);
    spryi_unpacker_destroy(context, inflater->unpacker);
    spryi_release(context, inflater);
}

int64_t spryi_inflater_most_left(const spryi_inflater *inflater, const spryi_text *text)
{
    const spryi_feed *feed = &text->feed;
    int64_t input = text->bytes;
    if (feed->fd >= 0) {
        if (!feed->at_end) return INT64_MAX / 2;
        if (inflater->packing == SPRYI_PLAIN) return inflater->carried + spryi_feed_held(feed);
        input = feed->total;
    }
    const int64_t ratio = spryi_packing_ratio(inflater->packing);
    return inflater->carried + (input < INT64_MAX / 2 / ratio ? input * ratio : INT64_MAX / 2);
}

int64_t spryi_inflater_input_for(const spryi_inflater *inflater, const spryi_text *text, int64_t bytes)
{
    int64_t missing = bytes - inflater->carried;
    if (inflater->packing == SPRYI_PLAIN) return missing;
    return missing / spryi_packing_ratio(inflater->packing) + 1 - (text->feed.total - spryi_feed_held(&text->feed));
}

static void broken(spryi_inflater *in, spry_status status, const char *fault)
{
    in->stage = BROKEN;
    in->status = status;
    snprintf(in->fault, sizeof in->fault, "%s", fault);
}

static void cannot_be_read(spryi_inflater *in, int number)
{
    char fault[sizeof in->fault];
    snprintf(fault, sizeof fault, "cannot be read: %s", spryi_errno_reason(number).text);
    broken(in, SPRY_FILE_ERROR, fault);
}

/* Counts what brings no entry. A feed may go on like that for ever. */
static void count_aside(const spryi_text *text, spryi_inflater *in, int64_t *count, int64_t bytes, const char *fault)
{
    *count += bytes;
    if (text->feed.fd >= 0 && *count > SPRYI_ASIDE_BYTES && in->stage != BROKEN) broken(in, SPRY_BAD_FILE, fault);
}

static void count_barren(const spryi_text *text, spryi_inflater *in, int64_t bytes)
{
    char fault[sizeof in->fault];
    in->barren += bytes;
    if (text->feed.fd < 0 || in->barren <= SPRYI_ASIDE_BYTES || in->stage == BROKEN) return;
    snprintf(fault, sizeof fault, "%s data of more than 64 MB bring no text, the limit in a pipe",
             spryi_packing_name(in->packing));
    broken(in, SPRY_BAD_FILE, fault);
}

/* More compressed bytes. At the end of the input avail_in stays 0. */
static void refill(spryi_text *text, spryi_inflater *in)
{
    if (in->z.avail_in > 0) return;
    int64_t left = text->bytes - in->taken;
    if (left > INPUT_BYTES) left = INPUT_BYTES;
    if (text->memory) {
        /* zlib does not write to its input; older headers lack the const. */
        in->z.next_in = (Bytef *)(uintptr_t)(text->memory + in->taken);
    } else {
        int number = 0;
        if (text->feed.fd >= 0) {
            number = spryi_feed_take(&text->feed, in->input, INPUT_BYTES, &left);
        } else if (left > 0) {
            do left = pread(text->fd, in->input, (size_t)left, in->taken);
            while (left < 0 && errno == EINTR);
            number = left < 0 ? errno : 0;
        }
        if (number != 0) {
            cannot_be_read(in, number);
            left = 0;
        }
        in->z.next_in = (Bytef *)in->input;
    }
    in->z.avail_in = (uInt)left;
    in->taken += left;
}

/* Another member, zeros as some tapes and archives append, or the end. */
static void look_for_member(spryi_text *text, spryi_inflater *in)
{
    while (in->stage == BETWEEN_MEMBERS) {
        refill(text, in);
        if (in->stage == BROKEN) return;
        if (in->z.avail_in == 0) {
            in->stage = AT_END;
        } else if (*in->z.next_in == 0) {
            in->z.next_in++;
            in->z.avail_in--;
            count_barren(text, in, 1);
        } else if (*in->z.next_in != 0x1f) {
            broken(in, SPRY_BAD_FILE, "bytes that are no gzip follow the end of the gzip data");
        } else {
            (void)inflateReset(&in->z);
            in->stage = IN_MEMBER;
        }
    }
}

/* One call of zlib. Returns how much the buffer holds then. */
static int64_t inflate_some(spryi_text *text, spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    int64_t before = have, given = in->z.avail_in;
    int at_end = given == 0;
    in->z.next_out = (Bytef *)buffer + have;
    in->z.avail_out = (uInt)(want - have);
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
    if (have > before) in->barren = 0;
    count_barren(text, in, have > before ? 0 : given - in->z.avail_in);
    return have;
}

/* Inflates until buffer holds `want` bytes, or to the end or the first fault. */
static int64_t inflate_up_to(spryi_text *text, spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want) {
        if (in->stage == BETWEEN_MEMBERS) look_for_member(text, in);
        if (in->stage != IN_MEMBER) break;
        refill(text, in);
        if (in->stage == BROKEN) break;
        have = inflate_some(text, in, buffer, have, want);
    }
    return have;
}

/* The next bytes of the input for the unpacker. */
static int64_t compressed_bytes(void *user, const char **data)
{
    spryi_inflater *in = user;
    refill(in->text, in);
    const int64_t bytes = in->z.avail_in;
    *data = (const char *)in->z.next_in;
    in->z.avail_in = 0;
    if (in->stage != BROKEN) count_barren(in->text, in, bytes);
    return in->stage == BROKEN ? -1 : bytes;
}

/* Unpacks until buffer holds `want` bytes, or to the end or the first fault. */
static int64_t unpack_up_to(spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want && in->stage == IN_MEMBER) {
        spry_status status = SPRY_OK;
        char fault[sizeof in->fault];
        const int64_t got = spryi_unpacker_read(in->unpacker, buffer + have, want - have, &status, fault, sizeof fault);
        if (got > 0) {
            have += got;
            in->barren = 0;
        } else if (got == 0) {
            in->stage = AT_END;
        } else if (in->stage != BROKEN) {
            broken(in, status, fault);
        }
    }
    return have;
}

/* The same of text as it is. The first line is not kept waiting for others: a wrong one is refused at once. */
static int64_t copy_up_to(spryi_text *text, spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want && in->stage == IN_MEMBER) {
        int64_t got = 0;
        int number = spryi_feed_take(&text->feed, buffer + have, want - have, &got);
        if (number != 0) {
            cannot_be_read(in, number);
        } else if (got == 0) {
            in->stage = AT_END;
        }
        have += got;
        if (!in->begun && got > 0 && memchr(buffer + have - got, '\n', (size_t)got)) break;
    }
    return have;
}

static int64_t fill(spryi_text *text, spryi_inflater *in, char *buffer, int64_t have, int64_t want)
{
    if (in->packing == SPRYI_PLAIN) return copy_up_to(text, in, buffer, have, want);
    return in->packing == SPRYI_GZIP ? inflate_up_to(text, in, buffer, have, want)
                                     : unpack_up_to(in, buffer, have, want);
}

/* Leaves the rest of a long line out. Returns how much of what comes behind it buffer holds. */
static int64_t pass_long_line(spryi_text *text, spryi_inflater *in, char *buffer, int64_t filled)
{
    while (in->in_long_line) {
        if (filled == 0) filled = fill(text, in, buffer, 0, SPRYI_BLOCK_BYTES);
        const char *newline = memchr(buffer, '\n', (size_t)filled);
        int64_t passed = newline ? newline + 1 - buffer : filled;
        count_aside(text, in, &in->left_out, passed, "long lines take more than 64 MB, the limit in a pipe");
        in->in_long_line = !newline && in->stage != AT_END && in->stage != BROKEN;
        filled -= passed;
        memmove(buffer, buffer + passed, (size_t)filled);
    }
    return filled;
}

spry_status spryi_inflater_next(spryi_text *text, char *buffer, int64_t capacity, int64_t *have, spry_error *err)
{
    spryi_inflater *in = text->inflater;
    int64_t filled = in->carried;
    memcpy(buffer, in->carry, (size_t)filled);
    in->carried = 0;
    filled = pass_long_line(text, in, buffer, filled);
    const char *newline = NULL;
    for (int64_t want = SPRYI_BLOCK_BYTES;; want = capacity) {
        filled = fill(text, in, buffer, filled, want);
        newline = filled > 0 ? memrchr(buffer, '\n', (size_t)filled) : NULL;
        if (newline || want == capacity || in->stage == AT_END || in->stage == BROKEN) break;
    }
    in->begun = 1;
    int64_t whole = newline ? newline + 1 - buffer : 0;
    in->in_long_line = whole == 0 && in->stage != AT_END && in->stage != BROKEN;
    if (in->stage == AT_END || in->in_long_line) whole = filled; /* the last line, or the beginning of one */
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
