# Programs that share only the C library, and need no relocation, use less memory. With REDLOCK_BENCH_STATIC, and if the system
# can link such programs, `static_libraries` and `static_options` link them. Otherwise both are empty.
include(CheckCXXSourceCompiles)
set(static_libraries "")
set(static_options "")
if(NOT REDLOCK_BENCH_STATIC OR NOT redlock_type STREQUAL "STATIC_LIBRARY")
    return()
endif()

# The archives of OpenSSL beside the libraries that were found.
set(archives "")
set(source "#include <iostream>\nint main() { std::cout << 1; }")
if(REDLOCK_TLS)
    foreach(name ssl crypto)
        string(TOUPPER ${name} upper)
        cmake_path(GET OPENSSL_${upper}_LIBRARY PARENT_PATH folder)
        find_library(redlock_${name}_archive lib${name}.a PATHS "${folder}" NO_DEFAULT_PATH)
        mark_as_advanced(redlock_${name}_archive)
        list(APPEND archives "${redlock_${name}_archive}")
    endforeach()
    set(source "#include <openssl/ssl.h>\n#include <iostream>
        int main() { std::cout << (SSL_CTX_new(TLS_client_method()) == nullptr); }"
    )
endif()

set(options -no-pie -static-libstdc++ -static-libgcc LINKER:--gc-sections,--as-needed)
block()
    set(CMAKE_REQUIRED_INCLUDES ${OPENSSL_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LINK_OPTIONS ${options})
    set(CMAKE_REQUIRED_LIBRARIES ${archives} Threads::Threads)
    check_cxx_source_compiles("${source}" REDLOCK_LINKS_STATIC)
endblock()
if(REDLOCK_LINKS_STATIC)
    # Before the library's own dependencies.
    set(static_libraries redlock::redlock ${archives})
    set(static_options ${options})
else()
    message(STATUS "redlock: OpenSSL and the C++ library cannot be linked into the benchmarks here")
endif()
