#include "device/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "base/error.h"
#if VOLTPILE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace voltpile {

namespace {

// Major versions of CUDA whose NVRTC serves.
#if VOLTPILE_CUDA
constexpr int kMajors[] = {CUDART_VERSION / 1000};
#else
constexpr int kMajors[] = {13, 12};
#endif

// The first that can be loaded; the folders are those of toolkits that the loader may not know.
std::shared_ptr<void> load_library() {
    std::vector<std::string> candidates;
    if (const char* named = std::getenv("VOLTPILE_NVRTC"); named && *named) {
        candidates.emplace_back(named);
    } else {
        for (const int major : kMajors) {
            const std::string name = fmt::format("libnvrtc.so.{}", major);
            candidates.push_back(name);
            for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
                if (const char* folder = std::getenv(variable); folder && *folder)
                    candidates.push_back(fmt::format("{}/lib64/{}", folder, name));
            candidates.push_back("/usr/local/cuda/lib64/" + name);
        }
    }
    for (const std::string& candidate : candidates) {
        // It stays, because NVRTC leaves memory behind when it is unloaded.
        if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
            return {handle, [](void* library) { dlclose(library); }};
    }
    throw MachineError(
        fmt::format("{} cannot be loaded: install CUDA's run-time compiler NVRTC (package cuda-nvrtc-{}-x of "
                    "NVIDIA, libnvrtc{} of Debian and Ubuntu)",
                    candidates.front(), kMajors[0], kMajors[0]));
}

// The first lines of a compiler's log.
std::string beginning(const std::string& log) {
    constexpr int most_lines = 12;
    std::size_t end = 0;
    for (int line = 0; line < most_lines && end < log.size(); ++line)
        end = std::min(log.find('\n', end), log.size() - 1) + 1;
    return log.substr(0, end);
}

}  // namespace

// nvrtcResult is an enumeration whose 0 is success; a program is a pointer.
struct Nvrtc::Functions {
    using Program = void*;
    int (*version)(int*, int*) = nullptr;
    int (*capability_count)(int*) = nullptr;
    int (*capabilities)(int*) = nullptr;
    const char* (*error_text)(int) = nullptr;
    int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    int (*add_name)(Program, const char*) = nullptr;
    int (*compile)(Program, int, const char* const*) = nullptr;
    int (*log_size)(Program, std::size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*lowered_name)(Program, const char*, const char**) = nullptr;
    int (*machine_code_size)(Program, std::size_t*) = nullptr;
    int (*machine_code)(Program, char*) = nullptr;
    int (*ptx_size)(Program, std::size_t*) = nullptr;
    int (*ptx)(Program, char*) = nullptr;

    explicit Functions(void* library) {
        bool complete = true;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            complete &= function != nullptr;
        };
        find(version, "nvrtcVersion");
        find(capability_count, "nvrtcGetNumSupportedArchs");
        find(capabilities, "nvrtcGetSupportedArchs");
        find(error_text, "nvrtcGetErrorString");
        find(create, "nvrtcCreateProgram");
        find(destroy, "nvrtcDestroyProgram");
        find(add_name, "nvrtcAddNameExpression");
        find(compile, "nvrtcCompileProgram");
        find(log_size, "nvrtcGetProgramLogSize");
        find(log, "nvrtcGetProgramLog");
        find(lowered_name, "nvrtcGetLoweredName");
        find(machine_code_size, "nvrtcGetCUBINSize");
        find(machine_code, "nvrtcGetCUBIN");
        find(ptx_size, "nvrtcGetPTXSize");
        find(ptx, "nvrtcGetPTX");
        if (!complete) throw MachineError("libnvrtc lacks functions that CUDA 12 and newer have");
    }

    // Functions that fail in spite of a sound source: out of memory, or a wrong call.
    void check(int status, const char* doing) const {
        if (status != 0) throw DeviceError(fmt::format("NVRTC: {}: {}", doing, error_text(status)));
    }

    // One of the two kinds of code.
    std::string code(Program program, int (*size_of)(Program, std::size_t*),
                     int (*get)(Program, char*)) const {
        std::size_t size = 0;
        check(size_of(program, &size), "asking for the size of the code");
        std::string text(size, '\0');
        check(get(program, text.data()), "taking the code");
        return text;
    }
};

Nvrtc::Nvrtc() : library_(load_library()), functions_(std::make_shared<Functions>(library_.get())) {
    int major = 0, minor = 0, count = 0;
    functions_->check(functions_->version(&major, &minor), "asking for the version");
    version_ = fmt::format("{}.{}", major, minor);
    functions_->check(functions_->capability_count(&count), "asking for GPUs");
    capabilities_.resize(static_cast<std::size_t>(count));
    functions_->check(functions_->capabilities(capabilities_.data()), "asking for GPUs");
    std::ranges::sort(capabilities_);
}

CompiledKernel Nvrtc::compile(const KernelSource& source, int capability) const {
    const auto above = std::ranges::upper_bound(capabilities_, capability);
    if (above == capabilities_.begin())
        throw MachineError(fmt::format(
            "NVRTC {} compiles for compute capability {:.1f} and newer, and the GPU has {:.1f}", version_,
            capabilities_.empty() ? 0 : capabilities_.front() / 10.0, capability / 10.0));
    const int target = *(above - 1);
    const bool exact = target == capability;  // else the driver compiles PTX for the newer GPU

    const Functions& f = *functions_;
    std::vector<const char*> texts, names;
    for (const SourceHeader& header : source.headers) {
        texts.push_back(header.text);
        names.push_back(header.name);
    }
    Functions::Program made = nullptr;
    f.check(f.create(&made, source.text.c_str(), "generated.cu", static_cast<int>(texts.size()), texts.data(),
                     names.data()),
            "beginning");
    const std::unique_ptr<void, std::function<void(void*)>> program(made,
                                                                    [&](void* which) { f.destroy(&which); });
    f.check(f.add_name(made, source.kernel.c_str()), "naming the kernel");
    const std::string architecture =
        fmt::format("--gpu-architecture={}_{}", exact ? "sm" : "compute", target);
    const char* const options[] = {architecture.c_str(), "--std=c++20", "--fmad=false"};
    if (const int status = f.compile(made, std::size(options), options); status != 0) {
        std::string log = f.code(made, f.log_size, f.log);
        throw std::logic_error(
            fmt::format("generated GPU code does not compile: {}\n{}", f.error_text(status), beginning(log)));
    }
    const char* name = nullptr;
    f.check(f.lowered_name(made, source.kernel.c_str(), &name), "finding the kernel");
    return {name,
            exact ? f.code(made, f.machine_code_size, f.machine_code) : f.code(made, f.ptx_size, f.ptx)};
}

}  // namespace voltpile
