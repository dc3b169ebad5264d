#include "cli/fetch/module.h"

__attribute__((visibility("default"))) const fetch_module *spry_fetch_module(void);

const fetch_module *spry_fetch_module(void)
{
    static const fetch_module module = {.abi = FETCH_ABI, .download = fetch_download, .unpack = fetch_unpack};
    return &module;
}
