/* A shared object that is no plug-in. */
__attribute__((visibility("default"))) int stranger(void);

int stranger(void)
{
    return 42;
}
