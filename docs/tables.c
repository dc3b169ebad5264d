/*
 * Prints the tables of the documentation from the library's descriptors, as Markdown:
 *     spry_tables formats | kernels
 * tests/install/tables.sh puts them into docs/reference/formats.md and docs/kernels.md, and a test compares them.
 * Nothing that depends on this machine is printed.
 */
#include <spry/tune.h>

#include <stdio.h>
#include <string.h>

/* Text in a table's cell: a bar would end the cell. */
static void cell(const char *text)
{
    printf(" ");
    for (; *text; ++text) printf(*text == '|' ? "\\|" : "%c", *text);
    printf(" |");
}

static int print_formats(void)
{
    printf("| format | name | stored | best for | kernels |\n|---|---|---|---|---|\n");
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; spry_format_get_info(&info, f, NULL) == SPRY_OK; ++f) {
        printf("| `%s` |", info.name);
        cell(info.title);
        cell(info.storage);
        cell(info.best_for);
        printf(" %d |\n", info.kernels);
    }
    return 0;
}

static int print_kernels(void)
{
    spry_context *context = NULL;
    if (spry_context_create(&context, NULL, NULL) != SPRY_OK) return 1;

    printf("| kernel | operations | types | indices | same bits every run | idea | "
           "parameters | source |\n|---|---|---|---|---|---|---|---|\n");
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0; spry_kernel_get_info(context, &info, k, NULL) == SPRY_OK; ++k) {
        printf("| `%s` |", info.name);
        cell(info.operations);
        cell(info.types);
        cell(info.indices);
        cell(info.deterministic ? "yes" : "no");
        cell(info.idea);
        cell(info.parameters);
        cell(info.source);
        printf("\n");
    }
    spry_context_destroy(context);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "formats") == 0) return print_formats();
    if (argc == 2 && strcmp(argv[1], "kernels") == 0) return print_kernels();
    fprintf(stderr, "usage: %s formats | kernels\n", argv[0]);
    return 2;
}
