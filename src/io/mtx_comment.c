/* A comment of any length as lines that the format allows. */
#include "io/mtx.h"

#include <string.h>

enum { MOST_LINE = 1024, MOST_TEXT = MOST_LINE - 2 }; /* '%' and the newline are counted */

/* How many of the bytes at p, which are too many, go into a line: up to a blank, else up to the end of a character. */
static size_t break_at(const char *p)
{
    const char *blank = memrchr(p, ' ', MOST_TEXT + 1);
    if (blank > p) return (size_t)(blank - p);
    size_t take = MOST_TEXT;
    while (take > MOST_TEXT - 3 && ((unsigned char)p[take] & 0xc0) == 0x80) take--; /* within a UTF-8 character */
    return take;
}

size_t spryi_mtx_comment(char *to, const char *comment)
{
    size_t bytes = 0;
    while (comment && *comment) {
        size_t length = strcspn(comment, "\n"), take = length > MOST_TEXT ? break_at(comment) : length;
        if (to) {
            *to++ = '%';
            memcpy(to, comment, take);
            to += take;
            *to++ = '\n';
        }
        bytes += take + 2;
        comment += take;
        if (*comment == '\n' || (take < length && *comment == ' ')) comment++;
    }
    return bytes;
}
