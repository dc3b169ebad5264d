#include "plan_order_device.h"

int main(void)
{
    tested_device = "mock";
    tested_mock = &mock;
    return plans_with_an_ordering();
}
