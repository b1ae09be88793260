# install(), the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/redlock")

install(
    TARGETS redlock
    EXPORT redlockTargets
    ARCHIVE
    LIBRARY
    RUNTIME
    FILE_SET HEADERS
)
install(EXPORT redlockTargets NAMESPACE redlock:: DESTINATION "${package_dir}")

configure_package_config_file(
    lib/cmake/redlockConfig.cmake.in redlockConfig.cmake INSTALL_DESTINATION "${package_dir}"
)
write_basic_package_version_file(redlockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/redlockConfig.cmake" "${PROJECT_BINARY_DIR}/redlockConfigVersion.cmake"
    DESTINATION "${package_dir}"
)

# Relative to the .pc file where possible, so that an installed tree may be moved.
set(REDLOCK_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
foreach(dir LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
        set(REDLOCK_PC_${dir} "${CMAKE_INSTALL_${dir}}")
    else()
        set(REDLOCK_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
endforeach()
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(REDLOCK_PC_PREFIX "\${pcfiledir}/${up}")
endif()

set(pc_requires "")
if(REDLOCK_TLS)
    set(pc_requires "openssl >= 3")
endif()
if(redlock_type STREQUAL "SHARED_LIBRARY")
    set(REDLOCK_PC_CFLAGS "-pthread -DREDLOCK_SHARED")
    set(REDLOCK_PC_PRIVATE "Requires.private: ${pc_requires}\nLibs.private: -pthread")
else()
    # Without a shared library a user links what the library uses, whether he says --static or not.
    set(REDLOCK_PC_CFLAGS "-pthread")
    set(REDLOCK_PC_PRIVATE "Requires: ${pc_requires}\nLibs.private: -pthread")
endif()
configure_file(lib/cmake/redlock.pc.in redlock.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/redlock.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
