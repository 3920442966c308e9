#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/answer_interrupt.h"
#include "cli/chat_terminal.h"
#include "cli/command.h"
#include "cli/far_terminal.h"
#include "cli/generated_text.h"
#include "cli/lora_options.h"
#include "cli/replica_options.h"
#include "cli/request_options.h"
#include "job/nearest.h"
#include "llm/chat/conversation.h"
#include "llm/grammar/thinking_text.h"
#include "llm/grammar/tool_format.h"
#include "llm/session/draft_model.h"
#include "llm/session/session.h"
#include "llm/session/text_stream.h"
#include "run/agreement.h"

namespace voltpile::cli {
namespace {

constexpr int usual_context = 8192;  // tokens; a longer context that the model supports could fill its GPUs

constexpr const char* kChatHelp =
    "/help   this list\n"
    "/clear  start a new conversation\n"
    "/exit   end (also Ctrl-D)\n"
    "Ctrl-C  stop the answer; between answers, end\n"
    "Every other line is sent to the model; begin it with a space to send a line that looks like a command.";

// "/word": text that only begins with a slash ("/etc/hosts is ...") is not a command.
bool is_chat_command(const std::string& line) {
    return line.size() > 1 && line.front() == '/' &&
           std::all_of(line.begin() + 1, line.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

struct ChatArguments {
    std::string model;
    std::string draft;
    std::string chat_template;
    std::string system;
    bool json = false;
    llm::Request request;
    llm::ReplicaRequest replica;
    std::vector<llm::AdapterChoice> lora;
    std::string adapter;

    ChatArguments() { request.max_tokens = std::numeric_limits<int>::max(); }
};

// Throws JobError if the model has no template that chat could use.
void check_template(const llm::LanguageModel& model) {
    if (model.has_chat_template()) return;
    throw JobError(
        fmt::format("{}: the model has no chat template, so it may not have been trained to chat; choose one "
                    "with --template: {}",
                    model.name(), fmt::join(llm::ChatTemplate::names(), ", ")));
}

// The dialog, on the leader of a replica: reads questions and streams answers.
class Chat {
  public:
    // channels: answers are in the harmony format. interruptible: Ctrl-C ends the answer, not the program.
    Chat(llm::Engine& engine, llm::Conversation conversation, const ChatArguments& args,
         ChatTerminal& terminal, bool channels, bool interruptible)
        : conversation_(std::move(conversation)),
          args_(args),
          terminal_(terminal),
          channels_(channels),
          interruptible_(interruptible && terminal_.interactive()),
          stream_(engine, args.replica.context) {}

    void run() {
        while (const auto question = terminal_.question()) {
            try {
                if (is_chat_command(*question))
                    obey(*question);
                else
                    answer(*question);
            } catch (const JobError& error) {
                if (!terminal_.interactive()) throw llm::LeaderError(error.exit_code(), error.what());
                terminal_.remark(error.what());
            }
        }
    }

    void greet(std::string_view where, std::string_view chat_template) {
        if (!terminal_.interactive()) return;
        terminal_.remark(fmt::format("{}; template {}; {} tokens of context; /help lists the commands", where,
                                     chat_template, args_.replica.context));
    }

  private:
    // Throws JobError for an unknown command. The terminal itself obeys /exit.
    void obey(const std::string& command) {
        if (command == "/clear") {
            conversation_.clear();
            terminal_.remark("the conversation begins anew");
        } else if (command == "/help") {
            terminal_.remark(kChatHelp);
        } else {
            const std::vector<std::string> known{"/help", "/clear", "/exit"};
            throw JobError(
                fmt::format("there is no command {}{} (/help lists them; a space before it sends it as text)",
                            command, did_you_mean(nearest_word(command, known))));
        }
    }

    void answer(const std::string& question) {
        llm::Request request = args_.request;
        request.prompt = conversation_.ask(question);
        const std::size_t asked = request.prompt.size();
        if (std::ssize(request.prompt) >= args_.replica.context) {
            conversation_.withdraw();
            throw JobError(
                fmt::format("the context is full: with this message the conversation has {} tokens, and "
                            "{} leave no room for an answer (raise --context, or type /clear)",
                            asked, args_.replica.context));
        }
        const llm::Outcome generated = write(std::move(request));
        const std::string text = remember(generated);
        const auto processed = static_cast<std::size_t>(generated.prompt_tokens - generated.cached_tokens);
        if (args_.json) {
            auto json = generated_json(generated, text, processed);
            json["turn"] = ++turns_;
            json["context_tokens"] = asked + generated.tokens.size();
            terminal_.line(json.dump());
        } else {
            terminal_.remark(rates_text(generated, processed));
        }
        if (generated.finish == llm::Finish::Context)
            terminal_.remark(context_full_text("answer", args_.replica.context));
    }

    // Adds an answer to the conversation. Returns its text.
    std::string remember(const llm::Outcome& generated) {
        if (!channels_) return conversation_.answered(generated.tokens);
        llm::ThinkingText thinking;
        std::string text = thinking.read(generated.text);
        text += thinking.finish();
        llm::ChatMessage message{llm::ChatRole::Assistant, thinking.answer()};
        if (!thinking.thoughts().empty()) message.more.emplace_back("reasoning_content", thinking.thoughts());
        conversation_.answered(generated.tokens, std::move(message));
        return text;
    }

    llm::Outcome write(llm::Request request) {
        std::optional<AnswerInterrupt> interrupt;
        if (interruptible_) interrupt.emplace();
        request.continues = true;
        request.channels = channels_;
        llm::Outcome written;
        llm::ThinkingText thinking;
        bool begun = false;
        try {
            written = stream_.write(std::move(request), [&](const llm::Delta& delta) {
                begun = true;
                terminal_.answer(channels_ ? thinking.read(delta.text) : std::string(delta.text));
                return !interrupt || !interrupt->arrived();
            });
        } catch (...) {
            if (begun) terminal_.end_of_answer();  // so that the error message starts on a new line
            throw;
        }
        if (channels_) terminal_.answer(thinking.finish());
        terminal_.end_of_answer();
        return written;
    }

    llm::Conversation conversation_;
    const ChatArguments& args_;
    ChatTerminal& terminal_;
    bool channels_;
    bool interruptible_;
    llm::TextStream stream_;
    int turns_ = 0;
};

// The terminal as the leader sees it: its own on rank 0, else that of rank 0 (which is then in no team).
std::unique_ptr<ChatTerminal> terminal_of(const Communicator& world, const ChatArguments& args) {
    if (world.rank() == 0) return std::make_unique<OwnTerminal>(args.json);
    return std::make_unique<FarTerminal>(world);
}

ExitCode chat(const MpiSession& mpi, ChatArguments args) {
    const Communicator& world = mpi.world();
    args.request.lora = agreed([&] { return chosen_adapter(args.lora, args.adapter); });
    const auto model = llm::LanguageModel::open(
        world, {.path = args.model, .chat_template = args.chat_template, .lora = args.lora});
    const auto conversation = agreed([&] {
        check_template(*model);
        llm::check_known_tokens({}, args.request, model->config().vocab);
        return std::make_unique<llm::Conversation>(model->tokenizer(), model->chat_template(), args.system);
    });
    if (world.rank() == 0)
        if (const std::string problem = model->template_problem(); !problem.empty())
            spdlog::warn("{}", problem);
    if (args.replica.context == 0)
        args.replica.context =
            static_cast<int>(std::min<std::int64_t>(model->config().context, usual_context));
    std::unique_ptr<llm::LanguageModel> draft;
    if (!args.draft.empty()) draft = llm::open_draft(&world, {.path = args.draft}, *model, args.replica);
    llm::open_prediction_layers(&world, *model, args.replica);
    llm::ReplicaPlan plan = llm::agreed_plan(mpi, model->source(), args.replica);
    const auto lead = [&](llm::Session& session, llm::Engine& engine) {
        const auto terminal = terminal_of(world, args);
        const bool interruptible = world.size() == 1;  // mpirun ends its ranks on Ctrl-C, whatever they do
        const bool channels =
            llm::tool_format_of(model->chat_template().source()) == llm::ToolFormat::Harmony;
        Chat chat(engine, *conversation, args, *terminal, channels, interruptible);
        chat.greet(session.replica().describe(), model->chat_template().name());
        chat.run();
    };
    llm::with_session(
        mpi, *model, std::move(plan),
        [&](llm::Session& session) {
            session.answer({}, [&](llm::Engine& engine) { lead(session, engine); });
        },
        [&] {
            if (world.rank() != 0) return;
            OwnTerminal terminal(args.json);
            serve_far_terminal(world, terminal);
        });
    return ExitCode::Done;
}

}  // namespace

void add_chat(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("chat", "chat with a language model");
    command->footer(
        "examples:\n"
        "  voltpile chat model.gguf --system \"Answer in one sentence.\"\n"
        "  mpirun -np 4 voltpile chat model.gguf --json < questions.txt");
    auto args = std::make_shared<ChatArguments>();
    add_model_option(*command, args->model)->required();
    command->add_option("--system", args->system, "system message: how the model should behave")
        ->type_name("TEXT");
    command
        ->add_option("--template", args->chat_template,
                     fmt::format("{} [the model's own]", fmt::join(llm::ChatTemplate::names(), ", ")))
        ->type_name("NAME");
    add_replica_options(*command, args->replica);
    add_speculate_options(*command, args->replica, args->draft);
    add_lora_options(*command, args->lora, args->adapter);
    command->get_option("--context")
        ->description(fmt::format("longest conversation, in tokens [{}, or less if the model supports less]",
                                  usual_context));
    // What the model wrote must stay as it is in the conversation.
    constexpr std::array<std::string_view, 3> without{"stop", "top_n", "ignore_end"};
    add_request_options(*command, args->request, without);
    command->get_option("--max-tokens")->description("longest answer, in tokens [until the context is full]");
    command->add_flag("--json", args->json, "print each answer as a line of JSON with tokens and rates");
    command->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation, [&](const MpiSession& mpi) { return chat(mpi, *args); });
        };
    });
}

}  // namespace voltpile::cli
