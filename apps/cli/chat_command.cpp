#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/answer_interrupt.h"
#include "cli/chat_terminal.h"
#include "cli/command.h"
#include "cli/generated_text.h"
#include "cli/replica_options.h"
#include "cli/sampling_options.h"
#include "llm/chat/conversation.h"
#include "llm/decoder/model_tokenizer.h"
#include "llm/run/replica.h"
#include "llm/run/same_model.h"
#include "llm/tokenizer/stream_decoder.h"
#include "run/agreement.h"

namespace voltpile::cli {
namespace {

constexpr int usual_context = 8192;  // tokens; models made for more would fill their GPUs with it

struct ChatArguments {
    std::string model;
    std::string chat_template;
    std::string system;
    bool json = false;
    llm::GenerateSettings settings{std::numeric_limits<int>::max(), false, {}};
    llm::ReplicaRequest replica;
};

llm::ChatTemplate template_of(const llm::ModelFiles& model, const ChatArguments& args) {
    if (!args.chat_template.empty()) return llm::ChatTemplate::named(args.chat_template);
    if (model.config().chat_template.empty())
        throw JobError(fmt::format(
            "{}: the model has no chat template, so it may not have been trained to chat; one can be "
            "chosen by --template: {}",
            args.model, fmt::join(llm::ChatTemplate::names(), ", ")));
    return llm::ChatTemplate::recognised(model.config().chat_template, args.model);
}

// On every rank of a replica alike; its leader reads and prints.
class Chat {
  public:
    Chat(llm::Replica& replica, const llm::Tokenizer& tokenizer, const llm::ModelConfig& config,
         llm::Conversation conversation, const ChatArguments& args)
        : replica_(replica),
          tokenizer_(tokenizer),
          conversation_(std::move(conversation)),
          args_(args),
          terminal_(args.json),
          interactive_(!replica.from_leader(terminal_.interactive() ? "yes" : "").empty()),
          writer_(
              [&replica](const llm::Batch& batch, std::span<const llm::SamplingRow> sampling) {
                  return replica.step(batch, sampling);
              },
              config.eos_ids, args.replica.context) {}

    void run() {
        while (const auto question = next_question()) {
            if (*question == "/clear") {
                conversation_.clear();
                remark("the conversation begins anew");
                continue;
            }
            try {
                answer(*question);
            } catch (const JobError& error) {  // on all ranks
                if (!interactive_) throw AgreedError(error.exit_code(), error.what());
                remark(error.what());
            }
        }
    }

    void greet(std::string_view chat_template) {
        if (!interactive_) return;
        remark(fmt::format("{}; template {}; {} tokens of context; /clear begins anew, /exit or Ctrl-D ends",
                           replica_.describe(), chat_template, args_.replica.context));
    }

  private:
    // The leader's next line, on every rank.
    std::optional<std::string> next_question() {
        std::optional<std::string> line;
        if (replica_.leads()) line = terminal_.question();
        const std::string sent = replica_.from_leader(line ? "+" + *line : "");
        return sent.empty() ? std::nullopt : std::optional(sent.substr(1));
    }

    void remark(const std::string& text) {
        if (replica_.leads()) terminal_.remark(text);
    }

    void answer(const std::string& question) {
        const auto turn = conversation_.ask(question);
        if (turn.end() >= args_.replica.context) {
            conversation_.withdraw();
            throw JobError(
                fmt::format("the context is full: with this message the conversation has {} tokens, and "
                            "{} leave no room for an answer (--context; /clear begins anew)",
                            turn.end(), args_.replica.context));
        }
        const llm::Generated generated = write(turn);
        const std::string text = conversation_.answered(generated.tokens, writer_.cached());
        if (!replica_.leads()) return;
        if (args_.json) {
            auto json = generated_json(generated, text, turn.tokens.size());
            json["turn"] = ++turns_;
            json["context_tokens"] = turn.end() + std::ssize(generated.tokens);
            terminal_.line(json.dump());
        } else {
            terminal_.remark(rates_text(generated, turn.tokens.size()));
        }
        if (generated.finish == llm::Finish::Context)
            terminal_.remark(context_full_text("answer", args_.replica.context));
    }

    llm::Generated write(const llm::Conversation::Turn& turn) {
        // mpirun ends its ranks on Ctrl-C whatever they do, and none could stop alone.
        std::optional<AnswerInterrupt> interrupt;
        if (interactive_ && replica_.teams().team().size() == 1) interrupt.emplace();
        llm::StreamDecoder text(tokenizer_, true, true);
        const auto end_line = [&] {
            if (!replica_.leads()) return;
            terminal_.answer(text.flush());
            terminal_.end_of_answer();
        };
        llm::Generated generated;
        bool begun = false;
        try {
            generated = writer_.write(turn.begin, turn.tokens, args_.settings, [&](std::int32_t token) {
                begun = true;
                if (replica_.leads()) terminal_.answer(text.push(token));
                return !interrupt || !interrupt->arrived();
            });
        } catch (...) {
            if (begun) end_line();  // the message has a line of its own
            throw;
        }
        end_line();
        return generated;
    }

    llm::Replica& replica_;
    const llm::Tokenizer& tokenizer_;
    llm::Conversation conversation_;
    const ChatArguments& args_;
    ChatTerminal terminal_;
    bool interactive_;
    llm::TextWriter writer_;
    int turns_ = 0;
};

// What every rank finds alike in the model's files.
struct Preparation {
    llm::Tokenizer tokenizer;
    llm::ChatTemplate chat_template;
    llm::Conversation conversation;

    Preparation(const llm::ModelFiles& model, const ChatArguments& args)
        : tokenizer(llm::load_tokenizer(model)),
          chat_template(template_of(model, args)),
          conversation(tokenizer, chat_template, args.system) {}
};

ExitCode chat(const MpiSession& session, ChatArguments args) {
    const auto model = llm::open_model(session.world(), args.model);
    const auto prepared = agreed([&] { return std::make_unique<Preparation>(*model, args); });
    if (args.replica.context == 0)
        args.replica.context =
            static_cast<int>(std::min<std::int64_t>(model->config().context, usual_context));
    args.replica.rows = llm::single_text_limits(args.replica.context).rows;
    llm::with_replica(session, *model, args.replica, [&](llm::Replica& replica) {
        Chat chat(replica, prepared->tokenizer, model->config(), prepared->conversation, args);
        chat.greet(prepared->chat_template.name());
        chat.run();
    });
    return ExitCode::Done;
}

}  // namespace

void add_chat(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("chat", "talk with a language model");
    command->footer(
        "examples:\n"
        "  voltpile chat model.gguf --system \"Answer in one sentence.\"\n"
        "  mpirun -np 4 voltpile chat model.gguf --json < questions.txt");
    auto args = std::make_shared<ChatArguments>();
    add_model_option(*command, args->model)->required();
    command->add_option("--system", args->system, "what the model is to be")->type_name("TEXT");
    command
        ->add_option("--template", args->chat_template,
                     fmt::format("{} [the model's own]", fmt::join(llm::ChatTemplate::names(), ", ")))
        ->type_name("NAME");
    command
        ->add_option("-n,--max-tokens", args->settings.max_tokens, "of an answer [until the context is full]")
        ->check(CLI::Range(1, 1 << 24));
    add_replica_options(*command, args->replica);
    command->get_option("--context")
        ->description(fmt::format(
            "room for so many tokens of conversation [{}, or what the model was made for]", usual_context));
    add_sampling_options(*command, args->settings.sampling);
    command->add_flag("--json", args->json, "print each answer as a line of JSON, with tokens and rates");
    command->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation, [&](const MpiSession& session) { return chat(session, *args); });
        };
    });
}

}  // namespace voltpile::cli
