#include "llm/chat/named_templates.h"

namespace voltpile::llm {

namespace {

constexpr std::string_view kChatMl = R"jinja(
{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kQwen2System = R"jinja(
{%- if messages[0].role != 'system' -%}
    {{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kQwen25System = R"jinja(
{%- if messages[0].role != 'system' -%}
    {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' -}}
{%- endif -%}
)jinja";

// Drops the reasoning of answers before the last question.
constexpr std::string_view kQwen3 = R"jinja(
{%- set last = namespace(question=messages|length - 1) -%}
{%- for message in messages -%}
    {%- set is_response = message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>') -%}
    {%- if message.role == 'user' and not is_response -%}
        {%- set last.question = loop.index0 -%}
    {%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\n' -}}
    {%- if message.role != 'assistant' -%}
        {{- message.content -}}
    {%- else -%}
        {%- set parts = message.content.split('</think>') -%}
        {%- set reasoning = parts[0].split('<think>')[-1].strip('\n') if parts|length > 1 else '' -%}
        {%- set answer = parts[-1].lstrip('\n') if parts|length > 1 else message.content -%}
        {%- if loop.index0 > last.question and (loop.last or reasoning) -%}
            {{- '<think>\n' + reasoning + '\n</think>\n\n' + answer.lstrip('\n') -}}
        {%- else -%}
            {{- answer -}}
        {%- endif -%}
    {%- endif -%}
    {{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' -}}
    {%- if enable_thinking is defined and not enable_thinking -%}
        {{- '<think>\n\n</think>\n\n' -}}
    {%- endif -%}
{%- endif -%}
)jinja";

constexpr std::string_view kLlama3 = R"jinja(
{{- bos_token -}}
{%- for message in messages -%}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content|trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kLlama31System = R"jinja(
{{- bos_token -}}
{%- set bos_token = '' -%}
{{- '<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n' -}}
{{- 'Today Date: ' + date_string|default('26 Jul 2024') + '\n\n' -}}
{%- if messages[0].role == 'system' -%}
    {{- messages[0].content|trim -}}
    {%- set messages = messages[1:] -%}
{%- endif -%}
{{- '<|eot_id|>' -}}
)jinja";

// Sets `system` and `turns`, which are questions and answers in turn.
constexpr std::string_view kTurns = R"jinja(
{%- set system = messages[0].content if messages[0].role == 'system' else none -%}
{%- set turns = messages if system is none else messages[1:] -%}
{%- for message in turns -%}
    {%- if message.role != ('user' if loop.index0 is even else 'assistant') -%}
        {{- raise_exception('message ' ~ loop.index ~ ' of the chat: this model takes user and assistant in turn, '
                            'after at most one system message') -}}
    {%- endif -%}
{%- endfor -%}
)jinja";

constexpr std::string_view kLlama2 = R"jinja(
{%- for message in turns -%}
    {%- if message.role == 'user' -%}
        {%- set before = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' if loop.first and system is not none else '' -%}
        {{- bos_token + '[INST] ' + (before + message.content).strip() + ' [/INST]' -}}
    {%- else -%}
        {{- ' ' + message.content.strip() + ' ' + eos_token -}}
    {%- endif -%}
{%- endfor -%}
)jinja";

// What follows an answer in kMistral0.
constexpr std::string_view kMistral01Space = "{%- set after_answer = ' ' -%}";
constexpr std::string_view kMistral02Space = "{%- set after_answer = '' -%}";

constexpr std::string_view kMistral0 = R"jinja(
{%- if messages[0].role == 'system' -%}
    {{- raise_exception('it has no place for a system message') -}}
{%- endif -%}
{{- bos_token -}}
{%- for message in messages -%}
    {%- if message.role != ('user' if loop.index0 is even else 'assistant') -%}
        {{- raise_exception('message ' ~ loop.index ~ ' of the chat: this model takes user and assistant in turn') -}}
    {%- endif -%}
    {{- '[INST] ' + message.content + ' [/INST]' if message.role == 'user' else message.content + eos_token + after_answer -}}
{%- endfor -%}
)jinja";

constexpr std::string_view kMistral1 = R"jinja(
{{- bos_token -}}
{%- for message in turns -%}
    {%- if message.role == 'user' -%}
        {%- set before = system + '\n\n' if loop.first and system is not none else '' -%}
        {{- ' [INST] ' + before + message.content + ' [/INST]' -}}
    {%- else -%}
        {{- ' ' + message.content + eos_token -}}
    {%- endif -%}
{%- endfor -%}
)jinja";

constexpr std::string_view kMistral3 = R"jinja(
{{- bos_token -}}
{%- for message in turns -%}
    {%- if message.role == 'user' -%}
        {%- set before = system + '\n\n' if loop.last and system is not none else '' -%}
        {{- '[INST] ' + before + message.content + '[/INST]' -}}
    {%- else -%}
        {{- ' ' + message.content.strip() + eos_token -}}
    {%- endif -%}
{%- endfor -%}
)jinja";

constexpr std::string_view kMistralTekken = R"jinja(
{{- bos_token -}}
{%- for message in turns -%}
    {%- if message.role == 'user' -%}
        {%- set before = system + '\n\n' if loop.last and system is not none else '' -%}
        {{- '[INST]' + before + message.content + '[/INST]' -}}
    {%- else -%}
        {{- message.content + eos_token -}}
    {%- endif -%}
{%- endfor -%}
)jinja";

constexpr NamedTemplate kTemplates[] = {
    {"chatml", "", kChatMl},
    {"qwen2", kQwen2System, kChatMl},
    {"qwen2.5", kQwen25System, kChatMl},
    {"qwen3", "", kQwen3},
    {"llama2", kTurns, kLlama2},
    {"llama3", "", kLlama3},
    {"llama3.1", kLlama31System, kLlama3},
    {"mistral-v0.1", kMistral01Space, kMistral0},
    {"mistral-v0.2", kMistral02Space, kMistral0},
    {"mistral-v1", kTurns, kMistral1},
    {"mistral-v3", kTurns, kMistral3},
    {"mistral-tekken", kTurns, kMistralTekken},
};

}  // namespace

std::span<const NamedTemplate> named_templates() {
    return kTemplates;
}

}  // namespace voltpile::llm
