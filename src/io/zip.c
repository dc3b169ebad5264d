#include "io/zip.h"

#include "base/error.h"

#if SPRY_HAVE_MINIZIP

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <minizip/unzip.h>

enum { MOST_RATIO = 1032, MOST_READ = 1 << 30 }; /* deflate never does better */

/* ---- the file as minizip sees it ---------------------------------------------------------------- */

static voidpf ZCALLBACK open_file(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong ZCALLBACK read_file(voidpf opaque, voidpf stream, void *to, uLong size)
{
    spryi_zip *zip = opaque;
    const spryi_text *text = zip->text;
    uLong got = 0;
    (void)stream;
    if (text->memory) {
        const int64_t left = text->bytes - zip->at;
        got = left < (int64_t)size ? (uLong)left : size;
        memcpy(to, text->memory + zip->at, got);
    }
    while (!text->memory && got < size) {
        const ssize_t count = pread(text->fd, (char *)to + got, size - got, zip->at + (int64_t)got);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) zip->number = errno;
        if (count <= 0) break;
        got += (uLong)count;
    }
    zip->at += (int64_t)got;
    return got;
}

static ZPOS64_T ZCALLBACK tell_file(voidpf opaque, voidpf stream)
{
    (void)stream;
    return (ZPOS64_T)((spryi_zip *)opaque)->at;
}

static long ZCALLBACK seek_file(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    spryi_zip *zip = opaque;
    const int64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? zip->at
                         : origin == ZLIB_FILEFUNC_SEEK_END ? zip->text->bytes
                                                            : 0;
    (void)stream;
    if (offset > (ZPOS64_T)(zip->text->bytes - from)) return -1;
    zip->at = from + (int64_t)offset;
    return 0;
}

static int ZCALLBACK close_file(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

/* ---- archive and members ------------------------------------------------------------------------ */

static spry_status fail(const spryi_zip *zip, const char *what, spry_error *err)
{
    if (zip->number != 0) return spryi_fail_errno(err, zip->text->name, "cannot be read", zip->number);
    return spryi_fail_file(err, SPRY_BAD_FILE, zip->text->name, 0, "%s%s%s", zip->member ? zip->member : "",
                           zip->member ? ": " : "", what);
}

spry_status spryi_zip_open(spryi_zip *zip, const spryi_text *text, spry_error *err)
{
    *zip = (spryi_zip){.text = text};
    if (text->feed.fd >= 0)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, text->name, 0,
                               "is a zip archive, as .npz files are, which is not read from a pipe");
    zlib_filefunc64_def functions = {.zopen64_file = open_file,
                                     .zread_file = read_file,
                                     .ztell64_file = tell_file,
                                     .zseek64_file = seek_file,
                                     .zclose_file = close_file,
                                     .zerror_file = close_file,
                                     .opaque = zip};
    zip->archive = unzOpen2_64(text->name, &functions);
    if (zip->archive) return SPRY_OK;
    return fail(zip, "is cut or damaged: a zip archive's directory was not found at its end", err);
}

void spryi_zip_close(spryi_zip *zip)
{
    if (!zip->archive) return;
    if (zip->member) (void)unzCloseCurrentFile(zip->archive);
    (void)unzClose(zip->archive);
    zip->archive = NULL;
}

spry_status spryi_zip_open_member(spryi_zip *zip, const char *name, int64_t *bytes, spry_error *err)
{
    unz_file_info64 info;
    *bytes = -1;
    const int found = unzLocateFile(zip->archive, name, 1);
    if (found == UNZ_END_OF_LIST_OF_FILE && zip->number == 0) return SPRY_OK;
    zip->member = name; /* for the message */
    spry_status status = SPRY_OK;
    if (found != UNZ_OK || unzGetCurrentFileInfo64(zip->archive, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK) {
        status = fail(zip, "the archive's directory is damaged", err);
    } else if (info.flag & 1) {
        status = fail(zip, "is encrypted", err);
    } else if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
        status = fail(zip, "is compressed in a way that NumPy does not write", err);
    } else if (info.compressed_size > (ZPOS64_T)zip->text->bytes ||
               info.uncompressed_size / MOST_RATIO > info.compressed_size) {
        status = fail(zip, "claims more bytes than the file can contain", err);
    } else if (unzOpenCurrentFile(zip->archive) != UNZ_OK) {
        status = fail(zip, "cannot be opened: the archive is damaged, or memory is out", err);
    } else {
        *bytes = zip->left = (int64_t)info.uncompressed_size;
        const int as_it_is = info.compression_method == 0 && info.compressed_size == info.uncompressed_size;
        zip->stored = as_it_is ? (int64_t)unzGetCurrentFileZStreamPos64(zip->archive) : 0;
        zip->sum = crc32(0, NULL, 0);
        zip->wanted = info.crc;
    }
    if (status != SPRY_OK) zip->member = NULL;
    return status;
}

/* Bytes without compression are read in one piece: minizip copies them one by one. */
static spry_status read_stored(spryi_zip *zip, void *to, int64_t bytes, spry_error *err)
{
    const int is_there = bytes <= zip->left && bytes <= zip->text->bytes - zip->stored;
    zip->at = zip->stored;
    if (!is_there || (int64_t)read_file(zip, NULL, to, (uLong)bytes) < bytes) return fail(zip, "is cut short", err);
    zip->sum = crc32_z(zip->sum, to, (z_size_t)bytes);
    zip->stored += bytes;
    zip->left -= bytes;
    return SPRY_OK;
}

spry_status spryi_zip_read(spryi_zip *zip, void *to, int64_t bytes, spry_error *err)
{
    if (zip->stored > 0) return read_stored(zip, to, bytes, err);
    char *at = to;
    while (bytes > 0) {
        const int got = unzReadCurrentFile(zip->archive, at, (unsigned)(bytes < MOST_READ ? bytes : MOST_READ));
        if (got <= 0) return fail(zip, got < 0 ? "is damaged" : "is cut short", err);
        at += got;
        bytes -= got;
        zip->left -= got;
    }
    return SPRY_OK;
}

spry_status spryi_zip_close_member(spryi_zip *zip, spry_error *err)
{
    const int result = unzCloseCurrentFile(zip->archive);
    const int holds = zip->stored == 0 || zip->left > 0 || zip->sum == zip->wanted;
    const spry_status status = result == UNZ_OK && holds ? SPRY_OK
                                                         : fail(zip, "is damaged: its check sum does not hold", err);
    zip->member = NULL;
    return status;
}

#else

spry_status spryi_zip_open(spryi_zip *zip, const spryi_text *text, spry_error *err)
{
    *zip = (spryi_zip){.text = text};
    return spryi_fail_file(err, SPRY_UNSUPPORTED, text->name, 0,
                           "is a zip archive, as .npz files are; this library was built without minizip, by which it "
                           "would read them");
}

void spryi_zip_close(spryi_zip *zip)
{
    (void)zip;
}

spry_status spryi_zip_open_member(spryi_zip *zip, const char *name, int64_t *bytes, spry_error *err)
{
    *bytes = -1;
    return spryi_fail_file(err, SPRY_INTERNAL, zip->text->name, 0, "%s: no archive is open", name);
}

spry_status spryi_zip_read(spryi_zip *zip, void *to, int64_t bytes, spry_error *err)
{
    (void)to;
    return spryi_fail_file(err, SPRY_INTERNAL, zip->text->name, 0, "%lld bytes: no archive is open", (long long)bytes);
}

spry_status spryi_zip_close_member(spryi_zip *zip, spry_error *err)
{
    return spryi_fail_file(err, SPRY_INTERNAL, zip->text->name, 0, "no archive is open");
}

#endif
