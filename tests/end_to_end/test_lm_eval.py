"""EleutherAI's lm-eval (tests/clients.txt) against `voltpile serve`: its local-completions model, which takes the tokenizer from the
server. The log-likelihoods must be those of `voltpile model eval`, whose figures transformers confirms (test_eval.py)."""

import json
import unittest

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
from serving import MODEL, ServeCase
from tiny_model import MODELS

PASSAGE = 1000  # characters, 250 to 350 tokens: less than the context of 512
# Cached keys and values are fp16 (relative error 2^-11), and passes of another size may round a token's loss by so much.
LOSS = 1e-3


class LmEval(ServeCase):
    def setUp(self):
        super().setUp()
        self.serve()
        text = (MODELS / "held_out.txt").read_text()
        self.passages = [text[begin : begin + PASSAGE] for begin in range(0, 4 * PASSAGE, PASSAGE)]

    def lm(self, **options):
        # lm-eval takes a begin token with the id 0, as this model has, for none.
        return LocalCompletionsAPI(base_url=self.url + "/v1/completions", model="tiny-q8_0", max_length=512, custom_prefix_token_id=0,
                                   **options)

    def evaluate(self, text, *options):
        """The log-likelihood of a text by `model eval`, and how many of its tokens that is of."""
        out, _ = self.voltpile("model", "eval", MODEL, self.write("passage.txt", text), "--cpu", "--json", *options)
        found = json.loads(out)
        return -found["mean_loss"] * found["tokens"], found["tokens"]

    def test_log_likelihoods_of_texts(self):
        requests = [Instance("loglikelihood_rolling", {}, (passage,), i) for i, passage in enumerate(self.passages)]
        expected = [self.evaluate(passage) for passage in self.passages]
        for options in ({}, {"num_concurrent": 4}):
            with self.subTest(**options):
                found = self.lm(**options).loglikelihood_rolling(requests, disable_tqdm=True)
                for value, (wanted, tokens) in zip(found, expected, strict=True):
                    self.assertAlmostEqual(value, wanted, delta=LOSS * tokens**0.5)

    def test_log_likelihoods_of_continuations(self):
        requests, expected = [], []
        for passage in self.passages:
            cut = passage.index(" ", PASSAGE // 2)
            whole, tokens = self.evaluate(passage, "--no-begin-token")
            requests.append(Instance("loglikelihood", {}, (passage[:cut], passage[cut:]), len(requests)))
            expected.append((whole - self.evaluate(passage[:cut], "--no-begin-token")[0], tokens))
        for options in ({"batch_size": 4}, {"num_concurrent": 4}):
            with self.subTest(**options):
                found = self.lm(**options).loglikelihood(requests, disable_tqdm=True)
                for (value, is_greedy), (wanted, tokens) in zip(found, expected, strict=True):
                    self.assertAlmostEqual(value, wanted, delta=LOSS * tokens**0.5)
                    self.assertFalse(is_greedy)

    def test_greedy_continuations(self):
        lm = self.lm()
        prompts = [passage[:100].rsplit(" ", 1)[0] for passage in self.passages]
        settings = {"until": ["Selah"], "max_gen_toks": 12}
        requests = [Instance("generate_until", {}, (prompt, settings), i) for i, prompt in enumerate(prompts)]
        texts = lm.generate_until(requests, disable_tqdm=True)
        for prompt, text in zip(prompts, texts, strict=True):
            tokens = self.post("/tokenize", {"prompt": prompt, "add_special_tokens": False}).json["tokens"]
            answer = self.post("/v1/completions", {"prompt": tokens, "max_tokens": 12, "stop": settings["until"], "temperature": 0})
            self.assertEqual(text, answer.json["choices"][0]["text"])
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(zip(prompts, texts, strict=True))]
        self.assertTrue(all(is_greedy for _, is_greedy in lm.loglikelihood(requests, disable_tqdm=True)))


if __name__ == "__main__":
    unittest.main()
