#include "io/output.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static spry_status fail_errno(const char *name, const char *what, int number, spry_error *err)
{
    char text[128];
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    const char *reason = strerror_r(number, text, sizeof text);
#else
    const char *reason = strerror_r(number, text, sizeof text) == 0 ? text : "unknown error";
#endif
    return spryi_fail_file(err, SPRY_FILE_ERROR, name, 0, "%s: %s", what, reason);
}

/* A new file in the target's folder; O_EXCL with the mode of any new file, so that the umask holds. */
static spry_status open_beside(spryi_output *output, spry_error *err)
{
    static _Atomic unsigned counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        int length = snprintf(output->beside, sizeof output->beside, "%s.%ld-%u.tmp", output->target, (long)getpid(),
                              atomic_fetch_add(&counter, 1));
        if (length < 0 || (size_t)length >= sizeof output->beside)
            return fail_errno(output->name, "cannot be created", ENAMETOOLONG, err);
        output->fd = open(output->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd >= 0) return SPRY_OK;
        if (errno != EEXIST) break;
    }
    return fail_errno(output->name, "cannot be created", errno, err);
}

static spry_status open_direct(spryi_output *output, const char *path, spry_error *err)
{
    output->direct = 1;
    output->fd = open(path, O_WRONLY | O_CLOEXEC);
    return output->fd >= 0 ? SPRY_OK : fail_errno(output->name, "cannot be opened for writing", errno, err);
}

spry_status spryi_output_open(spryi_output *output, const char *path, spry_error *err)
{
    output->name = path;
    output->direct = 0;
    output->beside[0] = '\0';
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->direct = 1;
        output->fd = STDOUT_FILENO;
        (void)fflush(stdout); /* what the program printed before comes first */
        return SPRY_OK;
    }
    struct stat facts;
    int exists = stat(path, &facts) == 0;
    if (!exists && errno != ENOENT) return fail_errno(path, "cannot be created", errno, err);
    if (exists && S_ISDIR(facts.st_mode))
        return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "is a directory, expected a file to write");
    if (exists && !S_ISREG(facts.st_mode)) return open_direct(output, path, err);
    if (exists && access(path, W_OK) != 0) return fail_errno(path, "cannot be replaced", errno, err);
    /* A link stays a link: what it leads to is replaced. */
    if (!exists || !realpath(path, output->target)) {
        if (strlen(path) >= sizeof output->target) return fail_errno(path, "cannot be created", ENAMETOOLONG, err);
        memcpy(output->target, path, strlen(path) + 1);
    }
    spry_status status = open_beside(output, err);
    if (status == SPRY_OK && exists) (void)fchmod(output->fd, facts.st_mode & 07777);
    return status;
}

spry_status spryi_output_write(const spryi_output *output, const void *data, size_t bytes, spry_error *err)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t count = write(output->fd, p, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_errno(output->name, "cannot be written", errno, err);
        p += count;
        bytes -= (size_t)count;
    }
    return SPRY_OK;
}

spry_status spryi_output_close(spryi_output *output, int ok, spry_error *err)
{
    spry_status status = SPRY_OK;
    if (output->fd == STDOUT_FILENO && output->direct) return SPRY_OK;
    if (close(output->fd) != 0 && ok) status = fail_errno(output->name, "cannot be written", errno, err);
    if (output->direct) return status;
    if (ok && status == SPRY_OK && rename(output->beside, output->target) != 0)
        status = fail_errno(output->name, "cannot be put in place", errno, err);
    if (!ok || status != SPRY_OK) (void)unlink(output->beside);
    return status;
}
