#include "sweep/gpu_frames.h"

namespace voltpile {

GpuFrames::GpuFrames(std::span<const double> numbers, std::span<ParameterSource> sources,
                     const Stream& stream)
    : numbers_(numbers.size()) {
    if (numbers.empty()) return;
    copy_to_device(numbers_.data(), numbers.data(), numbers_.bytes(), stream);
    stream.synchronize();
    for (ParameterSource& source : sources) {
        if (source.frames != nullptr) source.frames = numbers_.data() + (source.frames - numbers.data());
    }
}

}  // namespace voltpile
