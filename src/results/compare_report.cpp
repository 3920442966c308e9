#include "results/compare_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/text_table.h"

namespace voltpile {
namespace {

constexpr double kMedian = 0.5;

std::string limits_text(const AgreementLimits& limits) {
    std::string text = limits.absolute > 0 ? fmt::format("by at most {:g}", limits.absolute) : "";
    if (limits.relative > 0)
        text += fmt::format("{}by at most the part {:g}", text.empty() ? "" : " or ", limits.relative);
    return text;
}

std::string missing_text(const ComparedResults& what, const Comparison& comparison) {
    std::string text;
    const auto add = [&](std::int64_t count, const std::string& from) {
        if (count > 0) text += fmt::format("  missing in {}: {}\n", from, points_text(count));
    };
    add(comparison.missing_in_first, what.first);
    add(comparison.missing_in_second, what.second);
    add(comparison.missing_in_both, "both");
    return text;
}

std::string only_text(const std::string& path, const std::vector<std::string>& fields) {
    return fields.empty() ? "" : fmt::format("  only in {}: {}\n", path, fmt::join(fields, ", "));
}

std::string verdict_text(const ComparedResults& what, const Comparison& comparison) {
    const std::string limits = limits_text(what.limits);
    if (comparison.agree())
        return limits.empty() ? "all fields agree: their values are the same\n"
                              : fmt::format("all fields agree: their values differ {}\n", limits);
    std::vector<std::string> differing;
    for (const FieldAgreement& field : comparison.fields)
        if (field.found.beyond > 0) differing.push_back(field.name);
    if (differing.empty()) return "the values agree, but points are missing\n";
    return fmt::format("{} of {} fields differ{}: {}\n", differing.size(), comparison.fields.size(),
                       limits.empty() ? "" : " by more than the tolerance", fmt::join(differing, ", "));
}

}  // namespace

std::string compare_text(const ComparedResults& what, const Comparison& comparison) {
    std::vector<TextRow> rows{{"field", "unit", "values", "identical", "beyond", "median |d|", "max |d|",
                               "median rel", "max rel", "NaN in one", "NaN in both"}};
    for (const FieldAgreement& field : comparison.fields) {
        const DifferenceStatistics& found = field.found;
        rows.push_back(
            {field.name, field.unit, count_text(found.count), share_text(found.identical, found.count),
             share_text(found.beyond, found.count), fmt::format("{:.3g}", found.absolute.at(kMedian)),
             fmt::format("{:.3g}", found.max_absolute), fmt::format("{:.3g}", found.relative.at(kMedian)),
             fmt::format("{:.3g}", found.max_relative), count_text(found.nan_in_one),
             count_text(found.nan_in_both)});
    }
    return fmt::format("{} and {}: {} compared\n{}{}{}{}{}", what.first, what.second,
                       points_text(comparison.compared), missing_text(what, comparison),
                       text_table(rows, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
                       only_text(what.first, comparison.only_in_first),
                       only_text(what.second, comparison.only_in_second), verdict_text(what, comparison));
}

std::string compare_json(const ComparedResults& what, const Comparison& comparison) {
    nlohmann::ordered_json json{{"first", what.first},
                                {"second", what.second},
                                {"tolerance", what.limits.absolute},
                                {"relative", what.limits.relative},
                                {"agree", comparison.agree()},
                                {"points", comparison.compared},
                                {"missing_in_first", comparison.missing_in_first},
                                {"missing_in_second", comparison.missing_in_second},
                                {"missing_in_both", comparison.missing_in_both},
                                {"only_in_first", comparison.only_in_first},
                                {"only_in_second", comparison.only_in_second},
                                {"fields", nlohmann::ordered_json::array()}};
    for (const FieldAgreement& field : comparison.fields) {
        const DifferenceStatistics& found = field.found;
        json["fields"].push_back({{"name", field.name},
                                  {"unit", field.unit},
                                  {"values", found.count},
                                  {"identical", found.identical},
                                  {"beyond", found.beyond},
                                  {"nan_in_one", found.nan_in_one},
                                  {"nan_in_both", found.nan_in_both},
                                  {"median_absolute", found.absolute.at(kMedian)},
                                  {"max_absolute", found.max_absolute},
                                  {"median_relative", found.relative.at(kMedian)},
                                  {"max_relative", found.max_relative}});
    }
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace voltpile
