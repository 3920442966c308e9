// The values that templates compute with: those of Python, immutable but for namespaces and streams.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace voltpile::llm::jinja {

class Value;
class Object;
using Values = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;  // in the order of insertion; keys are distinct

// In the order of Value's variant.
enum class Kind { None, Undefined, Bool, Int, Float, Text, List, Map, Stream, Object };

// The types of Python that are lists of values here.
// Group: a tuple of `groupby`.
enum class ListForm { List, Tuple, Group, Range, KeyView, ValueView, ItemView };

struct Text {
    std::string bytes;  // UTF-8
    bool safe = false;  // Markup: `+` and `%` escape HTML in what is added to it
};

struct List;
struct Map;
struct Stream;

class Value {
  public:
    Value() = default;  // None
    template <std::same_as<bool> T>
    Value(T truth) : data_(truth) {}
    template <std::integral T>
    requires(!std::same_as<T, bool>) Value(T number) : data_(static_cast<std::int64_t>(number)) {}
    Value(double number) : data_(number) {}
    Value(std::string text) : data_(std::make_shared<const Text>(std::move(text))) {}
    Value(std::string_view text) : Value(std::string(text)) {}
    Value(const char* text) : Value(std::string(text)) {}
    template <std::derived_from<Object> T>
    Value(std::shared_ptr<T> object) : data_(std::shared_ptr<Object>(std::move(object))) {}
    Value(std::shared_ptr<Stream> stream) : data_(std::move(stream)) {}

    // Throw Problem for values that are nested too deeply.
    static Value list(Values items, ListForm form = ListForm::List);
    static Value map(Entries entries);
    static Value safe_text(std::string text);
    // problem: the message if the template computes with it, as in "'x' is undefined".
    static Value undefined(std::string problem);

    Kind kind() const { return static_cast<Kind>(data_.index()); }
    bool is(Kind kind) const { return this->kind() == kind; }
    bool is_number() const { return is(Kind::Bool) || is(Kind::Int) || is(Kind::Float); }
    bool is_integer() const { return is(Kind::Bool) || is(Kind::Int); }
    bool is_sequence() const;  // a list, a tuple or a range

    // Only for values of that kind.
    bool truth() const { return std::get<bool>(data_); }
    std::int64_t integer() const { return is(Kind::Bool) ? truth() : std::get<std::int64_t>(data_); }
    double real() const { return is(Kind::Float) ? std::get<double>(data_) : static_cast<double>(integer()); }
    const std::string& text() const { return std::get<TextPtr>(data_)->bytes; }
    bool is_safe() const { return is(Kind::Text) && std::get<TextPtr>(data_)->safe; }
    const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }
    const Values& items() const;
    const Entries& entries() const;
    Stream& stream() const { return *std::get<std::shared_ptr<Stream>>(data_); }
    Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
    const std::string& problem() const { return *std::get<Undefined>(data_).problem; }

    // Whether it is the same list, map, stream or object; false for all others.
    bool same_storage(const Value& other) const;

    int depth() const;  // 0 for what contains no values

  private:
    struct Undefined {
        std::shared_ptr<const std::string> problem;
    };
    using TextPtr = std::shared_ptr<const Text>;

    std::variant<std::monostate, Undefined, bool, std::int64_t, double, TextPtr, std::shared_ptr<const List>,
                 std::shared_ptr<const Map>, std::shared_ptr<Stream>, std::shared_ptr<Object>>
        data_;
};

struct List {
    ListForm form;
    Values items;
    int depth;
};

struct Map {
    Entries entries;
    int depth;
};

// What `map`, `select` and the like return: a sequence that can be read once.
struct Stream {
    Values items;
    std::size_t next;
    int depth;
};

// Returns 1 + the greatest depth of the values. Throws Problem if that is too much.
int depth_over(const Values& values);

bool truth_of(const Value& value);

// Returns the value of a key that is a text, or nullptr.
const Value* find(const Entries& entries, std::string_view key);

// Returns Python's name of the type, as in "can only add a list to a list, not an int".
std::string_view type_name(const Value& value);

// Throws Problem with the reason why the value is undefined, if it is.
void require_defined(const Value& value);

}  // namespace voltpile::llm::jinja
