// expect: the compiler does not find HEADER
// With the folders of a layer, the compiler finds a header of the layer and none of the one above.
#ifdef REDLOCK_TWIN
#define HEADER OWN
#else
#define HEADER HIGHER
#endif
#if !__has_include(HEADER)
#error the compiler does not find HEADER
#endif
