#include "io/output.h"

#include "base/error.h"
#include "spry/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Path in /proc of an open file, which linkat needs. */
typedef struct fd_path {
    char text[40];
} fd_path;

static fd_path path_of_fd(int fd)
{
    fd_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

/*
 * Opens a file without a name in the target's folder. If the process is killed, the system removes the file. The
 * library could not remove it, because signal handlers belong to the program. Returns 0 if the file system has no such
 * files.
 */
static int open_nameless(spryi_output *output)
{
#ifdef O_TMPFILE
    char folder[PATH_MAX];
    const char *slash = strrchr(output->target, '/');
    size_t length = slash == output->target ? 1 : slash ? (size_t)(slash - output->target) : 0;
    memcpy(folder, output->target, length);
    folder[length] = '\0';
    output->fd = open(length > 0 ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (output->fd >= 0 && access(path_of_fd(output->fd).text, F_OK) == 0) return 1;
    if (output->fd >= 0) (void)close(output->fd);
    output->fd = -1;
#endif
    return 0;
}

/*
 * Creates a temporary name in the target's folder. link 0: creates a file with that name (O_EXCL, with the mode of any
 * new file, so that the umask applies). link 1: gives that name to the nameless file.
 */
static int take_temporary_name(spryi_output *output, int link)
{
    static _Atomic unsigned counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        int length = snprintf(output->temporary, sizeof output->temporary, "%s.%ld-%u.tmp", output->target,
                              (long)getpid(), atomic_fetch_add(&counter, 1));
        if (length < 0 || (size_t)length >= sizeof output->temporary) {
            errno = ENAMETOOLONG;
            break;
        }
        if (!link) output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int good =
            link ? linkat(AT_FDCWD, path_of_fd(output->fd).text, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) == 0
                 : output->fd >= 0;
        if (good) return 1;
        if (errno != EEXIST) break;
    }
    output->temporary[0] = '\0';
    return 0;
}

/*
 * Creates a nameless file, or a file with a temporary name if nameless files are not available (NFS, no /proc). If the
 * process is killed, a file with a temporary name remains in the target's folder.
 */
static spry_status open_temporary(spryi_output *output, spry_error *err)
{
    if (open_nameless(output) || take_temporary_name(output, 0)) return SPRY_OK;
    return spryi_fail_errno(err, output->name, "cannot be created", errno);
}

/*
 * Gives the complete file its final name. No system call replaces a file by a nameless file. If a file has the final
 * name, the new file therefore first gets a temporary name.
 */
static int put_in_place(spryi_output *output)
{
    if (!output->temporary[0]) {
        fd_path from = path_of_fd(output->fd);
        if (linkat(AT_FDCWD, from.text, AT_FDCWD, output->target, AT_SYMLINK_FOLLOW) == 0) return 1;
        if (errno != EEXIST || !take_temporary_name(output, 1)) return 0;
    }
    return rename(output->temporary, output->target) == 0;
}

/* Returns whether name[0..length) ends with the suffix, in upper or lower case, after at least one character. */
static int ends_with(const char *name, size_t length, const char *suffix)
{
    const size_t end = strlen(suffix);
    return length > end && strncasecmp(name + length - end, suffix, end) == 0;
}

spry_status spryi_output_kind_of(const char *path, spryi_output_kind *kind, bool *gzip, spry_error *err)
{
    struct stat facts;
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    *kind = SPRYI_OUTPUT_MTX;
    *gzip = ends_with(name, length, ".gz");
    if (*gzip) length -= 3;
    if (!*gzip && ends_with(name, length, ".spry"))
        *kind = SPRYI_OUTPUT_CONTAINER;
    else if (ends_with(name, length, ".csv"))
        *kind = SPRYI_OUTPUT_CSV;
    if (*kind != SPRYI_OUTPUT_MTX || ends_with(name, length, ".mtx")) return SPRY_OK;
    if (length < 2 || !memchr(name + 1, '.', length - 1)) return SPRY_OK; /* no ending */
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, "path",
                      "write: %s has an unknown ending, expected .mtx or .csv, also with .gz behind it, or .spry%s",
                      path, ends_with(name, length, ".npz") ? "; scipy.sparse.save_npz writes .npz" : "");
}

spry_status spryi_check_write_options(const spry_write_options *options, const char *path, spryi_output_kind kind,
                                      bool of_vector, spry_error *err)
{
    const bool is_mtx = kind == SPRYI_OUTPUT_MTX, is_table = kind == SPRYI_OUTPUT_CSV && of_vector;
    const struct {
        const char *name, *files;
        bool given, is_right;
    } rules[] = {
        {"full", "Matrix Market files of matrices", options->full, is_mtx && !of_vector},
        {"comment", "Matrix Market files", options->comment != NULL, is_mtx},
        {"format", "containers, whose names end in .spry", options->format != NULL, kind == SPRYI_OUTPUT_CONTAINER},
        {"row_name", "CSV files of vectors", options->row_name != NULL, is_table},
        {"value_name", "CSV files of vectors", options->value_name != NULL, is_table},
        {"index_base", "CSV files of vectors", options->index_base != 0, is_table},
    };
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (rules[r].given && !rules[r].is_right)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, rules[r].name,
                              "write: %s is an option of %s, which %s is not", rules[r].name, rules[r].files, path);
    return SPRY_OK;
}

static spry_status open_direct(spryi_output *output, const char *path, spry_error *err)
{
    output->direct = 1;
    output->fd = open(path, O_WRONLY | O_CLOEXEC);
    return output->fd >= 0 ? SPRY_OK : spryi_fail_errno(err, output->name, "cannot be opened for writing", errno);
}

int spryi_output_target(char target[PATH_MAX], const char *path)
{
    enum { MOST_LINKS = 40 };
    char to[PATH_MAX];
    if (realpath(path, target)) return 1;
    size_t begin = 0, length = strlen(path);
    const char *from = path;
    for (int links = 0; links < MOST_LINKS; links++) {
        if (begin + length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return 0;
        }
        memcpy(target + begin, from, length);
        target[begin + length] = '\0';
        const ssize_t count = readlink(target, to, sizeof to);
        if (count < 0) return 1; /* not a link */
        const char *slash = to[0] == '/' ? NULL : strrchr(target, '/');
        begin = slash ? (size_t)(slash + 1 - target) : 0;
        length = (size_t)count;
        from = to;
    }
    errno = ELOOP;
    return 0;
}

spry_status spryi_output_open(spryi_output *output, const char *path, spry_error *err)
{
    output->name = path;
    output->direct = 0;
    output->temporary[0] = '\0';
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->direct = 1;
        output->fd = STDOUT_FILENO;
        (void)fflush(stdout); /* earlier output of the program comes first */
        return SPRY_OK;
    }
    struct stat facts;
    int exists = stat(path, &facts) == 0;
    if (!exists && errno != ENOENT) return spryi_fail_errno(err, path, "cannot be created", errno);
    if (exists && S_ISDIR(facts.st_mode))
        return spryi_fail_file(err, SPRY_FILE_ERROR, path, 0, "is a directory, expected a file to write");
    if (exists && !S_ISREG(facts.st_mode)) return open_direct(output, path, err);
    if (exists && access(path, W_OK) != 0) return spryi_fail_errno(err, path, "cannot be replaced", errno);
    /* A link remains a link: its target is created or replaced. */
    if (!spryi_output_target(output->target, path)) return spryi_fail_errno(err, path, "cannot be created", errno);
    spry_status status = open_temporary(output, err);
    if (status == SPRY_OK && exists) (void)fchmod(output->fd, facts.st_mode & 07777);
    return status;
}

spry_status spryi_output_write(const spryi_output *output, const void *data, size_t bytes, spry_error *err)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t count = write(output->fd, p, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return spryi_fail_errno(err, output->name, "cannot be written", errno);
        p += count;
        bytes -= (size_t)count;
    }
    return SPRY_OK;
}

/* Finds write errors before the file gets its name. Otherwise only closing the file would report them. */
static int flush_file(int fd)
{
    int copy = dup(fd);
    return copy >= 0 && close(copy) == 0;
}

spry_status spryi_output_close(spryi_output *output, spry_status status, spry_error *err)
{
    if (output->fd < 0 || (output->fd == STDOUT_FILENO && output->direct)) return status;
    if (status == SPRY_OK && !flush_file(output->fd))
        status = spryi_fail_errno(err, output->name, "cannot be written", errno);
    if (status == SPRY_OK && !output->direct && !put_in_place(output))
        status = spryi_fail_errno(err, output->name, "cannot be put in place", errno);
    if (status != SPRY_OK && output->temporary[0]) (void)unlink(output->temporary);
    (void)close(output->fd);
    return status;
}
