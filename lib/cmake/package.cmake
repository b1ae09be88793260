# cpack: Debian packages of the library (when it is a shared one), of what is needed to build with it, and of the command.
# Made on the system that they are for: what they depend on, and in which version, is seen from what was linked.
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME redlock)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
if(NOT CPACK_PACKAGE_CONTACT)
    set(CPACK_PACKAGE_CONTACT "The maintainers of redlock")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/lib/cmake/debian.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENTS_ALL redlock_dev)
set(dev_needs "libboost1.83-dev | libboost-dev (>= 1.83)")
if(REDLOCK_TLS)
    string(APPEND dev_needs ", libssl-dev (>= 3)")
endif()
if(redlock_type STREQUAL "SHARED_LIBRARY")
    list(APPEND CPACK_COMPONENTS_ALL redlock_library)
    # With the soname in it, so that an interface and the next can be installed beside each other.
    get_target_property(soversion redlock SOVERSION)
    set(library_package "libredlock${soversion}")
    string(PREPEND dev_needs "${library_package} (= ${PROJECT_VERSION}), ")
    set(CPACK_DEBIAN_REDLOCK_LIBRARY_PACKAGE_NAME "${library_package}")
    set(CPACK_DEBIAN_REDLOCK_LIBRARY_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
    set(CPACK_COMPONENT_REDLOCK_LIBRARY_DESCRIPTION "What programs that were built with it need to run.")
endif()
set(CPACK_DEBIAN_REDLOCK_DEV_PACKAGE_NAME libredlock-dev)
set(CPACK_DEBIAN_REDLOCK_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_REDLOCK_DEV_PACKAGE_DEPENDS "${dev_needs}")
set(CPACK_COMPONENT_REDLOCK_DEV_DESCRIPTION
    "What it takes to build with it: headers, and what find_package and pkg-config look for."
)
if(REDLOCK_CLI AND NOT CMAKE_CROSSCOMPILING)
    list(APPEND CPACK_COMPONENTS_ALL redlock_command)
    set(CPACK_DEBIAN_REDLOCK_COMMAND_PACKAGE_NAME redlock)
    set(CPACK_DEBIAN_REDLOCK_COMMAND_PACKAGE_SECTION utils)
    set(CPACK_COMPONENT_REDLOCK_COMMAND_DESCRIPTION
        "The redlock command: runs programs under a lock, and says what is wrong with the masters."
    )
endif()
include(CPack)
