# SPDX-License-Identifier: Apache-2.0
"""What transformers makes of a model directory, for tools/checks/export.py; runs in the Python that has transformers.
Activations are not quantized, whatever the directory says.
    usage: _transformers_texts.py MODEL_DIR [--dequantize] < prompts > results
`--dequantize`: transformers makes floats of all weights while it loads them.
Reads [{"tokens": [...], "prompt_tokens": n, "logits": FILE}]: tokens of a prompt and of a text that follows it, the prompt's
logits. Writes for each `least_cosine` between those and transformers' logits, the `greedy` tokens that transformers has in
place of the text, and `gaps`: how far the logit of each token of the text lies below the largest one."""
import json
import sys

import numpy
import torch
from compressed_tensors.quantization import disable_quantization
from transformers import AutoModelForCausalLM
from transformers.utils.quantization_config import CompressedTensorsConfig


def main():
    how = {"quantization_config": CompressedTensorsConfig(dequantize=True)} if "--dequantize" in sys.argv else {}
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32, **how).eval()
    model.apply(disable_quantization)  # the weights are floats by now
    model.generation_config.eos_token_id = None  # texts go on behind it, as those of --force-max-tokens
    results = []
    for each in json.load(sys.stdin):
        tokens, begin = each["tokens"], each["prompt_tokens"]
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0].float()
            greedy = model.generate(torch.tensor([tokens[:begin]]), do_sample=False, max_new_tokens=len(tokens) - begin,
                                    pad_token_id=0)[0][begin:]
        text = logits[begin - 1:-1]
        gaps = text.amax(-1) - text.gather(1, torch.tensor(tokens[begin:])[:, None])[:, 0]
        own = torch.from_numpy(numpy.load(each["logits"]))
        cosines = torch.nn.functional.cosine_similarity(own, logits[:begin], dim=-1)
        results.append({"least_cosine": cosines.min().item(), "greedy": greedy.tolist(), "gaps": gaps.tolist()})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
