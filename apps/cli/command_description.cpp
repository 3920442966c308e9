#include "cli/command_description.h"

#include <algorithm>
#include <sstream>

namespace voltpile::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::istringstream words(text);
    std::vector<std::string> list;
    for (std::string word; std::getline(words, word, separator);) list.push_back(word);
    return list;
}

// CLI11 appends the choices of an option to the name of its value: "TEXT:{srun,mpirun}". Options with their
// own check name the choices themselves, in lower case: "on|off".
std::vector<std::string> choices_in(const std::string& type_name) {
    const auto begin = type_name.find('{');
    const auto end = type_name.rfind('}');
    if (begin != std::string::npos && end != std::string::npos && begin < end)
        return split(type_name.substr(begin + 1, end - begin - 1), ',');
    const bool words = std::all_of(type_name.begin(), type_name.end(),
                                   [](char c) { return c == '|' || (c >= 'a' && c <= 'z'); });
    return words && type_name.find('|') != std::string::npos ? split(type_name, '|')
                                                             : std::vector<std::string>();
}

ArgumentDescription describe_argument(const CLI::Option& option) {
    ArgumentDescription argument;
    argument.positional = option.get_positional();
    if (argument.positional) {
        argument.names = {option.get_name(true)};
    } else {
        for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
    }
    if (option.get_type_size() != 0) {
        const std::string type_name = option.get_type_name();
        argument.value = type_name.substr(0, type_name.find(':'));
        argument.choices = choices_in(type_name);
    }
    argument.help = option.get_description();
    argument.required = option.get_required();
    argument.repeatable = option.get_items_expected_max() > 1;
    return argument;
}

void append_commands(const CommandDescription& command, std::vector<const CommandDescription*>& list) {
    list.push_back(&command);
    for (const CommandDescription& below : command.commands) append_commands(below, list);
}

}  // namespace

bool ArgumentDescription::takes_path() const {
    static constexpr const char* path_names[] = {"FILE", "PNG", "FOLDER", "MODEL"};
    if (!choices.empty()) return false;
    return positional ||
           std::find(std::begin(path_names), std::end(path_names), value) != std::end(path_names);
}

CommandDescription describe_command(const CLI::App& command, const std::string& name) {
    CommandDescription description{name, command.get_description(), command.get_footer(), {}, {}};
    for (const CLI::Option* option : command.get_options())
        if (!option->get_group().empty()) description.arguments.push_back(describe_argument(*option));
    for (const CLI::App* below : command.get_subcommands({}))
        if (!below->get_group().empty())
            description.commands.push_back(
                describe_command(*below, name.empty() ? below->get_name() : name + " " + below->get_name()));
    return description;
}

std::vector<const CommandDescription*> all_commands(const CommandDescription& top) {
    std::vector<const CommandDescription*> list;
    append_commands(top, list);
    return list;
}

}  // namespace voltpile::cli
