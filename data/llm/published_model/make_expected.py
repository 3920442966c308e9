"""Makes expected.json: what llama.cpp computes with a published model.

    python3 make_expected.py LLAMA_CPP MODEL

LLAMA_CPP: a folder with llama-perplexity, llama-simple, llama-quantize and llama-tokenize. MODEL: the GGUF file of the Python
package in tests/published_model.txt. Texts and the perplexity are those of the weights in fp32, with which llama.cpp multiplies
activations that are not rounded.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TEXT = HERE.parents[1] / "tiny_model" / "held_out.txt"
TEXT_BYTES = 8000
CONTEXT = 512
TOKENS = 32
PROMPTS = ("def fibonacci(n):", "Once upon a time, in a small village", "Albert Einstein was born in", "SELECT name FROM")
QUESTION = "What is the capital of Italy?"
# As the model's own template writes it.
CHAT = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n")
TOKENIZED = ("Grüße aus Köln 🙂! 你好，世界。 E = mc², 12345.678 and  two spaces\n\tdef f(x):\n\t\treturn x**2\n"
             "don't DON'T I'll 東京タワー Ελληνικά русский العربية <|im_start|>user ½ ﬁ — naïve 2024-01-31")


def main():
    tools, model = (pathlib.Path(word) for word in sys.argv[1:])

    def run(program, *arguments):
        return subprocess.run([tools / program, *map(str, arguments)], check=True, capture_output=True, text=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wide, text, base = folder / "f32.gguf", folder / "text.txt", folder / "base"
        run("llama-quantize", "--allow-requantize", model, wide, "F32")
        text.write_bytes(TEXT.read_bytes()[:TEXT_BYTES])

        def perplexity(of, *options):
            done = run("llama-perplexity", "-m", of, "-f", text, "-c", CONTEXT, *options)
            return done.stdout + done.stderr

        def written(prompt):
            return run("llama-simple", "-m", wide, "-n", TOKENS, prompt).stdout.removeprefix("\n")

        value = float(re.search(r"Final estimate: PPL = ([\d.]+)", perplexity(wide)).group(1))
        perplexity(model, "--kl-divergence-base", base)
        divergence = {}
        for element in ("q8_0", "q4_1"):
            out = perplexity(model, "--kl-divergence-base", base, "--kl-divergence", "-fa", "on", "-ctk", element, "-ctv", element)
            divergence[element] = float(re.search(r"Mean +KLD: +([\d.]+)", out).group(1))
        (folder / "tokens.txt").write_text(TOKENIZED)
        ids = run("llama-tokenize", "-m", model, "-f", folder / "tokens.txt", "--ids", "--no-bos", "--no-escape", "--log-disable").stdout
        expected = {"text_bytes": TEXT_BYTES, "context": CONTEXT, "perplexity": value, "cache_divergence": divergence,
                    "max_tokens": TOKENS, "texts": [{"prompt": prompt, "out": written(prompt)} for prompt in PROMPTS],
                    "question": QUESTION, "answer": written(CHAT).removeprefix(CHAT),
                    "tokenized": {"text": TOKENIZED, "ids": " ".join(map(str, json.loads(ids)))}}
    (HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


main()
