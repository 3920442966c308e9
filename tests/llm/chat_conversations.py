"""Conversations that chat templates render: system messages, several turns, tools, reasoning, and what templates refuse."""

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather \u2014 now & here <b>.",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Where"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1},
        "places": {"type": "array", "items": {"type": "object", "properties": {
            "lat": {"type": "number"}, "on": {"type": ["boolean", "null"]}}}},
    }}}}
TIME = {"type": "function", "function": {
    "name": "time", "description": "The time", "parameters": {"type": "object", "properties": {}}}}


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, number):
    return {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


HELLO = message("user", "Hello, \u4f60\u597d \U0001f642!")
SYSTEM = message("system", "You are a pirate. ")
TURNS = [HELLO, message("assistant", "Hi there"), message("user", "  Who are you?\n")]
CALLED = [
    message("user", "Weather in Oslo and Rome?"),
    message("assistant", "", tool_calls=[call("get_weather", {"city": "Oslo", "days": 2, "on": True}, 1),
                                         call("get_weather", {"city": "Rome \"x\"", "places": [{"lat": 1.5}]}, 2)]),
    message("tool", "{\"temp\": 3}", tool_call_id="call00001", name="get_weather"),
    message("tool", "warm", tool_call_id="call00002", name="get_weather"),
]
REASONED = [
    message("user", "2+2?"), message("assistant", "<think>\nIt is 4.\n</think>\n\n4"), message("user", "And 3+3?"),
    message("assistant", "6", reasoning_content="Six.", thinking="Six."), message("user", "Sure?")]

CONVERSATIONS = [
    {"messages": [HELLO]},
    {"messages": [SYSTEM, HELLO]},
    {"messages": TURNS},
    {"messages": [SYSTEM, *TURNS, message("assistant", " A pirate. ")], "add_generation_prompt": False},
    {"messages": [message("system", ""), HELLO]},
    {"messages": [message("developer", "Be brief."), HELLO]},
    {"messages": [message("assistant", "I begin."), HELLO]},
    {"messages": [HELLO, HELLO]},
    {"messages": [message("robot", "Beep"), HELLO]},
    {"messages": [HELLO], "tools": [WEATHER, TIME]},
    {"messages": [SYSTEM, HELLO], "tools": [WEATHER, TIME]},
    {"messages": CALLED, "tools": [WEATHER]},
    {"messages": [SYSTEM, *CALLED, message("assistant", "Cold and warm."), message("user", "Thanks")], "tools": [WEATHER, TIME]},
    {"messages": [CALLED[0], {**CALLED[1], "content": None}, *CALLED[2:]], "tools": [WEATHER]},
    {"messages": [message("user", "Time?"), message("assistant", "Let me see.", tool_calls=[call("time", {}, 3)]),
                  message("tool", "12:00", tool_call_id="call00003", name="time")]},
    {"messages": REASONED},
    {"messages": REASONED, "enable_thinking": False, "thinking": False},
    {"messages": REASONED, "enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    {"messages": [message("user", [{"type": "text", "text": "One part,"}, {"type": "text", "text": "another."}])]},
    {"messages": [message("user", [{"type": "image"}, {"type": "text", "text": "What is it?"}])]},
    {"messages": TURNS, "documents": [{"title": "A", "text": "Aa"}], "date_string": "01 Jan 2030"},
    {"messages": []},
]

# Every variable that transformers sets; models without tokens for the ends are rare.
CONVERSATIONS = [{"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
                  **each} for each in CONVERSATIONS]
