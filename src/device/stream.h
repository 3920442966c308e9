// Streams and events of the current GPU (use_device), owned. Without CUDA nothing of this can be made:
// DeviceError.
#pragma once

struct CUstream_st;  // CUDA's own names, so that this header needs none of CUDA's
struct CUevent_st;

namespace voltpile {

class Stream {
  public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    CUstream_st* get() const { return stream_; }
    void synchronize() const;  // throws DeviceError, also for what failed in earlier work on the GPU
    bool idle() const;         // all that was enqueued is done; throws DeviceError if it failed

  private:
    CUstream_st* stream_ = nullptr;
};

class Event {
  public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void record(const Stream& stream);
    // For times alone, also within a graph: while the stream is captured, each launch of the graph sets the
    // time anew, and the event orders nothing.
    void record_time(const Stream& stream);
    void synchronize() const;
    // Both must have been reached.
    double seconds_since(const Event& start) const;

  private:
    CUevent_st* event_ = nullptr;
};

}  // namespace voltpile
