/*
 * The least of what the machine has (MemAvailable), what the control groups of the process leave (a container's limit,
 * versions 1 and 2), and what its own limits leave (ulimit -v and -d). A dozen small files are read, which takes less
 * than the pages of one large block.
 */
#include "base/memory.h"

#include "base/cpu_features.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, PATH_BYTES = 1024 }; /* small, for the stacks of threads */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A small file as text; 0: it cannot be read. */
static int read_text(char text[TEXT_BYTES], const char *root, const char *path, const char *name)
{
    char full[2 * PATH_BYTES];
    int length = snprintf(full, sizeof full, "%s%s%s", root, path, name);
    int file = length < (int)sizeof full ? open(full, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    size_t used = 0;
    for (ssize_t got; used < TEXT_BYTES - 1 && (got = read(file, text + used, TEXT_BYTES - 1 - used)) > 0;)
        used += (size_t)got;
    close(file);
    text[used] = '\0';
    return used > 0;
}

/* A whole number in front of text; -1: there is none, as in "max". */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long number = strtoll(text, &end, 10);
    return end != text && number >= 0 ? (int64_t)number : -1;
}

/* The number behind a name that begins a line; -1: there is none. */
static int64_t number_after(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0) return number_of(line + length);
    }
    return -1;
}

/* ---- control groups ----------------------------------------------------------------------------- */

/* Where a version keeps its files, and what it calls them. */
typedef struct hierarchy {
    const char *mount, *limit, *use;
    const char *reclaimable[3]; /* lines of memory.stat: the kernel drops these pages before it refuses others */
} hierarchy;

static const hierarchy version2 = {"/sys/fs/cgroup",
                                   "/memory.max",
                                   "/memory.current",
                                   {"inactive_file ", "active_file ", "slab_reclaimable "}};
static const hierarchy version1 = {"/sys/fs/cgroup/memory",
                                   "/memory.limit_in_bytes",
                                   "/memory.usage_in_bytes",
                                   {"total_inactive_file ", "total_active_file ", NULL}};

/* The bytes that one group leaves; INT64_MAX where it has no limit. */
static int64_t left_in_group(const char *root, const hierarchy *h, const char *path)
{
    char text[TEXT_BYTES];
    const int64_t limit = read_text(text, root, path, h->limit) ? number_of(text) : -1;
    if (limit < 0 || limit > INT64_MAX / 2) return INT64_MAX;
    int64_t used = read_text(text, root, path, h->use) ? number_of(text) : 0;
    if (used > 0 && read_text(text, root, path, "/memory.stat"))
        for (int r = 0; r < 3 && h->reclaimable[r]; r++) {
            const int64_t bytes = number_after(text, h->reclaimable[r]);
            if (bytes > 0) used -= smaller(bytes, used);
        }
    return used < limit ? limit - used : 0;
}

/*
 * The group and all above it. In a container the path may be the host's, which is not there: then the mount's own files
 * tell the container's limit.
 */
static int64_t left_in_groups(const char *root, const hierarchy *h, const char *group, size_t length)
{
    char path[PATH_BYTES];
    const size_t mount = strlen(h->mount);
    int64_t left = INT64_MAX;
    if (mount + length >= sizeof path) length = 0;
    memcpy(path, h->mount, mount);
    memcpy(path + mount, group, length);
    path[mount + length] = '\0';
    if (strstr(path, "/..")) path[mount] = '\0'; /* outside of what is mounted */
    for (;;) {
        left = smaller(left, left_in_group(root, h, path));
        char *last = strrchr(path + mount, '/');
        if (!last) return left;
        *last = '\0';
    }
}

/* "controllers" between colons has "memory". */
static int has_memory(const char *controllers, size_t length)
{
    for (const char *name = controllers, *end = controllers + length; name < end;) {
        const size_t size = strcspn(name, ",:");
        if (size == 6 && strncmp(name, "memory", size) == 0) return 1;
        name += size + 1;
    }
    return 0;
}

/* Lines of /proc/self/cgroup are number:controllers:path; version 2 has number 0 and no controllers. */
static int64_t left_by_groups(const char *root)
{
    char text[TEXT_BYTES];
    int64_t left = INT64_MAX;
    if (!read_text(text, root, "/proc/self/cgroup", "")) return left;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) break;
        controllers++;
        const size_t length = strcspn(path + 1, "\n");
        if (path == controllers)
            left = smaller(left, left_in_groups(root, &version2, path + 1, length));
        else if (has_memory(controllers, (size_t)(path - controllers)))
            left = smaller(left, left_in_groups(root, &version1, path + 1, length));
    }
    return left;
}

/* ---- the process's own limits ------------------------------------------------------------------- */

static int64_t left_below(uint64_t limit, int64_t pages)
{
    const int64_t used = pages * (int64_t)sysconf(_SC_PAGESIZE);
    if (limit > INT64_MAX) return INT64_MAX;
    return (int64_t)limit > used ? (int64_t)limit - used : 0;
}

/* /proc/self/statm counts pages: all, resident, shared, text, libraries, data with stack, dirty. */
static int64_t left_by_limits(const char *root, uint64_t address_limit, uint64_t data_limit)
{
    char text[TEXT_BYTES];
    long long all = 0, data = 0;
    if (address_limit > INT64_MAX && data_limit > INT64_MAX) return INT64_MAX;
    if (!read_text(text, root, "/proc/self/statm", "") || sscanf(text, "%lld %*s %*s %*s %*s %lld", &all, &data) != 2)
        all = data = 0;
    return smaller(left_below(address_limit, all), left_below(data_limit, data));
}

/* ---- all of them -------------------------------------------------------------------------------- */

int64_t spryi_available_memory_under(const char *root, uint64_t address_limit, uint64_t data_limit)
{
    char text[TEXT_BYTES];
    const int64_t kib = read_text(text, root, "/proc/meminfo", "") ? number_after(text, "MemAvailable:") : -1;
    int64_t left = kib < 0 || kib > INT64_MAX / 1024 ? INT64_MAX : kib * 1024;
    left = smaller(left, left_by_groups(root));
    return smaller(left, left_by_limits(root, address_limit, data_limit));
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return limit.rlim_cur;
}

int64_t spry_available_memory_bytes(void)
{
    return smaller(spryi_memory_bytes(), spryi_available_memory_under("", limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)));
}
