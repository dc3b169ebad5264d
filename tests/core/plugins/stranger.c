/* Shared object without the entry point of a plug-in. */
__attribute__((visibility("default"))) int stranger(void);

int stranger(void)
{
    return 42;
}
