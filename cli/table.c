#include "cli/table.h"
#include "cli/cli.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDENT = 2, GAP = 2, MOST_CELL = 512 };

void cli_table_begin(cli_table *t, const cli_column *columns, int count)
{
    *t = (cli_table){.columns = columns, .column_count = count};
}

void cli_table_row(cli_table *t, char mark)
{
    const size_t rows = (size_t)t->row_count + 1;
    char **cells = realloc(t->cells, rows * (size_t)t->column_count * sizeof *cells);
    if (cells) t->cells = cells;
    char *marks = realloc(t->marks, rows);
    if (marks) t->marks = marks;
    t->failed |= !cells || !marks;
    if (t->failed) return;
    for (int c = 0; c < t->column_count; c++) cells[t->row_count * t->column_count + c] = NULL;
    marks[t->row_count++] = mark;
    t->next = 0;
}

void cli_table_cell(cli_table *t, const char *format, ...)
{
    char text[MOST_CELL];
    va_list arguments;
    if (t->failed || t->next >= t->column_count) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = strdup(text);
    t->failed |= !copy;
    t->cells[(t->row_count - 1) * t->column_count + t->next++] = copy;
}

static const char *cell(const cli_table *t, int row, int column)
{
    const char *text = t->cells[row * t->column_count + column];
    return text ? text : "";
}

/* Returns true if all cells of the column are empty or "-". */
static bool is_empty(const cli_table *t, int column)
{
    for (int r = 0; r < t->row_count; r++)
        if (cell(t, r, column)[0] && strcmp(cell(t, r, column), "-") != 0) return false;
    return true;
}

/* Returns the number of UTF-8 characters: all bytes except continuation bytes. */
static int character_count(const char *text)
{
    int length = 0;
    for (; *text; text++) length += ((unsigned char)*text & 0xc0) != 0x80;
    return length;
}

/* Sets the widths of columns; 0: left out. narrow[c] is 1 if column c is left out because lines would be too long. */
static void choose_widths(const cli_table *t, int *widths, char *narrow)
{
    int line = INDENT - GAP;
    for (int c = 0; c < t->column_count; c++) {
        widths[c] = 0;
        narrow[c] = 0;
        if (t->columns[c].rank > 0 && is_empty(t, c)) continue;
        widths[c] = character_count(t->columns[c].title);
        for (int r = 0; r < t->row_count; r++)
            if (character_count(cell(t, r, c)) > widths[c]) widths[c] = character_count(cell(t, r, c));
        line += widths[c] + GAP;
    }
    const int most = cli_width(STDOUT_FILENO);
    while (line > most) {
        int last = -1;
        for (int c = 0; c < t->column_count; c++)
            if (widths[c] > 0 && t->columns[c].rank > 0 && (last < 0 || t->columns[c].rank > t->columns[last].rank))
                last = c;
        if (last < 0) return;
        line -= widths[last] + GAP;
        widths[last] = 0;
        narrow[last] = 1;
    }
}

/* Returns true if the output is a terminal that shows bold text and NO_COLOR is not set (https://no-color.org). */
static bool shows_bold(FILE *out)
{
    const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");
    return isatty(fileno(out)) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0 && !(refused && refused[0]);
}

static void print_line(FILE *out, const cli_table *t, const int *widths, int row)
{
    const bool bold = row >= 0 && t->marks[row] == '*' && shows_bold(out);
    int blanks = 0;
    fprintf(out, "%s%c ", bold ? "\033[1m" : "", row >= 0 ? t->marks[row] : ' ');
    for (int c = 0; c < t->column_count; c++) {
        if (widths[c] == 0) continue;
        const char *text = row < 0 ? t->columns[c].title : cell(t, row, c);
        const int rest = widths[c] - character_count(text);
        /* Print blanks only before further text, so that lines do not end in blanks. */
        if (text[0]) fprintf(out, "%*s%s", blanks + (t->columns[c].is_text ? 0 : rest), "", text);
        blanks = (text[0] ? (t->columns[c].is_text ? rest : 0) : blanks + widths[c]) + GAP;
    }
    fprintf(out, "%s\n", bold ? "\033[0m" : "");
}

static void print_left_out(FILE *out, const cli_table *t, const char *narrow)
{
    char text[512] = "";
    size_t used = 0;
    for (int c = 0; c < t->column_count && used < sizeof text - 64; c++)
        if (narrow[c])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.60s", used ? ", " : "", t->columns[c].title);
    if (used == 0) return;
    snprintf(text + used, sizeof text - used, " (a wider terminal, or COLUMNS=200, shows them)");
    cli_print_wrapped(out, "  left out: ", text);
}

bool cli_table_print(FILE *out, cli_table *t)
{
    int widths[CLI_TABLE_COLUMNS];
    char narrow[CLI_TABLE_COLUMNS];
    const bool good = !t->failed;
    if (good && t->row_count > 0) {
        choose_widths(t, widths, narrow);
        for (int r = -1; r < t->row_count; r++) print_line(out, t, widths, r);
        print_left_out(out, t, narrow);
    }
    if (!good) cli_message("out of memory for a table");
    for (int k = 0; t->cells && k < t->row_count * t->column_count; k++) free(t->cells[k]);
    free(t->cells);
    free(t->marks);
    *t = (cli_table){.columns = t->columns, .column_count = t->column_count};
    return good;
}

void cli_print_line(FILE *out, const char *label, const char *format, ...)
{
    char first[64], text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(first, sizeof first, "  %-15s ", label);
    cli_print_wrapped(out, first, text);
}

void cli_print_wrapped(FILE *out, const char *first, const char *text)
{
    const int indent = character_count(first),
              width = isatty(fileno(out)) || getenv("COLUMNS") ? cli_width(STDOUT_FILENO) : 0;
    const int most = width == 0 ? INT_MAX : width - indent > 24 ? width - indent : 24;
    int used = 0;
    fputs(first, out);
    for (const char *word = text; *word;) {
        const size_t length = strcspn(word, " ");
        char copy[MOST_CELL];
        snprintf(copy, sizeof copy, "%.*s", (int)length, word);
        const int characters = character_count(copy);
        if (used > 0 && used + 1 + characters > most) {
            fprintf(out, "\n%*s", indent, "");
            used = 0;
        }
        used += fprintf(out, "%s", used > 0 ? " " : "") + characters;
        fwrite(word, 1, length, out);
        word += length;
        while (*word == ' ') word++;
    }
    fputc('\n', out);
}
