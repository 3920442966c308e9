// Loads a shared library when one of its functions is first called. Programs then start without it: cuBLAS
// and NCCL have hundreds of thousands of relocations, which take the dynamic loader a tenth of a second.
#pragma once

#include <mutex>
#include <string>

namespace voltpile {

class LazyLibrary {
  public:
    // name: "libnccl.so.2", which the dynamic loader looks for. file: the one that the program was built
    // with, if the loader finds none.
    LazyLibrary(std::string name, std::string file);

    // Any thread may call these. The library stays loaded until the process ends.
    bool loads();
    // Throws MachineError if the library cannot be loaded or lacks the function.
    template <class Function>
    Function* find(const char* function) {
        return reinterpret_cast<Function*>(address(function));
    }

  private:
    void* handle();  // null if it cannot be loaded
    void* address(const char* function);

    std::string name_, file_;
    std::once_flag once_;
    void* handle_ = nullptr;
    std::string problem_;
};

}  // namespace voltpile
