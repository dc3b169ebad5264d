/* Tests of containers on the command line: every command reads them as FILE, and damage ends with status 2. */
#include "spawn.h"

static void round_trip(void **state)
{
    static const char *const formats[] = {"csr", "csc", "coo"};
    for (int f = 0; f < 3; f++) {
        char command[128];
        snprintf(command, sizeof command, "convert $D/small.mtx -o $D/small.spry --format %s", formats[f]);
        expect(command, 0, "small.spry: 4 x 5", NULL);
        expect("convert $D/small.spry -o $D/back.spry --format csr", 0, "4 x 5", NULL);
        expect("convert $D/back.spry -o $D/back.mtx", 0, "4 x 5", NULL);
        expect("convert $D/small.mtx -o $D/straight.mtx", 0, "4 x 5", NULL);
        char *back = read_file("back.mtx"), *straight = read_file("straight.mtx");
        assert_non_null(back);
        assert_string_equal(straight, back);
        free(back);
        free(straight);
        expect("info $D/small.spry", 0, "4 x 5", NULL);
        expect("spmv $D/small.spry 2>/dev/null", 0, "correct", NULL);
        expect("bench $D/small.spry 2>/dev/null", 0, "GFLOP/s", NULL);
    }
}

static void generated(void **state)
{
    expect("gen grid5,x=3,y=4 -o $D/made.spry", 0, "12 x 12", NULL);
    expect("info $D/made.spry", 0, "12 x 12", NULL);
}

static void refused(void **state)
{
    write_file("damaged.spry", "\x89SPY\r\n\x1a\n and nothing more");
    expect("info $D/damaged.spry", 2, NULL, "is cut short: 25 bytes, expected a head of 4096 at least");
    write_file("foreign.spry", "\x89XYZ\r\n\x1a\n");
    expect("spmv $D/foreign.spry", 2, NULL, "is not a Spry container");
    expect("convert $D/small.mtx -o $D/none.spry --format nothing", 2, NULL, "no format \"nothing\"");
    expect("convert $D/small.mtx -o $D/none.spry --format auto", 2, NULL, "auto is a plan's choice of a format");
    expect("convert $D/small.mtx -o $D/none.spry --format bsr:block=2:block=2", 2, NULL, "block is given twice");
    expect("convert $D/small.mtx -o $D/none.mtx --format csr", 2, NULL,
           "format is an option of containers, whose names end in .spry");
    assert_null(read_file("none.spry"));
    assert_null(read_file("none.mtx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(generated),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
