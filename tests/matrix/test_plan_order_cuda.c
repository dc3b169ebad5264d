/* Skipped where there is no GPU. */
#include "plan_order_device.h"

#include "support.h"

enum { SKIPPED = 77 };

int main(void)
{
    spry_context *context = NULL;
    spry_device_info info = SPRY_INIT(spry_device_info);
    if (spry_context_create(&context, NULL, NULL) != SPRY_OK) return 1;
    const int found = spry_device_get_info(context, &info, 1, NULL) == SPRY_OK && info.available;
    printf("%s: %s\n", found ? "GPU" : "skipped, no GPU", found ? info.description : info.reason);
    spry_context_destroy(context);
    if (!found) return SKIPPED;
    tested_device = "cuda";
    return plans_with_an_ordering();
}
