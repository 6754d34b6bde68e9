# SPDX-License-Identifier: Apache-2.0
"""A folder of prompts to a folder of texts, on the workers of a cluster of Ray.

    pip install "ray[data]" PATH_OF_TULLE/bindings/python
    python ray_batch.py MODEL PROMPTS TEXTS --workers 8 --threads 4 --max-new-tokens 200

Every PROMPTS/NAME.jsonl, whose rows are {"prompt": "..."} or {"messages": [...]} with whatever else, becomes
TEXTS/NAME.jsonl: the same rows in the same order, with "text" and "finish_reason"; or with "error", where a prompt is too
long. The same call goes on where an earlier one was stopped. A worker that dies is replaced, and its rows are computed
again; the texts are those of one process (--alone), bit for bit, on machines with the same instruction set. MODEL is a path
that every machine has, or hf:org/name; prompts and texts are files of the machine that this runs on."""
import argparse
import json
import os
import shutil
from pathlib import Path


def read_rows(path):
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def write_rows(path, rows):
    """The file is there as a whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def folder_of_parts(texts, name):
    return texts / f".{name}.parts"


def waiting_chunks(prompts, texts, size):
    """What is to be computed: {"name", "number", "rows": JSON} for every `size` rows of a file that have no texts yet."""
    for path in sorted(prompts.glob("*.jsonl")):
        if (texts / path.name).exists():
            continue
        rows, parts = read_rows(path), folder_of_parts(texts, path.name)
        if parts.exists() and (parts / "size").read_text() != str(size):
            shutil.rmtree(parts)  # of a call with chunks of another size
        parts.mkdir(parents=True, exist_ok=True)
        (parts / "size").write_text(str(size))
        for number, first in enumerate(range(0, len(rows), size)):
            if not (parts / f"{number}.jsonl").exists():
                yield {"name": path.name, "number": number, "rows": json.dumps(rows[first:first + size])}


def keep_chunk(texts, chunk):
    """Chunks come in any order."""
    write_rows(folder_of_parts(texts, chunk["name"]) / f"{chunk['number']}.jsonl", json.loads(chunk["rows"]))


def join_chunks(prompts, texts):
    """The files of texts, of their chunks in order. All of them must be there."""
    for path in sorted(prompts.glob("*.jsonl")):
        parts = folder_of_parts(texts, path.name)
        if not (texts / path.name).exists():
            numbers = sorted(int(part.stem) for part in parts.glob("*.jsonl"))
            write_rows(texts / path.name, [row for number in numbers for row in read_rows(parts / f"{number}.jsonl")])
        shutil.rmtree(parts, ignore_errors=True)


class Generate:
    """A model, on one worker: adds texts to the rows of a chunk."""

    def __init__(self, model, threads, size, options):
        from tulle import TextGeneration

        self.generate = TextGeneration(model, num_cores=threads, batch_size=size, cache="paged", share_prefixes=True)
        self.options = options

    def __call__(self, chunk):
        rows = json.loads(chunk["rows"])
        prompts = [self.prompt_of(row) for row in rows]
        try:
            for row, text in zip(rows, self.generate(prompts, **self.options).generations):
                row.update(text=text.text, finish_reason=text.finished_reason)
        except (ValueError, RuntimeError):  # of one of them
            for row, prompt in zip(rows, prompts):
                try:
                    (text,) = self.generate([prompt], **self.options).generations
                    row.update(text=text.text, finish_reason=text.finished_reason)
                except (ValueError, RuntimeError) as error:
                    row["error"] = str(error)
        return {**chunk, "rows": json.dumps(rows)}

    def prompt_of(self, row):
        """As ids: a chat template writes the special tokens itself."""
        tokenizer = self.generate.tokenizer
        if "messages" in row:
            return tokenizer.apply_chat_template(row["messages"], add_generation_prompt=True)
        return tokenizer.encode(row["prompt"])


def on_cluster(chunks, flags, construction):
    """The chunks with their texts, as they are finished."""
    import ray

    ray.init(ignore_reinit_error=True)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    chunks = list(chunks)
    data = ray.data.from_items(chunks, override_num_blocks=max(1, len(chunks)))  # what a dead worker loses is one chunk
    workers = ray.data.ActorPoolStrategy(size=min(flags.workers, max(1, len(chunks))), max_tasks_in_flight_per_actor=2)
    return data.map(Generate, fn_constructor_kwargs=construction, compute=workers, num_cpus=flags.threads).iter_rows()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="cores of each worker")
    parser.add_argument("--chunk", type=int, default=32, help="rows that are computed together, and lost together")
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0, help="of drawn texts; equal prompts of a chunk get different ones")
    parser.add_argument("--stop", action="append", default=[], help="a text that ends a text")
    parser.add_argument("--alone", action="store_true", help="in this process, without Ray")
    flags = parser.parse_args(arguments)
    flags.texts.mkdir(parents=True, exist_ok=True)
    options = {"max_new_tokens": flags.max_new_tokens, "do_sample": flags.temperature > 0, "seed": flags.seed}
    options |= {"temperature": flags.temperature} if flags.temperature > 0 else {}
    options |= {"stop": flags.stop} if flags.stop else {}
    construction = {"model": flags.model, "threads": flags.threads, "size": flags.chunk, "options": options}
    chunks = waiting_chunks(flags.prompts, flags.texts, flags.chunk)
    for chunk in map(Generate(**construction), chunks) if flags.alone else on_cluster(chunks, flags, construction):
        keep_chunk(flags.texts, chunk)
        print(f"{chunk['name']}: chunk {chunk['number']}", flush=True)
    join_chunks(flags.prompts, flags.texts)


if __name__ == "__main__":
    main()
