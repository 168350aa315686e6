import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class WhywaitConan(ConanFile):
    """conan create cmake/packaging/conan. The system's MPI is used."""

    name = "whywait"
    description = "Explains inside an MPI program why it waited"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "include/whywait/core/version.hpp"))
        self.version = ".".join(re.findall(r"#define WHYWAIT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "scripts/*", "single_include/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.81]", headers=True, libs=False)

    def package_id(self):
        self.info.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS", "TOOLS"):
            toolchain.cache_variables[f"WHYWAIT_{name}"] = False
        toolchain.cache_variables["WHYWAIT_OTF2"] = "OFF"
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # whywait's own package files are used
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "whywait")]
        self.cpp_info.bindirs, self.cpp_info.libdirs = [], []
