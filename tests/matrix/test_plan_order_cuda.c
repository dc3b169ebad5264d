/* Skipped without a GPU. */
#include "plan_order_device.h"

#include "support.h"

int main(void)
{
    if (!has_gpu()) return SKIPPED;
    tested_device = "cuda";
    return plans_with_an_ordering();
}
