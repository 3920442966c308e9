// A histogram as Prometheus counts it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

class Histogram {
  public:
    // bounds: upper limits of the buckets, ascending; a bucket without limit follows. They must outlive the
    // histogram.
    explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

    void observe(double value);

    // Appends the text of its buckets, sum and count. labels: `model_name="tiny"`, without braces.
    void write(std::string& out, std::string_view name, std::string_view help, std::string_view labels) const;

  private:
    std::span<const double> bounds_;
    std::vector<std::int64_t> counts_;
    double sum_ = 0;
};

}  // namespace voltpile::llm
