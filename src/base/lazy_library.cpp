#include "base/lazy_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace voltpile {

LazyLibrary::LazyLibrary(std::string name, std::string file)
    : name_(std::move(name)), file_(std::move(file)) {}

bool LazyLibrary::loads() {
    return handle() != nullptr;
}

void* LazyLibrary::handle() {
    std::call_once(once_, [this] {
        handle_ = dlopen(name_.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (!handle_) {
            problem_ = dlerror();
            handle_ = dlopen(file_.c_str(), RTLD_LAZY | RTLD_LOCAL);
        }
    });
    return handle_;
}

void* LazyLibrary::address(const char* function) {
    if (!loads()) throw MachineError(fmt::format("cannot load {}: {}: install it", name_, problem_));
    if (void* found = dlsym(handle(), function)) return found;
    throw MachineError(fmt::format(
        "{} has no function {}: install the version that this program was built with", name_, function));
}

}  // namespace voltpile
