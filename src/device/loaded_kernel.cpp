#if VOLTPILE_CUDA

#include "device/loaded_kernel.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace voltpile {

namespace {

// Functions of the driver. The program is not linked to it, so that it starts on machines without one.
struct Driver {
    decltype(&cuModuleLoadData) load = nullptr;
    decltype(&cuModuleUnload) unload = nullptr;
    decltype(&cuModuleGetFunction) find_kernel = nullptr;
    decltype(&cuFuncGetAttribute) attribute = nullptr;
    decltype(&cuLaunchKernel) launch = nullptr;
    decltype(&cuGetErrorString) error_text = nullptr;

    Driver() {
        // CUDA's runtime has loaded it before, and keeps it.
        void* const library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library) throw MachineError("no NVIDIA driver: libcuda.so.1 cannot be loaded");
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (!function) throw MachineError(fmt::format("libcuda.so.1 lacks {}", name));
        };
        find(load, "cuModuleLoadData");
        find(unload, "cuModuleUnload");
        find(find_kernel, "cuModuleGetFunction");
        find(attribute, "cuFuncGetAttribute");
        find(launch, "cuLaunchKernel");
        find(error_text, "cuGetErrorString");
    }

    void check(CUresult result, const char* doing) const {
        if (result == CUDA_SUCCESS) return;
        const char* text = nullptr;
        error_text(result, &text);
        throw DeviceError(fmt::format("{}: {} (CUDA driver error {})", doing, text ? text : "unknown error",
                                      static_cast<int>(result)));
    }
};

const Driver& driver() {
    static const Driver functions;
    return functions;
}

}  // namespace

LoadedKernel::LoadedKernel(const CompiledKernel& compiled) {
    CUmodule module = nullptr;
    driver().check(driver().load(&module, compiled.image.c_str()), "loading a kernel");
    module_ = {module, [](void* which) { driver().unload(static_cast<CUmodule>(which)); }};
    CUfunction function = nullptr;
    driver().check(driver().find_kernel(&function, module, compiled.name.c_str()), "finding a kernel");
    function_ = function;
    driver().check(driver().attribute(&local_bytes_, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
                   "asking about a kernel");
    driver().check(driver().attribute(&registers_, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
                   "asking about a kernel");
}

void LoadedKernel::launch(int blocks, int threads, void** arguments, const Stream& stream) const {
    driver().check(driver().launch(static_cast<CUfunction>(function_), static_cast<unsigned>(blocks), 1, 1,
                                   static_cast<unsigned>(threads), 1, 1, 0, stream.get(), arguments, nullptr),
                   "launching a kernel");
}

}  // namespace voltpile

#endif
