"""Public clients against `voltpile serve`: the packages of tests/clients.txt, each with what its users do.
tests/run_with_packages.py installs them."""

import asyncio
import json
import shutil
import unittest

import anthropic
import jsonschema
import openai
import pydantic
from langchain_openai import ChatOpenAI
from openapi_spec_validator import validate as validate_openapi
from serving import ServeCase
from test_serve_tools import FUNCTIONS, QUESTION, TEMPLATE, TOOLS, validate
from tiny_model import MODELS

DRAW = {"model": "model", "messages": QUESTION, "max_tokens": 200, "seed": 7}
TEXT = {**DRAW, "max_tokens": 12}


class Forecast(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=10)
    days: int = pydantic.Field(ge=1, le=14)
    rain: bool


class Clients(ServeCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(MODELS / "hf", self.folder / "model")
        (self.folder / "model" / "chat_template.jinja").write_text(TEMPLATE)
        self.serve(model=self.folder / "model")
        self.openai = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        self.addCleanup(self.openai.close)

    def test_openai_chats(self):
        self.assertEqual([model.id for model in self.openai.models.list()], ["model"])
        answer = self.openai.chat.completions.create(**TEXT)
        text = answer.choices[0].message.content
        self.assertEqual((answer.choices[0].finish_reason, answer.usage.completion_tokens), ("length", 12))
        chunks = self.openai.chat.completions.create(**TEXT, stream=True)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), text)
        completion = self.openai.completions.create(model="model", prompt="And", max_tokens=1, echo=True, logprobs=1)
        self.assertEqual(len(completion.choices[0].logprobs.token_logprobs), 3)
        with self.assertRaises(openai.BadRequestError) as refused:
            self.openai.chat.completions.create(**{**TEXT, "temperature": 5000})
        self.assertEqual(refused.exception.param, "temperature")
        with self.assertRaises(openai.NotFoundError):
            self.openai.chat.completions.create(**{**TEXT, "model": "other"})

    def test_the_description_of_the_api(self):
        api = self.get("/openapi.json").json
        validate_openapi(api)
        call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}
        anthropic_tools = [{"name": each["name"], "input_schema": each["parameters"]} for each in FUNCTIONS]
        history = [*QUESTION, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": "noon"}]
        for path, body, accepted in (
            ("/v1/chat/completions", {"messages": history, "tools": TOOLS, "tool_choice": "none", "max_tokens": 1}, True),
            ("/v1/chat/completions", {"messages": QUESTION, "tool_choice": "always"}, False),
            ("/v1/completions", {"prompt": [1, 2], "max_tokens": 0, "echo": True, "logprobs": 1}, True),
            ("/v1/responses", {"input": [{"role": "user", "content": "Hi"},
                                         {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"},
                                         {"type": "function_call_output", "call_id": "c", "output": "noon"}],
                               "tools": [{"type": "function", **each} for each in FUNCTIONS], "max_output_tokens": 1}, True),
            ("/v1/responses", {"input": "Hi", "tools": [{"type": "web_search"}]}, False),
            ("/v1/messages", {"messages": QUESTION, "max_tokens": 1, "tools": anthropic_tools, "tool_choice": {"type": "none"}}, True),
            ("/v1/messages", {"messages": QUESTION}, False),
        ):
            with self.subTest(path=path, body=body):
                schema = api["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
                self.assertEqual(jsonschema.Draft202012Validator(schema).is_valid(body), accepted)
                answer = self.post(path, body)
                self.assertEqual(answer.status == 200, accepted, answer.body)

    def test_openai_at_once(self):
        async def ask():
            async with openai.AsyncOpenAI(base_url=self.url + "/v1", api_key="none") as client:
                return await asyncio.gather(*(client.chat.completions.create(**TEXT) for _ in range(8)))

        texts = {answer.choices[0].message.content for answer in asyncio.run(ask())}
        self.assertEqual(len(texts), 1)

    def test_openai_tools(self):
        request = {**DRAW, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
        (call,) = self.openai.chat.completions.create(**request).choices[0].message.tool_calls
        validate(call.function.name, json.loads(call.function.arguments))
        with self.openai.chat.completions.stream(**request) as stream:
            final = stream.get_final_completion()
        self.assertEqual(final.choices[0].finish_reason, "tool_calls")
        self.assertEqual(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments)

    def test_openai_structured_output(self):
        parsed = self.openai.chat.completions.parse(**DRAW, response_format=Forecast)
        self.assertIsInstance(parsed.choices[0].message.parsed, Forecast)

    def test_openai_responses(self):
        request = {"model": "model", "input": "Shall I go?", "max_output_tokens": 12, "temperature": 0}
        answer = self.openai.responses.create(**request)
        with self.openai.responses.stream(**request) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        self.assertEqual(text, answer.output_text)
        request["max_output_tokens"] = 200
        parsed = self.openai.responses.parse(**request, text_format=Forecast)
        self.assertIsInstance(parsed.output_parsed, Forecast)
        tools = [{"type": "function", "strict": True, **each} for each in FUNCTIONS]
        with self.openai.responses.stream(**request, tools=tools, tool_choice="required", parallel_tool_calls=False) as stream:
            (call,) = stream.get_final_response().output
        validate(call.name, json.loads(call.arguments))

    def test_anthropic(self):
        with anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0) as client:
            request = {"model": "model", "messages": QUESTION, "max_tokens": 12, "extra_body": {"temperature": 0}}
            answer = client.messages.create(**request)
            self.assertEqual((answer.stop_reason, answer.usage.output_tokens), ("max_tokens", 12))
            with client.messages.stream(**request) as stream:
                self.assertEqual("".join(stream.text_stream), answer.content[0].text)
            tools = [{"name": each["name"], "input_schema": each["parameters"]} for each in FUNCTIONS]
            request |= {"max_tokens": 200, "tools": tools, "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
            (whole,) = client.messages.create(**request).content
            validate(whole.name, whole.input)
            with client.messages.stream(**request) as stream:
                (block,) = stream.get_final_message().content
            self.assertEqual((block.name, block.input), (whole.name, whole.input))
            with self.assertRaises(anthropic.BadRequestError):
                client.messages.create(**{**request, "extra_body": {"temperature": 5000}})

    def test_langchain(self):
        model = ChatOpenAI(base_url=self.url + "/v1", api_key="none", model="model", max_tokens=200, seed=7)
        self.assertTrue("".join(chunk.content for chunk in model.bind(max_tokens=12).stream("Shall I go?")))
        (call,) = model.bind_tools(TOOLS, tool_choice="weather", parallel_tool_calls=False).invoke("Shall I go?").tool_calls
        validate(call["name"], call["args"])
        self.assertIsInstance(model.with_structured_output(Forecast, method="json_schema").invoke("Shall I go?"), Forecast)


if __name__ == "__main__":
    unittest.main()
