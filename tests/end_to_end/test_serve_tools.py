"""Tools in `voltpile serve`: a model that cannot call any is forced to, in every format and every API, whole and streamed."""

import json
import re
import shutil
import unittest

import jsonschema
from harness import BAD_INPUT
from harmony_model import make_harmony_model
from serving import ServeCase, events
from tiny_model import MODELS

# Shows tools to the model; the format of their calls is in the comment.
TEMPLATE = """{# <tool_call> #}{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}
{%- for message in messages %}{{ message.role }}: {{ message.content }}
{%- for call in message.tool_calls or [] %} {{ call.function.name }}{{ call.function.arguments | tojson }}{% endfor %}
{% endfor %}"""

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 8},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["C", "F"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "properties": {}}
FUNCTIONS = [{"name": "weather", "description": "Weather of a city", "parameters": SCHEMA}, {"name": "now", "parameters": NOTHING}]
TOOLS = [{"type": "function", "function": function} for function in FUNCTIONS]
QUESTION = [{"role": "user", "content": "Shall I go to Bonn?"}]


def validate(name, arguments):
    jsonschema.validate(arguments, {"weather": SCHEMA, "now": NOTHING}[name])


class ServeTools(ServeCase):
    def serve_tools(self, *options, template=TEMPLATE):
        model = self.folder / "model"
        if not model.exists():
            shutil.copytree(MODELS / "hf", model)
            (model / "chat_template.jinja").write_text(template)
        self.serve(*options, model=model)

    def serve_harmony(self):
        ids = make_harmony_model(self.folder / "harmony")
        self.serve(model=self.folder / "harmony")
        return ids

    def test_channels_of_gpt_oss(self):
        ids = self.serve_harmony()
        # Thoughts, if there are some, end at once.
        body = {"messages": QUESTION, "max_tokens": 300, "seed": 4, "n": 3, "logit_bias": {str(ids["<|end|>"]): 100}}
        forced = self.post("/v1/chat/completions", {**body, "tools": TOOLS, "tool_choice": "required"})
        self.assertEqual(forced.status, 200, forced.body)
        for choice in forced.json["choices"]:
            self.assertEqual(choice["finish_reason"], "tool_calls")
            self.assertIsNone(choice["message"]["content"])
            (call,) = choice["message"]["tool_calls"]
            validate(call["function"]["name"], json.loads(call["function"]["arguments"]))
        schema = {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}
        formed = {**body, "response_format": schema, "reasoning_effort": "low"}
        whole = self.post("/v1/chat/completions", formed)
        self.assertEqual(whole.status, 200, whole.body)
        contents = [choice["message"]["content"] for choice in whole.json["choices"]]
        for content in contents:
            jsonschema.validate(json.loads(content), SCHEMA)
        streamed = [""] * 3
        for event in events(self.open_post("/v1/chat/completions", {**formed, "stream": True})):
            choice = event["choices"][0]
            streamed[choice["index"]] += choice["delta"].get("content") or ""
        self.assertEqual(streamed, contents)
        paths = self.get("/openapi.json").json["paths"]
        for path, field in (("/v1/chat/completions", "reasoning_effort"), ("/v1/responses", "reasoning")):
            described = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            for effort in ("high", "much"):
                request = {"messages": QUESTION} if "chat" in path else {"input": "Well?", "max_output_tokens": 2}
                request |= {field: effort if "chat" in path else {"effort": effort}}
                valid = jsonschema.Draft202012Validator(described).is_valid(request)
                self.assertEqual(valid, effort == "high", path)
                answer = self.post(path, {**request, "max_tokens": 2} if "chat" in path else request)
                self.assertEqual(answer.status, 200 if valid else 400, answer.body)
        # Without a grammar the markers that the model draws are no text.
        plain = {**body, "n": 1, "max_tokens": 4, "logit_bias": {str(ids["<|message|>"]): 100}}
        message = self.post("/v1/chat/completions", plain).json["choices"][0]["message"]
        self.assertEqual((message["content"], message.get("reasoning_content")), ("", None))

    def test_harmony_needs_its_special_tokens(self):
        arguments = ("serve", MODELS / "hf", "--tool-format", "harmony", "--port", "0")
        _, error = self.voltpile(*arguments, expect=BAD_INPUT)
        self.assertIn("<|channel|>", error)

    def named_events(self, path, body):
        """The data of events that have names."""
        lines = self.open_post(path, {**body, "stream": True}).read().decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]

    def test_every_format_in_chats(self):
        for form in ("hermes", "llama3", "mistral", "mistral-args"):
            with self.subTest(format=form):
                self.serve_tools("--tool-format", form)
                body = {"messages": QUESTION, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False,
                        "max_tokens": 300, "seed": 4, "n": 3}
                answer = self.post("/v1/chat/completions", body)
                self.assertEqual(answer.status, 200, answer.body)
                whole = []
                for choice in answer.json["choices"]:
                    self.assertEqual(choice["finish_reason"], "tool_calls")
                    self.assertIsNone(choice["message"]["content"])
                    (call,) = choice["message"]["tool_calls"]
                    validate(call["function"]["name"], json.loads(call["function"]["arguments"]))
                    whole.append(call["function"])
                    if form.startswith("mistral"):
                        self.assertRegex(call["id"], r"^\w{9}$")
                streamed = [{"name": "", "arguments": ""} for _ in range(3)]
                for event in events(self.open_post("/v1/chat/completions", {**body, "stream": True})):
                    choice = event["choices"][0]
                    self.assertFalse(choice["delta"].get("content"))
                    for call in choice["delta"].get("tool_calls", []):
                        for key, text in call["function"].items():
                            streamed[choice["index"]][key] += text
                self.assertEqual(streamed, whole)
                (self.folder / "address").unlink()
                self.end_server()

    def test_tokenize_counts_tools(self):
        self.serve_tools()
        body = {"messages": QUESTION, "tools": TOOLS}
        answer = self.post("/v1/chat/completions", {**body, "max_tokens": 1})
        self.assertEqual(self.post("/tokenize", body).json["count"], answer.json["usage"]["prompt_tokens"])
        without = self.post("/tokenize", {"messages": QUESTION}).json["count"]
        self.assertLess(without, answer.json["usage"]["prompt_tokens"])
        self.assertEqual(self.post("/tokenize", {**body, "tool_choice": "none"}).json["count"], without)
        self.assertEqual(self.post("/tokenize", {**body, "tools": [{}]}).status, 400)

    def test_choices_and_apis(self):
        self.serve_tools()
        chat = {"messages": QUESTION, "tools": TOOLS, "max_tokens": 200, "seed": 5}
        named = {"type": "function", "function": {"name": "weather"}}
        answer = self.post("/v1/chat/completions", {**chat, "tool_choice": named}).json["choices"][0]
        for call in answer["message"]["tool_calls"]:
            self.assertEqual(call["function"]["name"], "weather")
        free = self.post("/v1/chat/completions", {**chat, "tool_choice": "auto", "max_tokens": 20}).json["choices"][0]
        self.assertNotIn("tool_calls", free["message"])
        self.assertTrue(free["message"]["content"])
        # The answer and the tool's result as the next request.
        history = [*QUESTION, answer["message"], {"role": "tool", "tool_call_id": answer["message"]["tool_calls"][0]["id"], "content": "rain"}]
        again = self.post("/v1/chat/completions", {**chat, "messages": history, "tool_choice": "none", "max_tokens": 10})
        self.assertEqual(again.status, 200, again.body)

        messages = {"messages": QUESTION, "max_tokens": 300, "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
                    "tools": [{"name": each["name"], "input_schema": each["parameters"]} for each in FUNCTIONS], "temperature": 0}
        answer = self.post("/v1/messages", messages).json
        (block,) = answer["content"]
        self.assertEqual((answer["stop_reason"], block["type"]), ("tool_use", "tool_use"))
        validate(block["name"], block["input"])
        streamed = self.named_events("/v1/messages", messages)
        parts = [event["delta"]["partial_json"] for event in streamed if event["type"] == "content_block_delta"]
        self.assertEqual(json.loads("".join(parts)), block["input"])
        history = [*QUESTION, {"role": "assistant", "content": answer["content"]},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": "rain"}]}]
        again = self.post("/v1/messages", {**messages, "messages": history})
        self.assertEqual(again.status, 200, again.body)

        responses = {"input": QUESTION, "max_output_tokens": 300, "tool_choice": "required", "parallel_tool_calls": False,
                     "tools": [{"type": "function", **each} for each in FUNCTIONS], "temperature": 0}
        answer = self.post("/v1/responses", responses).json
        (item,) = answer["output"]
        self.assertEqual((item["type"], item["name"]), ("function_call", block["name"]))
        validate(item["name"], json.loads(item["arguments"]))
        streamed = self.named_events("/v1/responses", responses)
        self.assertEqual([event["item"]["arguments"] for event in streamed if event["type"] == "response.output_item.done"], [item["arguments"]])
        history = [*QUESTION, item, {"type": "function_call_output", "call_id": item["call_id"], "output": "rain"}]
        again = self.post("/v1/responses", {**responses, "input": history})
        self.assertEqual(again.status, 200, again.body)

    def test_a_template_that_begins_the_thoughts(self):
        self.serve_tools(template=TEMPLATE + "assistant: <think>\n")
        chat = {"messages": QUESTION, "max_tokens": 20, "seed": 5}
        for more in ({}, {"tools": TOOLS}):
            message = self.post("/v1/chat/completions", {**chat, **more}).json["choices"][0]["message"]
            self.assertTrue(message["reasoning_content"])
            self.assertEqual(message["content"], "")
            deltas = [event["choices"][0]["delta"] for event in events(self.open_post("/v1/chat/completions", {**chat, **more, "stream": True}))]
            self.assertEqual("".join(delta.get("reasoning_content", "") for delta in deltas), message["reasoning_content"])
            again = {**chat, "messages": [*QUESTION, message, *QUESTION]}
            self.assertEqual(self.post("/v1/chat/completions", again).status, 200)
        required = self.post("/v1/chat/completions", {**chat, "tools": TOOLS, "tool_choice": "required", "max_tokens": 300}).json
        self.assertTrue(required["choices"][0]["message"]["tool_calls"])
        form = self.post("/v1/chat/completions", {**chat, "regex": "[a-z]{3}"}).json["choices"][0]["message"]
        self.assertRegex(form["content"], "^[a-z]{3}$")
        body = {"messages": QUESTION, "max_tokens": 20, "temperature": 0}
        (block,) = self.post("/v1/messages", body).json["content"]
        self.assertEqual(block["type"], "thinking")
        streamed = self.named_events("/v1/messages", body)
        parts = [event["delta"]["thinking"] for event in streamed if event["type"] == "content_block_delta"]
        self.assertEqual("".join(parts), block["thinking"])
        (item,) = self.post("/v1/responses", {"input": QUESTION, "max_output_tokens": 20, "temperature": 0}).json["output"]
        self.assertEqual((item["type"], item["content"][0]["text"]), ("reasoning", block["thinking"]))

    def test_refusals(self):
        self.serve_tools()
        broken = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "not": {}}}}
        refused = self.post("/v1/chat/completions", {"messages": QUESTION, "tools": [broken]})
        self.assertEqual((refused.status, refused.json["error"]["param"]), (400, "tools"))
        self.assertRegex(refused.json["error"]["message"], re.escape('the tool "f": JSON schema: '))
        broken["function"]["strict"] = False
        self.assertEqual(self.post("/v1/chat/completions", {"messages": QUESTION, "tools": [broken], "max_tokens": 4}).status, 200)
        (self.folder / "address").unlink()
        self.end_server()
        self.serve("--template", "chatml")
        refused = self.post("/v1/chat/completions", {"messages": QUESTION, "tools": TOOLS})
        self.assertEqual((refused.status, refused.json["error"]["param"]), (400, "tools"))
        self.assertIn("no place for tools", refused.json["error"]["message"])
        (self.folder / "address").unlink()
        self.end_server()
        self.serve("--template", "chatml", "--tool-format", "hermes")
        _, err = self.end_server()
        self.assertEqual(err.count("--tool-format hermes has no effect: the chat template has no place for tools"), 1, err)
        self.assertEqual(err.count("the template chatml does not fit the model"), 1, err)


if __name__ == "__main__":
    unittest.main()
