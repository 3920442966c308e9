// Owning streams and events of the current GPU (use_device). In a build without CUDA the constructors throw
// DeviceError.
#pragma once

struct CUstream_st;  // CUDA's own names, so that this header needs no CUDA header
struct CUevent_st;

namespace voltpile {

class Stream {
  public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    CUstream_st* get() const { return stream_; }
    void synchronize() const;  // throws DeviceError, also for failures of earlier work on the GPU
    bool idle() const;         // true if all enqueued work is done; throws DeviceError if it failed

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
    // Records the event for timing only, also within a graph: if the stream is being captured, each launch of
    // the graph sets the time again, and the event orders nothing.
    void record_time(const Stream& stream);
    void synchronize() const;
    // Requires that the stream has passed both events.
    double seconds_since(const Event& start) const;

  private:
    CUevent_st* event_ = nullptr;
};

}  // namespace voltpile
