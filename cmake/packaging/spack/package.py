from spack.package import *


class Whywait(CMakePackage):
    """Explains inside an MPI program why it waited. Header-only C++17; the preload library explains unmodified programs."""

    # homepage, url and git: set them in the repository that holds this recipe
    license("MIT")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("preload", default=True, description="libwhywait_mpi.so for programs that were built without whywait")
    variant("otf2", default=False, description="timelines as OTF2 archives")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi@3:")
    depends_on("boost@1.81:")
    depends_on("elfutils", type="run")  # file and line of call sites
    depends_on("otf2@3:", when="+otf2")

    def cmake_args(self):
        return [
            self.define("WHYWAIT_MPI", "ON"),
            self.define_from_variant("WHYWAIT_PRELOAD", "preload"),
            self.define("WHYWAIT_OTF2", "ON" if self.spec.satisfies("+otf2") else "OFF"),
            self.define("WHYWAIT_BUILD_TESTS", False),
            self.define("WHYWAIT_BUILD_EXAMPLES", False),
            self.define("WHYWAIT_BUILD_BENCHMARKS", False),
        ]
