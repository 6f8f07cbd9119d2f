"""The sampling chain against distributions of an independent implementation."""
import json
import math

import numpy as np

import fixtures
import pteron

CASES = json.loads((fixtures.DATA / "llm" / "samplers" / "cases.json").read_text())


def numbers(values):
    return np.array([float(value) for value in values], np.float32)


class SamplerTest(fixtures.Test):
    def test_cases(self):
        for case in CASES:
            with self.subTest(case["name"]):
                logits, context = numbers(case["logits"]), (case.get("generated", []),)
                params = {name: float(value) if value in ("inf", "-inf", "nan") else value for name, value in case["params"].items() if name != "logit_bias"}
                bias = {token: float(value) for token, value in case["params"].get("logit_bias", {}).items()}
                options = {**params, **({"logit_bias": bias} if bias else {})}
                if "error" in case["expect"]:
                    with self.assertRaises(pteron.Error):
                        pteron.Sampler(**options).probabilities(logits, *context, prompt=case.get("prompt", []))
                    continue
                expected = np.zeros(len(logits))
                for token, probability in case["expect"]["probs"]:
                    expected[token] = probability
                found = pteron.Sampler(**options).probabilities(logits, *context, prompt=case.get("prompt", []))
                np.testing.assert_allclose(found, expected, atol=1e-9)
                self.assertTrue(np.array_equal(found > 0, expected > 0) or np.abs(found - expected).max() < 1e-30)
                greedy = pteron.Sampler(**{**options, "temperature": 0.0}).sample(logits, *context, prompt=case.get("prompt", []))
                self.assertEqual(greedy, case["expect"]["greedy"])

    def test_seeds_repeat_and_differ(self):
        logits = np.zeros(64, np.float32)

        def draw(seed):
            sampler = pteron.Sampler(seed=seed)
            return [sampler.sample(logits) for _ in range(32)]

        self.assertEqual(draw(7), draw(7))
        self.assertNotEqual(draw(7), draw(8))

    def test_draws_follow_the_distribution(self):
        logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
        sampler = pteron.Sampler(temperature=1.0, seed=3)
        counts = np.bincount([sampler.sample(logits) for _ in range(20000)], minlength=4) / 20000
        np.testing.assert_allclose(counts, [0.5, 0.3, 0.15, 0.05], atol=0.02)

    def test_wrong_parameters(self):
        error = self.fails("invalid_argument", pteron.Sampler, temperature=-1.0)
        self.assertEqual((error.field, float(error.found)), ("temperature", -1))
        self.fails("invalid_argument", pteron.Sampler, top_p=math.nan)
        with self.assertRaises(TypeError):
            pteron.Sampler(temprature=1.0)
        with self.assertRaises(TypeError):
            pteron.Sampler(top_k="many")

    def test_takes_lists_and_other_float_types(self):
        expected = pteron.Sampler().probabilities(np.array([0, 1, 2], np.float32))
        self.assertSame(pteron.Sampler().probabilities([0, 1, 2]), expected)
        self.assertSame(pteron.Sampler().probabilities(np.array([[0, 1, 2]], np.float16)), expected)
