/* Skipped without a GPU. */
#include "operations_device.h"

#include "support.h"

int main(void)
{
    return has_gpu() ? operations_on_device() : SKIPPED;
}
