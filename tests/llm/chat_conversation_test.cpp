#include <gtest/gtest.h>

#include <algorithm>

#include "job_error_text.h"
#include "llm/chat/conversation.h"
#include "llm/tokenizer/model_tokenizer.h"
#include "tokenizer_golden.h"

namespace voltpile::llm::chat_conversation_test {
namespace {

const Tokenizer& tiny_tokenizer() {
    static const Tokenizer tokenizer =
        load_tokenizer(ModelFiles(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf"));
    return tokenizer;
}

std::vector<TokenId> plain_tokens(const std::string& text) {
    return tiny_tokenizer().encode(text, {.add_special = false});
}

// Returns the tokens of a whole conversation, rendered and encoded at once.
std::vector<TokenId> tokens_of_chat(const std::string& chat_template,
                                    const std::vector<ChatMessage>& messages) {
    return plain_tokens(
        ChatTemplate::named(chat_template).render(messages, "<|begin_of_text|>", "<|end_of_text|>"));
}

std::vector<TokenId> joined(std::vector<TokenId> a, std::span<const TokenId> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

bool begins_with(std::span<const TokenId> tokens, std::span<const TokenId> beginning) {
    return std::ranges::equal(tokens.first(std::min(tokens.size(), beginning.size())), beginning);
}

const ChatMessage first{ChatRole::User, "And who art thou?"};
const ChatMessage second{ChatRole::User, "Go on"};

TEST(Conversation, RendersTheFirstTurnWithTheTemplate) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("llama3"), "Be brief");
    const auto tokens = chat.ask(first.content.text());
    EXPECT_EQ(tokens, tokens_of_chat("llama3", {{ChatRole::System, "Be brief"}, first}));
    EXPECT_EQ(tokens.front(), 0);  // <|begin_of_text|>, once
    EXPECT_NE(tokens[1], 0);
}

// ChatML only appends: earlier tokens stay, and all tokens together equal the conversation rendered at once.
TEST(Conversation, LaterTurnsExtendEarlierOnes) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("chatml"), "");
    const auto before = chat.ask(first.content.text());
    const std::vector<TokenId> answer = plain_tokens("I am he.");
    EXPECT_EQ(chat.answered(answer), "I am he.");
    const auto next = chat.ask(second.content.text());
    EXPECT_TRUE(begins_with(next, joined(before, answer)));
    EXPECT_EQ(next, tokens_of_chat("chatml", {first, {ChatRole::Assistant, "I am he."}, second}));
}

// The answer consists of single letters. No tokenizer would encode it so, but the KV cache holds these
// tokens.
TEST(Conversation, KeepsTheTokensThatTheModelDrew) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("chatml"), "");
    const auto before = chat.ask(first.content.text());
    std::vector<TokenId> answer;
    for (const char* letter : {"t", "h", "e", "r", "e"}) answer.push_back(plain_tokens(letter).front());
    ASSERT_NE(answer, plain_tokens("there"));
    EXPECT_EQ(chat.answered(answer), "there");
    EXPECT_EQ(chat.ask(second.content.text()),
              joined(joined(before, answer),
                     plain_tokens("<|im_end|>\n<|im_start|>user\nGo on<|im_end|>\n<|im_start|>assistant\n")));
}

// Llama 2's tokenizers put a space in front of a text, but there must be none after an answer: the tokens
// after it equal those of the whole conversation encoded as one text.
TEST(Conversation, AddsNoSpaceAfterAnAnswer) {
    for (const char* golden : {"golden_llama2", "golden_llama2_normalized"}) {
        json tokenizer = read_golden(golden).at("tokenizer");
        const json ends{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
        const Tokenizer llama2(vocabulary_from_hugging_face(tokenizer, ends, golden));
        const auto encoded = [&](const std::string& text) {
            return llama2.encode(text, {.add_special = false});
        };
        const std::vector<TokenId> canonical = encoded("there");
        std::vector<TokenId> answer;
        const auto& texts = llama2.vocabulary().texts;
        for (const std::string_view piece :
             std::initializer_list<std::string_view>{kSpaceMark, "t", "h", "e", "r", "e"})
            answer.push_back(static_cast<TokenId>(std::ranges::find(texts, piece) - texts.begin()));
        ASSERT_NE(answer, canonical);
        ASSERT_EQ(llama2.decode(answer), "there");

        Conversation chat(llama2, ChatTemplate::named("llama2"), "");
        const auto before = chat.ask(first.content.text());
        chat.answered(answer);
        const auto next = chat.ask(second.content.text());

        const std::vector<ChatMessage> messages{first, {ChatRole::Assistant, "there"}, second};
        const auto whole = encoded(ChatTemplate::named("llama2").render(messages, "<s>", "</s>"));
        const std::size_t begin = before.size() + canonical.size();
        EXPECT_EQ(next, joined(joined(before, answer), std::span(whole).subspan(begin))) << golden;
    }
}

// Qwen 3's template drops the reasoning of earlier answers; tokens before it stay.
TEST(Conversation, FollowsTemplatesThatRewriteAnswers) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("qwen3"), "");
    const auto before = chat.ask(first.content.text());
    chat.answered(plain_tokens("<think>\nHm.\n</think>\n\nI am he."));
    const auto next = chat.ask(second.content.text());
    EXPECT_TRUE(begins_with(next, before));
    EXPECT_EQ(next, tokens_of_chat("qwen3", {first, {ChatRole::Assistant, "I am he."}, second}));
}

TEST(Conversation, ForgetsAWithdrawnQuestion) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("chatml"), "");
    chat.ask(first.content.text());
    chat.answered(plain_tokens("I am he."));
    const auto expected = chat.ask(second.content.text());
    chat.withdraw();
    chat.ask("Something else");
    chat.withdraw();
    EXPECT_EQ(chat.ask(second.content.text()), expected);
}

TEST(Conversation, ClearKeepsTheSystemMessage) {
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("chatml"), "Be brief");
    chat.ask(second.content.text());
    chat.answered(plain_tokens("No."));
    chat.clear();
    EXPECT_EQ(chat.ask(first.content.text()),
              tokens_of_chat("chatml", {{ChatRole::System, "Be brief"}, first}));
}

TEST(Conversation, RejectsMessagesThatTheTemplateLacks) {
    EXPECT_NE(message_of([] {
                  Conversation(tiny_tokenizer(), ChatTemplate::named("mistral-v0.1"), "Be brief");
              }).find("no place for a system message"),
              std::string::npos);
    Conversation chat(tiny_tokenizer(), ChatTemplate::named("mistral-v0.1"), "");
    EXPECT_NE(message_of([&] { chat.ask("\xff"); }).find("UTF-8"), std::string::npos);
    EXPECT_EQ(chat.ask(first.content.text()),
              tokens_of_chat("mistral-v0.1", {first}));  // the refused question left no trace
}

}  // namespace
}  // namespace voltpile::llm::chat_conversation_test
