// The places where collectives of the tests work: host memory, and GPU memory with a stream.
#pragma once

#include <vector>

#include "device/buffer.h"
#include "stream_cases.h"

namespace voltpile::stream_test {

class HostPlace final : public Place {
  public:
    explicit HostPlace(std::size_t bytes) : in_(bytes), out_(bytes) {}
    StreamRef stream() override { return StreamRef::host(); }
    char* in() override { return in_.data(); }
    char* out() override { return out_.data(); }
    void write(const std::vector<char>& in, const std::vector<char>& out) override {
        in_ = in;
        out_ = out;
    }
    void read(std::vector<char>& in, std::vector<char>& out) override {
        in = in_;
        out = out_;
    }

  private:
    std::vector<char> in_, out_;
};

class GpuPlace final : public Place {
  public:
    explicit GpuPlace(std::size_t bytes) : in_(bytes), out_(bytes) {}
    StreamRef stream() override { return stream_; }
    char* in() override { return in_.data(); }
    char* out() override { return out_.data(); }
    void write(const std::vector<char>& in, const std::vector<char>& out) override {
        copy_to_device(in_.data(), in.data(), in.size(), stream_);
        copy_to_device(out_.data(), out.data(), out.size(), stream_);
    }
    void read(std::vector<char>& in, std::vector<char>& out) override {
        copy_to_host(in.data(), in_.data(), in.size(), stream_);
        copy_to_host(out.data(), out_.data(), out.size(), stream_);
        stream_.synchronize();
    }
    const Stream& gpu_stream() const { return stream_; }

  private:
    Stream stream_;
    DeviceBuffer<char> in_, out_;
};

}  // namespace voltpile::stream_test
