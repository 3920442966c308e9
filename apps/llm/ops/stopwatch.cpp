#include "llm/ops/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

namespace voltpile::llm {
namespace {

class HostStopwatch final : public Stopwatch {
  public:
    void mark(const std::string& name) override { marks_.emplace_back(name, Clock::now()); }
    void read(std::map<std::string, double>& seconds) override {
        for (std::size_t i = 1; i < marks_.size(); ++i)
            if (!marks_[i].first.empty())
                seconds[marks_[i].first] +=
                    std::chrono::duration<double>(marks_[i].second - marks_[i - 1].second).count();
        marks_.clear();  // the next replay calls mark() again
    }

  private:
    using Clock = std::chrono::steady_clock;
    std::vector<std::pair<std::string, Clock::time_point>> marks_;
};

class StreamStopwatch final : public Stopwatch {
  public:
    explicit StreamStopwatch(const Stream& stream) : stream_(stream) {}
    void mark(const std::string& name) override {
        if (names_.empty())
            for (std::size_t i = 0; i <= empty_pieces; ++i) add("");
        add(name);
    }
    void read(std::map<std::string, double>& seconds) override {
        stream_.synchronize();
        const double empty = events_[empty_pieces].seconds_since(events_[0]) / empty_pieces;
        for (std::size_t i = empty_pieces + 1; i < names_.size(); ++i)
            if (!names_[i].empty())
                seconds[names_[i]] += std::max(0.0, events_[i].seconds_since(events_[i - 1]) - empty);
    }

  private:
    static constexpr std::size_t empty_pieces = 16;

    void add(const std::string& name) {
        names_.push_back(name);
        events_.emplace_back().record_time(stream_);
    }

    const Stream& stream_;
    std::vector<std::string> names_;
    std::deque<Event> events_;
};

}  // namespace

std::unique_ptr<Stopwatch> make_stopwatch(const Stream* stream) {
    if (stream != nullptr) return std::make_unique<StreamStopwatch>(*stream);
    return std::make_unique<HostStopwatch>();
}

}  // namespace voltpile::llm
