# SPDX-License-Identifier: Apache-2.0
"""What mistral_common makes of lines, as _hf_tokenizers.py; FILE is a tekken.json. It encodes texts without special tokens,
so a line is cut at these first."""
import json
import re
import sys

from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
from mistral_common.tokens.tokenizers.tekken import Tekkenizer


def main():
    made = Tekkenizer.from_file(sys.argv[2])
    special = {made.id_to_piece(token): token for token in sorted(made.special_ids)}
    if sys.argv[1] == "special":
        json.dump(list(special)[:30], sys.stdout)
        return
    cut = re.compile("(" + "|".join(map(re.escape, sorted(special, key=len, reverse=True))) + ")")

    def encode(line):
        return [token for part in cut.split(line)
                for token in ([special[part]] if part in special else made.encode(part, bos=False, eos=False))]

    ids = [encode(line) for line in json.load(sys.stdin)]
    json.dump({"ids": ids, "with_special": [[made.bos_id, *each] for each in ids],
               "texts": [made.decode(each, special_token_policy=SpecialTokenPolicy.KEEP) for each in ids]}, sys.stdout)


if __name__ == "__main__":
    main()
