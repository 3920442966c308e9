"""--host-cache-tokens: a conversation that continues after others have taken its pages is not computed again."""

import unittest

from serving import ServeCase
from tiny_model import MODELS

PASSAGE = "And the LORD said unto Moses, Stretch out thine hand over the sea, that the waters may come again. "
OTHERS = ["In the beginning God created the heaven and the earth. And the earth was without form, and void. " * 2,
          "The words of Nehemiah the son of Hachaliah. And it came to pass in the month Chisleu, in the year. " * 2]


class HostCache(ServeCase):
    def conversation(self, *options, ranks=None):
        """Returns the texts and the cached tokens of a conversation whose second turn comes after two others."""
        (self.folder / "address").unlink(missing_ok=True)
        # Room for one sequence at a time.
        self.serve("--sequences", 1, "--context", 128, *options, ranks=ranks)
        texts, cached = [], []
        for prompt in (PASSAGE * 2, *OTHERS, PASSAGE * 2 + "And Moses"):
            answer = self.post("/v1/completions", {"prompt": prompt, "max_tokens": 12, "temperature": 0, "ignore_eos": True}).json
            texts.append(answer["choices"][0]["text"])
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
        self.brought_back = self.metric("voltpile:pages_brought_back_total")
        self.end_server()
        return texts, cached

    def test_second_turn_comes_from_host_memory(self):
        for ranks, cut in ((None, ()), (2, ("--tensor", 2)), (2, ("--pipeline", 2)), (None, ("--cache", "int8")), (None, ("--cache", "int4"))):
            with self.subTest(cut=cut):
                plain, cached = self.conversation(*cut, ranks=ranks)
                self.assertEqual(self.brought_back, 0)
                texts, more = self.conversation(*cut, "--host-cache-tokens", 1000, ranks=ranks)
                self.assertEqual(texts, plain)
                self.assertGreaterEqual(more[-1], cached[-1] + 16)
                self.assertEqual(self.brought_back, (more[-1] - cached[-1]) // 16)

    def test_works_with_a_draft(self):
        plain, _ = self.conversation()
        texts, _ = self.conversation("--host-cache-tokens", 1000, "--draft", MODELS / "tiny-q5_k_m.gguf")
        self.assertEqual(texts, plain)


if __name__ == "__main__":
    unittest.main()
