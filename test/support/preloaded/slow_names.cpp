// Preloaded into a program: a name server that never answers. The program can resolve no name with
// it.

#include <netdb.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char*, const char*,
                                                                  const addrinfo*, addrinfo**)
{
    for (;;) {
        ::pause();
    }
}
