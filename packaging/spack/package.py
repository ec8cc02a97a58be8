# A recipe for Spack: copy it to packages/weft/package.py of a repository of your own. The sources come from a checkout:
# spack dev-build weft@0.1.0, in its folder.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Weft(CMakePackage):
    """Finds the bubbles of pipeline-parallel training, and runs slices of another job in them."""

    license("Apache-2.0")

    version("0.1.0")

    variant("fill_jobs", default=True, description="The fill jobs that come with Weft")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("gzip", type="build")
    depends_on("cuda@13:", type=("build", "link"))
    depends_on("nccl@2.28.9:", type=("build", "link"))
    for header_only in ("cli11", "nlohmann-json@3.11:", "spdlog", "fmt", "tomlplusplus", "protozero"):
        depends_on(header_only, type="build")
    # Their static archives are taken: nothing is linked into a training.
    depends_on("hiredis", type="build")
    depends_on("xxhash", type="build")
    depends_on("libpng libs=static", type="build")
    depends_on("libjpeg-turbo+static", type="build")
    depends_on("zlib+pic~shared", type="build")

    conflicts("platform=darwin", msg="Weft needs Linux")
    conflicts("target=aarch64:", msg="Weft needs x86-64")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("WEFT_BUILD_EXAMPLES", "fill_jobs"),
            self.define("WEFT_PACKAGED", True),
        ]

    def setup_build_environment(self, env):
        env.set("CUDA_HOME", self.spec["cuda"].prefix)
        env.set("NCCL_HOME", self.spec["nccl"].prefix)

    # LD_PRELOAD stays as it is: `weft run` sets it for one command, a module would set it for every program of the shell.
