#include "llm/chat/jinja/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/parameters.h"
#include "llm/chat/jinja/print.h"

namespace voltpile::llm::jinja {

namespace {

constexpr std::int64_t kMostOfRange = 100'000;  // as in Jinja's sandbox

Value range_function(Interpreter& in, const Arguments& arguments) {
    const Parameters given("range", arguments, {"start", "stop", "step"});
    given.required(0);
    const bool only_end = !given.find(1);
    const std::int64_t begin = only_end ? 0 : given.integer(0, 0), end = given.integer(only_end ? 0 : 1, 0);
    const std::int64_t step = given.integer(2, 1);
    if (step == 0) throw Problem("range(): the step must not be 0");
    const double count = (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(step);
    if (count > static_cast<double>(kMostOfRange))
        throw Problem(fmt::format("range(): a range must not have more than {} elements", kMostOfRange));
    Values values;
    in.spend(count > 0 ? kElementCost * static_cast<std::size_t>(count) : 0);
    if (count > 0)
        for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
            values.emplace_back(i);
            if (__builtin_add_overflow(i, step, &i)) break;
        }
    return in.list(std::move(values), ListForm::Range);
}

// The entries of a map, of pairs and of named arguments.
Entries entries_of(Interpreter& in, const Arguments& arguments, std::string_view function) {
    Entries entries;
    if (arguments.positional.size() > 1) throw Problem(fmt::format("{}() takes at most one map", function));
    for (const Value& first : arguments.positional) {
        if (first.is(Kind::Map)) {
            entries = first.entries();
            in.spend(kElementCost * entries.size());
            continue;
        }
        for (const Value& pair : in.elements(first)) {
            const Values parts = in.elements(pair);
            if (parts.size() != 2) throw Problem(fmt::format("{}() takes a map or pairs", function));
            set_entry(in, entries, parts[0], parts[1]);
        }
    }
    for (const auto& [name, value] : arguments.named) set_entry(in, entries, name, value);
    return entries;
}

Value dict_function(Interpreter& in, const Arguments& arguments) {
    return in.map(entries_of(in, arguments, "dict"));
}

Value namespace_function(Interpreter& in, const Arguments& arguments) {
    return in.new_namespace(entries_of(in, arguments, "namespace"));
}

Value raise_exception_function(Interpreter& in, const Arguments& arguments) {
    const Parameters given("raise_exception", arguments, {"message"});
    throw Refusal(printed(in, given.required(0)));
}

Value strftime_now_function(Interpreter& in, const Arguments& arguments) {
    const Parameters given("strftime_now", arguments, {"format"});
    const std::string& format = given.text(0);
    constexpr std::size_t kMostFormat = 1000;
    if (format.size() > kMostFormat || format.find('\0') != std::string::npos)
        throw Problem("strftime_now(): the format is not usable");
    const std::time_t now = in.now();
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 100 * kMostFormat> text{};
    return in.text(std::string(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &local)));
}

// Returns its arguments in turn, for ever.
class Cycler : public Object, public std::enable_shared_from_this<Cycler> {
  public:
    explicit Cycler(Values items) : items_(std::move(items)), depth_(depth_over(items_)) {}

    std::string_view type() const override { return "Cycler"; }
    std::string printed(Interpreter&) const override { return "<Cycler>"; }
    int depth() const override { return depth_; }

    std::optional<Value> attribute(Interpreter&, std::string_view name) override {
        if (name == "current") return items_[at_];
        if (name != "next" && name != "reset") return std::nullopt;
        const auto step = [self = shared_from_this(), next = name == "next"](Interpreter&, const Arguments&) {
            const Value item = next ? self->items_[self->at_] : Value();
            self->at_ = next ? (self->at_ + 1) % self->items_.size() : 0;
            return item;
        };
        return std::make_shared<Function>(std::string(name), step, depth_);
    }

  private:
    Values items_;
    int depth_;
    std::size_t at_ = 0;
};

Value cycler_function(Interpreter& in, const Arguments& arguments) {
    if (arguments.positional.empty()) throw Problem("cycler() needs arguments");
    in.spend(kElementCost * arguments.positional.size());
    return std::make_shared<Cycler>(arguments.positional);
}

// Returns a function that returns nothing at its first call, and then the separator.
Value joiner_function(Interpreter&, const Arguments& arguments) {
    const Parameters given("joiner", arguments, {"sep"});
    const Value separator = given.find(0) ? *given.find(0) : Value(", ");
    return std::make_shared<Function>(
        "joiner",
        [separator, used = false](Interpreter&, const Arguments&) mutable {
            return std::exchange(used, true) ? separator : Value("");
        },
        separator.depth());
}

}  // namespace

std::optional<Value> global_function(std::string_view name) {
    using GlobalCall = Value (*)(Interpreter&, const Arguments&);
    static constexpr std::pair<std::string_view, GlobalCall> kFunctions[] = {
        {"range", range_function},
        {"dict", dict_function},
        {"namespace", namespace_function},
        {"raise_exception", raise_exception_function},
        {"strftime_now", strftime_now_function},
        {"cycler", cycler_function},
        {"joiner", joiner_function},
    };
    const auto* found = std::ranges::find(kFunctions, name, &std::pair<std::string_view, GlobalCall>::first);
    if (found == std::end(kFunctions)) return std::nullopt;
    return std::make_shared<Function>(std::string(name), found->second);
}

}  // namespace voltpile::llm::jinja
