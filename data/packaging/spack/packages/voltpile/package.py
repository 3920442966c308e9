"""Builds Voltpile from the clone that holds this file:

    spack repo add data/packaging/spack
    spack install voltpile              # +cuda cuda_arch=70 for V100
"""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))


class Voltpile(CMakePackage, CudaPackage):
    """Multi-node job runner for parameter sweeps and language models, over MPI."""

    git = "file://" + SOURCE

    license("Apache-2.0")

    version("main", branch="main", preferred=True)

    variant("nccl", default=False, when="+cuda", description="Use NCCL between GPUs")
    variant("ucx", default=True, description="Direct channels between ranks by UCX")
    # Spack has no package of either; without these, CMake looks where distributions put them.
    variant("stb", default="none", values=str, description="Folder of stb_truetype.h")
    variant("font", default="none", values=str, description="Path of DejaVuSans.ttf, for plots")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10: +hl ~mpi")
    depends_on("hwloc@2:")
    depends_on("libpng")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("xxhash")
    depends_on("pcre2")
    depends_on("utf8proc")
    depends_on("openssl@3:")
    depends_on("boost@1.74:", type="build")  # headers only
    depends_on("cli11@2.1:", type="build")
    depends_on("tomlplusplus@3:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("ucx@1.12:", when="+ucx")
    depends_on("cuda@12:", when="+cuda")
    depends_on("cuda@:12", when="+cuda cuda_arch=70")  # CUDA 13 dropped it
    depends_on("nccl", when="+nccl")

    build_targets = ["voltpile"]

    def cmake_args(self):
        args = [self.define("BUILD_TESTING", False), self.define_from_variant("VOLTPILE_CUDA", "cuda")]
        for variant_name, option in (("stb", "STB_INCLUDE_DIR"), ("font", "VOLTPILE_FONT")):
            path = self.spec.variants[variant_name].value
            if path != "none":
                args.append(self.define(option, path))
        architectures = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ()
        if architectures and "none" not in architectures:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args
