// Compiles CUDA C++ while the program runs, by NVIDIA's library NVRTC, which is loaded when it is needed.
// Works in a build without CUDA, too.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace voltpile {

struct SourceHeader {
    const char* name;  // as #include names it
    const char* text;
};

struct KernelSource {
    std::string text;
    std::span<const SourceHeader> headers;  // all that the text includes, also those of the standard library
    std::string kernel;                     // names it in C++, such as "sum<double, 512>"
};

struct CompiledKernel {
    std::string name;   // in the image
    std::string image;  // machine code, or PTX, which the driver compiles
};

class Nvrtc {
  public:
    // Loads libnvrtc.so of the major version of CUDA that this program was built with; without CUDA, of any
    // that works. VOLTPILE_NVRTC names another file. Throws MachineError if there is none.
    Nvrtc();

    // Such as "13.0".
    const std::string& version() const { return version_; }

    // Compute capabilities for which it makes machine code, rising: 70 for V100.
    const std::vector<int>& capabilities() const { return capabilities_; }

    // Products and sums stay apart (no fused multiply-adds). Throws MachineError if it cannot compile for a
    // GPU of this capability, std::logic_error with the first lines of the log if the source is wrong. Any
    // thread may call.
    CompiledKernel compile(const KernelSource& source, int capability) const;

  private:
    struct Functions;

    std::shared_ptr<void> library_;
    std::shared_ptr<const Functions> functions_;
    std::string version_;
    std::vector<int> capabilities_;
};

}  // namespace voltpile
