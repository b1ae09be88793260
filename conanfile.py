import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class RedlockConan(ConanFile):
    name = "redlock"
    description = "Distributed locks on a majority of Redis nodes, for Boost.Asio"
    license = "BSL-1.0"
    topics = ("redis", "valkey", "redlock", "distributed-lock", "asio", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "tls": [True, False],
        "cli": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "tls": True,
        "cli": False,
        "boost/*:header_only": True,
    }
    exports = "include/redlock/version.hpp"
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "lib/*"
    generators = "CMakeDeps"
    implements = ["auto_shared_fpic"]

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include/redlock/version.hpp"))
        self.version = ".".join(re.findall(r"define REDLOCK_VERSION_[A-Z]+ (\d+)", text))

    def requirements(self):
        self.requires("boost/[>=1.83 <2]", transitive_headers=True)
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")
        if self.options.cli:
            # No part of what users compile or link.
            self.requires("cli11/[>=2.1 <3]", visible=False)
            self.requires("nlohmann_json/[>=3.11 <4]", visible=False)
            self.requires("tomlplusplus/[>=3.3 <4]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        # "shared" becomes BUILD_SHARED_LIBS by itself.
        toolchain.cache_variables["REDLOCK_TLS"] = bool(self.options.tls)
        toolchain.cache_variables["REDLOCK_CLI"] = bool(self.options.cli)
        # One library a package: what tests of users link is not in it.
        toolchain.cache_variables["REDLOCK_TESTING"] = False
        toolchain.cache_variables["REDLOCK_TESTS"] = False
        toolchain.cache_variables["REDLOCK_BENCH"] = False
        toolchain.cache_variables["REDLOCK_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["redlock"]
        self.cpp_info.requires = ["boost::headers"] + (["openssl::ssl"] if self.options.tls else [])
        self.cpp_info.set_property("cmake_target_name", "redlock::redlock")
        if self.options.shared:
            self.cpp_info.defines = ["REDLOCK_SHARED"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
