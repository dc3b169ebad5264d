#include "core/allowed_processors.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* cpu.max of a group and of all above it: "max 100000", or microseconds a period. path is cut. */
static int least_quota(char *path, size_t mount, int processors)
{
    for (;;) {
        char name[1100];
        long long quota = 0, period = 0;
        snprintf(name, sizeof name, "%s/cpu.max", path);
        FILE *file = fopen(name, "re");
        if (file && fscanf(file, "%lld %lld", &quota, &period) == 2 && period > 0 && quota / period < processors)
            processors = quota / period > 1 ? (int)(quota / period) : 1;
        if (file) fclose(file);
        char *last = strrchr(path + mount, '/');
        if (!last) return processors;
        *last = '\0';
    }
}

int spryi_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
    return online > 0 ? (int)online : 1;
}

int spryi_allowed_processors(void)
{
    static const char mount[] = "/sys/fs/cgroup";
    char path[1024], line[sizeof path - sizeof mount];
    const int processors = spryi_processors();
    FILE *file = fopen("/proc/self/cgroup", "re");
    snprintf(path, sizeof path, "%s", mount);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0 && !strstr(line, "/..")) snprintf(path, sizeof path, "%s%s", mount, line + 3);
    }
    if (file) fclose(file);
    return least_quota(path, sizeof mount - 1, processors);
}
