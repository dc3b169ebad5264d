/* Tests of spry fetch with a server on this machine, and with files. Skipped if the program cannot fetch. */
#include "spawn.h"
#include "testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- file server, which fails as the first word of a path requests -------------------------------------- */

static pid_t server;

/* Copies the value of a header to value, "-" if the header is missing. */
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
    /* Waits until the client closes the connection: CTest waits for every process that has the test's output open. */
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
    FILE *reported = fopen(log, "a");
    if (reported) {
        fprintf(reported, "%s/%s %s %s\n", mode, path, range, condition);
        fclose(reported);
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

/*
 * Serves the files in `root` at http://127.0.0.1:PORT/MODE/... in a separate process, and returns PORT. MODE:
 *
 * - plain     sends the requested range, and ETag "v1"
 * - other     like plain, but with ETag "v2", as for another version of the file
 * - redirect  redirects to plain
 * - cut       sends only the first half of the file if the request has no range, otherwise like plain
 * - deaf      sends the whole file, even if a range is requested
 * - wrong     sends a range that begins at a wrong position
 * - stall     sends some bytes, then nothing
 * - busy      answers with status 503
 * - page      sends a web page in place of the file
 *
 * Each request adds a line to the file `log`: "MODE/PATH RANGE IF-RANGE", with "-" for a missing header.
 */
static int start_server(const char *root, const char *log)
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

static void stop_server(void)
{
    if (server <= 0) return;
    kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    server = 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int port;

/* Runs `command` with the server's `mode`. $C is the cache folder. */
static outcome fetch(const char *mode, const char *command)
{
    char line[2048];
    snprintf(line, sizeof line,
             "export SPRY_FETCH_URL=http://127.0.0.1:%d/%s no_proxy='*' C=\"$D/cache\"; unset SPRY_MATRIX_DIR; %s",
             port, mode, command);
    return shell(line);
}

static void empty_cache(void)
{
    outcome o = shell("rm -rf \"$D/cache\" \"$D/log\"");
    release(&o);
}

/* Asserts that the cache has the compressed matrix and no other file. */
static void expect_matrix(void)
{
    expect_outcome(shell("cd \"$D/cache/HB\" && ls -A && gzip -dc big.mtx.gz | cmp - ../../big/big.mtx"), 0,
                   "big.mtx.gz\n", NULL);
    expect_outcome(shell("ls -A \"$D/cache/HB\" | wc -l"), 0, "1", NULL);
}

static void expect_log(const char *text)
{
    char *log = read_file("log");
    assert_non_null(log);
    if (strcmp(log, text) != 0) print_error("expected:\n%s", text);
    assert_string_equal(log, text);
    free(log);
}

/* ---- successful fetches ---------------------------------------------------------------------------- */

static void gets_and_keeps_a_matrix(void **state)
{
    empty_cache();
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_matrix();
    expect_log("plain/HB/big.tar.gz - -\n");
    /* again: no request is sent */
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n",
                   "note: HB/big: it is already stored");
    expect_log("plain/HB/big.tar.gz - -\n");
    expect_outcome(fetch("plain", "\"$SPRY\" info \"$(\"$SPRY\" fetch HB/big --cache \"$C\" 2>/dev/null)\""), 0,
                   "1 000 x 1 000", NULL);
}

/* Asserts that a matrix is found by its group and name, since more than one group may have a matrix of that name. */
static void groups_are_distinguished(void **state)
{
    empty_cache();
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big Other/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n",
                   NULL);
    expect_outcome(fetch("plain", "\"$SPRY\" fetch Other/big --cache \"$C\""), 0, "/cache/Other/big.mtx.gz\n",
                   "note: Other/big: it is already stored");
    expect_outcome(shell("for g in HB Other; do \"$SPRY\" info \"$D/cache/$g/big.mtx.gz\"; done | grep \"  size \" | "
                         "uniq | wc -l"),
                   0, "2", NULL);
    /* a group without this matrix leaves no folder */
    expect_outcome(fetch("plain", "\"$SPRY\" fetch None/big --cache \"$C\""), 1, NULL, "the server has no such file");
    expect_outcome(shell("ls \"$D/cache\""), 0, "HB\nOther\n", NULL);
    /* the benchmark finds both matrices and prints them with their groups */
    expect_outcome(shell("SPRY_BENCH_COPY_BYTES=65536 \"$SPRY\" bench \"$D/cache\" --formats csr 2>/dev/null | "
                         "grep -o '^[A-Za-z]*/big:' | tr '\n' ' '"),
                   0, "HB/big: Other/big: ", NULL);
}

/*
 * Asserts that a file NAME.mtx.gz in the cache folder, where earlier versions stored files, is used only if its text
 * names the group and matrix.
 */
static void files_of_earlier_versions_are_verified(void **state)
{
    static const char copy[] = "mkdir -p \"$C\" && gzip -c \"$D/big/big.mtx\" >\"$C/big.mtx.gz\" && \"$SPRY\" fetch %s "
                               "--cache \"$C\"";
    char command[512];
    empty_cache();
    snprintf(command, sizeof command, copy, "HB/big");
    expect_outcome(fetch("plain", command), 0, "/cache/big.mtx.gz\n", "note: HB/big: it is already stored");
    empty_cache();
    snprintf(command, sizeof command, copy, "Other/big");
    expect_outcome(fetch("plain", command), 0, "/cache/Other/big.mtx.gz\n", NULL);
    empty_cache();
    expect_outcome(fetch("plain", "mkdir -p \"$C\" && tail -n +3 \"$D/big/big.mtx\" >\"$C/big.mtx\" && "
                                  "\"$SPRY\" fetch HB/big --cache \"$C\""),
                   0, "/cache/HB/big.mtx.gz\n", NULL);
}

static void folder_follows_the_environment(void **state)
{
    empty_cache();
    expect_outcome(fetch("plain", "SPRY_MATRIX_DIR=\"$C\" XDG_CACHE_HOME=\"$D/x\" \"$SPRY\" fetch HB/big"), 0,
                   "/cache/HB/big.mtx.gz\n", NULL);
    empty_cache();
    expect_outcome(fetch("plain", "XDG_CACHE_HOME=\"$C\" HOME=\"$D/x\" \"$SPRY\" fetch HB/big"), 0,
                   "/cache/spry/HB/big.mtx.gz\n", NULL);
    empty_cache();
    expect_outcome(fetch("plain", "unset XDG_CACHE_HOME; HOME=\"$C\" \"$SPRY\" fetch HB/big"), 0,
                   "/cache/.cache/spry/HB/big.mtx.gz\n", NULL);
    expect_outcome(fetch("plain", "unset XDG_CACHE_HOME HOME; \"$SPRY\" fetch HB/big"), 2, NULL, "use --cache DIR");
}

static void follows_redirections_and_files(void **state)
{
    empty_cache();
    expect_outcome(fetch("redirect", "\"$SPRY\" fetch https://sparse.tamu.edu/HB/big --cache \"$C\""), 0,
                   "/cache/HB/big.mtx.gz\n", NULL);
    expect_matrix();
    expect_log("redirect/HB/big.tar.gz - -\nplain/HB/big.tar.gz - -\n");
    empty_cache();
    expect_outcome(fetch("plain", "SPRY_FETCH_URL=\"file://$D\" \"$SPRY\" fetch HB/big --cache \"$C\""), 0,
                   "/cache/HB/big.mtx.gz\n", NULL);
    expect_matrix();
    expect_outcome(fetch("plain", "SPRY_FETCH_URL=\"file://$D\" \"$SPRY\" fetch HB/none --cache \"$C\""), 1, NULL,
                   "there is no such file; https://sparse.tamu.edu lists all matrices");
}

static void writes_records(void **state)
{
    empty_cache();
    outcome o = fetch("plain", "\"$SPRY\" fetch HB/big HB/none HB/big --cache \"$C\" --json");
    assert_int_equal(o.status, 1);
    assert_int_equal(count_lines(o.out), 3);
    static const char *const statuses[] = {"ok", "failed", "skipped"};
    for (int line = 0; line < 3; line++) {
        cJSON *record = json_line(o.out, line);
        assert_string_equal(cJSON_GetObjectItem(record, "command")->valuestring, "fetch");
        assert_string_equal(cJSON_GetObjectItem(record, "matrix")->valuestring, line == 1 ? "HB/none" : "HB/big");
        assert_string_equal(cJSON_GetObjectItem(record, "status")->valuestring, statuses[line]);
        assert_int_equal(cJSON_IsNull(cJSON_GetObjectItem(record, "reason")), line == 0);
        assert_int_equal(cJSON_IsString(cJSON_GetObjectItem(record, "path")), line != 1);
        assert_int_equal(cJSON_IsNumber(cJSON_GetObjectItem(record, "bytes")), line != 1);
        cJSON_Delete(record);
    }
    release(&o);
}

/* ---- continued fetches ----------------------------------------------------------------------------- */

/* Fetches half of the file, which is kept. */
static void begin_half(void)
{
    empty_cache();
    expect_outcome(fetch("cut", "\"$SPRY\" fetch HB/big --cache \"$C\""), 1, NULL,
                   "the connection ended before the end of the file; ");
    expect_outcome(shell("ls -A \"$D/cache/HB\""), 0, ".big.tar.gz.part\n.big.tar.gz.tag\n", NULL);
    outcome o = shell("rm \"$D/log\"");
    release(&o);
}

static void continues_where_it_was_cut(void **state)
{
    char expected[128];
    begin_half();
    outcome half = shell("stat -c %s \"$D/cache/HB/.big.tar.gz.part\"");
    snprintf(expected, sizeof expected, "plain/HB/big.tar.gz bytes=%ld- \"v1\"\n", strtol(half.out, NULL, 10));
    assert_true(strtol(half.out, NULL, 10) > 1000);
    release(&half);
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_log(expected);
    expect_matrix();
}

static void begins_anew_where_it_cannot_continue(void **state)
{
    static const char *const modes[] = {"other", "deaf", "wrong"};
    for (int m = 0; m < 3; m++) {
        begin_half();
        expect_outcome(fetch(modes[m], "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
        expect_matrix();
    }
    /* Without the .tag file, the version of the fetched part is unknown, so the whole file is fetched. */
    begin_half();
    outcome o = shell("rm \"$D/cache/HB/.big.tar.gz.tag\"");
    release(&o);
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_log("plain/HB/big.tar.gz - -\n");
    expect_matrix();
    /* the file is complete, but not unpacked */
    begin_half();
    o = shell("cp \"$D/HB/big.tar.gz\" \"$D/cache/HB/.big.tar.gz.part\"");
    release(&o);
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_matrix();
}

static void interruption_keeps_what_came(void **state)
{
    empty_cache();
    expect_outcome(fetch("stall",
                         "\"$SPRY\" fetch HB/big HB/big --cache \"$C\" & "
                         "while ! [ -s \"$C/HB/.big.tar.gz.part\" ]; do sleep 0.05; done; kill -TERM $!; wait $!"),
                   1, NULL, "HB/big: interrupted; 1.0 kB are kept, and the same command continues");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_log("stall/HB/big.tar.gz - -\nplain/HB/big.tar.gz bytes=1000- \"v1\"\n");
    expect_matrix();
}

static void one_at_a_time(void **state)
{
    empty_cache();
    expect_outcome(fetch("stall", "\"$SPRY\" fetch HB/big --cache \"$C\" 2>/dev/null & "
                                  "while ! [ -s \"$C/HB/.big.tar.gz.part\" ]; do sleep 0.05; done; "
                                  "\"$SPRY\" fetch HB/big --cache \"$C\"; s=$?; kill -TERM $!; wait $!; exit $s"),
                   1, NULL, "HB/big: another process is fetching it");
}

/* ---- failures --------------------------------------------------------------------------------------- */

static void failures_are_reported(void **state)
{
    empty_cache();
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/none --cache \"$C\""), 1, NULL,
                   "/plain/HB/none.tar.gz: the server has no such file; https://sparse.tamu.edu lists all matrices");
    expect_outcome(fetch("busy", "\"$SPRY\" fetch HB/big --cache \"$C\""), 1, NULL, "the server answers 503\n");
    expect_outcome(fetch("page", "\"$SPRY\" fetch HB/big --cache \"$C\""), 1, NULL,
                   "the received data is not a tar.gz\n");
    expect_outcome(fetch("stall", "\"$SPRY\" fetch HB/big --cache \"$C\" --timeout 1s"), 1, NULL,
                   "no data arrived for 1 s; 1.0 kB are kept");
    expect_outcome(fetch("plain", "SPRY_FETCH_URL=http://127.0.0.1:1 \"$SPRY\" fetch HB/other --cache \"$C\""), 1, NULL,
                   "the server cannot be reached; check the network");
    expect_outcome(fetch("plain", "SPRY_FETCH_URL=gopher://127.0.0.1 \"$SPRY\" fetch HB/other --cache \"$C\""), 1, NULL,
                   "gopher");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/empty --cache \"$C\""), 1, NULL, "has no empty.mtx");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/text --cache \"$C\""), 1, NULL,
                   "text.mtx in the archive is not a Matrix Market file");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/flipped --cache \"$C\""), 1, NULL, "is damaged or cut (gzip: ");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/short --cache \"$C\""), 1, NULL, "is damaged or cut (gzip: ");
    /* only the stalled fetch can be continued */
    expect_outcome(shell("ls -A \"$D/cache/HB\""), 0, ".big.tar.gz.part\n.big.tar.gz.tag\n", NULL);
    expect_outcome(shell("ls -A \"$D/cache/HB\" | wc -l"), 0, "2", NULL);
}

/* Simulates a full disk by a limit of file sizes. */
static void full_disk_is_reported(void **state)
{
    empty_cache();
    expect_outcome(fetch("plain", "trap '' XFSZ; ulimit -f 40; \"$SPRY\" fetch HB/big --cache \"$C\""), 1, NULL,
                   "cannot be written: File too large; ");
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache \"$C\""), 0, "/cache/HB/big.mtx.gz\n", NULL);
    expect_matrix();
    if (geteuid() == 0) return; /* the superuser can write anywhere */
    expect_outcome(fetch("plain", "\"$SPRY\" fetch HB/big --cache /proc/spry"), 2, NULL,
                   "the folder for matrices cannot be created or written");
}

static void mistakes_are_refused(void **state)
{
    static const mistake mistakes[] = {
        {"big", "big: expected GROUP/NAME, such as HB/1138_bus; https://sparse.tamu.edu lists the names"},
        {"HB/big/more", "expected GROUP/NAME"},
        {"../big", "expected GROUP/NAME"},
        {"HB/.big", "expected GROUP/NAME"},
        {"HB/big HB/", "HB/: expected GROUP/NAME"},
        {"'HB/b g'", "expected GROUP/NAME"},
        {"", "GROUP/NAME"},
        {"HB/big --timeout never", "--timeout"},
    };
    expect_mistakes("fetch", mistakes, sizeof mistakes / sizeof *mistakes);
}

/* ---- files ------------------------------------------------------------------------------------------- */

static int make_server(void **state)
{
    static char text[1 << 20];
    int length = snprintf(text, sizeof text,
                          "%%%%MatrixMarket matrix coordinate real general\n%% name: HB/big\n"
                          "1000 1000 20000\n");
    uint32_t random = 1;
    for (int k = 0; k < 20000; k++) {
        random = random * 1664525u + 1013904223u;
        length += snprintf(text + length, sizeof text - (size_t)length, "%d %u 0.%u\n", k / 20 + 1,
                           (unsigned)(k % 20 * 50 + 1), random);
    }
    outcome o = shell("cd \"$D\" && mkdir HB Other big empty text");
    release(&o);
    write_file("big/big.mtx", text);
    write_file("big/big_b.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
    write_file("empty/readme", "nothing\n");
    write_file("text/text.mtx", "1 2 3\n4 5 6\n7 8 9\n10 11 12\n13 14 15\n");
    o = shell(
        "cd \"$D\" && tar -czf HB/big.tar.gz big && tar -czf HB/empty.tar.gz empty && "
        "tar -czf HB/text.tar.gz text && mkdir other && mkdir other/big && "
        "printf '%%%%MatrixMarket matrix coordinate real general\\n5 5 1\\n1 1 1\\n' >other/big/big.mtx && "
        "tar -C other -czf Other/big.tar.gz big && mkdir flipped short && sed 's/HB.big/HB\\/flipped/' big/big.mtx "
        ">flipped/flipped.mtx && cp flipped/flipped.mtx short/short.mtx && tar -czf HB/flipped.tar.gz flipped && "
        "tar -cz short | head -c 100000 >HB/short.tar.gz && "
        "printf '\\377\\377\\377\\377' | dd of=HB/flipped.tar.gz bs=1 seek=90000 conv=notrunc 2>/dev/null");
    const int good = o.status == 0;
    if (!good) print_error("%s", o.err);
    release(&o);
    char root[512], log[512];
    snprintf(root, sizeof root, "%s", folder());
    snprintf(log, sizeof log, "%s/log", folder());
    port = start_server(root, log);
    return good ? 0 : -1;
}

static int end_server(void **state)
{
    stop_server();
    outcome o = shell("rm -rf \"$D\"/* \"$D\"/.[!.]*");
    release(&o);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_and_keeps_a_matrix),
        cmocka_unit_test(groups_are_distinguished),
        cmocka_unit_test(files_of_earlier_versions_are_verified),
        cmocka_unit_test(folder_follows_the_environment),
        cmocka_unit_test(follows_redirections_and_files),
        cmocka_unit_test(writes_records),
        cmocka_unit_test(continues_where_it_was_cut),
        cmocka_unit_test(begins_anew_where_it_cannot_continue),
        cmocka_unit_test(interruption_keeps_what_came),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(full_disk_is_reported),
        cmocka_unit_test(mistakes_are_refused),
    };
    (void)folder(); /* creates the folder before any child */
    outcome o = shell("SPRY_FETCH_URL=file:///nowhere \"$SPRY\" fetch HB/none --cache \"$D\"");
    const int lacks = strstr(o.err, "was built without libcurl") != NULL;
    release(&o);
    if (lacks) return remove_folder(NULL) == 0 ? 77 : 1; /* skipped */
    return cmocka_run_group_tests(tests, make_server, end_server);
}
