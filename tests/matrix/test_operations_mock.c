#include "operations_device.h"

int main(void)
{
    operations_mock = &mock;
    return operations_on_device();
}
