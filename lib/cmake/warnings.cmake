# Warnings for the project's own targets only: linked PRIVATE, never exported.
add_library(redlock_warnings INTERFACE)
target_compile_options(
    redlock_warnings
    INTERFACE
        -Wall
        -Wextra
        -Wpedantic
        -Wshadow
        -Wconversion
        -Wsign-conversion
        -Woverloaded-virtual
        # GCC sees Asio's frame of a coroutine made by aligned_alloc and given back by its own operator delete.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
        # GCC 12 sees an overlap in "text" + std::string() once it is inlined; mended in 13.
        $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
        # Several sources that are compiled as one see each other's names, and the compiler takes them for headers.
        $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
        $<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
        $<$<BOOL:${REDLOCK_WERROR}>:-Werror>
)
