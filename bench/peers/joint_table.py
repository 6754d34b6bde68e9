# SPDX-License-Identifier: Apache-2.0
"""What bench/peers/run measured last, in one table: model and engine x work, how many times better Tulle is."""

import json
import statistics

from peers import COMPARED, MEMORY, RESULTS, gain, table


def measured():
    """(processor, threads) -> (model, form of Tulle, peer) -> quantity -> ratio, and what the memory gave both."""
    machines = {}
    for path in sorted(RESULTS.glob("*.json")):
        kept = json.loads(path.read_text())
        rows = machines.setdefault((kept["processor"], kept["threads"]), {})
        tulle = {name: turns for name, turns in kept["engines"].items() if name.startswith("tulle")}
        for name, turns in tulle.items():
            for peer in kept["engines"].keys() - tulle.keys():
                theirs = kept["engines"][peer]
                row = rows.setdefault((kept["model"], name, peer), {MEMORY: ([], [])})
                row |= {quantity: gain(quantity, turns, theirs) for quantity in COMPARED if quantity in turns[0]}
                for memory, each in zip(row[MEMORY], (turns, theirs)):
                    memory += [turn[MEMORY] for turn in each]
    return machines


def main():
    for (processor, threads), rows in measured().items():
        quantities = [quantity for quantity in COMPARED if any(row.get(quantity) for row in rows.values())]
        print(f"{processor}, {threads} thread(s): tokens per second of Tulle over the peer's; seconds and bytes of the")
        print("peer over Tulle's. Above 1 Tulle is ahead. Medians of the ratios within a round.\n")
        names = [quantity.split(",")[0] for quantity in quantities]
        lines = [["model", "Tulle", "peer", *names, f"{MEMORY}: Tulle, peer"]]
        for key, row in sorted(rows.items()):
            ratios = [row.get(quantity, "") for quantity in quantities]
            memory = ", ".join(f"{statistics.median(each):.0f}" for each in row[MEMORY])
            marked = [f"**{each}**" if each and float(each) < 1 else each for each in ratios]
            lines.append([*key, *marked, memory])
        print(table(lines) + "\n")


if __name__ == "__main__":
    main()
