#include "cluster/hosts/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "comm/mpi/library.h"

namespace voltpile {
namespace {

std::string real_path(void* symbol) {
    Dl_info where{};
    if (!dladdr(symbol, &where) || !where.dli_fname) return "";
    std::error_code error;
    const auto path = std::filesystem::canonical(where.dli_fname, error);
    return error ? where.dli_fname : path.string();
}

// A library is asked by its own function, found by name, so that none of these has to be there.
struct Question {
    const char* name;
    const char* file;  // loaded if the program has not done so already
    const char* function;
    std::function<std::string(void*)> ask;
};

std::string packed_version(int version, int major, int minor) {  // 12080 is 12.8
    return fmt::format("{}.{}", version / major, version % major / minor);
}

std::string ask_hdf5(void* function) {
    unsigned major = 0, minor = 0, release = 0;
    reinterpret_cast<int (*)(unsigned*, unsigned*, unsigned*)>(function)(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

std::string ask_ucx(void* function) {
    unsigned major = 0, minor = 0, release = 0;
    reinterpret_cast<void (*)(unsigned*, unsigned*, unsigned*)>(function)(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

std::string ask_nccl(void* function) {
    int version = 0;
    if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0) return "";
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string ask_cuda_driver(void* function) {
    int version = 0;
    if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0) return "";
    return packed_version(version, 1000, 10);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 ..."
std::string nvidia_driver() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    for (std::string word; words >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return "";
}

}  // namespace

std::vector<LibraryInUse> libraries_in_use() {
    const MpiLibrary mpi = mpi_library();
    std::vector<LibraryInUse> found{{mpi.name, mpi.version, mpi.path}};
    const std::vector<Question> questions{
        {"HDF5", nullptr, "H5get_libversion", ask_hdf5},
        {"UCX", "libucp.so.0", "ucp_get_version", ask_ucx},
        {"NCCL", "libnccl.so.2", "ncclGetVersion", ask_nccl},
        {"CUDA driver", "libcuda.so.1", "cuDriverGetVersion", ask_cuda_driver},
    };
    for (const Question& question : questions) {
        void* library = question.file ? dlopen(question.file, RTLD_LAZY | RTLD_LOCAL) : RTLD_DEFAULT;
        if (question.file && !library) continue;
        if (void* function = dlsym(library, question.function))
            if (const std::string version = question.ask(function); !version.empty())
                found.push_back({question.name, version, real_path(function)});
    }
    if (const std::string version = nvidia_driver(); !version.empty())
        found.push_back({"NVIDIA driver", version, "/proc/driver/nvidia/version"});
    return found;
}

}  // namespace voltpile
