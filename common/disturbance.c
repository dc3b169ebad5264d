#include "common/disturbance.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

processor_time read_processor_time(void)
{
    processor_time t = {0};
    struct rusage own;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    FILE *file = fopen("/proc/stat", "r");
    double tick = (double)sysconf(_SC_CLK_TCK);
    if (!file) return t;
    if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft,
               &steal) == 8 &&
        getrusage(RUSAGE_SELF, &own) == 0) {
        t.busy = (double)(user + nice + system + irq + soft + steal) / tick;
        t.all = t.busy + (double)(idle + wait) / tick;
        t.own = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
    }
    fclose(file);
    return t;
}

double disturbance_since(processor_time before, double children)
{
    processor_time after = read_processor_time();
    double all = after.all - before.all, disturbance = after.busy - before.busy - (after.own - before.own) - children;
    return all > 0.1 && disturbance > 0 ? disturbance / all : 0;
}
