/*
 * Containers with impossible sizes in a format's sections. The checksums are correct. fuzz_container found such cases.
 */
#include "catalogue/catalogue.h"
#include "core/kernel.h"
#include "files.h"
#include "io/container.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

enum { WORDS = 8 }; /* words tested per section: the storage's sizes and types, and the first element of each array */
static const int64_t extremes[] = {0, -1, INT64_MAX, INT64_MIN, INT64_MAX / 64, (int64_t)INT32_MAX << 32};

static void mend_hashes(spry_context *context, char *file, uint32_t s)
{
    spryi_container_head head;
    memcpy(&head, file, sizeof head);
    const spryi_container_section *section = &head.sections[s];
    const spryi_container_part part = {section->name, file + section->offset, (int64_t)section->count,
                                       (int64_t)section->item_bytes};
    assert_int_equal(SPRY_OK, spryi_container_hash(context, &part, 1, &head.sections[s].hash, NULL));
    head.checksum = spryi_container_checksum(&head);
    memcpy(file, &head, sizeof head);
}

/* Sets word w of section s to each extreme. Returns the number of refused files. */
static int try_extremes(spry_context *context, char *file, size_t bytes, uint32_t s, int w)
{
    int refused = 0;
    spryi_container_head head;
    memcpy(&head, file, sizeof head);
    char *at = file + head.sections[s].offset + 8 * w;
    int64_t before;
    if (head.sections[s].count * head.sections[s].item_bytes < 8 * ((uint64_t)w + 1)) return 0;
    memcpy(&before, at, sizeof before);
    for (size_t e = 0; e < sizeof extremes / sizeof *extremes; e++) {
        spry_matrix *A = NULL;
        memcpy(at, &extremes[e], sizeof *extremes);
        mend_hashes(context, file, s);
        spry_status status = spry_matrix_read_memory(context, &A, file, bytes, "x", NULL, NULL);
        assert_int_equal(status == SPRY_OK ? SPRY_OK : SPRY_BAD_FILE, status);
        if (A) assert_int_equal(SPRY_OK, spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL));
        refused += status != SPRY_OK;
        spry_matrix_destroy(A);
    }
    memcpy(at, &before, sizeof before);
    mend_hashes(context, file, s);
    return refused;
}

static void test_extremes(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid5,x=5,y=4");
    const char *path = temporary_path("numbers.spry");
    for (int f = 0; f < format_count(); f++) {
        if (!spryi_container_stores(spryi_format_at(f))) continue;
        if (!spryi_format_at(f)->layout.sections) continue;
        spry_write_options options = SPRY_INIT(spry_write_options);
        options.format = spryi_format_at(f)->name;
        assert_int_equal(SPRY_OK, spry_matrix_write(A, path, &options, NULL));
        size_t bytes;
        char *file = content_of(path, &bytes);
        spryi_container_head head;
        memcpy(&head, file, sizeof head);
        int refused = 0;
        for (uint32_t s = 0; s < head.section_count; s++)
            for (int w = 0; w < WORDS; w++) refused += try_extremes(context, file, bytes, s, w);
        if (refused < 30) fail_msg("%s: only %d files were refused", options.format, refused);
        free(file);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
