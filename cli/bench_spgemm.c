/* spry bench --op spgemm: its names. */
#include "cli/bench_spgemm.h"

#include <string.h>

int cli_check_operation(const cli_list *kernels, int squared, const spry_context *context, const bench_peers *peers)
{
    for (int i = 0; i < kernels->count; i++) {
        const char *name = kernels->items[i];
        int squares = 0;
        for (int k = 0; k < spry_spgemm_kernel_count() && !squares; k++) {
            spry_kernel_info info = SPRY_INIT(spry_kernel_info);
            squares = spry_spgemm_kernel_get_info(context, k, &info, NULL) == SPRY_OK && strcmp(info.name, name) == 0;
        }
        for (int p = 0; p < peers->count; p++)
            squares |= peers->items[p].multiplies_matrices && strcmp(peers->items[p].name, name) == 0;
        if (squares && !squared)
            return cli_usage_error("--kernels: '%s' multiplies two sparse matrices; add --op spgemm", name);
        if (!squares && squared)
            return cli_usage_error("--kernels: '%s' multiplies with a vector, which --op spgemm does not", name);
    }
    return CLI_GO_ON;
}

int cli_add_seed_kernels(cli_list *formats, cli_list *kernels, const char *device, const spry_context *context)
{
    if (!cli_add_to_list(formats, "auto", strlen("auto"))) return CLI_UNSUCCESSFUL;
    for (int k = 0; k < spry_spgemm_kernel_count(); k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        if (spry_spgemm_kernel_get_info(context, k, &info, NULL) != SPRY_OK ||
            (!strstr(info.name, "_seed_") && !strstr(info.name, "_smmp_")))
            continue;
        if (strcmp(device, "all") == 0 ? !info.available : strcmp(device, info.device) != 0) continue;
        if (!cli_add_to_list(kernels, info.name, strlen(info.name))) return CLI_UNSUCCESSFUL;
    }
    return CLI_GO_ON;
}

int cli_check_spgemm_formats(const cli_list *formats, const cli_list *orderings)
{
    for (int i = 0; i < orderings->count; i++)
        if (strncmp(orderings->items[i], "plan-", 5) == 0)
            return cli_usage_error("--ordering is '%s': only products with a vector have plans that renumber, expected "
                                   "none, rcm, bandk or degree",
                                   orderings->items[i]);
    for (int i = 0; i < formats->count; i++)
        if (strcmp(formats->items[i], "auto") != 0 && strcmp(formats->items[i], "all") != 0)
            return cli_usage_error("--formats is '%s': matrices are squared as CSR, expected auto or all; --kernels "
                                   "names kernels",
                                   formats->items[i]);
    return CLI_GO_ON;
}
