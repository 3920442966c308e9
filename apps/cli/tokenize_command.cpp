#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/command.h"
#include "cli/replica_options.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::cli {
namespace {

struct TokenizeArguments {
    std::string model;
    std::string text;
    bool from_stdin = true;
    bool ids = false;
    bool plain = false;
};

// As a C string would have it, but with whole UTF-8 characters as they are.
std::string shown_piece(std::string_view bytes) {
    std::string shown = "\"";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            shown += {'\\', c};
        else if (c == '\n')
            shown += "\\n";
        else if (c == '\t')
            shown += "\\t";
        else if (byte < 0x20 || byte == 0x7f)
            shown += fmt::format("\\x{:02x}", byte);
        else
            shown += c;
    }
    return shown + "\"";
}

// Whether all the bytes are whole characters; a token may end or begin within one.
bool has_whole_characters(const llm::Tokenizer& tokenizer, llm::TokenId id) {
    return tokenizer.decode(std::span(&id, 1), false).find("\xef\xbf\xbd") == std::string::npos;
}

std::string hex_piece(std::string_view bytes) {
    std::string shown = "\"";
    for (const char c : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return shown + "\"";
}

ExitCode tokenize(const TokenizeArguments& args) {
    const llm::ModelFiles model(args.model);
    const llm::Tokenizer tokenizer = llm::load_tokenizer(model);
    const std::string text =
        args.from_stdin ? std::string{std::istreambuf_iterator<char>(std::cin), {}} : args.text;
    const llm::EncodeOptions options{.add_special = !args.plain, .parse_special = !args.plain};
    const std::vector<llm::TokenId> ids = tokenizer.encode(text, options, args.from_stdin ? "stdin" : "TEXT");
    if (args.ids) {
        fmt::print("{}\n", fmt::join(ids, " "));
        return ExitCode::Done;
    }
    for (const llm::TokenId id : ids) {
        const std::string_view bytes = tokenizer.bytes_of(id);
        fmt::print("{:>7}  {}{}\n", id,
                   has_whole_characters(tokenizer, id) ? shown_piece(bytes) : hex_piece(bytes),
                   tokenizer.is_special(id) ? "  special" : "");
    }
    fmt::print("{} token{}, {} bytes\n", ids.size(), ids.size() == 1 ? "" : "s", text.size());
    return ExitCode::Done;
}

}  // namespace

void add_tokenize(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("tokenize", "print the tokens of a text as a model sees them");
    auto args = std::make_shared<TokenizeArguments>();
    add_model_option(*command, args->model)->required();
    CLI::Option* text = command->add_option("TEXT", args->text, "the text [read from stdin]");
    command->add_flag("--ids", args->ids, "print the ids alone, in one line");
    command->add_flag("--plain", args->plain,
                      "add no token at the beginning, and treat names of special tokens as ordinary text");
    command->footer(
        "Prints the id and the piece of each token. By default tokenizes the text as generate does.\n"
        "examples: voltpile tokenize model.gguf \"And it came to pass\"\n"
        "          voltpile tokenize model.gguf --ids < prompt.txt");
    command->callback([args, text, &action] {
        args->from_stdin = text->empty();
        action = on_first_rank([args](const Invocation&) { return tokenize(*args); });
    });
}

}  // namespace voltpile::cli
