// Writes metrics in Prometheus' text format.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace voltpile::http {

// The content type of such a response.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Appends to `out`. labels: those of all metrics, without braces. Both outlive the writer.
class MetricWriter {
  public:
    MetricWriter(std::string& out, const std::string& labels) : out_(out), labels_(labels) {}

    void gauge(std::string_view name, std::string_view help, double value) {
        write(name, "gauge", help, value);
    }
    void counter(std::string_view name, std::string_view help, double value) {
        write(name, "counter", help, value);
    }
    void head(std::string_view name, std::string_view type, std::string_view help) {
        fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    }
    void line(std::string_view name, std::string_view more_labels, double value) {
        fmt::format_to(std::back_inserter(out_), "{}{{{}{}}} {}\n", name, labels_, more_labels, value);
    }

  private:
    void write(std::string_view name, std::string_view type, std::string_view help, double value) {
        head(name, type, help);
        line(name, "", value);
    }

    std::string& out_;
    const std::string& labels_;
};

}  // namespace voltpile::http
