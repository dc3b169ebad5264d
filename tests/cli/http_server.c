#include "http_server.h"

#include "testing.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server;

/* The value of a header, in a place of its own; "-": there is none. */
static void take_header(const char *request, const char *name, char *value, size_t size)
{
    snprintf(value, size, "-");
    for (const char *line = strchr(request, '\n'); line; line = strchr(line, '\n')) {
        line++;
        if (strncasecmp(line, name, strlen(name)) != 0) continue;
        line += strlen(name);
        line += strspn(line, " ");
        snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
        return;
    }
}

static void send_text(int to, const char *text)
{
    (void)!write(to, text, strlen(text));
}

static void send_file(int to, FILE *file, const char *mode, const char *range, const char *condition)
{
    const char *tag = strcmp(mode, "other") == 0 ? "\"v2\"" : "\"v1\"";
    char head[512], data[4096];
    fseek(file, 0, SEEK_END);
    const long all = ftell(file);
    long begin = 0, left;
    const int asks = sscanf(range, "bytes=%ld-", &begin) == 1 && strcmp(mode, "deaf") != 0 &&
                     (strcmp(condition, "-") == 0 || strcmp(condition, tag) == 0);
    if (!asks) begin = 0;
    if (asks && begin >= all) {
        snprintf(head, sizeof head, "HTTP/1.1 416 No\r\nContent-Range: bytes */%ld\r\nContent-Length: 0\r\n\r\n", all);
        send_text(to, head);
        return;
    }
    if (asks && strcmp(mode, "wrong") == 0) begin = 1;
    left = all - begin;
    int length = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nETag: %s\r\nContent-Length: %ld\r\n",
                          asks ? "206 Part" : "200 All", tag, left);
    if (asks)
        length += snprintf(head + length, sizeof head - (size_t)length, "Content-Range: bytes %ld-%ld/%ld\r\n", begin,
                           all - 1, all);
    snprintf(head + length, sizeof head - (size_t)length, "Connection: close\r\n\r\n");
    send_text(to, head);
    if (strcmp(mode, "cut") == 0 && !asks) left = all / 2;
    if (strcmp(mode, "stall") == 0) left = 1000;
    fseek(file, begin, SEEK_SET);
    while (left > 0) {
        const size_t got = fread(data, 1, left < (long)sizeof data ? (size_t)left : sizeof data, file);
        if (got == 0 || write(to, data, got) != (ssize_t)got) return;
        left -= (long)got;
    }
    /* Waits until the client hangs up: CTest waits for every process that has the test's output open. */
    if (strcmp(mode, "stall") == 0) (void)!read(to, data, 1);
}

static void answer(int to, const char *root, const char *log)
{
    char request[4096], path[256] = "", mode[32] = "", range[64], condition[64], name[1024];
    size_t length = 0;
    do {
        const ssize_t got = read(to, request + length, sizeof request - 1 - length);
        if (got <= 0) return;
        length += (size_t)got;
        request[length] = '\0';
    } while (!strstr(request, "\r\n\r\n"));
    if (sscanf(request, "GET /%31[^/]/%255s", mode, path) != 2) return;
    take_header(request, "Range:", range, sizeof range);
    take_header(request, "If-Range:", condition, sizeof condition);
    FILE *told = fopen(log, "a");
    if (told) {
        fprintf(told, "%s/%s %s %s\n", mode, path, range, condition);
        fclose(told);
    }
    snprintf(name, sizeof name, "%s/%s", root, path);
    FILE *file = fopen(name, "rb");
    char head[512];
    snprintf(head, sizeof head, "HTTP/1.1 302 There\r\nLocation: /plain/%s\r\nContent-Length: 0\r\n\r\n", path);
    if (strcmp(mode, "redirect") == 0)
        send_text(to, head);
    else if (strcmp(mode, "busy") == 0)
        send_text(to, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    else if (strcmp(mode, "page") == 0)
        send_text(to, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>");
    else if (!file)
        send_text(to, "HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nnot found");
    else
        send_file(to, file, mode, range, condition);
    if (file) fclose(file);
}

int start_server(const char *root, const char *log)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&address, length) != 0 || listen(listening, 8) != 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) != 0)
        abort();
    server = fork();
    if (server < 0) abort();
    if (server == 0) {
        signal(SIGCHLD, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        for (int to; (to = accept(listening, NULL, NULL)) >= 0; (void)close(to)) {
            if (fork() != 0) continue;
            alarm(60);
            answer(to, root, log);
            _exit(0);
        }
        _exit(0);
    }
    (void)close(listening);
    return ntohs(address.sin_port);
}

void stop_server(void)
{
    if (server <= 0) return;
    kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    server = 0;
}
