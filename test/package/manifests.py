#!/usr/bin/env python3
"""usage: manifests.py <root of the source tree> <version>
What vcpkg.json and conanfile.py say of the tree is so, as far as it can be seen without either of them: each part of Boost
that is included has its port; the recipe has the version, exports what is there, and sets options that there are."""
import glob
import json
import os
import re
import sys
import types

root, version = sys.argv[1:]
os.chdir(root)


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# The ports. Includes name the modules of Boost, and version.hpp comes with each of them.
manifest = json.loads(text("vcpkg.json"))
parts = {"": ["include", "lib"], "cli": ["lib/cli", "lib/load"],
         "tests": ["test", "docs/examples"], "bench": ["bench", "lib/load"]}
for feature, folders in parts.items():
    ports = list(manifest["dependencies"])
    ports += manifest["features"][feature]["dependencies"] if feature else []
    for folder in folders:
        for path in glob.glob(folder + "/**/*.[ch]pp", recursive=True):
            if folder == "lib" and path.startswith(("lib/cli/", "lib/load/")):
                continue
            for name in re.findall(r"#include <boost/([a-z_]+)", text(path)):
                port = "boost-" + name.replace("_", "-")
                if port not in ports + ["boost-version"]:
                    sys.exit(f"vcpkg.json: {feature or 'the library'} goes without {port}, which {path} includes")
unknown = set(manifest) - {"name", "description", "license", "dependencies", "default-features", "features"}
unknown |= {key for feature in manifest["features"].values() for key in feature} - {"description", "dependencies"}
if unknown or not set(manifest["default-features"]) <= set(manifest["features"]):
    sys.exit(f"vcpkg.json: not as it is documented: {unknown or manifest['default-features']}")


# The recipe, with the part of Conan that it calls.
class Toolchain:
    made = []

    def __init__(self, recipe):
        self.cache_variables = {}
        self.made.append(self)

    def generate(self):
        pass


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)


module("conan", ConanFile=object)
module("conan.tools")
module("conan.tools.build", check_min_cppstd=None)
module("conan.tools.cmake", CMake=None, CMakeToolchain=Toolchain, cmake_layout=None)
module("conan.tools.files", copy=None, load=lambda recipe, path: text(path))
names = {}
exec(compile(text("conanfile.py"), "conanfile.py", "exec"), names)  # pylint: disable=exec-used
recipe = names["RedlockConan"]()
recipe.recipe_folder = "."
recipe.set_version()
if recipe.version != version:
    sys.exit(f"conanfile.py: it is version {recipe.version}, not {version}")
for pattern in (recipe.exports,) + recipe.exports_sources:
    if not glob.glob(pattern):
        sys.exit(f"conanfile.py: there is no {pattern} to export")
recipe.options = types.SimpleNamespace(**{option: False for option in recipe.options})
recipe.generate()
options = set(re.findall(r"option\((REDLOCK_\w+)", text("CMakeLists.txt")))
for variable in Toolchain.made[0].cache_variables:
    if variable not in options:
        sys.exit(f"conanfile.py: there is no option {variable}")
