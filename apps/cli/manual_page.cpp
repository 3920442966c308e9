#include "cli/manual_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "base/build_info.h"
#include "cli/roff.h"
#include "job/key_table.h"
#include "job/key_words.h"

namespace voltpile::cli {
namespace {

std::string header(const std::string& name, int section) {
    return fmt::format(".TH {} {} \"\" {} {}\n", roff_argument(upper_case(name)), section,
                       roff_argument("voltpile " + build_info().version), roff_argument("Voltpile manual"));
}

std::string name_section(const std::string& name, const std::string& summary) {
    return fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(summary));
}

// "[OPTIONS] JOB [FILE]"
std::string synopsis_arguments(const CommandDescription& command) {
    std::string text = " [OPTIONS]";
    for (const ArgumentDescription& argument : command.arguments)
        if (argument.positional)
            text += argument.required ? " " + argument.names.front() : " [" + argument.names.front() + "]";
    return command.commands.empty() ? text : text + " COMMAND";
}

std::string argument_entry(const ArgumentDescription& argument) {
    std::string tag;
    for (const std::string& name : argument.names)
        tag += (tag.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    if (!argument.positional && !argument.value.empty()) tag += " \\fI" + roff(argument.value) + "\\fR";
    if (argument.repeatable) tag += " ...";
    std::string help = argument.help;
    if (!argument.choices.empty())
        help += fmt::format("{}one of {}", help.empty() ? "" : "; ", fmt::join(argument.choices, ", "));
    return fmt::format(".TP\n{}\n{}\n", tag, help.empty() ? "\\&" : roff(help));
}

std::string arguments_section(const CommandDescription& command, bool positional) {
    std::string text;
    for (const ArgumentDescription& argument : command.arguments)
        if (argument.positional == positional) text += argument_entry(argument);
    if (text.empty()) return "";
    return (positional ? ".SH ARGUMENTS\n" : ".SH OPTIONS\n") + text;
}

std::string commands_section(const CommandDescription& command) {
    std::string text;
    for (const CommandDescription& below : command.commands)
        text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(manual_name(below)), roff(below.summary));
    return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

// The parts of a footer: prose, then examples and exit codes, which begin with these words.
struct Footer {
    std::string prose, examples, exit_codes;

    explicit Footer(const std::string& text) {
        std::istringstream lines(text);
        std::string* part = &prose;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty()) {
                part = &prose;
                continue;
            }
            for (const char* word : {"example:", "examples:"}) part = starts(line, word) ? &examples : part;
            part = starts(line, "exit codes:") ? &exit_codes : part;
            const auto begin = line.find_first_not_of(' ');
            if (begin != std::string::npos && begin < line.size()) *part += line.substr(begin) + "\n";
        }
    }

  private:
    // Takes the word off the line.
    static bool starts(std::string& line, const std::string& word) {
        if (!line.starts_with(word)) return false;
        line.erase(0, word.size());
        return true;
    }
};

std::string literal_section(const std::string& title, const std::string& lines) {
    if (lines.empty()) return "";
    return fmt::format(".SH {}\n.nf\n{}.fi\n", title, roff(lines));
}

std::string see_also(const CommandDescription& command, const std::vector<std::string>& apps) {
    std::string text = ".SH SEE ALSO\n";
    if (!command.name.empty()) return text + "\\fBvoltpile\\fR(1)\n";
    for (std::size_t i = 0; i < apps.size(); ++i)
        text += fmt::format("{}\\fB{}\\fR(5)", i ? ", " : "", roff("voltpile-job-" + apps[i]));
    return text + "\n";
}

// "a real number; > 0; unit s; default 2.0; can be swept", then what the key means.
std::string key_entry(const KeySpec& key) {
    const std::string table = table_of(key.path);
    return fmt::format(".TP\n\\fB{}\\fR\n{}.\n{}\n",
                       roff(key.path.substr(table.empty() ? 0 : table.size() + 1)), roff(describe_key(key)),
                       roff(key.help));
}

}  // namespace

std::string manual_name(const CommandDescription& command) {
    std::string name = command.name.empty() ? "voltpile" : "voltpile-" + command.name;
    for (char& c : name)
        if (c == ' ') c = '-';
    return name;
}

std::string manual_page(const CommandDescription& command, const std::vector<std::string>& apps) {
    const std::string name = manual_name(command);
    const Footer footer(command.footer);
    const std::string typed = command.name.empty() ? "voltpile" : "voltpile " + command.name;
    return header(name, 1) + name_section(name, command.summary) +
           fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", roff(typed), roff(synopsis_arguments(command))) +
           (footer.prose.empty() ? "" : ".SH DESCRIPTION\n" + roff(footer.prose)) +
           arguments_section(command, true) + arguments_section(command, false) + commands_section(command) +
           literal_section("EXAMPLES", footer.examples) + literal_section("EXIT STATUS", footer.exit_codes) +
           see_also(command, apps);
}

std::string job_manual_name(const AppSchema& app) {
    return "voltpile-job-" + app.name;
}

std::string job_manual_page(const AppSchema& app) {
    const std::string name = job_manual_name(app);
    std::string text = header(name, 5) +
                       name_section(name, fmt::format("keys of job files of the app {}", app.name)) +
                       ".SH DESCRIPTION\n" + roff(app.summary) + "\n";
    const KeyTable keys(app);
    std::string table = "none yet";
    for (const KeySpec& key : keys.rows()) {
        if (table_of(key.path) != table) {
            table = table_of(key.path);
            text += ".SH " + roff_argument(describe_table(table)) + "\n";
        }
        text += key_entry(key);
    }
    return text + literal_section("EXAMPLE", app.example) + ".SH SEE ALSO\n\\fBvoltpile\\fR(1)\n";
}

}  // namespace voltpile::cli
