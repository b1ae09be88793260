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
        # GCC reports the frame of Asio's coroutines: aligned_alloc makes it, Asio's own operator delete frees it.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
        # GCC 12 reports an overlap in "text" + std::string() after inlining. GCC 13 has the fix.
        $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
        # In a unity build, sources see each other's names, and the compiler treats them as headers.
        $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
        $<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
        $<$<BOOL:${REDLOCK_WERROR}>:-Werror>
)
