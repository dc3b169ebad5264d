/*
 * Tests of files of measured choices: files that contexts share, that are damaged, cleared or read-only, or that are no
 * files of choices.
 */
#include "base/context.h"
#include "choices_support.h"
#include "choose/state.h"
#include "spry/tune.h"

#include <sys/stat.h>
#include <unistd.h>

static void over_contexts(void **state)
{
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *one = context_of(2), *other = context_of(2);
    spry_matrix *A = generate_matrix(one, GRID), *B = generate_matrix(one, "grid5,x=50,y=60");
    set_file(one);
    set_file(other); /* neither context loses the choices of the other */
    const reported a = plan_with(one, A, &o), b = plan_with(other, B, &o);
    check_reported(&a, SPRY_REASON_MEASURED, a.format);
    check_reported(&b, SPRY_REASON_MEASURED, b.format);
    spry_context_destroy(other);
    other = context_of(2);
    set_file(other);
    assert_int_equal(choice_count(other), 2);
    const reported again = plan_with(other, A, &o), too = plan_with(other, B, &o);
    check_reported(&again, SPRY_REASON_REMEMBERED, path);
    check_reported(&too, SPRY_REASON_REMEMBERED, path);
    assert_string_equal(a.format, again.format);
    assert_string_equal(a.parameters, again.parameters);
    assert_string_equal(a.kernel, again.kernel);
    assert_int_equal(spry_context_set_choices(other, NULL, NULL), SPRY_OK);
    const reported without = plan_with(other, A, &o);
    check_reported(&without, SPRY_REASON_REMEMBERED, "remembered from");
    assert_null(strstr(without.reason, path));
    set_file(other);
    assert_int_equal(spry_context_clear_choices(other, NULL, NULL), SPRY_OK);
    assert_int_equal(choice_count(other), 0);
    char *text = read_text();
    assert_int_equal(strcspn(text, "\n") + sizeof "\nend 0123456789abcdef", strlen(text));
    free(text);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(one);
    spry_context_destroy(other);
}

static const char *text_with(char *to, size_t size, const char *good, const char *from, const char *with)
{
    const char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(to, size, "%.*s%s%s", (int)(at - good), good, with, at + strlen(from));
    return to;
}

static void check_refused(spry_context *context, const char *text, int line, const char *why)
{
    char place[128];
    spry_error err = SPRY_ERROR_INIT;
    const int count = choice_count(context);
    write_text(text, strlen(text));
    snprintf(place, sizeof place, "%s:%d: ", path, line);
    const spry_status status = spry_context_set_choices(context, path, &err);
    if (status != SPRY_BAD_FILE || err.line != line || strncmp(err.message, place, strlen(place)) != 0 ||
        !strstr(err.message, why))
        fail_msg("status %d, %s: expected line %d, %s", status, err.message, line, why);
    assert_string_equal(err.file, path);
    assert_int_equal(choice_count(context), count); /* unchanged */
    char *found = read_text();
    assert_string_equal(found, text);
    free(found);
}

static void bad_files(void **state)
{
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2), *fresh = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID), *B = generate_matrix(context, "grid5,x=50,y=60");
    char text[4096];
    (void)unlink(path);
    set_file(context);
    (void)plan_with(context, A, &o);
    (void)plan_with(context, B, &o);
    char *good = read_text();
    check_refused(fresh, "%%MatrixMarket matrix\n", 1, "not a file of choices");
    check_refused(fresh, "spry-tuning 1\n", 1, "not a file of choices");
    check_refused(fresh, text_with(text, sizeof text, good, " 0.3.0\n", " 1 0.3.0\n"), 1, "of version 1 0.3.0");
    check_refused(fresh, text_with(text, sizeof text, good, " 0.3.0\n", " 0.1.9\n"), 1, "of version 0.1.9");
    check_refused(fresh, text_with(text, sizeof text, good, " 3000 3000 ", " 3001 3000 "), 4, "missing or damaged");
    check_refused(fresh, text_with(text, sizeof text, good, " spmv ", " spmv_t "), 4, "missing or damaged");
    check_refused(fresh, text_with(text, sizeof text, good, " f64_f64_32/32 ", " "), 2, "the line is damaged");
    check_refused(fresh, text_with(text, sizeof text, good, " f64_f64_32/32 ", " f64 f64 "), 2, "the line is damaged");
    check_refused(fresh, text_with(text, sizeof text, good, " 3000 3000 ", " 3000 -3000 "), 2, "the line is damaged");
    check_refused(fresh, text_with(text, sizeof text, good, " 3000 3000 ", " 3000 3000.5 "), 2, "the line is damaged");
    check_refused(fresh, text_with(text, sizeof text, good, "\nend ", "\nend  "), 4, "missing or damaged");
    *strstr(text_with(text, sizeof text, good, "\nend ", "\nend "), "end ") = '\0';
    check_refused(fresh, text, 3, "the file is cut");
    snprintf(text, sizeof text, "%s\n", good);
    check_refused(fresh, text, 5, "text after the end");
    text[strlen(good) - 1] = '\0';
    check_refused(fresh, text, 4, "the line is cut");
    snprintf(text, sizeof text, "%s", good);
    text[strcspn(text, "\n") + 40] = '\0';
    check_refused(fresh, text, 2, "the line is cut");
    memset(text, 'x', 2000);
    text[2000] = '\0';
    check_refused(fresh, text, 1, "longer than");
    for (size_t n = 0; n < strlen(good); n++) { /* a file cut at any length is refused, unless it is empty */
        write_text(good, n);
        if ((spry_context_set_choices(fresh, path, NULL) == SPRY_OK) != (n == 0)) fail_msg("cut to %zu", n);
    }
    write_text(good, strlen(good));
    set_file(fresh);
    assert_int_equal(choice_count(fresh), 2);
    expect_error(spry_context_set_choices(fresh, folder, &err), SPRY_FILE_ERROR, NULL);
    expect_error(spry_context_set_choices(fresh, "/dev/null", &err), SPRY_FILE_ERROR, NULL);
    expect_error(spry_context_set_choices(fresh, "/none/such", &err), SPRY_FILE_ERROR, NULL);
    assert_int_equal(choice_count(fresh), 2);
    free(good);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
    spry_context_destroy(fresh);
}

static void clearing(void **state)
{
    spry_context *context = context_of(2);
    static const char old[] = "spry-choices 0.0.1\nsomething\n", foreign[] = "my thesis\n";
    write_text(foreign, strlen(foreign));
    expect_error(spry_context_clear_choices(context, path, &err), SPRY_BAD_FILE, NULL);
    char *found = read_text();
    assert_string_equal(found, foreign);
    free(found);
    write_text(old, strlen(old));
    expect_error(spry_context_set_choices(context, path, &err), SPRY_BAD_FILE, NULL);
    assert_int_equal(spry_context_clear_choices(context, path, NULL), SPRY_OK);
    set_file(context);
    assert_int_equal(choice_count(context), 0);
    assert_int_equal(unlink(path), 0);
    expect_error(spry_context_clear_choices(context, path, &err), SPRY_FILE_ERROR, NULL);
    assert_int_equal(spry_context_clear_choices(context, NULL, NULL), SPRY_OK); /* no file is set yet */
    spry_context_destroy(context);
}

/* Repeats or removes a line of a file of choices. Each remaining line is unchanged. */
static void repeated(void **state)
{
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2), *fresh = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID);
    char text[4096];
    (void)unlink(path);
    set_file(context);
    (void)plan_with(context, A, &o);
    char *good = read_text();
    const char *line = strchr(good, '\n') + 1, *end = strchr(line, '\n') + 1;
    snprintf(text, sizeof text, "%.*s%s", (int)(end - good), good, line);
    check_refused(fresh, text, 4, "missing or damaged");
    snprintf(text, sizeof text, "%.*s%s", (int)(line - good), good, end);
    check_refused(fresh, text, 2, "missing or damaged");
    free(good);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    spry_context_destroy(fresh);
}

/* Sets a file of choices through a chain of symbolic links. The target must be created, and the links must remain. */
static void behind_links(void **state)
{
    char link[128], farther[128], target[128], found[128];
    struct stat facts;
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID);
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(farther, sizeof farther, "%s/farther", folder);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(symlink(link, farther), 0);
    if (spry_context_set_choices(context, farther, NULL) != SPRY_OK) fail_msg("%s", farther);
    (void)plan_with(context, A, &o);
    assert_true(lstat(link, &facts) == 0 && S_ISLNK(facts.st_mode));
    assert_true(lstat(farther, &facts) == 0 && S_ISLNK(facts.st_mode));
    assert_true(lstat(target, &facts) == 0 && S_ISREG(facts.st_mode));
    assert_int_equal(readlink(link, found, sizeof found), strlen("target"));
    assert_true(unlink(link) == 0 && unlink(farther) == 0 && unlink(target) == 0);
    assert_int_equal(symlink("none/such", link), 0);
    expect_error(spry_context_set_choices(context, link, &err), SPRY_FILE_ERROR, NULL);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("link", link), 0);
    expect_error(spry_context_set_choices(context, link, &err), SPRY_FILE_ERROR, NULL);
    assert_int_equal(unlink(link), 0);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Switches to a user who can only read the folder, since the superuser can write anywhere. */
static int become(uid_t user)
{
    return geteuid() == user || setresuid(user, user, 0) == 0;
}

static void read_alone(void **state)
{
    const uid_t me = geteuid(), other = me == 0 ? 65534 : me;
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2), *fresh = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID), *B = generate_matrix(context, "grid5,x=50,y=60");
    char absent[128];
    (void)unlink(path);
    set_file(context);
    (void)plan_with(context, A, &o);
    char *before = read_text();
    snprintf(absent, sizeof absent, "%s/absent", folder);
    assert_true(chmod(folder, 0555) == 0 && chmod(path, 0444) == 0 && become(other));
    set_file(fresh);
    assert_int_equal(choice_count(fresh), 1);
    const reported known = plan_with(fresh, A, &o), new = plan_with(fresh, B, &o), again = plan_with(fresh, B, &o);
    spry_error err = SPRY_ERROR_INIT;
    const spry_status status = spry_context_set_choices(fresh, absent, &err);
    assert_true(become(me) && chmod(folder, 0755) == 0);
    check_reported(&known, SPRY_REASON_REMEMBERED, path);
    check_reported(&new, SPRY_REASON_MEASURED, "; not kept: ");
    assert_non_null(strstr(new.reason, "Permission denied"));
    check_reported(&again, SPRY_REASON_REMEMBERED, "remembered from");
    assert_int_equal(status, SPRY_FILE_ERROR);
    char *after = read_text();
    assert_string_equal(after, before);
    free(before);
    free(after);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
    spry_context_destroy(fresh);
}

/* Asserts that a choice that cannot be written is reported, and still remembered in memory. */
static void unwritten(void **state)
{
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID), *B = generate_matrix(context, "grid5,x=50,y=60");
    (void)unlink(path);
    set_file(context);
    write_text("damaged\n", 8);
    const reported t = plan_with(context, A, &o);
    check_reported(&t, SPRY_REASON_MEASURED, "; not kept: ");
    assert_non_null(strstr(t.reason, "not a file of choices"));
    assert_int_equal(choice_count(context), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    const reported u = plan_with(context, B, &o);
    check_reported(&u, SPRY_REASON_MEASURED, "; not kept: ");
    const reported again = plan_with(context, B, &o);
    check_reported(&again, SPRY_REASON_REMEMBERED, "");
    assert_int_equal(mkdir(folder, 0700), 0);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

static void oldest_make_way(void **state)
{
    spry_context *context = context_of(1);
    spry_choice_info info = SPRY_INIT(spry_choice_info);
    spryi_choose_state *own = NULL;
    assert_int_equal(spryi_choose_state_get(context, &own, NULL), SPRY_OK);
    spryi_choice_list *known = &own->choices.known;
    for (int n = 0; n < SPRYI_MOST_CHOICES + 10; n++) {
        snprintf(info.fingerprint, sizeof info.fingerprint, "%016x", n);
        assert_int_equal(spryi_choice_put(context, known, &info, NULL), SPRY_OK);
    }
    assert_int_equal(spryi_choice_put(context, known, &info, NULL), SPRY_OK); /* replaces its own entry */
    assert_int_equal(choice_count(context), SPRYI_MOST_CHOICES);
    assert_int_equal(spry_choice_get_info(context, &info, 0, NULL), SPRY_OK);
    assert_string_equal(info.fingerprint, "000000000000000a");
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(over_contexts), cmocka_unit_test(bad_files),
                                       cmocka_unit_test(clearing),      cmocka_unit_test(unwritten),
                                       cmocka_unit_test(repeated),      cmocka_unit_test(behind_links),
                                       cmocka_unit_test(read_alone),    cmocka_unit_test(oldest_make_way)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
