#include "cluster/supervisor/rank_output.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/standard_streams.h"

namespace voltpile {
namespace {

// Reads a number at the start of `text` that `ending` follows, and removes both.
std::optional<int> number_before(std::string_view& text, std::string_view ending) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (!rest.starts_with(ending)) return std::nullopt;
    text = rest.substr(ending.size());
    return number;
}

}  // namespace

RankLine parse_rank_line(const std::string& line) {
    std::string_view text = line;
    if (text.starts_with("[")) {
        text.remove_prefix(1);
        if (!number_before(text, ",")) return {{}, true, line};
        for (const std::string_view stream : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"})
            if (const auto rank = number_before(text, stream))
                return {rank, stream != "]<stdout>:", std::string(text)};
        return {{}, true, line};
    }
    while (text.starts_with(" ")) text.remove_prefix(1);  // srun aligns the numbers
    if (const auto rank = number_before(text, ": ")) return {rank, false, std::string(text)};
    return {{}, true, line};
}

void print_line(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

void RankOutput::take(const std::string& line) {
    const RankLine said = alone_ ? RankLine{0, false, line} : parse_rank_line(line);
    if (said.is_error)
        print_error(said.text);
    else
        print_line(said.text);
    if (said.text.starts_with("error")) last_error_ = said.text;
    const std::string name = said.rank ? fmt::format("rank-{}.log", *said.rank) : "launcher.log";
    auto [file, is_new] = files_.try_emplace(name);
    if (is_new) file->second.open(folder_ / name);
    file->second << said.text << std::endl;
}

}  // namespace voltpile
