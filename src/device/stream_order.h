// Lets one stream wait for another, without waiting on the host.
#pragma once

#include "device/stream.h"

namespace voltpile {

class StreamOrder {
  public:
    StreamOrder();
    ~StreamOrder();
    StreamOrder(const StreamOrder&) = delete;
    StreamOrder& operator=(const StreamOrder&) = delete;

    // Work that is enqueued on `second` from now on waits for what `first` has now. Both belong to the GPU
    // that was current when this object was created. Throws DeviceError.
    void put(const Stream& first, const Stream& second);

  private:
    CUevent_st* event_ = nullptr;
};

}  // namespace voltpile
