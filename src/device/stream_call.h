// Calls of the host within a stream's work.
#pragma once

#include <functional>

#include "device/stream.h"

namespace voltpile {

// Enqueues a call, on a thread of the driver; work enqueued later waits until it returns. `function` must not
// use the GPU. Throws DeviceError.
void enqueue_call(const Stream& stream, std::function<void()> function);

}  // namespace voltpile
