#include "results/check.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/format.h"
#include "results/change_result.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/check_group.h"

namespace voltpile {
namespace {

constexpr double kHighPercentile = 0.99;

// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014): the same numbers on every machine.
class SampleRandom {
  public:
    explicit SampleRandom(std::uint64_t seed) : state_(seed) {}

    // Returns a number below `end` > 0. The bias is below end / 2^64.
    std::int64_t below(std::int64_t end) {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(end));
    }

  private:
    std::uint64_t state_;
};

double difference_of(double value, double reference) {
    if (std::isnan(value) && std::isnan(reference)) return 0;
    if (value == reference) return 0;
    const double difference = std::abs(value - reference);
    return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

CheckedField summary_of(const CheckedValues& values, double within) {
    const std::size_t points = values.reference.size() / values.field.values_per_point();
    const std::size_t width = values.field.values_per_point();
    std::vector<double> largest(points);
    for (std::size_t i = 0; i < values.reference.size(); ++i)
        largest[i / width] =
            std::max(largest[i / width], difference_of(values.result[i], values.reference[i]));
    std::ranges::sort(largest);
    const auto at = [&](double share) {
        return largest[static_cast<std::size_t>(share * static_cast<double>(points - 1))];
    };
    const auto right = std::ranges::upper_bound(largest, within) - largest.begin();
    return {values.field.name,   values.field.unit, at(0.5),
            at(kHighPercentile), largest.back(),    static_cast<double>(right) / static_cast<double>(points)};
}

std::string share_within_text(double share) {
    return share >= 1 ? "100 %" : fmt::format("{:.4g} %", std::min(100 * share, 99.99));
}

}  // namespace

std::vector<std::int64_t> sample_points(std::int64_t points, std::int64_t count, std::uint64_t seed) {
    std::set<std::int64_t> chosen;
    SampleRandom random(seed);
    // Floyd's algorithm: each sample is equally likely, and each step adds a point.
    for (std::int64_t last = std::max<std::int64_t>(0, points - count); last < points; ++last) {
        const std::int64_t point = random.below(last + 1);
        chosen.insert(chosen.contains(point) ? last : point);
    }
    return {chosen.begin(), chosen.end()};
}

std::optional<ResultCheck> read_check(const std::filesystem::path& result) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(result, error)) return std::nullopt;
    Hdf5Guard guard;
    const Hdf5File file = open_hdf5(result.string());
    return read_check_group(file.get());
}

ResultCheck write_check(const std::filesystem::path& result, const ResultReader& reference,
                        const std::vector<std::int64_t>& sample, const CheckRecord& record) {
    ResultCheck check{record, std::ssize(sample), {}};
    std::vector<CheckedValues> checked;
    {
        const ResultReader values(result);
        for (const FieldSpec& field : reference.layout().fields) {
            CheckedValues& of_field = checked.emplace_back(
                CheckedValues{field, {}, reference.read(field, reference.layout().whole())});
            for (const std::int64_t point : sample) {
                const std::vector<double> at_point = values.read(field, {point, point + 1});
                of_field.result.insert(of_field.result.end(), at_point.begin(), at_point.end());
            }
            check.fields.push_back(summary_of(of_field, record.within));
        }
    }
    change_result(result, [&](hid_t file) { write_check_group(file, check, sample, checked); });
    return check;
}

std::string check_text(const ResultCheck& check) {
    std::string text = fmt::format("{} against {}:", points_text(check.points), check.method);
    for (const CheckedField& field : check.fields)
        text +=
            fmt::format("{} {} within {:g} at {}, median {:.2g}", &field == &check.fields.front() ? "" : ";",
                        field.name, check.within, share_within_text(field.share_within), field.median);
    return text;
}

}  // namespace voltpile
