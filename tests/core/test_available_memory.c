/*
 * Tests of the memory that a process can still use: memory of the machine, limits of control groups, limits of the
 * process.
 */
#include "base/cpu_features.h"
#include "base/memory.h"
#include "spry/io.h"
#include "testing.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMINFO "MemTotal:       24684084 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\nCached: 1 kB\n"
static const int64_t machine = INT64_C(20000000) * 1024;

/* One file of a fake system, such as "proc/meminfo", below a temporary folder. */
typedef struct system_file {
    const char *path, *text;
} system_file;
enum { MOST_FILES = 16 };

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* most of the folders exist already */
        *slash = '/';
    }
}

static void remove_folders(char *path, size_t root)
{
    for (char *slash; (slash = strrchr(path, '/')) && slash > path + root;) {
        *slash = '\0';
        (void)rmdir(path); /* the folder may still hold other files */
    }
}

static int64_t available_with(const system_file *files, uint64_t address_limit, uint64_t data_limit)
{
    char root[] = "/tmp/spry-test-XXXXXX", path[512];
    assert_non_null(mkdtemp(root));
    for (int f = 0; f < MOST_FILES && files[f].path; f++) {
        snprintf(path, sizeof path, "%s/%s", root, files[f].path);
        make_folders(path);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(files[f].text, file);
        assert_int_equal(fclose(file), 0);
    }
    const int64_t bytes = spryi_available_memory_under(root, address_limit, data_limit);
    for (int f = 0; f < MOST_FILES && files[f].path; f++) {
        snprintf(path, sizeof path, "%s/%s", root, files[f].path);
        unlink(path);
    }
    for (int f = 0; f < MOST_FILES && files[f].path; f++) {
        snprintf(path, sizeof path, "%s/%s", root, files[f].path);
        remove_folders(path, strlen(root));
    }
    assert_int_equal(rmdir(root), 0);
    return bytes;
}

static void control_groups(void **state)
{
    static const struct {
        const char *what;
        system_file files[MOST_FILES];
        int64_t bytes;
    } cases[] = {
        {"nothing is known", {{NULL, NULL}}, INT64_MAX},
        {"no groups", {{"proc/meminfo", MEMINFO}}, INT64_C(20000000) * 1024},
        {"version 2 without limits",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "0::/user.slice/run\n"},
          {"sys/fs/cgroup/user.slice/run/memory.max", "max\n"},
          {"sys/fs/cgroup/user.slice/run/memory.current", "5000\n"}},
         INT64_C(20000000) * 1024},
        {"version 2: the limit less its use, but for pages of files that the kernel drops",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "0::/pod\n"},
          {"sys/fs/cgroup/pod/memory.max", "1000000000\n"},
          {"sys/fs/cgroup/pod/memory.current", "700000000\n"},
          {"sys/fs/cgroup/pod/memory.stat", "anon 300000000\nfile 400000000\ninactive_anon 1\ninactive_file 250000000\n"
                                            "active_file 100000000\nslab_reclaimable 50000000\n"}},
         700000000},
        {"version 2: the least of a group and those above it",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "0::/a/b/c\n"},
          {"sys/fs/cgroup/a/memory.max", "500000\n"},
          {"sys/fs/cgroup/a/memory.current", "400000\n"},
          {"sys/fs/cgroup/a/b/memory.max", "900000\n"},
          {"sys/fs/cgroup/a/b/memory.current", "100000\n"},
          {"sys/fs/cgroup/a/b/c/memory.max", "max\n"}},
         100000},
        {"version 2 in a container: the mount itself is its group",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "0::/\n"},
          {"sys/fs/cgroup/memory.max", "800000\n"},
          {"sys/fs/cgroup/memory.current", "900000\n"}},
         0},
        {"version 1 in a container: the host's path is not there",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "9:name=systemd:/docker/1f\n5:cpu,memory:/docker/1f\n3:cpuset:/\n"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"},
          {"sys/fs/cgroup/memory/memory.usage_in_bytes", "700000\n"},
          {"sys/fs/cgroup/memory/memory.stat",
           "inactive_file 9\ntotal_inactive_file 100000\ntotal_active_file 50000\n"}},
         1450000},
        {"version 1 without limits",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "4:memory:/a\n0::/\n"},
          {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"},
          {"sys/fs/cgroup/memory/a/memory.usage_in_bytes", "700000\n"}},
         INT64_C(20000000) * 1024},
        {"a path that leaves the mount",
         {{"proc/meminfo", MEMINFO},
          {"proc/self/cgroup", "0::/../../other\n"},
          {"sys/other/memory.max", "1\n"},
          {"sys/fs/cgroup/memory.max", "300000\n"},
          {"sys/fs/cgroup/memory.current", "100000\n"}},
         200000},
        {"a group that is larger than the machine",
         {{"proc/meminfo", "MemAvailable:      10 kB\n"},
          {"proc/self/cgroup", "0::/\n"},
          {"sys/fs/cgroup/memory.max", "800000\n"},
          {"sys/fs/cgroup/memory.current", "0\n"}},
         10240},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t bytes = available_with(cases[c].files, UINT64_MAX, UINT64_MAX);
        if (bytes != cases[c].bytes)
            fail_msg("%s: %lld bytes, expected %lld", cases[c].what, (long long)bytes, (long long)cases[c].bytes);
    }
}

/* The process uses 1000 pages of address space and 300 pages of data. */
static void limits(void **state)
{
    const system_file files[MOST_FILES] = {{"proc/meminfo", MEMINFO}, {"proc/self/statm", "1000 500 90 7 0 300 0\n"}};
    const int64_t page = sysconf(_SC_PAGESIZE);
    assert_int_equal(available_with(files, UINT64_MAX, UINT64_MAX), machine);
    assert_int_equal(available_with(files, (uint64_t)(1600 * page), UINT64_MAX), 600 * page);
    assert_int_equal(available_with(files, UINT64_MAX, (uint64_t)(1600 * page)), 1300 * page);
    assert_int_equal(available_with(files, (uint64_t)(1600 * page), (uint64_t)(400 * page)), 100 * page);
    assert_int_equal(available_with(files, (uint64_t)(900 * page), UINT64_MAX), 0);
    assert_int_equal(available_with(files, (uint64_t)1 << 62, UINT64_MAX), machine);
}

/* Sets a limit for this process. A refusal reports the memory that is left. */
static void this_process(void **state)
{
    enum { ROOM = 256 << 20 };
    const int64_t all = spryi_available_memory_bytes();
    assert_true(all > 0 && all <= spryi_memory_bytes());
    if (INSTRUMENTED) skip(); /* shadow memory reserves terabytes */
    struct rlimit usual;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%ld", &pages) == 1 && getrlimit(RLIMIT_AS, &usual) == 0);
    fclose(file);
    spry_context *context = context_of(0);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){most, usual.rlim_max}), 0);
    const int64_t left = spryi_available_memory_bytes();
    spry_matrix *A = NULL;
    spry_error err = {0};
    const spry_status status = spry_matrix_generate(context, &A, "gen:grid5,x=6000,y=6000", NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
    spry_context_destroy(context);
    assert_true(left > 0 && left <= ROOM);
    assert_int_equal(status, SPRY_OUT_OF_MEMORY);
    assert_true(err.limit <= ROOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_groups),
        cmocka_unit_test(limits),
        cmocka_unit_test(this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
