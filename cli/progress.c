/*
 * The progress line of a command on a terminal, shown after its first second: the step with its time so far or, if the
 * completed share is known, the share and the time left. Also the clean-up and message of an interrupted command.
 */
#include "cli/cli.h"

#include "common/wall_clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- the line ----------------------------------------------------------------------------------- */

static const double second = 1e6, between_us = 0.5e6;

static struct {
    pthread_mutex_t lock;
    char text[256];             /* text of the current step; "": none */
    double started_us, step_us; /* start of the command, of the step */
    double share;               /* completed share of the command's work; below 0: not known */
    bool is_shown, has_timer;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .share = -1};

/* Writes by one system call, not through stdio, because other threads and signal handlers call this. */
static void write_to_terminal(const char *text, size_t length)
{
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written; /* a failure cannot be reported */
}

/* Writes "12 s" or "3 min". */
static void duration_text(char *text, size_t size, double us)
{
    const double seconds = us / second;
    if (seconds < 99.5)
        snprintf(text, size, "%.0f s", seconds);
    else
        snprintf(text, size, "%.0f min", seconds / 60);
}

/* Writes the end of the line: share and time left, else the time of the step; "" in the first two seconds. */
static void tail_text(char *tail, size_t size, double now)
{
    char spent[24], left[24];
    const double share = progress.share, all = now - progress.started_us;
    tail[0] = '\0';
    if (share >= 0.02 && share <= 1 && all > 2 * second) {
        duration_text(left, sizeof left, all * (1 - share) / share);
        snprintf(tail, size, " %.0f %%, about %s left", 100 * share, left);
    } else if (now - progress.step_us >= 2 * second) {
        duration_text(spent, sizeof spent, now - progress.step_us);
        snprintf(tail, size, " %s", spent);
    }
}

/* Shows the line. It fits one line of the terminal, because "\r" cannot erase more. */
static void show(double now)
{
    char line[sizeof progress.text + 96], tail[64];
    tail_text(tail, sizeof tail, now);
    const int columns = cli_width(STDERR_FILENO), rest = 5 + (int)strlen(tail);
    int most = columns > rest ? columns - rest : 0;
    int length = snprintf(line, sizeof line, "\r\033[K%.*s ...%.*s", most < 100 ? most : 100, progress.text,
                          columns > rest ? (int)sizeof tail : 0, tail);
    write_to_terminal(line, (size_t)length);
    progress.is_shown = true;
}

static void *show_periodically(void *unused)
{
    pthread_mutex_lock(&progress.lock);
    double next = progress.started_us + second;
    for (;;) {
        pthread_mutex_unlock(&progress.lock);
        const struct timespec end = {(time_t)(next / second),
                                     (long)(1000 * (next - second * (double)(time_t)(next / second)))};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
        }
        pthread_mutex_lock(&progress.lock);
        const double now = now_us();
        if (progress.text[0]) show(now);
        next = now + between_us;
    }
    return unused;
}

/* Starts the thread that updates the line. If it cannot start, the line is updated only by cli_progress. */
static void start_timer(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    if (progress.has_timer || pthread_attr_init(&attributes) != 0) return;
    sigfillset(&all); /* blocked: the main thread handles signals */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    progress.has_timer = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                         pthread_attr_setstacksize(&attributes, (size_t)256 << 10) == 0 &&
                         pthread_create(&thread, &attributes, show_periodically, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

void cli_progress_begin(void)
{
    progress.started_us = progress.step_us = now_us();
}

void cli_progress(const char *text)
{
    if (!isatty(STDERR_FILENO)) return;
    pthread_mutex_lock(&progress.lock);
    const double now = now_us();
    if (!text || strcmp(text, progress.text) != 0) progress.step_us = now;
    snprintf(progress.text, sizeof progress.text, "%s", text ? text : "");
    for (char *c = progress.text; *c; c++) /* replace control characters in names of files */
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    if (text) start_timer();
    if (!text && progress.is_shown) {
        write_to_terminal("\r\033[K", 4);
        progress.is_shown = false;
    } else if (text && now >= progress.started_us + second) {
        show(now);
    }
    pthread_mutex_unlock(&progress.lock);
}

void cli_progress_share(double share)
{
    pthread_mutex_lock(&progress.lock);
    progress.share = share;
    pthread_mutex_unlock(&progress.lock);
}

void cli_progress_writing(const char *path)
{
    cli_progress(cli_is_dash(path) ? NULL : "writing");
}

int cli_width(int stream)
{
    struct winsize size;
    const char *text = getenv("COLUMNS");
    if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const int columns = text ? atoi(text) : 0;
    return columns >= 20 && columns <= 10000 ? columns : 80;
}

/* ---- interruption ------------------------------------------------------------------------------- */

static char *volatile to_remove; /* temporary file to remove */
static char notes[2][512];       /* messages; a new message is written to the unused buffer, then published */
static _Atomic(const char *) note_of_interruption;

static void report_and_exit(int number)
{
    const char *const note = atomic_load(&note_of_interruption);
    char *const path = to_remove;
    if (path) unlink(path);
    if (progress.is_shown) write_to_terminal("\r\033[K", 4);
    if (note) write_to_terminal(note, strlen(note));
    signal(number, SIG_DFL);
    raise(number);
}

static void handle_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++) {
        struct sigaction old;
        if (sigaction(signals[s], NULL, &old) == 0 && old.sa_handler != SIG_IGN) signal(signals[s], report_and_exit);
    }
}

void cli_when_interrupted(const char *format, ...)
{
    char *const unused = atomic_load(&note_of_interruption) == notes[0] ? notes[1] : notes[0];
    int used = snprintf(unused, sizeof notes[0], "spry %s: interrupted: ", cli_command_name());
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(unused + used, sizeof notes[0] - (size_t)used - 1, format, arguments);
    va_end(arguments);
    if (used > (int)sizeof notes[0] - 2) used = (int)sizeof notes[0] - 2;
    memcpy(unused + used, "\n", 2);
    atomic_store(&note_of_interruption, unused);
    handle_signals();
}

void cli_remove_when_interrupted(char *path)
{
    to_remove = path;
    if (path) handle_signals();
}
